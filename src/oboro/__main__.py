"""`python -m oboro`: the command line."""

from __future__ import annotations

from oboro.cli.main import program

__all__: list[str] = []
if __name__ == "__main__":
    program()
