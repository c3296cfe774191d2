"""Roles of columns: by their names, by their values, and by whom they single out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, product

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.drawing import picks
from tests.recipe.public_tables import public_table

import oboro
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.stray_values import Strays, stray_values
from oboro.disclosure import counted_people
from oboro.disclosure.column_names import role_by_name
from oboro.disclosure.counted_people import repeated_people
from oboro.hierarchies.propose import propose
from oboro.measures.exposure import exposure
from oboro.measures.risk import contributions
from oboro.notations.kinds import Kind, kind_of
from oboro.recipe.roles import guess_roles, kept_as_they_are
from oboro.schema import Role

ROWS = range(60)
BY_VALUES = {
    "contact": ([f"user{i}@example.org" for i in ROWS], Role.IDENTIFIER, "role.form"),
    "since": ([f"2024-{1 + i % 12:02}" if i else "*" for i in ROWS], Role.QUASI, "role.date"),
    "when": ([20240101 + 100 * (i % 12) + i % 28 for i in ROWS], Role.QUASI, "role.date"),
    "ym": ([202401 + i % 3 for i in ROWS], Role.QUASI, "role.date"),
    "quarter": ([f"2024-Q{1 + i % 4}" for i in ROWS], Role.QUASI, "role.date"),
    "reach": ([f"090-{1000 + i}-{5000 + i}" for i in ROWS], Role.IDENTIFIER, "role.form"),
    "number": (list(range(1001, 1061)), Role.IDENTIFIER, "role.serial"),
    "ref": ([f"K{i * 37:05}" for i in ROWS], Role.IDENTIFIER, "role.code"),
    "long": ([4_000_000_000 + i * 7919 for i in ROWS], Role.IDENTIFIER, "role.code"),
    "remark": ([f"said on day {i} that he will not come back" for i in ROWS], Role.IDENTIFIER, "role.free_text"),
    "備考": ([f"{i}日目に来院し、痛みが続いているため薬を変更したい" for i in ROWS], Role.IDENTIFIER, "role.free_text"),
    "label": ([f"thing {'x' * i}" for i in ROWS], Role.IDENTIFIER, "role.own_text"),
    "seen": ([f"2024-0{1 + i % 9}-1{i % 7}" for i in ROWS], Role.QUASI, "role.date"),
    "spent": ([i * i * 3.7 for i in ROWS], Role.QUASI, "role.alone"),
    "amount": ([1200 + i * i for i in ROWS], Role.QUASI, "role.alone"),
    "birthDate": (["1970-01-01", "1980-05-05"] * 30, Role.QUASI, "role.by_name"),
    "病名": (["かぜ", "骨折"] * 30, Role.SENSITIVE, "role.by_name"),
    "diagnosed": ([f"2024-0{1 + i % 9}-1{i % 7}" for i in ROWS], Role.QUASI, "role.date"),
    "phone": (["yes", "no"] * 30, Role.OTHER, "role.safe"),
    "full_name": (["Ann Lee"] * 60, Role.IDENTIFIER, "role.by_name"),
    "unit": (["kg"] * 60, Role.OTHER, "role.constant"),
    "colour": (["red", "blue", "green"] * 20, Role.OTHER, "role.safe"),
}


@pytest.mark.parametrize("name", BY_VALUES)
def test_a_column_by_itself(name: str) -> None:
    values, role, reason = BY_VALUES[name]
    found = guess_roles(Dataset.of({name: values})).columns[name]
    assert found.role is role
    assert reason in [one.id for one in found.reasons]


def test_one_rare_value_is_enough() -> None:
    table = Dataset.of({"colour": ["red"] * 59 + ["blue"], "size": [1, 2] * 30})
    found = guess_roles(table).columns
    assert found["colour"].role is Role.QUASI
    assert found["size"].role is Role.OTHER


def test_columns_that_single_out_together_are_not_both_released() -> None:
    table = Dataset.of({"row": [i // 6 for i in range(36)], "seat": [i % 6 for i in range(36)]})
    roles = guess_roles(table)
    assert len(roles.named(Role.OTHER)) == 1
    (promoted,) = roles.named(Role.QUASI)
    (reason,) = roles.columns[promoted].reasons
    assert reason.id == "role.together"
    assert reason.values["people"] == 36


COLUMNS = st.lists(picks(range(4), min_size=12, max_size=12), min_size=1, max_size=4)


def naive_alone(columns: Sequence[Sequence[int]]) -> int:
    rows = list(zip(*columns, strict=True))
    return sum(rows.count(row) == 1 for row in rows)


@given(COLUMNS)
def test_what_is_kept_singles_nobody_out_and_nothing_can_be_added(columns: list[list[int]]) -> None:
    table = Dataset.of({f"c{i}": values for i, values in enumerate(columns)})
    kept, singled = kept_as_they_are(table, {name: exposure(table, [name]) for name in table})
    held = [table[name].decode().to_pylist() for name in kept]
    assert not kept or naive_alone(held) == 0
    assert sorted([*kept, *singled]) == sorted(table)
    for name, people in singled.items():
        assert people > 0
        assert naive_alone([*held, table[name].decode().to_pylist()]) > 0


@given(COLUMNS)
def test_contributions_are_those_of_minimal_sets(columns: list[list[int]]) -> None:
    names = [f"c{i}" for i in range(len(columns))]
    found = contributions(Dataset.of(dict(zip(names, columns, strict=True))), names)
    sets = {
        (row, chosen)
        for row in range(12)
        for size in (1, 2, 3)
        for chosen in combinations(range(len(columns)), size)
        if _alone(columns, row, chosen) and not any(_alone(columns, row, p) for p in combinations(chosen, size - 1))
    }
    for place, name in enumerate(names if found else []):
        for size, count in ((2, found[name].with_one), (3, found[name].with_two)):
            expected = len({row for row, chosen in sets if len(chosen) == size and place in chosen})
            assert count == (expected if size <= len(columns) else None)


def _alone(columns: list[list[int]], row: int, chosen: Sequence[int]) -> bool:
    mine = [columns[c][row] for c in chosen]
    return sum([columns[c][other] for c in chosen] == mine for other in range(12)) == 1


# People with several rows ---------------------------------------------------------------------------------------------


def test_a_panel_is_noticed() -> None:
    found = repeated_people(Dataset.from_arrow(_arrow(public_table("Ecdat/Males"))))
    assert found is not None
    assert (found.column, found.people, found.rows, found.moment) == ("nr", 545, 4360, "year")
    assert set(found.fixed) == {"ethn", "school"}


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("survival/cgd", "id"),  # visits, not the same number for everybody
        ("lme4/sleepstudy", "Subject"),
        ("HistData/GaltonFamilies", "family"),
        ("COUNT/rwm5yr", "id"),
        ("Ecdat/Fatality", None),  # states, which have a name of their own
        ("MASS/Aids2", None),
        ("datasets/esoph", None),
        ("car/Chile", None),
        ("MASS/Cars93", None),
    ],
)
def test_who_has_several_rows(name: str, column: str | None) -> None:
    found = repeated_people(Dataset.from_arrow(_arrow(public_table(name))))
    assert (found and found.column) == column


def test_a_panel_without_a_telling_name_is_noticed_by_its_pattern() -> None:
    table = {"who": [i // 4 * 17 % 1009 for i in range(400)], "moment": [i % 4 for i in range(400)]}
    found = repeated_people(Dataset.of(table))
    assert found is not None
    assert (found.column, found.named, found.moment) == ("who", False, "moment")


def test_visits_are_noticed_by_what_stays_with_a_person() -> None:
    visits = [i % 37 for i in range(200)] + [i % 11 for i in range(30)]
    table = {"code": visits, "sex": ["FM"[i % 2] for i in visits], "paid": [i % 13 for i in range(230)]}
    found = repeated_people(Dataset.of(table))
    assert found is not None
    assert (found.column, found.moment, found.fixed) == ("code", None, ("sex",))


def test_rows_without_a_person_are_said_and_people_are_not_counted() -> None:
    people = [None, *(i // 3 for i in range(59))]
    roles = guess_roles(Dataset.of({"patient": people, "visit": [i % 3 for i in range(60)]}))
    assert roles.people is not None
    assert roles.people.missing == 1
    assert roles.person is None
    assert roles.columns["patient"].role is Role.IDENTIFIER
    assert "role.people.missing" in [one.id for one in roles.columns["patient"].reasons]


def _arrow(frame: pd.DataFrame) -> object:
    import pyarrow as pa

    return pa.Table.from_pandas(frame, preserve_index=False)


# The object -----------------------------------------------------------------------------------------------------------


def test_the_starter_says_the_same_everywhere() -> None:
    starter = oboro.init(public_table("MASS/Aids2"))
    for lang in ("en", "ja"):
        assert oboro.Recipe.parse(starter.to_yaml(lang)) == starter.recipe
    assert "singles out 799 people by itself" in starter.to_yaml()
    assert "この列だけで 799 人が一意になる" in starter.to_yaml("ja")
    plain = json.loads(json.dumps(starter.as_dict()))
    (diag,) = [one for one in plain["columns"] if one["column"] == "diag"]
    assert diag["figures"]["unique_alone"] == 799
    assert [one["id"] for one in diag["reasons"]] == ["role.alone"]
    assert "quasi: state, sex, diag, death, status, age" in repr(starter)
    assert "<td>diag</td>" in starter._repr_html_()


def test_names_of_columns_are_escaped_in_a_notebook() -> None:
    shown = oboro.init({"<script>": [1, 2, 3]})._repr_html_()
    assert "<script>" not in shown


def test_awkward_names_stay_valid_yaml() -> None:
    names = ["a: b", "#x", "yes", "1", "名前 ", "'q'", "multi\nline"]
    starter = oboro.init({name: ["x", "y"] * 20 for name in names})
    assert list(oboro.Recipe.parse(starter.to_yaml()).attributes) == names


def test_a_proposed_hierarchy() -> None:
    ages = pd.Series(range(17, 91), name="age")
    assert oboro.propose_hierarchy(ages).intervals == [5, 10, 20]
    assert oboro.propose_hierarchy(ages.to_frame(), "age").intervals == [5, 10, 20]
    assert oboro.propose_hierarchy(["F", "M"]) == oboro.propose_hierarchy([])
    assert oboro.propose_hierarchy(pd.Series(range(10_000, 10_999), name="zip")).mask is not None


# evaluate -------------------------------------------------------------------------------------------------------------


def test_evaluate_judges_columns_by_what_they_do_and_says_why() -> None:
    patients = public_table("MASS/Aids2").drop(columns="Unnamed: 0")
    report = oboro.evaluate(patients, patients, attempts=0)
    (guessed,) = [one for one in report.warnings if one.id == "report.warning.roles_guessed"]
    assert "diag quasi (singles out 799 people by itself)" in str(guessed)
    assert report.risk["uniques"] > 2220  # who is unique by diag and death is unique by more columns too


def test_evaluate_asks_whose_rows_these_are() -> None:
    men = public_table("Ecdat/Males")[["nr", "year", "school", "ethn"]]
    report = oboro.evaluate(men, men.drop(columns="nr"), quasi=["school", "ethn"], attempts=0)
    (asked,) = [one for one in report.warnings if one.id == "role.people.ask"]
    assert asked.values["column"] == "nr"
    assert "--person nr" in str(asked)
    patients = public_table("MASS/Aids2")[["sex", "age"]]
    assert not [one for one in oboro.evaluate(patients, patients, attempts=0).warnings if one.id == "role.people.ask"]


@pytest.mark.parametrize("block", [1, 3, 1 << 16])
@given(rows=picks(product(range(5), "xy"), min_size=1, max_size=12))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_never_changes_for_a_person(
    block: int, rows: list[tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counted_people, "BLOCK", block)
    data = Dataset.of({"who": [who for who, _ in rows], "sex": [sex for _, sex in rows]})
    held = {who: {sex for other, sex in rows if other == who} for who, _ in rows}
    assert counted_people._never_changes(data["who"], data["sex"]) == all(len(one) == 1 for one in held.values())


def test_a_starter_shows_itself_in_the_reader_s_language(monkeypatch: pytest.MonkeyPatch) -> None:
    starter = oboro.init({"年齢": [31, 38, 35, 52, 57, 59] * 10, "病名": ["風邪", "腹痛", "風邪"] * 20})
    monkeypatch.setenv("OBORO_LANG", "ja")
    shown = starter._repr_html_()
    assert "<th>役割</th>" in shown
    assert "準識別子" in shown
    assert "A first recipe" not in shown
    monkeypatch.setenv("OBORO_LANG", "en")
    assert "<th>role</th>" in starter._repr_html_()
    assert "A first recipe" in starter._repr_html_()


def test_a_verification_shows_itself_in_the_reader_s_language(monkeypatch: pytest.MonkeyPatch) -> None:
    verified = oboro.verify({"sex": ["F", "F", "M"]}, quasi="sex", k=2)
    monkeypatch.setenv("OBORO_LANG", "ja")
    assert "✗ 不成立" in verified._repr_html_()
    monkeypatch.setenv("OBORO_LANG", "en")
    assert "<td>2-anonymity</td>" in verified._repr_html_()
    assert "✗ broken" in verified._repr_html_()


def test_ways_to_write_an_age_are_one_age() -> None:
    """Counted by spelling (that is what is released), and by meaning beside it. Few values have their classes too."""
    starter = oboro.init({"年齢": ["39歳", "３９歳", "40歳", "52歳"] * 10})
    assert starter.columns["年齢"].exposure.distinct == 4
    assert starter.columns["年齢"].meant == 3
    assert "4 distinct values (integer), 3 by their meaning" in starter.to_yaml()
    assert "意味では 3 種" in starter.to_yaml("ja")
    assert starter.recipe.attributes["年齢"].hierarchy.japan == "age"


def test_few_japanese_values_have_ready_hierarchies() -> None:
    few = {"住所": ["東京都千代田区", "大阪府堺市北区"], "郵便番号": ["100-0001", "530-0001"], "性別": ["男", "女"]}
    found = {name: oboro.propose_hierarchy({name: values}, name).japan for name, values in few.items()}
    assert found == {"住所": "address", "郵便番号": "postcode", "性別": None}


def test_values_that_are_written_nearly_alike_are_told() -> None:
    text = str(oboro.init({"sex": ["F", "F ", "M", "M"] * 10, "city": ["Ueno", "Kyoto"] * 20}))
    assert "1 value differs from another only in spaces" in text
    assert text.count("only in spaces") == 1


@pytest.mark.parametrize("rows", [0, 1])
def test_a_table_with_hardly_a_row_is_judged_by_its_names(rows: int) -> None:
    roles = oboro.init(pd.DataFrame({"name": ["Ann"], "市": ["堺"]}, dtype=str)[:rows]).recipe.attributes
    assert {name: one.role.value for name, one in roles.items()} == {"name": "identifier", "市": "quasi"}


@given(st.lists(st.sampled_from(["31", "7", "平成3年5月1日", "unknown", "2023-02-30", "007", None]), max_size=9))
def test_strays_are_the_values_that_are_text_alone(odd: list[str | None]) -> None:
    column = Column.of([f"{10 + i}" for i in range(60)] + odd)
    text = [i for i, one in enumerate(odd) if one is not None and kind_of(pa.array([one])) is Kind.TEXT]
    numbers = not any(one is not None and "年" in one for one in odd)
    found = stray_values(column)
    told = bool(text) and numbers and "007" not in odd and len(text) <= 0.1 * len(column)
    assert found == (Strays(len(text), 61 + text[0], Kind.INTEGER) if told else None)


def test_a_few_words_among_numbers_are_told() -> None:
    told = str(oboro.init({"age": [*map(str, range(20, 60)), "?"], "note": [f"{i} apples" for i in range(41)]}))
    assert told.count("1 row (first: row 41) holds no whole number") == 1


def test_secrets_that_are_written_nearly_alike_are_folded_by_the_starter() -> None:
    table = {"age": list(range(20, 60)), "diagnosis": ["flu", "Flu ", "cold", "asthma"] * 10}
    starter = oboro.init(table)
    assert starter.recipe.attributes["diagnosis"].fold == ("space", "case", "unicode", "number")
    assert "fold: [space, case, unicode, number]" in str(starter)
    release = starter.recipe.run(table)
    assert not release.verification.warnings
    assert release.report.exposed.secrets[0].certain == 0


@pytest.mark.parametrize("ranges", [["12.09.1970 to 27.04.1986", "06.06.1936 to 24.04.1961"], ["22–51", "52–60"]])
def test_ranges_are_known_to_others(ranges: list[str]) -> None:
    """What a release says of a date or an age is a range; whoever assesses it must not take it for harmless."""
    found = oboro.assess({"sex": ["F", "M"] * 20, "seen": [*ranges * 19, ranges[0], "*"]})
    assert "seen" in found.quasi
    assert not found.asked


def test_a_secret_of_ranges_is_certain_as_a_range() -> None:
    found = oboro.assess({"sex": ["F", "M"] * 3, "income": ["20000–29999", "30000–39999"] * 3}, ["sex"], ["income"])
    assert "a range, not the value, is certain for 6 of 6" in found.summary()
    assert "範囲が確実に分かる人 6 人中 6 人" in replace(found, lang="ja").summary()


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("要介護度", "sensitive"),
        ("municipality", "quasi"),
        ("Geb.-Datum", "quasi"),
        ("codice_fiscale", "identifier"),
        ("Steuernummer", "identifier"),
        ("dirección", "quasi"),
        ("sport", None),
    ],
)
def test_words_of_care_and_places(name: str, role: str | None) -> None:
    assert role_by_name(name) == role


def test_a_few_postal_codes_are_masked_from_the_right() -> None:
    """Their first digits name a region, however few there are; other short codes stay as they are."""
    codes = Column.of([f"0{n}031" for n in range(10)] * 3)  # text: a number has no zero before it
    assert propose("PLZ", codes).mask is not None
    assert propose("ward", codes) is None


def test_a_name_is_told_by_what_the_column_is_called() -> None:
    guess = guess_roles(Dataset.of({"氏名": [f"佐藤 {i % 7}郎" for i in range(40)], "勤続年数": ["3年", "12年"] * 20}))
    assert [reason.id for reason in guess.columns["氏名"].reasons] == ["role.by_name"]
