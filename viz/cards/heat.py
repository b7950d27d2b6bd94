"""Values with more than 16 elements as small pictures: heat maps of matrices, bars of vectors, and images.

A record has the cells of each value (the field `grid` of its summary).  White is 0, orange positive and blue negative; the
matrices of a picture share their colours (scales.py), and NaN and infinities have separate ones.  Cells of one colour are one
path, so all formats draw a heat map with few elements.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from .. import text
from ..graph.drawn_graph import Graph
from ..layout.shapes import Group, Path, Text, outline
from ..layout.style import LEVELS, measure
from .scales import Scale, form_of, scale_of

WIDE, TALL = 96.0, 48.0  # the largest picture of a matrix or of a row of panels
BESIDE = {"values": 26.0, "grads": 12.0}  # the height of a picture beside two lines and one line, in a brief picture
BARS = 30.0  # the height of bars
APART = 4.0  # between panels
LARGEST = 6.0  # the side of a cell of a small matrix
BLOCKS = "▁▂▃▄▅▆▇█"
READABLE = 100  # up to this many cells, the tooltip lists their numbers
NEGATIVE = {f"heat-n{i}" for i in range(1, LEVELS + 1)}
KINDS = {"element": "a cell is an element", "largest": "a cell is the largest of several elements",
         "mean": "a cell is the mean of several elements"}  # fmt: skip


@dataclass
class Heat:
    """The picture of one value: panels of rows of cells, as strengths of colours between -1 and 1, nan or inf."""

    panels: list[list[list[float]]]
    form: str  # bars | matrix | integers | image
    tip: str
    scale: Scale | None = None  # of the picture, else the strongest colour is the largest magnitude of the value
    of: str = ""  # the number of panels, if more than those that are drawn
    tall: float = TALL
    beside: bool = False  # True if it is left out where it is not beside the lines of its block
    line: str = ""  # the same for plain text: a vector, or the distribution of the elements, in block characters

    @property
    def side(self) -> tuple[float, float]:
        """The width and height of a cell."""
        rows, columns = len(self.panels[0]), len(self.panels[0][0])
        if self.form == "bars":
            return max(2.0, min(LARGEST, WIDE // columns)), min(BARS, self.tall)
        many = 1 if self.form == "image" else len(self.panels)
        wide = (WIDE - APART * (many - 1)) / many
        side = min(LARGEST, wide / columns, self.tall / rows)
        whole = float(max(1, int(side))) if side >= 2 else side
        return whole, whole

    @property
    def size(self) -> tuple[float, float]:
        """The width and height of the picture."""
        rows, columns = len(self.panels[0]), len(self.panels[0][0])
        wide, tall = self.side
        many = 1 if self.form == "image" else len(self.panels)
        return many * columns * wide + APART * (many - 1) + self.note, rows * tall

    @property
    def note(self) -> float:
        """The width of the note beside the panels."""
        return APART + measure(self.of, "type") if self.of else 0.0

    def drawn(self, x: float, y: float) -> Group:
        """Draw the picture with its upper left corner at a point."""
        cells = {"bars": self._bars, "image": self._pixels}.get(self.form, self._cells)
        found: dict[tuple[str, str], list[tuple]] = defaultdict(list)
        for look, fill, left, top, wide, tall in cells():
            right, low = x + left + wide, y + top + tall
            corners = [("M", x + left, y + top), ("L", right, y + top), ("L", right, low), ("L", x + left, low), ("Z",)]
            found[look, fill] += corners
        paths = [Path(steps, look, fill) for (look, fill), steps in found.items()]
        if self.form != "bars":
            frames = [outline(x + left, y, wide, self.size[1], [0] * 4, "cut") for left, wide in self.frames]
            paths += [Path(frame, "heat-frame") for frame in frames]
        note = [Text(x + self.size[0] - self.note + APART, y + self.size[1] - 2, self.of, "type")] if self.of else []
        return Group("", "heat", [*paths, *note], tip=self.tip)

    @property
    def frames(self) -> list[tuple[float, float]]:
        """The left end and width of each panel."""
        wide = len(self.panels[0][0]) * self.side[0]
        many = 1 if self.form == "image" else len(self.panels)
        return [(i * (wide + APART), wide) for i in range(many)]

    def _cells(self) -> Iterator[tuple]:
        """Yield the cells, panel by panel; neighbours of one colour are one, unless they have a border in print."""
        side, _ = self.side
        start = 0.0
        for panel in self.panels:
            for i, row in enumerate(panel):
                looks = [level(cell) for cell in row]
                first = 0
                for j in range(1, len(looks) + 1):
                    if j == len(looks) or looks[j] != looks[first] or looks[first] in NEGATIVE:
                        yield looks[first], "", start + first * side, i * side, (j - first) * side, side
                        first = j
                for j, cell in enumerate(row):
                    if is_beyond(cell):
                        yield "heat-beyond", "", start + (j + 0.3) * side, (i + 0.3) * side, 0.4 * side, 0.4 * side
                    if cell == -math.inf:
                        yield "heat-beyond", "", start + (j + 0.2) * side, (i + 0.4) * side, 0.6 * side, 0.2 * side
            start += len(panel[0]) * side + APART

    def _bars(self) -> Iterator[tuple]:
        """Yield the bars of a vector, up from 0 and down, or as high as the picture if not finite."""
        (row,) = self.panels[0]
        wide, tall = self.side
        finite = [cell for cell in row if math.isfinite(cell)]
        high, low = max([0.0, *finite]), min([0.0, *finite])
        unit = tall / ((high - low) or 1.0)
        yield "heat-zero", "", 0.0, high * unit if finite else tall, len(row) * wide, 0.6
        for j, cell in enumerate(row):
            if not math.isfinite(cell):
                yield level(cell), "", j * wide, 0.0, wide - 0.5, tall
                if cell == -math.inf:
                    yield "heat-beyond", "", (j + 0.2) * wide, 0.45 * tall, 0.6 * wide - 0.5, 0.1 * tall
            elif cell:
                top = (high - max(cell, 0.0)) * unit
                yield level(math.copysign(0.8, cell)), "", j * wide, top, wide - 0.5, abs(cell) * unit

    def _pixels(self) -> Iterator[tuple]:
        """Yield the pixels of an image of one or three channels."""
        side, _ = self.side
        for i, rows in enumerate(zip(*self.panels)):
            for j, cells in enumerate(zip(*rows)):
                parts = [round(255 * cell) for cell in cells] * (3 if len(cells) == 1 else 1)
                yield "heat-pixel", "#" + "".join(f"{part:02x}" for part in parts), j * side, i * side, side, side


def level(cell: float) -> str:
    """Return the look of a cell.

    >>> level(0.0), level(1.0), level(-0.01), level(float("nan")), level(float("-inf"))
    ('heat-0', 'heat-p7', 'heat-n1', 'heat-nan', 'heat-inf')
    """
    if not math.isfinite(cell):
        return "heat-nan" if math.isnan(cell) else "heat-inf"
    step = min(LEVELS, math.ceil(abs(cell) * LEVELS))
    return f"heat-{'p' if cell > 0 else 'n'}{step}" if step else "heat-0"


def is_beyond(cell: float) -> bool:
    """Return True if a number is larger than the scale of its picture."""
    return math.isfinite(cell) and abs(cell) > 1


def heat(value: dict | None, scale: Scale | None = None) -> Heat | None:
    """Return the picture of a record's value; None for one with few or equal elements, or without a grid.

    >>> grid = {"rows": 1, "panels": 1, "image": False, "cell": "largest", "unit": 0.5, "cells": ["efc9"]}
    >>> made = heat({"shape": [20], "dtype": "float32", "summary": {"min": -1.0, "mean": 0.0, "max": 0.5, "grid": grid}})
    >>> made.form, made.panels
    ('bars', [[[0.0, 0.5, -1.0, nan]]])
    """
    summary = (value or {}).get("summary") or {}
    if value is None or not (grid := summary.get("grid")):
        return None
    if summary["min"] == summary["max"] is not None and not summary.get("nan") and not summary.get("inf"):
        return None  # all are equal, which the text says
    from minigrad.record.grid import numbers_of  # at the top, it would begin minigrad, which may draw at its exit

    panels = numbers_of(grid)
    rows = [row for panel in panels for row in panel]
    largest = max((abs(cell) for row in rows for cell in row if math.isfinite(cell)), default=0.0) or 1.0
    form, most = form_of(value), largest
    if form == "image" and not all(cell >= 0 for row in rows for cell in row):  # of a record that minigrad did not make
        form = "matrix"
    if form == "image":  # bytes, or numbers from 0 to 1
        most = max(largest, (255.0 if value["dtype"] == "uint8" else 1.0) / (grid["unit"] or 1.0))
    shade = (lambda cell: scale.shade(cell * grid["unit"])) if scale else (lambda cell: cell / most)
    shaded = [[[shade(cell) for cell in row] for row in panel] for panel in panels]
    of = f"of {grid['panels']}" if grid["panels"] > len(panels) else ""
    counts = summary.get("histogram", {}).get("counts", [])
    line = in_blocks(rows[0]) if form == "bars" else f"distribution {in_blocks(counts)}"
    return Heat(shaded, form, tip(value, grid, rows, len(panels)), scale, of, line=line)


def in_blocks(numbers: Sequence[float]) -> str:
    """Return numbers as block characters, from the smallest to the largest; a cross is NaN or infinite.

    >>> in_blocks([0, 1, 2, float("nan"), 7])
    '▁▂▃×█'
    """
    finite = [one for one in numbers if math.isfinite(one)]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    unit = (high - low) / (len(BLOCKS) - 1) or 1.0
    return "".join(BLOCKS[round((one - low) / unit)] if math.isfinite(one) else "×" for one in numbers)


def heat_of(graph: Graph, entry: dict | None, part: str) -> Heat | None:
    """Return the picture of a large value, if it is a requested part of the card; a smaller one in a brief picture."""
    made = heat(entry, scale_of(graph, entry)) if entry and {"maps", part} <= graph.view.show else None
    return replace(made, tall=BESIDE[part], beside=True, of="") if made and graph.view.brief else made


def tip(value: dict, grid: dict, rows: list[list[float]], shown: int) -> str:
    """Return the tooltip: the scale, the meaning of a cell, and the numbers if they are few."""
    shape = text.shape(value["shape"])
    parts = [f"{shape}: {text.contents(value)}", KINDS[grid["cell"]]]
    parts += [f"the first {shown} of {grid['panels']} matrices"] * (grid["panels"] > shown)
    words = "; ".join(parts)
    if sum(map(len, rows)) > READABLE:
        return words
    numbers = [[text.number(cell * grid["unit"], 3) for cell in row] for row in rows]
    wide = max(len(word) for row in numbers for word in row)
    return "\n".join([words, *(" ".join(word.rjust(wide) for word in row) for row in numbers)])
