"""Draw the pictures of docs/web.md anew: the page on made-up people, in a real browser (`python docs/page_pictures.py`)."""

from __future__ import annotations

import base64
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from oboro.recipe.recipe import Recipe
from oboro.recipe.starter import write_sample
from oboro.web.server import first_table, page_server

PLACE = Path(__file__).parent / "web"
SIZE = {"width": 1200, "height": 780}
AS_WEBP = """async (png) => {
  const image = new Image(); image.src = "data:image/png;base64," + png; await image.decode();
  const canvas = document.createElement("canvas"); canvas.width = image.width; canvas.height = image.height;
  canvas.getContext("2d").drawImage(image, 0, 0);
  return canvas.toDataURL("image/webp", 0.82).split(",")[1];
}"""


def main() -> None:
    """Open the page, walk through its screens, keep a picture of each."""
    private = Path(tempfile.mkdtemp())
    folder = private / "oboro-demo"
    folder.mkdir()
    recipe = write_sample("people", folder / "people.csv", rows=20_000)
    Recipe.load(recipe).run(folder / "people.csv").write(folder / "released.csv")
    run_stream(folder)
    with page_server(folder, above=private) as serving, sync_playwright() as running:
        serving.desk.first = first_table(folder / "people.csv", recipe, {})
        running_page = threading.Thread(target=serving.run, daemon=True)
        running_page.start()
        browser = running.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page, maker = browser.new_page(viewport=SIZE, locale="en-US"), browser.new_page()
        page.set_default_timeout(60_000)
        page.goto(serving.url)
        page.wait_for_selector("main[data-screen=columns] .column")
        for name, show in SHOWN.items():
            show(page)
            page.wait_for_selector(".working", state="hidden")
            page.wait_for_timeout(600)
            made = maker.evaluate(AS_WEBP, base64.b64encode(page.screenshot()).decode())
            (PLACE / f"{name}.webp").write_bytes(base64.b64decode(made))
        browser.close()
        serving.server.should_exit = True
        running_page.join()
    shutil.rmtree(private)


def run_stream(folder: Path) -> None:
    """A stream of people, with its metrics and its state."""
    (folder / "stream.yaml").write_text(
        "attributes: {sex: {role: quasi}, job: {role: quasi}}\nunnamed: drop\nsteps: [{k_anonymize: {k: 5}}]\n"
    )
    words = [
        sys.executable,
        "-m",
        "oboro",
        "stream",
        "--recipe",
        "stream.yaml",
        "--from",
        "people.csv",
        "--to",
        "out.csv",
    ]
    done = subprocess.run([*words, "--state", "state", "--json"], cwd=folder, stderr=subprocess.PIPE, check=True)
    (folder / "metrics.ndjson").write_bytes(done.stderr)


def go(page: Any, screen: str, wait: str) -> None:
    """To a screen, until it shows something."""
    page.evaluate(f"location.hash = '#/{screen}'")
    page.wait_for_selector(f"main[data-screen={screen}] {wait}")


def hierarchy(page: Any) -> None:
    """Groups of jobs, which can be moved."""
    go(page, "hierarchy", ".tabs button")
    page.locator(".tabs.wrap button", has_text="job").click()
    page.wait_for_selector(".group")
    page.wait_for_selector(".slim strong")


def ladder(page: Any) -> None:
    """Units of time as a ladder."""
    go(page, "hierarchy", ".tabs button")
    page.locator(".tabs.wrap button", has_text="birthdate").click()
    page.wait_for_selector(".ladder")
    page.wait_for_selector(".slim strong")


def promises(page: Any) -> None:
    """The further promises, some asked for."""
    go(page, "promise", ".hero")
    page.locator("[data-key=more-risk]").click()
    page.locator("[data-key=more-hidden]").click()
    page.locator("[data-key=more-risk]").scroll_into_view_if_needed()
    page.evaluate("document.querySelector('.asked').scrollTop = 9999")


def pairs(page: Any) -> None:
    """Which columns hang together, before and after."""
    go(page, "rows", "#tab-pairs")
    page.locator("#tab-pairs").click()
    page.wait_for_selector(".pairs")


def space(page: Any) -> None:
    """The frontier with all its points."""
    go(page, "space", ".point")
    page.wait_for_selector("[data-key=stop]", state="detached")
    page.wait_for_selector("[data-key^=node-take]")


def report(page: Any) -> None:
    """The report within the page."""
    go(page, "report", "[data-key=attack]:not([disabled])")
    page.locator("[data-key=attack]").click()
    page.wait_for_selector("iframe")
    page.wait_for_timeout(1500)


def take(page: Any) -> None:
    """A verified release, with the drawer open."""
    go(page, "take", "[data-key=release]:not([disabled])")
    page.locator("[data-key=release]").click()
    page.wait_for_selector(".verified")


def stream(page: Any) -> None:
    """A stream by its metrics and its state."""
    go(page, "stream", "form")
    page.fill("#stream-metrics", "metrics.ndjson")
    page.fill("#stream-state", "state")
    page.locator("form button.main").click()
    page.wait_for_selector(".figure-card")


def assess(page: Any) -> None:
    """A released file alone, and what it tells."""
    go(page, "assess", ".entry")
    page.locator("section:first-child .entry", has_text="released.csv").first.click()
    page.locator("label[for=assess-amount-other]").click()
    page.locator(".role-list ~ button.main").click()
    page.wait_for_selector("dl.lines")
    page.evaluate("document.querySelector('.report-card').scrollIntoView()")


def japanese(page: Any) -> None:
    """The promise in Japanese, dark."""
    page.emulate_media(color_scheme="dark")
    page.select_option("#lang", "ja")
    go(page, "promise", ".hero")
    page.wait_for_selector(".answer[aria-busy=false]")


def phone(page: Any) -> None:
    """The same on a phone: the answer stays in sight while a control is moved."""
    page.emulate_media(color_scheme="light")
    page.select_option("#lang", "en")
    page.set_viewport_size({"width": 390, "height": 780})
    go(page, "promise", ".hero")
    page.wait_for_selector(".answer[aria-busy=false]")
    page.evaluate("scrollTo(0, 300)")


SHOWN = {
    "columns": lambda page: page.wait_for_selector(".column"),
    "promise": lambda page: go(page, "promise", ".hero"),
    "promises": promises,
    "hierarchy": hierarchy,
    "ladder": ladder,
    "space": space,
    "rows": lambda page: go(page, "rows", ".rows-view td"),
    "pairs": pairs,
    "report": report,
    "take": take,
    "stream": stream,
    "assess": assess,
    "open": lambda page: go(page, "open", ".entry"),
    "japanese": japanese,
    "phone": phone,
}

if __name__ == "__main__":
    main()
