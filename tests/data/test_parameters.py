"""What docstrings of attributes say stands in the JSON Schema, and is read from the source only when that is asked for."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

from pydantic import Field

from oboro.data.parameters import Parameters


@dataclass(frozen=True)
class Room:
    """A room."""

    doors: int
    """How many doors it has."""


class House(Parameters):
    """A house."""

    rooms: list[Room] = Field(alias="chambers")
    """What is in it."""
    age: int = Field(0, description="in years")
    """Not this: it was said before."""
    garden: bool = False


class Villa(House):
    """A large house."""

    garden: bool = True
    """Whether there
    is one."""


def test_docstrings_describe_attributes() -> None:
    schema = Villa.model_json_schema()
    said = {name: one.get("description") for name, one in schema["properties"].items()}
    assert said == {"chambers": "What is in it.", "age": "in years", "garden": "Whether there\nis one."}
    assert schema["$defs"]["Room"]["properties"]["doors"]["description"] == "How many doors it has."
    assert "description" not in House.model_json_schema()["properties"]["garden"]


def test_no_source_is_read_to_load_a_recipe() -> None:
    code = "import inspect; inspect.getsource = inspect.getsourcelines = inspect.findsource = None; import oboro; oboro.Recipe"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
