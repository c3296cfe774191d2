"""Days of one column in one notation, so that the two ends of a range are written alike."""

from __future__ import annotations

import pyarrow as pa

from oboro.system import arrow_functions as pc
from oboro.table.values import DATE_TEXT, Kind, japanese_reader, typed

__all__ = ["days_alike"]

ERAS = "明治|大正|昭和|平成|令和|[明大昭平令MTSHRmtshr]"


def days_alike(texts: pa.Array, kind: Kind) -> pa.Array:
    """The texts of a column; days that are written in several ways become ISO dates, all of them.

    Which way a person's own date was written would else show at the end of a range. Months stay as they are: they are no days.

    >>> days_alike(pa.array(["1981/10/12", "平成17年4月3日"]), Kind.DATE).to_pylist()
    ['1981-10-12', '2005-04-03']
    >>> days_alike(pa.array(["昭和56年10月12日", "平成17年4月3日"]), Kind.DATE).to_pylist()
    ['昭和56年10月12日', '平成17年4月3日']
    """
    if kind is not Kind.DATE or len(_notations(texts)) < 2 or not _all_days(texts.drop_null()):
        return texts
    return pc.cast(pc.cast(typed(texts, kind), pa.date32()), pa.string())


def _notations(texts: pa.Array) -> pa.Array:
    """How the texts are written, whatever they say: the marks between numbers, with or without an era."""
    shapes = pc.replace_substring_regex(texts.drop_null(), "[0-9０-９]+|元", "0")
    return pc.unique(pc.replace_substring_regex(shapes, ERAS, "E"))


def _all_days(texts: pa.Array) -> bool:
    if japanese_reader(texts) is None:
        return bool(pc.all(pc.match_substring_regex(texts, DATE_TEXT)).as_py())
    from oboro.table.japanese.written_dates import DAY, written_dates
    from oboro.table.japanese.written_values import plain_text

    return bool((written_dates(plain_text(texts)).unit == DAY).all())
