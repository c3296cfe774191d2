"""The commands that are killed: from a table to a table, and from a stream to a stream, each with files that they need.

Every record has a name that no release may hold (`CANARY`) and a number that tells it from all others.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CANARY = "Kanarienvogel"
SEED = 0x6F626F726F_6F626F726F_6F626F726F
BATCH_RECIPE = f"""
person: name
attributes:
  name: {{role: identifier}}
  age: {{role: quasi, hierarchy: {{intervals: [10, 40]}}}}
  sex: {{role: quasi}}
  disease: {{role: sensitive}}
  note: {{role: other}}
steps:
  - drop_columns: {{attributes: [name]}}
  - k_anonymize: {{k: 5, suppress: 0.2}}
seed: {SEED}
accept: {{unique_on: [note], because: made up}}
"""
STREAM_RECIPE = """
attributes:
  name: {role: identifier}
  age: {role: quasi, hierarchy: {intervals: [10, 40]}}
  sex: {role: quasi}
  note: {role: other}
steps:
  - drop_columns: {attributes: [name]}
  - k_anonymize: {k: 3}
"""
WINDOW_RECIPE = STREAM_RECIPE.replace(", hierarchy: {intervals: [10, 40]}", "")
OLD = b"what was there before\n"


def people(count: int) -> list[dict[str, Any]]:
    rng = random.Random(1)
    return [
        {
            "name": f"{CANARY} {n}",
            "age": min(99, int(rng.expovariate(0.03))),
            "sex": rng.choice("FM"),
            "disease": rng.choice("abcd"),
            "note": f"n{n}",
        }
        for n in range(count)
    ]


@dataclass(frozen=True)
class Command:
    """Words for the command line, run in a folder of its own."""

    name: str
    kind: str  # batch or stream
    words: tuple[str, ...]
    lay_out: Callable[[Path], None]
    outputs: tuple[str, ...]
    private: frozenset[str] = frozenset()  # outputs that nobody else may read
    lists: tuple[str, ...] = ()  # of whose rows they are: never less than the table itself
    raw: frozenset[str] = frozenset()  # files that hold raw values, as their owner was told
    large: bool = False  # as for tables larger than memory
    piped: bool = False  # the output goes to a pipe
    slow: bool = False  # takes a second: killed at chosen moments, seldom by chance
    forms: dict[str, str] = field(default_factory=dict)


# Tables ---------------------------------------------------------------------------------------------------------------


def _table(folder: Path) -> None:
    rows = people(400)
    text = "".join(",".join(str(value) for value in row.values()) + "\n" for row in rows)
    (folder / "in.csv").write_text(",".join(rows[0]) + "\n" + text)
    (folder / "recipe.yaml").write_text(BATCH_RECIPE)


def _table_and_old(folder: Path) -> None:
    _table(folder)
    (folder / "out.csv").write_bytes(OLD)


def _parquet(folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    _table(folder)
    pq.write_table(pa.Table.from_pylist(people(400)), folder / "in.parquet", row_group_size=100)


def _anonymize(name: str, source: str, *outputs: str, more: tuple[str, ...] = (), **how: Any) -> Command:
    words = ("anonymize", source, "-r", "recipe.yaml", "-o", how.pop("place", outputs[0]), *more)
    return Command(name, "batch", words, how.pop("lay_out", _table), outputs, **how)


LISTS = ("truth.csv", "ledger.csv")
BATCHES = [
    _anonymize("CSV to CSV", "in.csv", "out.csv"),
    _anonymize("CSV to CSV that replaces a file", "in.csv", "out.csv", more=("--force",), lay_out=_table_and_old),
    _anonymize("CSV to CSV, columns stay in the file", "in.csv", "out.csv", large=True),
    _anonymize("CSV to Parquet, columns stay in the file", "in.csv", "out.parquet", large=True),
    _anonymize("Parquet to Parquet, columns stay in the file", "in.parquet", "out.parquet", large=True, lay_out=_parquet),
    _anonymize("CSV to packed CSV", "in.csv", "out.csv.gz", large=True),
    _anonymize("CSV to Excel", "in.csv", "out.xlsx"),
    _anonymize(
        "CSV to CSV with truth and ledger",
        "in.csv",
        "out.csv",
        *LISTS,
        more=("--truth", LISTS[0], "--ledger", LISTS[1]),
        private=frozenset(LISTS),
        lists=LISTS,
        raw=frozenset(LISTS[1:]),
    ),
    _anonymize("CSV to standard output", "in.csv", "out.csv", place="-", piped=True),
    _anonymize(
        "CSV to CSV with a report",
        "in.csv",
        "out.csv",
        "report.html",
        more=("--report", "report.html"),
        private=frozenset({"report.html"}),
        slow=True,
    ),
]  # fmt: skip


# Streams --------------------------------------------------------------------------------------------------------------

BAD = {"ndjson": [b'{"name": 1\n', b"[1]\n", b'{"age": 3}\n'], "csv": [b'a,"b\n', b"1,2\n"]}


def _stream_lines(form: str) -> list[bytes]:
    rows = [{name: row[name] for name in ("name", "age", "sex", "note")} for row in people(160)]
    if form == "ndjson":
        lines = [json.dumps(row).encode() + b"\n" for row in rows]
    else:
        lines = [",".join(map(str, row.values())).encode() + b"\n" for row in rows]
    for place, bad in enumerate(BAD[form]):
        lines.insert(20 + 40 * place, bad)
    return lines if form == "ndjson" else [b"name,age,sex,note\n", *lines]


def _lay_out_stream(form: str, recipe: str) -> Callable[[Path], None]:
    def lay_out(folder: Path) -> None:
        (folder / f"in.{form}").write_bytes(b"".join(_stream_lines(form)))
        (folder / "recipe.yaml").write_text(recipe)

    return lay_out


def _stream(name: str, mode: str, form: str, *more: str, piped: bool = False) -> Command:
    output = f"out.{form}"
    words = ("stream", "-r", "recipe.yaml", "--from", f"in.{form}", "--to", "-" if piped else output, "--mode", mode)
    recipe = WINDOW_RECIPE if mode == "window" else STREAM_RECIPE
    raw = frozenset({"dead.ndjson", "state"})
    return Command(
        name,
        "stream",
        (*words, "--state", "state", "--dead-letters", "dead.ndjson", *more),
        _lay_out_stream(form, recipe),
        (output,),
        private=frozenset({output, *raw}),
        raw=raw,
        piped=piped,
        forms={"form": form},
    )


WINDOW = ("--window", "30", "--categories", "sex")
STREAMS = [
    _stream("NDJSON without delay", "swap", "ndjson"),
    _stream("CSV without delay, synced", "count", "csv", "--fsync"),
    _stream("NDJSON in a window", "window", "ndjson", *WINDOW),
    _stream("CSV in a window", "window", "csv", *WINDOW),
    _stream("NDJSON to a pipe", "swap", "ndjson", piped=True),
]
COMMANDS = {one.name: one for one in (*BATCHES, *STREAMS)}
