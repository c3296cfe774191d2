"""`oboro init`: a starter recipe for a table."""

from __future__ import annotations

from oboro.app.options import Data, Delimiter, Encoding, Header, Sheet, read_table

__all__ = ["init"]


def init(
    data: Data,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    header: Header = True,
    sheet: Sheet = None,
) -> None:
    """Print a starter recipe for a table, with guessed roles, proposed hierarchies and comments.

    Example: `oboro init people.csv > recipe.yaml`
    """
    from oboro.recipe.preparing.starter import starter

    print(starter(read_table(data, encoding, delimiter, header, sheet).data, data.name), end="")
