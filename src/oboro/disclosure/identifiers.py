"""Check whether a released column holds identifiers of people: names, e-mail addresses, telephone numbers and the like.

However many records share an address, it is a person's, and no guarantee about classes changes that. The forms of other
values (codes, tokens, free text, serial numbers, ranges) stand here too; they are read from the dictionary of a column, and
decide no role.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro.disclosure.gate import Findings, ReleaseCandidate
from oboro.errors import PromiseError
from oboro.measure.identifiers import MOST_VALUES, WARNED, Finding
from oboro.measure.identifying.held_identifiers import HeldIdentifiers, held_identifiers
from oboro.table.dataset import Column
from oboro.table.hierarchy.levels import text_array
from oboro.table.labels.notation import label_range
from oboro.table.unencoded_columns import UnreadColumn
from oboro.table.values import STAR, Kind
from oboro.text import Message

__all__ = ["check", "holds_ranges", "holds_tokens", "identifier_found", "is_code", "is_serial", "prose", "tells_sex"]

ALL_BUT = 0.95  # of a column whose values are nearly all different
FEWEST_ROWS = 20  # in a smaller table every number may be one record's
WORDY = 4.0  # words in a value, on average, from which on it is text that somebody wrote
LONG = 40.0  # characters; Japanese has no spaces between words, and says twice as much with each character
IDEOGRAPHS = r"[\p{Han}\p{Hiragana}\p{Katakana}]"
CODE = r"^[0-9A-Za-z_/.-]*[0-9][0-9A-Za-z_/.-]*$"
SHORTEST_CODE = 9  # digits: shorter numbers of one length may be amounts, and intervals protect them too
SEXES = (
    "m f w d x v h male female man woman boy girl männlich weiblich divers mann frau homme femme masculin féminin hombre mujer"
    " masculino femenino maschio femmina uomo donna feminino vrouw 男 女 男性 女性 남 여 남성 여성"
)
SEX = frozenset(SEXES.split())
TWO_SEXES = 2  # at least; one letter alone says nothing
SEEN = 64  # values that are asked whether they are ranges
LONGEST_RANGE = (
    100  # characters: two moments with their zones have 70. Patterns of ranges may cost the square of a text's length
)
RANGED = re.compile(r"[–~～〜\[(]| to |[.,].*-")  # marks that no number of a person has
FEWEST_TOKENS = 8  # values; fewer may be codes of categories
TOKEN = re.compile(
    r"(?=.*\d)(?=.*[A-Za-z])(\{?[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\}?|[0-9a-f]{16,}|[0-9A-F]{16,}"
    r"|(?=.*[A-Z])(?=.*[a-z])[0-9A-Za-z+/_-]{20,}={0,2})"
)
NO_IDENTIFIER = {"code", "over_89"}  # of the forms that are worth a warning, those that speak of something else


def check(candidate: ReleaseCandidate) -> Findings:
    """Look at the values of every released column; of columns that are not loaded at the first rows. O(distinct values).

    Raises a `PromiseError` where most of a column are identifiers of several people, unless the recipe accepts it.
    """
    released, pseudonyms = candidate.released, candidate.pseudonyms
    names = [name for name in released if name not in pseudonyms]
    unread = [name for name in names if isinstance(released[name], UnreadColumn)]
    found = {
        name: held_identifiers(name, released[name].values, released[name].counts)
        for name in names
        if name not in unread
    }
    first = candidate.first_rows(unread)
    found |= {name: held_identifiers(name, values, np.ones(len(values), np.int64)) for name, values in first.items()}
    quasi = set(candidate.given.quasi)  # a name that k people share identifies none of them
    accepted: list[Message] = []
    for name, kinds in found.items():
        plain = [one for one in kinds if one.plain and not (name in quasi and one.kind == "name")]
        worst = max(plain, key=lambda one: one.records, default=None)
        if worst is not None:
            accepted.append(_accepted(candidate, name, worst))
    warned = [
        Message("report.warning.looks_like_identifiers", column=name, kind=one.kind_name, records=one.records)
        for name, kinds in found.items()
        for one in kinds
        if not one.plain and name not in first
    ]
    return Findings(tuple(accepted), identifiers=tuple(warned))


def _accepted(candidate: ReleaseCandidate, name: str, found: HeldIdentifiers) -> Message:
    """Return the caution of a column of identifiers that the recipe accepts; refuse one that it does not."""
    because = candidate.because("identifiers", name)
    facts = {"column": name, "kind": found.kind_name, "records": found.records, "looked": found.looked}
    if not because:
        raise PromiseError(Message("error_exposure.identifiers", **facts))
    return Message("exposure.look.identifiers", **facts, because=because)


@dataclass(frozen=True)
class Prose:
    """Text that somebody wrote: how many words and characters a value has on average."""

    words: float
    characters: float


def identifier_found(findings: list[Finding]) -> Finding | None:
    """Return the form of identifier that most records of a column have."""
    forms = [one for one in findings if one.kind in WARNED - NO_IDENTIFIER and not one.named and one.records]
    return max(forms, key=lambda one: one.records, default=None)


def prose(column: Column) -> Prose | None:
    """Return whether a column holds free text: many words or characters, and values of their own for many records.

    >>> prose(Column.of(["he called us twice last week", "no reply to our letter so far", None])) is not None
    True
    >>> prose(Column.of(["never worked for any pay"] * 9 + ["works for the local state"] * 9)) is None
    True
    """
    if column.kind is not Kind.TEXT or not _many_own(column):
        return None
    texts = text_array(column.values.drop_null().slice(0, MOST_VALUES))
    if not len(texts):
        return None
    japanese = pc.mean(pc.match_substring_regex(texts, IDEOGRAPHS)).as_py() > 0.5
    words = float(pc.mean(pc.add(pc.count_substring_regex(texts, r"\s+\S"), 1)).as_py())
    characters = float(pc.mean(pc.utf8_length(texts)).as_py())
    return Prose(words, characters) if words >= WORDY or characters >= (LONG / 2 if japanese else LONG) else None


def _many_own(column: Column) -> bool:
    """Half of the records, or more, hold a value that at most one other has."""
    held = column.counts[np.arange(len(column.values)) != column.missing]
    return bool(2 * held[held <= 2].sum() >= held.sum() > 0)


def tells_sex(column: Column) -> bool:
    """Return whether all values are words for a sex, whatever the column is called.

    >>> tells_sex(Column.of(["w", "m", "m", None])), tells_sex(Column.of(["m", "n"]))
    (True, False)
    """
    if column.kind is not Kind.TEXT or not TWO_SEXES <= len(column.values) - (column.missing >= 0) <= len(SEX):
        return False
    return {str(one).strip().lower() for one in column.values.drop_null().to_pylist()} <= SEX


def holds_ranges(column: Column) -> bool:
    """Return whether the values are ranges such as `20–29` or `1,50-9,99`, beside `*` and single ends of them.

    A plain `03-1234` may be somebody's number.

    >>> holds_ranges(Column.of(["12.09.1970 to 27.04.1986", "06.06.1936", "*", "07.02.1938 to 16.08.1960"]))
    True
    >>> holds_ranges(Column.of(["A to Z", "B to Y"])), holds_ranges(Column.of(["03-1234", "03-1235"]))
    (False, False)
    """
    held = [text for text in column.texts[:SEEN] if text and text != STAR]
    if any(len(text) > LONGEST_RANGE for text in held):
        return False
    ranges = [text for text in held if RANGED.search(text) and label_range(text) is not None]
    ends = [text for text in held if label_range(f"{text} to {text}") is not None]
    return len(ranges) + len(ends) == len(held) and 2 * len(ranges) > len(held)


def holds_tokens(column: Column) -> bool:
    """Return whether the values are long codes that a program gives: UUIDs, digests, cookies. They number somebody or something.

    >>> holds_tokens(Column.of([f"{i:08x}-1c2d-4e3f-8a9b-0123456789ab" for i in range(9)])), holds_tokens(Column.of(["a1b2"] * 9))
    (True, False)
    """
    if column.kind is not Kind.TEXT or len(column.values) < FEWEST_TOKENS:
        return False
    held = [text for text in text_array(column.values.slice(0, SEEN)).to_pylist() if text]
    return len(held) >= FEWEST_TOKENS and all(map(TOKEN.fullmatch, held))


def is_serial(column: Column) -> bool:
    """Return whether a column numbers the records: whole numbers, each once, with hardly a gap.

    >>> is_serial(Column.of(list(range(101, 141)))), is_serial(Column.of([3 * i for i in range(40)]))
    (True, False)
    """
    rows = len(column)
    if column.kind is not Kind.INTEGER or column.missing >= 0 or rows < 2 or len(column.values) < rows:
        return False
    numbers = column.numbers()
    return bool(np.ptp(numbers) + 1 <= 1.2 * rows)


def is_code(column: Column) -> bool:
    """Return whether nearly every record has a code of its own: letters with digits, or long whole numbers of one length.

    >>> is_code(Column.of([f"A-{i:04}" for i in range(50)])), is_code(Column.of([float(i) for i in range(50)]))
    (True, False)
    """
    rows, distinct = len(column), len(column.values)
    if rows < FEWEST_ROWS or distinct <= ALL_BUT * rows or column.kind not in (Kind.TEXT, Kind.INTEGER):
        return False
    texts = text_array(column.values.drop_null().slice(0, MOST_VALUES))
    if not pc.all(pc.match_substring_regex(texts, CODE)).as_py():
        return False
    return column.kind is Kind.TEXT or _of_one_length(texts)


def _of_one_length(texts: pa.Array) -> bool:
    shortest, longest = pc.min_max(pc.utf8_length(texts)).as_py().values()
    return bool(shortest == longest >= SHORTEST_CODE)
