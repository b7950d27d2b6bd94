"""Dual numbers: eager tensors carry tangents through every operation.  forward_ad.py has the public functions.

Tangents use the same formulas as backward.  A view's tangent is a view of its base's tangent, so in-place writes keep them
all in step.  The open level is in the frame (Frame.dual), and core reports each operation to it.

Frames belong to one thread, levels hold for all.  While one is open, an observer finds the operations of other threads on its
tensors, and they run with the level in force.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

from ..arrays.dtypes import FLOATS
from ..core.context import Ctx, contains_identical
from ..core.frames import EAGER, OFF, ON, Frame, current, use
from ..core.function import Function
from ..core.graph import Node, ViewOf, output_index, producer
from ..core.inplace import alias_with_history
from ..core.saved import Saved, view_now
from ..core.tensor import Tensor, is_float
from ..errors import error
from ..events import Interceptor, events
from ..layers.outputs import check_outputs, modified_problem
from ..layers.transform import laid_out_like, recording, same_view, unwritten
from ..scopes import setting

opened: dict[Level, None] = {}  # the open levels of all threads; no lock, which an interrupt could leave locked
pushing: ContextVar[Level | None] = ContextVar(
    "minigrad.dual.pushing", default=None
)  # the level whose tangents are computed
_known: ContextVar[tuple] = ContextVar("minigrad.dual.known", default=())  # the levels that frames here have, or hide


class Level:
    """One open dual level; levels are compared by identity.

    A recording's level is not the program's: a tensor may carry a tangent at each recording's level, beside the program's.
    """

    programs = True
    levels = property(lambda level: (level,))  # those whose tangents it computes

    def open(self) -> None:
        """Make this level known here, and to the operations of other threads."""
        _known.set((*_known.get(), self))
        publish(self, True)

    def close(self) -> None:
        """Forget the level here and in other threads."""
        _known.set(tuple([level for level in _known.get() if level is not self]))
        publish(self, False)

    def here(self, f: Callable, frame: Frame, *rest: Any) -> Any:
        """Return f(frame, *rest) with this level, which another thread has opened, in force."""
        with setting(_known, (*_known.get(), self)), use(frame.chain(self.added)) as inside:
            return f(inside, *rest)

    def added(self, frame: Frame, parent: Any) -> Frame:
        """Return the frame with this level, if it can have one, and with a new parent."""
        return frame.but(dual=self if frame.layer.transparent else frame.dual, parent=parent)

    def op_done(self, frame: Frame, cls: Any, args: tuple, outs: tuple, ctx: Ctx | None = None) -> None:
        """Give the outputs of `cls(*args)` their tangents, if an argument has one."""
        tangents = [tangent_of(a, self) for a in args]
        if any(t is not None for t in tangents):
            with use(frame.but(dual=None)):
                with setting(pushing, self):
                    results = cls.tangents(args, tangents, outs, ctx)
                for o, t in zip(outs, results, strict=True):
                    if ctx is not None and contains_identical(o, args):  # modified in place
                        self.renew(o, t)
                    elif t is not None and o._np_dtype in FLOATS:
                        carry(o, self, t if cls.primitive and cls.view else laid_out_like(o, t))
                        self.follow(o)

    def renew(self, x: Tensor, t: Tensor | None) -> None:
        """Make t the tangent of x, which a user's Function has modified in place."""
        if is_float(x):
            self.write_tangent(x, t)
            self.follow(x)

    def follow(self, o: Tensor) -> None:
        """Give o's tangent also to what its node has saved of o, before there was a tangent: backward may be dual, too."""
        node = producer(o._edge)
        if isinstance(node, Node) and type(node._saved) is tuple:
            for s in node._saved:
                if type(s) is Saved and s.index == output_index(o._edge):
                    if s.unpack is None:
                        s.tensor._tan = o._tan
                    else:
                        s.tangent = self.copy(eager_frame(), o, s.tangent)

    def tangent(self, t: Tensor) -> Tensor | None:
        """Return the tangent that t carries at this level."""
        return tangent_of(t, self)

    def write(self, frame: Frame, fn: type[Function], x: Tensor, others: tuple) -> None:
        """Set x's tangent to the result's tangent; fn is about to modify x in place."""
        tangents = [tangent_of(a, self) for a in (x, *others)]
        dual = any([t is not None for t in tangents])
        check_outputs(fn, x, dual, self.tangent)
        if not dual:
            return
        with use(frame.but(dual=None)):
            args, pushed = (alias_with_history(x), *others), tangents
            if frame.grad:  # the tangent's graph may save them
                args, pushed = [[unwritten(a, x, tangents[0]) for a in group] for group in (args, tangents)]
            (t,) = fn.tangents(tuple(args), pushed, (fn.apply(*args),))
            self.write_tangent(x, t)

    def write_tangent(self, x: Tensor, t: Tensor | None) -> None:
        """Make t the tangent of x, in the memory that it shares with the tangents of x's base and views."""
        if t is not None or tangent_of(x, self) is not None:
            zero_tangent(x, self).copy_(0.0 if t is None else t)

    def copy(self, frame: Frame, x: Tensor, others: tuple | None = None) -> tuple | None:
        """Return a copy of x's tangent in its own memory, as tensors carry it, beside `others`."""
        t = tangent_of(x, self)
        with use(frame.but(dual=None)):
            return others if t is None else (self, t.clone(), others)


class Both(Level):
    """The levels of a recording and of one inside it: an operation gives its results a tangent at each of them."""

    programs = False
    levels: Any = ()

    def __init__(self, one: Level, other: Level):
        self.levels = (*one.levels, *other.levels)

    def op_done(self, frame: Frame, cls: Any, args: tuple, outs: tuple, ctx: Ctx | None = None) -> None:
        """Do the same at each level."""
        for level in self.levels:
            level.op_done(frame, cls, args, outs, ctx)

    def write(self, frame: Frame, fn: type[Function], x: Tensor, others: tuple) -> None:
        """Do the same at each level."""
        for level in self.levels:
            level.write(frame, fn, x, others)

    def follow(self, o: Tensor) -> None:
        """Do the same at each level."""
        for level in self.levels:
            level.follow(o)

    def copy(self, frame: Frame, x: Tensor, others: tuple | None = None) -> tuple | None:
        """Do the same at each level."""
        for level in self.levels:
            others = level.copy(frame, x, others)
        return others


def carried(tan: tuple | None, level: Level) -> tuple | None:
    """Return the part of a tensor's `_tan` that begins with this level: (level, tangent, the others' `_tan`)."""
    while tan is not None and tan[0] is not level:
        tan = tan[2]
    return tan


def carry(x: Tensor, level: Level, t: Tensor | None) -> None:
    """Make t the tangent of x at this level; at a recording's, x keeps those of other levels."""
    x._tan = (level, t, None if level.programs else others(x._tan, level))


def others(tan: tuple | None, level: Level) -> tuple | None:
    """Return a tensor's `_tan` without this level."""
    if tan is None or carried(tan, level) is None:
        return tan
    return tan[2] if tan[0] is level else (*tan[:2], others(tan[2], level))


def tangent_of(a: Any, level: Level) -> Tensor | None:
    """Return the tangent that a carries at this level; a view of a base with a tangent has a view of that tangent."""
    if not isinstance(a, Tensor) or a._layer is not None:
        return None
    chain, given = [], a
    while (tan := carried(a._tan, level)) is None and (view := view_now(a)) is not None and view.fn is not None:
        chain.append(a)
        a = view.parent
    t = None if tan is None else tan[1]
    if t is not None and chain:
        for view in reversed(chain):
            t = view_of(t, view._view)
            carry(view, level, t)
    if given._view is not None:
        refuse_modified(given, t, level)
    return t


def view_of(t: Tensor, view: ViewOf) -> Tensor:
    """Return the view of t, the tangent of the view's base."""
    return same_view(view, t, eager_frame().but(dual=None, grad=view.fixed is None, inference=False))


def refuse_modified(a: Tensor, t: Tensor | None, level: Level) -> None:
    """Raise if a is an output whose memory was modified, and it or the memory's owner has a tangent."""
    if (problem := modified_problem(a)) and (t is not None or tangent_of(a._base, level) is not None):
        raise problem()


def eager_frame() -> Frame:
    """Return the frame outside all transforms: tensors with tangents live there, whichever transform asks for one."""
    frame = current()
    while frame.layer is not EAGER:
        frame = frame.parent
    return frame


def zero_tangent(x: Tensor, level: Level) -> Tensor:
    """Return x's tangent, or a new one of zeros; for a view, the same view of its base's tangent."""
    t = tangent_of(x, level)
    if t is None:
        view = view_now(x)
        if view is None or view.fn is None:
            with use(recording()):
                t = laid_out_like(x, x.new_zeros(x.shape))
        else:
            t = view_of(zero_tangent(view.parent, level), view)
        carry(x, level, t)
    return t


# ---------------------------------------------------------------------- other threads
class OtherThreads(Interceptor):
    """Finds the operations of other threads on the tensors of an open level."""

    def dual_level_of(self, args: Sequence) -> Level | None:
        """Return the open level of another thread at which an argument has a tangent."""
        known = _known.get()
        for level in list(opened):
            if level not in known and any([tangent_of(a, level) is not None for a in args]):
                if any([other in opened for other in known]):
                    raise error(
                        RuntimeError,
                        "dual_level",
                        "a tensor has a tangent of another thread's dual level, but this thread has opened a level, too",
                        "open one level, outside the threads, or unpack_dual(x).primal, which has no tangent",
                    )
                return level
        return None


OTHER_THREADS = OtherThreads()


def publish(level: Level, on: bool) -> None:
    """Add a level to the open ones, or take it away, and watch operations as long as there are any."""
    if on:
        opened[level] = None
    else:
        opened.pop(level, None)
    while True:
        there = bool(opened)
        (events.add if there else events.remove)(OTHER_THREADS)
        ON.eager_ok = OFF.eager_ok = not there and not ON.observers  # written-out operations do not ask for levels
        if there == bool(opened):  # else another thread has opened or closed a level meanwhile
            return


def level_here(tensor: Tensor) -> Level | None:
    """Return the level at which the calling code may make `tensor` dual, or unpack it: the one open level, in any thread."""
    if (dual := current().dual) is not None or (dual := OTHER_THREADS.dual_level_of((tensor,))) is not None:
        return dual
    others = [level for level in list(opened) if level not in _known.get()]
    return others[0] if len(others) == 1 and current().layer.transparent else None
