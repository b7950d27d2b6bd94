"""Recompute a graph that a backward has freed, from its leaves.

Backward only frees saved tensors. A node keeps its edges, and usually its numbers and settings, and leaves have their values:
so the operations can run again on request. An untracked tensor is lost, because no node keeps it, and custom Functions do not
run again. A leaf may have changed in the meantime, so all that is left of the first run, results and gradients, is compared
with the second one.
"""

import gc

import numpy as np

from ..arrays.dtypes import finfo
from ..core.context import Ctx
from ..core.frames import ON, use
from ..core.graph import Leaf, Node, history, key, operation_of, producer
from ..core.saved import plain_tensor
from ..core.tensor import Tensor
from ..errors import MinigradError
from ..record.from_graph import older_first
from ..record.recorder import Record
from .derive import largest

CHANGED = "a leaf has changed since, for example by optimizer.step()"
NOT_WRITTEN = f"{CHANGED}, backward started with a gradient other than 1, a hook took part, or the last result is gone"
ROUNDING = 32  # numbers this close are equal: units in the last place of the largest element


class Lost(Exception):
    """The reason why a graph cannot be recomputed."""


def recomputed(root: Node) -> dict[tuple, Tensor]:
    """Return the results of `root` and of all nodes that lead to it, by edge key, with a new graph.

    Raise Lost if one of their inputs is gone or has changed.
    """
    made: dict[tuple, Tensor] = {}
    with use(ON):
        for node in older_first([root]):
            args = arguments(node, made)
            try:
                outs = node._fn.apply(*args)
            except MinigradError:  # the leaves' shapes no longer fit
                raise Lost(f"{called(node)} cannot run on the current leaves: {CHANGED}") from None
            for i, out in enumerate(outs if type(outs) is tuple else (outs,)):
                shape, dtype = node._meta[i]
                if (tuple(out.shape), out._np_dtype) != (tuple(shape), dtype):
                    raise Lost(
                        f"{called(node)} gives {tuple(out.shape)}, {out.dtype} with the current leaves: {CHANGED}"
                    )
                made[node, i] = out
    return made


def called(node: Node) -> str:
    """Return a description of a node's operation, with its line if it is known."""
    shapes = " and ".join([str(tuple(m[0])) for m in node._meta if m is not None])
    return f"the {operation_of(node)} of shape {shapes}{f' at {node._trace}' if node._trace else ''}"


def arguments(node: Node, made: dict) -> list:
    """Return the arguments of a node's operation, or raise Lost."""
    if isinstance(node, Ctx) or node._fn.impl is None or node._layer is not None:
        raise Lost(f"{called(node)} cannot run again")
    constants, found = node._constants, []
    for i, edge in enumerate(node._edges):
        if edge is not None:
            found.append(made[key(edge)] if key(edge) in made else value(producer(edge), node))
        elif i in constants:
            found.append(constants[i])
        else:
            raise Lost(f"argument {i + 1} of {called(node)} is lost: it does not require grad, so no node keeps it")
    return found


def value(leaf: Leaf, node: Node) -> Tensor:
    """Return the tensor of a leaf, or raise Lost."""
    t = leaf._ref()
    if t is None or t._edge is not leaf:
        what = "gone" if t is None else "no longer a leaf"
        raise Lost(f"the leaf of shape {tuple(leaf._shape)} that {called(node)} reads is {what}")
    return t


def live_objects(kind: type) -> list:
    """Return all objects of a class, or of a subclass, that the garbage collector knows.

    It checks their types, because isinstance also asks the objects, and foreign ones may react in unexpected ways.
    """
    return [o for o in gc.get_objects() if issubclass(type(o), kind)]


def tensors() -> list[Tensor]:
    """Return all plain tensors that are alive."""
    return [t for t in live_objects(Tensor) if t._layer is None]


def compare_results(made: dict) -> None:
    """Raise Lost if a remaining result of the first run differs from the second run."""
    for t in tensors():
        edge = history(t)
        if edge is not None and key(edge) in made:
            now = made[key(edge)]._a
            agree(called(producer(edge)), t._a, now, f"{CHANGED}, or the result has")


def compare_gradients(rec: Record, owner: Tensor, name: str) -> None:
    """Raise Lost if a remaining gradient of the first run differs from the second run.

    Gradients of other tensors are ignored if they were written to, for example by another backward.
    """
    gradients = rec.gradients
    for t in [owner, *tensors()]:
        known = None if t._grad is None else rec.value_of(history(t))
        if known not in gradients or t is not owner and written(t._grad):
            continue
        whose = f"{name}.grad" if t is owner else f"the .grad of another tensor of shape {tuple(t.shape)}"
        now = np.asarray(rec.values[gradients[known]].numbers())
        agree(whose, plain_tensor(t._grad)._a, now, written(t._grad) or NOT_WRITTEN)


def written(grad: Tensor) -> str:
    """Return a description of the last write to a gradient since its creation, or an empty string."""
    if grad._ver is None or not grad._ver.writer:
        return ""
    if grad._ver.writer == "backward":
        return f"several backward calls added to it, most recently at {grad._ver.place}"
    return f"{grad._ver.writer} wrote to it at {grad._ver.place}"


def agree(what: str, was: np.ndarray, now: np.ndarray, why: str) -> None:
    """Raise Lost unless both arrays contain the same numbers, up to rounding."""
    if was.shape != now.shape:
        raise Lost(f"{what} now has shape {was.shape}: {why}")
    size = np.max(np.abs(was), initial=0, where=np.isfinite(was))
    near = np.isclose(now, was, rtol=0, atol=ROUNDING * finfo(was.dtype).eps * size, equal_nan=True)
    if not near.all():
        with np.errstate(all="ignore"):
            at = largest(np.where(near, 0, now - was))
        place = f"element [{', '.join(map(str, at))}] of " if at else ""
        raise Lost(f"{place}{what} is {was[at]:.6g}, but the current leaves give {now[at]:.6g}: {why}")
