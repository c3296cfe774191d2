"""Who may ask the page: every line of its security, each with a request that must not pass."""

from __future__ import annotations

import subprocess
import threading
from importlib.resources import files
from pathlib import Path, PureWindowsPath
from urllib.parse import unquote, urlsplit

import pytest
from starlette.testclient import TestClient
from tests.web.page_cases import PORT, TOKEN, Page, page_in

from oboro.errors import FileError
from oboro.web.server import Picker

GOOD = {"x-oboro-token": TOKEN}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    return page_in(tmp_path_factory.mktemp("guard"))


def test_the_page_is_asked_by_its_token(page: Page) -> None:
    assert page.client.post("/api/ask/state", json={}, headers=GOOD).status_code == 200
    for headers in ({}, {"x-oboro-token": ""}, {"x-oboro-token": TOKEN[:-1]}, {"x-oboro-token": "ø".encode()}):
        assert page.client.post("/api/ask/state", json={}, headers=headers).status_code == 401
        assert page.client.put("/api/upload", content=b"a", headers=headers).status_code == 401


def test_the_token_does_not_come_by_address_or_cookie(page: Page) -> None:
    assert page.client.post(f"/api/ask/state?token={TOKEN}&x-oboro-token={TOKEN}", json={}).status_code == 401
    for name in ("token", "x-oboro-token", "oboro-token"):
        assert page.client.post("/api/ask/state", json={}, headers={"cookie": f"{name}={TOKEN}"}).status_code == 401
    answers = [page.client.get("/"), page.client.post("/api/ask/state", json={}, headers=GOOD)]
    assert all("set-cookie" not in one.headers for one in answers)


@pytest.mark.parametrize("host", [f"127.0.0.1:{PORT}", f"localhost:{PORT}", f"[::1]:{PORT}", f"LOCALHOST:{PORT}"])
def test_known_hosts_are_answered(page: Page, host: str) -> None:
    assert page.client.get("/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", f"evil.example:{PORT}", "127.0.0.1:80", f"127.0.0.1:{PORT}.evil.example", f"127.0.0.2:{PORT}", ""],
)  # fmt: skip
def test_unknown_hosts_and_ports_are_not(page: Page, host: str) -> None:
    """A name of somebody else's that leads to this machine (DNS rebinding), and the same host on another port."""
    assert page.client.get("/", headers={"host": host}).status_code == 421
    assert page.client.post("/api/ask/state", json={}, headers={**GOOD, "host": host}).status_code == 421


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", f"https://127.0.0.1:{PORT}"])
def test_another_origin_is_refused_even_with_the_token(page: Page, origin: str) -> None:
    assert page.client.post("/api/ask/state", json={}, headers={**GOOD, "origin": origin}).status_code == 403
    assert page.client.get("/", headers={"origin": origin}).status_code == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_site_is_refused(page: Page, site: str) -> None:
    assert page.client.post("/api/ask/state", json={}, headers={**GOOD, "sec-fetch-site": site}).status_code == 403
    assert page.client.get("/taken/x", headers={"sec-fetch-site": site}).status_code == 403


def test_questions_come_from_the_page_itself(page: Page) -> None:
    """An address that is typed may show the page, but asks nothing."""
    own = {**GOOD, "sec-fetch-site": "same-origin", "origin": f"http://127.0.0.1:{PORT}"}
    assert page.client.post("/api/ask/state", json={}, headers=own).status_code == 200
    assert page.client.get("/", headers={"sec-fetch-site": "none"}).status_code == 200
    typed = page.client.post("/api/ask/state", json={}, headers={**GOOD, "sec-fetch-site": "none"})
    assert typed.status_code == 403


@pytest.mark.parametrize(
    "path", ["/", "/part/style.css", "/words/ja.json", "/part/none.js", "/taken/none", "/api/ask/state"]
)
def test_every_answer_is_kept_nowhere_and_loads_nothing(page: Page, path: str) -> None:
    headers = page.client.get(path).headers
    assert headers["cache-control"] == "no-store"
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in policy
    assert "http" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


def test_parts_of_the_page_do_not_lead_elsewhere(page: Page) -> None:
    for name in ("../routes.py", "..%2froutes.py", "%2e%2e/guard.py", "js/../../web.py", "/etc/passwd"):
        assert page.client.get(f"/part/{name}").status_code == 404
    assert page.client.get("/words/../../etc.json").status_code == 404


def test_another_site_may_open_the_page_in_a_tab_and_nothing_else(page: Page) -> None:
    """The file that a browser is opened with counts as another site."""
    opens = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert page.client.get("/", headers=opens).status_code == 200
    assert page.client.get("/", headers={**opens, "sec-fetch-dest": "iframe"}).status_code == 403
    assert page.client.get("/", headers={**opens, "sec-fetch-mode": "no-cors"}).status_code == 403
    for path in ("/part/style.css", "/taken/x"):
        assert page.client.get(path, headers=opens).status_code == 403
    assert page.client.post("/api/ask/state", json={}, headers={**GOOD, **opens}).status_code == 403


class WindowsFolder:
    """A folder of the page on Windows, where whatever a path names is there."""

    def __init__(self, path: PureWindowsPath, real: Path | None) -> None:
        self.path, self.real = path, real

    @property
    def name(self) -> str:
        return self.path.name

    def joinpath(self, *parts: str) -> WindowsFolder:
        real = None if self.real is None else self.real.joinpath(*parts)
        return WindowsFolder(self.path.joinpath(*parts), real)

    __truediv__ = joinpath

    def iterdir(self) -> list[WindowsFolder]:
        assert self.real is not None
        return [self / one.name for one in self.real.iterdir()]

    def is_dir(self) -> bool:
        return self.real is not None and self.real.is_dir()

    def is_file(self) -> bool:
        return not self.is_dir()

    def read_bytes(self) -> bytes:
        return str(self.path).encode()


def test_a_path_of_windows_names_no_part_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Path(str(files("oboro.web")))
    home = WindowsFolder(PureWindowsPath(r"C:\oboro\app\web"), place)
    monkeypatch.setattr("oboro.web.server.files", lambda package: home)
    page = page_in(tmp_path / "private")
    served = page.client.get("/part/js/app.js")
    assert served.content == rb"C:\oboro\app\web\static\js\app.js"
    for name in (
        "C:%5CUsers%5Cme%5Csecret.csv",
        "C:secret.csv",
        "%5C%5Chost%5Cshare%5Cx",
        "%2F%2Fhost/share/x",
        "js%5Capp.js",
        "js",
    ):
        assert page.client.get(f"/part/{name}").status_code == 404, name


@pytest.mark.parametrize("name", [r"C:\Users\me\secret.csv", r"\\host\share\x.csv", "C:secret.csv", r"\Windows\x.csv"])
def test_a_path_of_windows_is_not_picked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Not even asked for: to ask for a share already speaks to the machine that has it."""
    monkeypatch.setattr("oboro.web.server.PurePath", PureWindowsPath)
    with pytest.raises(FileError, match="leads out of the folder"):
        Picker(tmp_path).inside(name)


def test_the_command_line_of_the_browser_has_no_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It names a file that only its owner can read, and that is gone once the page is open."""
    from oboro.web.server import page_server

    tmp_path.chmod(0o700)
    argv, started = tmp_path / "argv", threading.Event()
    program = tmp_path / "browser"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$0" "$@" > "{argv}.part" && mv "{argv}.part" "{argv}"\n')
    program.chmod(0o700)

    def browse(url: str) -> bool:
        subprocess.run([program, url], check=True)
        started.set()
        return True

    monkeypatch.setattr("webbrowser.open", browse)
    monkeypatch.setattr("uvicorn.Server.run", lambda server, sockets: started.wait(10))
    monkeypatch.setattr("oboro.web.server.load_screens", lambda: None)
    monkeypatch.setattr("oboro.web.server.SNAPS", tmp_path / "none")
    with page_server(tmp_path, above=tmp_path) as serving:
        serving.run(open_browser=True)
        words = argv.read_text()
        assert serving.token not in words
        shown = Path(unquote(urlsplit(words.split()[-1]).path))
        assert shown.stat().st_mode & 0o777 == 0o600
        assert shown.parent.stat().st_mode & 0o777 == 0o700
        assert f"0;url={serving.url}" in shown.read_text()
        client = TestClient(serving.server.config.app, base_url=serving.url.split("#")[0])
        assert client.post("/api/ask/state", json={}).status_code == 401
        assert shown.exists()
        assert client.post("/api/ask/state", json={}, headers={"x-oboro-token": serving.token}).status_code == 200
        assert not shown.exists()


def test_a_browser_that_is_a_snap_gets_a_file_that_it_can_see(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from oboro.web.server import page_server

    tmp_path.chmod(0o700)
    monkeypatch.setattr("oboro.web.server.SNAPS", tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    with page_server(tmp_path, above=tmp_path) as serving:
        serving.address_file.write(serving.url)
        (shown,) = (tmp_path / "home").iterdir()
        assert shown.stat().st_mode & 0o777 == 0o600
        assert not shown.name.startswith(".")
    assert not shown.exists()


def test_it_listens_on_this_machine_only(tmp_path: Path) -> None:
    from oboro.web.server import page_server

    tmp_path.chmod(0o700)
    with page_server(tmp_path, above=tmp_path) as serving:
        host, port = serving.listening.getsockname()[:2]
        assert host == "127.0.0.1"
        assert serving.url.startswith(f"http://127.0.0.1:{port}/#token=")
        assert len(serving.token) >= 32
        assert serving.token not in serving.url.split("#")[0]
