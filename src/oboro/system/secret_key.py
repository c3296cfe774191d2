"""Keys that never stand in a recipe: they come from the environment or from a file, and no message says what was found there."""

from __future__ import annotations

import os
import re
from pathlib import Path

from oboro.errors import FileError, UsageError
from oboro.system.named_files import bytes_of
from oboro.text import Message
from oboro.text.os_reasons import os_reason

__all__ = ["is_variable_name", "secret_key", "variable_shown"]

KEY_BYTES = (16, 1 << 16)  # a shorter key can be guessed; a longer file is not a key
MAKE_A_KEY = Message("error_technique.make_a_key")


def is_variable_name(name: str) -> bool:
    """Whether a name may be that of an environment variable; a key that stands there by mistake hardly is."""
    return re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is not None


def secret_key(asker: str, variable: str | None, file: str | None, folder: Path) -> bytes:
    """The key in an environment variable, or in a file (a relative path starts at `folder`); `asker` is who needs it.

    Every message says where it was looked for and never what was found.
    """
    if variable is not None:
        where, found = Message("error_technique.key_env", name=variable_shown(variable)), os.environ.get(variable)
        if found is None:
            raise UsageError(Message("error_technique.key_not_set", step=asker, where=where, make=MAKE_A_KEY))
        key = found.encode("utf-8", "surrogateescape")
    else:
        path = folder / (file or "")
        where, key = Message("error_technique.key_file", path=path), _read(path)
    key = key.rstrip(b"\r\n")
    if not key:
        raise UsageError(Message("error_technique.empty_key", step=asker, where=where, make=MAKE_A_KEY))
    if not KEY_BYTES[0] <= len(key) <= KEY_BYTES[1]:
        id = "error_technique.short_key" if len(key) < KEY_BYTES[0] else "error_technique.long_key"
        least, most = KEY_BYTES
        raise UsageError(Message(id, step=asker, least=least, most=most, where=where, make=MAKE_A_KEY))
    return key


def variable_shown(name: str) -> str:
    """The name of an environment variable for a message; what may be a key that stands there by mistake is not repeated.

    >>> variable_shown("OBORO_KEY"), variable_shown("d3b07384d113edec49eaa6238ad5ff00")
    ('OBORO_KEY', '…')
    """
    usual = len(name) < KEY_BYTES[0] or re.fullmatch(r"[A-Z][A-Z0-9]*(_[A-Z0-9]{1,15})+", name)
    return name if usual else "…"


def _read(path: Path) -> bytes:
    try:
        return bytes_of(path, KEY_BYTES[1] + 3)  # enough to see that it is too long, whatever the line end
    except (OSError, ValueError) as error:
        why = os_reason(error) if isinstance(error, OSError) else Message("error_os.name")
        raise FileError(Message("error_technique.unreadable_key", path=path, why=why, make=MAKE_A_KEY)) from None
