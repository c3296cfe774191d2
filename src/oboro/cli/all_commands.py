"""The command line with every command, to list them or to call several."""

from __future__ import annotations

from oboro.cli.commands import with_commands

__all__ = ["app"]


app = with_commands()
