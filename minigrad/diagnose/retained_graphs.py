"""Warn about graphs that grow from one backward to the next, which retain_graph=True hides.

For each line that calls backward(retain_graph=True), the creation numbers at its last calls are kept.  After some rounds
its graph is checked: if it still has operations of each round, every backward passes through more than the one before.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ..core.engine import nodes_on_paths, reachable
from ..core.graph import operation_of, producer
from ..core.saved import Freed, next_number
from ..errors import warn
from ..places import Place, noted
from .cut_lines import carried_line

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
