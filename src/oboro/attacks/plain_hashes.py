"""Dictionary attack on unsalted hashes: names, postcodes and numbers hashed without a secret key.

An attacker can hash every name of a telephone book, every postcode or every number of nine digits, and look the results
up. Released columns that look like digests are searched for the plain digests of original values.
"""

from __future__ import annotations

import hashlib
import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro.attacks.base import Attack, AttackKind, AttackMethod, AttackTarget, Rate, people_table
from oboro.data.column import Column
from oboro.hierarchies.hierarchy import text_array
from oboro.text import Message

__all__ = ["ATTACK", "PlainHashes"]


NOBODYS = Message("attack.control.nobodys")
METHODS = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512")
DIGEST = re.compile(r"^[0-9a-f]{12,128}$", re.IGNORECASE)  # shorter ones would agree by chance
LETTER = re.compile(r"[a-f]", re.IGNORECASE)
LOOKED_AT = 50  # values, to see whether a column holds digests
FEWEST = 20  # values of a column that are worth guessing


class PlainHashes(AttackMethod):
    """Guess every original column in every released one that looks like digests, and report the pair that is guessed best.

    O(attempts) for each original column, and one look-up in a dictionary. The control are values that no person has.
    """

    kinds = (AttackKind("plain_hashes", "linkability", "identity"),)
    knows = "a list of the values that may be behind digests, such as all names"
    draws_first = True

    def run(self, target: AttackTarget) -> list[Attack]:
        """Guess; nothing where no column looks like digests."""
        original, released = target.original, target.released
        asked = [name for name in released if _looks_hashed(released[name])]
        drawn = {name: _values(original[name], target.attempts, target.rng) for name in original} if asked else {}
        tried = [
            (_found(values, released[column]), len(values), source, column)
            for source, values in drawn.items()
            for column in asked
            if len(values) >= FEWEST
        ]
        if not tried:
            return []
        right, count, source, column = max(tried, key=lambda one: (one[0] / one[1], one[1]))
        control = _found([f"{value}\0" for value in drawn[source]], released[column])
        names = tuple(dict.fromkeys((source, column)))
        return [self.kinds[0].attack(names, Rate(right, count), Rate(control, count), NOBODYS)]

    def example(self) -> AttackTarget:
        """A table with the plain digests of a column."""
        table = people_table()
        digests = [hashlib.sha256(str(age).encode()).hexdigest() for age in table["age"].decode().to_pylist()]
        return AttackTarget(table, table.with_columns({"code": Column.of(digests)}), quasi=["age"])


def _looks_hashed(column: Column) -> bool:
    some = [text for text in text_array(column.values.slice(0, LOOKED_AT)).to_pylist() if text]
    return bool(some) and all(map(DIGEST.match, some)) and any(map(LETTER.search, some))


def _values(column: Column, attempts: int, rng: np.random.Generator) -> list[str]:
    """Some different values, as text."""
    rows = rng.choice(len(column.values), min(attempts, len(column.values)), replace=False)
    return [text for text in text_array(column.values.take(pa.array(rows))).to_pylist() if text is not None]


def _found(values: list[str], column: Column) -> int:
    """For how many values some digest, cut to the length of the released ones, is there."""
    texts = pc.utf8_lower(text_array(column.values))
    lengths = {len(text) for text in texts.slice(0, LOOKED_AT).to_pylist() if text}
    hits = np.zeros(len(values), dtype=bool)
    for method in METHODS:
        digests = [hashlib.new(method, value.encode(), usedforsecurity=False).hexdigest() for value in values]
        for length in lengths:
            cut = pa.array([digest[:length] for digest in digests], pa.string())
            hits |= pc.is_in(cut, value_set=texts).to_numpy(zero_copy_only=False)
    return int(hits.sum())


ATTACK = PlainHashes()
