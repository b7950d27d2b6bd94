"""Outputs of users' Functions in the memory of another tensor: an argument, another output or a captured tensor.

Only forward knows how such an output was made, so after a write to that memory no other code can derive the output's history or
tangent again, as for other views (core/graph.py).  A write through the output raises, and after a write through another tensor
a derivative of the output raises.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from ..core.frames import current
from ..core.graph import NO_GRAD, Leaf, ViewOf, history
from ..core.inplace import shares
from ..core.saved import memory, version
from ..core.tensor import Tensor
from ..events import Observer, events, services

UNTRACKED = "untracked"  # `seen` of an output in the memory of a tensor without history: any write changes that


class OutputIn(ViewOf):
    """Record that an output is in the memory of `parent`, by a way that only forward knows.  Its `version` stays."""

    __slots__ = ()
    # autograd: returns a history whose backward raises, (tensor, its edges, function that returns the error)
    delayed: Callable

    def renew(self, t: Tensor) -> None:
        """Give the output t a history that raises in backward, if its parent's history has changed since forward.

        A leaf stays one if it shares the memory of a constant.
        """
        edge: Any = self.parent._edge
        if edge is not self.seen:
            self.seen, edges = edge, [e for e in (edge, t._edge) if e is not None]
            if any([type(e) is not Leaf for e in edges]):
                t._edge = self.delayed(t, edges, modified_problem(t))


class OutputMemory(Observer):
    """Records in which tensor's memory the outputs of users' Functions are."""

    def attached(self, name: str, args: tuple, outs: tuple) -> None:
        """Link the outputs that are in the memory of an argument, or of an earlier output."""
        for i, o in enumerate(outs):
            if not isinstance(o, Tensor):
                continue
            if o._layer is None and o._view is None and (a := o._a).base is None:
                for t in (*args, *outs[:i]) if i else args:
                    if isinstance(t, Tensor) and t._layer is None and t._a is a:
                        break
                else:  # as usual: forward has computed it into new memory
                    continue
            link(name, o, (*args, *outs[:i]))


def link(name: str, o: Tensor, others: tuple) -> None:
    """Make an output a view of the tensor in whose memory it is, if that is an argument or an earlier output."""
    base = memory_owner(o, others)
    if base is not None:
        if o._layer is None:
            o._ver = memory(base)  # they may share it through NumPy
        fixed = f"it was made inside {name}" if current().grad else NO_GRAD
        seen: Any = history(base) or UNTRACKED
        o._view = OutputIn(base, None, (), seen, version(o), fixed)


def memory_owner(o: Tensor, others: tuple) -> Tensor | None:
    """Return the tensor in whose memory an output is; None if there is none, or if it is an argument that forward modified."""
    for t in others:
        if t is o:
            return None
    if o._view is not None:
        return o._base
    near = [t for t in others if isinstance(t, Tensor) and t._layer is o._layer]
    return next((t for t in near if t._base is not o and shares(t, o)), None)


events.add(OutputMemory())


# ---------------------------------------------------------------------- after or before a write
def modified_problem(t: Tensor) -> Callable | None:
    """If t is, or is a view of, an output whose memory was modified after forward, return a function that returns the error."""
    now, view = version(t), t._view
    while view is not None and (view.fn is not None or view.version == now):
        view = view.parent._view
    if view is None:
        return None
    return partial(
        services.problem, "an output's memory was modified", shape=t._sizes, reason=view.fixed, memory=memory(t)
    )


def check_outputs(fn: Any, x: Tensor, tracked: bool, derivative: Callable) -> None:
    """Raise for a write to an output in another tensor's memory, or to a part of it, if the write or that tensor is tracked.

    `derivative` returns the history of a tensor, or its tangent.
    """
    while (view := x._view) is not None:
        if view.fn is None and (tracked or derivative(view.parent) is not None):
            raise services.problem("this view cannot be modified in place", fn=fn, x=x)
        x = view.parent
