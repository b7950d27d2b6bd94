"""Where are we?  An immutable chain of frames, one for each active transform, held in a ContextVar.

A frame says which layer handles operations, whether gradients are recorded there and which dual level is open.  Frames
are never changed, only replaced, and the variable is a ContextVar: threads, asyncio tasks and generators cannot see
each other's.  Plain eager mode is one of two constants, ON and OFF, so testing for it is an identity test.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any
from weakref import WeakSet

from ..diagnose.debug import ALWAYS


class Layer:
    """One running transform.  Layers are compared by identity, so there are no level numbers to confuse."""

    name = "eager"
    title = ""  # what errors call it, where that is more than its name
    transparent = True  # it sees tensors as the layer below does
    records = False  # it notes operations and does nothing to them
    opaque = False  # a user's methods or hooks take part in its backward, and may use any tensor there

    def handles(self, fn: type, args: tuple) -> bool:
        """Whether this layer has to process `fn(*args)`: it does when it owns one of the arguments."""
        return any(getattr(a, "_layer", None) is self for a in args)

    def adopt(self, value: Any) -> Any:
        """A tensor made inside this transform as its function sees it."""
        return value

    def reading(self, who: str) -> None:
        """The operation `who` decides by a tensor's values how large its result is; a layer may refuse."""

    def noter(self, frame: Frame) -> Any:
        """What Frame.note holds for a frame of this layer."""

    def elementwise(self, frame: Frame, f: Any, *groups: Any) -> Any:
        """f of tuples of tensors that acts on each element alone, so that vmap may run it a layer down as a whole."""
        return f(*groups)


EAGER = Layer()


class Frame:
    """One link of the chain: a layer, and the modes in force there."""

    # watched: how many look at each node as it is made (anomaly detection, debug mode, saved_tensors_hooks)
    # quick: whether operations may run here by their written-out road (fast/): in eager code without other modes,
    # also under a recording, whose `note` is then called with the operation, its arguments and its result
    # asked: under inference_mode, where grad is off, whether enable_grad was asked for, which is_grad_enabled tells of
    __slots__ = ("asked", "dual", "grad", "inference", "layer", "note", "parent", "quick", "watched")

    def __init__(
        self, layer: Layer, grad: bool = True, dual: Any = None, inference: bool = False, parent: Frame | None = None
    ):
        self.layer, self.grad, self.dual, self.inference, self.parent = layer, grad, dual, inference, parent
        self.watched = 0 if parent is None else parent.watched
        self.note: Any = None
        self.quick = self.asked = False

    def but(self, **changes: Any) -> Frame:
        """This frame with some modes changed; the plain eager ones are always the constants ON and OFF."""
        new = Frame(self.layer, self.grad, self.dual, self.inference, self.parent)
        new.watched, new.asked = self.watched, self.asked
        for name, value in changes.items():
            setattr(new, name, value)
        if new.layer is EAGER and new.dual is None and not new.inference and not new.watched:
            return ON if new.grad else OFF
        new.note = new.layer.noter(new)
        new.quick = new.note is not None
        return new

    def watch(self, step: int) -> Frame:
        """The whole chain with one watcher more or less."""
        return self.but(watched=self.watched + step, parent=None if self.parent is None else self.parent.watch(step))

    def all_grad(self, grad: bool) -> Frame:
        """The whole chain with gradients on or off: inside a transform every enclosing derivative is meant.

        Under inference_mode they stay off.
        """
        if self is ON or self is OFF:
            return ON if grad else OFF
        parent = None if self.parent is None else self.parent.all_grad(grad)
        return self.but(grad=grad and not self.inference, asked=grad and self.inference, parent=parent)

    def grad_of(self, other: Frame) -> Frame:
        """The whole chain with the gradient modes that `other`'s chain has."""
        if (self is ON or self is OFF) and (other is ON or other is OFF):
            return other
        parent = self.parent if self.parent is None or other.parent is None else self.parent.grad_of(other.parent)
        return self.but(grad=other.grad, asked=other.asked, inference=other.inference, parent=parent)

    def has(self, layer: Layer) -> bool:
        """Whether `layer` is still running, here or further out."""
        frame: Frame | None = self
        while frame is not None:
            if frame.layer is layer:
                return True
            frame = frame.parent
        return False

    def plain(self) -> Frame:
        """The innermost frame outside of all transforms, where plain tensors are at home."""
        frame, found = self, self
        while frame is not None:
            if not frame.layer.transparent:
                assert frame.parent is not None
                found = frame.parent
            frame = frame.parent
        return found

    def layers(self) -> list:
        """The layers around, outermost first."""
        return [] if self.layer is EAGER else [*(self.parent.layers() if self.parent else []), self.layer]


ON = Frame(EAGER, True)
OFF = Frame(EAGER, False)
ON.quick = OFF.quick = True
_frame: ContextVar[Frame] = ContextVar("minigrad.frame", default=ON.watch(1) if ALWAYS else ON)
current = _frame.get
enter = _frame.set


class use:
    """`with use(frame):` work at that frame.  A class, at half the cost of a generator: this is a hot path."""

    __slots__ = ("frame", "old")

    def __init__(self, frame: Frame):
        self.frame = frame

    def __enter__(self) -> Frame:
        self.old = current()
        enter(self.frame)
        return self.frame

    def __exit__(self, *_: object) -> None:
        enter(self.old)


transforms: ContextVar[tuple] = ContextVar("minigrad.transforms", default=())  # names of those that run, for errors


class push:
    """`with push(layer):` enter a transform.  It starts with gradients on, whatever no_grad stands around it."""

    __slots__ = ("layer", "old", "token")

    def __init__(self, layer: Any):
        self.layer = layer

    def __enter__(self) -> Any:
        self.old = current()
        enter(Frame(self.layer, True, None, False, self.old))
        around = transforms.get()
        self.token = transforms.set(
            around if self.layer.transparent else (*around, self.layer.title or self.layer.name)
        )
        return self.layer

    def __exit__(self, *_: object) -> None:
        transforms.reset(self.token)
        enter(self.old)


def apply_at(frame: Frame, cls: Any, args: tuple) -> Any:
    """Give the operation to the innermost layer, from `frame` outwards, that owns one of the arguments."""
    while (layer := frame.layer) is not EAGER:
        if layer.handles(cls, args):
            if not recordings or layer.records:
                return layer.process(frame, cls, args)
            token = passed.set((*passed.get(), frame.layer))
            for recording in recordings:
                recording.saw(frame.layer, args)
            try:
                return frame.layer.process(frame, cls, args)
            finally:
                passed.reset(token)
        frame = frame.parent
    if (frame is ON or frame is OFF) and cls.primitive and not recordings:
        with use(frame):
            return cls.apply(*args)  # by the written-out road, where there is one
    return cls._eager(frame, args)


running: ContextVar[Any] = ContextVar(
    "minigrad.running", default=None
)  # the backward (engine.Pending) that goes on here
recordings: list = []  # those that run anywhere in the process: only then the way of an operation through layers is noted
unsettled: WeakSet = WeakSet()  # recordings, running or over, that have yet to look at tensors
passed: ContextVar[tuple] = ContextVar("minigrad.passed", default=())  # the layers that the operation came through


def replacing() -> None:
    """A tensor is about to get another array: recordings that have yet to look at it do so now."""
    for recording in list(unsettled):
        recording.settle()


def reading(who: str) -> None:
    """Tell the layers around that an operation is about to decide by values how large its result is."""
    for layer in current().layers():
        layer.reading(who)
