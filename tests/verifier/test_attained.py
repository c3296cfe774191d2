"""Without a model, verify says what holds."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import product
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.command_line import call
from tests.drawing import picks
from tests.naive import exposure as naive

import oboro
from oboro.data.dataset import Dataset
from oboro.data.grouping import clean
from oboro.kernels.jit import always_compiled
from oboro.text import Message
from oboro.verifier.attribute import TCloseness
from oboro.verifier.classes import Classes, secret_spread
from oboro.verifier.identity import DistinctLDiversity

PEOPLE = {"sex": ["F", "F", "F", "M", "M"], "disease": ["flu", "cold", "cold", "flu", "ulcer"]}


def test_the_largest_k_and_l_and_the_smallest_t_by_hand() -> None:
    k, l, t = oboro.verify(PEOPLE, quasi="sex", sensitive="disease").verdicts  # noqa: E741
    assert (k.required, l.required, k.holds, l.holds, t.holds) == (2, 2, True, True, True)
    # Everybody: flu 2/5, cold 2/5, ulcer 1/5. Men: flu 1/2, ulcer 1/2: half of |1/10| + |4/10| + |3/10| is 0.4.
    assert t.required == 0.4
    assert k.message().values["why"] == Message("verdict.attained.k", limit=2, groups=2)
    assert not oboro.verify(PEOPLE, quasi="sex", k=3).holds
    assert not oboro.verify(PEOPLE, quasi="sex", sensitive="disease", t=0.399).holds


def test_on_the_command_line(tmp_path: Path) -> None:
    rows = zip(*PEOPLE.values(), strict=True)
    (tmp_path / "released.csv").write_text("sex,disease\n" + "".join(f"{','.join(row)}\n" for row in rows))
    done = call("verify", "released.csv", "--quasi", "sex", "--sensitive", "disease", cwd=tmp_path)
    assert done.code == 0
    assert "2-anonymity over sex holds: k = 2 is the most that holds" in done.out
    assert "l = 2" in done.out
    assert "t = 0.4" in done.out


def test_rows_of_nobody_have_no_k() -> None:
    found = oboro.verify({"sex": ["F", "M"], "who": ["Ann", None]}, quasi="sex", person="who")
    assert not found.holds
    assert oboro.verify({"sex": []}, quasi="sex").holds


@settings(max_examples=30, deadline=None)
@given(picks(product(range(3), range(3)), min_size=1, max_size=12))
def test_what_is_attained_holds_and_nothing_stronger_does(pairs: list[tuple[int, int]]) -> None:
    table = {"a": [a for a, _ in pairs], "s": [s for _, s in pairs]}
    k, l, t = oboro.verify(table, quasi="a", sensitive="s").verdicts  # noqa: E741
    rows = [{"a": a, "s": s} for a, s in pairs]
    assert k.required == min(map(len, naive.classes(rows, ["a"])))
    assert l.required == min(len(naive.classes(members, ["s"])) for members in naive.classes(rows, ["a"]))
    assert oboro.verify(table, quasi="a", sensitive="s", k=int(k.required), l=int(l.required), t=t.required).holds
    assert not oboro.verify(table, quasi="a", k=int(k.required) + 1).holds


@settings(max_examples=25, deadline=None)
@given(picks(product(range(4), ["p", "q", None]), min_size=1, max_size=14), st.booleans())
def test_the_extremes_in_one_pass_are_those_of_the_models(pairs: list[tuple[int, str | None]], compiled: bool) -> None:
    data = Dataset.of({"a": [a for a, _ in pairs], "s": [s for _, s in pairs]})
    classes = Classes.of(data, ["a"])
    with always_compiled() if compiled else nullcontext():
        found = secret_spread(classes, clean(data["s"]))
    assert found.fewest == DistinctLDiversity(l=1, sensitive="s").judge(classes).achieved
    assert found.farthest == TCloseness(t=1, sensitive="s").judge(classes).achieved
