"""How a recording hears of operations: the function that the written-out roads call, and what an entry of the log has to
hold of arguments and results, since it may be another when the entry is worked off.
"""

from __future__ import annotations

import sys
from typing import Any

from ..core.edges import Leaf, producer
from ..core.frames import passed
from ..core.tensor import Tensor, history
from .callers import OURS, OUTSIDE

getframe, layers_passed = sys._getframe, passed.get


def tracked_noter(rec: Any) -> Any:
    """The noter of operations with gradients on.  Every look counts: a small operation takes less than a microsecond.

    So the usual callers are told apart here, the user and a function that is nothing but the operation; `caller` knows all.
    """
    append = rec.log.append

    def note(cls: Any, args: tuple, out: Any) -> None:
        frame = getframe(2)
        try:
            link = out._edge
        except AttributeError:  # several results
            link = None
        code = frame.f_code
        if link is not None and not layers_passed():
            if code.co_filename in OUTSIDE:
                rec._outer = None
                append((cls, out, link, code, frame.f_lasti) + args)
                return
            ours, back = OURS.get(id(code)), frame.f_back
            if ours is not None and ours.stands_for is cls and back is not None and frame is not rec._outer:
                user = back.f_code
                if user.co_filename in OUTSIDE:
                    rec._outer = frame
                    append((code, out, link, user, back.f_lasti) + args)
                    return
        rec.note_called(cls, args, out, link, frame)

    return note


def ignore(cls: Any, args: tuple, out: Any) -> None:
    """An operation that nobody wants to know of."""


def edges_of(args: tuple) -> list:
    """The edges of the tensors among arguments."""
    return [None if not isinstance(a, Tensor) else a._edge if a._view is None else history(a) for a in args]


def nodes_of(outs: tuple) -> list:
    """The nodes that made results, with what they have saved."""
    found = []
    for o in outs:
        edge = o._edge if isinstance(o, Tensor) else None
        if edge is not None and type(edge) is not Leaf:
            found.append((producer(edge), producer(edge)._saved))
    return found


def bases_of(x: Tensor) -> list:
    """The tensors that x is a view of, from the nearest to its base; a leaf begins anew, whatever memory it lies in."""
    found = []
    while x._view is not None and type(x._edge) is not Leaf:
        x = x._view.parent
        found.append(x)
    return found


def names_of(layers: Any) -> list:
    """The names of layers, recordings left out."""
    return [layer.name for layer in layers if not layer.records]
