"""Files of text, one or many, here or in a store, as one table: each is read as a file of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from oboro.errors import ColumnError
from oboro.io.files import Source, column_names, read
from oboro.io.places.file_systems import at_place
from oboro.io.places.place_names import Place
from oboro.io.places.stored.columnar_files import partition_schema
from oboro.io.places.stored.fetched_files import FetchedFile, called
from oboro.io.places.stored.table_files import TableFile
from oboro.io.places.wanted_columns import WantedColumns
from oboro.io.untouched_columns import SMALL, UntouchedColumns, file_changed
from oboro.table.dataset import Column, Dataset, smallest_unsigned
from oboro.table.named_columns import names_known
from oboro.table.unencoded_columns import UnreadColumn
from oboro.text import Message, Raw

__all__ = ["TextFiles", "stacked"]


@dataclass(frozen=True)
class UntouchedTexts(UntouchedColumns):
    """Columns that stayed in several files of text."""

    parts: Sequence[UntouchedColumns]

    def blocks(self, wanted: Sequence[str]) -> Iterator[Dataset]:
        """File by file."""
        for part in self.parts:
            yield from part.blocks(wanted)

    def read(self, names: Sequence[str]) -> Dataset:
        """These columns of all files."""
        return stacked([part.read(names) for part in self.parts])

    @property
    def small(self) -> bool:
        """Whether all of it is held easily."""
        return all(part.small for part in self.parts) and self.rows <= 1 << 20

    def check(self, rows: int | None = None) -> None:
        """Raise if one of them is not as it was."""
        for part in self.parts:
            part.check()
        if rows not in (None, self.rows):
            raise file_changed(self.path)


class TextFiles:
    """Files of CSV or one sheet of Excel; those of a store are copied here when they are opened."""

    def __init__(self, place: Place, files: Sequence[TableFile], options: Mapping[str, Any]) -> None:
        self.place, self.options = place, options
        self.files = [one for one in files if one.size] or list(files[:1])  # a file without a byte has no rows
        self.told = partition_schema(self.files)
        with at_place(place):
            self.fetched = {one.path: FetchedFile(one) for one in self.files if not one.local}

    def _path(self, file: TableFile) -> str:
        return self.fetched[file.path].path if file.path in self.fetched else file.path

    @property
    def columns(self) -> list[str] | None:
        """Those of the first file, and those of the paths; None where a file must be read as a whole to know them."""
        first = self.files[0]
        with called(self._path(first), first.shown):
            names = column_names(self._path(first), **self.options)
        return None if names is None else [*names, *(name for name in self.told.names if name not in names)]

    def read(self, wanted: WantedColumns) -> Source:
        """The rows of all files, one below the other."""
        asked = wanted.columns
        here = None if asked is None else [name for name in asked if name not in self.told.names]
        each = replace(wanted, columns=here)
        if len(self.files) > 1:  # fingerprints are keyed anew for each file
            held = wanted.held
            if held is not None and sum(one.size for one in self.files) <= SMALL:
                held = {*held, *wanted.fingerprinted}
            each = replace(each, held=held, fingerprinted=())
        parts: list[Source] = []
        for one in self.files:
            with called(self._path(one), one.shown):
                found = read(self._path(one), **each.of_file(), **self.options)
            names = list(parts[0].data if parts else found.data)
            _require_same(one, list(found.data), [name for name in names if name not in self._from_path(found)])
            data = found.data.select([name for name in names if name in found.data])
            parts.append(replace(found, data=_with_keys(data, one, self.told, asked)))
        return self._joined(parts)

    def _from_path(self, found: Source) -> list[str]:
        return [name for name in self.told.names if name not in found.data]

    def _joined(self, parts: Sequence[Source]) -> Source:
        first, shown, kept = parts[0], self.place.shown, tuple(self.fetched.values())
        if len(parts) == 1 and not self.told.names:
            return replace(first, path=shown, place=self.place, kept=kept)
        data = stacked([part.data for part in parts])
        untouched = [part.untouched for part in parts if part.untouched is not None]
        left = UntouchedTexts(shown, tuple(data), data.rows, None, None, untouched) if untouched else None
        return Source(data, shown, first.dialect, left, first.notes, place=self.place, kept=kept)


def _require_same(file: TableFile, found: Sequence[str], names: Sequence[str] | None) -> None:
    if names is None or sorted(found) == sorted(names):
        return
    lacking = [name for name in names if name not in found]
    more = [name for name in found if name not in names]
    # Each file is read against the other: the line end after the header of one of them may be lost.
    if lacking:
        shown = lacking if names_known(names, found) else [Raw(name) for name in lacking]
        raise ColumnError(Message("error_places.lacks", path=file.shown, columns=shown))
    shown = more if names_known(found, names) else [Raw(name) for name in more]
    raise ColumnError(Message("error_places.has_more", path=file.shown, columns=shown))


def _with_keys(data: Dataset, file: TableFile, told: pa.Schema, columns: Sequence[str] | None) -> Dataset:
    wanted = [entry for entry in told if entry.name not in data and (columns is None or entry.name in columns)]
    keys = dict(file.keys)
    values = {one.name: pa.array([keys.get(one.name)], pa.string()).cast(one.type) for one in wanted}
    codes = np.zeros(data.rows, np.uint8)
    data = data.with_columns({name: Column(one if data.rows else one.slice(1), codes) for name, one in values.items()})
    return data if columns is None else data.select(list(columns))


def stacked(tables: Sequence[Dataset]) -> Dataset:
    """Tables with the same columns, one below the other."""
    if len(tables) == 1:
        return tables[0]
    rows = sum(table.rows for table in tables)
    columns = {name: _stacked([table[name] for table in tables], rows) for name in tables[0]}
    return Dataset(columns, rows)


def _stacked(columns: Sequence[Column], rows: int) -> Column:
    if isinstance(columns[0], UnreadColumn):
        return UnreadColumn(rows)
    values = pa.chunked_array([one.values for one in columns]).combine_chunks()
    values = values.chunk(0) if isinstance(values, pa.ChunkedArray) else values
    joined = values.dictionary_encode(null_encoding="encode")
    numbers = joined.indices.to_numpy(zero_copy_only=False).astype(smallest_unsigned(len(joined.dictionary)))
    ends = np.cumsum([len(one.values) for one in columns])
    parts = [numbers[end - len(one.values) : end][one.codes] for one, end in zip(columns, ends, strict=True)]
    finer = None
    if any(one.finer is not None for one in columns):
        finer = lambda: _stacked([one.finest() for one in columns], rows)  # noqa: E731
    return Column(joined.dictionary, np.concatenate(parts), finer)
