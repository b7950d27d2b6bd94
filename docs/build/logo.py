"""Draw the logo, docs/pictures/logo.svg: a graph of two leaves and a result.  Its edges have the colours of the passes and
form a nabla, the symbol of the gradient."""

from viz.formats.svg import svg
from viz.layout.picture import Picture
from viz.layout.shapes import Group, Path, outline

from . import DOCS

FILE = DOCS / "pictures" / "logo.svg"
SIDE, RADIUS = 32, 3.4
LEFT, RIGHT, LOW = (6.0, 7.0), (26.0, 7.0), (16.0, 25.5)


def drawn() -> str:
    """Return the logo as SVG text."""
    nodes = {"pulse-forward": LEFT, "pulse-backward": LOW, "pulse-jvp": RIGHT}
    edges = {"pulse-forward": (LEFT, LOW), "pulse-backward": (LOW, RIGHT), "pulse-jvp": (RIGHT, LEFT)}
    made = [Path([("M", *start), ("L", *end)], look) for look, (start, end) in edges.items()]
    for look, (x, y) in nodes.items():
        circle = outline(x - RADIUS, y - RADIUS, 2 * RADIUS, 2 * RADIUS, [RADIUS] * 4, "round")
        made.append(Path(circle, look))
    return svg({"logo": Picture(SIDE, SIDE, [Group("", "", made)])}, "minigrad")


def main() -> None:
    """Write the logo."""
    FILE.write_text(drawn(), encoding="utf-8")
