"""`x[mask]` in a capture: the number of elements is only known at run time, so the program never creates the selection.

It computes with all elements of x instead, with 1 in place of the unselected ones, and a sum or mean leaves those out. `where`
makes the choice, so that a result computed from such a 1, even NaN or infinity, reaches no result and no gradient. This works
for pointwise operations and for sums and means over everything. Any other use of a selection, or of its size, ends the
capture at the line of `x[mask]`.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ..core.frames import Frame, use
from ..core.graph import history
from ..core.tensor import Box, Tensor, wrap
from ..ops.base.families import Pointwise
from ..ops.compare import where
from ..ops.copy import Clone, To
from ..ops.index import Index, Take
from ..ops.reduce import Mean, Sum
from ..places import user_place
from .captured_steps import HANDLED, VALUES, CapturedValue, Draw, Refused
from .symbols import Reads, SymbolicInt, is_symbolic

WHOLE = slice(None)
INDICES = wrap(np.zeros(0, np.int64))  # has the dtype of positions


class MaskSelection:
    """The positions where a mask is True."""

    def __init__(self, trace: Any, mask: Box):
        self.mask, self.trace, self.line = mask, trace, user_place()
        reads = Reads([], self.refused)
        reads.results.add(0)
        self.count = SymbolicInt(1, "count", frozenset([0]), reads)  # a number that no code may read

    def refused(self) -> Refused:
        """Return the exception for a program that needs single selected elements, or their number."""
        why = "the size of the result of nonzero depends on values, which can change from call to call"
        return self.trace.refuse(why, fix=VALUES, place=self.line)

    def mask_for(self, full: Tensor) -> Tensor:
        """Return the mask with size-1 dimensions appended to match `full`."""
        return self.mask.reshape((*self.mask._sizes, *(1,) * (full.ndim - self.mask.ndim)))


class Followed:
    """Replaces the history of a selection: a program that follows it is refused."""

    _fn = None  # losses read it, to warn about inputs that are probabilities

    def __init__(self, selection: MaskSelection):
        self.selection = selection

    def __getattr__(self, name: str) -> Any:
        raise self.selection.refused()


class SelectedPart(NamedTuple):
    """The content of a box, in its `_extra`: selected elements of `full`; without it, positions, or one column of them."""

    selection: MaskSelection
    shape: tuple
    full: Box | None = None
    column: int | None = None

    def box(self) -> Box:
        """Return a box with this content."""
        like = INDICES if self.full is None else self.full._value
        b = Box(self.selection.trace, like, self)
        b._edge = None if self.full is None or history(self.full) is None else Followed(self.selection)
        return b


def is_part(a: Any) -> bool:
    """Return True if an argument is a selection, or the positions of one."""
    return type(a) is Box and type(a._extra) is SelectedPart


def places(trace: Any, frame: Frame, x: Box) -> Box:
    """Return the positions where x is nonzero."""
    with use(frame):
        mask = x.clone() if x._np_dtype.kind == "b" else x != 0  # a copy, unaffected by later writes
    known = trace.selections.setdefault(origin(trace.steps, trace.value(x)), MaskSelection(trace, mask))
    return SelectedPart(known, (known.count, x.ndim)).box()


def origin(steps: list, v: Any, depth: int = 3) -> Any:
    """Return a description of a value's computation, so that `y[x > 0]` and `x[x > 0]` turn out to share a mask."""
    if not isinstance(v, CapturedValue):
        return v.name if is_symbolic(v) else repr(v)
    step = next((s for s in reversed(steps) if v in s.outs), None)
    if step is None or step.cls is Draw or not depth:
        return v
    return (step.cls, step.outs.index(v), *[origin(steps, a, depth - 1) for a in step.args])


def selected(part: SelectedPart, full: Tensor) -> Box:
    """Return the elements of `full` at the positions of a part."""
    sizes = full._sizes[part.selection.mask.ndim :]
    return SelectedPart(part.selection, (part.selection.count, *sizes), full).box()


def process(frame: Frame, cls: Any, args: tuple) -> Any:
    """Run an operation that has a part among its arguments."""
    part = next(a._extra for a in args if is_part(a))
    selection = part.selection
    with use(frame):
        if cls is Index and part.full is None and args[1][:1] == (WHOLE,) and isinstance(args[1][-1], int):
            return SelectedPart(selection, part.shape[:1], column=args[1][1]).box()
        if cls is Take and takes_all(selection, *args):
            return selected(part, where(selection.mask_for(args[0]), args[0], 1))
        if part.full is not None and by_element(cls, part, args):
            return selected(part, cls.apply(*[operand(part, a) for a in args]))
        if cls in (Sum, Mean) and computes(part.full) and len(args[1]) == len(part.shape) and not args[2]:
            return total(part, cls)
    raise selection.refused()


def takes_all(selection: MaskSelection, x: Any, dims: tuple, *columns: Any) -> bool:
    """Return True if the positions of one mask are the only index, starting at the first dimension."""
    n = selection.mask.ndim
    known = [(a._extra.selection, a._extra.column) for a in columns if is_part(a)]
    alone = len(columns) == n and known == [(selection, k) for k in range(n)] and dims == tuple(range(n))
    return alone and not is_part(x) and computes(x) and x._sizes[:n] == selection.mask._sizes


def computes(x: Tensor | None) -> bool:
    """Return True if programs can sum a tensor of this dtype."""
    return x is not None and x._np_dtype in HANDLED and x._np_dtype.kind != "b"


def by_element(cls: Any, part: SelectedPart, args: tuple) -> bool:
    """Return True for a pointwise operation on parts of one selection and on tensors that all selected elements share."""
    if not issubclass(cls, (Pointwise, Clone, To)):
        return False
    kind, n = part.full._np_dtype, len(part.shape) - 1
    own = all(a._extra.selection is part.selection and a._extra.full is not None for a in args if is_part(a))
    others = [a for a in args if isinstance(a, Tensor) and not is_part(a)]
    return own and all(a.ndim <= n and (a.ndim > 0 or a._np_dtype == kind) for a in others)


def operand(part: SelectedPart, a: Any) -> Any:
    """Return an argument for all elements, with 1 where the mask is False."""
    if is_part(a):
        return a._extra.full
    return where(part.selection.mask_for(part.full), a, 1) if isinstance(a, Tensor) else a


def total(part: SelectedPart, cls: Any) -> Tensor:
    """Return the sum or the mean of all elements."""
    mask = part.selection.mask_for(part.full)
    found = Sum.apply(where(mask, part.full, 0), tuple(range(part.full.ndim)), False)
    return found if cls is Sum else found / (mask.sum() * math.prod(part.shape[1:]))
