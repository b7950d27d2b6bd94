"""Observers, interceptors and services: how other packages plug into the engine, which works without them.

An `Observer` hears what happens.  One on a frame hears what runs there (Frame.observed); one in `events` hears what happens
anywhere in the process.  An `Interceptor` hears it, too, and also changes it: `intercept` asks those in `events` what to use
instead.  `services` holds five functions, each of which another package replaces once.
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
    """Everything that can be observed.  Each method is an event; an observer overrides those that it wants to hear."""

    # ------------------------------------------------------------------ operations, on a frame
    def op_done(self, frame: Frame, cls: type, args: tuple, outs: tuple, node: Node | None) -> None:
        """Observe an operation that has run in eager mode; `node` is the ctx of a user's Function, else None."""

    def node_made(self, node: Node) -> None:
        """Observe a node that has become the history of tensors (on a frame or in the process)."""

    def saved(self, saved: Saved) -> None:
        """Observe a tensor that has been saved for backward."""

    def unpacked(self, saved: Saved, node: Node) -> None:
        """Observe a saved tensor that is about to be used."""

    def flowed(self, node: Node, outs: tuple) -> None:
        """Observe the gradients that a node's backward returned."""

    # ------------------------------------------------------------------ operations, in the process
    def dual_made(self, t: Tensor, tangent: Tensor) -> None:
        """Observe that the program has given t a tangent."""

    def drawn(self, t: Tensor) -> None:
        """Observe newly drawn random numbers."""

    def communicated(self, call: Any, ended: bool) -> None:
        """Observe a collective that is about to write its results, or has ended."""

    # ------------------------------------------------------------------ users' Functions, modules and checkpoints
    def defined(self, cls: type) -> None:
        """Observe a new Function that defines its own forward."""

    def attached(self, name: str, args: tuple, outs: tuple) -> None:
        """Observe the outputs of a user's Function `name`, with their histories."""

    def module_begins(self, module: Any) -> None:
        """Observe that a module is called."""

    def module_ends(self, module: Any) -> None:
        """Observe that a module's call is over."""

    def checkpoint(self, what: str, node: Node, inputs: Any) -> None:
        """Observe a checkpointed function: "region_began", "again_began" or "again_ended"."""

    # ------------------------------------------------------------------ tensors in the user's hands
    def read(self, t: Tensor, how: str) -> None:
        """Observe that the user reads a tensor's values, `.grad` or the like."""

    def detached(self, how: str, t: Tensor, out: Tensor) -> None:
        """Observe that the user detaches t, with the result `out`, which may be t itself."""

    def built(self, t: Tensor) -> None:
        """Observe that the user has made a tensor of an array."""

    def changes(self, what: str, t: Tensor | None = None) -> None:
        """Observe that something that outlives the call is about to change, for example a generator."""

    def tracked(self, t: Tensor, before: Leaf | None) -> None:
        """Observe that a tensor starts or stops requiring grad; `before` is its previous edge."""

    def replaces(self) -> None:
        """Observe that a tensor is about to get another array."""

    def writes(self, x: Tensor) -> None:
        """Observe that memory is about to be written in place; quick writes do not tell, so they wait while it is heard."""

    def lent(self, memory: Any, how: str) -> None:
        """Observe that the user gets a tensor's memory, or lends an array."""

    # ------------------------------------------------------------------ backward
    def backward_begins(self, who: str, edges: list, wanted: set | None, *, keeps: bool, place: Any, due: bool) -> None:
        """Observe a backward that has to be checked."""

    def backward_ends(self, run: Any, found: dict) -> None:
        """Observe the end of a backward, with the gradients by edge."""

    def dropped(self, who: str) -> None:
        """Observe a functional dropout that drops elements."""

    def not_finite(self, who: str, what: str) -> None:
        """Observe that NumPy has made an infinity or a NaN: the operation, and NumPy's message."""


class Interceptor(Observer):
    """An observer that also answers, each method with what to use instead; the first answer but None counts."""

    def pack(self, t: Tensor, index: int | None) -> Any:
        """Answer, on a frame, with a Saved to keep instead of t; `index` is its number among the node's outputs, or None."""

    def layer_process(self, process: Callable) -> Any:
        """Answer with a function to call instead of a layer's method `process`, (frame, cls, args)."""

    def dual_level_of(self, args: Sequence) -> Any:
        """Answer with another thread's dual level, at which an argument has a tangent."""

    def forward(self, run: Callable) -> Any:
        """Answer with a function to call instead of `run`, which runs a forward and setup_context: (frame, ctx, args)."""

    def method(self, cls: type, name: str, method: Callable) -> Any:
        """Answer with a function to call instead of a user's method."""

    def fetch(self, fetch: Callable) -> Any:
        """Answer with a function to call instead of `fetch`, with which a DataLoader begins a pass or makes a batch."""

    def item(self, t: Tensor) -> Any:
        """Answer with the result of t.item()."""

    def numbers(self, data: Any) -> Any:
        """Answer with the Python numbers of which to make a tensor, instead of `data`."""

    def counter(self, t: Tensor) -> Any:
        """Answer with the version counter of the tensor that t.data returns."""

    def around_backward(self, edges: list) -> Any:
        """Answer with the context in which to run a backward that has to be checked."""

    def shown(self, what: Any) -> Any:
        """Answer with the representations of a tensor, a node or a record for a notebook, by their media types."""

    def origins(self, tensors: dict) -> Any:
        """Answer with lines that tell how tensors were made, {name: tensor}."""


def unheard(*facts: Any, **named: Any) -> Any:
    """Do nothing: the event has no observer."""


class Questions:
    """The questions to interceptors: `intercept.fetch(f)`, for example, returns their first answer."""

    if TYPE_CHECKING:

        def __getattr__(self, question: str) -> Callable: ...


class Events:
    """The observers of the whole process.  `events.drawn(t)`, for example, tells all of them."""

    observers: tuple[Observer, ...] = ()

    if TYPE_CHECKING:

        def __getattr__(self, event: str) -> Callable: ...

    def __init__(self):
        self.intercept = Questions()
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
        """Set the observers, and for each event and question the function that reaches those who have a method for it."""
        told = {"observers": observers, **listeners(Observer, observers, tell_all)}
        asked = listeners(Interceptor, [o for o in observers if isinstance(o, Interceptor)], ask_all)
        vars(self).update(told), vars(self.intercept).update(asked)  # at once: Ctrl-C may come between two lines


lock = threading.RLock()  # two threads may each add an observer


def listeners(kind: type, observers: Sequence[Observer], several: Callable) -> dict[str, Callable]:
    """Return by name of the methods that `kind` defines what calls those of the observers."""
    found: dict[str, Callable] = {}
    for name, empty in vars(kind).items():
        if not name.startswith("_"):
            own = [getattr(o, name) for o in observers if getattr(type(o), name) is not empty]
            found[name] = partial(several, own) if len(own) > 1 else own[0] if own else unheard
    return found


def tell_all(methods: list[Callable], *facts: Any, **named: Any) -> None:
    """Tell several observers of an event."""
    for method in methods:
        method(*facts, **named)


def ask_all(methods: list[Callable], *facts: Any) -> Any:
    """Return the first answer of several interceptors."""
    return next((a for method in methods if (a := method(*facts)) is not None), None)


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
intercept = events.intercept
Heard.by = staticmethod(lambda who, what: events.not_finite(who, what))
