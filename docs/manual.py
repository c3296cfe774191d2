"""The manual page `man oboro`, written from the commands: `make manual` writes docs/oboro.1. A test says when it is out of date."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import oboro

PAGE = Path(__file__).parent / "oboro.1"

HEAD = r""".\" Written from the code: make manual
.TH OBORO 1 "" "oboro {version}" "User Commands"
.SH NAME
oboro \- anonymize personal data, verify the result, report what it cost
.SH SYNOPSIS
.B oboro
.I COMMAND
[\fIOPTIONS\fR] ...
.SH DESCRIPTION
.B oboro
makes tables and streams about people safe to give away.
A recipe says which columns others could know and what is promised.
.B oboro
finds the release that keeps the promise at the lowest loss, checks it on the finished data, and writes nothing if it does not hold.
.SH COMMANDS
"""

TAIL = r""".SH EXIT STATUS
.TP
.B 0
Done.
.TP
.B 1
A privacy promise does not hold. Nothing was written.
.TP
.B 2
Bad usage or bad input.
.TP
.B 75
Only
.BR "oboro stream" :
a fault that may pass, such as a broker that is away for longer than its patience, or a full disk. Start it again.
.TP
.B 78
Only
.BR "oboro stream" :
refused for good, such as a state or an output that does not fit, or a broker that does not let it in.
.TP
.B 141
Whoever read the output stopped reading.
.SH ENVIRONMENT
.TP
.B OBORO_LANG
The language of messages and reports: en or ja. Without it, that of the system.
.TP
.B OBORO_CACHE
The folder for compiled kernels.
.TP
.B OBORO_SHOW_VALUES
1: errors show the values of the data that they speak of.
.TP
.BR OBORO_LISTEN_TOKEN ", " OBORO_LISTEN_TOKEN_FILE
The bearer token for /metrics of a service, or the file with it.
.TP
.BR OBORO_LISTEN_CERT ", " OBORO_LISTEN_KEY
Files of a certificate and its key: a service then answers by HTTPS.
.PP
Keys and seeds are read from the variables that a recipe names (key_env, seed_env).
.SH EXAMPLES
.nf
oboro init people.csv > recipe.yaml
oboro anonymize people.csv \-\-recipe recipe.yaml \-\-output released.csv \-\-report report.html
oboro verify released.csv \-\-quasi age,sex,zip \-\-k 5
.fi
.SH SEE ALSO
Each command has
.BR \-\-help .
"""


def page() -> str:
    """The whole page."""
    import typer.main

    from oboro.cli.all_commands import app
    from oboro.cli.commands import put_words
    from oboro.text.message import catalogue

    group: Any = typer.main.get_command(app)
    put_words(group, catalogue("en", "help"))
    parts = [HEAD.replace("{version}", oboro.__version__)]
    for name, command in group.commands.items():
        parts += _command(name, command)
    return "".join([*parts, TAIL])


def _command(name: str, command: Any) -> Iterator[str]:
    given = [one for one in command.params if one.param_type_name == "argument"]
    arguments = [one.name.upper() if one.required else f"[{one.name.upper()}]" for one in given]
    yield f".SS oboro {name} {' '.join(arguments)}".rstrip() + "\n"
    for paragraph in inspect.cleandoc(command.help or "").replace("\f", "").split("\n\n"):
        yield f"{_text(paragraph)}\n.PP\n"
    for one in command.params:
        if not getattr(one, "hidden", False) and one.name not in ("lang", "show_values"):  # said once, for all
            names = [*one.opts, *one.secondary_opts] if one.param_type_name == "option" else [one.name.upper()]
            yield f".TP\n.B {_text(', '.join(names))}\n{_text(one.help or '')}\n"


def _text(words: str) -> str:
    """Text as roff reads it: a line must not begin with a dot or an apostrophe, and a dash is a minus."""
    plain = re.sub(r"\[/?[a-z]+\]|`", "", " ".join(words.split()))
    escaped = plain.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
