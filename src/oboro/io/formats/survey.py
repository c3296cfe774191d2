"""Survey data: files of Stata and SPSS, through pyreadstat (the extra `survey`).

Such files hold numbers whose meaning is in value labels (1 = male, 2 = female). A column is read as its labels if every value
that occurs has a label of its own, and as its codes otherwise; `labels=False` reads all columns as codes. Labelled columns keep the
order of their codes. User-missing values (SPSS: 9 = refused; Stata: .a to .z) and empty text are read as missing.

Written are the released values, value labels of released values only, and nothing else: no notes, no labels of the file or of
columns, no user-missing codes. A label keeps the code that it had in the input; released values that were no label there, such as
`*`, get the next codes.
"""

from __future__ import annotations

import json
import math
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from oboro._lazy import bring, pc
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.frames import lost_types
from oboro.errors import FileError, UsageError
from oboro.io.formats.base import FileFormat, ReadRequest, TypedTable, WriteRequest, chosen_columns
from oboro.io.formats.isolated import IsolatedReader
from oboro.notations.texts import texts_of
from oboro.text import Message

__all__ = ["FORMAT", "LabelledTypes", "serve"]


EXACT = 1 << 53
"""Numbers are stored in 64 bits of floating point: larger whole numbers are written as text."""
READERS = {".dta": "read_dta", ".sav": "read_sav", ".zsav": "read_sav"}
LABELLED = pa.dictionary(pa.int32(), pa.string(), ordered=True)
"""The type of a labelled column."""
Codes = Mapping[str, Mapping[str, float]]
"""For each labelled column the code of each label."""


class LabelledTypes(dict[str, pa.DataType]):
    """Types of columns in a file, and the codes of its labels."""

    codes: Codes = {}  # noqa: RUF012 (replaced, never changed)


# Reading --------------------------------------------------------------------------------------------------------------


def serve(given: Mapping[str, Any], questions: BinaryIO, out: BinaryIO) -> None:
    """Read the file in a process of its own: answer with value labels, then with the rows."""
    pyreadstat = bring("pyreadstat")
    try:
        values, found = _read(getattr(pyreadstat, given["reader"]), given["path"], given["encoding"])
        table = pa.table({name: _array(column) for name, column in values.items()})
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, UnicodeError, ValueError, OverflowError) as problem:
        # What the library reports may hold values of the file.
        out.write(json.dumps({"problem": type(problem).__name__}).encode() + b"\n")
        out.flush()
        return
    labels = {
        name: [[code if isinstance(code, str) else float(code), str(label)] for code, label in known.items()]
        for name, known in found.variable_value_labels.items()
    }
    out.write(json.dumps({"labels": labels}).encode() + b"\n")
    with pa.ipc.new_stream(out, table.schema) as stream:
        stream.write_table(table)
    out.flush()


def _read(reader: Any, path: str, encoding: str | None) -> tuple[Mapping[str, Any], Any]:
    options = {"output_format": "dict", "user_missing": False, "encoding": encoding}
    try:
        values, found = reader(path, **options)
    except OverflowError:  # a date that Python's calendar does not have: dates stay numbers
        values, found = reader(path, disable_datetime_conversion=True, **options)
    return values, found


def _array(column: Any) -> pa.Array:
    """Return a column as numbers, dates, moments, times or text; what is missing is missing, empty text too."""
    column = np.asarray(column)
    if column.dtype.kind in "iub":
        return pa.array(column)
    if column.dtype.kind == "f":
        array = pa.array(column, mask=np.isnan(column))
        try:
            return pc.cast(array, pa.int64())
        except pa.ArrowInvalid:
            return array
    values = [None if value in ("", None) or value != value else value for value in column.tolist()]
    return pa.array(values, from_pandas=True) if any(value is not None for value in values) else pa.nulls(len(values))


def _labelled(array: pa.Array, labels: Mapping[float, str]) -> pa.Array | None:
    """Return a column as its labels in the order of their codes; None if a value has no label, or two values have the same one."""
    if not labels or not (pa.types.is_integer(array.type) or pa.types.is_floating(array.type)):
        return None
    codes = sorted(set(array.drop_null().to_pylist()))
    texts = [labels.get(code) for code in codes]
    if not codes or None in texts or len(set(texts)) < len(texts):
        return None
    indices = pc.index_in(array, pa.array(codes, array.type))
    return pa.DictionaryArray.from_arrays(indices, pa.array(texts, pa.string()), ordered=True)


# Writing --------------------------------------------------------------------------------------------------------------


def _numbers(column: Column) -> np.ndarray | None:
    """Return a column of numbers as floating point, not-a-number where it is missing; None if that would change a value."""
    values = column.values
    if pa.types.is_boolean(values.type) or pa.types.is_integer(values.type):
        whole = values.cast(pa.decimal128(20, 0)) if pa.types.is_uint64(values.type) else values.cast(pa.int64())
        if any(abs(value) > EXACT for value in whole.to_pylist() if value is not None):
            return None
    elif not pa.types.is_floating(values.type):
        return None
    found = [math.nan if value is None else float(value) for value in values.to_pylist()]
    return None if any(math.isinf(one) for one in found) else np.array(found)[column.codes]


def _moments(column: Column, pandas: Any) -> Any:
    """Return dates or moments as pandas has them; None if some cannot be stored exactly."""
    values = column.values
    if pa.types.is_date(values.type):
        looked_up = np.array([*values.to_pylist(), None], dtype=object)[:-1]
        return looked_up[column.codes]
    if pa.types.is_timestamp(values.type) and values.type.tz is None:
        try:
            milliseconds = values.cast(pa.timestamp("ms"))
        except pa.ArrowInvalid:
            return None
        return pandas.Series(milliseconds.to_numpy(zero_copy_only=False)[column.codes])
    return None


def _coded(column: Column, codes: Mapping[str, float]) -> tuple[np.ndarray, dict[float, str]]:
    """Return a column of labels as codes, and the labels of the values that rows have."""
    texts = [None if text is None else str(text) for text in column.values.to_pylist()]
    used = sorted(set(column.codes.tolist()))
    following = max(codes.values(), default=0)
    labels: dict[float, str] = {}
    numbers = np.full(len(texts), math.nan)
    for place in used:
        text = texts[place]
        if text is None:
            continue
        code = codes.get(text)
        if code is None:
            following = code = math.floor(following) + 1
        numbers[place], labels[float(code)] = code, text
    return numbers[column.codes], labels


def _joined(blocks: Sequence[Dataset]) -> Dataset:
    """Return blocks of rows as one table; all blocks of a column have the same values, or their own."""
    if len(blocks) == 1:
        return blocks[0]
    tables = [pa.table({name: column.decode() for name, column in block.columns.items()}) for block in blocks]
    return Dataset.from_arrow(pa.concat_tables(tables, promote_options="permissive").combine_chunks())


@contextmanager
def _private_file() -> Iterator[str]:
    """Give the path of a file that only this user can read, since the library writes by name; on Linux it has no other one."""
    if sys.platform == "linux":
        with tempfile.TemporaryFile() as file:
            yield f"/proc/self/fd/{file.fileno()}"
    else:
        with tempfile.TemporaryDirectory() as folder:
            yield str(Path(folder, "table"))


# Format ---------------------------------------------------------------------------------------------------------------


class Survey(FileFormat):
    """Stata and SPSS."""

    name = "survey"
    endings = (".dta", ".sav", ".zsav")
    magic = (b"<stata_d", b"$FL2", b"$FL3")
    trimmed = (".sav", ".zsav")
    options = ("labels",)

    def recognizes(self, head: bytes, ending: str | None) -> bool:
        """Return whether a file is of Stata or SPSS; old files of Stata begin with their version only."""
        return head.startswith(self.magic) or (ending == ".dta" and 104 <= (head[:1] or b"\0")[0] <= 115)

    def read(self, path: str, request: ReadRequest) -> TypedTable:
        """Read all columns, labelled ones as their labels unless codes are requested."""
        with open(path, "rb") as file:
            reader = READERS[".sav" if file.read(3) == b"$FL" else ".dta"]
        process = IsolatedReader("pyreadstat", path, module=__name__)
        try:
            answer, batches = process.ask_rows(**process.given, reader=reader, encoding=request.encoding)
        finally:
            process.end()
        table = pa.Table.from_batches(batches)
        types, notes, codes = LabelledTypes(), [], {}
        for place, name in enumerate(table.column_names):
            labels = dict(answer["labels"].get(name, ()))
            array = table.column(place).combine_chunks()
            found = _labelled(array, labels) if request.labels else None
            if found is not None:
                table = table.set_column(place, name, found)
                codes[name] = {label: code for code, label in labels.items()}
            elif labels and request.labels:
                notes.append(Message("io.without_labels", path=path, column=name))
        data = chosen_columns(path, table, request.columns).data
        types.update(dict.fromkeys(codes, LABELLED))
        types.update({name: type_ for name, type_ in lost_types(table.schema).items() if name not in codes})
        types.codes = codes
        return TypedTable(data, types, tuple(notes))

    def write(self, file: Any, blocks: Iterator[Dataset], request: WriteRequest) -> None:
        """Write numbers, dates, moments and text; labelled columns of the input as codes with the labels of released values."""
        pyreadstat, pandas = bring("pyreadstat"), bring("pandas")
        data = _joined(list(blocks))
        if not len(data.columns):
            raise UsageError(Message("error_io.no_column_left"))
        codes: Codes = getattr(request.types, "codes", {})
        columns: dict[str, Any] = {}
        labels: dict[str, dict[float, str]] = {}
        for name, column in data.columns.items():
            if name in codes and pa.types.is_string(column.values.type):
                columns[name], labels[name] = _coded(column, codes[name])
                continue
            numbers = _numbers(column)
            found = numbers if numbers is not None else _moments(column, pandas)
            if found is None:
                found = np.array([text or "" for text in texts_of(column.values)], dtype=object)[column.codes]
            columns[name] = found
        frame = pandas.DataFrame(columns)
        options = {"compress": request.ending == ".zsav"} if request.ending != ".dta" else {}
        write = pyreadstat.write_dta if request.ending == ".dta" else pyreadstat.write_sav
        with _private_file() as path:
            try:
                write(frame, path, variable_value_labels=labels, **options)
            except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, ValueError, TypeError, OverflowError):
                raise FileError(Message("error_io.not_in_survey", ending=request.ending)) from None
            with open(path, "rb") as whole:
                shutil.copyfileobj(whole, file)


FORMAT = Survey()
