"""Kill a service again and again: by chance, at every step of publishing, and its broker; then count what is wrong.

Each life is a process that is forked from this warm one, so it takes milliseconds. It is given the same input, output and state as
the one before it, until one is left in peace and comes to the end.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oboro.papers.service.local_brokers import LocalBroker, ended, forked
from oboro.recipe.recipe import Recipe
from oboro.recipe.service.service_making import make_service
from oboro.recipe.service.service_settings import ServiceSettings
from oboro.stream.service.service import Service
from oboro.verifier.stream_check import verify_stream

__all__ = ["RECIPE", "KillTally", "Trial", "kill_often", "people"]

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
STEPS = ("before", "noted", "half", "published", "snapshot")
LIVES = 8  # of one stream
EVERY = 6000  # bytes of journal after which a snapshot is made, so that some are killed there
PATIENCE = 60.0


def people(count: int) -> list[dict[str, Any]]:
    """Made-up records; `note` tells them apart."""
    rng = random.Random(7)
    return [
        {"name": f"p{n}", "age": min(99, int(rng.expovariate(0.03))), "sex": rng.choice("FM"), "note": n}
        for n in range(count)
    ]


@dataclass
class KillTally:
    """What was done and found."""

    kills: int = 0
    broker_kills: int = 0
    lost: int = 0
    doubled: int = 0
    two_forms: int = 0
    promise_broken: int = 0
    failed: list[str] = field(default_factory=list)
    steps: Counter[str] = field(default_factory=Counter)

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


class Trial:
    """One stream from its first record to its last, through several lives."""

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

    def service(self) -> Service:
        """The same service in every life."""
        given = {"recipe": ".", "from": self.source, "to": self.broker.place(self.target), "state": self.state}
        more = {"once": True, "batch": self.batch, **({} if self.broker.once else {"id": "note"}), **self.more}
        return make_service(Recipe(**RECIPE), ServiceSettings.load(None, {**given, **more}), every=EVERY)

    def live(self, death: Death) -> int:
        """One life; its exit code."""
        pid = forked(lambda: self._be(death))
        if death.broker:
            time.sleep(death.seconds or 0.0)
            self.broker.stop(signal.SIGKILL)
            self.broker.start()
        elif death.seconds is not None:
            time.sleep(death.seconds)
            if os.waitpid(pid, os.WNOHANG)[0]:
                return 0
            return ended(pid, signal.SIGKILL)
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.005)
        ended(pid, signal.SIGKILL)
        return 71  # it hung

    def _be(self, death: Death) -> None:
        service = self.service()
        if death.step:
            arm(service, death)
        service.run()

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
            time.sleep(0.005)
        return pid

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


def arm(service: Service, death: Death) -> None:
    """Let a service kill itself when it takes a step for the n-th time."""
    from oboro.stream.runner.state_folder import StateFolder

    left = death.after

    def die() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def after(act: Callable[..., Any]) -> Callable[..., Any]:
        def acted(*given: Any) -> Any:
            result = act(*given)
            die()
            return result

        return acted

    publish = service.sink.publish

    def half(at: int, bodies: Any, mark: str) -> None:
        if left == 0 and len(bodies) > 1:
            publish(at, bodies[: len(bodies) // 2], mark)
            die()
        else:
            publish(at, bodies, mark)
            die()

    if death.step == "noted":
        StateFolder.log = after(StateFolder.log)  # type: ignore[method-assign]
    elif death.step == "snapshot":
        service._make = _dying_save(service._make, die)
    elif death.step == "half":
        service.sink.publish = half  # type: ignore[method-assign, assignment]
    elif death.step == "published":
        service.sink.publish = after(publish)  # type: ignore[method-assign]
    else:
        service.source.read = after(service.source.read)  # type: ignore[method-assign]


def _dying_save(make: Callable[[], Any], die: Callable[[], None]) -> Callable[[], Any]:
    def made() -> Any:
        anonymizer = make()
        kind = type(anonymizer)
        save = kind.save

        def dying(self: Any, *given: Any, **named: Any) -> None:
            save(self, *given, **named)
            die()

        kind.save = dying
        return anonymizer

    return made


def warm() -> None:
    """Import and compile what every life needs, once."""
    anonymizer = Recipe(**RECIPE).stream()
    for one in people(50):
        anonymizer.push(one)


def kill_often(
    broker: LocalBroker,
    folder: Path,
    kills: int,
    seed: int,
    *,
    records: int = 400,
    brokers: bool = True,
    change: Callable[[Trial], None] = lambda trial: None,
) -> KillTally:
    """Kill so often, and judge every stream. The broker itself is killed in every tenth life, if `brokers`."""
    warm()
    rng, tally, number = random.Random(seed), KillTally(), 0
    rows = people(records)
    bodies = [json.dumps(row).encode() for row in rows]
    made = ""
    while tally.kills + tally.broker_kills < kills:
        if not made or not broker.once:
            made = f"IN{seed}N{number}"
            if broker.once:
                broker.send(made, bodies)
        trial = Trial(broker, folder, number, made, rows)
        change(trial)
        number += 1
        listening = trial.tap()
        try:
            if not broker.once:
                if broker.forgets:
                    ended(forked(trial.subscribe))
                broker.send(made, bodies)
            _lives(trial, rng, tally, brokers, min(LIVES, kills - tally.kills - tally.broker_kills))
            time.sleep(0.05)  # what is on the wire arrives
        finally:
            ended(listening, signal.SIGKILL)
        trial.judge(tally)
        if tally.wrong > 50:
            break
    return tally


def _lives(trial: Trial, rng: random.Random, tally: KillTally, brokers: bool, lives: int) -> None:
    done = 0
    while done < lives:
        death = _death(rng, brokers and trial.broker.survives, trial.state is not None)
        code = trial.live(death)
        if code == 0 and not death.broker:
            return  # it came to its end before
        if death.broker:
            tally.broker_kills += 1
        elif code == -signal.SIGKILL:
            tally.kills += 1
            tally.steps[death.step or "by chance"] += 1
        if code not in (0, -signal.SIGKILL):
            tally.failed.append(f"exit code {code} after {death}")
        done += 1
        if code == 0:
            return
    code = trial.live(Death())
    if code:
        tally.failed.append(f"exit code {code} in peace")


def _death(rng: random.Random, brokers: bool, journal: bool) -> Death:
    if brokers and rng.random() < 0.08:
        return Death(seconds=rng.uniform(0.0, 0.1), broker=True)
    if rng.random() < 0.5:
        return Death(seconds=rng.uniform(0.02, 0.2))
    steps = STEPS if journal else ("before", "half", "published")
    return Death(step=rng.choice(steps), after=rng.randrange(4))
