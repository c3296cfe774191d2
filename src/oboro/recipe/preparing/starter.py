"""A starter recipe from a table: guessed roles with reasons and figures, proposed hierarchies, and steps that run as they are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import yaml

from oboro.disclosure.column_names import names_household
from oboro.disclosure.counted_people import RepeatedPeople
from oboro.io.files import Source, read
from oboro.io.places.place_names import names_a_place
from oboro.recipe.preparing.starter_steps import StarterStep, starter_steps
from oboro.recipe.recipe import Recipe
from oboro.recipe.roles.column_guess import ColumnGuess
from oboro.recipe.roles.guess_roles import Roles, guess_roles
from oboro.table.dataset import Dataset
from oboro.table.frames import Frame
from oboro.table.parameters.at_the_door import at_the_door
from oboro.table.schema import Role
from oboro.text import Message
from oboro.text.language import system_language
from oboro.text.printable import is_printable_yaml

__all__ = ["Starter", "init"]


@dataclass(frozen=True)
class Starter:
    """A recipe to begin with, and why each column has its role. In a notebook it shows itself."""

    recipe: Recipe
    roles: Roles
    steps: tuple[StarterStep, ...]
    rows: int
    name: str | None = None
    """The file that the table came from."""

    @property
    def columns(self) -> Mapping[str, ColumnGuess]:
        """Each column's role, with reasons and figures."""
        return self.roles.columns

    @property
    def people(self) -> RepeatedPeople | None:
        """The column whose values are people with several rows each, if there seems to be one."""
        return self.roles.people

    def to_yaml(self, lang: str = "en") -> str:
        """The recipe with comments that explain every guess; `Recipe.parse` gives `recipe` back."""
        table = self.name or Message("starter.the_table")
        head = Message("starter.head", table=table, rows=self.rows, columns=len(self.columns))
        lines = [f"# {line}" for line in head.say(lang).splitlines()]
        lines += self._person(lang)
        lines += ["attributes:", *(self._attribute(one, lang) for one in self.columns.values()), "steps:"]
        for step in self.steps:
            lines += [f"  # {said.say(lang)}" for said in step.comments]
            lines.append(f"  - {step.step}: {_flow(step.parameters)}")
        return "\n".join([*lines, f"# seed_env: OBORO_SEED   # {Message('starter.seed').say(lang)}"]) + "\n"

    def as_dict(self) -> dict[str, Any]:
        """For programs: the recipe, and each column with its reasons and figures."""
        return {
            "rows": self.rows,
            "recipe": self.recipe.model_dump(mode="json", exclude_defaults=True),
            "people": self.people and self.people.as_dict(),
            "columns": [one.as_dict() for one in self.columns.values()],
        }

    def __str__(self) -> str:
        return self.to_yaml()

    def __repr__(self) -> str:
        held = [f"{role.value}: {', '.join(names)}" for role in Role if (names := self.roles.named(role))]
        return f"Starter({self.rows} rows; {'; '.join(held)})"

    def _repr_html_(self) -> str:
        lang = system_language()
        heads = [Message(f"starter.table.{part}").say(lang) for part in ("column", "role", "figures", "reasons")]
        rows = [(one.name, *(said.say(lang) for said in _told(one))) for one in self.columns.values()]
        cells = ["".join(f"<td>{escape(text)}</td>" for text in row) for row in rows]
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        head = "".join(f"<th>{escape(text)}</th>" for text in heads)
        recipe = escape(self.to_yaml(lang))
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><pre>{recipe}</pre>"

    def _person(self, lang: str) -> list[str]:
        if self.recipe.person is None:
            return []
        whose = "starter.household" if names_household(self.recipe.person) else "starter.person"
        return [f"# {Message(whose).say(lang)}", f"person: {_flow(self.recipe.person)}"]

    def _attribute(self, one: ColumnGuess, lang: str) -> str:
        content = one.attribute.model_dump(mode="json", exclude_defaults=True)
        content = {"role": one.role.value, **content}
        return f"  {_key(one.name)}: {_flow(content)}  # {_one_line(one.comment.say(lang))}"


@at_the_door
def init(source: Any, *, reading: Mapping[str, Any] | None = None) -> Starter:
    """A starter recipe for a pandas, polars or pyarrow frame, or a file (`reading` says how it is read).

    Every column is judged by its name, its values and whom it singles out, alone and with others. Run as it is, the recipe releases
    no record that the columns of the role `other` single out; every role is still a guess that somebody has to read.

    >>> starter = init({"age": [31, 38, 35, 52, 57, 59] * 10, "disease": ["flu", "cold", "flu"] * 20})
    >>> starter.columns["age"].role, starter.recipe.steps[0].step
    (<Role.QUASI: 'quasi'>, 'k_anonymize')
    """
    if names_a_place(source):
        source = read(source, **(reading or {}))
    data = source.data if isinstance(source, Source) else Frame.read(source).data
    name = Path(source.path).name if isinstance(source, Source) else None
    return _starter(data, name)


def _starter(data: Dataset, name: str | None) -> Starter:
    roles = guess_roles(data)
    people = data.rows if roles.people is None or roles.person is None else roles.people.people
    steps = starter_steps(roles, data, people)
    attributes = {one.name: one.attribute for one in roles.columns.values()}
    recipe = Recipe(attributes=attributes, steps=[step.content for step in steps], person=roles.person)
    return Starter(recipe, roles, tuple(steps), data.rows, name)


def _told(one: ColumnGuess) -> tuple[Message, Message, Message]:
    """The role of a column, its figures, and why."""
    role = Message(f"section.columns.roles.{one.role.value}")
    return role, one.figures, Message("starter.table.why", reasons=list(one.reasons))


def _flow(value: object) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, sort_keys=False, width=10_000)
    if not is_printable_yaml(text):
        text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10_000)
    return text.removesuffix("\n").removesuffix("\n...")


def _key(name: str) -> str:
    """A name before a colon: one line, whatever is in it."""
    return _flow(name) if len(name.splitlines()) == 1 else json.dumps(name)


def _one_line(text: str) -> str:
    return " ".join(text.split())
