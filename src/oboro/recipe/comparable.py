"""A release as another tool wrote it, made comparable with its original: names of columns, decimal commas, NA for suppressed.

Every liberty taken is said in one sentence, which becomes a warning of the report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro.attacks.comparison.column_comparison import compare_columns
from oboro.errors import UsageError
from oboro.table.dataset import Column, Dataset
from oboro.table.hierarchy import Hierarchy
from oboro.table.labels.implied_hierarchy import implied_hierarchy
from oboro.table.labels.starred_values import without_star
from oboro.table.named_columns import names_shown
from oboro.table.rows.row_origins import Rows
from oboro.table.schema import Schema
from oboro.table.spelling.decimal_commas import has_decimal_commas
from oboro.table.spelling.value_texts import is_text
from oboro.table.values import STAR, kind_of
from oboro.text import Message

__all__ = ["comparable", "explained", "renaming"]

NOTHING = ("NA", "<NA>", "N/A", "NaN", "nan", "NULL", "null", "None", "?", ".")
COMMA, WITH_COMMA = r"^([-+]?[0-9]+),([0-9]+)$", r"^[-+]?[0-9.]+,[0-9]+$"


def comparable(
    original: Dataset, released: Dataset, names: Mapping[str, str]
) -> tuple[Dataset, Dataset, list[Message]]:
    """Both tables, and what was assumed. `names` says which original column a released one is, where names differ."""
    released, pairs = _renamed(original, released, names)
    before, after = dict(original.columns), dict(released.columns)
    commas, blanks = [], []
    for name in [name for name in after if name in before]:
        old = _numbers(before[name])
        new = _without(after[name], [word for word in _words(after[name]) if word not in _words(old)])
        if kind_of(without_star(old.values)).numeric:
            commas += [name] if _commas(before[name]) or (_commas(new) and _numbers(new) is not new) else []
            new = _numbers(new)
        if old.missing < 0 <= new.missing:
            new = new.where(new.codes == new.missing, STAR)
            blanks.append(name)
        before[name], after[name] = old, _still_as_written(new, after[name])
    said = {"same_columns": pairs, "decimal_commas": commas, "blanks_suppressed": blanks}
    notes = [Message(f"report.warning.{name}", columns=found) for name, found in said.items() if found]
    return replace(original, columns=before), replace(released, columns=after), notes


def renaming(text: str | None) -> dict[str, str]:
    """`Age=age,ZIP=zip` as a table from released to original names."""
    pairs = [part.split("=") for part in (text or "").split(",") if part.strip()]
    if any(len(pair) != 2 or not all(map(str.strip, pair)) for pair in pairs):
        raise UsageError(Message("error_recipe.rename_pairs", text=text))
    return {new.strip(): old.strip() for new, old in pairs}


def explained(original: Dataset, released: Dataset, schema: Schema, rows: Rows | None) -> tuple[Schema, list[Message]]:
    """The schema with the hierarchies that recoded columns show, where the recipe has none; and what was assumed, or is unclear.

    `rows`: for each released row the original one, if known.
    """
    found: dict[str, Hierarchy] = {}
    for name in (name for name in released if name in original):
        given = schema.attributes.get(name)
        if given is None or given.hierarchy is None:
            shown = implied_hierarchy(name, original[name], released[name], rows)
            found.update({} if shown is None else {name: shown})
    schema = replace(schema, remaining=found)
    trees = schema.fitting_hierarchies(original)
    asked = [name for name in (*schema.quasi, *schema.sensitive) if name in original]
    lacking = [name for name in asked if name not in released]
    added = [name for name in released if name not in original]
    unclear = [
        name
        for name in schema.quasi
        if name in released and compare_columns(original[name], released[name], trees.get(name), rows).nobody.any()
    ]
    said = {"labels_read": list(found), "labels_unclear": unclear}
    notes = [Message("report.warning.not_released", columns=lacking, added=added)] if lacking and added else []
    notes += [Message(f"report.warning.{name}", columns=names) for name, names in said.items() if names]
    return schema, notes


# Names ----------------------------------------------------------------------------------------------------------------


def _renamed(original: Dataset, released: Dataset, names: Mapping[str, str]) -> tuple[Dataset, list[str]]:
    for new, old in names.items():
        if new not in released or old not in original:
            if new not in released:
                raise UsageError(
                    Message("error_recipe.rename_released", column=new, columns=names_shown(released, names))
                )
            raise UsageError(
                Message("error_recipe.rename_original", column=old, columns=names_shown(original, names.values()))
            )
    alike = {**_alike(original, released), **names}
    columns = {alike.get(name, name): column for name, column in released.columns.items()}
    if len(columns) < len(released.columns):
        raise UsageError(Message("error_recipe.rename_same"))
    if not any(name in original for name in columns):
        both = {"original": names_shown(original, released), "released": names_shown(released, original)}
        raise UsageError(Message("error_recipe.nothing_in_common", **both))
    guessed = [f"{new} = {old}" for new, old in alike.items() if new not in names]
    return replace(released, columns=columns), guessed


def _alike(original: Dataset, released: Dataset) -> dict[str, str]:
    """Released names that are an original one but for capitals, spaces and marks (`marital.status`), and no other's."""
    lacking = [name for name in original if name not in released]
    bare = {name: "".join(filter(str.isalnum, name.casefold())) for name in (*original, *released)}
    often = Counter(bare[name] for name in lacking)
    once = {bare[name]: name for name in lacking if bare[name] and often[bare[name]] == 1}
    new = [name for name in released if name not in original and bare[name] in once]
    return {name: once[bare[name]] for name in new if sum(bare[one] == bare[name] for one in new) == 1}


# Values ---------------------------------------------------------------------------------------------------------------


def _still_as_written(column: Column, released: Column) -> Column:
    """The column with what it was written as beside it: whoever reads the release tells `NA` from an empty cell."""
    return column if column is released else replace(column, finer=released.finer or (lambda: released))


def _numbers(column: Column) -> Column:
    """A column of numbers that were written with a decimal comma, or beside words for nothing; any other as it is."""
    if not (_commas(column) or _words(column)):
        return column
    plain = _without(column, NOTHING)
    certain = has_decimal_commas(without_star(plain.values))  # then a point is between thousands
    if kind_of(column.values).numeric and not certain:
        return column
    texts = pc.replace_substring(plain.values, ".", "") if certain else plain.values
    points = pc.replace_substring_regex(texts, COMMA, r"\1.\2")
    if not kind_of(without_star(points)).numeric:
        return column
    return plain.recode(np.arange(len(points)), points)


def _commas(column: Column) -> bool:
    if not is_text(column.values) or not pc.any(pc.match_substring(column.values, ",")).as_py():
        return False  # a look for the letter alone is much faster
    return bool(pc.any(pc.match_substring_regex(column.values, WITH_COMMA)).as_py())


def _words(column: Column) -> list[str]:
    """The words for nothing that a column holds."""
    if not is_text(column.values):
        return []
    found: list[str] = column.values.filter(pc.is_in(column.values, value_set=pa.array(NOTHING))).to_pylist()
    return found


def _without(column: Column, words: Sequence[str]) -> Column:
    """The column with these words as missing values. O(dictionary)."""
    if not is_text(column.values) or not words:
        return column
    hit = pc.is_in(column.values, value_set=pa.array(words, column.values.type))
    if not pc.any(hit).as_py():
        return column
    return column.recode(np.arange(len(hit)), pc.if_else(hit, None, column.values))
