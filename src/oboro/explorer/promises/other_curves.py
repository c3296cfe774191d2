"""What the same promise costs with other methods: levels by class, groups of similar records, concealment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from oboro.errors import OboroError
from oboro.explorer.answers import Curve, FrontierPoint
from oboro.explorer.waiting import finished
from oboro.measure.information_loss import certainty_penalty
from oboro.table.labels.recoded_column import RecodedColumn
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.techniques.base import Outcome, Technique, Work
    from oboro.techniques.k_anonymize import KAnonymize

__all__ = ["CURVES", "other_points"]

CURVES: tuple[Curve, ...] = ("k_anonymize", "k_anonymize_local", "local_recode", "k_conceal")
MOST_CONCEALED = 3000  # records: a concealment takes time that grows with their square


def other_points(
    asked: KAnonymize, work: Work, curve: Curve, ks: list[int], version: int, over: Callable[[], bool] | None
) -> Iterator[FrontierPoint]:
    """One point for each k; where the method cannot be asked for that, the point says why."""
    for k in ks:
        point = finished(partial(_point, asked, work, curve, k, version), over)
        if point is None:
            return
        yield point


def _point(asked: KAnonymize, work: Work, curve: Curve, k: int, version: int) -> FrontierPoint:
    suppress = asked.suppress if curve == "k_anonymize_local" else 0.0
    figures: dict[str, Any] = {"curve": curve, "k": k, "suppress": suppress, "exact": False, "bound": None}
    why = _cannot(asked, work, curve)
    if why is None:
        try:
            technique = _technique(asked, curve, k)
            technique.require_people(work.schema.person)
            loss, suppressed = _loss(curve, technique.run(work), work)
            return FrontierPoint(version, **figures, loss=loss, suppressed=suppressed)
        except OboroError as error:
            why = error.words if isinstance(error.words, Message) else Message("text.remarks", said=[str(error)])
    return FrontierPoint(version, **figures, loss=None, suppressed=0, why=why)


def _cannot(asked: KAnonymize, work: Work, curve: Curve) -> Message | None:
    """Why a curve is not drawn: another loss, demands that the method has not, too many records."""
    if asked.loss != "loss":
        return Message("explorer.other_loss", loss=asked.loss)
    beyond = set(asked.model_dump(exclude_defaults=True)) - KNOWN[curve]
    if beyond:
        return Message("explorer.other_demands", curve=curve, demands=sorted(beyond))
    if curve == "k_conceal" and work.data.rows > MOST_CONCEALED:
        return Message("explorer.too_many_to_conceal", rows=work.data.rows, most=MOST_CONCEALED)
    return None


PLAIN = {
    "k",
    "suppress",
    "suppress_people",
    "quasi",
    "loss",
    "search",
    "minimal",
    "time_limit",
    "optimum",
    "levels",
    "recoding",
}
KNOWN: Mapping[Curve, set[str]] = {
    "k_anonymize": PLAIN,
    "k_anonymize_local": PLAIN
    | {"l_diversity", "t_closeness", "alpha", "maximum_risk", "delta_disclosure", "beta_likeness"},
    "local_recode": PLAIN | {"l_diversity", "t_closeness"},
    "k_conceal": PLAIN,
}


def _technique(asked: KAnonymize, curve: Curve, k: int) -> Technique:
    if curve == "k_anonymize_local":
        return asked.model_copy(
            update={"k": k, "recoding": "local", "levels": None, "suppress_people": False, "earlier": []}
        )
    if curve == "local_recode":
        from oboro.techniques.local_recode import LocalRecode

        demands = {"l_diversity": asked.l_diversity, "t_closeness": asked.t_closeness}
        return LocalRecode(k=k, quasi=asked.quasi, **demands)
    from oboro.techniques.k_conceal import KConceal

    return KConceal(k=k, quasi=asked.quasi)


def _loss(curve: Curve, outcome: Outcome, work: Work) -> tuple[float, int]:
    """The normalized certainty penalty of what a method would release, and how much it suppresses."""
    facts = outcome.facts
    if curve == "k_anonymize_local":
        return float(facts["loss"]["value"]), int(facts["suppressed"]["records"])
    if curve == "k_conceal":
        return float(facts["ncp"]), 0
    names = work.schema.chosen(None, curve)
    rows = slice(None)
    recoded = {
        name: RecodedColumn.of(work.data[name], outcome.data[name], work.schema.hierarchy(name, work.data[name]), rows)
        for name in names
    }
    held = {one.column: one.value for one in certainty_penalty(recoded, ()) if one.column is not None}
    weights = np.array([work.schema.attributes[name].weight for name in names])
    return float(np.average([held[name] or 0.0 for name in names], weights=weights)), 0
