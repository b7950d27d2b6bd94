"""The display of a tensor without a graph in a notebook: its numbers, and below them a heat map, bars or an image."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from typing import Any

import numpy as np
from PIL import Image

from minigrad.arrays.meta import is_meta
from minigrad.record import schema
from minigrad.record.summary import summary
from minigrad.record.values import bottom
from minigrad.tensors.printing import Options, get_printoptions, printoptions

from ..cards.heat import Heat, heat
from ..formats.svg import svg
from ..layout.picture import Picture
from ..layout.shapes import Group, Text
from ..layout.style import TEXTS, measure
from .facets import facets, written

MOST = 30_000  # characters that a display may add to a notebook
LARGEST = 1_000_000  # elements that are read for a picture, in about 0.2 s
FEW = 200  # numbers beside a picture; of more, the first and last
SCALE = 2.5  # beside the pictures on cards
COLOURS = "; blue is negative, orange positive"


def display(t: Any, words: str) -> dict[str, str]:
    """Return HTML with the numbers and the picture of a tensor; nothing for one with few or equal elements.

    >>> import minigrad
    >>> made = display(minigrad.eye(5), "tensor(...)")["text/html"]
    >>> "tensor(...)</pre>" in made, "(5, 5): min 0  mean 0.2  max 1" in made
    (True, True)
    >>> display(minigrad.ones(5, 5), "tensor(...)")
    {}
    """
    array = bottom(t)
    if not schema.WHOLE < array.size <= LARGEST or is_meta(array):
        return {}
    value = {"shape": list(t.shape), "dtype": str(array.dtype), "summary": summary(array, leaf=True)}
    if (made := heat(value)) is None:
        return {}
    numbers = in_lines(numbers_of(t, words))
    for one in (made, replace(made, shape=())):  # without the indices of rows and columns, if they are too much
        drawn = pixels(one) if one.form == "image" else cells(one)
        if one.form != "image" and one.of:  # more matrices than fit into a row
            drawn = f"{facets(array)}<br><small>{escape(one.tip.partition(';')[0])}{COLOURS}</small>"
        html = f"{numbers}\n{drawn}"
        if len(html) + len(words) <= MOST:
            return {"text/html": html}
    return {}


def numbers_of(t: Any, words: str) -> str:
    """Return the numbers beside a picture, which may be fewer than in text, unless the program has asked for more."""
    if t.numel() <= FEW or get_printoptions()["threshold"] > Options().threshold:
        return words
    with printoptions(threshold=FEW):
        return repr(t)


def in_lines(words: str) -> str:
    """Return a text as HTML, in the lines and columns that it has; not every notebook chooses such letters."""
    return f'<pre style="font-family: monospace">{escape(words)}</pre>'


def cells(made: Heat) -> str:
    """Return a heat map or bars as SVG."""
    negative = any(cell < 0 for panel in made.panels for row in panel for cell in row)
    below = made.tip.partition("\n")[0] + COLOURS * negative
    wide, tall = (SCALE * side for side in made.size)
    line = Text(0, tall + TEXTS["note"].height, below, "note")
    items = [Group("", "", [made.drawn(0, 0)], scale=SCALE), Group("", "", [line])]
    page = Picture(round(max(wide, measure(below, "note"))) + 1, round(tall + 1.5 * TEXTS["note"].height), items)
    return svg({"value": page}, below)


def pixels(made: Heat) -> str:
    """Return an image as PNG, which takes less room than a path for each colour."""
    below = escape(made.tip.partition("\n")[0])
    channels = np.rint(255 * np.array(made.panels)).astype(np.uint8)
    image = Image.fromarray(channels[0] if len(channels) == 1 else np.moveaxis(channels, 0, -1))
    drawn = written(image, round(SCALE * made.size[0]), "image-rendering: pixelated", below)
    return f"{drawn}<br><small>{below}</small>"
