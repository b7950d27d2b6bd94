"""The fast road of eager code: for plain tensors, `apply` and `pull` of each pointwise operation written out as text.

Function.apply, Primitive and the families say what an operation means; what stands here is the same, specialised: no loop
over arguments, one slot for each edge and saved value instead of tuples, the formulas on arrays.  Anything unusual (a
transform, a dual level, hooks on saved tensors, mixed dtypes) takes the general way.  The text of an operation is written
when it is first used; `python -m minigrad.ops mul` prints it.  MINIGRAD_GENERIC=1 switches the road off.

What each choice below is worth in time was measured: arrays instead of Tensors in a first-order backward, NumPy's scalars
instead of 0-d arrays there, flat nodes, and numbers kept as tensors are the large ones.
"""

from __future__ import annotations

import linecache
import os
from typing import Any

import numpy as np

from ..core.context import OFF, ON, current
from ..core.dtypes import F4, F8
from ..core.edges import Version, next_number
from ..core.node import Node
from ..core.saved import Freed, Saved, freed, modified, save
from ..core.sweep import GENERIC, sum_down
from ..core.tensor import Tensor, history, version, wrap
from ..kernels import formula, run
from . import registry
from .primitive import Primitive

PLAIN: set = {Tensor}  # the types of plain eager tensors; nn.Parameter joins them
new = object.__new__

APPLY = """\
def {name}({args}):
    frame = current(){number}
    if {plain} and (frame is ON or frame is OFF):
        {arrays}
        kind = {first}.dtype
        if (kind is F4 or kind is F8){same_kind}:
            try:
                result = {compute}
            except (RuntimeWarning, ValueError):  # warnings as errors, shapes that do not meet: the general way knows
                return other({args})
            out = new(Tensor)
            out._a = result
            out._edge = out._ver = out._view = out._tan = out._grad = None
            if frame is ON:
                {edges}
                if {tracked}:
                    out._edge = node = new(Node)
                    node._seq, node._shape, node._dtype = number(), result.shape, kind
                    node._hooks = node._freed = None
                    {slots}
            return out
    return other({args})
"""

NUMBER = """
    kept = None
    if (type({y}) is float or type({y}) is int) and type({x}) in PLAIN and (frame is ON or frame is OFF):
        kept = {y}
        {y} = constant({y}, {x}._a.dtype)"""

PULL = """\
def pull(node, g, free):
    {edges} = {node_edges}
    {read}
    {forget}
    if type(g) is not ndarray:
        {scalars}
    {fused}
    return {gradients}
"""


def specialisable(cls: Any) -> bool:
    """Whether an operation is of the kind that is written out: one or two operands, floats in and floats out."""
    plain = not cls.statics and not cls.masks and cls.kind != "bool" and "f" in cls.accepts
    return plain and len(cls.names) in (1, 2) and not GENERIC


def specialise(cls: Any) -> None:
    """Write the operation's apply and pull, and put them where they are called from."""
    names = cls.names
    read = sorted({k for reads in cls.reads.values() for k in reads if k != "g"}, key=(*names, "out").index)
    users = {k: [i for i, reads in cls.reads.items() if k in reads] for k in read}
    cls.Flat = flat_class(cls, names, read)
    scope = {
        "__name__": __name__,
        "cls": cls,
        "Node": cls.Flat,
        "compute": compute_of(cls),
        "large": large_of(cls),
        **NAMES,
    }
    scope |= {"d" + names[i]: formula.on_arrays(f) for i, f in cls.formulas.items()}
    apply_text, pull_text = write_apply(cls, names, read, users), write_pull(cls, names, read, users)
    cls.text = f"{apply_text}\n\n{pull_text}"
    fast, pull = load(cls, scope)
    if all(map(formula.runs_on_arrays, cls.formulas.values())):
        cls.Flat.pull = pull
    cls.apply = staticmethod(fast)
    for namespace in cls.namespaces:
        namespace["apply"] = fast


def write_apply(cls: Any, names: tuple, read: list, users: dict) -> str:
    """The text of apply."""
    n, ufunc = len(names), isinstance(cls.ufunc, np.ufunc)
    arrays = [f"a{k}" for k in names]
    given = ", ".join(arrays)
    compute = f"compute({given}, out=...)" if ufunc else f"compute({given})"
    slots = [f"node.n{k} = n{k}" for k in names]
    for k in read:
        keep = "twin(out)" if k == "out" else f"{k} if {k}._ver is None else save({k})"
        needed = " or ".join(f"n{names[i]} is not None" for i in users[k])
        slots.append(f"node.{k} = " + (keep if len(users[k]) == n else f"({keep}) if {needed} else None"))
    if n == 2:
        slots.append("node._kept = kept")
    return APPLY.format(
        name=cls.name,
        args=", ".join(names),
        number="" if n == 1 else NUMBER.format(x=names[0], y=names[1]),
        plain=" and ".join(f"type({k}) in PLAIN" for k in names),
        arrays="; ".join(f"a{k} = {k}._a" for k in names),
        first=arrays[0],
        same_kind="" if n == 1 else f" and {arrays[1]}.dtype is kind",
        compute=f"{compute} if {arrays[0]}.size < {run.FUSE_FROM} else large({given})",
        edges="; ".join(f"n{k} = {k}._edge if {k}._view is None else history({k})" for k in names),
        tracked=" or ".join(f"n{k} is not None" for k in names) if cls.differentiable else "False",
        slots="\n                    ".join(slots),
    )


def write_pull(cls: Any, names: tuple, read: list, users: dict) -> str:
    """The text of pull: the gradient of the result -> pairs of edge and gradient."""
    lines, n = [], len(names)
    for k in read:
        value = f"s._a if type(s := node.{k}) in PLAIN and (s._ver is None or not s._ver.n) else array(s, node, {k == 'out'})"
        needed = " or ".join(f"n{names[i]} is not None" for i in users[k])
        lines.append(f"{k} = " + (value if len(users[k]) == n else f"({value}) if {needed} else None"))
    pairs = []
    for i, k in enumerate(names):
        f = cls.formulas.get(i)
        if f is None:
            pairs.append(f"(n{k}, None)")
            continue
        call = f"d{k}({', '.join(cls.reads[i])})"
        constant = f() if not cls.reads[i] else None
        body = {1: "g", -1: "-g", 0: "zeros(g)"}.get(constant) or (call if "g" in cls.reads[i] else f"g * {call}")
        pairs.append(
            f"(n{k}, None if n{k} is None else d if (d := {body}).shape == n{k}._shape else fit(d, n{k}._shape))"
        )
    edges = ", ".join(f"n{k}" for k in names)
    return PULL.format(
        edges=edges,
        node_edges=", ".join(f"node.n{k}" for k in names),
        read="\n    ".join(lines) or "pass",
        forget=write_forget(read, users, names),
        scalars="; ".join(f"{k} = {k}[()] if type({k}) is ndarray else {k}" for k in read) or "pass",
        fused=f"elif g.size >= {run.FUSE_FROM}:\n        return large_pull(cls, ({edges},), g, ({', '.join(read)},), {read!r})"
        if read
        else "",
        gradients=", ".join(pairs) + ",",
    )


def write_forget(read: list, users: dict, names: tuple) -> str:
    """The lines that free what was saved."""
    if not read:
        return "pass"
    kept = (
        ""
        if all(len(users[k]) == len(names) for k in read)
        else f" and ({' or '.join(f'{k} is not None' for k in read)})"
    )
    lines = [f"node.{k} = None" for k in read]
    return "\n        ".join([f"if free is not None{kept}:", *lines, "node._freed = free"])


def load(cls: Any, scope: dict) -> tuple:
    """Compile the text under a name of its own, so that tracebacks show its lines."""
    file = os.path.join(os.path.dirname(__file__), f"<dispatch of {cls.name}>")
    linecache.cache[file] = (len(cls.text), None, cls.text.splitlines(True), file)
    exec(compile(cls.text, file, "exec"), scope)
    fast, pull = scope[cls.name], scope["pull"]
    registry.CODES[fast.__code__] = cls.name
    scope["other"] = lambda *args: definition(cls, *args)
    if cls.operator:
        scope = dict(scope, other=lambda x, y: definition(cls, x, y) if isinstance(y, OPERAND) else NotImplemented)
        exec(compile(cls.text, file, "exec"), scope)
        setattr(Tensor, cls.operator, scope[cls.name])
    return fast, pull


OPERAND = (Tensor, int, float, np.ndarray, np.generic)  # what stands beside a tensor in `x + y`
definition: Any = Primitive.apply.__func__  # of apply, for all that is not plain


def compute_of(cls: Any) -> Any:
    """What computes on small arrays: NumPy's function, or the formula, always giving an array."""
    if isinstance(cls.ufunc, np.ufunc):
        return cls.ufunc
    return lambda *arrays: run.forward(cls, arrays)


def large_of(cls: Any) -> Any:
    """What computes on large arrays."""
    return lambda *arrays: cls.compute(*arrays)


def flat_class(cls: Any, names: tuple, read: list) -> type:
    """The operation's node: a slot for each edge and each saved value, half the memory of one with tuples."""
    edges = ["n" + k for k in names]
    slots = [*edges, *read, "_shape", "_dtype", "_freed", *(["_kept"] if len(names) == 2 else [])]

    def saved(node: Any) -> Any:
        """As Full has it: per argument, then for the result, a Saved tensor or a plain value."""
        if node._freed is not None:
            return node._freed
        kept = [as_saved(getattr(node, k, None), k == "out") for k in (*names, "out")]
        if len(names) == 2 and node._kept is not None:
            kept[1] = node._kept
        return tuple(kept)

    def forget(node: Any, place: Any) -> None:
        """Drop the saved tensors."""
        if node._freed is None and any([getattr(node, k) is not None for k in read]):
            node._freed = Freed(place)
            for k in read:
                setattr(node, k, None)

    body = {
        "__slots__": slots,
        "_fn": cls,
        "_edges": property(lambda node: tuple([getattr(node, e) for e in edges])),
        "_saved": property(saved),
        "_meta": property(lambda node: ((node._shape, node._dtype),)),
        "_free": forget,
        "__module__": cls.__module__,
    }
    return type(cls.Node.__name__, (Node,), body)


def as_saved(v: Any, is_output: bool) -> Any:
    """A slot's value as the engine's general code has it."""
    if v is None or type(v) is Saved:
        return v
    made = Saved(v, 0 if is_output else None)
    made.version = 0  # kept without a note of the version: it was 0 then
    return made


# ---------------------------------------------------------------------- what the texts call
def twin(out: Tensor) -> Tensor:
    """A result as its own node keeps it: same array and version counter, no history (node -> tensor -> node would leak)."""
    t = new(Tensor)
    t._a = out._a
    t._ver = out._ver = Version()
    t._edge = t._view = t._tan = t._grad = None
    return t


def array(s: Any, node: Any, is_output: bool) -> np.ndarray:
    """The array of a saved value that may have been written since, or freed."""
    if s is None:
        raise freed(node)
    s = as_saved(s, is_output)
    if version(s.tensor) != s.version:
        raise modified(node, s)
    return s.tensor._a


def zeros(g: Any) -> Any:
    """No gradient, also where g is infinite."""
    return np.zeros(g.shape, g.dtype)[()]


def large_pull(cls: Any, edges: tuple, g: np.ndarray, values: tuple, read: list) -> Any:
    """All partials of large arrays in one compiled pass, else by the formulas."""
    by_name = dict(zip(read, values))
    bound = tuple([None if (v := by_name.get(k)) is None else wrap(v) for k in (*cls.names, "out")])
    grads = run.backward(cls, edges, wrap(g), bound)
    if grads is None:
        grads = [None if e is None else cls.evaluate(i, bound, len(edges), (wrap(g),)) for i, e in enumerate(edges)]
    return [(e, None if d is None else sum_down(d._a, e._shape)) for e, d in zip(edges, grads)]


_constants: dict = {F4: {}, F8: {}}


def constant(value: float, kind: Any) -> Any:
    """A number beside floats as a 0-d tensor of their dtype, those in use kept: NumPy needs 150 ns to convert one."""
    table = _constants.get(kind)
    if table is None:
        return value
    t = table.get(value)
    if t is None:
        t = wrap(np.array(value, kind))
        if value and value == value:  # 0.0 == -0.0 and NaN equals nothing: no keys
            if len(table) >= 256:
                table.clear()
            table[value] = t
    return t


# What the texts may name.
NAMES = {
    **{"current": current, "ON": ON, "OFF": OFF, "PLAIN": PLAIN, "F4": F4, "F8": F8, "new": new, "Tensor": Tensor},
    **{"number": next_number, "history": history, "save": save, "ndarray": np.ndarray},
    **{"twin": twin, "array": array, "zeros": zeros, "fit": sum_down, "large_pull": large_pull, "constant": constant},
}
