"""Date shifting: all dates of a person by one random number of days."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import ConfigDict, Field, field_validator, model_validator

from oboro.data.column import Column
from oboro.data.folding import canonical_texts
from oboro.errors import ColumnError, UsageError
from oboro.notations.japanese import DAY, looks_like_dates, plain_text, written_dates
from oboro.notations.kinds import DATETIME_TEXT, Kind, because_unread, is_months, typed
from oboro.notations.ordered_dates import DateOrder, order_matters, read_in_order
from oboro.notations.partial_dates import is_whole_days, read_plain_dates
from oboro.notations.registry import may_be_japanese
from oboro.notations.texts import is_text, text_values
from oboro.schema import Schema
from oboro.system.files import is_variable_name, secret_key, variable_shown
from oboro.techniques.base import Outcome, SecretExample, Technique, Work
from oboro.techniques.columns import FIRST_DAY, LAST_DAY, OnColumns
from oboro.techniques.pseudonymize import keyed_digests
from oboro.text import Message, Raw, Words

__all__ = ["DateShift"]


DOMAIN = b"\xffdate_shift"  # no text encodes to these bytes, so no pseudonym under the same key discloses an offset
TICKS_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
MOST_TICKS = 2.0**63 - 1024  # the largest float64 that an int64 holds
ABSENT = np.int64(1) << 62  # of a missing date, in differences


class DateShift(OnColumns):
    """Shift all dates of a person by one random offset of at most `days` days, in either direction.

    The offset is drawn uniformly from the whole numbers from −`days` to `days`, and is the same for all named columns and all
    records of a person. So intervals between the dates of a person, their order and the time of day stay exact. Without `person:`
    in the recipe each record is shifted by an offset of its own.

    With a key (`key_env` or `key_file`) the offset is derived from the person by HMAC-SHA-256: the same key and `days` give a
    person the same offset in every table and every delivery. Without a key offsets are drawn anew in each run.

    An offset of 0 is among them. Without it, each released date would rule out one day, and the true date would be one of fewer.

    This is no perturbation. Differences between the dates of a person are released exactly: an attacker who knows two dates
    of a person knows their difference and, where no other person has it, finds the records and the offset. An attacker who knows
    one date and recognizes the record by other attributes learns the offset, and with it all dates. Seasons stay visible where
    `days` is small. Release checks therefore count the released dates as exact values.

    Given: columns of dates or timestamps, or texts of dates in a notation that oboro reads; months and years without a day
    are refused. Dates that other columns hold are not shifted and may disclose the offset: name all columns in one step.
    Promises: nothing. Missing values stay missing. A column keeps its type; text stays text (ISO dates, unless all its texts have
    the year first).
    Checked by: tests/techniques/test_date_shift.py, against a naive twin.

    >>> DateShift(attribute="visit", days=30).apply(
    ...     {"id": [1, 1], "visit": ["2024-01-31", "2024-02-07"]}, person="id", seed=5
    ... )["visit"]
    ['2024-02-21', '2024-02-28']
    """

    model_config = ConfigDict(hide_input_in_errors=True)  # a key that was written into the recipe is not repeated

    step: ClassVar[str] = "date_shift"
    iso: ClassVar[Words] = Message("technique.date_shift.iso")
    examples: ClassVar[Sequence[Mapping[str, Any]]] = (
        {"attribute": "visit", "days": 30},
        {"attributes": ["visit"], "days": 365},
    )
    secret_example: ClassVar[SecretExample | None] = SecretExample(
        {"attribute": "visit", "days": 4321}, hidden=("4321", "4,321")
    )
    # Offsets are drawn, but values are not perturbed: release checks go on counting them as exact (see `Traits.random`).
    random: ClassVar[bool] = False
    not_in_stream: ClassVar[Message | None] = Message("technique.stream.date_shift")

    days: int = Field(ge=1, le=36_525)
    """The largest offset, in days."""
    key_env: str | None = None
    """The environment variable that holds the key. Offsets are then the same in every table and delivery."""
    key_file: str | None = Field(default=None, min_length=1)
    """The file that holds the key; a relative path starts at the recipe."""
    date_order: DateOrder | None = None
    """What stands first in dates such as 1/5/1990, where the column does not show it: day_first or month_first."""

    @field_validator("key_env")
    @classmethod
    def _is_a_name(cls, name: str | None) -> str | None:
        if name is not None and not is_variable_name(name):
            raise ValueError(Message("error_technique.key_env_name"))
        return name

    @model_validator(mode="after")
    def _one_key(self) -> Self:
        if self.key_env is not None and self.key_file is not None:
            raise ValueError(Message("error_technique.shift_keys"))
        return self

    @property
    def keyed(self) -> bool:
        """True if offsets come from a secret key."""
        return self.key_env is not None or self.key_file is not None

    @property
    def rests_on_chance(self) -> bool:
        """Offsets without a key are drawn: who repeats the draws undoes the shift."""
        return not self.keyed

    def files(self) -> tuple[str, ...]:
        """The file of the key, if there is one."""
        return () if self.key_file is None else (self.key_file,)

    def require_before(self, steps: Sequence[Technique]) -> None:
        """Refuse to shift a column twice: two offsets under one key would be equal, and their sum even."""
        shifted = {name for step in steps if isinstance(step, DateShift) for name in step.names}
        if twice := [name for name in self.names if name in shifted]:
            raise UsageError(Message("error_technique.shifted_twice", names=twice))

    def run(self, work: Work) -> Outcome:
        """Add the offset of its person to each date. O(rows · columns), and one HMAC (2 µs) for each person."""
        work.schema.require(work.data, self.names, self.step)
        offsets = self._offsets(work)
        released, changed, differences = {}, {}, []
        for name in self.names:
            column = work.data[name]
            with column.placing():
                dates = _read(column, name, self.date_order)
            if dates is None:  # nothing but missing values
                continue
            before = dates.ticks[column.codes]
            missing = dates.missing[column.codes]
            moved = before.astype(np.float64) + offsets.astype(np.float64) * dates.per_day
            day = np.floor(moved[~missing] / dates.per_day)
            if (np.abs(moved[~missing]) > MOST_TICKS).any() or (day < FIRST_DAY).any() or (day > LAST_DAY).any():
                raise ColumnError(Message("error_technique.shifted_years", name=name))
            after = np.where(missing, 0, before + offsets * dates.per_day)
            shifted = Column.encode(dates.values(after, missing))
            if dates.texts is not None:
                shifted = shifted.recode(np.arange(len(shifted.values)), dates.texts(shifted.values))
            released[name] = shifted
            changed[name] = int(np.count_nonzero(~missing & (offsets != 0)))
            differences.append(np.where(missing, ABSENT, _microseconds(before, dates.per_day)))
        unique, several = _unique_by_differences(differences, work.person)
        facts: dict[str, Any] = {"days": self.days, "keyed": self.keyed, "changed": changed}
        if work.person is None:
            facts["unique_by_intervals"] = {"records": several, "unique": unique}
            warning = Message("technique.date_shift.unique_records", unique=unique, of=several)
        else:
            facts["unique_by_intervals"] = {"people": several, "unique": unique}
            warning = Message("technique.date_shift.unique_people", unique=unique, of=several)
        warnings = (warning,) if unique else ()
        return Outcome(work.data.with_columns(released), work.schema, facts, warnings=warnings)

    def _offsets(self, work: Work) -> np.ndarray:
        """The offset of each record, in days."""
        if work.person is None:
            if self.keyed:
                raise UsageError(Message("error_technique.shift_person", step=self.step))
            # Not from the generator itself: from known offsets its state could be computed, and from it all others.
            drawn = hashlib.shake_256(work.rng.bytes(32)).digest(8 * work.data.rows)
            return self._days(np.frombuffer(drawn, ">u8"))
        key = (
            secret_key(self.step, self.key_env, self.key_file, work.schema.folder) if self.keyed else work.rng.bytes(32)
        )
        # One text for all spellings of a person: which spelling comes first differs between tables.
        people = canonical_texts(work.person.values, work.schema.fold(work.schema.person))
        digests = keyed_digests(key, DOMAIN, text_values(people)).view(">u8")[:, 0]
        return np.asarray(self._days(digests)[work.person.codes])

    def _days(self, drawn: np.ndarray) -> np.ndarray:
        """Random 64-bit numbers as offsets; the remainder is uniform but for one part in 2⁴⁷."""
        return (drawn % np.uint64(2 * self.days + 1)).astype(np.int64) - self.days

    def plan(self, schema: Schema) -> Words:
        """Which dates are shifted, by how much, and what stays visible."""
        how = Message("technique.date_shift.drawn")
        if self.key_file is not None:
            how = Message(
                "technique.date_shift.keyed", where=Message("technique.pseudonymize.key_file", path=self.key_file)
            )
        if self.key_env is not None:
            where = Message("technique.pseudonymize.key_env", name=variable_shown(self.key_env))
            how = Message("technique.date_shift.keyed", where=where)
        id = "technique.date_shift.plan_records" if schema.person is None else "technique.date_shift.plan_people"
        return Message(id, columns=self.names, days=self.days, how=how, person=schema.person)


@dataclass(frozen=True, eq=False)
class _Dates:
    """The distinct dates of a column as counts of ticks, and the ways back to values and texts."""

    ticks: np.ndarray
    missing: np.ndarray
    per_day: int
    values: Callable[[np.ndarray, np.ndarray], pa.Array]
    texts: Callable[[pa.Array], pa.Array] | None = None


def _read(column: Column, name: str, order: DateOrder | None) -> _Dates | None:
    """Read the dictionary of a column as dates; None where it holds only missing values."""
    values = column.values
    if values.null_count == len(values):
        return None
    if pa.types.is_date(values.type) or pa.types.is_timestamp(values.type):
        return _counted(values)
    plain = None if column.kind is Kind.DATE else read_plain_dates(values)
    if plain is not None:
        if not is_whole_days(values):
            raise ColumnError(Message("error_technique.shift_months", name=name, value=Raw(_first(values))))
        dates = _counted(plain)
        return _Dates(dates.ticks, dates.missing, 1, dates.values, partial(_as_digits, type_=values.type))
    found = None
    if is_text(values):
        _require_days(values, name)
        if order is not None and order_matters(values):
            found = read_in_order(values, order)
        elif column.kind in (Kind.DATE, Kind.DATETIME):
            found = typed(values, column.kind)
    if found is None:
        because = because_unread(values) if is_text(values) else ""
        raise ColumnError(
            Message("error_technique.shift_no_dates", name=name, value=Raw(_first(values)), because=because)
        )
    dates = _counted(found)
    return _Dates(dates.ticks, dates.missing, dates.per_day, dates.values, partial(_as_texts, column=values))


def _first(values: pa.Array) -> str | None:
    return str(values.drop_null()[0].as_py())


def _require_days(texts: pa.Array, name: str) -> None:
    """Raise where texts name months or years: a part of a year cannot be shifted by days."""
    known = texts.drop_null().cast(pa.string())
    odd = known[:0]
    if is_months(known):
        odd = known
    elif may_be_japanese(known):
        plain = plain_text(known)
        if pc.all(looks_like_dates(plain)).as_py():
            odd = known.filter(pa.array(written_dates(plain).unit != DAY))
    if len(odd):
        raise ColumnError(Message("error_technique.shift_months", name=name, value=Raw(odd[0].as_py())))


def _microseconds(ticks: np.ndarray, per_day: int) -> np.ndarray:
    """Ticks as microseconds, exact but for parts of one."""
    usual = TICKS_PER_DAY["us"]
    return ticks // (per_day // usual) if per_day > usual else ticks * (usual // per_day)


def _counted(values: pa.Array) -> _Dates:
    """Dates and timestamps as they are counted in their type, exactly."""
    type_ = values.type
    missing = values.is_null().to_numpy(zero_copy_only=False)
    days = pa.types.is_date32(type_)
    ticks = pc.cast(values, pa.int32()) if days else pc.cast(values, pa.int64())
    per_day = 1 if days else TICKS_PER_DAY["ms" if pa.types.is_date64(type_) else type_.unit]
    counted = pc.cast(ticks, pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)

    def back(after: np.ndarray, mask: np.ndarray) -> pa.Array:
        return pc.cast(pa.array(after.astype(np.int32 if days else np.int64), mask=mask), type_)

    return _Dates(counted, missing, per_day, back)


def _as_digits(days: pa.Array, type_: pa.DataType) -> pa.Array:
    """Days as `20240531`, in the type that the column had."""
    return pc.cast(pc.replace_substring(pc.cast(days, pa.string()), "-", ""), type_)


def _as_texts(dates: pa.Array, column: pa.Array) -> pa.Array:
    """Dates as ISO texts; with the separators of the column, where all its texts have the year first."""
    known = column.drop_null()
    if pa.types.is_date(dates.type):
        texts = pc.cast(pc.cast(dates, pa.date32()), pa.string())
        slashes = pc.all(pc.match_substring_regex(known, "^[0-9]{4}/")).as_py()
        return pc.cast(pc.replace_substring(texts, "-", "/") if slashes else texts, column.type)
    texts = pc.cast(dates, pa.string())
    texts = texts if pc.any(pc.match_substring(known, ".")).as_py() else pc.replace_substring_regex(texts, r"\.0+$", "")
    if not pc.any(pc.match_substring_regex(known, ":[0-9]{2}:")).as_py():
        texts = pc.replace_substring_regex(texts, ":00$", "")
    if pc.all(pc.match_substring_regex(known, DATETIME_TEXT)).as_py():
        example = known[0].as_py()
        texts = pc.replace_substring(texts, " ", example[10])
        texts = pc.binary_join_element_wise(texts, "Z", "") if example.endswith("Z") else texts
    return pc.cast(texts, column.type)


def _unique_by_differences(columns: Sequence[np.ndarray], person: Column | None) -> tuple[int, int]:
    """How many people have differences between their dates that no other has, of those who have two dates or more.

    `columns` hold the dates in microseconds, `ABSENT` where one is missing. Differences are counted from the earliest date of
    the person; the records of a person are compared in any order. Compared by 64-bit hashes: of a million people two are taken for
    equal with a probability of 3 in 10⁸. O(rows · columns).
    """
    if not columns or not columns[0].size:
        return 0, 0
    rows = columns[0].size
    whose = np.arange(rows) if person is None else person.codes.astype(np.int64)
    people = int(whose.max()) + 1
    first, dates = np.full(people, ABSENT, np.int64), np.zeros(people, np.int64)
    for column in columns:
        known = column != ABSENT
        np.minimum.at(first, whose[known], column[known])
        dates += np.bincount(whose[known], minlength=people)
    mixed = np.zeros(rows, np.uint64)
    for column in columns:
        mixed = _mix(mixed ^ np.where(column == ABSENT, ABSENT, column - first[whose]).view(np.uint64))
    signatures = np.zeros(people, np.uint64)
    some = np.logical_or.reduce([column != ABSENT for column in columns])
    np.add.at(signatures, whose[some], _mix(mixed[some]))
    several = dates > 1
    counts = np.unique(signatures[several], return_counts=True)[1]
    return int(np.count_nonzero(counts == 1)), int(np.count_nonzero(several))


def _mix(numbers: np.ndarray) -> np.ndarray:
    """The finalizer of SplitMix64 (Steele, Lea and Flood 2014)."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))
