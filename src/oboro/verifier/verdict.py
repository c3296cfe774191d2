"""What the verifier says: one verdict per privacy model, all of them in one verification."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

__all__ = ["Verdict", "Verification"]

WORST_SHOWN = 10  # how many sizes of broken groups a verdict keeps


@dataclass(frozen=True)
class Verdict:
    """Whether one model holds, how far it was from the limit, and how large the groups are that break it: sizes,
    never values."""

    holds: bool
    model: str  # in words, with its parameters: "3-anonymity"
    required: float
    achieved: float | None  # None: nothing was measured, or no finite number describes it
    groups: int
    broken_groups: int
    broken_records: int
    worst_sizes: tuple[int, ...]  # of the groups that break the model, worst first, at most ten
    note: str = ""  # why a verdict is not what it seems: an empty table, a column that is gone
    over: tuple[str, ...] = ()  # the columns whose groups were judged, where not all verdicts are over the same

    @staticmethod
    def of(
        model: str, required: float, scores: np.ndarray, broken: np.ndarray, sizes: np.ndarray, most: bool
    ) -> Verdict:
        """From one score and one judgement per group; `most` says that a higher score is worse."""
        worst = scores.max() if most else scores.min()
        culprits = np.flatnonzero(broken)
        badness = -scores[culprits] if most else scores[culprits]
        order = culprits[np.lexsort((sizes[culprits], badness))[:WORST_SHOWN]]
        return Verdict(
            holds=culprits.size == 0,
            model=model,
            required=required,
            achieved=float(worst) if np.isfinite(worst) else None,
            groups=int(sizes.size),
            broken_groups=int(culprits.size),
            broken_records=int(sizes[culprits].sum()),
            worst_sizes=tuple(int(size) for size in sizes[order]),
        )

    @staticmethod
    def vacuous(model: str, required: float, note: str, groups: int = 0) -> Verdict:
        """A model that holds because there is nothing that could break it; `note` says why."""
        return Verdict(True, model, required, None, groups, 0, 0, (), note)

    def sentence(self) -> str:
        """The verdict in one sentence.

        >>> Verdict.vacuous("3-anonymity", 3, "the table has no records").sentence()
        '3-anonymity holds: the table has no records.'
        """
        if self.note:
            return f"{self.model} {'holds' if self.holds else 'is broken'}: {self.note}."
        limits = f"required {_short(self.required)}, achieved {self._achieved()}"
        if self.holds:
            return f"{self.model} holds in all {_many(self.groups, 'group')} ({limits})."
        return (
            f"{self.model} is broken in {self.broken_groups} of {_many(self.groups, 'group')} "
            f"({_many(self.broken_records, 'record')}; {limits}; "
            f"sizes of the worst groups: {', '.join(map(str, self.worst_sizes))})."
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        lists = {"worst_sizes": list(self.worst_sizes), "over": list(self.over)}
        return {**asdict(self), **lists, "sentence": self.sentence()}

    def _achieved(self) -> str:
        if self.achieved is None:
            return "none"
        # Six digits could show a broken limit as kept.
        close = not self.holds and _short(self.achieved) == _short(self.required)
        return f"{self.achieved:.17g}" if close else _short(self.achieved)


@dataclass(frozen=True)
class Verification:
    """The verdicts on one table. It counts as true only when every one of them holds."""

    holds: bool
    verdicts: tuple[Verdict, ...]
    quasi: tuple[str, ...] = ()

    @staticmethod
    def of(verdicts: Sequence[Verdict], quasi: Sequence[str]) -> Verification:
        """All verdicts together: one that is broken breaks the whole."""
        return Verification(all(verdict.holds for verdict in verdicts), tuple(verdicts), tuple(quasi))

    def __bool__(self) -> bool:
        return self.holds

    def sentence(self) -> str:
        """Everything in a few sentences, what is broken first."""
        ordered = sorted(self.verdicts, key=lambda verdict: verdict.holds)
        return " ".join(verdict.sentence() for verdict in ordered) or "nothing was promised."

    def as_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {
            "holds": self.holds,
            "sentence": self.sentence(),
            "quasi": list(self.quasi),
            "verdicts": [verdict.as_dict() for verdict in self.verdicts],
        }

    def __str__(self) -> str:
        head = "holds" if self.holds else "BROKEN"
        over = f" over {', '.join(self.quasi)}" if self.quasi else ""
        lines = [f"{'✓' if verdict.holds else '✗'} {verdict.sentence()}" for verdict in self.verdicts]
        return "\n".join([f"{head}{over}", *lines])

    def _repr_html_(self) -> str:
        head = "".join(
            f"<th>{name}</th>" for name in ("", "model", "required", "achieved", "groups", "broken", "records")
        )
        return f"<table><tr>{head}</tr>{''.join(map(_html_row, self.verdicts))}</table>"


def _html_row(verdict: Verdict) -> str:
    cells = (
        "holds" if verdict.holds else "broken",
        f"{verdict.model} ({verdict.note})" if verdict.note else verdict.model,
        _short(verdict.required),
        "" if verdict.achieved is None else _short(verdict.achieved),
        verdict.groups,
        verdict.broken_groups,
        verdict.broken_records,
    )
    return "<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in cells) + "</tr>"


def _short(number: float) -> str:
    return f"{number:.6g}"


def _many(count: int, noun: str) -> str:
    """A count with its noun.

    >>> _many(1, "group"), _many(2, "group")
    ('1 group', '2 groups')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
