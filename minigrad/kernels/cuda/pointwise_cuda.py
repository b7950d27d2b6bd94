"""Pointwise kernels on the device: a formula's text around which threads go through the elements.

Each thread computes one element, then the one that lies as many elements on as there are threads, and so on: neighbouring
threads touch neighbouring memory at every step, whatever the size.  Where operands are repeated or lie in another order, the
dimensions that can be walked as one are joined first, and what is left is counted out of the element's number: in 32 bits
where that is enough, as a GPU has no instruction for division, and takes three times as long for one of 64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ...arrays.dtypes import BF2, F2, F4, HALVES
from ...arrays.kinds import strided
from .. import formula
from . import flat, kernel_modules
from .device_array import DeviceArray, empty, plain
from .device_functions import WIDEST


class Layout(NamedTuple):
    """How a kernel goes through its arrays: at rank 0 all are flat memory.

    Else they have that many dimensions, of which each may have steps of its own, and which are counted in the type `counter`.
    Where rows are read by four neighbours, `along` says of each array whether it has those, or one element for all of a row.
    """

    rank: int
    counter: str = ""
    along: tuple = ()


def text(name: str, title: str, head: str, inputs: Sequence, results: Sequence, layout: Layout) -> str:
    """One kernel: `inputs` are names and how arrays are read ("" for numbers), `results` names and expressions."""
    args = [n + "_" if read else n for n, read in inputs] + [n + "_" for n, _ in results]
    rank, counter, along = layout
    parameters = {n: (read, n + "_") if read else (n, "") for n, read in inputs}
    expressions = {n + "_": expression for n, expression in results}
    if rank:
        head += f"\nfrom numpy import {counter}"
        arrays = [n + "_" for n, read in inputs if read]
        repeated = {a for a, lies in zip(arrays, along) if not lies} if along else None
        body = flat.counted_text(name, args, parameters, expressions, rank, counter, repeated)
    else:
        body = flat.text(name, args, parameters, [], expressions)
    if along or not rank:
        head += f"\nfrom minigrad.kernels.cuda.device_functions import {', '.join(flat.IMPORTS)}"
    return f'"""{title}"""\n\n{head}\n\n\n{body}'


def counter_of(size: int) -> str:
    """The type in which so many elements are counted."""
    return "uint32" if size < 1 << 31 else "uint64"


def run(
    name: str, formulas: dict[str, Callable], values: dict, target: np.dtype, outs: Sequence, scaled: Sequence = ()
) -> bool:
    """outs[k] = the k-th of the formulas, by name, whose parameters are `values` by name: arrays, or numbers.

    A formula among `scaled` is multiplied by g.  False, and nothing done, where a formula has no text for single numbers.
    float16 and bfloat16 are read as float32, and rounded when they are written.
    """
    target = computed_in(target)
    values = {k: one(v, target) for k, v in values.items()}
    arrays = [v for v in values.values() if isinstance(v, DeviceArray)] + list(outs)
    layout, laid = laid_out(outs[0].shape, arrays)
    reads = tuple([how_read(v.dtype) if isinstance(v, DeviceArray) else "" for v in values.values()])
    write = how_written(outs[0].dtype)
    found = kernel(name, tuple(formulas.items()), tuple(zip(values, reads)), write, target, layout, tuple(scaled))
    if found is not None and (size := outs[0].size):
        rest = iter([plain(a) for a in laid])
        args = [next(rest) if read else v for v, read in zip(values.values(), reads)]
        by_four = not layout.rank or layout.along
        found.launch(*kernel_modules.threads(-(-size // 4) if by_four else size), *args, *rest)
    return found is not None


@cache
def kernel(
    name: str, formulas: tuple, inputs: tuple, write: str, target: np.dtype, layout: Layout, scaled: tuple
) -> Any:
    """The kernel of these formulas; None where one has no text for single numbers."""
    head = formula.prelude([f for _, f in formulas], target, formula.CUDA)
    if head is None:
        return None
    head += imports([write, *[read for _, read in inputs]])
    results = []
    for n, f in formulas:
        expression = formula.scalar_text(f, target)
        results.append((n, write.format(f"g * ({expression})" if f in scaled else expression)))
    title = f"{name}: " + "; ".join(f"{n} = {formula.text(f)}" for n, f in formulas) + f"  [{target.name}]"
    return getattr(kernel_modules.load(name, text(name, title, head, inputs, results, layout)), name)


def computed_in(dtype: np.dtype) -> np.dtype:
    """The dtype that kernels compute in for results of another."""
    return F4 if dtype in HALVES else dtype


# how elements become those that kernels compute with, and results become elements, where memory does not do it by itself
READ, WRITTEN = {F2: "float32({})", BF2: "of_bfloat16({})"}, {BF2: "to_bfloat16({})"}
CONVERSIONS = {"float32": "numpy"} | dict.fromkeys(("of_bfloat16", "to_bfloat16"), formula.CUDA.functions)


def how_read(dtype: np.dtype) -> str:
    """How a kernel reads an array's elements."""
    return READ.get(dtype, "{}")


def how_written(dtype: np.dtype) -> str:
    """How a kernel writes a result into an array."""
    return WRITTEN.get(dtype, "{}")


def imports(conversions: Sequence) -> str:
    """The lines that import what these ways of reading and writing call."""
    return "".join([f"\nfrom {module} import {f}" for f, module in CONVERSIONS.items() if f + "({})" in conversions])


def one(v: Any, target: np.dtype) -> Any:
    """A number, or an array of the computer's that holds a single one, in the dtype of the calculation; arrays as they are."""
    if isinstance(v, DeviceArray):
        return v
    if isinstance(v, np.ndarray):
        v = v[()]
    if isinstance(v, (bool, np.bool_)):
        return bool(v)
    return target.type(v)  # a float64 would widen all that it meets


# ---------------------------------------------------------------------- dimensions
def laid_out(shape: tuple, arrays: list) -> tuple[Layout, list[DeviceArray]]:
    """How a kernel goes through arrays that are broadcast to a shape, and the arrays as it takes them."""
    if all([a.shape == shape and a.flags.c_contiguous for a in arrays]):  # most are: nothing has to be looked at
        return Layout(0), [a.reshape(-1) for a in arrays]
    shape, steps = walked(shape, arrays)
    if not shape or all([s == (a.itemsize,) for s, a in zip(steps, arrays)]):
        return Layout(0), [a.reshape(-1) for a in arrays]
    layout = Layout(len(shape), counter_of(math.prod(shape)), in_fours(shape, arrays, steps))
    as_it_lies = lambda a, s: a.shape == shape and a.strides == s
    return layout, [a if as_it_lies(a, s) else strided(a, shape, s) for a, s in zip(arrays, steps)]


def in_fours(shape: tuple, arrays: list, steps: list) -> tuple:
    """Whether each array lies along the rows, or is repeated, where rows can be read by four neighbours; () where not."""
    if len(shape) < 2 or shape[-1] % 4:
        return ()
    for a, (*outer, last) in zip(arrays, steps):
        multiple = min(4 * a.itemsize, WIDEST)
        if last != 0 and (last != a.itemsize or any([step % multiple for step in (a.address, *outer)])):
            return ()
    return tuple([s[-1] != 0 for s in steps])


def walked(shape: tuple, arrays: list) -> tuple[tuple, list]:
    """The shape with as few dimensions as do, and in it the steps of each array, in bytes: 0 where it is repeated."""
    sizes: list[int] = []
    kept: list[tuple] = []  # for each dimension the steps of all arrays
    for n, steps in zip(shape, zip(*[repeated_steps(a, shape) for a in arrays])):
        if n == 1:
            continue
        if sizes and kept[-1] == tuple([s * n for s in steps]):
            sizes[-1], kept[-1] = sizes[-1] * n, steps
        else:
            sizes.append(n)
            kept.append(steps)
    return tuple(sizes), list(zip(*kept)) or [()] * len(arrays)


def repeated_steps(a: DeviceArray, shape: tuple) -> list[int]:
    """The steps of an array that is broadcast to a shape.  Raises ValueError where it cannot be, as NumPy does."""
    lead = len(shape) - a.ndim
    if lead < 0 or any([n != 1 and n != m for n, m in zip(a.shape, shape[lead:])]):
        raise ValueError(f"an array of shape {a.shape} cannot be broadcast into shape {tuple(shape)}")
    return [0] * lead + [0 if n == 1 and m != 1 else s for n, m, s in zip(a.shape, shape[lead:], a.strides)]


def apply(name: str, kernel: Callable, names: Sequence, operands: Sequence, target: np.dtype, result: np.dtype,
          out: DeviceArray | None = None) -> DeviceArray | None:  # fmt: skip
    """out = kernel(*operands), broadcast; None where the formula has no text for single numbers."""
    if out is None:
        shapes = {a.shape for a in operands if isinstance(a, np.ndarray)}
        out = empty(shapes.pop() if len(shapes) == 1 else np.broadcast_shapes(*shapes), result)
    return out if run(f"{name}_forward", {"out": kernel}, dict(zip(names, operands)), target, [out]) else None
