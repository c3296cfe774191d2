"""What holds of a table, where nobody says what should: the largest k, and of sensitive columns the largest l and smallest t."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from oboro.text import Message
from oboro.verifier.classes import Classes
from oboro.verifier.models.class_models import DistinctLDiversity, KAnonymity, Model, TCloseness
from oboro.verifier.verdict import Verdict

__all__ = ["attained"]


def attained(classes: Classes, sensitive: Sequence[str] = ()) -> list[Verdict]:
    """The verdicts of the strongest k-anonymity, distinct l-diversity and t-closeness (equal distance) that hold. O(rows) each.

    Only rows that are nobody's can keep every k from holding: then 1-anonymity is broken, and its verdict says so.
    """
    verdicts = [_largest(KAnonymity, classes, "k")]
    for name in sensitive:
        verdicts.append(_largest(DistinctLDiversity, classes, "l", sensitive=name))
        verdicts.append(_smallest_t(classes, name))
    return [one.naming(classes.quasi) for one in verdicts]


def _largest(model: type[Model], classes: Classes, symbol: str, **options: str) -> Verdict:
    """The verdict of a model that must have at least something, at the most that every class has."""
    least = model(**{symbol: 1}, **options).judge(classes)
    if least.achieved is None or not least.holds:
        return least
    limit = int(least.achieved)
    return _found(least, model(**{symbol: limit}, **options), symbol, limit)


def _smallest_t(classes: Classes, name: str) -> Verdict:
    most = TCloseness(t=1, sensitive=name).judge(classes)
    if most.achieved is None:
        return most
    return _found(most, TCloseness(t=min(most.achieved, 1.0), sensitive=name), "t", most.achieved)


def _found(verdict: Verdict, model: Model, symbol: str, limit: float) -> Verdict:
    """The same judgement with the limit that was found."""
    note = Message(f"verdict.attained.{symbol}", limit=limit, groups=verdict.groups)
    return replace(verdict, model=model.describe(), required=float(limit), note=note)
