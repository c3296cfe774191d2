"""`make fuzz`: cases of all fuzzers, tried by several processes, and what came of them.

    make fuzz CASES=1000000 SEED=1       so many cases
    make fuzz BUDGET=600                 as many as fit into ten minutes, with a new seed
    make fuzz ONLY=csv_table,recipe      only these fuzzers
    make fuzz REPEAT=.fuzz/…json         one case again, with its traceback
    make fuzz … JSON=FILE                the result as JSON, for docs/reliability.md

A case that fails is made smaller where that is cheap and kept in a file. Hangs are judged by computing time, and a process that
stood still is asked a second time, so that a busy machine raises no alarm.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["main"]

KEPT = Path(".fuzz")
KINDS = ("traceback", "hang", "crash", "difference")
TOLD = 3  # findings of one kind and fuzzer that are kept
PROGRESS = 10.0  # seconds between two lines of progress
ENVIRONMENT = {"POLARS_MAX_THREADS": "1", "NUMBA_NUM_THREADS": "2", "OBORO_LANG": "en"}

Order = tuple[str, int, int]


class Tally:
    """What is known of one fuzzer."""

    def __init__(self) -> None:
        self.cases, self.cpu, self.longest, self.peak = 0, 0.0, 0.0, 0
        self.kinds: Counter[str] = Counter()
        self.seen: Counter[str] = Counter()

    def add(self, answer: dict[str, Any]) -> None:
        """What a worker answered."""
        self.cases += answer["cases"]
        self.cpu += answer["cpu"]
        self.longest, self.peak = max(self.longest, answer["longest"]), max(self.peak, answer["peak"])
        self.kinds.update(answer["kinds"])
        self.seen.update(answer["seen"])


class Run:
    """One run: its orders, its workers, its findings."""

    def __init__(self, shares: dict[str, int], cases: int | None, seconds: float | None, seed: int) -> None:
        self.seed, self.end = seed, None if seconds is None else time.monotonic() + seconds
        self.orders = orders(shares, cases, seed)
        self.again: list[Order] = []
        self.stood_still: set[tuple[str, int]] = set()
        self.tallies = {name: Tally() for name in shares}
        self.kept: Counter[tuple[str, str]] = Counter()
        self.lock = threading.Lock()

    def next(self) -> Order | None:
        """The next cases to be tried."""
        with self.lock:
            if self.end is not None and time.monotonic() > self.end:
                return None
            return self.again.pop() if self.again else next(self.orders, None)

    def work(self, number: int) -> None:
        """Give orders to one worker after another, each until it dies."""
        order = self.next()
        while order is not None:
            with Worker(number) as worker:
                while order is not None:
                    answer = worker.do(order, self.seed)
                    if answer is None:
                        self._died(order, worker)
                        order = self.next()
                        break
                    self._take(order[0], answer)
                    order = self.next()

    def _take(self, name: str, answer: dict[str, Any]) -> None:
        with self.lock:
            self.tallies[name].add(answer)
            for found in answer["found"]:
                self._keep(name, found["kind"], found["what"], found["number"], found["case"])

    def _died(self, order: Order, worker: Worker) -> None:
        """A worker ended in the middle of a case: note it, and go on behind it."""
        from tests.fuzz.fuzzers import FUZZERS
        from tests.fuzz.fuzzing import drawn, to_text

        name, first, count = order
        at = worker.at()
        kind = "hang" if worker.ended in (-14, -27) else "crash"
        with self.lock:
            if (
                worker.ended == -14 and (name, at) not in self.stood_still
            ):  # much time, little computing: a busy machine?
                self.stood_still.add((name, at))
                self.tallies[name].cases += at - first
                self.again.append((name, at, first + count - at))
                return
            tally = self.tallies[name]
            tally.cases += at - first + 1
            tally.kinds[kind] += 1
            self._keep(
                name, kind, f"the process ended with {worker.ended}", at, to_text(drawn(FUZZERS[name], self.seed, at))
            )
            if at + 1 < first + count:
                self.again.append((name, at + 1, first + count - at - 1))

    def _keep(self, name: str, kind: str, what: str, number: int, case: str) -> None:
        self.kept[name, kind] += 1
        if self.kept[name, kind] > TOLD:
            return
        KEPT.mkdir(exist_ok=True)
        path = KEPT / f"{name}-{self.seed}-{number}.json"
        path.write_text(
            json.dumps(
                {"fuzzer": name, "seed": self.seed, "number": number, "what": what, "case": json.loads(case)}, indent=1
            )
        )
        print(f"{name}: {kind}: {what[:400]}\n  repeat: make fuzz REPEAT={path}", flush=True)


class Worker:
    """A process that tries cases."""

    def __init__(self, number: int) -> None:
        self.shared = Path(f"/tmp/oboro-fuzz-{os.getpid()}-{number}")
        self.ended: int | None = None

    def __enter__(self) -> Worker:
        self.shared.write_bytes(bytes(8))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.worker", str(self.shared)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **ENVIRONMENT},
        )  # fmt: skip
        return self

    def do(self, order: Order, seed: int) -> dict[str, Any] | None:
        """The answer to an order; None if the process died of it."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(f"{order[0]} {seed} {order[1]} {order[2]}\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if line.endswith("\n"):
            answer: dict[str, Any] = json.loads(line)
            return answer
        self.ended = self.process.wait()
        return None

    def at(self) -> int:
        """The case that it tried last."""
        return int.from_bytes(self.shared.read_bytes(), "little")

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()
        self.shared.unlink(missing_ok=True)


def orders(shares: dict[str, int], cases: int | None, seed: int) -> Iterator[Order]:
    """Rounds of orders, each with all fuzzers by their shares; without end where no number of cases is given."""
    rng, whole, done = random.Random(seed), sum(shares.values()), dict.fromkeys(shares, 0)
    wanted = {name: None if cases is None else -(-cases * share // whole) for name, share in shares.items()}
    rounds = 0
    while True:
        rounds += 1
        made: list[Order] = []
        for name, share in shares.items():
            count = max(1, 4000 * share // whole)
            most = wanted[name]
            count = count if most is None else min(count, most - done[name])
            if count > 0:
                made.append((name, done[name], count))
                done[name] += count
        if not made:
            return
        rng.shuffle(made)
        yield from made


def watched(run: Run, threads: list[threading.Thread]) -> None:
    """A line of progress now and then, until all are done."""
    began = said = time.monotonic()
    while any(thread.is_alive() for thread in threads):
        for thread in threads:
            thread.join(0.2)
        if time.monotonic() - said > PROGRESS:
            said = time.monotonic()
            cases = sum(one.cases for one in run.tallies.values())
            found = sum(sum(one.kinds.values()) for one in run.tallies.values())
            print(f"{said - began:5.0f} s  {cases:>9,} cases  {found} findings", file=sys.stderr, flush=True)


# What is said ---------------------------------------------------------------------------------------------------------


def table(tallies: dict[str, Tally], seconds: float) -> str:
    """A line a fuzzer, and the sum."""
    head = f"{'fuzzer':<16}{'cases':>10}{'/s cpu':>9}{'longest':>9}" + "".join(f"{kind + 's':>12}" for kind in KINDS)
    lines = [f"{head}  documented"]
    for name, one in tallies.items():
        speed = one.cases / one.cpu if one.cpu else 0.0
        kinds = "".join(f"{one.kinds[kind]:>12}" for kind in KINDS)
        said = sum(one.seen.values())
        lines.append(f"{name:<16}{one.cases:>10}{speed:>9.0f}{one.longest:>8.2f}s{kinds}{said:>12}")
    cases = sum(one.cases for one in tallies.values())
    found = Counter[str]()
    for one in tallies.values():
        found.update(one.kinds)
    whole = "".join(f"{found[kind]:>12}" for kind in KINDS)
    lines.append(f"{'all':<16}{cases:>10}{cases / seconds:>9.0f}{'':>9}{whole}  in {seconds:.0f} s")
    lines.append("documented differences:")
    for name, one in tallies.items():
        lines += [f"  {name}: {said}: {count}" for said, count in one.seen.most_common()]
    return "\n".join(lines)


def result(run: Run, seconds: float) -> dict[str, Any]:
    """What is written into a file."""
    fuzzers = {
        name: {
            "cases": one.cases,
            "cpu_seconds": round(one.cpu, 1),
            "longest_case_seconds": round(one.longest, 2),
            "most_memory_mb": one.peak,
            **{kind: one.kinds[kind] for kind in KINDS},
            "documented": dict(one.seen.most_common()),
        }
        for name, one in run.tallies.items()
    }
    whole = {"cases": sum(one.cases for one in run.tallies.values()), "seconds": round(seconds, 1)}
    found = {kind: sum(one.kinds[kind] for one in run.tallies.values()) for kind in KINDS}
    return {"seed": run.seed, **whole, **found, "cores": os.cpu_count(), "fuzzers": fuzzers}


def repeat(path: Path) -> int:
    """One kept case again."""
    from tests.fuzz.fuzzers import FUZZERS
    from tests.fuzz.fuzzing import from_text
    from tests.fuzz.worker import judged, scratch

    kept = json.loads(path.read_text())
    case = from_text(json.dumps(kept["case"]))
    print(kept["fuzzer"], case)
    seen, wrong, seconds = judged(FUZZERS[kept["fuzzer"]], case, scratch())
    print(f"{seconds:.2f} s of computing time; documented: {seen}")
    if wrong is None:
        return 0
    traceback.print_exception(wrong)
    return 1


def main() -> int:
    """Run, print, and say by the exit code whether anything was found."""
    parser = argparse.ArgumentParser(description="Try made-up input on oboro.")
    parser.add_argument("--cases", type=int)
    parser.add_argument("--budget", type=float, help="seconds")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--only", help="names of fuzzers, with commas between")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--repeat", type=Path, help="a kept case")
    parser.add_argument("--json", type=Path, help="where the result goes")
    given = parser.parse_args()
    if given.repeat:
        return repeat(given.repeat)
    from tests.fuzz.fuzzers import FUZZERS

    names = given.only.split(",") if given.only else list(FUZZERS)
    seed = given.seed if given.seed is not None else random.SystemRandom().randrange(10**6)
    budget = 60.0 if given.cases is None and given.budget is None else given.budget
    print(f"seed {seed}", flush=True)
    began = time.monotonic()
    run = Run({name: FUZZERS[name].share for name in names}, given.cases, budget, seed)
    threads = [threading.Thread(target=run.work, args=(number,)) for number in range(given.workers)]
    for thread in threads:
        thread.start()
    watched(run, threads)
    seconds = time.monotonic() - began
    print(table(run.tallies, seconds))
    if given.json:
        given.json.write_text(json.dumps({"command": " ".join(sys.argv[1:]), **result(run, seconds)}, indent=1) + "\n")
    return int(any(one.kinds for one in run.tallies.values()))


if __name__ == "__main__":
    sys.exit(main())
