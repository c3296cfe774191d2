"""Compile kernels with numba, and cache the machine code on disk (`jit.cache_place` chooses the folder).

Kernels are compiled without the GIL, without fastmath (a sum must not depend on the machine) and with NumPy's rules for errors.
numba itself stays as it is: kernels have a dispatcher, a cache and a cache locator of their own, which are subclasses of numba's.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
from numba.core import types
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    InTreeCacheLocator,
    UserProvidedCacheLocator,
)
from numba.core.environment import Environment
from numba.core.registry import CPUDispatcher
from numba.core.runtime.nrt import rtsys
from numba.extending import typeof_impl

from oboro.kernels.jit import PACKAGE, Kernel, cache_place, package_owner, prange
from oboro.system.process import is_trusted_file, is_trusted_folder

__all__ = ["LayeredCache", "compiled", "included_files", "included_stamp"]


# Included files -------------------------------------------------------------------------------------------------------
# The files that a compiled kernel depends on: its own, and those of the kernels and constants that are compiled into it.
#
# numba looks at the file of a function alone: a kernel compiled before an inner one changed would keep the old behaviour,
# also after an upgrade that fixes it.


IMPORT = re.compile(
    r"^(?:from|import) oboro((?:\.\w+)*\.(?:\w+_)?kernels(?:\.\w+)*)", re.MULTILINE
)  # kernels import only kernels
WORD = re.compile(r"\w+")


@cache
def included_stamp(file: str) -> str | None:
    """Return a digest of a kernel file and the files it includes; None where the code has no files. O(bytes), once a file."""
    try:
        digests = "".join(_digest(one) for one in sorted(included_files(Path(file))))
    except OSError:
        return None
    return hashlib.blake2b(digests.encode(), digest_size=16).hexdigest()


def included_files(file: Path) -> set[Path]:
    """Return the file and the kernel files that it imports, directly or not."""
    found, waiting = {file}, [file]
    while waiting:
        new = _imported(waiting.pop()) - found
        found |= new
        waiting += new
    return found


@cache
def _imported(file: Path) -> frozenset[Path]:
    return frozenset(_named(_text(file)))


def _named(text: str) -> Iterator[Path]:
    for name in IMPORT.findall(text):
        place = PACKAGE.joinpath(*name.strip(".").split("."))
        if place.is_dir():  # `from ….kernels import node_classes`
            words = {"__init__", *WORD.findall(text)}
            yield from (one for one in place.glob("*.py") if one.stem in words)
        else:
            yield place.with_suffix(".py")


@cache
def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")


@cache
def _digest(file: Path) -> str:
    return hashlib.blake2b(_text(file).encode(), digest_size=16).hexdigest()


# Kernel cache ---------------------------------------------------------------------------------------------------------
# numba's cache of compiled functions, read from up to two folders and written to one (`jit.cache_place` chooses it).


class _BesideCode(InTreeCacheLocator):
    """The `__pycache__` folder beside the code. It is made when there is something to write."""

    @classmethod
    def from_function(cls, function: Any, file: str) -> Any:
        return cls(function, file)

    def get_source_stamp(self) -> Any:
        """Return the state of the sources: of the kernel, of the kernels in it, and of the way in which they are compiled."""
        return super().get_source_stamp(), included_stamp(self._py_file), _digest(Path(__file__))


class _InFolder(UserProvidedCacheLocator, _BesideCode):
    """A folder for all kernels, with a subfolder for each folder of the code."""

    def __init__(self, function: Any, file: str) -> None:
        _BesideCode.__init__(self, function, file)
        self._cache_path = str(cache_place().path / self.get_suitable_cache_subpath(file))

    def ensure_cache_path(self) -> None:
        os.makedirs(self._cache_path, mode=0o700, exist_ok=True)

    @classmethod
    def from_function(cls, function: Any, file: str) -> Any:
        return cls(function, file)


@dataclass(frozen=True)
class _Constants:
    """The Python objects that a compiled function refers to, in the form in which they are cached.

    numba's own form imports the module of every function of numba that was compiled into a kernel, to compile nothing.
    """

    module: str | None
    values: list[Any]
    env_name: str

    @classmethod
    def of(cls, environment: Any) -> _Constants | None:
        return environment and cls(environment.globals.get("__name__"), environment.consts, environment.env_name)

    def lookup_globals(self) -> dict[str, Any]:
        """Return the names of the module, if it is imported; only code that is not compiled looks them up."""
        module = sys.modules.get(self.module or "")
        return vars(module) if module else {"__name__": self.module}

    def environment(self) -> Any:
        environment: Any = Environment.from_fndesc(self)
        environment.consts[:] = self.values
        return environment


class _CachedKernel(CompileResultCacheImpl):
    """The cached form of a compiled kernel, found beside the code."""

    _locator_classes = (_BesideCode,)

    def reduce(self, compiled: Any) -> Any:
        library, description, environment, *rest, environments = super().reduce(compiled)
        constants = tuple(_Constants.of(one) for one in environments)
        return library, description, _Constants.of(environment), *rest, constants

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        library, description, constants, *rest, referenced = payload
        environments = tuple(one and one.environment() for one in referenced)
        environment = constants and constants.environment()
        return super().rebuild(target_context, (library, description, environment, *rest, environments))


class _CachedInFolder(_CachedKernel):
    _locator_classes = (_InFolder,)


class _TrustedFiles(IndexDataCacheFile):
    """Cache files that are read only if nobody else could have written them. An unreadable file counts as missing."""

    def load(self, key: Any) -> Any:
        name = self._load_index().get(key)
        return self._load_data(name) if name and self._is_trusted(name) else None

    def _load_index(self) -> Any:
        try:
            return super()._load_index() if self._is_trusted(self._index_name) else {}
        except Exception:  # truncated or damaged: it is written anew
            return {}

    def _is_trusted(self, name: str) -> bool:
        return is_trusted_file(Path(self._cache_path, name), package_owner())

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[Any]:
        with super()._open_for_write(filepath) as file:
            if hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), 0o644)  # whatever the umask: others may read the code, not write it
            yield file


class _CacheBesideCode(FunctionCache):
    _impl_class = _CachedKernel

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = _TrustedFiles(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the code compiled for these types, or None.

        numba's own first loads all that it can compile, which takes a quarter of a second and which cached code does not need.
        """
        rtsys.initialize(target_context)  # compiled code counts references
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)
        return None  # Windows: another process is writing it


class _CacheInFolder(_CacheBesideCode):
    _impl_class = _CachedInFolder


class LayeredCache(FunctionCache):
    """The cached code of one kernel: read from beside the code and then from the cache folder, written to the cache folder."""

    def __init__(self, function: Any) -> None:
        places = [_CacheBesideCode] if cache_place().folder is None else [_CacheBesideCode, _CacheInFolder]
        self._layers = [place(function) for place in places]
        self._cache_path = self._layers[-1].cache_path
        self.enable()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the code compiled for these types from the first folder that has it, or None."""
        for layer in self._layers:
            if self._enabled and _is_trusted(layer.cache_path):
                try:
                    code = layer.load_overload(sig, target_context)
                except Exception:  # truncated or damaged: it is compiled and written again
                    continue
                if code is not None:
                    return code
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write compiled code. On a full or read-only disk it is compiled again next time."""
        try:
            self._layers[-1].save_overload(sig, data)
        except OSError:
            return

    def flush(self) -> None:
        """Remove the code from the cache folder."""
        self._layers[-1].flush()


_TRUSTED: dict[str, bool] = {}


def _is_trusted(folder: str) -> bool:
    """Return whether a folder exists and nobody else could have put something into it; checked once for each."""
    if not _TRUSTED.get(folder):
        # Beside the code no folder above matters: whoever could exchange it could exchange the code.
        beside = Path(folder).is_relative_to(PACKAGE)
        _TRUSTED[folder] = is_trusted_folder(Path(folder), package_owner(), alone=beside)
    return _TRUSTED[folder]


# Compiling ------------------------------------------------------------------------------------------------------------


def _widened(type_: Any) -> Any:
    """Return the type for which a kernel is compiled where another kernel passes a constant, a default or a short integer.

    numba would compile an inner kernel once for each of these, though it becomes part of its caller and is the same there.
    """
    type_ = numba.typeof(type_.value) if isinstance(type_, types.Omitted) else types.unliteral(type_)
    return types.int64 if type_ in (types.int8, types.int16, types.int32) else type_


class _KernelDispatcher(CPUDispatcher):
    """A kernel as numba sees it: compiled for the types it is called with, or found in the cache."""

    def enable_caching(self) -> None:
        self._cache = LayeredCache(self.py_func)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        _, folded = self.fold_argument_types(args, kws)
        return super().get_call_template(tuple(map(_widened, folded)), {})


@typeof_impl.register(Kernel)  # type: ignore[misc]
def _type_of_kernel(kernel: Kernel, context: Any) -> Any:
    """Let a kernel call other kernels by their names: each is made ready when its caller is compiled, not when that is loaded."""
    return types.Dispatcher(kernel.compiled)


def compiled(kernel: Kernel, *, parallel: bool, inner: bool, bare: bool, makes_arrays: bool) -> Any:
    """Return the kernel as a numba function, which is compiled when it is first called with some types."""
    function: Any = kernel.function
    options: dict[str, Any] = {"nopython": True, "boundscheck": None, "nogil": True, "parallel": parallel}
    options |= {
        "error_model": "numpy",
        "no_cfunc_wrapper": True,
        "no_cpython_wrapper": inner,
    }  # nothing calls it from C
    options |= {"_nrt": makes_arrays} if bare or makes_arrays else {}
    dispatcher = _KernelDispatcher(_with_prange(function), targetoptions=options)
    dispatcher.enable_caching()
    return dispatcher


def _with_prange(function: Any) -> Any:
    """Return the same function with numba's `prange`, which without numba is `range`."""
    names = {name: numba.prange if value is prange else value for name, value in function.__globals__.items()}
    copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
    return copy
