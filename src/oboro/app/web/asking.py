"""A question of the page: a worker answers it, the server only passes on what comes.

An answer is a stream of JSON lines: `{"stage": …}` while the work goes on, then one `{"result": …}` or `{"error": …}`. A browser
that stops listening cancels the work; so does a newer question of the same kind.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from oboro.app.language.unforeseen import unforeseen
from oboro.app.web.guard import Receive, Scope, Send
from oboro.errors import OboroError
from oboro.text import Message, Words, say
from oboro.text.raw_values import values_shown

__all__ = ["Answering", "Ask", "Cancelled"]

HEADERS = [(b"content-type", b"application/x-ndjson"), (b"x-accel-buffering", b"no")]
WORKERS = 6


class Cancelled(Exception):
    """Nobody waits for the answer any more."""


@dataclass(frozen=True)
class Ask:
    """One question while it is answered: in which language, who hears how far it is, and whether anybody still waits."""

    lang: str
    hear: Callable[[dict[str, Any]], None]
    cancel: threading.Event = field(default_factory=threading.Event)

    def tell(self, stage: Words, done: int = 0, total: int | None = None) -> None:
        """Say how far the work is; where nobody waits any more, it ends here."""
        if self.cancel.is_set():
            raise Cancelled
        self.hear({"stage": say(stage, self.lang), "done": done, "total": total})

    def say(self, words: Words) -> str:
        """Words in the reader's language. The page shows the owner's own data to the owner: values may be shown."""
        return words if isinstance(words, str) else words.show(self.lang)


Handler = Callable[[Any, dict[str, Any], Ask], Any]


class Answering:
    """Workers that answer questions, and the newest question of each kind."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="oboro-web")
        self._newest: dict[str, tuple[threading.Event, int]] = {}
        self._running: set[threading.Event] = set()

    def close(self) -> None:
        """Cancel everything."""
        for one in list(self._running):
            one.set()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def supersede(self, kind: str, cancel: threading.Event, move: int | None) -> None:
        """This is the newest question of its kind: the one before it need not be answered. A move that comes late ends itself."""
        before, newest = self._newest.get(kind, (None, -1))
        if move is not None and move < newest:
            cancel.set()
            return
        self._newest[kind] = cancel, newest if move is None else move
        if before is not None:
            before.set()

    async def respond(
        self,
        work: Callable[[Ask], Any],
        lang: str,
        scope: Scope,
        receive: Receive,
        send: Send,
        kind: str | None = None,
        move: int | None = None,
    ) -> None:
        """Answer one question; of some kinds only the newest one, which the number of a `move` tells."""
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        cancel = threading.Event()
        if kind is not None:
            self.supersede(kind, cancel, move)
        self._running.add(cancel)
        gone = asyncio.ensure_future(_disconnected(receive))
        try:
            async for line in self._lines(work, lang, cancel, gone):
                body = json.dumps(line, ensure_ascii=False, default=str).encode() + b"\n"
                await send({"type": "http.response.body", "body": body, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            cancel.set()
            self._running.discard(cancel)
            gone.cancel()

    async def _lines(
        self, work: Callable[[Ask], Any], lang: str, cancel: threading.Event, gone: asyncio.Future[None]
    ) -> AsyncIterator[dict[str, Any]]:
        loop, heard = asyncio.get_running_loop(), asyncio.Queue[dict[str, Any]]()
        ask = Ask(lang, lambda line: _hear(loop, heard, line), cancel)
        self._pool.submit(lambda: ask.hear(_answered(work, ask)))
        while not gone.done():
            coming = asyncio.ensure_future(heard.get())
            both: set[asyncio.Future[Any]] = {coming, gone}
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if not coming.done():
                coming.cancel()
                return
            line = coming.result()
            yield line
            if "stage" not in line:
                return


def _hear(loop: asyncio.AbstractEventLoop, heard: asyncio.Queue[dict[str, Any]], line: dict[str, Any]) -> None:
    with suppress(RuntimeError):  # the server has ended
        loop.call_soon_threadsafe(heard.put_nowait, line)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _of_what_came(error: BaseException) -> bool:
    """Whether the page's own code could not read what the question gives: the library below it checks what it is given."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    return place is not None and place.tb_frame.f_globals["__name__"].startswith("oboro.app.web.")


def _answered(work: Callable[[Ask], Any], ask: Ask) -> dict[str, Any]:
    """The result, or what went wrong in words. What nobody foresaw is told by its place only: its text may hold values."""
    try:
        with values_shown():
            from oboro.explorer.answers import plain  # loads what takes a second

            return {"result": plain(work(ask))}
    except Cancelled:
        return {"error": {"kind": "cancelled", "text": ""}}
    except OboroError as error:
        return {"error": {"kind": type(error).__name__, "text": error.show(ask.lang)}}
    except (TypeError, ValueError, OverflowError, AttributeError) as error:
        said = Message("error_web.wrong_kind") if _of_what_came(error) else unforeseen(error)
        return {
            "error": {
                "kind": "internal" if said.id != "error_web.wrong_kind" else "UsageError",
                "text": said.say(ask.lang),
            }
        }
    except Exception as error:
        return {"error": {"kind": "internal", "text": unforeseen(error).say(ask.lang)}}
