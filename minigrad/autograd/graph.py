"""Inspection of and access to the graph of recorded operations (PyTorch's module of this name).

Nodes are in minigrad/core/graph.py, saved tensors in saved.py, hooks on a tensor or node in minigrad/tensors/hooks.py.
"""

from __future__ import annotations

import threading
import weakref
from abc import ABC
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from ..core import graph as core
from ..core.backward import accumulate
from ..core.context import Ctx
from ..core.engine import running
from ..core.frames import Frame, current, enter, use
from ..core.graph import Leaf, OutputEdge, history, name_of, output_index, producer
from ..core.saved import Saved, memory, version
from ..core.tensor import Tensor
from ..errors import error
from ..events import Interceptor, services
from ..ops import transfer
from ..ops.base.nodes import PrimitiveNode
from ..ops.pin import pinned
from ..places import defined_at
from ..scopes import setting
from ..tensors.hooks import Handle
from .dual import eager_frame

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


class Node(ABC):  # noqa: B024  (the methods are those of the registered classes)
    """A node of the graph, for isinstance: the node of an operation, or of a leaf.

    It has `name()`, `next_functions`, `metadata`, `register_hook` and `register_prehook` (minigrad/core/graph.py).

    >>> import minigrad
    >>> x = minigrad.tensor(2.0, requires_grad=True)
    >>> node = (x * x).grad_fn
    >>> isinstance(node, minigrad.autograd.graph.Node), node.name()
    (True, 'MulBackward0')
    """


Node.register(core.Node)
Node.register(Leaf)


class GradientEdge(NamedTuple):
    """A position in the graph that receives a gradient: output number `output_nr` of `node`.

    It can replace a tensor in `grad` and `backward`, and does not keep the tensor's values alive.

    >>> import minigrad
    >>> x = minigrad.tensor(2., requires_grad=True)
    >>> y = x * 3
    >>> edge = minigrad.autograd.graph.get_gradient_edge(y)
    >>> isinstance(edge, minigrad.autograd.graph.GradientEdge), minigrad.autograd.grad(edge, x)
    (True, (tensor(3.),))
    """

    node: Any
    output_nr: int = 0
    ownership_token: Any = None

    def edge(self) -> Any:
        """Return the edge in the form in which tensors hold it."""
        return OutputEdge(self.node, self.output_nr) if len(self.node._meta) > 1 else self.node


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Return the edge that receives the gradient of `tensor`.  Raises RuntimeError if it does not require grad.

    >>> import minigrad
    >>> x = minigrad.tensor(3., requires_grad=True)
    >>> edge = get_gradient_edge(x)
    >>> minigrad.autograd.grad(x * x, edge)
    (tensor(6.),)
    """
    edge = history(tensor)
    if edge is None:
        what = "it is not possible to get the gradient edge for a Tensor that does not require gradients"
        fix = "call requires_grad_() on it, or on the tensors that it is computed from"
        raise error(RuntimeError, "get_gradient_edge", what, fix)
    return GradientEdge(producer(edge), output_index(edge))


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Declare that code outside minigrad, such as NumPy's, has written to the memory of one or several tensors.

    >>> import minigrad
    >>> x = minigrad.ones(2)
    >>> minigrad.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        memory(t).bump("increment_version")


class MultiHandle:
    """Several hooks that are removed together, with `remove()` or at the end of a `with` block."""

    def __init__(self, handles: Sequence[Handle]):
        self.handles = handles

    def remove(self) -> None:
        """Remove all of these hooks."""
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> MultiHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable, *, mode: str = "all") -> MultiHandle:
    """Call `fn(grads)` in each backward once all gradients of `tensors` are known, None for tensors that it does not reach.

    With mode="any", call `fn(grad)` at the first gradient instead.  Raises ValueError for another mode.

    >>> import minigrad
    >>> x, y = minigrad.ones(1, requires_grad=True), minigrad.ones(1, requires_grad=True)
    >>> handle = minigrad.autograd.graph.register_multi_grad_hook((x, y), print)
    >>> (2 * x + 3 * y).backward()
    [tensor([2.]), tensor([3.])]
    """
    if mode not in ("all", "any"):
        raise error(
            ValueError, "register_multi_grad_hook", f"expects mode to be one of ('all', 'any') but got {mode!r}"
        )
    if mode == "any":
        tensors = [t for t in tensors if t.requires_grad]
    nodes = [weakref.ref(producer(history(t))) for t in tensors if t.requires_grad]  # weakly: these hold the hooks
    n, lock = len(tensors), threading.Lock()
    # run of the engine -> gradients so far, number of gradients still missing
    runs: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()

    def arrived(i: int, grad: Tensor) -> None:
        run: Any = running.get()
        with lock:
            if run not in runs:
                reached = run.reaches()
                runs[run] = ([None] * n, [sum(node() in reached for node in nodes)])
            grads, missing = runs[run]
            first = all(g is None for g in grads)
            grads[i], missing[0] = grad, missing[0] - 1
        if mode == "any" and first:
            fn(grad)
        if mode == "all" and not missing[0]:
            fn(list(grads))

    return MultiHandle([t.register_hook(lambda g, i=i: arrived(i, g)) for i, t in enumerate(tensors)])


@contextmanager
def allow_mutation_on_saved_tensors():
    """Allow in-place modification of saved tensors inside the block: it saves copies instead.

    Forward and backward must both run inside.

    >>> import minigrad
    >>> with allow_mutation_on_saved_tensors():
    ...     x = minigrad.tensor([2.], requires_grad=True)
    ...     y = x * 1
    ...     z = y * y
    ...     _ = y.zero_()
    ...     z.backward()
    >>> x.grad
    tensor([4.])
    """
    open_ = [True]

    def unpack(kept: Tensor) -> Tensor:
        if not open_:
            what = "trying to backward outside of the context in which the graph was recorded"
            raise error(AssertionError, "allow_mutation_on_saved_tensors", what, "call backward inside the with block")
        return kept

    with saved_tensors_hooks(lambda t: t.detach().clone(), unpack):
        try:
            yield
        finally:
            open_.clear()


# ---------------------------------------------------------------------- hooks on saved tensors
_disabled: ContextVar[str | None] = ContextVar("minigrad.saved_tensors_hooks.disabled", default=None)


def outside() -> Frame:
    """Return the innermost frame outside all transforms, where plain tensors belong, with gradients off."""
    frame = found = current()
    while frame is not None:
        if not frame.layer.transparent:
            found = frame.parent
        frame = frame.parent
    return found.all_grad(False)


class Packing(Interceptor):
    """Packs saved tensors while saved_tensors_hooks are active."""

    def __init__(self, pack_hook: Callable, unpack_hook: Callable):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def pack(self, t: Tensor, index: int | None) -> Saved | None:
        """Return a Saved with the pack hook's result for an eager tensor."""
        if t._layer is not None:
            return None
        before, shape, dtype = version(t), t._sizes, t._np_dtype
        with use(outside()):
            packed = self.pack_hook(t if index is None else t.detach())
        if version(t) != before:
            raise error(
                RuntimeError,
                "saved_tensors_hooks",
                f"a saved tensor pack hook is modifying its input, of shape {tuple(t.shape)}, in place",
                "clone it in the hook first: t.clone()",
                memory(t).place,
            )

        def unpack(saved: Saved, node: Any) -> Tensor:
            with use(outside()):
                made = self.unpack_hook(saved.tensor)
            check_unpacked(made, self.unpack_hook, shape, dtype, node)
            return made

        saved = Saved(packed, index, history(t) if index is None else None, unpack)
        if index is None and (level := eager_frame().dual) is not None:  # a result has no tangent yet
            saved.tangent = level.copy(eager_frame(), t)
        return saved


class saved_tensors_hooks:
    """Pass every tensor that is saved for backward through `pack_hook`, and the result later through `unpack_hook`.

    >>> import minigrad
    >>> x = minigrad.tensor([3.], requires_grad=True)
    >>> with saved_tensors_hooks(lambda t: t.tolist(), lambda v: minigrad.tensor(v)):
    ...     y = x * x
    >>> y.backward()
    >>> x.grad
    tensor([6.])
    """

    def __init__(self, pack_hook: Callable, unpack_hook: Callable):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook
        self._packing = Packing(pack_hook, unpack_hook)

    def __enter__(self) -> None:
        if (message := _disabled.get()) is not None:
            raise error(RuntimeError, "saved_tensors_hooks", message)
        self._before = current()
        use(self._before.observed(self._packing)).__enter__()

    def __exit__(self, *_: object) -> None:
        try:
            enter(current().observed(self._packing, False))
        except BaseException:  # Ctrl-C, before or after
            enter(self._before)
            raise


def check_unpacked(t: Any, hook: Callable, shape: tuple, dtype: Any, node: Any) -> None:
    """Raise if the result of a user's unpack hook is not a tensor like the one that was packed."""
    was = f"for {name_of(node)}, not the tensor of shape {shape} and {dtype} that was packed"
    where, who = defined_at(hook), "saved_tensors_hooks"
    if not isinstance(t, Tensor):
        fix = "return a tensor from the unpack hook, minigrad.from_numpy(array) for an array"
        raise error(TypeError, who, f"the unpack hook returned {type(t).__name__} {was}", fix, where)
    if t._sizes != shape or t._np_dtype != dtype:
        what = f"the unpack hook returned a tensor of shape {tuple(t.shape)} and {t._np_dtype} {was}"
        raise error(RuntimeError, who, what, "make the unpack hook undo the pack hook", where)


@contextmanager
def disable_saved_tensors_hooks(error_message: str):
    """Make entering saved_tensors_hooks raise RuntimeError with this message.  Raises at once if such hooks are active.

    >>> import minigrad
    >>> x = minigrad.ones(2, requires_grad=True)
    >>> with minigrad.autograd.graph.disable_saved_tensors_hooks("no hooks here"):
    ...     y = x * x
    >>> y.requires_grad
    True
    """
    if any([isinstance(o, Packing) for o in current().observers]):
        raise error(RuntimeError, "disable_saved_tensors_hooks", error_message)
    with setting(_disabled, error_message):
        yield


class save_on_cpu(saved_tensors_hooks):
    """Save tensors for backward as copies in the CPU's memory; pinned with `pin_memory`, if there is a GPU.

    >>> import minigrad
    >>> x = minigrad.ones(2, requires_grad=True)
    >>> with minigrad.autograd.graph.save_on_cpu():
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    tensor([2., 2.])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda"):
        def pack(t: Tensor) -> tuple:
            if not (pin_memory and transfer.count()):
                return t.device, t.to("cpu", copy=True)
            return t.device, pinned(t, "save_on_cpu") if t.is_cpu else t.to("cpu", non_blocking=True)

        super().__init__(pack, lambda kept: kept[1].to(kept[0], non_blocking=pin_memory))


def call_node(node: core.Node | Leaf, *grads: Tensor | None) -> Any:
    """Return the gradients of a node's inputs (one or a tuple) for given gradients of its outputs, without calling hooks.

    As in PyTorch nothing is freed, and the gradient of an operand that was broadcast has the shape of the result.  A leaf
    accumulates its gradient.
    """
    if len(grads) != len(node._meta) or any([g is not None and not isinstance(g, Tensor) for g in grads]):
        raise services.problem("a node takes one gradient per output", node=node, grads=grads)
    if isinstance(node, Leaf):
        if grads[0] is not None:
            accumulate(node, grads[0])
        return ()
    try:
        outs = node._fn.backward(node, *grads) if any([g is not None for g in grads]) else (None,) * len(node._edges)
    except (RuntimeError, ValueError) as e:
        wrong = [i for i, g in enumerate(grads) if g is not None and tuple(g.shape) != tuple(node._meta[i][0])]
        if wrong:
            raise services.problem(
                "a node's gradients have the shapes of its outputs", node=node, grads=grads, i=wrong[0]
            ) from e
        raise
    pairs = [(outs[i], node._edges[i]) for i in node.tensor_inputs()]
    found = [o if o is None or e is None else o.to(e._dtype) for o, e in pairs]
    return found[0] if len(found) == 1 else tuple(found)


def apply_backward(ctx: Ctx, *grads: Tensor | None) -> Any:
    """Call the backward of a user's Function with these gradients of its outputs, and return the result as it is."""
    return services.call_method(ctx._fn, "backward", ctx, *grads)


PrimitiveNode.__call__ = Leaf.__call__ = call_node  # type: ignore[attr-defined,method-assign]
Ctx.apply = apply_backward  # type: ignore[attr-defined]
