"""Mistakes about writes: to leaves, views and shared memory, through `.data`, and to data that a loop normalises again.

The tensor that `.data` returns counts its own writes and notes them here.  The next backward compares the notes with the
tensors that its graph has saved.  A line that writes between two graphs, as an update by hand does, is soon left alone.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from ..arrays.memory import storage
from ..core.engine import nodes_on_paths, reachable
from ..core.graph import history, name_of
from ..core.saved import Saved, Version, plain_tensor, version
from ..core.tensor import Tensor
from ..errors import error, warn
from ..places import Place, noted, user_frame, user_place
from . import debug
from .report import EXPLAINED, explains, searches
from .saved_tensors import spent
from .users_program import (
    LinesLike,
    Scope,
    called_name,
    holds,
    made_at,
    names_in,
    parts,
    resolved,
    running_line,
    statements,
    written,
)

ANEW = {  # in-place operation -> code that makes a new tensor instead
    **{"add_": "x = x + ...", "sub_": "x = x - ...", "mul_": "x = x * ...", "div_": "x = x / ..."},
    **dict.fromkeys("masked_fill_ index_put_ copy_ fill_ zero_".split(), "x = minigrad.where(mask, value, x)"),
    **{"t_": "y = x.t()"},
    **{f"{n}_": f"y = x.{n}(...)" for n in "transpose swapaxes swapdims squeeze unsqueeze as_strided".split()},
}


def name_of_write(fn: Any) -> str:
    """Return the name of the in-place method that the user calls, or else of the in-place form of an operation."""
    frame, user = sys._getframe(), user_frame()
    while frame.f_back is not None and frame.f_back is not user:
        frame = frame.f_back
    if re.fullmatch(r"[a-z]\w*[a-z\d]_", called := frame.f_code.co_name):  # index_add_ puts, uniform_ copies
        return called
    return fn if isinstance(fn, str) else fn.function_name() + "_"


EXPLAINED |= {
    "inference tensors cannot be modified outside of inference_mode": lambda fn, x: error(
        RuntimeError,
        name_of_write(fn),
        f"an in-place update of an inference tensor of shape {tuple(x.shape)} outside inference_mode is not allowed",
        "clone() it first",
    ),
    "this view cannot be modified in place": lambda fn, x: error(
        RuntimeError,
        name_of_write(fn),
        f"a view of shape {tuple(x.shape)} is being modified in place, but {x._view.fixed}, so gradients of its base "
        "would miss the change",
        "make the view outside, or clone() it first",
        notes=made_at(x, "the view is made"),
    ),
    "an output's memory was modified": lambda shape, reason, memory: error(
        RuntimeError,
        memory.writer,
        f"a view of shape {shape} has new values, because its memory was modified in place through another tensor, but "
        f"{reason}, so its gradient would miss the change",
        "clone() it before the write"
        + (f", or make a new tensor instead of the write, {ANEW[memory.writer]}" if memory.writer in ANEW else ""),
        notes=noted("modified", memory.place),
    ),
    "the memory is read-only": lambda fn, x: error(
        RuntimeError,
        name_of_write(fn),
        f"a tensor of shape {tuple(x.shape)} shares the memory of an array that is not writable",
        "clone() it first, or pass array.copy() to from_numpy",
    ),
    "several elements share one place in memory": lambda fn, x: error(
        RuntimeError,
        name_of_write(fn),
        f"unsupported operation: several elements of the expanded tensor of shape {tuple(x.shape)} refer "
        "to a single memory location",
        "clone() the tensor before writing to it",
        notes=made_at(x),
    ),
}


@explains("a leaf that requires grad is modified in place")
def leaf_written(fn: Any, x: Tensor, root: Tensor) -> Exception:
    """Return the error for a write to a leaf that requires grad, or to a view of one."""
    name = name_of_write(fn)
    update = "update it inside `with minigrad.no_grad():`"
    if name in ANEW:
        update += f"; in a calculation make a new tensor, {ANEW[name]}"
    elif is_pointwise_in_one_operand(fn):
        update = (
            f"make a new tensor, y = x.{name[:-1]}(), without the underscore or inplace=True"  # no update has this form
        )
    what = f"{of_leaf(x, root)}, is being used in an in-place operation"
    return error(RuntimeError, name, what, update, notes=made_at(root))


def is_pointwise_in_one_operand(fn: Any) -> bool:
    """Report whether an operation computes each number from the old one alone, as relu_ does."""
    kernel = getattr(fn, "kernel", None)
    return hasattr(kernel, "__code__") and kernel.__code__.co_argcount == 1


def of_leaf(x: Tensor, root: Tensor) -> str:
    """Return a phrase for a leaf, or for a view of one."""
    if root is x:
        return f"a leaf Variable that requires grad, of shape {tuple(x.shape)}"
    return f"a view of a leaf Variable that requires grad, of shape {tuple(x.shape)} of {tuple(root.shape)}"


@explains("the result does not fit into the tensor")
def result_does_not_fit(fn: Any, x: Tensor, result: np.ndarray) -> Exception:
    """Return the error for a result of another shape, or of a dtype that the tensor cannot hold."""
    if result.shape != x._a.shape:
        what = f"output with shape {list(x.shape)} doesn't match the broadcast shape {list(result.shape)}"
        fix = "write x = x + ... instead of x += ...; its result may be larger"
        return error(RuntimeError, name_of_write(fn), what, fix, notes=made_at(x))
    what = f"result type {result.dtype} can't be cast to the desired output type {x._a.dtype}"
    fix = "convert the tensor first, x = x.float(), or write x = x + ... instead of x += ..."
    return error(RuntimeError, name_of_write(fn), what, fix, notes=made_at(x))


@explains("tracked write")
def warn_if_kept(fn: Any, before: Tensor, others: tuple) -> None:
    """Warn if a running total of tracked losses holds graphs that backward has already freed."""
    loss = others[0] if len(others) == 1 else None
    if before._layer is not None or before._a.size != 1 or not isinstance(loss, Tensor) or history(loss) is None:
        return
    node = spent(before._edge) or spent(loss._edge)
    if node is not None:
        warn(
            "kept-graph",
            name_of_write(fn),
            f"adds a result of shape {tuple(loss.shape)} that requires grad to a running total. The total keeps the graphs of "
            f"all rounds but cannot be differentiated: the saved tensors of {name_of(node)} are freed",
            "add the number: total += loss.item(), or total += loss.detach()",
            notes=noted("freed by backward", node._saved.place),
        )


FIRST = 64  # reads of .data, and writes, of one line that are noted; after these the 128th, the 256th, ...
SMALL, FEW = 1 << 18, 4  # arrays with more elements are copied at the first few reads of a line only
LARGEST = 1 << 24  # elements whose places in memory are compared one by one
pending: dict[int, list[Written]] = {}  # id of the array -> the writes to it since the last backward
reads: Counter[tuple | None] = Counter()  # place in the user's code -> the number of its reads of .data
writes: Counter[Place | None] = Counter()  # line -> the number of its writes


class Written(NamedTuple):
    """A write through `.data`: array and memory (weak), contents before it, creation number, operation and line."""

    array: ref
    memory: ref
    before: np.ndarray | None
    at: int
    writer: str
    place: Place | None


class DataVersion(Version):
    """Version counter of the tensor that `.data` returns; it keeps the contents, for the writes may leave them as they are."""

    def __init__(self, array: Any):
        user = user_frame(3)  # from the property on; several observers may hear of `lent`
        at = None if user is None else (user.f_code, user.f_lasti)
        reads[at] = n = reads[at] + 1
        self.array, self.before = array, contents(array) if is_noted(n) and (n <= FEW or array.size <= SMALL) else None

    def bump(self, writer: str, place: Place | None = None) -> None:
        """Count one more write, and note it for the next backward."""
        super().bump(writer, place)
        writes[self.place] = n = writes[self.place] + 1
        if is_noted(n):
            noted, memory = pending.setdefault(id(self.array), []), storage(self.array)
            noted[:] = [w for w in noted if w.array() is self.array]  # of no earlier array with this id
            noted.append(Written(ref(self.array), ref(memory), self.before, self.at, writer, self.place))
            self.before = None if self.before is None else contents(self.array)


def contents(array: Any) -> np.ndarray | None:
    """Return a copy of an array in the computer's memory; None for one on a GPU."""
    return array.copy() if type(array) is np.ndarray else None


def is_noted(n: int) -> bool:
    """Return True for the first times that a line does something, and for ever fewer ones after these."""
    return n <= FIRST or n & (n - 1) == 0


@searches()
def check_written(who: str, roots: Sequence, wanted: set | None) -> None:
    """Warn about the saved tensors of a graph that a noted write has changed since then."""
    written: dict[int, list[tuple[Written, Any]]] = {}
    for writes_to_it in pending.values():
        for w, later in zip(writes_to_it, [*writes_to_it[1:], None]):
            if (memory := w.memory()) is not None:
                written.setdefault(id(memory), []).append((w, w.array() if later is None else later.before))
    pending.clear()
    if debug.mode.on:  # which compares every saved tensor with its contents in forward
        return
    for node in reachable(roots)[0] if wanted is None else nodes_on_paths(roots, wanted):
        for s in node._saved if type(node._saved) is tuple else ():
            if type(s) is not Saved or s.unpack is not None or version(s.tensor) != s.version:
                continue
            a = plain_tensor(s.tensor)._a
            found = (w for w, after in written.get(id(storage(a)), ()) if w.at > node._seq and changes(w, after, a))
            if (w := next(found, None)) is not None:
                warn_written(who, node, s.tensor, w)


def changes(w: Written, after: Any, saved: Any) -> bool:
    """Return True if a write, which left an array with the contents `after`, has changed an element of a saved array."""
    if (a := w.array()) is None or not isinstance(a, np.ndarray):
        return a is not None
    if w.before is None or after is None or not np.may_share_memory(a, saved):
        return False
    differs = (after != w.before) & ((after == after) | (w.before == w.before))  # NaN for NaN is no change
    if not differs.any():
        return False
    return a.size + saved.size > LARGEST or bool(np.isin(places(a)[differs], places(saved)).any())


def places(a: np.ndarray) -> np.ndarray:
    """Return the address of each element of an array."""
    steps = [np.arange(n, dtype=np.int64) * s for n, s in zip(a.shape, a.strides)]
    return a.ctypes.data + sum(np.ix_(*steps), np.int64(0))


def warn_written(who: str, node: Any, saved: Any, w: Written) -> None:
    """Warn about a saved tensor that a write through `.data` has changed."""
    code = w.writer.rstrip("_")
    warn(
        "data-write",
        name_of(node),
        f"a tensor of shape {tuple(saved.shape)} that it saved for backward has new values: {w.writer} writes to its memory "
        "through .data, which the version counter does not notice, so backward computes with the new values",
        f"write after backward; or write `with minigrad.no_grad(): x.{code}_(...)`, which minigrad notices",
        w.place,
        noted(f"{who} was called", user_place()),
    )


PART = LinesLike(r"^\s*[A-Za-z_][\w, ]* = .*\w\[[^\]]*:")
OPERATORS: dict[type[ast.operator], str] = {ast.Sub: "sub", ast.Div: "div", ast.Add: "add", ast.Mult: "mul"}
BYTE = (255, 256, 127.5, 128)


@searches()
def check_data() -> None:
    """Warn about data that the loops around the running backward normalise in place, part by part, in every round."""
    if (begun := running_line(like=PART)) is None:
        return
    call, scope = begun
    loops = [s for s in statements(scope.tree) if isinstance(s, (ast.For, ast.While)) and holds([s], call.lineno)]
    if len(loops) < 2:
        return
    for s, batch, data, code in parts_taken(loops[-1], scope):
        bound = [b.lineno for b, _ in written(scope.tree).get(data, ())]
        writes = list(writes_to(batch, loops[-1], scope))
        if any(holds([loops[0]], line) for line in bound) or not normalises([(name, by) for _, name, by in writes]):
            continue
        whole = scope.values[data]
        warn(
            "data-changed",
            batch,
            f"is written in place, and it is a part of {data}, of shape {tuple(whole.shape)}, not a copy: each round of "
            f"the loop at line {loops[0].lineno} normalises the same numbers again",
            f"make a copy, {batch} = {code}.clone(), or a new tensor, as in {batch} = {batch} / 255",
            Place(scope.file, writes[0][0].lineno),
            [*noted("the part is taken", Place(scope.file, s.lineno)), *noted("backward was called", user_place())],
        )
        return


def parts_taken(loop: ast.For | ast.While, scope: Scope) -> Iterator[tuple[ast.stmt, str, str, str]]:
    """Yield the statements of a loop that take a part of data: with the names of the part and the data, and the code."""
    for s in statements(loop):
        if not isinstance(s, ast.Assign) or len(s.targets) != 1:
            continue
        target = s.targets[0]
        pairs = zip(getattr(target, "elts", [target]), getattr(s.value, "elts", [s.value]))
        for name, value in pairs:
            if isinstance(name, ast.Name) and isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name):
                part, whole = resolved(name, scope), resolved(value.value, scope)
                if plain(part) and plain(whole) and part is not whole and storage(part._a) is storage(whole._a):
                    yield s, name.id, value.value.id, ast.unparse(value)


def plain(t: Any) -> bool:
    """Return True for a tensor in the main memory that is no parameter, no result, and no transform's."""
    return isinstance(t, Tensor) and t._layer is None and t._edge is None


def writes_to(name: str, loop: ast.For | ast.While, scope: Scope) -> Iterator[tuple[ast.stmt, str, Any]]:
    """Yield the statements of a loop that write to a variable in place, with the operation and the number; None for others."""
    for s in statements(loop):
        if isinstance(s, ast.AugAssign) and isinstance(s.target, ast.Name) and s.target.id == name:
            yield s, OPERATORS.get(type(s.op), ""), operand(s.value, name, scope)
        node = s.value if isinstance(s, (ast.Expr, ast.Assign)) else None
        found = []
        while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            found.append((called_name(node), node.args[0] if len(node.args) == 1 else node))
            node = node.func.value
        if isinstance(node, ast.Name) and node.id == name and all(method.endswith("_") for method, _ in found):
            for method, by in found[::-1]:
                yield s, method.rstrip("_"), operand(by, name, scope)


def operand(node: ast.expr, name: str, scope: Scope) -> Any:
    """Return a number, "own" for something computed from the variable alone, such as its mean, or None."""
    value = resolved(node, scope)
    if isinstance(value, (int, float)):
        return value
    return "own" if set(names_in(parts(node))) == {name} else None


def normalises(writes: list[tuple[str, Any]]) -> bool:
    """Return True for a division by a number, with a subtraction or by the largest value of a byte, and nothing else."""
    if any(name not in ("sub", "div") or by is None for name, by in writes):
        return False
    numbers = [by for name, by in writes if name == "div" and by != "own"]
    return bool(numbers) and (any(name == "sub" for name, _ in writes) or any(by in BYTE for by in numbers))
