"""The colour scales of a picture's heat maps: one for its values, one for its gradients, and one for its tangents.

A scale ends at the largest magnitude of all the values that a picture shows, so equal colours are equal numbers everywhere in
it.  Shades follow the square root, so that weights stay visible beside activations.  A few numbers far beyond the others, as
of a mask of -1e9, would leave the rest white: then the scale ends before them, and their cells are marked.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ..graph.drawn_graph import Graph

FAR = 50.0  # times the upper quartile of the magnitudes: by square root, smaller ones have the lightest shade
WORDS = {"gradient": "gradients", "tangent": "tangents"}  # by the kind of a value in the record
ALL = ("values", *WORDS.values())


@dataclass(frozen=True)
class Scale:
    """The end of a colour scale, of either sign."""

    words: str  # values | gradients | tangents
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
        if passed >= 0.75 * len(values):
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
    from minigrad.record.grid import numbers_of  # at the top, it would begin minigrad, which may draw at its exit

    grid = (entry.get("summary") or {}).get("grid")
    cells = [cell for panel in numbers_of(grid) for row in panel for cell in row] if grid else []
    return sorted(abs(cell) * grid["unit"] for cell in cells if cell and math.isfinite(cell)) if grid else []


def words_of(entry: dict) -> str:
    """Return the words for the scale of a value."""
    return WORDS.get(entry["kind"], "values")


def form_of(entry: dict) -> str:
    """Return the form of a value's picture: bars | matrix | integers | image; "" without a grid.

    Only matrices share a scale: bars have heights, images have colours, and integers are often labels or indices.
    """
    if (grid := (entry.get("summary") or {}).get("grid")) is None:
        return ""
    if grid["image"] and len(grid["cells"]) in (1, 3):
        return "image"
    return "bars" if len(entry["shape"]) == 1 else "integers" if "int" in entry["dtype"] else "matrix"
