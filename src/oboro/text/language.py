"""Which language the reader of this machine reads."""

from __future__ import annotations

import os
from collections.abc import Mapping

from oboro.text.message import LANGUAGES

__all__ = ["system_language"]

VARIABLES = ("OBORO_LANG", "LC_ALL", "LC_MESSAGES", "LANG")


def system_language(environment: Mapping[str, str] = os.environ) -> str:
    """The language of the first variable that is set, if it is one of ours; else English.

    >>> system_language({"LANG": "ja_JP.UTF-8"}), system_language({"LC_ALL": "C", "LANG": "ja_JP.UTF-8"}), system_language({})
    ('ja', 'en', 'en')
    """
    said = next(filter(None, map(environment.get, VARIABLES)), "")
    return said[:2] if said[:2] in LANGUAGES and said[2:3] in ("", "_", "-", ".") else "en"
