"""Files of this machine that may be picked: those below one folder. No link and no `..` leads out of it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from oboro.app.web.received import ending_of
from oboro.errors import FileError
from oboro.text import Message

__all__ = ["Picker"]

MOST_LISTED = 2000


@dataclass(frozen=True)
class Picker:
    """One folder, and everything below it."""

    root: Path

    def inside(self, name: str) -> Path:
        """The real path of a name below the root; a `FileError` where it leads out of it or is not there."""
        relative = PurePath(name.lstrip("/"))
        # On Windows `C:` or a share would replace the root, and to ask for a share already speaks to its host.
        if relative.anchor:
            raise FileError(Message("error_web.outside", name=name))
        try:
            real = (self.root / relative).resolve(strict=True)
        except (OSError, ValueError, RuntimeError):
            raise FileError(Message("error_web.not_there", name=name)) from None
        if not real.is_relative_to(self.root.resolve()):
            raise FileError(Message("error_web.outside", name=name))
        return real

    def file(self, name: str) -> Path:
        """A table that may be read."""
        found = self.inside(name)
        if not found.is_file() or not ending_of(found.name):
            raise FileError(Message("error_web.no_table", name=name))
        return found

    def listed(self, name: str) -> dict[str, Any]:
        """What is in a folder: folders and tables; names that begin with a dot, and what leads out, are left out."""
        folder = self.inside(name)
        if not folder.is_dir():
            raise FileError(Message("error_web.not_there", name=name))
        real = self.root.resolve()
        with os.scandir(folder) as found:
            shown = [one for one in found if not one.name.startswith(".")]
        rows = [row for one in sorted(shown, key=lambda one: one.name.lower()) if (row := _row(one, real))]
        parts = folder.relative_to(real).parts
        return {
            "folder": "/".join(parts),
            "root": str(real),
            "entries": rows[:MOST_LISTED],
            "more": len(rows) > MOST_LISTED,
        }


def _row(entry: os.DirEntry[str], root: Path) -> dict[str, Any] | None:
    try:
        if not Path(entry.path).resolve().is_relative_to(root):
            return None
        if entry.is_dir():
            return {"name": entry.name, "folder": True}
        if entry.is_file() and ending_of(entry.name):
            return {"name": entry.name, "folder": False, "bytes": entry.stat().st_size}
    except (OSError, RuntimeError):
        return None
    return None
