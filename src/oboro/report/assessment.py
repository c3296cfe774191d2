"""A released table alone: what it keeps, whom it singles out, whose secret it tells. Counts and names of columns, never a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oboro.attacks.series import SeriesRisk
from oboro.disclosure.earlier_releases import series_findings
from oboro.disclosure.identifiers import Finding
from oboro.measures.exposure import CertainSecrets, Exposure, RareValues
from oboro.report.page import Block, Cell, Grid, Notes, Section, Text
from oboro.report.sections.overview import Banner
from oboro.system.files import atomic, check_free
from oboro.text import Message, count, few, percent
from oboro.text.message import labelled
from oboro.verifier.verdict import Verification

if TYPE_CHECKING:
    from oboro.report.report import Report

__all__ = ["Assessment", "WorstClass", "assessment_banner", "assessment_sections", "series_blocks", "series_section"]


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
        said = [(_assess_message("table"), _assess_message("table_said", rows=self.rows, people=self.together.people))]
        roles = {"quasi": self.quasi, "sensitive": self.sensitive, "other": self.other}
        said += [
            (_assess_message(role), _assess_message("named", columns=names)) for role, names in roles.items() if names
        ]
        said += [(_assess_message("note"), _assess_message("guessed"))] if self.guessed else []
        said += [(_assess_message("note"), one) for one in self.asked]
        said += [(_assess_message("holds"), one.message()) for one in self.verification.verdicts]
        said += [(_assess_message("unique"), self._unique(one)) for one in self._singling]
        said += [(_assess_message("secret"), self._secret(one)) for one in self.secrets]
        said += [(_assess_message("rare"), _assess_message("rare_said", **asdict(one))) for one in self.rare[:SHOWN]]
        said += [
            (
                _assess_message("look"),
                _assess_message("identifier", column=one.column, kind=one.kind_name, records=one.records),
            )
            for one in self.identifiers
        ]
        said += [
            (_assess_message("series"), one) for one in ([] if self.series is None else series_findings(self.series))
        ]
        return [
            *said,
            (_assess_message("worst"), _assess_message("worst_said", sizes=[one.people for one in self.worst])),
        ]

    def _secret(self, one: CertainSecrets) -> Message:
        """What the class tells; of a column of ranges that is a range."""
        return _assess_message("secret_range" if one.sensitive in self.ranges else "secret_said", **asdict(one))

    @property
    def _singling(self) -> list[Exposure]:
        return [self.together, *self.columns[:SHOWN], *self.pairs[:SHOWN]]

    @staticmethod
    def _unique(one: Exposure) -> Message:
        return _assess_message("unique_said", columns=one.columns, unique=one.unique, people=one.people, k=one.smallest)

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
        subtitle = _assess_message("table_said", rows=self.rows, people=self.together.people)
        page = render_sections(
            assessment_sections(self), assessment_banner(self), subtitle, lang, _assess_message("title")
        )
        if path is not None:
            with atomic(path, private=True) as file:
                file.write(page.encode())
        return page

    def _repr_html_(self) -> str:
        from html import escape

        return f'<pre style="white-space: pre-wrap">{escape(self.summary())}</pre>'


def _assess_message(name: str, /, **values: Any) -> Message:
    return Message(f"exposure.assess.{name}", **values)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Exposure):
        shares = {"distinction": value.distinction, "separation": value.separation}
        return {**_plain(asdict(value)), **shares}
    if hasattr(value, "__dataclass_fields__"):
        return _plain(asdict(value))
    return {name: _plain(one) for name, one in value.items()} if isinstance(value, dict) else value


# Series section -------------------------------------------------------------------------------------------------------
# The section about a series of releases: who is told by all of them together, exact counts.


def _series_message(name: str, /, **values: Any) -> Message:
    return Message(f"series.{name}", **values)


def series_section(report: Report) -> Section | None:
    """What the release tells together with those before it."""
    return (
        None
        if report.series is None
        else Section("series", _series_message("title"), series_blocks(report.series), _series_message("name"))
    )


def series_blocks(found: SeriesRisk) -> list[Block]:
    """What was tried, what it found, and the figures."""
    lead = _series_message("lead", earlier=found.earlier, k=found.k)
    followed = list(dict.fromkeys(name for names in found.followed_by for name in names))
    told = [_series_message("followed", columns=followed) if followed else _series_message("not_followed")]
    return [Text(lead), Notes([*told, *series_findings(found)]), _figures(found)]


def _figures(found: SeriesRisk) -> Grid:
    secrets = list(found.l)
    head = [_series_message(f"head.{name}") for name in ("attack", "people", "below_k", "fewest")]
    for name in secrets:
        head += [
            _series_message("head.below_l", secret=name, l=found.l[name]),
            _series_message("head.certain", secret=name),
        ]
    rows = []
    for name, number, one in found.attacks:
        row = [Cell(_series_message(f"attack.{name}", release=number)), Cell(count(one.people))]
        row += [Cell(count(one.below_k), "bad" if one.below_k else ""), Cell(count(one.fewest) if one.fewest else "–")]
        for secret in secrets:
            below, certain = one.below_l.get(secret, 0), one.certain.get(secret, 0)
            row += [Cell(count(below), "bad" if below else ""), Cell(count(certain), "bad" if certain else "")]
        rows.append(row)
    caption = _series_message("caption_known" if found.known else "caption_rows")
    return Grid(head, rows, frozenset(range(1, len(head))), caption=caption)


# Assessment section ---------------------------------------------------------------------------------------------------
# The page of an assessment: what holds, who is unique on what, whose secret is certain.


def assessment_banner(found: Assessment) -> Banner:
    """Whether somebody is unique by what an attacker may know, and which k holds."""
    unique = found.together.unique
    line = _assess_message(
        "unique_said", columns=found.together.columns, unique=unique, people=found.together.people, k=found.k
    )
    return Banner("bad" if unique else "quiet", _assess_message("headline", k=found.k), line)


def assessment_sections(found: Assessment) -> list[Section]:
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
        Section(key, _assess_message(title), blocks, _assess_message(title))
        for key, title, blocks in parts
        if not isinstance(blocks[0], Grid) or blocks[0].rows
    ]


def _grid(found: Sequence[Exposure]) -> Grid:
    head = [_assess_message(f"head.{name}") for name in ("columns", "unique", "k", "distinction", "separation")]
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
    head = [_assess_message(f"head.{name}") for name in ("columns", "certain", "nearly", "largest", "everywhere")]
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
    return Grid([_assess_message("head.people"), _assess_message("head.rare")], rows, frozenset({0}))
