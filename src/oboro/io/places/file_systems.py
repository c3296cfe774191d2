"""File systems, of this machine and of object stores, through Arrow's own clients; any other through fsspec, if it is installed.

Credentials are the business of those libraries: they take them from the environment, from their files, or from the machine.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from oboro.errors import FileError, OboroError, UsageError
from oboro.io.places.place_names import Place, without_secrets
from oboro.text import Message

__all__ = ["at_place", "file_system"]

SCHEMES = ("s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs")  # those that Arrow knows by a URL
AZURE = ("az", "azure")
CLIENTS = ("AWS_", "GOOGLE_", "STORAGE_EMULATOR_")  # how variables begin that Arrow's clients are made from
RETRIED = "30"  # seconds: how long Google's client tries again


def file_system(place: Place) -> tuple[Any, str]:
    """The file system of a place, and its path there."""
    with at_place(place):
        if place.is_local:
            from pyarrow.fs import LocalFileSystem

            return LocalFileSystem(), os.path.abspath(place.path)
        if place.scheme in AZURE:
            return _azure(place), place.path
        if place.scheme in SCHEMES:
            return _by_url(place)
        return _by_fsspec(place)


def _by_url(place: Place) -> tuple[Any, str]:
    from pyarrow.fs import FileSystem

    host, _, path = place.path.partition("/")
    scheme = "gs" if place.scheme == "gcs" else place.scheme
    user, given = _google() if scheme == "gs" else ("", {})
    asked = "&".join(f"{name}={quote(value, safe='')}" for name, value in (given | dict(place.parameters)).items())
    server = host if "@" in host else f"{user}{host}"
    found, _ = _opened(f"{scheme}://{server}/" + (f"?{asked}" if asked else ""), _environment())
    bucket = host.rpartition("@")[0 if scheme.startswith("abfs") else 2]
    assert isinstance(found, FileSystem)
    return found, f"{bucket}/{path}"


def _google() -> tuple[str, dict[str, str]]:
    """The user and the parameters of Google's store, or of an emulator that STORAGE_EMULATOR_HOST names (nobody needs a key there).

    Without a limit Arrow's client looks for credentials, or for a server, for a quarter of an hour.
    """
    given = {"retry_limit_seconds": RETRIED}
    scheme, _, address = os.environ.get("STORAGE_EMULATOR_HOST", "").rstrip("/").rpartition("://")
    if not address:
        return "", given
    return "anonymous@", given | {"scheme": scheme or "http", "endpoint_override": address}


def _environment() -> tuple[tuple[str, str], ...]:
    """What a client is made from besides the URL: another endpoint, or other credentials, make another one."""
    return tuple(sorted((name, value) for name, value in os.environ.items() if name.startswith(CLIENTS)))


@cache
def _opened(url: str, environment: object) -> Any:
    from pyarrow.fs import FileSystem

    return FileSystem.from_uri(url)


def _azure(place: Place) -> Any:
    from pyarrow.fs import AzureFileSystem

    account = os.environ.get("AZURE_STORAGE_ACCOUNT_NAME") or os.environ.get("AZURE_STORAGE_ACCOUNT")
    key = os.environ.get("AZURE_STORAGE_ACCOUNT_KEY") or os.environ.get("AZURE_STORAGE_KEY")
    if not account:
        raise UsageError(Message("error_places.no_account", place=place.shown))
    return AzureFileSystem(account_name=account, account_key=key or None, **_azure_endpoint())


def _azure_endpoint() -> dict[str, str]:
    """Another server than Azure's own, such as its emulator: AZURE_STORAGE_BLOB_ENDPOINT=http://127.0.0.1:10000."""
    scheme, _, authority = os.environ.get("AZURE_STORAGE_BLOB_ENDPOINT", "").rstrip("/").partition("://")
    if not authority:
        return {}
    return {
        f"{kind}_storage_{part}": said
        for kind in ("blob", "dfs")
        for part, said in (("scheme", scheme), ("authority", authority))
    }


def _by_fsspec(place: Place) -> tuple[Any, str]:
    try:
        import fsspec
    except ImportError:
        raise UsageError(Message("error_places.no_fsspec", place=place.shown, scheme=place.scheme)) from None
    from pyarrow.fs import FSSpecHandler, PyFileSystem

    url = f"{place.scheme}://{place.path}"
    try:
        client = fsspec.get_filesystem_class(place.scheme)
    except ValueError:
        known = [*SCHEMES, *AZURE, "sqlite", "duckdb", "postgresql"]
        raise UsageError(
            Message("error_places.no_scheme", place=place.shown, scheme=place.scheme, known=known)
        ) from None
    except ImportError as problem:
        why = without_secrets(str(problem), place)
        raise UsageError(Message("error_places.no_client", place=place.shown, scheme=place.scheme, why=why)) from None
    found, path = (
        _client(place, lambda: client(**client._get_kwargs_from_urls(url), **dict(place.parameters))),
        client._strip_protocol(url),
    )
    return PyFileSystem(FSSpecHandler(found)), f"{path}/" if place.path.endswith("/") else path


def _client(place: Place, make: Callable[[], Any]) -> Any:
    """Somebody else's client, which may raise anything for a host or a parameter, and once more when it is thrown away."""
    said = sys.unraisablehook
    sys.unraisablehook = lambda _: None
    try:
        return make()
    except ImportError as problem:
        why = without_secrets(str(problem), place)
        raise UsageError(Message("error_places.no_client", place=place.shown, scheme=place.scheme, why=why)) from None
    except OSError:
        raise
    except Exception as problem:
        raise FileError(Message("error_places.cannot_be_read", place=place.shown, why=_why(problem, place))) from None
    finally:
        sys.unraisablehook = said


@contextmanager
def at_place(place: Place, words: str = "error_places.cannot_be_read") -> Iterator[None]:
    """Turn what a library says of a place into one clear message, without passwords."""
    try:
        yield
    except OboroError:
        raise
    except (OSError, pa.ArrowException, EOFError) as problem:
        raise FileError(Message(words, place=place.shown, why=_why(problem, place))) from None
    except Exception as problem:
        if type(problem).__module__.split(".")[0] in ("oboro", "builtins", "numpy"):
            raise
        raise FileError(Message(words, place=place.shown, why=_why(problem, place))) from None


def _why(problem: BaseException, place: Place) -> Any:
    number = getattr(problem, "errno", None)
    if isinstance(problem, FileNotFoundError) or number == 2:
        return Message("error_places.why.nothing")
    said = getattr(problem, "strerror", None) or str(problem) or type(problem).__name__
    refused = ("ACCESS_DENIED", "INVALID_ACCESS_KEY", "SIGNATURE", "403", "UNAUTHENTICATED", "PERMISSION_DENIED")
    if isinstance(problem, PermissionError) or any(word in said.upper() for word in refused):
        return Message("error_places.why.refused", said=without_secrets(said, place))
    return without_secrets(said, place)
