"""The parameters of a window: declared once, checked when it is made."""

from __future__ import annotations

import hashlib
from typing import Literal, Self

from pydantic import Field, model_validator

from oboro.decide.neighbours.search_plan import Kind, SearchPlan
from oboro.stream.stream_settings import StreamSettings
from oboro.text import Message

__all__ = ["WindowSettings"]


class WindowSettings(StreamSettings):
    """The parameters of `Window`."""

    attributes: list[str] = Field(min_length=1)
    """The quasi-identifiers: what is released is anonymous over them. Numbers, unless they stand in `categories`."""
    k: int = Field(ge=2)
    """Every released combination of the attributes occurs at least k times."""
    window: int = Field(default=10_000, ge=2, le=10_000_000)
    """How many records are held at most; a record waits for at most one fewer."""
    index: Kind = "auto"
    """How neighbours are found: auto (exact, for many heads at once), exhaustive, fdh or fdhq."""
    group: Literal["grow", "paper"] = "grow"
    """Whether the next member is nearest to the centre of the group so far, or to its head."""
    categories: list[str] = Field([])
    """Attributes that are no numbers: the most frequent value of the group is released."""
    l_diversity: dict[str, int] = Field({}, max_length=1)
    """A sensitive attribute and how many different values of it a group must have; it is released as it is."""
    keep: list[str] = Field([])
    """Further fields that are released as they are."""
    drop: list[str] = Field([])
    """Further fields that are taken and not released."""
    unnamed: Literal["error", "drop"] = "error"
    """Whether a record with fields that are not named is refused, or taken without them."""
    person: str | None = None
    """The field that says whose record it is; a group then has k people, not k records. It is not released."""
    weights: dict[str, float] = Field({})
    """How much an attribute counts in a distance against another one (1 if not said)."""
    scaling: Literal["learned", "none"] | dict[str, float] = "learned"
    """Numbers are divided by their standard deviation in the window (learned), by nothing, or by what is given."""
    max_delay: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Seconds after which a record is released even if the window is not full."""
    cache: int | None = Field(default=None, ge=1)
    """How many published centroids are remembered, which later records may join; as many as the window if not said."""
    anchors: int | None = Field(default=None, ge=1, le=20)
    """fdh, fdhq: anchors in a set; so many that a region has about ten records if not said."""
    sets: int | None = Field(default=None, ge=1, le=1000)
    """fdh, fdhq: sets of anchors (MA-); 100 if not said."""
    split: list[float] | None = None
    """fdhq: how the radii of an anchor part the data, such as [22, 28, 28, 22]; quarters if not said."""
    p: int | None = Field(default=None, ge=1)
    """fdh, fdhq: a search looks at 2pk candidates or more; 2 if not said."""
    batch: int | None = Field(default=None, ge=1, le=65_536)
    """auto: how many heads are searched at once (128). Fewer shorten the longest pause and cost time over all."""
    order: Literal["exchanged", "kept"] = "exchanged"
    """exchanged: members of a new group leave their other fields in each other's places, by chance; kept: each in its own."""
    seed: int | None = Field(default=None, ge=0)
    """Repeats where anchors are and how places are exchanged. For tests: whoever has it can undo the exchange."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        self.require_named_once()
        scaled = self.scaling if isinstance(self.scaling, dict) else {}
        for what, names, known in (
            ("categories", self.categories, self.attributes),
            ("weights", self.weights, self.attributes),
            ("scaling", scaled, self.numbers),
        ):
            if unknown := [name for name in names if name not in known]:
                raise ValueError(Message("error_stream.not_among", what=what, unknown=unknown, known=list(known)))
        for what, values in (("weights", self.weights), ("scaling", scaled)):
            if bad := [name for name, value in values.items() if not 0 < value < 1e100]:
                raise ValueError(Message("error_stream.positive", what=what, bad=bad))
        if bad := [name for name, least in self.l_diversity.items() if not 2 <= least <= self.k]:
            raise ValueError(Message("error_stream.window_l", bad=bad, k=self.k))
        if self.window < 2 * self.k - 1:
            raise ValueError(Message("error_stream.window_size", least=2 * self.k - 1, window=self.window))
        if self.p is not None and self.index not in ("fdh", "fdhq"):
            raise ValueError(Message("error_stream.idle_p", index=self.index))
        return self

    @property
    def plan(self) -> SearchPlan:
        """The index."""
        return SearchPlan.of(
            self.index, anchors=self.anchors, sets=self.sets, split=self.split, batch=self.batch, window=self.window
        )

    @property
    def numbers(self) -> list[str]:
        """The attributes that are numbers."""
        return [name for name in self.attributes if name not in self.categories]

    def fingerprint(self) -> str:
        """What must not change between a snapshot and its continuation, as text."""
        text = self.model_dump_json(exclude={"batch"})
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
