"""Differentiate the results of a compiled call: they share one node, whose backward is the second generated program.

For a gradient of gradients, the function itself runs again under a Grad layer (`recompute`). This works for any order, and is
as fast as eager code. If only some outputs were used, another program differentiates those (backward_programs.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.kinds import KINDS
from ..autograd.grad_mode import no_grad
from ..core.context import Ctx
from ..core.frames import OFF, Frame, current, push
from ..core.function import Function
from ..core.graph import Leaf, OutputEdge, history
from ..core.saved import INFERENCE, Freed, Saved, memory, next_number, save, version
from ..core.tensor import Box, Tensor, describe, wrap
from ..errors import OutsideError, error
from ..events import intercept, unheard
from ..func.reverse import pull
from ..func.tree import flatten, rebuild
from ..layers.grad import Grad

if TYPE_CHECKING:
    from .specialization import Specialisation


class CompiledNode(Ctx):
    """The node of a compiled call. It saves inputs, which it holds anyway, twins of results, and arrays."""

    __slots__ = ("_entries", "leaves", "made", "program", "states", "tensors", "twins", "versions")
    _layer = _hooks = _trace = _forward = None
    _dirty = _nondiff = ()

    def __init__(self, program: Specialisation, tensors: list, made: list, leaves: Any):
        self.program, self.tensors, self.made, self.leaves = program, tensors, made, leaves
        self._needs, self._meta, self._given = program.described
        self._places, self._seq, self._materialize, self._entries = program.saved_places, next_number(), False, None

    @property
    def _saved(self) -> Any:
        """The saved tensors that other nodes have, created on access, because `backward` does not need them."""
        if self._entries is None:
            self._entries = self.entries(Saved)
        return self._entries

    def entries(self, keep: Callable) -> tuple:
        """Return a Saved tensor for each value that the backward program reads."""
        twins, made, found = iter(self.twins), iter(self.made), []
        for what, k, _ in self.program.saved_order:
            if what == "out":
                found.append(next(twins))
                continue
            found.append(keep(self.tensors[k] if what == "input" else wrap(next(made))))
            found[-1].version = self.versions[k] if what == "input" else 0
        return tuple(found)

    def _free(self, freed: Freed) -> None:
        """Drop the saved tensors."""
        if self.program.saved_order and type(self._entries) is not Freed:
            self._entries, self.made, self.twins = freed, [], []

    def backward_on_arrays(self, g: Any, freed: Freed | None) -> list | None:
        """Run the backward program while gradients flow as arrays (`backward_function` in fast_call.py)."""
        if self._entries is not None or self.program.back is None:
            return None  # gradients flow as tensors, which looks at the saved ones
        try:
            pairs = self.program.back(self, g)
        except OutsideError:
            raise
        except Exception:
            return None  # `backward` reports the error
        if freed is not None and pairs is not None:
            self._free(freed)
        return pairs


def track(program: Specialisation, tensors: list, edges: tuple, outs: list, made: list, leaves: Any) -> Any:
    """Attach the node to the results; `made` are the values computed for the backward program."""
    tracked = [o for o, t in zip(outs, program.out_tracked) if t]
    if not program.described:  # the same sizes and dtypes at every call
        needs = tuple([k in program.by for k in range(len(tensors))])
        program.described = needs, describe(tuple(tracked)), describe(tuple(tensors))
    node = CompiledFunction.Node(program, tensors, made, leaves)
    node._edges = edges
    counters = [t._ver for t in tensors]
    node.versions = [0 if v is None else v.n for v in counters]
    node.twins = [save(outs[k], i) for k, i in program.saved_outs]
    if INFERENCE in counters:
        node._entries = node.entries(save)  # raises if such a tensor is saved
    for i, o in enumerate(tracked):
        o._edge = node if len(tracked) == 1 else OutputEdge(node, i)
    return node


class CompiledFunction(Function):
    """The Function of a compiled call's results."""

    Node = CompiledNode

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple:
        program = ctx.program
        if program.backwards is None:
            if program.written or None not in grads:
                raise RuntimeError(program.freed)
            return recompute(program, ctx, grads)  # the requested gradients may not need the overwritten values
        ctx.saved_tensors  # noqa: B018 - raises where one was modified or freed
        pull = program.backwards.pull(tuple([g is not None for g in grads]))
        plain = current() is OFF and intercept.dual_level_of is unheard
        if pull is None or not plain or any([type(g) is Box for g in grads]):
            return recompute(program, ctx, grads)
        arrays = [g if g is None else g._a for g in grads]
        try:
            pairs = pull.back(ctx, arrays if len(arrays) > 1 else arrays[0])
        except OutsideError:
            raise
        except Exception as e:
            program.give_up(program.owner, e)
            return recompute(program, ctx, grads)
        found: list = [None] * len(ctx._edges)
        for k, (_, g) in zip(pull.by, pairs):
            found[k] = wrap(g if type(g) in KINDS else np.asarray(g))
        return tuple(found)

    @staticmethod
    def replay(node: Any) -> None:
        """Run the function of a compiled call again, eagerly, for observers; do nothing if that would have effects."""
        program = node.program
        if program.effects or any(version(t) != n for t, n in zip(node.tensors, node.versions)):
            return
        with no_grad():
            run_again(program, node, [t.detach() for t in node.tensors[: program.n_args]])


# ---------------------------------------------------------------------- eager fallback
def recompute(program: Specialisation, ctx: Any, grads: tuple) -> tuple:
    """Return differentiable gradients, computed by eager code."""
    where = f"compile({program.owner.name})"
    if program.effects:  # they would happen a second time
        what = "its gradient needs a second run of the function, which changes objects that outlive the call"
        raise error(RuntimeError, where, what, "call it uncompiled for create_graph=True: f.function(x)")
    check_unchanged(program, ctx, where)
    n = program.n_args
    with push(RecomputeLayer(ctx.tensors[n:])) as layer:
        boxes = [layer.variable(t) if k in program.by else layer.box(t) for k, t in enumerate(ctx.tensors[:n])]
        flat = run_again(program, ctx, boxes)
    outs = {i: o for o, (k, i) in zip(flat, program.results) if k == "out"}
    tracked = [outs[i] for i, t in enumerate(program.out_tracked) if t]
    pairs = [(o, g) for o, g in zip(tracked, grads) if g is not None]
    variables = [boxes[k] if k < n else layer.mapped(ctx.tensors[k]) for k in program.by]
    found = pull(layer, [o for o, _ in pairs], [g for _, g in pairs], variables, False, current().grad)
    by_place = dict(zip(program.by, found))
    return tuple([by_place.get(k) for k in range(len(ctx.tensors))])


def check_unchanged(program: Specialisation, ctx: Any, where: str) -> None:
    """Raise unless the function would run again on the same inputs."""
    if any(version(t) != n for t, n in zip(ctx.tensors, ctx.versions)):
        what = "an input was modified in place after the call: create_graph needs its old value"
        raise error(RuntimeError, where, what, "clone() it before the call")
    numbers = [ctx.leaves[i] for i, _ in program.numbers_from("outside")]
    if program.guards.numbers_now(ctx.leaves) != numbers:
        what = "a value that the function reads from outside has changed since the call"
        raise error(RuntimeError, where, what, "call backward before changing it")


def run_again(program: Specialisation, ctx: Any, boxes: list) -> list:
    """Return the leaves of the function's result on other tensors, with the random numbers of the first run."""
    full = list(ctx.leaves[: program.n_leaves])
    for place, box in zip(program.arg_places, boxes):
        full[place] = box
    args, kwargs = rebuild(program.tree, full)
    now = [g.get_state() for g in program.generators]
    for g, state in zip(program.generators, ctx.states):
        g.set_state(state)
    written = [(t, t._a.copy(), version(t)) for t in (ctx.tensors[k] for k in program.written)]
    try:
        result = program.owner.function(*args, **kwargs)
    finally:  # undo its writes: the call has made them already
        for t, was, number in written:
            t._a[...] = was
            memory(t).n = number
        for g, state in zip(program.generators, now):
            g.set_state(state)
    return [result] if program.result_tree is None else flatten(result)[0]


class RecomputeLayer(Grad):
    """A Grad layer that also differentiates with respect to captured tensors."""

    def __init__(self, captured: list):
        self.captured = {id(t): self.shared(t) for t in captured}

    def shared(self, t: Tensor) -> Box:
        """Return a box with the tensor's own edge, so that the function may refer to the tensor."""
        b = self.box(t)
        edge = history(t)
        # hooks are called where the gradient arrives outside, and only there
        b._edge = None if edge is None else edge if type(edge) is Leaf and edge._hooks is None else Leaf(b)
        return b

    def mapped(self, a: Any) -> Any:
        return self.captured.get(id(a), a)

    def process(self, frame: Frame, cls: Any, args: tuple) -> Any:
        return super().process(frame, cls, tuple([self.mapped(a) for a in args]))

    def inplace(self, frame: Frame, fn: Any, x: Tensor, others: tuple) -> Tensor:
        x, *others = [self.mapped(a) for a in (x, *others)]
        return super().inplace(frame, fn, x, tuple(others))
