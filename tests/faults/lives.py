"""One life of a command, in a process that is forked from a warm one: imports and kernels are there, so it takes milliseconds."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tests.faults.commands import Command
from tests.faults.moments import Board, Death, Moment

PATIENCE = 60.0  # seconds after which a process hangs
CHUNK = 200  # bytes of a stream that are read at a time: many small blocks, so that a kill finds it in every state
EVERY = 8000  # bytes of log after which a snapshot is made


@dataclass(frozen=True)
class Life:
    """How a process ended, and what it said."""

    code: int  # negative: the signal that ended it
    said: str
    phase: str
    hung: bool
    drafts_before: frozenset[str] = frozenset()  # which a life before has left

    @property
    def killed(self) -> bool:
        return self.code == -signal.SIGKILL and not self.hung


def live(command: Command, folder: Path, moment: Moment, first: Callable[[], object] | None = None) -> Life:
    """Run a command in a folder until it ends or the moment comes. What it prints is appended to its output where that is piped.

    `first`: what the process does before, such as to limit itself.
    """
    board = Board(command.kind)
    reader, writer = os.pipe()
    before = drafts_in(folder)
    errors = folder.parent / f"{folder.name}.stderr"
    said = os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        _be(command, folder, moment, board, (writer, said), first or bool)
    os.close(writer)
    os.close(said)
    received, hung = _attend(pid, reader, moment)
    os.close(reader)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if command.piped:
        with (folder / command.outputs[0]).open("ab") as file:
            file.write(received[: received.rfind(b"\n") + 1])
    return Life(code, errors.read_text(errors="replace"), board.phase, hung, before)


def drafts_in(folder: Path) -> frozenset[str]:
    """Unfinished files, also of a state."""
    return frozenset(str(one.relative_to(folder)) for one in folder.rglob(".*.part"))


def _attend(pid: int, reader: int, moment: Moment) -> tuple[bytes, bool]:
    """Read what comes until the process ends; send it the signal when its time has come."""
    began, data, sent = time.monotonic(), b"", moment.seconds is None
    while time.monotonic() - began < PATIENCE:
        due = PATIENCE if sent else max(0.0, (moment.seconds or 0.0) - (time.monotonic() - began))
        if select.select([reader], [], [], due)[0]:
            piece = os.read(reader, 65536)
            if not piece:
                return data, False
            data += piece
        elif not sent:
            os.kill(pid, moment.number)  # it was not waited for yet, so its number is nobody else's
            sent = True
    os.kill(pid, signal.SIGKILL)
    return data, True


def _be(
    command: Command, folder: Path, moment: Moment, board: Board, out: tuple[int, int], first: Callable[[], object]
) -> None:
    """Become the command; never returns. Its standard error is a file that is seen whole after any death."""
    code = 70
    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)  # as a new process has them: the warm one has those of a command
        os.dup2(out[0], 1)
        os.dup2(out[1], 2)
        os.chdir(folder)
        os.umask(0o022)
        Death(moment, command.piped).arm(command.kind, board)
        first()
        code = run(command, alone=True)
    except BaseException:  # nothing that `program` lets through, so the mistake is here
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def run(command: Command, *, alone: bool = False) -> int:
    """The command line, as a program of its own where it has its process `alone`; its exit code."""
    from oboro.cli.main import main, program

    sys.argv = ["oboro", *command.words]
    with ExitStack() as opened:
        if command.kind == "stream":
            _in_small_blocks()
        if command.large:
            _as_if_large(opened)
        try:
            program() if alone else main()
        except SystemExit as ended:
            return int(ended.code or 0)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
    return 0


def _in_small_blocks() -> None:
    from oboro.stream import endpoints, engine

    endpoints.CHUNK = CHUNK
    engine.StreamPlan.__dataclass_fields__["every"].default = EVERY
    engine.StreamPlan.__init__.__defaults__ = tuple(
        EVERY if one == 1 << 26 else one for one in engine.StreamPlan.__init__.__defaults__ or ()
    )


def _as_if_large(opened: ExitStack) -> None:
    """Every threshold above which a table counts as large is nothing."""
    from oboro.io import column_store, external_shuffle
    from oboro.kernels.jit import always_compiled
    from oboro.system import files

    opened.enter_context(always_compiled())
    column_store.SMALL = external_shuffle.HELD = 0
    column_store.HELD_TOO = -1
    files.ROOM = 8192
