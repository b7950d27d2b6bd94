"""Reverse mode: pop the youngest node, run its backward, add the results to the gradients of its inputs.

Every input is older than its output, so a heap by descending creation number is a topological order.  It needs no recursion
and no dependency counts, and a chain of a million nodes uses no more stack than one node.  There is a single loop.  Arrays flow
through it if gradients need not be differentiable (a `step` on arrays).  If they must be, Tensors do, and the formulas are
ordinary operations, so that one mechanism gives derivatives of any order (a `step` on tensors).  Leaves come last, except
those with hooks, which are called as soon as their gradient is complete, while the rest still runs.
"""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from heapq import heappop, heappush
from typing import Any

from ..arrays.errstate import listen, restore
from ..arrays.kinds import KINDS, Array
from ..arrays.memory import is_new
from ..events import events, intercept, services, unheard
from ..places import Place, user_place
from .backward import accumulate, accumulate_array, step_on_arrays, step_on_tensors, to_array, to_tensor, vjp
from .frames import OFF, ON, current, enter, recorder_of
from .graph import Edge, Leaf, Node, OutputEdge, key, producer
from .saved import Freed
from .tensor import Gradient, Tensor


class BackwardRun:
    """One backward: its roots, the wanted gradients, and the node that is running."""

    node: Any = None
    step: Callable  # (node, gradient, run) -> pairs of edge and gradient
    end: Callable  # accumulates a gradient, (leaf, gradient, run)
    arrived: Callable | None = None  # receives gradients that go no further
    targets: Any = None  # nodes whose gradients are requested
    useful: Any = None  # nodes on a path from the roots to a target

    def __init__(self, roots: Sequence, wanted: Any, keep: bool, create: bool, place: Place | None):
        self.roots, self.wanted, self.create, self.place = roots, wanted, create, place
        self.around, self.freed = running.get(), None if keep else Freed(place)  # which replaces saved tensors
        self.callbacks: list[Callable] = self.around.callbacks if self.around else []  # called at the end
        self.pull: Callable = vjp  # a node's backward on Tensors, (node, gradients)
        self.waiting: dict[Any, Any] = {}  # node -> its gradient, or a list of them if it has several outputs
        self.leaves: dict[Leaf, Any] = {}  # these come last; leaves that are roots or have hooks wait in the heap
        self.turns: dict[Leaf, float] | None = None  # by leaf, once a leaf with hooks is found
        self.owned: set = set()  # edges whose array no other code holds, so that it can be added to in place
        if wanted is not None:
            self.targets, self.useful = {node for node, _ in wanted}, nodes_on_paths(roots, wanted)

    def turn(self, leaf: Leaf) -> float:
        """Return the turn of a leaf with hooks: right after the oldest node that contributes to its gradient."""
        if self.turns is None:
            nodes = sorted(reachable(self.roots)[0], key=lambda n: -n._seq)
            self.turns = {e: n._seq - 1 / (i + 2) for n in nodes for i, e in enumerate(n._edges) if type(e) is Leaf}
        return self.turns.get(leaf, leaf._seq)

    def reaches(self) -> set:
        """Return all nodes that receive a gradient in this run."""
        return set.union(*reachable(self.roots)) if self.targets is None else self.useful | self.targets

    def add_to_part(self, edge: Edge, index: tuple, g: Array) -> bool:
        """Add g to a part of the array that has arrived at an edge so far; return False if none has."""
        arrived: dict = self.leaves if edge in self.leaves else self.waiting
        known: Any = arrived.get(edge)
        first = edge not in self.owned
        self.owned.add(edge)
        if type(known) not in KINDS:
            return False
        if first:
            known = arrived[edge] = known.copy("K")
        known[index] += g
        return True

    def ended(self, found: dict) -> dict:
        """Report the end of this run, and call the queued callbacks; return the gradients that it found."""
        events.backward_ends(self, found)
        while self.around is None and self.callbacks:  # each may queue more
            self.callbacks.pop(0)()
        return found


running: ContextVar[BackwardRun | None] = ContextVar("minigrad.running", default=None)  # the innermost backward here


def run(
    roots: Sequence,
    grads: Sequence,
    wanted: set | None = None,
    keep: bool = False,
    create: bool = False,
    place: Place | None = None,
) -> dict:
    """Propagate `grads` back from the edges `roots`.

    Without `wanted`, every leaf that is reached accumulates into its `.grad`.  With it, only nodes on a path to a wanted edge
    run, and the result is {edge key: gradient} for the wanted edges.  `place` is the user's line, if known.
    """
    here, this = current(), BackwardRun(roots, wanted, keep, create, place or user_place())
    recorder = None if here is ON or here is OFF else recorder_of(here)
    plain = here in (ON, OFF) and not here.observers if recorder is None else recorder.lies_on_plain(here)
    # where a dual level is open, each formula asks if its tensors have tangents
    arrays = plain and not create and set(map(type, grads)) == {Tensor} and intercept.dual_level_of is unheard
    this.step, this.end = (step_on_arrays, accumulate_array) if arrays else (step_on_tensors, accumulate)
    seeds, silent = list(map(to_array, grads) if arrays else grads), listen() if arrays else None
    try:
        try:
            running.set(this)
            enter(OFF if arrays else here.but(grad=True) if create else here.all_grad(False))
            if recorder is None:
                found = backward_loop(this, seeds)
            else:
                with recorder.running(this, grads, seeds, arrays):
                    found = recorder.found(backward_loop(this, seeds))
        finally:
            enter(here)
            running.set(this.around)
    finally:  # again, because Ctrl-C may have come in between
        enter(here)
        running.set(this.around)
        if silent is not None:
            restore(silent)
    found = found and {k: to_tensor(g) for k, g in found.items()}
    return this.ended(found) if this.callbacks or events.backward_ends is not unheard else found


def queue_callback(callback: Callable) -> None:
    """Call a function without arguments at the end of the outermost running backward.  Raises RuntimeError without one."""
    if (this := running.get()) is None:
        raise services.problem("callbacks are queued during backward", callback=callback)
    this.callbacks.append(callback)


def backward_loop(this: BackwardRun, grads: Sequence) -> dict:
    """Run the nodes, the youngest first; return the wanted gradients, as the arrays or Tensors that flow."""
    waiting, leaves, heap, found = this.waiting, this.leaves, [], {}
    targets, useful, step, freed, owned = this.targets, this.useful, this.step, this.freed, this.owned
    paths = None if targets is None else useful | targets
    direct = step is step_on_arrays  # a written-out backward needs no step around it
    for edge, g in zip(this.roots, grads, strict=True):
        give(waiting, heap, edge, g)
    if freed is not None and heap:
        freed.root = -heap[0][0]
    while heap:
        node = heappop(heap)[1]
        this.node, g = node, waiting.pop(node)
        g = g if node._hooks is None else hooked(node, g)
        if paths is None:
            if type(node) is Leaf:
                this.end(node, g, this)
                continue
        elif (node in targets or node not in useful) and ends_here(this, node, g, found):
            continue
        written_out = node.backward_on_arrays if direct and node._hooks is None else None
        pairs = None if written_out is None else written_out(g, freed)  # None: arrays are not enough
        for edge, d in step(node, g, this) if pairs is None else pairs:
            if edge is None or d is None or paths is not None and edge not in paths and producer(edge) not in paths:
                continue
            if type(edge) is Leaf and (edge in leaves or edge._hooks is None and edge not in waiting):
                if (summed := edge in leaves) or pairs is not None and is_new(d, g, pairs):
                    owned.add(edge)
                leaves[edge] = leaves[edge] + d if summed else d
            elif edge in waiting or type(edge) is OutputEdge:
                give(waiting, heap, edge, d)
            else:
                waiting[edge] = d
                heappush(heap, (-edge._seq if type(edge) is not Leaf else -this.turn(edge), edge))
    reach_leaves(this, leaves, found)
    return found


def ends_here(this: BackwardRun, node: Node | Leaf, g: Gradient | list, found: dict) -> bool:
    """Collect the wanted gradients of a node; return True if they go no further."""
    if node in this.targets:
        gs = g if type(g) is list else (g,)
        found.update({(node, i): x for i, x in enumerate(gs) if x is not None and (node, i) in this.wanted})
    if node in this.useful:
        return False
    if this.arrived is not None:
        this.arrived(node, g)
    return True


def reach_leaves(this: BackwardRun, leaves: dict[Leaf, Any], found: dict) -> None:
    """Pass the leaves their gradients; put the wanted ones into `found`."""
    while leaves:
        leaf, g = leaves.popitem()
        this.node = leaf
        g = g if leaf._hooks is None else hooked(leaf, g)
        if this.targets is None:
            this.end(leaf, g, this)
        else:
            ends_here(this, leaf, g, found)


def give(waiting: dict, heap: list, edge: Any, g: Gradient) -> None:
    """Add g to the gradient of an edge so far; a node with several outputs has one list for all of them."""
    if type(edge) is OutputEdge:
        node, i = edge.node, edge.index
        if node not in waiting:
            waiting[node] = [None] * len(node._meta)
            heappush(heap, (-node._seq, node))
        outputs = waiting[node]
        outputs[i] = g if outputs[i] is None else outputs[i] + g
    elif edge in waiting:
        waiting[edge] = waiting[edge] + g
    else:
        waiting[edge] = g
        heappush(heap, (-edge._seq, edge))


def hooked(node: Node | Leaf, g: Gradient | list) -> Any:
    """Return a node's gradients after its tensor hooks, in the same form."""
    gs = list(g) if type(g) is list else [g]
    if node._hooks.tensor or node._hooks.retained:
        given = [to_tensor(x) for x in gs]
        after = node._hooks.arrived(list(given))
        gs = [
            x if new is old else new if isinstance(x, Tensor) else to_array(new)
            for x, old, new in zip(gs, given, after)
        ]
    return gs if type(g) is list else gs[0]


# ---------------------------------------------------------------------- walks
def reachable(roots: Sequence) -> tuple[set, set]:
    """Return all computed nodes and all leaves behind the edges `roots`."""
    nodes, leaves, stack = set(), set(), list(roots)
    while stack:
        edge = stack.pop()
        node = edge.node if type(edge) is OutputEdge else edge  # not `producer`: all graphs are walked here
        if type(node) is Leaf:
            leaves.add(node)
        elif node is not None and node not in nodes:
            nodes.add(node)
            stack += node._edges
    return nodes, leaves


def nodes_on_paths(roots: Sequence, wanted: set) -> set:
    """Return the nodes from which a wanted edge can be reached; only these need to run."""
    targets = {node for node, _ in wanted}
    nodes, leaves = reachable(roots)
    if leaves == targets:  # the targets are exactly the leaves
        return nodes
    useful: set = set()
    for node in sorted(nodes, key=lambda n: n._seq):
        for e in node._edges:
            if e is not None and ((p := producer(e)) in useful or p in targets and key(e) in wanted):
                useful.add(node)
                break
    return useful
