"""A soak: a stream at full rate for a given time, and what becomes of its memory, its latency and its state.

It reproduces no paper. Records of made-up people come through a socket as fast as they are taken; what is released goes nowhere
(`os.devnull`), so that only the stream is measured. Everything that may grow is bounded: `swap` by a horizon, `window` by itself.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.rows import BenchRow
from oboro.recipe.recipe import Recipe
from oboro.recipe.stream import StreamOptions, run_stream
from oboro.system.process import megabytes_now

__all__ = ["SECONDS", "pictures", "rows"]

SECONDS, QUICK, WARM = 60.0, 5.0, 0.5  # of each mode, unless the caller says how many
PIECE = 1 << 16  # bytes that are sent at a time
PAUSE = 0.0  # seconds between two sends: without, what waits in sockets when the time is over is worked off too
POINTS = 120  # of a curve
MADE_UP = 50_000  # different people, who come again and again
MODES: dict[str, tuple[StreamOptions, dict[str, dict[str, str]]]] = {
    "swap": (
        StreamOptions(mode="swap", horizon=100_000),
        {name: {"role": "quasi"} for name in ("sex", "race", "job", "town")},
    ),
    "window": (
        StreamOptions(mode="window", window=10_000, categories=["sex", "job"]),
        {name: {"role": "quasi"} for name in ("sex", "job", "age", "income")},
    ),
}
METRICS = ("records_per_s", "memory_mb", "latency_p50_ms", "latency_p99_ms", "state_mb")
Progress = Callable[..., None]


def rows(quick: bool = False, progress: Progress = lambda *_: None, seconds: float | None = None) -> list[BenchRow]:
    """Every mode for so many seconds: figures over time, and how the last quarter differs from the second."""
    lasting = seconds or (QUICK if quick else SECONDS)
    found: list[BenchRow] = []
    for mode in MODES:
        progress(f"{mode}: {lasting:g} s")
        _soaked(mode, WARM)  # so that nothing is compiled while it is measured
        points = _soaked(mode, lasting)
        found += [*_over_time(mode, points), *_in_all(mode, points)]
    return found


def pictures(found: list[BenchRow], folder: Path) -> list[Path]:
    """Each figure by time."""
    from benchmarks.figures import draw_soak

    return draw_soak(found, folder)


def _soaked(mode: str, seconds: float) -> list[dict[str, float]]:
    """Run a stream; what was seen twice a second."""
    options, attributes = MODES[mode]
    points: list[dict[str, float]] = []
    with TemporaryDirectory() as made, socket.create_server(("127.0.0.1", 0)) as server:
        folder = Path(made)
        recipe = {"attributes": {**attributes, "note": {"role": "other"}}, "steps": [{"k_anonymize": {"k": 3}}]}
        (folder / "recipe.json").write_text(json.dumps(recipe), encoding="utf-8")
        feeding = threading.Thread(target=_feed, args=(server, _lines([*attributes, "note"]), seconds), daemon=True)
        feeding.start()
        run_stream(
            Recipe.load(folder / "recipe.json"),
            options,
            source=f"tcp://127.0.0.1:{server.getsockname()[1]}",
            target=os.devnull,
            state=folder / "state",
            dead_letters=str(folder / "dead"),
            watch=lambda seen: points.append(_point(seen, folder / "state", points)),
        )
        feeding.join()
    return points


def _feed(server: socket.socket, lines: bytes, seconds: float) -> None:
    """Send as fast as it is taken, until the time is over; then the stream ends by itself."""
    connection, _ = server.accept()
    with connection, suppress(ConnectionError):  # a stream that was asked to end takes no more
        began, at = time.monotonic(), 0
        while time.monotonic() - began < seconds:
            at %= len(lines)
            end = lines.find(b"\n", at + PIECE) + 1 or len(lines)
            connection.sendall(lines[at:end])
            at = end
            time.sleep(PAUSE)


def _lines(names: list[str]) -> bytes:
    rng = np.random.default_rng(1)
    columns: dict[str, Any] = {
        "sex": rng.choice(["F", "M"], MADE_UP),
        "race": rng.choice(list("abcde"), MADE_UP),
        "job": rng.choice([f"job {n}" for n in range(15)], MADE_UP),
        "town": rng.choice([f"town {n}" for n in range(40)], MADE_UP),
        "age": rng.integers(0, 100, MADE_UP),
        "income": rng.lognormal(8, 1, MADE_UP).round(),
        "note": np.arange(MADE_UP),
    }
    chosen = [columns[name].tolist() for name in names]
    people = (dict(zip(names, cells, strict=True)) for cells in zip(*chosen, strict=True))
    return "".join(json.dumps(one) + "\n" for one in people).encode()


def _point(seen: dict[str, Any], state: Path, before: list[dict[str, float]]) -> dict[str, float]:
    last = before[-1] if before else {"second": 0.0, "records": 0.0}
    passed = seen["seconds"] - last["second"]
    return {
        "second": seen["seconds"],
        "records": float(seen["records"]),
        "records_per_s": (seen["records"] - last["records"]) / passed if passed else 0.0,
        "memory_mb": megabytes_now() or 0.0,
        "latency_p50_ms": seen["latency_ms"]["p50"],
        "latency_p99_ms": seen["latency_ms"]["p99"],
        "state_mb": sum(_size(one) for one in state.iterdir()) / 1e6,
    }


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # a draft that has got its name meanwhile
        return 0


def _over_time(mode: str, points: list[dict[str, float]]) -> Iterator[BenchRow]:
    for point in points[:: max(1, len(points) // POINTS)]:
        for metric in METRICS:
            yield BenchRow("over time", mode, {"second": round(point["second"], 1)}, metric, point[metric])


def _in_all(mode: str, points: list[dict[str, float]]) -> Iterator[BenchRow]:
    """The middle of the second quarter of the time and of the last: what grows shows there."""
    quarter = len(points) // 4
    seconds = points[-1]["second"] if points else 0.0
    if points:
        yield BenchRow("in all", mode, {}, "records", points[-1]["records"], None, seconds)
    for metric in METRICS if quarter else ():
        for name, some in (("second quarter", points[quarter : 2 * quarter]), ("last quarter", points[-quarter:])):
            middle = float(np.median([point[metric] for point in some]))
            yield BenchRow("in all", mode, {"part": name}, metric, middle, None, seconds)
