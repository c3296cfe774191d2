"""CSV comes out in the encoding that came in, or as asked; no two values become one."""

import codecs

import pytest

import oboro
from oboro.data.dataset import Dataset
from oboro.errors import FileError, UsageError
from oboro.hierarchies.labels import LabelRange, label_range
from oboro.io.bytes import BIG_ENDIAN
from oboro.io.read import read
from oboro.io.write import write

TEXT = "年齢,氏名,備考\n39,山田,一\n41,髙橋,二\n85,鈴木,三\n86,佐藤,四\n"
RECIPE = {
    "attributes": {
        "年齢": {"role": "quasi", "hierarchy": {"intervals": [5], "top": 80}},
        "氏名": {"role": "identifier"},
        "備考": {"role": "other"},
    },
    "steps": [{"drop_columns": {"attributes": ["氏名"]}}, {"generalize": {"levels": {"年齢": 1}}}],
    "accept": {"unique_on": ["備考"], "because": "made up"},
}


def released(path, out, **options):
    oboro.Recipe.model_validate(RECIPE).run(path).write(out, **options)
    return out.read_bytes()


@pytest.mark.parametrize("encoding", ["cp932", "euc_jp", "utf-8", "utf-8-sig", "utf-16", BIG_ENDIAN])
def test_the_encoding_that_came_in(tmp_path, encoding):
    text = TEXT.replace("髙", "高")  # EUC-JP has no 髙
    (tmp_path / "in.csv").write_bytes(text.encode(encoding))
    out = released(tmp_path / "in.csv", tmp_path / "out.csv")
    lacks = encoding in ("cp932", "euc_jp")
    labels = ("35～39", "40～44", "≧80") if lacks else ("35–39", "40–44", "≥80")
    labels = tuple(label.replace("～", "〜") for label in labels) if encoding == "euc_jp" else labels
    assert out.decode(encoding).splitlines() == [
        "年齢,備考", f"{labels[0]},一", f"{labels[1]},二", f"{labels[2]},三", f"{labels[2]},四",
    ]  # fmt: skip
    assert out.startswith(codecs.BOM_UTF8) == (encoding == "utf-8-sig")
    assert out.startswith(codecs.BOM_UTF16_LE) == (encoding == "utf-16")
    assert out.startswith(codecs.BOM_UTF16_BE) == (encoding == BIG_ENDIAN)
    assert not out.decode(encoding).startswith("\ufeff")
    # Who reads the file finds the same groups, and knows what the labels stand for.
    again = read(tmp_path / "out.csv")
    assert again.dialect.encoding == encoding
    assert sorted(again.data["年齢"].counts.tolist()) == [1, 1, 2]
    assert label_range(labels[2]) == LabelRange("80", None)
    assert label_range(labels[0]) == LabelRange("35", "39")


def test_an_encoding_that_is_asked_for(tmp_path):
    (tmp_path / "in.csv").write_text(TEXT, encoding="utf-8")
    assert (
        released(tmp_path / "in.csv", tmp_path / "a.csv", encoding="cp932")
        .decode("cp932")
        .startswith("年齢,備考\n35～39,一")
    )
    assert (
        released(tmp_path / "in.csv", tmp_path / "b.csv", encoding="UTF8")
        .decode("utf-8")
        .startswith("年齢,備考\n35–39")
    )
    for wrong in ("no-such", "rot13", "base64", "punycode", "idna", "unicode_escape"):
        with pytest.raises(UsageError, match="no encoding"):
            released(tmp_path / "in.csv", tmp_path / "c.csv", encoding=wrong)
    with pytest.raises(UsageError, match="CSV only"):
        released(tmp_path / "in.csv", tmp_path / "c.parquet", encoding="cp932")
    assert not (tmp_path / "c.csv").exists()


@pytest.mark.parametrize(
    "wrong", ["rot13", "hex", "zlib", "base64", "undefined", "idna", "punycode", "unicode_escape", "a\0b"]
)
def test_what_is_no_encoding_of_lines_is_refused_when_read(tmp_path, wrong):
    (tmp_path / "in.csv").write_text("age\n30\n")
    with pytest.raises(FileError, match="no encoding"):
        oboro.read(tmp_path / "in.csv", encoding=wrong)


def test_a_character_that_the_encoding_lacks(tmp_path):
    for column in ("備考", "年齢"):  # one that stays in the file, and one that is held
        text = TEXT.replace("一", "𠮷") if column == "備考" else TEXT
        (tmp_path / "in.csv").write_text(text if column == "備考" else text.replace("年齢", "年齢é"), encoding="utf-8")
        with pytest.raises(FileError, match="cp932 has no character '[𠮷é]'"):
            read(tmp_path / "in.csv").write(read(tmp_path / "in.csv").data, tmp_path / "out.csv", encoding="cp932")
        held = read(tmp_path / "in.csv", held=["年齢", "年齢é"])
        with pytest.raises(FileError, match="cp932 has no character '[𠮷é]'"):
            held.write(held.data, tmp_path / "out.csv", encoding="cp932")
        assert not (tmp_path / "out.csv").exists()


def test_both_ways_of_writing_replace_alike(tmp_path):
    (tmp_path / "in.csv").write_text("a,b\n1–2,3–4\n5,6–7\n", encoding="utf-8")
    whole, held = read(tmp_path / "in.csv"), read(tmp_path / "in.csv", held=["a"])
    whole.write(whole.data, tmp_path / "whole.csv", encoding="cp932")
    held.write(held.data, tmp_path / "held.csv", encoding="cp932")
    assert (
        (tmp_path / "whole.csv").read_bytes()
        == (tmp_path / "held.csv").read_bytes()
        == "a,b\n1～2,3～4\n5,6～7\n".encode("cp932")
    )


def test_two_values_never_become_one(tmp_path):
    from oboro.io.formats.csv.dialect import Dialect

    with pytest.raises(FileError, match="two different values would become one"):
        write(Dataset.of({"a": ["20–24", "20～24"]}), tmp_path / "o.csv", Dialect(encoding="cp932"))
    write(Dataset.of({"a": ["20–24", "20-24"]}), tmp_path / "o.csv", Dialect(encoding="cp932"))
    assert (tmp_path / "o.csv").read_bytes() == "a\n20～24\n20-24\n".encode("cp932")
    with pytest.raises(FileError, match="two different values would become one"):
        write(Dataset.of({"a": ["20–24", "20-24"]}), tmp_path / "o.csv", Dialect(encoding="latin-1"))
    write(Dataset.of({"a": ["20–24", "≥80"]}), tmp_path / "o.csv", Dialect(encoding="latin-1"))
    assert (tmp_path / "o.csv").read_bytes() == b"a\n20-24\n>=80\n"


def test_a_file_in_which_only_labels_are_japanese_is_recognised(tmp_path):
    (tmp_path / "a.csv").write_bytes("age,n\n20～24,1\n≧80,2\n".encode("cp932"))
    assert read(tmp_path / "a.csv").data["age"].texts == ["20～24", "≧80"]
