"""Registry of the commands, loaded on demand, and their help in the chosen language."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from functools import cache, partial
from importlib import import_module
from operator import attrgetter
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from oboro.cli.language import choose
from oboro.text import Message
from oboro.text.message import catalogue
from oboro.text.raw import always_show_values, without_passwords

__all__ = ["COMMANDS", "SpeakingGroup", "put_words", "with_commands"]


# Commands in the chosen language --------------------------------------------------------------------------------------
# Help and usage errors of the commands in the chosen language.


WrongUsage: Any = typer.BadParameter.__mro__[2]  # all that a command line can do wrong; typer names only some of it
_TITLES = (
    "ARGUMENTS_PANEL_TITLE",
    "OPTIONS_PANEL_TITLE",
    "COMMANDS_PANEL_TITLE",
    "ERRORS_PANEL_TITLE",
    "DEFAULT_STRING",
    "REQUIRED_LONG_STRING",
)
_PATTERNS = {  # what typer says of wrong usage, and our message for it
    r"No such option: (?P<option>\S+)(?: .*)?": "no_such_option",
    r"Missing (?:argument|option|parameter):? ?(?P<option>.*?)\.?": "missing",
    r"Missing command\.": "missing_command",
    r"No such command '(?P<option>.+)'\..*": "no_such_command",
    r"Got unexpected extra arguments?(?:\(s\))? \((?P<option>.+)\)": "extra_arguments",
    r"Option '(?P<option>.+)' requires an argument\.": "requires_argument",
    r"Option '(?P<option>.+)' does not take a value\.": "takes_no_value",
    r"Invalid value for (?P<option>.+?): (?P<why>.+)": "invalid_value",
}


class SpeakingGroup(TyperGroup):
    """All commands, each with --lang; help and complaints about usage are in the chosen language."""

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, *, standalone_mode: bool = True, **more: Any
    ) -> Any:
        """Choose the language, then do what a group does."""
        arguments = list(sys.argv[1:] if args is None else args)
        lang = choose(arguments)
        always_show_values("--show-values" in arguments or sys.stderr.isatty())
        helping = not arguments or not {"--help", "-h"}.isdisjoint(arguments)
        put_words(self, catalogue(lang, "help") if helping or lang != "en" else {})
        if not standalone_mode:
            return super().main(arguments, standalone_mode=False, **more)
        try:
            code = super().main(arguments, standalone_mode=False, **more)
        except WrongUsage as error:
            put_words(self, catalogue(lang, "help"))
            error.message = without_passwords(error.message)  # what was typed may hold one
            _complain(error, lang)
            sys.exit(error.exit_code)
        sys.exit(code if isinstance(code, int) else 0)


def put_words(group: TyperGroup, words: Mapping[str, str]) -> None:
    """Give every command --lang and --show-values and, if there are words (of `text/<lang>/help.toml`), its help."""
    for name, command in [("oboro", group), *group.commands.items()]:
        if isinstance(command, TyperCommand | TyperGroup):
            if "lang" not in map(attrgetter("name"), command.params):
                command.params.extend(map(copy, _shared()))
            if words:
                _name_values(command, words)
                _describe(command, name.replace("-", "_"), words)
    if words:
        _put_titles(words)


def _name_values(command: TyperCommand | TyperGroup, words: Mapping[str, str]) -> None:
    """What stands for a value: `RELEASED` for an argument, `<path>` for an option (in the reader's words), nothing for a switch."""
    named: list[Any] = [*command.params, _help_of(command)]
    for param in named:
        if param.param_type_name == "argument":
            shown = param.name.upper()
            param.metavar = shown
            param.get_usage_pieces = partial(_usage, shown if param.required else f"[{shown}]")
        if shows := getattr(
            type(param), "display_type_rich", None
        ):  # older versions of typer show types in their own words
            param.display_type_rich = partial(_shown_type, param, shows, words)


def _help_of(command: TyperCommand | TyperGroup) -> Any:
    """The option --help, which is not among the parameters."""
    return command.get_help_option(typer.Context(command, help_option_names=["-h", "--help"]))


def _usage(shown: str, ctx: Any) -> list[str]:
    return [shown]


def _shown_type(param: Any, shown: Any, words: Mapping[str, str], ctx: Any) -> str | None:
    if getattr(param, "is_flag", False):
        return None
    text = shown(param, ctx)
    return text if text is None else words.get(f"typer.type_{text.strip('<>').replace(' ', '_')}", text)


def _put_titles(words: Mapping[str, str]) -> None:
    """The titles of a page of help."""
    from typer import rich_utils

    for constant in _TITLES:
        setattr(rich_utils, constant, words[f"typer.{constant.lower()}"])


@cache
def _shared() -> list[Any]:
    """These options are only parsed: `SpeakingGroup.main` has read them already."""
    maker = typer.Typer(add_completion=False)
    maker.command()(_with_shared)
    options: list[Any] = list(typer.main.get_command(maker).params)
    for option in options:
        option.expose_value = False
    return options


def _with_shared(lang: str = typer.Option(None), show_values: bool = typer.Option(False, "--show-values")) -> None:
    """Only its parameters are used."""


def _describe(command: TyperCommand | TyperGroup, name: str, words: Mapping[str, str]) -> None:
    command.help = words.get(f"{name}.about", command.help)
    command.options_metavar = words["typer.options_metavar"]
    if isinstance(command, TyperGroup):
        command.subcommand_metavar = words["typer.subcommand_metavar"]
    named: list[Any] = list(command.params)
    for param in named:
        param.help = words.get(f"{name}.{param.name}", words.get(f"shared.{param.name}", param.help))
    _help_of(command).help = words["typer.help"]

    def format_usage(context: Any, formatter: Any) -> None:
        pieces = " ".join(command.collect_usage_pieces(context))
        formatter.write_usage(context.command_path, pieces, prefix=words["typer.usage"])

    command.format_usage = format_usage  # type: ignore[method-assign, assignment]


def _complain(error: Any, lang: str) -> None:
    """What is wrong with how a command was typed."""
    if lang == "en":  # as typer says it
        from typer.rich_utils import rich_format_error

        rich_format_error(error)
        return
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        return
    if context is not None:
        usage = context.get_usage().splitlines()
        print(Message("command.usage", usage=usage, command=context.command_path).say(lang), file=sys.stderr)
    print(Message("command.wrong_usage", what=_said(error)).say(lang), file=sys.stderr)


def _said(error: Any) -> Message | str:
    from pydantic import ValidationError

    from oboro.text.pydantic import complaint

    told = error.format_message()
    for pattern, id in _PATTERNS.items():
        if found := re.fullmatch(pattern, told, re.DOTALL):
            values: dict[str, Any] = found.groupdict()
            if id == "invalid_value" and isinstance(error.__cause__, ValidationError):
                values["why"] = complaint(error.__cause__.errors()[0])
            return Message(f"error_app.{id}", **values)
    return str(told)


# Commands -------------------------------------------------------------------------------------------------------------


COMMANDS = {  # in the order of the help; a function of the same name is in the file
    "demo": "oboro.cli.demo",
    "init": "oboro.cli.init",
    "anonymize": "oboro.cli.anonymize",
    "verify": "oboro.cli.verify",
    "assess": "oboro.cli.assess",
    "evaluate": "oboro.cli.evaluate",
    "hierarchy": "oboro.cli.hierarchy",
    "synth": "oboro.cli.synth",
    "schema": "oboro.cli.schema",
    "stream": "oboro.cli.stream",
    "web": "oboro.cli.web",
    "warm-up": "oboro.cli.warm_up",
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
