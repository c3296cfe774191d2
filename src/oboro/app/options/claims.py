"""What a release is said to keep, as options of a command."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["NOTHING_CLAIMED", "Claims"]


@dataclass(frozen=True)
class Claims:
    """What a release is said to keep."""

    k: int | None = None
    l: float | None = None  # noqa: E741
    l_kind: str = "distinct"
    c: float | None = None
    t: float | None = None
    distance: str = "equal"
    alpha: float | None = None

    def demands(self) -> dict[str, Any]:
        """The same for `oboro.verify` and `oboro.evaluate`."""
        given = asdict(self)
        return {"kind": given.pop("l_kind"), **given}


NOTHING_CLAIMED = Claims()
