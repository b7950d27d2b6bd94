"""Define the slots into which other packages plug.  Each has a plain default, so that core works alone.

The `install` of the package named beside a slot sets it once (minigrad/__init__.py calls these functions).  Observers come and
go: they are part of the frame whose operations they observe.
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
    """Observes operations as they run.  Debug mode, anomaly detection and saved tensors hooks are observers."""

    def op_done(self, frame: Frame, cls: type, args: tuple, outs: tuple, node: Node | None) -> None:
        """Observe an operation that has run in eager mode; `node` is the ctx of a user's Function, else None."""

    def node_made(self, node: Node) -> None:
        """Observe a node that has become the history of tensors."""

    def detached(self, how: str, t: Tensor, out: Tensor) -> None:
        """Observe that the user detached t, with the result `out`."""

    def pack(self, t: Tensor, index: int | None) -> Any:
        """Return a Saved to keep instead of t, or None to keep t; `index` is its number among the node's outputs, or None."""

    def saved(self, saved: Saved) -> None:
        """Observe a tensor that has been saved for backward."""

    def unpacked(self, saved: Saved, node: Node) -> None:
        """Observe a saved tensor that is about to be used."""

    def flowed(self, node: Node, outs: tuple) -> None:
        """Observe the gradients that a node's backward returned."""


def plain_problem(sentence: str, **facts: object) -> Exception:
    """Return the exception to raise for a fault: a RuntimeError with the broken rule and the known facts."""
    return RuntimeError(f"{sentence}: " + ", ".join(f"{k}={v!r}" for k, v in facts.items()))


def plain_call(cls: type, name: str, *args: object) -> Any:
    """Call a method that a user wrote."""
    return getattr(cls, name)(*args)


class Slots:
    """Hold the functions that other packages plug in."""

    # diagnose: returns the exception for a fault, (sentence, facts by name); inspects frames, graph and source only then
    problem: Callable = staticmethod(plain_problem)
    # diagnose: receives events that are allowed but rarely meant, or need a closer check, which may raise
    notice: Callable = staticmethod(lambda code, **facts: None)
    # diagnose: calls a user's method, and translates its exceptions
    call_method: Callable = staticmethod(plain_call)
    # diagnose: runs a user's forward and setup_context, (frame, ctx, args); None: function.run_forward does
    run_forward: Callable | None = None
    # fast: writes out an operation at its first call; returns True if that was possible
    accelerate: Callable | None = None
    # fast: writes in place if no history changes, (frame, operation, tensor, others); returns False if it is not that simple
    write: Callable | None = None
    # record, while a recording runs: returns a replacement for a method of a user's Function, (class, name, method)
    method: Callable | None = None
    # diagnose: receives each new Function that defines its own forward
    defined: Callable = staticmethod(lambda cls: None)
    # record, while a recording runs: hands an operation to a layer, (layer, frame, cls, args)
    process: Callable | None = None
    # record, while a recording runs: receives every new node
    node_made: Callable | None = None
    # record, while a recording runs: receives the start of forward mode, (tensor, tangent)
    dual_made: Callable | None = None
    # autograd, while a dual level is open: (tensors, roots of a backward) -> another thread's level for them, or None
    foreign: Callable | None = None
    # record, while a recording runs: receives newly drawn random numbers, (tensor)
    drawn: Callable | None = None
    # record, while a recording runs: a collective is about to write its results, or has ended, (call, True if ended)
    transferring: Callable | None = None
    # autograd: calls a node with gradients of its outputs, (node, gradients)
    called: Any = None
    # record: called before a tensor gets another array
    replacing: Callable = staticmethod(lambda: None)
    # diagnose: the user gets direct access to memory, (tensor, how) -> the version counter of the tensor on it, or None
    lent: Callable = staticmethod(lambda t, how: None)
    # compile, from the first capture on: the user reads a tensor's values or `.grad`, (tensor, how) -> the result, or None
    reading: Callable = staticmethod(lambda t, how: None)
    # compile, from the first capture on: a tensor starts or stops requiring grad, (tensor, its previous edge)
    tracking: Callable = staticmethod(lambda t, before: None)
    # compile, from the first capture on: an action that no program can repeat is about to happen, (description, tensor or None)
    changing: Callable = staticmethod(lambda what, t=None: None)
    # compile, from the first capture on: numbers, or nested lists, become elements of a tensor -> the same as Python numbers
    numbers: Callable = staticmethod(lambda data: data)
    # diagnose: the user's own memory becomes a tensor's memory, (array, how)
    lent_array: Callable = staticmethod(lambda memory, how: None)
    # record: returns the context for a backward from these edges in debug mode
    debugged: Callable | None = None
    # diagnose: returns lines that describe how tensors were made, {name: tensor}
    origins: Callable = staticmethod(lambda tensors: [])
    # diagnose: a backward that has to be checked starts, (who, edges, wanted, keeps, user's line, due)
    backward_begins: Callable = staticmethod(lambda *facts: None)
    # diagnose, from the first infinity or NaN on: a backward has ended, (run, gradients by edge)
    backward_ends: Callable | None = None
    # layers: records which outputs of a user's Function are in the memory of other tensors, (name, arguments, outputs)
    link: Callable = staticmethod(lambda name, args, outs: None)
    # diagnose: formulas on arrays raised, (exception, function, arguments); may compute the result another way
    again: Callable | None = None


slots = Slots()
