"""What is published: one class per technique, all with `apply` and `explain`.

`TECHNIQUES` is the table of all that a recipe knows; a new one is one more line in it. `register` adds one from outside.
"""

from __future__ import annotations

from oboro.techniques.base import TECHNIQUES, Technique, register

__all__ = ["TECHNIQUES", "Technique", "register"]
