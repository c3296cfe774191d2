"""Secrets and people that count as different and may be the same: they differ only in how they are written."""

from __future__ import annotations

from collections.abc import Iterable

from oboro.table.dataset import Column, Dataset
from oboro.table.spelling.folding import folded, near_duplicates, words_read_as_missing
from oboro.text import Message
from oboro.verifier.models.class_models import Model, SensitiveModel

__all__ = ["spelling_warnings"]


def spelling_warnings(data: Dataset, models: Iterable[Model], person: Column | None = None) -> list[Message]:
    """List the sensitive columns of the models, and the person, with values written nearly as another one or read as missing."""
    folds = {model.sensitive: model.fold for model in models if isinstance(model, SensitiveModel)}
    said = []
    for name, fold in folds.items():
        if name in data and (found := near_duplicates(folded(data[name], fold))):
            said.append(Message("verdict.near_secrets", column=name, values=found))
        if name in data and (words := words_read_as_missing(data[name], fold)):
            said.append(Message("verdict.read_as_missing", column=name, words=words))
    if person is not None and (found := near_duplicates(person)):
        said.append(Message("verdict.near_people", values=found))
    return said
