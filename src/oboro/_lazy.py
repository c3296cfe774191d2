"""Lazy loading: optional packages (extras), models of rarely used parameters, and modules loaded at first use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any

from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from oboro.errors import UsageError
from oboro.text import Message

__all__ = ["EXTRA_OF", "bring", "has_extra", "loaded_later", "require_extra"]


# Extras ---------------------------------------------------------------------------------------------------------------
# Optional packages are loaded when a job first needs them; an error names the extra of a package that is not installed.


EXTRA_OF = {
    "fastexcel": "excel",
    "jinja2": "report",
    "opendp": "dp",
    "openpyxl": "excel",
    "pandas": "survey",
    "pyreadstat": "survey",
    "scipy": "science",
    "sklearn": "science",
}
"""The extra of pyproject.toml that brings a package."""
BRINGS = {"report": ("science",)}
"""Extras that bring what others bring, too."""


def has_extra(*extras: str) -> bool:
    """Return whether all packages of these extras are installed."""
    return all(find_spec(package) is not None for package, extra in EXTRA_OF.items() if extra in extras)


def require_extra(extra: str) -> None:
    """Raise if a package of an extra is not installed; nothing is loaded."""
    for package, brought_by in EXTRA_OF.items():
        if brought_by in (extra, *BRINGS.get(extra, ())) and find_spec(package) is None:
            raise UsageError(Message("error_extra.missing", package=package, extra=extra))


def bring(module: str) -> Any:
    """A module of an extra. Called where it is used, because most of these take long to load.

    >>> bring("scipy.special").gammaln(3.0)
    np.float64(0.693147180559...)
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as missing:
        package = (missing.name or module).partition(".")[0]
        if package not in EXTRA_OF:
            raise
        raise UsageError(Message("error_extra.missing", package=package, extra=EXTRA_OF[package])) from None


# Models of parameters -------------------------------------------------------------------------------------------------
# The model of a rarely used parameter is loaded when the parameter is given, or the JSON Schema is requested.


@dataclass(frozen=True)
class LoadedLater:
    """Placeholder for a model in the type of a parameter."""

    module: str
    name: str

    @property
    def model(self) -> type[BaseModel]:
        """The model itself."""
        found: type[BaseModel] = getattr(import_module(self.module), self.name)
        return found

    @property
    def model_fields(self) -> Mapping[str, Any]:
        """Fields of the model: error messages name the known keys."""
        return self.model.model_fields

    def validated(self, given: Any) -> BaseModel:
        """The model made of what was given; what is wrong with it is said at its place."""
        return self.model.model_validate(given)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.validated)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: Any) -> Any:
        self.model.model_rebuild()
        # The handler itself would write the model out at each place; its generator puts it among the definitions.
        return handler.generate_json_schema.generate_inner(self.model.__pydantic_core_schema__)


def loaded_later(module: str, *names: str) -> Iterator[Any]:
    """For each of these models of a module a type that accepts what the model accepts."""
    for name in names:
        yield Annotated[Any, LoadedLater(module, name)]


# Modules loaded at first use ------------------------------------------------------------------------------------------


class LazyModule:
    """A module that is imported when one of its attributes is first used."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(import_module(self.__name__), attribute)
        setattr(self, attribute, value)
        return value


def lazy_module(name: str) -> Any:
    """Return a stand-in for a module that imports it on first use.

    >>> math = lazy_module("math")
    >>> math.floor(2.5)
    2
    """
    return LazyModule(name)


pc = lazy_module(
    "pyarrow.compute"
)  # its 286 functions take half as long to import as NumPy and Arrow; a recipe alone needs none
