"""Packages that not everybody needs: loaded when a job first needs them, named with their extra where they are not installed."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from oboro.errors import UsageError
from oboro.text import Message

__all__ = ["EXTRA_OF", "bring", "has_extra", "require_extra"]

EXTRA_OF = {
    "fastexcel": "excel",
    "jinja2": "report",
    "opendp": "dp",
    "openpyxl": "excel",
    "scipy": "science",
    "sklearn": "science",
}
"""The extra of pyproject.toml that brings a package."""
BRINGS = {"report": ("science",)}
"""Extras that bring what others bring, too."""


def has_extra(*extras: str) -> bool:
    """Whether all packages of these extras are installed."""
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
