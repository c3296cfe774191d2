"""What the operating system says when a file cannot be used, in words of ours."""

from __future__ import annotations

import errno

from oboro.text.message import Message, Words, known

__all__ = ["os_reason"]


def os_reason(error: OSError) -> Words:
    """Why the system refused; what we have no words for is said as the system says it.

    >>> os_reason(FileNotFoundError(2, "No such file or directory")).say("ja")
    'ファイル又はフォルダーがありません'
    """
    if isinstance(words := getattr(error, "words", None), Message):
        return words
    id = f"error_os.{errno.errorcode.get(error.errno or 0, '').lower()}"
    return Message(id) if known(id) else error.strerror or str(error) or type(error).__name__
