"""The ways a picture may run: layouts are made from top to bottom, and turned here for the others.

A layout speaks of `across` and `along`: along is where the program goes, from the inputs to the results.
"""

from __future__ import annotations

from dataclasses import dataclass

Point = tuple[float, float]


@dataclass(frozen=True)
class Way:
    """How across and along become x and y on the page."""

    sideways: bool = False  # along is x
    backwards: bool = False  # from below, or from the right

    @property
    def ahead(self) -> Point:
        """The direction of the program on the page."""
        step = -1.0 if self.backwards else 1.0
        return (step, 0.0) if self.sideways else (0.0, step)

    def point(self, at: Point, total: float) -> Point:
        """A point of a layout that is `total` long, on the page.

        >>> WAYS["BT"].point((1, 2), 10), WAYS["LR"].point((1, 2), 10)
        ((1, 8.0), (2, 1))
        """
        return self.corner(at, 0.0, total)

    def corner(self, at: Point, along: float, total: float) -> Point:
        """The upper left corner on the page of a box that is so long."""
        across, start = at
        start = total - start - along if self.backwards else start
        return (start, across) if self.sideways else (across, start)

    def size(self, across: float, along: float) -> Point:
        """Width and height of what is so wide and so long; also the other way round."""
        return (along, across) if self.sideways else (across, along)

    def paper(self, corner: Point, strip: float) -> Point:
        """The corner of a card's paper in its box: behind the strip of labels."""
        x, y = corner
        if self.backwards:
            return corner
        return (x + strip, y) if self.sideways else (x, y + strip)


WAYS = {"TB": Way(), "BT": Way(backwards=True), "LR": Way(sideways=True), "RL": Way(sideways=True, backwards=True)}
