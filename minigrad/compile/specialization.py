"""What `compile` keeps for one kind of arguments: two generated programs, what they assume, and how a call runs them.

The function is captured several times, with other numbers and with plain ones, and the captures have to agree.  A
call (`road`, which fast_call.py writes) looks up the hidden inputs, checks that no write can be seen through another argument,
and runs the forward program; the results get one node, whose backward is the other program (differentiation.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.kinds import on_device
from ..core.frames import ON, current
from ..core.graph import history
from ..core.saved import version
from ..core.tensor import Tensor, wrap
from ..func.tree import flatten, rebuild
from ..places import Place
from .backward_programs import BackwardPrograms
from .captured_program import Captured, argument_names
from .captured_steps import Refused, Value
from .effects import Surroundings
from .fast_call import nothing, road
from .function_parts import plain
from .guards import PLAIN, Environment
from .loaded import Loaded, generated
from .symbols import EXACT, Reads, in_names
from .trace import UNKNOWN, Trace

if TYPE_CHECKING:
    from .api import Compiled


def kind(a: Any, grad: bool) -> tuple:
    """What a specialisation depends on of one argument."""
    if isinstance(a, Tensor):
        x = a._a
        layout = True if x.flags.c_contiguous else x.strides
        edge = a._edge if a._view is None else history(a)
        return type(a), type(x), x.dtype, x.shape, layout, grad and edge is not None
    if type(a) in (float, int) and may_vary(a):
        return (type(a),)
    if isinstance(a, PLAIN):
        try:
            hash(a)
        except TypeError:
            return (type(a), repr(a))
        return (type(a), a, repr(a)) if isinstance(a, (float, complex)) else (type(a), a)
    # with an array it runs eagerly, whichever it is
    return (type(a),) if isinstance(a, np.ndarray) else (type(a), id(a))


# factors and summands for other floats, summands for other ints
OTHERS = ((1.37, 0.1, 1), (1.01, 0.0, 2), (0.99, 0.0, -1), (1 + 1e-9, 0.0, 3))


def gives(name: str, leaves: Any, known: Any) -> bool:
    """Return whether an expression gives what is known for other arguments."""
    try:
        return eval(name, {"math": math, "leaves": leaves}) == known
    except (ArithmeticError, ValueError, TypeError):
        return False


def may_vary(a: Any) -> bool:
    """Return whether a number may be a parameter of the program."""
    return type(a) is float and math.isfinite(a) and a != 0 or type(a) is int and abs(a) < EXACT


class Eager:
    """A kind of call that runs eagerly."""

    once = False

    def __init__(self, why: str, place: Place | None, loud: bool, fix: str = "", run: Callable | None = None):
        self.why, self.place, self.loud, self.fix = why, place, loud, fix
        self.run = run  # the function in parts, some of them compiled

    def road(self, owner: Compiled, args: tuple, kwargs: dict) -> Any:
        """Run the function as it is."""
        return owner._eagerly(self, args, kwargs)


class Specialisation:
    """The program for one kind of arguments."""

    def __init__(self, owner: Compiled, leaves: Any, spec: Any, args: tuple, kwargs: dict):
        self.owner, self.grad = owner, current() is ON
        self.tree = flatten((args, kwargs))[1] if isinstance(spec, int) else spec
        self.names = argument_names(owner.function, args, kwargs)
        self.example_leaves = [None if isinstance(a, Tensor) else a for a in leaves]
        roots: dict[str, Any] = {"self": owner.function}
        for name, a in zip(self.names, leaves):
            if isinstance(a, np.ndarray):
                raise Refused(f"its argument {name} is a NumPy array", None, False)
            if not isinstance(a, (Tensor, *PLAIN)):
                roots[name] = a
        own = plain(owner.function)[0]
        self.environment = Environment(roots, owner.varying, own)
        if changed := self.environment.numbers_that_changed([v.environment for v in owner.versions]):
            owner.varying |= changed
            self.environment = Environment(roots, owner.varying, own)
        self.n_leaves = len(leaves)
        hidden = self.environment.numbers
        self.leaves = [*leaves, *[value for _, value in hidden.values()]]
        self.surroundings = Surroundings(self.environment)
        self.inputs: list[Tensor] = []
        self.names += hidden
        self.items: dict[int, int] = {}  # inputs whose number the program reads, by id, and the leaf for it
        self.computed: list[int] = []  # leaves for numbers that the program computes
        self.plainly = False  # a capture with plain numbers is running
        self.numbers = [i for i, a in enumerate(self.leaves) if may_vary(a)]  # those that are parameters
        self.backwards: BackwardPrograms | None = None
        self.described: tuple = ()  # what all nodes of this program have in common (differentiation.py)
        before = {id(t): version(t) for _, _, t in self.environment.tensors}
        first = self.captured()
        if any(version(t) != before[id(t)] for _, _, t in self.environment.tensors):
            raise Refused("it changes tensors behind the capture's back", None, True)
        self.build(first)
        if first.reads.decided.keys() != self.decided.keys():  # what writes the text has decided by a number
            self.numbers = list(self.computed)
            first.trace.forget()
            first = self.captured()
            self.build(first)
        first.trace.forget()
        given = [i for i in range(len(self.leaves)) if i not in self.computed]
        self.arguments = [(self.names[i], *self.said(i, self.leaves[i])) for i in given]
        self.road = road(self, args, kwargs)
        self.leaves, self.inputs = [], []  # no tensor of the first call is kept

    def said(self, i: int, a: Any) -> tuple[str, Any]:
        """Return what an argument has to be, in words, and its value; Tensor for any tensor like that."""
        if i in self.numbers:
            return "any float" if type(a) is float else "any int", type(a)
        if not isinstance(a, Tensor):
            return repr(a) if isinstance(a, PLAIN) else f"this {type(a).__name__}", a
        layout = "" if a._a.flags.c_contiguous else f", strides {tuple(a.stride())}"
        grad = ", requires grad" if self.grad and history(a) is not None else ""
        return f"{a.dtype.name} {tuple(a.shape)}{layout}{grad}", Tensor

    def item(self, t: Tensor, leaves: list) -> int:
        """Return the leaf that stands for the number in an input, a new one at its first use."""
        if id(t) not in self.items:
            self.items[id(t)] = self.new_leaf(t._a.item(), may_vary(t._a.item()))
        leaves += self.leaves[len(leaves) :]
        return self.items[id(t)]

    def result(self, count: int, value: Any, leaves: list) -> int:
        """Return the leaf that stands for a number that the program computes, the one behind `count` others."""
        if count == len(self.computed):
            self.computed.append(self.new_leaf(value, True))
        leaves += self.leaves[len(leaves) :]
        return self.computed[count]

    def new_leaf(self, value: Any, varies: bool) -> int:
        """Add a leaf for a number in a tensor."""
        i = len(self.leaves)
        self.leaves.append(value)
        self.names.append(f"item_{i}")
        self.numbers += [i] * varies
        return i

    def captured(self) -> Captured:
        """Return a capture that others agree with, in which as many numbers are parameters as can be."""
        try:
            return self.agreeing()
        except Exception:  # what takes an int may not take a Whole
            others = [i for i in self.numbers if type(self.leaves[i]) is float or i in self.computed]
            if others == self.numbers:
                raise
            self.numbers = others
            return self.captured()

    def agreeing(self) -> Captured:
        """Capture once more with other numbers, so that none was read unnoticed, and once with plain ones."""
        first = Captured(self, list(self.leaves))
        others = self.others(self.leaves, first.reads)
        if others is None:
            first.trace.forget()
            return self.agreeing()
        second = Captured(self, others)
        if any(a is b for a in first.trace.made for b in second.trace.made):
            raise Refused(UNKNOWN, None, True)
        same = first.fingerprint() == second.fingerprint()
        second.trace.forget()
        if same and self.as_plain(first):
            reads = first.reads
            self.types, self.decided = reads.types, {name: value for name, (value, _) in reads.decided.items()}
            self.decisions = {in_names(name, self.names): value for name, value in self.decided.items()}
            return first
        if not self.numbers:
            raise Refused("it computes something else when it is called again with the same arguments", None, True)
        self.numbers = [] if self.numbers == self.computed else list(self.computed)
        return self.agreeing()

    def as_plain(self, first: Captured) -> bool:
        """Return whether a capture does what one with plain numbers does."""
        lifted, self.numbers, self.plainly = self.numbers, [], True
        try:
            if not lifted:
                return True
            plain = Captured(self, list(self.leaves))
            same = plain.fingerprint(True) == first.fingerprint(True)
            plain.trace.forget()
            return same
        finally:
            self.numbers, self.plainly = lifted, False

    def others(self, leaves: Any, reads: Reads) -> list | None:
        """Find arguments with other numbers that decide the same; None where there are none, or some are read as they are.

        These are no parameters any more, but values to be guarded.
        """
        read = set(reads.touched)
        for factor, more, count in OTHERS:
            other = lambda a: a * factor + more if type(a) is float else a + count
            others = [other(a) if i in self.numbers else a for i, a in enumerate(leaves)]
            differ = [sources for name, (known, sources) in reads.decided.items() if not gives(name, others, known)]
            if not differ:
                break
        else:
            read.update(*differ)
        self.numbers = [i for i in self.numbers if i not in read]
        return None if read else others

    # ------------------------------------------------------------------ the program
    def build(self, c: Captured) -> None:
        """Generate the forward and the backward program, and keep what a call needs to know."""
        trace, inputs, outputs = c.trace, [v for v, _, _ in c.trace.inputs], [c.trace.value(b) for b in c.outs]
        self.n_args, self.arg_places = len(c.places), c.places
        self.needs_grad = [b._edge is not None for b in trace.input_boxes()]
        self.result_tree, self.results = c.result_tree, c.results
        # what a call leaves behind; whether no other call will be like this one
        self.effects, self.once = c.effects, c.once
        self.inputs = trace.outside
        inputs_by_id = {id(t): k for k, t in enumerate(trace.outside)}
        asked = {leaf: ("input", inputs_by_id.get(who)) for who, leaf in self.items.items()}
        first = self.n_leaves + len(self.environment.numbers)
        self.items_of = [(asked | c.results_of).get(i) for i in range(first, len(self.leaves))]
        self.out_tracked = c.tracked
        self.by, self.freed = c.by, c.freed
        self.generators = [g for g, _ in trace.generators.values()]
        self.on_device = lies_on_device(trace, inputs, outputs)
        self.watch_hidden(trace)
        writes = self.find_writes(trace, inputs)
        self.saved_order, self.saved_outs, self.saved_places = [], [], ()
        saved = self.build_backward(c, inputs, writes) if c.seeds else []
        outputs += [v for v in saved if v not in inputs and v not in outputs]
        made = generated(c.forward_steps, inputs, outputs, writes, owner_name(self.owner), self.on_device)
        self.entry = Loaded(made, self.written)
        self.back = nothing if self.backwards is None else self.backwards.whole.back
        self.out_dtypes = [v.dtype for v in outputs]
        written = [p for p, _ in writes]
        example = lambda v: np.zeros_like(v.array, order="C") if v in written else v.array.copy()
        self.example_arrays = list(map(example, inputs[: self.n_args]))
        if self.backwards is not None:
            self.backwards.release()

    def build_backward(self, c: Captured, inputs: list[Value], writes: list) -> list[Value]:
        """The backward program; the forward values that it reads."""
        saved, again = c.needed()
        if any(v in [p for p, _ in writes] for v in saved):
            raise Refused("it writes to an input that its backward needs", None, False)
        outs, tracked = [c.trace.value(b) for b in c.outs], [k for k, t in enumerate(c.tracked) if t]
        for v in saved:  # where each is found: which of them, and which of the node's results it is
            if v in inputs:
                self.saved_order.append(("input", inputs.index(v), None))
            elif v in outs:
                k = outs.index(v)
                self.saved_order.append(("out", k, tracked.index(k) if k in tracked else None))
            else:
                self.saved_order.append(("made", 0, None))
        self.saved_outs = [(k, i) for what, k, i in self.saved_order if what == "out"]
        self.saved_places = tuple([k if what == "input" else None for what, k, _ in self.saved_order])
        name = owner_name(self.owner) + "_backward"
        self.backwards = BackwardPrograms(self, name, [*again, *c.backward_steps], saved, c.seeds, c.grads)
        return saved

    def watch_hidden(self, trace: Trace) -> None:
        """How hidden inputs are looked up at each call; tensors that were not read have to stay tensors."""
        self.sources = [source for _, source, _ in trace.inputs if source is not None]
        hidden = trace.outside[self.n_args :]
        self.sources_of_same = []  # other places where a hidden input was found, which have to go on holding it
        for path, source, t in [one for one in self.environment.tensors if one[1] not in self.sources]:
            places = [k for k, one in enumerate(hidden) if one is t]
            self.sources_of_same += [(source, k) for k in places]
            if not places:
                self.environment.guard(path, type(t), f"type({source}) is {self.environment.constant(type(t))}")

    def find_writes(self, trace: Trace, inputs: list[Value]) -> list[tuple[Value, Value]]:
        """The inputs that the program writes to, each with what it holds in the end."""
        writes = [(v, w) for v, b in zip(inputs, trace.input_boxes()) if (w := trace.held(b)) is not v]
        self.written = [inputs.index(v) for v, _ in writes]
        self.write_places = [trace.write_places[w] for _, w in writes]
        self.counts = [(inputs.index(v), w.content) for v, w in writes if w.kind == "number"]
        writes = [(v, w) for v, w in writes if w.kind != "number"]
        self.zero_writes = [inputs.index(p) for p, _ in writes if not p.shape]
        return writes

    # ------------------------------------------------------------------ failures
    def failed(self, owner: Compiled, e: Exception, args: tuple, kwargs: dict) -> Any:
        """The generated code has raised: eager code tells."""
        result = owner.function(*args, **kwargs)  # raises the error at the user's line, if it is the program's
        if self.on_device and isinstance(e, IndexError):  # an earlier call's (kernels/cuda/outside.py)
            raise e
        self.give_up(owner, e)
        return result

    def give_up(self, owner: Compiled, e: Exception) -> None:
        """The generated code failed where eager code does not: run eagerly from now on."""
        why = f"the generated code failed: {type(e).__name__}: {(str(e).splitlines() or [''])[0]}"
        for found in owner._table.values():
            for i, s in enumerate(found):
                if s is self:
                    found[i] = Eager(why, None, True)
        owner.roads.clear()
        owner.warn(why)

    # ------------------------------------------------------------------ what it shows
    def told(self) -> list:
        """The programs, for explain()."""
        if self.backwards is None:
            return [("program", self.entry)]
        return [("forward", self.entry), ("backward", self.backwards.whole.entry)]

    def example(self) -> tuple:
        """Arguments like those of the first call."""
        leaves: list = list(self.example_leaves)
        for place, a, needs in zip(self.arg_places, self.example_arrays, self.needs_grad):
            leaves[place] = wrap(a.copy())
            if needs:
                leaves[place].requires_grad_()
        return rebuild(self.tree, leaves)


def lies_on_device(trace: Trace, inputs: list[Value], outputs: list[Value]) -> bool:
    """Whether the program runs on the device.  What moves between devices is not compiled; numbers may come from anywhere."""
    used = {a for step in trace.steps for a in step.args if isinstance(a, Value)}
    ends = [on_device(v.array) for v in [*inputs, *outputs] if v.shape or v in used]
    made = [on_device(o.array) for step in trace.steps for o in step.outs if o.shape or on_device(o.array)]
    there = any(ends) or any(made)
    if there and not (all(ends) and all(made)):
        raise Refused("it computes with tensors on different devices", None, True, "move tensors before the call")
    return there


def owner_name(owner: Compiled) -> str:
    """The entry's name."""
    return owner.name if owner.name.isidentifier() and not owner.name.startswith("__") else "program"
