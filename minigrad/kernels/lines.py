"""Fused operations on the lines of an array, its rows, its columns or its channels, in one pass over memory.

A line that has just been read lies in the processor's nearest memory, so all steps on it cost one trip to the far one.
`forward` runs an operation's program and `backward` its formulas, by kernels that the compiler writes from these
(compile/eager_kernels.py), one for each dtype and layout, for the processor or for a GPU (kernels/cuda/lines_cuda.py).  None
stands for "NumPy serves as well": small arrays, other layouts.

What an argument or a result holds: ALL an element for each of x, LINE a number for each line, its dimensions kept as 1, EACH
that without them, WEIGHT numbers that are broadcast to x, NUMBER one for all.  An operation says in `gives` what its
results hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from ..arrays.kinds import KINDS, kernels_there, on_device
from . import threads
from .compiler import loading
from .fallback import alone

ALL, LINE, EACH, WEIGHT, NUMBER = "all", "line", "each", "weight", "number"
HOLDS = {"x": ALL, "log_p": ALL, "target": EACH, "w": EACH}
HOLDS |= dict.fromkeys(("weight", "bias", "factor", "begin"), WEIGHT)
# elements; below, NumPy's dozen calls cost less than a first lesson's wait for the compiler
ROWS_FROM, OTHERS_FROM = 256, 2048
CACHED = 1 << 17  # elements of some channels, which so stay in the nearest memory
NARROW = 16  # elements of a channel in an image, below which all channels are gone through together
SLIM = 8  # columns side by side, below which the kernel would work on single numbers: they are copied to be rows
MANY = 1000  # calls that are remembered
TURNED: Any = object()  # stands for a call whose columns had better be rows
write: Callable | None = None  # compile: writes a kernel, (plan, arguments, layout, dtype, whether it is for a GPU)


class Layout(NamedTuple):
    """How a kernel sees arrays: neighbouring dimensions of x that are alike count as one."""

    sizes: tuple
    reduced: tuple  # which of the dimensions belong to a line
    weights: tuple  # for each weight, which of the dimensions it has

    @property
    def dims(self) -> tuple:
        """The dimensions of lines."""
        return tuple([d for d, inside in enumerate(self.reduced) if inside])

    def shape(self, held: str, weight: int = 0) -> tuple:
        """Return the shape of what is held for x; `weight` says for which of the weights."""
        if held is WEIGHT:
            has = self.weights[weight]
            first = has.index(True) if any(has) else -1
            return tuple([n if there else 1 for n, there in zip(self.sizes[first:], has[first:])])
        return shape_of(held, self.sizes, self.dims)


class Kernel(NamedTuple):
    """A generated function: it takes what all lines have in common, what there is of each, memory for results, numbers."""

    entry: Callable
    whole: bool  # whether it has to see all lines at once
    numbers: list  # the places of those arguments
    ranged: bool  # whether it is told which of the lines are its own, as those lie side by side in memory


class Call(NamedTuple):
    """How a kernel is called for arrays of some shapes."""

    kernel: Kernel
    given: list  # the places of arrays, and the shapes that they are seen in
    shapes: list  # of results in memory
    seen_as: list
    order: list  # for each result which in memory it is, or which sum over the lines, with its shape
    ranges: np.ndarray | None  # of lines that lie side by side: which of them one call takes, one after the other


class Plan:
    """How an operation, or the gradients of the arguments `formulas`, is computed: what each argument and result holds.

    None stands for what is not read; the arguments go by their places.
    """

    def __init__(self, cls: Any, takes: tuple, gives: tuple, formulas: tuple | None = None):
        self.cls, self.takes, self.gives, self.formulas = cls, takes, gives, formulas
        names = cls.names
        self.dims = next((i for i, name in enumerate(names) if name in ("dim", "dims")), None)
        self.numbers = [i for i, name in enumerate(names) if name == "eps"]
        settings = [i for i, name in enumerate(names) if name not in HOLDS and name != "eps"]
        self.settings = itemgetter(*settings) if settings else lambda args: None
        self.weights = [i for i, name in enumerate(names) if HOLDS.get(name) is WEIGHT]
        self.x = takes.index(ALL)
        self.gradients = [formulas.index(i) if formulas and i in formulas else None for i in range(len(names))]
        self.fixed = [(i, held) for i, held in enumerate(takes) if held in (WEIGHT, NUMBER)]
        self.rows = [(i, held) for i, held in enumerate(takes) if held in (ALL, LINE, EACH)]
        self.kernels: dict[tuple, Kernel] = {}
        # by the shape of x, its dtype, the settings and the shapes of weights
        self.calls: dict[tuple, Call | None] = {}

    def layout(self, args: tuple, weights: tuple) -> Layout | None:
        """Return how arguments are seen that have weights of some shapes; None where these are not broadcast to x."""
        x, dims = args[self.x], () if self.dims is None else args[self.dims]
        return layout_of(x.shape, dims if type(dims) is tuple else (dims,), weights)

    def weight(self, i: int) -> int:
        """Return which of the weights an argument is."""
        return self.weights.index(i) if i in self.weights else 0


@cache
def forward_plan(cls: Any) -> Plan:
    """Return how an operation is computed."""
    return Plan(cls, tuple([HOLDS.get(name) for name in cls.names]), cls.gives)


@cache
def backward_plan(cls: Any, types: tuple) -> Plan | None:
    """Return how the gradients are computed whose operands were kept, from the types of what there is."""
    n, m, there = len(cls.names), len(cls.gives), [issubclass(t, (*KINDS, np.floating)) for t in types]
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
    plan = forward_plan(cls)
    return (kernels_there("lines_cuda").run if on_device(args[plan.x]) else run)(plan, args)


def backward(cls: Any, gs: tuple, bound: tuple) -> list | None:
    """Run an operation's formulas, as far as what they read was kept; the gradients of its arguments."""
    args = (*bound, *gs)
    plan = backward_plan(cls, tuple(map(type, args)))
    if plan is None or (made := (kernels_there("lines_cuda").run if on_device(gs[0]) else run)(plan, args)) is None:
        return None
    return [None if k is None else made[k] for k in plan.gradients]


def run(plan: Plan, args: tuple) -> list | None:
    """Run a kernel on all lines."""
    x = args[plan.x]
    if type(x) is not np.ndarray or x.size < ROWS_FROM or not x.flags.c_contiguous or alone():
        return None
    dtype = x.dtype
    key: tuple = (x.shape, dtype, plan.settings(args))
    if plan.weights:
        key += tuple([a.shape if type(a := args[i]) is np.ndarray else a for i in plan.weights])
    call = plan.calls[key] if key in plan.calls else prepared(plan, args, key)
    if call is None:
        return None
    if call is TURNED:
        return turned(plan, args)
    (entry, whole, used, ranged), given, shapes, seen_as, order, ranges = call
    shared = x.size >= 2 * threads.GRAIN and threads.parts(x.size) > 1
    if whole and shared:
        return None
    arrays = [a if (a := args[i]).shape == shape and a.flags.c_contiguous else seen(a, shape) for i, shape in given]
    outs = [np.empty(shape, dtype) for shape in shapes]
    memory = outs if seen_as is shapes else [out.reshape(shape) for out, shape in zip(outs, seen_as)]
    numbers = [args[i] for i in used] if used else ()
    if ranged and len(ranges) > 1:
        work = lambda some: [entry(*arrays, *memory, *numbers, *ends) for ends in some]
        calls = [made for part in threads.launch(work, [ranges], x.size if shared else 0) for made in part]
        sums = [sum(parts) for parts in zip(*calls)]
    elif shared and not ranged:
        fixed, rows = arrays[: len(plan.fixed)], [*arrays[len(plan.fixed) :], *memory]
        calls = threads.launch(lambda *some: entry(*fixed, *some, *numbers), rows, x.size)
        sums = [sum(parts) for parts in zip(*calls)]
    else:
        sums = entry(*arrays, *memory, *numbers, *ranges[0]) if ranged else entry(*arrays, *memory, *numbers)
    if not sums:
        return outs
    return [
        outs[k] if shape is None else np.array(sums[k], dtype) if not shape else sums[k].astype(dtype).reshape(shape)
        for k, shape in order
    ]


def turned(plan: Plan, args: tuple) -> list | None:
    """Run a kernel on slim columns, of one dimension, as rows."""
    dim, last = only_dim(args[plan.dims]), args[plan.x].ndim - 1
    swapped = lambda a, held: np.ascontiguousarray(a.swapaxes(dim, last)) if held in (ALL, LINE) else a
    rows = [swapped(a, held) for a, held in zip(args, plan.takes)]
    rows[plan.dims] = (last,) if type(args[plan.dims]) is tuple else last
    found = run(plan, tuple(rows))
    return found and [swapped(a, held) for a, held in zip(found, plan.gives)]


def is_slim(plan: Plan, args: tuple, layout: Layout) -> bool:
    """Return whether lines are slim columns, of one dimension, and all that there is of them is as they lie."""
    columns = layout.reduced == (False, True, False) and layout.sizes[2] < SLIM <= layout.sizes[1]
    held = {*plan.takes, *plan.gives} - {None, NUMBER}
    return columns and held <= {ALL, LINE} and plan.dims is not None and only_dim(args[plan.dims]) is not None


def only_dim(dims: Any) -> int | None:
    """Return the dimension that lines run along, None if there are several."""
    return dims if type(dims) is int else dims[0] if len(dims) == 1 else None


def prepared(plan: Plan, args: tuple, key: tuple) -> Call | None:
    """Find out how a kernel is called for arrays of these shapes, and have one written where there is none."""
    if len(plan.calls) >= MANY:
        plan.calls.clear()
    x, layout = args[plan.x], plan.layout(args, key[3:])
    rows = layout is not None and layout.reduced == (False, True)
    if layout is None or x.dtype.kind != "f" or x.size < (ROWS_FROM if rows else OTHERS_FROM):
        return None
    if is_slim(plan, args, layout):
        plan.calls[key] = TURNED
        return TURNED
    kernel = kernel_for(plan, args, layout, x.dtype)
    ranges = ranges_of(layout) if kernel.ranged else None
    plan.calls[key] = found = Call(kernel, *arranged(plan, args, layout), ranges)
    return found


def arranged(plan: Plan, args: tuple, layout: Layout) -> tuple:
    """Return how a kernel sees what it is given and what it makes: the fields of a Call between the kernel and the ranges."""
    given = [
        (i, None if held is NUMBER else layout.shape(held, plan.weight(i))) for i, held in (*plan.fixed, *plan.rows)
    ]
    dims = () if plan.dims is None else args[plan.dims]
    kept = [held for held in plan.gives if held in (ALL, LINE, EACH)]
    shapes = [shape_of(held, args[plan.x].shape, dims if type(dims) is tuple else (dims,)) for held in kept]
    seen_as = [layout.shape(held) for held in kept]
    return given, shapes, shapes if shapes == seen_as else seen_as, where_results_are(plan, args)


def ranges_of(layout: Layout) -> np.ndarray:
    """Return where the channels that one call takes begin and end; one call takes all where no other thread would help.

    As unsigned numbers: a loop over places that may be negative, which count from the end, is not vectorised.
    """
    images, count, *elements = layout.sizes
    length = math.prod(elements)
    one = length < NARROW or images * count * length < 2 * threads.GRAIN
    step = count if one else max(1, CACHED // (images * length))
    starts = np.arange(0, count, step, dtype=np.uint64)
    return np.stack([starts, np.minimum(starts + np.uint64(step), np.uint64(count))], 1)


def where_results_are(plan: Plan, args: tuple) -> list:
    """Say for each result which in memory it is, and None, or which of the sums, and its shape."""
    sums = [held in (WEIGHT, NUMBER) for held in plan.gives]
    shape = lambda a: tuple(a) if isinstance(a, tuple) else a.shape
    own = [
        None if not a_sum else () if held is NUMBER or plan.formulas is None else shape(args[plan.formulas[k]])
        for k, (held, a_sum) in enumerate(zip(plan.gives, sums))
    ]
    return [(sums[:k].count(sums[k]), own[k]) for k in range(len(sums))]


def kernel_for(plan: Plan, args: tuple, layout: Layout, dtype: np.dtype, on_device: bool = False) -> Kernel:
    """Have a kernel written, by one thread at a time."""
    settings = plan.settings([None if i == plan.dims else a for i, a in enumerate(args)])
    key = (layout.reduced, layout.weights, dtype, settings, on_device)
    with loading:
        if key not in plan.kernels:
            assert write is not None
            plan.kernels[key] = write(plan, args, layout, dtype, on_device)
        return plan.kernels[key]


def seen(a: Any, shape: tuple | None) -> Any:
    """Return an array as a kernel sees it; a number, where the shape is None."""
    return a[()] if shape is None else np.ascontiguousarray(a).reshape(shape)


def shape_of(held: str, shape: tuple, dims: tuple) -> tuple:
    """Return the shape of what is held, of lines or elements, for an array whose lines have some dimensions."""
    if held is EACH:
        return tuple([n for d, n in enumerate(shape) if d not in dims])
    return () if held is NUMBER else tuple([1 if d in dims and held is LINE else n for d, n in enumerate(shape)])


@lru_cache(MANY)
def layout_of(shape: tuple, dims: tuple, weights: tuple) -> Layout | None:
    """Return how a kernel sees an array with lines along `dims`, and weights of some shapes that are broadcast to it.

    Rows are (lines, n) and columns (outer, n, inner); channels (images, channels, elements) have weights of their own.
    """
    found: list[list] = []  # sizes, with what they are: whether of a line, and for each weight whether it has them
    for d, n in enumerate(shape):
        met = [w[d - len(shape)] if len(shape) - d <= len(w) else 1 for w in weights]
        kind = (d in dims, *[m != 1 for m in met])
        if any(m not in (1, n) for m in met) or any(len(w) > len(shape) for w in weights):
            return None
        if found and found[-1][1] == kind:
            found[-1][0] *= n
        elif n != 1:
            found.append([n, kind])
    alone = (False,) * len(weights)
    if dims and not any(kind[0] for _, kind in found):
        found.append([1, (True, *alone)])
    if dims and found[0][1][0] and (not weights or all(kind[0] for _, kind in found)):
        found.insert(0, [1, (False, *alone)])
    if not 0 < len(found) <= (4 if weights else 3):
        return None
    sizes, kinds = zip(*found)
    reduced, *has = zip(*kinds)
    return Layout(sizes, reduced, tuple(has))
