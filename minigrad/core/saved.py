"""What a node keeps for its backward: tensors with the version they had, packed by the user's hooks where there are any.

An output of the node itself is kept as a twin without history (node -> tensor -> node would be a cycle), and gets its
history back when it is unpacked.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ..diagnose import debug
from ..diagnose.saved_tensors import modified, modified_unseen
from ..errors import error
from ..places import Place, defined_at
from .edges import INFERENCE, Port, name_of, next_number
from .frames import current, enter, use
from .tensor import Box, Tensor, bottom, history, memory, version

_hooks: ContextVar[tuple] = ContextVar("minigrad.saved_tensors_hooks", default=())
_disabled: ContextVar[str | None] = ContextVar("minigrad.saved_tensors_hooks.disabled", default=None)


class Freed:
    """In place of saved tensors once a backward has freed them: says which one did.

    `root` is the creation number of the youngest node that it began from; what has a number above `at` is younger.
    """

    __slots__ = ("at", "place", "root")

    def __init__(self, place: Place | None, root: int):
        self.place, self.root, self.at = place, root, next_number()


class Saved:
    """One saved tensor.  `index` is the node's own output it is, or None; `unpack` the user's hook for a packed one.

    `mark` is what it has to be like when it is used: a plain one's fingerprint, in debug mode; a packed one's shape, dtype.
    """

    __slots__ = ("edge", "index", "mark", "tensor", "unpack", "version")

    def __init__(self, tensor: Any, index: int | None, edge: Any = None, unpack: Any = None):
        self.tensor, self.index, self.edge, self.unpack = tensor, index, edge, unpack
        plain = isinstance(tensor, Tensor) and unpack is None
        self.version = version(tensor) if plain else 0
        self.mark = debug.fingerprint(bottom(tensor)._a) if debug.mode.on and plain else None


def save(t: Any, index: int | None = None) -> Any:
    """What to keep of `t`, which is the node's output number `index`, or an input or intermediate (None)."""
    if not isinstance(t, Tensor):
        return t
    if t._ver is INFERENCE:
        raise error(
            RuntimeError,
            "save_for_backward",
            f"inference tensors cannot be saved for backward; this one has the shape {tuple(t.shape)}",
            "clone() it outside inference_mode, or use no_grad instead of inference_mode",
        )
    if t._layer is None and (hooks := _hooks.get()):
        pack, unpack = hooks[-1]
        before = version(t)
        with use(current().plain().all_grad(False)):
            packed = pack(t if index is None else t.detach())
        if version(t) != before:
            raise error(
                RuntimeError,
                "saved_tensors_hooks",
                f"a saved tensor pack hook is modifying its input, of shape {tuple(t.shape)}, in place",
                "clone() it there first: t.clone()",
                memory(t).place,
            )
        kept = Saved(packed, index, history(t) if index is None else None, unpack)
        kept.mark = t._sizes, t._np_dtype
        return kept
    if index is None:
        return Saved(t, None)
    memory(t)  # the twin has to share its counter
    return Saved(t._value if type(t) is Box else t.detach(), index)


def unpack(saved: Any, node: Any) -> Any:
    """The tensor that was saved, as the code that asks has to see it."""
    if not isinstance(saved, Saved):
        return saved
    t, layer = saved.tensor, node._layer
    if saved.unpack is not None:
        with use(current().plain().all_grad(False)):
            t = saved.unpack(t)
        check_unpacked(t, saved, node)
        return with_edge(t, saved.edge if saved.index is None else output_edge(node, saved.index))
    if version(t) != saved.version:
        raise modified(node, saved)
    if saved.mark is not None and saved.mark != debug.fingerprint(bottom(t)._a):
        raise modified_unseen(node, saved)
    if layer is not None and not current().has(layer):  # the transform has ended: values one layer down
        return t._value if saved.index is None and type(t) is Box and t._layer is layer else t
    if saved.index is None:
        return t
    return with_edge(t if layer is None else layer.box(t), output_edge(node, saved.index))


def check_unpacked(t: Any, saved: Saved, node: Any) -> None:
    """What a user's unpack hook has returned has to be a tensor like the one that was packed."""
    shape, dtype = saved.mark
    was = f"for {name_of(node)}, not the tensor of shape {shape} and {dtype} that was packed"
    where, who = defined_at(saved.unpack), "saved_tensors_hooks"
    if not isinstance(t, Tensor):
        fix = "return a tensor from the unpack hook, minigrad.from_numpy(array) for an array"
        raise error(TypeError, who, f"the unpack hook returned {type(t).__name__} {was}", fix, where)
    if t._sizes != shape or t._np_dtype != dtype:
        what = f"the unpack hook returned a tensor of shape {tuple(t.shape)} and {t._np_dtype} {was}"
        raise error(RuntimeError, who, what, "undo in the unpack hook what the pack hook has done", where)


def with_edge(t: Tensor, edge: Any) -> Tensor:
    """A tensor on t's memory with the given history."""
    out = t if type(t) is Box else t.detach()
    out._edge, out._tan = edge, t._tan
    return out


def output_edge(node: Any, index: int) -> Any:
    """The edge that leads to one output of a node."""
    return node if len(node._meta) == 1 else Port(node, index)


class saved_tensors_hooks:
    """Pass every tensor that is saved for backward through `pack_hook`, and what it returns through `unpack_hook` later.

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

    def __enter__(self) -> None:
        if (message := _disabled.get()) is not None:
            raise error(RuntimeError, "saved_tensors_hooks", message)
        _hooks.set((*_hooks.get(), (self.pack_hook, self.unpack_hook)))
        enter(current().watch(1))

    def __exit__(self, *_: object) -> None:
        _hooks.set(_hooks.get()[:-1])
        enter(current().watch(-1))


@contextmanager
def disable_saved_tensors_hooks(error_message: str):
    """Make entering saved_tensors_hooks a RuntimeError with this message; so is this, where such hooks are at work.

    >>> import minigrad
    >>> x = minigrad.ones(2, requires_grad=True)
    >>> with minigrad.autograd.graph.disable_saved_tensors_hooks("no hooks here"):
    ...     y = x * x
    >>> y.requires_grad
    True
    """
    if _hooks.get():
        raise error(RuntimeError, "disable_saved_tensors_hooks", error_message)
    token = _disabled.set(error_message)
    try:
        yield
    finally:
        _disabled.reset(token)


class save_on_cpu(saved_tensors_hooks):
    """Keep what is saved for backward in the CPU's memory, as copies.

    >>> import minigrad
    >>> x = minigrad.ones(2, requires_grad=True)
    >>> with minigrad.autograd.graph.save_on_cpu():
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    tensor([2., 2.])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda"):
        super().__init__(lambda t: (t.device, t.cpu().clone()), lambda kept: kept[1].to(kept[0]))
