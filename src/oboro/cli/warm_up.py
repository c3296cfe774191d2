"""`oboro warm-up`: compilation ahead of time."""

from __future__ import annotations

from oboro.cli.language import spoken
from oboro.cli.options import AsJson, console, print_json, stages
from oboro.text import Message

__all__ = ["warm_up"]


def warm_up(as_json: AsJson = False) -> None:
    """Compile everything that jobs use, so that no later job has to. For container images: run it when the image is built.

    Compiled code goes beside the package if that can be written, or to the folder in OBORO_CACHE.

    Example: `oboro warm-up`
    """
    from dataclasses import asdict

    from oboro.recipe import warm_up as library

    with stages() as stage:
        done = library.warm_up(stage)
    if as_json:
        print_json({**asdict(done), "place": str(done.place)})
        return
    terminal = console()
    for name, seconds in done.seconds.items():
        job = Message(f"progress.warm_up.{name}").say(spoken())
        terminal.print(Message("command.warm_up.job", seconds=seconds, job=job).say(spoken()), highlight=False)
    told = {"kernels": done.after, "new": done.after - done.before, "place": str(done.place)}
    terminal.print(Message("command.warm_up.done", **told).say(spoken()), highlight=False, soft_wrap=True, markup=False)
