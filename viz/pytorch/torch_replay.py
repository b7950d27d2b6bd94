"""An operation of a PyTorch program, run again by minigrad on the recorded values.

Both libraries use the same names.  So minigrad's call and derivative formulas for an operation hold for PyTorch's as well, if
both compute the same numbers, which is checked here.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_map

import minigrad
from minigrad.arrays.kinds import distinct
from minigrad.autograd import forward_ad
from minigrad.core.frames import ON, use
from minigrad.core.tensor import wrap
from minigrad.errors import suppressed_warnings
from minigrad.ops.base.registry import TABLE
from minigrad.record import schema
from minigrad.record.build import numbered
from minigrad.record.values import Ref, elements
from minigrad.tensors.nested import tensors_in

from .torch_values import Call, Noted
from .torch_words import CONVERSIONS, PROPERTIES, op_name

NEAR = {2: 2e-2, 4: 2e-3, 8: 1e-6}  # tolerance by bytes per number, relative to the largest
NOISE = 5e-3  # this share of the largest input counts as the largest, for results that are mere rounding errors


class Unlike(Exception):
    """minigrad lacks the operation, or computes different numbers."""


class Replay:
    """One operation run again: forward, backward and jvp.

    `grads` are the gradients of its results by run of backward, `used` the results that the program used.  Raises Unlike if
    minigrad lacks the operation.
    """

    def __init__(self, call: Call, values: Sequence[Any], grads: Iterable[dict[int, int]], used: Sequence[int]):
        self.call, self.array = call, partial(array, values, call)
        self.tensors: dict[int, Any] = {}
        self.leaves: dict[int, Any] = {}  # tensors that get a gradient
        function = function_of(call.word)
        with suppressed_warnings(), minigrad.random.fork_rng(), use(ON), forward_ad.dual_level():
            args, kwargs = instead(self.given, call)
            with minigrad.record(passes=("forward",)) as self.rec:
                self.index = {value: self.rec.ref(t) for value, t in self.tensors.items()}
                found = list(tensors_in(function(*args, **kwargs)))
                self.rec.settle()
                outs = dict(zip(call.event.outputs, found))
                if not set(used) <= set(outs) or any(tuple(t.shape) != self.array(o).shape for o, t in outs.items()):
                    raise Unlike(f"{call.word} has other results")
                self.index |= {value: self.rec.ref(t) for value, t in outs.items()}
                read = max([largest(self.array(value)) for value in self.tensors], default=0.0)
                self.same = all(near(elements(t), self.array(o), read) for o, t in outs.items())
                if self.same and self.leaves:
                    for run in grads:
                        self.pull(outs, run)
        self.rec.outputs = [self.index[o] for o in used]
        self.rec.settle()

    def given(self, value: int) -> Any:
        """Return an argument: a tensor with its tangent and, if it needs a gradient, a graph."""
        if value not in self.tensors:
            t = wrap(np.array(self.array(value)))
            if any(value == flow.value for flow in self.call.edges):
                self.leaves[value] = t.requires_grad_()
            t = t.clone() if self.call.inplace else t
            tangent = self.call.tangents.get(value)
            moved = None if tangent is None else wrap(np.array(self.array(tangent, value)))
            self.tensors[value] = t if moved is None else forward_ad.make_dual(t, moved)
        return self.tensors[value]

    def pull(self, outs: dict[int, Any], grads: dict[int, int]) -> None:
        """Run backward from the recorded gradients of the results."""
        pairs = [(outs[o], wrap(np.array(self.array(g, o)))) for o, g in grads.items() if o in outs]
        roots = [(t, g) for t, g in pairs if t.requires_grad and t.shape == g.shape]
        if roots:
            ends, seeds = zip(*roots)
            self.rec.added_backward = True
            minigrad.autograd.grad(ends, list(self.leaves.values()), seeds, retain_graph=True, allow_unused=True)

    def document(self, label: Callable[[int], str]) -> tuple[schema.Op, dict[int, int]]:
        """Return minigrad's entry for the operation, in the labels of PyTorch's values, and these values by number."""
        for value, i in self.index.items():
            self.rec.values[i].name = label(value)
        for group in self.rec.groups:
            group.where = self.call.where
        for noted in self.rec.values:
            noted.summary = {}  # not needed
        document, number = numbered(self.rec)
        (op,) = [op for op in document.ops if op.phase in ("forward", "update")]
        return op, {number.new[i]: value for value, i in self.index.items() if i in number.new}


def function_of(word: str) -> Callable:
    """Return minigrad's function for PyTorch's name: a method, an attribute, or an entry of the table."""
    own, name = getattr(minigrad.Tensor, word, None), op_name(word)
    if word in PROPERTIES:
        return lambda x: getattr(x, word)
    if own is not None and (name not in TABLE or word in CONVERSIONS or word.endswith("_") and not word.endswith("__")):
        return own  # x[i], x.float(), x.fill_(2)
    if name not in TABLE:
        raise Unlike(f"minigrad has no {word}")
    return TABLE[name].function


def instead(tensor: Callable[[int], Any], call: Call) -> tuple[tuple, dict]:
    """Return the arguments of a call in minigrad's form, with tensors instead of values."""
    given = lambda a: tensor(a.value) if type(a) is Ref else plain(a)
    return tree_map(given, (call.args, call.kwargs), is_leaf=lambda a: type(a) is Ref)


def plain(a: Any) -> Any:
    """Convert an argument that is not a tensor to minigrad's form."""
    if isinstance(a, torch.dtype):
        return getattr(minigrad, str(a).removeprefix("torch."))
    if isinstance(a, (torch.device, torch.memory_format, torch.layout, torch.Generator)):
        raise Unlike(f"minigrad takes no {a}")
    return tuple(a) if isinstance(a, torch.Size) else a


def array(values: Sequence[Noted], call: Call, at: int, of: int | None = None) -> np.ndarray:
    """Return the elements of the value at a place as the transforms around it see them: under vmap those of the first example.

    A gradient or tangent `of` a value has that value's memory layout, if it is computed outside the vmap.
    """
    value = values[at]
    found = value.array
    if found is None or found.dtype.kind == "c":
        raise Unlike("minigrad has no such numbers")
    dims = call.dims.get(value.index, value.dims)
    if not dims and of is not None and values[of].shape == value.shape:
        dims = call.dims.get(of, values[of].dims)
    for d in reversed(dims):
        found = found.take(0, axis=d)
    return found


def near(a: np.ndarray, b: np.ndarray, read: float = 0) -> bool:
    """Return True if two arrays are equal up to rounding, given that their inputs are as large as `read`."""
    if a.shape != b.shape:
        return False
    if distinct(a).shape == distinct(b).shape:  # expanded tensors repeat the rest
        a, b = distinct(a), distinct(b)
    few = NEAR.get(min(a.dtype.itemsize, b.dtype.itemsize), 0) if a.dtype.kind == "f" else 0
    size = max(largest(b), NOISE * read) if few else 0
    return np.allclose(a, b, rtol=few, atol=few * size, equal_nan=a.dtype.kind == "f")


def largest(a: np.ndarray) -> float:
    """Return the largest magnitude of a finite element; 0 if the dtype is not floating point."""
    a = distinct(a)
    return float(np.max(np.abs(a), initial=0, where=np.isfinite(a))) if a.dtype.kind == "f" else 0.0
