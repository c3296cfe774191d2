"""The screens for attacks, reports and downloads: only after verification, and after every role was confirmed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from oboro.errors import PromiseError, UsageError
from oboro.explorer.session import TakenAway
from oboro.recipe.release import MEASURED
from oboro.text import LANGUAGES, Message
from oboro.web.server import Ask, Desk, Offer, State

if TYPE_CHECKING:
    from oboro.recipe.recipe import Recipe
    from oboro.recipe.release import Release
    from oboro.report.report import Report

__all__ = ["make_release", "make_report", "offer_file", "page_offer", "taken"]


FORMATS = (".csv", ".parquet", ".xlsx")
PAGE_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; frame-ancestors 'self'; sandbox"
)
NOTEBOOK, SCRIPT, PLAIN = "application/x-ipynb+json", "text/x-python", "text/plain"


def _recipe(state: State, seed: int | None) -> Recipe:
    """The recipe of a state: with the levels that were taken, or one that finds the best itself."""
    changes: dict[str, Any] = {} if seed is None else {"seed": seed, "seed_env": None, "seed_file": None}
    return state.session.recipe(state.levels, **changes)


def _seed(given: dict[str, Any]) -> int | None:
    seed = given.get("seed")
    return None if seed in (None, "") else int(seed)


def taken(state: State, given: dict[str, Any], output: str = "released.csv") -> TakenAway:
    """A state as YAML, command and script."""
    table, recipe = state.table, _recipe(state, _seed(given))
    return state.session.take_away(recipe, data=table.path, output=output, reading=table.reading)


def _release(desk: Desk, state: State, given: dict[str, Any], ask: Ask) -> Release:
    if open_ := state.session.unconfirmed:
        raise UsageError(Message("error_web.unconfirmed", columns=open_))
    seed = _seed(given)
    recipe = _recipe(state, seed)
    return desk.release(state, seed, lambda: recipe.run(state.session.table.again, progress=ask.tell))


def make_release(desk: Desk, given: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """Run, verify, take the last look; only then is there something to fetch."""
    state, ending = desk.state(given.get("version")), str(given.get("format", ".csv"))
    if ending not in FORMATS:
        raise UsageError(Message("error_web.no_format", formats=list(FORMATS)))
    release = _release(desk, state, given, ask)
    if not release.verification.holds:  # `run` would have raised
        raise PromiseError(release.verification.sentence(ask.lang))
    ask.tell(Message("progress.writing"))
    path = desk.scratch.file(ending)
    release.write(path)
    name = f"{Path(state.table.name).name.split('.')[0]}-released{ending}"
    ticket = desk.tickets.issue(Offer(name, "application/octet-stream", path=path))
    shown = [one.message().say(ask.lang) for one in release.verification.verdicts]
    said = [*release.cautions, *release.looked(figures=release.worked.data.rows <= MEASURED)]
    return {
        "version": state.number,
        "ticket": ticket,
        "bytes": path.stat().st_size,
        "rows": release.worked.data.rows,
        "verified": shown,
        "sentence": release.verification.sentence(ask.lang),
        "notes": [ask.say(one) for one in said],
        "name": name,
    }


def make_report(desk: Desk, given: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """Attack the release and measure it; tickets for the page in both languages and both versions."""
    state = desk.state(given.get("version"))
    release = _release(desk, state, given, ask)
    ask.tell(Message("progress.measuring_release"))
    report: Report = desk.kept(("report", state.number, _seed(given)), lambda: release.reported(ask.tell))
    ask.tell(Message("progress.making_report"))
    lang = str(given.get("lang") or ask.lang)
    lang = lang if lang in LANGUAGES else "en"
    public = bool(given.get("public"))
    shown = (report.to_public() if public else report).in_language(lang)
    html = shown.to_html()
    name = f"report-{'public-' if public else ''}{lang}.html"
    return {
        "version": state.number,
        "ticket": desk.tickets.issue(page_offer(name, html)),
        "download": desk.tickets.issue(Offer(name, "application/octet-stream", text=html)),
        "name": name,
        "summary": shown.summary(),
        "refused": report.refused,
        **_judged(shown, lang),
    }


def _judged(report: Report, lang: str) -> dict[str, Any]:
    """What the report begins with: a promise that holds is not all that there is to say."""
    from oboro.report.sections.overview import banner  # loads what draws reports

    found = banner(report)
    words = Message("text.sentences", said=[Message("text.sentence", said=found.title), found.line]).say(lang)
    good = found.tone == "good"
    return {"good": good, "said": f"✓ {words}" if good else words}


def page_offer(name: str, html: str) -> Offer:
    """A page that is shown inside the page: it may load nothing and run nothing."""
    return Offer(
        name,
        "text/html; charset=utf-8",
        text=html,
        headers={"content-security-policy": PAGE_POLICY, "x-frame-options": "SAMEORIGIN"},
    )


def offer_file(desk: Desk, given: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """The recipe, the script, the notebook or the CI job as a file."""
    state, kind = desk.state(given.get("version")), str(given["kind"])
    written = taken(state, given)
    offers = {
        "recipe": lambda: Offer("recipe.yaml", PLAIN, text=written.yaml),
        "command": lambda: Offer("anonymize.sh", PLAIN, text=f"#!/bin/sh\nset -e\n{written.command}\n"),
        "script": lambda: Offer("anonymize.py", SCRIPT, text=written.python),
        "notebook": lambda: Offer("anonymize.ipynb", NOTEBOOK, text=written.notebook),
        "ci": lambda: Offer("anonymize.yml", PLAIN, text=written.ci_job),
    }
    if kind not in offers:
        raise UsageError(Message("error_web.no_format", formats=list(offers)))
    return {"version": state.number, "ticket": desk.tickets.issue(offers[kind]())}
