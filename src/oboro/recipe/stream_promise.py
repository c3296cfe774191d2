"""What a stream promised, verified on what went in and what came out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from oboro.errors import ColumnError, FileError, InputError, RecipeError, UsageError
from oboro.recipe.stream_plan import diversity, goal
from oboro.stream.service.partition import Partition
from oboro.table.dataset import Column, Dataset
from oboro.text import Message
from oboro.text.os_reasons import os_reason
from oboro.verifier.stream_check import verify_stream
from oboro.verifier.verdict import Verification
from oboro.verifier.window_check import verify_window

if TYPE_CHECKING:
    from oboro.recipe.recipe import Recipe

__all__ = ["part_of", "stream_metrics", "verified", "verify_records"]

MOST = 1_000_000  # records: they are compared as Python's, some microseconds each


def verified(
    recipe: Recipe | None, original: Dataset, released: Dataset, moments: Sequence[Mapping[str, Any]]
) -> Verification | None:
    """The recipe's k-anonymity and l-diversity as a stream keeps them.

    None where it cannot be said: there is no recipe, it is not a stream's, records are too many, or they do not correspond.
    """
    if recipe is None or not moments:
        return None
    try:
        asked = goal(recipe)
        demands = diversity(asked)
    except RecipeError:
        return None
    quasi = [name for name in recipe.schema_given.quasi if name in released and name in original]
    if released.rows > MOST or not quasi:
        return None
    kinds = [(name, least) for name, least in demands.items() if name in released and name in original]
    secret, least = kinds[0] if kinds else (None, 1)
    names = [*quasi, *([secret] if secret else [])]
    came_out = _records(released, names)
    if moments[-1].get("mode") == "window":
        if recipe.person is not None:  # whose a released record is cannot be seen in it
            return None
        return verify_window(came_out, attributes=quasi, k=asked.k, sensitive=secret, l=least)
    if released.rows != original.rows:
        return None
    specs = {name: spec for name in quasi if (spec := recipe.attributes[name].hierarchy) is not None}
    if recipe.person is not None and recipe.person not in original:
        return None
    went_in = _records(original, [*names, *([recipe.person] if recipe.person else [])])
    try:
        return verify_stream(
            went_in,
            came_out,
            attributes=quasi,
            k=asked.k,
            hierarchies=specs,
            folder=recipe.folder,
            person=recipe.person,
            sensitive=secret,
            l=least,
        )
    except UsageError:  # a released record stands for another than the one in its place
        return None


def verify_records(
    recipe: Recipe | None,
    original: Dataset,
    released: Dataset,
    quasi: Sequence[str] | None = None,
    k: int | None = None,
    person: str | None = None,
    sensitive: str | None = None,
    l: int | None = None,  # noqa: E741  (the literature's letter)
) -> Verification:
    """Whether a stream without delay kept its promise, from what went in and what came out, in order.

    What is not said is the recipe's: its person, quasi-identifiers, `k`, `l_diversity` and hierarchies.
    """
    asked = goal(recipe) if recipe is not None else None
    kinds = list(diversity(asked).items()) if asked is not None and sensitive is None else []
    secret, least = kinds[0] if kinds else (sensitive, l or 1)
    chosen = list(quasi) if quasi is not None else recipe.schema_given.quasi if recipe is not None else []
    chosen = [name for name in chosen if name in released or quasi is not None]
    least_k = k if k is not None else asked.k if asked is not None else None
    if not chosen or least_k is None:
        raise UsageError(Message("error_recipe.stream_verify"))
    known = recipe.attributes if recipe is not None else {}
    specs = {name: spec for name in chosen if name in known and (spec := known[name].hierarchy) is not None}
    shown = [*chosen, *([secret] if secret else [])]
    person = recipe.person if person is None and recipe is not None else person
    lacking = [one for one in shown if one not in released or one not in original]
    for name in [*lacking, *([person] if person and person not in original else [])]:
        raise ColumnError(Message("error_recipe.stream_lacks", name=name))
    if _of_window(original, released, chosen, least_k):
        raise UsageError(Message("error_recipe.stream_of_window", k=least_k))
    return verify_stream(
        _records(original, [*shown, *([person] if person else [])]),
        _records(released, shown),
        attributes=chosen,
        k=least_k,
        hierarchies=specs,
        folder=recipe.folder if recipe is not None else Path("."),
        person=person,
        sensitive=secret,
        l=least,
    )


def _of_window(original: Dataset, released: Dataset, quasi: Sequence[str], k: int) -> bool:
    """Return whether records came out of a window: numbers that never went in, each combination of them k times or more.

    A window publishes the means of groups; a stream without delay publishes original values, labels and `*`.
    """
    if not released.rows or released.rows > MOST:
        return False
    strange = [name for name in quasi if released[name].kind.numeric and original[name].kind.numeric]
    strange = [name for name in strange if not np.isin(_line(released[name], name), _line(original[name], name)).all()]
    return bool(strange) and verify_window(_records(released, quasi), attributes=quasi, k=k).holds


def _line(column: Column, name: str) -> np.ndarray:
    numbers = column.numbers(name)
    return np.asarray(numbers[~np.isnan(numbers)])


def part_of(original: Dataset, text: str) -> Dataset:
    """The records that belong to one part of a stream, by `FIELDS:COUNT:NUMBER`."""
    fields, _, rest = text.rpartition(":")[0].rpartition(":")
    by, count, serve = tuple(fields.split(",")), rest, text.rpartition(":")[2]
    if not (fields and count.isdigit() and serve.isdigit() and int(serve) < int(count)):
        raise UsageError(Message("error_recipe.part", text=text))
    for name in [one for one in by if one not in original]:
        raise ColumnError(Message("error_recipe.stream_lacks", name=name))
    part = Partition(by, int(count), int(serve))
    keys = ([one[name] for name in by] for one in _records(original, by))
    return original.take(np.flatnonzero([part.number(key) == part.serve for key in keys]))


def _records(data: Dataset, names: Sequence[str]) -> list[dict[str, Any]]:
    columns = [[texts[code] for code in data[name].codes] for name in names for texts in [data[name].texts]]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def stream_metrics(path: Path) -> list[dict[str, Any]]:
    """The metrics that `oboro stream --json` printed, one JSON object a line, in the order of time."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        other = Message("error_recipe.not_utf8" if isinstance(error, UnicodeDecodeError) else "error_os.name")
        why = os_reason(error) if isinstance(error, OSError) else other
        raise FileError(Message("error_recipe.metrics_unreadable", path=path, why=why)) from None
    try:
        found = [json.loads(line) for line in lines if line.strip()]
    except (ValueError, RecursionError) as error:
        why = error.msg if isinstance(error, json.JSONDecodeError) else Message("error_recipe.yaml.deep")
        raise InputError(Message("error_recipe.metrics_json", path=path, why=why)) from None
    if not all(isinstance(one, dict) for one in found):
        raise InputError(Message("error_recipe.metrics_objects", path=path))
    return found
