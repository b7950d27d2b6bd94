"""Say where we are: an immutable chain of frames, one for each active transform, held in a ContextVar.

A frame says which layer handles operations, whether gradients are recorded there, and who looks on.  Frames are never changed,
only replaced, and the variable is a ContextVar: threads, asyncio tasks and generators cannot see each other's.  Plain eager
mode is one of two constants, ON and OFF, so that testing for it is an identity test.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from ..places import transforms
from .events import Observer, slots

if TYPE_CHECKING:
    from .graph import Node
    from .tensor import Tensor


class Layer:
    """One running transform.  Layers are compared by identity, so there are no level numbers to confuse."""

    name = "eager"
    title = ""  # what errors call it, where that is more than its name
    transparent = True  # it sees tensors as the layer below does
    records = False  # it notes operations and does nothing to them
    compares = False  # what is made inside is compared with what another run makes, memory that is not set included
    convert: Any = None  # what it makes of an operand of a product, where the operands' dtypes differ
    accumulates = False  # backward() inside it gives `.grad` to tensors of the level below
    opaque = False  # a user's methods or hooks take part in its backward, and may use any tensor there

    def handles(self, fn: type, args: tuple) -> bool:
        """Return whether this layer has to process `fn(*args)`: it does when it owns one of the arguments."""
        return any(getattr(a, "_layer", None) is self for a in args)

    def process(self, frame: Frame, cls: type, args: tuple) -> Any:
        """Run the operation: one layer down, in most layers."""
        raise NotImplementedError

    def inplace(self, frame: Frame, fn: type, x: Tensor, others: tuple) -> Any:
        """Write fn(x, *others) into x."""
        raise NotImplementedError

    def adopt(self, value: Tensor) -> Any:
        """Return a tensor that was made inside this transform as its function sees it."""
        return value

    def varies(self, why: str, fix: str = "") -> None:
        """Refuse, if need be, what an operation is about to do that differs from call to call, and is no step of a program."""

    def on_op(self, frame: Frame) -> Callable | None:
        """Return what Frame.on_op holds for a frame of this layer."""

    def elementwise(self, frame: Frame, f: Callable, *groups: tuple) -> Any:
        """Return f of tuples of tensors; f acts on each element alone, so that vmap may run it a layer down as a whole."""
        return f(*groups)


EAGER = Layer()


class Frame:
    """One link of the chain: a layer, and the modes in force there."""

    # grad: whether operations are recorded | inference: inference_mode | dual: the open level of forward mode, or None
    # asked: whether enable_grad was asked for under inference_mode, where grad is off; is_grad_enabled tells of it
    # observers: those who look on | parent: the frame outside
    # eager_ok: whether written-out operations (fast/) may run here; on_op is then called with each, if it is not None
    __slots__ = ("asked", "dual", "eager_ok", "grad", "inference", "layer", "observers", "on_op", "parent")
    parent: Any  # a Frame for every layer but EAGER

    def __init__(
        self, layer: Layer, grad: bool = True, dual: Any = None, inference: bool = False, parent: Frame | None = None
    ):
        self.layer, self.grad, self.dual, self.inference, self.parent = layer, grad, dual, inference, parent
        self.observers: tuple[Observer, ...] = () if parent is None else parent.observers
        self.on_op: Callable | None = None
        self.eager_ok = self.asked = False

    def but(self, **changes: object) -> Frame:
        """Return this frame with some modes changed; the plain eager ones are always the constants ON and OFF."""
        new = Frame(self.layer, self.grad, self.dual, self.inference, self.parent)
        new.observers, new.asked = self.observers, self.asked
        for name, value in changes.items():
            setattr(new, name, value)
        if new.layer is EAGER and new.dual is None and not new.inference and new.observers == ON.observers:
            return ON if new.grad else OFF
        new.on_op = new.layer.on_op(new)
        new.eager_ok = new.on_op is not None
        return new

    def chain(self, change: Callable[[Frame, Any], Frame]) -> Frame:
        """Return the whole chain changed, from its outermost frame on; `change` takes a frame and the new one outside it."""
        return change(self, None if self.parent is None else self.parent.chain(change))

    def observed(self, observer: Observer, on: bool = True) -> Frame:
        """Return the whole chain with one observer more, or without it."""
        observers = tuple([o for o in self.observers if o is not observer] + [observer] * on)
        return self.chain(lambda f, parent: f.but(observers=observers, parent=parent))

    def all_grad(self, grad: bool) -> Frame:
        """Return the whole chain with gradients on or off: inside a transform every enclosing derivative is meant.

        Under inference_mode they stay off.
        """
        if self is ON or self is OFF:
            return ON if grad else OFF
        return self.chain(
            lambda f, parent: f.but(grad=grad and not f.inference, asked=grad and f.inference, parent=parent)
        )

    def below(self) -> Frame:
        """Return the frame outside with the modes in force here: for layers that hand operations on as they are."""
        p = self.parent
        if (p.grad, p.dual, p.inference) == (self.grad, self.dual, self.inference):
            return p
        return p.but(grad=self.grad, dual=self.dual, inference=self.inference)

    def has(self, layer: Layer) -> bool:
        """Return whether `layer` is still running, here or further out."""
        frame: Frame | None = self
        while frame is not None:
            if frame.layer is layer:
                return True
            frame = frame.parent
        return False

    def layers(self) -> list:
        """Return the layers around, outermost first."""
        return [] if self.layer is EAGER else [*(self.parent.layers() if self.parent else []), self.layer]


ON, OFF = Frame(EAGER, True), Frame(EAGER, False)
ON.eager_ok = OFF.eager_ok = True
_frame: ContextVar[Frame] = ContextVar("minigrad.frame", default=ON)
current = _frame.get
enter = _frame.set


class use:
    """`with use(frame):` work at that frame.  A class, at half the cost of a generator: this is a hot path."""

    __slots__ = ("frame", "old")

    def __init__(self, frame: Frame):
        self.frame = frame

    def __enter__(self) -> Frame:
        self.old = current()
        try:
            enter(self.frame)
        except BaseException:  # Ctrl-C comes between two instructions: here, before the body of the `with` has begun
            enter(self.old)
            raise
        return self.frame

    def __exit__(self, *_: object) -> None:
        enter(self.old)


class push(use):
    """`with push(layer):` enter a transform.  It starts with gradients on, whatever no_grad stands around it."""

    __slots__ = ("around",)

    def __init__(self, layer: Layer):
        self.frame = Frame(layer, True, None, False, current())

    def __enter__(self) -> Any:
        layer, self.around = self.frame.layer, transforms.get()
        try:
            transforms.set(self.around if layer.transparent else (*self.around, layer.title or layer.name))
            use.__enter__(self)
        except BaseException:
            transforms.set(self.around)
            raise
        return layer

    def __exit__(self, *_: object) -> None:
        try:
            enter(self.old)
        finally:
            transforms.set(self.around)


def apply_at(frame: Frame, cls: Any, args: tuple) -> Any:
    """Give the operation to the innermost layer, from `frame` outwards, that owns one of the arguments."""
    while (layer := frame.layer) is not EAGER:
        if layer.handles(cls, args):
            if slots.process is None:
                return layer.process(frame, cls, args)
            return slots.process(layer, frame, cls, args)
        frame = frame.parent
    if (frame is ON or frame is OFF) and cls.primitive and slots.process is None:
        with use(frame):
            return cls.apply(*args)  # as it was written out, where it was
    return cls.eager(frame, args)


def node_made(node: Node) -> None:
    """Tell those who look on that a node has become the history of tensors."""
    for o in current().observers:
        o.node_made(node)
    if slots.node_made is not None:
        slots.node_made(node)
