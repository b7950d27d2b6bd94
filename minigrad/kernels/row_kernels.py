"""Fused operations on the lines of an array (its rows, columns or channels) in one pass over memory.

A line that has just been read is in the processor's nearest cache, so all steps on it cost one trip to main memory.
`forward` runs an operation's program and `backward` its formulas, through kernels that the compiler generates from them
(compile/eager_kernels.py), one per dtype and layout, for the processor or a GPU (kernels/cuda/lines_cuda.py). The result is
None where the definition has to do: without a compiler, and for other layouts.

Each argument and result has a kind: ALL has one element per element of x, LINE one number per line with the line's
dimensions as 1, EACH the same without them, WEIGHT numbers that broadcast to x, NUMBER a single number. The class says them
(ops/base/program.py): `gives` lists the kinds of its results, `roles` those of its arguments, None for settings. `along` names
the argument with the dimensions of a line, and `scalars` the settings that a kernel takes as numbers.
"""

import math
from collections.abc import Callable
from functools import cache, lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from ..arrays.kinds import KINDS, on_device
from . import cuda_kernels, threads, unguarded
from .choose import calls, choose, kind
from .compiler import loading
from .fallback import FEW, is_ready, only_definitions
from .formula import compiled

I8 = np.dtype(np.int64)
ALL, LINE, EACH, WEIGHT, NUMBER = "all", "line", "each", "weight", "number"
CACHED = 1 << 17  # elements of several channels that fit in the nearest cache
NARROW = 16  # elements of a channel in an image; below, one loop takes all channels together
SLIM = 8  # adjacent columns; below, the kernel would work on single numbers, so they are copied to rows
MANY = 1000  # remembered layouts
write: Callable | None = None  # set by compile: writes a kernel from (plan, arguments, layout, dtype, on_device)


class Layout(NamedTuple):
    """The shape in which a kernel sees arrays: adjacent dimensions of x with the same role are merged."""

    sizes: tuple
    reduced: tuple  # the dimensions that belong to a line
    weights: tuple  # for each weight, the dimensions it has

    @property
    def dims(self) -> tuple:
        """Dimensions of the lines."""
        return tuple([d for d, inside in enumerate(self.reduced) if inside])

    def shape(self, held: str, weight: int = 0) -> tuple:
        """Return the shape of an argument of kind `held`; `weight` is the index of a weight."""
        if held is WEIGHT:
            has = self.weights[weight]
            first = has.index(True) if any(has) else -1
            return tuple([n if there else 1 for n, there in zip(self.sizes[first:], has[first:])])
        return shape_of(held, self.sizes, self.dims)


class Kernel(NamedTuple):
    """A generated function: it takes shared arguments, one argument per line, memory for results, and numbers."""

    entry: Callable
    whole: bool  # True if it needs all lines at once
    numbers: list  # positions of the number arguments
    ranged: bool  # True if it takes a range of lines, because its lines are adjacent in memory


class Plan:
    """Computation of an operation, or of the gradients of its arguments `formulas`: the kind of each argument and result.

    A kind of None marks an argument that is not read. Arguments are identified by position.
    """

    def __init__(self, cls: Any, takes: tuple, gives: tuple, formulas: tuple | None = None):
        self.cls, self.takes, self.gives, self.formulas = cls, takes, gives, formulas
        names = cls.names
        self.roles = roles(cls)
        self.dims = names.index(cls.along) if cls.along else None
        self.numbers = [i for i, name in enumerate(names) if name in cls.scalars]
        settings = [i for i, held in enumerate(self.roles) if held is None and i not in self.numbers]
        self.settings = itemgetter(*settings) if settings else lambda args: None
        self.target = next((i for i, name in enumerate(names) if name in cls.integers), None)
        self.weights = [i for i, held in enumerate(self.roles) if held is WEIGHT]
        self.x = takes.index(ALL)
        self.gradients = [formulas.index(i) if formulas and i in formulas else None for i in range(len(names))]
        self.fixed = [(i, held) for i, held in enumerate(takes) if held in (WEIGHT, NUMBER)]
        self.rows = [(i, held) for i, held in enumerate(takes) if held in (ALL, LINE, EACH)]
        self.kernels: dict[tuple, Kernel] = {}
        self.key = key(self, settings)

    def layout(self, args: tuple, weights: tuple) -> Layout | None:
        """Return the layout for weights of these shapes; None if they do not broadcast to x."""
        x, dims = args[self.x], () if self.dims is None else args[self.dims]
        return layout_of(x.shape, dims if type(dims) is tuple else (dims,), weights)

    def weight(self, i: int) -> int:
        """Return the index of an argument among the weights."""
        return self.weights.index(i) if i in self.weights else 0


@cache
def roles(cls: Any) -> tuple:
    """Return the kind of each argument, None for a setting: x comes first, others with a gradient are weights.

    `cls.roles` has those that differ; integers are one number per line.
    """
    return tuple([cls.roles.get(k, role(cls, i)) for i, k in enumerate(cls.names)])


def role(cls: Any, i: int) -> str | None:
    """Return the kind of argument i that follows from the class's formulas."""
    return ALL if i == 0 else EACH if cls.names[i] in cls.integers else WEIGHT if i in cls.formulas else None


@cache
def forward_plan(cls: Any) -> Plan:
    """Return the plan of an operation's result."""
    return Plan(cls, roles(cls), cls.gives)


@cache
def backward_plan(cls: Any, types: tuple) -> Plan | None:
    """Return the plan of those gradients whose operands were saved; `types` are the types of the available values."""
    n, m, there = len(cls.names), len(cls.gives), [issubclass(t, (*KINDS, np.floating)) for t in types]
    takes = (*roles(cls), *cls.gives, *cls.gives)
    places = {name: i for i, name in enumerate(cls.names)} | {"out": n, "g": n + m}
    places |= {f"{what}{k}": n + first + k for what, first in (("out", 0), ("g", m)) for k in range(m)}
    reads = {i: [places[name] for name in names if name != "shape"] for i, names in cls.reads.items()}
    known = lambda k: there[k] or takes[k] is None or k > n + m  # a second result may have no gradient
    wanted = tuple([i for i, ks in reads.items() if all(map(known, ks))])
    used = {k for i in wanted for k in reads[i]}
    takes = tuple([held if there[i] and i in used else None for i, held in enumerate(takes)])
    if not wanted or ALL not in takes or not there[n + m]:
        return None
    return Plan(cls, takes, tuple([roles(cls)[i] for i in wanted]), wanted)


def forward(cls: Any, *args: Any) -> list | None:
    """Return the results of an operation's program."""
    return run(forward_plan(cls), args)


def backward(cls: Any, gs: tuple, bound: tuple) -> list | None:
    """Return the gradients of the arguments, from those formulas whose operands were saved."""
    args = (*bound, *gs)
    plan = backward_plan(cls, tuple(map(type, args)))
    if plan is None or (made := run(plan, args)) is None:
        return None
    return [None if k is None else made[k] for k in plan.gradients]


def run(plan: Plan, args: tuple) -> list | None:
    """Run a kernel on all lines."""
    x = args[plan.x]
    if type(x) is not np.ndarray and on_device(x):
        return cuda_kernels("repeats").call(unguarded("lines_cuda").run, plan, args)
    if only_definitions() or type(x) is not np.ndarray:
        return None
    key = plan.key(*args)
    call = calls.get(key) or (choose(key, prepare, plan, args) if is_ready(x.size) else None)
    return None if call is None else call(*args)


def key(plan: Plan, settings: list) -> Callable:
    """Return a function of the arguments that returns the key of their call: the numbers that a kernel takes are no part."""
    names = ", ".join([f"a{i}" for i in range(len(plan.takes))])
    known = lambda i: f"kind(a{i})" if i in plan.weights else f"a{i}.shape, a{i}.strides, a{i}.dtype"
    read = [known(i) for i, held in enumerate(plan.takes) if held is not None]
    shapes = [f"a{i} if isinstance(a{i}, tuple) else kind(a{i})" for i in plan.weights if plan.takes[i] is None]
    parts = ["plan", *[f"a{i}" for i in settings], *read, *shapes]
    return eval(f"lambda {names}: ({', '.join(parts)})", {"plan": plan, "kind": kind})


def prepare(plan: Plan, args: tuple) -> Callable | None:
    """Return a function of such arguments that runs a kernel on all lines, written if there is none; None without one."""
    x, weights = args[plan.x], [args[i] for i in plan.weights]
    if not x.size or x.dtype.kind != "f" or not x.flags.c_contiguous or any(map(on_device, weights)):
        return None
    layout = plan.layout(args, tuple([w if isinstance(w, tuple) else w.shape for w in weights]))
    if layout is None:
        return None
    if is_slim(plan, args, layout):
        return lambda *args: columns_as_rows(plan, args)
    kernel = kernel_for(plan, args, layout, x.dtype)
    shared = x.size >= 2 * threads.GRAIN and threads.parts(x.size) > 1
    return None if kernel.whole and shared else written(plan, kernel, args, layout, shared)


def written(plan: Plan, kernel: Kernel, args: tuple, layout: Layout, shared: bool) -> Callable:
    """Return the call of a kernel as generated code: Python's steps take as long as the work on a few lines."""
    given, shapes, seen_as, order = arranged(plan, args, layout)
    scope: dict = {"entry": kernel.entry, "dtype": args[plan.x].dtype, "size": args[plan.x].size * shared, "I8": I8}
    scope |= {"np": np, "over_ranges": over_ranges, "over_rows": over_rows, "isfinite": math.isfinite}
    scope |= {f"seen{i}": shape for i, shape in given}
    scope |= {f"made{k}": shape for k, shape in enumerate(shapes)} | {f"as{k}": seen for k, seen in enumerate(seen_as)}
    scope |= {f"sum{n}": shape for n, (_, shape) in enumerate(order)}
    fixed, rows = (
        [take(plan, args, i, shape) for i, shape in some]
        for some in (given[: len(plan.fixed)], given[len(plan.fixed) :])
    )
    rows += [
        f"o{k}" if shape == seen else f"o{k}.reshape(as{k})" for k, (shape, seen) in enumerate(zip(shapes, seen_as))
    ]
    arrays, numbers = ", ".join([*fixed, *rows]), "".join([f", a{i}" for i in kernel.numbers])
    sums = f"entry({arrays}{numbers})"
    if kernel.ranged:
        scope["ranges"] = ranges = ranges_of(layout)
        scope["begin"], scope["end"] = ranges[0]
        sums = (
            f"entry({arrays}{numbers}, begin, end)"
            if len(ranges) == 1
            else f"over_ranges(entry, ({arrays}{numbers}), ranges, size)"
        )
    elif shared:
        sums = f"over_rows(entry, [{', '.join(fixed)}], [{', '.join(rows)}], [{numbers[2:]}], size)"
    results = []
    for n, (k, shape) in enumerate(order):
        summed = f"np.array(sums[{k}], dtype)" if shape == () else f"sums[{k}].astype(dtype).reshape(sum{n})"
        results.append(f"o{k}" if shape is None else summed)
    number = f"sums[{order[0][0]}]" if order[0][1] == () else "(flat := r.ravel()).dot(flat)"
    few = math.prod(shapes[order[0][0]] if order[0][1] is None else order[0][1]) < FEW  # is_spoilt
    lines = [*[f"o{k} = np.empty(made{k}, dtype)" for k in range(len(shapes))], f"sums = {sums}", f"r = {results[0]}"]
    lines += [f"if not isfinite({number}): return None"] * few + [f"return [{', '.join(['r', *results[1:]])}]"]
    names = ", ".join([f"a{i}" for i in range(len(args))])
    exec(compiled(f"def call({names}):\n    " + "\n    ".join(lines)), scope)
    return scope["call"]


def take(plan: Plan, args: tuple, i: int, shape: tuple | None) -> str:
    """Return the source of argument i in the shape that a kernel sees; a scalar if the shape is None."""
    if shape is None:
        return f"a{i}[()]"
    a, text = args[i], f"a{i}"
    if i == plan.target and a.dtype != I8:  # kernels take classes as int64
        text += ".astype(I8)"
    text = text if a.flags.c_contiguous else f"np.ascontiguousarray({text})"
    return text if a.shape == shape else f"{text}.reshape(seen{i})"


def over_ranges(entry: Callable, given: tuple, ranges: np.ndarray, work: int) -> list:
    """Run a kernel on ranges of adjacent lines, shared among threads, and return its sums."""
    run = lambda some: [entry(*given, *ends) for ends in some]
    calls = [made for part in threads.launch(run, [ranges], work) for made in part]
    return [sum(parts) for parts in zip(*calls)]


def over_rows(entry: Callable, fixed: list, rows: list, numbers: list, work: int) -> list:
    """Run a kernel on rows that threads share, and return its sums."""
    calls = threads.launch(lambda *some: entry(*fixed, *some, *numbers), rows, work)
    return [sum(parts) for parts in zip(*calls)]


def columns_as_rows(plan: Plan, args: tuple) -> list | None:
    """Run a kernel on narrow columns, along one dimension, as rows."""
    assert plan.dims is not None
    dim, last = only_dim(args[plan.dims]), args[plan.x].ndim - 1
    swapped = lambda a, held: np.ascontiguousarray(a.swapaxes(dim, last)) if held in (ALL, LINE) else a
    rows = [swapped(a, held) for a, held in zip(args, plan.takes)]
    rows[plan.dims] = (last,) if type(args[plan.dims]) is tuple else last
    found = run(plan, tuple(rows))
    return found and [swapped(a, held) for a, held in zip(found, plan.gives)]


def is_slim(plan: Plan, args: tuple, layout: Layout) -> bool:
    """Return True if lines are narrow columns along one dimension, and there are only ALL and LINE arguments."""
    columns = layout.reduced == (False, True, False) and layout.sizes[2] < SLIM <= layout.sizes[1]
    held = {*plan.takes, *plan.gives} - {None, NUMBER}
    return columns and held <= {ALL, LINE} and plan.dims is not None and only_dim(args[plan.dims]) is not None


def only_dim(dims: Any) -> int | None:
    """Return the dimension of the lines; None if there are several."""
    return dims if type(dims) is int else dims[0] if len(dims) == 1 else None


def arranged(plan: Plan, args: tuple, layout: Layout) -> tuple:
    """Return the shapes in which a kernel sees arguments and results: the fields of a Call from `given` to `order`."""
    given = [
        (i, None if held is NUMBER else layout.shape(held, plan.weight(i))) for i, held in (*plan.fixed, *plan.rows)
    ]
    dims = () if plan.dims is None else args[plan.dims]
    kept = [held for held in plan.gives if held in (ALL, LINE, EACH)]
    shapes = [shape_of(held, args[plan.x].shape, dims if type(dims) is tuple else (dims,)) for held in kept]
    seen_as = [layout.shape(held) for held in kept]
    return given, shapes, shapes if shapes == seen_as else seen_as, where_results_are(plan, args)


def ranges_of(layout: Layout) -> np.ndarray:
    """Return the range of channels for each call; one call takes all if further threads would not help.

    The ranges are unsigned: LLVM does not vectorise a loop over indices that may be negative and so count from the end.
    """
    images, count, *elements = layout.sizes
    length = math.prod(elements)
    one = length < NARROW or images * count * length < 2 * threads.GRAIN
    step = count if one else max(1, CACHED // (images * length))
    starts = np.arange(0, count, step, dtype=np.uint64)
    return np.stack([starts, np.minimum(starts + np.uint64(step), np.uint64(count))], 1)


def where_results_are(plan: Plan, args: tuple) -> list:
    """Return for each result its index in memory and None, or its index among the sums and its shape."""
    sums = [held in (WEIGHT, NUMBER) for held in plan.gives]
    shape = lambda a: tuple(a) if isinstance(a, tuple) else a.shape
    own = [
        None if not a_sum else () if held is NUMBER or plan.formulas is None else shape(args[plan.formulas[k]])
        for k, (held, a_sum) in enumerate(zip(plan.gives, sums))
    ]
    return [(sums[:k].count(sums[k]), own[k]) for k in range(len(sums))]


def kernel_for(plan: Plan, args: tuple, layout: Layout, dtype: np.dtype, on_device: bool = False) -> Kernel:
    """Return the kernel, writing it if needed; only one thread writes at a time."""
    settings = plan.settings([None if i == plan.dims else a for i, a in enumerate(args)])
    key = (layout.reduced, layout.weights, dtype, settings, on_device)
    with loading:
        if key not in plan.kernels:
            assert write is not None
            plan.kernels[key] = write(plan, args, layout, dtype, on_device)
        return plan.kernels[key]


def shape_of(held: str, shape: tuple, dims: tuple) -> tuple:
    """Return the shape of an argument of kind `held` for an array of this shape with lines along `dims`."""
    if held is EACH:
        return tuple([n for d, n in enumerate(shape) if d not in dims])
    return () if held is NUMBER else tuple([1 if d in dims and held is LINE else n for d, n in enumerate(shape)])


@lru_cache(MANY)
def layout_of(shape: tuple, dims: tuple, weights: tuple) -> Layout | None:
    """Return the layout of an array with lines along `dims` and with weights of these shapes, which broadcast to it.

    Rows are (lines, n), columns (outer, n, inner), and channels, each with its own weights, (images, channels, elements).
    """
    found: list[list] = []  # sizes, each with its role: whether it is in a line, and for each weight whether it has it
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
