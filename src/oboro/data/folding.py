"""Value normalization (folding): values that differ only in notation, such as `flu` and `Flu `, `1` and `1.0`, a letter
composed in two ways, or invisible characters.

Counts take them for different sensitive values or different people; readers take them for the same. `near_duplicates` counts
them, `folded` makes them one where a recipe asks for it. Only the dictionary is looked at, never the rows.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from oboro._lazy import pc
from oboro.data.column import Column
from oboro.data.grouping import clean
from oboro.notations.kinds import READ_AS_MISSING
from oboro.notations.texts import is_text

__all__ = [
    "FOLDS",
    "Fold",
    "as_folded",
    "canonical_texts",
    "empty_as_missing",
    "folded",
    "merged_missing",
    "near_duplicates",
    "reads_as_missing",
    "words_as_missing",
    "words_read_as_missing",
]


Fold = Literal["space", "case", "unicode", "number"]
FOLDS: tuple[Fold, ...] = ("space", "case", "unicode", "number")
# Written and not seen: zero-width spaces and joiners, soft hyphen, byte order mark, marks of direction, variation selectors.
INVISIBLE = "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff]"
NUMBER = r"^[+-]?(\d+|\d{1,3}(,\d{3})+)(\.\d*)?$"
PADDED = r"^[+-]?0\d|^\+\d|^-?\d{1,3},\d{3}|^[+-]?[\d,]+\.(\d*0)?$"  # what a number may have that says nothing
ODD = "  |[\\t\\n\\v\\f\\r\x85\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"  # spaces that are not one plain one


def folded(column: Column, folds: Collection[Fold]) -> Column:
    """Replace values that differ only in notation by the first of them; a column other than text is unchanged. O(distinct values).

    >>> folded(Column.of(["flu", "Flu ", "cold", None]), ["space", "case"]).decode().to_pylist()
    ['flu', 'flu', 'cold', None]
    """
    if not folds or not is_text(column.values):
        return column
    encoded = _keys(column.values, folds).dictionary_encode(null_encoding="encode")
    if len(encoded.dictionary) == len(column.values):
        return column
    numbers = encoded.indices.to_numpy(zero_copy_only=False)
    first = np.unique(numbers, return_index=True)[1]
    return column.recode(first[numbers], column.values)


def as_folded(value: Any, column: Column, folds: Collection[Fold]) -> Any:
    """A value that a recipe names as a folded column spells it; as it is where the column has none like it.

    >>> as_folded("FLU", folded(Column.of(["flu", "Flu ", "cold"]), ["space", "case"]), ["space", "case"])
    'flu'
    """
    if not folds or not isinstance(value, str) or not is_text(column.values):
        return value
    keys = _keys(pa.concat_arrays([column.values, pa.array([value], column.values.type)]), folds)
    place = keys[:-1].index(keys[-1]).as_py()
    return value if place < 0 else column.values[place].as_py()


def empty_as_missing(column: Column) -> Column:
    """Empty text as missing: CSV has one word for both, and many tools read them as one. O(distinct values), or O(rows).

    >>> empty_as_missing(Column.of(["a", "", None])).decode().to_pylist()
    ['a', None, None]
    """
    if not is_text(column.values):
        return column
    place = column.values.index("").as_py()
    return column if place < 0 else column.where(column.codes == place, None)


def merged_missing(column: Column, folds: Collection[Fold] = ()) -> Column:
    """Return the column as a reader sees it who takes `NA`, `null` and the like for missing; itself where nothing merges so.

    One such word alone stays: it is one value to every reader. With `folds`, a word that differs from one of the list only in
    what is folded is one of them. O(distinct values), or O(rows) where values merge.

    >>> merged_missing(Column.of(["a", "NA", "null"])).decode().to_pylist()
    ['a', None, None]
    >>> merged_missing(Column.of(["a", "NA"])).decode().to_pylist()
    ['a', 'NA']
    """
    missing = _read_as_missing(column, folds)
    return column if np.count_nonzero(missing) < 2 else _without(column, missing)


def words_as_missing(column: Column) -> Column:
    """Return the column with every word that some reader takes for missing as missing, so that columns are comparable.

    >>> words_as_missing(Column.of(["a", "NA"])).decode().to_pylist()
    ['a', None]
    """
    missing = _read_as_missing(column, ())
    return _without(column, missing) if missing.any() else column


def _without(column: Column, missing: np.ndarray) -> Column:
    values = pa.concat_arrays([column.values, pa.nulls(1, column.values.type)])
    return column.recode(np.where(missing, len(column.values), np.arange(len(column.values))), values)


def words_read_as_missing(column: Column, folds: Collection[Fold] = ()) -> list[str]:
    """List the words that count as one value, with each other or with the missing one, to a reader who takes them for missing.

    Empty text beside missing values is not listed: CSV writes both alike.

    >>> words_read_as_missing(Column.of(["a", "NA", "null", None]))
    ['NA', 'null']
    """
    missing = _read_as_missing(column, folds)
    words = [column.texts[place] for place in np.flatnonzero(missing)] if np.count_nonzero(missing) > 1 else []
    return sorted(word for word in words if word)


def reads_as_missing(value: Any, folds: Collection[Fold] = ()) -> bool:
    """Return whether a reader may take this value for a missing one."""
    return isinstance(value, str) and bool(_read_as_missing(Column.of([value]), folds)[0])


def _read_as_missing(column: Column, folds: Collection[Fold]) -> np.ndarray:
    """Mark the entries of the dictionary that occur and that a reader takes for missing; none where values are no text."""
    values = column.values
    if not is_text(values):
        return np.zeros(len(values), dtype=bool)
    words = pa.array(READ_AS_MISSING, values.type)
    if folds:
        both = _keys(pa.concat_arrays([values, words]), folds)
        values, words = both[: len(values)], both[len(values) :]
    found = np.asarray(pc.is_in(values, value_set=words).to_numpy(zero_copy_only=False), dtype=bool)
    found |= np.asarray(values.is_null().to_numpy(zero_copy_only=False), dtype=bool)
    return found & (column.counts > 0)


def near_duplicates(column: Column) -> int:
    """Count the values that differ from another one only in notation.

    >>> near_duplicates(Column.of(["flu", "Flu ", "FLU", "cold"]))
    2
    """
    if not is_text(column.values):
        return 0
    held = clean(column)
    keys = _keys(held.values, FOLDS)
    return 0 if keys is held.values else len(held.values) - len(keys.unique())


def canonical_texts(texts: pa.Array, folds: Collection[Fold]) -> pa.Array:
    """Return one text for all spellings that differ only in what is folded, the same in every table. O(distinct values).

    `folded` takes shortcuts where no two values of a column can be alike. Values that are no text stay as they are.

    >>> canonical_texts(pa.array(["ANN"]), ["case"]).to_pylist(), canonical_texts(pa.array(["007"]), ["number"]).to_pylist()
    (['ann'], ['7'])
    """
    if not folds or not is_text(texts):
        return texts
    mixed = pa.array(["aA", "0"], texts.type)  # two cases and two lengths: no shortcut holds
    return _keys(pa.concat_arrays([texts, mixed]), folds)[: len(texts)]


def _keys(texts: pa.Array, folds: Collection[Fold]) -> pa.Array:
    """Return keys, equal for values that differ only in notation.

    Compatible forms (full-width, ligatures) and invisible letters fold as `unicode`."""
    plain = bool(pc.all(pc.string_is_ascii(texts)).as_py() in (None, True))
    if "unicode" in folds and not plain:
        texts = pc.replace_substring_regex(pc.utf8_normalize(texts, form="NFKC"), INVISIBLE, "")
    if "case" in folds and not (plain and _one_case(texts)):
        texts = pc.utf8_lower(texts) if plain else _case_folded(texts)
    if "space" in folds and _odd_spaces(texts):
        # A regular expression took ten times as long.
        texts = pc.binary_join(pc.utf8_split_whitespace(pc.utf8_trim_whitespace(texts)), " ")
    return _numbers_alike(texts) if "number" in folds else texts


def _numbers_alike(texts: pa.Array) -> pa.Array:
    """Numbers without zeros, signs and commas that say nothing: `01`, `+1` and `1.0` are `1`, `1,000` is `1000`."""
    if not pc.any(pc.match_substring_regex(texts, PADDED)).as_py() or _as_long(texts):
        return texts
    found = pc.match_substring_regex(texts, NUMBER)
    plain = pc.replace_substring(texts, ",", "")
    plain = pc.replace_substring_regex(plain, r"^\+|^(-?)0+(\d)", r"\1\2")
    plain = pc.replace_substring_regex(plain, r"^(-?)0+(\d)", r"\1\2")  # behind a sign that is gone
    plain = pc.replace_substring_regex(plain, r"(\.\d*?)0+$", r"\1")
    plain = pc.replace_substring_regex(plain, r"\.$", "")
    return pc.if_else(found, plain, texts)


def _as_long(texts: pa.Array) -> bool:
    """Return whether all are digits, and as many: numbers of people with zeros before them, of which no two are alike."""
    length = pc.min_max(pc.binary_length(texts)).as_py()
    return length["min"] == length["max"] and bool(pc.all(pc.utf8_is_decimal(texts)).as_py())


def _one_case(texts: pa.Array) -> bool:
    """Return whether no two can differ in case: there are no capitals, or nothing else, as in codes."""
    small, large = pc.match_substring_regex(texts, "[a-z]"), pc.match_substring_regex(texts, "[A-Z]")
    return not (pc.any(small).as_py() and pc.any(large).as_py())


def _odd_spaces(texts: pa.Array) -> bool:
    """Return whether there is space around a text, twice within it, or another one than the plain one."""
    if pc.all(pc.equal(pc.utf8_trim_whitespace(texts), texts)).as_py() is False:
        return True
    return bool(pc.any(pc.match_substring_regex(texts, ODD)).as_py())


def _case_folded(texts: pa.Array) -> pa.Array:
    """By Unicode's rule: ß is ss."""
    return pa.array([None if text is None else text.casefold() for text in texts.to_pylist()], pa.string())
