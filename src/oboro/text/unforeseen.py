"""Description of an unforeseen error without values of the data."""

from __future__ import annotations

from pathlib import Path

from oboro.text.language import os_reason
from oboro.text.message import Message

__all__ = ["unforeseen"]


def unforeseen(error: Exception) -> Message:
    """Describe an unforeseen error by its location, without its contents (these may be personal data)."""
    if isinstance(error, OSError):
        place = error.filename or Message("error_app.the_system")
        return Message("error_app.system", place=place, why=os_reason(error))
    if isinstance(error, MemoryError):
        return Message("error_app.memory")
    frame = error.__traceback__
    while frame and frame.tb_next:
        frame = frame.tb_next
    where = f"{Path(frame.tb_frame.f_code.co_filename).name}:{frame.tb_lineno}" if frame else "?"
    return Message("error_app.internal", kind=type(error).__name__, where=where)
