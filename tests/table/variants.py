"""Samples of the table with other sizes, dtypes and layouts of memory, which hypothesis draws.

A size of a sample is replaced by the same other one wherever it stands, so that shapes which meet still do; two may become
equal, 0 or 1.  The numbers are laid out in memory that is larger than they are, and is filled with GAP elsewhere.
"""

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

import minigrad
from minigrad.ops.base.registry import TABLE
from minigrad.testing.samples import Maker

GAP = 77
DTYPES = ("float64", "float32", "int64", "float16", "bfloat16", "int8", "uint8", "bool")


@dataclass
class Variant:
    """A sample, and what is changed in it: its sizes, the dtype, the layout of each leaf, the number of dimensions."""

    name: str
    sample: str
    sizes: dict = field(default_factory=dict)
    dtype: str = "float64"
    layouts: tuple = ()
    ndim: int = 0

    def __repr__(self):
        return f"{self.name}({self.sample}), sizes {self.sizes}, {self.dtype}, {self.layouts}, {self.ndim} dims"


@st.composite
def variants(draw, name, dtypes=DTYPES):
    """Return variants of an operation's samples; the simplest is the first sample as it stands."""
    sample = draw(st.sampled_from(TABLE[name].samples))
    known = sorted(
        {int(n) for shape in re.findall(r"\b[TPIBS]\(([\d, ]*)\)", sample) for n in re.findall(r"\d+", shape)}
    )
    sizes = {n: draw(st.sampled_from([n, 1, 0, 2, 3, *known])) for n in known}
    dtype = draw(st.sampled_from(dtypes))
    layouts = tuple(draw(st.lists(st.sampled_from(sorted(LAYOUTS)), min_size=4, max_size=4)))
    many = TABLE[name].cls is not None and "[" not in sample and draw(st.integers(0, 9)) == 9
    return Variant(name, sample, sizes, dtype, layouts, 64 if many else 0)


class Numbers(Maker):
    """The makers of a variant: they note the arrays, and lay them out if `laid_out` is True."""

    def __init__(self, module: Any, variant: Variant, laid_out: bool, leaves: Any = None):
        super().__init__(module, TABLE[variant.name], variant.sample, variant.dtype, leaves)
        self.variant, self.laid_out, self.memories = variant, laid_out, []

    def shape(self, sizes: tuple) -> tuple:
        """Return the sizes that stand for these."""
        return tuple([self.variant.sizes.get(n, n) for n in sizes])

    def leaf(self, array: np.ndarray) -> Any:
        """Return the next float tensor."""
        if self.given is None:
            array = typed(array, self.variant.dtype)
            if self.variant.ndim:
                array = array.reshape((1,) * (self.variant.ndim - array.ndim) + array.shape)
            layout = self.variant.layouts[len(self.leaves)] if len(self.leaves) < len(self.variant.layouts) else "plain"
            array = repeated(array, layout)
            t, memory = LAYOUTS[layout if self.laid_out else "plain"](self.module, array)
            self.memories.append((memory, t))
        else:
            t = self.given[len(self.leaves)]
        self.leaves.append(t)
        return t

    def T(self, *shape: int) -> Any:
        return super().T(*self.shape(shape))

    def P(self, *shape: int) -> Any:
        return super().P(*self.shape(shape))

    def S(self, *shape: int) -> Any:
        return super().S(*self.shape(shape)) if 0 not in self.shape(shape) else super().T(*self.shape(shape))

    def I(self, *shape_and_high: int) -> Any:  # noqa: E743
        *shape, high = shape_and_high
        return super().I(*self.shape(shape), high)

    def B(self, *shape: int) -> Any:
        return super().B(*self.shape(shape))


def typed(array: np.ndarray, dtype: str) -> np.ndarray:
    """Return the numbers in a dtype."""
    return array.astype(minigrad.bfloat16.to_numpy() if dtype == "bfloat16" else dtype)


def repeated(array: np.ndarray, layout: str) -> np.ndarray:
    """Return what has one number for all of a dimension, or for all windows, where the layout shares memory in this way."""
    if layout == "expanded" and array.ndim and array.size:
        return np.broadcast_to(array[:1], array.shape).copy()
    if layout == "windows" and array.ndim > 1 and array.size:
        m, n = array.shape[-2:]
        row = np.concatenate([array[..., 0, :], np.repeat(array[..., :1, 0], m - 1, -1)], -1)
        return np.lib.stride_tricks.sliding_window_view(row, n, -1).copy()
    return array


def in_memory(place: Any) -> Any:
    """Return a layout: `place(empty, shape)` gives the view of an array of this shape, in memory that `empty` makes."""

    def lay_out(module: Any, array: np.ndarray) -> tuple:
        made: list = []

        def empty(shape: tuple) -> np.ndarray:
            made.append(np.full(shape, GAP, array.dtype))
            return made[0]

        view = place(empty, array.shape)
        view[...] = array
        return tensor_on(module, view), made[0]

    return lay_out


def tensor_on(module: Any, view: np.ndarray) -> Any:
    """Return a tensor on an array's memory; PyTorch does not know NumPy's bfloat16."""
    if view.dtype != minigrad.bfloat16.to_numpy() or module is minigrad:
        return module.from_numpy(view)
    return module.tensor(view.astype(np.float32)).to(module.bfloat16)


def turned(empty: Any, shape: tuple) -> np.ndarray:
    return empty(shape[::-1]).T


def channels_last(empty: Any, shape: tuple) -> np.ndarray:
    at = min(1, len(shape) - 1)
    return np.moveaxis(empty((*shape[:at], *shape[at + 1 :], shape[at])), -1, at) if shape else empty(())


def stepping(empty: Any, shape: tuple) -> np.ndarray:
    return empty((*shape[:-1], 2 * shape[-1] + 1))[..., 1::2] if shape else empty((3,))[1:2].reshape(())


def within(empty: Any, shape: tuple) -> np.ndarray:
    lead, last = shape[:-3], shape[-3:]
    return empty((*lead, *[n + 2 for n in last]))[(..., *[slice(1, n + 1) for n in last])]


def apart(empty: Any, shape: tuple) -> np.ndarray:
    return empty((3 * shape[0] + 1, *shape[1:]))[1::3] if shape else empty(())


def read_only(module: Any, array: np.ndarray) -> tuple:
    array = array.copy()
    array.flags.writeable = False
    return tensor_on(module, array), array


def expanded(module: Any, array: np.ndarray) -> tuple:
    if not array.ndim or not array.size:
        return tensor_on(module, array.copy()), None
    return tensor_on(module, array[:1].copy()).expand(array.shape), None


def windows(module: Any, array: np.ndarray) -> tuple:
    if array.ndim < 2 or not array.size:
        return tensor_on(module, array.copy()), None
    m, n = array.shape[-2:]
    row = np.concatenate([array[..., 0, :], array[..., 1:, -1]], -1)
    return tensor_on(module, row).unfold(-1, n, 1), None


LAYOUTS = {
    "plain": lambda module, array: (tensor_on(module, array.copy()), None),
    "transposed": in_memory(turned),
    "channels last": in_memory(channels_last),
    "stepping": in_memory(stepping),
    "within": in_memory(within),
    "apart": in_memory(apart),
    "read-only": read_only,
    "expanded": expanded,
    "windows": windows,
}
SHARING = {"expanded", "windows"}  # an element of memory is several of the tensor's


def run(module: Any, function: Any, variant: Variant, laid_out: bool, leaves: Any = None) -> tuple:
    """Return (the result of the call, its makers)."""
    maker = Numbers(module, variant, laid_out, leaves)
    names = {n: getattr(maker, n) for n in "TPISB"}
    return eval(f"function({variant.sample})", {"function": function, "torch": module, **names}), maker
