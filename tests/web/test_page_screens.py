"""What each screen does in a real browser: hierarchies by mouse and by keys, undo and the drawer everywhere, reports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.web.page_cases import people_csv
from tests.web.test_page import (
    SCREENS,
    VERSION,
    answered,
    go,
    open_people,
    page,  # noqa: F401
    rest,
    serving,  # noqa: F401
    set_roles,
    until,
)

from oboro.web.server import PageServer

ANSWERED = "document.querySelector('main .slim strong')"


@pytest.fixture
def people(page: Any) -> Any:  # noqa: F811
    """The page with a table whose roles are confirmed."""
    open_people(page)
    set_roles(page)
    return page


def hierarchy(desk: Any, name: str) -> dict[str, Any]:
    found: dict[str, Any] = desk.now.session.plan.attributes[name].hierarchy.model_dump(
        mode="json", exclude_defaults=True
    )
    return found


def changed(page: Any, act: Any) -> None:  # noqa: F811
    """Do something, and wait until the page shows the state after it with its answer."""
    before = page.evaluate(VERSION)
    act()
    panels = f"document.querySelectorAll('main [data-version=\"' + {VERSION} + '\"]').length"
    until(page, f"Number({VERSION}) > {before} && {ANSWERED} && {panels} > 2")


def test_edges_of_a_histogram_are_dragged_and_moved_by_keys(people: Any, serving: PageServer) -> None:  # noqa: F811
    go(people, "hierarchy")
    people.locator("[data-key=col-age]").click()
    people.wait_for_selector("#widths")
    people.select_option("#kind", "edges")
    grip = people.locator("[data-key=mark-1] .grip")
    rest(people)
    grip.wait_for()
    box = grip.bounding_box()

    def drag() -> None:
        people.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        people.mouse.down()
        people.mouse.move(box["x"] + 60, box["y"] + 4, steps=3)
        people.mouse.up()

    changed(people, drag)
    fine, coarse = hierarchy(serving.desk, "age")["intervals"]["edges"]
    assert fine[:3] == [25, 33, 35]  # round numbers to begin with; whole numbers stay whole
    assert coarse == [33, 40, 50, 60]
    mark = people.locator("[data-key=mark-0]")
    changed(people, lambda: [mark.press("ArrowRight") for _ in range(2)])
    assert hierarchy(serving.desk, "age")["intervals"]["edges"][0][:3] == [27, 33, 35]
    changed(people, lambda: people.locator("[data-key=edge-gone-0]").click())
    assert hierarchy(serving.desk, "age")["intervals"]["edges"][0][0] == 33


def test_a_tree_is_changed_by_drag_and_by_keys_and_files_of_arx_go_in_and_out(
    people: Any,
    serving: PageServer,  # noqa: F811
    tmp_path: Path,
) -> None:
    go(people, "hierarchy")
    people.locator("[data-key=col-town]").click()
    people.wait_for_selector("#kind option[value=tree]", state="attached")
    people.select_option("#kind", "tree")
    for place in (0, 1):
        people.locator(".group input[type=checkbox]").nth(place).check()
    people.fill("#group-name", "north")
    changed(people, lambda: people.get_by_role("button", name="Put the marked").click())
    parents = lambda: {row[0]: row[1] for row in hierarchy(serving.desk, "town")["rows"]}  # noqa: E731
    assert list(parents().values()).count("north") == 2
    changed(people, lambda: people.locator(".group select").last.select_option("north"))
    assert list(parents().values()).count("north") == 3
    north = people.locator(".group[aria-label=north]")
    other = people.locator(".group:not([aria-label=north]) li").first
    changed(people, lambda: other.drag_to(north.locator("h3")))
    assert set(parents().values()) == {"north"}
    with people.expect_download() as coming:
        people.locator("[data-key=export]").click()
    coming.value.save_as(tmp_path / "town.csv")
    text = (tmp_path / "town.csv").read_text(encoding="utf-8")
    assert "T1;north;*" in text
    (tmp_path / "town.csv").write_text(text.replace("T1;north", "T1;south"), encoding="utf-8")
    changed(people, lambda: people.set_input_files("#arx", tmp_path / "town.csv"))
    assert parents()["T1"] == "south"


def test_undo_and_the_recipe_are_on_every_screen(people: Any, serving: PageServer) -> None:  # noqa: F811
    go(people, "promise")
    answered(people)
    people.fill("[data-key=slide-k-exact]", "9")
    people.press("[data-key=slide-k-exact]", "Tab")
    until(people, f"Number({VERSION}) > 1 && document.querySelector('[data-key=undo]').disabled === false")
    answered(people)
    people.locator(".handle").click()
    for screen in SCREENS:
        go(people, screen)
        rest(people)
        people.wait_for_selector(".drawer-body")
        for kind in ("yaml", "command", "python"):
            if (screen, kind) == ("assess", "yaml"):  # nothing is assessed yet
                continue
            people.locator(f"#drawer-{kind}").click()
            people.wait_for_selector(f"#drawer-{kind}[aria-selected=true]")
            people.wait_for_selector(".drawer-body pre")
            said = people.locator(".drawer-body pre").inner_text()
            assert {"yaml": "attributes:", "command": "oboro ", "python": "import oboro"}[kind] in said, (screen, kind)
        for key, k in (("Control+z", 5), ("Control+Shift+Z", 9)):
            before = people.evaluate(VERSION)
            people.locator("h1").focus()
            people.keyboard.press(key)
            until(people, f"Number({VERSION}) > {before}")
            assert serving.desk.now.session.demands.k == k


def test_a_report_comes_in_both_languages_and_both_versions(people: Any, serving: PageServer) -> None:  # noqa: F811
    go(people, "report")
    people.wait_for_selector("[data-key=attack]:not([disabled])", timeout=60_000)
    people.locator("[data-key=attack]").click()
    seen = {}
    for lang in ("en", "ja"):
        for version in ("owner", "public"):
            for name in (f"report-lang-{lang}", f"report-version-{version}"):
                if people.is_checked(f"#{name}") and (lang, version) != ("en", "owner"):
                    continue
                old = people.get_attribute("iframe", "src") if seen else ""
                if seen:
                    people.locator(f"label[for='{name}']").click()
                until(
                    people,
                    f"document.querySelector('iframe') && document.querySelector('iframe').getAttribute('src') !== '{old}'",
                )
                rest(people)
            frame = people.frames[-1]
            frame.wait_for_selector("h1")
            assert frame.locator("html").get_attribute("lang") == lang
            seen[lang, version] = frame.content()
    assert len(set(seen.values())) == 4
    assert all(len(seen[lang, "public"]) < len(seen[lang, "owner"]) for lang in ("en", "ja"))


def test_what_is_verified_goes_with_the_state_that_it_is_about(people: Any) -> None:
    go(people, "take")
    people.wait_for_selector("[data-key=release]:not([disabled])", timeout=60_000)
    people.locator("[data-key=release]").click()
    people.wait_for_selector(".verified", timeout=60_000)
    people.keyboard.press("Control+z")
    people.wait_for_selector(".verified", state="detached")


def test_a_window_onto_many_rows_goes_to_any_of_them(page: Any, tmp_path: Path) -> None:  # noqa: F811
    """More rows than a browser can make high: by number, by keys, to the end and back; only some of them are in the page."""
    lines = "".join(f"{20 + i % 50},T{i}\n" for i in range(300_000))
    (tmp_path / "many.csv").write_text(f"age,town\n{lines}", encoding="utf-8")
    open_people(page, tmp_path / "many.csv")
    page.locator("label[for='role-town-identifier']").click()
    until(page, "document.querySelector('#role-town-identifier')?.checked")
    rest(page)
    go(page, "rows")
    page.wait_for_selector(".rows-view td", timeout=60_000)
    page.fill("#jump", "150001")
    page.press("#jump", "Enter")
    first = "document.querySelector('.rows-view tbody th')?.textContent"
    until(page, f"{first} === '150,001' && document.querySelector('.rows-view del')?.textContent === 'T150000'")
    page.locator(".rows-view").focus()
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    until(page, f"{first} === '150,004'")
    page.keyboard.press("End")
    until(page, "[...document.querySelectorAll('.rows-view del')].at(-1)?.textContent === 'T299999'")
    page.keyboard.press("Home")
    until(page, f"{first} === '1'")
    assert page.locator(".rows-view tr").count() < 60


def test_a_file_is_assessed_beside_its_original(page: Any, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "made.csv").write_bytes(people_csv(60))
    go(page, "assess")
    page.set_input_files("#assess-released", tmp_path / "made.csv")
    page.wait_for_selector(".role-list")
    page.locator("main button.main").click()
    page.wait_for_selector(".lines", timeout=60_000)
    alone = page.locator(".report-card h2").inner_text()
    page.locator("section:nth-child(2) .entry", has_text="people.csv").click()
    page.get_by_role("button", name="Compare").click()
    until(page, f"document.querySelector('.report-card h2')?.textContent !== {alone!r}")
    assert "1-anonymous" in alone
    assert "original" in page.locator(".report-card h2").inner_text()
    page.locator(".handle").click()
    page.wait_for_selector(".drawer-body pre")
    assert "role: quasi" in page.locator(".drawer-body pre").inner_text()


def test_a_stream_is_watched_while_it_starts_runs_and_ends(page: Any, serving: PageServer) -> None:  # noqa: F811
    """What is not there yet is asked for again; a real `oboro stream` beside the page, with its metrics and its state."""
    folder = serving.desk.picker.root
    (folder / "stream.yaml").write_text(
        "attributes: {age: {role: quasi, hierarchy: {intervals: [10]}}, sex: {role: quasi}}\nsteps: [{k_anonymize: {k: 3}}]\n"
    )
    go(page, "stream")
    page.fill("#stream-metrics", "metrics.ndjson")
    page.fill("#stream-state", "state")
    page.locator("form button.main").click()
    page.wait_for_selector(".wrong")
    command = [sys.executable, "-m", "oboro", "stream", "-r", "stream.yaml", "--state", "state", "--json"]
    with (folder / "metrics.ndjson").open("w") as told:
        stream = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=told, text=True
        )
        assert stream.stdin is not None
        for i in range(300):
            stream.stdin.write(f'{{"age": {20 + i % 30}, "sex": "{"FM"[i % 2]}"}}\n' if i else "no record\n")
        stream.stdin.flush()
        until(page, "document.querySelector('main').textContent.includes('the stream runs')")
        until(page, "/299\\s*records came/.test(document.querySelector('main').textContent)")
        shown = page.locator("main .figures").inner_text()
        stream.stdin.close()
        assert stream.wait(30) == 0
    assert all(name in shown for name in ("a second", "suppressed", "99 of 100", "dead letters", "snapshot")), shown
    until(page, "document.querySelector('main .note')")  # nobody holds the folder any more
    page.get_by_role("button", name="Stop watching").click()


def test_a_file_that_was_chosen_is_shown_though_its_screen_was_drawn_anew(page: Any) -> None:  # noqa: F811
    """The answer about its sheets came when another drawing of the screen was shown: the click was lost."""
    held: list[Any] = []
    page.route("**/sheets", lambda route: held.append(route))
    go(page, "open")
    page.locator(".entry", has_text="people.csv").click()
    while not held:
        page.wait_for_timeout(20)
    go(page, "assess")
    go(page, "open")
    held[0].continue_()
    page.locator(".chosen button.main").wait_for()
