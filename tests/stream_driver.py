"""Starts a stream again and again and kills it with -9 at random moments, until it comes to its end by itself.

Run as a program: `stream_driver.py FOLDER file|pipe SEED MODE`. It forks, so that a start costs milliseconds; the stream is a
real process and the signal a real one. Prints how many kills there were. With `pipe` the output goes through a pipe, whose
whole lines are appended to out.ndjson: what a reader on the other side would have.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import time
from pathlib import Path

from oboro.app.stream import settings
from oboro.recipe import Recipe
from oboro.stream import DelayFree, places
from oboro.stream.runner import Plan, Runner


def child(folder: Path, target: str, mode: str, recipe: Recipe) -> None:
    places.CHUNK = 600  # many small blocks, so that a kill finds the stream in every state
    plan = Plan(
        source=str(folder / "in.ndjson"),
        target=target,
        dead=str(folder / "dead.ndjson"),
        state=folder / "state",
        every=15_000,
    )
    Runner(lambda: settings(recipe, folder, {"mode": mode}), plan).run()


def start(folder: Path, how: str, mode: str, recipe: Recipe) -> tuple[int, int]:
    reader, writer = os.pipe() if how == "pipe" else (-1, -1)
    pid = os.fork()
    if pid == 0:
        if how == "pipe":
            os.close(reader)
            os.dup2(writer, 1)
        try:
            child(folder, "-" if how == "pipe" else str(folder / "out.ndjson"), mode, recipe)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(3)
        os._exit(0)
    if how == "pipe":
        os.close(writer)
    return pid, reader


def collect(reader: int, seconds: float) -> bytes:
    """What comes through a pipe in a while."""
    data, end = b"", time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if select.select([reader], [], [], left)[0]:
            piece = os.read(reader, 65536)
            if not piece:
                break
            data += piece
    return data


def main(folder: Path, how: str, seed: int, mode: str) -> None:
    rng = random.Random(seed)
    kills = 0
    recipe = Recipe.load(folder / "recipe.yaml")
    with settings(recipe, folder, {"mode": mode}) as warm:  # compiled once, for all children
        warm.push_many([{"sex": "F", "age": age % 7, "note": 0} for age in range(50)])
        warm.push({"sex": "F", "age": 3, "note": 0})
        warm.save(folder / "warm")
    DelayFree.restore(folder / "warm").close()
    while True:
        pid, reader = start(folder, how, mode, recipe)
        delay = rng.uniform(0.01, 0.16)
        data = b""
        if how == "pipe":
            data = collect(reader, delay)
        else:
            time.sleep(delay)
        ended, status = os.waitpid(pid, os.WNOHANG)
        if not ended:
            os.kill(pid, signal.SIGKILL)
            _, status = os.waitpid(pid, 0)
        if how == "pipe":
            data += collect(reader, 5)
            os.close(reader)
            with (folder / "out.ndjson").open("ab") as file:
                file.write(data[: data.rfind(b"\n") + 1])
        if os.WIFSIGNALED(status):
            kills += 1
            continue
        print(json.dumps({"kills": kills, "status": os.waitstatus_to_exitcode(status)}))
        return


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4])
