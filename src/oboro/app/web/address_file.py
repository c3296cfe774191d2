"""A file that leads the browser to the page, so that the token is in no command line."""

from __future__ import annotations

import os
import secrets
from html import escape
from pathlib import Path

from oboro.system.private_file import open_private
from oboro.system.scratch_folder import ScratchFolder

__all__ = ["AddressFile"]

PAGE = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
    '<meta http-equiv="refresh" content="0;url={url}"><title>oboro</title></head>'
    '<body><p><a href="{url}">oboro</a></p></body></html>\n'
)
# Browsers that are snaps see neither the temporary folder nor hidden files, only the rest of the home folder.
SNAPS = Path("/snap/bin")


class AddressFile:
    """A page of mode 0600 with the address; removed once the page was opened, and at the end."""

    def __init__(self, scratch: ScratchFolder) -> None:
        self._scratch = scratch
        self._path: Path | None = None

    def write(self, url: str) -> str:
        """Write the file, and return its own address, which has no token."""
        path = self._scratch.file(".html")
        if SNAPS.is_dir() and os.access(Path.home(), os.W_OK):
            path = Path.home() / f"oboro-{secrets.token_hex(8)}.html"
            self._scratch.remove_too(path)
        with os.fdopen(open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "w", encoding="utf-8") as file:
            file.write(PAGE.format(url=escape(url)))
        self._path = path
        return path.as_uri()

    def remove(self) -> None:
        """Remove the file; the page has the token now."""
        path, self._path = self._path, None
        if path is not None:
            path.unlink(missing_ok=True)
