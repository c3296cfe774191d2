"""Reports for tests, from keywords: each goes to the tables, the provenance or the scope, whichever knows it."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from html import unescape
from typing import Any

from oboro.data.dataset import Dataset
from oboro.report.facts import Provenance, Scope, Tables
from oboro.report.make import make_report
from oboro.report.report import Report
from oboro.techniques import TECHNIQUES

__all__ = ["build", "english_left"]

NAMES = re.compile(  # of laws, people, measures, units and parameters, which are the same in Japanese
    r"(?<![A-Za-z])(?:oboro verify|oboro anonymize|oboro|APPI|HIPAA|WP216|ISO/IEC|CFR|SHA-\d+|MD5|base\d+|ZIP|URL|IP|FAX|ID|Adult"
    r"|Wilson|Zayatz|Pitman|Ewens|Hoshino|Dankar|Skinner|Elliot|et al|Cramér|pMSE|MSE|NCP|SSE|SST|uLSIF|KL|nat"
    r"|k-|Pk-|map|kB|MB|rename|truth: drawn|truth|seed_env|seed_file|blind|min|max)(?![a-z])"
)


def build(original: Dataset, released: Dataset, **given: Any) -> Report:
    """The report on two tables."""
    tables, provenance, scope = (
        {name: given[name] for name in (one.name for one in fields(kind)) if name in given}
        for kind in (Tables, Provenance, Scope)
    )
    assert len(given) == len(tables) + len(provenance) + len(scope), "a keyword that nothing takes"
    return make_report(Tables(original, released, **tables), Provenance(**provenance), Scope(**scope))


def english_left(report: Report) -> set[str]:
    """English words in the Japanese page, other than names and whatever comes from tables, files and recipes."""
    page = report.to_html(lang="ja")
    text = re.sub(r"<style>.*?</style>|<pre.*?</pre>", "", page, flags=re.DOTALL)
    text = NAMES.sub(" ", unescape(re.sub(r"<[^>]+>", " ", text)))
    text = re.sub(r"…\w+", "", text)  # labels cut short
    return set(_WORD.findall(text)) - set(_WORD.findall(_data(report)))


_WORD = re.compile(r"[A-Za-z][A-Za-z_]{2,}")


def _data(report: Report) -> str:
    """Names and values that are nobody's words: they stay as they are in every language."""
    labels = [bar.label for one in report.columns if one.distribution for bar in one.distribution.bars]
    facts = [{name: step[name] for name in ("name", "plan", "facts")} for step in report.steps]
    columns = [*(one.name for one in report.columns), *report.table.dropped, *report.table.passed]
    told = _without_messages([facts, report.files])
    reasons = [one.because for one in report.exposed.accepted] if report.exposed else []
    return json.dumps([list(TECHNIQUES), columns, labels, told, report.versions, report.recipe, reasons])


def _without_messages(value: Any) -> Any:
    """Plain facts; underscores are spaces on a page, and what a message says is no data."""
    if isinstance(value, dict):
        return {str(name).replace("_", " "): _without_messages(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_without_messages(inner) for inner in value]
    return value if isinstance(value, str | int | float | None) else ""
