"""Which functions does a plain `oboro anonymize` enter? How many, in which rooms, and does any call lead back up?

    python -m benchmarks.traced_run [--list]     a made-up table of 300 people with its recipe; with --list every function, in order

Counted are oboro's own functions, each once: also comprehensions, the bodies of classes (a module that is loaded for nothing shows)
and compiled kernels, but no bodies of modules. A call from `io` or `techniques` into `recipe` would be a way back up: the exit code
is then 1.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

Place = tuple[str, str]  # file and function


def entered(words: list[str]) -> dict[Place, Place | None]:
    """The functions that a command enters, in order, each with the one of ours that called it first."""
    import oboro

    root = f"{Path(oboro.__file__).parent}{os.sep}"
    found: dict[Place, Place | None] = {}

    def place(frame: FrameType | None) -> Place | None:
        while frame is not None and not frame.f_code.co_filename.startswith(root):
            frame = frame.f_back
        return None if frame is None else (frame.f_code.co_filename.removeprefix(root), frame.f_code.co_qualname)

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(root) and code.co_name != "<module>":
            found.setdefault((code.co_filename.removeprefix(root), code.co_qualname), place(frame.f_back))

    argv, sys.argv = sys.argv, ["oboro", *words]
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        from oboro.cli.main import main

        main()
    except SystemExit as ended:
        if ended.code:
            raise
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        sys.argv = argv
    return found


def room(place: Place) -> str:
    """The room of a function."""
    return Path(place[0]).parts[0].removesuffix(".py")


def ways_up(found: dict[Place, Place | None]) -> list[str]:
    """Calls from `io` or `techniques` into `recipe`."""
    return [
        f"{' '.join(caller)} → {' '.join(one)}"
        for one, caller in found.items()
        if caller and room(one) == "recipe" and room(caller) in ("io", "techniques")
    ]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "people.csv"
        made = ("synth", "people", "--rows", "300", "--seed", "7", "--output", str(table))
        subprocess.run([sys.executable, "-m", "oboro.cli.main", *made], check=True, capture_output=True)
        job = ["anonymize", str(table), "-r", f"{table}.recipe.yaml", "-o", str(Path(folder) / "released.csv")]
        subprocess.run(
            [sys.executable, "-m", "oboro.cli.main", *job], check=True, capture_output=True
        )  # compiles kernels
        functions = entered([*job[:-1], str(Path(folder) / "again.csv")])
    if "--list" in sys.argv:
        print(*(" ".join(one) for one in functions), sep="\n")
    rooms = Counter(map(room, functions))
    print(f"{len(functions)} functions: {', '.join(f'{name} {count}' for name, count in rooms.most_common())}")
    print(*ways_up(functions) or ["no way back up from io or techniques into recipe"], sep="\n")
    sys.exit(1 if ways_up(functions) else 0)
