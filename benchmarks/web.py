"""What the page costs: until it is there, from a key to the redrawn answer on Adult, and other requests while a search runs.

python -m benchmarks.web --data DIR   # a folder with arx-adult/

It is stored in `results/web.json`, and written into docs/web.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
import yaml
from playwright.sync_api import sync_playwright

from benchmarks.rows import record

RESULT, DOCS = Path(__file__).parent / "results/web.json", Path(__file__).parents[1] / "docs/web.md"
GOALS: dict[str, Callable[[dict[str, Any]], object]] = {
    "page ready <= 2 s": lambda found: found["listening_s"] + found["page_s"] <= 2,
    "key to redraw <= 250 ms": lambda found: found["key_to_redraw_ms"]["p95"] <= 250,
    "other requests, 95 of 100, <= 50 ms": lambda found: found["other_requests_ms"]["p95"] <= 50,
}


def adult_recipe(folder: Path) -> dict[str, Any]:
    """All nine columns of ARX's excerpt as quasi-identifiers, with its hierarchies."""
    names = (folder / "adult.csv").read_text(encoding="utf-8").splitlines()[0].split(";")
    files = {name: folder / f"adult_hierarchy_{name}.csv" for name in names}
    quasi = {name: {"role": "quasi", "hierarchy": {"csv": str(path)}} for name, path in files.items() if path.exists()}
    return {"attributes": quasi, "unnamed": "other", "steps": [{"k_anonymize": {"k": 5, "suppress": 0.02}}]}


def ask(url: str, token: str, name: str, **given: Any) -> float:
    """Seconds until a question is answered."""
    began = time.perf_counter()
    request = Request(f"{url}/api/ask/{name}", data=json.dumps(given).encode(), headers={"x-oboro-token": token})
    urlopen(request, timeout=120).read()
    return time.perf_counter() - began


def main() -> None:
    """Measure, and print one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    folder, work = parser.parse_args().data / "arx-adult", Path(tempfile.mkdtemp())
    (work / "recipe.yaml").write_text(yaml.safe_dump(adult_recipe(folder)), encoding="utf-8")
    load, began = os.getloadavg(), time.perf_counter()
    command = [
        sys.executable,
        "-m",
        "oboro",
        "web",
        str(folder / "adult.csv"),
        "--recipe",
        str(work / "recipe.yaml"),
        "--no-browser",
    ]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    url, token = re.search(r"(http://[^/]+)/#token=(\S+)", server.stdout.readline()).groups()  # type: ignore[union-attr]
    found: dict[str, Any] = {"listening_s": time.perf_counter() - began}
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(120_000)
        opened = time.perf_counter()
        page.goto(f"{url}/#token={token}")
        page.wait_for_selector("body[data-ready]")
        found["page_s"] = time.perf_counter() - opened
        page.wait_for_selector("body[data-ready=yes]")
        page.evaluate("location.hash = '#/promise'")
        page.wait_for_selector(".answer[aria-busy=false] .hero")
        found["key_to_redraw_ms"] = keys(page)
        found["other_requests_ms"] = others(url, token)
        browser.close()
    server.terminate()
    server.wait(20)
    shutil.rmtree(work)
    found = record("web", [], quick=False) | {"command": "python -m benchmarks.web --data DIR", "load": load} | found
    found["holds"] = {name: bool(held(found)) for name, held in GOALS.items()}
    RESULT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    text = DOCS.read_text(encoding="utf-8")
    written = re.sub(r"(?<=<!-- measured -->\n).*?(?=\n\n)", sentence_of(found), text, flags=re.S)
    DOCS.write_text(written, encoding="utf-8")
    print(json.dumps(found, indent=1))


def sentence_of(found: dict[str, Any]) -> str:
    """The sentence of docs/web.md from what is stored."""
    keys, others = found["key_to_redraw_ms"], found["other_requests_ms"]
    return (
        f"On two cores (load {found['load'][0]:.1f} at the start): listening after {found['listening_s']:.1f} s, the page "
        f"{found['page_s']:.1f} s later; from a key on the slider\nto the redrawn answer {keys['median']:.0f} ms in the median, "
        f"{keys['p95']:.0f} ms in 95 of 100 cases; other requests while a frontier is searched {others['median']:.0f} ms, and "
        f"{others['p95']:.0f} ms in 95 of 100."
    )


UNTIL_DRAWN = """(step) => new Promise((done) => {
  const slider = document.getElementById("slide-k"), answer = document.querySelector(".answer");
  const began = performance.now(), before = document.body.dataset.answered;
  const drawn = () => document.body.dataset.answered !== before && answer.ariaBusy === "false";
  const look = () => (drawn() ? done(performance.now() - began) : requestAnimationFrame(look));
  slider.value = Number(slider.value) + step; slider.dispatchEvent(new Event("input")); look();
})"""


def keys(page: Any) -> dict[str, float]:
    """From a key on the slider until the answer about the new state is drawn."""
    page.focus("#slide-k")
    steps = [1 if key == "ArrowRight" else -1 for key in ["ArrowRight", "ArrowRight", "ArrowLeft"] * 10]
    took = [page.evaluate(UNTIL_DRAWN, step) for step in steps]
    return {"median": float(np.median(took)), "p95": float(np.percentile(took, 95))}


def others(url: str, token: str) -> dict[str, float]:
    """Small questions while a frontier is searched."""
    over = threading.Event()

    def search() -> None:
        ask(
            url,
            token,
            "frontier",
            k=[2, 3, 4, 6, 8, 9, 11, 12, 13, 14, 16, 17, 18, 19],
            suppress=[0.0, 0.01, 0.03, 0.04],
        )
        over.set()

    threading.Thread(target=search, daemon=True).start()
    took: list[float] = []
    while not over.is_set() and len(took) < 300:
        took.append(ask(url, token, "state"))
        time.sleep(0.01)
    return {"requests": len(took), "median": float(np.median(took)) * 1e3, "p95": float(np.percentile(took, 95)) * 1e3}


if __name__ == "__main__":
    main()
