"""Check several randomized columns together: how well an attacker who knows all of them finds a person's record.

Each value is kept with probability ρ, independently. So steps that randomize different attributes are one
randomization of all of them, and k = 1 + (n − 1)·∏((1 − ρ)/(1 + (|V| − 1)ρ))² over all of them: a product, which is
smaller than each step's own k. Where classes of other columns are guaranteed too, an attacker who knows those knows
the class: n is then the size of the smallest class. The argument is in docs/guarantees/pk-anonymity.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from oboro.data.dataset import Dataset
from oboro.disclosure.gate import Findings, NeedsRows, ReleaseCandidate
from oboro.errors import PromiseError
from oboro.text import Message
from oboro.verifier.classes import class_sizes
from oboro.verifier.identity import KAnonymity
from oboro.verifier.promises import Promise
from oboro.verifier.verdict import Verdict

__all__ = ["check"]


def check(candidate: ReleaseCandidate) -> Findings:
    """Return the verdict over several randomizations, or over one beside classes.

    Raises a `PromiseError` where all guarantees must hold together, and one does not.
    """
    facts = [step.facts for step in candidate.steps if step.traits.bounds_linkage and "rho" in step.facts]
    verdict = _joint_linkage(facts, candidate.released, candidate.guarantees) if facts else None
    found = Findings(joint=() if verdict is None else (verdict,))
    if candidate.together:
        if candidate.verification is None:
            raise NeedsRows(list(candidate.released))
        whole = found.added_to(candidate.verification)
        if whole.apart:
            raise PromiseError(Message("error_recipe.not_together", verdicts=[one.message() for one in whole.apart]))
    return found


def _joint_linkage(facts: Sequence[Mapping[str, Any]], data: Dataset, promises: Sequence[Promise]) -> Verdict | None:
    drawn = _most_protective(facts, data)
    classed = list(dict.fromkeys(name for one in promises for name in one.quasi if name in data))
    others = [name for name in classed if name not in drawn]
    if not drawn or (len(facts) == 1 and not classed):
        return None
    columns = [*drawn, *others]
    asked = [float(one["k_asked"] or one["k"]) for one in facts]
    asked += [float(model.required) for one in promises for model in one.models if isinstance(model, KAnonymity)]
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
    """Return (1 − ρ)/(1 + (|V| − 1)ρ) of each released randomized column; of several draws that which hides most.

    Later and earlier steps on the column cannot disclose more of it.
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
