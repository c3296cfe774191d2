"""The facts of a report, as data: what JSON holds and every section is made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from math import isfinite
from typing import Annotated, Any, ClassVar, Literal, TypeVar

import numpy as np
from pydantic import BeforeValidator, Field, PlainSerializer, computed_field

from oboro.attacks.rates import Attack
from oboro.measure.metrics import Measure
from oboro.report.distributions import Distribution
from oboro.table.parameters import Documented
from oboro.text import Message, Words, say
from oboro.verifier.verdict import Verification

__all__ = [
    "AttackFacts",
    "CheckItem",
    "CheckState",
    "Checklist",
    "ColumnFacts",
    "Facts",
    "Loose",
    "MeasureFacts",
    "PairFacts",
    "Signature",
    "TableFacts",
    "VerificationFacts",
    "measured",
    "plain",
    "trait",
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
    return value if isinstance(value, Message | str | int | bool | None.__class__) else str(value)


def _written(value: Any) -> Any:
    """Plain data with messages in it, for JSON."""
    if isinstance(value, Message):
        return value.as_dict()
    if isinstance(value, Mapping):
        return {name: _written(inner) for name, inner in value.items()}
    return [_written(inner) for inner in value] if isinstance(value, list) else value


def _read(value: Any) -> Any:
    """What `_written` wrote, or what was never written."""
    if isinstance(value, Mapping):
        message = value.keys() == {"id", "values", "text"}
        return Message.read(value) if message else {name: _read(inner) for name, inner in value.items()}
    return [_read(inner) for inner in value] if isinstance(value, list) else value


def measured(measure: Measure) -> Measure:
    """The same with no value where it is not finite."""
    value, error = (None if one is None or not isfinite(one) else float(one) for one in (measure.value, measure.error))
    return replace(measure, value=value, error=error)


def trait(step: Mapping[str, Any], name: str) -> Any:
    """What the technique of a step says of itself (`oboro.table.traits`); None where it is not known."""
    return (step.get("traits") or {}).get(name)


T = TypeVar("T", Attack, Measure, Verification)


def _from(kind: type[T]) -> BeforeValidator:
    """Reads it from its plain data."""
    return BeforeValidator(lambda value: kind.read(value) if isinstance(value, Mapping) else value)


_AS_DICT = PlainSerializer(lambda value: plain(value.as_dict()), return_type=dict[str, Any], when_used="json")
AttackFacts = Annotated[Attack, _from(Attack), _AS_DICT]
MeasureFacts = Annotated[Measure, _from(Measure), _AS_DICT]
VerificationFacts = Annotated[Verification, _from(Verification), _AS_DICT]
"""What others measured and found, as plain objects in JSON."""
Loose = Annotated[
    dict[str, Any], BeforeValidator(_read), PlainSerializer(_written, return_type=dict[str, Any], when_used="json")
]
"""Facts of any shape, with messages among them."""


CheckState = Literal["evidence", "open", "stated", "none"]
"""evidence: the software knows; open: something speaks against it; stated: people must say; none: does not apply."""


class Facts(Documented):
    """Plain data that never changes."""


class Signature(Facts):
    """Who answers for a report; empty where nothing was said."""

    made_on: str = Field(default_factory=lambda: date.today().isoformat())
    """The date, as in 2026-11-16."""
    made_by: str = ""
    made_for: str = ""
    """Who receives the release."""
    purpose: str = ""


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
    passed: list[str] = Field([])
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


class PairFacts(Facts):
    """Cramér's V of pairs of columns before and after, to four digits."""

    columns: list[str]
    before: list[list[float]]
    after: list[list[float]]
    lost: list[list[float]] = Field([])
    """The part of the released records that have `*` in one of the two columns, and so say nothing of the pair."""
    sampled: int
    """Rows of each table that were drawn; 0 where all were counted."""
    error: float = 0.0
    """The greatest half width of a 95 % interval of these numbers; 0 where all rows were counted."""


def _in_words(name: str, what: str, lang: str) -> Any:
    """A field of words beside the message that it says."""

    def said(facts: Any) -> str:
        return str(say(getattr(facts, name) or "", lang))

    said.__doc__ = f"{what}, in {'English' if lang == 'en' else 'Japanese'}."
    return computed_field(property(said))


class CheckItem(Facts):
    """One point of a checklist."""

    key: str
    point: Words
    """What is asked for."""
    state: CheckState
    known: Words
    """What the software knows of it, or what people must say."""
    public: bool = False
    """Whether the public version of a report shows it."""

    title: ClassVar[Any] = _in_words("point", "What is asked for", "en")
    title_ja: ClassVar[Any] = _in_words("point", "What is asked for", "ja")
    evidence: ClassVar[Any] = _in_words("known", "What is known", "en")
    evidence_ja: ClassVar[Any] = _in_words("known", "What is known", "ja")


class Checklist(Facts):
    """What a law, an opinion or a standard asks for."""

    key: str
    heading: Message
    about: Message
    items: list[CheckItem]
    notice: Message | None = None
    """Text that is ready to edit and publish."""

    @property
    def name(self) -> Message:
        """What it is called in short."""
        return Message(f"checklist_{self.key}.name")

    title: ClassVar[Any] = _in_words("heading", "The heading", "en")
    title_ja: ClassVar[Any] = _in_words("heading", "The heading", "ja")
    lead: ClassVar[Any] = _in_words("about", "What it is about", "en")
    lead_ja: ClassVar[Any] = _in_words("about", "What it is about", "ja")
    text: ClassVar[Any] = _in_words("notice", "The text to edit", "en")
    text_ja: ClassVar[Any] = _in_words("notice", "The text to edit", "ja")
