"""The flat nodes of generated operations, and the functions that the generated code calls."""

from __future__ import annotations

from collections.abc import Callable
from math import copysign
from typing import Any

import numpy as np

from ..arrays.dtypes import F4, F8, HALVES, I8
from ..arrays.errstate import restore, silence
from ..arrays.kinds import KINDS
from ..arrays.kinds import zeros as zeros_like
from ..core.backward import fit_array, to_array
from ..core.inplace import alias_with_history
from ..core.saved import Freed, Saved, Version, unpack, version
from ..core.tensor import Tensor, wrap
from ..events import services
from ..kernels import pointwise_calls, select
from ..kernels.fallback import is_few
from ..ops.base.families import Pointwise
from ..ops.base.layouts import arranged
from ..ops.base.nodes import PrimitiveNode, ShapeOf
from .text_plan import Plan

PLAIN: set = {Tensor}  # the types of plain eager tensors; nn.Parameter joins them
new = object.__new__


def flat_class(plan: Plan) -> type:
    """Return the operation's node class: a slot for each edge and each saved value, half the memory of a node with tuples."""
    cls, operands, plain, read, outs = plan.cls, plan.operands, plan.plain, plan.read, plan.outs
    edges, shapes = ["n" + k for k in operands], ["s" + k for k in plan.shapes]
    views = ["m" + k for k in cls.views]
    slots = [
        *edges,
        *read,
        *plain,
        *shapes,
        *views,
        "_freed",
        *(("_shape", "_dtype") if len(outs) == 1 else ("_meta",)),
    ]
    slots += ["_number"] * bool(plan.numbers)  # of the last operand, or a tuple for all operands

    def argument(node: Any, k: str) -> Any:
        if k in plain:
            return getattr(node, k)
        if k in read and (kept := getattr(node, k)) is not None:
            found = as_saved(kept, None)
            if k in cls.views and found.unpack is None:
                found.tensor = as_it_was(found.tensor, getattr(node, "m" + k))
            return found
        return ShapeOf(getattr(node, "s" + k)) if k in plan.shapes else None

    def as_numbers(node: Any) -> dict:
        """Return the operands that were numbers, by position."""
        found = node._number if plan.numbers else None
        found = found if type(found) is tuple else (*[None] * (len(operands) - 1), found)
        return {i: v for i, v in enumerate(found) if v is not None}

    def saved(node: Any) -> Any:
        """Return, like the full node, per argument, then for the result, a Saved tensor or a plain value."""
        if node._freed is not None:
            return node._freed
        given = as_numbers(node)
        kept = [given[i] if i in given else argument(node, k) for i, k in enumerate(plan.names)]
        return (*kept, *[as_saved(getattr(node, k), i) if k in read else None for i, k in enumerate(outs)])

    def constants(node: Any) -> dict:
        """Return the constants like the full node; here no backward frees them."""
        return {i: getattr(node, k) for i, k in enumerate(plan.names) if k in plain} | as_numbers(node)

    def forget(node: Any, freed: Freed) -> None:
        """Drop the saved tensors."""
        if node._freed is None and any([getattr(node, k) is not None for k in read]):
            node._freed = freed
            for k in (*read, *views):
                setattr(node, k, None)

    by_argument = ", ".join(f"node.n{k}" if k in operands else "None" for k in plan.names)
    body = {
        "__slots__": slots,
        "_fn": cls,
        "places": tuple([plan.names.index(k) for k in operands]),
        "_edges": property(eval(f"lambda node: ({by_argument},)")),  # searches of the graph follow these
        "_saved": property(saved),
        "_constants": property(constants),
        "_free": forget,
        "__module__": cls.__module__,
    }
    if len(outs) == 1:
        body["_meta"] = property(lambda node: ((node._shape, node._dtype),))
    return type(cls.Node.__name__, (PrimitiveNode,), body)


def as_saved(v: Any, index: int | None) -> Any:
    """Return a slot's value in the engine's generic form; `index` is the index of a result, None for an argument."""
    if v is None or type(v) is Saved:
        return v
    made = Saved(v, index)
    made.version = 0  # saved without a version, which was 0 then
    return made


def as_it_was(t: Tensor, array: Any) -> Tensor:
    """Return a saved operand on the array that it had in forward; `.data =` may have given it another one."""
    if array is None or t._layer is not None or t._a is array:
        return t
    then = alias_with_history(t)
    then._a = array
    return then


def twin(out: Tensor) -> Tensor:
    """Return a result as its node saves it: same array and version counter, no history (node -> tensor -> node would leak)."""
    t = new(Tensor)
    t._a = out._a
    t._ver = out._ver = Version() if out._ver is None else out._ver
    t._edge = t._view = t._tan = t._grad = None
    return t


def array(s: Any, node: Any, index: int | None) -> np.ndarray:
    """Return the array of a saved value that may be freed, or modified since."""
    return tensor(s, node, index)._a


def tensor(s: Any, node: Any, index: int | None) -> Tensor:
    """Return the tensor of such a value."""
    if s is None:
        raise services.problem("an earlier backward has freed the saved tensors", node=node)
    s = as_saved(s, index)
    if node._layer is not None:
        return unpack(s, node)
    if version(s.tensor) != s.version:
        raise services.problem("a saved tensor was modified in place", node=node, saved=s)
    return s.tensor


def several(cls: Any, frame: Any, args: tuple, raw: tuple) -> tuple:
    """Return the tensors of more results than the formulas name, recorded by the generic path."""
    if len(KINDS) > 1:
        cls.check_devices(args)
    if cls.layout is not None:
        raw = arranged(cls, raw, tuple([a._a if isinstance(a, Tensor) else a for a in args]))
    outs = cls.finish(frame, args, raw)
    if frame.on_op is not None:
        frame.on_op(cls, args, outs)
    return outs


def unpacked(s: Any, node: Any, index: int | None) -> Any:
    """Return the tensor of a slot as the formulas must see it; `index` is the index of a result, None for an argument."""
    plain = index is None and type(s) in PLAIN and (s._ver is None or not s._ver.n)
    return s if plain else unpack(as_saved(s, index), node)


def wide(d: Tensor, shape: tuple) -> Tensor:
    """Return a gradient broadcast over the reduced dimensions."""
    return d if d._sizes == shape else d.expand(shape)


def zeros(g: Any) -> Any:
    """Return a zero gradient, even where g is infinite."""
    return zeros_like(g.shape, g)[()]


def kept_shape(shape: tuple, dims: tuple) -> tuple:
    """Return the shape of a reduction's result with its reduced dimensions kept as 1."""
    return tuple([1 if d in dims else n for d, n in enumerate(shape)])


def sent(d: Any, edge: Any) -> Any:
    """Return a formula's result in the form that edges carry: an array, or a scalar, in the shape and dtype of its edge."""
    if d is None:
        return None
    return fit_array(to_array(d) if isinstance(d, Tensor) else d, edge)


def silently(f: Callable) -> Callable:
    """Return a formula on arrays that ignores intermediate infinities."""

    def compute(*arrays: Any) -> Any:
        previous = silence()
        try:
            return f(*arrays)
        finally:
            restore(previous)

    return compute


def large(cls: Any, compute: Callable) -> Callable:
    """Return a function that runs a prepared kernel, or `compute` for few elements before the compiler is loaded."""
    own = getattr(cls.impl, "__func__", None) is not Pointwise.impl.__func__
    light = pointwise_calls.kernel_threshold(cls) == 0

    def run(*arrays: Any) -> Any:
        if light and is_few(arrays[0]):
            return compute(*arrays)
        try:
            call = None if own else pointwise_calls.call_for(cls, arrays)
            return cls.compute(*arrays) if call is None else call(*arrays)
        except Exception:
            return cls.compute(*arrays)  # again, and reports it

    return run


def large_pull(cls: Any, edges: tuple, g: np.ndarray, values: tuple, read: list) -> Any:
    """Compute all partials of large arrays in one compiled pass, else by the formulas."""
    by_name = dict(zip(read, values))
    bound = tuple([by_name.get(k) for k in (*cls.names, "out")])
    grads = select.backward(cls, [None if e is None else g.dtype for e in edges], g, bound)
    if grads is None:
        tensors = tuple([wrap(v) if type(v) in KINDS else v for v in bound])
        found = [None if e is None else cls.evaluate(i, tensors, len(edges), (wrap(g),)) for i, e in enumerate(edges)]
        grads = [None if d is None else d._a for d in found]
    return [(e, None if d is None else fit_array(d, e)) for e, d in zip(edges, grads)]


# numbers in use as 0-d tensors of the other operand's dtype: NumPy needs 150 ns to convert one
numbers: dict = {F4: {}, F8: {}}
ZEROS: dict = {d: wrap(np.zeros((), d)) for d in (F4, F8, I8)}  # no keys of the tables, because -0.0 equals 0
integers: dict = {}  # of int64, whose partner can only be an int
numbers_of_integers = {**numbers, I8: integers}  # for operations that support integers
numbers_of_halves = dict.fromkeys(HALVES, numbers[F4])  # which compute in float32


def number(value: object, kind: Any) -> Tensor | None:
    """Return a number as a 0-d tensor of the other operand's dtype, or None if it is not that simple."""
    if (table := numbers.get(kind)) is None or type(value) not in (float, int):
        return None
    return table[value] if value in table else constant(value, table, kind)


def constant(value: Any, table: dict, kind: Any) -> Any:
    """Return a number as a 0-d tensor of the other operand's dtype (NumPy's object for it), and keep it in the table."""
    if value == 0 and (type(value) is int or copysign(1, value) > 0):
        return ZEROS[kind]
    try:
        t = wrap(np.array(value, kind.str))
    except OverflowError:  # an int that is too large: the generic path explains it
        return value
    if value and value == value:  # NaN equals nothing
        if len(table) >= 256:
            table.clear()
        table[value] = t
    return t


UNREAD = ShapeOf()  # an operand that no formula reads
