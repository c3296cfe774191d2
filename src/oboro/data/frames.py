"""Frames of other libraries, read and written as the same kind: pandas, polars, pyarrow, narwhals, a dict of lists, a
list of dicts, or a `Dataset`.

What gives its rows as Arrow (readers, datasets, relations, any `__arrow_c_stream__`) comes back as an Arrow table.

What comes back has the kind, the column names and, where a column's values kept their type, the column types of what
came in. Nothing but released values comes back with it:

- pandas: a fresh `RangeIndex`. Any other index names the rows and is refused: `reset_index()` makes it a column, to
  which the
  recipe gives a role; `reset_index(drop=True)` leaves it out. Whole numbers without a name, such as those that a
  selection leaves,
  may be read (to measure something), but no frame is made from them again: they point at rows of the original.
  `attrs` goes.
- pandas: periods and intervals are encoded as text and come back as they were, unless a step released other labels.
- Categorical columns keep only the categories that rows still use, in their old order where they are ordered or
  sorted (sorted too,
  where values are new); others come in the order of the rows, because theirs may tell in which order the rows came.
- pyarrow: schema metadata goes.
- Not-a-number comes back as missing.

pandas and polars are optional: they are imported only when the user's own object is one of theirs. The input is never
changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from oboro.data.column import DEEPEST_VALUE, Column, is_too_deep, plain, why_unusable
from oboro.data.dataset import Dataset
from oboro.errors import ColumnError, UsageError
from oboro.notations.kinds import is_missing
from oboro.notations.texts import is_text
from oboro.text import Message

__all__ = [
    "Frame",
    "Spelling",
    "Types",
    "as_it_came",
    "as_they_appear",
    "dictionary_array",
    "exchange_columns",
    "lost_types",
    "restorable",
    "type_again",
]


# Original Arrow types -------------------------------------------------------------------------------------------------
# Restore the Arrow type of each input column: dictionaries, wide text, text views, narrow decimals.


Types = Mapping[str, pa.DataType]


def encoded_type(type_: pa.DataType) -> pa.DataType:
    """The type that values have once a column of some type is encoded.

    >>> encoded_type(pa.dictionary(pa.int8(), pa.string_view()))
    DataType(string)
    """
    inner = type_.value_type if pa.types.is_dictionary(type_) or pa.types.is_run_end_encoded(type_) else type_
    return plain(pa.nulls(0, inner)).type


def lost_types(schema: pa.Schema) -> dict[str, pa.DataType]:
    """The types that columns of a file do not have any more once they are encoded."""
    usable = {entry.name: entry.type for entry in schema if why_unusable(entry.name, entry.type) is None}
    return {name: type_ for name, type_ in usable.items() if encoded_type(type_) != type_}


def type_again(name: str, encoded: pa.DataType, types: Types) -> pa.DataType | None:
    """The type that a column had in its file, if its values still have the type that was made of it."""
    came = types.get(name)
    return came if came is not None and encoded_type(came) == encoded else None


def restorable(data: Dataset, types: Types) -> Dataset:
    """The table with just the values that rows hold, in the order that their dictionary may have, where it becomes one again."""
    return data.with_columns(dict(_ordered(data, types)))


def _ordered(data: Dataset, types: Types) -> Iterator[tuple[str, Column]]:
    for name, type_ in types.items():
        if name in data and data[name].loaded and pa.types.is_dictionary(type_):
            yield name, data[name].tidy() if type_.ordered else as_they_appear(data[name])


def as_it_came(column: Column, type_: pa.DataType | None) -> pa.Array:
    """One value per row, in this type; None: in that of the values."""
    if type_ is None or pa.types.is_run_end_encoded(type_):
        return column.decode()
    if not pa.types.is_dictionary(type_):
        return column.decode().cast(type_)
    return dictionary_array(column.tidy() if type_.ordered else as_they_appear(column), type_)


def dictionary_array(column: Column, type_: pa.DataType) -> pa.Array:
    """A column as a dictionary of this type (with wider numbers where it must), all of its values in their order."""
    present = column.values.is_valid().to_numpy(zero_copy_only=False)
    places = np.cumsum(present) - 1  # a missing value is missing in the rows, not an entry of the dictionary
    indices = pa.array(places[column.codes], mask=~present[column.codes])
    values = column.values.drop_null().cast(type_.value_type)
    encoded = pa.DictionaryArray.from_arrays(indices, values, ordered=type_.ordered)
    fits = len(values) <= np.iinfo(type_.index_type.to_pandas_dtype()).max
    return encoded.cast(type_) if fits else encoded


def as_they_appear(column: Column) -> Column:
    """The column with its distinct values in the order in which rows have them first, without others."""
    column = column.tidy()
    first = np.empty(len(column.values), dtype=np.int64)
    first[column.codes[::-1]] = np.arange(len(column))[::-1]  # the last one written stays
    order = np.argsort(first)
    places = np.empty_like(order)
    places[order] = np.arange(order.size)
    return Column(column.values.take(pa.array(order)), places[column.codes].astype(column.codes.dtype))


# Frame ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Frame:
    """A table in memory, encoded, that remembers what it was.

    >>> from dataclasses import replace
    >>> frame = Frame.read({"age": [39, 50], "sex": ["F", "M"]})
    >>> replace(frame, data=frame.data.select(["age"])).write()
    {'age': [39, 50]}
    """

    data: Dataset
    rebuild: Callable[[Dataset], Any] = field(repr=False)
    lost: Message | None = None
    """What would be lost if a frame were made from it again, and the way out."""

    @staticmethod
    def read(native: Any) -> Frame:
        """Encode a frame of any supported kind: `UsageError` for another kind, `ColumnError` for an unusable column."""
        if isinstance(native, Frame):
            return native
        if isinstance(native, Dataset):
            return _read_dataset(native)
        for fits, read in _kinds():
            if fits(native):
                return read(native)
        raise UsageError(Message("error_table.no_table", kind=type(native).__name__))

    def write(self) -> Any:
        """The data as the kind of frame that came in."""
        self.require_whole()
        return self.rebuild(self.data)

    def require_whole(self) -> None:
        """Raise a `ColumnError` where a part of the frame would be lost silently."""
        if self.lost is not None:
            raise ColumnError(self.lost)


def _encode(table: pa.Table, rows: int) -> Dataset:
    """Every column encoded; one that does not hold single values can only be left out."""
    data = _encoded(table, rows)
    for name, column in data.columns.items():
        if column.loaded and is_text(column.values):
            _require_text(name, column.values)
    return data


def _require_text(name: str, values: pa.Array) -> None:
    """Raise a `ColumnError` where text is not UTF-8: Arrow does not look at what it is given."""
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        raise ColumnError(Message("error_table.not_utf8", name=name)) from None


def _encoded(table: pa.Table, rows: int) -> Dataset:
    nested = {entry.name: why for entry in table.schema if (why := why_unusable(entry.name, entry.type)) is not None}
    if not nested:
        return Dataset.from_arrow(table) if table.num_columns else Dataset({}, rows)
    from oboro.data.column import NestedColumn

    _texts(table.column_names)
    single = table.select([name for name in table.column_names if name not in nested])
    data = Dataset.from_arrow(single) if single.num_columns else Dataset({}, rows)
    columns = {name: NestedColumn(rows, nested[name]) if name in nested else data[name] for name in table.column_names}
    return replace(data, columns=columns)


def _kept(before: Dataset, after: Dataset) -> dict[str, Column]:
    """The columns whose values still have the type that came in, so that the frame's own type can be restored."""
    shared = {name: column for name, column in after.columns.items() if name in before}
    return {name: column for name, column in shared.items() if column.values.type == before[name].values.type}


def _texts(labels: Iterable[Hashable]) -> list[str]:
    """Column names as text; 1 and "1" would be the same name."""
    names = [str(label) for label in labels]
    if len(set(names)) < len(names):
        twice = sorted(name for name, count in Counter(names).items() if count > 1)
        raise ColumnError(Message("error_table.same_name", names=twice))
    return names


def _array(name: str, values: Any) -> pa.Array:
    if is_too_deep(values):
        raise ColumnError(Message("error_table.too_deep", name=name, most=DEEPEST_VALUE))
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        raise ColumnError(_mixed(name, values)) from None


def _mixed(name: str, values: Iterable[Any]) -> Message:
    """Name the kinds that a column mixes, never its values."""
    if not isinstance(values, Iterable):
        return Message("error_table.column_kind", name=name, kind=type(values).__name__)
    kinds = dict.fromkeys(type(value).__name__ for value in values if not is_missing(value))
    return Message("error_table.mixed", name=name, problem=", ".join(list(kinds)[:4]))


# pyarrow --------------------------------------------------------------------------------------------------------------


def _read_arrow(table: pa.Table) -> Frame:
    data = _encode(table, table.num_rows)
    types = dict(zip(table.column_names, table.schema.types, strict=True))

    def rebuild(released: Dataset) -> pa.Table:
        kept = _kept(data, released)
        return pa.table({name: as_it_came(released[name], types[name] if name in kept else None) for name in released})

    return Frame(data, rebuild)


def _read_batch(batch: pa.RecordBatch) -> Frame:
    frame = _read_arrow(pa.Table.from_batches([batch]))
    return Frame(frame.data, lambda released: frame.rebuild(released).combine_chunks().to_batches()[0])


# pandas ---------------------------------------------------------------------------------------------------------------


def _read_pandas(frame: Any) -> Frame:
    _refuse_names(frame)
    names = _texts(frame.columns)
    labels = dict(zip(names, frame.columns, strict=True))
    series = {name: frame.iloc[:, place] for place, name in enumerate(names)}
    arrays, dtypes = {}, {}
    for name, one in series.items():
        arrays[name], dtypes[name] = _pandas_array(name, one)
    data = _encode(pa.table(arrays), len(frame))
    return Frame(data, lambda released: _to_pandas(data, released, dtypes, labels), _lost_numbers(frame))


def _pandas_array(name: str, series: Any) -> tuple[pa.Array, Any]:
    """A column for Arrow, and its type, or how to get back to it."""

    try:
        plain, spelling = Spelling.of(series)
    except ValueError:
        raise ColumnError(_mixed(name, series)) from None
    return _array(name, plain), series.dtype if spelling is None else spelling


def _refuse_names(frame: Any) -> None:
    named = [name for name in frame.index.names if name is not None]
    if named:
        raise ColumnError(Message("error_table.index", named=named))
    # Whole numbers are row numbers, also those that a selection left; anything else names the rows.
    if len(frame) and (frame.index.nlevels > 1 or frame.index.dtype.kind not in "iu"):
        raise ColumnError(Message("error_table.unnamed_index", type=str(getattr(frame.index, "dtype", "object"))))
    if frame.columns.nlevels > 1:
        raise ColumnError(Message("error_table.nested_names"))


def _lost_numbers(frame: Any) -> Message | None:
    """An index of whole numbers other than 0, 1, 2 …: it points at rows, those of the original or others."""
    plain = not len(frame) or bool((frame.index == np.arange(len(frame))).all())
    return None if plain else Message("error_table.index_numbers")


def _to_pandas(before: Dataset, after: Dataset, dtypes: Mapping[str, Any], labels: Mapping[str, Hashable]) -> Any:
    import pandas as pd

    kept = _kept(before, after)
    arrays: dict[str, Any] = {}
    for name, column in after.columns.items():
        dtype = dtypes.get(name)
        if isinstance(dtype, Spelling):
            if (again := dtype.back(column)) is not None:
                arrays[name] = again
                continue
            dtype = dtype.plain
        if isinstance(dtype, pd.CategoricalDtype):
            arrays[name] = _pandas_categories(column, dtype)
        elif name in kept and dtype is not None:
            arrays[name] = _pandas_values(column, dtype)
        else:
            arrays[name] = column.decode().to_pandas().array
    frame = pd.DataFrame(arrays, index=pd.RangeIndex(after.rows))
    frame.columns = pd.Index([labels.get(name, name) for name in after])
    return frame


def _pandas_categories(column: Column, dtype: Any) -> Any:
    import pandas as pd

    column = column.tidy() if dtype.ordered else as_they_appear(column)
    used = column.values.drop_null().to_pandas()
    old = dtype.categories[dtype.categories.isin(used)]
    same = len(old) == len(used)
    old = old if dtype.ordered or not same or old.is_monotonic_increasing else old[old.get_indexer(used)]
    categories = old if same else pd.Index(used.sort_values())
    places = np.full(len(column.values), -1)  # a missing value is no category
    places[column.values.is_valid().to_numpy(zero_copy_only=False)] = categories.get_indexer(used)
    return pd.Categorical.from_codes(places[column.codes], categories=categories, ordered=bool(same and dtype.ordered))


def _pandas_values(column: Column, dtype: Any) -> Any:
    import pandas as pd

    array = column.decode()
    if array.null_count and dtype.kind in "iub" and isinstance(dtype, np.dtype):
        # NumPy's integers and booleans have no missing value: the nullable type of the same width does.
        dtype = pd.array(np.empty(0, dtype), dtype=_nullable_name(dtype)).dtype
    if hasattr(dtype, "__from_arrow__"):
        return dtype.__from_arrow__(array)
    if dtype.kind == "O":
        return pd.Series(array.to_pylist(), dtype=object)
    return array.to_pandas().astype(dtype).array


def _nullable_name(dtype: np.dtype[Any]) -> Any:
    return {"b": "boolean", "i": f"Int{8 * dtype.itemsize}", "u": f"UInt{8 * dtype.itemsize}"}[dtype.kind]


# polars ---------------------------------------------------------------------------------------------------------------


def _read_polars(frame: Any) -> Frame:
    dtypes = dict(zip(frame.columns, frame.dtypes, strict=True))
    for name, dtype in dtypes.items():
        if dtype.is_object():
            raise ColumnError(Message("error_table.not_single", name=name, type=str(dtype)))
    data = _encode(frame.to_arrow(), frame.height)
    return Frame(data, lambda released: _to_polars(data, released, dtypes))


def _to_polars(before: Dataset, after: Dataset, dtypes: Mapping[str, Any]) -> Any:
    import polars as pl

    kept = _kept(before, after)
    columns = []
    for name, column in after.columns.items():
        series = pl.Series(name, column.decode())
        columns.append(series.cast(_polars_type(column, dtypes[name])) if name in kept else series)
    return pl.DataFrame(columns)


def _polars_type(column: Column, dtype: Any) -> Any:
    import polars as pl

    if not isinstance(dtype, pl.Enum):
        return dtype
    # An Enum names its categories in its type: those that no row uses any more must not come back.
    used = set(column.tidy().values.to_pylist()) - {None}
    known = [value for value in dtype.categories.to_list() if value in used]
    return pl.Enum(known) if len(known) == len(used) else pl.String


# narwhals, plain Python and datasets ----------------------------------------------------------------------------------


def _read_narwhals(frame: Any) -> Frame:
    inner = Frame.read(frame.to_native())
    return Frame(inner.data, lambda released: _narwhals(type(frame), inner.rebuild(released)), inner.lost)


def _narwhals(wrap: type, native: Any) -> Any:
    # narwhals has a main and several stable namespaces; the frame goes back to the one it came from.
    import narwhals
    import narwhals.stable.v1 as v1
    import narwhals.stable.v2 as v2

    namespace = next((one for one in (v1, v2) if issubclass(wrap, one.DataFrame)), narwhals)
    return namespace.from_native(native, eager_only=True)


def _read_mapping(columns: Mapping[Hashable, Any]) -> Frame:
    names = _texts(columns)
    labels = dict(zip(names, columns, strict=True))
    arrays = {name: _array(name, values) for name, values in zip(names, columns.values(), strict=True)}
    if len({len(array) for array in arrays.values()}) > 1:
        rows = [Message("error_table.has_rows", column=name, rows=len(array)) for name, array in arrays.items()]
        raise ColumnError(Message("error_table.unequal_rows", columns=rows[:8]))
    data = _encode(pa.table(arrays), len(next(iter(arrays.values()), ())))
    return Frame(data, lambda released: {labels.get(name, name): _list(released[name]) for name in released})


def _list(column: Column) -> list[Any]:
    return list(column.decode().to_pylist())


def _read_dataset(data: Dataset) -> Frame:
    return Frame(data, lambda released: released)


def _holds_dataset(native: Any) -> bool:
    """Return whether it is something of ours that holds a table: a file that was read, or a release."""
    return hasattr(type(native), "dataset")


def _read_lazy(frame: Any) -> Frame:
    """A lazy frame is computed, and comes back lazy."""
    inner = Frame.read(frame.collect())
    return Frame(inner.data, lambda released: inner.rebuild(released).lazy(), inner.lost)


def _read_stream(native: Any) -> Frame:
    """Anything that gives its rows as Arrow: a reader, a relation, a frame of a library that we do not know."""
    try:
        table = pa.RecordBatchReader.from_stream(native).read_all()
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # a stream of values that are no rows
        raise UsageError(Message("error_table.no_table", kind=type(native).__name__)) from None
    table.validate(full=True)  # whoever made it may be mistaken, and kernels believe Arrow
    return _read_arrow(table)


def _is_records(native: Any) -> bool:
    return isinstance(native, list | tuple) and bool(native) and isinstance(native[0], Mapping)


def _read_records(rows: Sequence[Mapping[Hashable, Any]]) -> Frame:
    """A list of dictionaries, one a row, as JSON has them; a key that a row lacks is a missing value."""
    strange = next((number for number, row in enumerate(rows) if not isinstance(row, Mapping)), None)
    if strange is not None:
        kind = type(rows[strange]).__name__
        raise UsageError(Message("error_table.dict_rows", row=strange + 1, kind=kind))
    labels = dict.fromkeys(label for row in rows for label in row)
    inner = _read_mapping({label: [row.get(label) for row in rows] for label in labels})
    return Frame(inner.data, lambda released: _records(inner.rebuild(released), released.rows))


def _records(columns: Mapping[Hashable, Sequence[Any]], rows: int) -> list[dict[Hashable, Any]]:
    return [{label: values[row] for label, values in columns.items()} for row in range(rows)]


@cache
def _kinds() -> tuple[tuple[Callable[[Any], bool], Callable[[Any], Frame]], ...]:
    """Return the test and the reader of each kind of frame."""
    import narwhals.stable.v2.dependencies as is_

    return (
        (is_.is_narwhals_dataframe, _read_narwhals),
        (is_.is_narwhals_lazyframe, _read_lazy),
        (is_.is_pandas_dataframe, _read_pandas),
        (is_.is_polars_dataframe, _read_polars),
        (is_.is_polars_lazyframe, _read_lazy),
        (lambda it: isinstance(it, pa.Table), _read_arrow),
        (lambda it: isinstance(it, pa.RecordBatch), _read_batch),
        (lambda it: isinstance(it, Mapping), _read_mapping),
        (_is_records, _read_records),
        (_holds_dataset, lambda it: _read_dataset(it.dataset)),
        (lambda it: hasattr(it, "get_fragments"), lambda it: _read_arrow(it.to_table())),
        (lambda it: hasattr(it, "__arrow_c_stream__"), _read_stream),
    )


# Replaced columns -----------------------------------------------------------------------------------------------------
# A frame of any kind with some of its columns replaced.


def exchange_columns(native: Any, columns: Mapping[str, pa.Array]) -> Any:
    """The same kind of frame with these columns in their old places; an ordered dictionary becomes an ordered category.

    >>> exchange_columns({"age": ["20–29", "*"], "sex": ["F", "M"]}, {"age": pa.array([24.5, None])})
    {'age': [24.5, None], 'sex': ['F', 'M']}
    """
    if isinstance(native, Dataset):
        return native.with_columns({name: Column.encode(array) for name, array in columns.items()})
    if isinstance(native, pa.Table):
        return pa.table({name: columns.get(name, native[name]) for name in native.column_names})
    import narwhals.stable.v2.dependencies as is_

    if is_.is_pandas_dataframe(native):
        frame = native.copy()
        for place, label in enumerate(native.columns):
            if str(label) in columns:
                frame.isetitem(place, columns[str(label)].to_pandas())
        return frame
    if is_.is_polars_dataframe(native):
        return native.with_columns([_series(name, array) for name, array in columns.items()])
    if isinstance(native, Mapping):
        return {name: columns[str(name)].to_pylist() if str(name) in columns else native[name] for name in native}
    raise UsageError(Message("error_table.no_table", kind=type(native).__name__))


def _series(name: str, array: pa.Array) -> Any:
    import polars as pl

    if not pa.types.is_dictionary(array.type):
        return pl.Series(name, array)
    return pl.Series(name, array.cast(pa.string())).cast(pl.Enum(array.dictionary.to_pylist()))


# Periods and intervals of pandas --------------------------------------------------------------------------------------
# pandas columns of types that Arrow lacks, periods and intervals, as text and back.
#
# The texts `2024Q1`, `2024-01` and `(20, 30]` are those that pandas shows, and can be used in hierarchies and as
# labels. Where all released values are among the original ones, the column gets its own type back; where some are new,
# such as `*`, it stays text.


@dataclass(frozen=True, eq=False)
class Spelling:
    """The distinct values of a column and their texts."""

    values: Any  # a pandas array of periods or intervals
    texts: list[str]
    dtype: Any

    @staticmethod
    def of(series: Any) -> tuple[Any, Spelling | None]:
        """Return the text column that is encoded instead, and its `Spelling`; any other column unchanged, with None."""
        import pandas as pd

        dtype = series.dtype
        if isinstance(dtype, pd.SparseDtype):
            return series.sparse.to_dense(), None
        if isinstance(dtype, pd.CategoricalDtype):
            codes, values = series.cat.codes.to_numpy(), dtype.categories.array
        else:
            codes, values = np.empty(0), series.array
        if not isinstance(values.dtype, pd.PeriodDtype | pd.IntervalDtype):
            return series, None
        if not isinstance(dtype, pd.CategoricalDtype):
            codes, values = pd.factorize(values)
        texts = [str(value) for value in values]
        if len(set(texts)) < len(texts):
            raise ValueError(f"two values are both written {max(texts, key=texts.count)}")
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), pa.array(texts, pa.string())), Spelling(
            values, texts, dtype
        )

    def back(self, column: Column) -> Any:
        """The released column with the type that came; None where it holds a new value."""
        import pandas as pd

        place = {text: number for number, text in enumerate(self.texts)}
        column = column.tidy()
        held = column.values.to_pylist()
        if not all(text is None or text in place for text in held):
            return None
        used = sorted(place[text] for text in held if text is not None)  # what nobody has any more does not come back
        known = self.values.take(np.array(used, dtype=np.intp))
        rank = {number: at for at, number in enumerate(used)}
        codes = np.array([-1 if text is None else rank[place[text]] for text in held], dtype=np.intp)[column.codes]
        if isinstance(self.dtype, pd.CategoricalDtype):
            return pd.Categorical.from_codes(codes, categories=pd.Index(known), ordered=bool(self.dtype.ordered))
        return known.take(codes, allow_fill=True)

    @property
    def plain(self) -> Any:
        """The type of the column where it holds new labels: categories stay categories, all else is text."""
        import pandas as pd

        is_category = isinstance(self.dtype, pd.CategoricalDtype)
        return pd.CategoricalDtype(pd.Index(self.texts)) if is_category else None
