"""Settings of a delay-free stream: declared once, checked when it is made."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from oboro.hierarchies.spec import HierarchySpec
from oboro.stream.anonymizer import StreamSettings
from oboro.system.files import bytes_of
from oboro.text import Message

__all__ = ["DelayFreeSettings", "Mode"]


Mode = Literal["swap", "count", "paper", "sequential", "fixed"]
COUNTING = ("swap", "count")


class DelayFreeSettings(StreamSettings):
    """The parameters of `DelayFree`."""

    attributes: list[str] = Field(min_length=1)
    """The quasi-identifiers: what is released is anonymous over them."""
    k: int = Field(ge=2)
    """Every release that is not fully suppressed matches at least k − 1 earlier records of the stream."""
    mode: Mode = "swap"
    """How is decided what to suppress: swap, count, paper, sequential or fixed."""
    hierarchies: dict[str, HierarchySpec] = Field({})
    """Attributes that can become coarser before they become `*`; the others are kept or suppressed."""
    l_diversity: dict[str, int] = Field({}, max_length=1)
    """A sensitive attribute and how many different values of it the candidates must have; it is released as it is."""
    keep: list[str] = Field([])
    """Further fields that are released as they are."""
    drop: list[str] = Field([])
    """Further fields that are taken and not released."""
    unnamed: Literal["error", "drop"] = "error"
    """Whether a record with fields that are not named is refused, or taken without them."""
    person: str | None = None
    """The field that says whose record it is; k people are then demanded, not k records. It is not released."""
    horizon: int | None = Field(default=None, ge=1)
    """Only so many of the last records protect a new one; older ones are forgotten."""
    horizon_seconds: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Only records of so many last seconds protect a new one; older ones are forgotten."""
    weights: dict[str, float] = Field({})
    """How much losing an attribute counts against losing another one (1 if not said)."""
    missing: Literal["star", "value"] = "star"
    """Whether a missing value counts as suppressed (and is released as `*`) or is a value like any other."""
    reach: int = Field(default=65_536, ge=1)
    """How many distinct earlier records one search compares at most, the newest ones (swap, count)."""
    initial: int = Field(default=1000, ge=1)
    """How many records the function of `fixed` is made from; they are released fully suppressed."""
    background: bool = True
    """Whether `paper` makes its functions in a thread of its own; otherwise after each record that asks for one."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        self.require_named_once()
        for what, names in (("hierarchies", self.hierarchies), ("weights", self.weights)):
            if unknown := [name for name in names if name not in self.attributes]:
                raise ValueError(
                    Message(
                        "error_stream.not_an_attribute", what=what, unknown=unknown, attributes=list(self.attributes)
                    )
                )
        if bad := [name for name, weight in self.weights.items() if not 0 < weight <= 1000]:
            raise ValueError(Message("error_stream.weights", bad=bad))
        if bad := [name for name, least in self.l_diversity.items() if least < 2]:
            raise ValueError(Message("error_stream.two_values", bad=bad))
        if self.mode == "fixed" and (self.horizon or self.horizon_seconds):
            raise ValueError(Message("error_stream.fixed_mode"))
        given = self.model_fields_set
        for name, modes in (("reach", COUNTING), ("initial", ("fixed",)), ("background", ("paper",))):
            if name in given and self.mode not in modes:
                raise ValueError(Message("error_stream.idle_in_mode", name=name, mode=self.mode))
        if self.mode == "fixed" and self.initial < self.k:
            raise ValueError(Message("error_stream.initial", k=self.k))
        return self

    @property
    def sensitive(self) -> str | None:
        """The sensitive attribute."""
        return next(iter(self.l_diversity), None)

    @property
    def secrets(self) -> int:
        """How many different secrets are demanded."""
        return next(iter(self.l_diversity.values()), 1)

    @property
    def forgets(self) -> bool:
        """Whether there is a horizon."""
        return self.horizon is not None or self.horizon_seconds is not None

    def spec(self, name: str) -> HierarchySpec:
        """The hierarchy of an attribute."""
        return self.hierarchies.get(name) or HierarchySpec()

    def fingerprint(self, folder: Path) -> str:
        """What must not change between a snapshot and its continuation, as text; hierarchy files by what is in them."""
        digest = hashlib.blake2b(self.model_dump_json(exclude={"background", "reach"}).encode(), digest_size=16)
        for name in self.attributes:
            spec = self.spec(name)
            for file in (spec.csv, spec.tree if isinstance(spec.tree, str) else None):
                digest.update(bytes_of(folder / file) if file else b"-")
        return digest.hexdigest()
