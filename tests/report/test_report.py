"""The report: right figures, no small cells, no network, nothing that a hostile label could do."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.report.building import build
from tests.report.report_cases import Page, make, tables

import oboro
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.errors import FileError
from oboro.hierarchies.spec import HierarchySpec
from oboro.report.charts import clip
from oboro.report.distributions import MISSING, OTHER, SPECIAL, SUPPRESSED, Bar, compare
from oboro.report.report import Report
from oboro.report.sections.base import SECTIONS
from oboro.report.sections.columns import MOST_PICTURES
from oboro.verifier.table import verify

HOSTILE = "<script>alert(1)</script>"
ATTRIBUTE = '" onload="alert(2)'


@pytest.fixture(scope="module")
def report() -> Report:
    return make()


@pytest.fixture(scope="module")
def html(report: Report) -> str:
    return report.to_html()


def column(report: Report, name: str) -> Any:
    return next(one for one in report.columns if one.name == name)


# What it says


def test_figures_are_counted_right(report: Report) -> None:
    table = report.table
    assert (table.rows_before, table.rows_after, table.rows_suppressed) == (60, 60, 6)
    assert (table.columns_before, table.columns_after, table.dropped) == (5, 4, ["name"])
    assert report.holds is True
    assert report.seeded is True
    assert report.risk is not None
    assert report.risk["uniques"] == 0
    assert report.risk["prosecutor_max"] == pytest.approx(1 / 6)  # the six suppressed rows are the smallest class
    assert report.risk_before is not None
    assert report.risk_before["prosecutor_max"] == 0.5  # two people of each age, of the same sex
    assert [one.role for one in report.columns] == ["dropped", "quasi", "quasi", "sensitive", "other"]
    assert column(report, "illness").missing_after == 20
    assert column(report, "age").suppressed_after == 6
    assert report.smallest_cell == 5


def test_before_is_counted_under_the_released_labels(report: Report) -> None:
    bars = {bar.label: (bar.before, bar.after) for bar in column(report, "age").distribution.bars}
    assert bars == {"20–29": (20, 14), "30–39": (20, 20), "40–49": (20, 20), SUPPRESSED: (0, 6)}
    assert column(report, "age").distribution.shape == "sequence"


def test_the_page_tells_all_of_it(html: str) -> None:
    text = Page(html).text
    for words in (
        "Every promise holds",
        "✓ holds",
        "5-anonymity",
        "distinct 2-diversity of illness",
        "Leave out the column 'name'.",
        "prosecutor: the most exposed record",
        "generalization intensity",
        "✓ chosen",
        "0.2512",
        "0.4321",
        "There are 6 combinations of levels.",
        "Evaluated: 3.",
        "Known without evaluation: 3.",
        "Minimal solutions, in which no column can be released at a lower level: 2.",
        "A missing value is a value like any other",
        "7; whoever has it can repeat the random choices",
        "seed: 7",
        "python 3.",
        "for the original",
    ):
        assert words in text, words


def test_every_section_is_in_the_navigation(report: Report, html: str) -> None:
    keys = [section.key for section in SECTIONS.show(report)]
    assert [key for key in keys if key != "warnings"] == [  # there may be nothing to warn of
        "glance",
        "promises",
        "exposed",
        "risk",
        "attacks",
        "alone",
        "solution",
        "loss",
        "statistics",
        "pairs",
        "columns",
        "steps",
        "wp216",
        "hipaa",
        "counting",
        "evidence",
        "recipe",
        "signature",
    ]
    for key in keys:
        assert f'href="#{key}"' in html
        assert f'id="{key}"' in html


def test_a_broken_promise_is_said_in_words_not_only_in_colour() -> None:
    _, released, _ = tables()
    broken = make(verify(released, quasi=["age", "sex"], k=7))
    text = Page(broken.to_html()).text
    assert broken.holds is False
    assert "A promise is broken" in text
    assert "✗ broken" in text
    assert "must not be released" in text
    assert "1 (6 rows)" in text
    assert "Every promise holds" not in text
    assert broken.summary().splitlines()[0] == "A promise is broken"
    assert "✗ 7-anonymity is broken in 1 of" in broken.summary()


def test_nothing_promised_is_not_green() -> None:
    original, released, _ = tables()
    report = build(original, released, quasi=["age", "sex"])
    html = report.to_html()
    assert report.holds is None
    assert 'class="banner good"' not in html
    assert "No promise was named; the release is 6-anonymous as it stands" in Page(html).text
    assert "✓ holds" not in html


def test_without_quasi_identifiers_there_is_no_risk_to_measure() -> None:
    original, released, _ = tables()
    report = build(original, released, quasi=[])
    assert report.risk is None
    assert "ncp" not in {one.name for one in report.utility}  # that is of quasi-identifiers
    assert report.table.rows_suppressed == 0
    assert "risk" not in [section.key for section in SECTIONS.show(report)]
    Page(report.to_html())


def test_an_empty_table_has_a_report() -> None:
    empty = Dataset.from_arrow(pa.table({"age": pa.array([], pa.int64()), "sex": pa.array([], pa.string())}))
    report = build(empty, empty, quasi=["age", "sex"], verification=verify(empty, quasi=["age", "sex"], k=3))
    assert report.holds is True
    Page(report.to_html())
    assert "0 in, 0 out" in report.summary()


def test_a_column_that_the_original_lacks_is_shown_as_new() -> None:
    original = Dataset.of({"a": ["x"] * 10})
    released = Dataset.of({"a": ["x"] * 10, "b": ["y"] * 10})
    report = build(original, released, quasi=["a"])
    assert report.table.added == ["b"]
    assert column(report, "b").distribution.bars == [Bar(label="y", before=None, after=10)]
    assert "only the release is drawn" in Page(report.to_html()).text


def test_rows_that_do_not_correspond_are_not_compared_one_by_one(report: Report) -> None:
    def entropy(one: Report) -> Any:
        return next(m.value for m in one.utility if m.name == "non_uniform_entropy")

    assert entropy(report) is not None
    assert entropy(make(paired=False)) is None


def test_the_smallest_cell_can_be_chosen() -> None:
    assert make(smallest_cell=15).smallest_cell == 15
    labels = [bar.label for bar in column(make(smallest_cell=15), "age").distribution.bars]
    assert "20–29" not in labels  # 14 rows
    assert "30–39" in labels


def test_files_are_evidence(report: Report) -> None:
    digest = "0123456789abcdef" * 4
    report = make(files={"input": {"path": "people.csv", "bytes": 12345, "sha256": digest}})
    text = Page(report.to_html()).text
    assert digest in text
    assert "people.csv" in text
    assert "12,345" in text
    assert report.as_dict()["files"]["input"]["sha256"] == digest


def test_a_recipe_without_seed_says_so() -> None:
    assert make(recipe_text="steps: []").seeded is False
    assert make(recipe_text="").seeded is None
    assert make(recipe_text="{").seeded is None


def test_the_summary_is_short_and_plain(report: Report) -> None:
    lines = report.summary().splitlines()
    assert lines[0] == "Every promise holds"
    assert lines[1].startswith("  ✓ 5-anonymity holds")
    assert "Rows     60 in, 60 out, 6 of these suppressed" in lines
    assert "Columns  5 in, 4 out (dropped: name)" in lines
    assert any(line.startswith("Risk     highest 50 % → 16.7 %") for line in lines)
    assert any(line.startswith("Loss     NCP") for line in lines)
    assert any(line.startswith("Attacks  ") for line in lines)
    assert len(lines) <= 13
    assert max(map(len, lines[:6])) < 120


# As data


def test_the_facts_are_json(report: Report) -> None:
    text = json.dumps(report.as_dict(), allow_nan=False)
    assert Report.model_validate(json.loads(text)) == report
    assert Report.model_json_schema()["properties"]["holds"]


def test_numpy_and_what_is_not_finite_become_json() -> None:
    facts = {"a": np.int64(3), "b": (1, np.float64(np.nan)), "c": np.array([True]), "d": Path("x"), 5: {"e": np.inf}}
    report = make(steps=[{"name": "s", "plan": "p", "facts": facts, "seconds": 0.0}])
    assert report.steps[0]["facts"] == {"a": 3, "b": [1, None], "c": [True], "d": "x", "5": {"e": None}}


def test_the_same_facts_make_the_same_page(html: str) -> None:
    assert make().to_html() == html


def test_the_page_is_written_whole_or_not_at_all(report: Report, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    assert report.to_html(target, force=True) == target.read_text(encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileError, match="cannot be written: it is a folder"):
        report.to_html(tmp_path / "folder")
    with pytest.raises(FileError, match="cannot be written: there is no such folder"):
        report.to_html(tmp_path / "nowhere" / "report.html")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "report.html"]


def test_notebooks_show_a_part_that_leaves_their_page_alone(report: Report) -> None:
    html = report._repr_html_()
    page = Page(html)
    assert not {"html", "body", "head", "script"} & page.tags
    assert "Every promise holds" in page.text
    selectors = re.findall(r"^(?:  )?([^@\s}][^{}]*)\{", html.split("<style>")[1].split("</style>")[0], flags=re.M)
    assert selectors
    assert all(".oboro" in selector for selector in selectors)


# Nothing to load, nothing to run


def test_the_page_is_well_formed_and_loads_nothing(html: str) -> None:
    page = Page(html)
    assert not {"script", "link", "img", "iframe", "object", "embed", "use", "image"} & page.tags
    for name, value in page.attributes:
        assert not name.startswith("on"), name
        if name in ("href", "src", "xlink:href", "action", "data", "poster", "srcset"):
            assert value.startswith("#"), (name, value)
        if not name.startswith("xmlns"):
            assert "://" not in value, (name, value)
    style = html.split("<style>")[1].split("</style>")[0]
    assert "@import" not in style
    assert "url(" not in style
    assert "default-src 'none'" in html


def test_dark_light_print_and_phones_are_thought_of(html: str) -> None:
    for words in ("prefers-color-scheme: dark", "@media print", 'name="viewport"', "max-width: 860px"):
        assert words in html
    assert "var(--after)" in html.split("<svg")[-1]  # pictures take the page's colours


def test_hostile_names_and_labels_do_nothing() -> None:
    original = Dataset.of({HOSTILE: [HOSTILE, ATTRIBUTE] * 10, ATTRIBUTE: ["&amp;", "</style><b>"] * 10})
    report = build(
        original,
        original,
        quasi=[HOSTILE, ATTRIBUTE],
        sensitive=[],
        verification=verify(original, quasi=[HOSTILE], k=2, sensitive=ATTRIBUTE, l=1),
        steps=[{"name": HOSTILE, "plan": HOSTILE, "facts": {HOSTILE: {ATTRIBUTE: HOSTILE}}, "seconds": 0.0}],
        recipe_text=f"# </code></pre>{HOSTILE}",
        files={HOSTILE: {ATTRIBUTE: HOSTILE}},
    )
    for html in (report.to_html(), report._repr_html_()):
        page = Page(html)
        assert "script" not in page.tags
        assert "b" not in page.tags or html.count("</style>") == 1
        assert not [name for name, _ in page.attributes if name.startswith("on")]
        assert HOSTILE in page.text
    assert page.text.count("alert(2)") >= 1


# Small cells


def test_labels_that_few_hold_are_counted_together() -> None:
    labels = ["common"] * 20 + ["enough"] * 5 + ["rare"] * 4 + ["single"]
    found = compare(Column.of(labels), Column.of(labels), smallest=5)
    assert found.bars == [
        Bar(label="common", before=20, after=20),
        Bar(label="enough", before=5, after=5),
        Bar(label=OTHER, before=5, after=5),
    ]
    assert found.note


def test_how_rare_a_label_was_before_is_not_told() -> None:
    """The released label is; leaving it out would tell whoever has the release that few held it before."""
    found = compare(Column.of(["a"] * 17 + ["b"] * 3), Column.of(["a"] * 10 + ["b"] * 10), smallest=5)
    assert found.bars == [Bar(label="a", before=17, after=10), Bar(label="b", before=None, after=10)]


def test_rare_labels_and_dropped_names_are_nowhere_in_the_report() -> None:
    towns = ["Tokyo"] * 30 + ["Osaka"] * 26 + ["Hinohara"] * 4
    original = Dataset.of({"name": [f"Person {i}" for i in range(60)], "town": towns})
    report = build(original, original.select(["town"]), quasi=["town"])
    for text in (report.to_html(), json.dumps(report.as_dict()), report.summary(), report._repr_html_()):
        assert "Hinohara" not in text
        assert "Person 1" not in text
    assert "Osaka" in report.to_html()


def test_a_run_of_labels_never_ends_in_a_rare_one() -> None:
    labels = [f"{number:04d}-{number:04d}" for number in range(500)]
    rare = compare(Column.of(labels), Column.of(labels), smallest=2)
    assert rare.bars == [Bar(label=OTHER, before=500, after=500)]
    assert not rare.drawable
    months = [f"{1950 + i // 12}-{i % 12 + 1:02d}" for i in range(600) for _ in range(5)]
    found = compare(Column.of(months), Column.of([*months, "1900-01"]), smallest=5)
    assert found.shape == "sequence"
    assert len(found.bars) <= 49
    assert "1900" not in str(found)


def test_small_counts_of_missing_and_suppressed_are_not_told() -> None:
    found = compare(Column.of(["a"] * 9 + [None]), Column.of(["a"] * 7 + [None] + ["*"] * 2), smallest=5)
    assert found.bars[1:] == [Bar(label=MISSING, before=None, after=None), Bar(label=SUPPRESSED, before=0, after=None)]


def test_extreme_numbers_do_not_show() -> None:
    numbers = [*range(1, 1000), 987_654_321]
    found = compare(Column.of(numbers), Column.of(numbers), smallest=5)
    assert found.shape == "sequence"
    assert "987" not in str([bar.label for bar in found.bars])
    assert sum(bar.after or 0 for bar in found.bars) == 1000


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.one_of(st.none(), st.integers(-(10**6), 10**6)), min_size=1, max_size=120),
    st.integers(1, 8),
    st.booleans(),
)
def test_no_cell_is_small_and_no_row_is_lost(numbers: list[int | None], smallest: int, as_text: bool) -> None:
    values: list[Any] = [f"x{n % 7}" if n is not None and as_text else n for n in numbers]
    cells = Column.encode(pa.array(values, pa.string() if as_text else pa.int64()))
    found = compare(cells, cells, smallest=smallest)
    for side in ("before", "after"):
        known = [getattr(bar, side) for bar in found.bars if getattr(bar, side) is not None]
        hidden = sum(getattr(bar, side) is None for bar in found.bars)
        assert 0 <= len(numbers) - sum(known) <= hidden * (smallest - 1)
    for bar in found.bars:
        if bar.label != OTHER:
            assert not 0 < (bar.after or 0) < smallest


# Shapes


def naive_bins(numbers: list[float], edges: list[float]) -> list[int]:
    counts = [0] * (len(edges) - 1)
    for value in numbers:
        place = sum(value >= edge for edge in edges) - 1
        counts[min(max(place, 0), len(counts) - 1)] += 1
    return counts


def edge(label: str) -> float:
    return float(label.strip("<≥ ").replace(",", ""))


@pytest.mark.parametrize("steep", [False, True])
def test_bins_hold_what_their_labels_say(steep: bool) -> None:
    rng = np.random.default_rng(4)
    draws = np.exp(rng.normal(4, 1.2, 2_000)) if steep else rng.normal(50, 10, 2_000)
    numbers = [round(float(draw), 2) for draw in draws]
    bars = compare(Column.of(numbers), Column.of(numbers), smallest=1).bars
    starts = [edge(bar.label) for bar in bars[1:]]
    expected = naive_bins(numbers, [-1e9, *starts, 1e9])
    assert [bar.after for bar in bars] == expected
    assert max(expected) < 700  # even bins would put most of the steep ones into the first
    assert bars[0].label.startswith("<")
    assert bars[-1].label.startswith("≥")


@pytest.mark.parametrize(("days", "first"), [(30, "< 2020-01-0"), (700, "< 2020-0"), (20_000, "< 197")])
def test_dates_have_round_bins(days: int, first: str) -> None:
    start = np.datetime64("2020-01-01" if days < 1000 else "1970-01-01")
    dates = Column.encode(pa.array(start + np.arange(0, days, max(1, days // 400)).astype("timedelta64[D]")))
    found = compare(dates, dates, smallest=1)
    assert found.bars[0].label.startswith(first)
    assert len(found.bars) <= 30
    assert sum(bar.after or 0 for bar in found.bars) == len(dates)


@pytest.mark.parametrize(
    ("minutes", "label"), [(1 / 60, "2024-01-01 00:00:30"), (1, "2024-01-01 01"), (60, "2024-01-02"), (1440, "2024-0")]
)
def test_moments_have_round_bins(minutes: float, label: str) -> None:
    steps = (np.arange(500) * minutes * 60).astype("timedelta64[s]")
    moments = Column.encode(pa.array(np.datetime64("2024-01-01T00:00:00") + steps))
    found = compare(moments, moments, smallest=1)
    assert sum(bar.after or 0 for bar in found.bars) == 500
    assert 8 <= len(found.bars) <= 30
    assert any(bar.label.startswith(label) for bar in found.bars)


def test_numbers_with_suppressed_ones_are_still_numbers() -> None:
    ages = [20 + i % 40 for i in range(400)]
    found = compare(Column.of(ages), Column.of(["*" if i < 9 else str(age) for i, age in enumerate(ages)]), smallest=5)
    assert found.shape == "sequence"
    assert found.bars[-1] == Bar(label=SUPPRESSED, before=0, after=9)


def test_whole_numbers_that_became_fractions_are_still_compared() -> None:
    ages = [20 + i % 40 for i in range(400)]
    found = compare(Column.of(ages), Column.of([age + 0.5 for age in ages]))
    assert found.compared
    assert sum(bar.before or 0 for bar in found.bars) == sum(bar.after or 0 for bar in found.bars) == 400


def test_a_hierarchy_of_another_dictionary_is_bound_again() -> None:
    original = Column.of([34] * 10 + [21] * 10)
    elsewhere = HierarchySpec(rows=[["21", "young"], ["34", "grown"], ["50", "grown"]]).build(
        "age", Column.of([50, 21])
    )
    found = compare(original, Column.of(["young", "grown"] * 10), hierarchy=elsewhere)
    assert {bar.label: bar.before for bar in found.bars} == {"young": 10, "grown": 10}


def test_few_numbers_are_labels_in_their_order() -> None:
    found = compare(Column.of([10, 2, 1] * 5), Column.of([10, 2, 1] * 5))
    assert found.shape == "sequence"
    assert [bar.label for bar in found.bars] == ["1", "2", "10"]


def test_values_that_were_replaced_are_not_compared() -> None:
    found = compare(Column.of(["Ann", "Bob"] * 10), Column.of(["A1", "B2"] * 10))
    assert not found.compared
    assert [bar.after for bar in found.bars] == [10, 10]


def test_labels_of_no_single_level_are_found_as_values() -> None:
    original = Column.of([21] * 10 + [34] * 10)
    hierarchy = HierarchySpec(intervals=[10, 20]).build("age", original)
    mixed = compare(original, Column.of(["20–29"] * 10 + ["20–39"] * 10), hierarchy=hierarchy)
    assert not mixed.compared
    whole = compare(original, Column.of(["20–39"] * 20), hierarchy=hierarchy)
    assert whole.bars == [
        Bar(label="20–39", before=0, after=20),
        Bar(label="(other)", before=20, after=0),
    ]  # which says nothing


# Pictures


def test_pictures_stop_at_a_limit() -> None:
    original = Dataset.of({f"c{i}": ["a", "b"] * 10 for i in range(MOST_PICTURES + 3)})
    html = build(original, original, quasi=["c0"]).to_html()
    drawn = html[html.index('<section id="columns">') :].split("</section>")[0]
    assert drawn.count("<figure>") == MOST_PICTURES
    assert f"The first {MOST_PICTURES} of {MOST_PICTURES + 3} are drawn." in Page(html).text


def test_labels_cut_to_the_same_text_stay_two_bars() -> None:
    labels = ["a very long label that ends in one", "a very long label that ends in two"]
    original = Dataset.of({"c": labels * 10})
    html = build(original, original, quasi=["c"]).to_html()
    assert html.count("…in one<") == html.count("…in two<") >= 1


@given(st.text(max_size=60), st.integers(2, 30))
def test_clipped_labels_fit(label: str, columns: int) -> None:
    from unicodedata import east_asian_width

    text = clip(label, columns)
    assert sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text.removesuffix("…")) <= columns
    assert text == label or label.startswith(text[:-1])


def test_special_labels_are_known_by_name() -> None:
    assert {MISSING, SUPPRESSED, OTHER} == SPECIAL


def test_the_summary_says_which_step_left_rows_out() -> None:
    over = {"drop_records": {"where": {"age": {"above": 5}}}}
    alike = {"k_anonymize": {"k": 2, "suppress": 0.5, "suppressed": "drop"}}
    release = oboro.Recipe(attributes={"age": {"role": "quasi"}}, steps=[over, alike]).run({"age": [1, 1, 1, 2, 7, 8]})
    said = "6 in, 3 out (2 left out by drop_records, 1 left out by k_anonymize), 0 of these suppressed"
    assert said in release.summary()
    assert said in release.report.summary()
    assert "left out by" not in release.report.to_public().summary()
