"""Tables of hierarchies, which list all values: ARX files, rows, trees. Everything is checked before anything is used."""

from __future__ import annotations

import csv
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Sequence, Sized
from dataclasses import dataclass
from io import StringIO
from itertools import chain, islice
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from oboro._lazy import pc
from oboro.data.parameters import MOST_NODES, written_out
from oboro.errors import FileError, HierarchyError
from oboro.hierarchies.hierarchy import Hierarchy, Level, conflict, describe_conflict, leaf_share
from oboro.notations.kinds import STAR
from oboro.notations.texts import texts_of
from oboro.system.files import bytes_of
from oboro.text import Message, Raw, Words
from oboro.text.language import os_reason

__all__ = ["from_csv", "from_rows", "from_tree"]


DELIMITERS = ";\t,"  # in this order where several would do: ARX writes semicolons, and labels often hold commas


@dataclass(frozen=True)
class Paths:
    """Values and their labels as columns of text, and where each row stands, for messages."""

    columns: Sequence[pa.Array]
    source: Words
    where: Callable[[int], Words]

    def row(self, number: int) -> list[str]:
        """One value with its labels."""
        return [column[number].as_py() for column in self.columns]


def from_csv(name: str, path: Path) -> Hierarchy:
    """The hierarchy of an ARX file: `value;level1;level2;…`, no header. Its levels are exactly the file's."""
    source = Message("error_table.source.file", path=path)
    raw = _read_bytes(name, path, source)

    def where(row: int) -> Words:
        text = _decoded(name, raw, source)
        return Message("error_table.where.line", line=_line(text, _delimiter(text), row))

    columns = _read_plain(raw.removeprefix(BOM_UTF8))
    if columns is None:
        text = _decoded(name, raw, source)
        columns = _read_plain(text.encode())
    if columns is None:
        columns = _columns(name, source, where, _read_quoted(name, source, text, _delimiter(text)))
    return _whole(name, Paths(columns, source, where))


def from_rows(name: str, rows: Sequence[Sequence[object]]) -> Hierarchy:
    """The hierarchy of rows given in Python or in the recipe."""
    source = Message("error_table.source.rows")

    def where(row: int) -> Words:
        return Message("error_table.where.row", row=row + 1)

    return _whole(name, Paths(_columns(name, source, where, rows), source, where))


def from_tree(name: str, tree: Any, folder: Path) -> Hierarchy:
    """The hierarchy of a nested tree, or of a YAML file that holds one, under the root `*`.

    Labels of one depth, counted from the root, share a level; a value that hangs higher stays itself on lower levels.
    """
    source = Message("error_table.source.tree")
    if isinstance(tree, str):
        source = Message("error_table.source.file", path=folder / tree)
        tree = _load_yaml(name, folder / tree, source)
    paths = list(_walk(name, source, tree, ()))
    depth = max((len(path) for path in paths), default=0)
    rows = [[path[0]] * (depth - len(path)) + [*path, STAR] for path in paths]

    def where(row: int) -> Words:
        above = " > ".join(paths[row][:0:-1])
        return Message("error_table.where.under", label=above) if above else Message("error_table.where.root")

    return _whole(name, Paths(_columns(name, source, where, rows), source, where))


def as_text(value: object) -> str:
    """A cell as the text that values are matched by; the empty text is the missing value.

    >>> as_text(39.0), as_text(True), as_text(None)
    ('39', 'true', '')
    """
    if isinstance(value, str):
        return value
    try:
        return texts_of(pa.array([value]))[0] or ""
    except (pa.ArrowException, OverflowError, TypeError):
        raise HierarchyError(Message("error_table.label_kind", kind=type(value).__name__)) from None


# Read hierarchy files, rows and trees ---------------------------------------------------------------------------------


def _read_bytes(name: str, path: Path, source: Words) -> bytes:
    try:
        return bytes_of(path)
    except (OSError, ValueError) as error:
        why = os_reason(error) if isinstance(error, OSError) else Message("error_os.name")
        raise FileError(Message("error_table.unreadable_hierarchy", name=name, source=source, why=why)) from None


def _decoded(name: str, raw: bytes, source: Words) -> str:
    for encoding in ("utf-8-sig", "cp932"):
        try:
            text = raw.decode(encoding)
        except UnicodeDecodeError:
            continue
        # Other 8-bit encodings often pass as Shift_JIS, but then they use its private characters.
        if encoding != "cp932" or not any("\ue000" <= char <= "\uf8ff" for char in set(text)):
            return text
    raise HierarchyError(Message("error_table.neither_encoding", name=name, source=source))


def _delimiter(text: str) -> str:
    """The one that cuts the first rows into equally many cells, more than one; else the most frequent one."""
    head = text[: 1 << 16]
    for delimiter in DELIMITERS:
        rows = list(islice(csv.reader(StringIO(head, newline=""), delimiter=delimiter), 1000))
        if len(head) < len(text) and len(rows) > 1:
            rows.pop()  # it may be cut in the middle
        widths = set(map(len, filter(None, rows)))
        if len(widths) == 1 and widths != {1}:
            return delimiter
    return max(DELIMITERS, key=head.lstrip().partition("\n")[0].count)


def _read_plain(raw: bytes) -> list[pa.Array] | None:
    """The columns of UTF-8 text without quotes and mistakes, or None if it is another; six times as fast as `csv`."""
    head = raw[: 1 << 18].decode(errors="ignore")  # as many bytes as the characters by which it is judged can have
    delimiter = _delimiter(head)
    width = head[: 1 << 16].lstrip("\r\n").partition("\n")[0].count(delimiter) + 1
    mixed = b"\r" in raw and raw.count(b"\r") != raw.count(b"\r\n")  # to count takes ten times as long as to look
    if b'"' in raw or mixed or width < 2:
        return None
    names = list(map(str, range(width)))
    try:
        table = pacsv.read_csv(
            pa.BufferReader(raw),
            pacsv.ReadOptions(column_names=names),
            pacsv.ParseOptions(delimiter=delimiter, quote_char=False),
            pacsv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False),
        )
    except pa.ArrowInvalid:
        return None  # the careful reader says what is wrong and where
    return list(map(pa.concat_arrays, map(attrgetter("chunks"), table.columns)))


def _read_quoted(name: str, source: Words, text: str, delimiter: str) -> list[list[str]]:
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        return [cells for cells in reader if cells]
    except csv.Error as error:
        raise HierarchyError(
            Message("error_table.quotes", name=name, source=source, line=reader.line_num, error=str(error))
        ) from None


def _line(text: str, delimiter: str, row: int) -> int:
    """The line on which a row ends; read again, since only errors ask."""
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter)
    next(islice(filter(None, reader), row, None), None)
    return reader.line_num


def _load_yaml(name: str, path: Path, source: Words) -> Any:
    import yaml

    try:
        # Nodes instead of values: `no` stays Norway, 007 stays 007, and a label that stands twice is seen.
        node = yaml.compose(_decoded(name, _read_bytes(name, path, source), source), Loader=yaml.SafeLoader)
        if node is not None and written_out(node) > MOST_NODES:
            raise HierarchyError(Message("error_table.tree_aliases", name=name, source=source, most=MOST_NODES))
        return [] if node is None else _plain(name, source, node)
    except RecursionError:
        raise HierarchyError(Message("error_table.tree_deep", name=name, source=source)) from None
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        place = [Message("error_table.where.line", line=mark.line + 1)] if mark else []
        why = str(problem or error)
        raise HierarchyError(Message("error_table.not_yaml", name=name, place=[source, *place], why=why)) from None


def _plain(name: str, source: Words, node: Any) -> Any:
    """Return the plain content of a YAML node."""
    if node.id == "sequence":
        return [_plain(name, source, item) for item in node.value]
    if node.id == "scalar":
        return None if node.tag == "tag:yaml.org,2002:null" else node.value
    tree: dict[str, Any] = {}
    for key, below in node.value:
        line = key.start_mark.line + 1
        if key.id != "scalar":
            raise HierarchyError(Message("error_table.label_list", name=name, source=source, line=line))
        if key.value in tree:
            raise HierarchyError(
                Message("error_table.label_twice", name=name, source=source, line=line, label=key.value)
            )
        tree[key.value] = _plain(name, source, below)
    return tree


def _walk(name: str, source: Words, node: Any, parents: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Each value with the labels over it, nearest first. A label with nothing under it is a value itself."""
    if isinstance(node, dict):
        for label, below in node.items():
            if below is None:
                yield (as_text(label), *parents)
            else:
                yield from _walk(name, source, below, (as_text(label), *parents))
    elif isinstance(node, (list, tuple)):
        if not node and parents:
            raise HierarchyError(Message("error_table.no_values", name=name, source=source, label=parents[0]))
        for item in node:
            yield from _walk(name, source, item, parents)
    else:
        yield (as_text(node), *parents)


# Check and build hierarchies ------------------------------------------------------------------------------------------


def _whole(name: str, paths: Paths) -> Hierarchy:
    """The hierarchy over all listed values, after every check."""
    paths = _without_copies(name, paths)
    levels = (Level.ground(paths.columns[0]), *map(_level, paths.columns[1:]))
    for number in range(1, len(levels) - 1):
        pair = conflict(levels[number], levels[number + 1])
        if pair is not None:
            where = [paths.where(row) for row in sorted(pair)]
            found = describe_conflict(levels, number, pair)
            raise HierarchyError(
                Message("error_table.conflict_at", name=name, source=paths.source, where=where, conflict=found)
            )
    return Hierarchy(name, _never_shrinking(levels), paths.source, listed=True)


def _columns(
    name: str, source: Words, where: Callable[[int], Words], rows: Sequence[Sequence[object]]
) -> list[pa.Array]:
    """Rows as columns of text, if all are as long as the first."""
    if not rows or not all(isinstance(row, Sized) and len(row) for row in rows):
        raise HierarchyError(Message("error_table.empty_hierarchy", name=name, source=source))
    width = len(rows[0])
    if len(set(map(len, rows))) > 1:
        wrong = next(number for number, row in enumerate(rows) if len(row) != width)
        raise HierarchyError(
            Message(
                "error_table.ragged_row",
                name=name,
                source=source,
                where=where(wrong),
                cells=len(rows[wrong]),
                width=width,
            )
        )
    cells = _text_cells(list(chain.from_iterable(rows)))
    return [cells.take(pa.array(np.arange(column, len(cells), width))) for column in range(width)]


def _text_cells(cells: list[object]) -> pa.Array:
    try:
        return pa.array(cells, pa.string()).fill_null("")
    except pa.ArrowTypeError:
        return pa.array([as_text(cell) for cell in cells], pa.string())


def _without_copies(name: str, paths: Paths) -> Paths:
    """Each value once: rows that say the same again are left out, and rows that say something else are refused."""
    leaves = paths.columns[0]
    encoded = leaves.dictionary_encode()
    if len(encoded.dictionary) == len(leaves):
        return paths
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    first = np.unique(codes, return_index=True)[1]
    other = [pc.not_equal(column, column.take(pa.array(first[codes]))) for column in paths.columns[1:]]
    differs = np.zeros(codes.size, dtype=bool)
    for part in other:
        differs |= part.to_numpy(zero_copy_only=False)
    wrong = np.flatnonzero(differs)
    if wrong.size:
        row, earlier = int(wrong[0]), int(first[codes[wrong[0]]])
        place = {"source": paths.source, "where": [paths.where(earlier), paths.where(row)]}
        found = Message("error_table.twice_otherwise", name=name, value=Raw(leaves[row].as_py()), **place)
        more = Message("error_table.rows_too_many", found=found, rows=wrong.size)
        raise HierarchyError(more if wrong.size > 1 else found)
    kept = np.sort(first)
    columns = [column.take(pa.array(kept)) for column in paths.columns]
    return Paths(columns, paths.source, lambda row: paths.where(int(kept[row])))


def _level(cells: pa.Array) -> Level:
    encoded = pc.if_else(pc.equal(cells, ""), None, cells).dictionary_encode(null_encoding="encode")
    labels, table = encoded.dictionary, encoded.indices.to_numpy(zero_copy_only=False)
    says_nothing = pc.fill_null(pc.equal(labels, STAR), False).to_numpy(zero_copy_only=False)
    return Level(labels, table, np.where(says_nothing, 1.0, leaf_share(table, len(labels)))).compact()


def _never_shrinking(levels: tuple[Level, ...]) -> tuple[Level, ...]:
    """The same levels; a label covers at least what those under it cover, since an early `*` counts as everything."""
    under = np.zeros(len(levels[0].labels))
    for level in levels:
        np.maximum.at(level.share, level.table, under)
        under = level.share[level.table]
    return levels
