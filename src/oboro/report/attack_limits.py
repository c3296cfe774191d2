"""How often an attack may be right where the promised model holds: what the model allows is no finding.

- k-anonymity: a person is linked to a record with a probability of at most 1/k (Sweeney 2002). Two halves of what is known lead
  to the same record with at most that probability too: each leads to a class of k or more.
- A sensitive value is guessed with at most the share that it has in its class: α of (α, k)-anonymity; c / (1 + c) of recursive
  (c, l)-diversity; the share of the most frequent value in the table plus t, of t-closeness with equal distances; 2^δ times that
  share of δ-disclosure; 1 + β times it of β-likeness (enhanced: 1 + min(β, −ln p), and p · (1 − ln p) grows with p); of entropy
  l-diversity the largest share that an entropy of log l leaves. Distinct l-diversity sets no such bound: a value may have all but
  l − 1 records of a class. Then the control is all there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import exp, log

from oboro.attacks.rates import Attack
from oboro.measure.exposure.secret_certainty import CertainSecrets
from oboro.text import Message
from oboro.verifier.verdict import Verdict

__all__ = ["largest_share", "limited"]

BY_IDENTITY = ("record_linkage", "linkability", "row_order")
CATEGORY = Message("attack.right.category")


def limited(
    found: Sequence[Attack],
    k: int | None,
    k_is: Message | None,
    verdicts: Sequence[Verdict],
    secrets: Sequence[CertainSecrets],
    values: dict[str, int],
) -> list[Attack]:
    """Each attack with what the model that holds allows it. `values` counts the different values of each secret."""
    everywhere = {one.sensitive: one.everywhere for one in secrets}
    return [_limited(one, k, k_is, verdicts, everywhere, values) for one in found]


def _limited(
    one: Attack,
    k: int | None,
    k_is: Message | None,
    verdicts: Sequence[Verdict],
    everywhere: dict[str, float],
    values: dict[str, int],
) -> Attack:
    if one.kind in BY_IDENTITY and k is not None and k > 1:
        return _judged(one, 1 / k, k_is)
    if one.kind != "inference" or one.secret is None:
        return one
    about = [verdict for verdict in verdicts if verdict.holds and verdict.model.values.get("sensitive") == one.secret]
    bounds = [_bound(verdict, everywhere.get(one.secret), values.get(one.secret, 1)) for verdict in about]
    known = [(bound, verdict.model) for verdict, bound in zip(about, bounds, strict=True) if bound is not None]
    return _judged(one, *min(known, key=lambda pair: pair[0])) if known and _exact(one) else one


def _exact(one: Attack) -> bool:
    """Whether only the very value is right: of numbers also one near it is, which no model speaks of."""
    return one.means is not None and one.means.values.get("form") == CATEGORY


def _judged(one: Attack, limit: float, by: Message | None) -> Attack:
    """The attack with its limit; it is allowed unless it is right more often, beyond its error."""
    return replace(one, limit=limit, limited_by=by, allowed=one.found.low <= limit)


def _bound(verdict: Verdict, everywhere: float | None, values: int) -> float | None:
    """The largest share of a class that one value may have where a model holds; None where the model does not say."""
    told = verdict.model.values
    if verdict.id == "model.alpha_k_anonymity":
        return float(told["alpha"])
    if verdict.id == "model.recursive_l_diversity" and told["l"] > 1:
        return float(told["c"] / (1 + told["c"]))
    if verdict.id == "model.entropy_l_diversity":
        return largest_share(float(told["l"]), values)
    if everywhere is None:
        return None
    if verdict.id == "model.t_closeness" and told["distance"] == "equal":
        return min(1.0, everywhere + float(told["t"]))
    if verdict.id in ("model.delta_disclosure", "model.delta_disclosure_of_held"):
        return min(1.0, everywhere * float(2.0 ** told["delta"]))
    if verdict.id in ("model.basic_likeness", "model.enhanced_likeness"):
        gain = float(told["beta"])
        return min(1.0, everywhere * (1 + (gain if "basic" in verdict.id else min(gain, -log(everywhere)))))
    return None


def largest_share(l: float, values: int) -> float:  # noqa: E741  (the literature's letter)
    """The largest share that one of so many values can have where the entropy is log l or more.

    The entropy is largest where the other values share the rest evenly: h(p) + (1 − p) log(values − 1), which falls from
    p = 1 / values on.

    >>> round(largest_share(2, 2), 6), round(largest_share(1.5, 2), 3), largest_share(1, 5)
    (0.5, 0.86, 1.0)
    """
    if values < 2 or l <= 1:
        return 1.0
    low, high = 1 / values, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _perplexity(middle, values) >= l else (low, middle)
    return low


def _perplexity(share: float, values: int) -> float:
    parts = [share, *([(1 - share) / (values - 1)] * (values > 1))]
    weights = [1, values - 1]
    return exp(-sum(n * p * log(p) for n, p in zip(weights, parts, strict=True) if p > 0))
