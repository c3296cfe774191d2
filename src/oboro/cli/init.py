"""`oboro init`: a starter recipe for a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from oboro.cli.language import spoken
from oboro.cli.options import FOUND_OUT, AsJson, Reading, gathered, print_json, read_table

if TYPE_CHECKING:
    from oboro.recipe.importers.arx import TakenOver

__all__ = ["init"]


@gathered
def init(
    data: str,
    reading: Reading = FOUND_OUT,
    into: Path | None = None,
    sdcmicro: Path | None = None,
    as_json: AsJson = False,
) -> None:
    """Print a first recipe for a table: a guessed role for each column with the reason, hierarchies, and steps.

    From an ARX project (`project.deid`) it takes roles, hierarchies, models and settings; from an sdcMicro script
    (`--sdcmicro`) roles, recodings and methods.

    Example: `oboro init people.csv > recipe.yaml`
    """
    if str(data).endswith(".deid"):
        _from_arx(Path(str(data)), into)
        return
    if sdcmicro is not None:
        from oboro.recipe.importers.sdcmicro import from_sdcmicro

        _told(from_sdcmicro(sdcmicro, read_table(data, reading).data), into)
        return
    from oboro.recipe.starter import init as starter

    found = starter(read_table(data, reading))
    if as_json:
        print_json(found.as_dict())
    else:
        print(found.to_yaml(spoken()), end="")


def _from_arx(project: Path, into: Path | None) -> None:
    from oboro.recipe.importers.arx import from_arx

    _told(from_arx(project), into)


def _told(found: TakenOver, into: Path | None) -> None:
    if into is not None:
        found.write(into, spoken())
    print(found.to_yaml(spoken()), end="")
