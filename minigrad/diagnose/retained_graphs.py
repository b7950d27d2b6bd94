"""Graphs that grow from one backward to the next, which retain_graph=True hides: noticed, and told once.

A line that calls backward(retain_graph=True) in a loop is remembered with the creation numbers at its last calls.  After
some rounds its graph is looked at: if operations of every one of these rounds are still in it, each backward goes through
more than the one before.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ..core.engine import behind, on_paths
from ..core.graph import operation_of, producer
from ..core.saved import Freed, next_number
from ..errors import warn
from ..places import Place, noted, user_place
from . import debug, lint

ROUNDS = 10  # so many have to grow before it is told


class Line:
    """A line of a program that goes back through graphs and keeps them."""

    __slots__ = ("calls", "due", "rounds")

    def __init__(self):
        self.calls, self.due = 0, ROUNDS  # the call at which its graph is looked at again
        # of the last calls: a creation number, which older nodes do not reach, and that of the youngest node
        self.rounds: deque[tuple[int, int]] = deque(maxlen=ROUNDS + 1)


_lines: defaultdict[Place | None, Line] = defaultdict(Line)


def backward_begins(who: str, roots: Sequence, wanted: set | None, keeps: bool) -> Place | None:
    """Look at the graph of a backward that is about to start; return the user's line where it was needed."""
    if debug.mode.on:
        lint.look_at_graph(roots)
    return note_retained(who, roots, wanted) if keeps else None


def note_retained(who: str, roots: Sequence, wanted: set | None) -> Place | None:
    """`who` is about to go back from these edges, to all leaves or the wanted, and keep the graph; warn if it grows.

    Returns the user's line.
    """
    place = user_place()
    if place is None:
        return None
    line = _lines[place]
    rounds = line.rounds
    root = producer(roots[0])._seq if len(roots) == 1 else max(producer(e)._seq for e in roots)
    if rounds and root < rounds[-1][0]:  # computed before the last call: nothing was added since
        rounds.clear()
    line.calls += 1
    rounds.append((next_number(), root))
    if line.calls > line.due and len(rounds) > ROUNDS:
        line.due = 2 * line.calls
        look(who, roots, wanted, list(rounds))
    return place


def last_round(place: Place | None) -> int:
    """The creation number at the last call but one of a line that keeps its graph; 0 if there was none."""
    rounds = _lines[place].rounds if place in _lines else ()
    return rounds[-2][0] if len(rounds) > 1 else 0


def look(who: str, roots: Sequence, wanted: set | None, rounds: list) -> None:
    """Warn if operations of each round are in what has to run."""
    passed = behind(roots)[0] if wanted is None else on_paths(roots, wanted)
    nodes = sorted(passed, key=lambda n: n._seq)
    numbers = [n._seq for n in nodes]
    if not all(any(a < n < b for n in numbers) for (a, _), (b, _) in pairwise(rounds)):
        return
    old: Any = [n for n in nodes if n._seq < rounds[-2][0]]
    what = (
        f"with retain_graph=True goes through {len(nodes)} operations, {len(old)} of them made before the last call of this "
        f"line: the graph has grown in each of {ROUNDS} rounds"
    )
    if all(root in numbers for _, root in rounds[:-1]):
        what += ", for the result contains the earlier losses"
        fix = "call backward once, after the loop, or begin the sum anew in each round"
    else:
        what += f", and is entered through the result of {operation_of(old[-1])}, of shape {old[-1]._meta[0][0]}"
        fix = "detach the state that goes on from round to round, h = h.detach(), and leave out retain_graph=True"
    warn("growing-graph", who, what, fix, notes=noted(f"{operation_of(old[-1])}: made", old[-1]._trace))


def spent(edge: Any) -> Any:
    """A node close behind an edge whose saved tensors a backward has freed, so that no gradient passes; None if none is."""
    edges = [edge]
    for e in edges:  # a loss ends in few operations that save nothing
        if e is None or len(edges) > 16:
            continue
        node = producer(e)
        if type(node._saved) is Freed:
            return node
        edges += node._edges
    return None
