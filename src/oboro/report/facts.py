"""The facts of a report, as data: what JSON holds and every section is made from."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from oboro.report.distributions import Distribution

__all__ = [
    "AttackFacts",
    "CheckItem",
    "Checklist",
    "ColumnFacts",
    "Facts",
    "PairFacts",
    "RateFacts",
    "RiskInterval",
    "TableFacts",
    "UniquenessFacts",
]


class Facts(BaseModel):
    """Plain data that never changes."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class TableFacts(Facts):
    """Both tables, counted."""

    rows_before: int
    rows_after: int
    columns_before: int
    columns_after: int
    dropped: list[str]
    """Columns that are not released."""
    added: list[str]
    """Columns that the original does not have."""
    passed: list[str] = []
    """Columns that were released as they stand and not looked at: no figure speaks of them."""
    rows_suppressed: int
    """Released rows with `*` in every quasi-identifier."""
    bytes_before: int | None
    bytes_after: int | None
    """What the tables take in memory: codes and dictionaries."""


class ColumnFacts(Facts):
    """One column before and after; None where it does not exist."""

    name: str
    role: str
    kind: str
    """What it holds now, or held if it is gone."""
    distinct_before: int | None
    distinct_after: int | None
    missing_before: int | None
    missing_after: int | None
    suppressed_after: int | None
    """Rows with `*`."""
    bytes_before: int | None
    bytes_after: int | None
    distribution: Distribution | None
    """Only of released columns; small cells are merged."""


class RateFacts(Facts):
    """Right guesses out of those tried, with Wilson's 95 % interval."""

    right: int
    tried: int
    share: float | None
    low: float
    high: float


class RiskInterval(Facts):
    """(attack − control) / (1 − control), with its 95 % interval."""

    value: float
    low: float
    high: float


class AttackFacts(Facts):
    """One attack that was run against the release."""

    name: str
    question: str
    """Which of WP216's questions it asks."""
    meaning: str
    columns: list[str]
    """What the attacker knows, or what descriptions use."""
    secret: str | None
    attack: RateFacts
    control: RateFacts
    control_is: str
    risk: RiskInterval | None
    better_than_control: bool
    """Whether the two intervals do not meet."""
    allowed: bool = False
    """Better than a guess by chance, but within the 1/k that the promised k-anonymity allows."""
    note: str


class UniquenessFacts(Facts):
    """How many people are unique in the population, estimated from the table."""

    fraction: float
    """The part of the population that the table holds."""
    population: int
    sample_uniques: int
    zayatz: float | None
    pitman: float | None
    decision: float | None
    decided_by: str
    intrusion: float | None
    """The probability that a unique match is right (data intrusion simulation)."""
    share: float | None


class PairFacts(Facts):
    """Cramér's V of pairs of columns before and after."""

    columns: list[str]
    before: list[list[float]]
    after: list[list[float]]
    sampled: int
    """Rows of each table that were drawn; 0 where all were counted."""
    error: float = 0.0
    """The greatest half width of a 95 % interval of these numbers; 0 where all rows were counted."""


class CheckItem(Facts):
    """One point of a checklist."""

    key: str
    title: str
    title_ja: str
    state: Literal["evidence", "open", "stated", "none"]
    """evidence: the software knows; open: something speaks against it; stated: people must say; none: does not apply."""
    evidence: str
    evidence_ja: str


class Checklist(Facts):
    """What a law, an opinion or a standard asks for."""

    key: str
    title: str
    title_ja: str
    lead: str
    lead_ja: str
    items: list[CheckItem]
    text: str = ""
    """Text that is ready to edit, in English."""
    text_ja: str = ""
