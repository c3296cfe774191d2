"""numba's cache of compiled functions, read from two places and written to one (`cache_folders` says which)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    InTreeCacheLocator,
    UserProvidedCacheLocator,
)
from numba.core.runtime.nrt import rtsys

from oboro.kernels.cache_folders import PACKAGE, cache_place, package_owner
from oboro.kernels.included_files import included_stamp
from oboro.system.trusted_folder import is_trusted_file, is_trusted_folder

__all__ = ["LayeredCache"]


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
