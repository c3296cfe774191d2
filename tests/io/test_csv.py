"""The CSV reader against Python's own csv module, which is its naive twin."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oboro.errors import FileError
from oboro.io.formats.csv import blocks, reader
from oboro.io.formats.csv.kernels import numbering
from oboro.io.formats.csv.kernels.cells import hash_of, pack
from oboro.io.read import read

SLOW = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=35, deadline=None)

marks = st.text(st.sampled_from("a1,;|\"'\n\r\t é日"), max_size=12)
long = st.text(st.sampled_from('ab"\n,語'), min_size=14, max_size=40)
longer = st.text(
    st.sampled_from('ab"\n\r,\t語'), min_size=60, max_size=140
)  # than the bytes that are looked at together
cells = st.one_of(
    marks, long, longer, st.sampled_from(["", "x", "007", "1234567", "12345678", "123456789012345", "1234567890123456"])
)


@st.composite
def grids(draw: st.DrawFn) -> list[list[str]]:
    columns = draw(st.integers(1, 5))
    rows = draw(st.lists(st.lists(cells, min_size=columns, max_size=columns), max_size=30))
    return [[f"c{place}" for place in range(columns)], *rows]


def naive_text(grid: list[list[str]], delimiter: str, line: str, all_quoted: bool) -> str:
    special = {delimiter, '"', "\n", "\r"}

    def field(value: str) -> str:
        quoted = '"' + value.replace('"', '""') + '"'
        return quoted if all_quoted or special & set(value) or (not value and len(grid[0]) == 1) else value

    return "".join(delimiter.join(map(field, record)) + line for record in grid)


def columns_of(path: Path, **options: object) -> list[list[str | None]]:
    data = read(path, **options).data  # type: ignore[arg-type]
    return [data[name].decode().to_pylist() for name in data]


def small_blocks(size: int, rows: int) -> object:
    """Blocks so small that records, quotes and line ends fall on their borders."""
    return patch.multiple(blocks, CELLS=rows, BLOCK=size, LONGEST=1 << 20)


@SLOW
@given(
    grids(),
    st.sampled_from(",;\t|"),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.booleans(),
    st.integers(1, 200),
    st.integers(1, 64),
    st.booleans(),
)
def test_every_value_comes_back(
    tmp_path: Path, grid: list[list[str]], delimiter: str, line: str, quoted: bool, size: int, rows: int, ended: bool
) -> None:
    text = naive_text(grid, delimiter, line, quoted)
    if not ended:
        text = text.removesuffix(line)
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    with small_blocks(size, rows):  # type: ignore[attr-defined]
        data = read(path, delimiter=delimiter, quote='"').data
    expected = [[value or None for value in record] for record in grid[1:]]
    naive = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    assert [[value or None for value in record] for record in naive][1:] == expected
    assert data.rows == len(expected)
    assert list(data) == grid[0]
    got = zip(*[data[name].decode().to_pylist() for name in data], strict=True)
    assert [list(row) for row in got] == expected
    for name in data:  # an honest dictionary: every value once, every value used, numbered by first appearance
        column = data[name]
        assert len(set(column.values.to_pylist())) == len(column.values)
        assert list(dict.fromkeys(column.codes.tolist())) == list(range(len(column.values)))


@SLOW
@given(st.text(st.sampled_from('ab,"\n\r'), max_size=60), st.integers(1, 40))
def test_any_text_is_read_as_the_csv_module_reads_it_or_refused(tmp_path: Path, body: str, size: int) -> None:
    text = "x,y\n" + body
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    try:
        expected = [record for record in csv.reader(io.StringIO(text, newline=""), strict=True) if record][1:]
        fine = all(len(record) == 2 for record in expected)
    except csv.Error:
        fine = False
    with small_blocks(size, 7):  # type: ignore[attr-defined]
        if fine:
            got = columns_of(path, delimiter=",", quote='"')
            assert got == [[record[place] or None for record in expected] for place in (0, 1)]
        else:
            with pytest.raises(FileError, match=r"t\.csv, line \d+: "):
                read(path, delimiter=",", quote='"')


@pytest.mark.parametrize("size", [30, 4 << 20])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n3\n", "line 3: 1 field where 2 are expected"),
        ("a,b\n1,2\n\n\n3,4,5\n", "line 5: 3 fields where 2 are expected"),
        ('a,b\n"1\n2\r\n3",2\n4\n', "line 5: 1 field where"),
        ('a,b\n1,"x"y\n', "line 2: text follows the closing quote of field 2"),
        ('a,b\n1,2\n"3,4\n5,6\n', "line 3: the quote of field 1 is never closed"),
        ("a,b\n1,2\n3,\x004\n", "line 3: field 2 holds a NUL byte"),
        ('a,b\n1,"\x00"\n', "line 2: field 2 holds a NUL byte"),
        ("a,b\r1,2\r3\r", "line 3: 1 field where"),
    ],
)
def test_a_bad_row_is_named_by_its_line(tmp_path: Path, text: str, message: str, size: int) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(text.encode())
    with small_blocks(size, 8), pytest.raises(FileError, match=message) as caught:  # type: ignore[attr-defined]
        read(path)
    assert str(path) in str(caught.value)


def test_a_bad_row_far_down_is_named_by_its_line(tmp_path: Path) -> None:
    rows = [f"{n},{n % 7}" for n in range(50_000)]
    rows[43_210] = "oops"
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "\n".join(rows))
    with pytest.raises(FileError, match="line 43212: 1 field"):
        read(path)


def test_a_record_that_never_ends(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('a,b\n1,2\n"3,' + "x" * 5000)
    with (
        patch.multiple(blocks, LONGEST=1024, BLOCK=64),
        pytest.raises(FileError, match="line 3: a record is longer"),
    ):
        read(path)


def test_records_longer_than_a_block(tmp_path: Path) -> None:
    values = ["x" * 3000, "y" * 70_000, "short", "y" * 70_000]
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join(f"{value},1\n" for value in values))
    with small_blocks(64, 4):  # type: ignore[attr-defined]
        assert columns_of(path) == [values, ["1"] * 4]


def test_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("\n\na,b\n\n1,2\r\n\r\n\n3,4\n\n")
    assert columns_of(path) == [["1", "3"], ["2", "4"]]
    path.write_text('a\n1\n\n""\n2')  # where there is one column, a blank line is a missing value
    assert columns_of(path) == [["1", None, None, "2"]]


def test_what_looks_like_a_number_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("zip,x\n007,1.50\n7,+1\n0x7,1e5\n 7,NaN\n7 ,NULL\n")
    assert columns_of(path) == [["007", "7", "0x7", " 7", "7 "], ["1.50", "+1", "1e5", "NaN", "NULL"]]


@pytest.fixture
def spread() -> list[str]:
    rng = np.random.default_rng(3)
    return [f"{n:x}" * (1 + n % 5) for n in rng.integers(0, 1 << 40, 90_000)]


@pytest.mark.parametrize("rows", [2_000, 2_000_000])
def test_many_distinct_values(tmp_path: Path, spread: list[str], rows: int) -> None:
    """Tables grow, codes widen from one to four bytes, values repeat late."""
    values = [*spread, *spread[::-1], *["x", "y"] * 10]
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join(f"{value},{n % 300}\n" for n, value in enumerate(values)))
    with small_blocks(1 << 20, 2 * rows):  # type: ignore[attr-defined]
        data = read(path).data
    assert data["a"].decode().to_pylist() == values
    assert data["a"].codes.dtype == np.uint32
    assert data["b"].codes.dtype == np.uint16
    assert len(data["a"].values) == len(set(values))
    assert data["b"].decode().to_pylist() == [str(n % 300) for n in range(len(values))]


def same_hash(end: bytes) -> tuple[str, str]:
    """Two texts with the same 64-bit hash: their first eight letters differ, the next eight make up for it, `end` is the same."""
    mixed = np.uint64(0x9E3779B97F4A7C15)
    rng = np.random.default_rng(1)

    def after(words: np.ndarray) -> np.ndarray:
        value = (np.uint64(16 + len(end)) ^ words) * mixed
        return value ^ (value >> np.uint64(32))

    one = np.frombuffer(b"Tokyo to Osaka 1", dtype=np.uint64)
    first = rng.integers(97, 123, (200_000, 8), dtype=np.uint8)
    second = after(one[:1]) ^ one[1:] ^ after(first.view(np.uint64).ravel())
    letters = second.view(np.uint8).reshape(-1, 8)
    good = np.flatnonzero(((letters >= 48) & (letters < 123)).all(axis=1))[0]
    return "Tokyo to Osaka 1" + end.decode(), (first[good].tobytes() + letters[good].tobytes() + end).decode()


@pytest.mark.parametrize("end", [b"", b"by train"])
def test_a_hash_is_no_identity(tmp_path: Path, end: bytes) -> None:
    texts = same_hash(end)
    words = [np.frombuffer(text.encode() + b"\0" * 16, dtype=np.uint64) for text in texts]
    assert texts[0] != texts[1]
    assert len({int(hash_of(word, 0, len(texts[0]))) for word in words}) == 1
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join(f"{text},1\n" for text in texts * 2))
    assert columns_of(path)[0] == list(texts * 2)


def test_a_column_with_more_text_than_offsets_can_say(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join(f"1,{n:050}\n" for n in range(3000)))
    with patch.object(reader, "MOST_TEXT", 100_000), pytest.raises(FileError, match="column 2 holds more than"):
        read(path)
    with patch.object(reader, "MOST_TEXT", 100_000):
        assert read(path, columns=["a"]).data.rows == 3000


def test_guessing_how_many_values_there_will_be() -> None:
    rng = np.random.default_rng(0)
    for domain in (20_000, 500_000):
        rows = rng.integers(0, domain, 1_000_000)
        start = len(np.unique(rows[:10_000]))
        assert reader._projected(start, 10_000, 1_000_000) == pytest.approx(len(np.unique(rows)), rel=0.1)
    assert reader._projected(10_000, 10_000, 1_000_000) == pytest.approx(1_000_000, rel=0.05)
    assert reader._projected(5_000, 100_000, 1_000_000) == pytest.approx(5_000, rel=0.01)
    assert reader._projected(500, 500, 1_000_000) == 0


@SLOW
@given(st.one_of(st.integers(0, 2_000_000).map(str), st.text(st.sampled_from("0123456789/:-+ a\x80é"), max_size=8)))
def test_a_whole_number_is_what_python_says(text: str) -> None:
    value = text.encode()
    first, _, third = pack(np.frombuffer(value + b"\0" * 32, np.uint8)[:32].copy().view(np.uint64), 0, len(value))
    canonical = text.isascii() and text.isdigit() and str(int(text)) == text and len(text) <= numbering.DIGITS
    assert int(numbering.whole(np.uint64(first), np.uint64(third))) == (int(text) if canonical else numbering.NUMBERS)


@pytest.mark.parametrize("seed", range(6))
def test_numbers_and_text_in_one_column(tmp_path: Path, seed: int) -> None:
    """Columns that change their nature on the way: each table grows, is filled anew, and takes numbers directly or not."""
    rng = np.random.default_rng(seed)
    rows = 30_000
    numbers = rng.integers(0, 10 ** rng.integers(2, 8), rows).astype(str)
    texts = np.char.add(rng.choice(["0", "x", "long text, quite long: ", "-"], rows), numbers)
    late = np.where(np.arange(rows) < rows // 2, rng.integers(0, 40, rows).astype(str), numbers)
    table = [numbers, texts, np.where(rng.random(rows) < 0.4, numbers, texts), late, late[::-1]]
    path = tmp_path / "t.csv"
    path.write_text(
        "a,b,c,d,e\n" + "".join(",".join(f'"{value}"' for value in row) + "\n" for row in zip(*table, strict=True))
    )
    with small_blocks(1 << 16, 5 * 700), patch.object(reader, "MOST_WAITING", 9_000):  # type: ignore[attr-defined]
        found = columns_of(path)
    assert found == [column.tolist() for column in table]
