"""The current context: an immutable chain of frames, one for each active transform, held in a ContextVar.

A frame names the layer that handles operations, the modes in force (such as grad mode), and the observers.  Frames never
change, they are only replaced.  Because the variable is a ContextVar, threads, asyncio tasks and generators do not see each
other's frames.  Plain eager mode is one of two constants, ON and OFF, so that an identity test detects it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from ..events import Observer, events, intercept, unheard
from ..places import transforms
from ..scopes import setting

if TYPE_CHECKING:
    from .graph import Node
    from .tensor import Tensor


class Layer:
    """One running transform.  Layers are compared by identity, so there are no level numbers to confuse."""

    name = "eager"
    title = ""  # the name in error messages, if longer than `name`
    transparent = True  # it sees tensors as the layer below does
    records = False  # it records operations and does not change them
    compares = False  # its results are compared with another run's, uninitialized memory included
    convert: Any = None  # converts an operand of a product whose operands differ in dtype
    accumulates = False  # backward() inside it sets `.grad` on tensors of the level below
    opaque = False  # its backward runs users' methods or hooks, which may use any tensor there

    def handles(self, fn: type, args: tuple) -> bool:
        """Return True if this layer must process `fn(*args)`: by default, if it owns one of the arguments."""
        return any(getattr(a, "_layer", None) is self for a in args)

    def process(self, frame: Frame, cls: type, args: tuple) -> Any:
        """Run the operation: in most layers, one layer down."""
        raise NotImplementedError

    def inplace(self, frame: Frame, fn: type, x: Tensor, others: tuple) -> Any:
        """Write fn(x, *others) into x."""
        raise NotImplementedError

    def adopt(self, value: Tensor) -> Any:
        """Return a tensor made inside this transform as the transform's function sees it."""
        return value

    def varies(self, why: str, fix: str = "") -> None:
        """Raise, if need be, before an operation that differs from call to call and so cannot be a step of a program."""

    def on_op(self, frame: Frame) -> Callable | None:
        """Return the value of Frame.on_op for a frame of this layer."""

    def elementwise(self, frame: Frame, f: Callable, *groups: tuple) -> Any:
        """Return f of tuples of tensors; f acts on each element alone, so vmap can run all of it one layer down."""
        return f(*groups)


EAGER = Layer()


class Frame:
    """One link of the chain: a layer and the modes in force there."""

    # grad: True if operations are recorded | inference: inference_mode | dual: the open level of forward mode, or None
    # asked: enable_grad was requested under inference_mode, where grad stays off; is_grad_enabled reports it
    # observers: see events.py | parent: the frame outside
    # eager_ok: True if written-out operations (fast/) may run here; they then call on_op, if it is not None
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
        """Return this frame with some modes changed; the plain eager frames are always the constants ON and OFF."""
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
        """Return the whole chain changed, from its outermost frame inwards; `change` takes a frame and its new parent."""
        return change(self, None if self.parent is None else self.parent.chain(change))

    def observed(self, observer: Observer, on: bool = True) -> Frame:
        """Return the whole chain with one more observer, or without it."""
        observers = tuple([o for o in self.observers if o is not observer] + [observer] * on)
        return self.chain(lambda f, parent: f.but(observers=observers, parent=parent))

    def all_grad(self, grad: bool) -> Frame:
        """Return the whole chain with gradients on or off: inside a transform this concerns every enclosing derivative.

        They stay off under inference_mode.
        """
        if self is ON or self is OFF:
            return ON if grad else OFF
        return self.chain(
            lambda f, parent: f.but(grad=grad and not f.inference, asked=grad and f.inference, parent=parent)
        )

    def below(self) -> Frame:
        """Return the parent frame with the modes in force here, for layers that pass operations on unchanged."""
        p = self.parent
        if (p.grad, p.dual, p.inference) == (self.grad, self.dual, self.inference):
            return p
        return p.but(grad=self.grad, dual=self.dual, inference=self.inference)

    def has(self, layer: Layer) -> bool:
        """Return True if `layer` is still running, here or further out."""
        return self.layer is layer or self.parent is not None and self.parent.has(layer)

    def layers(self) -> list:
        """Return the enclosing layers, outermost first."""
        return [] if self.layer is EAGER else [*(self.parent.layers() if self.parent else []), self.layer]


ON, OFF = Frame(EAGER, True), Frame(EAGER, False)
ON.eager_ok = OFF.eager_ok = True
_frame: ContextVar[Frame] = ContextVar("minigrad.frame", default=ON)
current = _frame.get
enter = _frame.set


class use(setting):
    """`with use(frame):` run the body in that frame."""

    __slots__ = ()

    def __init__(self, frame: Frame):
        self.var, self.value = _frame, frame


class push(use):
    """`with push(layer):` enter a transform.  It starts with gradients on, even inside no_grad."""

    __slots__ = ("around",)

    def __init__(self, layer: Layer):
        super().__init__(Frame(layer, True, None, False, current()))

    def __enter__(self) -> Any:
        layer, self.around = self.value.layer, transforms.get()
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


def call_in(frame: Frame, f: Callable, *args: object) -> Any:
    """Call f in that frame; `with use(frame)` costs twice as much."""
    here = current()
    try:
        enter(frame)
        return f(*args)
    finally:
        enter(here)


def apply_at(frame: Frame, cls: Any, args: tuple) -> Any:
    """Pass the operation to the innermost layer, from `frame` outwards, that owns one of the arguments."""
    while (layer := frame.layer) is not EAGER:
        if layer.handles(cls, args):
            process = layer.process if intercept.layer_process is unheard else intercept.layer_process(layer.process)
            return process(frame, cls, args)
        frame = frame.parent
    if (frame is ON or frame is OFF) and cls.primitive and intercept.layer_process is unheard:
        return call_in(frame, cls.apply, *args)  # in its written-out form, if it has one
    return cls.eager(frame, args)


def recorder_of(frame: Frame | None) -> Any:
    """Return the enclosing recording, which observes the gradient of each edge, or None."""
    while frame is not None and not frame.layer.records:
        frame = frame.parent
    return None if frame is None else frame.layer


def node_made(node: Node) -> None:
    """Notify the observers that a node has become the history of tensors."""
    for o in current().observers:
        o.node_made(node)
    events.node_made(node)
