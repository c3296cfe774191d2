"""Requests to the page: each has an answer that means something, and none leaves the server or its files otherwise than before."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from tests.fuzz.fuzzing import Case, Finding, Fuzzer, require
from tests.fuzz.mutations import mutated_value, odd_text, odd_value

__all__ = ["PAGE_FUZZERS"]

TOKEN = "a-token-of-the-fuzzer"
OUTSIDE = "Zquux-outside"  # in a file that the page must not give
PORT = 8123
PATHS = ("/", "/part/app.js", "/part/../guard.py", "/part/C:%5CUsers%5Cx", "/part//etc/passwd", "/part/%2e%2e/%2e%2e/routes.py",
    "/part/" + "a" * 9000, "/words/en.json", "/words/xx.json", "/taken/x", "/taken/" + "a" * 9000, "/api/upload", "/api/ask/state",
    "/api/ask/none", "/api/ask/" + "a" * 9000, "//", "/%00", "/part/%00", "/part/%ff", "/part/\\\\host\\share",
        "/favicon.ico")  # fmt: skip
FIELDS = ("version", "move", "k", "suppress", "curves", "levels", "demands", "columns", "column", "name", "role", "start", "n", "a",
    "b", "path", "upload", "folder", "step", "hierarchy", "target", "names", "person", "seed", "kind", "reading", "sheet", "count",
    "confirmed", "lang", "file", "encoding", "delimiter")  # fmt: skip
WORDS = ("age", "sex", "quasi", "identifier", "k_anonymize", "k", "suppress", "..", "/", "/etc/passwd", "in.csv", "a" * 9000,
    "\0", "people", "csv",
    "recipe", "intervals", "k_anonymize_local", "secret.txt", "../outside.csv", "C:\\x", "es\x1bc")  # fmt: skip
FITTING: dict[str, Sequence[Any]] = {
    "k": ([2], [2, 3]), "suppress": ([0],), "curves": (["k_anonymize"],), "levels": ({"age": 1, "sex": 0}, [0, 0]),
    "demands": ({"k": 2}, {"k": 2, "suppress": 0.1}), "column": ("age", "sex"), "name": ("age", "sex", "people"),
        "role": ("quasi", "other"),
    "start": (0, 2), "n": (3,), "a": ({"age": 0, "sex": 0},), "b": ({"age": 1, "sex": 1},), "version": (None, 1), "move": (1,),
    "path": ("in.csv", "sub", "../outside.csv"), "released": ("in.csv",), "quasi": (["age"],), "target": ("sex",),
    "address": ("in.csv", "http://127.0.0.1:1/metrics"),  "hierarchy": ({"intervals": [10, 20]}, {}), "columns": (["age"],),
    "kind": ("csv", "people", "recipe"),
}  # fmt: skip
NEEDED = {  # without these fields a question is refused at once
    "compare": ("a", "b"), "demands": ("demands",), "hierarchy": ("column", "hierarchy"), "hierarchy_file": ("column", "hierarchy"),
    "hierarchy_set": ("column", "hierarchy"), "look": ("levels",), "role": ("column", "role"), "offer": ("kind",),
    "score": ("target",),
    "open": ("path",), "sheets": ("path",), "assessed": ("path",), "assess": ("released", "quasi"), "take": ("levels",),
    "person": ("name",),
    "frontier": ("k", "suppress"), "stream": ("address",),
}  # fmt: skip
SLOW = ("sample", "report", "release", "assess", "score", "stream")  # seconds each: a few of them only


@lru_cache(1)
def _questions() -> list[str]:
    from oboro.web.server import QUESTIONS

    return list(QUESTIONS)


def draw(rng: random.Random) -> Case:
    """A few requests, one after the other."""
    return {"requests": [_request(rng) for _ in range(rng.choice([1, 1, 2, 4]))]}


def _request(rng: random.Random) -> Case:
    """A question with odd fields, or a request of any kind."""
    if rng.random() < 0.7:
        asked = rng.choice(_questions())
        asked = rng.choice(_questions()) if asked in SLOW and rng.random() < 0.8 else asked
        fields: Any = {}
        needed = NEEDED.get(asked, ()) if rng.random() < 0.9 else ()
        for name in (*needed, *rng.sample(FIELDS, rng.randint(0, 4))):
            fits = name in FITTING and rng.random() < 0.6
            fields[name] = (
                rng.choice(FITTING[name]) if fits else rng.choice(WORDS) if rng.random() < 0.4 else odd_value(rng)
            )
        if rng.random() < 0.1:
            fields = mutated_value(rng, fields, WORDS)
        body = _json(fields)
        return {"method": "POST", "path": f"/api/ask/{asked}", "body": body, "headers": {}, "token": True}
    body = rng.choice(
        [
            b"",
            b"{",
            b"[]",
            b"null",
            b"1",
            b'{"a":' * 5000,
            b"[" * 100_000,
            b"\xff",
            b"{}",
            b"age,sex\n31,F\n",
            b"\0" * 300,
        ]
    )
    headers = {}
    for name in (
        "host",
        "origin",
        "sec-fetch-site",
        "x-oboro-name",
        "x-oboro-lang",
        "content-length",
        "content-type",
        "accept",
    ):
        if rng.random() < 0.07:
            headers[name] = rng.choice(
                [odd_text(rng), "x.csv", "x.xlsx", "ja", "0", "-1", "9" * 30, "null", "same-origin", "a" * 9000]
            )
    headers = {name: text.encode("latin-1", "replace").decode("latin-1") for name, text in headers.items()}
    methods = [*["GET"] * 12, "PUT", "PUT", "POST", "HEAD", "OPTIONS", "DELETE", "TRACE", "PATCH", "X"]
    path = rng.choice(PATHS) if rng.random() < 0.8 else "/" + odd_text(rng).replace("\ud800", "").replace("\0", "%00")
    return {"method": rng.choice(methods), "path": path, "body": body, "headers": headers, "token": rng.random() < 0.8}


def _json(fields: Any) -> bytes:
    try:
        return json.dumps(fields).encode()
    except (TypeError, ValueError):
        return b"{}"


@lru_cache(1)
def _session() -> Any:
    from oboro.explorer.session import explore

    return explore({"age": [31, 38, 35, 52, 57, 59], "sex": ["F", "M", "F", "M", "F", "F"]})


def check(case: Case, place: Path) -> Sequence[str]:
    """A code, no internal error, nothing of other files, and nothing new beside the scratch folder."""
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    from oboro.system.files import ScratchFolder
    from oboro.web.server import Desk, OpenTable, allowed_hosts, page_app

    (place / "outside.csv").write_text(f"age\n{OUTSIDE}\n")
    (place / "root" / "sub").mkdir(parents=True)
    (place / "root" / "in.csv").write_text("age,sex\n31,F\n38,M\n35,F\n")
    (place / "scratch").mkdir(mode=0o700)
    desk = Desk(ScratchFolder("web", place / "scratch"), place / "root", 1 << 20)
    desk.put(OpenTable("in.csv", "in.csv"), _session())
    app = page_app(desk, TOKEN, allowed_hosts("127.0.0.1", PORT))
    try:
        # A thread of its own: after the tests of a browser, this one has a running event loop.
        with ThreadPoolExecutor(1) as thread:
            answers = [thread.submit(asyncio.run, _sent(app, one)).result() for one in case["requests"]]
    finally:
        desk.scratch.close()
    for status, body in answers:
        _check_answer(status, body.decode("utf-8", "replace"))
    left = {one.name for one in place.iterdir()} - {"outside.csv", "root", "scratch"}
    require(not left, f"left behind: {sorted(left)}")
    return [
        f"status {status}" if '{"result"' not in body.decode("utf-8", "replace") else "a result"
        for status, body in answers
    ]


def _check_answer(status: int, text: str) -> None:
    require(
        status in (200, 206, 307, 400, 401, 403, 404, 405, 410, 411, 413, 415, 421, 422),
        f"status {status}: {text[:300]}",
    )
    require(OUTSIDE not in text, "a file outside of the folder was shown")
    if "Traceback" in text or '"kind": "internal"' in text or "internal error" in text:
        raise Finding("traceback", text[-400:])


async def _sent(app: Any, case: Case) -> tuple[int, bytes]:
    """One request through the application, without a port."""
    import asyncio
    from urllib.parse import unquote_to_bytes

    headers = {"host": f"127.0.0.1:{PORT}", "content-length": str(len(case["body"])), **case["headers"]}
    if case["token"]:
        headers["x-oboro-token"] = TOKEN
    raw, _, query = case["path"].partition("?")
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": case["method"], "scheme": "http",
        "path": unquote_to_bytes(raw).decode("utf-8", "replace"), "raw_path": raw.encode(errors="replace"),
            "query_string": query.encode(errors="replace"),
        "root_path": "", "headers": [(name.encode(), text.encode("latin-1", "replace")) for name, text in headers.items()],
        "client": ("127.0.0.1", 5000), "server": ("127.0.0.1", PORT),
    }  # fmt: skip
    messages: list[dict[str, Any]] = []
    given, over = [{"type": "http.request", "body": case["body"], "more_body": False}], asyncio.Event()

    async def receive() -> dict[str, Any]:
        if given:
            return given.pop()
        await over.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        messages.append(message)

    with suppress(asyncio.TimeoutError):
        await asyncio.wait_for(app(scope, receive, send), 60)
        over.set()
    status = next((one["status"] for one in messages if one["type"] == "http.response.start"), 0)
    return status, b"".join(one.get("body", b"") for one in messages if one["type"] == "http.response.body")


PAGE_FUZZERS = (Fuzzer("page", draw, check, 10, shrinks=False),)
