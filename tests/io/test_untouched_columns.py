"""Columns that no step touches go from the input file to the output in a second pass: the same bytes as if all had been held."""

from __future__ import annotations

import csv
import gzip
import io
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oboro.data.column import UnencodedColumn, UnreadColumn
from oboro.data.dataset import Dataset, unread_columns
from oboro.disclosure.accept import Accept
from oboro.errors import FileError, OboroError, SingledOutError
from oboro.io import column_store, write
from oboro.io.column_store import merged_blocks
from oboro.io.formats import parquet
from oboro.io.formats.csv import blocks, reader, small
from oboro.io.formats.csv.kernels import copying
from oboro.io.formats.csv.writer import CopyThrough
from oboro.io.read import column_names, read
from oboro.recipe.recipe import Recipe
from oboro.techniques import Technique, checks
from oboro.techniques.base import Work

NAMES = ("word", "age", "sex", "note", "zip", "extra")
STEPS: list[dict[str, Any]] = [
    {"drop_columns": {"attributes": ["word"]}},
    {"drop_columns": {"attributes": ["word", "note", "extra"]}},
    {"pseudonymize": {"attribute": "word", "method": "number"}},
    {"drop_records": {"where": {"sex": {"equals": "F"}}}},
    {"sample": {"fraction": 0.5}},
    {"k_anonymize": {"k": 2, "suppress": 0.5}},
    {"shuffle": {"attributes": ["zip"]}},
    {"sort": {"by": "-age"}},
    {"generalize": {"attribute": "age", "level": 1}},
]
ATTRIBUTES: dict[str, Any] = {
    "age": {"role": "quasi", "hierarchy": {"intervals": [10, 50], "star": True}},
    "sex": {"role": "quasi"},
}

words = st.text(st.sampled_from("ab1,;|\"'\n\r\t é日"), max_size=5)


@pytest.fixture(autouse=True)
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every column of a Parquet file is so large that it stays there."""
    monkeypatch.setattr(column_store, "HELD_TOO", -1)


def recipe(*steps: dict[str, Any]) -> Recipe:
    return Recipe(attributes=ATTRIBUTES, unnamed="other", steps=list(steps), seed=3)


def accepting(plan: Recipe, names: Iterable[str]) -> Recipe:
    """The same recipe, which lets made-up people be unique by whatever these columns hold."""
    return plan.model_copy(update={"accept": [Accept(unique_on=list(names), because="made up")]})


def held_by(plan: Recipe, source: Path, **options: Any) -> set[str]:
    """The columns of a file that a recipe must hold."""
    return set(plan.reads(column_names(source, **options) or ()))


def both_ways(source: Path, output: str, plan: Recipe, **options: Any) -> tuple[bytes, bytes]:
    """What is written when everything is held, and when only what the recipe touches is."""
    held = source.with_name(f"held.{output}")
    passed = source.with_name(f"passed.{output}")
    try:
        plan.run(read(source, **options)).write(held, force=True)
    except OboroError as error:
        with pytest.raises(type(error)) as same:
            plan.run(read(source, held=held_by(plan, source, **options), **options)).write(passed, force=True)
        assert str(same.value) == str(error)
        if isinstance(error, SingledOutError):
            with pytest.raises(SingledOutError) as looked:  # by the numbers that stand for what stayed in the file
                plan.run(source, reading=options)
            assert str(looked.value) == str(error)
            return both_ways(source, output, accepting(plan, column_names(source, **options) or ()), **options)
        return b"", b""
    plan.run(read(source, held=held_by(plan, source, **options), **options)).write(passed, force=True)
    return held.read_bytes(), passed.read_bytes()


@st.composite
def csv_files(draw: st.DrawFn) -> tuple[bytes, str]:
    """A CSV file as people write them: quotes where they need not be, three kinds of line ends, blank lines, a byte order mark."""
    delimiter = draw(st.sampled_from(",;\t"))
    quoting = draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]))
    text = io.StringIO()
    end = draw(st.sampled_from(["\n", "\r\n", "\n\n"]))
    out = csv.writer(text, delimiter=delimiter, quoting=quoting, lineterminator=end)
    out.writerow(NAMES)
    for _ in range(draw(st.integers(0, 9))):
        row = {name: draw(words) for name in ("word", "note", "zip", "extra")}
        age, sex = draw(st.sampled_from([21, 22, 34, 58])), draw(st.sampled_from(["F", "M", "M,F"]))
        out.writerow([row["word"], age, sex, row["note"], row["zip"], row["extra"]])
    mark = draw(st.sampled_from(["", "\ufeff"]))
    body = text.getvalue()
    return (mark + (body if draw(st.booleans()) else body.rstrip("\r\n"))).encode(), delimiter


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    csv_files(),
    st.lists(st.sampled_from(STEPS), max_size=3, unique_by=lambda step: next(iter(step))),
    st.sampled_from(["csv", "tsv", "parquet", "csv.zst"]),
    st.sampled_from([24, 60, 1_200_000]),
)
def test_the_same_bytes_as_if_all_columns_were_held(
    tmp_path: Path, file: tuple[bytes, str], steps: list[dict[str, Any]], output: str, cells: int
) -> None:
    text, delimiter = file
    source = tmp_path / "in.csv"
    source.write_bytes(text)
    before, blocks.CELLS = blocks.CELLS, cells  # few fields in a block: more blocks
    try:
        held, passed = both_ways(source, output, recipe(*steps), delimiter=delimiter, quote='"')
    finally:
        blocks.CELLS = before
    assert held == passed


def test_only_what_a_step_touches_is_held(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("word,age,sex,note,zip,extra\nAnn,21,F,x,1,y\n")
    plan = recipe({"drop_columns": {"attributes": ["word"]}}, {"round": {"attribute": "zip", "base": 5}})
    source = read(tmp_path / "in.csv", held=held_by(plan, tmp_path / "in.csv"))
    assert unread_columns(source.data) == ["word", "note", "extra"]
    assert [name for name, column in source.data.columns.items() if column.loaded] == ["age", "sex", "zip"]
    release = accepting(plan, NAMES).run(source)
    assert unread_columns(release.frame.data) == ["note", "extra"]
    assert release.data.to_pydict() == {"age": ["21"], "sex": ["F"], "note": ["x"], "zip": ["0"], "extra": ["y"]}
    everything = recipe({"shuffle": {}})
    assert not unread_columns(read(tmp_path / "in.csv", held=held_by(everything, tmp_path / "in.csv")).data)


@pytest.mark.parametrize("technique", list(checks.subjects()), ids=lambda one: f"{one.step} {one!r}"[:60])
def test_every_technique_says_what_it_reads(technique: Technique) -> None:
    if not technique.repeatable:
        pytest.skip("two runs differ, by design: it draws from the system")
    whole = checks.tables()["plain"].data
    names = list(whole)
    spoken = {*technique.reads(names), *checks.SCHEMA.quasi, *checks.SCHEMA.sensitive}
    left = {name: UnreadColumn(whole.rows) for name in names if name not in spoken}
    full = technique.run(Work(whole, checks.SCHEMA, np.random.default_rng(1)))
    part = technique.run(Work(whole.with_columns(left), checks.SCHEMA, np.random.default_rng(1)))
    assert list(part.data) == list(full.data)
    assert (part.data.origin_rows == full.data.origin_rows).all()
    for name, column in part.data.columns.items():
        assert len(column) == part.data.rows
        if not column.loaded:
            same = whole[name].decode().take(pa.array(part.data.origin_rows))
            assert full.data[name].decode().equals(same), "a column that was not read changed"
        else:
            assert column.decode().equals(full.data[name].decode())


def people(rows: int = 3000) -> pa.Table:
    rng = np.random.default_rng(5)
    return pa.table(
        {
            "word": [f"person {n}" for n in range(rows)],
            "age": rng.integers(20, 60, rows),
            "sex": rng.choice(["F", "M"], rows),
            "note": pa.array([None if n % 7 == 0 else "" if n % 5 == 0 else f"日 {n % 50}" for n in range(rows)]),
            "weight": np.where(rng.random(rows) < 0.1, np.nan, rng.normal(60, 9, rows).round(1)),
            "born": pa.array(rng.integers(0, 9000, rows).astype("int32"), pa.int32()).cast(pa.date32()),
            "kind": pa.array(rng.choice(["x", "y"], rows)).dictionary_encode(),
            "long": pa.array(rng.choice(["x", "y"], rows), pa.large_string()),
        }
    )


@pytest.mark.parametrize("output", ["parquet", "csv", "csv.gz", "feather"])
@pytest.mark.parametrize(
    "steps",
    [
        [{"drop_columns": {"attributes": ["word"]}}, {"k_anonymize": {"k": 3}}],
        [{"drop_records": {"where": {"age": {"below": 30}}}}],
        [{"drop_records": {"where": {"age": {"below": 100}}}}],
        [{"pseudonymize": {"attribute": "word", "method": "random"}}],
        [],
    ],
)
def test_parquet_passes_too(tmp_path: Path, steps: list[dict[str, Any]], output: str) -> None:
    pq.write_table(people(), tmp_path / "in.parquet", row_group_size=700)
    held, passed = both_ways(tmp_path / "in.parquet", output, recipe(*steps))
    assert held
    if output == "feather":  # Arrow's own format keeps what lies between values, too
        held, passed = (pa.ipc.open_file(one).read_all().combine_chunks() for one in (held, passed))
    assert held == passed


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_small_columns_that_the_last_look_sees_are_held_and_read_once(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / f"in.{ending}"
    write.write(Dataset.from_arrow(people(50)), source)
    monkeypatch.setattr(column_store, "HELD_TOO", 1 << 20)
    release = accepting(recipe({"drop_columns": {"attributes": ["word"]}}), people(1).column_names).run(source)
    assert unread_columns(release.original) == ["word"]
    content = source.read_bytes()
    source.unlink()
    release.write(tmp_path / "out.parquet")
    source.write_bytes(content)
    assert pq.read_table(tmp_path / "out.parquet") == release.data


def test_columns_whose_values_nearly_all_differ_stay_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Held as codes and values they would take more than their text, and longer."""
    source = tmp_path / "in.csv"
    lines = [f"{20 + n % 3},F,id{n},{n}" for n in range(3000)]
    source.write_text("\n".join(["age,sex,id,number", *lines]) + "\n")
    monkeypatch.setattr(column_store, "HELD_TOO", 1 << 28)
    monkeypatch.setattr(small, "MOST", 0)
    for anyway, stays in ((10_000, []), (0, ["id", "number"])):
        monkeypatch.setattr(reader, "ANYWAY", anyway)
        release = accepting(recipe(), ["id", "number"]).run(source)
        assert unread_columns(release.original) == stays
        release.write(tmp_path / "out.csv", force=True)
        assert (tmp_path / "out.csv").read_text() == source.read_text()


def test_parquet_is_read_batch_by_batch(tmp_path: Path) -> None:
    table = people(9000)
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=1000)
    again = read(tmp_path / "in.parquet").data.to_arrow()
    for name in table.column_names:
        expected = table[name].combine_chunks()
        expected = expected.dictionary_decode() if name == "kind" else expected
        expected = pa.array(expected.to_pandas(), from_pandas=True) if name == "weight" else expected
        assert again[name].combine_chunks().to_pylist() == expected.to_pylist(), name
    assert read(tmp_path / "in.parquet", columns=["sex", "age"]).data.to_arrow().column_names == ["sex", "age"]


@pytest.mark.parametrize("cores", [1, 2, 3, 7])
def test_each_core_reads_its_part(tmp_path: Path, cores: int) -> None:
    table = people(5000)
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=700)
    counted: list[int] = []
    with patch.object(parquet, "SMALL", 500), patch.object(parquet.os, "cpu_count", lambda: cores):
        found = parquet.encode(
            str(tmp_path / "in.parquet"), table.column_names, lambda done, total: counted.append(done)
        )
    assert found.to_arrow().equals(read(tmp_path / "in.parquet").data.to_arrow())
    for name in table.column_names:  # numbered by first appearance, as one core would
        first = list(dict.fromkeys(found[name].decode().to_pylist()))
        assert found[name].values.to_pylist() == first, name
    assert max(counted) == 5000


def test_parquet_without_rows(tmp_path: Path) -> None:
    pq.write_table(people(5).slice(0, 0), tmp_path / "in.parquet")
    for output in ("parquet", "csv"):
        held, passed = both_ways(tmp_path / "in.parquet", output, recipe({"drop_columns": {"attributes": ["word"]}}))
        assert held == passed


ROWS = "".join(f"p{n},{20 + n % 30},F,日本語 {n},{n},\n" for n in range(4000))


@pytest.mark.parametrize("encoding", ["utf-8", "cp932", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("pack", [lambda text: text, gzip.compress])
def test_encodings_and_packing(tmp_path: Path, encoding: str, pack: Any) -> None:
    source = tmp_path / "in.csv"
    source.write_bytes(pack((",".join(NAMES) + "\n" + ROWS).encode(encoding)))
    held, passed = both_ways(source, "csv", recipe({"drop_columns": {"attributes": ["word"]}}))
    assert held == passed
    assert "日本語 3999" in held.decode(encoding)


@pytest.mark.parametrize("start", [b"sep=,\n", b"\xef\xbb\xbfsep=,\r\n"])
def test_the_line_that_names_the_delimiter_for_excel(tmp_path: Path, start: bytes) -> None:
    source = tmp_path / "in.csv"
    source.write_bytes(start + (",".join(NAMES) + "\n" + ROWS).encode())
    held, passed = both_ways(source, "csv", recipe({"drop_columns": {"attributes": ["word"]}}))
    assert held == passed
    assert b"sep=" not in held


def test_japanese_that_shows_late_in_a_column_that_is_not_read(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    ascii_rows = "".join(f"p{n},{20 + n % 30},F,note {n},{n},\n" for n in range(20_000))
    source.write_bytes((",".join(NAMES) + "\n" + ascii_rows + ROWS).encode("cp932"))
    held, passed = both_ways(source, "csv", recipe())
    assert held == passed
    assert "日本語 3999" in held.decode("cp932")


def test_a_bad_byte_in_a_column_that_is_not_read(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_bytes((",".join(NAMES) + "\né,20,F,a,b,c\n").encode() + b'x,21,M,"q\xffz",b,c\n')
    with pytest.raises(FileError, match=r"column 'note', row 2: b'q\\xffz' is not UTF-8"):
        read(source, encoding="utf-8", held=held_by(recipe(), source, encoding="utf-8"))


@pytest.mark.parametrize("line", ["x,21,M,a,b", "x,21,M,a,b,c,d", 'x,21,M,"a"b,b,c', 'x,21,M,"a,b,c', "x,21,M,a\0,b,c"])
def test_every_record_is_checked(tmp_path: Path, line: str) -> None:
    source = tmp_path / "in.csv"
    source.write_text(",".join(NAMES) + f"\nx,20,F,a,b,c\n{line}\n")
    both_ways(source, "csv", recipe())
    with pytest.raises(FileError, match="line 3"):
        read(source, held=held_by(recipe(), source))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_that_changes_in_between_is_an_error(tmp_path: Path, ending: str) -> None:
    source = tmp_path / f"in.{ending}"
    write.write(Dataset.from_arrow(people(50)), source)
    for output in ("csv", "parquet"):
        release = accepting(recipe(), people(1).column_names).run(source)
        content = source.read_bytes()
        source.write_bytes(content[:-7] + content[-4:])
        with pytest.raises(FileError, match="was changed"):
            release.write(tmp_path / f"out.{output}", force=True)
        with pytest.raises(FileError, match="was changed"):
            release.dataset  # noqa: B018
        source.write_bytes(content)
        assert not (tmp_path / f"out.{output}").exists()


def test_text_that_is_not_what_was_marked_is_an_error(tmp_path: Path) -> None:
    """Even if the file's size and time say nothing, records are counted and fields are found again."""
    source = tmp_path / "in.csv"
    source.write_text(",".join(NAMES) + "\nx,20,F,a,b,c\ny,30,M,d,e,f\n")
    held = read(source, held=held_by(recipe(), source))
    assert held.untouched is not None
    for text in (
        "x,20,F,a,b,c\ny,30,M,d,e;f\n",
        "x,20,F,a,b\nc\ny,30,M,d,e,f",
        'x,20,F,a,b,c\ny,30,M,"d,e,f\n',
        "\n" * 26,
    ):
        source.write_text(",".join(NAMES) + "\n" + text)
        copied = CopyThrough(held.data, held.untouched, held.dialect)  # type: ignore[arg-type]
        object.__setattr__(held.untouched, "file_state", type(held.untouched.file_state).of(source))
        with pytest.raises(FileError, match="was changed"):
            list(copied.parts())


@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_awkward_bytes_are_found_wherever_they_stand(tmp_path: Path, delimiter: str) -> None:
    """Fields up to the end of a line are looked at 64 bytes at once: what needs quotes is seen on either side of such a border."""
    text = io.StringIO()
    out = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    out.writerow(NAMES)
    for odd in (" ", '"', "\t", delimiter, "\n", "\x01", "é", "x"):
        for place in range(45, 140):
            line = "n" * place + odd + "m" * (150 - place)
            for cut in (place - 1, place, place + 1, place + 2):  # the odd one in the middle, first or last of a field
                out.writerow(["a", 21, "F", line[:40], line[40:cut], line[cut:]])
    source = tmp_path / "in.csv"
    source.write_text(text.getvalue(), newline="")
    held, passed = both_ways(source, "csv", recipe(STEPS[0]), delimiter=delimiter)
    assert held == passed
    assert held


def test_more_records_than_were_marked_are_never_looked_up(tmp_path: Path) -> None:
    """Rows of the held columns are found by their address: a record for which there is no row must end it before that."""
    source = tmp_path / "in.csv"
    text = "age,note\n" + "20,aaaaaaaa\n30,bbbbbbbb\n" * 40
    source.write_text(text)
    held = read(source, held=held_by(recipe(), source))
    source.write_text("age,note\n" + "9,\n" * 320)
    object.__setattr__(held.untouched, "file_state", type(held.untouched.file_state).of(source))  # type: ignore[union-attr]
    copied = CopyThrough(held.data, held.untouched, held.dialect)  # type: ignore[arg-type]
    (block,) = copied._blocks()
    state, out = np.zeros(4, dtype=np.int64), np.empty(1 << 16, dtype=np.uint8)
    ended = copying.copy_records(
        block.memory.text, block.size, block.records, block.header, copied.kinds, copied.edges, copied.marks, copied.plan,
        copied.tables, block.first, np.zeros(0, dtype=np.int64), True, block.lengths, state, out,
    )  # fmt: skip
    assert (ended, state[copying.RECORD]) == (copying.CHANGED, block.records)
    with pytest.raises(FileError, match="was changed"):
        list(merged_blocks(held.data, held.untouched))  # type: ignore[arg-type]


def test_the_output_may_replace_the_input(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text(",".join(NAMES) + "\nx,20,F,a,b,c\ny,30,M,d,e,f\n")
    accepting(recipe({"drop_columns": {"attributes": ["word", "zip"]}}), NAMES).run(source).write(source, force=True)
    assert source.read_text() == "age,sex,note,extra\n20,F,a,c\n30,M,d,f\n"


def test_long_labels_and_long_records_find_room(tmp_path: Path) -> None:
    rows = [f"p,{20 + n},F,{'n' * (n * 4001 % 90_000)},z,e" for n in range(40)]
    (tmp_path / "in.csv").write_text("\n".join([",".join(NAMES), *rows]))
    long = {"rows": [[str(20 + n), f"{n:03d}" * 30_000] for n in range(40)]}
    plan = Recipe(
        attributes={"age": {"role": "quasi", "hierarchy": long}},
        unnamed="other",
        steps=[{"generalize": {"attribute": "age", "level": 1}}],
    )
    held, passed = both_ways(tmp_path / "in.csv", "csv", plan)
    assert held == passed
    assert len(held) > 3_000_000


def test_progress_tells_stage_rows_and_total(tmp_path: Path) -> None:
    write.write(Dataset.from_arrow(people(500)), tmp_path / "in.csv")
    told: list[tuple[str, int, int | None]] = []
    release = accepting(recipe(), people(1).column_names).run(
        tmp_path / "in.csv", progress=lambda stage, done=0, total=None: told.append((stage, done, total))
    )
    release.write(tmp_path / "out.csv", progress=lambda done, total: told.append(("writing", done, total)))
    assert ("writing", 500, 500) in told
    assert {"reading", "verifying"} <= {str(stage) for stage, _, _ in told}
    assert all(done <= (total or done) for _, done, total in told)


def test_a_raw_column_is_as_its_encoded_twin() -> None:
    for name, array in zip(people(40).column_names, people(40).columns, strict=True):
        raw, rows = UnencodedColumn(array), np.array([3, 1, 20])
        encoded = Dataset.from_arrow(pa.table({name: array}))[name]
        assert raw.decode().equals(encoded.decode()), name
        assert raw.values.equals(encoded.values)
        assert (raw.codes == encoded.codes).all()
        assert raw.take(rows).decode().equals(encoded.take(rows).decode())


COMMAND = (sys.executable, "-m", "oboro.cli.main", "anonymize")
PLAN = """
attributes: {age: {role: quasi}}
unnamed: other
steps: [{drop_columns: {attributes: [word]}}]
accept: {unique_on: [age, sex, note, zip, extra], because: made up}
"""


@pytest.mark.parametrize(
    ("number", "ending"), [(signal.SIGKILL, "csv"), (signal.SIGKILL, "parquet"), (signal.SIGINT, "csv")]
)
def test_nothing_stands_under_the_name_after_a_kill_while_writing(
    tmp_path: Path, number: signal.Signals, ending: str
) -> None:
    (tmp_path / "r.yaml").write_text(PLAN)
    rows = "".join(f"p{n},{20 + n % 30},F,note {n},{n},\n" for n in range(200_000))
    (tmp_path / "in.csv").write_text(",".join(NAMES) + "\n" + rows)
    (tmp_path / "out").mkdir()
    output = tmp_path / "out" / f"out.{ending}"
    process = subprocess.Popen(
        [*COMMAND, str(tmp_path / "in.csv"), "-r", str(tmp_path / "r.yaml"), "-o", str(output)],
        stderr=subprocess.DEVNULL,
    )
    while process.poll() is None and not any((tmp_path / "out").glob(".*.part")):
        time.sleep(0.001)
    process.send_signal(number)
    process.wait()
    left = {path.name for path in (tmp_path / "out").iterdir()}
    if process.returncode == 0:  # it was faster than the signal
        assert left == {output.name}
    else:
        assert output.name not in left
        assert not left or number is signal.SIGKILL
