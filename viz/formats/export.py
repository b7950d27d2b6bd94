"""A picture as PNG or PDF, drawn by Matplotlib, which brings its own fonts: all machines draw the same.

A PNG shows the passes side by side, a PDF has a page for each.
"""

from __future__ import annotations

import io
import warnings
from contextlib import contextmanager
from typing import Literal

from ..layout.picture import Picture, arranged
from ..layout.shapes import Group, Path, Text, shapes
from ..layout.style import TEXTS, Look
from ..layout.themes import LIGHT, WHITE, Theme

SIDE, AREA = 30_000, 60_000_000  # pixels: a larger PNG is scaled down
LEGIBLE = {"png": 1.5, "pdf": 0.3}  # pixels or points: smaller text is left out
FONTS = {"sans": "DejaVu Sans", "mono": "DejaVu Sans Mono"}
ANCHORS: dict[str, Literal["left", "center", "right"]] = {"start": "left", "middle": "center", "end": "right"}
SLIDE = 0.75  # points per unit: 13.33 by 7.5 inches
PAGE = 14_400  # points: the longest side that PDF readers accept


def png(pictures: dict[str, Picture], scale: float = 2.0, theme: Theme = LIGHT) -> bytes:
    """Return a PNG of all pictures, with `scale` pixels per unit."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    pages, width, height = arranged(pictures)
    scale = min(scale, SIDE / max(width, height), (AREA / (width * height)) ** 0.5)
    unit = scale / 100  # inches, at 100 pixels each
    figure = Figure((width * unit, height * unit), dpi=100, facecolor=theme.page or WHITE)
    pen = Pen(figure, unit, height, LEGIBLE["png"] / scale, theme)
    for _, page, x, y in pages:
        pen.draw(page.items, x, y)
    out = io.BytesIO()
    with _quiet({"text.hinting": "none"}):  # hinted text is wider, and would leave its card
        FigureCanvasAgg(figure).print_png(out)
    return out.getvalue()


def pdf(pictures: dict[str, Picture], theme: Theme = LIGHT) -> bytes:
    """Return a PDF with a page per picture, as vectors with embedded fonts."""
    from matplotlib.backends.backend_pdf import PdfPages
    from matplotlib.figure import Figure

    out = io.BytesIO()
    with _quiet({"pdf.fonttype": 42}), PdfPages(out, metadata={"CreationDate": None}) as pages:
        for page in pictures.values():
            unit = min(SLIDE if page.slide else 1.0, PAGE / max(page.width, page.height)) / 72
            figure = Figure((page.width * unit, page.height * unit), facecolor=theme.page or WHITE)
            Pen(figure, unit, page.height, LEGIBLE["pdf"] / (72 * unit), theme).draw(page.items, 0.0, 0.0)
            pages.savefig(figure)
    return out.getvalue()


def without_glyph(pictures: dict[str, Picture]) -> list[str]:
    """Return the characters of the pictures that their fonts lack, sorted."""
    from matplotlib import font_manager

    missing: set[str] = set()
    letters: dict[str, set[str]] = {family: set() for family in FONTS}
    for page in pictures.values():
        for text in shapes(page.items):
            if isinstance(text, Text):
                letters[TEXTS[text.style].family].update(text.text)
    for family, used in letters.items():
        known = font_manager.get_font(font_manager.findfont(FONTS[family])).get_charmap()
        missing |= {letter for letter in used if ord(letter) not in known and not letter.isspace()}
    return sorted(missing)


@contextmanager
def _quiet(settings: dict):
    """Set Matplotlib's settings, and silence its warning about missing glyphs: it draws a box, as intended."""
    import matplotlib

    with matplotlib.rc_context({"hatch.linewidth": 0.4, **settings}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")
        yield


class Pen:
    """Draws groups, paths and texts on a figure, in the order of the picture."""

    def __init__(self, figure, unit: float, height: float, smallest: float, theme: Theme):
        from matplotlib.transforms import Affine2D

        self.figure, self.points, self.smallest, self.theme = figure, unit * 72, smallest, theme
        self.to_page = Affine2D().scale(unit, -unit).translate(0, height * unit) + figure.dpi_scale_trans
        self.drawn = 0

    def draw(self, items: list, x: float, y: float, scale: float = 1.0) -> None:
        """Draw items with their origin at x, y, `scale` times as large."""
        for item in items:
            if isinstance(item, Group):
                self.draw(item.items, x + scale * item.shift[0], y + scale * item.shift[1], scale * item.scale)
            elif isinstance(item, Path):
                self._path(item, x, y, scale, self.theme.looks[item.look])
            elif scale * TEXTS[item.style].size >= self.smallest:
                for part in item.parts():
                    self._text(part, x, y, scale)

    def _path(self, path: Path, x: float, y: float, scale: float, look: Look) -> None:
        if not look.seen:
            return
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path as Steps

        codes = {"M": [Steps.MOVETO], "L": [Steps.LINETO], "C": [Steps.CURVE4] * 3, "Z": [Steps.CLOSEPOLY]}
        points, kinds = [], []
        for letter, *numbers in path.steps:
            kinds += codes[letter]
            points += [(x + scale * a, y + scale * b) for a, b in zip(numbers[::2], numbers[1::2])] or [(x, y)]
        dash = (0, [length / look.width for length in look.dash]) if look.dash else "solid"
        self._add(
            PathPatch(
                Steps(points, kinds),
                facecolor=path.fill or look.fill,
                antialiased=not path.look.startswith("heat"),
                edgecolor=look.stroke,
                linestyle=dash,
                linewidth=look.width * scale * self.points,
                hatch=look.hatch * 2 or None,
                capstyle="butt",
            )
        )

    def _text(self, text: Text, x: float, y: float, scale: float) -> None:
        from matplotlib.text import Text as Words

        style = self.theme.texts[text.style]
        self._add(
            Words(
                x + scale * text.x,
                y + scale * text.y,
                text.text,
                color=style.colour,
                fontsize=style.size * scale * self.points,
                fontfamily=FONTS[style.family],
                fontweight="bold" if style.bold else "normal",
                horizontalalignment=ANCHORS[text.anchor],
                verticalalignment="baseline",
                parse_math=False,
                usetex=False,
            )
        )

    def _add(self, artist) -> None:
        artist.set_transform(self.to_page)
        artist.set_zorder(self.drawn)
        artist.set_figure(self.figure)
        self.figure.add_artist(artist)
        self.drawn += 1
