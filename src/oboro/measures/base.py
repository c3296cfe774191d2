"""Measures as data: name, meaning, range, and the better direction. Reports need no special cases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, Literal

import numpy as np

from oboro.text import Message

__all__ = ["Measure", "Noted", "Z", "mean_error"]


# Notes ----------------------------------------------------------------------------------------------------------------


class Noted:
    """What has notes."""

    notes: tuple[Message, ...]

    @property
    def note(self) -> str:
        """All notes in English, or nothing."""
        return "; ".join(map(str, self.notes))


# Measures -------------------------------------------------------------------------------------------------------------


Z = 1.959963984540054  # 95 %


@dataclass(frozen=True)
class Measure(Noted):
    """One measured number. `value` is None where it could not be measured; `notes` say why, or what was assumed.

    Its title and its meaning are the messages `measure.<name>.title` and `measure.<name>.meaning`.
    """

    name: str  # the same for all columns of one measure: "ncp"
    value: float | None
    better: Literal["lower", "higher", "neither"]
    low: float = 0.0
    high: float | None = 1.0  # None: no upper bound
    column: str | None = None  # None: of the whole table
    notes: tuple[Message, ...] = ()
    error: float | None = None  # of an estimate: half the width of its 95 % interval
    means: Message | None = None  # a meaning with values of its own, or of one column only

    @property
    def title(self) -> Message:
        """The name for people.

        >>> print(Measure("suppressed_cells", 0.1, "lower", column="age").title)
        suppressed cells of age
        """
        title = Message(f"measure.{self.name}.title")
        return Message("measure.of_column", measure=title, column=self.column) if self.column else title

    @property
    def meaning(self) -> Message:
        """What the number says."""
        return self.means or Message(f"measure.{self.name}.meaning")

    def __str__(self) -> str:
        value = "not measured" if self.value is None else f"{self.value:.6g}"
        value += "" if self.error is None else f" ± {self.error:.2g}"
        better = "" if self.better == "neither" else f", {self.better} is better"
        high = "∞" if self.high is None else f"{self.high:g}"
        note = f" ({self.note})" if self.note else ""
        return f"{self.title}: {value} [{self.low:g} … {high}{better}]: {self.meaning}{note}"

    def as_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON; `meaning_id` and `notes` are for programs, the texts are English."""
        return {
            "name": self.name,
            "value": self.value,
            "meaning": str(self.meaning),
            "meaning_id": self.meaning.id,
            "means": self.means and self.means.as_dict(),
            "better": self.better,
            "low": self.low,
            "high": self.high,
            "column": self.column,
            "note": self.note,
            "notes": [note.as_dict() for note in self.notes],
            "error": self.error,
            "title": str(self.title),
        }

    @staticmethod
    def read(data: Mapping[str, Any]) -> Measure:
        """A measure from its plain data.

        >>> one = Measure("ncp", 0.1, "lower", notes=(Message("measure.note.not_classes"),))
        >>> Measure.read(one.as_dict()) == one
        True
        """
        return Measure(
            **{name: data[name] for name in ("name", "value", "better", "high", "column", "error")},
            low=-inf if data["low"] is None else data["low"],
            notes=tuple(map(Message.read, data["notes"])),
            means=data["means"] and Message.read(data["means"]),
        )


def mean_error(values: np.ndarray) -> float | None:
    """Half the width of the 95 % interval of a mean.

    >>> mean_error(np.array([0.0, 2.0] * 50)).__round__(3)
    0.196
    """
    return float(Z * values.std() / np.sqrt(values.size)) if values.size > 1 else None
