"""Bytes that came in: counted as they come, since a chunked body says nothing of its length before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from oboro.errors import InputError, UsageError
from oboro.text import Message

if TYPE_CHECKING:
    from starlette.requests import Request

__all__ = ["ENDINGS", "ending_of", "received_json", "save_body"]

MOST_JSON = 32 << 20  # a hierarchy may have many rows
ENDINGS = (
    *(".csv", ".tsv", ".txt", ".csv.gz", ".csv.zst", ".csv.bz2", ".csv.xz"),
    *(".parquet", ".arrow", ".feather", ".ipc", ".xlsx", ".xlsm", ".xls", ".ods", ".ndjson", ".jsonl"),
)


def ending_of(name: str) -> str:
    """The ending that says how a file is read; empty where it is none of those that are known."""
    low = name.lower()
    return max((one for one in ENDINGS if low.endswith(one)), key=len, default="")


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
