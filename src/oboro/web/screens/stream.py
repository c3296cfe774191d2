"""The Stream screen: a running `oboro stream`, by its metrics page, the file of its metrics, or its state folder."""

from __future__ import annotations

import ipaddress
import json
import re
import time
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from oboro.errors import FileError, UsageError
from oboro.text import Message
from oboro.web.server import Ask, Desk

__all__ = ["watch_stream"]


MOST_BYTES = 1 << 20
SECONDS = 3.0
LINE = re.compile(r"([a-zA-Z_:][\w:]*)(\{[^}]*\})? ([-+]?(?:\d[\d.eE+-]*|Inf|NaN))")
BUCKET = re.compile(r'le="([^"]+)"')


def watch_stream(desk: Desk, given: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """What can be known now: counts and delays from the metrics, ages and sizes from the folder."""
    found: dict[str, Any] = {"moment": time.time(), "figures": {}, "state": None}
    if url := str(given.get("url") or "").strip():
        found["figures"] |= _figures(_fetched(url))
    if name := str(given.get("metrics") or "").strip():
        found["figures"] |= _last_line(desk.picker.inside(name))
    if name := str(given.get("state") or "").strip():
        found["state"] = _state(desk.picker.inside(name))
    if not found["figures"] and found["state"] is None:
        raise UsageError(Message("error_web.no_stream"))
    return {**found, "cards": _cards(found, ask), "folder": _folder(found["state"], ask)}


COUNTS = {  # what is shown, and the names under which streams and services tell it
    "records": ("records",),
    "released": ("released",),
    "held": ("held", "waiting", "behind", "window_records"),
    "suppressed": ("suppressed_cells",),
    "crowd": ("smallest_crowd", "smallest_class", "k_achieved"),
    "dead": ("dead_letters",),
}


def _cards(found: dict[str, Any], ask: Ask) -> list[tuple[str, str]]:
    """The figures that matter, each with its name."""
    figures = found["figures"]
    cards = [(name, f"{value:,.0f}") for name, keys in COUNTS.items() if (value := _first(figures, *keys)) is not None]
    late, block = figures.get("latency_ms_p99"), _first(figures, "block_seconds_p99", "delay_seconds_p99")
    late = 1000 * block if late is None and block is not None else late
    if late is not None:
        cards.insert(2, ("delay", ask.say(Message("watched.ms", n=f"{late:,.0f}" if late >= 100 else f"{late:.1f}"))))
    kept = ((found["state"] or {}).get("snapshot") or {}).get("age")
    since = _first(figures, "state_age_seconds", "snapshot_age_seconds") if kept is None else kept
    if since is not None:
        cards.append(("age", _age(since, ask)))
    return [(text, ask.say(Message(f"watched.{name}"))) for name, text in cards]


def _first(figures: dict[str, Any], *names: str) -> float | None:
    return next((float(figures[name]) for name in names if isinstance(figures.get(name), int | float)), None)


def _age(seconds: float, ask: Ask) -> str:
    if seconds < 90:
        return ask.say(Message("watched.seconds", n=seconds))
    if seconds < 5400:
        return ask.say(Message("watched.minutes", n=seconds / 60))
    return ask.say(Message("watched.hours", n=seconds / 3600))


def _folder(state: dict[str, Any] | None, ask: Ask) -> dict[str, Any] | None:
    """The state's folder in words."""
    if state is None:
        return None
    running = {True: "running", False: "stopped", None: "unknown"}[state["running"]]
    facts = []
    for kind in ("snapshot", "log"):
        if (one := state[kind]) is not None:
            size = Message("watched.bytes_age", size=f"{one['bytes']:,} B", age=_age(one["age"], ask))
            facts.append((ask.say(Message(f"watched.{kind}")), ask.say(size)))
    return {"running": state["running"], "said": ask.say(Message(f"watched.{running}")), "facts": facts}


class _NoRedirect(HTTPRedirectHandler):
    """A page on this machine must not lead anywhere else."""

    def redirect_request(self, *_: Any) -> None:
        """Not followed."""
        return


def _fetched(url: str) -> str:
    """The metrics page, from this machine only: the page must not be made to ask others."""
    try:
        parts = urlsplit(url)
    except ValueError:  # a bracket that is not closed
        raise UsageError(Message("error_web.not_loopback", url=url)) from None
    if parts.scheme != "http" or not _loopback(parts.hostname or ""):
        raise UsageError(Message("error_web.not_loopback", url=url))
    target = f"http://{parts.netloc}{parts.path if parts.path not in ('', '/') else '/metrics'}"
    fetch = build_opener(ProxyHandler({}), _NoRedirect()).open
    try:
        with fetch(Request(target, headers={"accept": "text/plain"}), timeout=SECONDS) as answer:
            text: str = answer.read(MOST_BYTES).decode("utf-8", "replace")
    except (URLError, OSError, ValueError) as error:
        raise FileError(Message("error_web.no_answer", url=target, why=type(error).__name__)) from None
    return text


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _figures(text: str) -> dict[str, Any]:
    """Prometheus' text as figures by name, without `oboro_` and `_total`; of a histogram the median and the 99th percentile."""
    found: dict[str, Any] = {}
    buckets: dict[str, list[tuple[float, float]]] = {}
    for line in text.splitlines():
        if (match := LINE.match(line)) is None:
            continue
        name, labels, value = match[1].removeprefix("oboro_"), match[2] or "", float(match[3])
        if name.endswith("_bucket") and (at := BUCKET.search(labels)):
            buckets.setdefault(name.removesuffix("_bucket"), []).append((float(at[1]), value))
        elif match[1].startswith("oboro_") and not name.endswith("_created"):
            name = name.removesuffix("_total")
            found[name] = found.get(name, 0.0) + value
    for name, held in buckets.items():
        found |= {f"{name}_p{share}": _quantile(held, share / 100) for share in (50, 99)}
    return found


def _quantile(buckets: list[tuple[float, float]], share: float) -> float | None:
    held = sorted(buckets)
    total = held[-1][1]
    return next((edge for edge, count in held if total and count >= share * total and edge != float("inf")), None)


def _last_line(path: Path) -> dict[str, Any]:
    """The newest line of what `oboro stream --json` prints."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 65_536))
        lines = file.read().decode("utf-8", "replace").splitlines()
    for line in reversed(lines):
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict):
            late = found.pop("latency_ms", {})
            flat = {name: value for name, value in found.items() if isinstance(value, int | float | str)}
            return flat | {f"latency_ms_{name}": value for name, value in late.items()}
    return {}


def _state(folder: Path) -> dict[str, Any]:
    """Ages and sizes; nothing in the folder is read, since it holds raw records."""
    if not folder.is_dir():
        raise FileError(Message("error_web.not_there", name=folder.name))
    now = time.time()
    kinds: dict[str, Any] = {"snapshot": None, "log": None}
    for kind in kinds:
        files = [one for one in folder.glob(f"{kind}.*") if one.suffix[1:].isdigit()]
        if files:
            newest = max(files, key=lambda one: int(one.suffix[1:]))
            stat = newest.stat()
            kinds[kind] = {"bytes": stat.st_size, "age": max(0.0, now - stat.st_mtime)}
    return {**kinds, "running": _held(folder / "lock")}


def _held(lock: Path) -> bool | None:
    """Whether a process holds the folder; None where that is not known. To try its lock could keep a stream from starting."""
    try:
        number = lock.stat().st_ino
        held = Path("/proc/locks").read_text(encoding="ascii")
    except OSError:
        return None
    return re.search(rf":{number} ", held) is not None
