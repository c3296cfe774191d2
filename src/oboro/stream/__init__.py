"""Record by record: a record goes in, its anonymized version comes out, at once (`DelayFree`) or a little later (`Window`).

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
