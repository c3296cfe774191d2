"""States that do not belong to an output: an older one, none, another stream's. Each must be refused, and change nothing."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

from oboro.papers.service.kills.trial import Death, KillTally, Trial, ended_within

__all__ = ["StateBackup"]

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
