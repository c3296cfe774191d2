"""Where compiled kernels are kept, in installs that can and cannot be written, and what is never loaded."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import oboro
from oboro.errors import UsageError
from oboro.kernels import jit
from oboro.kernels.jit import CachePlace, cache_place, kernel

SOMEBODY = 65534
ROOT = hasattr(os, "getuid") and os.getuid() == 0
needs_root = pytest.mark.skipif(not ROOT, reason="only root can become somebody else")
JOB = """
import os, sys

def job():
    import numpy as np
    from oboro.kernels import grouping
    from oboro.kernels.jit import always_compiled
    from oboro.kernels.jit import cache_place
    assert grouping.__file__.startswith(sys.argv[1]), grouping.__file__
    out = np.zeros(2, np.int64)
    with always_compiled():
        grouping.occurrences(np.array([0, 1, 1], np.uint8), out)
    assert out.tolist() == [1, 2]
    return cache_place().path

def forget():
    for name in [name for name in sys.modules if name.split(".")[0] == "oboro"]:
        del sys.modules[name]

if sys.argv[2:]:  # the interpreter may be where only root can read: first all that the job imports is loaded
    os.environ["OBORO_CACHE"] = sys.argv[2]
    job()
    forget()
    del os.environ["OBORO_CACHE"]
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
print(job())
"""


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """No variable is set, and the place is chosen anew, now and afterwards."""
    for variable in ("OBORO_CACHE", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    cache_place.cache_clear()
    yield monkeypatch
    cache_place.cache_clear()


@pytest.fixture
def unwritable(fresh: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    fresh.setattr(jit, "_can_write_beside", lambda: False)
    return fresh


def test_beside_the_code_where_that_can_be_written(fresh: pytest.MonkeyPatch) -> None:
    fresh.setattr(os, "access", lambda *_: True)
    fresh.setattr(jit, "is_trusted_folder", lambda *_, **__: True)
    assert cache_place() == CachePlace(None)


@pytest.mark.parametrize("variable", ["OBORO_CACHE", "NUMBA_CACHE_DIR"])
def test_a_named_folder_comes_first(fresh: pytest.MonkeyPatch, tmp_path: Path, variable: str) -> None:
    fresh.setenv(variable, str(tmp_path / "named"))
    assert cache_place() == CachePlace(tmp_path / "named")
    assert (tmp_path / "named").stat().st_mode & 0o777 == 0o700


def test_a_named_folder_that_others_can_write_is_refused(fresh: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    fresh.setenv("OBORO_CACHE", str(tmp_path / "open"))
    with pytest.raises(UsageError, match="OBORO_CACHE: .*open is not used.*others can write there.*chmod go-w"):
        cache_place()
    (tmp_path / "link").symlink_to(tmp_path)
    fresh.setenv("OBORO_CACHE", str(tmp_path / "link"))
    with pytest.raises(UsageError, match="it is a link"):
        cache_place()
    (tmp_path / "file").write_text("")
    fresh.setenv("OBORO_CACHE", str(tmp_path / "file"))
    with pytest.raises(UsageError, match="is not a folder"):
        cache_place()


def test_then_the_users_cache_then_a_private_folder_for_temporary_files(
    unwritable: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    unwritable.setenv("HOME", str(tmp_path / "home"))
    unwritable.setattr(jit.tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    assert cache_place().path == tmp_path / "home" / ".cache" / "oboro"
    cache_place.cache_clear()
    unwritable.setenv("HOME", "/proc/nowhere")
    mine = tmp_path / "tmp" / f"oboro-{os.getuid()}"
    assert cache_place() == CachePlace(mine)
    assert mine.stat().st_mode & 0o777 == 0o700
    # Somebody took the name: a folder for this process only.
    cache_place.cache_clear()
    mine.chmod(0o777)
    other = cache_place()
    assert not other.lasting
    assert other.path != mine
    assert other.path.parent == tmp_path / "tmp"


class Planted:
    """A file that runs code where it is loaded."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (self.mark,))


def dispatcher(folder: Path, fresh: pytest.MonkeyPatch) -> object:
    fresh.setenv("OBORO_CACHE", str(folder))
    cache_place.cache_clear()

    def double(numbers: np.ndarray, out: np.ndarray) -> None:
        for i in range(numbers.size):
            out[i] = 2 * numbers[i]

    return kernel()(double)


def run(compiled: object) -> list[int]:
    out = np.zeros(3, np.int64)
    compiled(np.arange(3), out)  # type: ignore[operator]
    return out.tolist()


def test_what_was_compiled_is_found_again_and_damage_is_mended(fresh: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first = dispatcher(tmp_path / "cache", fresh)
    assert run(first) == [0, 2, 4]
    again = dispatcher(tmp_path / "cache", fresh)
    run(again)
    assert sum(again.stats.cache_hits.values()) == 1  # type: ignore[attr-defined]
    for file in (tmp_path / "cache").rglob("*.nb?"):
        assert file.stat().st_mode & 0o777 == 0o644
        file.write_bytes(file.read_bytes()[:10])
    damaged = dispatcher(tmp_path / "cache", fresh)
    assert run(damaged) == [0, 2, 4]
    assert sum(damaged.stats.cache_hits.values()) == 0  # type: ignore[attr-defined]


@kernel()
def doubled(numbers: np.ndarray, out: np.ndarray) -> None:
    for i in range(numbers.size):
        out[i] = 2 * numbers[i]


@kernel()
def fourfold(numbers: np.ndarray, out: np.ndarray) -> None:
    doubled(numbers, out)
    doubled(out.copy(), out)


def test_a_kernel_that_was_found_compiled_is_taken_in_by_another(fresh: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What others take in is only read when one does."""
    fresh.setenv("OBORO_CACHE", str(tmp_path))
    cache_place.cache_clear()
    for _ in range(2):
        vars(doubled).pop("compiled", None)
        assert run(doubled) == [0, 2, 4]
    assert sum(doubled.stats.cache_hits.values()) == 1  # type: ignore[attr-defined]
    assert run(fourfold) == [0, 4, 8]


def test_a_file_that_somebody_else_could_have_written_is_never_loaded(
    fresh: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run(dispatcher(tmp_path / "cache", fresh))
    [index] = (tmp_path / "cache").rglob("*.nbi")
    index.write_bytes(pickle.dumps(Planted(tmp_path / "ran")))
    index.chmod(0o666)
    run(dispatcher(tmp_path / "cache", fresh))
    assert not (tmp_path / "ran").exists()


# Real installs, as another user ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def install(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of the package that only root can write, with nothing compiled."""
    folder = Path("/var/tmp" if os.path.isdir("/var/tmp") else tmp_path_factory.mktemp("install"))
    folder = folder / f"oboro-test-{os.getpid()}"
    folder.mkdir(mode=0o755)
    shutil.copytree(Path(oboro.__file__).parent, folder / "oboro", ignore=shutil.ignore_patterns("*.nb?"))
    yield folder
    shutil.rmtree(folder)


def as_somebody(install: Path, tmp: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a job in the install, as a user without a home."""
    spare = install / "loading"
    environment = {"PYTHONPATH": str(install), "PATH": os.environ["PATH"], "HOME": "/proc/nowhere", "TMPDIR": str(tmp)}
    return subprocess.run(
        [sys.executable, "-c", JOB, str(install), str(spare)],
        env={**environment, **more},
        capture_output=True,
        text=True,
        check=False,
    )


def compiled(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.rglob("*.nb?"))


@needs_root
def test_a_warm_install_that_nobody_can_write_compiles_nothing(install: Path) -> None:
    tmp = install / "tmp"
    tmp.mkdir()
    os.chown(tmp, SOMEBODY, SOMEBODY)
    cold = as_somebody(install, tmp)
    assert cold.returncode == 0, cold.stderr
    assert Path(cold.stdout.strip()) == tmp / f"oboro-{SOMEBODY}"
    needed = compiled(tmp)
    assert needed
    again = as_somebody(install, tmp)
    assert compiled(tmp) == needed, "what was compiled is found by the next process"
    # Root warms the install up; now the job finds all of it beside the code.
    environment = {**os.environ, "PYTHONPATH": str(install)}
    environment.pop("OBORO_CACHE", None)
    warm = subprocess.run([sys.executable, "-c", JOB, str(install)], env=environment, capture_output=True, check=False)
    assert warm.returncode == 0, warm.stderr
    assert compiled(install / "oboro") == needed
    shutil.rmtree(tmp / f"oboro-{SOMEBODY}")
    again = as_somebody(install, tmp)
    assert again.returncode == 0, again.stderr
    assert compiled(tmp) == []


@needs_root
def test_a_planted_folder_is_not_used(install: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """An attacker makes the victim's folder first, and fills it with files that run code."""
    tmp = install / "shared"
    tmp.mkdir()
    tmp.chmod(0o1777)
    theirs = tmp / f"oboro-{SOMEBODY}"
    theirs.mkdir(mode=0o777)
    os.chown(theirs, 1234, 1234)
    mark = tmp / "ran"
    for name in ("kernels", "table", "verifier"):
        (theirs / name).mkdir()
        (theirs / name / "planted.nbi").write_bytes(pickle.dumps(Planted(mark)))
    found = as_somebody(install, tmp)
    assert found.returncode == 0, found.stderr
    assert not Path(found.stdout.strip()).is_relative_to(theirs)
    assert not mark.exists()
    refused = as_somebody(install, tmp, NUMBA_CACHE_DIR=str(theirs))
    assert refused.returncode != 0
    assert "NUMBA_CACHE_DIR" in refused.stderr
    assert not mark.exists()


def test_a_kernel_is_compiled_again_when_one_inside_it_has_changed(tmp_path: Path, fresh: pytest.MonkeyPatch) -> None:
    """numba looks at the outer file alone: after an upgrade that mends the inner one, the old machine code would go on.

    Found compiled, it needs nothing of what numba loads to compile.
    """
    package = tmp_path / "oboro"
    shutil.copytree(Path(oboro.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    made = package / "kernels" / "made"
    made.mkdir()
    (made / "__init__.py").touch()
    head = "from oboro.kernels.jit import always_compiled, kernel\n"
    (made / "steps.py").write_text("STEP = 1\n")
    inner = (
        head
        + "from oboro.kernels.made.steps import STEP\n@kernel(inner=True)\ndef more(x: int) -> int:\n    return x + STEP\n"
    )
    (made / "inner.py").write_text(inner)
    outer = (
        head + "from oboro.kernels.made.inner import more\n@kernel()\ndef outer(x: int) -> int:\n    return more(x)\n"
    )
    (made / "outer.py").write_text(outer)
    job = (
        head
        + "import sys\nfrom oboro.kernels.made.outer import outer\nwith always_compiled():\n    print(outer(1), end=' ')\n"
    )
    job += "print('numba.np.arraymath' in sys.modules)"

    def answer() -> str:
        given = {**os.environ, "PYTHONPATH": str(tmp_path)}
        return subprocess.run([sys.executable, "-c", job], env=given, capture_output=True, text=True, check=True).stdout

    assert answer() == "2 True\n"
    assert answer() == "2 False\n"
    (made / "steps.py").write_text("STEP = 5\n")
    assert answer() == "6 True\n"
