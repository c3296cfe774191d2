"""What can be asked: the page and its parts, questions, one upload, and what a ticket is good for."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from oboro.app.language.unforeseen import unforeseen
from oboro.app.web.asking import Answering, Ask, Handler
from oboro.app.web.desk import Desk
from oboro.app.web.guard import Guard, Receive, Scope, Send
from oboro.app.web.received import ending_of, name_given, received_json, save_body
from oboro.errors import OboroError, UsageError
from oboro.text import LANGUAGES, Message
from oboro.text.message import catalogue

__all__ = ["QUESTIONS", "handler_of", "load_screens", "page_app"]

KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
QUESTIONS = {  # the screen and its function, loaded when it is first asked: the page itself must be there at once
    "state": "shown_state.state_now",
    "files": "open_screen.show_files",
    "sheets": "open_screen.sheets",
    "open": "open_screen.open_file",
    "sample": "open_screen.open_sample",
    "opened": "open_screen.opened",
    "undo": "open_screen.undo",
    "redo": "open_screen.redo",
    "columns": "columns_screen.show_columns",
    "role": "columns_screen.set_role",
    "person": "columns_screen.set_person",
    "confirm": "columns_screen.confirm",
    "demands": "promise_screen.set_demands",
    "form": "form_screen.demand_form",
    "answer": "promise_screen.answer",
    "nearest": "promise_screen.nearest",
    "take": "promise_screen.take",
    "frontier": "promise_screen.frontier",
    "nodes": "promise_screen.nodes",
    "look": "promise_screen.look",
    "compare": "promise_screen.compare",
    "rows": "rows_screen.show_rows",
    "distributions": "rows_screen.show_distributions",
    "pairs": "rows_screen.show_pairs",
    "score": "rows_screen.show_score",
    "drawer": "drawer_screen.drawer",
    "release": "take_screen.make_release",
    "report": "take_screen.make_report",
    "offer": "take_screen.offer_file",
    "hierarchy": "hierarchy_screen.show_hierarchy",
    "hierarchy_set": "hierarchy_screen.set_hierarchy",
    "hierarchy_file": "hierarchy_screen.offer_hierarchy",
    "assessed": "assess_screen.assessed_columns",
    "assess": "assess_screen.assess_file",
    "stream": "stream_screen.watch_stream",
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
    folders = [("", files("oboro.app.web") / "static")]
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
    """What answers a question."""
    screen, _, function = QUESTIONS[name].partition(".")
    found: Handler = getattr(import_module(f"oboro.app.web.screens.{screen}"), function)
    return found


def load_screens() -> None:
    """Load what answers questions, while the browser opens."""
    for name in QUESTIONS:
        handler_of(name)


async def _unforeseen(request: Request, error: Exception) -> Response:
    """Nothing of what was in it: it may be somebody's data."""
    return PlainTextResponse(unforeseen(error).say(), status_code=500)
