"""Writes the figures of `make fuzz` and `make faults` into docs/reliability.md, between their marks.

make fuzz CASES=1000000 SEED=16 JSON=benchmarks/results/fuzz.json
make faults KILLS=2000 SEED=16 JSON=benchmarks/results/faults.json
python docs/reliability.py
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/reliability.md"
RESULTS = ROOT / "benchmarks/results"
KINDS = {"traceback": "tracebacks", "hang": "hangs", "crash": "crashes", "difference": "silent differences"}


def fuzz(run: dict[str, Any]) -> str:
    """The table of one run of all fuzzers."""
    head = f"| fuzzer | cases | a second of computing time | longest case | {' | '.join(KINDS.values())} |"
    lines = [head, "|---|--:|--:|--:|" + "--:|" * len(KINDS)]
    for name, one in run["fuzzers"].items():
        rate = one["cases"] / one["cpu_seconds"] if one["cpu_seconds"] else 0.0
        found = " | ".join(str(one[kind]) for kind in KINDS)
        lines.append(f"| `{name}` | {one['cases']:,} | {rate:,.0f} | {one['longest_case_seconds']:.2f} s | {found} |")
    found = " | ".join(f"**{run[kind]}**" for kind in KINDS)
    lines.append(f"| all | **{run['cases']:,}** | | | {found} |")
    used = sum(one["cpu_seconds"] for one in run["fuzzers"].values())
    said = f"`python -m tests.fuzz.run {run['command']}` (what `make fuzz` calls): {run['seconds']:,.0f} s on {run['cores']} cores,"
    said += f" {used:,.0f} s of computing time."
    return "\n".join([said, "", *lines])


def faults(run: dict[str, Any]) -> str:
    """What one run of kills did and found."""
    found = "; ".join(f"{count} {kind}" for kind, count in run["faults"].items())
    said = f"`python -m tests.faults.killer {run['command']}` (what `make faults` calls): **{run['kills']:,} kills**,"
    said += (
        f" {run['interrupts']:,} other ends (SIGTERM, SIGINT, SIGPIPE), {run['ends']:,} commands brought to their end"
    )
    said += f" afterwards, {run['sweeps']:,} times drafts were swept; {run['seconds']:,.0f} s. Found: {found}."
    rows = [f"| {name} | {count:,} |" for name, count in run["by_command"].items()]
    phases = ", ".join(f"{name} {count:,}" for name, count in run["by_phase"].items())
    return "\n".join([said, "", "| command | kills |", "|---|--:|", *rows, "", f"Kills by phase: {phases}."])


def filled(page: str) -> str:
    """The page with the figures of the results that there are."""
    for name, write in (("fuzz", fuzz), ("faults", faults)):
        file = RESULTS / f"{name}.json"
        if file.exists():
            text = write(json.loads(file.read_text()))
            page = re.sub(
                rf"(<!-- {name} -->\n).*?(\n<!-- end -->)",
                lambda m, text=text: m[1] + text + m[2],
                page,
                flags=re.DOTALL,
            )
    return page


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text()))
