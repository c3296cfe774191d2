"""Files of the page: what comes in is counted and private, what is picked lies below the root, what goes out goes once."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from tests.web.page_cases import TOKEN, Page, page_in, people_csv

from oboro.errors import FileError
from oboro.system.files import ScratchFolder


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    made = page_in(tmp_path / "private", tmp_path / "root", most=20_000)
    (tmp_path / "root").mkdir()
    yield made
    made.desk.scratch.close()


# What comes in ----------------------------------------------------------------------------------------------------------


def test_a_file_that_is_dropped_lies_in_a_private_folder(page: Page) -> None:
    state = page.open("people.csv", people_csv())
    assert state["table"]["rows"] == 300
    folder = page.desk.scratch.path
    held = [one for one in folder.iterdir() if one.name != "lock"]
    assert len(held) == 1
    assert folder.stat().st_mode & 0o777 == 0o700
    assert folder.parent.stat().st_mode & 0o777 == 0o700
    assert "people" not in held[0].name
    page.desk.scratch.close()
    assert not folder.exists()


def test_bytes_are_counted_as_they_come(page: Page) -> None:
    """A chunked body says no length: what it says is not believed."""
    parts = (b"a,b\n" * 1000 for _ in range(30))
    sent = page.client.put("/api/upload", content=parts, headers={"x-oboro-token": TOKEN, "x-oboro-name": "a.csv"})
    assert sent.status_code == 413
    assert "more than" in sent.json()["error"]["text"]
    assert [one.name for one in page.desk.scratch.path.iterdir()] == ["lock"]


def test_a_length_that_is_too_great_is_refused_at_once(page: Page) -> None:
    assert page.upload("a.csv", b"x" * 20_001).status_code == 413
    assert page.upload("a.csv", b"x" * 20_000).status_code == 200


@pytest.mark.parametrize("name", ["../../etc/passwd", "a.exe", "a", "%2e%2e%2fx", ".csv.sh"])
def test_other_files_are_refused(page: Page, name: str) -> None:
    assert page.upload(name, b"a\n").status_code == 413


def test_a_name_says_nothing_about_where_it_is_put(page: Page, tmp_path: Path) -> None:
    sent = page.upload("..%2f..%2fevil.csv", b"a,b\n1,2\n")
    assert sent.json()["result"]["name"] == "evil.csv"
    assert not list(tmp_path.rglob("evil*"))


def test_questions_are_counted_too(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oboro.web.server.MOST_JSON", 1000)
    answer = page.client.post("/api/ask/state", json={"a": "x" * 1001}, headers={"x-oboro-token": TOKEN})
    assert answer.status_code == 413
    for body in (b"[1]", b"{", b"\xff"):
        assert page.client.post("/api/ask/state", content=body, headers={"x-oboro-token": TOKEN}).status_code == 413


# What is picked ---------------------------------------------------------------------------------------------------------


def test_the_picker_stays_below_its_root(page: Page, tmp_path: Path) -> None:
    root = tmp_path / "root"
    (tmp_path / "outside.csv").write_text("a\n1\n")
    (root / "inside.csv").write_text("a\n1\n")
    (root / "deeper").mkdir()
    (root / ".hidden.csv").write_text("a\n1\n")
    (root / "link.csv").symlink_to(tmp_path / "outside.csv")
    (root / "way").symlink_to(tmp_path)
    (root / "loop").symlink_to(root / "loop")
    shown = page.ask("files", folder="")
    assert [one["name"] for one in shown["entries"]] == ["deeper", "inside.csv"]
    for name in (
        "../outside.csv",
        "link.csv",
        "way/outside.csv",
        "loop",
        f"{tmp_path}/outside.csv",
        "deeper/../../outside.csv",
        "\0",
    ):
        assert page.refused("open", path=name)["kind"] == "FileError"
        assert page.refused("files", folder=name)["kind"] == "FileError"
    assert page.refused("files", folder="way")["kind"] == "FileError"
    assert page.refused("stream", state="way")["kind"] == "FileError"
    assert page.ask("open", path="inside.csv")["state"]["table"]["rows"] == 1


# What goes out ----------------------------------------------------------------------------------------------------------


def test_a_ticket_is_good_once(page: Page) -> None:
    page.open("people.csv", people_csv())
    page.ask("confirm")
    found = page.ask("release", format=".csv")
    first = page.client.get(f"/taken/{found['ticket']}")
    assert first.status_code == 200
    assert first.content.count(b"\n") == 301
    assert first.headers["content-disposition"].startswith("attachment")
    assert page.client.get(f"/taken/{found['ticket']}").status_code == 410
    held = [one for one in page.desk.scratch.path.iterdir() if one.name != "lock"]
    assert len(held) == 1  # the upload; what was fetched is gone


def test_a_ticket_grows_old(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    page.open("people.csv", people_csv())
    page.ask("confirm")
    found = page.ask("release", format=".parquet")
    now = time.monotonic()
    monkeypatch.setattr("oboro.web.server.time.monotonic", lambda: now + 4000)
    assert page.client.get(f"/taken/{found['ticket']}").status_code == 410
    assert len([one for one in page.desk.scratch.path.iterdir() if one.name != "lock"]) == 1


# The private folder -----------------------------------------------------------------------------------------------------


def test_folders_of_the_living_stay_and_of_the_dead_go(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    living, dead = ScratchFolder("web", tmp_path), ScratchFolder("web", tmp_path)
    dead.file(".csv").write_text("secret")
    dead._lock.release()  # as the system does for a process that was killed
    third = ScratchFolder("web", tmp_path)
    assert third.swept == 1
    assert living.path.exists()
    assert not dead.path.exists()
    living.close()
    third.close()
    assert list((third.path.parent).iterdir()) == []


def test_a_folder_that_others_may_write_is_not_used(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    ScratchFolder("web", tmp_path).close()
    home = next(tmp_path.iterdir())
    home.chmod(0o777)
    with pytest.raises(FileError, match="cannot be made private"):
        ScratchFolder("web", tmp_path)


def started(folder: Path) -> tuple[subprocess.Popen[str], str, str]:
    env = {**os.environ, "TMPDIR": str(folder)}
    command = [sys.executable, "-m", "oboro", "web", "--no-browser", "--root", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    assert process.stdout is not None
    found = re.search(r"(http://[^/]+)/#token=(\S+)", process.stdout.readline())
    assert found is not None
    return process, found[1], found[2]


def assert_empties(home: Path) -> None:
    """Nothing is left in a folder before long."""
    end = time.monotonic() + 20
    while list(home.iterdir()):
        assert time.monotonic() < end, list(home.iterdir())
        time.sleep(0.01)


@pytest.mark.parametrize("name", ["SIGKILL", "SIGABRT", "SIGSEGV"])
def test_a_watched_folder_goes_with_its_process(tmp_path: Path, name: str) -> None:
    tmp_path.chmod(0o700)
    (tmp_path / "elsewhere.html").touch()
    program = f"""
import os, resource, signal
from pathlib import Path
from oboro.system.files import ScratchFolder
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
folder = ScratchFolder("web", Path({str(tmp_path)!r}))
folder.watch()
folder.remove_too(Path({str(tmp_path / "elsewhere.html")!r}))
(folder.folder() / "raw.csv").write_text("Hanako Secret")
print(folder.path.exists(), flush=True)
os.kill(os.getpid(), signal.{name})
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("True\n", -getattr(signal, name))
    assert_empties(tmp_path / f"oboro-web-{os.getuid()}")
    end = time.monotonic() + 20
    while (tmp_path / "elsewhere.html").exists():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_folder_that_is_closed_leaves_no_watcher(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    folder = ScratchFolder("web", tmp_path)
    folder.watch()
    folder.close()
    assert folder._watcher is not None
    assert folder._watcher.returncode == 0
    assert not folder.path.exists()


def test_kill_leaves_no_raw_file_and_nothing_is_logged(tmp_path: Path) -> None:
    """A real process: killed with an upload in its folder; the next one leaves nothing either when it is asked to end."""
    tmp_path.chmod(0o700)
    process, url, token = started(tmp_path)
    headers = {"x-oboro-token": token, "x-oboro-name": "secret-name.csv"}
    urlopen(Request(f"{url}/api/upload", data=b"name\nHanako Secret\n", headers=headers, method="PUT"), timeout=20)
    home = next(tmp_path.glob("oboro-web-*"))
    assert any(b"Hanako Secret" in one.read_bytes() for one in home.rglob("*.csv"))
    process.send_signal(signal.SIGKILL)
    said = process.communicate(timeout=20)
    assert_empties(home)
    process, url, token = started(tmp_path)
    body = Request(
        f"{url}/api/ask/no-such-question-Hanako", data=b"{}", headers={"x-oboro-token": token}, method="POST"
    )
    with pytest.raises(OSError, match="404"):
        urlopen(body, timeout=20)
    process.send_signal(signal.SIGTERM)
    said += process.communicate(timeout=30)
    assert process.returncode == 0
    assert list(home.iterdir()) == []
    assert "Hanako" not in "".join(said)
    assert "secret-name" not in "".join(said)
