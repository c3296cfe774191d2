"""One stream from its first record to its last, through several lives of its service, and what is wrong with it then.

Each life is a process of its own, forked from a warm one, which opens its own connections and state; it is killed with SIGKILL.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oboro.papers.service.local_brokers import LocalBroker, ended, forked
from oboro.recipe.recipe import Recipe
from oboro.recipe.service.service_making import make_service
from oboro.recipe.service.service_settings import ServiceSettings
from oboro.stream.service import service as service_loop
from oboro.stream.service.service import Service
from oboro.verifier.stream_check import verify_stream

__all__ = ["RECIPE", "Death", "KillTally", "Trial", "people", "with_poison"]

K = 3
HIERARCHIES = {"age": {"intervals": [10, 40]}}
RECIPE: dict[str, Any] = {
    "attributes": {
        "name": {"role": "identifier"},
        "age": {"role": "quasi", "hierarchy": HIERARCHIES["age"]},
        "sex": {"role": "quasi"},
        "note": {"role": "other"},
    },
    "steps": [{"drop_columns": {"attributes": ["name"]}}, {"k_anonymize": {"k": K}}],
}
EVERY = 6000  # bytes of journal after which a snapshot is made, so that some are killed there
POISON = (b'{"name": "Ann", "age"', b"[]", b"", b'{"name": "Ann", "age": 3, "more": 1}')  # messages that are no records
EACH = 20  # records there is one of them
PATIENCE = 60.0
HUNG = 71  # the exit code of a life that did not come to its end


def people(count: int) -> list[dict[str, Any]]:
    """Made-up records; `note` tells them apart."""
    rng = random.Random(7)
    return [
        {"name": f"p{n}", "age": min(99, int(rng.expovariate(0.03))), "sex": rng.choice("FM"), "note": n}
        for n in range(count)
    ]


def with_poison(bodies: list[bytes]) -> list[bytes]:
    """Bodies with some among them that are no records."""
    found: list[bytes] = []
    for n, body in enumerate(bodies):
        found += [body] if n % EACH else [POISON[n // EACH % len(POISON)], body]
    return found


def poisoned(records: int) -> int:
    """How many are no records."""
    return -(-records // EACH)


@dataclass
class KillTally:
    """What was done and found."""

    kills: int = 0
    broker_kills: int = 0
    streams: int = 0
    cuts: int = 0
    woken: int = 0
    refusals: int = 0
    lost: int = 0
    doubled: int = 0
    two_forms: int = 0
    promise_broken: int = 0
    failed: list[str] = field(default_factory=list)
    steps: Counter[str] = field(default_factory=Counter)

    @property
    def done(self) -> int:
        """Kills of services and of brokers."""
        return self.kills + self.broker_kills

    @property
    def wrong(self) -> int:
        """Zero if all is well."""
        return self.lost + self.doubled + self.two_forms + self.promise_broken + len(self.failed)


@dataclass(frozen=True)
class Death:
    """When a life ends: after some seconds, or at a step that it takes for the n-th time; a broker may be killed instead."""

    seconds: float | None = None
    step: str = ""
    after: int = 0
    broker: bool = False
    whole: bool = False
    """A process that was started anew, not forked."""


class Trial:
    """One stream on one broker."""

    def __init__(self, broker: LocalBroker, folder: Path, number: int, source: str, rows: list[dict[str, Any]]) -> None:
        self.broker, self.folder, self.rows = broker, folder, rows
        self.source, self.target = (
            broker.place(source) + broker.source_options(),
            source.replace("IN", "OUT") + f"T{number}",
        )
        self.state: Path | None = folder / f"state{number}"
        self.tapped = folder / f"tap{number}"
        self.batch = 16
        self.more: dict[str, Any] = {}
        self.through = ""  # in place of the broker's port, that of a proxy
        self.quick = False  # whether a life that finds nothing more waits a moment only

    def to(self, name: str) -> str:
        """Where an output is, for the service."""
        place = self.broker.place(name)
        return place.replace(f":{self.broker.port}/", self.through) if self.through else place

    @property
    def letters(self) -> str:
        """Where dead letters are."""
        return f"{self.target}DEAD"

    def given(self) -> dict[str, Any]:
        """The settings of every life."""
        own = {"dead_letters": self.to(self.letters)} if self.broker.once else {"id": "note"}
        more = {"once": True, "batch": self.batch, **own, **self.more}
        return {"recipe": ".", "from": self.source, "to": self.to(self.target), "state": self.state, **more}

    def service(self) -> Service:
        """The same service in every life."""
        return make_service(Recipe(**RECIPE), ServiceSettings.load(None, self.given()), every=EVERY)

    def live(self, death: Death) -> int:
        """One life; its exit code."""
        pid = self._started().pid if death.whole else self.begin(death)
        if death.broker:
            time.sleep(death.seconds or 0.0)
            self.broker.stop(signal.SIGKILL)
            self.broker.start()
        elif death.seconds is not None:
            code = ended_within(pid, death.seconds)
            return ended(pid, signal.SIGKILL) if code is None else code
        code = ended_within(pid, PATIENCE)
        if code is None:
            ended(pid, signal.SIGKILL)
        return HUNG if code is None else code

    def begin(self, death: Death, quiet: bool = False) -> int:
        """A life in a process of its own, which is killed at its step; its number."""

        def be() -> None:
            if quiet:  # it may be refused, and says so
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            if self.quick:
                service_loop.WAIT, service_loop.PAUSES = 0.02, (0.01, 0.02, 0.05, 0.1)
            service = self.service()
            if death.step:
                from oboro.papers.service.kills.dying_steps import arm

                arm(service, death.step, death.after)
            service.run()

        return forked(be)

    def _started(self) -> subprocess.Popen[bytes]:
        """The same by the command line."""
        (self.folder / "recipe.json").write_text(json.dumps(RECIPE), encoding="utf-8")
        given = {name: value for name, value in self.given().items() if value is not None} | {"recipe": "recipe.json"}
        config = self.folder / f"{self.target}.json"
        config.write_text(json.dumps(given, default=str), encoding="utf-8")
        words = [sys.executable, "-m", "oboro", "stream", "--config", str(config)]
        return subprocess.Popen(words, stderr=subprocess.DEVNULL)

    def subscribe(self) -> None:
        """Be known to a broker that keeps nothing for strangers."""
        source = self.service().source
        source.open(None)
        source.close()

    def tap(self) -> int:
        """Listen to the wire in a process of its own, which is there when this returns; its number."""

        def listen() -> None:
            with self.tapped.open("wb", buffering=0) as file:
                for body in self.broker.tap(self.target):
                    file.write(body + b"\n")

        pid = forked(listen)
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and not (self.tapped.exists() and self.tapped.stat().st_size):
            time.sleep(0.002)
        return pid

    # What is there at the end -----------------------------------------------------------------------------------------

    def judge(self, tally: KillTally) -> None:
        """Every record once, in order, in one form, and the promise kept."""
        held = self.broker.held(self.target)
        first: dict[str, bytes] = {}
        for key, body in held:
            if first.setdefault(key, body) != body:
                tally.two_forms += 1
        records = [json.loads(body) for body in first.values()]
        seen = Counter(one["note"] for one in records)
        tally.lost += sum(row["note"] not in seen for row in self.rows)
        tally.doubled += sum(count - 1 for count in seen.values())
        tally.two_forms += self._forms([body for _, body in held])
        if [one["note"] for one in records] != sorted(seen):
            tally.failed.append("not in order")
        tally.promise_broken += self._broken(records)
        tally.streams += 1
        if self.broker.once:
            self._judge_letters(tally)

    def _judge_letters(self, tally: KillTally) -> None:
        """Every message that is no record is named once."""
        named = Counter(json.loads(body)["position"] for _, body in self.broker.held(self.letters))
        tally.lost += max(0, poisoned(len(self.rows)) - len(named))
        tally.doubled += named.total() - len(named)

    def _forms(self, bodies: list[bytes]) -> int:
        """Records that were on the wire or in the output in more than one form."""
        forms: defaultdict[int, set[bytes]] = defaultdict(set)
        tapped = self.tapped.read_bytes().splitlines() if self.tapped.exists() else []
        for body in (*bodies, *tapped):
            if body:
                forms[json.loads(body)["note"]].add(body)
        return sum(len(each) > 1 for each in forms.values())

    def _broken(self, records: list[dict[str, Any]]) -> int:
        shown = {one["note"]: one for one in records}
        kept = [(row, shown[row["note"]]) for row in self.rows if row["note"] in shown]
        verdict = verify_stream(
            [row for row, _ in kept],
            [one for _, one in kept],
            attributes=["age", "sex"],
            k=K,
            hierarchies=HIERARCHIES,
        )
        return 0 if verdict.holds else 1


def ended_within(pid: int, seconds: float) -> int | None:
    """The exit code of a process that ends within some seconds, negative for a signal; None if it goes on."""
    until = time.monotonic() + seconds
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        left = until - time.monotonic()
        if left <= 0:
            return None
        time.sleep(min(0.002, left))
