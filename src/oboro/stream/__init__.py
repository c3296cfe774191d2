"""Record by record: a record goes in, its anonymized version comes out at once.

>>> from oboro.stream import DelayFree
>>> anonymizer = DelayFree(attributes=["sex", "race"], k=2)
>>> anonymizer.push({"sex": "F", "race": "White"})
{'sex': '*', 'race': '*'}
>>> anonymizer.push({"sex": "F", "race": "Black"})
{'sex': 'F', 'race': '*'}
"""

from __future__ import annotations

from oboro.stream.delay_free import DelayFree

__all__ = ["DelayFree"]
