"""The releases before a table, made ready for it: in which old class each of its rows stands, and how rows are followed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro.table.dataset import Column, Dataset
from oboro.table.hierarchy import Hierarchy
from oboro.table.hierarchy.levels import text_array
from oboro.verifier.series.earlier_release import EarlierRelease
from oboro.verifier.series.old_places import old_places, released_classes
from oboro.verifier.series.shared_codes import empty_readings, without_empty

__all__ = ["known_series"]


def known_series(
    data: Dataset,
    earlier: Sequence[Dataset],
    quasi: Sequence[str],
    *,
    hierarchies: Mapping[str, Hierarchy],
    secrets: Sequence[str] = (),
    changing: Sequence[str] = (),
    person: str | None = None,
) -> tuple[EarlierRelease, ...]:
    """The releases before a table that is not generalized yet.

    With `person`, a column that all of them have, they are taken as one: what was said of each person, release by release.
    Otherwise each is looked at for itself.
    """
    told = tuple(name for name in secrets if name not in changing)
    if person is not None:
        return tuple(
            _of_people(*_read(data, earlier, merged), quasi, told, person, merged)
            for merged in empty_readings([data, *earlier])
        )
    releases = []
    for table in earlier:
        for merged in empty_readings([data, table]):
            people, (one,) = _read(data, [table], merged)
            classes, place = old_places(people, one, quasi, hierarchies)
            places = classes.labels.astype(np.int64), _by_origin(data, place)
            shared = tuple(name for name in told if name in table)
            releases.append(EarlierRelease(one, *places, tuple(quasi), shared, tuple(changing), merged=merged))
    return tuple(releases)


def _read(data: Dataset, earlier: Sequence[Dataset], merged: bool) -> tuple[Dataset, list[Dataset]]:
    return (without_empty(data), list(map(without_empty, earlier))) if merged else (data, list(earlier))


def _by_origin(data: Dataset, place: np.ndarray) -> np.ndarray:
    rows = data.origin_rows
    out = np.full(int(rows.max(initial=-1)) + 1, -1)
    out[rows] = place
    return out


def _of_people(
    data: Dataset,
    earlier: Sequence[Dataset],
    quasi: Sequence[str],
    secrets: Sequence[str],
    person: str,
    merged: bool,
) -> EarlierRelease:
    """Everybody who was ever released: one row each, with the classes of all releases as one, and the secrets that came last."""
    columns = [table[person] for table in earlier]
    texts = [text_array(column.values).take(pa.array(column.codes)) for column in columns]
    everybody = pa.concat_arrays(texts).dictionary_encode(null_encoding="encode")
    ids = np.split(everybody.indices.to_numpy(zero_copy_only=False), np.cumsum([len(one) for one in texts])[:-1])
    said = np.full((len(everybody.dictionary), len(earlier)), -1)
    latest: dict[str, list[str | None]] = {name: [None] * len(said) for name in secrets}
    for number, (table, who) in enumerate(zip(earlier, ids, strict=True)):
        said[:, number] = _classes_of(who, released_classes(table, quasi).labels, len(said))
        for name in (name for name in secrets if name in table):
            values = table[name].texts
            for one, code in zip(who.tolist(), table[name].codes.tolist(), strict=True):
                latest[name][one] = values[code]
    classes = np.unique(said, axis=0, return_inverse=True)[1].ravel()
    found = {name: Column.encode(pa.array(values, pa.string())) for name, values in latest.items()}
    who = _numbers(data[person], everybody.dictionary)
    place = np.where(who < len(said), np.append(classes, -1)[np.minimum(who, len(said))], -1)
    told = tuple(name for name in secrets if name in data)
    by_row = _by_origin(data, place), _by_origin(data, who)
    return EarlierRelease(
        Dataset(found, len(said)), classes, by_row[0], tuple(quasi), told, who=by_row[1], merged=merged
    )


def _classes_of(who: np.ndarray, labels: np.ndarray, people: int) -> np.ndarray:
    """For each person a number for the class, or the set of classes, in which they stand; −1: in none."""
    width = int(labels.max(initial=0)) + 1
    pairs = np.unique(who.astype(np.int64) * width + labels)
    owner, label = pairs // width, pairs % width
    out = np.full(people, -1)
    out[owner] = label
    starts = np.searchsorted(owner, np.arange(people + 1))
    sets: dict[bytes, int] = {}
    for one in np.flatnonzero(np.diff(starts) > 1):
        out[one] = width + sets.setdefault(label[starts[one] : starts[one + 1]].tobytes(), len(sets))
    return out


def _numbers(column: Column, known: pa.Array) -> np.ndarray:
    """The number of each row's person among known ones; everybody else has a number after these."""
    place = pc.index_in(text_array(column.values), value_set=known).fill_null(-1).to_numpy(zero_copy_only=False)
    number = np.where(place < 0, len(known) + np.arange(place.size), place).astype(np.int64)
    return np.asarray(number[column.codes])
