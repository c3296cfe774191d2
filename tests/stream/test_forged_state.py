"""A state that somebody wrote by hand is refused, whatever stands in it: kernels follow its numbers without looking."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oboro.errors import FileError, OboroError
from oboro.stream import DelayFree, Window

RECORDS = [{"age": 20 + n * 7 % 30, "sex": "FM"[n % 2], "id": n} for n in range(40)]
TIMELY = {"horizon": 20}
STREAMS: dict[str, Any] = {
    "swap": lambda: DelayFree(["age", "sex"], 3, hierarchies={"age": {"intervals": [10]}}, keep=["id"], **TIMELY),
    "count": lambda: DelayFree(["age", "sex"], 3, mode="count", keep=["id"]),
    "people": lambda: DelayFree(["age", "sex"], 3, person="id", l_diversity={"secret": 2}),
    "paper": lambda: DelayFree(["age", "sex"], 3, mode="sequential", keep=["id"]),
    "window": lambda: Window(["age", "sex"], 3, 20, categories=["sex"], keep=["id"]),
    "regions": lambda: Window(["age", "sex"], 3, 20, categories=["sex"], person="id", index="fdhq"),
}


def records(name: str) -> list[dict[str, Any]]:
    return [{**one, "secret": one["id"] % 3} for one in RECORDS] if name == "people" else RECORDS


@pytest.fixture(params=STREAMS)
def saved(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path, dict[str, np.ndarray]]:
    with STREAMS[request.param]() as stream:
        stream.push_many(records(request.param))
        stream.save(tmp_path / "state")
    with np.load(tmp_path / "state") as file:
        return request.param, tmp_path / "forged", {name: file[name] for name in file.files}


def goes_on(name: str, path: Path, arrays: dict[str, np.ndarray]) -> bool:
    """Whether a forged state is taken: then it also takes records, or refuses with words."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)  # type: ignore[arg-type]
    path.write_bytes(buffer.getvalue())
    try:
        with type(STREAMS[name]()).restore(path) as stream:
            assert len(stream.push_many(records(name))) <= 2 * len(RECORDS)
    except OboroError as refusal:
        assert refusal.say("ja") != refusal.say("en")
        return False
    return True


def test_a_state_as_it_was_saved_goes_on(saved: tuple[str, Path, dict[str, np.ndarray]]) -> None:
    assert goes_on(*saved)


def test_no_array_is_trusted(saved: tuple[str, Path, dict[str, np.ndarray]]) -> None:
    name, path, arrays = saved
    refused = 0
    for one in set(arrays) - {"meta"}:
        array = arrays[one]
        forgeries = [array[:-1], array.astype(np.float32), np.concatenate([array, array])]
        for value in (-7, 1 << 40, -(1 << 62)):
            if array.dtype == np.int64 and array.size:
                forgeries += [
                    np.full_like(array, value),
                    np.where(np.arange(array.size).reshape(array.shape) == 0, value, array),
                ]
        refused += sum(not goes_on(name, path, {**arrays, one: forged}) for forged in forgeries)
    assert refused > 20


def test_no_number_of_a_record_leads_astray(saved: tuple[str, Path, dict[str, np.ndarray]]) -> None:
    name, path, arrays = saved
    rng = random.Random(name)
    for _ in range(25):
        one = rng.choice(sorted(set(arrays) - {"meta"}))
        forged = arrays[one].copy()
        if forged.size:
            places = [rng.randrange(forged.size) for _ in range(rng.randint(1, 3))]
            forged.reshape(-1)[places] = [
                rng.choice([-3, -1, 0, 1, 2, 5, 19, 100]) if forged.dtype != np.uint8 else 7 for _ in places
            ]
        goes_on(name, path, {**arrays, one: forged})


def test_no_word_is_trusted(saved: tuple[str, Path, dict[str, np.ndarray]]) -> None:
    name, path, arrays = saved
    meta = json.loads(arrays["meta"].tobytes())
    for key in meta:
        for other in (None, [], {}, -1, "x", [[1]], [-1, -1, -1], 1e300):
            text = json.dumps({**meta, key: other})
            goes_on(name, path, {**arrays, "meta": np.frombuffer(text.encode(), dtype=np.uint8)})
        lost = json.dumps({one: value for one, value in meta.items() if one != key})
        goes_on(name, path, {**arrays, "meta": np.frombuffer(lost.encode(), dtype=np.uint8)})


def test_room_is_not_given_without_end(tmp_path: Path) -> None:
    with STREAMS["count"]() as stream:
        stream.push_many(RECORDS)
        stream.save(tmp_path / "state")
    with np.load(tmp_path / "state") as file:
        arrays = {name: file[name] for name in file.files}
    np.savez(tmp_path / "forged.npz", **{**arrays, "room": np.array([256, 188978561280, 0])})  # type: ignore[arg-type]
    with pytest.raises(FileError, match="is not the state of a stream"):
        DelayFree.restore(tmp_path / "forged.npz")
