"""Files of Stata and SPSS: value labels, missing values, and what must not be released."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

import oboro
from oboro.errors import FileError
from oboro.io.formats import isolated
from oboro.io.read import read

pyreadstat = pytest.importorskip("pyreadstat")

NAN = float("nan")
TABLE = pd.DataFrame(
    {
        "sex": [1.0, 2.0, 1.0, 9.0, NAN, 2.0] * 2,
        "income": [30.0, 31.5, -9.0, 98.0, 4.0, NAN] * 2,
        "city": ["Kyoto", "", "Osaka", "大阪", "x", "y"] * 2,
        "born": [dt.date(1990, 1, 2), None, dt.date(1800, 1, 1), dt.date(2020, 2, 29)] * 3,
    }
)
SEX = {2.0: "female", 1.0: "male", 9.0: "refused", 3.0: "SECRET-unused"}
LABELS = {"sex": SEX, "income": {98.0: "98 or more"}}


@pytest.fixture(params=[".sav", ".zsav", ".dta"])
def survey(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"survey{request.param}"
    said = {"file_label": "SECRET-file", "column_labels": {"sex": "SECRET-column"}, "variable_value_labels": LABELS}
    if request.param == ".dta":
        frame = TABLE.assign(sex=TABLE["sex"].replace(9.0, NAN), income=TABLE["income"].replace(-9.0, NAN))
        pyreadstat.write_dta(frame, path, **{**said, "variable_value_labels": {"sex": SEX}})
    else:
        missing = {"sex": [9.0], "income": [-9.0]}
        compress = request.param == ".zsav"
        pyreadstat.write_sav(TABLE, path, note="SECRET-note", missing_ranges=missing, compress=compress, **said)
    return path


def test_labels_are_read_in_the_order_of_their_codes(survey: Path) -> None:
    found = read(survey)
    assert found.data["sex"].decode().to_pylist() == ["male", "female", "male", None, None, "female"] * 2
    assert found.data["sex"].values.drop_null().to_pylist() == ["male", "female"]
    assert found.data["income"].decode().to_pylist() == [30.0, 31.5, None, 98.0, 4.0, None] * 2
    assert found.data["city"].decode().to_pylist()[:3] == ["Kyoto", None, "Osaka"]
    assert found.data["born"].decode().to_pylist() == TABLE["born"].tolist()
    noted = [one.values["column"] for one in found.notes]
    assert noted == ([] if survey.suffix == ".dta" else ["income"])


def test_codes_are_read_where_they_are_asked_for(survey: Path) -> None:
    found = read(survey, labels=False)
    assert found.data["sex"].decode().to_pylist() == [1, 2, 1, None, None, 2] * 2
    assert not found.notes


def test_columns_with_equal_labels_are_read_as_codes(tmp_path: Path) -> None:
    path = tmp_path / "a.sav"
    pyreadstat.write_sav(
        pd.DataFrame({"q": [1.0, 2.0]}), path, variable_value_labels={"q": {1.0: "no answer", 2.0: "no answer"}}
    )
    found = read(path)
    assert found.data["q"].decode().to_pylist() == [1, 2]
    assert [one.id for one in found.notes] == ["io.without_labels"]


@pytest.mark.parametrize("ending", [".sav", ".zsav", ".dta"])
def test_only_released_values_and_their_labels_are_written(survey: Path, tmp_path: Path, ending: str) -> None:
    recipe = oboro.Recipe(
        attributes={"sex": {"role": "quasi"}, "income": {"role": "identifier"}, "city": {"role": "identifier"}},
        unnamed="drop",
        accept={"rows_of": ["income", "city", "born"], "because": "the table repeats"},
        steps=[{"drop_columns": {"attributes": ["income", "city"]}}, {"k_anonymize": {"k": 2}}],
    )
    release = recipe.run(survey)
    path = tmp_path / f"released{ending}"
    release.write(path)
    found, meta = (pyreadstat.read_dta if ending == ".dta" else pyreadstat.read_sav)(path, user_missing=True)
    assert meta.variable_value_labels == {"sex": {1.0: "male", 2.0: "female"}}
    assert sorted(found["sex"].dropna()) == [1.0] * 4 + [2.0] * 4
    assert not meta.file_label
    assert not meta.notes
    assert not meta.missing_ranges
    assert not any(meta.column_labels)
    content = path.read_bytes()
    assert b"SECRET" not in content
    assert b"refused" not in content
    assert read(path).data["sex"].texts


def test_suppressed_labels_get_a_code_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "a.sav"
    pyreadstat.write_sav(pd.DataFrame({"sex": [1.0, 1.0, 1.0, 2.0]}), path, variable_value_labels={"sex": SEX})
    source = read(path)
    release = oboro.Recipe(
        attributes={"sex": {"role": "quasi", "hierarchy": {"mask": "right"}}},
        steps=[{"generalize": {"levels": {"sex": 6}}}],
    ).run(path)
    release.write(tmp_path / "b.sav")
    _, meta = pyreadstat.read_sav(tmp_path / "b.sav")
    assert "male" not in meta.variable_value_labels["sex"].values()
    assert min(meta.variable_value_labels["sex"]) > 9
    assert source.types["sex"].ordered


def test_files_in_folders_and_bytes(survey: Path) -> None:
    assert read(survey.read_bytes()).data["sex"].values.drop_null().to_pylist() == ["male", "female"]
    folder = survey.parent / "folder"
    folder.mkdir()
    (folder / survey.name).write_bytes(survey.read_bytes())
    assert read(f"{folder}/").data["sex"].decode().to_pylist()[:2] == ["male", "female"]


def test_damaged_files_end_with_one_message(survey: Path) -> None:
    whole = survey.read_bytes()
    for place in range(8, len(whole), max(1, len(whole) // 6)):
        survey.write_bytes(whole[:place] + b"\xff" * 8 + whole[place + 8 :])
        try:
            read(survey)
        except FileError as problem:
            assert "Kyoto" not in str(problem)


def test_a_reader_that_dies_is_an_error(survey: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolated, "LEAST_MEMORY", 1 << 20)
    monkeypatch.setattr(isolated, "TIMES_SIZE", 1)
    with pytest.raises(FileError, match="its reader ended over it"):
        read(survey)


def test_names_that_the_format_lacks_are_refused(tmp_path: Path) -> None:
    table = oboro.read(pa.table({"a column with spaces": [1]}).to_reader())
    with pytest.raises(FileError, match="names of columns"):
        table.write(table.data, tmp_path / "a.dta")
    assert not [*tmp_path.iterdir()]
