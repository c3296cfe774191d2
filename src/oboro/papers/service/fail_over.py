"""How long a stream stands still when the process that leads it is stopped without a word."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Sequence

from oboro.papers.service.feeding import wait_until
from oboro.papers.service.local_brokers import LocalBroker, ended, forked

__all__ = ["taken_over"]

NOBODY = "nobody took over"


def taken_over(
    broker: LocalBroker,
    source: str,
    target: str,
    lead: Callable[[], object],
    first: Sequence[bytes],
    more: Sequence[bytes],
    settle: float = 1.0,
) -> float:
    """Seconds from the stop of the leader until the other has released what came then. `lead` runs a service with a lease;
    within `settle` seconds the second one has started.

    The leader wakes up afterwards, and must publish nothing; whoever asks looks at the output.
    """
    broker.send(source, first)
    leader = forked(lead)
    wait_until(lambda: _held(broker, target) >= len(first), NOBODY)
    other = forked(lead)
    time.sleep(settle)  # it stands by
    os.kill(leader, signal.SIGSTOP)  # a leader that does not know that it is gone
    began = time.monotonic()
    broker.send(source, more)
    wait_until(lambda: _held(broker, target) >= len(first) + len(more), NOBODY)
    took = time.monotonic() - began
    os.kill(leader, signal.SIGCONT)
    time.sleep(0.5)
    ended(leader, signal.SIGKILL)
    ended(other, signal.SIGTERM)
    return took


def _held(broker: LocalBroker, target: str) -> int:
    try:
        return len({json.loads(body)["note"] for _, body in broker.held(target)})
    except Exception:  # it is not there yet
        return -1
