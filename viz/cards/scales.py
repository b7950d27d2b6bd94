"""The colour scales of a picture's heat maps: one for its values, one for its gradients, and one for its tangents.

Probabilities, as attention weights are, have a scale up to 1: beside other values, they would be pale.

A scale ends at the largest magnitude of all the values that a picture shows, so equal colours are equal numbers everywhere in
it.  Shades follow the square root, so that weights stay visible beside activations.  A few numbers far beyond the others, as
of a mask of -1e9, would leave the rest white: then the scale ends before them, and their cells are marked.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from .. import text
from ..graph.drawn_graph import Graph

FAR = 50.0  # times the upper quartile of the magnitudes: by square root, smaller ones have the lightest shade
WORDS = {"gradient": "gradients", "tangent": "tangents"}  # by the kind of a value in the record
ALL = ("values", "probabilities", *WORDS.values())
ROUNDED = 0.02  # what the rounding of a grid's cells may leave of a sum of probabilities
PANELS = 4  # matrices of a tensor of more dimensions, as in grids


@dataclass(frozen=True)
class Scale:
    """The end of a colour scale, of either sign."""

    words: str  # one of ALL
    end: float
    largest: float  # beyond the end if the colours stop before it

    def shade(self, number: float) -> float:
        """Return the strength of a number's colour, between -1 and 1 on the scale; NaN and infinities as they are.

        >>> Scale("values", 4.0, 4.0).shade(-1.0), Scale("values", 4.0, 400.0).shade(400.0)
        (-0.5, 10.0)
        """
        return math.copysign(math.sqrt(abs(number) / self.end), number) if math.isfinite(number) else number


def scale_of(graph: Graph, entry: dict) -> Scale | None:
    """Return the scale of a value, gradient or tangent of a picture; None for one that has a separate range."""
    return None if form_of(entry) != "matrix" else scales(graph).get(words_of(entry))


def scales(graph: Graph) -> dict[str, Scale]:
    """Return the scales of a picture by their words; a frame inside has those of the whole picture."""
    if graph.scales is None:
        found: dict[str, list[list[float]]] = {}
        for entry in {id(one): one for one in entries(graph)}.values():
            if form_of(entry) == "matrix" and (cells := magnitudes(entry)):
                found.setdefault(words_of(entry), []).append(cells)
        graph.scales = {words: scale(words, values) for words, values in found.items()}
        if "probabilities" in found:
            graph.scales["probabilities"] = Scale("probabilities", 1.0, 1.0)
    return graph.scales


def scale(words: str, values: list[list[float]]) -> Scale:
    """Return the scale of values with these magnitudes, each in ascending order.

    >>> scale("values", [[0.5, 1.0], [0.2, 2.04]]), scale("values", [[0.5, 1.0, 1.0], [0.5, 1.0, 1e9]]).end
    (Scale(words='values', end=2.1, largest=2.04), 1.0)
    """
    each = sorted((cell, 1 / len(cells)) for cells in values for cell in cells)  # every value counts the same
    passed, quartile = 0.0, each[-1][0]
    for cell, weight in each:
        passed += weight
        if passed >= 0.75 * len(values) - 1e-6:  # each value's weights are a rounded 1
            quartile = cell
            break
    largest = each[-1][0]
    end = max(cell for cell, _ in each if cell <= FAR * quartile)
    return Scale(words, rounded_up(end), largest)


def rounded_up(number: float) -> float:
    """Return a positive number with two significant digits, which is at least as large.

    >>> rounded_up(2.04), rounded_up(0.1), rounded_up(999.0)
    (2.1, 0.1, 1000.0)
    """
    near = float(f"{number:.1e}")
    if near >= number:
        return near
    return float(f"{near + 10.0 ** (math.floor(math.log10(number)) - 1):.1e}") or number


def entries(graph: Graph) -> Iterator[dict]:
    """Yield the record's entries of the values, gradients and tangents that a picture shows, in its frames too."""
    show = graph.view.show
    held = {held.value for node in graph.nodes for held in node.held if graph.view.brief}  # these have only numbers
    for value in graph.shown - held:
        yield from [graph.values[value]] if "values" in show else []
        flows = (graph.gradient(value), graph.tangent(value)) if "grads" in show else ()
        yield from (entry for entry in flows if entry)
    for node in graph.nodes:
        for frame in node.frames.values():
            yield from entries(frame.graph)


def magnitudes(entry: dict) -> list[float]:
    """Return the magnitudes of the finite cells of a value that are not 0, in ascending order."""
    found = cells_of(entry)
    cells = [cell for panel in found.panels for row in panel for cell in row] if found else []
    return sorted(abs(cell) for cell in cells if cell and math.isfinite(cell))


@dataclass(frozen=True)
class Cells:
    """The cells of a value's picture: the rows of each panel, as numbers; and how many panels the value has."""

    panels: list[list[list[float]]]
    many: int
    kind: str = "element"  # element | largest | mean


def cells_of(entry: dict) -> Cells | None:
    """Return the cells of a value: those of its grid, or all elements of a small one that text does not show whole.

    >>> cells_of({"shape": [2, 2, 2], "summary": {"values": [[[1, 2], [3, 4]], [[5, 6], [7, "nan"]]]}}).panels
    [[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, nan]]]
    """
    summary, shape = entry.get("summary") or {}, entry["shape"]
    if grid := summary.get("grid"):
        from minigrad.record.grid import numbers_of  # at the top, it would begin minigrad, which may draw at its exit

        unit = grid["unit"]
        panels = [[[cell * unit for cell in row] for row in panel] for panel in numbers_of(grid)]
        return Cells(panels, grid["panels"], grid["cell"])
    elements = text.flat(summary.get("values", ()))
    if len(elements) <= text.WHOLE or len(elements) != math.prod(shape) or "complex" in entry.get("dtype", ""):
        return None
    numbers, wide = [float(one) for one in elements], shape[-1]
    panels = grouped(numbers, wide, shape[-2] if len(shape) > 1 else 1)
    return Cells(panels[:PANELS], len(panels))


def grouped(cells: list, wide: int, tall: int) -> list[list[list]]:
    """Return cells in rows of `wide`, and these in panels of `tall`.

    >>> grouped([1, 2, 3, 4, 5, 6], 2, 2)
    [[[1, 2], [3, 4]], [[5, 6]]]
    """
    rows = [cells[i : i + wide] for i in range(0, len(cells), wide)]
    return [rows[i : i + tall] for i in range(0, len(rows), tall)]


def words_of(entry: dict) -> str:
    """Return the words for the scale of a value."""
    return WORDS.get(entry["kind"]) or ("probabilities" if are_probabilities(cells_of(entry)) else "values")


def are_probabilities(cells: Cells | None) -> bool:
    """Return True if all numbers are from 0 to 1, not only 0 and 1, and those of each row have the sum 1.

    >>> are_probabilities(Cells([[[0.25, 0.75], [0.0, 1.0]]], 1)), are_probabilities(Cells([[[0.25, 0.5]]], 1))
    (True, False)
    """
    rows = [row for panel in cells.panels for row in panel] if cells and cells.kind == "element" else []
    between = any(0 < cell < 1 for row in rows for cell in row)
    return between and all(min(row) >= 0 and abs(sum(row) - 1) < ROUNDED for row in rows)


def form_of(entry: dict) -> str:
    """Return the form of a value's picture: bars | matrix | integers | image; "" for one without cells.

    Only matrices share a scale: bars have heights, images have colours, and integers are often labels or indices.
    """
    summary = entry.get("summary") or {}
    if not (grid := summary.get("grid")) and cells_of(entry) is None:
        return ""
    if grid and grid["image"] and len(grid["cells"]) in (1, 3):
        return "image"
    return "bars" if len(entry["shape"]) == 1 else "integers" if re.match("u?int|bool", entry["dtype"]) else "matrix"
