"""An array of any number of dimensions as one picture: the last two dimensions are a map, and the others repeat it.

The third dimension from the end puts maps side by side, the fourth puts rows of these one below the other, and so on in turn.
"""

import base64
import io
from typing import Any

import numpy as np
from PIL import Image

from minigrad.record.grid import reduced

from ..layout.style import LEVELS, LOOKS

WIDEST = {2: 48, 3: 20}  # cells of a map, by the number of dimensions; of more dimensions as of 3
FACETS = 8  # maps along a dimension
GAP = 1  # cells between maps; between rows of maps, and so on, one more for each dimension
WIDE, TALL = 420, 200  # pixels that a picture should have


def facets(a: np.ndarray) -> str:
    """Return an array as an HTML image, orange above 0 and blue below; a note names the maps that are left out.

    >>> facets(np.ones((2, 3, 4, 5)))[:22], facets(np.ones((9, 2, 2))).rpartition("<br>")[2]
    ('<img src="data:image/p', '<small>the first 8 of 9 along dimension 0</small>')
    """
    a = a.reshape(1, -1) if a.ndim < 2 else a
    kept = a[tuple([slice(FACETS)] * (a.ndim - 2))] if a.size else np.zeros((1, 1))
    cells = tiles(kept, WIDEST[min(kept.ndim, 3)])
    image = Image.fromarray(colours(cells), "P")
    image.putpalette(PALETTE)
    scale = max(2, min(10, TALL // cells.shape[0], WIDE // cells.shape[1]))
    style = "max-width: none; image-rendering: pixelated; border: 1px solid #9aa2ad"
    drawn = written(image, scale * cells.shape[1], style, transparency=GROUND, optimize=True)
    left = [f"the first {FACETS} of {n} along dimension {d}" for d, n in enumerate(a.shape[:-2]) if n > FACETS]
    below = "".join(f"<br><small>{one}</small>" for one in left)
    return drawn + below


def written(image: Image.Image, wide: int, style: str, alt: str = "", **options: Any) -> str:
    """Return an image as an HTML element of a width in pixels, with its data."""
    out = io.BytesIO()
    image.save(out, "PNG", **options)
    data = base64.b64encode(out.getvalue()).decode()
    return f'<img src="data:image/png;base64,{data}" alt="{alt}" style="width: {wide}px; {style}">'


def tiles(a: np.ndarray, widest: int) -> np.ma.MaskedArray:
    """Return the maps of an array in one matrix; what is between them is masked."""
    if a.ndim == 2:
        rows, columns = a.shape
        return np.ma.array(reduced(a, min(rows, widest), min(columns, widest), False))
    parts, axis = [tiles(one, widest) for one in a], a.ndim % 2
    shape = list(parts[0].shape)
    shape[axis] = GAP * (a.ndim - 2) if a.ndim < 5 else GAP * (a.ndim - 1)
    gap = np.ma.masked_all(shape)
    joined = [one for part in parts for one in (part, gap)][:-1]
    return np.ma.concatenate(joined, axis=axis)


COLOURS = [f"heat-n{i}" for i in range(LEVELS, 0, -1)] + ["heat-0", *[f"heat-p{i}" for i in range(1, LEVELS + 1)]]
COLOURS += ["heat-nan", "heat-inf"]
NAN, INFINITE, GROUND = len(COLOURS) - 2, len(COLOURS) - 1, len(COLOURS)
PALETTE = [part for name in COLOURS for part in bytes.fromhex(LOOKS[name].fill[1:])] + [255, 255, 255]


def colours(cells: np.ma.MaskedArray) -> np.ndarray:
    """Return the places of cells in COLOURS; the largest magnitude has the strongest colour.

    >>> colours(np.ma.array([[-2.0, 0.0, 0.1, 2.0, np.nan, np.inf]])).tolist()
    [[0, 7, 8, 14, 15, 16]]
    """
    numbers = cells.filled(0.0)
    known = np.isfinite(numbers)
    largest = np.abs(numbers[known]).max(initial=0.0) or 1.0
    levels = np.ceil(np.abs(np.where(known, numbers, 0.0)) / largest * LEVELS) * np.sign(np.where(known, numbers, 0.0))
    found = np.where(known, levels + LEVELS, np.where(np.isnan(numbers), NAN, INFINITE))
    return np.where(np.ma.getmaskarray(cells), GROUND, found).astype(np.uint8)
