"""The Assess screen: assessment of a released file alone, or beside its original, whichever tool made it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from oboro.text import Message
from oboro.web.screens.take import page_offer
from oboro.web.server import Ask, Desk, Offer

__all__ = ["assess_file", "assessed_columns"]


ROLES = ("quasi", "sensitive")


def assessed_columns(desk: Desk, given: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """The columns of a released file, with the roles that are guessed."""
    from oboro.io.read import read
    from oboro.recipe.roles import guess_roles

    path, name, _ = desk.file(given)
    ask.tell(Message("web.looking"))
    guesses = guess_roles(read(path).data)
    return {"name": name, "columns": {one: guess.role.value for one, guess in guesses.columns.items()}}


def assess_file(desk: Desk, given: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """Measure it; the page is shown by a ticket."""
    path, name, called = desk.file(given["released"])
    roles = {role: list(given.get(role) or ()) for role in ROLES}
    person = given.get("person") or None
    ask.tell(Message("progress.measuring"))
    if (other := given.get("original")) is not None:
        return _beside(desk, ask, path, desk.file(other)[0], roles, person, (called, desk.file(other)[2]))
    import oboro

    found = oboro.assess(path, roles["quasi"], roles["sensitive"], person, lang=ask.lang)
    lines = [[ask.say(label), ask.say(said)] for label, said in found.lines()]
    html = found.to_html(lang=ask.lang)
    words = _words("assess", [called], roles, person)
    return {"name": name, "k": found.k, "lines": lines, "refused": None, **_pages(desk, html), **words}


def _beside(
    desk: Desk,
    ask: Ask,
    released: Path,
    original: Path,
    roles: dict[str, list[str]],
    person: str | None,
    called: tuple[str, str],
) -> dict[str, Any]:
    import oboro

    known, secret = roles["quasi"], roles["sensitive"]
    report = oboro.evaluate(original, released, quasi=known, sensitive=secret, person=person).in_language(ask.lang)
    names = [called[1], called[0]]
    words = _words("evaluate", names, roles, person)
    lines = [["", line] for line in report.summary().splitlines()]
    return {"name": released.name, "k": None, "lines": lines, "refused": report.refused,
            **_pages(desk, report.to_html()), **words}  # fmt: skip


def _pages(desk: Desk, html: str) -> dict[str, str]:
    download = desk.tickets.issue(Offer("assessment.html", "application/octet-stream", text=html))
    return {"ticket": desk.tickets.issue(page_offer("assessment.html", html)), "download": download}


def _words(verb: str, files: list[str], roles: dict[str, list[str]], person: str | None) -> dict[str, str]:
    """The same as a command, in Python, and the roles as a recipe, which `oboro evaluate --recipe` takes."""
    import yaml

    named = {name: {"role": role} for role, names in roles.items() for name in names}
    whose: dict[str, Any] = {} if person is None else {"person": person}
    held = {**whose, "attributes": named | ({} if person is None else {person: {"role": "identifier"}}), "steps": []}
    return {
        "yaml": yaml.safe_dump(held | {"unnamed": "other"}, allow_unicode=True, sort_keys=False),
        "command": _command(verb, files, roles, person),
        "python": _python(verb, files, roles, person),
    }


def _command(verb: str, files: list[str], roles: dict[str, list[str]], person: str | None) -> str:
    import shlex

    words = ["oboro", verb, *files]
    for role, names in roles.items():
        words += [f"--{role}", ",".join(names)] if names else []
    return shlex.join([*words, *(["--person", person] if person else [])])


def _python(verb: str, files: list[str], roles: dict[str, list[str]], person: str | None) -> str:
    given = [repr(one) for one in files] + [f"{role}={names!r}" for role, names in roles.items() if names]
    given += [f"person={person!r}"] if person else []
    return f"import oboro\n\nfound = oboro.{verb}({', '.join(given)})\nprint(found.summary())\n"
