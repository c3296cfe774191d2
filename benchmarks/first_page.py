"""The five pictures with which docs/benchmarks.md opens, drawn from what `benchmarks/results/` says; nothing is measured here.

python -m benchmarks.first_page
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
OURS, THEIRS = "oboro", "instead"
Bar = dict[str, Any]


def rows_of(name: str) -> list[Bar]:
    """The figures of a benchmark."""
    found: list[Bar] = json.loads((RESULTS / f"{name}.json").read_text())["rows"]
    return found


def bar(group: str, who: str, value: float, kind: str, unit: str) -> Bar:
    """One bar, with its value in words."""
    written = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return {"group": group, "who": who, "value": value, "kind": kind, "said": f"{written} {unit}"}


def search() -> list[Bar]:
    """Optimal levels of 1, 10 and 100 million purchase histories, beside a paper's library on 8 cores."""
    bars = []
    for row in rows_of("lattice"):
        if row["table"] == "library" and row["metric"] == "seconds":
            group = f"{row['parameters']['n'] // 1_000_000} million rows"
            bars.append(bar(group, "oboro, 2 cores", row["ours"], OURS, "s"))
            bars.append(bar(group, "published library, 8 cores", row["paper"], THEIRS, "s"))
    return bars


def files() -> list[Bar]:
    """From file to file, beside a script in polars that is told the levels and verifies nothing."""
    jobs = {job["job"]: job for job in json.loads((RESULTS / "file_to_file.json").read_text())["jobs"]}
    names = {"10000000x4.csv": "10 million × 4, CSV", "1000000x100.csv": "1 million × 100, CSV"}
    bars = []
    for key, group in names.items():
        bars.append(bar(group, "oboro: searches, verifies", jobs[key]["oboro"]["processor"], OURS, "s CPU"))
        bars.append(bar(group, "polars script: neither", jobs[key]["polars"]["processor"], THEIRS, "s CPU"))
    return bars


def packages(metric: str, unit: str) -> list[Bar]:
    """3,000 records of Adult, k = 5, beside anonypy and anonypyx: seconds, or what is lost."""
    wanted = {
        "mondrian": ("Mondrian", "oboro", OURS),
        "anonypy mondrian": ("Mondrian", "anonypy", THEIRS),
        "mdav": ("MDAV", "oboro", OURS),
        "anonypyx mdav": ("MDAV", "anonypyx", THEIRS),
    }
    bars = []
    for row in rows_of("local"):
        if (
            row["table"].startswith("public packages")
            and row["metric"] == "ncp"
            and row["method"] in wanted
            and _five(row)
        ):
            group, who, kind = wanted[row["method"]]
            bars.append(bar(group, who, row["seconds"] if metric == "seconds" else 100 * row["ours"], kind, unit))
    return bars


def _five(row: Bar) -> bool:
    return bool(row["parameters"]["k"] == 5)


def stream() -> list[Bar]:
    """One record of Adult released without delay, beside anonymizing all records so far again."""
    names = {
        "swap": ("oboro, swap", OURS),
        "paper": ("the paper's method", THEIRS),
        "sequential": ("all again", THEIRS),
    }
    found = {
        row["method"]: row["ours"]
        for row in rows_of("delay_free")
        if row["table"] == "Figure 5" and row["metric"] == "latency_us_median" and row["parameters"]["k"] == 3
    }
    return [bar("one record, k = 3", who, found[method], kind, "µs") for method, (who, kind) in names.items()]


PICTURES = {
    "first-search": ("Optimal 3-anonymity: seconds to search", search, True),
    "first-files": ("From file to file: CPU seconds", files, False),
    "first-seconds": ("Groups of 5 among 3,000 people: seconds", lambda: packages("seconds", "s"), True),
    "first-loss": ("The same: information lost (NCP, %)", lambda: packages("ncp", "%"), False),
    "first-stream": ("A stream without delay: µs for one record", stream, True),
}


def chart(title: str, bars: list[Bar], log: bool) -> Any:
    """Bars side by side; a logarithmic axis where they are far apart."""
    import altair as alt

    scale = alt.Scale(type="log", domainMin=min(one["value"] for one in bars) / 4) if log else alt.Scale(zero=True)
    base = alt.Chart(alt.InlineData(values=bars)).encode(
        y=alt.Y("who:N", title=None, sort=None, axis=alt.Axis(labelLimit=220))
    )
    colour = alt.Color("kind:N", scale=alt.Scale(domain=[OURS, THEIRS], range=["#3b7d6e", "#b9b2a6"]), legend=None)
    points = base.mark_circle(size=120) if log else base.mark_bar(size=14)
    drawn = points.encode(
        x=alt.X("value:Q", scale=scale, title=None, axis=alt.Axis(grid=True, tickCount=4)), color=colour
    )
    words = base.mark_text(align="left", dx=9).encode(x="value:Q", text="said:N")
    layered = alt.layer(drawn, words).properties(width=330, height=alt.Step(24))
    return layered.facet(
        row=alt.Row(
            "group:N", title=None, sort=None, header=alt.Header(labelAngle=0, labelOrient="top", labelAnchor="start")
        ),
        title=title,
    ).resolve_scale(y="independent")


def main() -> None:
    """Draw all of them."""
    import vl_convert

    for name, (title, bars, log) in PICTURES.items():
        picture = vl_convert.vegalite_to_png(chart(title, bars(), log).to_dict(), scale=1.5)
        (RESULTS / f"{name}.png").write_bytes(picture)


if __name__ == "__main__":
    main()
