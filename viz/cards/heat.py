"""Values with more than 6 elements as small pictures: numbers in cells, heat maps of matrices, bars of vectors, and images.

White is 0, orange positive and blue negative; the matrices of a picture share their colours (scales.py), and NaN and infinities
have separate ones.  Cells of one colour are one path, so all formats draw a heat map with few elements.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from .. import text
from ..graph.drawn_graph import Graph
from ..layout.shapes import Group, Path, Text, outline
from ..layout.style import LEVELS, measure
from .scales import Cells, Scale, cells_of, form_of, grouped, scale_of

WIDE, TALL = 96.0, 48.0  # the largest picture of a matrix or of a row of panels
CELLS, LONG, ROW = 32, 96.0, 340.0  # up to CELLS rows and columns: the longest side of a matrix, and of a row of them
BESIDE = {"values": 26.0, "grads": 12.0}  # the height of a picture beside two lines and one line, in a brief picture
BARS = 30.0  # the height of bars
APART = 4.0  # between panels
LARGEST = 6.0  # the width of a bar, and the side of a cell of a matrix with many of them
PER_ROW, DEEP = (8, 6, 4), 15.0  # numbers in a row of a vector: as many as fit; the height of a cell with a number
AXIS, EVERY = 11.0, 11.0  # the height of a row of indices; the side of cells each of which has its index
BLOCKS = "▁▂▃▄▅▆▇█"
READABLE = 100  # up to this many cells, the tooltip lists their numbers
DARK = {f"heat-{sign}{i}" for sign in "pn" for i in range(LEVELS - 2, LEVELS + 1)} | {"heat-nan", "heat-inf"}
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
    words: list[list[list[str]]] = field(default_factory=list)  # the numbers in the cells
    shape: Sequence[int] = ()  # of the value, if there are indices at the rows and columns

    @property
    def side(self) -> tuple[float, float]:
        """The width and height of a cell."""
        rows, columns = len(self.panels[0]), len(self.panels[0][0])
        if self.words:
            return max(measure(word, "cell") for panel in self.words for row in panel for word in row) + 6, DEEP
        if self.form == "bars":
            return max(2.0, min(LARGEST, WIDE // columns)), min(BARS, self.tall)
        many = 1 if self.form == "image" else len(self.panels)
        if self.shape and max(rows, columns) <= CELLS:
            room = (ROW - self.left - APART * many) / many
            weights = self.scale is not None and self.scale.words == "probabilities"
            most = LONG if weights or len(self.shape) < 3 else TALL
            side = max(1.0, min(math.ceil(most / max(rows, columns)), room // columns))
            return side, side
        wide = (WIDE - APART * (many - 1)) / many
        side = min(LARGEST, wide / columns, self.tall / rows)
        whole = float(max(1, int(side))) if side >= 2 else side
        return whole, whole

    @property
    def left(self) -> float:
        """The room for the indices of rows, left of the first panel."""
        rows = self._rows(0.0)
        return measure(rows[-1][1], "type") + 3 if rows else 0.0

    @property
    def above(self) -> float:
        """The room above a panel for the indices of columns, and for its place in a tensor of more dimensions."""
        return AXIS * ((len(self.shape) > 1) + (len(self.shape) > 2))

    def _rows(self, tall: float) -> list[tuple[int, str]]:
        """Return the rows that have an index, with it; a vector may have several rows."""
        many = len(self.panels[0])
        if len(self.shape) < 2:
            return [(i, str(i * len(self.panels[0][0]))) for i in range(many)] if self.shape and many > 1 else []
        return indices(self.shape[-2], many, tall >= EVERY)

    def _columns(self, wide: float) -> list[tuple[int, str]]:
        """Return the columns that have an index, with it."""
        if len(self.shape) < 2:
            return []
        return indices(self.shape[-1], len(self.panels[0][0]), wide > measure(str(self.shape[-1]), "type"))

    @property
    def size(self) -> tuple[float, float]:
        """The width and height of the picture."""
        last, wide = self.frames[-1]
        return last + wide + self.note, self.above + len(self.panels[0]) * self.side[1]

    @property
    def note(self) -> float:
        """The width of the note beside the panels."""
        return APART + measure(self.of, "type") if self.of else 0.0

    def drawn(self, x: float, y: float) -> Group:
        """Draw the picture with its upper left corner at a point."""
        top = y + self.above
        cells = {"bars": self._bars, "image": self._pixels}.get("" if self.words else self.form, self._cells)
        found: dict[tuple[str, str], list[tuple]] = defaultdict(list)
        for look, fill, left, down, wide, tall in cells():
            right, low = x + left + wide, top + down + tall
            corners = [("M", x + left, top + down), ("L", right, top + down), ("L", right, low), ("L", x + left, low)]
            found[look, fill] += [*corners, ("Z",)]
        paths = [Path(steps, look, fill) for (look, fill), steps in found.items()]
        if self.words or self.form != "bars":
            tall = self.size[1] - self.above
            frames = [outline(x + left, top, wide, tall, [0] * 4, "cut") for left, wide in self.frames]
            paths += [Path(frame, "heat-frame") for frame in frames]
        note = [Text(x + self.size[0] - self.note + APART, y + self.size[1] - 2, self.of, "type")] if self.of else []
        return Group("", "heat", [*paths, *self._texts(x, top), *note], tip=self.tip)

    @property
    def frames(self) -> list[tuple[float, float]]:
        """The left end and width of each panel."""
        wide = len(self.panels[0][0]) * self.side[0]
        many = 1 if self.form == "image" else len(self.panels)
        return [(self.left + i * (wide + APART), wide) for i in range(many)]

    def _texts(self, x: float, y: float) -> Iterator[Text]:
        """Yield the numbers in the cells, the indices of rows and columns, and the place of each of several matrices."""
        wide, tall = self.side
        for p, (left, across) in enumerate(self.frames if self.words or self.shape else ()):
            start = x + left
            for i, row in enumerate(self.words[p] if self.words else ()):
                for j, word in enumerate(row):
                    style = "cell-on-dark" if level(self.panels[p][i][j]) in DARK else "cell"
                    yield Text(start + (j + 0.5) * wide, y + (i + 0.71) * tall, word, style, "middle")
            for i, index in self._rows(tall) if p == 0 else ():
                yield Text(start - 3, y + (i + 0.5) * tall + 3.4, index, "type", "end")
            columns = self._columns(wide)
            places = [(start + (j + 0.5) * wide, "middle") for j, _ in columns]
            if len(columns) < len(self.panels[0][0]):  # the first and the last, not over the next matrix
                places = [(start, "start"), (start + across, "end")]
            for (_, index), (place_of, anchor) in zip(columns, places):
                yield Text(place_of, y - 2.5, index, "type", anchor)
            if len(self.shape) > 2:
                yield Text(start + across / 2, y - 2.5 - AXIS, place(p, self.shape[:-2]), "type", "middle")

    def _cells(self) -> Iterator[tuple]:
        """Yield the cells, panel by panel; neighbours of one colour are one, unless they have a border in print."""
        side, tall = self.side
        for panel, (start, _) in zip(self.panels, self.frames):
            for i, row in enumerate(panel):
                looks = [level(cell) for cell in row]
                first = 0
                for j in range(1, len(looks) + 1):
                    if j == len(looks) or looks[j] != looks[first] or looks[first] in NEGATIVE:
                        yield looks[first], "", start + first * side, i * tall, (j - first) * side, tall
                        first = j
                for j, cell in enumerate(row if not self.words else ()):
                    if is_beyond(cell):
                        yield "heat-beyond", "", start + (j + 0.3) * side, (i + 0.3) * side, 0.4 * side, 0.4 * side
                    if cell == -math.inf:
                        yield "heat-beyond", "", start + (j + 0.2) * side, (i + 0.4) * side, 0.6 * side, 0.2 * side

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


def indices(size: int, many: int, every: bool) -> list[tuple[int, str]]:
    """Return the cells that have an index, with it: of `many` cells for `size` elements every one, or the first and the last.

    >>> indices(3, 3, True), indices(64, 16, True)
    ([(0, '0'), (1, '1'), (2, '2')], [(0, '0'), (15, '63')])
    """
    if every and many == size:
        return [(i, str(i)) for i in range(size)]
    return [(0, "0"), *[(many - 1, str(size - 1))] * (many > 1)]


def place(panel: int, lead: Sequence[int]) -> str:
    """Return the leading indices of a matrix.

    >>> place(5, (2, 4))
    '[1, 1]'
    """
    index = []
    for size in reversed(lead):
        panel, rest = divmod(panel, size or 1)
        index.insert(0, rest)
    return str(index)


def heat(value: dict | None, scale: Scale | None = None) -> Heat | None:
    """Return the picture of a record's value; None for one with few or equal elements, or without cells.

    >>> grid = {"rows": 1, "panels": 1, "image": False, "cell": "largest", "unit": 0.5, "cells": ["efc9"]}
    >>> made = heat({"shape": [20], "dtype": "float32", "summary": {"min": -1.0, "mean": 0.0, "max": 0.5, "grid": grid}})
    >>> made.form, made.panels
    ('bars', [[[0.0, 0.5, -1.0, nan]]])
    """
    if value is None or (cells := cells_of(value)) is None:
        return None
    summary = text.summed(value)
    if summary.get("min") == summary.get("max") is not None and not any(summary.get(word) for word in text.WORDS):
        return None  # all are equal, which the text says
    rows = [row for panel in cells.panels for row in panel]
    largest = max((abs(cell) for row in rows for cell in row if math.isfinite(cell)), default=0.0) or 1.0
    form, most = form_of(value), largest
    if form == "image" and not all(cell >= 0 for row in rows for cell in row):  # of a record that minigrad did not make
        form = "matrix"
    if form == "image":  # bytes, or numbers from 0 to 1
        most = max(largest, 255.0 if value["dtype"] == "uint8" else 1.0)
    shade = scale.shade if scale else lambda cell: cell / most
    shaded = [[[shade(cell) for cell in row] for row in panel] for panel in cells.panels]
    of = f"of {cells.many}" if cells.many > len(cells.panels) else ""
    counts = summary.get("histogram", {}).get("counts", [])
    line = in_blocks(rows[0]) if form == "bars" else f"distribution {in_blocks(counts)}" if counts else ""
    shape = value["shape"] if form in ("matrix", "integers") else ()
    return Heat(shaded, form, tip(value, cells, rows), scale, of, line=line, shape=shape)


def numbered(made: Heat, value: dict) -> Heat:
    """Return the picture of a small value with its numbers in the cells; that of a larger or wide one as it is."""
    elements = text.flat(value["summary"].get("values", ()))
    if not elements or made.of:
        return made
    words = [text.number(float(one) if one in text.WORDS else one, 3) for one in elements]
    shades = [shade for panel in made.panels for row in panel for shade in row]
    vector, line = made.form == "bars", text.nested(value["summary"]["values"])
    for wide in PER_ROW if vector else value["shape"][-1:]:
        tall = len(words) if vector else len(made.panels[0])
        panels, numbers = grouped(shades, wide, tall), grouped(words, wide, tall)
        new = replace(made, panels=panels, words=numbers, shape=value["shape"], line=line)
        if new.size[0] <= ROW:
            return new
    return made


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
    """Return the picture of a value, if it is a requested part of the card; in a brief picture only weights are large."""
    made = heat(entry, scale_of(graph, entry)) if entry and {"maps", part} <= graph.view.show else None
    if made is None or entry is None:
        return None
    if graph.view.brief and not (made.scale and made.scale.words == "probabilities"):
        return replace(made, tall=BESIDE[part], beside=True, of="", shape=())
    return numbered(made, entry)


def tip(value: dict, cells: Cells, rows: list[list[float]]) -> str:
    """Return the tooltip: the scale, the meaning of a cell, and the numbers if they are few."""
    parts = [f"{text.shape(value['shape'])}: {text.contents(value)}", KINDS[cells.kind]]
    parts += [f"the first {len(cells.panels)} of {cells.many} matrices"] * (cells.many > len(cells.panels))
    words = "; ".join(parts)
    if sum(map(len, rows)) > READABLE:
        return words
    numbers = [[text.number(cell, 3) for cell in row] for row in rows]
    wide = max(len(word) for row in numbers for word in row)
    return "\n".join([words, *(" ".join(word.rjust(wide) for word in row) for row in numbers)])
