"""Name the slots into which other packages plug.  Each has a plain default, so that core works alone.

A slot is set once, by the `install` of the package named beside it (minigrad/__init__.py calls them).  Observers come and go:
they stand in the frame whose operations they look at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .frames import Frame
    from .graph import Node
    from .saved import Saved
    from .tensor import Tensor


class Observer:
    """Looks on while operations run.  Debug mode, anomaly detection and saved tensors hooks are observers."""

    def op_done(self, frame: Frame, cls: type, args: tuple, outs: tuple, node: Node | None) -> None:
        """Look at an operation that has run in eager mode; `node` is the ctx of a user's Function, else None."""

    def node_made(self, node: Node) -> None:
        """Look at a node that has become the history of tensors."""

    def detached(self, how: str, t: Tensor, out: Tensor) -> None:
        """Look at t, which the user has taken out of its history, as `out`."""

    def pack(self, t: Tensor, index: int | None) -> Any:
        """Return the Saved to keep in place of t, which is the node's output `index` if that is not None; None for t itself."""

    def saved(self, saved: Saved) -> None:
        """Look at a tensor that was saved for backward."""

    def unpacked(self, saved: Saved, node: Node) -> None:
        """Look at a saved tensor that is about to be used."""

    def flowed(self, node: Node, outs: tuple) -> None:
        """Look at the gradients that a node's backward has given."""


def plain_problem(sentence: str, **facts: object) -> Exception:
    """Return the exception to raise for a fault: a RuntimeError with the rule that is broken, and what is known."""
    return RuntimeError(f"{sentence}: " + ", ".join(f"{k}={v!r}" for k, v in facts.items()))


def plain_call(cls: type, name: str, *args: object) -> Any:
    """Call a method that a user has written."""
    return getattr(cls, name)(*args)


class Slots:
    """Hold the functions that other packages have plugged in."""

    # diagnose: the exception for a fault, (sentence, facts by name); it looks at frames, graph and source only then
    problem: Callable = staticmethod(plain_problem)
    # diagnose: something that is allowed and seldom meant has happened, or needs a closer look, which may refuse it
    notice: Callable = staticmethod(lambda code, **facts: None)
    # diagnose: calls a user's method, and translates what it raises
    call_method: Callable = staticmethod(plain_call)
    # diagnose: runs a user's forward and setup_context, (frame, ctx, args); function.run_forward where there is none
    run_forward: Callable | None = None
    # fast: writes out an operation at its first call; whether it could
    accelerate: Callable | None = None
    # fast: writes in place where no history changes, (frame, operation, tensor, others); False where it is not that simple
    write: Callable | None = None
    # record, while one looks inside: what runs in place of a method of a user's Function, (class, name, method)
    method: Callable | None = None
    # diagnose: a Function with a forward of its own is being defined
    defined: Callable = staticmethod(lambda cls: None)
    # record, while one runs: hands an operation to a layer, (layer, frame, cls, args)
    process: Callable | None = None
    # record, while one runs: a node was made, anywhere
    node_made: Callable | None = None
    # record, while one runs: forward mode begins here, (tensor, tangent)
    dual_made: Callable | None = None
    # record, while one runs: random numbers were drawn, (tensor)
    drawn: Callable | None = None
    # record, while one runs: a call that communicates is about to write its results, or has ended, (call, whether it has)
    transferring: Callable | None = None
    # autograd: a node is called with gradients of its outputs, (node, gradients)
    called: Any = None
    # record: a tensor is about to get another array
    replacing: Callable = staticmethod(lambda: None)
    # diagnose: the user gets hold of memory, in which writes are not noticed, (tensor, how)
    lent: Callable = staticmethod(lambda t, how: None)
    # compile, from the first capture on: the user asks for a tensor's values or `.grad`, (tensor, how) -> what to give, or None
    reading: Callable = staticmethod(lambda t, how: None)
    # compile, from the first capture on: a tensor asks for gradients from now on, or no more, (tensor, the edge it had)
    tracking: Callable = staticmethod(lambda t, before: None)
    # compile, from the first capture on: what a program cannot do again is about to happen, (in words, tensor or None)
    changing: Callable = staticmethod(lambda what, t=None: None)
    # compile, from the first capture on: numbers, or nested lists, become elements of a tensor -> the same as Python's own
    numbers: Callable = staticmethod(lambda data: data)
    # diagnose: the user's own memory becomes that of a tensor, (array, how)
    lent_array: Callable = staticmethod(lambda memory, how: None)
    # record: the context of a backward from these edges in debug mode
    debugged: Callable | None = None
    # diagnose: lines that say how tensors came about, {name: tensor}
    origins: Callable = staticmethod(lambda tensors: [])
    # diagnose: a backward that keeps its graph, or any in debug mode, starts: (who, edges, wanted, keeps) -> user's line
    backward_begins: Callable = staticmethod(lambda who, edges, wanted, keeps: None)
    # diagnose, from the first infinity or NaN on: a backward has ended, (run, gradients by edge)
    backward_ends: Callable | None = None
    # diagnose: formulas on arrays have failed, (exception, function, arguments): there may be another way
    again: Callable | None = None


slots = Slots()
