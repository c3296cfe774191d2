"""Techniques: each step of a recipe is one class in one module of this folder, which bears the name of the step.

`TECHNIQUES` maps the names of steps to these classes; `register` adds one from outside.
"""

from __future__ import annotations

from oboro.techniques.base import TECHNIQUES, Technique, register

__all__ = ["TECHNIQUES", "Technique", "register"]
