"""What `compile` keeps for one kind of arguments: the capture, its two generated programs, and how a call runs them.

A call looks up the hidden inputs, checks that no write can be seen through another argument, runs the program and gives the
results one node (CompiledFunction), whose backward is the other program.  Where gradients are to be differentiated again the
function itself is run, under a Grad layer (Again).
"""

from __future__ import annotations

import inspect
import math
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import optree

from ..core.context import OFF, ON, Frame, current, push
from ..core.edges import Leaf, Port
from ..core.function import Function, describe
from ..core.saved import save
from ..core.tensor import Box, Tensor, history, memory, version, wrap
from ..errors import Place, error, warn
from ..func.reverse import pull
from ..func.tree import flatten, rebuild
from ..kernels import cache
from ..layers.grad import Grad
from .capture import Trace, tracing
from .codegen import Program, Writer
from .environment import PLAIN, Environment
from .lowered import Lowering, V
from .reading import Number
from .rules import lower
from .steps import Refused, Step, Value

if TYPE_CHECKING:
    from .compile import Compiled


def kind(a: Any, grad: bool) -> tuple:
    """What a specialisation depends on of one argument."""
    if isinstance(a, Tensor):
        x = a._a
        edge = a._edge if a._view is None else history(a)
        return (type(a), x.dtype, x.shape, True if x.flags.c_contiguous else x.strides, grad and edge is not None)
    if type(a) is float:
        return ("float",) if math.isfinite(a) and a else (float, repr(a))
    if isinstance(a, PLAIN):
        try:
            hash(a)
        except TypeError:
            return (type(a), repr(a))
        return (type(a), a, repr(a)) if isinstance(a, (float, complex)) else (type(a), a)
    return (type(a), id(a))


class Eager:
    """A kind of call that runs eagerly."""

    def __init__(self, why: str, place: Place | None, loud: bool):
        self.why, self.place, self.loud = why, place, loud

    def tensors(self, leaves: Any) -> Any:
        return ()

    def say(self, owner: Compiled) -> None:
        """Tell the user, once."""
        if self.loud and not owner.fullgraph:
            warn(f"compile({owner.name})", f"runs eagerly, because {self.why}")

    def run(self, owner: Compiled, tensors: Any, leaves: Any, args: tuple, kwargs: dict) -> Any:
        return owner._eagerly(self.why, self.place, self.loud, args, kwargs)


class Specialisation:
    """The program for one kind of arguments."""

    def __init__(self, owner: Compiled, leaves: Any, spec: Any, args: tuple, kwargs: dict):
        self.owner, self.spec = owner, spec
        self.grad = current() is ON
        tree = (args, kwargs) if isinstance(spec, int) else None
        self.tree = flatten((args, kwargs))[1] if tree is not None else spec
        self.names = argument_names(owner.function, args, kwargs)
        roots: dict[str, Any] = {"self": owner.function}
        self.held = []
        for name, a in zip(self.names, leaves):
            if not isinstance(a, (Tensor, *PLAIN)):
                if isinstance(a, np.ndarray):
                    raise Refused(f"its argument {name} is a NumPy array", None, False)
                roots[name] = a
                self.held.append(a)
        self.floats = [i for i, a in enumerate(leaves) if type(a) is float and math.isfinite(a) and a]
        self.environment = Environment(roots)
        before = {id(t): version(t) for _, _, t in self.environment.tensors}
        first = self.captured(leaves)
        if any(version(t) != before[id(t)] for _, _, t in self.environment.tensors):
            raise Refused("it changes tensors behind the capture's back", None, True)
        self.fixed = {i: leaves[i] for i, a in enumerate(leaves) if type(a) is float and i not in self.floats}
        self.build(first)

    def captured(self, leaves: Any) -> Captured:
        """Two captures that agree; the second has other floats, so that one that was computed with shows itself."""
        first = Captured(self, leaves)
        if first.touched:  # computed or decided with: not a parameter, but a value to be guarded
            self.floats = [i for i in self.floats if self.names[i] not in first.touched]
            return self.captured(leaves)
        others = [a * 1.37 + 0.1 if i in self.floats else a for i, a in enumerate(leaves)]
        if first.fingerprint() == Captured(self, others).fingerprint():
            return first
        if not self.floats:
            raise Refused("it computes something else when it is called again with the same arguments", None, True)
        self.floats = []
        return self.captured(leaves)

    # ------------------------------------------------------------------ the program
    def build(self, c: Captured) -> None:
        """Lower, fuse and write the forward and the backward program."""
        trace = c.trace
        self.n_args = len(trace.inputs)
        self.arg_places = c.places
        self.getters = [get for _, get, _ in trace.hidden]
        self.hidden_kinds = [kind(get(), self.grad) for get in self.getters]
        used = {id(get) for get in self.getters}
        used_tensors = {id(get()) for get in self.getters}
        for _, get, t in self.environment.tensors:
            if id(get) not in used and id(t) not in used_tensors:
                self.environment.guards.append((get, type(t), of_type))
        self.getters_of_same = [(get, k) for name, get, t in self.environment.tensors
                                for k, g in enumerate(self.getters) if id(get) not in used and g() is t]  # fmt: skip
        inputs = [v for v, *_ in trace.inputs] + [v for v, *_ in trace.hidden]
        boxes = [b for _, b in trace.inputs] + [b for *_, b in trace.hidden]
        self.result_tree, self.results = c.result_tree, c.results
        forward_steps = [s for s in trace.steps if s not in c.backward_steps]
        outputs = [trace.value(b) for b in c.outs]
        writes = [
            (v, trace._known[id(b._value._a)]) for v, b in zip(inputs, boxes) if trace._known[id(b._value._a)] is not v
        ]
        self.written = [inputs.index(v) for v, _ in writes]
        self.write_places = [next((s.place for s in trace.steps if s.written is not None and s.outs[0] is w), None)
                             for _, w in writes]  # fmt: skip
        saved: list[Value] = []
        self.backward = None
        if c.seeds:
            saved, extra = self.needed(c, forward_steps, inputs)
            if any(v in [p for p, _ in writes] for v in saved):
                raise Refused("it writes to an input that its backward needs", None, False)
            self.saved_inputs = [inputs.index(v) for v in saved if v in inputs]
            grads = [g for g in c.grads if g is not None]
            self.backward, self.backward_notes = self.program(
                [*extra, *c.backward_steps], [*saved, *c.seeds], grads, [], owner_name(self.owner) + "_backward"
            )
            self.saved_order = [("input", inputs.index(v)) if v in inputs else ("made", None) for v in saved]
        made = [v for v in saved if v not in inputs]
        self.forward, self.notes = self.program(
            forward_steps, inputs, [*outputs, *made], writes, owner_name(self.owner)
        )
        self.out_dtypes = [v.dtype for v in [*outputs, *made]]
        self.n_outs, self.out_tracked = len(outputs), c.tracked
        self.zero_writes = [(inputs.index(p), w) for p, w in writes if not p.shape]
        self.by = c.by
        self.grads_known = [g is not None for g in c.grads]
        self.freed = c.freed
        self.generators = [g for g, _ in trace.generators.values()]
        self.entry = load(self.forward)
        self.pull = None if self.backward is None else load(self.backward)
        self.param_plan = plan(self.forward, self.names)
        self.pull_plan = [] if self.backward is None else plan(self.backward, self.names)
        self.example_arrays = [
            v.array.copy() if v not in [p for p, _ in writes] else np.zeros(v.shape, v.dtype)
            for v in inputs[: self.n_args]
        ]
        self.needs_grad = [b._edge is not None for b in boxes]

    def needed(self, c: Captured, forward: list[Step], inputs: list[Value]) -> tuple[list, list]:
        """The forward values that the backward program reads; views among them are taken again there."""
        maker = {o: s for s in forward for o in s.outs}
        made = {o for s in c.backward_steps for o in s.outs} | set(c.seeds)
        saved: dict[Value, None] = {}
        extra: list[Step] = []

        def need(v: Any) -> None:
            if not isinstance(v, Value) or v in made or v in saved or v.kind in ("number", "constant"):
                return
            step = maker.get(v)
            if step is not None and step.cls.primitive and step.cls.view and step.written is None:
                need(step.args[0])
                extra.append(step)
                made.add(v)
            else:
                saved[v] = None
                v.name = v.name or (step.cls.name + "_result" if step is not None else "")

        for s in c.backward_steps:
            for a in s.args:
                need(a)
        for g in c.grads:
            need(g)
        return list(saved), extra

    def program(self, steps: list, inputs: list, outputs: list, writes: list, name: str) -> tuple[Program, list]:
        """One generated module."""
        low = Lowering()
        given = []
        for v in inputs:
            layout = (
                "C" if v.kind != "input" or v.array.flags.c_contiguous else "F" if v.array.flags.f_contiguous else "A"
            )
            if v.name.startswith("grad_") and v.kind == "input":
                layout = "C"
            low.values[v] = made = V("input", v.shape, v.dtype, v.name, None, layout)
            given.append(made)
        lower(low, steps)
        outs = [low.v(v) for v in outputs]
        if any(not isinstance(o, V) for o in outs):
            raise Refused("it returns a number as a tensor", None, False)
        pairs = [(low.v(p), low.v(w)) for p, w in writes]
        low.drop_unused([*outs, *[w for _, w in pairs]])
        writer = Writer(low, given, [*outs, *[w for p, w in pairs if not p.shape]], pairs, name)
        return writer.write(), low.notes

    # ------------------------------------------------------------------ a call
    def tensors(self, leaves: Any) -> list | None:
        """All inputs, hidden ones too; None where a guard does not hold."""
        for i, value in self.fixed.items():
            if leaves[i] != value:
                return None
        if self.environment.guards and not self.environment.holds():
            return None
        found = [leaves[i] for i in self.arg_places]
        try:
            for get, known in zip(self.getters, self.hidden_kinds):
                t = get()
                if not isinstance(t, Tensor) or type(t) is Box or kind(t, self.grad) != known:
                    return None
                found.append(t)
        except (KeyError, IndexError):
            return None
        if any(get() is not found[self.n_args + k] for get, k in self.getters_of_same):
            return None
        return found

    def run(self, owner: Compiled, tensors: list, leaves: Any, args: tuple, kwargs: dict) -> Any:
        """The compiled program on these tensors."""
        arrays = [t._a for t in tensors]
        states = [g.get_state() for g in self.generators] if self.grad else ()
        if overlapping(tensors, arrays, self.written, self.needs_grad):
            return owner.function(*args, **kwargs)
        for k in self.written:  # what eager code refuses to write to, it has to refuse itself
            if tensors[k]._ver is not None and tensors[k].is_inference():
                return owner.function(*args, **kwargs)
        given = [arrays[x] if k == "input" and arrays[x].ndim else arrays[x][()] if k == "input" else
                 float(leaves[x]) if k == "number" else x for k, x in self.param_plan]  # fmt: skip
        try:
            raw = self.entry(*given)
        except Exception as e:
            result = owner.function(*args, **kwargs)  # raises the error at the user's line, if it is the program's
            self.give_up(owner, e)
            return result
        outs = [wrap(o if type(o) is np.ndarray else np.asarray(o, d)) for o, d in zip(raw, self.out_dtypes)]
        for j, (k, _) in enumerate(self.zero_writes):
            arrays[k][...] = raw[len(self.out_dtypes) + j]
        for k, place in zip(self.written, self.write_places):
            memory(tensors[k]).bump(self.owner.name, place)
        results = outs[: self.n_outs]
        if self.grad and any(self.out_tracked):
            self.track(tensors, results, outs[self.n_outs :], leaves).states = states
        return self.assemble(results, tensors, leaves)

    def assemble(self, outs: list, tensors: list, leaves: Any) -> Any:
        """The results as the function returns them."""
        made = [outs[x] if k == "out" else tensors[x] if k == "input" else leaves[x] if k == "leaf" else x
                for k, x in self.results]  # fmt: skip
        return made[0] if self.result_tree is None else rebuild(self.result_tree, made)

    def track(self, tensors: list, outs: list, made: list, leaves: Any) -> Any:
        """Give the results their node."""
        ctx = CompiledFunction.Node(None, tuple([k in self.by for k in range(len(tensors))]))
        ctx.program, ctx.tensors, ctx.versions, ctx.leaves = self, tensors, [version(t) for t in tensors], leaves
        ctx._materialize = False
        tracked = [o for o, t in zip(outs, self.out_tracked) if t]
        ctx._meta, ctx._given = describe(tuple(tracked)), describe(tuple(tensors))
        ctx._edges = tuple([history(t) if k in self.by else None for k, t in enumerate(tensors)])
        if self.backward is not None:
            rest = iter(made)
            ctx._saved = tuple([save(tensors[k] if what == "input" else next(rest)) for what, k in self.saved_order])
        for i, o in enumerate(tracked):
            o._edge = ctx if len(tracked) == 1 else Port(ctx, i)
        return ctx

    def give_up(self, owner: Compiled, e: Exception) -> None:
        """The generated code failed where eager code does not: run eagerly from now on."""
        why = f"the generated code failed: {type(e).__name__}: {(str(e).splitlines() or [''])[0]}"
        for found in owner._table.values():
            for i, s in enumerate(found):
                if s is self:
                    found[i] = Eager(why, None, True)
        owner._reasons[why] = None
        warn(f"compile({owner.name})", f"runs eagerly, because {why}")

    def recompute(self, ctx: Any, grads: tuple) -> tuple:
        """The gradients by eager code: where they are to be differentiated again, or not all outputs were used."""
        if any(version(t) != n for t, n in zip(ctx.tensors, ctx.versions)):
            what = (
                "an input was modified in place after the call: its gradient cannot be computed again for create_graph"
            )
            raise error(RuntimeError, f"compile({self.owner.name})", what, "clone() it before")
        if self.environment.guards and not self.environment.holds():
            what = "what the function reads besides its arguments has changed since the call"
            raise error(RuntimeError, f"compile({self.owner.name})", what, "call backward before changing it")
        with push(Again(ctx.tensors[self.n_args :])) as layer:
            boxes = [
                layer.variable(t) if k in self.by else layer.box(t) for k, t in enumerate(ctx.tensors[: self.n_args])
            ]
            full = list(ctx.leaves)
            for place, box in zip(self.arg_places, boxes):
                full[place] = box
            args, kwargs = rebuild(self.tree, full)
            now = [g.get_state() for g in self.generators]
            for g, state in zip(self.generators, ctx.states):
                g.set_state(state)
            result = self.owner.function(*args, **kwargs)
            for g, state in zip(self.generators, now):
                g.set_state(state)
            flat = [result] if self.result_tree is None else flatten(result)[0]
        places = [(o, i) for o, (k, i) in zip(flat, self.results) if k == "out"]
        outs = {i: o for o, i in places}
        tracked = [outs[i] for i, t in enumerate(self.out_tracked) if t]
        pairs = [(o, g) for o, g in zip(tracked, grads) if g is not None]
        by = [k for k in range(len(ctx.tensors)) if k in self.by]
        variables = [boxes[k] if k < self.n_args else layer.mapped(ctx.tensors[k]) for k in by]
        found = pull(layer, [o for o, _ in pairs], [g for _, g in pairs], variables, False, current().grad)
        by_place = dict(zip(by, found))
        return tuple([by_place.get(k) for k in range(len(ctx.tensors))])

    # ------------------------------------------------------------------ what it shows
    def told(self) -> list:
        """The programs with their notes, for explain()."""
        parts = [("forward" if self.backward else "program", self.forward, self.notes)]
        return parts + ([("backward", self.backward, self.backward_notes)] if self.backward else [])

    def example(self) -> tuple:
        """Arguments like those of the first call."""
        leaves: list = list(self.example_leaves)
        for place, a, needs in zip(self.arg_places, self.example_arrays, self.needs_grad):
            leaves[place] = wrap(a.copy())
            if needs:
                leaves[place].requires_grad_()
        return rebuild(self.tree, leaves)


class Again(Grad):
    """A Grad layer that differentiates by captured tensors too."""

    def __init__(self, captured: list):
        self.captured = {id(t): self.shared(t) for t in captured}

    def shared(self, t: Tensor) -> Box:
        """A box with the tensor's own end of the graph, so that the function may name the tensor."""
        b = self.box(t)
        edge = history(t)
        b._edge = None if edge is None else edge if type(edge) is Leaf else Leaf(b)
        return b

    def mapped(self, a: Any) -> Any:
        return self.captured.get(id(a), a)

    def process(self, frame: Frame, cls: Any, args: tuple) -> Any:
        return super().process(frame, cls, tuple([self.mapped(a) for a in args]))

    def inplace(self, frame: Frame, fn: Any, x: Tensor, others: tuple) -> Tensor:
        x, *others = [self.mapped(a) for a in (x, *others)]
        return super().inplace(frame, fn, x, tuple(others))


class CompiledFunction(Function):
    """The node of a compiled call."""

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple:
        program = ctx.program
        if program.backward is None:
            raise program.freed
        saved = ctx.saved_tensors
        if current() is not OFF or any([g is None or type(g) is Box for g in grads]):
            return program.recompute(ctx, grads)
        arrays = [t._a for t in saved] + [g._a if g._a.flags.c_contiguous else g._a.copy() for g in grads]
        given = [(arrays[x] if arrays[x].ndim else arrays[x][()]) if k == "input" else
                 float(ctx.leaves[x]) if k == "number" else x for k, x in program.pull_plan]  # fmt: skip
        try:
            raw = iter(program.pull(*given))
        except Exception as e:
            program.give_up(program.owner, e)
            return program.recompute(ctx, grads)
        found: list = [None] * len(ctx._edges)
        for k, known in zip(program.by, program.grads_known):
            if known:
                g = next(raw)
                found[k] = wrap(g if type(g) is np.ndarray else np.asarray(g, ctx.tensors[k]._a.dtype))
        return tuple(found)


class Captured:
    """What one capture has found."""

    def __init__(self, program: Specialisation, leaves: Any):
        self.touched: set[str] = set()
        function = program.owner.function
        self.trace = trace = Trace(program.environment)
        full, self.places = list(leaves), []
        program.example_leaves = [None if isinstance(a, Tensor) else a for a in leaves]
        seen: set[int] = set()
        for i, a in enumerate(leaves):
            if isinstance(a, Tensor):
                if type(a) is Box or a.is_inference():
                    raise Refused("an argument is an inference tensor or belongs to a transform", None, False)
                if id(a) in trace._outside or id(a) in seen and history(a) is not None:
                    raise Refused("an argument is also another argument, or read from a variable", None, False)
                seen.add(id(a))
                full[i] = trace.argument(a, program.names[i])
                self.places.append(i)
            elif i in program.floats:
                full[i] = Number(a, program.names[i], self.touched)
        args, kwargs = rebuild(program.tree, full)
        self.backward_steps: list[Step] = []
        self.seeds: list = []
        self.grads: list = []
        self.freed: Any = None
        with tracing(trace, program.grad):
            result = function(*args, **kwargs)
            trace.phase = "forward"
            if program.environment.restore():
                raise Refused("it changes a list, dictionary or attribute that outlives the call", None, True)
            after, tree = flatten((args, kwargs))
            if tree != program.tree or any(a is not b for a, b in zip(after, full)):
                raise Refused("it changes a list or dictionary that it was given", None, True)
            self.take_results(trace, result, full)
            boxes = [b for _, b in trace.inputs] + [b for *_, b in trace.hidden]
            self.tracked = [program.grad and history(o) is not None for o in self.outs]
            self.by = [k for k, b in enumerate(boxes) if history(b) is not None]
            if any(type(history(boxes[k])) is not Leaf for k in self.by):
                raise Refused("it writes to an input in a way that is tracked", None, False)
            if any(self.tracked):
                self.run_backward(trace, boxes)
        if touched := [t for t in trace.outside if type(t._grad) is Box]:
            for t in touched:
                t._grad = None
            raise Refused("it accumulates gradients into .grad", None, True)

    def take_results(self, trace: Trace, result: Any, full: list) -> None:
        """The outputs, and what else is returned."""
        if isinstance(result, Tensor):
            flat, self.result_tree = [result], None
        else:
            flat, self.result_tree = flatten(result)
        self.outs: list[Box] = []
        self.results: list[tuple[str, Any]] = []
        inputs = [b for _, b in trace.inputs] + [b for *_, b in trace.hidden]
        for o in flat:
            if isinstance(o, Tensor):
                o = trace.own(o)
                inputs = [b for _, b in trace.inputs] + [b for *_, b in trace.hidden]
                if any(o is b for b in inputs):
                    self.results.append(("input", next(k for k, b in enumerate(inputs) if b is o)))
                elif any(o is b for b in self.outs):
                    self.results.append(("out", next(k for k, b in enumerate(self.outs) if b is o)))
                else:
                    self.results.append(("out", len(self.outs)))
                    self.outs.append(o)
            elif isinstance(o, Number):
                self.results.append(("leaf", next(i for i, a in enumerate(full) if a is o)))
            elif isinstance(o, PLAIN):
                self.results.append(("value", o))
            else:
                raise Refused(f"it returns a {type(o).__name__}", None, True)
        memories = [b._value._a for b in inputs]
        for o in self.outs:
            v = trace.value(o)
            if v.kind != "computed" or any(np.may_share_memory(o._value._a, m) for m in memories):
                raise Refused("it returns a view of an argument, or a tensor that it did not compute", None, False)
            memories.append(o._value._a)

    def run_backward(self, trace: Trace, boxes: list) -> None:
        """The backward program, from seeds for the tracked outputs."""
        before = len(trace.steps)
        outs = [o for o, t in zip(self.outs, self.tracked) if t]
        try:
            self.seeds, self.grads = trace.differentiate(outs, [boxes[k] for k in self.by])
        except Refused:
            raise
        except RuntimeError as e:  # the function has freed its graph itself
            self.freed = RuntimeError(str(e))
            del trace.steps[before:]
            return
        self.backward_steps = trace.steps[before:]

    def fingerprint(self) -> list:
        """The program as plain data, equal for equal programs."""
        numbers: dict[Value, int] = {}

        def seen(a: Any) -> Any:
            if isinstance(a, types.FunctionType):
                return (a.__code__, [repr(c.cell_contents) for c in a.__closure__ or ()])
            if not isinstance(a, Value):
                return ("float", a.name) if isinstance(a, Number) else (type(a).__name__, repr(a))
            if a.kind == "number":
                return ("number", a.content.name if isinstance(a.content, Number) else repr(a.content))
            if a.kind == "constant":
                return ("constant", a.dtype, a.shape, a.content.tobytes())
            return (numbers.setdefault(a, len(numbers)), a.shape, a.dtype.str)

        made = [
            (s.cls, s.phase, s.written is not None, *map(seen, s.args), *map(seen, s.outs)) for s in self.trace.steps
        ]
        ends = [seen(self.trace.value(o)) for o in self.outs]
        rest = [(k, x if k != "value" else repr(x)) for k, x in self.results]
        return [made, ends, rest, self.tracked, self.by, [seen(g) for g in self.grads]]


def argument_names(f: Callable, args: tuple, kwargs: dict) -> list[str]:
    """A name for each leaf of the arguments."""
    try:
        parameters = inspect.signature(f).parameters
        names = [p.name for p in parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        star = next((p.name for p in parameters.values() if p.kind is p.VAR_POSITIONAL), "args")
    except (TypeError, ValueError):
        names, star = [], "args"
    found, used = [], set()
    for path in optree.tree_paths((args, kwargs), none_is_leaf=True):
        first = (
            path[1] if path[0] == 1 else names[path[1]] if path[1] < len(names) else f"{star}_{path[1] - len(names)}"
        )
        name = "_".join([str(first), *[str(p) for p in path[2:]]])
        while name in used:
            name += "_"
        used.add(name)
        found.append(name)
    return found


def owner_name(owner: Compiled) -> str:
    """The entry's name."""
    return owner.name if owner.name.isidentifier() and not owner.name.startswith("__") else "program"


def load(program: Program) -> Callable:
    """The entry of a program; with operations that are called it also takes what they need."""
    entry = getattr(cache.load(program.name, program.text), program.name)
    if not program.statics:
        return entry
    statics = program.statics
    return lambda *args: entry(*args, statics)


def plan(program: Program, names: list[str]) -> list:
    """Where each parameter of the entry comes from."""
    return [(k, names.index(x) if k == "number" else x) for k, x in program.params]


def of_type(a: Any, kind: type) -> bool:
    """Still a tensor."""
    return type(a) is kind


def overlapping(tensors: list, arrays: list, written: list, needs_grad: list) -> bool:
    """Whether a write would be seen through another input, or one tensor that requires grad is given twice."""
    for k in written:
        a = arrays[k]
        if not a.flags.writeable:
            return True
        for j, b in enumerate(arrays):
            if j != k and (a is b or (a.base is not None or b.base is not None) and np.may_share_memory(a, b)):
                return True
    tracked = [id(t) for t, n in zip(tensors, needs_grad) if n]
    return len(set(tracked)) != len(tracked)
