"""Hierarchies for Japan: addresses (市区町村 → 都道府県 → 地方), age classes, eras and postcodes.

Municipalities are those of the official list."""

from __future__ import annotations

import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro.errors import HierarchyError
from oboro.hierarchies.hierarchy import Level, leaf_share, span_share, text_array
from oboro.notations.japanese import (
    DAY,
    ERAS,
    MONTH,
    YEAR,
    WrittenDates,
    era_numbers,
    joined_labels,
    plain_text,
    written_dates,
)
from oboro.notations.kinds import Kind, kind_of, numbers_of
from oboro.notations.texts import is_text
from oboro.text import Message, Raw

__all__ = [
    "PREFECTURES",
    "address_levels",
    "age_levels",
    "apart",
    "era_levels",
    "level_of",
    "lies_within_a_municipality",
    "municipalities",
    "postcode_digits",
    "postcode_levels",
    "refuse",
    "with_place",
]


# Levels from labels ---------------------------------------------------------------------------------------------------
# Shared by the ready-made hierarchies: levels from one label for each value, and messages for values that do not fit.


SHOWN = 5  # values in a message


def level_of(labels: pa.Array) -> Level:
    """The level on which each value has the given label; a label covers the part of the values under it."""
    encoded = labels.dictionary_encode()
    table = encoded.indices.to_numpy(zero_copy_only=False)
    return Level(encoded.dictionary, table, leaf_share(table, len(encoded.dictionary))).compact()


def apart(labels: pa.Array, values: pa.Array, suffix: str) -> pa.Array:
    """The labels, with a suffix where the column has the same text as a value beside others: else one could pass for the other.

    >>> apart(pa.array(["E11", "E11", "E12"]), pa.array(["E11", "E11.9", "E12"]), ".-").to_pylist()
    ['E11.-', 'E11.-', 'E12']
    """
    texts = text_array(values).cast(pa.string())
    others = labels.filter(pc.not_equal(labels, texts)).unique()
    clashing = others.filter(pc.is_in(others, value_set=texts))
    longer = pc.binary_join_element_wise(labels, suffix, "")
    return pc.if_else(pc.is_in(labels, value_set=clashing), longer, labels)


def refuse(id: str, name: str, values: pa.Array, wrong: np.ndarray) -> None:
    """Raise if some values do not fit, with the first of them."""
    if not wrong.any():
        return
    odd = text_array(values.filter(pa.array(wrong)))
    shown = [Raw(value) for value in odd.to_pylist()[:SHOWN]]
    raise HierarchyError(Message(f"error_hierarchy.{id}", column=name, wrong=len(odd), all=len(values), values=shown))


# Addresses ------------------------------------------------------------------------------------------------------------


REGIONS = {
    "北海道地方": "北海道",
    "東北地方": "青森県 岩手県 宮城県 秋田県 山形県 福島県",
    "関東地方": "茨城県 栃木県 群馬県 埼玉県 千葉県 東京都 神奈川県",
    "中部地方": "新潟県 富山県 石川県 福井県 山梨県 長野県 岐阜県 静岡県 愛知県",
    "近畿地方": "三重県 滋賀県 京都府 大阪府 兵庫県 奈良県 和歌山県",
    "中国地方": "鳥取県 島根県 岡山県 広島県 山口県",
    "四国地方": "徳島県 香川県 愛媛県 高知県",
    "九州・沖縄地方": "福岡県 佐賀県 長崎県 熊本県 大分県 宮崎県 鹿児島県 沖縄県",
}
PREFECTURES = tuple(name for names in REGIONS.values() for name in names.split())  # in the order of JIS X 0401
UNKNOWN, WHOLE = "（市区町村不明）", "（全域）"


@dataclass(frozen=True)
class Municipality:
    """A municipality, or a ward of a designated city (its name then begins with the city's)."""

    code: str
    county: str
    name: str

    @property
    def prefecture(self) -> str:
        """The prefecture's name, by the first two digits of the code."""
        return PREFECTURES[int(self.code[:2]) - 1]

    @property
    def city(self) -> str | None:
        """The designated city of a ward."""
        return self.name[: self.name.index("市") + 1] if self.name.endswith("区") and "市" in self.name else None


@cache
def municipalities() -> tuple[Municipality, ...]:
    """The list, as its file has it; the file says where it comes from and of when it is."""
    text = files("oboro.hierarchies").joinpath("municipalities.csv").read_text(encoding="utf-8")
    lines = (line.split(",") for line in text.splitlines() if line and not line.startswith("#"))
    return tuple(Municipality(*line) for line in lines)


@cache
def _names() -> dict[str, tuple[str, str]]:
    """Return the possible beginnings of addresses, with the municipality and the prefecture of each.

    With the prefecture any name will do. Without it only counties, cities and wards that no other prefecture has: 府中市 is in
    two prefectures, 中央区 in many cities, and 大島町 is also a part of towns.
    """
    found: dict[str, tuple[str, str]] = {}
    cities = {(one.prefecture, one.city): one for one in municipalities() if one.city}
    places = [(one.prefecture, one.county, one.name) for one in municipalities()]
    places += [(prefecture, "", city) for prefecture, city in cities if city]
    wards = {one.name.removeprefix(one.city) for one in municipalities() if one.city}
    often = Counter(county + name for _, county, name in places)
    for prefecture, county, name in places:
        place = (prefecture + name, prefecture)
        found |= {prefecture + county + name: place, prefecture + name: place}
        alone = county + name
        if often[alone] == 1 and alone not in wards and (county or name.endswith(("市", "区"))):
            found[alone] = place
    for prefecture in PREFECTURES:
        found[prefecture] = (prefecture + UNKNOWN, prefecture)
    return {_one_way(name): place for name, place in found.items()}


def _one_way(name: str) -> str:
    return name.replace("ヶ", "ケ").replace("ヵ", "ケ")


@cache
def _lengths() -> list[tuple[int, pa.Array]]:
    """The names by their length, longest first."""
    lengths = sorted({len(name) for name in _names()}, reverse=True)
    return [(length, pa.array([name for name in _names() if len(name) == length])) for length in lengths]


def lies_within_a_municipality(text: str) -> bool:
    """Return whether an address in plain form begins with a municipality and continues, so that it is no label.

    >>> [lies_within_a_municipality(text) for text in ("東京都新宿区西新宿2", "東京都新宿区", "東京都新しい市1")]
    [True, False, False]
    """
    if not text.isalnum() or not unicodedata.is_normalized("NFKC", text) or text[0].isdigit():
        return False
    text = _one_way(text)
    begun = next((length for length, _ in _lengths() if text[:length] in _names()), len(text))
    return begun < len(text) and not _names()[text[:begun]][0].endswith(UNKNOWN)


def with_place(values: pa.Array) -> tuple[pa.Array, pa.Array]:
    """For each address its municipality and its prefecture, null where it is not recognised. The longest name counts. O(n)."""
    plain = plain_text(text_array(values).cast(pa.string()))
    plain = pc.replace_substring_regex(plain, r"^〒?[0-9]{3}-?[0-9]{4}", "")
    plain = pc.replace_substring_regex(pc.replace_substring_regex(plain, r"\s", ""), "[ヶヵ]", "ケ")
    empty = pa.nulls(len(plain), pa.string())
    municipality, prefecture = empty, empty
    for length, names in _lengths():
        begins = pc.utf8_slice_codeunits(plain, 0, length)
        place = pc.if_else(municipality.is_valid(), None, pc.index_in(begins, value_set=names))
        places = [_names()[name] for name in names.to_pylist()]
        municipality = pc.coalesce(municipality, pa.array([one for one, _ in places]).take(place))
        prefecture = pc.coalesce(prefecture, pa.array([two for _, two in places]).take(place))
    return municipality, prefecture


def address_levels(name: str, values: pa.Array) -> list[Level]:
    """市区町村, 都道府県, 地方. Raises `HierarchyError` that shows addresses which begin with none of them.

    Given: addresses from the prefecture on, or from a city or county that only one prefecture has. Promises: each level is a
    function of the one below. A municipality that is not on the list (one that has merged) is told by its prefecture.
    """
    municipality, prefecture = with_place(values)
    refuse("addresses", name, values, prefecture.is_null().to_numpy(zero_copy_only=False))
    regions = {one: region for region, names in REGIONS.items() for one in names.split()}
    region = pa.array(list(regions.values())).take(pc.index_in(prefecture, value_set=pa.array(list(regions))))
    # A column of prefectures has no municipalities to tell.
    levels = (
        [prefecture, region]
        if pc.all(pc.ends_with(municipality, UNKNOWN)).as_py()
        else [municipality, prefecture, region]
    )
    return [level_of(apart(labels, values, WHOLE)) for labels in levels]


# Age classes ----------------------------------------------------------------------------------------------------------
# Ages in the classes of official statistics: 5歳階級 → 10歳階級 → 年少・生産年齢・老年人口.
#
# The classes of ten years are those of the labour force survey (15～24歳, 25～34歳 …): only they fit between the classes of
# five years and the three age groups, which change at 15 and 65.


EDGES = (tuple(range(0, 101, 5)), (0, *range(5, 86, 10)), (0, 15, 65))
OLDEST = 150


def age_levels(name: str, values: pa.Array) -> list[Level]:
    """`35～39歳`, then `35～44歳`, then `15～64歳`; open at the top (`100歳以上`, `85歳以上`, `65歳以上`).

    Given: ages as numbers (`39`, `39歳`). Promises: each level is a function of the one below; an age lies in its class.
    """
    if len(values) and kind_of(values) not in (Kind.INTEGER, Kind.NUMBER):
        single = [kind_of(values.slice(place, 1)) for place in range(len(values))]
        wrong = np.array([kind not in (Kind.INTEGER, Kind.NUMBER) for kind in single])
        refuse("ages", name, values, wrong if wrong.any() else np.ones(len(values), dtype=bool))
    ages = numbers_of(values, name) if len(values) else np.empty(0)
    refuse("ages", name, values, ~((ages >= 0) & (ages <= OLDEST)))
    return [_age_level(ages, np.array(edges)) for edges in EDGES]


def _age_level(ages: np.ndarray, edges: np.ndarray) -> Level:
    table = np.searchsorted(edges, ages, side="right") - 1
    ends = np.append(edges[1:], OLDEST)
    labels = [f"{low}～{high - 1}歳" for low, high in pairwise(edges.tolist())]
    share = span_share(edges.astype(np.float64), ends.astype(np.float64), ages, counted=True)
    return Level(pa.array([*labels, f"{edges[-1]}歳以上"]), table, share).compact()


# Eras -----------------------------------------------------------------------------------------------------------------
# Dates → months → years → eras of the Japanese calendar.


MICROSECONDS = 86_400_000_000
FURTHEST = 1 << 40
UNITS = {"month": MONTH, "year": YEAR, "era": YEAR + 1}


def era_levels(name: str, values: pa.Array) -> list[Level]:
    """`昭和34年6月`, then `昭和34年`, then `昭和`; columns of years have no months.

    Given: dates by era or of the Gregorian calendar, whole or without their day or month. Promises: each level is a function of
    the one below. What reaches over the change of an era names both (`1989年` is `昭和64年・平成元年`).
    """
    dates = _days(name, values)
    finest = int(dates.unit.min(initial=YEAR))
    return [_era_level(unit, dates, values) for unit, size in UNITS.items() if size >= finest]


def _days(name: str, values: pa.Array) -> WrittenDates:
    kind = kind_of(values)
    if kind in (Kind.DATE, Kind.DATETIME) and not is_text(values):
        days = numbers_of(values) // (MICROSECONDS if kind is Kind.DATETIME else 1)
        return _exact(days.astype(np.int64))
    if kind is Kind.DATETIME:
        return _exact((numbers_of(values) // MICROSECONDS).astype(np.int64))
    plain = plain_text(text_array(values).cast(pa.string()))
    if kind is Kind.INTEGER:  # years, some of them without 年
        plain = pa.array([text if text.endswith("年") else f"{text}年" for text in plain.to_pylist()], pa.string())
    dates = written_dates(plain)
    refuse("eras", name, values, ~dates.valid)
    return dates


def _exact(days: np.ndarray) -> WrittenDates:
    there = np.ones(days.size, dtype=bool)
    return WrittenDates(days, days, np.full(days.size, DAY), ~there, there)


def _era_level(unit: str, dates: WrittenDates, values: pa.Array) -> Level:
    stretches, place = np.unique(np.stack([dates.first, dates.last, dates.unit], axis=1), axis=0, return_inverse=True)
    texts = pa.array([_label(unit, *one) for one in stretches.tolist()], pa.string()).take(pa.array(place.ravel()))
    encoded = apart(texts, values, "中").dictionary_encode()
    table = encoded.indices.to_numpy(zero_copy_only=False)
    starts, ends = _bounds(unit, dates, table, len(encoded.dictionary))
    share = span_share(starts, ends, np.concatenate([dates.first, dates.last]).astype(np.float64), counted=True)
    return Level(encoded.dictionary, table, share).compact()


def _label(unit: str, first: int, last: int, size: int) -> str:
    if unit == "month" and size == YEAR:
        return f"{joined_labels('year', first, last)}（月不明）"
    return joined_labels(unit, first, last)


def _bounds(unit: str, dates: WrittenDates, table: np.ndarray, labels: int) -> tuple[np.ndarray, np.ndarray]:
    """The days that each label may stand for: its month or year as far as the era goes, or the era."""
    eras = [era_numbers(days) for days in (dates.first, dates.last)]
    first = np.array([*(era.first for era in ERAS), -FURTHEST])[eras[0]]
    last = np.array([*(era.last for era in ERAS), ERAS[0].first - 1])[eras[1]]
    if unit != "era":
        period = "datetime64[M]" if unit == "month" else "datetime64[Y]"
        begin, end = (days.astype("datetime64[D]").astype(period) for days in (dates.first, dates.last))
        first = np.maximum(first, begin.astype("datetime64[D]").astype(np.int64))
        last = np.minimum(last, (end + 1).astype("datetime64[D]").astype(np.int64) - 1)
    starts, ends = np.full(labels, np.inf), np.full(labels, -np.inf)
    np.minimum.at(starts, table, np.minimum(first, dates.first))
    np.maximum.at(ends, table, np.maximum(last, dates.last) + 1)
    return starts, ends


# Postcodes ------------------------------------------------------------------------------------------------------------
# Japanese postcodes of seven digits → the first three → the first two.


SEVEN = r"^〒?[0-9]{3}-?[0-9]{4}$"


def postcode_digits(values: pa.Array) -> pa.Array:
    """The seven digits, whatever stands around them (`〒１００－０００１`); null where there are not seven.

    A spreadsheet that took postcodes for numbers has lost their first zero: numbers get it back.

    >>> postcode_digits(pa.array(["〒１００－０００１", "1000001", "100"])).to_pylist()
    ['1000001', '1000001', None]
    >>> postcode_digits(pa.array([600001])).to_pylist()
    ['0600001']
    """
    plain = plain_text(text_array(values).cast(pa.string()))
    if pa.types.is_integer(values.type):
        plain = pc.utf8_lpad(plain, 7, "0")
    digits = pc.replace_substring_regex(plain, "[〒-]", "")
    return pc.if_else(pc.match_substring_regex(plain, SEVEN), digits, None)


def postcode_levels(name: str, values: pa.Array) -> list[Level]:
    """`100-****`, then `10*-****`. Raises `HierarchyError` for values that are no postcodes.

    Given: postcodes with or without 〒 and hyphen. Promises: each level is a function of the one below.
    """
    digits = postcode_digits(values)
    refuse("postcodes", name, values, digits.is_null().to_numpy(zero_copy_only=False))
    return [
        level_of(pc.binary_join_element_wise(pc.utf8_slice_codeunits(digits, 0, kept), hidden, ""))
        for kept, hidden in ((3, "-****"), (2, "*-****"))
    ]
