"""Several randomized columns, linked together: how well, at most, somebody who knows all of them finds a person's record.

Each value is kept with probability ρ, on its own. So steps that randomize different attributes are one randomization of all
of them, and k = 1 + (n − 1)·∏((1 − ρ)/(1 + (|V| − 1)ρ))² over all of them: a product, which is smaller than each step's own k.
Where classes of other columns are promised too, whoever knows those knows the class: n is then the size of the smallest class.
The argument is in docs/guarantees/pk-anonymity.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from oboro.errors import PromiseError
from oboro.table.dataset import Dataset
from oboro.text import Message
from oboro.verifier.verdict import Verdict, Verification

if TYPE_CHECKING:
    from oboro.recipe.release import StepRecord
    from oboro.verifier.promise_check import Promise

__all__ = ["with_linkage"]


def with_linkage(
    found: Verification,
    data: Dataset,
    promises: Sequence[Promise],
    steps: Sequence[StepRecord],
    *,
    required: bool = False,
) -> Verification:
    """The verification, and what comes of several randomizations, or of one beside classes.

    Raises a `PromiseError` where all promises are `required` to hold together, and one does not.
    """
    facts = [step.facts for step in steps if step.traits.bounds_linkage and "rho" in step.facts]
    verdict = _joint_linkage(facts, data, promises) if facts else None
    whole = found if verdict is None else replace(found, joint=(*found.joint, verdict))
    if required and whole.apart:
        raise PromiseError(Message("error_recipe.not_together", verdicts=[one.message() for one in whole.apart]))
    return whole


def _joint_linkage(facts: Sequence[Mapping[str, Any]], data: Dataset, promises: Sequence[Promise]) -> Verdict | None:
    from oboro.verifier.classes import class_sizes

    drawn = _most_protective(facts, data)
    classed = list(dict.fromkeys(name for one in promises for name in one.quasi if name in data))
    others = [name for name in classed if name not in drawn]
    if not drawn or (len(facts) == 1 and not classed):
        return None
    columns = [*drawn, *others]
    asked = [float(one["k_asked"] or one["k"]) for one in facts]
    asked += [float(model.required) for one in promises for model in one.models if model.message == "model.k_anonymity"]
    model, required = Message("model.pk_anonymity", k=max(asked)), max(asked)
    secrets = {getattr(model, "sensitive", None) for one in promises for model in one.models}
    if mixed := [name for name in drawn if name in {*classed, *secrets}]:
        note = Message("verdict.linkage_unknown", columns=mixed)
        return Verdict(False, model, required, None, 0, 0, 0, (), note).jointly(columns)
    least = min(int(one["records"]) for one in facts)
    if others and data.rows:
        least = min(least, int(class_sizes(data, others).min()))
    joint = 1 + max(least - 1, 0) * _product(drawn.values()) ** 2
    note = Message("verdict.linkage", chance=float(1 / joint), k=float(joint))
    verdict = Verdict(joint >= Fraction(required), model, required, float(joint), 1, 0, 0, (), note)
    return (verdict if verdict.holds else replace(verdict, broken_groups=1, broken_records=data.rows)).jointly(columns)


def _most_protective(facts: Sequence[Mapping[str, Any]], data: Dataset) -> dict[str, Fraction]:
    """For each randomized column that is released (1 − ρ)/(1 + (|V| − 1)ρ); of several draws the one that hides most.

    What is done to a column after it was drawn cannot tell more about it, nor can what was done before.
    """
    found: dict[str, Fraction] = {}
    for one in facts:
        for name, size in one["domain_sizes"].items():
            if name in data:
                rho = Fraction(one["rho"][name])
                odds = (1 - rho) / (1 + (size - 1) * rho) if size > 1 else Fraction(1)
                found[name] = max(found.get(name, Fraction(0)), odds)
    return found


def _product(numbers: Any) -> Fraction:
    found = Fraction(1)
    for one in numbers:
        found *= one
    return found
