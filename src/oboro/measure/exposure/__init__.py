"""Who is exposed by a table as it stands: exact counts over all rows, from codes alone.

- `exposure`: how far a set of columns tells records apart (distinction, separation), and whom it singles out.
- `unique_people`: who is unique by one column, by two, by all of some columns; ranked.
- `certain_secrets`: for whom a sensitive value is certain, or nearly, from the class alone.
- `rare_values`: values that fewer than k records hold.

A missing value and `*` are values like any other, but `*` is never a rare one. With `person`, the column that says whose rows
these are, people are counted instead of records.
"""

from oboro.measure.exposure.secret_certainty import CertainSecrets, certain_secrets
from oboro.measure.exposure.separation import Exposure, exposure
from oboro.measure.exposure.unique_by_columns import UniqueBy, UniquePeople, unique_people
from oboro.measure.exposure.value_rarity import RareValues, rare_values

__all__ = [
    "CertainSecrets",
    "Exposure",
    "RareValues",
    "UniqueBy",
    "UniquePeople",
    "certain_secrets",
    "exposure",
    "rare_values",
    "unique_people",
]
