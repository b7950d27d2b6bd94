"""The grid of a large value: its elements, or parts of the tensor, as a few rows of cells that a heat map can show.

A vector is one row, a matrix its rows, and a tensor of more dimensions a series of matrices (panels), of which the first
few are kept.  Up to BUDGET elements each cell is an element.  Larger tensors are divided into cells, and a cell is the
element of the largest magnitude in it, so that a single spike, NaN or infinity stays visible; a cell of an image is a mean.
"""

import math
import string

import numpy as np

from ..arrays.kinds import distinct

PANELS = 4  # matrices of a tensor with more than two dimensions
WIDEST = 48  # cells of a row
BUDGET, LESS = 1024, 256  # cells of a tensor: up to BUDGET if each is an element, else LESS
DIGITS = (string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/").encode()  # as in base64
CODES = {chr(digit): i for i, digit in enumerate(DIGITS)}
SIDE = 8  # pixels: smaller images are not taken for images
PIXELS = 32  # rows and columns of an image


def grid(a: np.ndarray, leaf: bool = False) -> dict:
    """Return the cells of an array with more than 16 elements; `leaf` allows for an image.

    >>> grid(np.eye(5) * 0.5)["cells"], grid(np.eye(40))["cells"][0][:20]
    (['/6f+f+f+f+f+/6f+f+f+f+f+/6f+f+f+f+f+/6f+f+f+f+f+/6'], 'feeeeeeeeeeeeeeeefee')
    """
    colours = channels(a) if leaf else 0
    if colours and a.shape[-1] == colours and a.ndim == 3:
        a = np.moveaxis(a, -1, 0)
    rows, columns = a.shape[-2:] if a.ndim > 1 else (1, a.shape[0])
    panels = math.prod(a.shape[:-2])
    shown = min(panels, colours if colours > 1 else PANELS)
    budget = BUDGET if a.size <= BUDGET else LESS
    tall, wide = (min(rows, PIXELS), min(columns, PIXELS)) if colours else fitted(rows, columns, budget // shown)
    once = distinct(a)
    if once.min() == once.max():  # there is no picture
        shown = tall = wide = 1
    cells = np.stack([reduced(panel, tall, wide, bool(colours)) for panel in first(a, shown)])
    kind = "element" if (tall, wide) == (rows, columns) else "mean" if colours else "largest"
    text, unit = written(cells, letters_of(kind))
    size = len(text) // shown
    texts = [text[i : i + size] for i in range(0, len(text), size)]
    return {"rows": tall, "panels": panels, "image": bool(colours), "cell": kind, "unit": unit, "cells": texts}


def channels(a: np.ndarray) -> int:
    """Return the number of channels of an image, (C, H, W) or (N, C, H, W) or (H, W, C); 0 if it does not look like one.

    Images have 1 or 3 channels, and either bytes or numbers from 0 to 1.

    >>> channels(np.full((3, 9, 9), 0.5)), channels(np.full((9, 9, 1), 0.5)), channels(np.full((9, 9), 0.5))
    (3, 1, 0)
    """
    if a.ndim not in (3, 4):
        return 0
    last = a.ndim == 3 and a.shape[-1] in (1, 3) and min(a.shape[:2]) >= SIDE
    if not last and (a.shape[-3] not in (1, 3) or min(a.shape[-2:]) < SIDE):
        return 0
    once = distinct(a)
    if a.dtype != np.uint8 and not (a.dtype.kind == "f" and np.min(once) >= 0 and np.max(once) <= 1):
        return 0
    return a.shape[-1 if last else -3]


def fitted(rows: int, columns: int, budget: int) -> tuple[int, int]:
    """Return the numbers of rows and columns of the cells of a matrix.

    >>> fitted(784, 128, 256), fitted(10, 64, 1024), fitted(1, 500, 256)
    ((16, 16), (10, 48), (1, 48))
    """
    tall = min(rows, math.isqrt(budget))
    wide = min(columns, WIDEST, budget // tall)
    return min(rows, WIDEST, budget // wide), wide


def first(a: np.ndarray, many: int) -> list[np.ndarray]:
    """Return the first matrices of an array, as views."""
    if a.ndim < 3:
        return [a.reshape(1, -1) if a.ndim == 1 else a]
    return [a[np.unravel_index(i, a.shape[:-2])] for i in range(many)]


def reduced(panel: np.ndarray, tall: int, wide: int, mean: bool) -> np.ndarray:
    """Return a matrix of `tall` by `wide` cells: of each part the element of the largest magnitude, or the mean."""
    rows, columns = panel.shape
    if panel.strides[0] == 0:  # an expanded array: all rows are equal
        panel, rows = panel[:tall], tall
    if panel.strides[1] == 0:
        panel, columns = panel[:, :wide], wide
    with np.errstate(invalid="ignore"):  # memory that was not filled may contain signalling NaNs
        panel = panel.astype(np.float64)
    if (rows, columns) == (tall, wide):
        return panel
    down, right = np.arange(tall) * rows // tall, np.arange(wide) * columns // wide
    parts = lambda combine: combine.reduceat(combine.reduceat(panel, down, axis=0), right, axis=1)
    if mean:
        return parts(np.add) / np.outer(np.diff(down, append=rows), np.diff(right, append=columns))
    high, low = parts(np.maximum), parts(np.minimum)  # a NaN stays a NaN
    return np.where(high >= -low, high, low)


def written(cells: np.ndarray, letters: int) -> tuple[str, float]:
    """Return cells as text, `letters` for each: the digits of a whole number, which is at least 0; and the unit."""
    largest_code = len(DIGITS) ** letters - 4  # the last three are for NaN and infinities
    zero = largest_code // 2
    known = np.isfinite(cells)
    finite = np.where(known, cells, 0.0)
    largest = float(np.abs(finite).max())
    if largest <= zero and (finite == np.rint(finite)).all():
        unit = 1.0
    else:
        unit = float(f"{largest / (zero - zero // 1000):.4g}") or largest  # rounded, it may still reach the largest
    codes = np.rint(finite / unit).astype(np.intp) + zero
    odd = np.where(np.isnan(cells), 1, np.where(cells > 0, 2, 3))
    codes = np.where(known, codes, largest_code + odd).ravel()
    digits = np.frombuffer(DIGITS, np.uint8)
    places = [codes // len(DIGITS) ** i % len(DIGITS) for i in reversed(range(letters))]
    return digits[np.stack(places, -1)].tobytes().decode(), unit


def numbers_of(grid: dict) -> list[list[list[float]]]:
    """Return the cells of a record's grid, as whole numbers in its unit, NaN or infinities: rows of each panel.

    >>> numbers_of(grid(np.arange(20.0).reshape(2, 10)))[0][1][:3]
    [10.0, 11.0, 12.0]
    """
    letters = letters_of(grid["cell"])
    last = len(DIGITS) ** letters - 1
    odd = {last - 2: math.nan, last - 1: math.inf, last: -math.inf}
    zero = (last - 3) // 2
    panels = []
    for text in grid["cells"]:
        codes = [CODES[a] for a in text]
        if letters == 2:
            codes = [a * len(DIGITS) + b for a, b in zip(codes[::2], codes[1::2])]
        found = [odd.get(code, float(code - zero)) for code in codes]
        wide = len(found) // grid["rows"]
        panels.append([found[i : i + wide] for i in range(0, len(found), wide)])
    return panels


def letters_of(cell: str) -> int:
    """Return the number of letters of a cell, by its content."""
    return 2 if cell == "element" else 1
