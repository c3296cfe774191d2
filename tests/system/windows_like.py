"""Run in a process of its own: what Windows lacks is taken away from oboro, then every module is imported and a table anonymized.

    python windows_like.py FOLDER

Other packages keep everything: they come to Windows with code of their own, and ours is the same everywhere.
"""

from __future__ import annotations

import builtins
import importlib
import pkgutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

MODULES = {
    "crypt",
    "curses",
    "fcntl",
    "grp",
    "posix",
    "pty",
    "pwd",
    "readline",
    "resource",
    "spwd",
    "syslog",
    "termios",
    "tty",
}
NAMES = {
    "os": """O_DIRECT O_DIRECTORY O_DSYNC O_NOFOLLOW O_NONBLOCK O_PATH O_SYNC O_TMPFILE chown chroot confstr copy_file_range ctermid
        eventfd fchdir fchmod fchown fdatasync fork forkpty fpathconf fstatvfs getegid geteuid getgid getgroups getloadavg getpgid
        getpgrp getrandom getsid getuid killpg lchown lockf memfd_create mkfifo mknod nice openpty pathconf pipe2 posix_fadvise
        posix_fallocate posix_spawn pread preadv pwrite pwritev readv register_at_fork sched_getaffinity sched_setaffinity
        sched_yield sendfile set_blocking setsid splice statvfs sync sysconf tcgetpgrp ttyname uname wait wait3 wait4 writev""",
    "mmap": """MADV_HUGEPAGE MADV_NOHUGEPAGE MAP_ANON MAP_ANONYMOUS MAP_NORESERVE MAP_POPULATE MAP_PRIVATE MAP_SHARED PROT_READ
        PROT_WRITE""",
    "socket": "AF_NETLINK AF_PACKET AF_UNIX MSG_DONTWAIT SO_REUSEPORT recv_fds send_fds",
    "signal": """SIGALRM SIGCHLD SIGHUP SIGKILL SIGPIPE SIGQUIT SIGUSR1 SIGUSR2 alarm pause pthread_kill pthread_sigmask setitimer
        sigwait""",
    "select": "epoll poll",
    "time": "clock_gettime clock_settime tzset",
}


class Lacking(ModuleType):
    """A module without some of its names."""

    def __init__(self, whole: ModuleType, names: str) -> None:
        super().__init__(whole.__name__)
        self.__dict__.update({name: value for name, value in vars(whole).items() if name not in names.split()})


def take_away() -> None:
    """Let nothing in oboro have what is not on Windows."""
    lacking = {name: Lacking(importlib.import_module(name), names) for name, names in NAMES.items()}
    usual = builtins.__import__

    def importing(name: str, globals: Any = None, *rest: Any, **named: Any) -> Any:
        if not str((globals or {}).get("__name__", "")).startswith("oboro"):
            return usual(name, globals, *rest, **named)
        if name in MODULES:
            raise ImportError(f"{name} is not on Windows")
        return lacking.get(name) or usual(name, globals, *rest, **named)

    builtins.__import__ = importing


def every_module() -> int:
    """Import all of oboro; how many modules that is."""
    import oboro

    names = [found.name for found in pkgutil.walk_packages(oboro.__path__, "oboro.")]
    for name in names:
        importlib.import_module(name)
    return len(names)


def job(folder: Path) -> None:
    """From a file to files, with a report, as the command line does it; past the cache, which is not to be had."""
    from oboro.cli.all_commands import app
    from oboro.system import files

    files.ROOM = 8192
    table, recipe = folder / "table.csv", folder / "recipe.yaml"
    rows = [f"{20 + i % 40},{'FM'[i % 2]},n{i % 100}\n" for i in range(4000)]
    table.write_text("age,sex,note\n" + "".join(rows), encoding="utf-8")
    recipe.write_text(
        "attributes: {age: {role: quasi, hierarchy: {intervals: [10, 20]}}, sex: {role: quasi}, note: {role: other}}\n"
        "steps: [{k_anonymize: {k: 5}}]\n"
    )
    arguments = ["anonymize", str(table), "--recipe", str(recipe), "--output"]
    app([*arguments, str(folder / "out.csv.gz")], standalone_mode=False)
    app([*arguments, str(folder / "out.parquet")], standalone_mode=False)
    app([*arguments, str(folder / "out.csv"), "--report", str(folder / "report.html")], standalone_mode=False)


if __name__ == "__main__":
    take_away()
    print(every_module())
    job(Path(sys.argv[1]))
