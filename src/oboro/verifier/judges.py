"""Registry of the judges of privacy models, by the declaration of the model.

A judge registers itself by the key of the declaration; the judges of `privacy/x` are in `verifier/x`. They regroup the
released table and never ask how it was made.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from oboro.privacy.base import MODELS, PrivacyModel

if TYPE_CHECKING:
    from oboro.hierarchies.hierarchy import Hierarchy
    from oboro.verifier.identity import Model

__all__ = ["judge", "judge_attribute", "judge_of", "judges"]

J = TypeVar("J", bound="Callable[..., Model]")
JUDGES: dict[str, Callable[..., Model]] = {}


def judges(key: str) -> Callable[[J], J]:
    """Register a class, or a function that returns one of several, as the judge of a model."""

    def registered(made: J) -> J:
        JUDGES[key] = made
        return made

    return registered


def judge_of(key: str) -> Callable[..., Model]:
    """Return the judge of a model, loading its module; raise a `LookupError` if the model has no judge."""
    import_module(MODELS[key].__module__.replace(".privacy.", ".verifier."))
    return JUDGES[key]


def judge(declared: PrivacyModel, sample: int = 0, **about: Any) -> Model:
    """Return the judge of a declared model: of a table of so many records, about a sensitive attribute or a population."""
    return judge_of(declared.key)(**declared.judged(sample), **about)


def judge_attribute(declared: PrivacyModel, sensitive: str, hierarchy: Hierarchy | None = None) -> Model:
    """Return the judge of a declared model of a sensitive attribute, with the attribute's hierarchy where it needs one."""
    tree: dict[str, Any] = {"hierarchy": hierarchy} if declared.hierarchical else {}
    return judge(declared, sensitive=sensitive, **tree)
