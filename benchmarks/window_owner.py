"""How often the owner of a centroid's first release can be guessed: places kept, and places exchanged.

    python -m benchmarks.window_owner > benchmarks/results/window_owner.json

The attacker knows everybody's tuples, is even told who is in each group, and names the owner of the first place at which its
centroid comes out. With `grow` the guess is the member farthest from the centroid, with `paper` the one whose greatest distance to
the others is least. Blind guessing is right once in a group's size.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from typing import Any

import numpy as np

from oboro.stream import Window

RECORDS, WINDOW, SEEDS = 4000, 500, 5
SMALL: dict[str, dict[str, int]] = {"fdh": {"anchors": 3, "sets": 10}, "fdhq": {"anchors": 2, "sets": 10}}


def run(points: np.ndarray, k: int, **options: Any) -> tuple[list[bool], float, float]:
    """Whether each guess was right, how often a blind one would be, and the loss per record."""
    names = [f"a{i}" for i in range(points.shape[1])]
    stream = Window(names, k, WINDOW, scaling="none", keep=["who"], **options)
    records = [{**dict(zip(names, row, strict=True)), "who": i} for i, row in enumerate(points.tolist())]
    groups: dict[tuple[float, ...], list[int]] = defaultdict(list)
    for one in stream.push_many(records) + stream.flush():
        groups[tuple(one[name] for name in names)].append(one["who"])
    right, blind = [], 0.0
    for centre, owners in groups.items():
        members = points[owners]
        if len(owners) > 2 * k - 1 or not np.allclose(members.mean(axis=0), centre):
            continue  # somebody joined later
        outlying = ((members - centre) ** 2).sum(axis=1)
        central = -((members[:, None] - members[None]) ** 2).sum(axis=2).max(axis=1)
        right.append(int(np.argmax(outlying if options["group"] == "grow" else central)) == 0)
        blind += 1 / len(owners)
    return right, blind, float(stream.stats()["loss"])


def main() -> None:
    """One row for each setting, over several streams."""
    rows = []
    for k in (3, 5, 10):
        for d in (2, 8):
            for group in ("grow", "paper"):
                for order, index in (
                    ("kept", "auto"),
                    *(("exchanged", i) for i in ("auto", "exhaustive", "fdh", "fdhq")),
                ):
                    if index in SMALL and (k, d) != (5, 8):
                        continue
                    right: list[bool] = []
                    losses: list[float] = []
                    blind = 0.0
                    for seed in range(SEEDS):
                        points = np.random.default_rng(seed).normal(size=(RECORDS, d))
                        more = {"index": index, **SMALL.get(index, {})}
                        found = run(points, k, group=group, order=order, **more)
                        right, blind, losses = right + found[0], blind + found[1], [*losses, found[2]]
                    share = float(np.mean(right))
                    rows.append(
                        {
                            "k": k, "d": d, "group": group, "order": order, "index": index, "groups": len(right),
                            "right": round(share, 4), "error": round(1.96 * float(np.sqrt(share * (1 - share) / len(right))), 4),
                            "blind": round(blind / len(right), 4), "loss": round(float(np.mean(losses)), 6),
                        }
                    )  # fmt: skip
                    print(rows[-1], file=sys.stderr)
    print(json.dumps({"command": "python -m benchmarks.window_owner", "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
