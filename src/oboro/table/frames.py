"""Frames in, the same kind of frame out: pandas, polars, pyarrow, narwhals, a dict of lists, or a `Dataset`.

What comes back has the kind, the column names and, where a column's values kept their type, the column types of what came in.
Nothing but released values comes back with it:

- pandas: a fresh `RangeIndex`. An unnamed index is dropped, a named one is refused (it would name the rows); `attrs` is dropped.
- Categorical columns keep only the categories that rows still use, in their old order (or sorted, where values are new).
- pyarrow: schema metadata is dropped.
- Not-a-number comes back as missing.

pandas and polars are optional: they are imported only when the user's own object is one of theirs. The input is never changed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import narwhals.stable.v2 as nw
import narwhals.stable.v2.dependencies as is_
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro.errors import ColumnError, UsageError, listing
from oboro.table.dataset import Column, Dataset

__all__ = ["Frame"]


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

    @staticmethod
    def read(native: Any) -> Frame:
        """Encode a frame of any supported kind. Raises `UsageError` for another kind, `ColumnError` for an unusable column."""
        if isinstance(native, Frame):
            return native
        for fits, read in _KINDS:
            if fits(native):
                return read(native)
        raise UsageError(
            f"a table was expected (pandas, polars or pyarrow frame, dict of lists, Dataset), but a {type(native).__name__} came"
        )

    def write(self) -> Any:
        """The data as the kind of frame that came in."""
        return self.rebuild(self.data)


def _encode(table: pa.Table) -> Dataset:
    nested = [
        entry
        for entry in table.schema
        if pa.types.is_nested(entry.type) or isinstance(entry.type, pa.BaseExtensionType)
    ]
    if nested:
        raise ColumnError(
            f"column {nested[0].name!r} holds {nested[0].type}, not single values; split it into plain columns or drop it"
        )
    return Dataset.from_arrow(table)


def _kept(before: Dataset, after: Dataset) -> dict[str, Column]:
    """The columns whose values still have the type that came in, so that the frame's own type can be restored."""
    kept = {name: column for name, column in after.columns.items() if name in before}
    return {name: column for name, column in kept.items() if column.values.type == before[name].values.type}


def _texts(labels: Any) -> list[str]:
    """Column names as text; 1 and "1" would be the same name."""
    names = [str(label) for label in labels]
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if twice:
        raise ColumnError(f"two columns have the same name: {listing(twice)}; rename one of them")
    return names


def _array(name: object, values: Any) -> pa.Array | pa.ChunkedArray:
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as problem:
        raise ColumnError(
            f"column {str(name)!r} mixes kinds of values or holds objects ({problem}); make it one kind, for example all text"
        ) from None


# pyarrow ---------------------------------------------------------------------------------------------------------------------


def _read_arrow(table: pa.Table) -> Frame:
    data = _encode(table)
    types = dict(zip(table.column_names, table.schema.types, strict=True))

    def rebuild(released: Dataset) -> pa.Table:
        kept = _kept(data, released)
        columns = {
            name: _arrow(column, types[name]) if name in kept else column.decode()
            for name, column in released.columns.items()
        }
        return pa.table(columns)

    return Frame(data, rebuild)


def _read_batch(batch: pa.RecordBatch) -> Frame:
    frame = _read_arrow(pa.Table.from_batches([batch]))

    def rebuild(released: Dataset) -> pa.RecordBatch:
        table = frame.rebuild(released)
        columns = [column.combine_chunks() for column in table.columns]
        return pa.RecordBatch.from_arrays(columns, schema=table.schema)

    return Frame(frame.data, rebuild)


def _arrow(column: Column, type_: pa.DataType) -> pa.Array:
    if not pa.types.is_dictionary(type_):
        return column.decode().cast(type_)
    column = column.tidy()
    missing = column.missing
    mask = column.codes == missing if missing >= 0 else None
    indices = pa.array(column.codes.astype(type_.index_type.to_pandas_dtype()), mask=mask)
    values = column.values.cast(type_.value_type)
    return pa.DictionaryArray.from_arrays(indices, values, ordered=type_.ordered)


# pandas ----------------------------------------------------------------------------------------------------------------------


def _read_pandas(frame: Any) -> Frame:
    _refuse_named_index(frame)
    if getattr(frame.columns, "nlevels", 1) > 1:
        raise ColumnError("the frame has column names of several levels; flatten them to one text per column")
    names = _texts(frame.columns)
    labels = dict(zip(names, frame.columns, strict=True))
    series = [frame.iloc[:, place] for place in range(len(names))]
    arrays = [_array(name, one) for name, one in zip(names, series, strict=True)]
    data = _sized(_encode(pa.table(dict(zip(names, arrays, strict=True)))), len(frame))
    dtypes = dict(zip(names, (one.dtype for one in series), strict=True))
    return Frame(data, lambda released: _to_pandas(data, released, dtypes, labels))


def _sized(data: Dataset, rows: int) -> Dataset:
    """A frame without columns still has rows."""
    return data if data.columns else Dataset({}, rows)


def _refuse_named_index(frame: Any) -> None:
    named = [name for name in frame.index.names if name is not None]
    if named:
        raise ColumnError(
            f"the index {listing(named)} would name every row; make it a column with reset_index(), "
            "or leave it out with reset_index(drop=True)"
        )


def _to_pandas(before: Dataset, after: Dataset, dtypes: Mapping[str, Any], labels: Mapping[str, Hashable]) -> Any:
    import pandas as pd

    kept = _kept(before, after)
    series = {}
    for name, column in after.columns.items():
        if name in dtypes and isinstance(dtypes[name], pd.CategoricalDtype):
            series[name] = _pandas_categories(column, dtypes[name])
        elif name in kept:
            series[name] = _pandas_values(column, dtypes[name])
        else:
            series[name] = column.decode().to_pandas().array
    frame = pd.DataFrame(series, index=pd.RangeIndex(after.rows))
    frame.columns = pd.Index([labels.get(name, name) for name in after])
    return frame


def _pandas_categories(column: Column, dtype: Any) -> Any:
    import pandas as pd

    column = column.tidy()
    used = column.values.drop_null().to_pandas()
    old = dtype.categories[dtype.categories.isin(used)]
    same = len(old) == len(used)
    categories = old if same else pd.Index(used.sort_values())
    places = np.append(categories.get_indexer(used), -1)  # the last one is for the missing value, which is no category
    order = np.cumsum(column.values.is_valid().to_numpy(zero_copy_only=False)) - 1
    order[column.values.is_null().to_numpy(zero_copy_only=False)] = -1
    return pd.Categorical.from_codes(places[order][column.codes], categories=categories, ordered=same and dtype.ordered)


def _pandas_values(column: Column, dtype: Any) -> Any:
    import pandas as pd

    array = column.decode()
    if hasattr(dtype, "__from_arrow__"):
        return dtype.__from_arrow__(array)
    if (
        array.null_count and dtype.kind in "iub"
    ):  # plain integers and booleans have no missing value: use the nullable type
        nullable = pd.array(
            [], dtype="boolean" if dtype.kind == "b" else dtype.name.replace("i", "I").replace("u", "U")
        ).dtype
        return nullable.__from_arrow__(array)
    if dtype.kind == "O":
        return array.to_pandas(timestamp_as_object=True).astype(object).array
    return array.to_pandas().astype(dtype).array


# polars ----------------------------------------------------------------------------------------------------------------------


def _read_polars(frame: Any) -> Frame:
    dtypes = dict(zip(frame.columns, frame.dtypes, strict=True))
    nested = [name for name, dtype in dtypes.items() if dtype.is_nested() or dtype.is_object()]
    if nested:
        raise ColumnError(
            f"column {nested[0]!r} holds {dtypes[nested[0]]}, not single values; split it into plain columns or drop it"
        )
    data = _sized(_encode(frame.to_arrow()), frame.height)
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

    if isinstance(dtype, pl.Enum):
        used = set(column.tidy().values.to_pylist()) - {None}
        known = [value for value in dtype.categories.to_list() if value in used]
        return pl.Enum(known) if len(known) == len(used) else pl.String
    return dtype


# narwhals, plain Python, our own -----------------------------------------------------------------------------------------------


def _read_narwhals(frame: Any) -> Frame:
    inner = Frame.read(frame.to_native())
    wrap = type(frame)
    return Frame(inner.data, lambda released: _narwhals(wrap, inner.rebuild(released)))


def _narwhals(wrap: type, native: Any) -> Any:
    # narwhals has a main and several stable namespaces; the frame goes back to the one it came from.
    if issubclass(wrap, nw.DataFrame):
        return nw.from_native(native, eager_only=True)
    import narwhals
    import narwhals.stable.v1 as v1

    return (v1 if issubclass(wrap, v1.DataFrame) else narwhals).from_native(native, eager_only=True)


def _read_mapping(columns: Mapping[Any, Any]) -> Frame:
    names = _texts(columns)
    labels = dict(zip(names, columns, strict=True))
    arrays = {name: _array(name, values) for name, values in zip(names, columns.values(), strict=True)}
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name!r} has {length}" for name, length in list(lengths.items())[:8])
        raise ColumnError(f"all columns must have the same number of rows, but {shown}")
    data = _encode(pa.table(arrays))
    return Frame(
        data, lambda released: {labels.get(name, name): released[name].decode().to_pylist() for name in released}
    )


def _read_dataset(data: Dataset) -> Frame:
    return Frame(data, lambda released: released)


def _refuse_lazy(frame: Any) -> Frame:
    raise UsageError(f"the {type(frame).__name__} is not computed yet; call collect() on it first")


_KINDS: tuple[tuple[Callable[[Any], bool], Callable[[Any], Frame]], ...] = (
    (lambda it: isinstance(it, Dataset), _read_dataset),
    (is_.is_narwhals_dataframe, _read_narwhals),
    (is_.is_narwhals_lazyframe, _refuse_lazy),
    (is_.is_pandas_dataframe, _read_pandas),
    (is_.is_polars_dataframe, _read_polars),
    (is_.is_polars_lazyframe, _refuse_lazy),
    (lambda it: isinstance(it, pa.Table), _read_arrow),
    (lambda it: isinstance(it, pa.RecordBatch), _read_batch),
    (lambda it: isinstance(it, Mapping), _read_mapping),
)
