"""Ready hierarchies: Japanese addresses, postcodes, ages and eras, and ICD-10."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oboro.data.column import Column
from oboro.errors import HierarchyError
from oboro.hierarchies.japan import PREFECTURES, municipalities
from oboro.hierarchies.propose import propose
from oboro.hierarchies.spec import HierarchySpec

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def rows(values, **form):
    return HierarchySpec(**form).build("列", Column.of(values)).to_rows()


def test_the_list_of_municipalities_is_whole():
    listed = municipalities()
    wards = [one for one in listed if one.city]
    cities = {(one.prefecture, one.city) for one in wards}
    # 792 cities, 743 towns, 183 villages and the 23 wards of Tokyo; 20 designated cities with 171 wards.
    assert (len(wards), len(cities), len(listed) - len(wards) + len(cities)) == (171, 20, 1741)
    assert sum(one.name.endswith("村") for one in listed) == 183
    assert sum(one.name.endswith("町") for one in listed) == 743
    assert sum(one.name.endswith("区") for one in listed) - len(wards) == 23
    assert len(PREFECTURES) == 47
    assert {one.prefecture for one in listed} == set(PREFECTURES)
    assert len({(one.prefecture, one.name) for one in listed}) == len(listed)
    # Codes as the ministry has them.
    by_code = {one.code: one.prefecture + one.name for one in listed}
    known = {"13101": "東京都千代田区", "27102": "大阪府大阪市都島区", "47382": "沖縄県与那国町"}
    assert known.items() <= by_code.items()


def test_every_municipality_is_found_by_its_full_name():
    listed = municipalities()
    for form in (lambda one: one.prefecture + one.county + one.name, lambda one: one.prefecture + one.name):
        found = rows([form(one) + "字本町1-2" for one in listed], japan="address")
        assert [row[1] for row in found] == [one.prefecture + one.name for one in listed]
        assert [row[2] for row in found] == [one.prefecture for one in listed]


@pytest.mark.parametrize(
    ("address", "labels"),
    [
        ("東京都千代田区丸の内1-1-1", ["東京都千代田区", "東京都", "関東地方"]),
        ("〒２３１－０００５　横浜市中区本町", ["神奈川県横浜市中区", "神奈川県", "関東地方"]),
        ("神奈川県横浜市", ["神奈川県横浜市", "神奈川県", "関東地方"]),
        ("余市郡余市町黒川町", ["北海道余市町", "北海道", "北海道地方"]),
        ("三重県四日市市諏訪町", ["三重県四日市市", "三重県", "近畿地方"]),
        ("広島県廿日市市", ["広島県廿日市市", "広島県", "中国地方"]),
        ("茨城県龍ヶ崎市", ["茨城県龍ケ崎市", "茨城県", "関東地方"]),
        ("広島県府中市", ["広島県府中市", "広島県", "中国地方"]),
        ("埼玉県浦和市常盤", ["埼玉県（市区町村不明）", "埼玉県", "関東地方"]),  # it has merged
        ("沖縄県八重山郡与那国町", ["沖縄県与那国町", "沖縄県", "九州・沖縄地方"]),
    ],
)
def test_addresses(address, labels):
    assert rows([address, "東京都港区芝公園"], japan="address")[0] == [address, *labels, "*"]


@pytest.mark.parametrize("address", ["府中市宮町", "中央区銀座", "港区", "大島町1", "Berlin", "不明", "丸の内1-1"])
def test_an_address_that_could_be_anywhere_is_an_error(address):
    with pytest.raises(HierarchyError, match=f"1 of 2 values .*{address}"):
        rows([address, "東京都千代田区"], japan="address")


def test_a_column_of_prefectures_has_regions_only():
    assert rows(["東京都", "大阪府"], japan="address") == [
        ["東京都", "東京都", "関東地方", "*"],
        ["大阪府", "大阪府", "近畿地方", "*"],
    ]


def test_a_label_is_never_the_text_of_another_value():
    assert [row[1] for row in rows(["東京都港区", "東京都港区芝公園"], japan="address")] == ["東京都港区（全域）"] * 2
    assert [row[1] for row in rows(["E11", "E11.9"], icd10="chapters")] == ["E11.-"] * 2
    assert [row[2] for row in rows(["昭和34年", "S34.6.7"], japan="era")] == ["昭和34年中"] * 2


def test_postcodes():
    found = rows(["〒100-0001", "1000001", "１０１－０００１", None], japan="postcode")
    assert found[:3] == [
        ["〒100-0001", "100-****", "10*-****", "*"],
        ["1000001", "100-****", "10*-****", "*"],
        ["１０１－０００１", "101-****", "10*-****", "*"],
    ]
    assert rows([600001], japan="postcode") == [["600001", "060-****", "06*-****", "*"]]  # a number has lost its zero
    with pytest.raises(HierarchyError, match="not postcodes"):
        rows(["600001"], japan="postcode")


@given(st.lists(st.integers(0, 120), min_size=1, unique=True))
def test_ages_lie_in_their_classes(ages):
    for text, five, ten, three, star in rows([f"{age}歳" for age in ages], japan="age"):
        age = int(text.removesuffix("歳"))
        low = age // 5 * 5
        assert five == (f"{low}～{low + 4}歳" if age < 100 else "100歳以上")
        low = (age + 5) // 10 * 10 - 5
        assert ten == ("85歳以上" if age >= 85 else "0～4歳" if age < 5 else f"{low}～{low + 9}歳")
        assert three == ("0～14歳" if age < 15 else "15～64歳" if age < 65 else "65歳以上")
        assert star == "*"


def test_odd_ages_are_an_error():
    for odd in ("abc", "-1", "151歳"):
        with pytest.raises(HierarchyError, match="not ages"):
            rows([odd, "39"], japan="age")


@given(st.lists(st.dates(date(1868, 10, 23), date(2100, 12, 31)), min_size=1, unique=True))
def test_eras_against_a_walk_over_their_first_days(days):
    starts = [(date(1868, 10, 23), "明治"), (date(1912, 7, 30), "大正"), (date(1926, 12, 25), "昭和"), (date(1989, 1, 8), "平成"),
              (date(2019, 5, 1), "令和")]  # fmt: skip
    for text, month, year, era, _ in rows(days, japan="era"):
        day = date.fromisoformat(text)
        first, name = next((first, name) for first, name in reversed(starts) if first <= day)
        count = "元" if day.year == first.year else day.year - first.year + 1
        assert (month, year, era) == (f"{name}{count}年{day.month}月", f"{name}{count}年", name)


def test_eras_of_months_and_years():
    assert rows(["1989年", "平成元年1月", "昭和64年1月7日"], japan="era") == [
        ["1989年", "昭和64年・平成元年（月不明）", "昭和64年・平成元年", "昭和・平成", "*"],
        ["平成元年1月", "平成元年1月", "平成元年", "平成", "*"],
        ["昭和64年1月7日", "昭和64年1月", "昭和64年", "昭和", "*"],
    ]
    assert rows(["昭和34年", "2020"], japan="era") == [
        ["昭和34年", "昭和34年", "昭和", "*"],
        ["2020", "令和2年", "令和", "*"],
    ]
    with pytest.raises(HierarchyError, match="昭和70年"):
        rows(["昭和70年"], japan="era")


@pytest.mark.parametrize(
    ("code", "labels"),
    [  # by the WHO's tables
        ("E11.9", ["E11", "E10-E14", "IV (E00-E90)"]),
        ("ｃ１６９", ["C16", "C15-C26", "II (C00-D48)"]),
        ("D48.9", ["D48", "D37-D48", "II (C00-D48)"]),
        ("D50", ["D50", "D50-D53", "III (D50-D89)"]),
        ("H59.9", ["H59", "H55-H59", "VII (H00-H59)"]),
        ("H60", ["H60", "H60-H62", "VIII (H60-H95)"]),
        ("S72.0", ["S72", "S70-S79", "XIX (S00-T98)"]),
        ("Y09", ["Y09", "X85-Y09", "XX (V01-Y98)"]),
        ("U07.1", ["U07", "U00-U49", "XXII (U00-U99)"]),
        ("C42", ["C42", "II -", "II (C00-D48)"]),  # in a chapter, but in no block
    ],
)
def test_icd10(code, labels):
    assert rows([code, "A00.0"], icd10="chapters")[0] == [code, *labels, "*"]


def test_icd10_nests_for_every_code():
    every = [f"{letter}{number:02d}" for letter in LETTERS for number in range(100)]
    outside = _outside(every)
    known = [code for code in every if code not in outside]
    assert len(rows(known, icd10="chapters")) == len(known)
    for code in ("D49", "E91", "T99", "Y99", "V00", "K94", "H96", "P97", "12", "AB1"):
        with pytest.raises(HierarchyError, match="not ICD-10 codes"):
            rows([code], icd10="chapters")


def _outside(every):
    gaps = ["D49-D49", "D90-D99", "E91-E99", "H96-H99", "K94-K99", "P97-P99", "T99-T99", "V00-V00", "Y99-Y99"]
    return {code for code in every for gap in gaps if gap[:3] <= code <= gap[4:]}


def test_proposed_where_they_fit():
    many = [date(1950, 1, 1) + timedelta(97 * n) for n in range(30)]
    columns = {
        "住所": ([f"東京都港区芝公園{n}" for n in range(30)], {"japan": "address"}),
        "郵便番号": ([f"{n:07d}" for n in range(30)], {"japan": "postcode"}),
        "zip": ([f"100-{n:04d}" for n in range(30)], {"japan": "postcode"}),
        "年齢": (list(range(30)), {"japan": "age"}),
        "age": ([f"{n}歳" for n in range(30)], {"japan": "age"}),
        "生年月日": ([f"S{day.year - 1925}.{day.month}.{day.day}" for day in many], {"japan": "era"}),
        "born": (
            [f"{day.year}年{day.month}月{day.day}日" for day in many],
            {"dates": ["day", "month", "quarter", "year"]},
        ),
        "diagnosis": ([f"E{n:02d}" for n in range(30)], {"icd10": "chapters"}),
        "seat": ([f"E{n:02d}" for n in range(30)], {"mask": "right"}),
        "zipcode": ([f"{n:05d}" for n in range(30)], {"mask": "right"}),
    }
    for name, (values, expected) in columns.items():
        found = propose(name, Column.of(values))
        got = found.model_dump(mode="json", exclude_defaults=True)
        assert got.keys() == expected.keys(), name
        assert got == expected or "dates" in got, name


def test_explained_in_both_languages():
    spec = HierarchySpec(japan="address")
    assert spec.explain() == "Japanese addresses: municipality, then prefecture, then region, then *"
    assert spec.explain("ja") == "住所: 市区町村、次に 都道府県、次に 地方、最後に *"
