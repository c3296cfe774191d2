"""Writes the figures of services into docs/service.md, between their marks.

python -m benchmarks service --output benchmarks/results   100 kills of each broker, all costs, ten minutes; --full: 10,000 kills
python -m benchmarks.service_soak --seconds 600 --broker nats --mode swap
python -m benchmarks.service_soak --seconds 600 --broker redis --mode window
python -m benchmarks.service_state --records 10000000
python docs/service.py
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/service.md"
RESULTS = ROOT / "benchmarks/results"
NAMES = {
    "nats": "NATS",
    "redis": "Valkey",
    "kafka": "Kafka (mock cluster)",
    "mqtt": "MQTT (mosquitto)",
    "rabbitmq": "RabbitMQ",
}
COUNTS = ("kills", "streams", "cuts", "woken", "refusals", "lost", "doubled", "two_forms", "promise_broken", "failed")
GOALS = {
    ("nats", 256): "1.3 times",
    ("redis", 256): "2 times",
    ("nats", 1000): "20,000 a second",
    ("redis", 1000): "50,000 a second",
}

Figures = dict[tuple[str, tuple[tuple[str, Any], ...]], dict[str, float]]


def figures(run: dict[str, Any], table: str) -> Figures:
    """The metrics of each broker and its parameters, in the order of the run."""
    found: Figures = defaultdict(dict)
    for row in run["rows"]:
        if row["table"] == table:
            found[row["method"], tuple(row["parameters"].items())][row["metric"]] = row["ours"]
    return found


def kills(run: dict[str, Any]) -> str:
    """What was killed, and what was found wrong."""
    heads = [
        "kills",
        "streams",
        "cuts",
        "woken",
        "states refused",
        "lost",
        "doubled",
        "in two forms",
        "promise broken",
        "other faults",
    ]
    lines = [f"| | {' | '.join(heads)} |", "|---|" + "--:|" * len(heads)]
    for (broker, _), found in figures(run, "kills").items():
        lines.append(f"| {NAMES[broker]} | {' | '.join(f'{found[name]:,.0f}' for name in COUNTS)} |")
    return "\n".join([said(run), "", *lines])


def cost(run: dict[str, Any]) -> str:
    """Processor time beside a pass-through."""
    lines = [
        "| | blocks of | records for each second of processor time | a second by the clock | times a pass-through | goal |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for (broker, given), found in figures(run, "cost").items():
        if "failed" in found:
            lines.append(f"| {NAMES[broker]} | | not measured | | | |")
            continue
        batch = dict(given)["batch"]
        each = f"{found['records_per_cpu_s']:,.0f} | {found['records_per_s']:,.0f} | {found['cpu_ratio']:.2f}"
        lines.append(f"| {NAMES[broker]} | {batch:,} | {each} | {GOALS.get((broker, batch), '')} |")
    return "\n".join([said(run), "", *lines])


def latency(run: dict[str, Any]) -> str:
    """From the producer until the release is confirmed, and how long a fail-over takes."""
    lines = [said(run), "", "| | records a second | p50 | p99 | p50 added | p99 added |", "|---|--:|--:|--:|--:|--:|"]
    for (broker, given), found in figures(run, "latency").items():
        names = ("p50_ms", "p99_ms", "added_p50_ms", "added_p99_ms")
        cells = [f"{found[name]:.1f} ms" if name in found else "" for name in names]
        disk = f", `appendfsync {dict(given)['appendfsync']}`" if "appendfsync" in dict(given) else ""
        lines.append(f"| {NAMES[broker]}{disk} | {dict(given)['rate']:,} | {' | '.join(cells)} |")
    took = [
        f"{found['fail_over_s']:.1f} s on {NAMES[broker]} (lease {dict(given)['lease']:g} s)"
        for (broker, given), found in figures(run, "fail-over").items()
    ]
    disk = "With `appendfsync always` the server waits for its disk twice for each record: for the producer and for the release."
    near = "Where nothing is added, it is measured from the arrival at the service on."
    over = ["", f"**Fail-over** after a leader was stopped without a word: {', '.join(took)}."] if took else []
    return "\n".join([*lines, "", near, disk, *over])


def soak(runs: list[dict[str, Any]]) -> str:
    """Each run: rate, memory, the state and the next start."""
    heads = [
        "records",
        "a second of the processor",
        "memory, second quarter",
        "memory, last quarter",
        "state at the end",
        "start after a kill: processor",
        "clock",
    ]
    lines = [f"| | {' | '.join(heads)} |", "|---|" + "--:|" * len(heads)]
    for one in runs:
        early, late = one["second_quarter"], one["last_quarter"]
        cells = [
            f"{one['records']:,}",
            f"{late['records_per_cpu_s']:,.0f}",
            f"{early['memory_mb']:.0f} MB",
            f"{late['memory_mb']:.0f} MB",
        ]
        cells += [
            f"{late['state_mb']:.0f} MB",
            f"{one['restart']['cpu_seconds']:.1f} s",
            f"{one['restart']['seconds']:.0f} s",
        ]
        lines.append(f"| `{one['command']}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def state(run: dict[str, Any]) -> str:
    """How large a state is after so many records."""
    lines = ["| records seen | snapshot | saved in | taken up in | memory at most |", "|--:|--:|--:|--:|--:|"]
    for one in run["over_records"]:
        took = f"{one['save_cpu_s']:.2f} s | {one['restore_cpu_s']:.2f} s"
        lines.append(f"| {one['records']:,} | {one['snapshot_mb']:.1f} MB | {took} | {one['memory_mb']:,} MB |")
    return "\n".join([f"`{run['command']}`, seconds of processor time:", "", *lines])


def said(run: dict[str, Any]) -> str:
    """Which command, when, on what."""
    machine = run["machine"]
    return f"`{run['command']}`, {run['date']}, {machine['cores']} cores ({machine['processor']})" + (
        f", {run['note']}:" if run.get("note") else ":"
    )


def filled(page: str) -> str:
    """The page with the figures of the results that there are."""
    found: dict[str, str] = {}
    service = _read("service")
    if isinstance(service, dict):  # with the command and the machine
        writers = (cost, latency) if "--quick" in service["command"] else (kills, cost, latency)
        found |= {write.__name__: write(service) for write in writers}
    if runs := [one for path in sorted(RESULTS.glob("service_soak_*.json")) if (one := _read(path.stem))]:
        found["soak"] = soak(runs)
    if (seen := _read("service_state")) is not None:
        found["state"] = state(seen)
    for name, text in found.items():
        new: Callable[[re.Match[str]], str] = lambda m, text=text: m[1] + text + m[2]  # noqa: E731
        page = re.sub(rf"(<!-- {name} -->\n).*?(\n<!-- end -->)", new, page, flags=re.DOTALL)
    return page


def _read(name: str) -> Any:
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text()))
