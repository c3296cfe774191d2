"""A table that is open from the start: named on the command line, with a recipe or without."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oboro.app.web.asking import Ask
from oboro.app.web.desk import FirstTable, OpenTable
from oboro.system.named_files import require_file
from oboro.text import Message
from oboro.text.progress import READING

if TYPE_CHECKING:
    from oboro.explorer.session import Session
    from oboro.recipe.recipe import Recipe

__all__ = ["first_table"]


def first_table(data: Path, recipe: Path | None, reading: Mapping[str, Any]) -> FirstTable:
    """How it is opened: when the page asks for it, so that the page is there before a long file is read."""
    require_file(data)
    if recipe is not None:
        require_file(recipe)

    def opened(ask: Ask) -> tuple[OpenTable, Session]:
        from oboro.explorer.session import explore
        from oboro.io.files import read

        ask.tell(READING)
        plan = None if recipe is None else _here(recipe)
        source = read(data, **reading, progress=partial(ask.tell, READING))
        ask.tell(Message("web.looking"))
        session = explore(source, plan)
        size = data.stat().st_size
        return OpenTable(data.name, str(data.resolve()), size, dict(reading), notes=tuple(source.notes)), session

    return opened


def _here(path: Path) -> Recipe:
    """A recipe whose hierarchy files are named by their whole paths: what is taken away from the page stands somewhere else."""
    from oboro.recipe.recipe import Recipe

    plan = Recipe.load(path)
    attributes = {}
    for name, one in plan.attributes.items():
        spec = one.hierarchy
        moved = {
            form: str((plan.folder / value).resolve())
            for form in ("csv", "tree")
            if spec is not None and isinstance(value := getattr(spec, form), str)
        }
        attributes[name] = (
            one if spec is None or not moved else one.model_copy(update={"hierarchy": spec.model_copy(update=moved)})
        )
    changed = plan.model_copy(update={"attributes": attributes})
    changed._folder, changed._path = plan.folder, plan.path
    return changed
