"""The texts of an operation in the record of a PyTorch program (docs/record.md): its call, and its derivative formulas.

The formulas are minigrad's, for the same operation on the same values (torch_replay.py).  A formula is used only if it gives
the number that PyTorch computed.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Sequence
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
from minigrad.record.values import elements

from .torch_document import Call, Noted
from .torch_replay import Replay, array, largest, near

# the names that formulas use
PUBLIC = {
    word: one for module in (minigrad.nn.functional, minigrad) for word, one in vars(module).items() if word[0] != "_"
}


class Words:
    """The texts of one operation; `labels` name values, `dots` their tangents, `used` are the results that the record shows."""

    def __init__(
        self, op: schema.Op, call: Call, labels: dict[Noted, str], dots: dict[Noted, str], used: Sequence[Noted]
    ):
        self.op, self.call, self.labels, self.dots, self.used = op, call, labels, dots, used

    def write(self, flows: Sequence[tuple], grads: dict[int, dict]) -> None:
        """Write call and formulas; `flows` belong to the edges, `grads` are the gradients of the results by run of backward."""
        call, op = self.call, self.op
        if not call.word:
            return None  # lines of NumPy
        if call.cut == call.name in schema.CALLS:
            op.call = schema.CALLS[call.name].format(self.labels[call.inputs[0]])
            return None
        op.call = self.called()
        if call.function:
            return self.write_custom()
        try:
            replay = Replay(call, list(grads.values()), self.used)
            ours, values = replay.document(self.labels)
        except Exception:  # minigrad lacks the operation, or takes other arguments
            return
        op.call = ours.call or op.call
        if call.name.endswith("dropout") and call.internal:
            self.write_dropout(flows)
        elif replay.same:
            names = {**PUBLIC, **{self.labels[value]: self.tensor(value) for value in replay.index}}
            self.write_edges(ours, values, names, flows, grads)
            self.write_pushes(ours, values, names)

    def write_edges(self, ours: schema.Op, values: dict, names: dict, flows: Sequence, grads: dict[int, dict]) -> None:
        """Give each edge minigrad's formula if the formula gives the edge's number."""
        left = list(ours.edges)
        for edge, (run, value, *_, gives) in zip(self.op.edges, flows):
            given = [self.tensor(grads[run][o], o) if o in grads[run] else self.tensor(o) * 0 for o in self.used]
            g, read = given[0] if len(given) == 1 else given, max([largest(elements(t)) for t in given])
            for one in left:
                number = array(gives, self.call, value)
                if values.get(one.input) is value and gives_number(one.formula, {**names, "g": g}, number, read):
                    edge.formula, edge.latex = one.formula, one.latex
                    left.remove(one)
                    break

    def write_pushes(self, ours: schema.Op, values: dict[int, Noted], names: dict) -> None:
        """Give each tangent of a result minigrad's formula if the formula gives its number."""
        tangents = {value: array(t, self.call, value) for value, t in self.call.tangents.items()}
        names = {**names, **{self.dots[value]: wrap(np.array(t)) for value, t in tangents.items()}}
        read = max(map(largest, tangents.values()), default=0.0)
        for push in ours.pushes:
            if (value := values[push["output"]]) in tangents and gives_number(
                push["formula"], names, tangents[value], read
            ):
                self.push(value, push["formula"], push["latex"])

    def write_dropout(self, flows: Sequence[tuple]) -> None:
        """Write the formulas of a dropout, whose saved tensor is its random factor."""
        (x,), (out,) = [one for one in self.call.inputs if isinstance(one, Noted)], self.used
        for factor in [one for one in self.call.internal.values() if one.shape == out.shape]:
            kept, word = array(factor, self.call), self.labels[factor]
            dotted = [symbol(self.labels[one]) for one in (x, out)]
            for edge, (*_, upstream, gives) in zip(self.op.edges, flows):
                if near(array(upstream, self.call) * kept, array(gives, self.call)):
                    edge.formula = f"g * {word}"
                    edge.latex = rf"\bar{{{dotted[0]}}} = \bar{{{dotted[1]}}} \odot {symbol(word)}"
            if x in self.call.tangents and out in self.call.tangents:
                d, moved = [array(self.call.tangents[one], self.call, one) for one in (x, out)]
                if near(d * kept, moved):
                    latex = rf"\dot{{{dotted[1]}}} = \dot{{{dotted[0]}}} \odot {symbol(word)}"
                    self.push(out, f"{self.dots[x]} * {word}", latex)

    def write_custom(self) -> None:
        """Write the formulas of a custom Function: calls of its methods."""
        grads = "g" if len(self.used) == 1 else ", ".join(f"g[{k}]" for k in range(len(self.used)))
        for edge in self.op.edges:
            edge.formula = f"{self.op.name}.backward({grads})"
        moving = [one for one in self.call.inputs if isinstance(one, Noted) and one in self.call.tangents]
        for value in [one for one in self.used if one in self.call.tangents]:
            self.push(value, f"{self.op.name}.jvp({', '.join([self.dots[one] for one in moving])})", "")

    def push(self, value: Noted, formula: str, latex: str) -> None:
        """Add the formula for the tangent of a result."""
        out = self.op.outputs[self.used.index(value)]
        self.op.pushes.append({"output": out, "formula": formula, "latex": latex, "names": None})

    def tensor(self, value: Noted, of: Noted | None = None) -> Tensor:
        """Return a value, or the gradient `of` one, as a minigrad tensor."""
        return wrap(np.array(array(value, self.call, of)))

    def called(self) -> str:
        """Write the call of PyTorch's function."""
        call = self.call
        args = [self.spelled(a) for a in call.args]
        named = [f"{key}={self.spelled(a)}" for key, a in call.kwargs.items()]
        if call.function:
            long = [len(text) > LONGEST and not isinstance(a, Noted) for a, text in zip(call.args, args)]
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
        if isinstance(a, Noted):
            return self.labels[a]
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
