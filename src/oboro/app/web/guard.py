"""Who may ask: only the page that was opened with the token, in a browser that says where a request comes from.

A server on loopback can be reached by every web site that the same browser shows. So each request must name this server as its host
(against DNS rebinding), must come from this page (Origin, Sec-Fetch-Site), and, unless it fetches a part of the page itself or
something that it has a ticket for, must bring the token as a header. No cookie is ever set.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse

__all__ = ["Guard", "allowed_hosts"]

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
