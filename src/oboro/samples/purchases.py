"""Example data of purchase histories of any size: the workload of the large-scale library paper (its figure 7 and table 3).

Four quasi-identifiers (job, sex, address, birth date), a name, then repeated purchases of five columns each. With
100 columns that is the paper's table: 5 + 19 · 5. Blocks are made one at a time, each from its own random numbers, so
100 million rows need the memory of one block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro.errors import UsageError
from oboro.samples.people import FEMALE_NAMES, MALE_NAMES, PREFECTURES, SURNAMES, TOWNS, commented
from oboro.text import Message

__all__ = ["BLOCK", "purchases", "purchases_hierarchies", "purchases_recipe"]


Rows = list[tuple[str, ...]]

BLOCK = 1 << 18  # rows made at a time: 100 columns of them take about 0.3 GB
WIDE = 400  # columns from which on fewer rows are made at a time
PLACES, CHOME, BANCHI = 5000, 5, 20
FIRST_BIRTH, LAST_BIRTH = np.datetime64("1950-01-01"), np.datetime64("2009-12-31")
FIRST_PURCHASE, PURCHASE_DAYS = np.datetime64("2024-04-01T00:00"), 90
QUASI = ("job", "sex", "address", "birthdate")
PURCHASE = ("store", "purchased_at", "category", "amount", "points")


def purchases(rows: int, seed: int = 0, columns: int = 100) -> Iterator[pa.Table]:
    """Generate the history as tables of at most `BLOCK` rows; the same seed makes the same rows.

    Up to `WIDE` columns, a table with fewer columns has the same first ones.

    >>> [block.num_rows for block in purchases(300_000, columns=4)]
    [262144, 37856]
    """
    if rows < 1:
        raise UsageError(Message("error_samples.rows", rows=rows))
    names = list(islice(_column_names(), columns))
    if columns < len(QUASI):
        raise UsageError(Message("error_samples.columns", least=list(QUASI), columns=columns))
    step = BLOCK * WIDE // max(columns, WIDE)
    return (
        _block(np.random.default_rng([seed, number]), min(step, rows - start), names)
        for number, start in enumerate(range(0, rows, step))
    )


def _column_names() -> Iterator[str]:
    yield from QUASI
    yield "name"
    number = 1
    while True:
        yield from (f"{name}_{number}" for name in PURCHASE)
        number += 1


def _block(rng: np.random.Generator, rows: int, names: Sequence[str]) -> pa.Table:
    """Each column has random numbers of its own, whatever the others are."""
    streams = rng.spawn(len(names))
    return pa.table({name: _values(stream, rows, name) for name, stream in zip(names, streams, strict=True)})


def _values(rng: np.random.Generator, rows: int, name: str) -> pa.Array:
    what = name.rpartition("_")[0] or name
    if what in _NUMBERS:
        low, high, kind = _NUMBERS[what]
        return pa.array(rng.integers(low, high + 1, rows, dtype=kind))
    if what == "birthdate":
        days = rng.integers(0, (LAST_BIRTH - FIRST_BIRTH).astype(int) + 1, rows)
        return pa.array(FIRST_BIRTH + days.astype("timedelta64[D]"))
    if what == "name":
        return pc.binary_join_element_wise(_pick(rng, rows, "surname"), _pick(rng, rows, "given"), " ")
    return _pick(rng, rows, what)


_NUMBERS: dict[str, tuple[int, int, type[np.signedinteger]]] = {
    "job": (1, 24, np.int8),
    "category": (1, 24, np.int8),
    "amount": (1_000, 100_000, np.int32),
    "points": (0, 10_000, np.int16),
}


def _pick(rng: np.random.Generator, rows: int, what: str) -> pa.Array:
    values = _texts(what)
    return values.take(pa.array(rng.integers(0, len(values), rows, dtype=np.int32)))


@cache
def _texts(what: str) -> pa.Array:
    """The texts that a column may hold; made once, not once per block."""
    made = {
        "sex": lambda: ["女", "男"],
        "address": lambda: [row[0] for row in _address_rows()],
        "store": lambda: [chr(ord("A") + i) for i in range(26)],
        "purchased_at": _minutes,
        "surname": _surnames,
        "given": _given_names,
    }
    return pa.array(made[what]())


def _minutes() -> list[str]:
    """Every minute of the period, written as in the paper: year-month-day hour-minute."""
    minutes = FIRST_PURCHASE + np.arange(PURCHASE_DAYS * 24 * 60).astype("timedelta64[m]")
    return [text.replace("T", " ").replace(":", "-") for text in np.datetime_as_string(minutes).tolist()]


def _surnames() -> list[str]:
    """5000 of them, by putting two real ones together."""
    return [a + b for a in SURNAMES for b in SURNAMES if a != b][:5000]


def _given_names() -> list[str]:
    pairs = [(a, b) for a in FEMALE_NAMES for b in MALE_NAMES]
    return [a + b for a, b in pairs] + [b + a for a, b in pairs][: 5000 - len(pairs)]


def _places() -> Iterator[tuple[str, str]]:
    """5000 towns and the prefecture of each."""
    every = (
        (f"{place.name}{city}{town}", place.name) for town in TOWNS for place in PREFECTURES for city in place.cities
    )
    return islice(every, PLACES)


def _address_rows() -> Rows:
    """town-chome-banchi, town-chome, town, prefecture."""
    return [
        (f"{town}{chome}-{banchi}", f"{town}{chome}丁目", town, prefecture)
        for town, prefecture in _places()
        for chome in range(1, CHOME + 1)
        for banchi in range(1, BANCHI + 1)
    ]


def purchases_hierarchies() -> dict[str, Rows]:
    """Return the paper's hierarchies of job (24 codes, 4 groups, 2 groups) and address (4 levels); 500,000 addresses.

    >>> purchases_hierarchies()["job"][6]
    ('7', '7-12', '1-12')
    """
    jobs: Rows = [(str(job), _span(job, 6), _span(job, 12)) for job in range(1, 25)]
    return {"job": jobs, "address": _address_rows()}


def _span(job: int, width: int) -> str:
    start = (job - 1) // width * width + 1
    return f"{start}-{start + width - 1}"


def purchases_recipe(folder: str = "hierarchies", columns: int = 100, lang: str = "en") -> str:
    """Return the paper's task as a recipe: k = 3, a tenth may be suppressed; the lattice has 3 · 2 · 4 · 3 = 72 nodes."""
    named = columns > len(QUASI)
    text = PURCHASES_RECIPE.replace("FOLDER", folder)
    purchases = list(islice(_column_names(), columns))[len(QUASI) + 1 :]
    text += ACCEPT.replace("NAMES", ", ".join(purchases)) if purchases else ""
    text = text.replace("NAME\n", NAME_ATTRIBUTE if named else "").replace("DROP\n", DROP_NAME if named else "")
    return commented(text, "purchases", lang)


NAME_ATTRIBUTE = "  name:      {role: identifier}\n"
DROP_NAME = "  - drop_columns: {attributes: [name]}\n"
ACCEPT = """\
# @accept
accept:
  unique_on: [NAMES]
  because: these purchases are made up; those of real people single them out
"""
PURCHASES_RECIPE = """\
# @head
attributes:
  job:       {role: quasi, hierarchy: {csv: FOLDER/job.csv}}  # @job
  sex:       {role: quasi}  # @sex
  address:   {role: quasi, hierarchy: {csv: FOLDER/address.csv}}  # @address
  birthdate: {role: quasi, hierarchy: {dates: [day, month, year], star: false}}
NAME
unnamed: other  # @unnamed
steps:
DROP
  - k_anonymize: {k: 3, suppress: 0.1}
"""
