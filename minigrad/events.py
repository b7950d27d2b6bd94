"""Observers and services: how other packages plug into the engine, which works without them.

An `Observer` hears what happens.  One on a frame hears what runs there (Frame.observed); one in `events` hears what happens
anywhere in the process.  `services` holds five functions, each of which another package replaces once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from .arrays.errstate import Heard

if TYPE_CHECKING:
    from .core.frames import Frame
    from .core.graph import Leaf, Node
    from .core.saved import Saved
    from .core.tensor import Tensor


class Observer:
    """Everything that can be observed.  Each method is an event; an observer overrides those that it wants to hear.

    Where an event has an answer, the first observer that returns anything but None gives it.
    """

    # ------------------------------------------------------------------ operations, on a frame
    def op_done(self, frame: Frame, cls: type, args: tuple, outs: tuple, node: Node | None) -> None:
        """Observe an operation that has run in eager mode; `node` is the ctx of a user's Function, else None."""

    def node_made(self, node: Node) -> None:
        """Observe a node that has become the history of tensors (on a frame or in the process)."""

    def detached(self, how: str, t: Tensor, out: Tensor) -> None:
        """Observe that the user detaches t, with the result `out`, which may be t (on a frame or in the process)."""

    def pack(self, t: Tensor, index: int | None) -> Any:
        """Return a Saved to keep instead of t, or None to keep t; `index` is its number among the node's outputs, or None."""

    def saved(self, saved: Saved) -> None:
        """Observe a tensor that has been saved for backward."""

    def unpacked(self, saved: Saved, node: Node) -> None:
        """Observe a saved tensor that is about to be used."""

    def flowed(self, node: Node, outs: tuple) -> None:
        """Observe the gradients that a node's backward returned."""

    # ------------------------------------------------------------------ operations, in the process
    def layer_process(self, process: Callable) -> Any:
        """Answer with a function to call instead of a layer's method `process`, (frame, cls, args)."""

    def dual_level_of(self, args: Sequence, roots: Sequence = ()) -> Any:
        """Answer with another thread's dual level, at which an argument, or a tensor saved behind `roots`, has a tangent."""

    def dual_made(self, t: Tensor, tangent: Tensor) -> None:
        """Observe that the program has given t a tangent."""

    def drawn(self, t: Tensor) -> None:
        """Observe newly drawn random numbers."""

    def communicated(self, call: Any, ended: bool) -> None:
        """Observe a collective that is about to write its results, or has ended."""

    # ------------------------------------------------------------------ users' Functions, modules and checkpoints
    def defined(self, cls: type) -> None:
        """Observe a new Function that defines its own forward."""

    def forward(self, run: Callable) -> Any:
        """Answer with a function to call instead of `run`, which runs a forward and setup_context: (frame, ctx, args)."""

    def method(self, cls: type, name: str, method: Callable) -> Any:
        """Answer with a function to call instead of a user's method."""

    def attached(self, name: str, args: tuple, outs: tuple) -> None:
        """Observe the outputs of a user's Function `name`, with their histories."""

    def module_begins(self, module: Any) -> None:
        """Observe that a module is called."""

    def module_ends(self, module: Any) -> None:
        """Observe that a module's call is over."""

    def checkpoint(self, what: str, node: Node, inputs: Any) -> None:
        """Observe a checkpointed function: "region_began", "again_began" or "again_ended"."""

    def fetch(self, fetch: Callable) -> Any:
        """Answer with a function to call instead of `fetch`, with which a DataLoader begins a pass or makes a batch."""

    # ------------------------------------------------------------------ tensors in the user's hands
    def read(self, t: Tensor, how: str) -> Any:
        """Observe that the user reads a tensor's values, `.grad` or the like; the answer replaces the result."""

    def numbers(self, data: Any) -> Any:
        """Answer with the Python numbers of which to make a tensor, instead of `data`."""

    def built(self, t: Tensor) -> None:
        """Observe that the user has made a tensor of an array."""

    def changes(self, what: str, t: Tensor | None = None) -> None:
        """Observe that something that outlives the call is about to change, for example a generator."""

    def tracked(self, t: Tensor, before: Leaf | None) -> None:
        """Observe that a tensor starts or stops requiring grad; `before` is its previous edge."""

    def replaces(self) -> None:
        """Observe that a tensor is about to get another array."""

    def lent(self, memory: Any, how: str) -> Any:
        """Observe that the user gets a tensor's memory, or lends an array; answer with the counter of the tensor on it."""

    def shown(self, what: Any) -> Any:
        """Answer with the representations of a tensor, a node or a record for a notebook, by their media types."""

    def origins(self, tensors: dict) -> Any:
        """Answer with lines that tell how tensors were made, {name: tensor}."""

    # ------------------------------------------------------------------ backward
    def backward_begins(
        self, who: str, edges: list, wanted: set | None, *, keeps: bool, create: bool, place: Any, due: bool
    ) -> Any:
        """Observe a backward that has to be checked; answer with the context in which to run it."""

    def backward_ends(self, run: Any, found: dict) -> None:
        """Observe the end of a backward, with the gradients by edge."""

    def dropped(self, who: str) -> None:
        """Observe a functional dropout that drops elements."""

    def not_finite(self, who: str, what: str) -> None:
        """Observe that NumPy has made an infinity or a NaN: the operation, and NumPy's message."""


def unheard(*facts: Any, **named: Any) -> Any:
    """Do nothing: the event has no observer."""


class Events:
    """The observers of the whole process.  `events.drawn(t)`, for example, tells all of them, and returns the answer."""

    observers: tuple[Observer, ...] = ()

    if TYPE_CHECKING:

        def __getattr__(self, event: str) -> Callable: ...

    def __init__(self):
        self.set(())

    def add(self, observer: Observer) -> None:
        """Add an observer, unless it is there."""
        with lock:
            if observer not in self.observers:
                self.set((*self.observers, observer))

    def remove(self, observer: Observer) -> None:
        """Remove an observer."""
        with lock:
            self.set(tuple([o for o in self.observers if o is not observer]))

    def set(self, observers: tuple[Observer, ...]) -> None:
        """Set the observers, and for each event the function that tells those who have a method for it."""
        found: dict[str, Any] = {"observers": observers}
        for name, empty in vars(Observer).items():
            if not name.startswith("_"):
                tell = [getattr(o, name) for o in observers if getattr(type(o), name) is not empty]
                found[name] = partial(tell_all, tell) if len(tell) > 1 else tell[0] if tell else unheard
        vars(self).update(found)  # at once, because Ctrl-C may come between two lines


lock = threading.RLock()  # two threads may each add an observer


def tell_all(listeners: list[Callable], *facts: Any, **named: Any) -> Any:
    """Tell several observers of an event, and return their first answer."""
    answers = [listener(*facts, **named) for listener in listeners]
    return next((a for a in answers if a is not None), None)


class Services:
    """Five functions for which other packages have better ones."""

    @staticmethod
    def problem(sentence: str, **facts: object) -> Exception:
        """Return the exception for a fault, given the broken rule and the known facts (diagnose explains it)."""
        return RuntimeError(f"{sentence}: " + ", ".join(f"{k}={v!r}" for k, v in facts.items()))

    @staticmethod
    def notice(code: str, **facts: object) -> None:
        """Take note of what is allowed but rarely meant, or needs a closer check, which may raise (diagnose warns)."""

    @staticmethod
    def call_method(cls: type, name: str, *args: object) -> Any:
        """Call a method that a user wrote (diagnose explains its exceptions)."""
        return getattr(cls, name)(*args)

    @staticmethod
    def accelerate(cls: type) -> bool:
        """Write out an operation at its first call; return True if that was possible (fast)."""
        return False

    @staticmethod
    def write(frame: Frame, fn: type, x: Tensor, others: tuple) -> bool:
        """Write in place if no history changes; return False if it is not that simple (fast)."""
        return False

    def provide(self, **functions: Callable) -> None:
        """Replace services, by name."""
        assert set(functions) <= set(vars(Services)), functions
        vars(self).update(functions)


events, services = Events(), Services()
Heard.by = staticmethod(lambda who, what: events.not_finite(who, what))
