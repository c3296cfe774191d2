"""Server of the web interface: access control, questions and answers, files and tickets, states, and routes.

The desk keeps one table and the states of the session. Every state has a number, and every answer carries the number of
the state to which it belongs. A state is never changed; so a late answer is recognised as one to an older state, and
undo is to take the state before.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
import socket
import threading
import time
import webbrowser
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from html import escape
from importlib import import_module
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import count
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import uvicorn
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from oboro.errors import FileError, InputError, OboroError, UsageError
from oboro.io.formats.base import read_endings
from oboro.system.files import ScratchFolder, open_private, require_file
from oboro.text import LANGUAGES, Message, Words, say
from oboro.text.language import READING, os_reason
from oboro.text.message import catalogue
from oboro.text.raw import values_shown
from oboro.text.unforeseen import unforeseen

if TYPE_CHECKING:
    from oboro.explorer.session import Session
    from oboro.recipe.recipe import Recipe
    from oboro.recipe.release import Release

__all__ = [
    "QUESTIONS",
    "AddressFile",
    "Answering",
    "Ask",
    "Cancelled",
    "Desk",
    "FirstTable",
    "Guard",
    "Offer",
    "OpenTable",
    "PageServer",
    "Picker",
    "State",
    "Tickets",
    "allowed_hosts",
    "ending_of",
    "first_table",
    "handler_of",
    "load_screens",
    "page_app",
    "page_server",
    "received_json",
    "save_body",
]


# Address file ---------------------------------------------------------------------------------------------------------
# A file that leads the browser to the page, so that the token is in no command line.


PAGE = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
    '<meta http-equiv="refresh" content="0;url={url}"><title>oboro</title></head>'
    '<body><p><a href="{url}">oboro</a></p></body></html>\n'
)
# Browsers that are snaps see neither the temporary folder nor hidden files, only the rest of the home folder.
SNAPS = Path("/snap/bin")


class AddressFile:
    """A page of mode 0600 with the address; removed once the page was opened, and at the end."""

    def __init__(self, scratch: ScratchFolder) -> None:
        self._scratch = scratch
        self._path: Path | None = None

    def write(self, url: str) -> str:
        """Write the file, and return its own address, which has no token."""
        path = self._scratch.file(".html")
        if SNAPS.is_dir() and os.access(Path.home(), os.W_OK):
            path = Path.home() / f"oboro-{secrets.token_hex(8)}.html"
            self._scratch.remove_too(path)
        with os.fdopen(open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "w", encoding="utf-8") as file:
            file.write(PAGE.format(url=escape(url)))
        self._path = path
        return path.as_uri()

    def remove(self) -> None:
        """Remove the file; the page has the token now."""
        path, self._path = self._path, None
        if path is not None:
            path.unlink(missing_ok=True)


# Access control -------------------------------------------------------------------------------------------------------
# Access only for the page that was opened with the token, in a browser that names the origin of a request.
#
# A server on loopback can be reached by every web site that the same browser shows. So each request must name this
# server as its host (against DNS rebinding), must come from this page (Origin, Sec-Fetch-Site), and, unless it fetches
# a part of the page itself or a file for which it has a ticket, must bring the token as a header. No cookie is ever
# set.


Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

TOKEN = "x-oboro-token"
POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",
        "frame-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ]
)
HEADERS = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}


def allowed_hosts(host: str, port: int) -> frozenset[str]:
    """The names, with the port, under which a browser may ask for this server."""
    loopback = ("127.0.0.1", "localhost", "[::1]")
    named = f"[{host}]" if ":" in host else host
    return frozenset(f"{one}:{port}" for one in {*loopback, named})


@dataclass(frozen=True)
class Guard:
    """Refuses what is not asked by the page; gives every answer the headers that keep it inside."""

    app: Callable[[Scope, Receive, Send], Awaitable[None]]
    token: str
    hosts: frozenset[str]
    opened: Callable[[], None] = lambda: None
    """Called with each request that has the token."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        why = self._refused(scope, Headers(scope=scope))
        answer = self.app if why is None else PlainTextResponse(why[1], status_code=why[0])
        await answer(scope, receive, _with_headers(send))

    def _refused(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            return 421, "unknown host"
        if (origin := headers.get("origin")) is not None and origin not in _origins(self.hosts):
            return 403, "another origin"
        private = scope["path"].startswith("/api/")
        came_from = headers.get("sec-fetch-site")
        allowed = {None, "same-origin"} if private else {None, "same-origin", "none"}
        if came_from not in allowed and not _opens_the_page(scope, headers):
            return 403, "another site"
        if private and not secrets.compare_digest(headers.get(TOKEN, "").encode(), self.token.encode()):
            return 401, "no token"
        if private:
            self.opened()
        return None


def _opens_the_page(scope: Scope, headers: Headers) -> bool:
    """Whether a browser opens the page itself in a tab: from the file with its address, or by a link.

    The page holds no data and gets none without the token, which a link of another site does not have.
    """
    return (
        (scope["method"], scope["path"]) == ("GET", "/")
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
    )


def _origins(hosts: Iterable[str]) -> set[str]:
    return {f"http://{host}" for host in hosts}


def _with_headers(send: Send) -> Send:
    """Every answer is kept nowhere and may load nothing from elsewhere; a page with a policy of its own keeps that."""

    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending


# Questions and answers ------------------------------------------------------------------------------------------------
# A question of the page: a worker answers it, the server only passes the answer on.
#
# An answer is a stream of JSON lines: `{"stage": …}` during the work, then one `{"result": …}` or `{"error": …}`. A
# browser that disconnects cancels the work; so does a newer question of the same kind.


STREAM_HEADERS = [(b"content-type", b"application/x-ndjson"), (b"x-accel-buffering", b"no")]
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
        await send({"type": "http.response.start", "status": 200, "headers": STREAM_HEADERS})
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
    return place is not None and place.tb_frame.f_globals["__name__"].startswith("oboro.web.")


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


# Request bodies -------------------------------------------------------------------------------------------------------
# Bytes of requests: counted on arrival, since a chunked body does not announce its length.


MOST_JSON = 32 << 20  # a hierarchy may have many rows


def ending_of(name: str) -> str:
    """Return the ending that chooses the format of a file; empty where no format has it."""
    low = name.lower()
    return max((one for one in read_endings() if low.endswith(one)), key=len, default="")


async def received_json(request: Request) -> dict[str, Any]:
    """The body as an object; refused where it is too long or none."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MOST_JSON:
            raise InputError(Message("error_web.too_long", most=MOST_JSON))
    try:
        found = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise UsageError(Message("error_web.no_json"))
    return Given(found)


class Given(dict[str, Any]):
    """What a question gives. One that lacks a field is refused; the page itself never asks so, but whoever has its token can."""

    def __missing__(self, name: str) -> Any:
        raise UsageError(Message("error_web.lacks", name=name))


async def save_body(request: Request, path: Path, most: int) -> int:
    """Save the body; where it grows beyond `most` bytes, whatever it said before, nothing of it stays."""
    if int(request.headers.get("content-length") or 0) > most:
        raise InputError(Message("error_web.too_long", most=most))
    count = 0
    try:
        with path.open("xb") as file:
            async for part in request.stream():
                count += len(part)
                if count > most:
                    raise InputError(Message("error_web.too_long", most=most))
                file.write(part)
    except BaseException:  # the browser may be gone as well
        path.unlink(missing_ok=True)
        raise
    return count


def name_given(request: Request) -> str:
    """What the file is called where it came from: a header, since addresses end in logs. Only shown, never opened."""
    return Path(unquote(request.headers.get("x-oboro-name", "")).replace("\\", "/")).name[:200] or "table.csv"


# File picker ----------------------------------------------------------------------------------------------------------
# Files of this machine that may be opened: those below one folder. No link and no `..` leads out of it.


MOST_LISTED = 2000


@dataclass(frozen=True)
class Picker:
    """One folder, and everything below it."""

    root: Path

    def inside(self, name: str) -> Path:
        """The real path of a name below the root; a `FileError` where it leads out of it or is not there."""
        relative = PurePath(name.lstrip("/"))
        # On Windows `C:` or a share would replace the root, and to ask for a share already speaks to its host.
        if relative.anchor:
            raise FileError(Message("error_web.outside", name=name))
        try:
            real = (self.root / relative).resolve(strict=True)
        except (OSError, ValueError, RuntimeError):
            raise FileError(Message("error_web.not_there", name=name)) from None
        if not real.is_relative_to(self.root.resolve()):
            raise FileError(Message("error_web.outside", name=name))
        return real

    def file(self, name: str) -> Path:
        """A table that may be read."""
        found = self.inside(name)
        if not found.is_file() or not ending_of(found.name):
            raise FileError(Message("error_web.no_table", name=name))
        return found

    def listed(self, name: str) -> dict[str, Any]:
        """What is in a folder: folders and tables; names that begin with a dot, and what leads out, are left out."""
        folder = self.inside(name)
        if not folder.is_dir():
            raise FileError(Message("error_web.not_there", name=name))
        real = self.root.resolve()
        with os.scandir(folder) as found:
            shown = [one for one in found if not one.name.startswith(".")]
        rows = [row for one in sorted(shown, key=lambda one: one.name.lower()) if (row := _row(one, real))]
        parts = folder.relative_to(real).parts
        return {
            "folder": "/".join(parts),
            "root": str(real),
            "entries": rows[:MOST_LISTED],
            "more": len(rows) > MOST_LISTED,
        }


def _row(entry: os.DirEntry[str], root: Path) -> dict[str, Any] | None:
    try:
        if not Path(entry.path).resolve().is_relative_to(root):
            return None
        if entry.is_dir():
            return {"name": entry.name, "folder": True}
        if entry.is_file() and ending_of(entry.name):
            return {"name": entry.name, "folder": False, "bytes": entry.stat().st_size}
    except (OSError, RuntimeError):
        return None
    return None


# Download tickets -----------------------------------------------------------------------------------------------------
# One-time tickets: a browser fetches a file by a link, which cannot carry the token; a ticket is valid for one file,
# once.


SECONDS = 3600.0  # that a ticket can be used: one who reads the verdict first must not find a dead button


@dataclass(frozen=True)
class Offer:
    """Content behind a ticket: text, or a file that is deleted once it was fetched."""

    name: str
    kind: str
    text: str | None = None
    path: Path | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    until: float = 0.0


class Tickets:
    """The open tickets."""

    def __init__(self) -> None:
        self._open: dict[str, Offer] = {}
        self._lock = threading.Lock()

    def issue(self, offer: Offer) -> str:
        """A ticket for an offer, good for a while."""
        ticket = secrets.token_urlsafe(24)
        with self._lock:
            self._expire()
            held = Offer(offer.name, offer.kind, offer.text, offer.path, offer.headers, time.monotonic() + SECONDS)
            self._open[ticket] = held
        return ticket

    def take(self, ticket: str) -> Offer | None:
        """What it is good for; None where it was used, is too old or never was one."""
        with self._lock:
            self._expire()
            return self._open.pop(ticket, None)

    def _expire(self) -> None:
        now = time.monotonic()
        for ticket in [one for one, offer in self._open.items() if offer.until < now]:
            offer = self._open.pop(ticket)
            if offer.path is not None:
                offer.path.unlink(missing_ok=True)


# Desk: table, states, undo --------------------------------------------------------------------------------------------


MOST_STATES = 200  # that undo goes back
ONE_ACT = 1.5  # seconds: moves of one control that follow each other so closely are one act


@dataclass(frozen=True)
class OpenTable:
    """The table that is open, and what a command calls it."""

    name: str
    path: str
    """As a command on the user's machine would name it."""
    bytes: int | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)
    made_up: str | None = None
    """The command that makes it, where it is made up."""
    notes: tuple[Message, ...] = ()


@dataclass(frozen=True)
class State:
    """Everything that answers depend on."""

    number: int
    table: OpenTable
    session: Session
    levels: Mapping[str, int] | None = None
    """Levels that were taken; None: the best ones."""
    act: str = "open"
    """What led to it, for undo."""
    moment: float = 0.0


FirstTable = Callable[["Ask"], "tuple[OpenTable, Session]"]


class Desk:
    """One conversation. Changes come one after the other; questions about a state may come at any time."""

    def __init__(self, scratch: ScratchFolder, root: Path, most_bytes: int) -> None:
        self.scratch, self.picker, self.tickets, self.most_bytes = scratch, Picker(root), Tickets(), most_bytes
        self.first: FirstTable | None = None
        """A table to begin with, read when the page asks for it."""
        self.first_asked = threading.Lock()
        self._lock = threading.RLock()
        self._numbers = count(1)
        self._past: list[State] = []
        self._future: list[State] = []
        self._now: State | None = None
        self._moves: dict[str, int] = {}
        self._uploads: dict[str, tuple[Path, str]] = {}
        self._kept: dict[tuple[Any, ...], Any] = {}
        self._found: tuple[Mapping[str, Any], Mapping[str, int]] | None = None

    # States -------------------------------------------------------------------------------------------------------------

    @property
    def now(self) -> State:
        """The current state; a `UsageError` where no table is open."""
        if self._now is None:
            raise UsageError(Message("error_web.no_table_open"))
        return self._now

    @property
    def opened(self) -> bool:
        """True if a table is open."""
        return self._now is not None

    def state(self, number: int | None) -> State:
        """The state of a number, as long as it is known; without a number the current one."""
        with self._lock:
            if number is None or self.now.number == number:
                return self.now
            known = next((one for one in (*self._past, *self._future) if one.number == number), None)
        if known is None:
            raise UsageError(Message("error_web.old_state"))
        return known

    def put(self, table: OpenTable, session: Session) -> State:
        """Put another table on the desk."""
        with self._lock:
            self._past, self._future, self._kept = [], [], {}
            self._now = State(next(self._numbers), table, session)
            return self._now

    def change(self, act: str, made: Callable[[State], State]) -> State:
        """The next state. Moves of one control that follow each other closely are undone together."""
        with self._lock:
            before, moment = self.now, time.monotonic()
            after = replace(made(before), number=next(self._numbers), act=act, moment=moment)
            if not (act.startswith("move:") and before.act == act and moment - before.moment < ONE_ACT):
                self._past.append(before)
                del self._past[:-MOST_STATES]
            self._future, self._now = [], after
            return after

    def in_order(self, control: str, move: int | None) -> bool:
        """Whether a move of a control is newer than all before it; a late one must not win."""
        with self._lock:
            if move is None:
                return True
            newest = self._moves.get(control, -1)
            self._moves[control] = max(newest, move)
            return move > newest

    def undo(self) -> State:
        """The state before, under a number of its own."""
        return self._back(self._past, self._future, "undo")

    def redo(self) -> State:
        """The state that was undone."""
        return self._back(self._future, self._past, "redo")

    def _back(self, source: list[State], target: list[State], act: str) -> State:
        with self._lock:
            if not source:
                raise UsageError(Message("error_web.nothing_to_undo"))
            target.append(self.now)
            self._now = replace(source.pop(), number=next(self._numbers), moment=0.0)
            return self._now

    @property
    def can(self) -> dict[str, bool]:
        """Whether something can be undone, or done again."""
        return {"undo": bool(self._past), "redo": bool(self._future)}

    # Files --------------------------------------------------------------------------------------------------------------

    def uploaded(self, path: Path, name: str) -> str:
        """Take note of a file that came in; the key by which the page calls it."""
        self._uploads[path.name] = (path, name)
        return path.name

    def file(self, given: Mapping[str, Any]) -> tuple[Path, str, str]:
        """A file that the page names, as an upload or below the root: its path, its name, and what a command calls it."""
        if (key := given.get("upload")) is not None:
            if key not in self._uploads:
                raise UsageError(Message("error_web.old_state"))
            path, name = self._uploads[key]
            return path, name, name
        path = self.picker.file(str(given.get("path", "")))
        return path, path.name, str(path)

    def named_file(self, given: Any, known: Any) -> str:
        """A file that a demand or a hierarchy names: one of the recipe that was begun with, or one below the root."""
        return str(given) if given == known else str(self.picker.inside(str(given)))

    def keep_found(self, session: Session, levels: Mapping[str, int] | None) -> None:
        """Take note of the best levels of a state: the next search begins with them."""
        self._found = None if not levels or session.demands.limits else (session.plan.attributes, levels)

    def found(self, session: Session) -> list[tuple[int, ...]]:
        """The best levels of the state before, where its columns and hierarchies are those of this one."""
        if self._found is None or session.demands.limits or session.demands.levels is not None:
            return []
        known, levels = self._found
        now = session.plan.attributes
        same = known.keys() == now.keys() and all(known[name] is now[name] for name in now)
        return [tuple(levels.values())] if same else []

    def kept(self, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """Something slow that was made for a state; the latest few are kept."""
        if key not in self._kept:
            made = make()
            self._kept[key] = made
            for old in list(self._kept)[:-4]:
                del self._kept[old]
        return self._kept[key]

    def release(self, state: State, seed: int | None, make: Callable[[], Release]) -> Release:
        """The release of a state: made once, so that the report speaks of the very file that is taken away."""
        found: Release = self.kept(("release", state.number, seed), make)
        return found


# First table ----------------------------------------------------------------------------------------------------------
# The table that is open from the start: named on the command line, with a recipe or without.


def first_table(data: Path, recipe: Path | None, reading: Mapping[str, Any]) -> FirstTable:
    """How it is opened: when the page asks for it, so that the page is there before a long file is read."""
    require_file(data)
    if recipe is not None:
        require_file(recipe)

    def opened(ask: Ask) -> tuple[OpenTable, Session]:
        from oboro.explorer.session import explore
        from oboro.io.read import read

        ask.tell(READING)
        plan = None if recipe is None else _here(recipe)
        source = read(data, **reading, progress=partial(ask.tell, READING))
        ask.tell(Message("web.looking"))
        session = explore(source, plan)
        size = data.stat().st_size
        return OpenTable(data.name, str(data.resolve()), size, dict(reading), notes=tuple(source.notes)), session

    return opened


def _here(path: Path) -> Recipe:
    """A recipe whose hierarchy files are named by their whole paths: what is taken away from the page stands somewhere else."""
    from oboro.recipe.recipe import Recipe

    plan = Recipe.load(path)
    attributes = {}
    for name, one in plan.attributes.items():
        spec = one.hierarchy
        moved = {
            form: str((plan.folder / value).resolve())
            for form in ("csv", "tree")
            if spec is not None and isinstance(value := getattr(spec, form), str)
        }
        attributes[name] = (
            one if spec is None or not moved else one.model_copy(update={"hierarchy": spec.model_copy(update=moved)})
        )
    changed = plan.model_copy(update={"attributes": attributes})
    changed._folder, changed._path = plan.folder, plan.path
    return changed


# Routes ---------------------------------------------------------------------------------------------------------------
# The page and its parts, questions, one upload, and downloads by ticket.


KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
QUESTIONS = {  # the screen and its function, loaded when it is first asked: the page itself must be there at once
    "state": "state.state_now",
    "files": "open.show_files",
    "sheets": "open.sheets",
    "open": "open.open_file",
    "sample": "open.open_sample",
    "opened": "open.opened",
    "undo": "open.undo",
    "redo": "open.redo",
    "columns": "columns.show_columns",
    "role": "columns.set_role",
    "person": "columns.set_person",
    "confirm": "columns.confirm",
    "demands": "promise.set_demands",
    "form": "form.demand_form",
    "answer": "promise.answer",
    "nearest": "promise.nearest",
    "take": "promise.take",
    "frontier": "promise.frontier",
    "nodes": "promise.nodes",
    "look": "promise.look",
    "compare": "promise.compare",
    "rows": "rows.show_rows",
    "distributions": "rows.show_distributions",
    "pairs": "rows.show_pairs",
    "score": "rows.show_score",
    "drawer": "drawer.drawer",
    "release": "take.make_release",
    "report": "take.make_report",
    "offer": "take.offer_file",
    "hierarchy": "hierarchy.show_hierarchy",
    "hierarchy_set": "hierarchy.set_hierarchy",
    "hierarchy_file": "hierarchy.offer_hierarchy",
    "assessed": "assess.assessed_columns",
    "assess": "assess.assess_file",
    "stream": "stream.watch_stream",
}
NEWEST_WINS = {
    **dict.fromkeys(("demands", "answer", "take", "hierarchy_set"), "solve"),
    **{"frontier": "frontier", "nodes": "nodes"},
}


def page_app(desk: Desk, token: str, hosts: frozenset[str], opened: Callable[[], None] = lambda: None) -> Guard:
    """Build the application behind its guard. `opened` is called when the token is first used: the page is open then."""
    answering = Answering()
    static = partial(_static, static_files())
    routes = [
        Route("/", static, methods=["GET"]),
        Route("/part/{name:path}", static, methods=["GET"]),
        Route("/words/{lang}.json", _words, methods=["GET"]),
        Route("/taken/{ticket}", partial(_taken, desk), methods=["GET"]),
        Route("/api/upload", partial(_upload, desk), methods=["PUT"]),
        Route("/api/ask/{name}", _Asked(desk, answering), methods=["POST"]),
    ]
    return Guard(Starlette(routes=routes, exception_handlers={Exception: _unforeseen}), token, hosts, opened)


def static_files() -> Mapping[str, Traversable]:
    """List the files of the page by the names under which they are served.

    A request only looks its name up here; the name never becomes a part of a path. Windows would take `C:` or a share in it for a
    path of its own.
    """
    found: dict[str, Traversable] = {}
    folders = [("", files("oboro.web") / "static")]
    while folders:
        above, folder = folders.pop()
        for entry in folder.iterdir():
            if entry.is_dir():
                folders.append((f"{above}{entry.name}/", entry))
            else:
                found[above + entry.name] = entry
    return found


async def _static(known: Mapping[str, Traversable], request: Request) -> Response:
    """Send a file of the page; without a name the page itself."""
    name = request.path_params.get("name", "index.html")
    if (place := known.get(name)) is None:
        return PlainTextResponse("not found", status_code=404)
    kind = KINDS.get(f".{name.rsplit('.', 1)[-1]}", "application/octet-stream")
    return Response(place.read_bytes(), media_type=kind)


async def _words(request: Request) -> Response:
    lang = request.path_params["lang"]
    if lang not in LANGUAGES:
        return PlainTextResponse("not found", status_code=404)
    return JSONResponse(dict(catalogue(lang, "web")))


async def _taken(desk: Desk, request: Request) -> Response:
    """Whatever the ticket is good for, once."""
    offer = desk.tickets.take(request.path_params["ticket"])
    if offer is None:
        return PlainTextResponse("this ticket was used, or is too old", status_code=410)
    headers = dict(offer.headers)
    if not offer.kind.startswith("text/html"):
        headers["content-disposition"] = f"attachment; filename*=utf-8''{quote(offer.name)}"
    if offer.path is None:
        return Response(offer.text or "", media_type=offer.kind, headers=headers)
    gone = BackgroundTask(offer.path.unlink, missing_ok=True)
    return FileResponse(offer.path, media_type=offer.kind, headers=headers, background=gone)


async def _upload(desk: Desk, request: Request) -> Response:
    """A file that was dropped, into the private folder."""
    lang, name = _lang(request), name_given(request)
    try:
        if not (ending := ending_of(name)):
            raise UsageError(Message("error_web.no_table", name=name))
        path = desk.scratch.file(ending)
        count = await save_body(request, path, desk.most_bytes)
    except OboroError as error:
        return JSONResponse({"error": {"kind": type(error).__name__, "text": error.show(lang)}}, status_code=413)
    return JSONResponse({"result": {"upload": desk.uploaded(path, name), "name": name, "bytes": count}})


def _lang(request: Request) -> str:
    asked = request.headers.get("x-oboro-lang", "en")
    return asked if asked in LANGUAGES else "en"


class _Asked:
    """A question, passed on to a worker."""

    def __init__(self, desk: Desk, answering: Answering) -> None:
        self._desk, self._answering = desk, answering

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        name, lang = request.path_params["name"], _lang(request)
        work: Callable[[Ask], Any]
        if name not in QUESTIONS:
            await PlainTextResponse("not found", status_code=404)(scope, receive, send)
            return
        try:
            given = await received_json(request)
        except OboroError as error:
            refused = {"error": {"kind": type(error).__name__, "text": error.show(lang)}}
            await PlainTextResponse(json.dumps(refused) + "\n", status_code=413)(scope, receive, send)
            return
        work = lambda ask: handler_of(name)(self._desk, given, ask)  # noqa: E731
        move = given.get("move")
        number = move if isinstance(move, int) else None
        await self._answering.respond(work, lang, scope, receive, send, NEWEST_WINS.get(name), number)


def handler_of(name: str) -> Handler:
    """Return the handler of a question."""
    screen, _, function = QUESTIONS[name].partition(".")
    found: Handler = getattr(import_module(f"oboro.web.screens.{screen}"), function)
    return found


def load_screens() -> None:
    """Load what answers questions, while the browser opens."""
    for name in QUESTIONS:
        handler_of(name)


async def _unforeseen(request: Request, error: Exception) -> Response:
    """Nothing of what was in it: it may be somebody's data."""
    return PlainTextResponse(unforeseen(error).say(), status_code=500)


# Server ---------------------------------------------------------------------------------------------------------------
# The server of the page: on loopback, with a token of its own, in a private folder that is deleted at the end.


class _Quiet(uvicorn.Server):
    """Ends when it is asked to, and is done then: uvicorn would send itself the same signal once more."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Listen to signals while it runs; only the main thread can."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {one: signal.signal(one, self.handle_exit) for one in _ENDING}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)


MOST_CONNECTIONS = 64  # a browser opens six
HEADER_SECONDS = 10.0  # for the first line and the headers of a request


class _Limited(H11Protocol):
    """A connection that has to ask in time. Of many that ask nothing the oldest is closed, so that they keep nobody out.

    A request that is being answered is left alone: those that take long have the token.
    """

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Make room for this connection."""
        super().connection_made(transport)
        self._since = self.loop.time()
        self._wait()
        if len(self.connections) > MOST_CONNECTIONS:
            others = (one for one in self.connections if isinstance(one, _Limited))
            oldest = min((one for one in others if one._idle), key=lambda one: one._since)
            self.connections.discard(oldest)
            oldest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        super().connection_lost(exc)
        if self._late is not None:
            self._late.cancel()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._wait()

    @property
    def _idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _wait(self) -> None:
        if self._late is not None:
            self._late.cancel()
        self._late = self.loop.call_later(HEADER_SECONDS, self._close_late)

    def _close_late(self) -> None:
        if self._idle:
            self.transport.close()


_ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


@dataclass(frozen=True)
class PageServer:
    """A server that is about to run."""

    desk: Desk
    url: str
    """Where the page is; the token stands behind the #, which no browser sends to any server."""
    token: str
    server: uvicorn.Server
    listening: socket.socket
    address_file: AddressFile

    def run(self, ready: Callable[[], None] = lambda: None, open_browser: bool = False) -> None:
        """Serve until it is stopped."""
        ready()
        threading.Thread(target=load_screens, daemon=True).start()
        if open_browser:
            # Every user of the machine can read the arguments of a process: the browser gets the address in a file.
            threading.Timer(0.2, webbrowser.open, (self.address_file.write(self.url),)).start()
        self.server.run(sockets=[self.listening])


@contextmanager
def page_server(
    root: Path, *, host: str = "127.0.0.1", port: int = 0, most_bytes: int = 4 << 30, above: Path | None = None
) -> Iterator[PageServer]:
    """A server with its private folder; both are gone at the end. `port` 0 is any that is free."""
    listening = _listening(host, port)
    scratch = ScratchFolder("web", above)
    try:
        scratch.watch()
        number, token = listening.getsockname()[1], secrets.token_urlsafe(24)
        desk = Desk(scratch, root, most_bytes)
        address_file = AddressFile(scratch)
        app = page_app(desk, token, allowed_hosts(host, number), address_file.remove)
        # Nothing of a request is logged: no address, no header, no trace of an error.
        config = uvicorn.Config(app, http=_Limited, access_log=False, log_config=None, lifespan="off", server_header=False,
                                date_header=False, timeout_graceful_shutdown=2)  # fmt: skip
        shown = f"[{host}]" if ":" in host else host
        url = f"http://{shown}:{number}/#token={token}"
        try:
            yield PageServer(desk, url, token, _Quiet(config), listening, address_file)
        finally:
            address_file.remove()
    finally:
        listening.close()
        scratch.close()


def _listening(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise UsageError(Message("error_web.no_port", host=host, port=port, why=os_reason(error))) from None
