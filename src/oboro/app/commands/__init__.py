"""The commands, each a thin file: where they are, and a program of some of them."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Annotated

import typer

from oboro.app.language.speaking_group import SpeakingGroup

__all__ = ["COMMANDS", "with_commands"]

COMMANDS = {  # in the order of the help; a function of the same name is in the file
    "demo": "oboro.app.made_up.demo",
    "init": "oboro.app.init",
    "anonymize": "oboro.app.anonymize",
    "verify": "oboro.app.verify",
    "assess": "oboro.app.assess",
    "evaluate": "oboro.app.evaluate",
    "hierarchy": "oboro.app.hierarchy",
    "synth": "oboro.app.made_up.synth",
    "schema": "oboro.app.schema",
    "stream": "oboro.app.streams.stream",
    "web": "oboro.app.web.web",
    "warm-up": "oboro.app.warm_up",
}


def with_commands(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """The command line with these commands only: to load all of them takes longer than most need to run."""
    app = typer.Typer(
        cls=SpeakingGroup,
        no_args_is_help=True,
        rich_markup_mode="markdown",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="Anonymize personal data, verify the result, and report what it cost.\n\nNew here? Type `oboro demo`.",
    )
    app.callback()(_options)
    for name in names:
        module = import_module(COMMANDS[name])
        app.command(name)(getattr(module, name.replace("-", "_")))
    return app


def _version(value: bool) -> None:
    if value:
        from oboro import __version__

        print(f"oboro {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True)] = False,
) -> None:
    pass
