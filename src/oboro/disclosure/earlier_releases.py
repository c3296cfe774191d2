"""Check what a release discloses together with earlier releases of the same people."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from oboro.data.dataset import Dataset, unread_columns
from oboro.data.grouping import clean
from oboro.disclosure.gate import Findings, ReleaseCandidate
from oboro.errors import PromiseError, UsageError
from oboro.text import Message
from oboro.verifier.classes import Classes
from oboro.verifier.identity import DistinctLDiversity, KAnonymity

if TYPE_CHECKING:
    from oboro.attacks.series import Narrowed, SeriesRisk
    from oboro.hierarchies.hierarchy import Hierarchy

__all__ = ["attack_series", "check", "series_findings"]


IN_DOUBT = 2  # values of a sensitive attribute, where no more were asked for


def check(candidate: ReleaseCandidate) -> Findings:
    """Attack the release together with earlier ones.

    Raises a `PromiseError` where a person falls below the guaranteed k or l, unless the recipe accepts that.
    """
    if not candidate.earlier:
        return Findings()
    released = candidate.released
    candidate.require_rows(list(released))
    if unread := unread_columns(released):
        read = candidate.store.read(released, unread)
        released = released.with_columns(dict(read.columns))
    models = [model for one in candidate.guarantees for model in one.models]
    found = attack_series(
        released,
        candidate.earlier,
        quasi=list(dict.fromkeys(name for one in candidate.guarantees for name in one.quasi)) or candidate.given.quasi,
        sensitive=candidate.given.sensitive,
        k=max((one.k for one in models if isinstance(one, KAnonymity)), default=None),
        diverse={one.sensitive: int(one.l) for one in models if isinstance(one, DistinctLDiversity)},
        person=candidate.given.person,
        original=candidate.original,
        hierarchies=candidate.given.fitting_hierarchies(candidate.original),
        accepted=next((one.because for one in candidate.accept if one.series), ""),
    )
    if found is not None and found.refused:
        raise PromiseError(Message("error_exposure.series", said=series_findings(found)))
    return Findings(series=found)


def attack_series(
    released: Dataset,
    earlier: Sequence[Dataset],
    *,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    k: int | None = None,
    diverse: Mapping[str, int] | None = None,
    person: str | None = None,
    original: Dataset | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    accepted: str = "",
) -> SeriesRisk | None:
    """Attack a release together with earlier ones; None where there are none. Without `k`: the k that the release alone has."""
    if not earlier:
        return None
    from oboro.attacks.series import series_attack  # most releases have no earlier one
    from oboro.verifier.promises import attained
    from oboro.verifier.series import empty_readings, without_empty

    tables = list(earlier)
    shown = [name for name in quasi if name in released]
    for number, table in enumerate(tables, 1):
        if not any(name in table for name in shown):
            raise UsageError(Message("error_recipe.earlier_columns", number=number, quasi=shown, columns=list(table)))
        if unlike := [name for name in shown if name not in (hierarchies or {}) and _unlike(table, released, name)]:
            raise UsageError(Message("error_recipe.earlier_labels", number=number, columns=unlike))
    every = [released, *tables, *([] if original is None else [original])]
    if empty_readings(every) == [True]:  # some came from CSV, which does not tell empty text from missing
        released, *tables = (without_empty(one) for one in (released, *tables))
        original = None if original is None else without_empty(original)
    whose = person if person is not None and person in released else None
    if k is None:
        k = int(attained(Classes.of(released, shown, whose, finest=True), [])[0].achieved or 1)
    asked = {name: (diverse or {}).get(name, IN_DOUBT) for name in sensitive if name in released}
    found = series_attack(
        released, tables, quasi=shown, k=k, diverse=asked, person=whose, original=original, hierarchies=hierarchies
    )
    return replace(found, accepted=accepted)


def _unlike(earlier: Dataset, released: Dataset, name: str) -> bool:
    """Return whether two releases have no word of a column in common, as `F` and `female`: nobody would be found again.

    Ranges may meet though no two are written alike, and `*` may be anything: these are left to the attack.
    """
    if name not in earlier or not earlier.rows or not released.rows:
        return False
    words, others = ({text or "" for text in clean(one[name]).texts} for one in (earlier, released))
    return words.isdisjoint(others) and not any(re.search(r"[\d*]", word) for word in words | others)


def series_findings(found: SeriesRisk) -> list[Message]:
    """Return a sentence for each attack that narrows a person below k or l, or one that none does."""
    lines = [
        _words(f"{name}_exposed", release=number, k=found.k, **_counts(one))
        for name, number, one in found.attacks
        if one.exposed
    ]
    if lines and found.verified:
        lines.append(_words("verified"))
    if lines and found.accepted:
        lines.append(_words("accepted", because=found.accepted))
    return lines or [_words("nobody", earlier=found.earlier, k=found.k)]


def _counts(one: Narrowed) -> dict[str, Any]:
    worst = max(one.certain.values(), default=0)
    return {"people": one.people, "below": one.below_k, "fewest": one.fewest or 0, "certain": worst}


def _words(name: str, /, **values: Any) -> Message:
    return Message(f"series.{name}", **values)
