"""The large-scale library's table on this machine: the optimal generalization of purchase histories."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from oboro.app.bench.rows import Row
from oboro.io.synth_purchases import purchases, purchases_hierarchies
from oboro.table.dataset import Column, Dataset
from oboro.table.schema import Attribute, Schema
from oboro.techniques.base import Work
from oboro.techniques.k_anonymize import KAnonymize

__all__ = ["rows"]

# Seconds for k-anonymization on 8 cores with 96 GB of heap; ARX in the same paper (None: it failed).
PAPER = {1_000_000: 32.0, 10_000_000: 274.0, 100_000_000: 6118.0}
QUICK = (100_000, 1_000_000)
QUASI = ("job", "sex", "address", "birthdate")


def rows(*, quick: bool, progress: Callable[[str], None]) -> list[Row]:
    """Search, generalize and suppress, from encoded columns: k = 3, a tenth may be suppressed, 72 nodes."""
    schema = _schema()
    _anonymize(_made_up(50_000), schema)  # compiles what is not compiled yet
    found = []
    for count in QUICK if quick else (1_000_000, 10_000_000):
        progress(f"making up {count} rows")
        data = _made_up(count)
        progress(f"anonymizing {count} rows")
        seconds, facts = _anonymize(data, schema)
        parameters = {"n": count, "k": 3, "suppress": 0.1}
        paper = PAPER.get(count)
        found.append(Row("library", "k_anonymize", parameters, "seconds", seconds, paper, seconds))
        found.append(Row("library", "k_anonymize", parameters, "loss", facts["loss"]["value"], None, seconds))
        evaluated = float(facts["lattice"]["evaluated"])
        found.append(Row("library", "k_anonymize", parameters, "nodes looked at", evaluated, None, seconds))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found.append(Row("library", "k_anonymize", {}, "peak MB", peak))
    return found


def _anonymize(data: Dataset, schema: Schema) -> tuple[float, Any]:
    started = time.perf_counter()
    outcome = KAnonymize(k=3, suppress=0.1).run(Work(data, schema, np.random.default_rng(0)))
    return time.perf_counter() - started, outcome.facts


def _schema() -> Schema:
    tables = purchases_hierarchies()
    forms: dict[str, Any] = {
        "job": {"rows": tables["job"]},
        "sex": None,
        "address": {"rows": tables["address"]},
        "birthdate": {"dates": ["day", "month", "year"], "star": False},
    }
    return Schema(
        {name: Attribute.model_validate({"role": "quasi", "hierarchy": form}) for name, form in forms.items()}
    )


def _made_up(count: int) -> Dataset:
    """The four columns, block by block: only their codes are ever held."""
    blocks = [Dataset.from_arrow(block) for block in purchases(count, columns=len(QUASI))]
    return Dataset({name: _joined([block[name] for block in blocks]) for name in QUASI}, count)


def _joined(parts: list[Column]) -> Column:
    """Columns of several blocks as one: dictionaries are merged, codes looked up."""
    merged = pa.concat_arrays([part.values for part in parts]).dictionary_encode(null_encoding="encode")
    tables = np.split(
        merged.indices.to_numpy(zero_copy_only=False), np.cumsum([len(part.values) for part in parts])[:-1]
    )
    codes = [table.astype(np.uint32)[part.codes] for table, part in zip(tables, parts, strict=True)]
    return Column(merged.dictionary, np.concatenate(codes)).tidy()
