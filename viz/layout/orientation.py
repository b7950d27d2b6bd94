"""The directions of a picture: layouts are computed from top to bottom, and rotated here.

A layout has two axes, `across` and `along`; along points from the inputs to the results.
"""

from dataclasses import dataclass

Point = tuple[float, float]


@dataclass(frozen=True)
class Way:
    """A mapping from across and along to x and y on the page."""

    sideways: bool = False  # along is x
    backwards: bool = False  # along points up or left

    @property
    def ahead(self) -> Point:
        """The unit vector of `along` on the page."""
        step = -1.0 if self.backwards else 1.0
        return (step, 0.0) if self.sideways else (0.0, step)

    def point(self, at: Point, total: float) -> Point:
        """Return the position on the page of a point of a layout that is `total` long.

        >>> WAYS["BT"].point((1, 2), 10), WAYS["LR"].point((1, 2), 10)
        ((1, 8.0), (2, 1))
        """
        return self.corner(at, 0.0, total)

    def corner(self, at: Point, along: float, total: float) -> Point:
        """Return the upper left corner on the page of a box that is `along` long."""
        across, start = at
        start = total - start - along if self.backwards else start
        return (start, across) if self.sideways else (across, start)

    def size(self, across: float, along: float) -> Point:
        """Return width and height of a box, or across and along of a width and height: the mapping is its own inverse."""
        return (along, across) if self.sideways else (across, along)

    def paper(self, corner: Point, strip: float) -> Point:
        """Return the corner of a card's paper in its box, after the strip of labels."""
        x, y = corner
        if self.backwards:
            return corner
        return (x + strip, y) if self.sideways else (x, y + strip)


WAYS = {"TB": Way(), "BT": Way(backwards=True), "LR": Way(sideways=True), "RL": Way(sideways=True, backwards=True)}
