"""Kill services again and again: by chance, at every step of publishing, their broker, beside another; then count what is wrong.

Every life of a stream is given the same input, output and state as the one before it, until one is left in peace and comes to the
end. On brokers where every record comes out exactly once, streams are of four kinds: with a folder for the state, without one, by
way of a network that is cut, and with two processes on one output. What does not belong to an output (an older state, none, another
stream's) must be refused at the end.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.brokers import CuttingProxy, LocalBroker, ended, forked, free_port, wait_until
from oboro.recipe.recipe import Recipe
from oboro.recipe.stream import StreamOptions, anonymizer
from oboro.service.make import make_service
from oboro.service.settings import ServiceSettings
from oboro.stream import engine
from oboro.stream.engine import Service
from oboro.stream.journal import StateFolder
from oboro.verifier.stream import verify_stream

__all__ = [
    "KINDS_OF_STREAMS",
    "RECIPE",
    "STEPS",
    "Death",
    "KillTally",
    "StateBackup",
    "Trial",
    "arm",
    "kill_often",
    "people",
    "rivalry",
    "taken_over",
    "with_poison",
]

LIVES = 12  # of one stream
BROKERS = 0.05  # of lives end with a kill of the broker
WHOLE = 0.02  # of lives are processes that were started anew
KINDS_OF_STREAMS = ("folder", "folder", "folder", "bare", "bare", "cut", "rivals")
TOO_MUCH = 50  # things wrong, after which there is no need to go on


class _Killer:
    """One broker, and how its streams are treated."""

    def __init__(self, broker: LocalBroker, folder: Path, seed: int, records: int, brokers: bool) -> None:
        self.broker, self.folder = broker, folder
        self.rng, self.tally = random.Random(seed), KillTally()
        self.rows = people(records)
        self.bodies = with_poison([json.dumps(row).encode() for row in self.rows])
        self.brokers = brokers and broker.survives
        self.backup = StateBackup(folder)
        self.span = 1.0  # seconds that a life takes in peace, about
        self._made, self._seed, self._number = "", seed, 0

    def stream(self, kind: str, kills: int, change: Callable[[Trial], None]) -> None:
        """One stream, killed at most so often, and judged."""
        trial = self._trial(kind)
        change(trial)
        listening = trial.tap()
        try:
            if not self.broker.once:
                if self.broker.forgets:
                    ended(forked(trial.subscribe))
                self.broker.send(self._made, self.bodies)
            self._treat(kind, trial, kills)
            time.sleep(0.02)  # what is on the wire arrives
        finally:
            ended(listening, signal.SIGKILL)
        trial.judge(self.tally)

    def _trial(self, kind: str) -> Trial:
        number, self._number = self._number, self._number + 1
        if not self._made or not self.broker.once:
            self._made = f"IN{self._seed}N{number}"
            if self.broker.once:
                self.broker.send(self._made, self.bodies)
        trial = Trial(self.broker, self.folder, number, self._made, self.rows)
        trial.quick = self.broker.once
        trial.batch = self.rng.choice((8, 16)) if self.broker.once else 16
        if kind == "bare" or (kind == "cut" and self.rng.random() < 0.5):
            trial.state = None
        return trial

    def _treat(self, kind: str, trial: Trial, kills: int) -> None:
        if kind == "rivals":
            rivalry(trial, self.rng, self.tally, kills, self.span)
        elif kind == "cut":
            self._cut(trial, kills)
        else:
            held = self._lives(trial, kills)
            if kind == "folder" and self.broker.once:
                self.backup.try_all(trial, self.rng, self.tally, held)

    def _cut(self, trial: Trial, kills: int) -> None:
        """By way of a proxy, in a process of its own, that cuts connections."""
        port, seed, noted = free_port(), self.rng.randrange(1 << 30), self.folder / f"{trial.target}.cuts"

        def serve() -> None:
            with noted.open("ab", buffering=0) as file:
                CuttingProxy(self.broker.port, 10, 8_000, seed, port, lambda: file.write(b".")).serve()

        proxy = forked(serve)
        direct = f":{self.broker.port}/"
        trial.source = trial.source.replace(direct, f":{port}/")
        trial.through = f":{port}/"
        try:
            self._lives(trial, min(kills, LIVES // 2))
        finally:
            ended(proxy, signal.SIGKILL)
        self.tally.cuts += noted.stat().st_size

    def _lives(self, trial: Trial, lives: int) -> int:
        """One life after the other; how much the output held when its state was copied."""
        tally, held, copied = self.tally, 0, self.rng.randrange(1, LIVES)
        for life in range(lives):
            death, began = self._death(trial), time.perf_counter()
            code = trial.live(death)
            if code == 0 and not (death.broker or death.whole):
                self._took(time.perf_counter() - began)
            if death.broker:
                tally.broker_kills += 1
            elif code == -signal.SIGKILL:
                tally.kills += 1
                tally.steps[death.step or ("started anew" if death.whole else "by chance")] += 1
            if code not in (0, -signal.SIGKILL):
                tally.failed.append(f"exit code {code} after {death}")
            if code == 0:
                return held  # it came to its end before
            if life == copied and trial.state is not None and self.broker.once:
                self.backup.take(trial)
                held = len(self.broker.held(trial.target))
        began = time.perf_counter()
        code = trial.live(Death())
        self._took(time.perf_counter() - began)
        if code:
            tally.failed.append(f"exit code {code} in peace")
        return held

    def _took(self, seconds: float) -> None:
        """A life came to its end in so many seconds: the next kill by chance shall come before."""
        self.span = min(seconds, self.span) if self.tally.streams == 0 else 0.8 * self.span + 0.2 * seconds

    def _death(self, trial: Trial) -> Death:
        rng = self.rng
        if self.brokers and rng.random() < BROKERS:
            return Death(seconds=rng.uniform(0.0, self.span), broker=True)
        if trial.quick and rng.random() < WHOLE:
            return Death(seconds=rng.uniform(0.5, 2.5), whole=True)
        if rng.random() < 0.4:
            return Death(seconds=rng.uniform(0.0, 0.8 * self.span))
        steps = STEPS if trial.state is not None else ("before", "half", "published")
        return Death(step=rng.choice(steps), after=rng.randrange(4))


def kill_often(
    broker: LocalBroker,
    folder: Path,
    kills: int,
    seed: int,
    *,
    records: int = 400,
    brokers: bool = True,
    kinds: tuple[str, ...] = ("folder",),
    change: Callable[[Trial], None] = lambda trial: None,
) -> KillTally:
    """Kill so often, and judge every stream; `kinds` of streams by chance. The broker is killed too, if `brokers`."""
    anonymizer(Recipe(**RECIPE), StreamOptions()).warm()
    killer = _Killer(broker, folder, seed, records, brokers)
    killer.stream("left in peace", 0, change)  # how long a life takes: kills by chance must meet all of it
    tally = killer.tally
    while tally.done < kills and tally.wrong <= TOO_MUCH:
        killer.stream(killer.rng.choice(_possible(kinds, broker)), min(LIVES, kills - tally.done), change)
    return tally


def _possible(kinds: tuple[str, ...], broker: LocalBroker) -> list[str]:
    """Kinds of streams that a broker knows."""
    return [kind for kind in kinds if kind == "folder" or (broker.once and (broker.moves or kind != "cut"))]


# ---------------------------------------------------------------------------------------------------------------------
# One stream from its first record to its last, through several lives of its service, and what is wrong with it then.
#
# Each life is a process of its own, forked from a warm one, which opens its own connections and state; it is killed with SIGKILL.


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
                engine.WAIT, engine.PAUSES = 0.02, (0.01, 0.02, 0.05, 0.1)
            service = self.service()
            if death.step:
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


# ---------------------------------------------------------------------------------------------------------------------
# Let a service kill itself at a step: before a block, once it is noted, half published, published, or once a snapshot is saved.


STEPS = ("before", "noted", "half", "published", "snapshot")


def arm(service: Service, step: str, times: int) -> None:
    """SIGKILL when the step is taken once more than so many times."""
    left = times

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
        publish(at, bodies[: len(bodies) // 2] if left == 0 and len(bodies) > 1 else bodies, mark)
        die()

    if step == "noted":
        StateFolder.log = after(StateFolder.log)  # type: ignore[method-assign]
    elif step == "snapshot":
        service._make = _dying_save(service._make, die)
    elif step == "half":
        service.sink.publish = half  # type: ignore[method-assign, assignment]
    elif step == "published":
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


# ---------------------------------------------------------------------------------------------------------------------
# Two processes on one output, each of which may believe that it leads: they are killed, stopped and woken by chance.
#
# A process that finds that another has published in its place stops with an error; it is started again, as a supervisor would.


PUT_OUT = 2  # the exit code of a process whose place was taken
EVENTS = 60


def rivalry(trial: Trial, rng: random.Random, tally: KillTally, kills: int, span: float) -> None:
    """Let two go on until one of them comes to the end; at most so many are killed. `span`: seconds that one life takes."""
    trial.state = None
    trial.more = {"lease": 0.3} if trial.broker.leases and rng.random() < 0.5 else {}
    lives = [trial.begin(Death(), quiet=True) for _ in range(2)]
    until = time.monotonic() + PATIENCE
    for event in range(EVENTS * 10):
        which = rng.randrange(2)
        time.sleep(rng.uniform(0.0, span / 4))
        code = ended_within(lives[which], 0.0)
        if code is None and event < EVENTS:
            code = _disturbed(lives[which], rng, tally, kills, span)
            kills -= code == -signal.SIGKILL
        if code == 0 or time.monotonic() > until:
            break
        if code is not None:
            if code not in (PUT_OUT, -signal.SIGKILL):
                tally.failed.append(f"exit code {code} beside another process")
            lives[which] = trial.begin(Death(), quiet=True)
    _over(trial, lives, which, tally)


def _disturbed(pid: int, rng: random.Random, tally: KillTally, kills: int, span: float) -> int | None:
    """Kill it, or stop it for a while and wake it; its exit code if it has ended."""
    if rng.random() < 0.5 and kills > 0:
        code = ended(pid, signal.SIGKILL)
        if code == -signal.SIGKILL:  # it may have come to its end just before
            tally.kills += 1
            tally.steps["beside another"] += 1
        return code
    os.kill(pid, signal.SIGSTOP)
    time.sleep(rng.uniform(0.0, 0.4) if rng.random() < 0.3 else rng.uniform(0.0, span))
    os.kill(pid, signal.SIGCONT)
    tally.woken += 1
    return None


def _over(trial: Trial, lives: list[int], which: int, tally: KillTally) -> None:
    """One has come to the end, so has the output; the other is killed. Where none has, one more is let go on alone."""
    ended(lives[1 - which], signal.SIGKILL)
    try:
        os.kill(lives[which], 0)
    except ProcessLookupError:
        return  # the one that came to the end
    ended(lives[which], signal.SIGKILL)
    code = trial.live(Death())
    if code:
        tally.failed.append(f"exit code {code} after two processes")


# ---------------------------------------------------------------------------------------------------------------------
# States that do not belong to an output: an older one, none, another stream's. Each must be refused, and change nothing.


REFUSED = 2


class StateBackup:
    """A copy of the state of a stream at some time of its life, and the last state of the stream before it."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._foreign = folder, folder / "foreign"
        self._older = folder / "older"

    def take(self, trial: Trial) -> None:
        """Copy the state as it is now."""
        shutil.rmtree(self._older, ignore_errors=True)
        if trial.state is not None and trial.state.exists():
            shutil.copytree(trial.state, self._older)

    def try_all(self, trial: Trial, rng: random.Random, tally: KillTally, length: int) -> None:
        """After the end of a stream: one of the three in place of its state. `length`: what the output held at the backup.

        A block is noted before it is published: a state that was copied while the last one was on its way is not older.
        """
        whole, state = trial.broker.held(trial.target), trial.state
        if state is None:
            return
        older = self._older.exists() and length + trial.batch < len(whole)
        kind = rng.choice(["lost"] + ["older"] * older + ["foreign"] * self._foreign.exists())
        trial.state = {"older": self._older, "foreign": self._foreign}.get(kind, self._folder / "lost")
        code = ended_within(trial.begin(Death(), quiet=True), 30.0)
        if code != REFUSED or trial.broker.held(trial.target) != whole:
            tally.failed.append(
                f"{kind} state: exit code {code}, {len(trial.broker.held(trial.target))} of {len(whole)}"
            )
        tally.refusals += 1
        tally.steps[f"{kind} state refused"] += 1
        for place in (self._foreign, self._folder / "lost"):
            shutil.rmtree(place, ignore_errors=True)
        state.rename(self._foreign)


# ---------------------------------------------------------------------------------------------------------------------
# How long a stream stands still when the process that leads it is stopped without a word.


NOBODY = "nobody took over"


def taken_over(
    broker: LocalBroker,
    source: str,
    target: str,
    lead: Callable[[], object],
    first: Sequence[bytes],
    more: Sequence[bytes],
    settle: float = 1.0,
) -> float:
    """Seconds from the stop of the leader until the other has released what came then. `lead` runs a service with a lease;
    within `settle` seconds the second one has started.

    The leader wakes up afterwards, and must publish nothing; whoever asks looks at the output.
    """
    broker.send(source, first)
    leader = forked(lead)
    wait_until(lambda: _held(broker, target) >= len(first), NOBODY)
    other = forked(lead)
    time.sleep(settle)  # it stands by
    os.kill(leader, signal.SIGSTOP)  # a leader that does not know that it is gone
    began = time.monotonic()
    broker.send(source, more)
    wait_until(lambda: _held(broker, target) >= len(first) + len(more), NOBODY)
    took = time.monotonic() - began
    os.kill(leader, signal.SIGCONT)
    time.sleep(0.5)
    ended(leader, signal.SIGKILL)
    ended(other, signal.SIGTERM)
    return took


def _held(broker: LocalBroker, target: str) -> int:
    try:
        return len({json.loads(body)["note"] for _, body in broker.held(target)})
    except Exception:  # it is not there yet
        return -1
