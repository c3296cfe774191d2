"""A made-up table of people: names, birth dates, Japanese addresses, jobs, purchases and a diagnosis.

For first steps, examples and tests. Columns hang together as they do in life (students are young, income follows job
and age, diagnoses follow age, postal codes follow addresses), and about one value in a hundred is missing. No row
speaks of a real person.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro.errors import UsageError
from oboro.samples.japan_names import FEMALE_NAMES, MALE_NAMES, PREFECTURES, SURNAMES, TOWNS
from oboro.table.dataset import Column, Dataset, smallest_unsigned
from oboro.text import Message

__all__ = ["hierarchy_csv", "people", "people_hierarchies", "people_recipe"]

Rows = list[tuple[str, ...]]

TODAY = np.datetime64("2025-03-31")  # fixed, so that the same seed makes the same table next year
MISSING = 0.01
CHOME = 3

# Inhabitants by age, in tens of thousands (Japan, 2023): 18–19, 20–24, 25–29 … 90–94, 95–99.
AGE_STARTS = np.array([18, *range(20, 100, 5)])
AGE_PEOPLE = np.array([222, 625, 643, 637, 707, 786, 921, 946, 820, 747, 734, 864, 770, 590, 399, 201, 60])


@dataclass(frozen=True)
class Job:
    """A job: its group, how common it is, the share of women, the usual income (10,000 yen a year) and its spread."""

    name: str
    group: str
    weight: float
    women: float
    income: float
    spread: float = 0.25


JOBS = (
    Job("office clerk", "office", 14, 0.6, 400),
    Job("accountant", "office", 3, 0.5, 480),
    Job("sales representative", "office", 8, 0.3, 470, 0.35),
    Job("manager", "office", 3, 0.15, 780, 0.4),
    Job("software engineer", "engineering", 4, 0.2, 560, 0.3),
    Job("civil engineer", "engineering", 2, 0.1, 550),
    Job("researcher", "engineering", 1, 0.25, 620, 0.3),
    Job("nurse", "health", 4, 0.92, 480),
    Job("physician", "health", 0.8, 0.25, 1250, 0.45),
    Job("pharmacist", "health", 0.7, 0.65, 560),
    Job("care worker", "health", 5, 0.72, 350),
    Job("teacher", "public service", 3, 0.5, 590),
    Job("civil servant", "public service", 4, 0.35, 560),
    Job("police officer", "public service", 1, 0.1, 620),
    Job("factory worker", "production and transport", 12, 0.28, 390),
    Job("driver", "production and transport", 5, 0.06, 400),
    Job("construction worker", "production and transport", 5, 0.05, 420),
    Job("farmer", "production and transport", 3, 0.4, 300, 0.6),
    Job("shop assistant", "shops and services", 9, 0.65, 290),
    Job("cook", "shops and services", 5, 0.6, 310),
    Job("hairdresser", "shops and services", 1.5, 0.75, 330, 0.35),
    Job("student", "not in work", 0, 0.48, 60, 0.5),
    Job("homemaker", "not in work", 0, 0.96, 40, 0.8),
    Job("pensioner", "not in work", 0, 0.55, 190, 0.35),
)
STUDENT, HOMEMAKER, PENSIONER = 21, 22, 23

# What is bought, how likely for women and men, and the usual amount in yen.
CATEGORIES = (
    "food",
    "clothing",
    "household",
    "books",
    "electronics",
    "cosmetics",
    "medicine",
    "sports",
    "toys",
    "travel",
)
CATEGORY_WOMEN = np.array([30, 17, 13, 7, 4, 14, 6, 3, 3, 3.0])
CATEGORY_MEN = np.array([28, 8, 9, 9, 16, 3, 6, 9, 5, 7.0])
CATEGORY_YEN = np.array([3200, 8400, 4100, 1900, 32000, 4600, 2100, 9800, 3900, 58000.0])

# What people have, in percent at 20 and at 80 years; what is left has nothing.
DIAGNOSES = (
    "none",
    "hypertension",
    "diabetes",
    "asthma",
    "depression",
    "back pain",
    "hay fever",
    "heart disease",
    "cancer",
)
ILL_AT_20 = np.array([0.5, 0.5, 5, 5, 4, 14, 0.3, 0.2])
ILL_AT_80 = np.array([26, 12, 3, 3, 12, 4, 10, 8.0])


def people(rows: int = 10_000, seed: int = 0) -> Dataset:
    """A made-up table of people; the same seed makes the same table. 100,000 rows take well under a second.

    >>> people(3, seed=1).to_arrow().column_names[:6]
    ['customer_id', 'name', 'phone', 'birthdate', 'sex', 'postal_code']
    """
    if rows < 1:
        raise UsageError(Message("error_samples.rows", rows=rows))
    rng = np.random.default_rng(seed)
    age, birth = _ages(rng, rows)
    female = rng.random(rows) < 0.48 + 0.001 * age
    job = _jobs(rng, age, female)
    town = _towns(rng, rows)
    columns = {
        "customer_id": _customer_ids(rng, rows),
        "name": _names(rng, age, female),
        "phone": _sometimes(rng, _phones(rng, rows)),
        "birthdate": _sometimes(rng, Column.encode(pa.array(birth)), MISSING / 2),
        "sex": _column(("male", "female"), female.astype(np.uint8)),
        "postal_code": _sometimes(rng, _column(_postal_codes(), town)),
        "address": _column(_addresses(), town * CHOME + rng.integers(0, CHOME, rows)),
        "job": _sometimes(rng, _column([one.name for one in JOBS], job)),
        "income": _sometimes(rng, _incomes(rng, age, job)),
        **_purchases(rng, female),
        "diagnosis": _sometimes(rng, _diagnoses(rng, age)),
    }
    return Dataset(columns, rows)


def _column(values: Sequence[str], codes: np.ndarray) -> Column:
    return Column(pa.array(values), codes.astype(smallest_unsigned(len(values)))).tidy()


def _sometimes(rng: np.random.Generator, column: Column, share: float = MISSING) -> Column:
    """The column with some of its values missing."""
    return column.where(rng.random(len(column)) < share, None)


def _choose(rng: np.random.Generator, weights: np.ndarray, rows: int) -> np.ndarray:
    """One weighted choice per row."""
    return _choose_by(rng, weights[None, :], np.zeros(rows, dtype=np.int64))


def _choose_by(rng: np.random.Generator, weights: np.ndarray, kind: np.ndarray) -> np.ndarray:
    """One weighted choice per row, where `weights` has a row of weights for each kind of row."""
    kinds, choices = weights.shape
    bounds = np.cumsum(weights, axis=1) / weights.sum(axis=1, keepdims=True)
    # All kinds lie on one line, kind i between i and i + 1, so that one binary search per row finds its choice.
    line = (bounds + np.arange(kinds)[:, None]).ravel()
    found = np.searchsorted(line, kind + rng.random(kind.size), side="right")
    return np.asarray(np.clip(found - kind * choices, 0, choices - 1))


def _ages(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Age in years, and birth date."""
    band = _choose(rng, AGE_PEOPLE, rows)
    width = np.diff([*AGE_STARTS, 100])[band]
    days = (AGE_STARTS[band] + rng.random(rows) * width) * 365.2425
    birth = TODAY - np.floor(days).astype("timedelta64[D]")
    return days / 365.2425, birth


def _names(rng: np.random.Generator, age: np.ndarray, female: np.ndarray) -> Column:
    """Surnames by their frequency, given names by sex and generation."""
    generation = np.select([age >= 65, age >= 35], [0, 1], 2)
    weights = 1.0 / (np.arange(len(SURNAMES)) + 12)
    surname = _choose(rng, weights, age.size)
    each = len(FEMALE_NAMES) // 3
    given = generation * each + rng.integers(0, each, age.size) + np.where(female, 0, len(FEMALE_NAMES))
    names = [f"{family} {first}" for family in SURNAMES for first in FEMALE_NAMES + MALE_NAMES]
    return _column(names, surname * (len(FEMALE_NAMES) + len(MALE_NAMES)) + given)


def _customer_ids(rng: np.random.Generator, rows: int) -> Column:
    numbers = 100_000 + np.cumsum(rng.integers(1, 9, rows))
    return Column.encode(_joined("C", _digits(numbers, 8)))


def _phones(rng: np.random.Generator, rows: int) -> Column:
    start = pa.array(["070", "080", "090"]).take(pa.array(rng.integers(0, 3, rows)))
    middle, end = (_digits(rng.integers(low, 10_000, rows), 4) for low in (1000, 0))
    return Column.encode(pc.binary_join_element_wise(start, middle, end, "-"))


def _digits(numbers: np.ndarray, width: int) -> pa.Array:
    return pc.utf8_lpad(pc.cast(pa.array(numbers), pa.string()), width, "0")


def _joined(prefix: str, texts: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(prefix, texts, "")


def _towns(rng: np.random.Generator, rows: int) -> np.ndarray:
    """One town number per row: prefectures by inhabitants, the first city of each larger than the last, towns alike."""
    share = np.concatenate([_city_shares(place.people, len(place.cities)) for place in PREFECTURES])
    city = _choose(rng, share, rows)
    return np.asarray(city * len(TOWNS) + rng.integers(0, len(TOWNS), rows))


def _city_shares(people: int, cities: int) -> np.ndarray:
    rank = 1.0 / np.arange(1, cities + 1)
    return np.asarray(people * rank / rank.sum())


def _addresses() -> list[str]:
    return [row[0] for row in _address_rows()]


def _address_rows() -> Rows:
    """Every address that can occur, then its city, prefecture and region, then `*`."""
    return [
        (f"{place.name}{city}{town}{chome}丁目", f"{place.name}{city}", place.name, place.region, "*")
        for place in PREFECTURES
        for city in place.cities
        for town in TOWNS
        for chome in range(1, CHOME + 1)
    ]


def _postal_codes() -> list[str]:
    """One code per town, beginning as codes of its prefecture do."""
    return [
        f"{place.postal[i % len(place.postal)]}{i % 10}-{j * 31:04d}"
        for place in PREFECTURES
        for i in range(len(place.cities))
        for j in range(len(TOWNS))
    ]


def _jobs(rng: np.random.Generator, age: np.ndarray, female: np.ndarray) -> np.ndarray:
    """Jobs by sex; most of the youngest still study, most people beyond 65 draw a pension."""
    women = np.array([job.weight * job.women for job in JOBS])
    men = np.array([job.weight * (1 - job.women) for job in JOBS])
    job = _choose_by(rng, np.stack([men, women]), female.astype(np.int64))
    job = np.where(female & (rng.random(age.size) < 0.22), HOMEMAKER, job)
    job = np.where(rng.random(age.size) < np.clip((age - 58) / 16, 0, 0.97), PENSIONER, job)
    return np.where(rng.random(age.size) < np.clip((25 - age) / 7, 0, 0.85), STUDENT, job)


def _incomes(rng: np.random.Generator, age: np.ndarray, job: np.ndarray) -> Column:
    """Yen a year, log-normal about what is usual for the job, most at 52 years."""
    usual = np.array([one.income for one in JOBS])[job]
    spread = np.array([one.spread for one in JOBS])[job]
    career = np.where(job < STUDENT, 1.1 - 0.00045 * (age - 52) ** 2, 1.0)
    income = usual * np.clip(career, 0.55, None) * np.exp(spread * rng.standard_normal(age.size))
    return Column.encode(pa.array(np.rint(income).astype(np.int64) * 10_000))


def _purchases(rng: np.random.Generator, female: np.ndarray) -> dict[str, Column]:
    """The last purchase: when, what, how much; missing together for the few who never bought anything."""
    rows = female.size
    category = _choose_by(rng, np.stack([CATEGORY_MEN, CATEGORY_WOMEN]), female.astype(np.int64))
    days = np.minimum(rng.exponential(75, rows), 720).astype("timedelta64[D]")
    yen = CATEGORY_YEN[category] * np.exp(0.55 * rng.standard_normal(rows))
    never = rng.random(rows) < MISSING
    columns = {
        "last_purchase": Column.encode(pa.array(TODAY - days)),
        "category": _column(CATEGORIES, category),
        "amount": Column.encode(pa.array(np.maximum(np.rint(yen / 10), 10).astype(np.int64) * 10)),
    }
    return {name: column.where(never, None) for name, column in columns.items()}


def _diagnoses(rng: np.random.Generator, age: np.ndarray) -> Column:
    years = np.arange(100)
    old = np.clip((years - 20) / 60, 0, 1)[:, None]
    ill = ILL_AT_20 * (1 - old) + ILL_AT_80 * old
    weights = np.concatenate([100 - ill.sum(axis=1, keepdims=True), ill], axis=1)
    return _column(DIAGNOSES, _choose_by(rng, weights, age.astype(np.int64)))


def people_hierarchies() -> dict[str, Rows]:
    """The hierarchies of `people`, row by row: a value, then what it becomes at each level.

    >>> people_hierarchies()["job"][7]
    ('nurse', 'health', 'in work', '*')
    """
    work = {True: "not in work", False: "in work"}
    jobs: Rows = [(job.name, job.group, work[job.group == "not in work"], "*") for job in JOBS]
    return {"address": _address_rows(), "job": jobs}


def hierarchy_csv(rows: Iterable[Sequence[str]]) -> str:
    """Hierarchy rows as the text of a CSV file: `value;level 1;level 2;…`, without a header.

    >>> print(hierarchy_csv([("nurse", "health", "*")]), end="")
    nurse;health;*
    """
    out = io.StringIO()
    csv.writer(out, delimiter=";", lineterminator="\n").writerows(rows)
    return out.getvalue()


def people_recipe(folder: str = "hierarchies", lang: str = "en") -> str:
    """A recipe for `people` with comments in a language; `folder` is where it finds the hierarchies `address.csv` and `job.csv`."""
    return commented(PEOPLE_RECIPE.replace("FOLDER", folder), "people", lang)


COMMENTS = (
    "head",
    "identifiers",
    "quasi",
    "sex",
    "address",
    "job",
    "postal_code",
    "sensitive",
    "pseudonymize",
    "drop_records",
    "top_code",
    "round",
    "noise",
    "k_anonymize",
    "shuffle",
    "seed",
    "accept",
    "unnamed",
)  # in recipes of samples, each as `@id`


def commented(recipe: str, sample: str, lang: str) -> str:
    """A recipe with the words of its comments (`@id`) in one language.

    >>> commented("sex: {role: quasi}  # @sex\\n", "people", "ja")
    'sex: {role: quasi}  # 階層なし:値そのまま、又は *\\n'
    """
    for one in COMMENTS:
        if f"# @{one}\n" in recipe:
            recipe = recipe.replace(f"# @{one}\n", f"# {Message(f'sample.{sample}.{one}').say(lang)}\n")
    return recipe


PEOPLE_RECIPE = """\
# @head
#   oboro anonymize people.csv --recipe recipe.yaml --output released.csv --report report.html

attributes:
  # @identifiers
  customer_id:   {role: identifier}
  name:          {role: identifier}
  phone:         {role: identifier}

  # @quasi
  birthdate:     {role: quasi, hierarchy: {dates: [day, month, year, decade]}}
  sex:           {role: quasi}                                        # @sex
  address:       {role: quasi, hierarchy: {csv: FOLDER/address.csv}}  # @address
  job:           {role: quasi, hierarchy: {csv: FOLDER/job.csv}}      # @job
  last_purchase: {role: quasi, hierarchy: {dates: [day, month, quarter, year]}}
  postal_code:   {role: quasi}                                        # @postal_code

  # @sensitive
  diagnosis:     {role: sensitive}
  income:        {role: sensitive}
  category:      {role: sensitive}
  amount:        {role: sensitive}

steps:
  - pseudonymize: {attribute: customer_id, method: random}            # @pseudonymize
  - drop_columns: {attributes: [name, phone, postal_code]}
  - drop_records: {where: {last_purchase: {missing: true}}}           # @drop_records
  - top_code: {attribute: income, percentile: 99}                     # @top_code
  - round: {attribute: income, base: 100000}                          # @round
  - noise: {attribute: amount, relative: 0.1, multiplicative: true}   # @noise
  # @k_anonymize
  - k_anonymize: {k: 5, suppress: 0.05, l_diversity: {diagnosis: 2, category: 2}}
  - shuffle: {}                                                       # @shuffle

seed: 42  # @seed
"""
