"""The result of one capture of a function: its steps, its results, and the backward steps that differentiate them.

The function runs once under a CaptureTrace (trace.py), with inputs for its tensors and symbols for its numbers. Each returned
value is an output, one of the inputs or a plain value. Tracked outputs are differentiated right away, so that the backward
consists of steps of the same kind.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import optree

from ..core.graph import Leaf, history
from ..core.tensor import Box, Tensor
from ..func.tree import flatten, rebuild
from .allowed import is_plain
from .capture import tracing
from .captured_steps import RETURN, CapturedStep, CapturedValue, Refused
from .checks import Checks
from .effects import effects
from .guards import Guards
from .symbols import Reads, SymbolicFloat, SymbolicInt, is_symbolic
from .trace import NEEDED, CaptureTrace

if TYPE_CHECKING:
    from .specialization import Specialisation


class Captured:
    """The result of one capture."""

    def __init__(self, program: Specialisation):
        self.program, self.leaves = program, program.leaves
        self.trace = trace = CaptureTrace(program.guards, self)
        program.guards.symbol = self.outside_number
        self.reads = Reads(program.names, trace.depends)
        self.computed: dict[int, tuple[Box, CapturedValue]] = {}  # numbers that the program computes, by leaf
        self.forward_steps: list[CapturedStep] = trace.steps
        self.backward_steps: list[CapturedStep] = []
        self.seeds: list = []
        self.grads: list = []
        self.freed = ""  # the error of its backward
        full = self.take_arguments(program)
        args, kwargs = rebuild(program.tree, full)
        checks = Checks(program.guards, trace)
        with tracing(trace, program.grad):
            for path, a in program.roots():
                program.guards.object(path, a)
            result = checks.call(program.owner.function, *args, **kwargs)
            trace.phase = "forward"
            self.look_at_operators(trace, program.guards)
            after, tree = flatten((args, kwargs))
            if tree != program.tree or any(a is not b for a, b in zip(after, full)):
                raise Refused("it changes a list or dictionary in its arguments", None, True, RETURN)
            self.outs: list[Box] = []
            self.take_results(result)
            self.effects, self.once = effects(program.guards, trace, self.leaf)
            for leaf, (b, v) in self.computed.items():
                program.sources_of_numbers[leaf] = "computed", self.result_of(b, v)
            self.look_at_memory(trace)
            if trace.tracks_others():
                raise Refused("it changes requires_grad of a tensor that outlives the call")
            if any(type(history(o)) is Leaf for o in self.outs):
                raise Refused("it returns a leaf that it creates", None, False)
            boxes = trace.input_boxes()
            self.tracked = [program.grad and history(o) is not None for o in self.outs]
            self.by = [k for k, b in enumerate(boxes) if history(b) is not None]
            if any(type(history(boxes[k])) is not Leaf for k in self.by):
                raise Refused("it writes to an input, and the write is tracked", None, False)
            if any(self.tracked):
                self.run_backward(trace, boxes)
            if self.seeds and any(what == "grad" for what, *_ in self.effects):
                what = "it changes a .grad, which outlives the call, and returns a differentiable tensor"
                raise Refused(what, None, True, "return tensor.detach(), or return the new gradient")
        self.reads.refuse = lambda: Refused(NEEDED)  # the numbers must not keep the capture alive
        for o in self.outs:
            o._edge = None  # frees the graph, which holds saved tensors

    def look_at_operators(self, trace: CaptureTrace, guards: Guards) -> None:
        """Record the operators that the user's functions use: each call runs those of the tensors' classes."""
        for name in sorted(trace.operators):
            if hasattr(Tensor, name):
                guards.same(Tensor, name)
        for t in trace.outside:
            if type(t) is not Tensor:  # a subclass, to which one may be added
                guards.shapes[id(type(t))] = type(t)

    def take_arguments(self, program: Specialisation) -> list:
        """Return the arguments for the function: boxes for tensors, symbols for numbers."""
        full, self.places = list(self.leaves), []
        seen: set[int] = set()
        for i, a in enumerate(full):
            if isinstance(a, Tensor):
                if type(a) is Box or a.is_inference():
                    raise Refused("an argument is an inference tensor or belongs to a transform", None, False)
                if id(a) in self.trace._outside or id(a) in seen and history(a) is not None:
                    raise Refused("a tensor is passed twice, or also read from a variable", None, False)
                seen.add(id(a))
                full[i] = self.trace.argument(a, program.names[i], f"leaves[{i}]")
                self.places.append(i)
            elif i in program.numbers:
                full[i] = self.number(i)
        return full

    def of_input(self, t: Tensor) -> Any:
        """Return the result of item() for an input."""
        return self.number(self.program.leaf_for("input", place(t, self.trace.outside), t._a.item()))

    def outside_number(self, path: str, text: str, value: Any) -> Any:
        """Return the symbol of a number that the function reads from outside."""
        return self.number(self.program.leaf_for("outside", text, value, path))

    def of_result(self, b: Box, v: CapturedValue) -> Any:
        """Return the result of item() for a computed tensor: a number that may only be returned or stored."""
        i = self.program.leaf_for("computed", len(self.leaves), b._value._a.item())
        self.computed[i] = b, v
        self.reads.results.add(i)
        return self.number(i) if i in self.program.numbers else None

    def result_of(self, b: Box, v: CapturedValue) -> tuple[str, Any]:
        """Return the location of the tensor whose number was requested."""
        if self.trace.value(b) is not v:
            raise Refused("it calls item() on a tensor and writes to that tensor afterwards", None, True)
        k = next((k for k, o in enumerate(self.outs) if self.trace.value(o) is v), None)
        if k is not None:
            return "out", k
        return self.leaf(self.trace.detach(b) if place(b, self.trace.input_boxes()) is None else b)

    def number(self, i: int) -> Any:
        """Return leaf `i`, as a symbol if it may be a parameter."""
        a = self.leaves[i]
        if i not in self.program.numbers:
            return a
        return (SymbolicFloat if type(a) is float else SymbolicInt)(a, f"leaves[{i}]", frozenset([i]), self.reads)

    def leaf(self, o: Any) -> tuple[str, Any] | None:
        """Classify an object of the program: an output, one of its inputs, a number or a plain value."""
        if isinstance(o, Tensor):
            o = self.trace.own(o)
            if (k := place(o, self.trace.input_boxes())) is not None:
                return "input", k
            if (v := self.trace.value(o)).kind == "number":
                return "count", v
            if place(o, self.outs) is None:
                self.outs.append(o)
            return "out", place(o, self.outs)
        if is_symbolic(o):
            return "number", o
        return ("value", o) if is_plain(o) else None

    def take_results(self, result: Any) -> None:
        """Collect the outputs and the other returned values."""
        flat, self.result_tree = ([result], None) if isinstance(result, Tensor) else flatten(result)
        self.results: list[tuple[str, Any]] = []
        for o in flat:
            if (part := self.leaf(o)) is None:
                raise Refused(f"it returns a {type(o).__name__}", None, True, "return tensors, numbers, text or None")
            self.results.append(part)

    def look_at_memory(self, trace: CaptureTrace) -> None:
        """Check that each output has its own memory."""
        memories = [b._value._a for b in trace.input_boxes()]
        for o in self.outs:
            v = trace.value(o)
            if v.kind != "computed" or any(np.may_share_memory(o._value._a, m) for m in memories):
                raise Refused("it returns a view of an argument, or a tensor that it does not compute", None, False)
            memories.append(o._value._a)

    def run_backward(self, trace: CaptureTrace, boxes: list) -> None:
        """Record the backward program, from seeds for the tracked outputs."""
        before = len(trace.steps)
        outs = [o for o, t in zip(self.outs, self.tracked) if t]
        try:
            self.seeds, self.grads = trace.differentiate(outs, [boxes[k] for k in self.by])
        except Refused:
            raise
        except RuntimeError as e:  # the function itself frees its graph
            self.freed = str(e)
            del trace.steps[before:]
            return
        self.forward_steps, self.backward_steps = trace.steps[:before], trace.steps[before:]

    def needed(self) -> tuple[list[CapturedValue], list[CapturedStep]]:
        """Return the forward values that the backward program reads, and the steps of views among them, which it repeats."""
        maker = {o: s for s in self.forward_steps for o in s.outs}
        made = {o for s in self.backward_steps for o in s.outs} | set(self.seeds)
        saved: dict[CapturedValue, None] = {}
        again: list[CapturedStep] = []

        def need(v: Any) -> None:
            if not isinstance(v, CapturedValue) or v in made or v in saved or v.kind in ("number", "constant"):
                return
            step = maker.get(v)
            if step is not None and step.cls.primitive and step.cls.view and step.written is None:
                need(step.args[0])
                again.append(step)
                made.add(v)
            else:
                saved[v] = None
                v.name = v.name or (step.cls.name + "_result" if step is not None else "")

        for v in [*[a for s in self.backward_steps for a in s.args], *self.grads]:
            need(v)
        return list(saved), again


def place(a: Any, among: list) -> int | None:
    """Return the position of an object in a list, by identity, or None."""
    return next((k for k, b in enumerate(among) if b is a), None)


def argument_names(f: Callable, args: tuple, kwargs: dict) -> list[str]:
    """Return a name for each leaf of the arguments."""
    try:
        parameters = inspect.signature(getattr(f, "forward", f)).parameters
        names = [p.name for p in parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        star = next((p.name for p in parameters.values() if p.kind is p.VAR_POSITIONAL), "args")
    except (TypeError, ValueError):
        names, star = [], "args"
    found: dict[str, None] = {}
    for path in optree.tree_paths((args, kwargs), none_is_leaf=True):
        kind, first, *rest = path
        if kind == 0:  # a positional argument
            first = names[first] if first < len(names) else f"{star}_{first - len(names)}"
        name = "_".join(map(str, [first, *rest]))
        while name in found:
            name += "_"
        found[name] = None
    return [*found]
