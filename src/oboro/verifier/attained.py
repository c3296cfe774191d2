"""What holds of a table, where nobody says what should: the largest k, and of sensitive columns the largest l and smallest t."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from oboro.table.value_counts import clean
from oboro.text import Message
from oboro.verifier.classes import Classes
from oboro.verifier.models.class_models import DistinctLDiversity, KAnonymity, Model
from oboro.verifier.models.spread_models import TCloseness
from oboro.verifier.secret_spread import secret_spread
from oboro.verifier.strict_reading import secret_readings
from oboro.verifier.verdict import Verdict

__all__ = ["attained", "attained_of"]


def attained(classes: Classes, sensitive: Sequence[str] = ()) -> list[Verdict]:
    """The verdicts of the strongest k-anonymity, distinct l-diversity and t-closeness (equal distance) that hold. O(rows) each.

    Secrets are read as the strictest reader could take them; so are the classes, where whoever made them asked for that.

    Only rows that are nobody's can keep every k from holding: then 1-anonymity is broken, and its verdict says so.
    """
    k = _largest(KAnonymity(k=1).judge(classes), KAnonymity(k=1), "k").naming(classes.quasi)
    return [k, *(one for name in sensitive for one in attained_of(classes, name))]


def attained_of(classes: Classes, name: str) -> list[Verdict]:
    """The same of one sensitive column: the largest l and the smallest t, each by the strictest reading of it."""
    merged, *finer = (_attained_of(one, name) for one in secret_readings(classes, name))
    return [merged[0], max((merged[1], *(one[1] for one in finer)), key=lambda found: found.achieved or 0.0)]


def _attained_of(classes: Classes, name: str) -> list[Verdict]:
    diversity, closeness = DistinctLDiversity(l=1, sensitive=name), TCloseness(t=1, sensitive=name)
    if classes.person is None and not classes.exempt and classes.data.rows:
        found = secret_spread(classes, clean(classes.data[name]))
        l, t = _kept(diversity, classes, found.fewest), _kept(closeness, classes, found.farthest)  # noqa: E741
    else:
        l, t = diversity.judge(classes), closeness.judge(classes)  # noqa: E741  (the field's own names)
    return [one.naming(classes.quasi) for one in (_largest(l, diversity, "l"), _smallest(t, closeness))]


def _kept(model: Model, classes: Classes, achieved: float) -> Verdict:
    """The verdict of a model that every class keeps."""
    return Verdict(True, model.describe(), model.required, float(achieved), len(classes.groups), 0, 0, ())


def _largest(least: Verdict, model: Model, symbol: str) -> Verdict:
    """The verdict of a model that must have at least something, at the most that every class has."""
    if least.achieved is None or not least.holds:
        return least
    limit = int(least.achieved)
    return _found(least, model.model_copy(update={symbol: limit}), symbol, limit)


def _smallest(most: Verdict, model: Model) -> Verdict:
    if most.achieved is None:
        return most
    return _found(most, model.model_copy(update={"t": min(most.achieved, 1.0)}), "t", most.achieved)


def _found(verdict: Verdict, model: Model, symbol: str, limit: float) -> Verdict:
    """The same judgement with the limit that was found."""
    note = Message(f"verdict.attained.{symbol}", limit=limit, groups=verdict.groups)
    return replace(verdict, model=model.describe(), required=float(limit), note=note)
