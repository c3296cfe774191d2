"""Exit codes of running streams, from which systemd and others know if a restart helps.

They are those of sysexits.h. Commands that end by themselves have 0, 1 and 2 only (`oboro.errors`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from oboro.errors import OboroError, PromiseError

__all__ = ["EX_CONFIG", "EX_TEMPFAIL", "stream_exit_codes"]


EX_TEMPFAIL = 75
EX_CONFIG = 78


@contextmanager
def stream_exit_codes(*, refusals: bool = True) -> Iterator[None]:
    """Give errors that leave the block the exit code of a stream that runs.

    A transient fault (a broker is away, the disk is full, another process holds the state) has 75. Any other error has 78 with
    `refusals`, and keeps its own without. A broken guarantee keeps 1.
    """
    try:
        yield
    except PromiseError:
        raise
    except OboroError as error:
        if error.transient:
            error.exit_code = EX_TEMPFAIL
        elif refusals:
            error.exit_code = EX_CONFIG
        raise
