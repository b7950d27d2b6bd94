"""Printing of tensors: PyTorch's text, number for number.

All numbers of a tensor share one format.  `Format` inspects the numbers that are shown, and chooses whole numbers, decimals
or powers of ten, and the width.  `body` lays out the numbers; `text` adds dtype, grad_fn, size and the like.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from ..arrays import dtypes
from ..arrays.kinds import on_device
from ..arrays.meta import is_meta
from ..arrays.shapes import sketch
from ..core.frames import current
from ..core.graph import name_of
from ..errors import error
from ..events import intercept


@dataclass
class Options:
    """The options that set_printoptions sets."""

    precision: int = 4  # digits after the decimal point
    threshold: float = 1000  # tensors with more elements are summarised
    edgeitems: int = 3  # elements shown at each end of a summarised dimension
    linewidth: int = 80
    sci_mode: bool | None = None  # scientific notation; None: if the numbers need it


OPTIONS = Options()
MOST = 1_000_000  # numbers in a text, if the threshold is lower
PROFILES = {"default": Options(), "short": Options(precision=2, edgeitems=2), "full": Options(threshold=math.inf)}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors print.  Arguments that are None stay as they are; `profile` is "default", "short" or "full".

    `sci_mode` becomes automatic again unless it is given.

    >>> import minigrad
    >>> with minigrad.printoptions(precision=2):
    ...     print(minigrad.tensor([1.12345]))
    tensor([1.12])
    """
    if profile is not None and profile not in PROFILES:
        raise error(
            ValueError, "set_printoptions", f"{profile!r} is not a profile", f"use one of {', '.join(PROFILES)}"
        )
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    for name, value in given.items():
        if profile is not None:
            setattr(OPTIONS, name, getattr(PROFILES[profile], name))
        if value is not None:
            setattr(OPTIONS, name, value)
    OPTIONS.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """Return the current print options, as the arguments of set_printoptions.

    >>> import minigrad
    >>> minigrad.get_printoptions()["precision"]
    4
    """
    return asdict(OPTIONS)


@contextmanager
def printoptions(**options: Any):
    """Set print options, like set_printoptions, within a `with` block.

    >>> import minigrad
    >>> with minigrad.printoptions(precision=2):
    ...     print(minigrad.tensor([1/3]))
    tensor([0.33])
    """
    old = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        for f in fields(OPTIONS):
            setattr(OPTIONS, f.name, old[f.name])


class Format:
    """One format for all numbers of an array; `number` writes each with the same width."""

    def __init__(self, a: np.ndarray):
        self.style, self.width = "d", 1
        if a.dtype not in dtypes.FLOATS:
            self.width = max(1, *[len(str(v)) for v in set(a.ravel().tolist())]) if a.size else 1
            return
        self.style = ".0f"
        v = a[np.isfinite(a) & (a != 0)].astype(np.float64)
        if not v.size:
            return
        low, high = np.abs(v).min(), np.abs(v).max()
        whole = bool((v == np.ceil(v)).all())
        scientific = high > 1000 * low or high > 1e8 or low < 1e-4 if OPTIONS.sci_mode is None else OPTIONS.sci_mode
        if scientific:
            self.style = f".{OPTIONS.precision}e"
        elif not whole:
            self.style = f".{OPTIONS.precision}f"
        self.width = max(len(format(x, self.style)) for x in v.tolist()) + (self.style == ".0f")

    def number(self, v: Any) -> str:
        """Return one number with the common width; a whole number of a floating-point tensor ends in a point."""
        if self.style == "d":
            return str(v).rjust(self.width)
        point = "." if self.style == ".0f" and math.isfinite(v) else ""
        return (format(v, self.style) + point).rjust(self.width)


def body(a: np.ndarray, indent: int, cuts: Sequence[bool], style: Format) -> str:
    """Return the numbers in nested brackets; dots are in the middle of each dimension that is cut."""
    if a.ndim == 0:
        return style.number(a.item())
    edge, cut = OPTIONS.edgeitems, cuts[0]
    if a.ndim == 1:
        shown = [style.number(v) for v in a.tolist()]
        if cut:
            shown.insert(edge, " ..." if edge else "...")
        per_line = max(1, (OPTIONS.linewidth - indent) // (style.width + 2))
        lines = [", ".join(shown[i : i + per_line]) for i in range(0, len(shown), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    shown = [body(x, indent + 1, cuts[1:], style) for x in a]
    if cut:
        shown.insert(edge, "...")
    return "[" + ("," + "\n" * (a.ndim - 1) + " " * (indent + 1)).join(shown) + "]"


def shown_part(a: Any) -> tuple[Any, list[bool]]:
    """Return the elements that are shown, in the computer's memory, and True for each dimension whose middle is left out.

    Only these elements are copied: a dimension may have stride 0 and more elements than fit into memory. Of a tensor with very
    many dimensions nothing is shown.
    """
    edge = OPTIONS.edgeitems
    cuts = [a.size > OPTIONS.threshold and n > 2 * edge for n in a.shape]
    sizes = [2 * edge if cut else n for n, cut in zip(a.shape, cuts)]
    if True not in cuts and a.size <= max(MOST, OPTIONS.threshold):
        return (a.to_host() if on_device(a) else a), cuts
    if math.prod(sizes) > MOST:
        return None, cuts
    out = np.empty(sizes, a.dtype)
    first, last = (slice(edge), slice(edge)), slice(edge, None)
    pairs = [(first, (slice(n - edge, n), last)) if cut else ((slice(n), slice(n)),) for n, cut in zip(a.shape, cuts)]
    for chosen in itertools.product(*pairs) if out.size else ():
        source, target = zip(*chosen)
        out[target] = a[source].to_host() if on_device(a) else a[source]
    return out, cuts


def text(t: Any) -> str:
    """Return the repr of a tensor."""
    prefix = f"{type(t).__name__}(" if type(t).__name__ not in ("Tensor", "Parameter") else "tensor("
    a, cuts = (None, []) if is_meta(t._a) else shown_part(t._a)
    numbers = "..." if a is None else body(a, len(prefix), cuts, Format(a)) if t._a.size else "[]"
    out = prefix + numbers
    line = len(out) - out.rfind("\n") + 1
    for suffix in suffixes(t, a is None):
        if line + len(suffix) + 2 > OPTIONS.linewidth:
            out += ",\n" + " " * len(prefix) + suffix
            line = len(prefix) + len(suffix)
        else:
            out += ", " + suffix
            line += len(suffix) + 2
    return out + ")"


def suffixes(t: Any, hidden: bool) -> list[str]:
    """Return the parts that follow the numbers; `hidden` is True if no number is shown."""
    found, a = [], t._a
    if t.device.type != "cpu":
        found.append(f"device='{t.device}'")
    nowhere = is_meta(a)
    if hidden or a.size == 0 and a.ndim != 1 or a.size and not OPTIONS.edgeitems:
        found.append(f"size={tuple(a.shape)}")
    plain = (dtypes.default(), dtypes.I8, dtypes.BOOL) if a.size and not nowhere else (dtypes.default(),)
    if a.dtype not in plain:
        found.append(f"dtype={t.dtype}")
    if t.grad_fn is not None:
        found.append(f"grad_fn=<{name_of(t.grad_fn)}>")
    elif t.requires_grad:
        found.append("requires_grad=True")
    if current().dual is not None:
        tangent = current().dual.tangent(t)
        if tangent is not None:
            found.append(f"tangent={tangent}")
    return found


def error_notes(tensors: dict[str, Any], shapes: dict[str, Sequence] | None = None, marked: Any = None) -> list[str]:
    """Return notes for an error: the tensors' shapes drawn below each other, and how the tensors were made."""
    return [
        sketch(shapes or {n: tuple(t.shape) for n, t in tensors.items()}, marked),
        *(intercept.origins(tensors) or ()),
    ]
