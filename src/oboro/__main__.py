"""`python -m oboro`: the command line."""

from oboro.app.cli import program

__all__: list[str] = []

if __name__ == "__main__":
    program()
