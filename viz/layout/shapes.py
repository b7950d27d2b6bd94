"""The three elements of a picture (groups, paths, texts) and the outlines of cards."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from .style import measure

SPECIAL = re.compile(r"(?<![\w.-])(-?(?:inf|nan))(?![\w.])")
NUMBERS = {"value": "special", "gradient": "special", "tangent": "special", "gives": "special-small"}  # by style
ROUND = 0.5523  # length of the Bézier handles of a quarter circle, relative to its radius


@dataclass
class Path:
    """Steps ("M", x, y), ("L", x, y), ("C", x1, y1, x2, y2, x, y), ("Z",) in a look of `style.LOOKS`.

    A pixel of an image has its own `fill`, the same in all themes.
    """

    steps: list[tuple]
    look: str
    fill: str = ""


@dataclass
class Text:
    """A text on its baseline, in a style of `style.TEXTS`.

    A formula may have LaTeX, with the width and height available to it.
    """

    x: float
    y: float
    text: str
    style: str
    anchor: str = "start"  # start | middle | end
    latex: str = ""
    room: tuple[float, float] = (0.0, 0.0)

    @property
    def width(self) -> float:
        """The width of the text."""
        return measure(self.text, self.style)

    def parts(self) -> list[Text]:
        """Return the text in parts: NaN and infinities among its numbers are in a style apart.

        >>> [(part.text, part.style) for part in Text(0, 0, "[1, nan]", "value").parts()]
        [('[1, ', 'value'), ('nan', 'special'), (']', 'value')]
        """
        if self.style not in NUMBERS or self.latex or self.anchor != "start" or not SPECIAL.search(self.text):
            return [self]
        parts, x = [], self.x
        for i, words in enumerate(SPECIAL.split(self.text)):
            part = Text(x, self.y, words, NUMBERS[self.style] if i % 2 else self.style)
            parts, x = [*parts, *[part] * bool(words)], x + part.width
        return parts


@dataclass
class Group:
    """Items that belong together; `data` becomes data-... attributes, `tip` a tooltip.

    The items are scaled by `scale`, then moved by `shift`. In a film they appear at the step `at`, and disappear at `until`.
    """

    id: str
    classes: str
    items: list
    data: Mapping[str, int | str] = field(default_factory=dict)
    tip: str = ""
    shift: tuple[float, float] = (0.0, 0.0)
    at: int | None = None
    until: int | None = None
    scale: float = 1.0


def shapes(items: list) -> Iterator[Path | Text]:
    """Yield all paths and texts of groups."""
    for item in items:
        yield from shapes(item.items) if isinstance(item, Group) else [item]


def outline(x: float, y: float, width: float, height: float, corners: Sequence[float], form: str) -> list[tuple]:
    """Return the outline of a box with round or cut corners (from the upper left, clockwise).

    >>> outline(0, 0, 4, 2, [0, 0, 0, 0], "cut")
    [('M', 0, 0), ('L', 4, 0), ('L', 4, 2), ('L', 0, 2), ('Z',)]
    """
    most = min(width, height) / 2
    a, b, c, d = (max(0, min(corner, most)) for corner in corners)
    right, low = x + width, y + height
    steps: list[tuple] = [("M", x + a, y)]
    for corner, before, at, after in (
        (b, (right - b, y), (right, y), (right, y + b)),
        (c, (right, low - c), (right, low), (right - c, low)),
        (d, (x + d, low), (x, low), (x, low - d)),
        (a, (x, y + a), (x, y), (x + a, y)),
    ):
        if corner:
            steps.append(("L", *before))
            bend = "C", *_towards(before, at), *_towards(after, at), *after
            steps.append(bend if form == "round" else ("L", *after))
        elif at != (x, y):
            steps.append(("L", *at))
    return [*steps, ("Z",)]


def _towards(point: tuple[float, float], corner: tuple[float, float]) -> tuple[float, float]:
    return point[0] + ROUND * (corner[0] - point[0]), point[1] + ROUND * (corner[1] - point[1])
