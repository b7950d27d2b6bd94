"""Capture: run a function once and record every primitive operation with its values, including backward.

The layer passes boxes to the function, as the transforms do, so that no read of a value goes unnoticed: `item()`, `if` and
`numpy()` on a traced tensor end the capture (Refused). An in-place write gives the memory a new value; reading that memory
later through another view is refused too. A recording (recorder.py) contains what a person wants to see of a program; a
capture contains what is needed to run the program again without Python.
"""

from functools import partial
from typing import Any

import numpy as np

from ..arrays.devices import default_device
from ..arrays.dtypes import FLOATS
from ..arrays.kinds import host, on_device
from ..arrays.memory import same_layout
from ..arrays.meta import is_meta
from ..core import engine
from ..core.context import attach
from ..core.engine import running
from ..core.frames import Frame, apply_at, use
from ..core.function import as_returned, as_tuple, run_forward
from ..core.graph import Leaf, history, key, producer
from ..core.inplace import link_view
from ..core.tensor import Box, Tensor, describe, wrap
from ..layers.grad import Grad
from ..ops.base.families import Pointwise
from ..ops.index import SIZED_BY_VALUES, NonZero
from ..ops.sort import DataDependent
from ..places import Place, user_frame, user_place
from . import selections, traced_writes
from .capture import CapturedReads, holds, made_of
from .captured_steps import (
    HANDLED,
    VALUES,
    CapturedStep,
    CapturedValue,
    Draw,
    Refused,
    holds_tensor,
    opts_out_of_tracing,
    setting,
)
from .guards import UNTOUCHED, Guards
from .selections import is_part
from .symbols import is_symbolic, plain, settled, touch

NEEDED = "it needs the value of a tensor (item(), float(), `if`, ...), which can change from call to call"
UNKNOWN = "it uses a tensor that is neither an argument nor in one of its variables"
BY_VALUE = (NonZero, DataDependent)  # the sizes of their results depend on values, and Python may have read them
BY_MEMORY = {"as_strided", "view_dtype"}  # their results depend on memory layout


class CaptureTrace(CapturedReads, Grad):
    """One running capture."""

    name = "compile"
    accumulates = compares = True

    def __init__(self, guards: Guards, symbols: Any):
        self.steps: list[CapturedStep] = []
        self.guards, self.symbols = guards, symbols  # `symbols` creates those for numbers
        guards.found, guards.refuse = self.outside_tensor, self.refuse
        # arguments, then hidden inputs: value, expression of a hidden input (None: an argument), box
        self.inputs: list[tuple[CapturedValue, str | None, Box]] = []
        self.refused: Refused | None = None
        self.phase = "forward"
        self._outside: dict[
            int, tuple[str, str]
        ] = {}  # id of a tensor from outside, or of an argument -> its name and expression
        # tensors that may have a gradient, with the gradient from before the call
        self.grads: dict[int, tuple[Tensor, Any]] = {}
        self._seen: set[int] = set()
        self._boxes: dict[int, Box] = {}  # id of a tensor from outside -> its box
        self._known: dict[int, CapturedValue] = {}  # id of an array -> its current value
        self._written: list[tuple[int, np.ndarray]] = []
        self._clock = 0
        self._kept: list = []
        self.outside: list[Tensor] = []
        self.generators: dict[int, tuple] = {}  # generators used, with their state from before the capture
        self._drawn: tuple | None = None
        self.elements: list | None = None  # numbers that the next tensor is made of
        self.from_numbers: dict[CapturedValue, list] = {}  # such tensors, with the numbers
        self.write_places: dict[CapturedValue, Place | None] = {}  # the user's line of each write
        # True if inputs are results of operations, if a hook needs their gradients, if the function itself differentiates
        self.nonleaf = self.hooked = self.differentiates = False
        self.selections: dict[CapturedValue, Any] = {}  # by the computation of the mask (selections.py)
        self.operators: set[str] = set()  # methods of the operators in the user's functions
        self.memories: dict[int, Tensor] = {}  # id of the array of a tensor from outside -> the tensor
        self.edges: dict[int, tuple[Tensor, Any]] = {}  # tensors with a changed requires_grad, and their old edge

    def forget(self) -> None:
        """Drop all tensors. Boxes refer to their layer: such cycles would stay in memory until Python collects garbage."""
        self.symbols, self.refused, self.inputs, self.outside = None, None, [], []
        for found in (self._boxes, self._known, self.selections, self.grads, self._kept, self._written, self.steps):
            found.clear()

    def restore(self) -> None:
        """Give everything from outside the state that it had before the capture."""
        self.guards.restore()
        for generator, state in self.generators.values():
            generator.set_state(state)
        for t, edge in self.edges.values():
            t._edge = edge

    # ------------------------------------------------------------------ values
    def outside_tensor(self, name: str, source: str, t: Tensor) -> None:
        """Record a tensor that the function reads from outside: it becomes a hidden input when it is used."""
        if type(t) is Box:
            raise self.refuse("it uses a tensor of another transform")
        if id(t) in self._boxes and id(t) not in self._outside:
            raise self.refuse("a tensor is passed twice, or also read from a variable", loud=False)
        if id(t) in self._outside:
            return
        self._outside[id(t)], self.memories[id(t._a)] = (name, source), t
        self.grads[id(t)] = t, t._grad
        self.guards.undo.append(partial(setattr, t, "_grad", t._grad))
        t._grad = UNTOUCHED

    def source_of(self, t: Tensor) -> str | None:
        """Return the expression of a tensor that the function gets from outside; None for other tensors."""
        return self._outside.get(id(t), ("", None))[1]

    def path_of(self, t: Tensor) -> str:
        """Return a tensor's name in messages."""
        known = self._known.get(id(t._value._a)) if self.owns(t) else None
        return self._outside[id(t)][0] if id(t) in self._outside else known.name if known and known.name else "a tensor"

    def original(self, a: Any) -> Any:
        """Return the tensor from outside that a box stands for; the value itself, if there is none."""
        boxes = self.inputs if type(a) is Box else ()
        return next((t for (_, _, b), t in zip(boxes, self.outside) if b is a), a)

    def type_of(self, a: Any) -> type:
        """Return the class that a value has outside of the capture."""
        return Tensor if type(found := self.original(a)) is Box else type(found)

    def enter(self, t: Tensor, name: str, source: str | None = None) -> Box:
        """Return a new input's box, around a copy, because a capture changes nothing outside; `source` is for hidden inputs."""
        if is_meta(t._a):
            raise self.refuse("a tensor is on the meta device, which computes nothing", loud=False)
        value = wrap(same_layout(t._a))
        b = self.box(value)
        edge = history(t)
        if edge is not None:
            self.nonleaf |= type(edge) is not Leaf
            hooked = producer(edge)._hooks is not None
            self.hooked |= hooked
            b._edge = edge if type(edge) is Leaf and source is not None and not hooked else Leaf(b)
        self._known[id(value._a)] = v = CapturedValue("input", value._a, 0, name)
        self._boxes[id(t)] = b
        self.inputs.append((v, source, b))
        self.outside.append(t)
        return b

    def argument(self, t: Tensor, name: str, source: str) -> Box:
        """Return the box of a new argument of the function; `source` is its expression."""
        b = self.enter(t, name)
        self.grads[id(b)], b._grad = (b, t._grad), UNTOUCHED
        self._outside[id(b)] = name, source
        return b

    def input_boxes(self) -> list[Box]:
        """Return the boxes of all inputs of the program."""
        return [b for _, _, b in self.inputs]

    def own(self, a: Any) -> Any:
        """Return a tensor as this layer sees it; a tensor from outside becomes a hidden input."""
        if not isinstance(a, Tensor) or self.owns(a):
            return a
        if type(a) is Box:
            raise self.refuse("it uses a tensor of another transform")
        if id(a._a) in self._known:
            return self.box(a)
        if id(a) not in self._boxes:
            if id(a) not in self._outside:
                return self.found(a)
            self.enter(a, *self._outside[id(a)])
        return self._boxes[id(a)]

    def found(self, a: Tensor) -> Box:
        """Return the box of a tensor that no variable holds: `.detach()` of an outside tensor, `.data`, or a library constant.

        Every tensor that the function reads from outside is known, so the others are made by the call, from shapes and numbers.
        """
        original, edge = self.memories.get(id(a._a)), history(a)
        if edge is not None and (original is None or type(edge) is not Leaf):
            raise self.refuse(UNKNOWN)
        if original is not None:
            b = self._boxes[id(a)] = self.detach(self.own(original))
            b._edge = edge
            self._kept.append(a)
            return b
        b = self._boxes[id(a)] = self.adopt(a)
        self._kept.append(a)  # no other tensor may get its id
        return b

    def value(self, b: Box) -> CapturedValue:
        """Return the current value of a box."""
        if is_part(b):
            raise b._extra.selection.refused()
        a = b._value._a
        v = self._known.get(id(a))
        if v is None:
            raise self.refuse("it reads a tensor whose creation is not recorded")
        for time, memory in self._written:
            if v.born < time and memory is not a and np.may_share_memory(memory, a):
                return traced_writes.viewed_again(self, b)
        return v

    def held(self, b: Box) -> CapturedValue:
        """Return the final value of an input's box, regardless of other views of its memory."""
        return self._known[id(b._value._a)]

    def note(self, kind: str, array: np.ndarray, content: Any = None) -> CapturedValue:
        """Return a new value for an array."""
        self._clock += 1
        v = self._known[id(array)] = CapturedValue(kind, array, self._clock)
        v.content = content
        return v

    def computed(self, cls: Any, args: list, arrays: list, place: Place | None) -> list[CapturedValue]:
        """Add a step to the program and return the values of its results."""
        outs = [self.note("computed", a) for a in arrays]
        self.steps.append(CapturedStep(cls, args, outs, place, self.phase))
        return outs

    def adopt(self, value: Tensor) -> Box:
        """Return the box of a tensor created inside: a constant."""
        if self._drawn is not None:
            given, self._drawn = self._drawn, None
            self.computed(Draw, [*given], [value._a], self.look_around())
            return self.box(wrap(value._a))
        elements, self.elements = self.elements, None
        if elements is not None:
            if holds(value, elements):
                return made_of(self, elements, value)
            touch(elements)
        device = default_device()
        there = f"{self.guards.constant(default_device)}() == {self.guards.constant(device)}"
        self.guards.guard("the default device", device, there)
        fresh = wrap(value._a.copy("K"))
        self.note("constant", fresh._a, host(fresh._a.copy("K")))
        return self.box(fresh)

    def drawing(self, generator: Any, sample: Any, size: tuple) -> None:
        """Record that random numbers will be drawn, as a step of the program; `tracing` restores the generator."""
        self.generators.setdefault(id(generator), (generator, generator._state()))
        self._drawn = (sample, generator, size)

    def varies(self, why: str, fix: str = "") -> None:
        """Refuse an operation that cannot be a step of a program."""
        raise self.refuse(why, fix=fix or VALUES)

    def operand(self, a: float, kind: Any) -> Box:
        """Return the box of a Python number among an operation's operands."""
        b = self.box(wrap(np.array(plain(a), kind)))
        self.note("number", b._value._a, a)
        return b

    def look_at_grad(self, t: Tensor) -> None:
        """Record a read of `.grad`: a gradient from before the call becomes an input, and None has to stay None."""
        if t._grad is not UNTOUCHED:
            return
        self._seen.add(id(t))
        t._grad = self.grads[id(t)][1]
        source = f"{self.source_of(t)}._grad"
        if t._grad is None:
            self.guards.guard(source, None, f"{source} is None")
        else:
            self._outside.setdefault(id(t._grad), (f"{self.value(self.own(t)).name}_grad", source))
            t._grad = self.own(t._grad)
            self.grads[id(t)] = t, t._grad

    def look_at_history(self, t: Tensor) -> None:
        """Refuse to tell which node created an input: the next call may receive a different one."""
        if history(t) is not None and (type(t) is not Box or self.is_input(t)):
            raise self.refuse("it asks how one of its input tensors was computed (grad_fn, is_leaf)")

    def asked_for_grad(self, t: Tensor) -> bool:
        """Return True if the function has read the `.grad` that a tensor had before the call."""
        return id(t) in self._seen

    def tracks_others(self) -> bool:
        """Return True if an outside tensor ends with a different requires_grad than it had before."""
        outside = [(t, edge) for t, edge in self.edges.values() if id(t) in self._outside]
        return any((t._edge is None) != (edge is None) for t, edge in outside)

    def is_input(self, b: Tensor) -> bool:
        """Return True if a box is an input of the program."""
        return any(b is one for one in self.input_boxes())

    def number(self, t: Tensor) -> Any:
        """Return the result of item(): a number passed to the program, or one that it computes; None if it has neither."""
        b = self.own(t)
        v, a = self.value(b), b._value._a
        if v.kind in ("constant", "number"):
            return v.content.item() if v.kind == "constant" else v.content
        if v in self.from_numbers:
            touch(self.from_numbers[v])
            return a.item()
        if a.size != 1 or a.dtype.kind not in "fi" or not a.dtype.isnative:
            return None
        k = next((k for k, (given, _, box) in enumerate(self.inputs) if box is b and given is v), None)
        if k is not None and not on_device(a):
            return self.symbols.of_input(self.outside[k])
        return self.symbols.of_result(b, v)

    def depends(self) -> Refused:
        """Return the exception for a program that would depend on a value that it computes itself."""
        return self.refuse(NEEDED, fix=VALUES)

    def refuse(self, why: str, loud: bool = True, fix: str = "", place: Place | None = None) -> Refused:
        """Return the exception that ends the capture, and remember it in case the user's code catches it."""
        self.refused = self.refused or Refused(why, place or user_place(), loud, fix)
        return self.refused

    def readable(self, t: Box) -> Tensor:
        raise self.depends()

    def detach(self, t: Box) -> Box:
        if is_part(t):
            raise t._extra.selection.refused()
        return self.box(t._value.detach())

    def shape(self, t: Box) -> tuple:
        return t._extra.shape if is_part(t) else t._value._sizes

    # ------------------------------------------------------------------ operations
    def process(self, frame: Frame, cls: Any, args: tuple) -> Any:
        """Run an operation on the values, and record it."""
        place = self.look_around()
        self.differentiates |= self.phase == "forward" and running.get() is not None
        args = tuple([self.own(a) for a in args])
        if any(map(is_part, args)):
            return selections.process(frame, cls, args)
        if cls is NonZero and args[0].ndim:
            return selections.places(self, frame, args[0])
        needs = tuple([self.tracks(frame, a) for a in args])
        if not cls.primitive:
            return self.custom_function(frame, cls, args, needs)
        if cls.name in BY_MEMORY:
            raise self.refuse(f"{cls.name} depends on the memory layout of a tensor")
        if issubclass(cls, BY_VALUE):
            self.varies(SIZED_BY_VALUES.format(cls.name))
        if self.nonleaf and self.phase == "forward" and running.get() is not None:
            raise self.refuse("it differentiates while an argument is itself the result of tracked operations")
        if self.hooked and self.phase == "forward" and running.get() is not None:
            raise self.refuse("one of its tensors has a hook that needs the gradient")
        n = n_operands(cls, args)
        args = tuple([a if i < n else settled(a) for i, a in enumerate(args)])
        if cls.program is not None and self.expands(cls, args):
            return self.expanded(frame, cls, args, needs)
        given = [self.given(a) for a in args]
        low = apply_at(frame.parent, cls, tuple([self.inner(plain(a)) for a in args]))
        lows = [wrap(o._a.copy()) if id(o._a) in self._known else o for o in as_tuple(low)]
        self.computed(cls, given, [o._a for o in lows], place)
        out = as_returned(low, tuple([self.box(o) for o in lows]))
        if cls.view and self.owns(args[0]):
            link_view(frame, cls, args, out)
        if any(needs) and cls.differentiable:
            cls.record(self, self.as_tensors(cls, args), out)
        return out

    def expands(self, cls: Any, args: tuple) -> bool:
        """Return True if an operation can be one loop: its dtypes work in loops, and its lines are not empty."""
        given, arrays = dict(zip(cls.names, args)), [a._value._a for a in args if isinstance(a, Box)]
        lines = given["dims"] if "dims" in given else (given["dim"],) if "dim" in given else ()
        return all(arrays[0].shape[d] for d in lines) and all(a.dtype in HANDLED or on_device(a) for a in arrays)

    def expanded(self, frame: Frame, cls: Any, args: tuple, needs: tuple) -> Any:
        """Run an operation's program instead of it, and give the results the operation's history."""
        with use(frame.all_grad(False)):
            out = cls.program(*args)
        if any(needs):
            cls.record(self, args, out)
        return out

    def given(self, a: Any) -> Any:
        """Return an argument in the form that a step stores."""
        if isinstance(a, Tensor):
            return self.value(a)
        if is_symbolic(a):
            a.reads.look(a.sources)
        if holds_tensor(a):
            raise self.refuse("it passes a list of tensors to an operation")
        return a

    def as_tensors(self, cls: Any, args: tuple) -> tuple:
        """Return operands with numbers as 0-d tensors, so that formulas create no tensor that the capture has not recorded."""
        kind = next((a._np_dtype for a in args if isinstance(a, Tensor) and a._np_dtype in FLOATS), np.dtype("f8"))
        n = n_operands(cls, args)
        return tuple([self.operand(a, kind) if i < n and isinstance(a, (int, float)) else setting(a)
                      for i, a in enumerate(args)])  # fmt: skip

    def custom_function(self, frame: Frame, cls: Any, args: tuple, needs: tuple) -> Any:
        """Run a user's Function: the operations of its forward and backward become steps of the program."""
        if opts_out_of_tracing(getattr(cls, "_nested", cls)):
            raise self.refuse(
                f"it calls the Function {cls.__name__}, which sets is_traceable = False",
                fix=f"remove that from {cls.__name__} if its methods consist of minigrad operations",
            )
        edges = tuple([history(a) if need else None for a, need in zip(args, needs)])
        ctx = cls.Node(self, needs, edges if True in needs else (), describe(args))
        low = run_forward(frame, ctx, args)
        if ctx._dirty:
            raise self.refuse(f"{cls.__name__} writes to its inputs")
        lows = as_tuple(low)
        owned = [self.own(o) for o in lows]
        for o in filter(is_part, owned):
            raise o._extra.selection.refused()
        outs = tuple([self.box(o._value) if isinstance(o, Tensor) else o for o in owned])
        return as_returned(low, attach(ctx, args, args, lows, outs))

    inplace = traced_writes.inplace

    def look_around(self) -> Place | None:
        """Return the user's line, and name values after the user's variables."""
        frame = user_frame(3)
        if frame is None or self.phase == "backward":  # a backward has only the caller's lines
            return None
        for name, v in list(frame.f_locals.items()):
            self.call_it(name, v)
        return Place(frame.f_code.co_filename, frame.f_lineno)

    def call_it(self, name: str, v: Any, depth: int = 0) -> None:
        """Give the value in a variable the variable's name."""
        if self.owns(v):
            known = self._known.get(id(v._value._a))
            if known is not None and not known.name and name.isidentifier():
                known.name = name
        elif depth < 2 and isinstance(v, (tuple, list, dict)) and len(v) <= 64:
            for k, part in v.items() if isinstance(v, dict) else enumerate(v):
                self.call_it(f"{name}_{k}", part, depth + 1)

    # ------------------------------------------------------------------ backward
    def differentiate(self, outs: list, by: list) -> tuple[list, list]:
        """Run backward from the boxes `outs` to the boxes `by`; return the values of the seeds and the gradients (or None)."""
        self.phase = "backward"
        seeds = []
        for o in outs:
            g = self.box(wrap(np.ones_like(o._value._a, order="C")))
            self._known[id(g._value._a)] = CapturedValue(
                "input", g._value._a, 0, "grad_" + (self.value(o).name or "output")
            )
            seeds.append(g)
        edges = [history(b) for b in by]
        found = engine.run([history(o) for o in outs], seeds, {key(e) for e in edges}, keep=True)
        grads = [found.get(key(e)) for e in edges]
        return [self.value(g) for g in seeds], [None if g is None else self.value(self.own(g)) for g in grads]


def n_operands(cls: Any, args: tuple) -> int:
    """Return the number of an operation's arguments that are operands and may be numbers."""
    return len(args) - cls.n_settings if issubclass(cls, Pointwise) else 0
