"""Reports of many kinds of releases in a real browser: each says what applies to it, and nothing runs off, overlaps or is cut."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.report.building import build, english_left
from tests.report.report_cases import DRAWN, Page

import oboro
from oboro.data.dataset import Dataset
from oboro.report.charts import heat, timeline
from oboro.report.report import Report
from oboro.verifier.stream import verify_stream

Table = dict[str, list[Any]]
RNG = np.random.default_rng(7)
LONG = "調査対象者の居住する市区町村に関する詳細な情報項目その{}(旧分類コードを含む)"


def people(rows: int = 240, rng: np.random.Generator = RNG) -> Table:
    age = rng.integers(18, 90, rows)
    return {
        "age": age.tolist(),
        "town": rng.choice(["Kyoto", "Nara", "Osaka", "Kobe"], rows, p=[0.5, 0.2, 0.2, 0.1]).tolist(),
        "illness": rng.choice(["flu", "cold", "gout"], rows).tolist(),
        "pay": np.clip((age * 600 + rng.normal(0, 5000, rows)).round(-4), 20_000, 50_000).astype(int).tolist(),
    }


ROLES: dict[str, Any] = {
    "age": {"role": "quasi", "hierarchy": {"intervals": [10, 30]}},
    "town": {"role": "quasi"},
    "illness": {"role": "sensitive"},
    "pay": {"role": "other"},
}


def made(table: Table, roles: dict[str, Any], *steps: dict[str, Any]) -> Report:
    accept = {"unique_on": list(table), "because": "架空"}
    return oboro.Recipe(attributes=roles, steps=list(steps), seed=1, accept=accept).run(table).report


def words() -> Report:
    table = {name: values for name, values in people().items() if name in ("town", "illness")}
    table["job"] = RNG.choice(["nurse", "teacher", "cook"], len(table["town"])).tolist()
    roles = {"town": {"role": "quasi"}, "job": {"role": "quasi"}, "illness": {"role": "sensitive"}}
    return made(table, roles, {"k_anonymize": {"k": 5, "suppress": 0.1}})


def numbers() -> Report:
    table = {name: values for name, values in people().items() if name in ("age", "pay")}
    roles = {"age": {"role": "quasi"}, "pay": {"role": "quasi"}}
    return made(table, roles, {"microaggregate": {"attributes": ["age", "pay"], "k": 5}})


def one_column() -> Report:
    return made({"age": people()["age"]}, {"age": ROLES["age"]}, {"k_anonymize": {"k": 5}})


def three_rows() -> Report:
    table = {"age": [31, 38, 36], "town": ["Nara"] * 3, "illness": ["flu", "cold", "gout"]}
    return made(table, {name: ROLES[name] for name in table}, {"k_anonymize": {"k": 3}})


def all_suppressed() -> Report:
    table = {"code": [f"c{i}" for i in range(60)], "illness": ["flu", "cold"] * 30}
    roles = {"code": {"role": "quasi"}, "illness": {"role": "sensitive"}}
    return made(table, roles, {"k_anonymize": {"k": 5, "suppress": 1.0}})


def wide() -> Report:
    """40 columns with long Japanese names; values that begin alike, and values without a space to break at."""
    rows = 120
    texts = [f"とても長い値が入っている列の値でありその番号は{i}番であって続いていくもの" for i in range(4)]
    solid = ["AVeryLongIdentifierWithoutAnySpaces" * 3 + str(i) for i in range(3)]
    values: list[Callable[[], list[Any]]] = [
        lambda: RNG.integers(0, 100, rows).tolist(),
        lambda: RNG.choice(texts, rows).tolist(),
        lambda: RNG.choice(solid, rows).tolist(),
        lambda: RNG.normal(0, 1, rows).round(3).tolist(),
    ]
    table = {LONG.format(i + 1): values[i % 4]() for i in range(40)}
    quasi = [name for i, name in enumerate(table) if i in (1, 2, 5, 6)]
    roles = {name: {"role": "quasi" if name in quasi else "other"} for name in table}
    return made(table, roles, {"k_anonymize": {"k": 5, "suppress": 0.2}})


def foreign() -> Report:
    """Made by another tool: intervals, masks, rows in another order; nothing was promised here."""
    rng = np.random.default_rng(1)  # of its own: whether somebody stands alone must not depend on the tests before
    table = people(rng=rng)
    order = rng.permutation(len(table["age"]))
    changed = {**table, "age": [f"[{age // 20 * 20}, {age // 20 * 20 + 20}[" for age in table["age"]]}
    released = {name: [values[i] for i in order] for name, values in changed.items()}
    quasi, sensitive = ["age", "town"], ["illness"]
    return build(Dataset.of(table), Dataset.of(released), quasi=quasi, sensitive=sensitive, paired=False, attempts=200)


def random_values() -> Report:
    return made(people(), ROLES, {"pk_anonymize": {"k": 3}})


def swapped() -> Report:
    noise, swap = {"noise": {"attribute": "age", "relative": 0.2}}, {"swap": {"attribute": "town", "method": "random"}}
    return made(people(), ROLES, noise, swap, {"shuffle": {}})


def concealed() -> Report:
    return made(people(120), ROLES, {"k_conceal": {"k": 3, "truth": "identity"}})


def stream() -> Report:
    """A real run, with metrics taken on the way."""
    table = people()
    specs = {"age": {"intervals": [10, 30]}}
    anonymizer = oboro.stream.DelayFree(["age", "town"], 3, hierarchies=specs, keep=["illness", "pay"])
    records = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    released, moments = [], []
    for i, record in enumerate(records, 1):
        released.append(anonymizer.push(record))
        if i % 80 == 0:
            more = {"seconds": i / 80, "records_per_second": 80.0, "latency_ms": {"p50": 1.0, "p99": 2.0}}
            moments.append({**anonymizer.stats(), **more})
    out = {name: [str(record[name]) for record in released] for name in table}
    promise = verify_stream(records, released, attributes=["age", "town"], k=3, hierarchies=specs)
    given: dict[str, Any] = {"quasi": ["age", "town"], "sensitive": ["illness"], "verification": promise}
    return build(Dataset.of(table), Dataset.of(out), stream=moments, attempts=200, **given)


MAKERS = (
    words,
    numbers,
    one_column,
    three_rows,
    all_suppressed,
    wide,
    foreign,
    random_values,
    swapped,
    concealed,
    stream,
)
KINDS = {make.__name__: make for make in MAKERS}


@cache
def report(kind: str) -> Report:
    return KINDS[kind]()


@cache
def page(kind: str, who: str = "owner", lang: str = "en") -> str:
    found = report(kind).for_laws("all")
    shown = found if who == "owner" else found.to_public()
    return shown.to_html(lang=lang)


# In the browser -------------------------------------------------------------------------------------------------------

RUNS_OFF = """width => [...document.querySelectorAll('body *')].filter(e => !e.closest('svg') && !e.closest('.scroll, pre'))
  .filter(e => e.getBoundingClientRect().right > width + 1).map(e => e.outerHTML.slice(0, 80))"""
TOO_WIDE = """() => [...document.querySelectorAll('table, pre, figure, dl')]
  .filter(e => e.scrollWidth > e.parentElement.clientWidth + 1).map(e => e.innerText.slice(0, 60))"""
CUT = """() => [...document.querySelectorAll('svg text')].filter(t => t.textContent.trim() && getComputedStyle(t).opacity !== '0')
  .filter(t => { const a = t.getBoundingClientRect(), b = t.ownerSVGElement.getBoundingClientRect();
    return a.width > 0 && (a.left < b.left - 4 || a.right > b.right + 4 || a.bottom > b.bottom + 4 || a.top < b.top - 4); })
  .map(t => t.textContent)"""


# Each kind for the owner, in English and Japanese by turns; every other one for the public, too.
VERSIONS = [(kind, "owner", ("en", "ja")[place % 2]) for place, kind in enumerate(KINDS)]
VERSIONS += [(kind, "public", ("en", "ja")[place % 4 // 2]) for place, kind in enumerate(KINDS) if place % 2]


@pytest.mark.parametrize(("kind", "who", "lang"), VERSIONS)
def test_it_reads_well_everywhere(browser: Any, tmp_path: Path, kind: str, who: str, lang: str) -> None:
    path = tmp_path / "page.html"
    path.write_text(page(kind, who, lang), encoding="utf-8")
    said: list[str] = []
    tab = browser.new_page(viewport={"width": 1200, "height": 900})
    tab.on("console", lambda message: said.append(message.text))
    tab.on("request", lambda request: said.append(request.url))
    tab.goto(path.as_uri())
    assert said == [path.as_uri()]
    for media, width in (("screen", 1200), ("screen", 375), ("print", 672)):  # A4 without its margins
        tab.emulate_media(media=media)
        tab.set_viewport_size({"width": width, "height": 900})
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert tab.evaluate(RUNS_OFF, width) == []
        assert tab.evaluate(TOO_WIDE) == []
        assert tab.evaluate(CUT) == []
        for picture in tab.evaluate(DRAWN):
            assert picture["marks"] > 0, picture["title"]
            assert picture["overlaps"] == [], picture["title"]
    tab.close()


# What it says ---------------------------------------------------------------------------------------------------------


def text(kind: str, who: str = "owner", lang: str = "en") -> str:
    return Page(page(kind, who, lang)).text


@pytest.mark.parametrize("kind", list(KINDS))
def test_everything_is_said_in_japanese(kind: str) -> None:
    assert english_left(report(kind)) == set()
    assert english_left(report(kind).to_public()) == set()


@pytest.mark.parametrize("kind", list(KINDS))
def test_the_first_section_answers_what_is_asked(kind: str) -> None:
    html = page(kind, lang="ja")
    first = html[html.index('<section id="glance">') :].split("</section>")[0]
    for question in ("提供しても安全か", "なぜこの加工か", "何が失われたか", "まだ何を記載すべきか"):
        assert question in first
    for key in first.split('href="#')[1:]:
        assert f'<section id="{key.split(chr(34))[0]}">' in html  # every answer leads to a section that is there


def test_a_solution_is_held_against_the_next_best() -> None:
    facts = report("one_column").steps[0]["facts"]
    said = text("one_column")
    assert (
        f"Of {facts['lattice']['nodes']} combinations of levels, this one keeps every promise with the least loss"
        in said
    )
    assert "The next best loses" in said


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ({"levels": {"age": 2, "town": 1}}, "The recipe gives the levels; no others were looked at"),
        ({"recoding": "local"}, "Every group has levels of its own, the finest first"),
    ],
    ids=["given", "local"],
)
def test_what_was_not_searched_is_not_called_the_best(step: dict[str, Any], said: str) -> None:
    shown = Page(made(people(), ROLES, {"k_anonymize": {"k": 5, "suppress": 0.2, **step}}).to_html()).text
    assert said in shown
    assert "this one keeps every promise with the least loss" not in shown


@pytest.mark.parametrize("kind", ["random_values", "swapped"])
def test_class_sizes_do_not_apply_to_random_values(kind: str) -> None:
    found = report(kind)
    assert found.randomized == ["age", "town"]
    assert not found.risk_applies
    assert found.uniqueness is found.special is None
    assert all("does not apply" in one.note for one in found.risk_measures)
    said = text(kind)
    assert "drawn, disturbed or moved by chance" in said
    assert "linked by distance" in said
    assert "prosecutor: " not in said
    assert "unique rows" not in said
    assert "drawn, disturbed or moved by chance" in text(kind, "public")


def test_what_holds_by_construction_is_not_called_nothing() -> None:
    assert "The guarantee comes from the method" in text("random_values")
    assert "k = 3" in text("random_values")
    linked = next(one for one in report("random_values").attacks if one.name == "record_linkage")
    assert linked.allowed  # up to 1/k


def test_moved_cells_are_counted_once_and_the_same() -> None:
    swap = report("swapped").steps[1]
    assert swap["changed"] == swap["facts"]["changed"]
    assert swap["changed"]["town"] > 0


def test_noise_before_a_promise_that_holds_leaves_class_sizes_in_force() -> None:
    noise = {"noise": {"attribute": "age", "relative": 0.2, "bounds": {"min": 18, "max": 89}}}
    found = made(people(), ROLES, noise, {"k_anonymize": {"k": 3, "suppress": 0.1}})
    assert found.randomized == ["age"]
    assert found.holds
    assert found.risk_applies


def test_a_stream_says_what_applies_to_it() -> None:
    found = report("stream")
    assert found.least_candidates == 3
    said = text("stream")
    assert "stream 3-anonymity" in said
    assert "Each record matches 3 records of the stream or more, its own included" in said
    assert "prosecutor: " not in said
    assert said.count("suppressed cells, so far") == 2  # the timeline and the table


def test_a_release_of_another_tool_was_not_verified() -> None:
    assert "No promise was named; the release is 2-anonymous as it stands" in text("foreign")
    assert "How the release was made is not known here." in text("foreign")
    assert "Not measured: " in text("foreign")


def test_warnings_of_steps_are_japanese_in_japanese() -> None:
    said = text("concealed", lang="ja")
    assert "本人が自分のレコードの中心になっています" in said
    assert "英語版" not in said


def test_long_values_that_begin_alike_are_told_apart() -> None:
    html = page("wide", lang="ja")
    for i in range(3):
        assert f"…ces{i}<" in html
    assert "番号は2番" in html


def test_labels_that_begin_alike_show_where_they_part() -> None:
    svg = heat([LONG.format(i) for i in range(1, 4)], [[0.1] * 3] * 3, "ja")
    for i in range(1, 4):
        assert f"その{i}" in svg


@pytest.mark.parametrize(
    ("values", "shown"), [((3000, 15_000), "10,000"), ((240, 800), "600"), ((0.061, 0.055), "0.04"), ((1.5, 2.5), "2")]
)
def test_the_figures_of_a_timeline_are_written_out(values: tuple[float, float], shown: str) -> None:
    svg = timeline([{"seconds": i / 2, "value": value} for i, value in enumerate(values)], "en")
    said = re.findall(r">([^<>]+)</text>", svg)
    assert shown in said
    assert not any("e" in one for one in said if one != "seconds")
