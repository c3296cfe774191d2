"""Small files that would take all memory or time, and what has the name of a file and is none: each is refused with a reason."""

from __future__ import annotations

import io
import os
import sys
import threading
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import oboro
from oboro.data import parameters
from oboro.data.column import Column
from oboro.data.frames import Frame
from oboro.disclosure.identifiers import holds_ranges
from oboro.errors import ColumnError, FileError, HierarchyError, RecipeError, UsageError
from oboro.hierarchies import masks
from oboro.hierarchies.propose import propose
from oboro.hierarchies.spec import HierarchySpec
from oboro.recipe.importers import arx, sdcmicro
from oboro.recipe.importers.arx import from_arx
from oboro.recipe.importers.sdcmicro import from_sdcmicro
from oboro.system import files
from oboro.text.raw import values_shown

RECIPE = "attributes: {age: {role: quasi}}\nsteps: [{k_anonymize: {k: 2}}]\n"
pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes")


# Pipes and devices ----------------------------------------------------------------------------------------------------


@pipes
def test_a_recipe_from_a_pipe_that_nobody_writes_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "WRITER_WAIT", 0.05)
    os.mkfifo(tmp_path / "recipe.yaml")
    with pytest.raises(FileError, match="no program writes to this pipe"):
        oboro.Recipe.load(tmp_path / "recipe.yaml")


@pipes
def test_a_recipe_from_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "recipe.yaml")

    def write() -> None:
        with open(tmp_path / "recipe.yaml", "w") as pipe:
            pipe.write(RECIPE[:20])
            pipe.flush()
            pipe.write(RECIPE[20:])

    writer = threading.Thread(target=write)
    writer.start()
    assert list(oboro.Recipe.load(tmp_path / "recipe.yaml").attributes) == ["age"]
    writer.join()


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="/dev/fd")
def test_a_recipe_of_a_shells_substitution() -> None:
    read, write = os.pipe()
    os.write(write, RECIPE.encode())
    os.close(write)
    try:
        assert list(oboro.Recipe.load(f"/dev/fd/{read}").attributes) == ["age"]
    finally:
        os.close(read)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="/dev/zero")
def test_a_recipe_that_is_a_device() -> None:
    with pytest.raises(FileError, match="a file is needed here"):
        oboro.Recipe.load("/dev/zero")
    with pytest.raises(FileError, match="a file is needed here"):
        from_sdcmicro("/dev/zero", Frame.read({"age": [1]}).data)
    with pytest.raises(FileError, match="a file is needed here"):
        from_arx("/dev/zero")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="/dev/zero")
def test_a_table_that_is_a_device() -> None:
    with pytest.raises(FileError, match="a file is needed here"):
        oboro.read("/dev/zero")


def test_a_recipe_has_a_length(tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_bytes(b"#" * 50)
    assert files.settings_of(tmp_path / "recipe.yaml", 50) == b"#" * 50
    with pytest.raises(OSError, match="too long"):
        files.settings_of(tmp_path / "recipe.yaml", 49)


@pytest.mark.parametrize("value", ["!!timestamp x", "!!float ''", "!!float x", "!!int ''", "!!bool x", "2020-13-45"])
def test_a_tag_that_does_not_fit_its_text(value: str) -> None:
    with pytest.raises(RecipeError, match="line 2"):
        oboro.Recipe.parse(f"attributes:\n  age: {{role: quasi, weight: {value}}}\nsteps: []\n")


# Tables ---------------------------------------------------------------------------------------------------------------


def ndjson(folder: Path, lines: list[str]) -> Path:
    (folder / "in.ndjson").write_text("\n".join(lines) + "\n")
    return folder / "in.ndjson"


def test_json_lines_with_keys_of_their_own(tmp_path: Path) -> None:
    path = ndjson(tmp_path, [f'{{"k{number}": 1}}' for number in range(3000)])
    with pytest.raises(FileError, match="line 1001: .*3,000 keys in 3,000 lines"):
        oboro.read(path)


def test_json_lines_with_few_values_are_read(tmp_path: Path) -> None:
    path = ndjson(tmp_path, [f'{{"k{number % 300}": {number}, "a": null}}' for number in range(600)])
    data = oboro.read(path).data
    assert (len(list(data)), data.rows) == (301, 600)
    found = data["k7"].decode().to_pylist()
    assert [(row, value) for row, value in enumerate(found) if value is not None] == [(7, 7), (307, 307)]


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow", "ndjson"])
def test_a_table_has_few_columns(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parameters, "MOST_COLUMNS", 3)
    path = tmp_path / f"in.{ending}"
    table = pa.table({name: [1] for name in "abcd"})
    if ending == "csv":
        path.write_text("a,b,c,d\n1,1,1,1\n")
    elif ending == "ndjson":
        path.write_text('{"a": 1, "b": 1, "c": 1, "d": 1}\n')
    elif ending == "parquet":
        pq.write_table(table, path)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    with pytest.raises(FileError, match=r"in\..*: has 4 columns or more, and at most 3 can be read"):
        oboro.read(path)


def test_a_long_value_under_a_mask() -> None:
    column = Column.of(["12", "1" * 2000])
    with pytest.raises(HierarchyError) as refused:
        HierarchySpec(mask="right").build("code", column)
    with values_shown(False):
        assert "code: mask: hides one character a level, but a value has 2,000 characters" in str(refused.value.say())
        assert "a number of 2,000 characters (row 2)" in refused.value.say()
    assert (
        HierarchySpec.model_validate({"mask": {"side": "right", "steps": [1, 1999]}}).build("code", column).height == 3
    )


def test_labels_of_a_mask_have_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masks, "MOST_BYTES", 2000)
    with pytest.raises(HierarchyError, match="the labels of 3 values take more than"):
        HierarchySpec(mask="left").build("code", Column.of(["12", "13", "1" * 100]))
    HierarchySpec(mask="left").build("code", Column.of(["12", "13", "1" * 10]))


def test_long_cells_are_no_ranges() -> None:
    assert not holds_ranges(Column.of(["1." * 5_000_000]))  # the pattern of ranges would take hours


def test_lists_that_do_not_end() -> None:
    endless: list[object] = []
    endless.append(endless)
    inner = np.empty(1, dtype=object)
    inner[0] = inner
    deep: object = 1
    for _ in range(100_000):
        deep = [deep]
    for value in (endless, {"a": endless}, deep, inner):
        for table in ({"age": [1, value]}, [{"age": value}]):
            with pytest.raises(ColumnError, match="'age' holds lists nested more than 64 deep"):
                Frame.read(table)


def test_lists_within_lists_are_left_out() -> None:
    assert list(Frame.read({"age": [1, 2], "tags": [[["a"]], []]}).data) == ["age", "tags"]


def test_text_of_arrow_that_is_no_text() -> None:
    offsets = pa.py_buffer(np.array([0, 2, 4], dtype=np.int32).tobytes())
    broken = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"\xff\xfeab")])
    with pytest.raises(ColumnError, match="'age' is declared as text but holds bytes"):
        oboro.init(pa.table({"age": broken}))


@pytest.mark.parametrize("kind", [pa.timestamp("us"), pa.date32()])
def test_dates_without_rows(kind: pa.DataType) -> None:
    table = pa.table({"day": pa.array([], kind)})
    assert list(oboro.init(table).recipe.attributes) == ["day"]
    assert propose("day", Frame.read(table).data["day"]) is not None


# Scripts and projects of other tools ----------------------------------------------------------------------------------


def taken(folder: Path, text: str):
    (folder / "script.R").write_text(text)
    return from_sdcmicro(folder / "script.R", Frame.read({"age": [1, 2], "sex": ["F", "M"]}).data)


def test_a_script_with_a_long_range(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"script.R: 1:200000000 is beyond the 1,000,000 values"):
        taken(tmp_path, "createSdcObj(d, keyVars=1:200000000)")
    with pytest.raises(FileError, match="beyond"):
        taken(tmp_path, f"createSdcObj(d, keyVars=c({', '.join(['1:90000'] * 20)}))")


@pytest.mark.parametrize("piece", ["f(", "f(c(", "[{("])
def test_a_script_with_brackets_that_are_never_closed(piece: str, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="script.R, line 2: more than 100 brackets"):
        taken(tmp_path, "x\n" + piece * 20_000)


@pytest.mark.parametrize("text", ["'" + r"\'" * 200_000, "f(" * 99 + "1," * 2_000, "c(" * 90 + "1" + ")" * 90])
def test_a_script_costs_its_length(text: str) -> None:
    sdcmicro.r_calls(text)


def test_ranges_as_r_counts() -> None:
    text = "f(3:1, 1.5:3, 2:2, 1e999:3, 1:1e999, a = 1:3)"
    (call,) = sdcmicro.r_calls(text)
    assert (call.given, call.named) == ([[3, 2, 1], [1.5, 2.5], [2]], {"a": [1, 2, 3]})


def test_importance_that_is_no_number(tmp_path: Path) -> None:
    found = taken(tmp_path, 'createSdcObj(d, keyVars="age")\nlocalSuppression(x, k=2, importance=c("a"))')
    assert found.plain["steps"] == [{"suppress_cells": {"k": 2}}]


def project(folder: Path, config: str, definition: str = "<definition/>", **others: str) -> Path:
    with zipfile.ZipFile(folder / "p.deid", "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("input/config.xml", config)
        out.writestr("input/definition.xml", definition)
        for name, text in others.items():
            out.writestr(name.replace("_", "/", 1).replace("__", "."), text)
    return folder / "p.deid"


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ("<c><relativeMaxOutliers>1.2.3</relativeMaxOutliers></c>", "'1.2.3' in the place of a number"),
        ("<c><criterion>1.2.3-closeness with equal for attribute 'a'</criterion></c>", "'1.2.3' in the place"),
        ("<c><criterion>(1..2)-sample-uniqueness</criterion></c>", "'1..2' in the place"),
        (f"<c><criterion>{'9' * 5000}-anonymity</criterion></c>", "in the place of a number"),
        ("<c>" + "<criterion>x</criterion>" * 300_000 + "</c>", "more than 200,000 elements"),
        ("<c>" + " " * (1 << 24) + "</c>", "config.xml in the project is too large"),
        ("<c>" + f"<criterion>t-closeness{' for attribute x' * 70_000}</criterion>" + "</c>", None),
    ],
)
def test_a_project_with_odd_settings(config: str, why: str | None, tmp_path: Path) -> None:
    path = project(tmp_path, config)
    if why is None:
        assert from_arx(path).notes
        return
    with pytest.raises(FileError, match=why):
        from_arx(path)


def test_a_project_with_odd_separators(tmp_path: Path) -> None:
    with zipfile.ZipFile(project(tmp_path, "<c/>"), "a") as out:
        out.writestr("project.xml", "<p><separator>;;</separator></p>")
    with pytest.raises(FileError, match="';;' as the separator"):
        from_arx(tmp_path / "p.deid")


def test_a_project_with_limits_in_other_digits(tmp_path: Path) -> None:
    definition = "<d><assigment><name>a</name><type>QUASI</type><min>²</min></assigment></d>"
    assert "limits" not in from_arx(project(tmp_path, "<c/>", definition)).plain["steps"][-1]["k_anonymize"]


def test_hierarchies_of_a_project_have_a_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arx, "MOST_CELLS", 100)
    definition = "<d><assigment><name>a</name><type>QUASI</type><ref>h</ref></assigment></d>"
    with pytest.raises(FileError, match="have more than 100 cells"):
        from_arx(project(tmp_path, "<c/>", definition, input_h="\n" * 101))


@pytest.mark.parametrize("at", range(0, 220, 7))
def test_a_damaged_project(at: int, tmp_path: Path) -> None:
    content = bytearray(project(tmp_path, "<c>" + "<criterion>2-anonymity</criterion>" * 9 + "</c>").read_bytes())
    content[at % len(content)] ^= 0x55
    (tmp_path / "p.deid").write_bytes(content)
    try:
        from_arx(tmp_path / "p.deid")
    except FileError as error:
        assert "p.deid" in str(error) or "project" in str(error)


# Questions ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [{"k": 5}, {"k": ["5"]}, {"k": [None]}, {"k": [True]}, {"suppress": ["a"]}, {"suppress": 0.1}, {"curves": "k_conceal"},
     {"curves": [[]]}, {"curves": 3}, {"k": [-1]}, {"k": [2], "suppress": [7]}, {"k": {"a": 1}}],
)  # fmt: skip
def test_odd_questions_about_the_frontier(given: dict[str, object]) -> None:
    session = oboro.explore({"age": [31, 38, 35, 52] * 3, "sex": ["F", "M"] * 6})
    with pytest.raises(UsageError):
        list(session.frontier(**given))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given", [3, "age", None, [1, None], {"age": "1", "sex": 0}, {"age": True}, False, 0.5, [[]], ["k"]]
)
def test_odd_demands_and_levels(given: object) -> None:
    session = oboro.explore({"age": [31, 38, 35, 52] * 3, "sex": ["F", "M"] * 6})
    with pytest.raises(UsageError):
        session.look(given)  # type: ignore[arg-type]
    with pytest.raises(UsageError):
        session.recipe([] if given is None else given if not isinstance(given, dict) else 1, {"k": 2})  # type: ignore[arg-type]
    for level in (float("nan"), True, "1"):
        with pytest.raises(UsageError):
            session.recipe({"age": level})  # type: ignore[dict-item]
        with pytest.raises(UsageError):
            session.window(level, 2, [0, 0])  # type: ignore[arg-type]
    for answer in (session.solve, session.nodes):
        with pytest.raises(UsageError):
            answer("k" if given is None else given if not isinstance(given, dict) else {"age": 1})  # type: ignore[arg-type]


def test_numbers_of_numpy_are_numbers_for_the_frontier(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(
        "oboro.explorer.session.level_points", lambda one, ks, shares, *more, **named: asked.append((ks, shares)) or ()
    )
    session = oboro.explore({"age": [31, 38, 35, 52] * 3, "sex": ["F", "M"] * 6})
    assert list(session.frontier(np.array([2, 3]), (0, np.float32(0.5)))) == []
    assert repr(asked) == "[([2, 3], [0.0, 0.5])]"


def test_an_error_of_a_library_that_was_interrupted_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    from types import SimpleNamespace

    from oboro.cli import main

    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(sys, "__unraisablehook__", lambda unheard: shown.write("traceback"))
    monkeypatch.setattr(main, "_ending", [])
    unheard = SimpleNamespace(exc_type=KeyError)
    main._send_again(unheard)  # type: ignore[arg-type]
    assert shown.getvalue() == "traceback"
    main._ending.append(True)
    main._send_again(unheard)  # type: ignore[arg-type]
    assert shown.getvalue() == "traceback"


# Hierarchies ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("values", [[], [1, 2, 3, 4, 5]])
def test_groups_beyond_64_bits(values: list[int]) -> None:
    rule = HierarchySpec.model_validate({"neighbours": {"groups": [3, 2**64]}})
    assert rule.build("age", Column.of(values)).height == 3


def test_a_priority_has_few_levels() -> None:
    with pytest.raises(ValueError, match="1000"):
        HierarchySpec.model_validate({"priority": {"levels": 2**64}})


def test_hierarchy_files_of_columns_with_odd_names() -> None:
    from oboro.recipe.importers.arx import file_of

    assert file_of("age") == "age.csv"
    assert len({file_of(name) for name in ("a b", "a_b", "a/b", "x" * 500, "x" * 501)}) == 5
    assert max(len(file_of(letter * 500).encode()) for letter in "x𠮷") <= 255
