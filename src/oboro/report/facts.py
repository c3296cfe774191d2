"""The facts of a report, as data: what JSON holds and every section is made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from math import inf, isfinite
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer, computed_field

from oboro.measure.metrics import Measure
from oboro.report.distributions import Distribution
from oboro.text import Message

__all__ = [
    "AttackFacts",
    "CheckItem",
    "Checklist",
    "ColumnFacts",
    "Facts",
    "MeasureFacts",
    "PairFacts",
    "RateFacts",
    "RiskInterval",
    "Said",
    "TableFacts",
    "UniquenessFacts",
    "measured",
    "plain",
]


def plain(value: Any) -> Any:
    """The same as JSON knows it: numpy's numbers become Python's, tuples lists, what is not finite null."""
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | np.ndarray):
        return [plain(inner) for inner in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value if isinstance(value, str | int | bool | None.__class__) else str(value)


def measured(measure: Measure) -> Measure:
    """The same with no value where it is not finite."""
    value, error = (None if one is None or not isfinite(one) else float(one) for one in (measure.value, measure.error))
    return replace(measure, value=value, error=error)


def _to_json(measure: Measure) -> dict[str, Any]:
    out: dict[str, Any] = plain(measure.as_dict())
    return out


def _from_json(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    known = {one.name: value[one.name] for one in fields(Measure) if one.name in value}
    return {**known, "low": -inf if value.get("low", 0.0) is None else value.get("low", 0.0)}


Said = Annotated[Message, PlainSerializer(str, return_type=str, when_used="json")]
"""A message that is English text in JSON."""
MeasureFacts = Annotated[
    Measure, BeforeValidator(_from_json), PlainSerializer(_to_json, return_type=dict[str, Any], when_used="json")
]
"""A measure that is a plain object in JSON."""


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
    kind: str
    """Which attack it is; `name` also says which column was inferred."""
    question: str
    """Which of WP216's questions it asks."""
    means: Message | None = None
    """What counts as right, where the kind of attack alone does not say it."""
    columns: list[str]
    """What the attacker knows, or what descriptions use."""
    secret: str | None
    attack: RateFacts
    control: RateFacts
    compared_with: Message | None
    """What the control is; the public is not told."""
    risk: RiskInterval | None
    better_than_control: bool
    """Whether the two intervals do not meet."""
    allowed: bool = False
    """Better than a guess by chance, but within the 1/k that the promised k-anonymity allows."""
    notes: list[Message]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def meaning(self) -> Said:
        """What counts as right."""
        return self.means or self._words("meaning")

    @computed_field  # type: ignore[prop-decorator]
    @property
    def control_is(self) -> str:
        """What the control is, in English."""
        return str(self.compared_with or "")

    @computed_field  # type: ignore[prop-decorator]
    @property
    def note(self) -> str:
        """All notes in English, or nothing."""
        return "; ".join(map(str, self.notes))

    @property
    def title(self) -> Message:
        """The name for people."""
        return Message("attack.inference.title_of", column=self.secret) if self.secret else self._words("title")

    @property
    def short(self) -> Message:
        """The name in a picture."""
        return Message("attack.inference.short_of", column=self.secret) if self.secret else self._words("short")

    def _words(self, what: str) -> Message:
        return Message(f"attack.{self.kind}.{what}")


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
