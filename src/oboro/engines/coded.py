"""Coded rows of an engine: codes and keyed numbers of values, and the plan that turns codes into released rows.

A plan is made on the driver from what the recipe did to the codes of all rows: label maps, and the combinations of codes
that differ from them. Where the data is, rows are only looked up in it, so a repeated task gives the same result. A row
that the driver never read is an error there, never a guess.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from math import prod
from typing import Any
from uuid import uuid4

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro import __version__
from oboro.data.column import Column, missing_for_nan, plain, smallest_unsigned
from oboro.data.dataset import Dataset
from oboro.engines import kernels
from oboro.engines.task_errors import opened_error
from oboro.errors import InputError, OboroError
from oboro.system.process import in_order as in_turn
from oboro.text import Message, Raw

__all__ = [
    "COUNT",
    "FIRST",
    "OURS",
    "PLACE",
    "ROW",
    "SECOND",
    "ByValue",
    "ChangedData",
    "Checked",
    "Checking",
    "CombinationCounts",
    "Exceptions",
    "GatheredRows",
    "KnownValues",
    "Packed",
    "Packer",
    "Places",
    "RowNumbers",
    "Scattered",
    "Spool",
    "TupleKeys",
    "UnknownTuple",
    "as_texts",
    "by_place",
    "by_value",
    "drawn_key",
    "encoded",
    "found_in",
    "in_chunks",
    "in_order",
    "packed",
    "parts_for",
    "placed",
    "places_in",
    "prepared",
    "released_columns",
    "rows_of_tally",
    "shared_out",
    "speaking_for",
    "spooled",
    "unpacked",
    "value_numbers",
]


# Random order of distributed rows -------------------------------------------------------------------------------------
# Every row goes to a random part, and each part is put in a random order.
#
# That is the order of one random number for each row, whose first digits choose the part. Rows travel as codes, some
# hundred thousand together: an engine moves a few blocks and sorts nothing.


TOGETHER, WIDE = 1 << 19, 1 << 26  # rows, or bytes, that are scattered at once
LARGEST_PART, SMALLEST_PART = 1 << 20, 1 << 16  # rows of a part: no more than a task holds, no fewer than are worth one


def parts_for(rows: int, usual: int) -> int:
    """Return the number of parts: as many as a session usually makes, unless that is too many or too few for the rows."""
    return max(1, -(-rows // LARGEST_PART), min(usual, -(-rows // SMALLEST_PART)))


def in_chunks(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Join small tables into larger ones, up to the size that is worthwhile and fits."""
    waiting: list[pa.Table] = []
    for table in tables:
        waiting.append(table)
        if sum(one.num_rows for one in waiting) >= TOGETHER or sum(one.nbytes for one in waiting) >= WIDE:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)


def shared_out(table: pa.Table, part: np.ndarray, parts: int) -> Iterator[tuple[int, bytes]]:
    """Split a table into blocks of rows, one for each part that gets some. O(rows)."""
    order = np.argsort(part.astype(np.uint16) if parts < 1 << 16 else part, kind="stable")
    ends = np.cumsum(np.bincount(part, minlength=parts))
    moved = table.take(pa.array(order)).combine_chunks()
    for number in np.flatnonzero(np.diff(ends, prepend=0)):
        begin = int(ends[number - 1]) if number else 0
        yield int(number), packed(moved.slice(begin, int(ends[number]) - begin))


@dataclass(frozen=True)
class Scattered:
    """Random parts and their secret key. A task that is run again draws the same."""

    parts: int
    key: bytes

    def _draws(self, purpose: str, number: int) -> np.random.Generator:
        seed = blake2b(f"{purpose} {number}".encode(), key=self.key, digest_size=32).digest()
        return np.random.default_rng(int.from_bytes(seed, "little"))

    def scatter(self, tables: Iterable[pa.Table], task: int) -> Iterator[tuple[int, bytes]]:
        """Blocks of rows, each with the part that it belongs to. O(rows)."""
        rng = self._draws("rows", task)
        for table in in_chunks(tables):
            yield from shared_out(table, rng.integers(0, self.parts, table.num_rows, dtype=np.uint32), self.parts)

    def collect(self, part: int, blocks: Iterable[Any]) -> pa.Table:
        """The rows of one part in a random order. The blocks may come in any order: theirs tells nothing."""
        tables = [pa.ipc.open_stream(block).read_all() for block in blocks]
        table = pa.concat_tables(tables).combine_chunks()
        return table.take(pa.array(self._draws("order", part).permutation(table.num_rows)))


class Spool:
    """Blocks of parts, in a file without a name. Memory: where each block begins."""

    def __init__(self, blocks: Iterable[tuple[int, bytes]]) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  (`done` closes it)
        self._places: dict[int, list[tuple[int, int]]] = {}
        try:
            for part, block in blocks:
                self._places.setdefault(part, []).append((self._file.tell(), len(block)))
                self._file.write(block)
        except BaseException:
            self.done()
            raise

    def parts(self) -> Iterator[tuple[int, list[Any]]]:
        """The blocks of each part."""
        for part in sorted(self._places):
            yield part, [(self._file.seek(begin), self._file.read(size))[1] for begin, size in self._places[part]]

    def told(self, look: Callable[[int, list[Any]], bytes], job: str) -> Iterable[bytes]:
        """Apply a function to each part; return its results."""
        return [look(part, blocks) for part, blocks in self.parts()]

    def done(self) -> None:
        """The file is gone."""
        self._file.close()


def spooled(how: Scattered, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Put all rows in a random order, part by part, on one machine. Memory: one part."""
    spool = Spool(how.scatter(tables, 0))
    try:
        for part, blocks in spool.parts():
            yield how.collect(part, blocks)
    finally:
        spool.done()


def packed(table: pa.Table) -> bytes:
    """A table as bytes that travel."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as out:
        out.write_table(table)
    return bytes(sink.getvalue())


# Keyed numbers of values ----------------------------------------------------------------------------------------------
# One keyed 64-bit number for a value, the same on every machine, so that rows and values can be compared without
# being loaded.
#
# Two different values have the same number with a chance of 2⁻⁶⁴. A new key is drawn for every run and never written:
# an attacker cannot choose values that collide, and a number does not disclose its value.


MISSING = np.uint64(0x9E3779B97F4A7C15)


def drawn_key() -> bytes:
    """Draw a new key."""
    return os.urandom(16)


def as_texts(values: pa.Array) -> pa.Array:
    """Values as text or bytes, different ones different: whole numbers of every width and text of every Arrow type alike."""
    if pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type):
        return values.cast(pa.large_binary())
    if pa.types.is_fixed_size_binary(values.type):
        return values.cast(pa.binary()).cast(pa.large_binary())
    return values.cast(pa.large_string())


def value_numbers(values: pa.Array, key: bytes) -> np.ndarray:
    """Compute the number of each value. O(bytes)."""
    texts = as_texts(values)
    starts, data = texts.buffers()[1:]
    places = np.frombuffer(starts, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    held = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    out = np.zeros(len(texts), np.uint64)
    kernels.number_texts(held, places, np.frombuffer(key, np.uint64), out)
    if texts.null_count:
        out[texts.is_null().to_numpy(zero_copy_only=False)] = MISSING
    return out


def encoded(array: pa.Array | pa.ChunkedArray) -> tuple[pa.Array, np.ndarray]:
    """Return the distinct values of a batch and each row's place among them; not-a-number is missing."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    found = plain(missing_for_nan(array)).dictionary_encode(null_encoding="encode")
    return found.dictionary, found.indices.to_numpy(zero_copy_only=False)


@dataclass(frozen=True)
class RowNumbers:
    """One number for some columns of a row: the sum of the numbers of its values, each column with a key of its own."""

    key: bytes

    def of_values(self, name: str, values: pa.Array) -> np.ndarray:
        """The number of each value of a column."""
        own = np.frombuffer(self.key, np.uint64) ^ np.uint64(pc_name(name))
        return value_numbers(values, own.tobytes())

    def of_arrays(self, arrays: Mapping[str, pa.Array], rows: int) -> np.ndarray:
        """Compute the numbers of the rows of a batch."""
        return self.of_encoded({name: encoded(array) for name, array in arrays.items()}, rows)

    def of_encoded(self, found: Mapping[str, tuple[pa.Array, np.ndarray]], rows: int) -> np.ndarray:
        """Compute the numbers of the rows of a batch whose columns are encoded."""
        out = np.zeros(rows, np.uint64)
        for name, (values, places) in found.items():
            out += self.of_values(name, values)[places]
        return out

    def of_columns(self, columns: Mapping[str, Column], out: np.ndarray) -> np.ndarray:
        """Compute the numbers of the rows of encoded columns, added to `out`."""
        for name, column in columns.items():
            out += self.of_values(name, column.values)[column.codes]
        return out

    def total(self, numbers: np.ndarray) -> int:
        """One number for all rows, whatever their order."""
        return int(kernels.add_mixed(numbers, np.frombuffer(self.key, np.uint64)))


def pc_name(name: str) -> int:
    """A number of a column's name."""
    from hashlib import blake2b

    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little")


def summed(parts: Iterable[int]) -> int:
    """The total of several parts."""
    return sum(parts) % (1 << 64)


# Keys of combinations of codes ----------------------------------------------------------------------------------------
# One number for the codes of several columns of a row, made the same way on the driver and where the data is.


ROOM = 1 << 63  # numbers that a key may take before keys are numbered anew
LARGE, FEW = 1 << 15, 1 << 10  # known keys beyond which those that are looked for are sorted, unless they are few


class UnknownTuple(Exception):
    """A combination of codes that did not occur when the keys were made."""


@dataclass(frozen=True)
class TupleKeys:
    """Rule that combines codes: in mixed radix; where that would not fit, the keys so far are numbered through."""

    widths: tuple[int, ...]
    renumbered: tuple[np.ndarray | None, ...]
    """For each column the sorted keys of the columns before it, where they were numbered anew."""

    @staticmethod
    def of(columns: Sequence[np.ndarray], widths: Sequence[int], rows: int) -> tuple[TupleKeys, np.ndarray]:
        """The keys of all rows, and how they were made. O(rows), and a sort where the columns are wide."""
        keys, space = np.zeros(rows, np.uint64), 1
        renumbered: list[np.ndarray | None] = []
        for codes, width in zip(columns, widths, strict=True):
            known = None
            if space * max(width, 1) > ROOM:
                known, places = np.unique(keys, return_inverse=True)
                keys, space = places.ravel().astype(np.uint64), len(known)
            renumbered.append(known)
            keys = keys * np.uint64(max(width, 1)) + codes
            space *= max(width, 1)
        return TupleKeys(tuple(widths), tuple(renumbered)), keys

    def keys(self, columns: Sequence[np.ndarray], rows: int) -> np.ndarray:
        """The keys of other rows; `UnknownTuple` where one cannot be known. O(rows · log(keys))."""
        keys = np.zeros(rows, np.uint64)
        for codes, width, known in zip(columns, self.widths, self.renumbered, strict=True):
            if known is not None:
                keys = found_in(known, keys).astype(np.uint64)
            keys = keys * np.uint64(max(width, 1)) + codes
        return keys


def places_in(known: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Find the place of each key among the sorted known ones, or the place where it would be.

    Keys in order meet the same part of a large table one after the other: four times as fast as keys as they come.
    """
    if known.size < LARGE or keys.size < FEW:
        return np.searchsorted(known, keys)
    order = np.argsort(keys)
    places = np.empty(keys.size, np.int64)
    places[order] = np.searchsorted(known, keys[order])
    return places


def found_in(known: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Find the place of each key among the sorted known ones; `UnknownTuple` where one is missing."""
    places = places_in(known, keys)
    if keys.size and (not known.size or (known[np.minimum(places, known.size - 1)] != keys).any()):
        raise UnknownTuple
    return places


# Errors of engines ----------------------------------------------------------------------------------------------------
# Messages of Spark and DuckDB repeat rows of the table and URLs with passwords. So an error of ours has only the name
# of the fault; the full message is available on request.


ENGINES = ("pyspark", "py4j", "duckdb", "_duckdb", "grpc")
FAULT = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\]")  # as Spark names what is wrong
CLASS = re.compile(r"([A-Za-z]+(?:Exception|Error))\b")
CHANGED = "error_engine.changed"
TRACEBACK = "Traceback (most recent call last):"
MODULE = re.compile(r"No module named '([\w.]+)'")
PASSWORD = re.compile(r"(?<=//)[^/@\s]+@")


class ChangedData(InputError):
    """The table changed since it was read first."""

    def __init__(self, words: object = None) -> None:
        super().__init__(Message(CHANGED))


@contextmanager
def speaking_for(engine: str) -> Iterator[None]:
    """Turn what an engine raises into one clear error, without rows and passwords."""
    try:
        yield
    except OboroError:
        raise
    except Exception as problem:
        gone = isinstance(problem, ConnectionError)  # its process died: memory, or somebody's kill
        if not gone and type(problem).__module__.partition(".")[0] not in ENGINES:
            raise
        raise _as_ours(engine, problem) from None


def _as_ours(engine: str, problem: Exception) -> OboroError:
    said = str(problem)
    opened = opened_error(said, engine)
    if opened is not None:
        return ChangedData() if getattr(opened.words, "id", "") == CHANGED else opened
    python = _python_error(said)
    if python is not None:
        fault, words = python
        missing = MODULE.search(words) if fault == "ModuleNotFoundError" else None
        if missing is not None:
            package = f"oboro=={__version__}" if missing[1].partition(".")[0] == "oboro" else missing[1]
            return InputError(Message("error_engine.worker_module", module=missing[1], package=package))
        shown = Raw(PASSWORD.sub("***@", words))
        return InputError(Message("error_engine.failed", engine=engine, fault=fault, said=shown))
    shown = Raw(PASSWORD.sub("***@", _told(said)))
    return InputError(Message("error_engine.failed", engine=engine, fault=_fault(problem, said), said=shown))


def _python_error(said: str) -> tuple[str, str] | None:
    """Return the class and the words of the Python error that a task of Spark ended with, where its traceback is repeated."""
    _, found, rest = said.partition(TRACEBACK)
    if not found:
        return None
    lines = rest.splitlines()
    end = next((n for n, line in enumerate(lines) if line.startswith(("\tat ", "Driver stacktrace"))), len(lines))
    last = "\n".join(lines[:end]).rpartition(TRACEBACK)[2].splitlines()  # of a chain of errors
    words = [line for line in last if line.strip() and not line.lstrip().startswith("SQLSTATE")]
    begin = next((n for n, line in enumerate(words) if not line[0].isspace()), None)
    if begin is None:
        return None
    name, _, message = words[begin].partition(": ")
    return name.rpartition(".")[2], " / ".join([message, *words[begin + 1 :]]) or name


def _told(said: str) -> str:
    """The line that says most: of an error of Java its first cause, not which of its objects was called."""
    lines = said.strip().splitlines() or ["–"]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    java = [line.removeprefix(": ") for line in lines if line.startswith(": ")]
    return " / ".join(dict.fromkeys([*java[:1], *causes[-1:]])) or lines[0]


def _fault(problem: Any, said: str) -> str:
    """The name of the fault: Spark's own, else that of the exception (of Java, where it came from there)."""
    named = FAULT.search(said)
    if named is not None:
        return named[1]
    java = CLASS.search(said) if type(problem).__module__.startswith("py4j") else None
    return java[1] if java is not None else type(problem).__name__


# Plan of a release ----------------------------------------------------------------------------------------------------


OURS = "_oboro_"  # how the names of our own columns begin, which no table may have
FIRST, SECOND, ROW, PLACE = (OURS + name for name in ("first", "second", "row", "place"))


@dataclass(frozen=True)
class KnownValues:
    """The distinct values of a column, to be found again: by their numbers, which are sorted once in every process."""

    values: pa.Array
    key: bytes

    def __reduce__(self) -> tuple[Any, ...]:
        """Only the values travel; they are sorted where they arrive."""
        return KnownValues, (self.values, self.key)

    @cached_property
    def _sorted(self) -> tuple[np.ndarray, np.ndarray]:
        numbers = value_numbers(self.values, self.key)
        order = np.argsort(numbers, kind="stable")
        return numbers[order], order

    def codes(self, array: pa.Array) -> np.ndarray:
        """The code of each row; `ChangedData` where a value is not known. O(rows), and a search for each distinct value."""
        values, places = encoded(array)
        numbers, order = self._sorted
        try:
            return np.asarray(order[found_in(numbers, value_numbers(values, self.key))][places])
        except UnknownTuple:
            raise ChangedData() from None


@dataclass(frozen=True)
class Exceptions:
    """Combinations of codes whose rows get other codes than the maps say, or are left out."""

    of_released: bool
    """Whether the combinations are of codes that the maps give, else of the original codes."""
    how: TupleKeys
    keys: np.ndarray
    """Sorted."""
    outcome: np.ndarray
    """Which outcome each has."""
    outcomes: Mapping[str, np.ndarray]
    """For each released column the code of each outcome."""
    dropped: np.ndarray
    """For each outcome, whether the row is left out."""


@dataclass(frozen=True)
class ByValue:
    """Plan by values: the released row follows from the codes of the touched columns."""

    token: str
    """Names the plan, so that a process prepares it once."""
    known: Mapping[str, KnownValues]
    maps: Mapping[str, np.ndarray]
    """For each touched column that is released: from original codes to released ones."""
    released: Mapping[str, pa.Array]
    """The released values of these columns."""
    names: tuple[str, ...]
    """All released columns, in order."""
    exceptions: Exceptions | None
    rows: int
    """Of the table that it was made for."""

    def publish(self, batch: pa.RecordBatch) -> pa.Table:
        """The rows of a batch as they are released, in their order."""
        return self.decoded(self.coded(batch))

    def coded(self, batch: pa.RecordBatch) -> pa.Table:
        """Return the rows as codes, which are small to send: columns `0`, `1` … in the order of `names`; others unchanged.

        Not-a-number is missing there as everywhere: told apart, either could single somebody out whom nobody counted.
        """
        original = {name: known.codes(batch[name]) for name, known in self.known.items()}
        codes = {name: table[original[name]] for name, table in self.maps.items()}
        kept = None
        if self.exceptions is not None:
            codes, kept = self._except(self.exceptions, original, codes, batch.num_rows)
        columns = {
            f"{place}": pa.array(codes[name]) if name in self.released else missing_for_nan(batch[name])
            for place, name in enumerate(self.names)
        }
        table = pa.table(columns) if columns else pa.table({"rows": pa.nulls(batch.num_rows)}).select([])
        return table if kept is None else table.filter(pa.array(kept))

    def decoded(self, table: pa.Table) -> pa.Table:
        """Codes as the values that they stand for."""
        columns = {}
        for place, name in enumerate(self.names):
            own, held = self.released.get(name), table[f"{place}"]
            columns[name] = held if own is None else own.take(held)
        return pa.table(columns) if columns else table

    def _except(
        self, one: Exceptions, original: Mapping[str, np.ndarray], codes: dict[str, np.ndarray], rows: int
    ) -> tuple[dict[str, np.ndarray], np.ndarray | None]:
        try:
            keys = one.how.keys(list((codes if one.of_released else original).values()), rows)
        except UnknownTuple:
            raise ChangedData() from None
        places = np.minimum(places_in(one.keys, keys), max(one.keys.size - 1, 0))
        found = one.keys[places] == keys
        outcome = one.outcome[places[found]]
        for name, table in one.outcomes.items():
            changed = codes[name].copy()
            changed[found] = table[outcome]
            codes[name] = changed
        if not one.dropped.any():
            return codes, None
        kept = np.ones(rows, bool)
        kept[found] = ~one.dropped[outcome]
        return codes, kept


@dataclass(frozen=True)
class Places:
    """Plan by places: a released row depends on more than its values (chance, or its neighbours), so each has its place in a table.

    Rows that agree on all touched columns are put in the order of their other columns' numbers. Those that agree on all columns may
    change places: nobody can tell them apart.
    """

    token: str
    known: Mapping[str, KnownValues]
    how: TupleKeys
    keys: np.ndarray
    """The sorted keys of all combinations."""
    starts: np.ndarray
    """For each, the place of its first row."""
    numbers: Any
    """`RowNumbers` of the other columns."""
    others: tuple[str, ...]
    outcomes: pa.Table
    """For each place that is released: its number, the released values, and where it stands in the release."""

    def numbered(self, batch: pa.RecordBatch) -> pa.Table:
        """The batch's other columns, with the place of each combination's first row and the number that orders its rows."""
        original = [known.codes(batch[name]) for name, known in self.known.items()]
        try:
            places = found_in(self.keys, self.how.keys(original, batch.num_rows))
        except UnknownTuple:
            raise ChangedData() from None
        arrays = {name: missing_for_nan(batch[name]) for name in self.others}
        numbers = self.numbers.of_arrays(arrays, batch.num_rows).view(np.int64)
        return pa.table({**arrays, FIRST: pa.array(self.starts[places]), SECOND: pa.array(numbers)})


_held: dict[str, Any] = {}


def prepared(plan: Any) -> Any:
    """Return an equal plan that was prepared in this process before, if any: its sorted values are made once."""
    if plan.token not in _held:
        _held.clear()
        _held[plan.token] = plan
    return _held[plan.token]


# Relational operations for every engine -------------------------------------------------------------------------------
# narwhals runs them on DuckDB, polars and Spark alike.
#
# Columns are numbers of our own here or compared as text, so that an engine's own definition of equal values (−0.0
# and 0.0, not-a-number, nulls in joins, upper and lower case) never decides anything.


COUNT = OURS + "count"


def rows_of_tally(found: pa.Table, names: Sequence[str]) -> Dataset:
    """Rebuild a table from counted rows; their order is not the original one."""
    counts = found[COUNT].to_numpy().astype(np.int64)
    encoded = {name: Column.encode(found[place]) for place, name in enumerate(names)}
    columns = {name: Column(one.values, np.repeat(one.codes, counts)) for name, one in encoded.items()}
    return Dataset(columns, int(counts.sum()))


def placed(numbered: Any, outcomes: Any, names: Sequence[str], *, sorted_: bool) -> Any:
    """Rows with what is released of them: the n-th of those that agree on the touched columns gets the n-th outcome."""
    nth = nw.col(FIRST).cum_count().over(FIRST, order_by=SECOND)
    rows = nw.from_native(numbered).lazy().with_columns((nw.col(FIRST) + nth - 1).cast(nw.Int64).alias(ROW))
    joined = rows.join(nw.from_native(outcomes).lazy(), on=ROW, how="inner")
    joined = joined.sort(PLACE) if sorted_ else joined
    return joined.select(list(names)).to_native()


# Recount of written rows ----------------------------------------------------------------------------------------------
# One sum over all rows, and the number of occurrences of each combination of some columns, counted where the rows
# are.


COMBINED = 64  # counts of batches that are put together at once
MAX_COUNTED_COMBINATIONS = 1 << 22  # combinations that one array counts


@dataclass(frozen=True)
class Checked:
    """Result of a recount."""

    rows: int
    total: int
    """One number for all rows, whatever their order."""
    tallies: Sequence[pa.Table]


@dataclass(frozen=True)
class Checking:
    """Recount that travels to tasks; each returns its part in blobs: two numbers first, then its counts."""

    numbers: RowNumbers
    groups: tuple[tuple[str, ...], ...]

    def part(self, batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
        """Count some batches."""
        rows, totals, counts = 0, [], [CombinationCounts(names) for names in self.groups]
        for table in in_chunks(pa.table(batch) for batch in batches):
            rows += table.num_rows
            found = {name: encoded(table[name]) for name in table.column_names}
            totals.append(self.numbers.total(self.numbers.of_encoded(found, table.num_rows)))
            for one in counts:
                one.add(table, found)
        yield bytes(1) + rows.to_bytes(8, "little") + summed(totals).to_bytes(8, "little")
        for place, one in enumerate(counts, 1):
            if rows:
                yield bytes([place]) + packed(one.together())

    def together(self, blobs: Iterable[Any]) -> Checked:
        """Sum over all tasks."""
        rows, total, counts = 0, 0, [CombinationCounts(names) for names in self.groups]
        for blob in map(bytes, blobs):
            if blob[0] == 0:
                rows += int.from_bytes(blob[1:9], "little")
                total = summed([total, int.from_bytes(blob[9:], "little")])
            else:
                counts[blob[0] - 1].merge(pa.ipc.open_stream(blob[1:]).read_all())
        return Checked(rows, total, [one.together() for one in counts])


class CombinationCounts:
    """Number of occurrences of each combination; floating numbers are compared as text."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names, self.waiting = list(names), list[pa.Table]()

    def add(self, table: pa.Table, found: Mapping[str, tuple[pa.Array, np.ndarray]] | None = None) -> None:
        """Count rows; `found` is what was already encoded of them. O(rows).

        From the values themselves: what decided who stands with whom has no part in it.
        """
        columns = [_told_apart(table[name], (found or {}).get(name)) for name in self.names]
        places, sizes = _occurring([len(values) for values, _ in columns], [codes for _, codes in columns], len(table))
        chosen = zip(columns, places, strict=True)
        counted = {f"c{place}": values.take(pa.array(one)) for place, ((values, _), one) in enumerate(chosen)}
        self.merge(pa.table({**counted, COUNT: pa.array(sizes, pa.int64())}))

    def merge(self, counted: pa.Table) -> None:
        """Add what was counted elsewhere."""
        self.waiting.append(counted)
        if len(self.waiting) >= COMBINED:
            self.waiting = [self.together()]

    def together(self) -> pa.Table:
        """One row a combination; names are c0, c1 …."""
        names = [f"c{place}" for place, _ in enumerate(self.names)]
        if not self.waiting:
            return pa.table({**{name: pa.array([], pa.string()) for name in names}, COUNT: pa.array([], pa.int64())})
        found = pa.concat_tables(self.waiting).group_by(names).aggregate([(COUNT, "sum")])
        return found.rename_columns([COUNT if name == f"{COUNT}_sum" else name for name in found.column_names])


def _told_apart(array: pa.ChunkedArray, found: tuple[pa.Array, np.ndarray] | None) -> tuple[pa.Array, np.ndarray]:
    """The distinct values and the place of each row's among them. Not-a-number is not missing to whoever reads the file."""
    inner = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    if pa.types.is_floating(inner):
        return encoded(pc.cast(pc.cast(array, inner), pa.string()))
    return encoded(array) if found is None else found


def _occurring(widths: list[int], codes: list[np.ndarray], rows: int) -> tuple[Sequence[np.ndarray], np.ndarray]:
    """The combinations of codes that occur, and how often."""
    if not widths:
        return [], np.array([rows])
    if prod(widths) <= MAX_COUNTED_COMBINATIONS:
        sizes = np.bincount(np.ravel_multi_index(codes, widths))
        found = np.flatnonzero(sizes)
        return np.unravel_index(found, widths), sizes[found]
    names = [f"{place}" for place in range(len(codes))]
    table = pa.table(dict(zip(names, map(pa.array, codes), strict=True)))
    counted = table.group_by(names, use_threads=False).aggregate([([], "count_all")])
    return [counted[name].to_numpy() for name in names], counted["count_all"].to_numpy()


# Packed rows on their way to the driver -------------------------------------------------------------------------------
# Each part of the table is encoded where the data is, and only codes and distinct values travel.
#
# A row of k touched columns takes one to four bytes a column, and eight bytes for all columns that no step touches:
# the number by which rows are compared (`RowNumbers`). Distinct values travel once for every part.


PART = 1 << 19  # rows that are packed together, so that a value travels once for many rows


@dataclass(frozen=True)
class Packer:
    """Packing of rows: codes of the touched columns, one number for the others. It is sent to where the data is."""

    touched: tuple[str, ...]
    others: tuple[str, ...]
    numbers: RowNumbers
    compression: str | None = "lz4"  # None where nothing travels
    threads: int = 1  # a task has one core

    def parts(self, batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
        """The rows of some batches, packed, as many together as are worth it."""
        if self.threads == 1:
            yield from map(self._packed, _put_together(batches))
            return
        with ThreadPoolExecutor(self.threads) as pool:
            yield from in_turn(pool, _put_together(batches), self._packed)

    def _packed(self, table: pa.Table) -> bytes:
        columns: dict[str, pa.Array] = {}
        for place, name in enumerate(self.touched):
            values, codes = encoded(table[name])
            width = smallest_unsigned(len(values))
            columns[f"{place}"] = pa.DictionaryArray.from_arrays(pa.array(codes.astype(width)), values)
        if self.others:
            arrays = {name: table[name] for name in self.others}
            columns["others"] = pa.array(self.numbers.of_arrays(arrays, table.num_rows))
        columns["rows"] = pa.nulls(table.num_rows)
        sink = pa.BufferOutputStream()
        packed = pa.table(columns)
        with pa.ipc.new_stream(
            sink, packed.schema, options=pa.ipc.IpcWriteOptions(compression=self.compression)
        ) as out:
            out.write_table(packed)
        return bytes(sink.getvalue())


def _put_together(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(one.num_rows for one in waiting) >= PART:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)


@dataclass(frozen=True)
class Packed:
    """One part, unpacked."""

    columns: Sequence[pa.DictionaryArray]
    others: np.ndarray | None
    rows: int

    @staticmethod
    def of(part: bytes | pa.Buffer) -> Packed:
        """Read one part."""
        table = pa.ipc.open_stream(part).read_all().combine_chunks()
        names = [name for name in table.column_names if name.isdigit()]
        columns = [_single(table[name]) for name in names]
        others = _single(table["others"]).to_numpy() if "others" in table.column_names else None
        return Packed(columns, others, table.num_rows)


@dataclass(frozen=True, eq=False)
class GatheredRows:
    """The touched columns, encoded, and one number a row for the others."""

    columns: Mapping[str, Column]
    others: np.ndarray | None
    rows: int


def unpacked(
    parts: Iterable[bytes | pa.Buffer], touched: Sequence[str], types: Mapping[str, pa.DataType]
) -> GatheredRows:
    """Put the parts together. Distinct values are in one order, whatever the order of rows and parts. O(rows)."""
    held = [Packed.of(part) for part in parts]
    held = [part for part in held if part.rows]
    columns = {
        name: _together([part.columns[place] for part in held], types[name]) for place, name in enumerate(touched)
    }
    numbers = [part.others for part in held if part.others is not None]
    rows = sum(part.rows for part in held)
    return GatheredRows(columns, np.concatenate(numbers) if numbers else None, rows)


def _together(parts: Sequence[pa.DictionaryArray], type_: pa.DataType) -> Column:
    """One column from the parts of it, each with its own distinct values."""
    if not parts:
        return Column.encode(pa.array([], type_))
    merged = pa.concat_arrays([one.dictionary for one in parts]).dictionary_encode(null_encoding="encode")
    values, order = merged.dictionary, in_order(merged.dictionary)
    rank = np.empty(len(values), dtype=smallest_unsigned(len(values)))
    rank[order] = np.arange(len(values))
    ends = np.cumsum([len(one.dictionary) for one in parts])[:-1]
    tables = np.split(rank[merged.indices.to_numpy(zero_copy_only=False)], ends)
    codes = [table[one.indices.to_numpy(zero_copy_only=False)] for table, one in zip(tables, parts, strict=True)]
    return Column(values.take(pa.array(order)), np.concatenate(codes))


def in_order(values: pa.Array) -> np.ndarray:
    """Sort in ascending order, missing last. Types that Arrow does not sort (true and false …) are sorted as text."""
    unsorted = pa.types.is_boolean(values.type) or pa.types.is_null(values.type)
    order = pc.sort_indices(as_texts(values) if unsorted else values)
    return np.asarray(order.to_numpy(zero_copy_only=False))


def _single(array: pa.ChunkedArray) -> pa.Array:
    return array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()


# From a run on codes to a plan for rows -------------------------------------------------------------------------------


MAX_COUNTED_PAIRS = 1 << 25  # pairs of an original and a released code that are counted in a table


def released_columns(released: Dataset) -> dict[str, Column]:
    """Return the released columns that the driver has loaded."""
    return {name: column for name, column in released.columns.items() if column.loaded}


@dataclass(frozen=True, eq=False)
class _Rows:
    """For every original row the codes that it had and those that it got."""

    original: Mapping[str, Column]
    got: Mapping[str, np.ndarray]
    values: Mapping[str, pa.Array]
    dropped: np.ndarray | None
    rows: int

    @staticmethod
    def of(gathered: GatheredRows, released: Dataset) -> _Rows | None:
        """None where a released row is none of the original ones."""
        held, origin = released_columns(released), released.origin
        if origin is None and released.rows != gathered.rows:
            return None
        values = {name: column.values for name, column in held.items()}
        if origin is None:
            return _Rows(
                gathered.columns, {name: column.codes for name, column in held.items()}, values, None, released.rows
            )
        dropped = np.ones(gathered.rows, bool)
        dropped[origin] = False
        if gathered.rows - int(dropped.sum()) != released.rows:
            return None
        got = {}
        for name, column in held.items():
            got[name] = np.zeros(gathered.rows, column.codes.dtype)
            got[name][origin] = column.codes
        return _Rows(gathered.columns, got, values, dropped if dropped.any() else None, gathered.rows)


def by_value(gathered: GatheredRows, released: Dataset, key: bytes) -> ByValue | None:
    """Build the plan where rows of equal codes got equal codes; else None. O(rows), and a sort of the exceptions' keys."""
    rows = _Rows.of(gathered, released)
    if rows is None or any(name not in rows.original for name in rows.got):
        return None
    maps = {name: _usual(rows, name) for name in rows.got}
    usual = {name: table[rows.original[name].codes] for name, table in maps.items()}
    other = np.zeros(rows.rows, bool) if rows.dropped is None else rows.dropped.copy()
    for name, codes in usual.items():
        other |= codes != rows.got[name]
    exceptions = _exceptions(rows, usual, other) if other.any() else None
    if other.any() and exceptions is None:
        return None
    known = {name: KnownValues(column.values, key) for name, column in rows.original.items()}
    return ByValue(uuid4().hex, known, maps, rows.values, tuple(released), exceptions, rows.rows)


def _usual(rows: _Rows, name: str) -> np.ndarray:
    """For each original code the released code that most of its rows got."""
    column, got = rows.original[name], rows.got[name]
    width, high = len(rows.values[name]), len(column.values)
    kept = slice(None) if rows.dropped is None else ~rows.dropped
    pairs = column.codes[kept].astype(np.int64) * max(width, 1) + got[kept]
    if high * max(width, 1) <= MAX_COUNTED_PAIRS:
        counts = np.bincount(pairs, minlength=high * max(width, 1)).reshape(high, max(width, 1))
        return np.asarray(counts.argmax(axis=1), dtype=got.dtype)
    found, counts = np.unique(pairs, return_counts=True)
    out = np.zeros(high, got.dtype)
    order = np.argsort(counts, kind="stable")  # the most frequent is written last
    out[found[order] // width] = found[order] % width
    return out


def _exceptions(rows: _Rows, usual: Mapping[str, np.ndarray], other: np.ndarray) -> Exceptions | None:
    """By what the maps give where that tells the exceptions from all other rows (suppressed classes), else by what came."""
    widths = [len(rows.values[name]) for name in usual]
    found = _told_by(rows, list(usual.values()), widths, other, True)
    if found is not None:
        return found
    original = [column.codes for column in rows.original.values()]
    return _told_by(rows, original, [len(column.values) for column in rows.original.values()], other, False)


def _told_by(
    rows: _Rows, columns: list[np.ndarray], widths: list[int], other: np.ndarray, of_released: bool
) -> Exceptions | None:
    how, keys = TupleKeys.of(columns, widths, rows.rows)
    held, first = np.unique(keys[other], return_index=True)
    places = np.minimum(np.searchsorted(held, keys[~other]), held.size - 1)
    if (held[places] == keys[~other]).any():
        return None
    at = np.flatnonzero(other)
    parts = [rows.got[name] for name in usual_names(rows)] + ([] if rows.dropped is None else [rows.dropped])
    place_of = np.searchsorted(held, keys[other])
    if any((part[at] != part[at[first]][place_of]).any() for part in parts):
        return None
    table = np.stack([part[at[first]].astype(np.int64) for part in parts], axis=1)
    outcomes, outcome = np.unique(table, axis=0, return_inverse=True)
    names = usual_names(rows)
    codes = {name: outcomes[:, place].astype(rows.got[name].dtype) for place, name in enumerate(names)}
    dropped = np.zeros(len(outcomes), bool) if rows.dropped is None else outcomes[:, -1].astype(bool)
    return Exceptions(of_released, how, held, outcome.ravel().astype(np.uint32), codes, dropped)


def usual_names(rows: _Rows) -> list[str]:
    """Return the released columns of which the driver has codes."""
    return list(rows.got)


def by_place(
    gathered: GatheredRows,
    released: Dataset,
    order: np.ndarray | None,
    numbers: RowNumbers,
    key: bytes,
    others: tuple[str, ...],
) -> Places:
    """Build the plan where random choices or neighbours decided: each row by its place. O(rows · log(rows)).

    `order` says for each place of the release which row of `released` stands there.
    """
    columns = list(gathered.columns.values())
    how, keys = TupleKeys.of([one.codes for one in columns], [len(one.values) for one in columns], gathered.rows)
    second = np.zeros(gathered.rows, np.int64) if gathered.others is None else gathered.others.view(np.int64)
    sequence = np.lexsort((second, keys))
    place = np.empty(gathered.rows, np.int64)
    place[sequence] = np.arange(gathered.rows)
    known, starts = np.unique(keys[sequence], return_index=True)
    place_in_release = np.empty(released.rows, np.int64)
    place_in_release[np.arange(released.rows) if order is None else order] = np.arange(released.rows)
    table = {name: column.decode() for name, column in released_columns(released).items()}
    outcomes = pa.table({**table, ROW: pa.array(place[released.origin_rows]), PLACE: pa.array(place_in_release)})
    values = {name: KnownValues(column.values, key) for name, column in gathered.columns.items()}
    return Places(uuid4().hex, values, how, known, starts.astype(np.int64), numbers, others, outcomes)
