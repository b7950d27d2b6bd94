"""Hooks: functions that the engine calls with the gradients as they pass.

A node has one Hooks object, made at the first registration: on the gradient of each output (tensor hooks, in order, then
retain_grad), before the node's backward (pre), after it (post), and for a leaf after its `.grad` was filled (accumulated).
A hook gets copies of gradients, for it may write to them while others read the same memory.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import numpy as np

from ..core.events import slots
from ..core.frames import current
from ..core.graph import Edge, Leaf, Node, history, output_index, producer
from ..core.saved import bottom
from ..core.tensor import Tensor, alike

_handle = count().__next__


class Handle:
    """Handle of a registered hook: `.remove()` takes the hook off, and so does the end of a `with` statement."""

    __slots__ = ("_hooks", "id")

    def __init__(self, hooks: dict, hook: Callable, who: str = "register_hook"):
        if not callable(hook):
            raise slots.problem("a hook is a function", who=who, hook=hook)
        slots.notice("hook registered", hooks=hooks, hook=hook, who=who)
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
    """The hooks of one node, which the engine calls: tensor hooks and retained tensors by output number, and the node's own."""

    __slots__ = ("after", "before", "filled", "retained", "tensor")

    def __init__(self):
        self.tensor: dict[int, dict] = {}
        self.retained: dict[int, weakref.ref] = {}
        self.before: dict[int, Callable] = {}
        self.after: dict[int, Callable] = {}
        self.filled: dict[int, Callable] = {}  # of a leaf

    def arrived(self, grads: list) -> list:
        """Pass the gradients of a node's outputs through their tensor hooks, and retain them where that was asked for."""
        for i, fs in self.tensor.items():
            for hook in list(fs.values()) if grads[i] is not None else ():
                given = copies([grads[i]])
                result = call_hook(hook, "grad", *given)
                (grads[i],) = kept(given, [grads[i]])
                if result is not None and result is not given[0]:
                    check_gradient(hook, result, grads[i])
                    grads[i] = result
        for i, ref in self.retained.items():
            t, g = ref(), grads[i]
            if t is not None and g is not None:
                t._grad = (g if current().grad else g.clone()) if t._grad is None else t._grad + g
        return grads

    def incoming(self, node: Node | Leaf, grads: list) -> list:
        """Run the hooks before a node's backward, which see all gradients as a tuple."""
        return pass_through(node, self.before, "pre-hook", "grad_outputs", grads)

    def outgoing(self, node: Node | Leaf, inputs: Sequence, outputs: list) -> tuple:
        """Run those after it with the gradients of its inputs and outputs; a returned tuple replaces those of the inputs."""
        places = node.tensor_inputs()
        grads = [inputs[i] for i in places]
        grads = pass_through(node, self.after, "hook", "grad_inputs, grad_outputs", grads, outputs)
        found = dict(zip(places, grads))
        return tuple([found.get(i) for i in range(len(inputs))])

    def accumulated(self, t: Tensor) -> None:
        """Run a leaf's hooks after its `.grad` was filled."""
        for hook in list(self.filled.values()):
            if (result := call_hook(hook, "tensor", t)) is not None:
                raise slots.problem("this hook returns None", hook=hook, t=t, got=result)

    def move_retained(self, i: int, edge: Edge | None) -> None:
        """Let retain_grad of output i follow its tensor, which was written in place, to its new history."""
        if (ref := self.retained.pop(i, None)) is not None:
            hooks_of(producer(edge)).retained[output_index(edge)] = ref


def hooks_of(node: Node | Leaf) -> Hooks:
    """Return the node's hooks, made when first asked for."""
    if node._hooks is None:
        node._hooks = Hooks()
        if node._layer is not None:
            node._layer.opaque = True
    return node._hooks


# ---------------------------------------------------------------------- registering
class NodeMethods:
    """Give nodes the methods that register hooks."""

    def register_hook(self: Any, fn: Callable) -> Handle:
        """Call `fn(grad_inputs, grad_outputs)` after this node's backward; a returned tuple replaces grad_inputs.

        At a leaf, which has no inputs, after the gradient was accumulated.
        """
        return Handle(hooks_of(self).after, fn)

    def register_prehook(self: Any, fn: Callable) -> Handle:
        """Call `fn(grad_outputs)` before this node's backward; a returned tuple replaces them."""
        return Handle(hooks_of(self).before, fn)


class TensorMethods:
    """Give tensors the methods that wait for a gradient."""

    def register_hook(self: Any, hook: Callable) -> Handle:
        """Call `hook(grad)` with the gradient in each backward; a tensor that it returns takes the gradient's place.

        Raises RuntimeError for a tensor that does not require grad, TypeError for what cannot be called.
        """
        node, i = awaited(self, "register_hook")
        slots.notice("tensor hook", node=node, t=self, hook=hook)
        return Handle(hooks_of(node).tensor.setdefault(i, {}), hook)

    def register_post_accumulate_grad_hook(self: Any, hook: Callable) -> Handle:
        """Call `hook(tensor)` after each time `.grad` was filled.  Leaves only."""
        node, _ = awaited(self, "register_post_accumulate_grad_hook")
        if type(node) is not Leaf:
            raise slots.problem("only leaves accumulate gradients", t=self, node=node)
        return Handle(hooks_of(node).filled, hook, "register_post_accumulate_grad_hook")

    def retain_grad(self: Any) -> None:
        """Fill `.grad` of this tensor in backward though it is the result of an operation.  No effect on leaves."""
        node, i = awaited(self, "retain_grad")
        if type(node) is not Leaf and i not in hooks_of(node).retained:
            slots.notice("retain_grad", node=node, t=self)
            hooks_of(node).retained[i] = weakref.ref(self)


def awaited(t: Tensor, who: str) -> tuple:
    """Return the node whose output t is, and which one; RuntimeError where no gradient ever comes."""
    edge = history(t)
    if edge is None:
        raise slots.problem("a tensor without history gets no gradient", t=t, who=who)
    return producer(edge), output_index(edge)


# ---------------------------------------------------------------------- one hook, and what it did
def pass_through(node: Node | Leaf, hooks: dict, kind: str, parameters: str, grads: list, *beside: list) -> list:
    """Pass gradients through hooks that see them as a tuple, with others beside it, and may return another tuple."""
    for hook in list(hooks.values()):
        given = copies(grads)
        result = call_hook(hook, parameters, tuple(given), *[tuple(copies(others)) for others in beside])
        grads = kept(given, grads)
        if result is None:
            continue
        if not isinstance(result, tuple) or len(result) != len(grads):
            raise slots.problem("node hooks return tuples", node=node, hook=hook, kind=kind, got=result, grads=grads)
        for r, g in zip(result, grads):
            if r is not None:
                check_gradient(hook, r, g, node)
        grads = list(result)
    return grads


def call_hook(hook: Callable, parameters: str, *args: object) -> Any:
    """Call a hook; `parameters` says what hooks of its kind are given."""
    try:
        return hook(*args)
    except TypeError as e:
        raise slots.problem("a hook takes gradients", hook=hook, parameters=parameters, args=args, cause=e) from None


def copies(grads: Sequence) -> list:
    """Return gradients as a hook may see them."""
    return [None if g is None else g.clone() for g in grads]


def kept(given: list, grads: Sequence) -> list:
    """Return the gradients after a hook: its copies where it has written to them."""
    return [g if own is None or unchanged(own, g) else own for own, g in zip(given, grads, strict=True)]


def unchanged(own: Tensor, g: Tensor) -> bool:
    """Return whether a hook has left its copy of a gradient alone; it may have written through .data or NumPy, too."""
    low = bottom(own)
    if low._ver is not None and low._ver.n:
        return False
    return own._layer is not None or np.array_equal(own._a, g._a, equal_nan=True)


def check_gradient(hook: Callable, result: Any, g: Tensor | None, node: Node | Leaf | None = None) -> None:
    """Refuse what a hook has returned if it cannot take the place of this gradient."""
    if not isinstance(result, Tensor) or g is not None and not alike(result, g):
        raise slots.problem("a hook returns a gradient like its own", hook=hook, got=result, g=g, node=node)
