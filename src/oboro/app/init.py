"""`oboro init`: a starter recipe for a table."""

from __future__ import annotations

from oboro.app.language import spoken
from oboro.app.options import AsJson, Data, Delimiter, Encoding, Header, HeaderRow, Sheet, print_json, read_table

__all__ = ["init"]


def init(
    data: Data,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    header: Header = True,
    sheet: Sheet = None,
    header_row: HeaderRow = None,
    as_json: AsJson = False,
) -> None:
    """Print a starter recipe for a table: guessed roles with reasons and figures, proposed hierarchies, steps.

    Example: `oboro init people.csv > recipe.yaml`
    """
    from oboro.recipe.preparing.starter import init as starter

    found = starter(read_table(data, encoding, delimiter, header, sheet, header_row))
    if as_json:
        print_json(found.as_dict())
    else:
        print(found.to_yaml(spoken()), end="")
