"""The process that tries cases: it may crash or hang, and whoever started it knows on which case.

It reads orders (`fuzzer seed first count`) from standard input and answers each with a line of JSON. The number of the case that
it tries stands in a shared file. A case that takes 30 s of computing time, or 120 s of any time, ends the process. One
that asks for 3 GB of memory gets a `MemoryError`.
"""

from __future__ import annotations

import json
import mmap
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

from tests.fuzz.fuzzers import FUZZERS
from tests.fuzz.fuzzing import Case, Finding, Fuzzer, drawn, to_text
from tests.fuzz.smaller import smaller

__all__ = ["judged", "main", "scratch"]

SLOW = 1.0  # seconds of computing time
MEMORY = 3 << 30  # bytes that cases may take beyond what is loaded before
MOST_CPU, MOST_TIME = 30.0, 120.0
KEPT = 20  # findings of one order that are told in full


def _limit_memory() -> None:
    """Let no case take the memory of the machine: where it asks for more, it gets a `MemoryError`, which is a finding.

    What is written to counts (`RLIMIT_DATA`), not all addresses: each thread reserves 64 MB of these and uses little of it.
    """
    if sys.platform == "linux":
        with open("/proc/self/statm", encoding="ascii") as file:
            used = int(file.read().split()[5]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_DATA, (used + MEMORY, resource.RLIM_INFINITY))


def scratch() -> Path:
    """An empty folder, in memory where the system has such a place."""
    memory = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="oboro-fuzz-", dir=memory if os.access(memory, os.W_OK) else None))


def _empty(place: Path) -> None:
    with os.scandir(place) as there:
        for one in there:
            shutil.rmtree(one.path) if one.is_dir(follow_symlinks=False) else os.unlink(one.path)


def judged(fuzzer: Fuzzer, case: Case, place: Path) -> tuple[list[str], Finding | None, float]:
    """The documented differences of a case, what is wrong with it, and the computing time that it took."""
    if fuzzer.writes:
        _empty(place)
    began = time.process_time()
    try:
        seen, wrong = list(fuzzer.check(case, place)), None
    except Finding as finding:
        seen, wrong = [], finding
    except Exception as error:
        seen, wrong = [], Finding("traceback", f"while judging: {type(error).__name__}: {str(error)[:300]}")
    return seen, wrong, time.process_time() - began


def _tried(fuzzer: Fuzzer, case: Case, place: Path) -> tuple[list[str], Finding | None, float]:
    """`judged`; a case that is slow is tried once more, for the first may have compiled something."""
    seen, wrong, seconds = judged(fuzzer, case, place)
    if wrong is None and seconds > SLOW:
        seen, wrong, seconds = judged(fuzzer, case, place)
        if wrong is None and seconds > SLOW:
            wrong = Finding("hang", f"{seconds:.1f} s of computing time")
    return seen, wrong, seconds


def _told(fuzzer: Fuzzer, number: int, case: Case, wrong: Finding, place: Path) -> dict[str, Any]:
    if wrong.kind != "hang" and fuzzer.shrinks:
        end = time.process_time() + 5

        def fails(other: Case) -> bool:
            found = judged(fuzzer, other, place)[1] if time.process_time() < end else None
            return found is not None and (found.kind, found.what[:25]) == (wrong.kind, wrong.what[:25])

        signal.setitimer(signal.ITIMER_PROF, MOST_CPU)
        case = smaller(case, fails)
    return {"number": number, "kind": wrong.kind, "what": wrong.what, "case": to_text(case)}


def _order(name: str, seed: int, first: int, count: int, place: Path, shared: mmap.mmap) -> dict[str, Any]:
    fuzzer, seen, found, kinds = FUZZERS[name], Counter[str](), [], Counter[str]()
    began, longest = time.process_time(), 0.0
    for number in range(first, first + count):
        shared[:8] = number.to_bytes(8, "little")
        signal.setitimer(signal.ITIMER_PROF, MOST_CPU)
        signal.setitimer(signal.ITIMER_REAL, MOST_TIME)
        case = drawn(fuzzer, seed, number)
        differences, wrong, seconds = _tried(fuzzer, case, place)
        seen.update(differences)
        longest = max(longest, seconds)
        if wrong is not None:
            kinds[wrong.kind] += 1
            if len(found) < KEPT:
                found.append(_told(fuzzer, number, case, wrong, place))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    used = time.process_time() - began
    return {"cases": count, "cpu": used, "longest": longest, "peak": peak, "kinds": kinds, "found": found, "seen": seen}


def main(shared_file: str) -> None:
    """Take orders until there are none."""
    import faulthandler

    faulthandler.enable()
    warnings.simplefilter("error")
    orders, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what oboro prints is no answer of ours
    place = scratch()
    with open(shared_file, "r+b") as file, mmap.mmap(file.fileno(), 8) as shared:
        for line in orders:
            name, seed, first, count = line.split()
            _limit_memory()
            print(json.dumps(_order(name, int(seed), int(first), int(count), place, shared)), file=answers, flush=True)
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
    orders.close()
    answers.close()
    shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1])
