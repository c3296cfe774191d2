"""Declarations of privacy models: parameters and words, without tables.

`MODELS` is the registry. A family is a file: identity, risk, attribute, economics, differential, series.
"""

from __future__ import annotations

from oboro.privacy.base import MODELS, PrivacyModel

__all__ = ["MODELS", "PrivacyModel"]
