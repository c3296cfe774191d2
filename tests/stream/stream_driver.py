"""Starts a stream again and again and kills it with -9, until it comes to its end by itself.

Run as a program: `stream_driver.py FOLDER file|pipe SEED MODE`. It forks, so that a start costs milliseconds; the stream is a
real process and the signal a real one. Prints how many kills there were. With `pipe` the output goes through a pipe, whose
whole lines are appended to out.ndjson: what a reader on the other side would have.

Nothing outside a process changes but by the calls that change files, so a kill at any moment is a kill before, in the
middle of, or after one of these. Each life of the stream is given a number of such calls and dies at the last one, however
fast or slow the machine is; every other life is also killed from outside, after some random time.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import time
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import Any

from oboro.recipe.recipe import Recipe
from oboro.recipe.stream import StreamOptions, anonymizer
from oboro.stream import endpoints, journal
from oboro.stream.engine import Runner, StreamPlan

MOST = 12  # calls that one life is given at most
CHUNK = 200  # bytes read at a time: many small blocks, so that a kill finds the stream in every state


def least(size: int) -> int:
    """How many kills there are at least for so many bytes of input, on any machine.

    A block is at most `CHUNK` bytes; it is logged and written, two calls; only the last life is not killed.
    """
    return 2 * -(-size // CHUNK) // MOST - 1


class Death:
    """Counts the calls that change something outside, and kills at the last one that is allowed."""

    def __init__(self, rng: random.Random) -> None:
        self.left = rng.randint(1, MOST)
        self.when = rng.choice(["before", "halfway", "after"])

    def call(self, act: Callable[..., Any], *given: Any, half: Callable[[], Any] | None = None) -> Any:
        """Do something, or die of it."""
        self.left -= 1
        if self.left:
            return act(*given)
        try:
            if self.when == "after":
                act(*given)
            elif self.when == "halfway" and half is not None:
                half()
        finally:  # also where the call fails, as it may
            os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(60)

    def wait_for(self) -> None:
        """Let every call that changes a file be the last one."""
        write, opened, death = os.write, journal._opened, self

        def torn_write(handle: int, data: bytes) -> int:
            count: int = death.call(write, handle, data, half=lambda: write(handle, data[: len(data) // 2]))
            return count

        class Torn(FileIO):
            def write(self, data: Any) -> int:
                plain = super().write
                count: int = death.call(plain, data, half=lambda: plain(data[: len(data) // 2]))
                return count

        def open_torn(path: Path, flags: int) -> FileIO:
            file: FileIO = death.call(opened, path, flags)
            return Torn(os.dup(file.fileno()), "r+")

        os.write, journal._opened = torn_write, open_torn  # type: ignore[assignment]
        for name in ("replace", "unlink", "fsync"):
            act = getattr(os, name)
            setattr(os, name, lambda *given, act=act: death.call(act, *given))


def options(mode: Any) -> StreamOptions:
    if not mode.startswith("window"):
        return StreamOptions(mode=mode)
    order = mode.removeprefix("window-")  # window-exchanged, window-kept
    return StreamOptions(mode="window", window=30, categories=["sex"], order=order)


def child(folder: Path, target: str, mode: str, recipe: Recipe, death: Death) -> None:
    endpoints.CHUNK = CHUNK
    plan = StreamPlan(
        source=str(folder / "in.ndjson"),
        target=target,
        dead_letters=str(folder / "dead.ndjson"),
        state=folder / "state",
        every=15_000,
    )
    death.wait_for()
    Runner(lambda: anonymizer(recipe, options(mode)), plan).run()


def start(folder: Path, how: str, mode: str, recipe: Recipe, death: Death) -> tuple[int, int]:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        if how == "pipe":
            os.dup2(writer, 1)
        try:
            child(folder, "-" if how == "pipe" else str(folder / "out.ndjson"), mode, recipe, death)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(3)
        os._exit(0)
    os.close(writer)
    return pid, reader


def collect(reader: int, seconds: float | None) -> bytes:
    """What comes through a pipe in a while; without a limit, until the other side is gone."""
    data, end = b"", None if seconds is None else time.monotonic() + seconds
    while end is None or end > time.monotonic():
        if select.select([reader], [], [], None if end is None else max(0.0, end - time.monotonic()))[0]:
            piece = os.read(reader, 65536)
            if not piece:
                break
            data += piece
    return data


def live(folder: Path, how: str, mode: str, recipe: Recipe, rng: random.Random, outside: bool) -> int:
    """One life of the stream; its status."""
    pid, reader = start(folder, how, mode, recipe, Death(rng))
    data = b""
    if outside:
        data = collect(reader, rng.uniform(0.0, 0.1))
        os.kill(pid, signal.SIGKILL)  # whoever has ended is not waited for yet, so its number is not somebody else's
    data += collect(reader, None)
    os.close(reader)
    with (folder / "out.ndjson").open("ab") as file:
        file.write(data[: data.rfind(b"\n") + 1])
    return os.waitpid(pid, 0)[1]


def main(folder: Path, how: str, seed: int, mode: str) -> None:
    rng = random.Random(seed)
    kills = 0
    recipe = Recipe.load(folder / "recipe.yaml")
    with anonymizer(recipe, options(mode)) as warm:  # compiled once, for all children
        warm.push_many([{"sex": "F", "age": age % 7, "note": 0} for age in range(50)])
        warm.push({"sex": "F", "age": 3, "note": 0})
        warm.save(folder / "warm")
    type(warm).restore(folder / "warm").close()
    while os.WIFSIGNALED(status := live(folder, how, mode, recipe, rng, kills % 2 == 1)):
        kills += 1
    print(json.dumps({"kills": kills, "status": os.waitstatus_to_exitcode(status)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4])
