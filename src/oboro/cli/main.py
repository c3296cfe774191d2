"""Entry point of the command line: it translates arguments into a recipe and shows the results.

Progress and messages go to stderr, data to stdout. Exit codes: 0 done, 1 a guarantee is violated, 2 bad usage or input,
75 and 78 a stream that ran and met a fault that may pass or a refusal that stays (`oboro.stream.exit_codes`), 141 the
reader of the output stopped reading.
"""

from __future__ import annotations

import gc
import os
import signal
import sys

from oboro.cli.language import spoken
from oboro.cli.prepared_help import prepared_help
from oboro.errors import Sayable
from oboro.system.files import tell_when_swept
from oboro.system.process import print_utf8
from oboro.text import Message

__all__ = ["main", "program"]


SELDOM = 100_000  # objects made between two looks for garbage: modules make many, none of them garbage, and then few are made
COMPLETION = "_OBORO_COMPLETE"  # a shell that asks for the options of a command sets this
READER_GONE = 128 + 13  # as a shell says it of a program that SIGPIPE ended


def program() -> None:
    """Run the command line as a program of its own."""
    # To look for plugins of pydantic among all packages takes a tenth of a start.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    gc.set_threshold(SELDOM)
    try:
        main()
    except Interrupted:  # it came while the end was being said
        sys.exit(2)
    finally:  # what comes now finds everything done and said
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        # Python looks for garbage once more when it ends, though the system takes all memory back: a fifteenth of a small job,
        # a sixth of one with a report. Objects that are not looked at any more are still let go as modules are.
        # DuckDB's bindings (nanobind) write a list of "leaked" objects to stderr where their own modules are not collected.
        if "_duckdb" not in sys.modules:
            gc.freeze()


def main() -> None:
    """Run the command line; errors become one clear message and an exit code, never a traceback."""
    print_utf8()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    tell_when_swept(_tell)
    sys.unraisablehook = _send_again
    try:
        _run(sys.argv[1:])
    except SystemExit as ended:
        if isinstance(
            ended.__context__, BrokenPipeError
        ):  # typer ends with 1, which would say that a promise is broken
            sys.exit(READER_GONE)
        raise
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python would try to write the rest at its end
        sys.exit(READER_GONE)
    except Interrupted:
        _fail(Message("error_app.interrupted"))
    except Exception as error:
        from oboro.errors import OboroError

        if isinstance(error, OboroError):
            _fail(error, error.exit_code)
        if os.environ.get("OBORO_DEBUG"):
            raise
        from oboro.text.unforeseen import unforeseen

        _fail(unforeseen(error))


def _run(arguments: list[str]) -> None:
    """Load the command that is asked for, and do it."""
    page = prepared_help(arguments)
    if page is not None:
        print(page, end="", flush=True)
        return
    from oboro.cli.commands import COMMANDS, with_commands

    asked = next(filter(COMMANDS.__contains__, arguments), None)
    with_commands(COMMANDS if asked is None or COMPLETION in os.environ else [asked])()


class Interrupted(BaseException):
    """Somebody pressed Ctrl-C or asked the process to end. Typer would answer a KeyboardInterrupt with an exit code of its own."""


_ending: list[bool] = []  # whether an interrupt came


def _interrupt(signal_number: int, frame: object) -> None:
    _ending.append(True)
    raise Interrupted


def _send_again(unheard: sys.UnraisableHookArgs) -> None:
    """An interrupt that came while a library called us back: Python drops it there, so it is sent once more.

    What a library then cannot clean up, such as a compiler that was stopped in the middle, is not shown: the process ends.
    """
    if unheard.exc_type is not Interrupted:
        if _ending:
            return
        sys.__unraisablehook__(unheard)
        return
    import threading

    later = threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGTERM))
    later.daemon = True
    later.start()


def _tell(said: Sayable) -> None:
    print(Message("command.failed", what=said).say(spoken()), file=sys.stderr)


def _fail(what: Sayable, code: int = 2) -> None:
    _tell(what)
    sys.exit(code)


if __name__ == "__main__":
    program()
