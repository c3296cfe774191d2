"""The reference, written from the code: public names, steps, commands, recipe keys and figures of the report.

    python docs/reference.py FOLDER

Nothing in it is copied by hand. A name without a docstring, or an option without a help text, is an error.
"""

from __future__ import annotations

import enum
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import oboro

__all__ = ["pages", "write"]


def write(folder: Path) -> None:
    """Write every page that changed; whoever watches the folder sees only those."""
    folder.mkdir(exist_ok=True)
    for name, text in pages().items():
        place = folder / f"{name}.md"
        if not place.exists() or place.read_text(encoding="utf-8") != text:
            place.write_text(text, encoding="utf-8")


def pages() -> dict[str, str]:
    """All pages by name."""
    return {
        "index": INDEX,
        "python": "\n".join(_python()),
        "steps": "\n".join(_steps()),
        "recipe": "\n".join(_recipe()),
        "commands": "\n".join(_commands("en")),
        "commands_ja": "\n".join(_commands("ja")),
        "figures": "\n".join(_figures("en")),
        "figures_ja": "\n".join(_figures("ja")),
    }


INDEX = """# Reference

Every public class and function, every step and its parameters, every option of every command, and every figure of a report.
These pages are written from the code when the site is built.

```{toctree}
:maxdepth: 1

python
steps
recipe
commands
figures
```

In Japanese: [コマンド](commands_ja.md), [報告書の数値](figures_ja.md).
"""

# Python ---------------------------------------------------------------------------------------------------------------


def _python() -> Iterator[str]:
    yield (
        "# Python\n\n`import oboro` gives these names."
        " Techniques are on the page of [steps](steps.md): each step of a recipe is a class here.\n"
    )
    for name in sorted(oboro.__all__, key=str.lower):
        thing = getattr(oboro, name)
        if _is_technique(thing):
            yield f"(py-{name.lower()})=\n## {name}\n\nThe step [`{thing.step}`](steps.md#{thing.step}) as a class.\n"
        else:
            yield from _named(name, thing)


def _is_technique(thing: Any) -> bool:
    from oboro.techniques import Technique

    return isinstance(thing, type) and issubclass(thing, Technique)


def _named(name: str, thing: Any) -> Iterator[str]:
    yield f"(py-{name.lower()})=\n## {name}\n"
    if inspect.ismodule(thing):
        yield _markdown(thing, name)
        for each in getattr(thing, "__all__", ()):
            yield from _class_or_function(each, getattr(thing, each), f"{name}.{each}", "###")
    else:
        yield from _class_or_function(name, thing, name, "")


def _class_or_function(name: str, thing: Any, shown: str, mark: str) -> Iterator[str]:
    if mark:
        yield f"{mark} {shown}\n"
    if isinstance(thing, type) and issubclass(thing, BaseException):
        yield _markdown(thing, shown)
        return
    yield f"```python\noboro.{shown}{_signature(thing)}\n```\n"
    yield _markdown(thing, shown)
    if isinstance(thing, type):
        yield from _fields(thing)
        yield from _members(thing, shown)


def _signature(thing: Any) -> str:
    try:
        text = str(inspect.signature(thing))
    except (TypeError, ValueError):
        return ""
    if hasattr(thing, "model_fields"):
        return "(…)"
    text = (
        re.sub(r"<(?:class '|function |object |factory|[\w.]+ object at)[^>]*>", "…", text)
        .replace("self, ", "")
        .replace("(self)", "()")
    )
    return text.replace("'", "") if "'" in text else text


def _members(thing: type, shown: str) -> Iterator[str]:
    for name, member in sorted(vars(thing).items()):
        if (
            name.startswith("_")
            or name.startswith("model_")
            or (hasattr(thing, "model_fields") and name in thing.model_fields)
        ):
            continue
        plain = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if isinstance(plain, property) or type(plain).__name__ == "cached_property":
            inner = getattr(plain, "fget", None) or getattr(plain, "func", None)
            yield f"**`{shown}.{name}`**\n\n{_doc(inner, f'{shown}.{name}')}\n"
        elif inspect.isfunction(plain) and not _is_validator(thing, name):
            yield f"**`{shown}.{name}{_signature(plain)}`**\n\n{_doc(plain, f'{shown}.{name}')}\n"


def _is_validator(thing: type, name: str) -> bool:
    told = getattr(thing, "__pydantic_decorators__", None)
    return told is not None and any(name in group for group in (told.model_validators, told.field_validators))


def _doc(thing: Any, shown: str) -> str:
    text = inspect.getdoc(thing)
    if not text:
        raise LookupError(f"{shown} has no docstring, so the reference has nothing to say of it")
    return _prose(text)


def _markdown(thing: Any, shown: str) -> str:
    return _doc(thing, shown) + "\n"


def _prose(text: str) -> str:
    """A docstring as Markdown: doctests and indented tables become blocks of code."""
    out: list[str] = []
    block: list[str] = []

    def close() -> None:
        if block:
            while block and not block[-1].strip():
                block.pop()
            kind = "pycon" if any(line.lstrip().startswith(">>>") for line in block) else "text"
            shift = min((len(line) - len(line.lstrip()) for line in block if line.strip()), default=0)
            out.extend(["", f"```{kind}", *(line[shift:] for line in block), "```", ""])
            block.clear()

    inside = False
    for line in text.splitlines():
        starts = line.lstrip().startswith(">>>") or (
            line.startswith("    ") and (not out or not out[-1].strip() or inside)
        )
        if starts:
            inside = True
        elif (inside and not line.strip() and not (block and block[0].startswith("    "))) or (
            inside and line.strip() and block and block[0].startswith("    ") and not line.startswith("    ")
        ):
            inside = False
        if inside:
            block.append(line)
        else:
            close()
            out.append(line)
    close()
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip()


# Steps and recipes ----------------------------------------------------------------------------------------------------


def _steps() -> Iterator[str]:
    from oboro.techniques import TECHNIQUES

    yield (
        "# Steps\n\nThe steps of a recipe with all parameters."
        " [Techniques](../techniques.md) has an example of each and says when to use which.\n"
    )
    for step, technique in TECHNIQUES.items():
        public = technique.__name__ if technique.__name__ in oboro.__all__ else None
        yield f"## {step}\n\n" + (f"In Python: `oboro.{public}`.\n" if public else "")
        yield _markdown(technique, step)
        yield from _fields(technique)


def _recipe() -> Iterator[str]:
    from oboro.schema import Attribute

    yield (
        "# Recipes\n\nThe keys of a recipe, and what an attribute may say."
        " `oboro schema` prints the same as a JSON Schema for editors.\n"
    )
    yield "## The keys of a recipe\n"
    yield from _fields(oboro.Recipe)
    yield "## An attribute\n\nUnder `attributes:`, the name of a column and then:\n"
    yield from _fields(Attribute)
    shown: set[str] = {"Attribute", "Recipe"}
    schema = oboro.Recipe.model_json_schema()
    for name, part in sorted(schema.get("$defs", {}).items()):
        if name in shown or not part.get("properties"):
            continue
        yield f"## {name}\n\n{part.get('description', '').strip()}\n"
        yield from _properties(part)


def _fields(thing: type) -> Iterator[str]:
    if not hasattr(thing, "model_json_schema"):
        return
    schema = thing.model_json_schema()
    own = schema.get("$defs", {}).get(thing.__name__, schema) if "$ref" in schema else schema
    yield from _properties(own)


def _properties(schema: dict[str, Any]) -> Iterator[str]:
    needed = set(schema.get("required", ()))
    rows = [_row(name, part, name in needed) for name, part in schema.get("properties", {}).items()]
    if rows:
        yield "| parameter | value | default | what it is |\n|---|---|---|---|"
        yield "\n".join(rows) + "\n"


def _row(name: str, part: dict[str, Any], needed: bool) -> str:
    default = "**must be given**" if needed else _cell(_shown(part.get("default", "")))
    return f"| `{name}` | {_cell(_type(part))} | {default} | {_cell(part.get('description', ''))} |"


def _shown(value: Any) -> str:
    if value is None or value == "" or value == [] or value == {}:
        return "–"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _type(part: dict[str, Any]) -> str:
    if "enum" in part:
        return ", ".join(f"`{one}`" for one in part["enum"])
    if "const" in part:
        return f"`{part['const']}`"
    if "$ref" in part:
        return part["$ref"].rsplit("/", 1)[-1]
    for key in ("anyOf", "oneOf", "allOf"):
        if key in part:
            return " or ".join(dict.fromkeys(_type(one) for one in part[key] if one.get("type") != "null"))
    if part.get("type") == "array":
        return f"list of {_type(part.get('items', {}))}"
    words = {
        "string": "text",
        "integer": "whole number",
        "number": "number",
        "boolean": "true or false",
        "object": "mapping",
    }
    return words.get(str(part.get("type")), "any") + _limits(part)


def _limits(part: dict[str, Any]) -> str:
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    found = [f"{sign} {part[key]:g}" for key, sign in signs.items() if key in part]
    return f" {' and '.join(found)}" if found else ""


def _cell(text: Any) -> str:
    return " ".join(str(text).split()).replace("|", "\\|")


# Commands -------------------------------------------------------------------------------------------------------------

TITLES = {
    "en": ("# Commands", "Every command and every option, as `--help` says it.", "option", "what it does", "Commands"),
    "ja": ("# コマンド", "すべてのコマンドとオプション。`--help` の説明と同じです。", "オプション", "説明", "コマンド"),
}


def _commands(lang: str) -> Iterator[str]:
    import typer.main

    from oboro.cli.all_commands import app
    from oboro.cli.commands import put_words
    from oboro.text.message import catalogue

    group: Any = typer.main.get_command(app)
    put_words(group, catalogue(lang, "help"))
    title, about, option, what, _ = TITLES[lang]
    yield f"{title}\n\n{about}\n"
    for name, command in group.commands.items():
        yield f"## oboro {name}\n\n{_help(command.help)}\n\n```text\noboro {name} {_usage(command)}\n```\n"
        yield f"| {option} | {what} |\n|---|---|"
        yield (
            "\n".join(_option(one, f"oboro {name}") for one in command.params if not getattr(one, "hidden", False))
            + "\n"
        )


def _help(text: str | None) -> str:
    return inspect.cleandoc(text or "").replace("\f", "")


def _usage(command: Any) -> str:
    given = [one for one in command.params if one.param_type_name == "argument"]
    return " ".join([*(one.name.upper() if one.required else f"[{one.name.upper()}]" for one in given), "[OPTIONS]"])


def _option(param: Any, command: str) -> str:
    if param.param_type_name == "argument":
        names = f"`{param.name.upper()}`"
    else:
        names = ", ".join(f"`{one}`" for one in (*param.opts, *param.secondary_opts))
    text = getattr(param, "help", None)
    if not text:
        raise LookupError(f"{command}: {names} has no help text, so the reference has nothing to say of it")
    return f"| {names} | {_cell(text)}{_default(param)} |"


def _default(param: Any) -> str:
    value = param.default
    if (
        value is None
        or value is False
        or value == ()
        or isinstance(value, Callable)
        or param.param_type_name == "argument"
    ):  # type: ignore[arg-type]
        return ""
    value = value.value if isinstance(value, enum.Enum) else value
    return f" (`{value}`)"


# Figures --------------------------------------------------------------------------------------------------------------


PLACE = re.compile(r"(?:\w+ = )?\{(\w+)[^}]*\}")
"""Where a report writes a number of its own, such as `k = {k}`."""


def _figures(lang: str) -> Iterator[str]:
    from oboro.text.message import catalogue

    words = catalogue(lang, "measure")
    yield {
        "en": "# Figures of a report\n\nWhat each figure in a report says."
        " A report shows its range and which way is better beside it.\n\n| name in JSON | title | what it says |",
        "ja": "# 報告書の数値\n\n報告書の各数値の意味。"
        "範囲と、どちらが望ましいかは、報告書の中に示されます。\n\n| JSON での名前 | 題 | 意味 |",
    }[lang]
    yield "|---|---|---|"
    for key in words:
        if key.endswith(".title"):
            name = key.removesuffix(".title")
            meaning = PLACE.sub(r"*\1*", words.get(f"{name}.meaning", ""))
            yield f"| `{name}` | {_cell(words[key])} | {_cell(meaning)} |"
    yield ""


if __name__ == "__main__":
    write(Path(sys.argv[1]))
