"""A distinguisher on neighbouring tables: the largest ε that many runs can show, beside the one that is promised.

For each event (so many released rows or more, or fewer, or exactly so many) the probabilities under both tables are estimated
with intervals of Clopper and Pearson; what they show at least is ln((p − δ) / q), with p from below and q from above. Run:

    python -m benchmarks.differential_privacy --runs 20000
"""

from __future__ import annotations

import argparse
import json
import platform
from math import log
from pathlib import Path

import numpy as np
from scipy.stats import beta

from oboro.algorithms.private_sampling import drawn_records, largest_sampling, least_class_size, noised, noisy_best

RESULT = Path(__file__).parent / "results" / "differential_privacy.json"
SURE = 1e-6  # of each interval, so that all of them together hold


def shown(one: np.ndarray, other: np.ndarray, delta: float) -> float:
    """The largest ε that the runs show."""
    runs, most = one.size, 0.0
    for a, b in ((one, other), (other, one)):
        for cut in np.unique(np.quantile(np.concatenate([a, b]), np.linspace(0.01, 0.99, 99))):
            for event in (np.greater_equal, np.less_equal, np.equal):
                hits, others = int(event(a, cut).sum()), int(event(b, cut).sum())
                low = beta.ppf(SURE, hits, runs - hits + 1) if hits else 0.0
                high = beta.ppf(1 - SURE, others + 1, runs - others) if others < runs else 1.0
                if low > delta:
                    most = max(most, log((low - delta) / high))
    return most


def sampled(members: int, k: int, sampling: float, runs: int) -> np.ndarray:
    """How many rows of one class are released, many times."""
    drawn = np.array([int(drawn_records(members, sampling).sum()) for _ in range(runs)])
    return np.where(drawn >= k, drawn, 0)


def main(runs: int) -> list[dict[str, object]]:
    """Every mechanism, and k-anonymity beside them."""
    rows: list[dict[str, object]] = []
    for epsilon, delta in ((0.5, 1e-3), (1.0, 1e-4), (1.0, 1e-2)):
        sampling = largest_sampling(epsilon)
        k = least_class_size(epsilon, delta, sampling)
        sizes = (k, int(k / sampling), int(1.5 * k / sampling))
        found = [shown(sampled(n, k, sampling, runs), sampled(n + 1, k, sampling, runs), delta) for n in sizes]
        rows.append({"what": "dp_anonymize", "epsilon": epsilon, "delta": delta, "k": k, "shown": max(found)})
    hidden, seen = (np.full(runs, n if n >= 20 else 0) for n in (19, 20))
    rows.append(
        {"what": "k-anonymity alone (k = 20)", "epsilon": None, "delta": 0, "k": 20, "shown": shown(hidden, seen, 0.0)}
    )
    gaussian: float | None
    for epsilon, gaussian in ((1.0, None), (1.0, 1e-4)):
        low, high = (noised(np.full(runs, end), 100.0, epsilon, gaussian, whole=True) for end in (0.0, 100.0))
        name = "noise, laplace" if gaussian is None else "noise, gaussian"
        rows.append(
            {
                "what": name,
                "epsilon": epsilon,
                "delta": gaussian or 0,
                "k": None,
                "shown": shown(low, high, gaussian or 0),
            }
        )
    pairs = ([3, 4, 6], [4, 4, 7])
    one, other = (np.array([noisy_best(np.array(scores), 1, 0.5) for _ in range(runs // 10)]) for scores in pairs)
    rows.append({"what": "levels", "epsilon": 0.5, "delta": 0, "k": None, "shown": shown(one, other, 0.0)})
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    table = main(given.runs)
    for row in table:
        promised = "none" if row["epsilon"] is None else f"{row['epsilon']:g}"
        print(f"{row['what']:28} promised ε {promised:>5} δ {row['delta']:<7g} shown ε ≥ {row['shown']:.2f}")
    if given.write:
        RESULT.write_text(
            json.dumps({"runs": given.runs, "machine": platform.platform(), "rows": table}, indent=1) + "\n"
        )
