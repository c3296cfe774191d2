"""Japanese addresses → 市区町村 → 都道府県 → 地方, by the official list of municipalities."""

from __future__ import annotations

import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import pyarrow as pa
import pyarrow.compute as pc

from oboro.table.hierarchy.levels import Level, text_array
from oboro.table.hierarchy.ready.labelled_values import apart, level_of, refuse
from oboro.table.japanese.written_values import plain_text

__all__ = ["PREFECTURES", "address_levels", "lies_within_a_municipality", "municipalities", "with_place"]

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
    text = files("oboro.table.hierarchy.ready").joinpath("municipalities.csv").read_text(encoding="utf-8")
    lines = (line.split(",") for line in text.splitlines() if line and not line.startswith("#"))
    return tuple(Municipality(*line) for line in lines)


@cache
def _names() -> dict[str, tuple[str, str]]:
    """How an address may begin, and the municipality and the prefecture that it then lies in.

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
    """Whether a plainly written address begins with a municipality and goes on with something of its own, so that it is no label.

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
