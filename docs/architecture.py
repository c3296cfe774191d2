"""Draw docs/architecture.svg from the imports of the package: `make picture`.

Rooms stand on a staircase in the order of the layers in pyproject.toml. A line goes down from a room and turns right into
each room that it imports; the dot at the turn is larger the more modules do so. Sizes come in three grades, so that the
picture changes when the house does and not with every import.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import dataclass
from html import escape
from itertools import product
from pathlib import Path

import grimp

TITLE = "An anonymizer decides who stands with whom, then what each group may say."
HOW_TO_READ = "A room imports only rooms below it. Follow its line down, and from each dot to the right."
HERE = Path(__file__).parent
PICTURE = HERE / "architecture.svg"
STEP_X, STEP_Y = 42, 50
BOX_WIDTH, BOX_HEIGHT = 104, 32
LEFT, TOP = 24, 96
WORDS_WIDTH = 250  # what a frame leaves for the words of its rooms
GRADES = ((20, 6.5), (5, 4.5), (1, 2.8))  # imports from here on: radius of the dot
DOTS = (("20 or more imports", 6.5), ("5 to 19", 4.5), ("1 to 4", 2.8))
COLOURS = (("make", "makes a release"), ("judge", "judges a release"), ("data", "is or carries the data"))

ROOMS = {  # its colour and what it holds
    "app": ("skin", "the command line: one thin file a command"),
    "engines": ("plan", "the same recipe where the data is: Spark, DuckDB"),
    "explorer": ("plan", "a session on one table: what each promise costs"),
    "recipe": ("plan", "the plan and its verbs: run, stream, evaluate"),
    "techniques": ("make", "what each group may say: one file a step"),
    "stream": ("make", "record by record: at once, or in a window"),
    "io": ("data", "files in and out, atomically"),
    "report": ("judge", "facts, sections, checklists, the page"),
    "samples": ("data", "made-up tables"),
    "disclosure": ("judge", "every check before a release"),
    "attacks": ("judge", "attacks that are run against a release"),
    "measure": ("judge", "risk, loss, statistics"),
    "verifier": ("judge", "does a release keep its promise?"),
    "decide": ("make", "who stands with whom"),
    "table": ("data", "roles, values, columns, hierarchies, labels"),
    "kernels": ("ground", "compiled loops that several rooms share"),
    "text": ("ground", "messages, in English and Japanese"),
    "system": ("ground", "the one door to the operating system"),
    "errors": ("ground", "what can go wrong"),
}

STYLE = """
  .paper { fill: #fdfcf9 } .title { fill: #26241f; font-size: 18px; font-weight: 600 } .name { fill: #26241f; font-weight: 600 }
  .words, .key { fill: #5d584d } .line { stroke: #cfc9bc; fill: none } .dot { fill: #6b6558 } .head { fill: #a39c8c }
  .room { stroke-width: 1.2 } .closed { fill: #f3d9c8; stroke: #c98258; stroke-dasharray: 2 2 } .note { fill: #a3572a }
  .skin { fill: #f2f0ea; stroke: #a39c8c } .plan { fill: #efe9f6; stroke: #9076b8 } .make { fill: #e4eef9; stroke: #5f8fc4 }
  .judge { fill: #fbebe0; stroke: #c98258 } .data { fill: #e6f3e8; stroke: #6aa574 } .ground { fill: #f2f0ea; stroke: #a39c8c }
  .beside { fill: none; stroke: #cfc9bc; stroke-dasharray: 4 4 }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #1b1c1f } .title, .name { fill: #eceae4 } .words, .key { fill: #b4afa3 } .line, .beside { stroke: #46474c }
    .dot { fill: #c4beb0 } .head { fill: #7d7a73 } .closed { fill: #4a2c1c; stroke: #c98258 } .note { fill: #e5a57e }
    .skin, .ground { fill: #2a2b2f; stroke: #7d7a73 } .plan { fill: #2f2841; stroke: #a58fd0 }
    .make { fill: #1d2f44; stroke: #6c9fd6 }    .judge { fill: #40291b; stroke: #d3946c } .data { fill: #1e3524; stroke: #77b382 }
  }
"""


@dataclass(frozen=True)
class House:
    """What is drawn: the rooms from top to bottom, who stands beside whom, imports between rooms, imports that must not be."""

    layers: list[list[str]]
    imports: dict[tuple[str, str], int]
    closed: set[tuple[str, str]]

    @property
    def rooms(self) -> list[str]:
        """All rooms, from top to bottom."""
        return [room for layer in self.layers for room in layer]


def read_house() -> House:
    """The layers and rules of pyproject.toml, and the imports that there are."""
    contracts = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(one for one in contracts if one["type"] == "layers")["layers"]
    layers = [layer for layer in layers if layer != "__main__"]  # a door, no room
    closed = {
        (judge.removeprefix("oboro."), maker.removeprefix("oboro."))
        for one in contracts
        if one["type"] == "forbidden" and "oboro.verifier" in one["source_modules"]
        for judge, maker in product(one["source_modules"], one["forbidden_modules"])
    }
    return House([[room.strip() for room in layer.split("|")] for layer in layers], count_imports(), closed)


def count_imports() -> dict[tuple[str, str], int]:
    """How many modules of one room import how many of another: pairs of modules, counted by room."""
    graph = grimp.build_graph("oboro", cache_dir=None)
    pairs = [(module, other) for module in graph.modules for other in graph.find_modules_directly_imported_by(module)]
    rooms = [(module.split(".")[1], other.split(".")[1]) for module, other in pairs if "." in module and "." in other]
    return dict(sorted(Counter(pair for pair in rooms if pair[0] not in (pair[1], "__main__")).items()))


def draw(house: House) -> str:
    """The picture as SVG: the same house gives the same bytes."""
    missing = [room for room in house.rooms if room not in ROOMS]
    if missing:
        raise SystemExit(f"docs/architecture.py: give {', '.join(missing)} a line in ROOMS")
    width = LEFT + STEP_X * (len(house.rooms) - 1) + BOX_WIDTH + 330
    height = TOP + STEP_Y * len(house.rooms) + 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"',
        '  font-family="system-ui, sans-serif" font-size="14">',
        f"<title>The rooms of oboro and what they import</title><style>{STYLE}</style>",
        f'<rect class="paper" width="{width}" height="{height}" rx="10"/>',
        f'<text class="title" x="{LEFT}" y="40">{TITLE}</text>',
        f'<text class="words" x="{LEFT}" y="66">{HOW_TO_READ}</text>',
        *draw_neighbours(house), *draw_imports(house), *draw_closed(house), *draw_rooms(house), *draw_legend(width),
        "</svg>",
    ]  # fmt: skip
    return "\n".join(parts) + "\n"


def place(house: House, room: str) -> tuple[int, int]:
    """The upper left corner of a room's box."""
    step = house.rooms.index(room)
    return LEFT + STEP_X * step, TOP + STEP_Y * step


def crossing(house: House, source: str, target: str) -> tuple[int, int]:
    """Where the line down from one room meets the line into another."""
    return place(house, source)[0] + STEP_X // 2, place(house, target)[1] + BOX_HEIGHT // 2


def draw_rooms(house: House) -> list[str]:
    """A box for each room, and its words beside it."""
    parts = []
    for room in house.rooms:
        kind, words = ROOMS[room]
        x, y = place(house, room)
        name = "errors.py" if room == "errors" else f"{room}/"
        parts += [
            f'<rect class="room {kind}" x="{x}" y="{y}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="7"/>',
            f'<text class="name" x="{x + BOX_WIDTH // 2}" y="{y + 21}" text-anchor="middle">{name}</text>',
            f'<text class="words" x="{x + BOX_WIDTH + 12}" y="{y + 21}">{escape(words)}</text>',
        ]
    return parts


def draw_imports(house: House) -> list[str]:
    """One line down from each room, one line into each, a dot for each pair."""
    lines, dots = [], []
    for room in house.rooms:
        below = [crossing(house, room, target) for target in house.rooms if (room, target) in house.imports]
        before = [crossing(house, source, room) for source in house.rooms if (source, room) in house.imports]
        x, y = place(house, room)
        if below:
            lines.append(f'<path class="line" d="M{x + STEP_X // 2} {y + BOX_HEIGHT}V{max(at for _, at in below)}"/>')
        if before:
            middle = y + BOX_HEIGHT // 2
            lines.append(f'<path class="line" d="M{min(at for at, _ in before)} {middle}H{x - 7}"/>')
            lines.append(f'<path class="head" d="M{x - 8} {middle - 4}L{x - 1} {middle}L{x - 8} {middle + 4}Z"/>')
    for (source, target), number in house.imports.items():
        x, y = crossing(house, source, target)
        radius = next(radius for least, radius in GRADES if number >= least)
        dots.append(f'<circle class="dot" cx="{x}" cy="{y}" r="{radius}"/>')
    return lines + dots


def draw_closed(house: House) -> list[str]:
    """The imports that layers would allow and a rule forbids."""
    order = house.rooms.index
    pairs = sorted(pair for pair in house.closed if order(pair[0]) < order(pair[1]) and not beside(house, *pair))
    marks = [crossing(house, *pair) for pair in pairs]
    return [f'<rect class="closed" x="{x - 9}" y="{y - 9}" width="18" height="18" rx="4"/>' for x, y in marks]


def beside(house: House, one: str, other: str) -> bool:
    """Whether two rooms share a layer: those import nothing from each other anyway."""
    return any(one in layer and other in layer for layer in house.layers)


def draw_neighbours(house: House) -> list[str]:
    """A frame around rooms that share a layer."""
    frames = []
    for layer in house.layers:
        if len(layer) > 1:
            (x, y), (right, bottom) = place(house, layer[0]), place(house, layer[-1])
            size = f'width="{right - x + BOX_WIDTH + WORDS_WIDTH}" height="{bottom - y + BOX_HEIGHT + 12}"'
            frames.append(f'<rect class="beside" x="{x - 8}" y="{y - 6}" {size} rx="10"/>')
    return frames


def draw_legend(width: int) -> list[str]:
    """What dots, colours and frames mean."""
    x, y = width - 326, TOP + 20
    parts = []
    for words, radius in DOTS:
        parts.append(f'<circle class="dot" cx="{x}" cy="{y - 5}" r="{radius}"/>')
        parts.append(f'<text class="key" x="{x + 20}" y="{y}">{words}</text>')
        y += 24
    for kind, words in (*COLOURS, ("beside", "side by side: no import between them")):
        parts.append(f'<rect class="{kind}" x="{x - 9}" y="{y - 13}" width="18" height="16" rx="4"/>')
        parts.append(f'<text class="key" x="{x + 20}" y="{y}">{words}</text>')
        y += 24
    parts.append(f'<rect class="closed" x="{x - 9}" y="{y - 13}" width="18" height="16" rx="4"/>')
    parts.append(f'<text class="note" x="{x + 20}" y="{y}">closed: whoever judges a release</text>')
    parts.append(f'<text class="note" x="{x + 20}" y="{y + 18}">does not know how it was made</text>')
    return parts


if __name__ == "__main__":
    PICTURE.write_text(draw(read_house()))
