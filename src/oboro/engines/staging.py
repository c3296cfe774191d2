"""Write, verify, publish: a folder gets its name only when what stands in it was verified.

Until then it is a private folder beside its place, named `_oboro-…`, which nobody else may enter. After a failure it is removed;
after `kill -9` whoever writes there next removes it.
"""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from uuid import uuid4

from oboro.errors import FileError, UsageError
from oboro.system.atomic_file import check_place, why_unwritable
from oboro.text import Message

__all__ = ["check_apart", "check_folder", "staged"]

PREFIX = "_oboro-"


def check_folder(path: str, force: bool) -> Path:
    """Before any work: raise if no folder could appear under this name."""
    if "://" in path and not path.startswith("file://"):
        raise UsageError(Message("error_engine.no_place", path=_shown(path), scheme=path.split("://")[0]))
    target = Path(path.removeprefix("file://"))
    if target.suffix not in ("", ".parquet"):
        raise UsageError(Message("error_engine.output_kind", path=str(target)))
    if target.exists() and not force:
        raise FileError(Message("error_system.exists", path=str(target)))
    if not target.exists():
        check_place(target)
    return target


def check_apart(place: str, target: Path) -> None:
    """Raise where the release would stand in the place of the table, or within it."""
    source, wanted = Path(place.removeprefix("file://")).resolve(), target.resolve()
    if source == wanted or source in wanted.parents or wanted in source.parents:
        raise UsageError(Message("error_engine.same_place", path=str(target)))


def _shown(path: str) -> str:
    """A place without the password that may stand in it."""
    scheme, _, rest = path.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"


@contextmanager
def staged(path: str, force: bool = False) -> Iterator[str]:
    """A folder to write to. It appears under `path` when the block ends well; what was there before stays until then."""
    target = check_folder(path, force).absolute()
    sweep_staging(target.parent)
    draft = target.parent / f"{PREFIX}{_host()}-{os.getpid()}-{uuid4().hex[:8]}"
    try:
        draft.mkdir(mode=0o700)
        yield str(draft / "rows")
        _publish(draft, target)
    except OSError as problem:
        raise FileError(
            Message("error_system.cannot_be_written", path=str(target), why=why_unwritable(problem))
        ) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _publish(draft: Path, target: Path) -> None:
    """One rename; where a folder is replaced, two, and the old one goes last."""
    if target.exists():
        os.rename(target, draft / "before")
    os.rename(draft / "rows", target)


def sweep_staging(folder: Path) -> None:
    """Remove what processes of this machine left that are no more."""
    for draft in folder.glob(f"{PREFIX}{_host()}-*-*"):
        process = draft.name.split("-")[2]
        if process.isdigit() and not _lives(int(process)):
            shutil.rmtree(draft, ignore_errors=True)


def _host() -> str:
    return blake2b(socket.gethostname().encode(), digest_size=4).hexdigest()


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
