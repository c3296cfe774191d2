"""Pk-anonymization: every value is kept with probability ρ, else replaced by a uniform draw from its domain.

After Ikarashi, Kikuchi, Chida and Takahashi, "k-anonymous Microdata Release via Post Randomisation Method" (IWSEC
2015). The argument for the formula is in `docs/guarantees/pk-anonymity.md`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import log
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from oboro.data.column import Column, smallest_unsigned
from oboro.errors import UsageError
from oboro.measures.reconstruction import Domain, Value
from oboro.schema import Schema
from oboro.techniques.base import Outcome, SecretExample, Technique, Work
from oboro.text import Message, Words

__all__ = ["PkAnonymize", "anonymity", "budget", "solve"]


GRID = 1 << 53  # what a generator's uniform numbers are multiples of: "below ρ" then has exactly the chance ρ

Rho = Annotated[float, Field(ge=0, lt=1)]


class PkAnonymize(Technique):
    """Randomize attributes so that a released record cannot be linked to a person with more than 1/k certainty.

    Each value is kept with probability ρ, else replaced by a uniform draw from its domain of |V| values (which may
    draw the same value again).

    Given: n records, attributes with their domains, and k or ρ. The attacker may know the original values of these
    attributes of *all* persons, but none of the other columns; the order of the records tells nothing (if it may,
    shuffle them).
    Promises: Pk-anonymity: no released record is linked to any person with a probability above 1/k, where
    k = 1 + (n − 1)·∏((1 − ρ)/(1 + (|V| − 1)ρ))². And, where the domains do not depend on the data, local ε-differential
    privacy of each record, ε = Σ ln((1 + (|V| − 1)ρ)/(1 − ρ)).
    Checked by: nothing that looks at the release alone, for the promise is about how it was made. So the outcome has no
    promise to verify, and the facts carry n, |V|, ρ, k and ε instead; the owner of both tables can compare them with
    `oboro.pk_evidence`. tests/techniques/test_pk.py checks the formula on all small tables by enumeration.

    >>> released = PkAnonymize(rho=0.9).apply({"sex": ["F", "M"] * 500}, attributes={"sex": {"role": "quasi"}}, seed=1)
    >>> sum(one == other for one, other in zip(released["sex"], ["F", "M"] * 500))  # 950 expected
    950
    """

    step: ClassVar[str] = "pk_anonymize"
    iso: ClassVar[Words] = Message("technique.pk_anonymize.iso")
    examples: ClassVar[Sequence[Mapping[str, Any]]] = ({"k": 2, "attributes": ["sex", "zip"]},)
    secret_example: ClassVar[SecretExample | None] = SecretExample({"k": 2.718})
    random: ClassVar[bool] = True
    by_construction: ClassVar[Words | None] = Message("technique.pk_anonymize.by_construction")
    bounds_linkage: ClassVar[bool] = True

    k: float | None = Field(default=None, gt=1)
    """Nobody may link a record to a person with a probability above 1/k. The largest rho that guarantees this is used."""
    attributes: tuple[str, ...] | None = Field(default=None, min_length=1)
    """The columns to randomize. Without it: all quasi-identifiers."""
    rho: Rho | dict[str, Rho] | None = None
    """The probability of keeping a value: one for all attributes, or one for each. Where it is not given, it is computed from
    k, the same for all. Where both are given, rho must reach k."""
    domain: dict[str, list[Value]] = Field(default_factory=dict)
    """For each attribute the values that replacements are drawn from. Without it: the distinct values in the data, a missing
    value among them. A domain that does not depend on the data is safer: it does not tell which values occurred."""

    @model_validator(mode="after")
    def _enough_is_said(self) -> PkAnonymize:
        if self.k is None and self.rho is None:
            raise ValueError(Message("error_technique.k_or_rho"))
        if short := [name for name, values in self.domain.items() if not values]:
            raise ValueError(Message("error_technique.empty_domain", name=short[0]))
        if self.attributes and len(set(self.attributes)) < len(self.attributes):
            raise ValueError(Message("error_technique.attribute_twice", attributes=list(self.attributes)))
        return self

    def cannot_count_people(self) -> Message | None:
        """Why it takes every row for a person."""
        return Message("technique.pk_anonymize.not_people")

    def run(self, work: Work) -> Outcome:
        """Randomize; the facts carry everything that the guarantee depends on."""
        names = self._names(work.schema)
        work.schema.require(work.data, names, self.step)
        domains = {name: Domain.of(name, work.data[name], self.domain.get(name)) for name in names}
        sizes = {name: len(domain) for name, domain in domains.items()}
        rhos = self.rates(work.data.rows, sizes)
        columns = {name: _randomize(work.data[name], domains[name], rhos[name], work.rng) for name in names}
        data = work.data.with_columns(columns)
        return Outcome(data, work.schema, self._facts(work.data.rows, sizes, rhos))

    def rates(self, records: int, sizes: Mapping[str, int]) -> dict[str, float]:
        """ρ for each attribute, as given or found, for so many records and domains of these sizes."""
        given = self.rho if isinstance(self.rho, dict) else {} if self.rho is None else dict.fromkeys(sizes, self.rho)
        fixed = {name: _on_grid(rho) for name, rho in given.items()}
        free = [name for name in sizes if name not in fixed]
        if self.k is None:
            if free:
                raise UsageError(Message("error_technique.rho_missing", step=self.step, free=free))
            return {name: float(fixed[name]) for name in sizes}
        found = solve(self.k, records, sizes, fixed, step=self.step)
        return {name: float(fixed.get(name, found)) for name in sizes}

    def promised_over(self, schema: Schema) -> list[Sequence[str]]:
        """The attributes that it randomizes, all together."""
        return [self._names(schema)]

    def plan(self, schema: Schema) -> Words:
        """What will be done, and what must be true for the guarantee to mean something."""
        names = self._names(schema)
        aim = Message("technique.pk_anonymize.k_follows")
        if self.k is not None:
            aim = Message("technique.pk_anonymize.aim", k=self.k)
        said = [Message("technique.pk_anonymize.plan", columns=names, rho=self._rho_told(), aim=aim)]
        if drawn := [name for name in names if name not in self.domain]:
            said.append(Message("technique.pk_anonymize.domain_of_data", columns=drawn))
        return Message("text.sentences", said=said)

    def _rho_told(self) -> Words:
        if self.rho is None:
            return Message("technique.pk_anonymize.rho_largest", k=self.k)
        if not isinstance(self.rho, dict):
            return f"{self.rho:g}"
        each = [Message("technique.pk_anonymize.rho_by_column", column=name, rho=rho) for name, rho in self.rho.items()]
        if self.k is None:
            return Message("technique.pk_anonymize.rho_listed", each=each)
        return Message("technique.pk_anonymize.rho_listed_else", each=each, k=self.k)

    def _names(self, schema: Schema) -> list[str]:
        names = self.attributes or schema.quasi
        if not names:
            raise UsageError(Message("error_technique.nothing_to_randomize", step=self.step))
        for what, given in (("rho", self.rho), ("domain", self.domain)):
            if isinstance(given, dict) and (stray := [name for name in given if name not in names]):
                raise UsageError(Message("error_technique.not_randomized", step=self.step, what=what, stray=stray))
        return list(names)

    def _facts(self, records: int, sizes: Mapping[str, int], rhos: Mapping[str, float]) -> dict[str, Any]:
        return {
            "attributes": list(sizes),
            "records": records,
            "k_asked": self.k,
            "k": float(anonymity(records, sizes, rhos)),
            "epsilon": budget(sizes, rhos),
            "rho": dict(rhos),
            "domain_sizes": dict(sizes),
            "declared_domains": [name for name in sizes if name in self.domain],
        }


def anonymity(records: int, sizes: Mapping[str, int], rhos: Mapping[str, float | Fraction]) -> Fraction:
    """k = 1 + (n − 1)·∏((1 − ρ)/(1 + (|V| − 1)ρ))², exactly; an attribute with one value tells nothing, so it counts 1.

    >>> float(anonymity(101, {"sex": 2}, {"sex": 0.5}))
    12.11111111111111
    """
    odds = Fraction(1)
    for name, size in sizes.items():
        if size > 1:
            rho = Fraction(rhos[name])
            odds *= (1 - rho) / (1 + (size - 1) * rho)
    return 1 + max(records - 1, 0) * odds**2


def budget(sizes: Mapping[str, int], rhos: Mapping[str, float]) -> float:
    """ε = Σ ln((1 + (|V| − 1)ρ)/(1 − ρ)): how much a released record can say about its original.

    >>> round(budget({"sex": 2}, {"sex": 0.5}), 4)
    1.0986
    """
    return sum(log((1 + (size - 1) * rhos[name]) / (1 - rhos[name])) for name, size in sizes.items() if size > 1)


def solve(
    k: float, records: int, sizes: Mapping[str, int], fixed: Mapping[str, Fraction], *, step: str = "pk_anonymize"
) -> Fraction:
    """The largest ρ for the attributes that are not fixed with which k is reached.

    k falls as ρ grows, so bisection finds it: over the 2⁵³ values that ρ can take, in exact fractions, because a
    rounding error upwards would break the promise. `UsageError` where even ρ = 0 is not enough.
    """

    def reached(place: int) -> bool:
        rhos = {name: fixed.get(name, Fraction(place, GRID)) for name in sizes}
        return anonymity(records, sizes, rhos) >= Fraction(k)

    if k > records:
        raise UsageError(Message("error_technique.k_unreachable", step=step, k=k, records=records))
    if not reached(0):
        most = float(anonymity(records, sizes, {name: fixed.get(name, Fraction(0)) for name in sizes}))
        raise UsageError(Message("error_technique.k_at_most", step=step, most=most, k=k))
    if not any(size > 1 and name not in fixed for name, size in sizes.items()):
        return Fraction(0)  # nothing is left to choose: attributes with one value stay as they are under any rho
    low, high = 0, GRID  # reached, not reached
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if reached(middle) else (low, middle)
    return Fraction(low, GRID)


def _on_grid(rho: float) -> Fraction:
    """A given ρ, rounded down (by less than 2⁻⁵³) to a probability that is drawn exactly."""
    return Fraction(int(Fraction(rho) * GRID), GRID)


def _randomize(column: Column, domain: Domain, rho: float, rng: np.random.Generator) -> Column:
    places = domain.places(column)
    kept = rng.random(places.size) < rho
    drawn = rng.integers(len(domain), size=places.size) if len(domain) else places
    codes = np.where(kept, places, drawn).astype(smallest_unsigned(len(domain)))
    return Column(domain.values, codes).tidy()
