"""Texts of values: one text for each value of any type, different for different values.

Arrow writes most of them. It knows no days beyond the year 32,767 (`<value out of range: …>`, with a time zone even a
wrong year), and Python shows bytes as its own source (`b'\xff'`): those are written here.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa

from oboro._lazy import pc

__all__ = ["all_match", "durations", "integers_of", "texts_of"]


FAR = 11_000_000  # days from 1970, either way, that Arrow writes: the year 32,087
TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
DAY = 86_400


def is_text(values: pa.Array) -> bool:
    """Return whether values are written as text, whatever they look like."""
    return bool(pa.types.is_string(values.type) or pa.types.is_large_string(values.type))


def all_match(values: pa.Array, pattern: str) -> bool:
    """Return whether there is a value, and all match a pattern as text. The first hundred settle nearly every other column."""
    known = values.drop_null()
    known = known if is_text(known) else known.cast(pa.string())
    return len(known) > 0 and all(
        pc.all(pc.match_substring_regex(some, pattern)).as_py() for some in (known.slice(0, 100), known)
    )


def integers_of(texts: pa.Array, absent: int = 0) -> np.ndarray:
    """Return texts of digits as 64-bit integers, `absent` where one is missing."""
    return np.asarray(pc.cast(texts, pa.int64()).fill_null(absent).to_numpy(zero_copy_only=False), dtype=np.int64)


def text_values(values: pa.Array) -> pa.Array:
    """The values as text; text as it is."""
    return values if pa.types.is_string(values.type) else pa.array(texts_of(values), pa.string())


def booleans(array: pa.Array) -> np.ndarray:
    """Truth values of Arrow for NumPy."""
    return np.array(array.to_numpy(zero_copy_only=False), dtype=bool)


def texts_of(values: pa.Array) -> list[str | None]:
    """Each value as text, `None` where it is missing; what hierarchies and conditions are matched by.

    >>> texts_of(pa.array([39.0, 1.5, None]))
    ['39', '1.5', None]
    """
    type_ = values.type
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        return list(values.to_pylist())
    if pa.types.is_duration(type_):
        return durations(values)
    if pa.types.is_binary(type_) or pa.types.is_large_binary(type_) or pa.types.is_fixed_size_binary(type_):
        return [None if value is None else text_of_bytes(value) for value in values.to_pylist()]
    if pa.types.is_date(type_) or pa.types.is_timestamp(type_):
        return _days(values)
    try:
        return list(pc.cast(values, pa.string()).to_pylist())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return [None if value is None else str(value) for value in values.to_pylist()]


def text_of_bytes(value: bytes) -> str:
    r"""Bytes that are text as that text; others as `\xFF` for each byte that is no printable ASCII, and for each backslash.

    Text that holds `\x` itself is written in the second way too, so that no two values get the same.

    >>> text_of_bytes(b"ab"), text_of_bytes(b"\xffb")
    ('ab', '\\xFFb')
    """
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = "\\x"
    if "\\x" not in text and "\0" not in text:
        return text
    return re.sub(r"[^ -\[\]-~]", lambda found: f"\\x{ord(found[0]):02X}", value.decode("latin-1"))


def _days(values: pa.Array) -> list[str | None]:
    """Days and moments: `2020-01-31`, `2020-01-31 12:30:00`; those that Arrow cannot write as they would be in UTC."""
    type_ = values.type
    unit = "D" if pa.types.is_date32(type_) else "ms" if pa.types.is_date64(type_) else type_.unit
    far = FAR if unit == "D" else FAR * DAY * TICKS[unit]
    ticks = pc.cast(values, pa.int32()) if unit == "D" else values.view(pa.int64())
    numbers = ticks.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    beyond = (numbers > far) | (numbers < -far)
    if not beyond.any():
        return list(pc.cast(values, pa.string()).to_pylist())
    moments = numbers[beyond].astype(f"datetime64[{unit}]")
    written = np.datetime_as_string(moments.astype("datetime64[D]") if pa.types.is_date64(type_) else moments)
    end = "Z" if pa.types.is_timestamp(type_) and type_.tz else ""
    texts = pc.cast(pc.if_else(pa.array(beyond), None, values), pa.string()).to_pylist()
    for place, text in zip(np.flatnonzero(beyond), written, strict=True):
        texts[place] = str(text).replace("T", " ") + end
    return list(texts)


def durations(values: pa.Array) -> list[str | None]:
    """Durations as hours, minutes and seconds.

    >>> durations(pa.array([108_300_000, 1_500, -60_000, None], pa.duration("ms")))
    ['30:05:00', '0:00:01.5', '-0:01:00', None]
    """
    parts = TICKS[values.type.unit]
    return [None if one is None else _duration(one, parts) for one in pc.cast(values, pa.int64()).to_pylist()]


def _duration(ticks: int, parts: int) -> str:
    seconds, rest = divmod(abs(ticks), parts)
    tail = f".{rest:0{len(str(parts)) - 1}d}".rstrip("0") if rest else ""
    sign = "-" if ticks < 0 else ""
    return f"{sign}{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{tail}"
