"""Reports to look at: a small table with its release, a recipe with every part, and what a page holds."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
from tests.report.building import build

import oboro
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.hierarchies.spec import HierarchySpec
from oboro.report.report import Report
from oboro.verifier.table import verify
from oboro.verifier.verdict import Verification

VOID = {"meta", "br", "hr", "img", "input", "link"}


class Page(HTMLParser):
    """Checks that tags are closed in order, and keeps what a browser would load or run."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.words: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == [], f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"{tag} closed but never opened"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))


def tables(rows: int = 60) -> tuple[Dataset, Dataset, dict[str, Hierarchy]]:
    """Ages by decade, one row suppressed; a name is dropped; what is paid is noisy."""
    ages = [20 + i % 30 for i in range(rows)]
    sexes = ["F" if i % 2 else "M" for i in range(rows)]
    illness = [["flu", "cold", None][i % 3] for i in range(rows)]
    paid = [100 + 7 * (i % 12) for i in range(rows)]  # nobody stands alone by it
    original = Dataset.of(
        {"name": [f"Ann {i}" for i in range(rows)], "age": ages, "sex": sexes, "illness": illness, "paid": paid}
    )
    hierarchy = HierarchySpec(intervals=[10]).build("age", original["age"])
    gone = np.arange(rows) < 6
    released = original.select(["age", "sex", "illness", "paid"]).with_columns(
        {
            "age": hierarchy.generalize(original["age"], 1).where(gone, "*"),
            "sex": original["sex"].where(gone, "*"),
            "paid": Column.of([value + 3 for value in paid]),
        }
    )
    return original, released, {"age": hierarchy}


STEPS = [
    {"name": "drop_columns", "plan": "Leave out the column 'name'.", "facts": {"dropped": ["name"]}, "seconds": 0.01},
    {
        "name": "k_anonymize",
        "plan": "Generalize 'age' and 'sex'.",
        "seconds": 0.2,
        "facts": {
            "k": 5,
            "levels": {"age": {"level": 1, "of": 2}, "sex": {"level": 0, "of": 1}},
            "loss": {"name": "loss", "value": 0.2512},
            "suppressed": {"records": 6, "extra": 0, "limit": 6, "of": 60},
            "lattice": {"nodes": 6, "evaluated": 3, "tagged": 3, "skipped": 0},
            "minimal": [[1, 0], [0, 1]],
            "runners_up": [{"levels": [0, 1], "loss": 0.4321, "suppressed": 0}],
        },
    },
]


def make(verification: Verification | None = None, **more: Any) -> Report:
    original, released, hierarchies = tables()
    if verification is None:
        verification = verify(released, quasi=["age", "sex"], k=5, sensitive="illness", l=2)
    given: dict[str, Any] = {
        "quasi": ["age", "sex"],
        "sensitive": ["illness"],
        "verification": verification,
        "steps": STEPS,
        "recipe_text": "steps: []\nseed: 7\n",
        "hierarchies": hierarchies,
    }
    return build(original, released, **{**given, **more})


STREAM = [
    {
        "seconds": float(i),
        "records_per_second": 100.0 * i,
        "latency_ms": {"p50": 1.0, "p99": 2.0 + i},
        "suppressed_cells": 5 * i,
    }
    for i in range(1, 5)
]


def demo() -> Report:
    rng = np.random.default_rng(1)
    table: dict[str, list[Any]] = {
        "name": [f"n{i}" for i in range(400)],
        "age": rng.integers(20, 80, 400).tolist(),
        "sex": rng.choice(["F", "M"], 400).tolist(),
        "illness": rng.choice(["flu", "cold", "gout"], 400).tolist(),
        "paid": rng.integers(1000, 90000, 400).tolist(),
    }
    roles = {"name": "identifier", "age": "quasi", "sex": "quasi", "illness": "sensitive", "paid": "other"}
    attributes: dict[str, Any] = {name: {"role": role} for name, role in roles.items()}
    attributes["age"]["hierarchy"] = {"intervals": [10, 20]}
    steps = [
        {"drop_columns": {"attributes": ["name"]}},
        {"noise": {"attribute": "paid", "relative": 0.1}},
        {"k_anonymize": {"k": 5, "suppress": 0.1, "l_diversity": {"illness": 2}}},
        {"shuffle": {}},
    ]
    return oboro.Recipe(attributes=attributes, steps=steps, seed=3).run(table).report


DRAWN = """() => [...document.querySelectorAll('figure')].map(figure => {
  const svg = [...figure.querySelectorAll('svg')].find(s => s.getBoundingClientRect().width > 0);
  const marks = svg.querySelectorAll('.mark').length;
  const words = [...svg.querySelectorAll('text')].filter(t => t.textContent.trim() && getComputedStyle(t).opacity !== '0')
    .map(t => [t.textContent, t.getBoundingClientRect()]).filter(([_, r]) => r.width > 0);
  const overlaps = [];
  for (let i = 0; i < words.length; i++) for (let j = 0; j < i; j++) {
    const [a, b] = [words[i][1], words[j][1]];
    const turned = t => t.height > t.width * 1.2;
    if (turned(a) || turned(b)) continue;  // slanted words have boxes larger than they are
    const x = Math.min(a.right, b.right) - Math.max(a.left, b.left), y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (x > 2 && y > 4) overlaps.push([words[i][0], words[j][0]]);
  }
  return {title: figure.querySelector('h3').innerText, marks, overlaps};
})"""
