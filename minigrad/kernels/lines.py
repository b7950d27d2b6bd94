"""Fused operations on the lines of an array, its rows or its columns, in one pass over memory.

A line that has just been read lies in the processor's nearest memory, so all steps on it cost one trip to the far one.
`forward` runs an operation's program and `backward` its formulas, by kernels that the compiler writes from these
(compile/eager_kernels.py), one for each dtype and layout.  None stands for "NumPy serves as well": small arrays, other layouts.

What an argument or a result holds: ALL an element for each of x, LINE a number for each line, its dimensions kept as 1, EACH
that without them, PLACE a number for each place in a line, NUMBER one for all.  An operation says in `gives` what its
results hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from ..arrays.kinds import kernels_there, on_device
from . import threads
from .compiler import loading
from .fallback import alone

ALL, LINE, EACH, PLACE, NUMBER = "all", "line", "each", "place", "number"
HOLDS = {"x": ALL, "log_p": ALL, "weight": PLACE, "bias": PLACE, "target": EACH, "w": EACH}
# elements; below, NumPy's dozen calls cost less than a first lesson's wait for the compiler
ROWS_FROM, COLUMNS_FROM = 256, 4096
MANY = 1000  # calls that are remembered
write: Callable | None = None  # compile: writes a kernel, (plan, arguments, dimensions of the table, dtype)


class Kernel(NamedTuple):
    """A generated function: it takes what all lines have in common, what there is of each, memory for results, numbers."""

    entry: Callable
    whole: bool  # whether it has to see all lines at once
    numbers: list  # the places of those arguments


class Call(NamedTuple):
    """How a kernel is called for arrays of some shapes."""

    kernel: Kernel
    given: list  # the places of arrays, and the shapes that they are seen in
    shapes: list  # of results in memory
    seen_as: list
    order: list  # for each result which in memory it is, or which sum over the lines, with its shape


class Plan:
    """How an operation, or the gradients of the arguments `formulas`, is computed: what each argument and result holds.

    None stands for what is not read; the arguments go by their places.
    """

    def __init__(self, cls: Any, takes: tuple, gives: tuple, formulas: tuple | None = None):
        self.cls, self.takes, self.gives, self.formulas = cls, takes, gives, formulas
        names = cls.names
        self.dims = next(i for i, name in enumerate(names) if name in ("dim", "dims"))
        self.numbers = [i for i, name in enumerate(names) if name == "eps"]
        self.settings = itemgetter(*[i for i, name in enumerate(names) if name not in HOLDS and name != "eps"])
        self.places = [i for i, name in enumerate(names) if HOLDS.get(name) is PLACE]
        self.x = takes.index(ALL)
        self.gradients = [formulas.index(i) if formulas and i in formulas else None for i in range(len(names))]
        self.fixed = [(i, (-1,) if held is PLACE else None) for i, held in enumerate(takes) if held in (PLACE, NUMBER)]
        self.rows = [(i, held) for i, held in enumerate(takes) if held in (ALL, LINE, EACH)]
        self.kernels: dict[tuple, Kernel] = {}
        self.calls: dict[tuple, Call] = {}  # by the shape of x, its dtype, and the settings


@cache
def forward_plan(cls: Any) -> Plan:
    """Return how an operation is computed."""
    return Plan(cls, tuple([HOLDS.get(name) for name in cls.names]), cls.gives)


@cache
def backward_plan(cls: Any, types: tuple) -> Plan | None:
    """Return how the gradients are computed whose operands were kept, from the types of what there is."""
    n, m, there = len(cls.names), len(cls.gives), [issubclass(t, (np.ndarray, np.floating)) for t in types]
    takes = (*[HOLDS.get(name) for name in cls.names], *cls.gives, *cls.gives)
    places = {name: i for i, name in enumerate(cls.names)} | {"out": n, "g": n + m}
    places |= {f"{what}{k}": n + first + k for what, first in (("out", 0), ("g", m)) for k in range(m)}
    reads = {i: [places[name] for name in names if name != "shape"] for i, names in cls.reads.items()}
    known = lambda k: there[k] or takes[k] is None or k > n + m  # a further result need not have a gradient
    wanted = tuple([i for i, ks in reads.items() if all(map(known, ks))])
    used = {k for i in wanted for k in reads[i]}
    takes = tuple([held if there[i] and i in used else None for i, held in enumerate(takes)])
    if not wanted or ALL not in takes or not there[n + m]:
        return None
    return Plan(cls, takes, tuple([HOLDS[cls.names[i]] for i in wanted]), wanted)


def forward(cls: Any, *args: Any) -> list | None:
    """Run an operation's program; its results."""
    if on_device(args[forward_plan(cls).x]):
        return kernels_there("lines_cuda").forward(cls, args)
    return run(forward_plan(cls), args)


def backward(cls: Any, gs: tuple, bound: tuple) -> list | None:
    """Run an operation's formulas, as far as what they read was kept; the gradients of its arguments."""
    if on_device(gs[0]):
        return kernels_there("lines_cuda").backward(cls, gs, bound)
    args = (*bound, *gs)
    plan = backward_plan(cls, tuple(map(type, args)))
    if plan is None or (made := run(plan, args)) is None:
        return None
    return [None if k is None else made[k] for k in plan.gradients]


def run(plan: Plan, args: tuple) -> list | None:
    """Run a kernel on all lines."""
    x = args[plan.x]
    if type(x) is not np.ndarray or x.size < ROWS_FROM or not x.flags.c_contiguous or alone():
        return None
    dtype = x.dtype
    key: tuple = (x.shape, dtype, plan.settings(args))
    if plan.places:
        key += tuple([a.shape if type(a := args[i]) is np.ndarray else a for i in plan.places])
    call = plan.calls.get(key) or prepared(plan, args, key)
    if call is None:
        return None
    (entry, whole, used), given, shapes, seen_as, order = call
    shared = x.size >= 2 * threads.GRAIN and threads.parts(x.size) > 1
    if whole and shared:
        return None
    arrays = [a if (a := args[i]).shape == shape and a.flags.c_contiguous else seen(a, shape) for i, shape in given]
    outs = [np.empty(shape, dtype) for shape in shapes]
    memory = outs if seen_as is shapes else [out.reshape(shape) for out, shape in zip(outs, seen_as)]
    numbers = [args[i] for i in used] if used else ()
    if not shared:
        sums = entry(*arrays, *memory, *numbers)
    else:
        fixed, rows = arrays[: len(plan.fixed)], [*arrays[len(plan.fixed) :], *memory]
        slices = threads.launch(lambda *some: entry(*fixed, *some, *numbers), rows, x.size)
        sums = [sum(of_slices) for of_slices in zip(*slices)]
    if not sums:
        return outs
    return [
        outs[k] if shape is None else np.array(sums[k], dtype) if not shape else sums[k].astype(dtype).reshape(shape)
        for k, shape in order
    ]


def prepared(plan: Plan, args: tuple, key: tuple) -> Call | None:
    """Find out how a kernel is called for arrays of these shapes, and have one written where there is none."""
    x, dims = args[plan.x], args[plan.dims]
    t = table(x, dims if type(dims) is tuple else (dims,))
    if t is None or any(shape != shape_of(PLACE, x, dims) for shape in key[3:]):
        return None
    kernel = kernel_for(plan, args, t)
    as_seen = {ALL: t.shape, LINE: (len(t), 1, *t.shape[2:]), EACH: (len(t), *t.shape[2:])}
    given = [*plan.fixed, *[(i, as_seen[held]) for i, held in plan.rows]]
    shapes = [shape_of(held, x, dims) for held in plan.gives if held in as_seen]
    seen_as = [as_seen[held] for held in plan.gives if held in as_seen]
    if len(plan.calls) >= MANY:
        plan.calls.clear()
    found = Call(kernel, given, shapes, shapes if shapes == seen_as else seen_as, where_results_are(plan, x, dims))
    plan.calls[key] = found
    return found


def where_results_are(plan: Plan, x: np.ndarray, dims: Any) -> list:
    """Say for each result which in memory it is, and None, or which of the sums, and its shape."""
    sums = [held in (PLACE, NUMBER) for held in plan.gives]
    shapes = {PLACE: shape_of(PLACE, x, dims), NUMBER: ()}
    return [(sums[:k].count(sums[k]), shapes.get(held)) for k, held in enumerate(plan.gives)]


def kernel_for(plan: Plan, args: tuple, t: np.ndarray) -> Kernel:
    """Have a kernel written, by one thread at a time."""
    key = (t.ndim, t.dtype, plan.settings([None if i == plan.dims else a for i, a in enumerate(args)]))
    with loading:
        if key not in plan.kernels:
            assert write is not None
            plan.kernels[key] = write(plan, args, t.ndim, t.dtype)
        return plan.kernels[key]


def seen(a: Any, shape: tuple | None) -> Any:
    """Return an array as a kernel sees it; a number, where the shape is None."""
    return a[()] if shape is None else np.ascontiguousarray(a).reshape(shape)


def shape_of(held: str, x: np.ndarray, dims: Any) -> tuple:
    """Return the shape of what is held for x."""
    dims = dims if type(dims) is tuple else (dims,)
    if held in (ALL, LINE):
        return tuple([1 if d in dims and held is LINE else n for d, n in enumerate(x.shape)])
    return tuple([n for d, n in enumerate(x.shape) if (d in dims) is (held is PLACE)])


def table(x: Any, dims: tuple) -> np.ndarray | None:
    """Return x as rows (lines, n) or columns (outer, n, inner), where it lies in memory so and is worth a kernel."""
    if x.dtype.kind != "f":
        return None
    first = x.ndim - len(dims)
    if dims == tuple(range(first, x.ndim)):
        return x if x.ndim == 2 and first == 1 else x.reshape(-1, math.prod(x.shape[first:]))
    if len(dims) > 1 or x.size < COLUMNS_FROM:
        return None
    outer, inner = math.prod(x.shape[: dims[0]]), math.prod(x.shape[dims[0] + 1 :])
    return x.reshape(outer, x.shape[dims[0]], inner) if inner > 1 else None
