"""Pointwise kernels on the device: the text of a formula inside a loop of threads over elements.

Each thread computes one element, then the next at a distance of the number of threads, and so on: neighbouring threads touch
neighbouring memory at every step, whatever the size. If operands broadcast or are in another order, dimensions that can be
traversed as one are merged, and the remaining indices are computed from the element's number: in 32 bits if possible, because
a GPU has no division instruction, and 64 bits take three times as long.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from ...arrays.dtypes import BF2, F2, F4, HALVES
from .. import formula
from . import flat, kernel_modules
from .device_array import DeviceArray, empty, plain
from .machine import WIDEST


class TraversalOrder(NamedTuple):
    """The order in which a kernel traverses its arrays: rank 0 stands for flat memory.

    Otherwise they have `rank` dimensions, each with its own steps, and indices of type `counter`. If rows are read by four
    neighbours, `along` tells for each array whether it has them (True) or one element for the whole row (False).
    """

    rank: int
    counter: str = ""
    along: tuple = ()


def text(name: str, title: str, head: str, inputs: Sequence, results: Sequence, layout: TraversalOrder) -> str:
    """Return the text of a kernel; `inputs` are names and reading expressions ("" for numbers), `results` names and texts."""
    args = [n + "_" if read else n for n, read in inputs] + [n + "_" for n, _ in results]
    rank, counter, along = layout
    parameters = {n: (read, n + "_") if read else (n, "") for n, read in inputs}
    expressions = {n + "_": expression for n, expression in results}
    if rank:
        head += f"\nfrom numpy import {counter}"
        arrays = [n + "_" for n, read in inputs if read]
        repeated = {a for a, same in zip(arrays, along) if not same} if along else None
        body = flat.counted_text(name, args, parameters, expressions, rank, counter, repeated)
    else:
        body = flat.text(name, args, parameters, [], expressions)
    if along or not rank:
        head += f"\nfrom minigrad.kernels.cuda.device_functions import {', '.join(flat.IMPORTS)}"
    return f'"""{title}"""\n\n{head}\n\n\n{body}'


def counter_of(size: int) -> str:
    """Return the type of indices for `size` elements."""
    return "uint32" if size < 1 << 31 else "uint64"


class LaunchPlan(NamedTuple):
    """A pointwise computation for operands and results of some dtypes: all of its kernel but the layout.

    `reads` has for each operand the expression that reads it, "" for a number.
    """

    make: Callable[[TraversalOrder], Any]
    reads: tuple

    def compute(self, operands: Sequence, outs: Sequence) -> None:
        """Compute the results of the operands, arrays that broadcast to the results' shape, and numbers."""
        size, shape = outs[0].shadow.size, outs[0].shadow.shape
        if not size:
            return
        layout, laid = laid_out(shape, [*[v for v, read in zip(operands, self.reads) if read], *outs])
        arrays = iter([plain(a) for a in laid])
        given = [next(arrays) if read else v for v, read in zip(operands, self.reads)]
        count = size if layout.rank and not layout.along else -(-size // 4)
        self.make(layout).launch(*kernel_modules.threads(count), *given, *arrays)


def run(
    name: str, formulas: dict[str, Callable], values: dict, target: np.dtype, outs: Sequence, scaled: Sequence = ()
) -> bool:
    """Compute outs[k] by the k-th formula, whose parameters are `values` by name: arrays or numbers.

    Formulas in `scaled` are multiplied by g. Returns False, with nothing done, if a formula has no text for scalars. float16
    and bfloat16 are read as float32 and rounded when written.
    """
    target = computed_in(target)
    operands = [v if type(v) is DeviceArray else one(v, target) for v in values.values()]
    kinds = tuple([v.shadow.dtype if type(v) is DeviceArray else type(v) for v in operands])
    results = tuple([out.shadow.dtype for out in outs])
    plan = planned(name, tuple(formulas.items()), tuple(values), kinds, results, target, tuple(scaled))
    if plan is not None:
        plan.compute(operands, outs)
    return plan is not None


@cache
def planned(
    name: str, formulas: tuple, names: tuple, kinds: tuple, results: tuple, target: np.dtype, scaled: tuple
) -> Any:
    """Return the LaunchPlan for operands of these kinds, dtypes of arrays and types of numbers; None if there is no kernel."""
    numbers = [not isinstance(k, np.dtype) for k in kinds]
    reads = tuple(["" if number else read_expression(k) for k, number in zip(kinds, numbers)])
    make = partial(kernel, name, formulas, tuple(zip(names, reads)), write_expression(results[0]), target, scaled)
    if formula.prelude([f for _, f in formulas], target, formula.CUDA) is None:  # no text for scalars
        return None
    return LaunchPlan(make, reads)


@cache
def kernel(
    name: str, formulas: tuple, inputs: tuple, write: str, target: np.dtype, scaled: tuple, layout: TraversalOrder
) -> Any:
    """Return the kernel of these formulas; None if one has no text for scalars."""
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
    """Return the dtype in which kernels compute results of a dtype."""
    return F4 if dtype in HALVES else dtype


# conversions of elements to the dtype of the computation, and of results to elements, where memory access does not convert
READ, WRITTEN = {F2: "float32({})", BF2: "of_bfloat16({})"}, {BF2: "to_bfloat16({})"}
CONVERSIONS = {"float32": "numpy"} | dict.fromkeys(("of_bfloat16", "to_bfloat16"), formula.CUDA.functions)


def read_expression(dtype: np.dtype) -> str:
    """Return the expression that reads an array's elements."""
    return READ.get(dtype, "{}")


def write_expression(dtype: np.dtype) -> str:
    """Return the expression that writes a result into an array."""
    return WRITTEN.get(dtype, "{}")


def imports(conversions: Sequence) -> str:
    """Return the lines that import the functions in these expressions."""
    return "".join([f"\nfrom {module} import {f}" for f, module in CONVERSIONS.items() if f + "({})" in conversions])


def one(v: Any, target: np.dtype) -> Any:
    """Return a number, or a one-element array in main memory, in the dtype of the computation; device arrays unchanged."""
    if isinstance(v, DeviceArray):
        return v
    if isinstance(v, np.ndarray):
        v = v[()]
    if isinstance(v, (bool, np.bool_)):
        return bool(v)
    return target.type(v)  # a float64 would widen the whole expression


# ---------------------------------------------------------------------- dimensions
class Memory(NamedTuple):
    """The layout of an array in memory; `offset` is its address modulo the most that a thread reads at once."""

    shape: tuple
    strides: tuple
    itemsize: int
    offset: int

    @property
    def ndim(self) -> int:
        return len(self.shape)


def laid_out(shape: tuple, arrays: list) -> tuple[TraversalOrder, list[DeviceArray]]:
    """Return the layout of arrays that broadcast to a shape, and the arrays as the kernel takes them."""
    known = tuple([Memory(s.shape, s.strides, s.itemsize, a.address % WIDEST) for a in arrays for s in (a.shadow,)])
    layout, shape, steps = layout_of(shape, known)
    if not layout.rank:
        return layout, [a.reshape(-1) for a in arrays]
    as_it_lies = lambda a, s: a.shadow.shape == shape and a.shadow.strides == s
    return layout, [a if as_it_lies(a, s) else a.laid_out(shape, s) for a, s in zip(arrays, steps)]


@lru_cache(4096)
def layout_of(shape: tuple, arrays: tuple[Memory, ...]) -> tuple[TraversalOrder, tuple, tuple]:
    """Return the layout, the merged dimensions, and each array's steps in them. A program repeats its layouts."""
    shape, steps = walked(shape, arrays)
    if not shape or all([s == (a.itemsize,) for s, a in zip(steps, arrays)]):
        return TraversalOrder(0), shape, steps
    return (
        TraversalOrder(len(shape), counter_of(math.prod(shape)), readable_by_fours(shape, arrays, steps)),
        shape,
        steps,
    )


def readable_by_fours(shape: tuple, arrays: Sequence[Memory], steps: Sequence) -> tuple:
    """Return for each array True if it has elements along the rows, False if it repeats one; () if fours do not fit."""
    if len(shape) < 2 or shape[-1] % 4:
        return ()
    for a, (*outer, last) in zip(arrays, steps):
        multiple = min(4 * a.itemsize, WIDEST)
        if last != 0 and (last != a.itemsize or any([step % multiple for step in (a.offset, *outer)])):
            return ()
    return tuple([s[-1] != 0 for s in steps])


def walked(shape: tuple, arrays: Sequence) -> tuple[tuple, list]:
    """Return the shape with as few dimensions as possible, and each array's steps in it in bytes: 0 where it repeats."""
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


def repeated_steps(a: Any, shape: tuple) -> list[int]:
    """Return the steps of an array that broadcasts to a shape. Raises ValueError if it cannot, as NumPy does."""
    lead = len(shape) - a.ndim
    if lead < 0 or any([n != 1 and n != m for n, m in zip(a.shape, shape[lead:])]):
        raise ValueError(f"an array of shape {a.shape} cannot be broadcast into shape {tuple(shape)}")
    return [0] * lead + [0 if n == 1 and m != 1 else s for n, m, s in zip(a.shape, shape[lead:], a.strides)]


def apply(name: str, kernel: Callable, names: Sequence, operands: Sequence, target: np.dtype, result: np.dtype,
          out: DeviceArray | None = None) -> DeviceArray | None:  # fmt: skip
    """Return kernel(*operands), broadcast; None if the formula has no text for scalars."""
    out = empty(broadcast(operands), result) if out is None else out
    return out if run(f"{name}_forward", {"out": kernel}, dict(zip(names, operands)), target, [out]) else None


def broadcast(operands: Sequence) -> tuple:
    """Return the shape of the arrays among the operands, broadcast together."""
    shapes = {a.shape for a in operands if isinstance(a, np.ndarray)}
    return shapes.pop() if len(shapes) == 1 else np.broadcast_shapes(*shapes)
