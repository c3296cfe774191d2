"""UTF-16 with the high byte first and a byte order mark, as one encoding: Python's `utf-16` writes the low byte first.

`codecs` knows it as `utf-16-be-sig` once this module is imported, and it is read and written like any other.
"""

from __future__ import annotations

import codecs

__all__ = ["BIG_ENDIAN"]

BIG_ENDIAN = "utf-16-be-sig"


class _Encoder(codecs.IncrementalEncoder):
    """The mark once, then the text."""

    begun = False

    def encode(self, text: str, final: bool = False) -> bytes:
        """Some of the text."""
        mark = b"" if self.begun else codecs.BOM_UTF16_BE
        self.begun = True
        return mark + text.encode("utf-16-be", self.errors)


def _encode(text: str, errors: str = "strict") -> tuple[bytes, int]:
    return codecs.BOM_UTF16_BE + text.encode("utf-16-be", errors), len(text)


def _known(name: str) -> codecs.CodecInfo | None:
    if name.replace("_", "-") != BIG_ENDIAN:
        return None
    both = codecs.lookup("utf-16")  # by its mark, it reads either order
    return codecs.CodecInfo(
        _encode,
        both.decode,
        incrementalencoder=_Encoder,
        incrementaldecoder=both.incrementaldecoder,
        name=BIG_ENDIAN,
    )


codecs.register(_known)
