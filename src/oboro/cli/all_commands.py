"""The command line with every command, for whoever lists them or calls several."""

from __future__ import annotations

from oboro.cli.commands import with_commands

__all__ = ["app"]


app = with_commands()
