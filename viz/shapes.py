"""The three things a picture is made of (groups, paths, texts) and the outlines of cards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .style import measure

ROUND = 0.5523  # how far the handles of a quarter circle reach


@dataclass
class Path:
    """Steps ("M", x, y), ("L", x, y), ("C", x1, y1, x2, y2, x, y), ("Z",) in a look of `style.LOOKS`."""

    steps: list[tuple]
    look: str


@dataclass
class Text:
    """A text on its baseline, in a style of `style.TEXTS`.

    A formula may have its LaTeX, with the width and the height that it may take.
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
        """The width that the text gets."""
        return measure(self.text, self.style)


@dataclass
class Group:
    """Things that belong together; `data` becomes data-... attributes, `tip` what shows under the pointer.

    They are drawn `scale` times as large, then moved by `shift`. In a picture that moves they appear `at` a step, and go
    `until` another.
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


def outline(x: float, y: float, width: float, height: float, corners: Sequence[float], form: str) -> list[tuple]:
    """A box whose corners (from the upper left, clockwise) are round or cut.

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
            steps.append(
                ("C", *_towards(before, at), *_towards(after, at), *after) if form == "round" else ("L", *after)
            )
        elif at != (x, y):
            steps.append(("L", *at))
    return [*steps, ("Z",)]


def _towards(point: tuple[float, float], corner: tuple[float, float]) -> tuple[float, float]:
    return point[0] + ROUND * (corner[0] - point[0]), point[1] + ROUND * (corner[1] - point[1])
