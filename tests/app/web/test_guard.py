"""Who may ask the page: every line of its security, each with a request that must not pass."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.app.web.page_cases import PORT, TOKEN, Page, page_in

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


def test_it_listens_on_this_machine_only(tmp_path: Path) -> None:
    from oboro.app.web.serving import page_server

    tmp_path.chmod(0o700)
    with page_server(tmp_path, above=tmp_path) as serving:
        host, port = serving.listening.getsockname()[:2]
        assert host == "127.0.0.1"
        assert serving.url.startswith(f"http://127.0.0.1:{port}/#token=")
        assert len(serving.token) >= 32
        assert serving.token not in serving.url.split("#")[0]
