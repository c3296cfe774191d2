"""`oboro web`: the web interface on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from oboro.cli.language import spoken
from oboro.cli.options import FOUND_OUT, Reading, gathered
from oboro.text import Message

__all__ = ["web"]


LOOPBACK = ("127.0.0.1", "localhost", "::1")


@gathered
def web(
    data: Annotated[Path | None, typer.Argument()] = None,
    recipe: Annotated[Path | None, typer.Option("--recipe", "-r")] = None,
    root: Path = Path("."),
    port: Annotated[int, typer.Option(min=0, max=65535)] = 0,
    host: str = "127.0.0.1",
    browser: bool = True,
    max_upload: Annotated[int, typer.Option(min=1)] = 4096,
    reading: Reading = FOUND_OUT,
) -> None:
    """Open a page in the browser: choose roles, hierarchies and promises, see what they cost, and download the release.

    It runs on this machine only, and sends nothing anywhere.

    Example: `oboro web people.csv`
    """
    from oboro.errors import UsageError

    try:
        from oboro.web.server import first_table, page_server
    except ModuleNotFoundError as error:
        if error.name not in ("starlette", "uvicorn", "anyio", "h11"):
            raise
        raise UsageError(Message("error_web.not_installed")) from None
    held = {name: value for name, value in vars(reading).items() if value != getattr(FOUND_OUT, name)}
    with page_server(root, host=host, port=port, most_bytes=max_upload << 20) as serving:
        if data is not None:
            serving.desk.first = first_table(data, recipe, held)
        if host not in LOOPBACK:
            print(Message("error_web.not_alone", host=host).say(spoken()), flush=True)
        serving.run(lambda: print(Message("command.web.ready", url=serving.url).say(spoken()), flush=True), browser)
