"""Kills commands again and again, and counts what is wrong afterwards.

    python -m tests.faults.killer --kills 2000 --seed 1 [--only NAME]… [--json FILE]

First at chosen moments, then by chance, in several processes. Each command is started and killed in one folder again and again,
then left in peace; then it starts over in a new folder. Ends with 1 if anything was found.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.faults.commands import COMMANDS, Command
from tests.faults.judging import FAULTS, content_of, judge_life, judge_stream
from tests.faults.lives import Life, drafts_in, live, run
from tests.faults.moments import Moment

PROGRESS = 10.0  # seconds between two lines of progress
SELDOM = 8  # times less often slow commands are killed by chance
LIVES = 12  # of a table in one folder; a stream has more
NEVER = Moment()


@dataclass
class Tally:
    """What was done and found."""

    kills: Counter[str] = field(default_factory=Counter)  # by command
    phases: Counter[str] = field(default_factory=Counter)  # of kills: kind and phase
    signals: int = 0
    ends: int = 0
    swept: int = 0
    found: list[tuple[str, str, str]] = field(default_factory=list)  # command, kind, words

    @property
    def killed(self) -> int:
        return sum(self.kills.values())

    def add(self, command: Command, life: Life) -> None:
        if life.killed:
            self.kills[command.name] += 1
            self.phases[f"{command.kind}: {life.phase}"] += 1
        elif life.code:
            self.signals += 1
        self.swept += "unfinished file" in life.said

    def as_dict(self) -> dict[str, object]:
        faults = Counter(kind for _, kind, _ in self.found)
        return {
            "kills": self.killed,
            "interrupts": self.signals,
            "ends": self.ends,
            "sweeps": self.swept,
            "by_command": dict(self.kills),
            "by_phase": dict(sorted(self.phases.items())),
            "faults": {kind: faults[kind] for kind in FAULTS},
        }


class Killer:
    """Lets commands live and die."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.rng, self.tally = folder, random.Random(seed), Tally()
        self.expected: dict[str, dict[str, bytes]] = {}
        self.seconds: dict[str, float] = {}
        self.number = 0
        self.seed, self.began = seed, time.monotonic()

    def run(self, commands: list[Command], kills: int, noted: Path) -> None:
        """At chosen moments, then by chance until there were so many; never returns."""
        code = 1
        self.tally = Tally()
        try:
            for command in commands:
                self.one_folder(command, Moment.chosen(command.kind))
                noted.write_text(json.dumps(self.tally.as_dict()))
            while self.tally.killed < kills:
                command = min(commands, key=lambda one: self.tally.kills[one.name] * (SELDOM if one.slow else 1))
                self.one_folder(command, self.by_chance(command))
                noted.write_text(json.dumps(self.tally.as_dict()))
            code = 0
        finally:
            os._exit(code)

    def warm_up(self, command: Command) -> None:
        """Run it once in this process, which all others are forked from, and once in peace to know its output and its time."""
        if command.slow:
            _load_report()  # and no more: a process that has used all cores for pictures cannot be forked
        else:
            self._in_this_process(command)
        folder = self._new(command)
        began = time.monotonic()
        life = live(command, folder, NEVER)
        self.seconds[command.name] = time.monotonic() - began
        if life.code:
            raise SystemExit(f"{command.name} does not even run in peace: {life.code} {life.said}")
        self.expected[command.name] = {name: content_of(folder / name) for name in command.outputs}
        self._judge(command, folder, life)
        if command.kind == "stream":
            self._judge_end(command, folder)
        shutil.rmtree(folder)

    def _in_this_process(self, command: Command) -> None:
        folder, before = self._new(command), os.getcwd()
        kept = os.dup(1), os.dup(2)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        os.chdir(folder)
        try:
            run(command)
        finally:
            os.chdir(before)
            for number, handle in zip((1, 2), kept, strict=True):
                os.dup2(handle, number)
                os.close(handle)
            os.close(nowhere)
        shutil.rmtree(folder)

    def _new(self, command: Command) -> Path:
        self.number += 1
        folder = self.folder / f"{self.number}"
        folder.mkdir(mode=0o755)
        command.lay_out(folder)
        return folder

    def one_folder(self, command: Command, moments: Iterable[Moment]) -> None:
        """Lives in one folder, each until its moment; the last one is left in peace."""
        folder = self._new(command)
        for moment in (*moments, NEVER):
            if command.kind == "batch" and (moment is not NEVER or command.piped):
                self._as_before(command, folder)
            life = live(command, folder, moment)
            self.tally.add(command, life)
            self._judge(command, folder, life)
        self._judge_end(command, folder)
        shutil.rmtree(folder)

    def by_chance(self, command: Command) -> list[Moment]:
        """Moments for the lives in one folder."""
        seconds = 1.2 * self.seconds[command.name]
        lives = LIVES if command.kind == "batch" else 4 * LIVES
        return [Moment.by_chance(self.rng, command.kind, 14, seconds) for _ in range(lives)]

    def _as_before(self, command: Command, folder: Path) -> None:
        """Outputs of the life before are put away, so that the next one has to make them; drafts stay."""
        for name in command.outputs:
            (folder / name).unlink(missing_ok=True)
        if "--force" in command.words:
            command.lay_out(folder)

    def _judge(self, command: Command, folder: Path, life: Life) -> None:
        for kind, words in judge_life(command, folder, life, self.expected[command.name]):
            self._found(command, kind, f"{words} (phase {life.phase}, code {life.code})")

    def _judge_end(self, command: Command, folder: Path) -> None:
        self.tally.ends += 1
        for draft in drafts_in(folder):
            self._found(command, "half written", f"{draft} was never swept")
        if command.kind == "stream":
            for kind, words in judge_stream(command, folder):
                self._found(command, kind, words)

    def _found(self, command: Command, kind: str, words: str) -> None:
        self.tally.found.append((command.name, kind, words))
        if len(self.tally.found) <= 50:
            print(f"{command.name}: {kind}: {words}", file=sys.stderr)


class Part:
    """A process of its own with a part of the commands; what it found so far stands in a file."""

    def __init__(self, killer: Killer, commands: list[Command], kills: int, number: int) -> None:
        self.file = killer.folder / f"part-{number}.json"
        self.pid = os.fork()
        if self.pid == 0:
            killer.folder = killer.folder / f"part-{number}"
            killer.folder.mkdir()
            killer.rng = random.Random(f"{killer.seed}/{number}")
            killer.run(commands, kills, self.file)

    def found(self) -> dict[str, Any]:
        """So far."""
        known: dict[str, Any] = json.loads(self.file.read_text()) if self.file.exists() else {}
        return known


def together(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """The sums of what several found."""
    whole: dict[str, Any] = {}
    for part in parts:
        for key, value in part.items():
            if isinstance(value, dict):
                whole[key] = dict(sorted((Counter(whole.get(key, {})) + Counter(value)).items()))
            else:
                whole[key] = whole[key] + value if key in whole else value
    whole["faults"] = {kind: whole.get("faults", {}).get(kind, 0) for kind in FAULTS}
    return whole


def attended(parts: list[Part]) -> None:
    """Wait for all, with a line of progress now and then."""
    living, said, began = {part.pid for part in parts}, time.monotonic(), time.monotonic()
    while living:
        time.sleep(0.2)
        for pid in list(living):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                living.discard(pid)
                if status:
                    raise SystemExit(f"a part of the run ended with {os.waitstatus_to_exitcode(status)}")
        if time.monotonic() - said > PROGRESS:
            said = time.monotonic()
            so_far = together([part.found() for part in parts])
            faults = sum(so_far["faults"].values())
            print(
                f"{said - began:5.0f} s  {so_far.get('kills', 0):>5} kills  {faults} faults",
                file=sys.stderr,
                flush=True,
            )


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--kills", type=int, default=2000)
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--only", action="append")
    asked.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    asked.add_argument("--json", type=Path)
    given, words = asked.parse_args(), " ".join(sys.argv[1:])
    os.environ["OBORO_LANG"] = "en"  # what is said is read below
    commands = [one for one in COMMANDS.values() if not given.only or one.name in given.only]
    workers = max(1, min(given.workers, len(commands)))
    with tempfile.TemporaryDirectory(dir=_in_memory()) as folder:
        killer = Killer(Path(folder), given.seed)
        for command in commands:
            killer.warm_up(command)
        gc.collect()
        gc.freeze()  # what is there is not looked at again in a child, so that its pages stay shared
        shares = [commands[number::workers] for number in range(workers)]
        parts = [
            Part(killer, share, round(given.kills * len(share) / len(commands)), number)
            for number, share in enumerate(shares)
        ]
        attended(parts)
        found = together([killer.tally.as_dict(), *(part.found() for part in parts)])
    found |= {
        "seed": given.seed,
        "seconds": round(time.monotonic() - killer.began, 1),
        "command": words,
    }
    print(json.dumps(found, indent=2))
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")
    sys.exit(any(found["faults"].values()))


def _load_report() -> None:
    import oboro.measures.learning
    import oboro.recipe.evidence
    import oboro.report.charts
    import oboro.report.facts

    oboro.measures.learning.load()


def _in_memory() -> str | None:
    """A place for many small files; OBORO_FAULTS_IN names another, such as a real disk."""
    place = os.environ.get("OBORO_FAULTS_IN", "/dev/shm")
    return place if os.access(place, os.W_OK) else None


if __name__ == "__main__":
    main()
