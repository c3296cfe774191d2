"""What happens where the machine has nothing left to give, or gives something else: run as a program, it prints what it saw.

    python -m tests.faults.limits FOLDER

Each case is a name, and for every life of a command in it the exit code, what was said, and what stands in the folder afterwards.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.faults.commands import COMMANDS, Command
from tests.faults.killer import NEVER, Killer
from tests.faults.lives import Life, live

TABLE = COMMANDS["CSV to CSV"]
LARGE = COMMANDS["CSV to CSV, columns stay in the file"]
PARQUET = COMMANDS["Parquet to Parquet, columns stay in the file"]
STREAM = COMMANDS["NDJSON without delay"]


class Cases:
    """The cases, each in a folder of its own, and what was seen in them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.killer = Killer(folder, 1)
        self.seen: dict[str, list[dict[str, Any]]] = {}

    def prepare(self) -> None:
        for command in (TABLE, LARGE, PARQUET, STREAM):
            self.killer.warm_up(command)

    def new(self, command: Command) -> Path:
        return self.killer._new(command)

    def note(self, case: str, command: Command, folder: Path, life: Life) -> None:
        """What a life left, judged as after a kill."""
        self.killer._judge(command, folder, life)
        self.seen.setdefault(case, []).append(
            {
                "code": life.code,
                "said": life.said,
                "whole": all((folder / name).is_file() for name in command.outputs),
                "left": [one.name for one in folder.iterdir() if one.name.endswith(".part")],
            }
        )

    def go(self, case: str, command: Command, folder: Path, first: Callable[[], object] | None = None) -> Life:
        life = live(command, folder, NEVER, first)
        self.note(case, command, folder, life)
        return life


def limit(kind: int, amount: int) -> Callable[[], object]:
    return lambda: resource.setrlimit(kind, (amount, amount))


@contextmanager
def disk(folder: Path, *options: str) -> Iterator[bool]:
    """A disk of its own in a folder, where the machine lets us make one."""
    folder.mkdir(exist_ok=True)
    made = subprocess.run(["mount", "-t", "tmpfs", *options, "none", str(folder)], capture_output=True, check=False)
    try:
        yield made.returncode == 0
    finally:
        if made.returncode == 0:
            subprocess.run(["umount", str(folder)], check=False)


def elsewhere(command: Command, place: str, *names: str) -> Command:
    """The same command with some of its files in a folder within."""
    words = tuple(f"{place}/{word}" if word in names else word for word in command.words)
    outputs = tuple(f"{place}/{name}" if name in names else name for name in command.outputs)
    return replace(
        command, words=words, outputs=outputs, raw=command.raw | {place} if "state" in names else command.raw
    )


# Cases ----------------------------------------------------------------------------------------------------------------


def full_disk(cases: Cases) -> None:
    """A table: nothing is left. A stream: it stops, and goes on once there is room."""
    for command in (TABLE, LARGE):
        folder = cases.new(command)
        with disk(folder / "disk", "-o", "size=4k") as there:
            if there:
                cases.go("full disk", elsewhere(command, "disk", *command.outputs), folder)
                cases.seen["full disk"][-1]["left"] = os.listdir(folder / "disk")
    for name in ("out.ndjson", "dead.ndjson", "state"):
        _full_for_stream(cases, name)


def _full_for_stream(cases: Cases, name: str) -> None:
    folder, case = cases.new(STREAM), f"full disk, stream, {name}"
    command = elsewhere(STREAM, "disk", name)
    with disk(folder / "disk", "-o", f"size={8 if name == 'state' else 4}k") as there:
        if not there:
            return
        if name == "dead.ndjson":  # which is little
            (folder / "disk" / "filler").write_bytes(bytes(4096))
            (folder / "disk" / "filler").chmod(0o600)
        cases.go(case, command, folder)
        subprocess.run(["mount", "-o", "remount,size=4m", str(folder / "disk")], check=True)
        cases.go(case, command, folder)
        for one in ("out.ndjson", "dead.ndjson"):
            if one == name:
                shutil.copy(folder / "disk" / one, folder / one)
        cases.killer._judge_end(STREAM, folder)


def file_too_large(cases: Cases) -> None:
    for command in (TABLE, LARGE):
        cases.go("file too large", command, cases.new(command), limit(resource.RLIMIT_FSIZE, 3000))
    folder = cases.new(STREAM)
    cases.go("file too large, stream", STREAM, folder, limit(resource.RLIMIT_FSIZE, 6000))
    cases.go("file too large, stream", STREAM, folder)
    cases.killer._judge_end(STREAM, folder)


def read_only(cases: Cases) -> None:
    for command in (TABLE, STREAM):
        folder = cases.new(command)
        with disk(folder / "disk", "-o", "ro") as there:
            if there:
                cases.go(f"read-only, {command.kind}", elsewhere(command, "disk", *command.outputs, "state"), folder)


def no_handles(cases: Cases) -> None:
    """From none at all to enough."""
    for command in (PARQUET, STREAM):
        for more in range(2, 14, 2):
            folder, case = cases.new(command), f"handles, {command.name}"
            life = cases.go(case, command, folder, lambda more=more: _leave_handles(more))
            if life.code and command is STREAM:
                cases.go(f"{case}, again", command, folder)
                cases.killer._judge_end(command, folder)
            shutil.rmtree(folder)


def _leave_handles(more: int) -> None:
    """All are taken but so many."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    taken = []
    with suppress(OSError):
        while True:
            taken.append(os.dup(2))
    for handle in taken[-more:] if more else ():
        os.close(handle)


def little_memory(cases: Cases) -> None:
    for command in (LARGE, PARQUET, STREAM):
        for more in (1 << 16, 1 << 22, 1 << 27):
            folder = cases.new(command)
            cases.go(f"memory, {command.name}", command, folder, lambda more=more: _leave_memory(more))
            shutil.rmtree(folder)


def _leave_memory(more: int) -> None:
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + more, used + more))


def changing_input(cases: Cases) -> None:
    """The input is cut, grows or is replaced between its two readings."""
    changes: dict[str, Callable[[Path], object]] = {
        "cut": lambda path: os.truncate(path, path.stat().st_size // 2),
        "empty": lambda path: os.truncate(path, 0),
        "longer": lambda path: path.write_bytes(path.read_bytes() * 2),
        "gone": lambda path: path.unlink(),
        "turned": lambda path: path.write_bytes(path.read_bytes()[::-1]),
    }
    for command in (LARGE, PARQUET):
        for name, change in changes.items():
            folder = cases.new(command)
            path = folder / command.words[1]
            cases.go(f"input {name}", command, folder, lambda path=path, change=change: _before_writing(path, change))


def _before_writing(path: Path, change: Callable[[Path], object]) -> None:
    from oboro.recipe.release import Release

    write = Release.write

    def changed(*given: Any, **named: Any) -> None:
        change(path)
        write(*given, **named)

    Release.write = changed  # type: ignore[method-assign]


def pipes_and_links(cases: Cases) -> None:
    folder = cases.new(TABLE)
    (folder / "real").mkdir()
    (folder / "out.csv").symlink_to("real/other.csv")
    cases.go("link", TABLE, folder)
    cases.seen["link"][-1]["is_link"] = (folder / "out.csv").is_symlink() and (folder / "real/other.csv").is_file()
    to_stdout = replace(TABLE, words=(*TABLE.words[:4], "-o", "-"), outputs=())
    cases.go("reader gone", to_stdout, cases.new(TABLE), _reader_gone)
    cases.go("reader gone, stream", replace(STREAM, words=_to(STREAM, "-")), cases.new(STREAM), _reader_gone)


def _to(command: Command, place: str) -> tuple[str, ...]:
    at = command.words.index("--to")
    return (*command.words[: at + 1], place, *command.words[at + 2 :])


def _reader_gone() -> None:
    reader, writer = os.pipe()
    os.dup2(writer, 1)
    os.close(reader)
    os.close(writer)


def two_at_once(cases: Cases) -> None:
    """Two processes on one output: one of them wins, whole. Two streams on one state or one output: the second is refused."""
    from threading import Thread

    for command in (replace(TABLE, words=(*TABLE.words, "--force")), STREAM, _other_state(STREAM)):
        folder = cases.new(command)
        if command is STREAM or "other" in command.words:
            held = _holding(folder, "state" if command is STREAM else None)
            cases.go(f"two at once, {'state' if command is STREAM else 'output'}", command, folder)
            held()
            continue
        ended: list[Life] = []
        both = [Thread(target=lambda: ended.append(live(command, folder, NEVER, None))) for _ in range(2)]  # noqa: B023
        for one in both:
            one.start()
        for one in both:
            one.join()
        for life in ended:  # judged once both have ended: while one writes, its draft is there
            cases.note("two at once, table", command, folder, life)


def _other_state(command: Command) -> Command:
    return replace(command, words=tuple("other" if word == "state" else word for word in command.words))


def _holding(folder: Path, state: str | None) -> Callable[[], object]:
    """Somebody else, who holds the state or the output."""
    from oboro.stream.journal import Batch, StateFolder
    from oboro.system.files import hold_output, open_private

    if state is not None:
        return StateFolder(folder / state, Batch).close
    descriptor = open_private(folder / "out.ndjson", os.O_RDWR | os.O_CREAT)
    hold_output(descriptor)
    return lambda: os.close(descriptor)


ALL = (full_disk, file_too_large, read_only, no_handles, little_memory, changing_input, pipes_and_links, two_at_once)


def main(folder: Path, names: list[str]) -> None:
    os.environ["OBORO_LANG"] = "en"
    cases = Cases(folder)
    cases.prepare()
    for case in ALL:
        if not names or case.__name__ in names:
            case(cases)
    print(json.dumps({"cases": cases.seen, "faults": cases.killer.tally.found}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
