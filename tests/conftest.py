"""What every test shares: how property tests run, where real data may be found, one thread, a browser."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import IO, Any

import pyarrow.csv as csv
import pytest
import typer.main
from hypothesis import HealthCheck, settings

from oboro.kernels.jit import always_compiled

pytest.register_assert_rewrite(
    "tests.algorithms.lattice_cases", "tests.report.report_cases", "tests.stream.stream_cases"
)

# The first call of a kernel compiles it, and the machines are noisy: a deadline per example would say nothing.
# Examples are drawn anew in every run; `make thorough` draws many more of them.
settings.register_profile("oboro", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=30)
settings.register_profile("thorough", settings.get_profile("oboro"), max_examples=1000)
settings.load_profile(os.environ.get("OBORO_EXAMPLES", "oboro"))

ROOT = Path(__file__).parent.parent

# Tests read errors as a person at a terminal does; tests/cli/test_quiet_errors.py reads them as a log does.
os.environ["OBORO_SHOW_VALUES"] = "1"

# Threads that wait for work sleep. By default they keep their core busy for a while, which the other process of tests needs.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# Nearly all tables of tests are so small that Python would do the work of kernels, which nobody would test then. What Python does
# is compared with it in tests/kernels/test_little_work.py; processes that tests start do as they do for everybody.
COMPILED = always_compiled()
COMPILED.__enter__()

# Commands are called in this process hundreds of times. To read the options of all of them from their functions takes longer than
# most of what they then do, and is the same every time.
typer.main.get_params_from_function = cache(typer.main.get_params_from_function)


# Real data ------------------------------------------------------------------------------------------------------------


def _data_folder(name: str) -> Path:
    folder = Path(os.environ.get("OBORO_DATA") or ROOT.parent / "shared" / "data") / name
    if not folder.exists():
        pytest.skip(f"no real data: set OBORO_DATA to a folder with {name}/")
    return folder


@pytest.fixture(scope="session")
def arx_adult() -> Path:
    """The folder with ARX's Adult excerpt and its hierarchies."""
    return _data_folder("arx-adult")


@pytest.fixture(scope="session")
def arx_table(arx_adult: Path) -> Any:
    """ARX's Adult excerpt."""
    from oboro.data.dataset import Dataset

    return Dataset.from_arrow(csv.read_csv(arx_adult / "adult.csv", parse_options=csv.ParseOptions(delimiter=";")))


@pytest.fixture(scope="session")
def adult_folder() -> Path:
    """The folder with the two files of UCI's Adult."""
    return _data_folder("adult")


# The machine ----------------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def signals() -> Iterator[None]:
    """A command that was called in this process leaves no answers to signals behind."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, answer in before.items():
        if signal.getsignal(number) is not answer:
            signal.signal(number, answer)


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """For small tables, where threads would mostly wait for each other."""
    import numba

    before = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(before)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A real browser, started once."""
    playwright = pytest.importorskip("playwright.sync_api", reason="no browser tests: playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no browser tests: install chromium (Debian: apt-get install chromium)")
    with playwright.sync_playwright() as running:
        started = running.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield started
        started.close()


# Two processes --------------------------------------------------------------------------------------------------------

# Tests that need the same kernels, servers or pages run in the same process, one group after the other: each kernel is compiled
# once, each server started once. Each group is in the order of its files; the longest beginning of a name counts. A file that is
# named nowhere is a group by itself, and whichever process is free takes it. The largest group begins, with most kernels; beside it
# run groups with kernels of their own or hardly any, then all that is long, so that both processes end at the same time.
GROUPS = {
    "report": ("cli/", "recipe/", "samples/", "test_docs"),
    "source": ("cli/test_language", "system/test_windows", "techniques/test_traits", "test_architecture", "test_dependencies",
               "text/"),
    "stream": ("benchmarks/test_delay_free", "stream/test_stream_api", "stream/test_stream_promise", "stream/test_stream_runner",
               "recipe/test_stream"),
    "window": ("benchmarks/test_window", "stream/test_window", "stream/test_stream_report", "algorithms/test_neighbours"),
    "site": ("test_site",),
    "packaging": ("test_packaging",),
    "local": ("benchmarks/test_local", "techniques/test_local_recode", "algorithms/test_bic", "algorithms/test_vmdav",
              "techniques/test_microaggregate"),
    "service": ("service/",),
    "engines": ("engines/",),
    "web": ("web/",),
    "concealment": ("algorithms/test_concealment", "verifier/test_matching"),
    "lattice": ("algorithms/test_lattice", "benchmarks/test_lattice", "techniques/test_k_anonymize", "techniques/test_properties"),
    "tutorials": ("test_tutorials",),
    "faults": ("faults/",),
    "attacks": ("attacks/",),
    "pages": ("report/test_browser", "report/test_kinds", "report/test_language"),
    "places": ("io/places/",),
}  # fmt: skip


@cache
def _group(path: Path) -> tuple[int, str]:
    """The place and the name of a file's group."""
    inside = path.relative_to(ROOT).as_posix()
    named = [(len(start), place, name) for place, (name, starts) in enumerate(GROUPS.items()) for start in starts
             if inside.startswith(f"tests/{start}")]  # fmt: skip
    if named:
        return max(named)[1:]
    return len(GROUPS), "examples" if inside.startswith("src/") else inside


COMPILED_TESTS = ROOT / "tests" / "__pycache__"
_reads_first: list[IO[bytes]] = []


def pytest_sessionstart(session: pytest.Session) -> None:
    """On a fresh clone one process reads all tests before the others do, which then find them compiled: 9 seconds instead of 25."""
    if hasattr(session.config, "workerinput") and os.name == "posix" and not sys.dont_write_bytecode:
        import fcntl

        COMPILED_TESTS.mkdir(exist_ok=True)
        turn = (COMPILED_TESTS / "turn").open("wb")
        try:
            fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _reads_first.append(turn)
        except BlockingIOError:
            if not (COMPILED_TESTS / "all").exists():
                fcntl.flock(turn, fcntl.LOCK_SH)  # until the first has read them, or has ended
            turn.close()


def pytest_collection_finish() -> None:
    """What is loaded now stays. To look through it again and again for garbage took a tenth of the time."""
    if _reads_first:
        (COMPILED_TESTS / "all").touch()
        _reads_first.pop().close()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 10, 20)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests in order, group by group."""
    items.sort(key=lambda item: _group(item.path))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each group to one process, whole. (xdist's own groups are marks, which it read before this file had set them.)"""
    from xdist.scheduler.loadscope import LoadScopeScheduling

    class ByGroup(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _group(ROOT / nodeid.partition("::")[0])[1]

    return ByGroup(config, log)
