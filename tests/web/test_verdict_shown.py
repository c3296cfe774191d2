"""What the page says above a report: what the report begins with, and not only that the promises hold."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from oboro.report.sections import overview
from oboro.text import Message
from oboro.web.screens import take


@pytest.mark.parametrize(
    ("tone", "line", "good", "said"),
    [
        ("good", Message("report.verdict.verified"), True, "✓ Every promise holds. Verified on"),
        ("warn", Message("report.verdict.attacks_better", better=1, run=9), False, "Every promise holds. But 1 of 9"),
        ("bad", Message("report.verdict.do_not_release"), False, "Every promise holds. This table must not"),
    ],
)
def test_an_attack_that_succeeds_is_not_shown_as_well(
    monkeypatch: pytest.MonkeyPatch, tone: Any, line: Message, good: bool, said: str
) -> None:
    found = overview.Banner(tone, Message("report.verdict.holds"), line)
    monkeypatch.setattr(overview, "banner", lambda report: found)
    told = take._judged(SimpleNamespace(), "en")  # type: ignore[arg-type]
    assert told["good"] is good
    assert told["said"].startswith(said)
