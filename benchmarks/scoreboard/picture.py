"""The scoreboard as a picture: how much of what its goal allows each line needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["draw"]

LEAST, MOST = 0.05, 20.0  # shares of a goal that the axis has room for


def draw(lines: list[dict[str, Any]], path: Path) -> None:
    """One bar a line, left of the rule where the goal is reached."""
    import altair as alt
    import vl_convert

    rows = [
        {
            "work": one["work"],
            "share": min(max(share, LEAST), MOST),
            "said": f"{_written(one['measured'])} {one['unit']} (asked {_written(one['goal'])})",
            "goal": "reached" if one["reached"] else "missed",
        }
        for one in lines
        if (share := _share(one)) is not None
    ]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y("work:N", sort=None, title=None, axis=alt.Axis(labelLimit=420))
    )
    scale = alt.Scale(type="log", domain=[LEAST, MOST], nice=False)
    colour = alt.Color(
        "goal:N", scale=alt.Scale(domain=["reached", "missed"], range=["#3b7d6e", "#c2713d"]), title=None
    )
    points = base.mark_circle(size=90).encode(
        x=alt.X("share:Q", scale=scale, title="share of the goal that was needed (1 = just reached, less is better)"),
        color=colour,
    )
    label: dict[str, Any] = {"align": "left", "dx": 8, "fontSize": 10}
    halo = base.mark_text(**label, stroke="white", strokeWidth=4).encode(x="share:Q", text="said:N")
    words = base.mark_text(**label).encode(x="share:Q", text="said:N")
    rule = alt.Chart(alt.InlineData(values=[{"x": 1}])).mark_rule(strokeDash=[4, 3]).encode(x="x:Q")
    chart = (rule + points + halo + words).properties(width=620, height=22 * len(rows))
    path.write_bytes(vl_convert.vegalite_to_png(chart.to_dict(), scale=1.5))


def _share(one: dict[str, Any]) -> float | None:
    if not one.get("measured") or not one.get("goal"):
        return None
    share = one["measured"] / one["goal"]
    return float(share if one["less"] else 1 / share)


def _written(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2g}" if abs(value) < 10 else f"{value:.3g}"
