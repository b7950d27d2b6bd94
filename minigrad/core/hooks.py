"""Hooks: functions that the engine calls with the gradients as they pass.

A node has one Hooks object, made at the first registration: on the gradient of each output (tensor hooks, in order, then
retain_grad), before the node's backward (pre), after it (post), and for a leaf after its `.grad` was filled (accumulated).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from ..errors import error, warn
from .context import current
from .edges import Leaf, place_of, producer
from .tensor import Tensor, history, version

_handle = count().__next__


class Handle:
    """What registering a hook returns; `.remove()` takes the hook off.  Also a context manager that does so at its end."""

    __slots__ = ("_hooks", "id")

    def __init__(self, hooks: dict, hook: Callable):
        self.id, self._hooks = _handle(), hooks
        hooks[self.id] = hook

    def remove(self) -> None:
        """Take the hook off; doing it twice is harmless."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


class Hooks:
    """The hooks of one node: tensor hooks and retained tensors by output number, pre and post hooks."""

    __slots__ = ("accumulated", "post", "pre", "retained", "tensor")

    def __init__(self):
        self.tensor: dict[int, dict] = {}
        self.retained: dict[int, weakref.ref] = {}
        self.pre: dict[int, Callable] = {}
        self.post: dict[int, Callable] = {}
        self.accumulated: dict[int, Callable] = {}  # of a leaf, after its `.grad` was filled


def hooks_of(node: Any) -> Hooks:
    """The node's hooks, made when first asked for."""
    if node._hooks is None:
        node._hooks = Hooks()
        if node._layer is not None:
            node._layer.opaque = True
    return node._hooks


def register_hook(t: Tensor, hook: Callable) -> Handle:
    """Call `hook(grad)` with t's gradient in each backward; a tensor that it returns takes the gradient's place.

    Raises RuntimeError for a tensor that does not require grad.
    """
    edge = history(t)
    if edge is None:
        raise error(
            RuntimeError,
            "register_hook",
            f"cannot register a hook on a tensor that doesn't require gradient, of shape {tuple(t.shape)}",
            "call requires_grad_() first",
        )
    return Handle(hooks_of(producer(edge)).tensor.setdefault(place_of(edge), {}), hook)


def register_post_accumulate_grad_hook(t: Tensor, hook: Callable) -> Handle:
    """Call `hook(t)` after each time t's `.grad` was filled.  Leaves only."""
    if type(history(t)) is not Leaf:
        raise error(
            RuntimeError,
            "register_post_accumulate_grad_hook",
            "post accumulate grad hooks cannot be registered on non-leaf tensors or tensors that do not require grad",
            "use register_hook",
        )
    return Handle(hooks_of(t._edge).accumulated, hook)


def retain_grad(t: Tensor) -> None:
    """Fill `.grad` of this tensor in backward though it is the result of an operation.  No effect on leaves."""
    edge = history(t)
    if edge is None:
        raise error(
            RuntimeError,
            "retain_grad",
            f"can't retain_grad on a tensor that has requires_grad=False, of shape {tuple(t.shape)}",
            "call requires_grad_() first",
        )
    if type(edge) is not Leaf:
        hooks_of(producer(edge)).retained[place_of(edge)] = weakref.ref(t)


def move_retained(old: Any, new: Any) -> None:
    """A tensor was written in place: retain_grad follows it from its old history to the new one."""
    hooks = None if old is None else producer(old)._hooks
    ref = None if hooks is None else hooks.retained.pop(place_of(old), None)
    if ref is not None:
        hooks_of(producer(new)).retained[place_of(new)] = ref


def before(node: Any, grads: list) -> list:
    """Run what stands before a node's backward on the gradients of its outputs."""
    hooks = node._hooks
    for i, fs in hooks.tensor.items():
        if grads[i] is not None:
            grads[i] = chain(fs, grads[i], "a tensor hook")
    for i, ref in hooks.retained.items():
        t = ref()
        if t is not None and grads[i] is not None:
            retain(t, grads[i])
    return grads


def retain(t: Tensor, g: Tensor) -> None:
    """Add a gradient to the `.grad` of a tensor that is no leaf."""
    t._grad = (g if current().grad else g.clone()) if t._grad is None else t._grad + g


def pre(node: Any, grads: list) -> list:
    """Run the node's own pre-hooks, which see all gradients as a tuple."""
    for hook in list(node._hooks.pre.values()):
        given = lent(grads)
        result = hook(tuple(given))
        grads = returned(given, grads)
        if result is not None:
            grads = list(result) if isinstance(result, tuple) else [result]
            if len(grads) != len(node._meta):
                raise error(
                    RuntimeError, node.name(), f"a pre-hook returned {len(grads)} gradients, expected {len(node._meta)}"
                )
    return grads


def post(node: Any, inputs: tuple, outputs: list) -> tuple:
    """Run the node's hooks with the gradients of its inputs and outputs; a returned tuple replaces those of the inputs."""
    places = node.tensor_inputs()
    grads = [inputs[i] for i in places]
    for hook in list(node._hooks.post.values()):
        given = lent(grads)
        result = hook(tuple(given), tuple(lent(outputs)))
        grads = returned(given, grads)
        if result is not None:
            grads = list(result) if isinstance(result, tuple) else [result]
            if len(grads) != len(places):
                raise error(
                    RuntimeError, node.name(), f"a hook returned {len(grads)} gradients, expected {len(places)}"
                )
    found = dict(zip(places, grads))
    return tuple([found.get(i) for i in range(len(inputs))])


def accumulated(leaf: Leaf, t: Tensor) -> None:
    """Run a leaf's post-accumulate hooks."""
    for hook in list(leaf._hooks.accumulated.values()):
        hook(t)


def lent(grads: Sequence) -> list:
    """Gradients as a hook may see them: copies, for it may write to them, and others read the same memory."""
    return [None if g is None else g.clone() for g in grads]


def returned(given: list, grads: Sequence) -> list:
    """The gradients after a hook: its copies where it has written to them."""
    return [own if own is not None and version(own) else g for own, g in zip(given, grads, strict=True)]


def chain(hooks: dict, g: Tensor, what: str) -> Tensor:
    """Pass a gradient through hooks, each of which may replace it."""
    for hook in list(hooks.values()):
        given = lent([g])
        result = hook(*given)
        (g,) = returned(given, [g])
        if result is not None and result is not given[0]:
            if not isinstance(result, Tensor):
                raise error(TypeError, what, f"hook returned {type(result).__name__}, expected a tensor or None")
            if result.shape != g.shape:
                raise error(
                    RuntimeError,
                    what,
                    f"hook has changed the size of the gradient from {tuple(g.shape)} to {tuple(result.shape)}",
                )
            if result._np_dtype != g._np_dtype:
                raise error(
                    RuntimeError,
                    what,
                    f"hook has changed the type of the gradient from {g.dtype} to {result.dtype}",
                    "return result.to(grad.dtype)",
                )
            g = result
    return g


def warn_non_leaf_grad(t: Any) -> None:
    """Reading .grad of a result: it is never filled, which is seldom what was meant."""
    made = t.grad_fn._trace
    warn(
        "grad-of-non-leaf",
        "grad",
        f"the .grad of a tensor that is not a leaf is being read (it is the result of {t.grad_fn.name()}); "
        "backward does not fill it",
        "read the .grad of the leaf, or call .retain_grad() on the result before backward. A parameter is updated by "
        "`with minigrad.no_grad(): w -= lr * w.grad`, and made from other tensors by (a / b).requires_grad_()",
        notes=[] if made is None else [f"the operation was at {made}"],
    )
