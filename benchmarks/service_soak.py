"""A service between two streams of a broker at full rate for some time, then killed: rate, memory, state, and its next start.

    python -m benchmarks.service_soak --seconds 600 --broker nats --mode swap
    python -m benchmarks.service_soak --seconds 600 --broker redis --mode window

A producer sends as fast as records come out; both streams keep the latest records only, so that the broker itself does not grow.
What may grow in the service is bounded: `swap` by a horizon of 100,000 records, `window` by its 10,000. Written to
benchmarks/results/service_soak_BROKER_MODE.json.
"""

from __future__ import annotations

import argparse
import json
import platform
import signal
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.brokers import LocalBroker, LocalNats, LocalRedis, ended, forked
from benchmarks.service import RECIPE, bodies, stamped
from oboro.recipe.recipe import Recipe
from oboro.recipe.stream import StreamOptions, anonymizer
from oboro.service.make import make_service
from oboro.service.settings import ServiceSettings
from oboro.stream.engine import Service
from oboro.system.process import megabytes_now

RESULTS = Path(__file__).parent / "results"
MODES: dict[str, dict[str, Any]] = {
    "swap": {"mode": "swap", "horizon": 100_000},
    "window": {"mode": "window", "window": 10_000, "categories": list(RECIPE["attributes"])[:5]},
}
AHEAD, KEPT, SEND = 50_000, 200_000, 1000


def main() -> None:
    """Run, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--broker", choices=["nats", "redis"], default="nats")
    parser.add_argument("--mode", choices=list(MODES), default="swap")
    parser.add_argument("--batch", type=int, default=1000)
    given = parser.parse_args()
    kind = {"nats": LocalNats, "redis": LocalRedis}[given.broker]
    with TemporaryDirectory() as made:
        broker = kind(Path(made))
        broker.start()
        try:
            found = soaked(broker, Path(made), given.mode, given.seconds, given.batch)
        finally:
            broker.stop()
    command = (
        f"python -m benchmarks.service_soak --seconds {given.seconds:g} --broker {given.broker} --mode {given.mode}"
    )
    whole = {"command": command, "machine": platform.platform(), **found}
    (RESULTS / f"service_soak_{given.broker}_{given.mode}.json").write_text(json.dumps(whole, indent=1) + "\n")
    print(json.dumps({name: value for name, value in whole.items() if name != "over_time"}, indent=1))


def soaked(broker: LocalBroker, folder: Path, mode: str, seconds: float, batch: int) -> dict[str, Any]:
    """Feed a service for so long; what was seen once a second, and the time of a new start."""
    anonymizer(Recipe(**RECIPE), StreamOptions(**MODES[mode])).warm()  # nothing is compiled while it is measured
    keep_latest(broker, ("IN", "OUT"))
    broker.send("IN", bodies(SEND)) if broker.kind == "redis" else None
    seen = folder / "seen"
    running = forked(lambda: watched(service(broker, folder, mode, batch), folder / "state", seen))
    ended(forked(lambda: feed(broker, seconds, folder / "published")))
    if (code := ended(running, signal.SIGKILL)) != -signal.SIGKILL:
        raise RuntimeError(f"the service ended by itself: exit code {code}")
    points = [json.loads(line) for line in seen.read_text().splitlines()]
    again = folder / "again"
    ended(forked(lambda: started_again(service(broker, folder, mode, batch, once=True), again)))
    return {**summary(points), "restart": json.loads(again.read_text()), "over_time": points}


def keep_latest(broker: LocalBroker, names: tuple[str, ...]) -> None:
    """Streams that forget what is old; Valkey's are trimmed by the producer."""
    if broker.kind != "nats":
        return
    import asyncio

    import nats

    async def make() -> None:
        client = await nats.connect(f"nats://127.0.0.1:{broker.port}")
        for name, end in zip(names, ("in", "released"), strict=True):
            await client.jetstream().add_stream(name=name, subjects=[f"{name}.{end}"], max_msgs=KEPT)
        await client.close()

    asyncio.run(make())


def service(broker: LocalBroker, folder: Path, mode: str, batch: int, **more: Any) -> Service:
    """Between the two streams."""
    given = {"recipe": ".", "from": broker.place("IN"), "to": broker.place("OUT"), "state": folder / "state"}
    return make_service(Recipe(**RECIPE), ServiceSettings.load(None, {**given, "batch": batch, **MODES[mode], **more}))


def watched(one: Service, state: Path, seen: Path) -> None:
    """Run; once a second, note how it is."""
    began, last = time.monotonic(), [time.monotonic(), 0, time.process_time()]
    with seen.open("w", buffering=1) as file:

        def tell(count: int, done: Any, seconds: float) -> None:
            now = time.monotonic()
            if now - last[0] < 1.0:
                return
            records, used = one.watch.records, time.process_time()
            p50, p99 = np.percentile(one.watch.latencies, [50, 99]).tolist()
            point = {
                "second": round(now - began, 1),
                "records": records,
                "records_per_s": round((records - last[1]) / (now - last[0])),
                "records_per_cpu_s": round((records - last[1]) / max(used - last[2], 1e-6)),
                "memory_mb": round(megabytes_now() or 0.0, 1),
                "p50_ms": round(1e3 * p50, 2),
                "p99_ms": round(1e3 * p99, 2),
                "state_mb": round(sum(one.stat().st_size for one in state.iterdir()) / 1e6, 1),
            }
            file.write(json.dumps(point) + "\n")
            last[:] = [now, records, used]

        one.watch.told.append(tell)
        one.run(own_process=True)


def feed(broker: LocalBroker, seconds: float, place: Path) -> None:
    """Send while the time lasts, at most so many records ahead of what came out."""
    records, sent, began = stamped(bodies(50_000)), SEND if broker.kind == "redis" else 0, time.monotonic()
    ask, told = asking(broker), began
    with broker.producer("IN") as send:
        while time.monotonic() - began < seconds:
            if time.monotonic() - told > 30:
                told = time.monotonic()
                print(f"{told - began:.0f} of {seconds:.0f} s: {sent:,} records sent", file=sys.stderr, flush=True)
            if sent - ask() > AHEAD:
                time.sleep(0.01)
                continue
            for _ in range(10):
                send([next(records) for _ in range(SEND)])
                sent += SEND


def asking(broker: LocalBroker) -> Any:
    """How many records came out; whoever asks also trims."""
    if broker.kind == "nats":
        from oboro.service.nats import NatsLink

        link = NatsLink(broker._address("OUT"))  # type: ignore[attr-defined]
        link.connect()
        return lambda: link.info().state.last_seq
    client = broker._client()  # type: ignore[attr-defined]

    def ask() -> int:
        if not client.exists("OUT"):
            return 0
        client.xtrim("IN", maxlen=KEPT, approximate=True)
        client.xtrim("OUT", maxlen=KEPT, approximate=True)
        return int(client.xinfo_stream("OUT")["last-generated-id"].split(b"-")[0])

    return ask


def started_again(one: Service, place: Path) -> None:
    """From the start until it is ready."""
    began, used = time.perf_counter(), time.process_time()

    def looped() -> None:
        took = {"seconds": round(time.perf_counter() - began, 3), "cpu_seconds": round(time.process_time() - used, 3)}
        place.write_text(json.dumps(took))

    one._loop = looped  # type: ignore[method-assign]
    one.run()


def summary(points: list[dict[str, Any]]) -> dict[str, Any]:
    """The middle of the second quarter of the time and of the last: what grows shows there."""
    quarter = max(1, len(points) // 4)
    parts = {"second_quarter": points[quarter : 2 * quarter], "last_quarter": points[-quarter:]}
    names = [name for name in points[0] if name not in ("second", "records")]
    found = {
        part: {name: float(np.median([one[name] for one in some])) for name in names} for part, some in parts.items()
    }
    return {"seconds": points[-1]["second"], "records": points[-1]["records"], **found}


if __name__ == "__main__":
    main()
