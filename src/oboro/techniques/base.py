"""What every technique is: parameters that are data, a plan in words, and one act on an encoded table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict

from oboro.errors import PromiseError
from oboro.evaluate.verify import Promise
from oboro.table.dataset import Dataset
from oboro.table.frames import Frame
from oboro.table.schema import Attribute, Schema

__all__ = ["Outcome", "Technique", "Work"]

T = TypeVar("T")


@dataclass(frozen=True)
class Work:
    """What a step is given: the table as it is now, what its columns are, and its own stream of random numbers."""

    data: Dataset
    schema: Schema
    rng: np.random.Generator


@dataclass(frozen=True)
class Outcome:
    """What a step leaves: the table, the schema, facts for the report (counts and parameters), and what it promises."""

    data: Dataset
    schema: Schema
    facts: Mapping[str, Any] = field(default_factory=dict)
    promises: tuple[Promise, ...] = ()


class Technique(BaseModel):
    """One anonymization technique. Parameters are declared once, checked at the door and never changed.

    Subclasses give `step` (their name in a recipe), `run` and `explain`, and say in their docstring what is *Given*, what the
    technique *Promises* and what it is *Checked by*.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    step: ClassVar[str]
    uses_hierarchies: ClassVar[bool] = False
    moves_records: ClassVar[bool] = False  # True: afterwards the n-th record may be another person's
    changes_values: ClassVar[bool] = True  # False: only order or whole columns change, so a column keeps its values

    @property
    def removes_identity(self) -> tuple[str, ...]:
        """The columns that stop being identifiers by this step (dropped or pseudonymized)."""
        return ()

    def run(self, work: Work) -> Outcome:
        """Do it."""
        raise NotImplementedError

    def explain(self, schema: Schema) -> str:
        """Say in one or two plain sentences what will be done, before any row is touched."""
        raise NotImplementedError

    def apply(self, frame: T, *, attributes: Mapping[str, Any] | None = None, seed: int | None = None) -> T:
        """Apply this one technique to a pandas, polars or pyarrow frame; the same kind comes back, the frame is not changed.

        `attributes` maps columns to roles and hierarchies as in a recipe; columns that are not named count as `other`. What the
        technique promises is verified on the result before it is returned.
        """
        source = Frame.read(frame)
        given = {name: Attribute.model_validate(value) for name, value in (attributes or {}).items()}
        schema = Schema({name: given.get(name, Attribute()) for name in source.data})
        schema.require(source.data, given, "attributes")
        outcome = self.run(Work(source.data, schema, np.random.default_rng(seed)))
        released = replace(source, data=outcome.data)
        written = released.write()
        _verify(self.step, outcome.promises, written)
        return written  # type: ignore[no-any-return]


def _verify(step: str, promises: tuple[Promise, ...], written: object) -> None:
    """Read the release as anybody else would and check every promise on it."""
    if not promises:
        return
    data = Frame.read(written).data
    for promise in promises:
        verification = promise.verify(data)
        if not verification.holds:
            raise PromiseError(f"{step}: {verification.sentence()}")
