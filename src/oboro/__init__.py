"""oboro (朧, "hazy"): anonymize personal data, verify the result, and report what it cost.

>>> import oboro
>>> oboro.verify({"age": [30, 30, 31], "sex": ["F", "F", "M"]}, quasi=["age", "sex"], k=2).holds
False
"""

from __future__ import annotations

import importlib
import os
import re
from typing import Any

__version__ = "0.1.0"


def _rooms() -> dict[str, str]:
    """Where each public name lives, read from the list beside this file (`__init__.pyi`), which type checkers read too."""
    with open(os.path.join(os.path.dirname(__file__), "__init__.pyi"), encoding="utf-8") as stub:
        return {name: room for room, name in re.findall(r"^from (\S+) import (\w+) as ", stub.read(), re.MULTILINE)}


_ROOMS = _rooms()
__all__ = sorted(_ROOMS)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import oboro` and `oboro --help` stay fast."""
    if name not in _ROOMS:
        meant = next((one for one in __all__ if one.lower() == name.lower().replace("_", "")), None)
        hint = f"; did you mean {meant}?" if meant else f"; it has {', '.join(__all__)}"
        raise AttributeError(f"oboro has no {name!r}{hint}")
    room = _ROOMS[name]
    value = (
        importlib.import_module(f"oboro.{name}") if room == "oboro" else getattr(importlib.import_module(room), name)
    )
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
