"""A service within a program of one's own: `async for released in recipe.stream().serve(source, sink)`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

from oboro.recipe.service.service_making import make_service
from oboro.recipe.service.service_settings import ServiceSettings
from oboro.recipe.stream_plan import StreamOptions
from oboro.stream.runner.endpoints import StopRequest
from oboro.stream.service.deciding import Decided
from oboro.stream.service.health_page import health_page, listen_secrets
from oboro.stream.service.watching import Watch

if TYPE_CHECKING:
    from oboro.recipe.recipe import Recipe

__all__ = ["served"]

AHEAD = 4096  # released records that wait for whoever iterates, before the service waits too


async def served(
    recipe: Recipe, options: StreamOptions, source: str, sink: str, settings: dict[str, Any]
) -> AsyncIterator[dict[str, Any]]:
    """The records that were published, one by one; the service ends with the iteration."""
    given = ServiceSettings.load(None, {"recipe": ".", **options.given, **settings, "from": source, "to": sink})
    stop, watch = StopRequest(), Watch()
    watch.live_within = given.live_within
    with ExitStack() as refused:
        refused.callback(stop.close)
        if given.listen is not None:
            refused.enter_context(health_page(given.listen, watch, *listen_secrets()))
        service = make_service(recipe, given, watch=watch, stop=stop)
        opened = refused.pop_all()
    loop, queue = asyncio.get_running_loop(), asyncio.Queue[bytes | None](AHEAD)
    decode = service.forms[1].decode

    def tell(count: int, done: Decided, seconds: float) -> None:
        for body in done.bodies:  # blocks while nobody takes them: back-pressure
            asyncio.run_coroutine_threadsafe(queue.put(body), loop).result()

    watch.told.append(tell)
    running = asyncio.create_task(asyncio.to_thread(service.run))
    running.add_done_callback(lambda _: asyncio.ensure_future(queue.put(None)))
    try:
        while (body := await queue.get()) is not None:
            record = decode(body)
            if record is not None:
                yield record
        await running
    finally:
        stop.ask()
        while not running.done():
            with suppress(asyncio.QueueEmpty):
                queue.get_nowait()
            await asyncio.sleep(0.01)
        opened.close()
