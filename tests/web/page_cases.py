"""A desk with its page, without a port: what the tests of the page share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from oboro.system.files import ScratchFolder
from oboro.web.server import Desk, allowed_hosts, page_app

TOKEN = "a-token-of-the-test"
PORT = 8123


class Page:
    """The page's side of a conversation."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.app = page_app(desk, TOKEN, allowed_hosts("127.0.0.1", PORT))
        self.client = TestClient(self.app, base_url=f"http://127.0.0.1:{PORT}")

    def lines(self, name: str, lang: str = "en", **given: Any) -> list[dict[str, Any]]:
        """Everything that a question is answered by."""
        headers = {"x-oboro-token": TOKEN, "x-oboro-lang": lang}
        answer = self.client.post(f"/api/ask/{name}", json=given, headers=headers)
        assert answer.status_code == 200, answer.text
        return [json.loads(line) for line in answer.text.splitlines()]

    def ask(self, name: str, lang: str = "en", **given: Any) -> Any:
        """The result of a question."""
        last = self.lines(name, lang, **given)[-1]
        assert "result" in last, last
        return last["result"]

    def refused(self, name: str, **given: Any) -> dict[str, Any]:
        """What went wrong with a question."""
        found: dict[str, Any] = self.lines(name, **given)[-1]["error"]
        return found

    def upload(self, name: str, content: bytes) -> Any:
        """Drop a file on the page."""
        headers = {"x-oboro-token": TOKEN, "x-oboro-name": name}
        return self.client.put("/api/upload", content=content, headers=headers)

    def open(self, name: str, content: bytes, **how: Any) -> dict[str, Any]:
        """Drop a file and read it."""
        sent = self.upload(name, content).json()["result"]
        found: dict[str, Any] = self.ask("open", upload=sent["upload"], **how)["state"]
        return found


def page_in(folder: Path, root: Path | None = None, most: int = 1 << 20) -> Page:
    """A page whose files lie in a folder of the test."""
    folder.mkdir(mode=0o700, exist_ok=True)
    return Page(Desk(ScratchFolder("web", folder), root or folder, most))


def people_csv(rows: int = 300) -> bytes:
    """A small table of people."""
    lines = ["name,age,town,sex,illness"]
    for i in range(rows):
        illness = ["flu", "cold", "gout"][(i * i) % 3]
        lines.append(f"person {i},{20 + (i * 7) % 50},T{(i * i) % 7},{'FM'[i % 2]},{illness}")
    return ("\n".join(lines) + "\n").encode()
