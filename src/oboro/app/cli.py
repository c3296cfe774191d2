"""The command line: it translates strings into a recipe and shows what came of it.

Progress and messages go to stderr, data to stdout. Exit codes: 0 done, 1 a privacy promise does not hold, 2 bad usage or input,
141 whoever read the output stopped reading.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from typing import Annotated, Any

import typer

from oboro.app import options
from oboro.app.anonymize import anonymize
from oboro.app.assess import assess
from oboro.app.bench import bench
from oboro.app.evaluate import evaluate
from oboro.app.hierarchy import hierarchy
from oboro.app.init import init
from oboro.app.language import SpeakingGroup, spoken
from oboro.app.made_up.demo import demo
from oboro.app.made_up.synth import synth
from oboro.app.schema import schema
from oboro.app.streams.stream import stream
from oboro.app.verify import verify
from oboro.app.warm_up import warm_up
from oboro.app.web.web import web
from oboro.errors import Sayable
from oboro.system.drafts import tell_when_swept
from oboro.system.process import alone_in_process, print_utf8
from oboro.text import Message

__all__ = ["app", "main", "program"]

SELDOM = 100_000  # objects made between two looks for garbage: modules make many, none of them garbage, and then few are made
COMPLETION = "_OBORO_COMPLETE"  # a shell that asks for the options of a command sets this
READER_GONE = 128 + 13  # as a shell says it of a program that SIGPIPE ended

app = typer.Typer(
    cls=SpeakingGroup,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Anonymize personal data, verify the result, and report what it cost.\n\nNew here? Type `oboro demo`.",
)


def program() -> None:
    """Run the command line as a program of its own."""
    options.OWN_PROCESS = True
    alone_in_process()
    # To look for plugins of pydantic among all packages takes a tenth of a start.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    gc.set_threshold(SELDOM)
    _leave_out_others()
    try:
        main()
    except Interrupted:  # it came while the end was being said
        sys.exit(2)
    finally:  # what comes now finds everything done and said
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)


def _leave_out_others() -> None:
    """Leave out the commands that are not asked for, and from a list of them their options: to read all options takes a while."""
    asked = next((word.replace("-", "_") for word in sys.argv[1:] if not word.startswith("-")), None)
    wanted = [one for one in app.registered_commands if one.callback and one.callback.__name__ == asked]
    app.registered_commands = wanted or app.registered_commands
    if asked is None and COMPLETION not in os.environ:
        for one in app.registered_commands:
            one.callback = _listed(one.callback)


def _listed(command: Any) -> Any:
    """A command as a list of them shows it."""

    def listed() -> None: ...

    listed.__name__, listed.__doc__ = command.__name__, command.__doc__
    return listed


def main() -> None:
    """Run the command line; errors become one clear message and an exit code, never a traceback."""
    print_utf8()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    tell_when_swept(_tell)
    sys.unraisablehook = _send_again
    try:
        app()
    except SystemExit as ended:
        if isinstance(
            ended.__context__, BrokenPipeError
        ):  # typer ends with 1, which would say that a promise is broken
            sys.exit(READER_GONE)
        raise
    except Interrupted:
        _fail(Message("error_app.interrupted"))
    except Exception as error:
        from oboro.errors import OboroError

        if isinstance(error, OboroError):
            _fail(error, error.exit_code)
        if os.environ.get("OBORO_DEBUG"):
            raise
        from oboro.app.language.unforeseen import unforeseen

        _fail(unforeseen(error))


class Interrupted(BaseException):
    """Somebody pressed Ctrl-C or asked the process to end. Typer would answer a KeyboardInterrupt with an exit code of its own."""


def _interrupt(signal_number: int, frame: object) -> None:
    raise Interrupted


def _send_again(unheard: sys.UnraisableHookArgs) -> None:
    """An interrupt that came while a library called us back: Python drops it there, so it is sent once more."""
    if unheard.exc_type is not Interrupted:
        sys.__unraisablehook__(unheard)
        return
    import threading

    later = threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGTERM))
    later.daemon = True
    later.start()


def _tell(said: Sayable) -> None:
    print(Message("command.failed", what=said.say(spoken())).say(spoken()), file=sys.stderr)


def _fail(what: Sayable, code: int = 2) -> None:
    _tell(what)
    sys.exit(code)


for command in (demo, init, anonymize, verify, assess, evaluate, hierarchy, synth, bench, schema, stream, web, warm_up):
    app.command()(command)


def _version(value: bool) -> None:
    if value:
        from oboro import __version__

        print(f"oboro {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


if __name__ == "__main__":
    program()
