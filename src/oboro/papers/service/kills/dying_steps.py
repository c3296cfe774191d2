"""Let a service kill itself at a step: before a block, once it is noted, half published, published, or once a snapshot is saved."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

from oboro.stream.runner.state_folder import StateFolder
from oboro.stream.service.service import Service

__all__ = ["STEPS", "arm"]

STEPS = ("before", "noted", "half", "published", "snapshot")


def arm(service: Service, step: str, times: int) -> None:
    """SIGKILL when the step is taken once more than so many times."""
    left = times

    def die() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def after(act: Callable[..., Any]) -> Callable[..., Any]:
        def acted(*given: Any) -> Any:
            result = act(*given)
            die()
            return result

        return acted

    publish = service.sink.publish

    def half(at: int, bodies: Any, mark: str) -> None:
        publish(at, bodies[: len(bodies) // 2] if left == 0 and len(bodies) > 1 else bodies, mark)
        die()

    if step == "noted":
        StateFolder.log = after(StateFolder.log)  # type: ignore[method-assign]
    elif step == "snapshot":
        service._make = _dying_save(service._make, die)
    elif step == "half":
        service.sink.publish = half  # type: ignore[method-assign, assignment]
    elif step == "published":
        service.sink.publish = after(publish)  # type: ignore[method-assign]
    else:
        service.source.read = after(service.source.read)  # type: ignore[method-assign]


def _dying_save(make: Callable[[], Any], die: Callable[[], None]) -> Callable[[], Any]:
    def made() -> Any:
        anonymizer = make()
        kind = type(anonymizer)
        save = kind.save

        def dying(self: Any, *given: Any, **named: Any) -> None:
            save(self, *given, **named)
            die()

        kind.save = dying
        return anonymizer

    return made
