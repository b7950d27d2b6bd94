"""The history of a tensor: its edge, which a view derives again from its parent when the memory has been written since."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .graph import Edge, output_index, producer, version

if TYPE_CHECKING:
    from .tensor import Tensor


class ViewOf:
    """Record that a view is `fn(parent, *args)`.

    `seen` and `version` are the parent's edge and the memory's version when the view's history was last derived. Only a
    write changes them, and then the history has to be derived again. `fixed`, if not None, says why that is impossible;
    in-place writes are then refused.
    """

    __slots__ = ("args", "fixed", "fn", "parent", "seen", "version")

    def __init__(self, parent: Tensor, fn: Any, args: tuple, seen: Edge | None, version: int, fixed: str | None = None):
        self.parent, self.fn, self.args, self.seen, self.version, self.fixed = parent, fn, args, seen, version, fixed


def history(t: Tensor) -> Any:
    """Return t's edge.  A view derives its history again from its parent when the memory has been written since."""
    view = t._view
    if view is not None and view.version != version(t) and view.fixed is None:
        derive(t)
    return t._edge


def derive(t: Tensor) -> None:
    """Bring the histories of a view, and of all it is a view of, up to date, from the base downwards."""
    now, chain = version(t), []
    while (view := t._view) is not None and view.version != now and view.fixed is None:
        chain.append(t)
        t = view.parent
    for t in reversed(chain):
        view = t._view
        assert view is not None
        view.version, edge = now, view.parent._edge
        if edge is not view.seen:
            before, view.seen, t._edge = t._edge, edge, None
            if edge is not None:
                view.fn.record(t._layer, (view.parent, *view.args), t)
                move_retained(before, t._edge)


def retains(t: Tensor) -> bool:
    """Return whether retain_grad() was called on t."""
    hooks = producer(t._edge)._hooks if t._edge is not None else None
    return hooks is not None and output_index(t._edge) in hooks.retained


def move_retained(old: Edge | None, edge: Edge | None) -> None:
    """Let retain_grad follow a tensor that was written in place from its old history to the new one."""
    if old is not None and producer(old)._hooks is not None:
        producer(old)._hooks.move_retained(output_index(old), edge)
