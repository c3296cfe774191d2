"""A released table alone: what it keeps, whom it singles out, whose secret it tells. Counts and names of columns, never a value."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from oboro.attacks.series.series_attack import SeriesRisk
from oboro.disclosure.earlier_releases import series_findings
from oboro.measure.exposure.secret_certainty import CertainSecrets
from oboro.measure.exposure.separation import Exposure
from oboro.measure.exposure.value_rarity import RareValues
from oboro.measure.identifiers import Finding
from oboro.system.atomic_file import atomic, check_free
from oboro.text import Message
from oboro.text.lines import labelled
from oboro.verifier.verdict import Verification

__all__ = ["Assessment", "WorstClass"]

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
        said = [(_m("table"), _m("table_said", rows=self.rows, people=self.together.people))]
        roles = {"quasi": self.quasi, "sensitive": self.sensitive, "other": self.other}
        said += [(_m(role), _m("named", columns=names)) for role, names in roles.items() if names]
        said += [(_m("note"), _m("guessed"))] if self.guessed else []
        said += [(_m("note"), one) for one in self.asked]
        said += [(_m("holds"), one.message()) for one in self.verification.verdicts]
        said += [(_m("unique"), self._unique(one)) for one in self._singling]
        said += [(_m("secret"), self._secret(one)) for one in self.secrets]
        said += [(_m("rare"), _m("rare_said", **asdict(one))) for one in self.rare[:SHOWN]]
        said += [
            (_m("look"), _m("identifier", column=one.column, kind=one.kind_name, records=one.records))
            for one in self.identifiers
        ]
        said += [(_m("series"), one) for one in ([] if self.series is None else series_findings(self.series))]
        return [*said, (_m("worst"), _m("worst_said", sizes=[one.people for one in self.worst]))]

    def _secret(self, one: CertainSecrets) -> Message:
        """What the class tells; of a column of ranges that is a range."""
        return _m("secret_range" if one.sensitive in self.ranges else "secret_said", **asdict(one))

    @property
    def _singling(self) -> list[Exposure]:
        return [self.together, *self.columns[:SHOWN], *self.pairs[:SHOWN]]

    @staticmethod
    def _unique(one: Exposure) -> Message:
        return _m("unique_said", columns=one.columns, unique=one.unique, people=one.people, k=one.smallest)

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
        from oboro.report.page.html import render_sections
        from oboro.report.released_alone.assessment_section import assessment_banner, assessment_sections

        if path is not None:
            check_free(path, force)
        lang = lang or self.lang
        subtitle = _m("table_said", rows=self.rows, people=self.together.people)
        page = render_sections(assessment_sections(self), assessment_banner(self), subtitle, lang, _m("title"))
        if path is not None:
            with atomic(path, private=True) as file:
                file.write(page.encode())
        return page

    def _repr_html_(self) -> str:
        from html import escape

        return f'<pre style="white-space: pre-wrap">{escape(self.summary())}</pre>'


def _m(name: str, /, **values: Any) -> Message:
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
