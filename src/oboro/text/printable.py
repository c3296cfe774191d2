"""Printable form of names and other text from outside: no control character moves the cursor, begins a line or reverses text."""

from __future__ import annotations

import re

__all__ = ["is_printable_yaml", "json_printable", "printable"]


# Controls (ESC, line ends, tab), line and paragraph separators, marks that turn the direction of text, halves of surrogates.
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    r"""Return one line of text with its control characters as escapes. Every name in an output of oboro goes through it.

    >>> printable("age"), printable("x\n  ✓ 2-anonymity holds"), printable("\x1b[2J")
    ('age', 'x\\n  ✓ 2-anonymity holds', '\\x1b[2J')
    """
    return text if text.isprintable() else CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


def json_printable(text: str) -> str:
    """Return JSON text with the control characters that it may hold unescaped, all but line ends, as its own escapes.

    >>> json_printable('"' + chr(0x202E) + '"') == '"' + chr(92) + 'u202e"'
    True
    """
    return CONTROL.sub(lambda found: found[0] if found[0] == "\n" else f"\\u{ord(found[0]):04x}", text)


def is_printable_yaml(text: str) -> bool:
    r"""Return whether YAML has no control character except line ends; else all characters beyond ASCII are escaped.

    >>> is_printable_yaml("年齢: 1\n"), is_printable_yaml(chr(0x202E) + "age: 1\n")
    (True, False)
    """
    return all(found[0] == "\n" for found in CONTROL.finditer(text))
