"""A graph that a backward has freed, computed again from its leaves.

What backward frees are the saved tensors.  A node keeps its edges, and mostly its numbers and settings, and the leaves have
their values: so the operations can run once more, when somebody asks.  A tensor that was not tracked is gone, as nothing has
kept it, and a custom Function is not run again.  A leaf may hold other values by now: so what is still there of the first
run, results and gradients, is compared with the second one.
"""

from __future__ import annotations

import gc

import numpy as np

from ..arrays.dtypes import finfo
from ..core.context import Ctx
from ..core.frames import ON, use
from ..core.graph import Leaf, Node, history, key, operation_of, producer
from ..core.saved import bottom
from ..core.tensor import Tensor
from ..errors import MinigradError
from ..record.from_graph import older_first
from ..record.recorder import Record
from .derive import largest

CHANGED = "a leaf has been changed since, as by optimizer.step()"
NOT_WRITTEN = f"{CHANGED}, backward was given another gradient than 1, a hook has taken part, or what came last is gone"
ROUNDING = 32  # so many units in the last place of the largest element are the same number


class Lost(Exception):
    """Why a graph cannot be computed again."""


def again(root: Node) -> dict[tuple, Tensor]:
    """The results of all nodes that lead to `root`, and its own, by edge key; they have a graph of their own.

    Lost where something that they are computed from is gone, or is not what it was.
    """
    made: dict[tuple, Tensor] = {}
    with use(ON):
        for node in older_first([root]):
            args = arguments(node, made)
            try:
                outs = node._fn.apply(*args)
            except MinigradError:  # the leaves do not go together any more
                raise Lost(f"{called(node)} cannot take what the leaves give now: {CHANGED}") from None
            for i, out in enumerate(outs if type(outs) is tuple else (outs,)):
                shape, dtype = node._meta[i]
                if (tuple(out.shape), out._np_dtype) != (tuple(shape), dtype):
                    raise Lost(
                        f"{called(node)} gives {tuple(out.shape)}, {out.dtype} from the leaves as they are: {CHANGED}"
                    )
                made[node, i] = out
    return made


def called(node: Node) -> str:
    """A node's operation in words; only some know their line."""
    shapes = " and ".join([str(tuple(m[0])) for m in node._meta if m is not None])
    return f"the {operation_of(node)} of shape {shapes}{f' at {node._trace}' if node._trace else ''}"


def arguments(node: Node, made: dict) -> list:
    """What a node's operation was called with."""
    if isinstance(node, Ctx) or node._fn.impl is None or node._layer is not None:
        raise Lost(f"{called(node)} does not run again")
    constants, found = node._constants, []
    for i, edge in enumerate(node._edges):
        if edge is not None:
            found.append(made[key(edge)] if key(edge) in made else value(producer(edge), node))
        elif i in constants:
            found.append(constants[i])
        else:
            raise Lost(f"nothing has kept argument {i + 1} of {called(node)}, which does not require grad")
    return found


def value(leaf: Leaf, node: Node) -> Tensor:
    """The tensor at the end of an edge."""
    t = leaf._ref()
    if t is None or t._edge is not leaf:
        what = "gone" if t is None else "no leaf any more"
        raise Lost(f"the leaf of shape {tuple(leaf._shape)} that {called(node)} has read is {what}")
    return t


def living(kind: type) -> list:
    """All objects of a class, or of one derived from it, that the garbage collector knows.

    Their types are asked, because isinstance also asks the objects, and those of others may answer in unheard-of ways.
    """
    return [o for o in gc.get_objects() if issubclass(type(o), kind)]


def tensors() -> list[Tensor]:
    """All plain tensors that are alive."""
    return [t for t in living(Tensor) if t._layer is None]


def compare_results(made: dict) -> None:
    """Lost where a result of the first run that is still there is not that of the second."""
    for t in tensors():
        edge = history(t)
        if edge is not None and key(edge) in made:
            now = made[key(edge)]._a
            agree(called(producer(edge)), t._a, now, f"{CHANGED}, or the result has")


def compare_gradients(rec: Record, owner: Tensor, name: str) -> None:
    """Lost where a gradient of the first run that is still there is not that of the second.

    The gradients of others tell nothing where they have been written to, as by another backward.
    """
    for t in [owner, *tensors()]:
        known = None if t._grad is None else rec.value_of(history(t))
        if known not in rec.gradients or t is not owner and written(t._grad):
            continue
        whose = f"{name}.grad" if t is owner else f"another .grad of shape {tuple(t.shape)} there"
        now = np.asarray(rec.values[rec.gradients[known]].numbers())
        agree(whose, bottom(t._grad)._a, now, written(t._grad) or NOT_WRITTEN)


def written(grad: Tensor) -> str:
    """Who has written to a gradient since it was made, in words."""
    if grad._ver is None or not grad._ver.writer:
        return ""
    if grad._ver.writer == "backward":
        return f"several backward calls have added to it, the last one at {grad._ver.place}"
    return f"{grad._ver.writer} has written to it at {grad._ver.place}"


def agree(what: str, was: np.ndarray, now: np.ndarray, why: str) -> None:
    """Lost where these are not the same numbers up to rounding."""
    if was.shape != now.shape:
        raise Lost(f"{what} has shape {was.shape} now: {why}")
    size = np.max(np.abs(was), initial=0, where=np.isfinite(was))
    near = np.isclose(now, was, rtol=0, atol=ROUNDING * finfo(was.dtype).eps * size, equal_nan=True)
    if not near.all():
        with np.errstate(all="ignore"):
            at = largest(np.where(near, 0, now - was))
        place = f"element [{', '.join(map(str, at))}] of " if at else ""
        raise Lost(f"{place}{what} is {was[at]:.6g}, and {now[at]:.6g} comes from the leaves as they are: {why}")
