"""The values and operations of a recorded PyTorch program, in the form of minigrad's (minigrad/record/values.py)."""

# pyright: reportMissingImports=false, reportAttributeAccessIssue=false, reportPrivateImportUsage=false

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch._C import _functorch as functorch
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack

from minigrad.arrays.kinds import distinct
from minigrad.errors import error
from minigrad.record import schema
from minigrad.record.values import Event, Flow, OpEntry, ValueInfo


class Noted(ValueInfo):
    """The contents of a tensor at one moment, and the batch dimension of each vmap around it, innermost first.

    `key` is the number of the value, the same for all values of the recordings of methods that are this one.
    """

    __slots__ = ("bytes", "device", "dims")

    def __init__(self, index: int, t: torch.Tensor, kind: str, array: np.ndarray | None = None):
        self.dims, t = batches(t), bottom(t)
        if t.is_nested:
            fix = "pad it: t.to_padded_tensor(0.0)"
            raise error(TypeError, "from_torch", "a nested tensor cannot be recorded", fix)
        array = numbers(t) if array is None else array
        super().__init__(index, None, array, kind, tuple(t.shape), str(t.dtype).removeprefix("torch."), id(self))
        self.device, self.bytes = str(t.device), size_of(t)

    @property
    def identity(self) -> int:
        """The number by which it is the same value in the recordings of a Function's methods."""
        return self.key

    def form(self) -> tuple[str, str, int]:
        """Return the dtype, the device and the number of bytes."""
        return self.dtype, self.device, self.bytes


@dataclass(eq=False)
class Kind:
    """Stands for PyTorch's function in an event, as a class of minigrad's does."""

    names: list[str] = field(default_factory=list)  # of its inputs
    kernel: Any = None  # minigrad's, for the same operation
    forward: Any = None  # of a custom Function
    setup_context: Any = None
    primitive, n_internal = True, 0


class Call(OpEntry):
    """One operation as the user wrote it, or the entry of backward for one; its event counts once `events` has it."""

    def __init__(self, phase: str, name: str, where: schema.Where, layers: list[str], of: OpEntry | None = None):
        super().__init__(phase, name, where, layers, of)
        self.cut = ""
        self.event = Event(Kind(), self, [], [])
        self.cls: Any = None  # the user's Function
        self.primitive: Any = None  # minigrad's class for the same operation
        self.word = name  # PyTorch's own name; in args and kwargs Refs replace tensors
        self.args: tuple[Any, ...] = ()
        self.kwargs: dict[str, Any] = {}
        self.dims: dict[int, list[int]] = {}  # the `batches` of each argument and result
        self.boundary: dict[tuple, int] = {}  # (node, number of its output) of each input and output tensor
        self.upstream: dict[int, int] = {}  # incoming gradient by run of backward
        self.internal: dict[Any, int] = {}  # saved tensors that are neither arguments nor results

    @property
    def read(self) -> list[int]:
        """The values among its inputs."""
        return inputs_of(self.event)

    def sends(self, run: int, value: int, gives: int) -> None:
        """Note a contribution to the gradient of an input; an operation of several nodes may make more than one."""
        before = sum(flow.run == run and flow.value == value for flow in self.edges)
        places = [i for i, one in enumerate(self.event.inputs) if one == value] or [0]
        i = places[min(before, len(places) - 1)]
        self.edges += (Flow(value, self.event, i, self.partial(i), self.upstream[run], gives, run),)

    def partial(self, i: int) -> str:
        """Return the partial derivative with respect to input i as text: minigrad's formula if it has the same operation."""
        names = self.event.cls.names
        if self.function:
            return f"{self.function}.backward"
        if self.primitive is not None and len(self.nodes) == 1:
            star = self.primitive.variadic
            count = len(self.primitive.names) if star is None else star + len(self.event.inputs)
            texts = [self.primitive.partial_text(k) for k in range(count)]
            if getattr(self.primitive, "kernel", None) is None:  # minigrad's arguments have another order
                i, texts = sum(isinstance(one, int) for one in self.event.inputs[:i]), [text for text in texts if text]
            if texts and (text := texts[min(i, len(texts) - 1)]):
                return text
        return f"∂{self.name}/∂{names[i] if i < len(names) else 'base'}"


def inputs_of(event: Event) -> list[int]:
    """Return the values that an event reads."""
    return [i for i in event.inputs if isinstance(i, int)]


# ---------------------------------------------------------------------------------------------------------- tensors
def bottom(t: torch.Tensor) -> torch.Tensor:
    """Return the tensor underneath all transforms of torch.func."""
    while functorch.is_functorch_wrapped_tensor(t):
        t = functorch.get_unwrapped(t)
    return t


def levels(t: torch.Tensor) -> Iterator[torch.Tensor]:
    """Yield a tensor as each transform of torch.func around it sees it, and then the tensor underneath."""
    yield t
    while functorch.is_functorch_wrapped_tensor(t):
        yield (t := functorch.get_unwrapped(t))


def batches(t: torch.Tensor) -> list[int]:
    """Return the batch dimension of each vmap around a tensor, innermost first."""
    return [functorch.maybe_get_bdim(one) for one in levels(t) if functorch.is_batchedtensor(one)]


def sights(tensors: list[torch.Tensor]) -> list[tuple[str, list[list[int]]]]:
    """Return the name of each active transform of torch.func, outermost first, and the shapes of tensors as it sees them."""
    found = []
    for one in functorch.get_interpreter_stack() or []:
        seen = [next(each for each in levels(t) if functorch.maybe_get_level(each) <= one.level()) for t in tensors]
        found.append((str(one.key()).rsplit(".", 1)[-1].lower(), [list(each.shape) for each in seen]))
    return found


def edges_of(t: torch.Tensor) -> list[tuple]:
    """Return node and output number of a tensor, at each level of transforms around it and underneath them."""
    found = []
    with suppress(RuntimeError):  # PyTorch raises for a view whose base was written in another grad mode
        for one in levels(t):
            found += [(one.grad_fn, one.output_nr)] if one.grad_fn is not None else []
    return found


def version(t: torch.Tensor) -> int:
    """Return a tensor's version counter; -1 for a tensor made in inference mode, which has none."""
    t = bottom(t)
    return -1 if t.is_inference() else t._version


def memory(t: torch.Tensor) -> int:
    """Return an identifier of a tensor's storage."""
    t = bottom(t)
    return t.untyped_storage()._cdata if has_memory(t) else id(t)


def is_leaf(t: torch.Tensor) -> bool:
    """Return True for a leaf that requires grad, except a view of a leaf made without grad, which PyTorch also calls a leaf."""
    try:
        return t.requires_grad and t.is_leaf and (t._base is None or not t._base.requires_grad)
    except RuntimeError:  # PyTorch raises for a view whose base was written in another grad mode
        return False


@contextmanager
def quiet() -> Iterator[None]:
    """Leave all transforms and record no graph inside the block."""
    with torch._C.DisableTorchFunction(), torch.no_grad(), temporarily_clear_interpreter_stack():
        yield


def numbers(t: torch.Tensor) -> np.ndarray | None:
    """Return a copy of a tensor's elements; None if they cannot be read, as on the device "meta"."""
    if t.is_meta or functorch.is_legacy_batchedtensor(t):
        return None
    with quiet():
        t = torch.zeros(t.shape, dtype=t.dtype) if t._is_zerotensor() else t.detach()
        t = t.dequantize() if t.is_quantized else t.to_dense() if t.layout is not torch.strided else t
        t = t.cpu().resolve_conj().resolve_neg()
        try:
            a = t.numpy()
        except TypeError:  # NumPy has no bfloat16
            once = t[tuple([slice(1) if step == 0 else slice(None) for step in t.stride()])]
            a = once.float().expand(t.shape).numpy()
        return np.broadcast_to(np.array(distinct(a)), a.shape) if 0 in a.strides else np.array(a)


def has_memory(t: torch.Tensor) -> bool:
    """Return True for a strided tensor with real memory: not sparse, nested, on meta, or a zero without storage."""
    other = t.is_meta or t.is_nested or t._is_zerotensor() or functorch.is_legacy_batchedtensor(t)
    return t.layout is torch.strided and not other


def size_of(t: torch.Tensor) -> int:
    """Return the bytes of a tensor's elements."""
    return t.numel() * t.element_size()


def saved_by_node(node: Any) -> list[torch.Tensor]:
    """Return the tensors that a node saves for backward, except those packed by hooks: unpacking them may run code."""
    found = []
    for name in saved_names(type(node)):
        raw = getattr(node, name)
        for one in raw if isinstance(raw, (list, tuple)) else [raw]:
            if one is not None and one.unpack_hook is None and one.data is not None:
                found.append(one.data)
    return found


@functools.cache
def saved_names(kind: type) -> tuple[str, ...]:
    """Return the names of a node type's attributes for saved tensors."""
    return tuple(name for name in dir(kind) if name.startswith("_raw_saved_"))


def is_freed(node: Any) -> bool:
    """Return True if backward has freed a node's saved tensors."""
    try:
        return not saved_by_node(node)
    except RuntimeError:
        return True
