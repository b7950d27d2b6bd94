"""The texts of an operation in the record of a PyTorch program (docs/record.md): its call, and its derivative formulas.

The formulas are minigrad's, for the same operation on the same values (torch_replay.py).  A formula is used only if it gives
the number that PyTorch computed.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

import minigrad
from minigrad.core.tensor import Tensor, wrap
from minigrad.errors import suppressed_warnings
from minigrad.formulas.latex import symbol
from minigrad.record import schema
from minigrad.record.call_style import by_method
from minigrad.record.constants import LONGEST, brief
from minigrad.record.cuts import Detach
from minigrad.record.operation_texts import Wording
from minigrad.record.values import Flow, OpEntry, Ref, elements

from .torch_replay import Replay, array, largest, near
from .torch_values import Call

# the names that formulas use
PUBLIC = {
    word: one for module in (minigrad.nn.functional, minigrad) for word, one in vars(module).items() if word[0] != "_"
}


class TorchWording(Wording):
    """The texts for the operations of a PyTorch program: of those that are drawn, because they take most of the time."""

    def __init__(self, *given: Any):
        super().__init__(*given)
        self.drawn = getattr(self.rec, "drawn", None)
        self.named.number_saved()

    def write(self, op: schema.Op, group: OpEntry, flows: list[Flow], inputs: list, outputs: list) -> None:
        """Fill in the texts of an operation of the document."""
        for edge, flow in zip(op.edges, flows):
            arrived = {v: self.number(g) for run, v, g in group.upstreams if run == flow.run}
            edge.upstreams = [arrived.get(o) for o in outputs]
        if group.of is not None or self.drawn is not None and op.id not in self.drawn:
            return
        if self.rec.failure is not None and group is self.rec.failure.group and not group.events[0].outputs:
            op.call = f"{op.name}.apply({self.operands(group.events[0])})" if group.function else self.refused(group)
        elif isinstance(group, Call):
            Words(self, op, group, outputs).write(flows)
        elif group.events[0].cls is Detach:
            op.call = schema.CALLS[group.name].format(self.label(inputs[0]))


class Words:
    """The texts of one operation; `used` are the results that the record shows."""

    def __init__(self, wording: Wording, op: schema.Op, call: Call, used: Sequence[int]):
        self.op, self.call, self.used = op, call, used
        self.wording, self.label, self.dot = wording, wording.label, wording.tangent
        values: Any = wording.rec.values
        self.array: Callable[..., np.ndarray] = partial(array, values, call)

    def write(self, flows: Sequence[Flow]) -> None:
        """Write call and formulas; the flows belong to the edges."""
        call, op = self.call, self.op
        if call.function:
            self.wording.write_custom(op, call, list(flows), list(self.used))
        op.call = self.called()
        if call.function:
            return
        runs = dict.fromkeys(flow.run for flow in flows)
        grads = {run: {o: g for at, o, g in call.upstreams if at == run and o in self.used} for run in runs}
        try:
            replay = Replay(call, self.wording.rec.values, grads.values(), self.used)
            ours, values = replay.document(self.label)
        except Exception:  # minigrad lacks the operation, or takes other arguments
            return
        op.call = ours.call or op.call
        if call.name.endswith("dropout") and call.internal:
            self.write_dropout(flows)
        elif replay.same:
            names = {**PUBLIC, **{self.label(value): self.tensor(value) for value in replay.index}}
            self.write_edges(ours, values, names, flows, grads)
            self.write_pushes(ours, values, names)

    def write_edges(self, ours: schema.Op, values: dict, names: dict, flows: Sequence[Flow], grads: dict) -> None:
        """Give each edge minigrad's formula if the formula gives the edge's number."""
        left = list(ours.edges)
        for edge, flow in zip(self.op.edges, flows):
            came = grads[flow.run]
            given = [self.tensor(came[o], o) if o in came else self.tensor(o) * 0 for o in self.used]
            g, read = given[0] if len(given) == 1 else given, max([largest(elements(t)) for t in given])
            for one in left:
                number = self.array(flow.gives, flow.value)
                if values.get(one.input) == flow.value and gives_number(one.formula, {**names, "g": g}, number, read):
                    edge.formula, edge.latex = one.formula, one.latex
                    left.remove(one)
                    break

    def write_pushes(self, ours: schema.Op, values: dict[int, int], names: dict) -> None:
        """Give each tangent of a result minigrad's formula if the formula gives its number."""
        tangents = {value: self.array(t, value) for value, t in self.call.tangents.items()}
        names = {**names, **{self.dot(value): wrap(np.array(t)) for value, t in tangents.items()}}
        read = max(map(largest, tangents.values()), default=0.0)
        for push in ours.pushes:
            value = values[push["output"]]
            if value in tangents and gives_number(push["formula"], names, tangents[value], read):
                self.push(value, push["formula"], push["latex"])

    def write_dropout(self, flows: Sequence[Flow]) -> None:
        """Write the formulas of a dropout, whose saved tensor is its random factor."""
        (x,), (out,) = self.call.read, self.used
        for factor in [one for one in self.call.internal.values() if self.array(one).shape == self.array(out).shape]:
            kept, word = self.array(factor), self.label(factor)
            dotted = [symbol(self.label(one)) for one in (x, out)]
            for edge, flow in zip(self.op.edges, flows):
                if near(self.array(flow.upstream) * kept, self.array(flow.gives)):
                    edge.formula = f"g * {word}"
                    edge.latex = rf"\bar{{{dotted[0]}}} = \bar{{{dotted[1]}}} \odot {symbol(word)}"
            if x in self.call.tangents and out in self.call.tangents:
                d, moved = [self.array(self.call.tangents[one], one) for one in (x, out)]
                if near(d * kept, moved):
                    latex = rf"\dot{{{dotted[1]}}} = \dot{{{dotted[0]}}} \odot {symbol(word)}"
                    self.push(out, f"{self.dot(x)} * {word}", latex)

    def push(self, value: int, formula: str, latex: str) -> None:
        """Add the formula for the tangent of a result."""
        out = self.op.outputs[self.used.index(value)]
        self.op.pushes.append({"output": out, "formula": formula, "latex": latex, "names": None})

    def tensor(self, value: int, of: int | None = None) -> Tensor:
        """Return a value, or the gradient `of` one, as a minigrad tensor."""
        return wrap(np.array(self.array(value, of)))

    def called(self) -> str:
        """Write the call of PyTorch's function."""
        call = self.call
        args = [self.spelled(a) for a in call.args]
        named = [f"{key}={self.spelled(a)}" for key, a in call.kwargs.items()]
        if call.function:
            long = [len(text) > LONGEST and type(a) is not Ref for a, text in zip(call.args, args)]
            args = [brief(a) if cut else text for a, text, cut in zip(call.args, args, long)]
            return f"{call.function}.apply({', '.join(args + named)})"
        if call.name in ("getitem", "setitem") and len(args) > 1:
            index = call.args[1]
            inside = ", ".join(map(self.spelled, index)) if isinstance(index, tuple) else args[1]
            return f"{args[0]}[{inside}]" + (f" = {args[2]}" if call.name == "setitem" else "")
        word = call.name + "_" * (call.inplace and call.word.endswith("_") and not call.word.endswith("__"))
        if args and by_method(call.where, call.name):
            return f"{args[0]}.{word}({', '.join(args[1:] + named)})"
        return f"{word}({', '.join(args + named)})"

    def spelled(self, a: Any) -> str:
        """Write an argument as in source code."""
        if type(a) is Ref:
            return self.label(a.value)
        if isinstance(a, (tuple, list)):
            parts = ", ".join(map(self.spelled, a))
            return f"[{parts}]" if isinstance(a, list) else f"({parts}{',' * (len(a) == 1)})"
        if isinstance(a, slice):
            ends = ["" if part is None else self.spelled(part) for part in (a.start, a.stop)]
            return ":".join([*ends, *([] if a.step is None else [self.spelled(a.step)])])
        if a is Ellipsis:
            return "..."
        return str(a).removeprefix("torch.") if isinstance(a, (torch.dtype, torch.memory_format)) else brief(a)


def gives_number(formula: str, names: dict[str, Any], number: np.ndarray, read: float) -> bool:
    """Return True if a formula, with these values for its names, gives the number that PyTorch computed."""
    try:
        with suppressed_warnings():
            found = eval(formula, names)
    except Exception:  # it uses a tensor that only minigrad saves
        return False
    return near(elements(found), number, read)
