"""Verdicts on privacy models, and the verification that collects them."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import filterfalse
from operator import attrgetter
from typing import Any

import numpy as np

from oboro.privacy.attribute import Closeness, Diversity
from oboro.privacy.identity import KAnonymity, PkAnonymity
from oboro.text import Message, Words, say
from oboro.text.language import system_language

__all__ = ["K_ANONYMITY", "L_DIVERSITY", "T_CLOSENESS", "Verdict", "Verification"]


HOLDS = attrgetter("holds")
BY_RECORD = ("model.stream_k_anonymity", "model.stream_l_diversity")
WORST_SHOWN = 10  # how many sizes of broken groups a verdict keeps
# The models by what a textbook calls them; in a stream and within a window they are the same models.
K_ANONYMITY = frozenset(KAnonymity.words)
L_DIVERSITY = frozenset(Diversity.words)
T_CLOSENESS = frozenset(Closeness.words)
COUNTS_CANDIDATES = frozenset({"model.k_concealment", "model.stream_k_anonymity"})


@dataclass(frozen=True)
class Verdict:
    """Whether one model holds, how far it was from the limit, and how large the groups are that break it: sizes,
    never values."""

    holds: bool
    model: Message  # which one it is, with its parameters: 3-anonymity
    required: float
    achieved: float | None  # None: nothing was measured, or no finite number describes it
    groups: int
    broken_groups: int
    broken_records: int
    worst_sizes: tuple[int, ...]  # of the groups that break the model, worst first, at most ten
    note: Message | None = None  # why a verdict is not what it seems: an empty table, a column that is gone
    over: tuple[str, ...] = ()  # the columns whose groups were judged; its sentence then names them
    people: bool = False  # whether people were counted, not records
    together: bool = False  # whether it is of the columns of several promises, which none of them covers
    households: bool = False  # whether those who were counted are households, by the name of their column

    @staticmethod
    def of(
        model: Message,
        required: float,
        scores: np.ndarray,
        broken: np.ndarray,
        sizes: np.ndarray,
        most: bool,
        records: np.ndarray | None = None,
    ) -> Verdict:
        """From one score and one judgement per group; `most` says that a higher score is worse.

        `records` are the sizes in records, where `sizes` count people.
        """
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
            broken_records=int((sizes if records is None else records)[culprits].sum()),
            worst_sizes=tuple(sizes[order].tolist()),
        )

    @staticmethod
    def vacuous(model: Message, required: float, note: Message, groups: int = 0) -> Verdict:
        """A model that holds because there is nothing that could break it; `note` says why."""
        return Verdict(True, model, required, None, groups, 0, 0, (), note)

    @property
    def id(self) -> str:
        """Id of the model, independent of its parameters: `model.k_anonymity`."""
        return self.model.id

    @property
    def mark(self) -> str:
        """A tick, or a cross."""
        return "✓" if self.holds else "✗"

    @property
    def counts_candidates(self) -> bool:
        """Whether the model counts whom a record can be, whether or not they look alike (k-concealment, streams)."""
        return self.model.id in COUNTS_CANDIDATES

    @property
    def k(self) -> int | None:
        """The promised k, where the model asks for k records or people; None for every other model."""
        return int(self.required) if self.id in K_ANONYMITY | COUNTS_CANDIDATES else None

    def naming(self, columns: Sequence[str]) -> Verdict:
        """The same verdict, whose sentence says over which columns it was judged."""
        return replace(self, over=tuple(columns))

    def jointly(self, columns: Sequence[str]) -> Verdict:
        """The same verdict, whose sentence says that it is of the columns of several promises together."""
        return replace(self, over=tuple(columns), together=True)

    def counting_people(self) -> Verdict:
        """The same verdict, whose sentence says that people were counted."""
        return replace(self, people=True)

    @property
    def spoken(self) -> Message:
        """The model, what it counts and over which columns."""
        whose = "verdict.of_households" if self.households else "verdict.of_people"
        model = Message(whose, model=self.model) if self.people else self.model
        over = "verdict.over_together" if self.together else "verdict.over"
        return Message(over, model=model, columns=self.over) if self.over else model

    def message(self) -> Message:
        """The verdict in one sentence."""
        model = self.spoken
        if self.note is not None:
            return Message(
                "verdict.holds_because" if self.holds else "verdict.broken_because", model=model, why=self.note
            )
        achieved: Words = Message("verdict.nothing")
        if self.achieved is not None:
            # Six digits could show a broken limit as kept.
            close = not self.holds and f"{self.achieved:.6g}" == f"{self.required:.6g}"
            achieved = f"{self.achieved:.17g}" if close else f"{self.achieved:.6g}"
        limits = Message("verdict.limits", required=self.required, achieved=achieved)
        if self.holds:
            alone = "_in_one" if self.groups == 1 else ""
            return Message(f"verdict.holds{self._unit or alone}", model=model, groups=self.groups, limits=limits)
        return Message(
            f"verdict.broken{self._unit}",
            model=model,
            broken=self.broken_groups,
            groups=self.groups,
            records=self.broken_records,
            limits=limits,
            sizes=self.worst_sizes,
        )

    @property
    def _unit(self) -> str:
        """A stream is judged record by record; each stands for itself in `groups`."""
        return "_for_records" if self.model.id in BY_RECORD else ""

    def sentence(self, lang: str = "en") -> str:
        """The verdict in one sentence, in one language.

        >>> verdict = Verdict.vacuous(Message("model.k_anonymity", k=3), 3, Message("verdict.no_records"))
        >>> verdict.sentence()
        '3-anonymity holds: the table has no records.'
        >>> verdict.naming(["age", "sex"]).sentence()
        '3-anonymity over age, sex holds: the table has no records.'
        """
        return self.message().say(lang)

    def as_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON: figures, ids with their parameters, and the same in English."""
        model = self.model.as_dict()
        note = {"id": None, "values": {}, "text": ""} if self.note is None else self.note.as_dict()
        return {
            "holds": self.holds,
            "model": model["text"],
            "required": self.required,
            "achieved": self.achieved,
            "groups": self.groups,
            "broken_groups": self.broken_groups,
            "broken_records": self.broken_records,
            "worst_sizes": list(self.worst_sizes),
            "note": note["text"],
            "over": list(self.over),
            "people": self.people,
            "together": self.together,
            "households": self.households,
            "sentence": self.sentence(),
            "id": model["id"],
            "parameters": model["values"],
            "note_id": note["id"],
            "note_parameters": note["values"],
        }

    @staticmethod
    def read(data: Mapping[str, Any]) -> Verdict:
        """A verdict from its plain data.

        >>> verdict = Verdict.vacuous(Message("model.k_anonymity", k=3), 3, Message("verdict.no_records"))
        >>> Verdict.read(verdict.as_dict()) == verdict
        True
        """
        figures = ("holds", "required", "achieved", "groups", "broken_groups", "broken_records")
        note = data["note_id"] and Message.read({"id": data["note_id"], "values": data["note_parameters"]})
        return Verdict(
            **{name: data[name] for name in figures},
            model=Message.read({"id": data["id"], "values": data["parameters"]}),
            worst_sizes=tuple(data["worst_sizes"]),
            note=note or None,
            over=tuple(data["over"]),
            people=data.get("people", False),
            together=data.get("together", False),
            households=data.get("households", False),
        )


@dataclass(frozen=True)
class Verification:
    """The verdicts on one table. It counts as true only when every one of them holds.

    Where promises are over different columns, `joint` has what comes of them over all these columns. It breaks no promise, for
    nobody made one; but no sentence here says that something holds where only a part of it does.
    """

    holds: bool
    verdicts: tuple[Verdict, ...]
    quasi: tuple[str, ...] = ()
    joint: tuple[Verdict, ...] = ()
    unchecked: tuple[Message, ...] = ()
    """What was promised too and could not be checked here, why, and how to check it."""
    warnings: tuple[Message, ...] = ()
    """What a reader of the verdicts should know: how other tools read the table, values that differ only in spelling."""

    @staticmethod
    def of(verdicts: Sequence[Verdict], quasi: Sequence[str], joint: Sequence[Verdict] = ()) -> Verification:
        """All verdicts together: one that is broken breaks the whole."""
        return Verification(all(map(HOLDS, verdicts)), tuple(verdicts), tuple(quasi), tuple(joint))

    def in_households(self) -> Verification:
        """The same, whose sentences say households where they say people."""
        verdicts, joint = (tuple(replace(one, households=True) for one in some) for some in (self.verdicts, self.joint))
        return replace(self, verdicts=verdicts, joint=joint)

    @property
    def apart(self) -> tuple[Verdict, ...]:
        """What does not hold over the columns of all promises together."""
        return tuple(filterfalse(HOLDS, self.joint))

    @property
    def joint_k(self) -> int | None:
        """The k that holds over the columns of all promises together, where it is less than promised."""
        found = [one.achieved or 1 for one in self.apart if one.id in K_ANONYMITY or one.id in PkAnonymity.words]
        return max(int(min(found)), 1) if found else None

    def __bool__(self) -> bool:
        return self.holds

    def sentence(self, lang: str = "en") -> str:
        """Everything in a few sentences, what is broken first."""
        return " ".join(message.say(lang) for message in self.messages())

    def messages(self) -> list[Message]:
        """Messages on each model, violated ones first."""
        ordered = sorted((*self.verdicts, *self.joint), key=lambda verdict: verdict.holds)
        said = [*(verdict.message() for verdict in ordered), *self.unchecked]
        return said or [Message("verdict.no_promise")]

    def as_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {
            "holds": self.holds,
            "sentence": self.sentence(),
            "quasi": list(self.quasi),
            "verdicts": [verdict.as_dict() for verdict in self.verdicts],
            "joint": [verdict.as_dict() for verdict in self.joint],
            "unchecked": [one.as_dict() for one in self.unchecked],
            "warnings": [one.as_dict() for one in self.warnings],
        }

    @staticmethod
    def read(data: Mapping[str, Any]) -> Verification:
        """A verification from its plain data."""
        unchecked, warnings = (tuple(map(Message.read, data.get(name, ()))) for name in ("unchecked", "warnings"))
        verdicts, joint = (tuple(map(Verdict.read, data.get(name, ()))) for name in ("verdicts", "joint"))
        return Verification(data["holds"], verdicts, tuple(data["quasi"]), joint, unchecked, warnings)

    def __str__(self) -> str:
        return self.lines()

    def lines(self, lang: str = "en") -> str:
        """Return the overall result, then a line for each model, in one language."""
        marks = [f"{verdict.mark} {verdict.sentence(lang)}" for verdict in (*self.verdicts, *self.joint)]
        marks += [f"? {one.say(lang)}" for one in self.unchecked]
        marks += [f"! {one.say(lang)}" for one in self.warnings]
        return "\n".join([self._head(lang), *marks])

    def _head(self, lang: str) -> str:
        """Whether all hold, and over which columns; of columns that no promise covers together nothing is said to hold."""
        if self.holds and self.apart:
            return Message("verdict.hold_apart", columns=list(self.apart[0].over)).say(lang)
        head = Message("verdict.all_hold" if self.holds else "verdict.one_broken")
        if not self.quasi:
            return head.say(lang)
        return Message("verdict.over_columns", verdict=head, columns=list(self.quasi)).say(lang)

    def _repr_html_(self) -> str:
        lang = system_language()
        named = ("verdict", "model", "required", "achieved", "groups", "broken_groups")
        head = "".join(f"<th>{html.escape(Message(f'section.promises.{one}').say(lang))}</th>" for one in named)
        return f"<table><tr>{head}</tr>{''.join(_html_row(one, lang) for one in (*self.verdicts, *self.joint))}</table>"


def _html_row(verdict: Verdict, lang: str) -> str:
    model = verdict.spoken if verdict.together else verdict.model
    cells: tuple[Words, ...] = (
        Message(f"section.promises.{'holds' if verdict.holds else 'broken'}"),
        model if verdict.note is None else f"{model.say(lang)} ({verdict.note.say(lang)})",
        f"{verdict.required:.6g}",
        "" if verdict.achieved is None else f"{verdict.achieved:.6g}",
        str(verdict.groups),
        Message("section.promises.broken_rows", groups=verdict.broken_groups, rows=verdict.broken_records),
    )
    return "<tr>" + "".join(f"<td>{html.escape(say(cell, lang))}</td>" for cell in cells) + "</tr>"
