"""A Japanese table from Excel to a signed report, and no English sentence on the way."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import openpyxl
import pytest
import yaml
from tests.command_line import Done, call

COLUMNS = ["氏名", "生年月日", "年齢", "住所", "郵便番号", "病名", "年収"]
PLACES = ["東京都千代田区丸の内1-1-1", "東京都千代田区霞が関2-1", "神奈川県横浜市中区本町6-50", "大阪府堺市北区百舌鳥"]
POSTCODES = ["〒100-0005", "〒100-0013", "〒231-0005", "〒591-8032"]
ILLNESSES = ["胃炎", "高血圧症", "糖尿病"]
FULL_WIDTH = str.maketrans("0123456789", "０１２３４５６７８９")
INCOMES = ["350万円", "420万円", "510万円", "350万円", "600万円"]

ALLOWED = re.compile(  # what is called the same in every language
    r"--?[a-z][\w-]*"  # options
    r"|\S*\.(?:xlsx|csv|yaml|html|json|ndjson|parquet|arrow|feather)\b"  # files
    r"|\boboro(?: [a-z-]+)?\b"  # commands
    r"|\b[a-z]+(?:_[a-z]+)+\b|\b[a-z]+:"  # names of steps, keys of YAML
    r"|ISO/IEC|SHA-256|HIPAA|GDPR|APPI|WP216|Excel|Parquet|Arrow|Feather|CSV|JSON|NDJSON|YAML|HTML|UTF-8"
)
TWO_WORDS = re.compile(r"[A-Za-z]{2,}[,;:.]? +[A-Za-z]{2,}")


def english(text: str) -> list[str]:
    """Where two Latin words stand next to each other."""
    return [found.group() for line in text.splitlines() for found in TWO_WORDS.finditer(ALLOWED.sub("·", line))]


def visible(page: str) -> str:
    """What a reader of a page sees; blocks stand on lines of their own."""
    text = re.sub(r"<(style|script|head)\b.*?</\1>", "", page, flags=re.DOTALL)
    return unescape(re.sub(r"<[^>]+>", "\n", text))


def office(path: Path) -> None:
    """A list with a title above its header, as an office keeps it."""
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (["健康診断受診者名簿"], [], COLUMNS):
        sheet.append(row)
    for n in range(120):
        year, age = 30 + n % 33, f"{25 + n * 7 % 40}歳"
        birth = f"S{year}.{1 + n % 12}.{1 + n % 28}" if n % 5 == 0 else f"昭和{year}年{1 + n % 12}月{1 + n % 28}日"
        person = [f"山田{n}", birth, age.translate(FULL_WIDTH) if n % 3 == 0 else age, PLACES[n % 4], POSTCODES[n % 4]]
        sheet.append([*person, ILLNESSES[n % 3], INCOMES[n % 5]])
    book.save(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("office")
    office(made / "名簿.xlsx")
    return made


@pytest.fixture(autouse=True)
def japanese(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OBORO_LANG", "ja")
    monkeypatch.setenv("COLUMNS", "200")


def said(done: Done, code: int = 0) -> str:
    """What a command printed, after the exit code was looked at."""
    assert done.code == code, done.err
    return f"{done.out}\n{done.err}"


def test_from_excel_to_a_signed_report_without_english(folder: Path) -> None:
    told = {}
    started = call("init", "名簿.xlsx", cwd=folder)
    told["init"] = said(started)
    (folder / "レシピ.yaml").write_text(started.out, encoding="utf-8")
    told["hierarchy"] = said(call("hierarchy", "名簿.xlsx", "年齢", cwd=folder))
    told["explain"] = said(call("anonymize", "名簿.xlsx", "-r", "レシピ.yaml", "--explain", cwd=folder))
    run = ("anonymize", "名簿.xlsx", "-r", "レシピ.yaml", "-o", "提供.xlsx", "--report", "報告書.html")
    told["anonymize"] = said(call(*run, "--made-by", "山田太郎", cwd=folder))
    quasi = ("--quasi", "生年月日,年齢,住所,郵便番号")
    told["verify"] = said(call("verify", "提供.xlsx", *quasi, "--k", "5", cwd=folder))
    told["evaluate"] = said(
        call("evaluate", "名簿.xlsx", "提供.xlsx", "-r", "レシピ.yaml", "--attempts", "50", cwd=folder)
    )
    assert "を除く)" in told["evaluate"]  # a loss that is known of some columns only says so
    page = (folder / "報告書.html").read_text(encoding="utf-8")
    told["page"] = visible(page)
    assert {where: found for where, text in told.items() if (found := english(text))} == {}
    assert all(word in told["page"] for word in ("作成日", "山田太郎", "署名欄", "個人情報保護法"))
    assert not any(law in told["page"] for law in ("HIPAA", "WP216"))
    released = openpyxl.load_workbook(folder / "提供.xlsx").active
    assert released is not None
    assert "氏名" not in [cell.value for cell in released[1]]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("verify", "無い.xlsx", "--quasi", "年齢", "--k", "5"), 2),
        (("verify", "名簿.xlsx", "--quasi", "身長", "--k", "5"), 2),
        (("verify", "名簿.xlsx", "--k", "五"), 2),
        (("evaluate", "名簿.xlsx", "名簿.xlsx", "--law", "民法"), 2),
        (("--help",), 0),
        (("anonymize", "--help"), 0),
    ],
)
def test_errors_and_help_are_japanese(
    folder: Path, words: tuple[str, ...], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OBORO_LANG", "en")
    assert english(said(call("--lang", "ja", *words, cwd=folder), code)) == []
    assert english(said(call(*words, cwd=folder), code))  # the search finds English where it is


def test_the_search_for_english_finds_it() -> None:
    assert english("列 age は missing value を含みます。") == ["missing value"]
    assert english("oboro verify 提供.xlsx --k 5 は k_anonymize: を確かめます。") == []


def test_help_names_values_in_the_reader_s_words() -> None:
    english, japanese = (call("--lang", lang, "verify", "--help").out for lang in ("en", "ja"))
    assert "verify [OPTIONS] RELEASED" in " ".join(english.split())
    assert "verify [オプション] RELEASED" in " ".join(japanese.split())
    for page in (english, japanese):
        assert "<bool>" not in page
        assert "{released}" not in page
    assert "<int>" in english
    assert "<整数>" in japanese
    assert "<int>" not in japanese
    assert "<path>" not in japanese


@pytest.mark.parametrize("kind", ["people", "purchases"])
def test_the_recipe_of_a_sample_is_explained_in_japanese(tmp_path: Path, kind: str) -> None:
    """The comments are Japanese; what is done is the same."""
    for lang in ("en", "ja"):
        assert call("--lang", lang, "synth", kind, "--rows", 20, "--output", tmp_path / f"{lang}.csv").code == 0
    english, japanese = ((tmp_path / f"{lang}.csv.recipe.yaml").read_text() for lang in ("en", "ja"))
    assert yaml.safe_load(english.replace("en.csv", "ja.csv")) == yaml.safe_load(japanese)
    comments = [line.partition("# ")[2] for line in japanese.splitlines() if "# " in line]
    assert comments
    assert not [text for text in comments if text.isascii() and not text.strip().startswith("oboro anonymize")]
    assert "@" not in english + japanese


def test_warm_up_speaks_japanese(monkeypatch: pytest.MonkeyPatch) -> None:
    from oboro.recipe import warm_up

    monkeypatch.setattr(warm_up, "JOBS", dict.fromkeys(warm_up.JOBS, lambda folder: None))
    done = call("--lang", "ja", "warm-up")
    assert done.code == 0
    assert "秒  表と報告書" in done.out + done.err
    assert "コンパイル済みの計算部分" in done.out + done.err
    assert "kernels" not in done.out + done.err
