"""What may happen to bytes, text and plain data on their way here."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

__all__ = ["mutated", "mutated_value", "odd_number", "odd_text", "odd_value", "some"]

SPECIAL = (0, 1, 7, 8, 16, 31, 32, 63, 64, 127, 128, 254, 255)
ALPHABET = "ab1 ,;|\"'\n\r\té日\u3000"
LETTERS = "abcxyzABCZ0129 -_.,:;/\\\"'%*#=@&<>[]{}()!?~\t\n\ré日本語ｶｱ～–≥\u200b\ufeff\U0001f600"
NUMBERS: Sequence[Any] = (
    0, 1, -1, 2, 3, 5, 10, 100, 255, 256, 65_536, 2**31, 2**31 - 1, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 2**64, 10**30,
    0.0, -0.0, 0.1, 0.5, 1.5, 1e-300, 1e308, 5e-324, float("inf"), float("-inf"), float("nan"),
)  # fmt: skip


def mutated(rng: random.Random, data: bytes, marks: Sequence[bytes], times: int) -> bytes:
    """Bytes after a few accidents: flipped, lost, repeated, moved, cut off, or with marks of their format put in."""
    made = bytearray(data)
    for _ in range(times):
        _accident(rng, made, marks)
    return bytes(made)


def _accident(rng: random.Random, made: bytearray, marks: Sequence[bytes]) -> None:
    size = len(made)
    at = rng.randrange(size) if size else 0
    end = min(size, at + 1 + int(rng.expovariate(0.2)))
    kind = rng.randrange(8)
    if kind == 0 and size:
        made[at] ^= 1 << rng.randrange(8)
    elif kind == 1 and size:
        made[at] = rng.choice(SPECIAL)
    elif kind == 2:
        del made[at:end]
    elif kind == 3:
        made[at:at] = made[at:end] * rng.randint(1, 3)
    elif kind == 4 and size:
        other = rng.randrange(size)
        piece = made[at:end]
        del made[at:end]
        made[other:other] = piece
    elif kind == 5 and rng.random() < 0.2:
        del made[at:]
    elif kind == 6 and size:
        made[at:end] = rng.choice(marks)
    else:
        made[at:at] = rng.choice(marks)


# Plain data -----------------------------------------------------------------------------------------------------------


def some(rng: random.Random, letters: str = ALPHABET, most: int = 8) -> str:
    """A few letters."""
    return "".join(rng.choices(letters, k=rng.randint(0, most)))


def odd_text(rng: random.Random) -> str:
    """Text that somebody may write, or nobody."""
    kind = rng.randrange(12)
    if kind == 0:
        return rng.choice(
            ["", " ", "*", "null", "true", "NaN", "-", "~", "..", "/", "\0", "\ud800", "[/bold]", "%s{0}"]
        )
    if kind == 1:
        return str(odd_number(rng))
    if kind == 2:
        return some(rng, LETTERS, 300)
    if kind == 3:
        return f"{rng.randint(0, 3000):04}-{rng.randint(0, 13):02}-{rng.randint(0, 32):02}"
    return some(rng, LETTERS, 10)


def odd_number(rng: random.Random) -> Any:
    """A number at some border, or a small one."""
    return rng.choice(NUMBERS) if rng.random() < 0.5 else rng.randint(-3, 30)


def odd_value(rng: random.Random, depth: int = 2) -> Any:
    """Any plain value."""
    kind = rng.randrange(9)
    if kind == 0:
        return None
    if kind == 1:
        return rng.random() < 0.5
    if kind < 5:
        return odd_number(rng)
    if kind < 7 or depth == 0:
        return odd_text(rng)
    if kind == 7:
        return [odd_value(rng, depth - 1) for _ in range(rng.randint(0, 3))]
    return {odd_text(rng): odd_value(rng, depth - 1) for _ in range(rng.randint(0, 3))}


def mutated_value(rng: random.Random, value: Any, words: Sequence[str]) -> Any:
    """Plain data with one thing in it lost, renamed, repeated or replaced."""
    if isinstance(value, dict) and value and rng.random() < 0.8:
        return _mutated_mapping(rng, dict(value), words)
    if isinstance(value, list) and value and rng.random() < 0.8:
        made = list(value)
        at = rng.randrange(len(made))
        kind = rng.randrange(5)
        if kind == 0:
            del made[at]
        elif kind == 1:
            made.insert(at, made[rng.randrange(len(made))])
        else:
            made[at] = mutated_value(rng, made[at], words)
        return made
    if isinstance(value, str) and rng.random() < 0.3:
        return mutated(rng, value.encode(errors="replace"), [b" ", b"'", b":", b"*"], 1).decode(errors="replace")
    return rng.choice(words) if rng.random() < 0.4 else odd_value(rng)


def _mutated_mapping(rng: random.Random, made: dict[Any, Any], words: Sequence[str]) -> dict[Any, Any]:
    key = rng.choice(list(made))
    kind = rng.randrange(8)
    if kind == 0:
        del made[key]
    elif kind == 1:
        made[rng.choice(words) if rng.random() < 0.8 else odd_text(rng)] = made.pop(key)
    elif kind == 2:
        made[rng.choice(words)] = odd_value(rng)
    else:
        made[key] = mutated_value(rng, made[key], words)
    return made
