"""Turn the remedies behind the guarantee pages off, one at a time, and see that a test of each goes red.

    python -m tests.mutations [POINT …]

Each mutation is a small edit of a copy of the sources: what the code did, or would do, without the remedy. The tests that it
names are then run on the copy, and must fail; on the sources as they are they pass (`make test`). Ends with 1 where a mutation
stays unnoticed, and with 2 where an edit no longer fits the sources. Not part of `make test`: it takes some minutes.
`docs/guarantees/README.md` says what it showed, and `tests/test_guarantees.py` that every edit fits and every point has one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
POINTS = {
    "owner": "the owner of a place in a window",
    "digits": "the last digits of a mean",
    "nobody": "people and secrets that are missing",
    "spelling": "a value that the recipe spells otherwise",
    "minimality": "what the choice of classes tells",
    "composition": "several promises together",
    "row order": "the order of the rows",
    "seed": "a seed that can be guessed",
    "series": "a series of releases",
    "restart": "a stream that is taken up again",
    "readers": "the strictest reader, near-duplicates, local suppression, errors in a log",
}


@dataclass(frozen=True)
class Mutation:
    """What is turned off, and who must notice."""

    point: str
    without: str
    edits: tuple[tuple[str, str, str], ...]  # a file below `src/oboro`, what it says, what it says without the remedy
    tests: str  # a file of tests
    chosen: str = ""  # pytest's -k

    def misfits(self, sources: Path = ROOT / "src") -> list[str]:
        """The files that do not say what is to be edited exactly once."""
        return [name for name, old, _ in self.edits if (sources / "oboro" / name).read_text("utf-8").count(old) != 1]

    def apply(self, sources: Path) -> None:
        """Edit a copy of the sources."""
        for name, old, new in self.edits:
            path = sources / "oboro" / name
            path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")


STEPS = GROUPS = "stream/window/kernels.py"
MUTATIONS = (
    Mutation(
        "owner",
        "members of a group leave in their own places",
        ((STEPS, "if rules.exchange:", "if rules.exchange and size < 0:"),),
        "tests/stream/test_window_owner.py",
        "anybody_of_its_group or equally_likely",
    ),
    Mutation(
        "digits",
        "a window adds in the order of its members",
        (
            (GROUPS, "values[i, m] = b if a > b else a", "values[i, m] = a"),
            (GROUPS, "values[i + 1, m] = a if a > b else b", "values[i + 1, m] = b"),
            (GROUPS, "(values[total, m] + values[lost, m]) / max(present, 1)", "values[total, m] / max(present, 1)"),
            (GROUPS, "min(max(mean, values[0, m]), values[present - 1, m])", "mean"),
        ),
        "tests/stream/test_window_owner.py",
        "digits",
    ),
    Mutation(
        "digits",
        "a table adds in the order of its rows",
        (
            (
                "techniques/columns.py",
                "order = np.lexsort((numbers, groups.labels))",
                'order = np.argsort(groups.labels, kind="stable")',
            ),
        ),
        "tests/techniques/test_microaggregate.py",
    ),
    Mutation(
        "nobody",
        "not-a-number is a person, and another one each time",
        (("stream/delay_free/coder.py", "MISSING if tells_nothing(value) else", "MISSING if value is None else"),),
        "tests/stream/test_missing_people.py",
    ),
    Mutation(
        "nobody",
        "the verifier counts not-a-number as people",
        (("verifier/stream.py", "-1 if tells_nothing(one) else", "-1 if one is None else"),),
        "tests/stream/test_missing_people.py",
    ),
    Mutation(
        "spelling",
        "values are compared as text",
        (
            (
                "data/matching.py",
                "return found | np.isin(numbers_of(values, name), places) if any(map(np.isfinite, places)) else found",
                "return found",
            ),
        ),
        "tests/recipe/test_recipe_values.py",
        "alpha",
    ),
    Mutation(
        "spelling",
        "a value that nobody has passes silently",
        (
            (
                "algorithms/lattice/constraints.py",
                "if asked and absent(column, secret, asked):",
                "if asked and absent(column, secret, []):",
            ),
        ),
        "tests/recipe/test_recipe_values.py",
        "nobody_has",
    ),
    Mutation(
        "minimality",
        "`blind` looks at the secrets",
        (("techniques/k_anonymize.py", "() if self.blind else rules", "rules"),),
        "tests/techniques/test_minimality.py",
    ),
    Mutation(
        "composition",
        "each promise is judged over its own columns alone",
        (("verifier/promises.py", "several = len({", "several = 0 > len({"),),
        "tests/recipe/test_composition.py",
    ),
    Mutation(
        "composition",
        "several randomizations are not taken together",
        (
            (
                "disclosure/joint_randomization.py",
                "candidate.guarantees) if facts else None",
                "candidate.guarantees) if () else None",
            ),
        ),
        "tests/recipe/test_composition.py",
    ),
    Mutation(
        "row order",
        "rows keep their order where something is promised",
        (
            (
                "recipe/randomness.py",
                'return order == "shuffled" or (order is None and any(map(attrgetter("promising"), steps)))',
                'return order == "shuffled"',
            ),
        ),
        "tests/attacks/test_row_order.py",
    ),
    Mutation(
        "row order",
        "the attack stops at the first column, and at equal values",
        (("attacks/row_order.py", "while left and len(by) < MOST_KEYS:", "while left and not by:"),),
        "tests/attacks/test_row_order.py",
    ),
    Mutation(
        "seed",
        "no seed is warned of",
        (("recipe/randomness.py", "GUESSABLE = 1 << 64", "GUESSABLE = 0"),),
        "tests/recipe/test_secret_seed.py",
    ),
    Mutation(
        "seed",
        "a secret seed is not asked for",
        (
            (
                "recipe/randomness.py",
                "if recipe.seed_env is None and recipe.seed_file is None:",
                "if recipe.seed_file is None:",
            ),
        ),
        "tests/recipe/test_secret_seed.py",
    ),
    Mutation(
        "series",
        "nobody is held back, and the verifier does not look",
        (
            (
                "techniques/series.py",
                "            if gone.any():\n                break",
                "            gone &= False",
            ),
            ("verifier/series.py", "sizes, broken, sizes", "sizes, broken & False, sizes"),
        ),
        "tests/recipe/test_series.py",
    ),
    Mutation(
        "series",
        "few who came, stayed or left are not broken",
        (("verifier/series.py", "few = self.sizes < wanted.k", "few = self.sizes < 0"),),
        "tests/verifier/test_series.py",
    ),
    Mutation(
        "series",
        "empty text of one release is not the missing value of another",
        (
            (
                "verifier/series.py",
                "told = [column for column in columns if _has_empty(column)]",
                "told: list[Column] = []",
            ),
        ),
        "tests/verifier/test_series.py",
        "empty",
    ),
    Mutation(
        "restart",
        "a mapping may be taken for a date",
        (("stream/anonymizer.py", 'return {"mapping": inner} if inner.keys() in MARKED else inner', "return inner"),),
        "tests/stream/test_restart.py",
        "any_name",
    ),
    Mutation(
        "restart",
        "what is forgotten is not saved with its place",
        (
            (
                "stream/delay_free/stream.py",
                "write_snapshot(Path(path), meta, self._side.dump())",
                'write_snapshot(Path(path), meta, getattr(self._side, "_tidy", int)() or self._side.dump())',
            ),
        ),
        "tests/stream/test_restart.py",
        "break_changes_nothing",
    ),
    Mutation(
        "readers",
        "what one tool merges is merged",
        (("verifier/readings.py", "found = data.finest([*known, *secrets])", "found = data"),),
        "tests/verifier/test_strict_reading.py",
    ),
    Mutation(
        "readers",
        "near-duplicates are not said",
        (("data/folding.py", "return 0 if keys is held.values else", "return 0 if len(keys) >= 0 else"),),
        "tests/verifier/test_near_duplicates.py",
    ),
    Mutation(
        "readers",
        "local recoding that suppresses everybody is an internal error",
        (("techniques/k_anonymize.py", "if len(used) <= 1:", "if len(used) == 1:"),),
        "tests/techniques/test_local_suppression.py",
    ),
    Mutation(
        "readers",
        "errors show values",
        (("text/raw.py", "    return _always[0] or os", "    return True or _always[0] or os"),),
        "tests/cli/test_quiet_errors.py",
    ),
)


def noticed(mutation: Mutation) -> tuple[bool, str]:
    """Whether the tests fail on a copy without the remedy, and the last line that pytest says."""
    with tempfile.TemporaryDirectory() as folder:
        sources = Path(folder) / "src"
        shutil.copytree(ROOT / "src", sources)
        mutation.apply(sources)
        named = ["-k", mutation.chosen] if mutation.chosen else []
        words = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            "--tb=no",
            mutation.tests,
            *named,
        ]
        path = os.pathsep.join([str(sources), str(ROOT)])
        run = subprocess.run(
            words, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
        )
    said = [line for line in run.stdout.splitlines() if line.strip()]
    failed = [line for line in said if line.startswith("FAILED")]
    return run.returncode == 1 and bool(failed), (failed or said or [run.stderr])[-1]


def main() -> int:
    """Apply the mutations of the points that are named, or all, one after the other."""
    chosen = [one for one in MUTATIONS if not sys.argv[1:] or one.point in sys.argv[1:]]
    misfits = {name for one in chosen for name in one.misfits()}
    if misfits:
        print("edits that no longer fit:", *sorted(misfits))
        return 2
    unnoticed = 0
    for one in chosen:
        begin = time.perf_counter()
        red, said = noticed(one)
        unnoticed += not red
        print(
            f"{'red ' if red else 'GREEN'} {one.point}: {one.without} ({time.perf_counter() - begin:.0f} s): {said}",
            flush=True,
        )
    print(f"{len(chosen)} mutations, {unnoticed} unnoticed")
    return int(unnoticed > 0)


if __name__ == "__main__":
    sys.exit(main())
