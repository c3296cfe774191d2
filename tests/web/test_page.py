"""The page in a real browser: the whole way by mouse and by keyboard, in both languages; nobody is kept out, nothing leaves."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from tests.web.page_cases import people_csv

from oboro.web.server import PageServer, page_server

SCREENS = ("open", "columns", "hierarchy", "promise", "space", "rows", "report", "take", "stream", "assess")
COLOURS = ["color-contrast", "link-in-text-block"]
WIDTHS = {"phone": 375, "tablet": 768, "wide": 1400}
SOME = (  # axe looks at the first and the last; each must fit the page
    (("en", "light", 375), ("en", "dark", 1400), ("ja", "light", 768), ("ja", "dark", 375)),
    (("ja", "light", 1400), ("ja", "dark", 375), ("en", "light", 768), ("en", "dark", 375)),
)
TAKE = {"en": "Make and verify the release", "ja": "作成して検証する"}
VERSION = "document.querySelector('.table-name').dataset.version"
METRICS = (
    '{"records": 1200, "suppressed_cells": 40, "smallest_crowd": 5, "latency_ms": {"p99": 2.5}, "dead_letters": 3}\n'
)
EVIL = "<script>document.title='broken'</script>"


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageServer]:
    """One server for all, in a thread, with kernels that are compiled already."""
    folder = tmp_path_factory.mktemp("page")
    folder.chmod(0o700)
    (folder / "people.csv").write_bytes(people_csv())
    (folder / "released.csv").write_bytes(people_csv(60))
    (folder / "metrics.ndjson").write_text(METRICS)
    with page_server(folder, above=folder) as made:
        thread = threading.Thread(target=made.run, daemon=True)
        thread.start()
        yield made
        made.server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


@pytest.fixture
def page(browser: Any, serving: PageServer) -> Iterator[Any]:
    made = opened(browser, serving)
    yield made
    assert made.said == []
    made.context.close()


def opened(browser: Any, serving: PageServer, at: str | None = None, **how: Any) -> Any:
    context = browser.new_context(viewport={"width": 1200, "height": 900}, locale="en-US", **how)
    made = context.new_page()
    made.said, made.asked = [], []
    made.on("console", lambda message: made.said.append(message.text))
    made.on("pageerror", lambda error: made.said.append(str(error)))
    made.on("request", lambda request: made.asked.append(request.url))
    made.goto(at or serving.url)
    made.wait_for_selector("body[data-ready=yes]")
    return made


def test_the_file_with_the_address_opens_the_page(browser: Any, serving: PageServer) -> None:
    """A real browser follows it, and the page has the token; the file is gone then."""
    made = opened(browser, serving, at=(address := serving.address_file.write(serving.url)))
    assert made.asked[0] == address
    assert not Path(address.removeprefix("file://")).exists()
    assert made.said == []
    made.context.close()


def until(page: Any, held: str) -> None:
    """Wait for something in the page; Playwright's own way would evaluate text within it, which the page forbids."""
    end = time.monotonic() + 60
    while not page.evaluate(f"() => Boolean({held})"):
        assert time.monotonic() < end, held
        page.wait_for_timeout(40)


def go(page: Any, screen: str) -> None:
    page.evaluate(f"location.hash = '#/{screen}'")
    page.wait_for_selector(f"main[data-screen={screen}]")


def rest(page: Any) -> None:
    """Until nothing is being worked on."""
    page.wait_for_selector(".working", state="hidden", timeout=60_000)


def answered(page: Any) -> int:
    """Until the answer is about the state that is shown; its version."""
    shown = "document.querySelector('.answer [data-version]')?.dataset.version"
    until(page, f"document.querySelector('.answer')?.ariaBusy === 'false' && {shown} === {VERSION}")
    return int(page.get_attribute(".answer [data-version]", "data-version"))


def open_people(page: Any, path: Path | None = None) -> None:
    go(page, "open")
    if path is None:
        page.locator(".entry", has_text="people.csv").click()
    else:
        page.set_input_files("#file", path)
    page.locator(".chosen button.main").click()
    page.wait_for_selector("main[data-screen=columns] .column", timeout=60_000)
    rest(page)


def set_roles(page: Any) -> None:
    for column, role in {"age": "quasi", "town": "quasi", "sex": "quasi", "illness": "sensitive"}.items():
        name = f"[id='role-{column}-{role}']"
        if not page.is_checked(name):
            page.locator(f"label[for='role-{column}-{role}']").click()
            until(page, f'document.querySelector("{name}")?.checked')
        rest(page)
    if page.locator("[data-key=confirm-all]").count():
        page.locator("[data-key=confirm-all]").click()
        page.wait_for_selector(".card .good")
        rest(page)


# The whole way -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_the_whole_way_by_mouse(page: Any, lang: str, tmp_path: Path) -> None:
    page.select_option("#lang", lang)
    until(page, f"document.documentElement.lang === '{lang}'")
    (tmp_path / "people.csv").write_bytes(people_csv())
    open_people(page, tmp_path / "people.csv")
    set_roles(page)
    go(page, "promise")
    first = answered(page)
    page.fill("[data-key=slide-k-exact]", "6")
    page.press("[data-key=slide-k-exact]", "Tab")
    until(page, f"Number({VERSION}) > {first}")
    assert answered(page) > first
    go(page, "space")
    page.wait_for_selector(".point[data-k='10']", timeout=60_000)
    page.wait_for_selector("[data-key=stop]", state="detached", timeout=60_000)
    page.locator(".point[data-k='10'][data-suppress='0']").click()
    page.wait_for_selector(".point.here[data-k='10']")
    go(page, "take")
    page.get_by_role("button", name=TAKE[lang]).click()
    page.wait_for_selector(".verified", timeout=60_000)
    with page.expect_download() as coming:
        page.locator("[data-key=fetch]").click()
    coming.value.save_as(tmp_path / "out.csv")
    import oboro

    assert oboro.verify(oboro.read(tmp_path / "out.csv"), quasi=["age", "town", "sex"], k=10).holds
    assert coming.value.suggested_filename == "people-released.csv"


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_the_whole_way_by_keyboard_alone(page: Any, lang: str) -> None:
    """Only keys: Tab and Shift+Tab to go, arrows to choose, Enter and Space to act."""

    def to(selector: str, most: int = 150) -> None:
        for _ in range(most):
            if page.evaluate("s => document.activeElement?.matches(s)", selector):
                return
            page.keyboard.press("Tab")
        raise AssertionError(f"no way by keyboard to {selector}")

    page.evaluate("document.activeElement.blur()")
    to("#lang")
    page.keyboard.press("End" if lang == "ja" else "Home")
    until(page, f"document.documentElement.lang === '{lang}'")
    to("a[href='#/open']")
    page.keyboard.press("Enter")
    to(".entry[data-key='people.csv']")
    page.keyboard.press("Enter")
    page.wait_for_selector(".chosen button.main:focus")
    page.keyboard.press("Enter")
    page.wait_for_selector("main[data-screen=columns] .column", timeout=60_000)
    rest(page)
    to("[id^='role-town-']:checked")
    page.keyboard.press("ArrowRight")
    until(page, f"{VERSION} > 1")
    rest(page)
    page.keyboard.press("ArrowLeft")
    rest(page)
    if page.locator("[data-key=confirm-all]").count():
        page.keyboard.press("Control+Home")
        page.locator("h1").focus()
        to("[data-key=confirm-all]")
        page.keyboard.press("Enter")
        page.wait_for_selector(".card .good")
    page.locator("h1").focus()
    for _ in range(60):
        page.keyboard.press("Shift+Tab")
        if page.evaluate("document.activeElement.matches(\"a[href='#/promise']\")"):
            break
    page.keyboard.press("Enter")
    page.wait_for_selector("main[data-screen=promise]")
    before = answered(page)
    to("#slide-k")
    page.keyboard.press("ArrowRight")
    until(page, f"Number({VERSION}) > {before}")
    answered(page)
    assert page.evaluate("document.activeElement.id") == "slide-k"
    page.keyboard.press("Control+z")
    until(page, "document.querySelector('[data-key=redo]').disabled === false")
    page.evaluate("location.hash = '#/space'")
    page.wait_for_selector(".point[tabindex='0']", timeout=60_000)
    page.wait_for_selector("[data-key=stop]", state="detached", timeout=60_000)
    to(".point[tabindex='0']")
    page.keyboard.press("ArrowRight")
    chosen = page.evaluate("document.activeElement.dataset.k")
    page.keyboard.press("Enter")
    page.wait_for_selector(f".point.here[data-k='{chosen}']")
    page.evaluate("location.hash = '#/take'")
    page.wait_for_selector("[data-key=release]:not([disabled])", timeout=60_000)
    to("[data-key=release]")
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-key=fetch]:focus", timeout=60_000)
    with page.expect_download() as coming:
        page.keyboard.press("Enter")
    assert coming.value.suggested_filename == "people-released.csv"


# Everybody ---------------------------------------------------------------------------------------------------------------


def test_every_screen_is_for_everybody(page: Any) -> None:
    """axe-core finds nothing on any screen, light and dark, in both languages, on three widths; nothing runs off the page.

    Every screen is seen in four of the twelve ways, so that each language, scheme and width comes, and axe looks at one light
    and one dark; `make thorough` (or `OBORO_EXAMPLES=thorough`) sees all.
    """
    everything = os.environ.get("OBORO_EXAMPLES") == "thorough"
    spec = find_spec("axe_playwright_python")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    axe = (Path(spec.submodule_search_locations[0]) / "axe.min.js").read_text(encoding="utf-8")
    page.context.new_cdp_session(page).send("Page.setBypassCSP", {"enabled": True})
    page.reload()
    page.wait_for_selector("body[data-ready=yes]")
    page.evaluate(axe)
    open_people(page)
    set_roles(page)
    page.locator(".handle").click()
    found = []
    ways = [*product(("en", "ja"), ("light", "dark"), WIDTHS.values())]
    for place, screen in enumerate(SCREENS):
        go(page, screen)
        fill_screen(page, screen, everything)
        chosen = ways if everything else SOME[place % 2]
        for lang, scheme, width in chosen:
            if page.input_value("#lang") != lang:
                page.select_option("#lang", lang)
                until(page, f"document.documentElement.lang === '{lang}'")
                rest(page)
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 900})
            where = f"{screen} {lang} {scheme} {width}"
            if everything or (lang, scheme, width) in (chosen[0], chosen[-1]):
                found += judged(page, where, scheme == "dark")
            found += too_wide(page, where)
    assert found == []
    page.evaluate("document.querySelector('main').append(document.createElement('img'))")
    page.evaluate("document.querySelector('h1').style.color = 'var(--line)'")
    assert len(judged(page, "planted")) == 2
    assert len(judged(page, "planted", colours=True)) == 1


def fill_screen(page: Any, screen: str, everything: bool = False) -> None:
    """Let a screen show what it has; reports, which take seconds, only where everything is looked at."""
    if screen in ("promise", "hierarchy"):
        page.wait_for_selector("[data-version]")
    if screen == "promise":
        answered(page)
        for group in page.locator("[data-key^=more-]").all():
            group.click()
    if screen == "space":
        page.wait_for_selector("[data-key=stop]", state="detached", timeout=60_000)
        page.wait_for_selector("[data-key^=node-take]", timeout=60_000)
    if screen == "rows":
        page.wait_for_selector(".rows-view td", timeout=60_000)
    if screen == "take":
        page.wait_for_selector("[data-key=release]:not([disabled])", timeout=60_000)
        page.locator("[data-key=release]").click()
        page.wait_for_selector(".verified", timeout=60_000)
    if screen == "stream":
        page.fill("#stream-metrics", "metrics.ndjson")
        page.locator("form button.main").click()
        page.wait_for_selector(".figure-card")
    if screen == "report" and everything:
        page.locator("[data-key=attack]:not([disabled])").click()
        page.wait_for_selector("iframe", timeout=60_000)
    if screen == "assess" and everything:
        page.locator("section:first-child .entry", has_text="released.csv").first.click()
        page.locator(".role-list ~ button.main").click()
        page.wait_for_selector("dl.lines", timeout=60_000)


def judged(page: Any, where: str, colours: bool = False) -> list[str]:
    """What axe complains of; between light and dark only colours differ."""
    options: dict[str, Any] = {"runOnly": {"type": "rule", "values": COLOURS}, "resultTypes": ["violations"]}
    options = (
        options
        if colours
        else {
            "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
            "resultTypes": ["violations"],
        }
    )
    bad = page.evaluate("options => axe.run(document, options)", options)["violations"]
    return [f"{where}: {one['id']}: {[node['target'] for node in one['nodes'][:3]]}" for one in bad]


def too_wide(page: Any, where: str) -> list[str]:
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return [f"{where}: {wide} px too wide"] if wide > 0 else []


# What is shown -----------------------------------------------------------------------------------------------------------


def test_a_hundred_moves_of_a_slider_end_with_the_last(page: Any, serving: PageServer) -> None:
    open_people(page)
    set_roles(page)
    go(page, "promise")
    answered(page)
    page.evaluate(
        """async () => {
          const slider = document.getElementById("slide-k"), other = document.getElementById("slide-suppress");
          let seed = 5; const next = (n) => (seed = (seed * 16807) % 2147483647) % n;
          for (let i = 0; i < 100; i += 1) {
            const one = i % 3 ? slider : other; one.value = next(Number(one.max) + 1); one.dispatchEvent(new Event("input"));
            if (i % 7 === 0) await new Promise((go) => setTimeout(go, 15));
          }
          slider.value = 4; slider.dispatchEvent(new Event("input"));
        }"""
    )
    until(page, "document.querySelector('.answer').ariaBusy === 'false'")
    version = answered(page)
    shown = page.eval_on_selector_all("[data-version]", "found => found.map((one) => Number(one.dataset.version))")
    assert set(shown) == {version}
    headers = {"x-oboro-token": serving.token}
    asked = page.request.post(f"{serving.url.split('#')[0]}api/ask/state", data={}, headers=headers)
    held = json.loads(asked.text())["result"]
    assert held["demands"]["k"] == 5
    assert held["version"] == version


def test_controls_and_ladders_by_mouse_and_keyboard(page: Any, serving: PageServer, tmp_path: Path) -> None:
    """A further promise is asked for and refused again; levels of dates and masks are dragged, moved by keys, added, removed."""
    rows = "".join(f"{1950 + i % 50}-{1 + i % 12:02}-03,{1000 + i % 90},{'ab'[i % 2]}\n" for i in range(300))
    (tmp_path / "days.csv").write_text(f"born,code,ill\n{rows}")
    open_people(page, tmp_path / "days.csv")
    for column, role in {"born": "quasi", "code": "quasi", "ill": "sensitive"}.items():
        page.locator(f"label[for='role-{column}-{role}']").click()
        until(page, f"document.querySelector('#role-{column}-{role}')?.checked")
        rest(page)
    desk = serving.desk
    go(page, "promise")
    answered(page)
    page.locator("[data-key=more-secrets]").click()
    slider = page.locator("[id='slide-beta_likeness-ill-beta']")
    slider.press("ArrowRight")
    page.wait_for_selector("[id='slide-beta_likeness-ill-kind']")
    page.select_option("[id='slide-beta_likeness-ill-kind']", "basic")
    held = "document.querySelector('[data-key=more-secrets] .badge').textContent"
    until(page, f"{held}.startsWith('1') && document.querySelector('.answer').ariaBusy === 'false'")
    assert desk.now.session.demands.beta_likeness["ill"].model_dump() == {"beta": 5, "kind": "basic"}
    slider.press("ArrowLeft")
    until(page, f"{held} === ''")
    assert desk.now.session.demands.beta_likeness == {}
    go(page, "hierarchy")
    page.locator("[data-key=col-born]").click()
    spec = lambda: desk.now.session.plan.attributes["born"].hierarchy.dates  # noqa: E731
    page.wait_for_selector(".ladder [data-key=stop-2]")
    assert spec() == ["day", "month", "year", "decade"]
    page.locator("[data-key=stop-2]").press("Enter")
    page.wait_for_selector("[data-key=rung-4]")
    page.locator("[data-key=rung-0]").press("Delete")
    page.wait_for_selector("[data-key=stop-0]")
    assert spec() == ["month", "quarter", "year", "decade"]
    page.locator("[data-key=rung-0]").press("ArrowLeft")
    page.wait_for_selector("[data-key=stop-1]")
    assert spec() == ["day", "quarter", "year", "decade"]
    page.locator("[data-key=rung-0]").drag_to(page.locator("[data-key=stop-1]"), force=True)
    page.wait_for_selector("[data-key=stop-0]")
    assert spec() == ["month", "quarter", "year", "decade"]


def test_nothing_that_cannot_be_kept_can_be_fetched(page: Any) -> None:
    open_people(page)
    set_roles(page)
    go(page, "promise")
    answered(page)
    page.fill("[data-key=slide-k-exact]", "1000")
    page.press("[data-key=slide-k-exact]", "Tab")
    page.wait_for_selector(".refused [data-key=near-k]", timeout=60_000)
    go(page, "take")
    page.wait_for_selector(".wrong")
    assert page.locator("[data-key=release]").count() == 0
    go(page, "promise")
    page.locator("[data-key=near-k]").click()
    page.wait_for_selector(".hero", timeout=60_000)


def test_markup_in_names_and_values_stays_text(page: Any, tmp_path: Path) -> None:
    rows = "".join(f'"{EVIL}{i % 3}",{20 + i % 7}\n' for i in range(60))
    (tmp_path / "evil.csv").write_text(f'"{EVIL}",age\n{rows}')
    open_people(page, tmp_path / "evil.csv")
    assert page.locator("h2", has_text=EVIL).count() == 1
    page.locator("[data-key=confirm-all]").click()
    for screen in ("open", "hierarchy", "promise", "rows", "take"):
        go(page, screen)
        fill_screen(page, screen if screen in ("promise", "rows") else "")
        assert page.title() != "broken"
    assert page.locator("main script").count() == 0


def test_on_a_phone_the_answer_is_in_sight_while_a_control_is_moved(page: Any) -> None:
    page.set_viewport_size({"width": 375, "height": 667})
    open_people(page)
    go(page, "promise")
    answered(page)
    for control in ("#slide-k", "#slide-suppress", "[data-key=more-limits]", "[data-key=more-loss]"):
        if not page.locator(control).count():
            continue
        page.locator(control).evaluate("(one) => one.scrollIntoView({block: 'center'})")
        hero = page.locator(".answer > .hero").bounding_box()
        moved = page.locator(control).bounding_box()
        assert hero["y"] >= 0
        assert hero["y"] + hero["height"] <= moved["y"], control
    assert page.evaluate("document.documentElement.scrollWidth") == 375


def test_nothing_leaves_this_machine(browser: Any, serving: PageServer) -> None:
    """With every other address closed, all screens work and nobody tries one; the token is in no address."""
    page = opened(browser, serving)
    own = serving.url.split("/#")[0]
    page.context.route("**/*", lambda route: route.continue_() if route.request.url.startswith(own) else route.abort())
    open_people(page)
    for screen in SCREENS:
        go(page, screen)
        rest(page)
    assert [url for url in page.asked if not url.startswith((f"{own}/", "data:", "blob:"))] == []
    assert [url for url in page.asked if serving.token in url] == []
    assert "token" not in page.url
    assert page.evaluate("document.cookie") == ""
    assert page.evaluate("Object.keys(localStorage).filter((key) => key.includes('token'))") == []
    assert page.evaluate("sessionStorage.getItem('oboro-token')") == serving.token
    assert page.said == []
    page.context.close()


def test_without_the_token_nothing_is_shown(browser: Any, serving: PageServer) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(serving.url.split("#")[0])
    page.wait_for_selector(".wrong")
    assert page.locator(".entry, .column").count() == 0
    context.close()


def test_the_front_end_is_small_and_complete() -> None:
    """One hundred and fifty kilobytes with all words that a browser loads; nothing in it names another address."""
    from importlib.resources import files

    import oboro
    from oboro.text.message import catalogue

    parts = [one for one in Path(str(files("oboro.web").joinpath("static"))).rglob("*") if one.is_file()]
    size = sum(one.stat().st_size for one in parts)
    size += max(len(json.dumps(dict(catalogue(lang, "web")), ensure_ascii=False).encode()) for lang in ("en", "ja"))
    size += max(
        sum(len(str(text).encode()) for text in catalogue(lang, "demand_form").values()) for lang in ("en", "ja")
    )
    assert size < 150_000, oboro.__file__
    for one in parts:
        text = one.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "innerHTML" not in text
        assert "://" not in text, one.name


def test_other_questions_are_answered_while_one_is_worked_on(serving: PageServer) -> None:
    """The server never waits for a worker: while six questions sleep, the page itself is served."""
    from urllib.request import urlopen

    from oboro.web.screens import state

    held, old = threading.Event(), state.state_now

    def slow(*given: Any) -> Any:
        held.wait(20)
        return old(*given)

    state.state_now = slow
    try:
        url = serving.url.split("/#")[0]
        asking = [threading.Thread(target=_ask, args=(url, serving.token), daemon=True) for _ in range(4)]
        for one in asking:
            one.start()
        time.sleep(0.1)
        assert urlopen(f"{url}/part/style.css", timeout=10).status == 200
        assert all(one.is_alive() for one in asking)
    finally:
        held.set()
        state.state_now = old
    for one in asking:
        one.join(20)


def _ask(url: str, token: str) -> None:
    from urllib.request import Request, urlopen

    urlopen(Request(f"{url}/api/ask/state", data=b"{}", headers={"x-oboro-token": token}), timeout=30).read()
