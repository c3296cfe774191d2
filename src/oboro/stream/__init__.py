"""Anonymization of streams, record by record: at once (`DelayFree`) or with a bounded delay (`Window`).

>>> from oboro.stream import DelayFree
>>> anonymizer = DelayFree(attributes=["sex", "race"], k=2)
>>> anonymizer.push({"sex": "F", "race": "White"})
{'sex': '*', 'race': '*'}
>>> anonymizer.push({"sex": "F", "race": "Black"})
{'sex': 'F', 'race': '*'}
"""

from __future__ import annotations

from oboro.stream.delay_free.stream import DelayFree
from oboro.stream.window.window import Window

__all__ = ["DelayFree", "Window"]
