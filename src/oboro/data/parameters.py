"""Parameters of recipes and public functions: lists of column names, validation of arguments, and JSON Schemas."""

from __future__ import annotations

import ast
import inspect
import linecache
import math
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import is_dataclass
from functools import cache, wraps
from itertools import chain, pairwise, repeat
from typing import Any, ParamSpec, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.json_schema import GenerateJsonSchema

from oboro.errors import ColumnError, FileError, OboroError, UsageError
from oboro.text import Message, Raw

__all__ = [
    "LOOKS_LIKE_DATA",
    "MOST_COLUMNS",
    "MOST_NODES",
    "Documented",
    "DocumentedSchema",
    "Names",
    "Parameters",
    "at_the_door",
    "named_by_place",
    "named_columns",
    "names_known",
    "names_shown",
    "require_few_columns",
    "require_in_both",
    "written_out",
]


Names = str | Iterable[object] | None
"""One column, several, or none."""
MOST_COLUMNS = 100_000
"""In a file or another place. A column takes 6 KB of memory however few rows it has; a million of them took 5.7 GB."""
LOOKS_LIKE_DATA = re.compile(r"[-+]?[0-9][0-9.,:/\-+ eE]*")


def named_columns(given: Names | object, what: str) -> list[str]:
    """Return column names as a list; `what` is their parameter, for the error if a name occurs twice.

    >>> named_columns("income", "sensitive"), named_columns(["age", 7], "quasi"), named_columns(None, "quasi")
    (['income'], ['age', '7'], [])
    """
    if given is None:
        return []
    # Names are text, as in the encoded table. A set has no order of its own, and a result must not depend on chance.
    names = list(map(str, given)) if isinstance(given, Iterable) and not isinstance(given, str) else [str(given)]
    names = sorted(names) if isinstance(given, set | frozenset) else names
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(Message("error_table.named_twice", what=what, columns=twice))
    return names


def require_few_columns(path: str, count: int) -> None:
    """Raise a `FileError` where a table has more columns than memory has room for."""
    if count > MOST_COLUMNS:
        raise FileError(Message("error_io.too_many_columns", path=path, count=count, most=MOST_COLUMNS))


def names_shown(names: Iterable[str], asked: Iterable[str]) -> list[str] | list[Raw]:
    """Return the column names of a table for a message about requested columns that do not exist.

    The first line of a file without a header is the record of a person (`names_known`); then its cells are values of the data.

    >>> names_shown(["age", "sex"], ["Age"]), [one.kind for one in names_shown(["Ann", "31"], ["age"])]
    (['age', 'sex'], ['text', 'number'])
    """
    known = names_known(names, asked)
    return list(names) if known else [Raw(name) for name in names]


def names_known(names: Iterable[str], asked: Iterable[str]) -> bool:
    """Return whether names of a table's columns are a header for certain, by those that were asked for.

    They are where one was asked for, or is nearly so written. They are not where the line end after the header may be lost, so that
    the first record's values are in it: where a table has no rows and names that nobody asked for, where one of these looks like a
    number or a date (and none that was asked for does), or begins with a name that was asked for and is missing.

    >>> names_known(["name", "age", "zipAnn", "31", "12345"], ["name", "age"]), names_known(["name", "zipAnn"], ["name", "zip"])
    (False, False)
    >>> names_known(["year", "2024", "2025"], ["year", "2024"])
    True
    """
    from difflib import get_close_matches

    rows, names, asked = getattr(names, "rows", None), list(names), list(map(str, asked))
    folded = [name.casefold() for name in names]
    if not any(name in names or get_close_matches(name.casefold(), folded, n=1, cutoff=0.75) for name in asked):
        return False
    others = set(names) - set(asked)
    if rows == 0 and others:
        return False
    if not any(LOOKS_LIKE_DATA.fullmatch(name) for name in asked) and any(map(_like_data, others)):
        return False
    missing = [name for name in asked if name and name not in names]
    return not any(_continued(name, begin) for name in others for begin in missing)


def _continued(name: str, begin: str) -> bool:
    """Return whether a name is another one with something behind it that may be a value: `zipAnn`, not `zip_code` or `zips`."""
    rest = name[len(begin) :] if name.casefold().startswith(begin.casefold()) else ""
    return bool(rest) and rest[0] not in "_-. " and not (len(rest) == 1 and rest.islower())


def _like_data(name: str) -> bool:
    return LOOKS_LIKE_DATA.fullmatch(name.strip()) is not None


def named_by_place(first: Sequence[str]) -> list[str]:
    """A header whose empty fields got names by their place; as it is where it may be no header, but a title or a record.

    It is one where only the first field is empty (R and pandas write the names of rows there), or most fields are not, and none of
    these looks like a number or a date.

    >>> named_by_place(["", "age", "column1"]), named_by_place(["Staff", "", ""]), named_by_place(["39", "", "M"])
    (['column1_', 'age', 'column1'], ['Staff', '', ''], ['39', '', 'M'])
    """
    known = [name for name in first if name]
    few = len(known) > len(first) / 2 or all(first[1:])
    if not known or not few or any(LOOKS_LIKE_DATA.fullmatch(name.strip()) for name in known):
        return list(first)
    names = list(first)
    for place, name in enumerate(first, 1):
        free = f"column{place}"
        while not name and free in names:
            free += "_"
        names[place - 1] = name or free
    return names


def require_in_both(names: Iterable[str], original: Collection[str], released: Collection[str], asker: str) -> None:
    """Raise where one of two tables lacks a column that was asked for; `asker` says for what."""
    for table, what in ((original, "original"), (released, "released")):
        if unknown := [name for name in names if name not in table]:
            raise ColumnError(
                Message(
                    f"error_table.lacks_column.{what}", asker=asker, unknown=unknown, columns=names_shown(table, names)
                )
            )


# Parameter models -----------------------------------------------------------------------------------------------------
# Models whose JSON Schema describes attributes by their docstrings.


class Documented(BaseModel):
    """Data whose JSON Schema says of each attribute what its docstring says.

    pydantic can read docstrings too (`use_attribute_docstrings`), but it reads them from the source when a class is made: a quarter
    of the time to import the package. Here they are read when somebody asks for the schema. Validators are built when they are
    first used, for the same reason.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)

    @classmethod
    def model_json_schema(cls, *given: Any, **options: Any) -> dict[str, Any]:
        """The JSON Schema, with what the docstrings of attributes say."""

        return super().model_json_schema(*given, **{"schema_generator": DocumentedSchema, **options})


class Parameters(Documented):
    """Base model of parameters that refuses unknown names; invalid values raise a `UsageError`."""

    model_config = ConfigDict(extra="forbid")

    def __init__(self, /, **given: Any) -> None:
        try:
            super().__init__(**given)
        except ValidationError as error:
            from oboro.errors import UsageError
            from oboro.text import Message
            from oboro.text.pydantic import complaints

            said = complaints(error, type(self), given=given)
            raise UsageError(Message("error_value.wrong", model=type(self).__name__, said=said)) from None

    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]  # within another model, its own errors say where


# Arguments of public functions ----------------------------------------------------------------------------------------
# An argument of a wrong type raises an error that names the parameter.
#
# Arguments are checked only after a call failed, so that a valid call costs nothing and may pass whatever works. An
# error that no argument explains is a defect of oboro and is raised unchanged.


P = ParamSpec("P")
R = TypeVar("R")
LARGE = 1 << 63
READING = ("delimiter", "quote", "encoding", "header", "sheet", "header_row", "labels")  # how a file is read


def at_the_door(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a public function so that a failure due to an argument of a wrong type raises a `UsageError` that names it."""

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except OboroError:
            raise
        except (TypeError, ValueError, AttributeError, LookupError, ArithmeticError) as problem:
            if (wrong := _wrong(function, args, kwargs)) is None:
                raise
            raise UsageError(wrong) from problem

    return checked


def _wrong(function: Callable[..., Any], args: Any, kwargs: Any) -> Message | None:
    try:
        given = inspect.signature(function).bind(*args, **kwargs).arguments
    except TypeError:  # a parameter that there is not, or too few: Python says it
        return None
    hints = {name: one.annotation for name, one in inspect.signature(function).parameters.items()}
    for name, value in given.items():
        place = {"function": function.__qualname__, "parameter": name}
        if not _fits(value, hints[name], function):
            return Message("error_value.parameter", **place, expected=str(hints[name]), kind=type(value).__name__)
        if isinstance(value, int | float) and (not abs(value) < LARGE or (name == "seed" and value < 0)):
            return Message("error_value.unusable", **place)
        unknown = [key for key in value if key not in READING] if name == "reading" and value else []
        if unknown:
            return Message("error_value.no_key", key=unknown[0], known=list(READING))
    return None


def _fits(value: Any, hint: Any, function: Callable[..., Any]) -> bool:
    """Return whether a value is of the kind that is asked for; where that cannot be told, it is."""
    from pydantic import ConfigDict, PydanticUserError, TypeAdapter, ValidationError
    from pydantic_core import SchemaError

    if hint is inspect.Parameter.empty:
        return True
    try:
        kind = eval(hint, function.__globals__) if isinstance(hint, str) else hint
        TypeAdapter(kind, config=ConfigDict(arbitrary_types_allowed=True)).validate_python(value, strict=True)
    except ValidationError:
        return False
    except (NameError, PydanticUserError, SchemaError, TypeError):
        return True
    return True


# JSON Schemas with docstrings -----------------------------------------------------------------------------------------
# JSON Schemas that describe each attribute by the docstring below it in the source.


class DocumentedSchema(GenerateJsonSchema):
    """Describes the attributes of models and dataclasses."""

    def model_schema(self, schema: Any) -> dict[str, Any]:
        """The schema of a model."""
        return _described(schema["cls"], super().model_schema(schema))

    def dataclass_schema(self, schema: Any) -> dict[str, Any]:
        """The schema of a dataclass."""
        return _described(schema["cls"], super().dataclass_schema(schema))


def _described(cls: type, made: dict[str, Any]) -> dict[str, Any]:
    fields = getattr(cls, "model_fields", {})
    for name, said in _docstrings(cls).items():
        place = getattr(fields.get(name), "alias", None) or name
        if place in made.get("properties", {}):
            made["properties"][place].setdefault("description", said)
    return made


def _docstrings(cls: type) -> dict[str, str]:
    """Return the docstring below each attribute of the class or its bases; nothing for a class without source."""
    found: dict[str, str] = {}
    for one in reversed(cls.__mro__):
        if is_dataclass(one) or (issubclass(one, BaseModel) and one is not BaseModel):
            found |= _below_attributes(_definition(one))
    return found


def _definition(cls: type) -> ast.ClassDef | None:
    """The class in its source, which its module names, or else its methods (of a module that was loaded by hand)."""
    files = [getattr(sys.modules.get(cls.__module__), "__file__", None)]
    files += [one.__code__.co_filename for one in vars(cls).values() if inspect.isfunction(one)]
    for file in filter(None, files):
        for node in ast.walk(_parsed(file)):
            if isinstance(node, ast.ClassDef) and node.name == cls.__name__:
                return node
    return None


@cache
def _parsed(file: str) -> ast.Module:
    return ast.parse("".join(linecache.getlines(file)))


def _below_attributes(definition: ast.ClassDef | None) -> Iterator[tuple[str, str]]:
    for pair in pairwise(definition.body if definition else ()):
        match pair:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(said))):
                yield name, inspect.cleandoc(said)


# Size of expanded YAML ------------------------------------------------------------------------------------------------
# Size of a YAML text with its aliases expanded: a few lines of aliases can expand to more than fits in memory.


MOST_NODES = 5_000_000  # values in a text, with every alias written out: hierarchies have hundreds of thousands of rows


def written_out(node: Any, known: dict[int, float] | None = None) -> float:
    """Return the number of values of a YAML node with all aliases expanded; infinite for one that contains itself."""
    known = {} if known is None else known
    if id(node) not in known:
        known[id(node)] = math.inf  # until it is known: whoever meets it again on the way down is inside of it
        inner = () if node.id == "scalar" else node.value
        nodes = chain.from_iterable(inner) if node.id == "mapping" else inner
        known[id(node)] = 1 + sum(map(written_out, nodes, repeat(known)))
    return known[id(node)]
