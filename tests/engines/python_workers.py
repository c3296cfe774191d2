"""The Python processes that Spark started from here, so that they, and no others, can be killed."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path


def children(process: int) -> list[int]:
    """The processes that one started."""
    found = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            found += [int(one) for one in task.read_text().split()]
    return found


def command(process: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return ""


def below(process: int) -> list[int]:
    """All processes below one."""
    return [one for child in children(process) for one in (child, *below(child))]


def workers() -> list[int]:
    """The Python processes that run tasks, not the one that starts them."""
    named = ("pyspark.daemon", "pyspark/daemon", "warm_daemon")
    daemons = [one for one in below(os.getpid()) if any(name in command(one) for name in named)]
    return [one for daemon in daemons for one in children(daemon)]


class Killer(threading.Thread):
    """Kills a Python worker now and then, a few times."""

    def __init__(self, times: int, pause: float) -> None:
        super().__init__(daemon=True)
        self.times, self.pause, self.killed, self.ended = times, pause, 0, threading.Event()

    def run(self) -> None:
        while self.killed < self.times and not self.ended.is_set():
            for one in workers()[:1]:
                with suppress(OSError):
                    os.kill(one, signal.SIGKILL)
                    self.killed += 1
            time.sleep(self.pause)
