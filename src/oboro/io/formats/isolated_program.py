"""Program of the isolated reader: read a workbook, or a file of another format, in a process of its own, within limits.

The reader of workbooks believes sizes that a file declares: a table of 10¹² shared strings, or a single cell at
XFD1048576, makes it ask for more memory than there is, and what is written in Rust ends its process where it gets
none. So only this process ends.

Each line of stdin is an object of JSON. The first has the limits and the workbook, each further one asks for rows of
a sheet. Each answer is a line of JSON, followed by an Arrow stream where it says so.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from contextlib import suppress
from importlib import import_module
from typing import Any, BinaryIO


def limit_process(memory: int, seconds: int) -> None:
    """Bound the memory and the processor time of this process, as far as the system can, and let it leave no core dump."""
    if os.name == "nt":
        with suppress(Exception):  # the process still is one of its own
            _limit_on_windows(memory, seconds)
        return
    import resource

    for kind, most in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, seconds)):
        with suppress(ValueError, OSError):  # macOS bounds no memory; a lower limit is in force already
            resource.setrlimit(kind, (most, most))


def _limit_on_windows(memory: int, seconds: int) -> None:
    """Put this process into a job of its own that bounds it."""
    import ctypes
    from ctypes import wintypes

    class Basic(ctypes.Structure):
        _fields_ = (
            ("process_time", ctypes.c_int64),
            ("job_time", ctypes.c_int64),
            ("flags", wintypes.DWORD),
            ("least_set", ctypes.c_size_t),
            ("most_set", ctypes.c_size_t),
            ("processes", wintypes.DWORD),
            ("affinity", ctypes.c_size_t),
            ("priority", wintypes.DWORD),
            ("scheduling", wintypes.DWORD),
        )

    class Extended(ctypes.Structure):
        _fields_ = (
            ("basic", Basic),
            ("counters", ctypes.c_uint64 * 6),
            ("process_memory", ctypes.c_size_t),
            ("job_memory", ctypes.c_size_t),
            ("peak_process", ctypes.c_size_t),
            ("peak_job", ctypes.c_size_t),
        )

    process_time, process_memory, extended = 0x2, 0x100, 9  # names of the Windows API in lower case
    limits = Extended(process_memory=memory)
    limits.basic.flags = process_time | process_memory
    limits.basic.process_time = seconds * 10_000_000
    kernel: Any = ctypes.WinDLL("kernel32")  # type: ignore[attr-defined]
    kernel.CreateJobObjectW.restype = kernel.GetCurrentProcess.restype = wintypes.HANDLE
    kernel.SetInformationJobObject.argtypes = (wintypes.HANDLE, ctypes.c_int, ctypes.c_void_p, wintypes.DWORD)
    kernel.AssignProcessToJobObject.argtypes = (wintypes.HANDLE, wintypes.HANDLE)
    job = kernel.CreateJobObjectW(None, None)
    kernel.SetInformationJobObject(job, extended, ctypes.byref(limits), ctypes.sizeof(limits))
    kernel.AssignProcessToJobObject(job, kernel.GetCurrentProcess())


def answer(out: BinaryIO, found: dict[str, Any]) -> None:
    """Write one line of JSON."""
    out.write(json.dumps(found).encode() + b"\n")
    out.flush()


def send_rows(out: BinaryIO, book: Any, asked: dict[str, Any]) -> None:
    """Answer with rows of a sheet, and with the number of cells in each column that hold an error such as `#N/A`."""
    import pyarrow as pa

    names = ("header_row", "skip_rows", "n_rows", "dtypes", "schema_sample_rows")
    sheet = book.load_sheet(asked["sheet"], **{name: asked[name] for name in names if name in asked})
    batch, wrong = sheet.to_arrow_with_errors()
    errors = Counter(one.position[1] for one in wrong.errors) if wrong else {}
    answer(out, {"rows": batch.num_rows, "errors": sorted(errors.items())})
    with pa.ipc.new_stream(out, batch.schema) as stream:
        stream.write_batch(batch)
    out.flush()


def main() -> None:
    """Answer questions until the input ends."""
    # What a library prints must not get between the answers.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    given = json.loads(sys.stdin.buffer.readline())
    sys.path[:] = given["modules"]
    if given["module"] is not None:
        limit_process(given["memory"], given["seconds"])
        import_module(given["module"]).serve(given, sys.stdin.buffer, out)
        return
    # pyarrow needs none of them for this: without them it is imported in 40 ms instead of 160.
    for heavy in ("cloudpickle", "numpy", "pandas"):
        sys.modules[heavy] = None  # type: ignore[assignment]
    limit_process(given["memory"], given["seconds"])
    try:
        import fastexcel
    except ModuleNotFoundError as missing:
        answer(out, {"missing": missing.name})
        return
    try:
        book = fastexcel.read_excel(given["path"])
        answer(out, {"sheets": list(book.sheet_names)})
        for line in sys.stdin.buffer:
            send_rows(out, book, json.loads(line))
    except fastexcel.FastExcelError as problem:
        answer(out, {"problem": str(problem).splitlines()[0]})


if __name__ == "__main__":
    # A panic of the reader is no `Exception`, and what it says may hold values: the one who asked sees that this process ended.
    try:
        main()
    except BaseException:
        os._exit(1)
