"""Arrow's functions on arrays (`pyarrow.compute`), loaded when the first is called.

To make its 286 functions takes half as long as to import NumPy and Arrow. Whoever only loads or writes a recipe
needs none of them.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """The function of that name, which is then kept here."""
    import pyarrow.compute

    found = globals()[name] = getattr(pyarrow.compute, name)
    return found
