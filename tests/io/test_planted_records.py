"""Records of a stranger: no two of them are taken for one, whatever they hold, by the numbers that stand for them."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest

from oboro.io import column_store
from oboro.io.formats.csv.kernels.cells import pack
from oboro.io.formats.csv.kernels.fingerprinting import add_cells
from oboro.io.read import read
from oboro.kernels.jit import always_compiled

MIDDLE = 0xC2B2AE3D27D4EB4F  # multiplied with the second word of a field once, without the key


def number_of(field: bytes, key: int) -> int:
    words = np.frombuffer(field + bytes(16 - len(field) % 8), dtype=np.uint64)
    cells = np.array([pack(words, 0, len(field))], dtype=np.uint64)
    out = np.zeros(1, dtype=np.uint64)
    add_cells(cells, 0, 1, words, np.array([0]), np.array([key], dtype=np.uint64), out)
    return int(out[0])


def test_a_planted_difference_does_not_cancel_out() -> None:
    """Flipping the highest bit of a word, and those two of the next that it reaches, left a multiplicative hash as it was."""
    rng = np.random.default_rng(3)
    for _ in range(50):
        field = bytearray(rng.integers(0, 256, 40, dtype=np.uint8).tobytes())
        other = bytearray(field)
        other[7] ^= 0x80
        other[15] ^= 0x80
        other[11] ^= 0x80
        key = int(rng.integers(0, 1 << 63))
        assert number_of(bytes(field), key) != number_of(bytes(other), key)


def test_a_third_word_does_not_undo_the_second() -> None:
    rng = np.random.default_rng(4)
    tried = 0
    while tried < 20:
        first, second, other = (int(one) for one in rng.integers(0, 1 << 63, 3))
        third = int(rng.integers(0, 1 << 56))
        twin = third ^ ((second * MIDDLE) & (2**64 - 1)) ^ ((other * MIDDLE) & (2**64 - 1))
        if twin >> 56:
            continue
        tried += 1
        fields = [np.array([first, a, b], dtype=np.uint64).tobytes()[:23] for a, b in ((second, third), (other, twin))]
        key = int(rng.integers(0, 1 << 63))
        assert number_of(fields[0], key) != number_of(fields[1], key)


def test_equal_fields_have_equal_numbers() -> None:
    for size in (0, 3, 8, 17, 23, 24, 31, 64, 128, 152, 160, 161, 200):
        assert number_of(b"x" * size, 5) == number_of(b"x" * size, 5)
        for place in range(size):
            assert number_of(b"x" * size, 5) != number_of(b"x" * place + b"y" + b"x" * (size - place - 1), 5)


VALUES = [
    "",
    "a",
    "b",
    "ab",
    ",",
    "a,",
    ",b",
    'a"b',
    '"a',
    '"',
    "a\nb",
    "a\r\nb",
    " a",
    "é" * 20,
    "x" * 200,
    "x" * 199 + "y",
    "\t",
]


def written(value: str, rng: Random) -> str:
    """A value as one of the texts that stand for it."""
    needs = any(mark in value for mark in ",\r\n") or value.startswith('"')
    return '"' + value.replace('"', '""') + '"' if needs or rng.random() < 0.3 else value


@pytest.mark.parametrize("held", [["c0"], ["c7"], ["c3", "c4"], ["c0", "c6", "c7"]])
def test_records_have_one_number_exactly_where_their_fields_are_equal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: list[str]
) -> None:
    """Whether fields are in quotes, and which are looked at together, makes no difference; naively, fields are compared."""
    monkeypatch.setattr(column_store, "HELD_TOO", -1)
    rng, names = Random(f"{held}"), [f"c{number}" for number in range(8)]
    pool = [rng.choices(VALUES, [3] * 4 + [1] * 13, k=8) for _ in range(60)]
    pool += [["a"] * at + pair + ["a"] * (6 - at) for at in (1, 5) for pair in (["a,", "b"], ["a", ",b"], ["a", "b"])]
    rows = [
        [*one[:at], *rng.choice(pool)[at:]] for one in rng.choices(pool, k=400) for at in [rng.choice([0, 1, 7, 8])]
    ]
    lines = [names, *([written(value, rng) for value in row] for row in rows)]
    path = tmp_path / "in.csv"
    path.write_bytes("".join(",".join(line) + rng.choice(["\n", "\r\n"]) for line in lines).encode())
    others = [name for name in names if name not in held]
    with always_compiled():
        source = read(path, held=held, fingerprinted=others)
    assert source.untouched is not None
    assert source.untouched.fingerprints is not None
    numbers = source.untouched.fingerprints.of_rows().tolist()
    values = [tuple(row[names.index(name)] for name in others) for row in rows]
    assert len(set(numbers)) == len(set(values)) == len(set(zip(numbers, values, strict=True)))
    for name in held:
        assert source.data[name].decode().to_pylist() == [row[names.index(name)] or None for row in rows]
