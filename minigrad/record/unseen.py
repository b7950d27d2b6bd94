"""A backward that the program does not see: it runs on copies of the graph's nodes.

So a look at a graph calls no hook, fills no `.grad` and frees no saved tensor. Random numbers and each ctx stay as they were.
"""

import inspect
import math
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import Any

import numpy as np

from ..arrays.devices import CPU
from ..arrays.kinds import to_device_of
from ..autograd.function import DelayedError
from ..core import engine
from ..core.context import Ctx
from ..core.engine import reachable
from ..core.frames import ON, use
from ..core.graph import Leaf, Node, OutputEdge
from ..core.saved import Freed, Saved
from ..core.tensor import wrap
from ..errors import suppressed_warnings
from ..ops.create import blank
from ..ops.generator import fork_rng
from .recorder import Record
from .values import bottom

FREED = "the program's own backward has freed the saved tensors; call backward(retain_graph=True) to keep them"
PACKED = "it would call the program's hooks for saved tensors, or a checkpointed function; viz.draw and explain do"
LARGEST = 10_000_000  # elements of all results in a graph whose backward runs unasked
HOOKS = "the program's hooks are not called here, so these are the gradients without them"


def run_backward(rec: Record, roots: Sequence, asked: bool, seed: np.ndarray | None = None) -> None:
    """Add to a recording the backward pass from some edges, seeded with ones, or with the `seed` of the only one.

    If it cannot run, note the reason.

    Only if the user has `asked` for it, it calls hooks for saved tensors and checkpointed functions, and may take long.
    """
    made = copied_graph(roots)
    nodes = [new for new in made.values() if isinstance(new, Node)]
    if why := refusal(nodes, asked):
        rec.notes.append(why)
        return
    if any(map(has_hooks, made)):
        rec.notes.append(HOOKS)
    rec.leaves.update({new: rec.leaves[old] for old, new in made.items() if old in rec.leaves})
    rec._made_by.update({new: rec._made_by[old] for old, new in made.items() if old in rec._made_by})
    leaves = [new for new in made.values() if type(new) is Leaf]
    calls_users_code = any(isinstance(node, Ctx) for node in nodes)
    same = same_random_numbers() if calls_users_code else nullcontext()
    rec.added_backward = True
    # ON: no recording, profiler or mode around sees it
    with suppressed_warnings(), same, as_far_as_memory_goes(rec), use(ON), rec:
        seeds = [seed_at(rec, e, leaves, seed) for e in roots]
        engine.run([moved(e, made) for e in roots], seeds, {(leaf, 0) for leaf in leaves})
    old_of = {new: old for old, new in made.items()}
    for ran in rec.insides:
        ran.ctx = old_of.get(ran.ctx, ran.ctx)


@contextmanager
def as_far_as_memory_goes(rec: Record) -> Iterator[None]:
    """End a backward that the program does not run, with a note, where its gradients need more memory than there is."""
    try:
        yield
    except MemoryError as lacking:
        why = (getattr(lacking, "problem", "") or str(lacking)).removeprefix("not enough memory: ")
        rec.notes.append(f"it needs more memory than there is: {why[:1].lower()}{why[1:]}")


def seed_at(rec: Record, edge: Any, leaves: list, seed: np.ndarray | None) -> Any:
    """Return the gradient with which backward begins at an edge, on the device of its value, or else of a leaf."""
    number = rec.value_of(edge)
    known = [] if number is None else [rec.values[number].array]
    known += [bottom(t) for leaf in leaves if (t := leaf.variable) is not None]
    like = next((a for a in known if a is not None), None)
    given = blank(edge._shape, 1, edge._dtype, CPU, "record_of") if seed is None else seed
    return wrap(to_device_of(given, like))


def refusal(nodes: Sequence, asked: bool) -> str:
    """Return the reason why a backward cannot run through some nodes unseen, or ""."""
    if any(type(node._saved) is Freed for node in nodes):
        return FREED
    for node in nodes:
        if node._fn is DelayedError:
            (problem,) = node._saved
            return f"it has no derivative: {str(problem()).splitlines()[0]}"
    size = sum(math.prod(meta[0]) for node in nodes for meta in node._meta if meta is not None)
    if size > LARGEST and not asked:
        return f"its {size:,} elements would take long; viz.draw and explain run it"
    packed = [s for node in nodes for s in node._saved if type(s) is Saved and s.unpack is not None]
    return PACKED if packed and not asked else ""


def has_hooks(node: Any) -> bool:
    """Return True if hooks may change the gradients of a node."""
    hooks = node._hooks
    own = hooks is not None and (hooks.before or hooks.after or any(hooks.tensor.values()))
    return bool(own) or hasattr(getattr(node, "_fn", None), "without_hooks")


# ---------------------------------------------------------------------- copies
def copied_graph(roots: Sequence) -> dict[Any, Any]:
    """Return a copy without hooks of each node and leaf behind some edges."""
    made: dict[Any, Any] = {one: object.__new__(type(one)) for group in reachable(roots) for one in group}
    for old, new in made.items():
        if hasattr(old, "__dict__"):
            new.__dict__.update(old.__dict__)
        for slot in slots_of(type(old)):
            try:
                held = slot.__get__(old)
            except AttributeError:  # never set
                continue
            if isinstance(held, (Node, Leaf, OutputEdge)):
                held = moved(held, made)
            elif slot.__name__ == "_edges":
                held = tuple([moved(e, made) for e in held])
            slot.__set__(new, held)
        new._hooks = None
        if (without_hooks := getattr(getattr(new, "_fn", None), "without_hooks", None)) is not None:
            without_hooks(new)
    return made


@cache
def slots_of(cls: type) -> list:
    """Return the slots of a class and its bases."""
    return [slot for base in cls.__mro__ for slot in vars(base).values() if inspect.ismemberdescriptor(slot)]


def moved(edge: Any, made: dict) -> Any:
    """Return the same edge of the copied graph."""
    if type(edge) is OutputEdge:
        return OutputEdge(made.get(edge.node, edge.node), edge.index)
    return edge if edge is None else made.get(edge, edge)


@contextmanager
def same_random_numbers() -> Iterator[None]:
    """Restore the states of all random generators afterwards: minigrad's, NumPy's and Python's."""
    of_numpy, of_python = np.random.get_state(), random.getstate()
    try:
        with fork_rng():
            yield
    finally:
        np.random.set_state(of_numpy)
        random.setstate(of_python)
