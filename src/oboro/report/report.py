"""What a privacy officer signs: what was released, what was promised, whether it holds, what it cost.

A `Report` holds plain facts (counts, parameters, verdicts; never a record), ready for JSON. From them come a page of
HTML that opens without a network, a few lines for the terminal, and a small view for notebooks.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from oboro.attacks.few_attributes import UniqueByFew
from oboro.attacks.series.series_attack import SeriesRisk
from oboro.errors import UsageError
from oboro.measure.exposure.last_look import LastLook
from oboro.report.exposed_people import ExposedPeople
from oboro.report.facts import (
    AttackFacts,
    Checklist,
    ColumnFacts,
    Facts,
    Loose,
    MeasureFacts,
    PairFacts,
    Signature,
    TableFacts,
    VerificationFacts,
)
from oboro.system.atomic_file import atomic, check_free
from oboro.table.parameters.at_the_door import at_the_door
from oboro.text import LANGUAGES, Message
from oboro.text.raw_values import values_shown
from oboro.verifier.models.uniqueness_estimates import Uniqueness
from oboro.verifier.verdict import Verdict

__all__ = ["Report"]


class Report(Facts):
    """Everything there is to say about one release, as data."""

    lang: Literal["en", "ja"] = "en"
    """The language in which it shows itself; the facts stay English."""
    public: bool = False
    """Whether everything that helps to undo the processing was left out."""
    holds: bool | None
    """Whether every promise holds; None if nothing was promised."""
    table: TableFacts
    quasi: list[str]
    sensitive: list[str]
    verification: VerificationFacts | None
    """What the verifier found on the released table."""
    risk: dict[str, Any] | None
    """None where there is no quasi-identifier."""
    risk_before: dict[str, Any] | None
    risk_measures: list[MeasureFacts]
    """The figures of `risk`, each saying what it means."""
    risk_applies: bool = True
    """Whether `risk`, which counts classes of records that look alike, says how exposed people are: not where k-concealment
    or stream k-anonymity was promised, whose records need not look like any other (`least_candidates` does there), and
    not where nothing was verified and values were `randomized` (the attacks do there)."""
    least_candidates: int | None = None
    """Of a concealed release or a stream: how many people the most exposed record can be."""
    randomized: list[str]
    """Quasi-identifiers whose values were drawn, disturbed or moved to other records by chance."""
    exposed: ExposedPeople | None = None
    """Who stands alone, and for whom a secret is certain: exact counts."""
    last_look: LastLook | None = None
    """What a run looked at before it wrote anything; None where the release was made elsewhere."""
    attacks: list[AttackFacts]
    """Attacks that were run against the release."""
    linkage: list[MeasureFacts]
    """Attacks on a release without groups (k-concealment), each saying what it means."""
    series: SeriesRisk | None = None
    """What the release tells together with those before it; None where none was named."""
    uniqueness: Uniqueness | None
    """Who is unique in the population, estimated."""
    special: UniqueByFew | None
    """Records that one or two attributes make unique; None for a table too large to search."""
    utility: list[MeasureFacts]
    pairs: PairFacts | None
    columns: list[ColumnFacts]
    steps: list[Loose]
    recipe: str
    seeded: bool | None
    """Whether random choices can be repeated; None without a recipe."""
    files: dict[str, Loose]
    versions: dict[str, str]
    smallest_cell: int = Field(ge=1)
    """Labels held by fewer rows are not shown on their own."""
    checklists: list[Checklist]
    laws: list[str] | None = None
    """The laws that were asked for; None: a page shows the checklists that go with its language."""
    stream: list[dict[str, Any]]
    """The metrics of a stream, one after the other."""
    warnings: list[Message]
    """Everything that a reader should know before signing."""
    signature: Signature = Field(default_factory=Signature)
    """When it was made, by whom, for whom and why; empty where nobody said so."""

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """What the verifier says of each promised model; none where nothing was verified."""
        return () if self.verification is None else self.verification.verdicts

    @property
    def joint(self) -> tuple[Verdict, ...]:
        """What comes of promises over different columns, over all of these together; none where one promise covers them."""
        return () if self.verification is None else self.verification.joint

    @property
    def apart(self) -> tuple[Verdict, ...]:
        """Those of `joint` that do not hold."""
        return tuple(one for one in self.joint if not one.holds)

    @property
    def singled_out(self) -> int:
        """How many are unique by released columns that no promise covers and nobody accepted."""
        return 0 if self.exposed is None else self.exposed.refused

    @property
    def refused(self) -> bool:
        """Whether it must not be released as it is: a promise that was named does not hold, somebody is singled out, or a series
        of releases narrows somebody below k or l.

        The exit code of `oboro evaluate` is 1 then.
        """
        return self.holds is False or self.singled_out > 0 or (self.series is not None and self.series.refused > 0)

    @property
    def shown_checklists(self) -> list[Checklist]:
        """Those that a page shows: of the laws that were asked for, or of those that go with its language."""
        from oboro.report.checklists.asked_laws import BY_LANGUAGE, asked_laws

        return self.checklists if self.laws is not None else asked_laws(self.checklists, BY_LANGUAGE[self.lang])

    def to_public(self) -> Report:
        """The report without anything that helps to undo the processing; `docs/report.md` says why, item by item."""
        from oboro.report.public import public

        return public(self)

    def as_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        with values_shown(False):  # a report goes to more people than the terminal that made it
            return self.model_dump(mode="json")

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """The JSON Schema of `as_dict`, for programs that read it."""
        schema = cls.model_json_schema(mode="serialization")
        return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "oboro report"}

    def in_language(self, lang: str) -> Report:
        """The same report, speaking English (`en`) or Japanese (`ja`) wherever it shows itself."""
        if lang not in LANGUAGES:
            raise UsageError(Message("error_text.language", known=list(LANGUAGES), lang=lang))
        return self.model_copy(update={"lang": lang})

    def for_laws(self, laws: str | Sequence[str]) -> Report:
        """The same report with the checklists of these laws only; `oboro.report.checklists.asked_laws.LAWS` names them.

        `all` are all of them.
        """
        from oboro.report.checklists.asked_laws import asked_laws

        wanted = [laws] if isinstance(laws, str) else list(laws)
        return self.model_copy(update={"checklists": asked_laws(self.checklists, wanted), "laws": wanted})

    def signed(self, *, made_by: str = "", made_for: str = "", purpose: str = "", made_on: str | None = None) -> Report:
        """The same report with who made it, for whom, why, and another date than today's if one is given."""
        day = made_on or self.signature.made_on
        said = Signature(made_on=day, made_by=made_by, made_for=made_for, purpose=purpose)
        return self.model_copy(update={"signature": said})

    @at_the_door
    def to_html(self, path: str | Path | None = None, *, lang: str | None = None, force: bool = False) -> str:
        """The report as one self-contained page, in its own language or another; written to `path` if one is given.

        The owner's report holds the recipe: nobody else may read the file. The public one is a file like any other.
        Only with `force` it replaces a file that is there.
        """
        from oboro.report.page.html import render

        if path is not None:
            check_free(path, force)
        with values_shown(False):
            html = render(self if lang is None else self.in_language(lang))
        if path is not None:
            with atomic(path, private=not self.public) as file:
                file.write(html.encode())
        return html

    def summary(self) -> str:
        """A few lines for the terminal."""
        from oboro.report.summary import summary

        return summary(self)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        promised = {True: "every promise holds", False: "a promise is broken", None: "nothing was promised"}[self.holds]
        return f"Report({self.table.rows_before} rows in, {self.table.rows_after} out; {promised})"

    def _repr_html_(self) -> str:
        from oboro.report.page.html import render_compact

        return render_compact(self)
