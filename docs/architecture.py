"""Draw docs/architecture.svg from the imports of the package: `make picture`.

Packages form a staircase in the order of the layers in pyproject.toml. A line goes down from a package and turns right into
each package that it imports; the dot at the turn is larger the more modules do so. Sizes come in three grades, so that the
picture changes with the architecture and not with every import.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import dataclass
from html import escape
from itertools import product
from pathlib import Path

import grimp

TITLE = "Packages of oboro, in the order of imports"
HOW_TO_READ = "A package imports only packages below it. Follow its line down, and from each dot to the right."
HERE = Path(__file__).parent
PICTURE = HERE / "architecture.svg"
STEP_X, STEP_Y = 42, 50
BOX_WIDTH, BOX_HEIGHT = 104, 32
LEFT, TOP = 24, 96
WORDS_WIDTH = 250  # what a frame leaves for the words of its packages
GRADES = ((20, 6.5), (5, 4.5), (1, 2.8))  # imports from here on: radius of the dot
DOTS = (("20 or more imports", 6.5), ("5 to 19", 4.5), ("1 to 4", 2.8))
COLOURS = (("make", "makes a release"), ("judge", "judges a release"), ("data", "is or carries the data"))

PACKAGES = {  # the colour and the contents of each
    "cli": ("skin", "the command line: one thin file a command"),
    "web": ("skin", "the web interface: server, one screen a file"),
    "service": ("plan", "streams between brokers: one broker a file"),
    "engines": ("plan", "the same recipe on Spark and DuckDB"),
    "explorer": ("plan", "a session on one table: the cost of guarantees"),
    "recipe": ("plan", "the recipe: run, stream, evaluate, assess"),
    "techniques": ("make", "one step of a recipe a file"),
    "stream": ("make", "delay-free and windowed streams, their engine"),
    "io": ("data", "file formats, data sources and sinks"),
    "report": ("judge", "facts, sections, checklists, the page"),
    "samples": ("data", "example tables"),
    "disclosure": ("judge", "release checks"),
    "attacks": ("judge", "attacks that are run against a release"),
    "measures": ("judge", "risk, exposure, information loss, utility"),
    "verifier": ("judge", "independent judges of privacy models"),
    "algorithms": ("make", "lattice search, partitioning, microaggregation"),
    "privacy": ("data", "privacy models: parameters and words"),
    "schema": ("data", "roles and traits of attributes"),
    "hierarchies": ("data", "generalization hierarchies and labels"),
    "data": ("data", "columns, tables, equivalence classes, frames"),
    "notations": ("ground", "how values are written; kinds of a column"),
    "kernels": ("ground", "compiled loops that several packages share"),
    "system": ("ground", "files, locks, processes of the machine"),
    "_lazy": ("ground", "modules and extras that load on first use"),
    "text": ("ground", "messages, in English and Japanese"),
    "errors": ("ground", "the exceptions"),
}
FILES = ("errors", "schema", "_lazy")  # modules, not packages

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
class Structure:
    """Packages from top to bottom by layer, imports between packages, and forbidden imports."""

    layers: list[list[str]]
    imports: dict[tuple[str, str], int]
    closed: set[tuple[str, str]]

    @property
    def packages(self) -> list[str]:
        """All packages, from top to bottom."""
        return [package for layer in self.layers for package in layer]


def read_structure() -> Structure:
    """Read the layers and rules of pyproject.toml and the imports of the code."""
    contracts = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(one for one in contracts if one["type"] == "layers")["layers"]
    layers = [layer for layer in layers if layer != "__main__"]  # runs the command line
    closed = {
        (judge.removeprefix("oboro."), maker.removeprefix("oboro."))
        for one in contracts
        if one["type"] == "forbidden" and "oboro.verifier" in one["source_modules"]
        for judge, maker in product(one["source_modules"], one["forbidden_modules"])
    }
    return Structure([[package.strip() for package in layer.split("|")] for layer in layers], count_imports(), closed)


def count_imports() -> dict[tuple[str, str], int]:
    """Count the imports between each two packages, as pairs of modules."""
    graph = grimp.build_graph("oboro", cache_dir=None)
    pairs = [(module, other) for module in graph.modules for other in graph.find_modules_directly_imported_by(module)]
    packages = [
        (module.split(".")[1], other.split(".")[1]) for module, other in pairs if "." in module and "." in other
    ]
    return dict(sorted(Counter(pair for pair in packages if pair[0] not in (pair[1], "__main__")).items()))


def draw(structure: Structure) -> str:
    """Draw the picture as SVG; the same structure gives the same bytes."""
    missing = [package for package in structure.packages if package not in PACKAGES]
    if missing:
        raise SystemExit(f"docs/architecture.py: give {', '.join(missing)} a line in PACKAGES")
    width = LEFT + STEP_X * (len(structure.packages) - 1) + BOX_WIDTH + 330
    height = TOP + STEP_Y * len(structure.packages) + 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"',
        '  font-family="system-ui, sans-serif" font-size="14">',
        f"<title>The packages of oboro and their imports</title><style>{STYLE}</style>",
        f'<rect class="paper" width="{width}" height="{height}" rx="10"/>',
        f'<text class="title" x="{LEFT}" y="40">{TITLE}</text>',
        f'<text class="words" x="{LEFT}" y="66">{HOW_TO_READ}</text>',
        *draw_neighbours(structure), *draw_imports(structure), *draw_closed(structure), *draw_rooms(structure), *draw_legend(width),
        "</svg>",
    ]  # fmt: skip
    return "\n".join(parts) + "\n"


def place(structure: Structure, package: str) -> tuple[int, int]:
    """Return the upper left corner of a package's box."""
    step = structure.packages.index(package)
    return LEFT + STEP_X * step, TOP + STEP_Y * step


def crossing(structure: Structure, source: str, target: str) -> tuple[int, int]:
    """Return where the line down from one package meets the line into another."""
    return place(structure, source)[0] + STEP_X // 2, place(structure, target)[1] + BOX_HEIGHT // 2


def draw_rooms(structure: Structure) -> list[str]:
    """Draw a box for each package, with its contents beside it."""
    parts = []
    for package in structure.packages:
        kind, words = PACKAGES[package]
        x, y = place(structure, package)
        name = f"{package}.py" if package in FILES else f"{package}/"
        parts += [
            f'<rect class="room {kind}" x="{x}" y="{y}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="7"/>',
            f'<text class="name" x="{x + BOX_WIDTH // 2}" y="{y + 21}" text-anchor="middle">{name}</text>',
            f'<text class="words" x="{x + BOX_WIDTH + 12}" y="{y + 21}">{escape(words)}</text>',
        ]
    return parts


def draw_imports(structure: Structure) -> list[str]:
    """Draw one line down from each package, one line into each, and a dot for each pair."""
    lines, dots = [], []
    for package in structure.packages:
        below = [
            crossing(structure, package, target)
            for target in structure.packages
            if (package, target) in structure.imports
        ]
        before = [
            crossing(structure, source, package)
            for source in structure.packages
            if (source, package) in structure.imports
        ]
        x, y = place(structure, package)
        if below:
            lines.append(f'<path class="line" d="M{x + STEP_X // 2} {y + BOX_HEIGHT}V{max(at for _, at in below)}"/>')
        if before:
            middle = y + BOX_HEIGHT // 2
            lines.append(f'<path class="line" d="M{min(at for at, _ in before)} {middle}H{x - 7}"/>')
            lines.append(f'<path class="head" d="M{x - 8} {middle - 4}L{x - 1} {middle}L{x - 8} {middle + 4}Z"/>')
    for (source, target), number in structure.imports.items():
        x, y = crossing(structure, source, target)
        radius = next(radius for least, radius in GRADES if number >= least)
        dots.append(f'<circle class="dot" cx="{x}" cy="{y}" r="{radius}"/>')
    return lines + dots


def draw_closed(structure: Structure) -> list[str]:
    """Mark the imports that the layers would allow and a rule forbids."""
    order = structure.packages.index
    pairs = sorted(
        pair for pair in structure.closed if order(pair[0]) < order(pair[1]) and not beside(structure, *pair)
    )
    marks = [crossing(structure, *pair) for pair in pairs]
    return [f'<rect class="closed" x="{x - 9}" y="{y - 9}" width="18" height="18" rx="4"/>' for x, y in marks]


def beside(structure: Structure, one: str, other: str) -> bool:
    """Return whether two packages share a layer."""
    return any(one in layer and other in layer for layer in structure.layers)


def draw_neighbours(structure: Structure) -> list[str]:
    """Draw a frame around packages that share a layer."""
    frames = []
    for layer in structure.layers:
        if len(layer) > 1:
            (x, y), (right, bottom) = place(structure, layer[0]), place(structure, layer[-1])
            size = f'width="{right - x + BOX_WIDTH + WORDS_WIDTH}" height="{bottom - y + BOX_HEIGHT + 12}"'
            frames.append(f'<rect class="beside" x="{x - 8}" y="{y - 6}" {size} rx="10"/>')
    return frames


def draw_legend(width: int) -> list[str]:
    """Draw the legend of dots, colours and frames."""
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
    parts.append(f'<text class="note" x="{x + 20}" y="{y}">forbidden: a judge of a release</text>')
    parts.append(f'<text class="note" x="{x + 20}" y="{y + 18}">does not know how it was made</text>')
    return parts


if __name__ == "__main__":
    PICTURE.write_text(draw(read_structure()))
