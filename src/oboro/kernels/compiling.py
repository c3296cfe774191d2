"""How loops are compiled: cached on disk (`cache_folders` says where), without the GIL, no fastmath (sums must not depend on the
machine), errors as in NumPy. `parallel` is for loops over `prange`.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from itertools import chain
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
from numba import types
from numba.core import codegen, entrypoints, environment
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    InTreeCacheLocator,
    UserProvidedCacheLocator,
)
from numba.core.codegen import JITCodeLibrary, RuntimeLinker
from numba.core.registry import cpu_target
from numba.core.runtime.nrt import rtsys
from numba.core.targetconfig import TargetConfig
from numba.core.typing.templates import builtin_registry

from oboro.kernels.jit import PACKAGE, Kernel, cache_place, package_owner, prange
from oboro.system.process import is_alone, is_trusted_file, is_trusted_folder, without_module

__all__ = ["LayeredCache", "compiled", "included_files", "included_stamp"]


# Included files -------------------------------------------------------------------------------------------------------
# Which files stand in a compiled kernel: its own, and those of the kernels and constants that it takes in.
#
# numba looks at the file of a function alone. A kernel that was compiled before an inner one changed would go on doing
# what that one did, also after an upgrade that mends it.


IMPORT = re.compile(
    r"^(?:from|import) oboro((?:\.\w+)*\.kernels(?:\.\w+)*)", re.MULTILINE
)  # kernels import only kernels
WORD = re.compile(r"\w+")


@cache
def included_stamp(file: str) -> str | None:
    """What these files say now, as one short text; None where the code has no files. O(bytes), once for each file."""
    try:
        held = "".join(map(_digest, sorted(included_files(Path(file)))))
    except OSError:
        return None
    return hashlib.blake2b(held.encode(), digest_size=16).hexdigest()


def included_files(file: Path) -> set[Path]:
    """The file, and what it imports of kernels, directly or not."""
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
# numba's cache of compiled functions, read from two places and written to one (`cache_folders` says which).


class _BesideCode(InTreeCacheLocator):
    """In `__pycache__`, where Python keeps what it compiled itself. Nothing is made there before there is something to write."""

    @classmethod
    def from_function(cls, function: Any, file: str) -> Any:
        return cls(function, file)


class _InFolder(UserProvidedCacheLocator):
    """In a folder for all of them, under a name for each folder of the code."""

    def __init__(self, function: Any, file: str) -> None:
        InTreeCacheLocator.__init__(self, function, file)
        self._cache_path = str(cache_place().path / self.get_suitable_cache_subpath(file))

    def ensure_cache_path(self) -> None:
        os.makedirs(self._cache_path, mode=0o700, exist_ok=True)

    @classmethod
    def from_function(cls, function: Any, file: str) -> Any:
        return cls(function, file)


class _BesideImpl(CompileResultCacheImpl):
    _locator_classes = (_BesideCode,)


class _FolderImpl(CompileResultCacheImpl):
    _locator_classes = (_InFolder,)


class _Checked(IndexDataCacheFile):
    """Files that are read only if nobody else could have written them. One that cannot be read counts as not there."""

    def load(self, key: Any) -> Any:
        name = self._load_index().get(key)
        return self._load_data(name) if name and self._ours(name) else None

    def _load_index(self) -> Any:
        try:
            return super()._load_index() if self._ours(self._index_name) else {}
        except Exception:  # cut off or damaged: it is written anew
            return {}

    def _ours(self, name: str) -> bool:
        return is_trusted_file(Path(self._cache_path, name), package_owner())

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[Any]:
        with super()._open_for_write(filepath) as file:
            if hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), 0o644)  # whatever the umask: others may read what was compiled, not write it
            yield file


class _Beside(FunctionCache):
    _impl_class = _BesideImpl


class _Folder(FunctionCache):
    _impl_class = _FolderImpl


class LayeredCache(FunctionCache):
    """What was compiled of one function: looked for beside the code and then in our place, kept in our place."""

    def __init__(self, function: Any) -> None:
        places = [_Beside] if cache_place().folder is None else [_Beside, _Folder]
        self._layers = [_checked(place(function), function.__code__.co_filename) for place in places]
        self._cache_path = self._layers[-1].cache_path
        self.enable()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled for these types, from the first place that has it."""
        for layer in self._layers:
            if self._enabled and _trusted(layer.cache_path):
                try:
                    found = _loaded(layer, sig, target_context)
                except Exception:  # cut off or damaged: it is compiled again, and then written again
                    continue
                if found is not None:
                    return found
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled. On a full or read-only disk it is compiled again next time."""
        try:
            self._layers[-1].save_overload(sig, data)
        except OSError:
            return

    def flush(self) -> None:
        """Forget what is in our place."""
        self._layers[-1].flush()


def _loaded(layer: FunctionCache, sig: Any, target_context: Any) -> Any:
    """What a place has, without numba's `load_overload`, which first learns to compile everything: a quarter of a second."""
    rtsys.initialize(target_context)  # what is compiled counts references
    with layer._guard_against_spurious_io_errors():
        return layer._load_overload(sig, target_context)
    return None  # Windows: another process is writing it


def _checked(layer: FunctionCache, file: str) -> FunctionCache:
    stamp = (layer._cache_file._source_stamp, included_stamp(file))
    layer._cache_file = _Checked(layer.cache_path, layer._impl.filename_base, stamp)
    return layer


_KNOWN: dict[str, bool] = {}


def _trusted(folder: str) -> bool:
    """Whether a folder is there and nobody else could have put something into it; asked once for each."""
    if not _KNOWN.get(folder):
        # Beside the code no folder above matters: whoever could exchange it could exchange the code.
        beside = Path(folder).is_relative_to(PACKAGE)
        _KNOWN[folder] = is_trusted_folder(Path(folder), package_owner(), alone=beside)
    return _KNOWN[folder]


# Compiling ------------------------------------------------------------------------------------------------------------


OURS, DOOR = "_ZN5oboro", "_ZN7cpython"  # how names of our functions begin in machine code, and of what Python calls
CONSTANTS = "_ZN08NumbaEnv"  # and of the objects of Python that a function holds


class _Library(JITCodeLibrary):
    """What is compiled of one function. What only other kernels call becomes part of those, and is kept as it is until then.

    numba would optimize it and turn it into machine code by itself, and again wherever it is called: a third of the time that
    compiling takes.
    """

    def _is_part(self) -> bool:
        """Whether nobody but another kernel can call it. What calls itself is called by its address, so it needs one."""
        defined = list(self.get_defined_functions())
        return (
            any(one.name.startswith(OURS) for one in defined)
            and not any(one.name.startswith(DOOR) and one.linkage.name == "external" for one in defined)
            and not any(one.name.startswith(RuntimeLinker.PREFIX) for one in self._final_module.global_variables)
        )

    def _optimize_final_module(self) -> None:
        if not self._is_part():
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        if self._is_part():
            self._verify_declare_only_symbols()
            self._finalized = True
            return
        super()._finalize_final_module()
        for one in self._final_module.global_variables:  # those of its parts, too
            if one.name.startswith(CONSTANTS) and (held := environment.lookup_environment(one.name)) is not None:
                CODEGEN.set_env(one.name, held)

    def serialize_using_object_code(self) -> Any:
        """What is kept on disk: machine code, and for whoever takes it in, the code before that, with the names in it."""
        if self._is_part():
            return self.serialize_using_bitcode()
        name, kind, (machine_code, for_others) = super().serialize_using_object_code()
        module = self._get_module_for_linking()
        every = chain(module.functions, module.global_variables)
        return name, kind, (machine_code, for_others, [one.name for one in every if not one.is_declaration])

    @classmethod
    def _unserialize(cls, codegen: Any, state: Any) -> Any:
        name, kind, data = state
        if kind != "object" or len(data) < 3:
            return super()._unserialize(codegen, state)
        self = codegen.create_library(name)
        machine_code, self._for_others, names = data
        self.enable_object_caching()
        self._set_compiled_object(machine_code)
        self._finalize_final_module()
        codegen._engine._defined_symbols.update(names)
        return self

    _for_others: bytes | None = None

    def _get_module_for_linking(self) -> Any:
        """What another kernel takes in, which few do: numba would read it whenever a kernel is found compiled, in 5 ms each."""
        if self._shared_module is None and self._for_others is not None:
            self._shared_module = codegen.ll.parse_bitcode(self._for_others)  # type: ignore[attr-defined]
        return super()._get_module_for_linking()


def _set_env(name: str, held: Any) -> None:
    """Give a function the objects that it holds; a part gets them with the function whose part it becomes."""
    if CODEGEN._engine.is_symbol_defined(name):
        type(CODEGEN).set_env(CODEGEN, name, held)


CODEGEN: Any = cpu_target.target_context.codegen()
CODEGEN._library_class, CODEGEN.set_env = _Library, _set_env


def _rebuild_env(module: str, constants: Any, name: str) -> Any:
    """The objects that a function holds, as it is found compiled. numba would import the module of each of its own functions in it.

    Names of that module are only looked up by code that is not compiled.
    """
    held: Any = environment.lookup_environment(name)
    if held is None:
        known = sys.modules.get(module)
        held = environment.Environment(vars(known) if known else {"__name__": module})
        held.consts[:], held.env_name = constants, name
        environment.Environment._memo[name] = held
    return held


environment._rebuild_env = _rebuild_env


def _chosen(options: Any) -> dict[str, Any]:
    """The options of a function that are not as usual."""
    return {name: one for name, one in options._values.items() if one != options.options[name].default}


# numba asks at every call in every function whether it is compiled with the same options, lists all of them to compare, and
# gives all the same hash: a tenth of the time that compiling takes.
TargetConfig.__eq__ = lambda one, other: isinstance(other, TargetConfig) and _chosen(one) == _chosen(other)
TargetConfig.__hash__ = lambda options: hash(frozenset(_chosen(options)))


@cache
def _ready() -> None:
    """Before the first function is compiled, let numba know all that it can compile. What is found compiled needs none of it."""
    # numba would import scipy's BLAS for correlations, in a tenth of a second.
    with without_module("scipy.linalg", by_thread=True) if is_alone() else nullcontext():
        cpu_target.target_context.refresh()
    from numba.np import arrayobj

    # Where a slice of an array may not fit what is assigned to it, numba puts both shapes into words: functions for text are
    # then compiled, and become part of every such kernel. That it does not fit is enough to know.
    for function, type_ in builtin_registry.globals:
        if function is arrayobj.raise_with_shape_context:
            for template in type_.templates:
                template._overload_func = staticmethod(arrayobj.ol_raise_with_shape_context_generic)


if is_alone():
    entrypoints._already_initialized = True  # extensions of numba: to look for some takes a thirtieth of a second

# numba tells whoever listens of each of the hundred thousand calls of LLVM: a twentieth of the time.
_ffi: Any = codegen.ll.ffi  # type: ignore[attr-defined]
for _told in list(getattr(getattr(_ffi.lib, "_lock", None), "_cblist", ())):
    _ffi.unregister_lock_callback(*_told)


def _as_variable(type_: Any) -> Any:
    """What a kernel is compiled for where another gives it a constant, leaves out what has a default, or gives a short number.

    numba would compile it once for each of these, though all of them become part of the caller and are the same there.
    """
    type_ = numba.typeof(type_.value) if isinstance(type_, types.Omitted) else types.unliteral(type_)
    return types.int64 if type_ in (types.int8, types.int16, types.int32) else type_


def _for_variables(fold: Callable[..., Any]) -> Callable[..., Any]:
    def folded(given: Any, named: Any) -> Any:
        signature, arguments = fold(given, named)
        return signature, tuple(map(_as_variable, arguments))

    return folded


def _when_ready(compile_: Callable[..., Any], named: Callable[[], None]) -> Callable[..., Any]:
    def compiled_when_ready(*given: Any) -> Any:
        _ready()
        named()
        return compile_(*given)

    return compiled_when_ready


def compiled(kernel: Kernel, *, parallel: bool, inner: bool, bare: bool, makes_arrays: bool) -> Any:
    """The function of a kernel as numba compiles it, where it is called with types for the first time."""
    function: Any = kernel.function
    more = {"no_cfunc_wrapper": True, "no_cpython_wrapper": inner}  # nobody calls a kernel as a function of C
    more |= {"_nrt": makes_arrays} if bare or makes_arrays else {}
    known = dict(function.__globals__)
    named = FunctionType(function.__code__, known, function.__name__, function.__defaults__, function.__closure__)
    named.__qualname__, named.__module__ = function.__qualname__, function.__module__
    dispatcher = numba.njit(nogil=True, parallel=parallel, error_model="numpy", **more)(named)
    dispatcher._compiler.fold_argument_types = _for_variables(dispatcher._compiler.fold_argument_types)

    def named_kernels() -> None:
        for name in function.__code__.co_names:
            if isinstance(value := known.get(name), Kernel):
                known[name] = dispatcher if value is kernel else value.compiled
            elif value is prange:
                known[name] = numba.prange

    dispatcher._compiler.compile = _when_ready(dispatcher._compiler.compile, named_kernels)
    dispatcher._cache = LayeredCache(function)  # what `cache=True` does, with places of our own
    return dispatcher
