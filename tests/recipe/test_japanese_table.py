"""A table as a Japanese office keeps it: Excel in, Excel out; cp932 in, cp932 out; every form of value at once."""

import openpyxl
import pytest

import oboro
from oboro.io.read import read

PLACES = ["東京都千代田区丸の内1-1-1", "〒231-0005 横浜市中区本町", "大阪府　堺市北区", "北海道余市郡余市町"]
BIRTHS = ["昭和34年6月7日", "S34.6.8", "1959-06-09", "１９５９年６月１０日"]
AGES = ["39歳", "３８", "37", "満36歳"]
POSTCODES = ["〒100-0001", "1000002", "１００－０００３", "100-0004"]
INCOMES = ["350万円", "3,500千円", "３５０万円", "1億円"]
CODES = ["E11.9", "e110", "E10", "Ｅ１４"]
NAMES = ["氏名", "生年月日", "年齢", "郵便番号", "住所", "年収", "傷病名", "職員番号"]
HIERARCHIES = {
    "生年月日": {"japan": "era"},
    "年齢": {"japan": "age"},
    "郵便番号": {"japan": "postcode"},
    "住所": {"japan": "address"},
    "傷病名": {"icd10": "chapters"},
}
STEPS = [
    {"drop_columns": {"attributes": ["氏名"]}},
    {"top_code": {"attribute": "年収", "at": 5_000_000}},
    {"k_anonymize": {"k": 4}},
]
RECIPE = {
    "attributes": {
        "氏名": {"role": "identifier"},
        **{name: {"role": "quasi", "hierarchy": form} for name, form in HIERARCHIES.items()},
        "年収": {"role": "other"},
        "職員番号": {"role": "other"},
    },
    "steps": STEPS,
    "accept": [
        {"unique_on": ["職員番号", "年収"], "because": "made up"},
        {"rows_of": ["職員番号"], "because": "made up: four forms of a number, each in four rows"},
    ],
}


def _rows():
    forms = zip(BIRTHS, AGES, POSTCODES, PLACES, INCOMES, CODES, strict=True)
    rows = list(forms)
    return [[f"山田{n}", *rows[n % 4], f"{n % 4:03d}"] for n in range(16)]


def _excel(path):
    book = openpyxl.Workbook()
    for row in [["職員名簿"], [], NAMES, *_rows()]:
        book.active.append(row)
    book.save(path)


def _csv(path):
    path.write_bytes(
        "".join(",".join(f'"{cell}"' for cell in row) + "\r\n" for row in [NAMES, *_rows()]).encode("cp932")
    )


@pytest.mark.parametrize(("make", "name"), [(_excel, "表.xlsx"), (_csv, "表.csv")])
def test_all_forms_at_once(tmp_path, make, name):
    make(tmp_path / name)
    release = oboro.Recipe.model_validate(RECIPE).run(tmp_path / name)
    out = tmp_path / f"out_{name}"
    release.write(out)
    found = read(out)
    assert (found.dialect.encoding if found.dialect else None) == ("cp932" if name.endswith("csv") else None)
    columns = {one: found.data[one].decode().to_pylist() for one in found.data}
    assert list(columns) == NAMES[1:]
    assert oboro.verify(columns, quasi=list(HIERARCHIES), k=4).holds
    # What no step touched is as it was; what was, is written as its column writes.
    came = release.frame.data.origin_rows
    assert columns["職員番号"] == [f"{n % 4:03d}" for n in came]
    assert columns["年収"] == [["350万円", "3,500千円", "３５０万円", "5000000円"][n % 4] for n in came]
    assert len(release.report.as_dict()) > 0
