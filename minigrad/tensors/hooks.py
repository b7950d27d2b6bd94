"""Hooks: functions that the engine calls with gradients during backward.

A node has one Hooks object, created at the first registration.  It holds hooks on the gradient of each output (tensor hooks in
order, then retain_grad), before the node's backward (pre) and after it (post), and, for a leaf, after accumulation into
`.grad`.  A hook receives copies of gradients, because it may modify them while other code reads the same memory.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import numpy as np

from ..core.frames import current
from ..core.graph import Edge, Leaf, Node, history, output_index, producer
from ..core.saved import plain_tensor
from ..core.tensor import Tensor, alike
from ..events import services

_handle = count().__next__


class Handle:
    """Handle of a registered hook.  `.remove()` removes the hook, and so does leaving a `with` block."""

    __slots__ = ("_hooks", "id")

    def __init__(self, hooks: dict, hook: Callable, who: str = "register_hook"):
        if not callable(hook):
            raise services.problem("a hook is a function", who=who, hook=hook)
        services.notice("hook registered", hooks=hooks, hook=hook, who=who)
        self.id, self._hooks = _handle(), hooks
        hooks[self.id] = hook

    def remove(self) -> None:
        """Remove the hook; a second call has no effect."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


class Hooks:
    """The hooks of one node: tensor hooks and retained tensors by output number, and the node's own hooks."""

    __slots__ = ("after", "before", "filled", "retained", "tensor")

    def __init__(self):
        self.tensor: dict[int, dict] = {}
        self.retained: dict[int, weakref.ref] = {}
        self.before: dict[int, Callable] = {}
        self.after: dict[int, Callable] = {}
        self.filled: dict[int, Callable] = {}  # of a leaf

    def arrived(self, grads: list) -> list:
        """Pass the gradients of a node's outputs through their tensor hooks, and retain them where requested."""
        for i, fs in self.tensor.items():
            if not fs or grads[i] is None:
                continue
            (own,) = (seen,) = copies([grads[i]])
            for hook in list(fs.values()):
                if (result := call_hook(hook, "grad", seen)) is not None:
                    check_gradient(hook, result, grads[i])
                    seen = result
            (grads[i],) = after_hooks([seen], [own], [grads[i]])
        for i, ref in self.retained.items():
            t, g = ref(), grads[i]
            if t is not None and g is not None:
                t._grad = (g if current().grad else g.clone()) if t._grad is None else t._grad + g
        return grads

    def incoming(self, node: Node | Leaf, grads: list) -> list:
        """Run the hooks before a node's backward; they receive all gradients as a tuple."""
        return pass_through(node, self.before, "pre-hook", "grad_outputs", grads)

    def outgoing(self, node: Node | Leaf, inputs: Sequence, outputs: list) -> tuple:
        """Run the hooks after a node's backward with its input and output gradients; a returned tuple replaces the former."""
        places = node.tensor_inputs()
        grads = [inputs[i] for i in places]
        grads = pass_through(node, self.after, "hook", "grad_inputs, grad_outputs", grads, outputs)
        found = dict(zip(places, grads))
        return tuple([found.get(i) for i in range(len(inputs))])

    def accumulated(self, t: Tensor) -> None:
        """Run a leaf's hooks after accumulation into its `.grad`."""
        for hook in list(self.filled.values()):
            if (result := call_hook(hook, "tensor", t)) is not None:
                raise services.problem("a post-accumulate hook returns None", hook=hook, t=t, got=result)

    def move_retained(self, i: int, edge: Edge | None) -> None:
        """Move retain_grad of output i to the new history of its tensor, which was modified in place."""
        if (ref := self.retained.pop(i, None)) is not None:
            hooks_of(producer(edge)).retained[output_index(edge)] = ref


def hooks_of(node: Node | Leaf) -> Hooks:
    """Return the node's hooks, created at the first request."""
    if node._hooks is None:
        node._hooks = Hooks()
        if node._layer is not None:
            node._layer.opaque = True
    return node._hooks


# ---------------------------------------------------------------------- registration
class NodeMethods:
    """The methods of nodes that register hooks."""

    def register_hook(self: Any, fn: Callable) -> Handle:
        """Call `fn(grad_inputs, grad_outputs)` after this node's backward; a returned tuple replaces grad_inputs.

        For a leaf, which has no inputs, call it after the gradient is accumulated.
        """
        return Handle(hooks_of(self).after, fn)

    def register_prehook(self: Any, fn: Callable) -> Handle:
        """Call `fn(grad_outputs)` before this node's backward; a returned tuple replaces grad_outputs."""
        return Handle(hooks_of(self).before, fn)


class TensorMethods:
    """The methods of tensors that register hooks on, or retain, their gradients."""

    def register_hook(self: Any, hook: Callable) -> Handle:
        """Call `hook(grad)` with the gradient in each backward; a tensor that it returns replaces the gradient.

        Raises RuntimeError for a tensor that does not require grad, and TypeError for a hook that is not callable.
        """
        node, i = producer_of(self, "register_hook")
        services.notice("tensor hook registered", node=node, t=self, hook=hook)
        return Handle(hooks_of(node).tensor.setdefault(i, {}), hook)

    def register_post_accumulate_grad_hook(self: Any, hook: Callable) -> Handle:
        """Call `hook(tensor)` after each accumulation into `.grad`.  Leaves only."""
        node, _ = producer_of(self, "register_post_accumulate_grad_hook")
        if type(node) is not Leaf:
            raise services.problem("only leaves accumulate gradients", t=self, node=node)
        return Handle(hooks_of(node).filled, hook, "register_post_accumulate_grad_hook")

    def retain_grad(self: Any) -> None:
        """Set `.grad` of this tensor in backward even though it is the result of an operation.  No effect on leaves."""
        node, i = producer_of(self, "retain_grad")
        if type(node) is not Leaf and i not in hooks_of(node).retained:
            services.notice("retain_grad called", node=node, t=self)
            hooks_of(node).retained[i] = weakref.ref(self)


def producer_of(t: Tensor, who: str) -> tuple:
    """Return the node that made t, and t's output number.  Raises RuntimeError for a tensor that never gets a gradient."""
    edge = history(t)
    if edge is None:
        raise services.problem("a tensor without history gets no gradient", t=t, who=who)
    return producer(edge), output_index(edge)


# ---------------------------------------------------------------------- one hook and its result
def pass_through(node: Node | Leaf, hooks: dict, kind: str, parameters: str, grads: list, *others: list) -> list:
    """Pass gradients through hooks that take a tuple, with the tuples `others` as further arguments, and may return another."""
    seen = own = copies(grads)
    around = [tuple(copies(group)) for group in others]
    for hook in list(hooks.values()):
        if (result := call_hook(hook, parameters, tuple(seen), *around)) is None:
            continue
        if not isinstance(result, tuple) or len(result) != len(grads):
            raise services.problem("node hooks return tuples", node=node, hook=hook, kind=kind, got=result, grads=grads)
        for r, g in zip(result, grads):
            if r is not None:
                check_gradient(hook, r, g, node)
        seen = list(result)
    return after_hooks(seen, own, grads)


def call_hook(hook: Callable, parameters: str, *args: object) -> Any:
    """Call a hook; `parameters` names the arguments that hooks of its kind receive."""
    try:
        return hook(*args)
    except TypeError as e:
        raise services.problem("a hook takes gradients", hook=hook, parameters=parameters, args=args, cause=e) from None


def copies(grads: Sequence) -> list:
    """Return gradients as hooks may see them: copies. All hooks of a tensor receive one object until a hook replaces it."""
    return [None if g is None else g.clone() for g in grads]


def after_hooks(seen: list, own: list, grads: Sequence) -> list:
    """Return the gradients after hooks: what a hook returned, a copy that a hook modified, or the original."""
    return [g if s is o and (o is None or unchanged(o, g)) else s for s, o, g in zip(seen, own, grads, strict=True)]


def unchanged(own: Tensor, g: Tensor) -> bool:
    """Return True if a hook left its copy of a gradient unchanged; it may also have written through .data or NumPy."""
    low = plain_tensor(own)
    if low._ver is not None and low._ver.n:
        return False
    return own._layer is not None or np.array_equal(own._a, g._a, equal_nan=True)


def check_gradient(hook: Callable, result: Any, g: Tensor | None, node: Node | Leaf | None = None) -> None:
    """Raise if a hook's result cannot replace this gradient."""
    if not isinstance(result, Tensor) or g is not None and not alike(result, g):
        raise services.problem(
            "a hook keeps the gradient's shape, dtype and device", hook=hook, got=result, g=g, node=node
        )
