"""What limits on the re-identification risk ask of classes: how large each must be, and how many there may be."""

from __future__ import annotations

from oboro.errors import PromiseError
from oboro.text import Message

__all__ = ["least_size", "most_classes"]


def least_size(risk: float) -> int:
    """The smallest class whose risk, by the verifier's own division, is not above the limit.

    >>> least_size(0.2), least_size(0.3)
    (5, 4)
    """
    size = max(1, int(1 / risk) - 1)
    while 1 / size > risk:
        size += 1
    return size


def most_classes(risk: float, rows: int, step: str) -> int:
    """How many classes keep an average risk, with the verifier's own division."""
    most = int(risk * rows) + 1
    while most > 0 and most / rows > risk:
        most -= 1
    if most == 0:
        least = int(1 / risk)
        raise PromiseError(Message("error_technique.average_risk", step=step, risk=risk, least=least, rows=rows))
    return most
