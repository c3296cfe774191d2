"""Assessment of a released table alone: attained privacy models, unique people, disclosed sensitive values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from oboro.attacks.series import SeriesRisk
from oboro.disclosure.earlier_releases import series_findings
from oboro.disclosure.identifiers import Finding
from oboro.measures.exposure import CertainSecrets, Exposure, RareValues
from oboro.report.page import Block, Cell, Grid, Notes, ShownSection
from oboro.report.sections.base import Section
from oboro.report.sections.overview import Banner
from oboro.report.sections.series import series_blocks
from oboro.system.files import atomic, check_free
from oboro.text import Message, count, few, percent
from oboro.text.message import labelled
from oboro.verifier.verdict import Verification

__all__ = ["Assessment", "WorstClass", "assessment_banner", "assessment_sections"]


WORDS = Section("assess", "exposure.assess")  # of the page and of the lines for the terminal
SHOWN = 8  # columns and pairs in the lines for the terminal


@dataclass(frozen=True)
class WorstClass:
    """One of the smallest classes: how many people it holds, and which of its values few people have by themselves."""

    people: int
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Assessment:
    """What a released table alone tells about the people in it."""

    rows: int
    person: str | None
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    other: tuple[str, ...]
    guessed: bool
    """Whether the roles were guessed."""
    verification: Verification
    """The largest k over the quasi-identifiers, and of each sensitive column the largest l and the smallest t."""
    together: Exposure
    """All columns that an attacker may know: the quasi-identifiers and the others."""
    columns: tuple[Exposure, ...]
    """Each of them, the one that singles out most people first."""
    pairs: tuple[Exposure, ...]
    """Pairs of those that tell most records apart: the k and the unique people if somebody knew just these two."""
    secrets: tuple[CertainSecrets, ...]
    rare: tuple[RareValues, ...]
    identifiers: tuple[Finding, ...]
    """Columns whose values or names look like identifiers."""
    worst: tuple[WorstClass, ...]
    series: SeriesRisk | None = None
    """What it tells together with the releases before it."""
    ranges: tuple[str, ...] = ()
    """Sensitive columns whose values are ranges: if one is certain, a range is, and not the value."""
    asked: tuple[Message, ...] = ()
    """Whose rows these are, where people seem to have several and nobody said which column tells them apart."""
    lang: str = "en"

    @property
    def k(self) -> int:
        """The k that holds over the quasi-identifiers; 0 where there are no records."""
        return int(self.verification.verdicts[0].achieved or 0)

    def lines(self) -> list[tuple[Message, Message]]:
        """What it says, each with its label."""
        said = [(WORDS.said("table"), WORDS.said("table_said", rows=self.rows, people=self.together.people))]
        roles = {"quasi": self.quasi, "sensitive": self.sensitive, "other": self.other}
        said += [(WORDS.said(role), WORDS.said("named", columns=names)) for role, names in roles.items() if names]
        said += [(WORDS.said("note"), WORDS.said("guessed"))] if self.guessed else []
        said += [(WORDS.said("note"), one) for one in self.asked]
        said += [(WORDS.said("holds"), one.message()) for one in self.verification.verdicts]
        said += [(WORDS.said("unique"), self._unique(one)) for one in self._singling]
        said += [(WORDS.said("secret"), self._secret(one)) for one in self.secrets]
        said += [(WORDS.said("rare"), WORDS.said("rare_said", **asdict(one))) for one in self.rare[:SHOWN]]
        said += [
            (
                WORDS.said("look"),
                WORDS.said("identifier", column=one.column, kind=one.kind_name, records=one.records),
            )
            for one in self.identifiers
        ]
        said += [(WORDS.said("series"), one) for one in ([] if self.series is None else series_findings(self.series))]
        return [
            *said,
            (WORDS.said("worst"), WORDS.said("worst_said", sizes=[one.people for one in self.worst])),
        ]

    def _secret(self, one: CertainSecrets) -> Message:
        """What the class tells; of a column of ranges that is a range."""
        return WORDS.said("secret_range" if one.sensitive in self.ranges else "secret_said", **asdict(one))

    @property
    def _singling(self) -> list[Exposure]:
        return [self.together, *self.columns[:SHOWN], *self.pairs[:SHOWN]]

    @staticmethod
    def _unique(one: Exposure) -> Message:
        return WORDS.said("unique_said", columns=one.columns, unique=one.unique, people=one.people, k=one.smallest)

    def summary(self, lang: str | None = None) -> str:
        """Lines for the terminal."""
        lang = lang or self.lang
        return "\n".join(labelled(label, said, lang) for label, said in self.lines())

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        held = (
            f"{part}: {', '.join(names)}" for part in ("quasi", "sensitive", "other") if (names := getattr(self, part))
        )
        return f"Assessment({self.rows} rows; {'; '.join(held)}; k = {self.k})"

    def as_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        found = {name: value for name, value in vars(self).items() if name not in ("verification", "asked", "lang")}
        plain = {name: _plain(value) for name, value in found.items()}
        asked = [one.as_dict() for one in self.asked]
        return {**plain, "k": self.k, "verification": self.verification.as_dict(), "asked": asked}

    def to_html(self, path: str | Path | None = None, *, lang: str | None = None, force: bool = False) -> str:
        """The same as one self-contained page; written to `path`, which only its owner may read, if one is given.

        Only with `force` it replaces a file that is there.
        """
        from oboro.report.render import render_sections

        if path is not None:
            check_free(path, force)
        lang = lang or self.lang
        subtitle = WORDS.said("table_said", rows=self.rows, people=self.together.people)
        page = render_sections(assessment_sections(self), assessment_banner(self), subtitle, lang, WORDS.said("title"))
        if path is not None:
            with atomic(path, private=True) as file:
                file.write(page.encode())
        return page

    def _repr_html_(self) -> str:
        from html import escape

        return f'<pre style="white-space: pre-wrap">{escape(self.summary())}</pre>'


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Exposure):
        shares = {"distinction": value.distinction, "separation": value.separation}
        return {**_plain(asdict(value)), **shares}
    if hasattr(value, "__dataclass_fields__"):
        return _plain(asdict(value))
    return {name: _plain(one) for name, one in value.items()} if isinstance(value, dict) else value


# Page of an assessment ------------------------------------------------------------------------------------------------
# Attained guarantees, people who are unique by columns, and disclosed sensitive values.


def assessment_banner(found: Assessment) -> Banner:
    """Return the banner: unique people by what an attacker may know, and the attained k."""
    unique = found.together.unique
    line = WORDS.said(
        "unique_said", columns=found.together.columns, unique=unique, people=found.together.people, k=found.k
    )
    return Banner("bad" if unique else "quiet", WORDS.said("headline", k=found.k), line)


def assessment_sections(found: Assessment) -> list[ShownSection]:
    """Everything that there is to say, in order; a part with nothing to say is left out."""
    parts: list[tuple[str, str, list[Block]]] = [
        ("assess_said", "said", [Notes([one for _, one in found.lines()])]),
        ("assess_columns", "columns", [_grid(found.columns)]),
        ("assess_pairs", "pairs", [_grid(found.pairs)]),
        *([] if found.series is None else [("assess_series", "series_title", series_blocks(found.series))]),
        ("assess_secrets", "secrets", [_secrets(found)]),
        ("assess_worst", "worst", [_worst(found)]),
    ]
    return [
        Section(key, WORDS.words).shown(blocks, title, name=title)
        for key, title, blocks in parts
        if not isinstance(blocks[0], Grid) or blocks[0].rows
    ]


def _grid(found: Sequence[Exposure]) -> Grid:
    head = [WORDS.said(f"head.{name}") for name in ("columns", "unique", "k", "distinction", "separation")]
    rows = [
        [
            Cell(few(one.columns)),
            Cell(count(one.unique), "bad" if one.unique else ""),
            Cell(count(one.smallest)),
            Cell(percent(one.distinction)),
            Cell(percent(one.separation)),
        ]
        for one in found
    ]
    return Grid(head, rows, frozenset({1, 2, 3, 4}))


def _secrets(found: Assessment) -> Grid:
    head = [WORDS.said(f"head.{name}") for name in ("columns", "certain", "nearly", "largest", "everywhere")]
    rows = [
        [
            Cell(one.sensitive),
            Cell(count(one.certain), "bad" if one.certain else ""),
            Cell(count(one.nearly_certain)),
            Cell(percent(one.largest)),
            Cell(percent(one.everywhere)),
        ]
        for one in found.secrets
    ]
    return Grid(head, rows, frozenset({1, 2, 3, 4}))


def _worst(found: Assessment) -> Grid:
    rows = [[Cell(count(one.people)), Cell(few(one.columns) if one.columns else "–")] for one in found.worst]
    return Grid([WORDS.said("head.people"), WORDS.said("head.rare")], rows, frozenset({0}))
