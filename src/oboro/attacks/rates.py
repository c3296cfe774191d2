"""How often an attack was right, with its error, against how often it is right without the victim's record.

Rates and their errors are those of Giomi et al., *A Unified Framework for Quantifying Privacy Risk in Synthetic Data*
(PETS 2023; the package anonymeter): Wilson's interval for each rate, and (attack − control) / (1 − control) for the
risk that comes from being in the release.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

from oboro.text import Message

__all__ = ["Attack", "Rate"]

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

    @property
    def share(self) -> float | None:
        """The part that was right; None where nothing was tried."""
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
        return max(0.0, self.middle - self.error), min(1.0, self.middle + self.error)

    def as_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        low, high = self.interval
        return {"right": self.right, "tried": self.tried, "share": self.share, "low": low, "high": high}


@dataclass(frozen=True)
class Attack:
    """One attack: what was tried, how often it was right, and how often the control was."""

    kind: str  # which attack: "linkability"
    question: str  # of WP216: singling out, linkability, inference
    columns: tuple[str, ...]
    found: Rate
    control: Rate
    control_is: Message
    secret: str | None = None  # the column that is inferred
    notes: tuple[Message, ...] = ()
    means: Message | None = None  # a meaning with values of its own

    @property
    def name(self) -> str:
        """The kind, with the column that is inferred."""
        return f"{self.kind}_{self.secret}" if self.secret else self.kind

    @property
    def meaning(self) -> Message:
        """What counts as right."""
        return self.means or Message(f"attack.{self.kind}.meaning")

    @property
    def note(self) -> str:
        """All notes in English, or nothing."""
        return "; ".join(map(str, self.notes))

    @property
    def risk(self) -> tuple[float, float, float] | None:
        """What the release adds to the control, with its 95 % interval; None where hardly anything could be tried."""
        if min(self.found.tried, self.control.tried) < FEW:
            return None
        a, c = self.found.middle, self.control.middle
        error = sqrt((self.found.error / (1 - c)) ** 2 + (self.control.error * (a - 1) / (1 - c) ** 2) ** 2)
        value = (a - c) / (1 - c)
        clip = [min(1.0, max(0.0, end)) for end in (value, value - error, value + error)]
        return clip[0], clip[1], clip[2]

    @property
    def better(self) -> bool:
        """Whether the attack does better than the control, beyond the error of both."""
        return self.found.interval[0] > self.control.interval[1]

    def as_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        risk = self.risk
        return {
            "name": self.name,
            "kind": self.kind,
            "question": self.question,
            "meaning": str(self.meaning),
            "means": None if self.means is None else self.means.as_dict(),
            "columns": list(self.columns),
            "secret": self.secret,
            "attack": self.found.as_dict(),
            "control": self.control.as_dict(),
            "control_is": str(self.control_is),
            "compared_with": self.control_is.as_dict(),
            "risk": None if risk is None else dict(zip(("value", "low", "high"), risk, strict=True)),
            "better_than_control": self.better,
            "note": self.note,
            "notes": [note.as_dict() for note in self.notes],
        }
