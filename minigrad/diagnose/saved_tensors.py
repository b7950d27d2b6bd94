"""Errors for saved tensors that were modified or freed, each with the mistake that it looks like; graphs that grow.

Creation numbers tell the mistakes apart: was the result computed before or after the backward that freed a node, and does
it contain the root of that backward?  The search runs only when an error is raised.  For each line that calls
backward(retain_graph=True), the numbers at its last calls are kept, and after some rounds its graph is checked.
"""

import re
from collections import defaultdict, deque
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ..arrays.memory import storage
from ..core.context import Ctx, contains_identical
from ..core.engine import nodes_on_paths, reachable, running
from ..core.graph import Leaf, name_of, operation_of, producer
from ..core.saved import Freed, next_number, plain_tensor, version
from ..core.tensor import Tensor
from ..errors import error, warn
from ..places import Place, noted, user_frame, variables
from . import debug
from .cut_lines import carried_line
from .modules import is_module, modules_of, stored_at
from .report import argument_names, explains
from .users_program import made_at

ROUNDS = 10  # warn after this many rounds of growth


class Line:
    """Record of one line of a program that calls backward with retain_graph=True."""

    __slots__ = ("calls", "due", "rounds")

    def __init__(self):
        self.calls, self.due = 0, ROUNDS  # the call at which its graph is checked next
        # for each of the last calls: the next creation number at that time, and the number of the youngest node
        self.rounds: deque[tuple[int, int]] = deque(maxlen=ROUNDS + 1)


_lines: defaultdict[Place | None, Line] = defaultdict(Line)


def note_retained(who: str, roots: Sequence, wanted: set | None, place: Place | None) -> None:
    """Warn if the graph of a backward that keeps it grows at the user's line.

    `wanted` are the requested nodes; None stands for all leaves.
    """
    if place is None:
        return
    line = _lines[place]
    rounds = line.rounds
    root = producer(roots[0])._seq if len(roots) == 1 else max(producer(e)._seq for e in roots)
    if rounds and root < rounds[-1][0]:  # computed before the last call: nothing was added since
        rounds.clear()
    line.calls += 1
    rounds.append((next_number(), root))
    if line.calls > line.due and len(rounds) > ROUNDS:
        line.due = 2 * line.calls
        check_rounds(who, roots, wanted, list(rounds))


def last_round(place: Place | None) -> int:
    """Return the creation number at the last call but one of a line that keeps its graph; 0 if there was none."""
    rounds = _lines[place].rounds if place in _lines else ()
    return rounds[-2][0] if len(rounds) > 1 else 0


def check_rounds(who: str, roots: Sequence, wanted: set | None, rounds: list) -> None:
    """Warn if the graph of this call has operations of each round."""
    passed = reachable(roots)[0] if wanted is None else nodes_on_paths(roots, wanted)
    nodes = sorted(passed, key=lambda n: n._seq)
    numbers = [n._seq for n in nodes]
    if not all(any(a < n < b for n in numbers) for (a, _), (b, _) in pairwise(rounds)):
        return
    old: Any = [n for n in nodes if n._seq < rounds[-2][0]]
    what = (
        f"with retain_graph=True passes {len(nodes)} operations, {len(old)} of them older than the last call of this line: "
        f"the graph has grown in each of {ROUNDS} rounds"
    )
    if all(root in numbers for _, root in rounds[:-1]):
        what += ", because the result contains the earlier losses"
        fix = "call backward once, after the loop, or start a new sum in each round"
    else:
        what += f", through the result of {operation_of(old[-1])}, of shape {old[-1]._meta[0][0]}"
        fix = "detach the state that each round passes to the next, h = h.detach(), and omit retain_graph=True"
    made = noted(f"{operation_of(old[-1])}: made", old[-1]._trace)
    warn("growing-graph", who, what, fix, notes=[*made, *noted("each round adds to the graph", carried_line())])


def spent(edge: Any) -> Any:
    """Return a node close behind an edge whose saved tensors backward has freed; None if there is none."""
    edges = [edge]
    for e in edges:  # a loss ends in few operations that save nothing
        if e is None or len(edges) > 16:
            continue
        node = producer(e)
        if type(node._saved) is Freed:
            return node
        edges += node._edges
    return None


# operations that write to a part of a tensor
ASSIGNED = ("index_put_", "copy_", "fill_", "zero_", "masked_fill_", "ViewScatter")
CARRIED = "detach a state that each round passes to the next, h = h.detach()"


@explains("a saved tensor was modified in place")
def modified(node: Any, saved: Any) -> Exception:
    """Return the error for a saved tensor that was modified: which node saved it, what wrote to it, and where."""
    t, who = plain_tensor(saved.tensor), name_of(node)
    which, more = role(node, saved)
    what = (
        f"{which}a tensor of shape {tuple(saved.tensor.shape)} that it saved for backward{more}, has been modified by an "
        f"inplace operation: it is at version {version(t)}, expected version {saved.version}"
    )
    notes = noted(f"last written by {t._ver.writer}", t._ver.place) if t._ver.writer else []
    place = running_place()
    notes += alias_of(t)
    if node._seq < last_round(place):
        what += "; the operation belongs to an earlier round, before the last backward at this line"
        fix = f"{CARRIED}, and omit retain_graph=True"
        notes += noted("each round computes a state from the last one", carried_line())
    elif type(saved.tensor._edge) is Leaf:
        fix = "modify it after backward, or compute the loss again after the change"
    elif t._ver.writer in ASSIGNED:
        fix = (
            "write to a copy, x.clone() or x.detach().clone(); choose with minigrad.where(mask, value, x); or collect the "
            "parts in a list and join them with minigrad.stack(parts)"
        )
    else:
        fix = out_of_place(t._ver.place)
    return error(RuntimeError, who, what, fix, place, [*notes, *saved_at(node)])


def role(node: Any, saved: Any) -> tuple[str, str]:
    """Return what a saved tensor is to its node, as words before and behind it: a result, an input, or neither of them."""
    if saved.index is not None:
        return "its own result, ", ""
    if not isinstance(node, Ctx) or not isinstance(node._saved, tuple) or not contains_identical(saved, node._saved):
        return "one of its inputs, ", ""
    place = node._places[[s is saved for s in node._saved].index(True)]
    if place is None:
        return "", " and that is neither an input nor an output"
    return f"argument {place} ({argument_names(node._fn, len(node._given))[place]}), ", ""


def out_of_place(place: Place | None) -> str:
    """Return the fix for an in-place operation at a line: the line without it, or a copy."""
    code = "" if place is None else place.code
    if "inplace=True" in code:
        return "leave out inplace=True, or write to a copy: x = x.clone()"
    if (found := AUGMENTED.match(code)) is not None:
        name, operator, value = found.groups()
        value = value if value.replace(".", "").replace("_", "").isalnum() else f"({value})"
        return f"write {name} = {name} {operator} {value} instead of {code}, or write to a copy, {name} = {name}.clone(), first"
    return (
        "make a new tensor, x = x + ... instead of x += ..., or write to a copy, x = x.clone(), first; if an activation wrote "
        "to it, leave out inplace=True"
    )


AUGMENTED = re.compile(r"([a-z_]\w*) ([-+*/@]|//|\*\*)= ([^;#]+?)\s*$", re.IGNORECASE)


def modified_unseen(node: Any, saved: Any) -> Exception:
    """Return the error for a saved tensor whose memory was written past the version counter (debug mode)."""
    return error(
        RuntimeError,
        name_of(node),
        f"a tensor of shape {tuple(saved.tensor.shape)} that it saved for backward has new values without an in-place "
        "operation: its memory was written through .data or a NumPy array",
        "write after backward, inside `with minigrad.no_grad(): x.copy_(...)`, which minigrad notices; or let NumPy work on a "
        "copy: x.detach().numpy().copy(), minigrad.tensor(array)",
        running_place(),
        [*debug.lent(storage(plain_tensor(saved.tensor)._a)), *saved_at(node)],
    )


def saved_at(node: Any) -> list[str]:
    """Return a note with the line of a node's forward call, if it is known."""
    return noted("its forward call was", node._trace)


@explains("an earlier backward has freed the saved tensors")
def freed(node: Any) -> Exception:
    """Return the error for a node whose saved tensors an earlier backward has freed."""
    first, pending = node._saved, running.get()
    notes = [*noted("its saved tensors were freed by the first backward", first.place), *saved_at(node)]
    nodes = () if pending is None else reachable(pending.roots)[0]
    if node not in nodes:
        what = "its saved tensors are read after backward has freed them"
        fix = "read them before backward, or call that backward with retain_graph=True"
        return error(RuntimeError, name_of(node), what, fix, notes=notes)
    root = max(producer(e)._seq for e in pending.roots)
    what = "trying to backward through the graph a second time"
    if root == first.root and first.place == pending.place:
        what += ", at the same line: a loop differentiates the same result in each round"
        fix = "compute the result again inside the loop, or specify retain_graph=True to use one graph"
        notes += made_at(pending.roots[0], "the result is computed")
    elif root == first.root:
        fix = "specify retain_graph=True in the first call, or run the forward pass again"
    elif root < first.at:
        what += f": the two results share this operation, whose output has shape {node._meta[0][0]}"
        fix = "differentiate them together, (loss1 + loss2).backward(), or specify retain_graph=True in the first call"
    elif any(n._seq == first.root for n in nodes):
        what += ": the result contains an earlier loss that is already differentiated"
        fix = "call backward once, after the loop, or start a new sum in each round"
    else:
        old = max((n for n in nodes if n._seq < first.at), key=lambda n: n._seq)
        what += f": new operations use an old result of {name_of(old)}, of shape {old._meta[0][0]}"
        if old is not node:
            notes += noted(f"{name_of(old)}: made", old._trace)
        notes += noted("each round computes a state from the last one", carried_line()) or kept_by_module(old)
        fix = (
            f"{CARRIED}; else compute that result again inside the loop, or specify retain_graph=True in the first call"
        )
    return error(RuntimeError, name_of(node), what, fix, pending.place, notes)


def alias_of(t: Any) -> list[str]:
    """Return a note with the line that made the variable through which the last write to a tensor's memory went."""
    code = "" if t._ver.place is None else t._ver.place.code
    held = {
        name: v for name, v in variables(user_frame()).items() if type(v) is Tensor and v._layer is None and v is not t
    }
    named = [
        (name, v) for name, v in held.items() if re.search(rf"\b{name}\b", code) and storage(v._a) is storage(t._a)
    ]
    return made_at(named[0][1], f"{named[0][0]} shares its memory: made") if len(named) == 1 else []


def kept_by_module(node: Any) -> list[str]:
    """Return a note with the line of the `__init__` that stores the result of a node as an attribute of a module."""
    for value in variables(user_frame()).values():
        for m in modules_of(value) if is_module(value) else ():
            for name, t in vars(m).items():
                if isinstance(t, Tensor) and t._edge is not None and producer(t._edge) is node:
                    return noted(f"{type(m).__name__}.{name} is computed once", stored_at(m, name))
    return []


def running_place() -> Place | None:
    """Return the user's line that called the running backward."""
    pending = running.get()
    return None if pending is None else pending.place


@explains("inference tensors cannot be saved for backward")
def inference_tensor_saved(t: Any) -> Exception:
    """Return the error for saving an inference tensor, which has no version counter."""
    what = f"inference tensors cannot be saved for backward; this one has shape {tuple(t.shape)}"
    fix = "clone() it outside inference_mode, or use no_grad instead of inference_mode"
    return error(RuntimeError, "save_for_backward", what, fix)
