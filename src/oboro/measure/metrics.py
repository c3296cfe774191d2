"""A number that says what it is: name, meaning, range, and which way is better. Reports need no special cases."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

__all__ = ["Measure", "Z", "mean_error"]

Z = 1.959963984540054  # 95 %


@dataclass(frozen=True)
class Measure:
    """One measured number. `value` is None where it could not be measured; `note` says why, or what was assumed."""

    name: str  # the same for all columns of one measure: "ncp"
    value: float | None
    meaning: str
    better: Literal["lower", "higher", "neither"]
    low: float = 0.0
    high: float | None = 1.0  # None: no upper bound
    column: str | None = None  # None: of the whole table
    note: str = ""
    error: float | None = None  # of an estimate: half the width of its 95 % interval

    @property
    def title(self) -> str:
        """The name for people.

        >>> Measure("suppressed_cells", 0.1, "…", "lower", column="age").title
        'suppressed cells of age'
        """
        words = self.name.replace("_", " ")
        return f"{words} of {self.column}" if self.column else words

    def __str__(self) -> str:
        value = "not measured" if self.value is None else f"{self.value:.6g}"
        value += "" if self.error is None else f" ± {self.error:.2g}"
        better = "" if self.better == "neither" else f", {self.better} is better"
        high = "∞" if self.high is None else f"{self.high:g}"
        note = f" ({self.note})" if self.note else ""
        return f"{self.title}: {value} [{self.low:g} … {high}{better}]: {self.meaning}{note}"

    def as_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {**asdict(self), "title": self.title}


def mean_error(values: np.ndarray) -> float | None:
    """Half the width of the 95 % interval of a mean.

    >>> mean_error(np.array([0.0, 2.0] * 50)).__round__(3)
    0.196
    """
    return float(Z * values.std() / np.sqrt(values.size)) if values.size > 1 else None
