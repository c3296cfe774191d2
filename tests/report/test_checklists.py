"""Checklists: what speaks against an item is found, what is fine is left alone, and nothing is called fulfilled on a guess."""

from __future__ import annotations

from typing import Any

import pytest
from tests.report.building import build

import oboro
from oboro.data.column import UnreadColumn
from oboro.data.dataset import Dataset
from oboro.disclosure.identifiers import RESTRICTED_ZIPS
from oboro.report.checklists.appi import publication
from oboro.report.checklists.base import LAWS, KnownRelease, Law, item
from oboro.report.checklists.hipaa import SAFE_HARBOR
from oboro.report.facts import CheckItem, Checklist
from oboro.report.report import Report
from oboro.techniques import TECHNIQUES
from oboro.text import Message, bring_words

ROWS = 100


def column(values: list[Any]) -> list[Any]:
    return (values * ROWS)[:ROWS]


def checked(report: Report) -> dict[str, CheckItem]:
    return {f"{one.key} {item.key}": item for one in report.checklists for item in one.items}


def evaluated(
    released: dict[str, list[Any]], original: dict[str, list[Any]] | None = None, **more: Any
) -> dict[str, CheckItem]:
    """A release that somebody else made."""
    before = {"sex": column(["F", "M"]), **(original if original is not None else released)}
    after = {"sex": column(["F", "M"]), **released}
    given: dict[str, Any] = {"quasi": ["sex"], "attempts": 0, "statistics": False, **more}
    return checked(build(Dataset.of(before), Dataset.of(after), **given))


NUMBERS = column([f"C{i:05d}" for i in range(ROWS)])
AGAINST: list[tuple[str, str, list[Any]]] = [  # the item, the column and what it holds
    ("hipaa A", "name", column(["Ann", "Bob"])),
    ("hipaa B", "zip", column(["13053", "14850"])),
    ("hipaa B", "zip", column(["130", "036"])),
    ("hipaa B", "zip", column(["1305*"])),
    ("hipaa B", "city", column(["Ithaca", "Boston"])),
    ("hipaa C", "age", [*column([30, 50])[:-1], 93]),
    ("hipaa C", "admitted", column(["2024-05-17"])),
    ("hipaa D", "remark", [*column(["fine"])[:-1], "call 212-555-0123"]),
    ("hipaa E", "fax", column(["1", "2"])),
    ("hipaa F", "remark", [*column(["fine"])[:-1], "ann@example.com"]),
    ("hipaa G", "ssn", column(["078-05-1120"])),
    ("hipaa H", "MRN", column(["7", "8"])),
    ("hipaa I", "member_id", column(["7", "8"])),
    ("hipaa J", "account_no", column(["7", "8"])),
    ("hipaa K", "license_number", column(["7", "8"])),
    ("hipaa L", "car", column(["1HGCM82633A004352"])),
    ("hipaa M", "mac", column(["00:1A:2B:3C:4D:5E"])),
    ("hipaa N", "page", column(["https://example.org"])),
    ("hipaa O", "host", column(["10.0.0.1"])),
    ("hipaa P", "fingerprint", column(["a", "b"])),
    ("hipaa Q", "picture", column(["a.jpg"])),
    ("hipaa R", "ref", NUMBERS),
    ("appi 34-1", "氏名", column(["山田", "鈴木"])),
    ("appi 34-1", "remark", [*column(["fine"])[:-1], "taro@example.co.jp"]),
    ("appi 34-1", "連絡先", column(["090-1234-5678"])),
    ("appi 34-2", "マイナンバー", column(["1", "2"])),
    ("appi 34-2", "番号", column(["TK1234567"])),
    ("appi 34-2", "免許", column(["a", "b"])),
    ("appi 34-3", "顧客番号", NUMBERS),
    ("appi 34-4", "年齢", [*column([30, 50])[:-1], 116]),
    ("appi 34-4", "病名", [*column(["風邪", "花粉症"])[:-1], "クールー病"]),
]


@pytest.mark.parametrize(("key", "name", "values"), AGAINST, ids=lambda one: one if isinstance(one, str) else "")
def test_what_speaks_against_an_item_is_found(key: str, name: str, values: list[Any]) -> None:
    found = evaluated({name: values})[key]
    assert found.state == "open"
    assert name in found.evidence
    assert name in found.evidence_ja


FINE = {
    "age": column(["20–29", "30–39", "≥90"]),
    "zip": column(["130**", "148**"]),
    "admitted": column([2020, 2021]),
    "disease": column(["flu", "cold"]),
    "salary": column([51_000 + 10 * i for i in range(10)]),
}


def test_what_is_fine_is_left_alone_and_not_called_fulfilled() -> None:
    items = evaluated(FINE, {**FINE, "age": column([25, 35, 92]), "zip": column(["13053", "14850"])})
    assert [key for key, one in items.items() if one.state == "open"] == []
    assert [key for key, one in items.items() if one.state == "evidence"] == [
        "hipaa F",
        "hipaa N",
        "hipaa O",
    ]  # their form is fixed


def test_what_was_not_looked_at_is_no_evidence() -> None:
    table = Dataset.of({"sex": column(["F", "M"])})
    passing = Dataset({**table.columns, "rest": UnreadColumn(ROWS)}, ROWS)
    items = checked(build(passing, passing, quasi=["sex"], attempts=0, statistics=False))
    assert {items[f"hipaa {letter}"].state for letter in "FNO"} == {"stated"}
    assert "Not, or only partly, examined: rest." in items["hipaa F"].evidence
    assert "rest" in items["appi 34-2"].evidence_ja


# Releases of our own --------------------------------------------------------------------------------------------------


def released(*steps: dict[str, Any], **columns: dict[str, Any]) -> dict[str, CheckItem]:
    table = {
        "name": [f"Ann {i}" for i in range(ROWS)],
        "age": column([*range(20, 40)]),
        "illness": column(["flu", "cold"]),
        "sum": column([10, 20, 30, 40]),
    }
    attributes = {
        "name": {"role": "identifier"},
        "age": {"role": "quasi", "hierarchy": {"intervals": [10]}},
        "illness": {"role": "sensitive"},
        "sum": {"role": "other"},
        **columns,
    }
    accept = {"unique_on": list(table), "because": "made up"}
    return checked(oboro.Recipe(attributes=attributes, steps=list(steps), seed=1, accept=accept).run(table).report)


DROP = {"drop_columns": {"attributes": ["name"]}}
CLASSES = {"k_anonymize": {"k": 5, "suppress": 0.1}}


def test_a_good_release_has_evidence() -> None:
    items = released(DROP, CLASSES, {"shuffle": {}})
    assert {key: items[f"appi 34-{key}"].state for key in "1345"} == {
        "1": "evidence",
        "3": "evidence",
        "4": "evidence",
        "5": "stated",
    }
    assert "deleted: name" in items["appi 34-1"].evidence
    assert "order of the original" not in items["appi 34-5"].evidence
    assert "order of the original" in released(DROP, CLASSES)["appi 34-5"].evidence
    assert items["iso models"].evidence == "K-anonymity"
    assert items["wp216 k-anonymity"].state == "stated"
    assert "no, yes, yes" in items["wp216 k-anonymity"].evidence


def test_pseudonyms_are_called_what_they_are() -> None:
    items = released({"pseudonymize": {"attribute": "name", "method": "random"}}, CLASSES)
    assert items["appi 34-1"].state == "evidence"
    assert "replaced by pseudonyms: name" in items["appi 34-1"].evidence
    assert items["appi 34-3"].state == "stated"  # that the seed is gone no software knows
    assert items["hipaa A"].state == "stated"
    assert "164.514(c)" in items["hipaa R"].evidence
    assert "yes, yes, yes" in items["wp216 pseudonymisation"].evidence


def test_one_pseudonymized_column_does_not_cover_another() -> None:
    """The step is in the recipe, but for another column."""
    table = Dataset.of({"name": column(["Ann", "Bob"]), "id": column(["a", "b"]), "sex": column(["F", "M"])})
    steps = [{"name": "pseudonymize", "plan": "", "facts": {"method": "hmac", "values": {"id": 2}}, "seconds": 0.0}]
    report = build(table, table, quasi=["sex"], identifiers=["name", "id"], steps=steps, attempts=0, statistics=False)
    assert checked(report)["appi 34-1"].state == "open"


def test_attacks_that_were_not_run_answer_nothing() -> None:
    items = evaluated(FINE)
    assert {items[f"wp216 {question}"].state for question in ("singling out", "linkability", "inference")} == {"stated"}
    assert "Attacks that were run: 0" in items["appi 34-5"].evidence


# Texts ----------------------------------------------------------------------------------------------------------------


def test_all_eighteen_identifiers_and_actual_knowledge() -> None:
    assert [one.letter for one in SAFE_HARBOR] == list("ABCDEFGHIJKLMNOPQR")
    assert evaluated(FINE)["hipaa ii"].state == "stated"


def test_the_seventeen_small_zip_areas() -> None:
    """As the Department of Health and Human Services lists them (guidance of 26 November 2012)."""
    listed = "036 059 063 102 203 556 692 790 821 823 830 831 878 879 884 890 893"
    assert " ".join(RESTRICTED_ZIPS) == listed


def test_the_duties_of_the_japanese_act() -> None:
    items = evaluated(FINE)
    keys = [key for key in items if key.startswith("appi")]
    assert keys == [
        f"appi {key}" for key in ("34-1", "34-2", "34-3", "34-4", "34-5", "35", "36", "37", "43-5", "43-6", "44")
    ]
    titles = {key: items[f"appi {key}"].title_ja for key in ("35", "36", "37", "44")}
    for key, words in {
        "35": "第43条第2項・規則第35条",
        "36": "第43条第3項・規則第36条",
        "37": "第43条第4項・規則第37条",
    }.items():
        assert words in titles[key]
    assert "第44条~第46条・規則第38条" in titles["44"]
    assert {items[f"appi {key}"].state for key in ("35", "36", "37", "43-5", "43-6", "44")} == {"stated"}


def test_the_notice_has_what_the_law_asks_for() -> None:
    notice = publication(["年齢", "病名"])
    english, japanese = notice.say("en"), notice.say("ja")
    for words in ("第43条第3項及び第4項", "情報の項目", "・年齢", "・病名", "提供の方法", "明示", "問合せ先", "公表日"):
        assert words in japanese
    for words in (
        "Article 43 (3) and (4)",
        "- 年齢",
        "Method of provision",
        "Receiver is told",
        "Contact",
        "Published on",
    ):
        assert words in english


def test_every_technique_has_a_name_of_the_standard() -> None:
    names = [str(technique.iso) for technique in TECHNIQUES.values()]
    families = (
        "Statistical tools",
        "Suppression techniques",
        "Pseudonymization techniques",
        "Generalization techniques",
    )
    families += ("Randomization techniques", "Synthetic data", "Order of records")
    assert all(name.startswith(families) for name in names)


def test_every_list_says_that_it_is_no_legal_advice() -> None:
    table = Dataset.of({"sex": column(["F", "M"])})
    for one in build(table, table, quasi=["sex"], attempts=0, statistics=False).checklists:
        assert one.key == "iso" or ("not legal advice" in one.lead and "法的助言ではありません" in one.lead_ja)
        assert all(item.evidence and item.evidence_ja and item.title_ja for item in one.items)


# A law of one's own ---------------------------------------------------------------------------------------------------


def no_names_act(known: KnownRelease) -> Checklist:
    """A law that asks for one thing."""
    found = known.columns_with("name")
    point = item(
        "1", Message("checklist_nna.point"), "open" if found else "stated", Message("checklist.to_state"), public=True
    )
    title = Message("checklist_nna.title")
    return Checklist(key="nna", heading=title, about=title, items=[point])


def test_a_law_is_one_file_one_line_and_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    english = {"name": "NNA", "title": "No Names Act", "point": "No names"}
    japanese = {"name": "氏名法", "title": "氏名禁止法", "point": "氏名がないこと"}
    bring_words("checklist_nna", en=english, ja=japanese)
    monkeypatch.setattr(LAWS, "_added", ())  # as it was before, afterwards
    LAWS.register(Law("nna", no_names_act))
    data = Dataset.of({"name": column(["Ann", "Bob"]), "sex": column(["F", "M"])})
    report = build(data, data, quasi=["sex"], attempts=0, statistics=False)
    assert checked(report)["nna 1"].state == "open"
    assert "nna 1" in checked(report.to_public())
    for lang, words in (("en", english), ("ja", japanese)):
        page = report.for_laws("all").to_html(lang=lang)
        assert all(said in page for said in words.values())
    assert "NNA 1" in report.for_laws("nna").to_html(lang="en")  # among the points that must be looked at
