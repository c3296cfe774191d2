"""Example data about people: names, birth dates, Japanese addresses, jobs, purchases and a diagnosis.

For first steps, examples and tests. Columns depend on each other as they do in life (students are young, income follows
job and age, diagnoses follow age, postal codes follow addresses), and about one value in a hundred is missing. No record
is about a real person.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro.data.column import Column, smallest_unsigned
from oboro.data.dataset import Dataset
from oboro.errors import UsageError
from oboro.text import Message

__all__ = [
    "FEMALE_NAMES",
    "MALE_NAMES",
    "PREFECTURES",
    "SURNAMES",
    "TOWNS",
    "Prefecture",
    "hierarchy_csv",
    "people",
    "people_hierarchies",
    "people_recipe",
]


# Japanese names and places --------------------------------------------------------------------------------------------
# Common Japanese names, the 47 prefectures with some of their cities, and town names. Only the lists are real; no
# record made from them is about a real person.


@dataclass(frozen=True)
class Prefecture:
    """A prefecture: its region, its inhabitants (in tens of thousands), how its postal codes begin, some cities."""

    name: str
    region: str
    people: int
    postal: tuple[str, ...]
    cities: tuple[str, ...]


# name, region, inhabitants (10,000), first two digits of its postal codes, cities
_PREFECTURES = """
北海道,北海道,522,00 04 05 06 07 08 09,札幌市 旭川市 函館市 釧路市 帯広市
青森県,東北,124,03,青森市 八戸市 弘前市 十和田市
岩手県,東北,121,02,盛岡市 一関市 奥州市 花巻市
宮城県,東北,230,98,仙台市 石巻市 大崎市 名取市
秋田県,東北,96,01,秋田市 横手市 大仙市 能代市
山形県,東北,107,99,山形市 鶴岡市 酒田市 米沢市
福島県,東北,183,96 97,郡山市 いわき市 福島市 会津若松市
茨城県,関東,287,30 31,水戸市 つくば市 日立市 土浦市
栃木県,関東,193,32,宇都宮市 小山市 足利市 那須塩原市
群馬県,関東,194,37,高崎市 前橋市 太田市 伊勢崎市
埼玉県,関東,734,33 34 35 36,さいたま市 川口市 川越市 所沢市
千葉県,関東,628,26 27 28 29,千葉市 船橋市 松戸市 柏市
東京都,関東,1405,10 11 12 13 14 15 16 17 18 19 20,世田谷区 練馬区 大田区 江戸川区 足立区 新宿区 八王子市 町田市
神奈川県,関東,924,21 22 23 24 25,横浜市 川崎市 相模原市 藤沢市
新潟県,中部,220,94 95,新潟市 長岡市 上越市 三条市
富山県,中部,103,93,富山市 高岡市 射水市 氷見市
石川県,中部,113,92,金沢市 白山市 小松市 加賀市
福井県,中部,77,91,福井市 坂井市 越前市 敦賀市
山梨県,中部,81,40,甲府市 甲斐市 笛吹市 富士吉田市
長野県,中部,205,38 39,長野市 松本市 上田市 飯田市
岐阜県,中部,198,50,岐阜市 大垣市 各務原市 高山市
静岡県,中部,363,41 42 43,浜松市 静岡市 富士市 沼津市
愛知県,中部,754,44 45 46 47 48 49,名古屋市 豊田市 岡崎市 一宮市
三重県,近畿,177,51,四日市市 津市 鈴鹿市 松阪市
滋賀県,近畿,141,52,大津市 草津市 長浜市 彦根市
京都府,近畿,258,60 61 62,京都市 宇治市 亀岡市 舞鶴市
大阪府,近畿,884,53 54 55 56 57 58 59,大阪市 堺市 東大阪市 豊中市
兵庫県,近畿,547,65 66 67,神戸市 姫路市 西宮市 尼崎市
奈良県,近畿,132,63,奈良市 橿原市 生駒市 大和郡山市
和歌山県,近畿,92,64,和歌山市 田辺市 橋本市 紀の川市
鳥取県,中国,55,68,鳥取市 米子市 倉吉市 境港市
島根県,中国,67,69,松江市 出雲市 浜田市 益田市
岡山県,中国,189,70 71,岡山市 倉敷市 津山市 総社市
広島県,中国,280,72 73,広島市 福山市 呉市 東広島市
山口県,中国,134,74 75,下関市 山口市 宇部市 周南市
徳島県,四国,72,77,徳島市 阿南市 鳴門市 吉野川市
香川県,四国,95,76,高松市 丸亀市 三豊市 観音寺市
愛媛県,四国,133,79,松山市 今治市 新居浜市 西条市
高知県,四国,69,78,高知市 南国市 四万十市 香南市
福岡県,九州・沖縄,514,80 81 82 83,福岡市 北九州市 久留米市 飯塚市
佐賀県,九州・沖縄,81,84,佐賀市 唐津市 鳥栖市 伊万里市
長崎県,九州・沖縄,131,85,長崎市 佐世保市 諫早市 大村市
熊本県,九州・沖縄,174,86,熊本市 八代市 天草市 玉名市
大分県,九州・沖縄,112,87,大分市 別府市 中津市 佐伯市
宮崎県,九州・沖縄,107,88,宮崎市 都城市 延岡市 日南市
鹿児島県,九州・沖縄,159,89,鹿児島市 霧島市 鹿屋市 薩摩川内市
沖縄県,九州・沖縄,147,90,那覇市 沖縄市 うるま市 浦添市
"""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _prefecture(line: str) -> Prefecture:
    name, region, people, postal, cities = line.split(",")
    return Prefecture(name, region, int(people), _words(postal), _words(cities))


PREFECTURES = tuple(_prefecture(line) for line in _PREFECTURES.strip().splitlines())

TOWNS = _words("""
本町 中央 栄町 緑町 旭町 桜町 新町 東町 西町 南町 北町 元町 泉町 末広町 寿町 幸町
大手町 若葉町 青葉町 松原 宮前 高砂 昭和町 平和町 花園町 美園 富士見 日の出町 駅前 城山 上野 川原町
""")

# The commonest first.
SURNAMES = _words("""
佐藤 鈴木 高橋 田中 伊藤 渡辺 山本 中村 小林 加藤 吉田 山田 佐々木 山口 松本 井上 木村 林 斎藤 清水
山崎 森 池田 橋本 阿部 石川 山下 中島 石井 小川 前田 岡田 長谷川 藤田 後藤 近藤 村上 遠藤 青木 坂本
斉藤 福田 太田 西村 藤井 金子 岡本 藤原 三浦 中野 中川 原田 松田 竹内 小野 田村 中山 和田 石田 森田
上田 原 内田 柴田 酒井 宮崎 横山 高木 安藤 宮本 大野 小島 工藤 谷口 今井 高田 増田 丸山 杉山 村田
大塚 新井 小山 平野 藤本 河野 上野 野口 武田 松井 千葉 菅原 岩崎 久保 木下 佐野 野村 松尾 市川 菊地
""")

# Three generations of seventeen each: born before 1960, before 1990, and later.
FEMALE_NAMES = _words("""
和子 幸子 節子 洋子 恵子 京子 文子 美代子 千代子 久子 弘子 順子 敏子 悦子 信子 芳子 花子
由美子 真由美 久美子 裕子 明美 直美 智子 陽子 香織 恵 美穂 愛 麻衣 千尋 優子 理恵 亜希子
さくら 美咲 葵 陽菜 結衣 凛 七海 莉子 彩花 美優 遥 楓 心春 結菜 紬 杏 芽依
""")

MALE_NAMES = _words("""
清 勇 実 茂 博 正 弘 昭 勝 進 武 稔 三郎 義雄 正雄 和夫 一郎
誠 浩 隆 学 直樹 剛 健一 大輔 哲也 和也 達也 健太 拓也 雄太 修 豊 淳
翔太 蓮 大翔 悠真 陽翔 湊 颯太 樹 海斗 翼 大和 悠人 駿 陸 蒼 律 奏太
""")


# Table of people ------------------------------------------------------------------------------------------------------


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
    """Generate example data of people; the same seed makes the same table. 100,000 rows take well under a second.

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
    """Return the hierarchies of `people`, row by row: a value, then its generalized value at each level.

    >>> people_hierarchies()["job"][7]
    ('nurse', 'health', 'in work', '*')
    """
    work = {True: "not in work", False: "in work"}
    jobs: Rows = [(job.name, job.group, work[job.group == "not in work"], "*") for job in JOBS]
    return {"address": _address_rows(), "job": jobs}


def hierarchy_csv(rows: Iterable[Sequence[str]]) -> str:
    """Write hierarchy rows as the text of a CSV file: `value;level 1;level 2;…`, without a header.

    >>> print(hierarchy_csv([("nurse", "health", "*")]), end="")
    nurse;health;*
    """
    out = io.StringIO()
    csv.writer(out, delimiter=";", lineterminator="\n").writerows(rows)
    return out.getvalue()


def people_recipe(folder: str = "hierarchies", lang: str = "en") -> str:
    """Return a recipe for `people` with comments in a language; `folder` has the hierarchies `address.csv` and `job.csv`."""
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
