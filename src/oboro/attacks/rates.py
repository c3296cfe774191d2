"""How often an attack was right, with its error, against how often it is right without the victim's record.

Rates and their errors are those of Giomi et al., *A Unified Framework for Quantifying Privacy Risk in Synthetic Data*
(PETS 2023; the package anonymeter): Wilson's interval for each rate, and (attack − control) / (1 − control) for the
risk that comes from being in the release.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, NamedTuple

from oboro.text import Message
from oboro.text.noted import Noted

__all__ = ["AddedRisk", "Attack", "Judgement", "Rate"]

Z = 1.959963984540054  # 95 %
FEW = 20  # attempts that say nothing about a rate


@dataclass(frozen=True)
class Rate:
    """Right guesses out of all guesses.

    >>> [round(end, 4) for end in Rate(10, 100).interval]
    [0.0552, 0.1744]
    """

    right: int
    tried: int
    told: tuple[float, float, float] | None = None  # the share and its interval, where they are told rounded

    @property
    def share(self) -> float | None:
        """The part that was right; None where nothing was tried."""
        if self.told is not None:
            return self.told[0]
        return self.right / self.tried if self.tried else None

    @property
    def middle(self) -> float:
        """The centre of Wilson's interval."""
        return (self.right + Z * Z / 2) / (self.tried + Z * Z)

    @property
    def error(self) -> float:
        """Half the width of Wilson's interval."""
        spread = self.right * (self.tried - self.right) / self.tried if self.tried else 0.0
        return Z / (self.tried + Z * Z) * sqrt(spread + Z * Z / 4)

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval."""
        if self.told is not None:
            return self.told[1:]
        return max(0.0, self.middle - self.error), min(1.0, self.middle + self.error)

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.interval[0]

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self.interval[1]

    def as_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {name: getattr(self, name) for name in ("right", "tried", "share", "low", "high")}

    @staticmethod
    def read(data: Mapping[str, Any]) -> Rate:
        """A rate from its plain data.

        >>> Rate.read(Rate(10, 100).as_dict()) == Rate(10, 100)
        True
        """
        exact = Rate(data["right"], data["tried"])
        told = data["share"], data["low"], data["high"]
        return exact if (exact.share, *exact.interval) == told else Rate(exact.right, exact.tried, told)


class AddedRisk(NamedTuple):
    """What a release adds to the control, with its 95 % interval."""

    value: float
    low: float
    high: float


class Judgement(NamedTuple):
    """What comes of an attack and its control."""

    risk: AddedRisk | None
    better: bool


@dataclass(frozen=True)
class Attack(Noted):
    """One attack: what was tried, how often it was right, and how often the control was."""

    kind: str  # which attack: "linkability"
    question: str  # of WP216: singling out, linkability, inference
    columns: tuple[str, ...]  # what the attacker knows, or what descriptions use
    found: Rate
    control: Rate
    control_is: Message | None  # None: not told
    secret: str | None = None  # the column that is inferred
    notes: tuple[Message, ...] = ()
    means: Message | None = None  # a meaning with values of its own
    allowed: bool = False  # not right more often than the model that holds allows
    limit: float | None = None  # how often it may be right where that model holds; None: the model does not say
    limited_by: Message | None = None  # that model
    told: Judgement | None = None  # where rates are told rounded: what the exact ones said

    @property
    def name(self) -> str:
        """The kind, with the column that is inferred."""
        return f"{self.kind}_{self.secret}" if self.secret else self.kind

    @property
    def title(self) -> Message:
        """The name for people."""
        return self._words("title_of" if self.secret else "title")

    @property
    def short(self) -> Message:
        """The name in a picture."""
        return self._words("short_of" if self.secret else "short")

    def _words(self, what: str) -> Message:
        named = {"column": self.secret} if self.secret else {}
        return Message(f"attack.{self.kind}.{what}", **named)

    @property
    def meaning(self) -> Message:
        """What counts as right."""
        return self.means or Message(f"attack.{self.kind}.meaning")

    @property
    def risk(self) -> AddedRisk | None:
        """What the release adds to the control, with its 95 % interval; None where hardly anything could be tried."""
        if self.told is not None:
            return self.told.risk
        if min(self.found.tried, self.control.tried) < FEW:
            return None
        a, c = self.found.middle, self.control.middle
        error = sqrt((self.found.error / (1 - c)) ** 2 + (self.control.error * (a - 1) / (1 - c) ** 2) ** 2)
        value = (a - c) / (1 - c)
        return AddedRisk(*(min(1.0, max(0.0, end)) for end in (value, value - error, value + error)))

    @property
    def few(self) -> bool:
        """Whether it guessed too rarely to judge a rate by; what it found is counted all the same."""
        return self.found.tried > 0 and self.risk is None and not self.better

    @property
    def better(self) -> bool:
        """Whether the attack does better than the control, beyond the error of both."""
        return self.told.better if self.told is not None else self.found.low > self.control.high

    def as_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON; texts are English, and ids, values and `notes` are for programs."""
        return {
            "name": self.name,
            "kind": self.kind,
            "question": self.question,
            "meaning": str(self.meaning),
            "means": self.means and self.means.as_dict(),
            "columns": list(self.columns),
            "secret": self.secret,
            "attack": self.found.as_dict(),
            "control": self.control.as_dict(),
            "control_is": str(self.control_is or ""),
            "compared_with": self.control_is and self.control_is.as_dict(),
            "risk": self.risk and self.risk._asdict(),
            "better_than_control": self.better,
            "allowed": self.allowed,
            "limit": self.limit,
            "limited_by": self.limited_by and self.limited_by.as_dict(),
            "note": self.note,
            "notes": [note.as_dict() for note in self.notes],
        }

    @staticmethod
    def read(data: Mapping[str, Any]) -> Attack:
        """An attack from its plain data."""
        exact = Attack(
            kind=data["kind"],
            question=data["question"],
            columns=tuple(data["columns"]),
            found=Rate.read(data["attack"]),
            control=Rate.read(data["control"]),
            control_is=data["compared_with"] and Message.read(data["compared_with"]),
            secret=data["secret"],
            notes=tuple(map(Message.read, data["notes"])),
            means=data["means"] and Message.read(data["means"]),
            allowed=data["allowed"],
            limit=data["limit"],
            limited_by=data["limited_by"] and Message.read(data["limited_by"]),
        )
        told = Judgement(data["risk"] and AddedRisk(**data["risk"]), data["better_than_control"])
        rounded = exact.found.told is not None or (exact.risk, exact.better) != told
        return replace(exact, told=told) if rounded else exact
