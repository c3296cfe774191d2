"""The pictures of the tutorials, drawn from what their own commands released.

    python docs/tutorial_pictures.py

walks every tutorial and draws its picture anew. The tests walk them too, and fail where a picture in `docs/pictures/tutorials/`
shows something else.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

import oboro

HERE = Path(__file__).resolve().parent
PLACE = HERE / "pictures" / "tutorials"
LANGUAGES = ("en", "ja")
Bars = Mapping[str, float]  # what each bar stands for, and how long it is


def bars(title: str, values: Bars, unit: str = "", marked: int = -1) -> str:
    """Horizontal bars with their numbers; one of them may be marked as the one to look at."""
    longest, left = max(max(values.values()), 1), 250
    height = 60 + 34 * len(values)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 {height}" role="img" aria-label="{escape(title)}"'
        ' font-family="system-ui, sans-serif" font-size="14">',
        f'<rect width="700" height="{height}" fill="#ffffff"/>'
        f'<text x="20" y="28" font-weight="600" fill="#1c2733">{escape(title)}</text>',
    ]
    for row, (label, value) in enumerate(values.items()):
        y, width = 46 + 34 * row, max(value / longest * 310, 2 if value else 0)
        fill = "#b3541e" if row == marked else "#2f6f9f"
        lines.append(f'<text x="{left - 10}" y="{y + 17}" text-anchor="end" fill="#1c2733">{escape(label)}</text>')
        lines.append(f'<rect x="{left}" y="{y}" width="{width:.1f}" height="24" rx="2" fill="{fill}"/>')
        lines.append(f'<text x="{left + width + 8:.1f}" y="{y + 17}" fill="#44515e">{value:,.0f}{escape(unit)}</text>')
    return "\n".join([*lines, "</svg>", ""])


def hospital_visits(names: Mapping[str, Any], ja: bool) -> str:
    """How many people stand in groups that have five rows or more."""
    careless = oboro.Recipe.load("rows.yaml").model_dump(exclude_unset=True)
    accepted = {"rows_of": ["patient"], "because": "only to show what is wrong with it"}
    release = oboro.Recipe.model_validate({**careless, "accept": accepted}).run(names["visits"]).data
    people = release.groupby(["birth_year", "sex", "town"])["patient"].nunique()
    counted = {n: int((people == n).sum()) for n in range(1, 5)} | {5: int((people >= 5).sum())}
    words = ("{} 人", "5 人以上") if ja else ("{} people", "5 people or more")
    title = (
        "5 行以上のグループに、実際は何人いるか" if ja else "Groups of five rows or more: how many people are in them?"
    )
    shown = {
        (words[1] if n == 5 else words[0].format(n)).replace("1 people", "1 person"): value
        for n, value in counted.items()
    }
    return bars(title, shown, " グループ" if ja else " groups")


def survey(names: Mapping[str, Any], ja: bool) -> str:
    """What each promise costs, as `explore` draws it."""
    drawn = str(names["picture"].svg("ja" if ja else "en"))
    return drawn.replace("<title>", '<rect width="100%" height="100%" fill="#ffffff"/><title>', 1) + "\n"


def purchases(names: Mapping[str, Any], ja: bool) -> str:
    """Rows that nobody else has, before and after."""
    quasi = ["job", "sex", "address", "birthdate"]
    alone = [
        int((pd.read_parquet(file, columns=quasi).groupby(quasi, dropna=False).size() == 1).sum())
        for file in ("purchases.parquet", "released.parquet")
    ]
    title = (
        "職業・性別・住所・生年月日で一意な行" if ja else "Rows that are unique by job, sex, address and date of birth"
    )
    return bars(
        title,
        dict(zip(("加工前", "加工後") if ja else ("before", "released"), alone, strict=True)),
        " 行" if ja else " rows",
        marked=0,
    )


def people_flow(names: Mapping[str, Any], ja: bool) -> str:
    """How much is hidden, from the beginning of the stream to its end."""
    fields = ("sex", "age", "line")
    hidden = [sum(record[field] == "*" for field in fields) / 3 for record in names["released"]]
    parts = ((0, 10), (10, 100), (100, 1000), (1000, 3000))
    said = "{:,}~{:,} 件目" if ja else "records {:,} to {:,}"
    title = (
        "「*」になった値の割合:はじめに多く、すぐに減る"
        if ja
        else "Values released as *: many at the beginning, few soon after"
    )
    return bars(title, {said.format(a + 1, b): 100 * sum(hidden[a:b]) / (b - a) for a, b in parts}, " %", marked=0)


def monthly_delivery(names: Mapping[str, Any], ja: bool) -> str:
    """Who can be picked out by whoever has both deliveries."""
    columns = ["age", "sex", "disease"]

    def new(file: str) -> int:
        before, after = (
            pd.read_csv(one, keep_default_na=False).value_counts(columns) for one in ("march-released.csv", file)
        )
        return int(after.sub(before, fill_value=0).clip(lower=0).sum())

    said = (
        ("3 月と比べない 4 月", "earlier を書いた 4 月") if ja else ("April without `earlier`", "April with `earlier`")
    )
    title = (
        "両方のファイルを比べると「新しい」と分かる行" if ja else "Rows that a comparison of both files shows to be new"
    )
    return bars(
        title, {said[0]: new("april-alone.csv"), said[1]: new("april-released.csv")}, " 行" if ja else " rows", marked=0
    )


def somebody_elses_file(names: Mapping[str, Any], ja: bool) -> str:
    """What singles people out."""
    table = pd.read_csv("theirs.csv")
    sets = (["age", "sex"], ["admitted"], ["age", "sex", "admitted"])
    alone = {" + ".join(columns): int((table.groupby(columns).size() == 1).sum()) for columns in sets}
    return bars("800 人のうち一意な人" if ja else "Unique people, of 800", alone, " 人" if ja else " people", marked=2)


def from_arx(names: Mapping[str, Any], ja: bool) -> str:
    """How many rows stand in each released group."""
    groups = pd.read_csv("released.csv", keep_default_na=False).groupby(["age", "sex"]).size()
    title = "公開された各グループの行数(5 以上)" if ja else "Rows in each released group: 5 or more"
    return bars(title, {" ".join(map(str, key)): int(n) for key, n in groups.items()}, " 行" if ja else " rows")


def from_sdcmicro(names: Mapping[str, Any], ja: bool) -> str:
    """The same of the script's table."""
    groups = pd.read_csv("released.csv", keep_default_na=False).groupby(["age", "town"]).size()
    title = "公開された各グループの行数(3 以上)" if ja else "Rows in each released group: 3 or more"
    return bars(title, {", ".join(map(str, key)): int(n) for key, n in groups.items()}, " 行" if ja else " rows")


DRAWN: dict[str, Callable[[Mapping[str, Any], bool], str]] = {
    "hospital-visits": hospital_visits,
    "survey": survey,
    "purchases": purchases,
    "people-flow": people_flow,
    "monthly-delivery": monthly_delivery,
    "somebody-elses-file": somebody_elses_file,
    "from-arx": from_arx,
    "from-sdcmicro": from_sdcmicro,
}


def pictures(page: str, names: Mapping[str, Any]) -> dict[str, str]:
    """The pictures of a tutorial by file name, from the folder in which it was walked and the names that its Python left."""
    return {f"{page}{'' if lang == 'en' else '-ja'}.svg": DRAWN[page](names, lang == "ja") for lang in LANGUAGES}


def main() -> None:
    """Walk every tutorial, and keep its pictures."""
    import os
    import tempfile

    sys.path.insert(0, str(HERE.parent))
    from tests.test_tutorials import walked

    PLACE.mkdir(exist_ok=True, parents=True)
    for page in DRAWN:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            names = walked(HERE / "tutorials" / f"{page}.md", Path(folder)).names
            for name, text in pictures(page, names).items():
                (PLACE / name).write_text(text, encoding="utf-8")
            os.chdir("/")
            print(page)


if __name__ == "__main__":
    main()
