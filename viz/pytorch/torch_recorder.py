"""The recording of a PyTorch program while it runs: its operations, and the values that they read and make.

torch_calls.py passes it each call as the user wrote it, torch_graph.py hooks backward, torch_tangents.py pushes tangents,
torch_document.py builds the document.
"""

# pyright: reportMissingImports=false, reportAttributeAccessIssue=false, reportPrivateImportUsage=false

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FunctionType
from typing import Any

import torch
from torch._functorch.autograd_function import custom_function_call
from torch.utils._pytree import tree_map

from minigrad.record.callers import module_names
from minigrad.record.reads import NUMBERS
from minigrad.record.schema import CALLS
from minigrad.record.seeds import Seeds, refuse_gradient

from .torch_calls import RUNNING as RECORDING
from .torch_calls import Calls
from .torch_contents import READING, WORDS
from .torch_cuts import Cuts, has_history, reason
from .torch_document import CONTENTS, Call, Noted, batches, bottom, has_memory, is_leaf
from .torch_graph import Backward, edges_of, run_now, same
from .torch_inside import BACK, Inside, look_into
from .torch_numpy import Crossings
from .torch_tangents import Tangents, version
from .torch_words import (
    MADE,
    PROPERTIES,
    SAME,
    SIZES,
    SWAPPED,
    defaults,
    formula_of,
    forward_parameters,
    modules_around,
    op_name,
    parameters_of,
    primitive_of,
    spread,
    tensors_in,
    where,
)

REFUSED = (  # errors of PyTorch that mean it cannot run another backward
    "second time",  # the program's own backward freed the graph
    "use_reentrant=True",  # such a checkpoint needs a backward that writes to .grad
    "_will_engine_execute_node",  # so does a hook for several gradients
    "allocate memory",  # an expanded tensor needs none, its gradient does
)
OFTEN = 64  # calls after which the number of operations is looked at
RUNNING = ("batch_norm", "instance_norm")  # these write running statistics without a version change
COMPOSED = ("multi_head_attention_forward",)  # recorded as the many operations that they consist of


class Recorder:
    """Records the calls of a program while `with watching(recorder):` is open."""

    def __init__(self, jvp: bool, seeds: Seeds | None = None):
        self.seeds = seeds
        if not RECORDING.recorders:
            CONTENTS.kept = CONTENTS.given_up = 0
        self.within = run_now()  # the run of backward that it began in, for the backward method of a Function
        self.calls: list[Call] = []
        self.backward, self.tangents, self.cuts = Backward(self), Tangents(self, jvp), Cuts(self)
        self.reads: list[tuple] = []  # of elements by Python (torch_contents.py)
        self.notes: list[str] = []  # gaps in the recording, with the reasons
        self.tensors: dict[Noted, torch.Tensor] = {}  # of leaves, and of values that no recorded operation made
        self._known: dict[int, tuple] = {}  # id -> (tensor, state of its memory, value)
        self._owners: dict[Noted, torch.Tensor] = {}  # value -> the tensor that had it first, or its leaf
        self._places: dict[tuple, Noted] = {}  # place in memory -> the value last read there
        self._extents: dict[tuple, Noted] = {}  # the same, regardless of shape
        self._views: dict[int, Call] = {}  # id of a view -> the operation that made it
        self._writers: dict[int, Call] = {}  # memory -> the operation that wrote there last
        self._writes: dict[int, int] = {}  # memory -> number of writes: `.data` has a separate version counter
        self.module_paths: dict[Any, dict] = {}
        self.crossings: Crossings | None = None  # to NumPy and back, in a method of a custom Function
        self.adding = False  # True while `run_backward` runs, for which no line of the program stands
        self.added_backward = False  # True if `run_backward` ran, because the program ran none
        self.paused = self.has_gap = self.folds = False
        self.on_full: Callable | None = None  # called when the recording has grown
        self.passed: Callable | None = None  # called for each operation while the recording pauses
        self._busy = False
        self._insides: list[Inside] = []  # calls of methods of the Function that is running

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Suspend recording: the block's calls are not the program's."""
        before, self._busy = self._busy, True
        try:
            yield
        finally:
            self._busy = before

    def operations(self) -> int:
        """Return the number of operations of the program."""
        return sum(call.of is None for call in self.calls)

    def can_stop(self) -> bool:
        """Return True: the recording can pause and go on at any time."""
        return True

    can_go_on = can_stop

    def pause(self) -> None:
        """Record nothing until the recording goes on."""
        self.paused = self.has_gap = True

    def go_on(self) -> None:
        """Record again."""
        self.paused = False

    def is_paused(self) -> bool:
        """Return True if calls are not recorded now: inside another call, or in backward, which hooks record."""
        return self._busy or self.paused or run_now() != self.within

    # ------------------------------------------------------------------------------------------------------- calls
    def asked(self, func: Any, args: tuple, kwargs: dict) -> Any:
        """Handle a call of the user: an operation, or only a query."""
        name = getattr(func, "__name__", type(func).__name__)
        if self.crossings is not None and self.crossings.concerns(name, args):
            return self.crossings.crossed(name, args, func(*args, **kwargs))
        if name in ("__get__", "__set__", "__delete__"):
            attribute = func.__self__.__name__
            if name == "__get__" and attribute in PROPERTIES:
                return self.call(func, attribute, args, kwargs)
            frozen = name == "__set__" and attribute == "requires_grad" and not args[1]
            name = (
                "requires_grad_" if frozen else attribute if name == "__get__" and attribute in ("data", "grad") else ""
            )
            if not name:
                return func(*args, **kwargs)
        if func is custom_function_call:
            return self.call(func, args[0].__name__, args, kwargs, args[0])
        if name == "__rdiv__":  # 2 / x is x.reciprocal() * 2, in PyTorch and in minigrad
            return self.call(torch.mul, "mul", (self.call(torch.reciprocal, "reciprocal", args[:1], {}), *args[1:]), {})
        if name in COMPOSED:
            with Calls(self):
                return opened(func)(*args, **kwargs)
        if name not in (*SAME, "grad"):
            return self.call(func, name, args, kwargs)
        with self.aside():
            before = [(t, has_history(t), self.cuts.before(t)) for t in tensors_in(args)[:1] if name != "grad"]
        out = func(*args, **kwargs)
        with self.aside():
            if isinstance(out, tuple) and name == "grad":
                inputs = args[1] if len(args) > 1 else kwargs["inputs"]
                self.backward.returned([inputs] if isinstance(inputs, torch.Tensor) else inputs, out)
            elif isinstance(out, torch.Tensor) and name == "grad":
                self.backward.stored(args[0], out)
            for (source, tracked, value), t in zip(before, tensors_in(out) or args[:1]):
                cuts = name in CALLS and self.cuts.note(name, source, t, tracked, value, where(sys._getframe(1)))
                if value is not None and not cuts:
                    self.assign(t, value)
        return out

    def call(self, run: Callable, name: str, args: tuple, kwargs: dict, cls: Any = None) -> Any:
        """Make a call, and record it if it is an operation: if it makes new tensors from tensors, or writes to some."""
        with self.aside():
            self.cuts.begin(run, name, args, kwargs)
            given = {id(t): (t, self.ref(t)) for t in tensors_in((args, kwargs))}
            # a write to a view also writes to its base
            bases = [t._base for t, _ in given.values() if t._is_view() and not is_leaf(t)]
            around = {**given, **{id(t): (t, self.ref(t)) for t in bases if t is not None}}
            versions = {key: version(t) for key, (t, _) in around.items()}
            boundary = self.backward.edges(around)
            push = self.tangents.before(run, name, args, kwargs, given, cls) if given else None
            if cls is not None:
                look_into(cls)
            self._insides, outer = [], self._insides
            try:
                out = run(*args, **kwargs)
            finally:
                insides, self._insides = self._insides, outer
            fresh = {id(t): t for t in tensors_in(out) if id(t) not in given}
            written = {key: around[key] for key in around if version(around[key][0]) != versions[key]}
            if name in RUNNING:
                written |= {key: pair for key, pair in given.items() if not pair[0].requires_grad and changed(*pair)}
            new = name in MADE or name.endswith("_like") or name.startswith("new_")
            if not given or not written and (new or not fresh):
                self.note_read(name.strip("_"), args, given)
                for t in fresh.values() if name == "from_numpy" else ():
                    if (value := self.known(t)) is not None and self._owners[value].requires_grad:
                        self.cuts.note("detach", self._owners[value], t, True, value, where(sys._getframe(1)))
                return out  # a query, or a tensor made from no tensor
            made = self.begin(run, name, cls, args, {key: one for key, one in kwargs.items() if key != "out"}, given)
            made.boundary = boundary
            if any(is_leaf(t) for t, _ in written.values()):
                made.phase = "update"  # it writes to a parameter
            made.inputs += [value for key, (_, value) in written.items() if key not in given]
            made.inplace = bool(written) and next(iter(given)) in written
            self._writes |= {at: self._writes.get(at, 0) + 1 for at in {memory(t) for t, _ in written.values()}}
            sides = [[t for t, _ in written.values()], list(fresh.values())]
            results = [(t, self.result(t, made)) for side in sides[:: 1 if made.inplace else -1] for t in side]
            self._views |= {key: made for key, t in fresh.items() if t._is_view()}
            self.cuts.writing.clear()
            made.outputs = [value for _, value in results]
            if self.crossings is None:  # no gradient passes through a method of a Function by itself
                made.cut = reason(made, [t for t, _ in given.values()], list(fresh.values()))
            made.dims |= {value: batches(t) for t, value in results}
            self.backward.attach(made, results)
            for inside in insides:
                inside.find(self)
            made.insides = list({inside.name: inside for inside in reversed(insides)}.values())[::-1]
            if push is not None and made.phase == "forward":
                values = {key: value for key, (_, value) in given.items()} | {id(t): value for t, value in results}
                self.push(made, partial(push, made, out, results), values)
            if self.on_full is not None and len(self.calls) % OFTEN == 0:
                self.on_full(self)
            return out

    def note_read(self, name: str, args: tuple, given: dict[int, tuple]) -> None:
        """Note that Python reads the elements of a tensor."""
        if name in READING and args and id(args[0]) in given:
            t, value = given[id(args[0])]
            cut = WORDS.get(name, name) in NUMBERS and (t.requires_grad or id(bottom(t)) in self.cuts.cuts)
            self.reads.append((len(self.calls), value, WORDS.get(name, name), where(sys._getframe(2)), cut))

    def push(self, call: Call, push: Callable, values: dict[int, Noted]) -> None:
        """Push an operation's tangents, and note the call of a custom Function's jvp; `values` are those of its tensors."""
        self._insides, outer = [], self._insides
        try:
            push()
        finally:
            insides, self._insides = self._insides, outer
        for inside in [inside for inside in insides if inside.name == "jvp"]:
            inside.match(self.tangents.twins(call, values), call, self.place)
            call.insides.append(inside)

    def ran(self, inside: Inside) -> None:
        """Note that a method of a custom Function ran, in a call or in backward."""
        if (home := self.backward.owner.get(inside.ctx)) is not None:
            inside.find(self)
            home.insides.append(inside)
        elif inside.name not in BACK:
            self._insides.append(inside)

    def begin(self, run: Any, name: str, cls: Any, args: tuple, kwargs: dict, given: dict[int, tuple]) -> Call:
        """Begin the entry of a call: its operation, arguments, line and modules."""
        phase = "update" if self.backward.ran and not torch.is_grad_enabled() else "forward"
        frame = sys._getframe(2)
        made = Call(phase, op_name(name) if cls is None else cls.__name__, where(frame))
        made.modules, made.layers = module_names(modules_around(frame), self.module_paths), self.layers()
        args = args[::-1] if name in SWAPPED else args[1:] if args and args[0] is cls and cls is not None else args
        usual = defaults(run) if cls is None else {}
        kwargs = {key: one for key, one in kwargs.items() if key not in usual or one is not usual[key]}
        known = lambda a: given[id(a)][1] if id(a) in given else a
        made.word, made.args, made.kwargs = name, *tree_map(known, (tuple(args), kwargs))
        made.dims = {value: batches(t) for t, value in given.values()}
        if cls is None:
            args = (args[0], args[1:]) if made.name in SIZES and len(args) > 2 else args
            made.primitive = primitive_of(made.name, kwargs)
            pointwise = getattr(made.primitive, "kernel", None) is not None
            names = made.primitive.names if pointwise else parameters_of(made.name)
        else:
            made.function, made.cls, names = cls.__name__, cls, forward_parameters(cls)
        labelled = [(names[i] if i < len(names) else f"x{i}", one) for i, arg in enumerate(args) for one in spread(arg)]
        labelled += [(key, one) for key, arg in kwargs.items() for one in spread(arg)]
        made.labels = [label for label, _ in labelled]
        made.inputs = [given[id(one)][1] if id(one) in given else {"const": one} for _, one in labelled]
        made.formula = formula_of(made.name, made.primitive, labelled)
        self.calls.append(made)
        return made

    def layers(self) -> list[str]:
        """Return the active transforms of torch.func, outermost first."""
        stack = torch._C._functorch.get_interpreter_stack() or []
        return [str(one.key()).rsplit(".", 1)[-1].lower() for one in stack]

    # ------------------------------------------------------------------------------------------------------ values
    def ref(self, t: torch.Tensor) -> Noted:
        """Return the current value of a tensor."""
        t = bottom(t)
        if (cut := self.cuts.of(t)) is not None:
            return self.cuts.behind(cut)
        _, at, value = self._known.get(id(t), (None, None, None))
        here = value if at == self.state(t) else self._places.get(self.place(t) or ())
        if here is not None and (not is_leaf(t) or self.is_of(here, t)):
            return self.assign(t, here)
        if here is None and value is not None:
            return self.seen_again(t)
        made = Noted(t, "parameter" if is_leaf(t) else "computed" if edges_of(t) else "input")
        self.tensors[made] = t
        return self.assign(t, made)

    def is_of(self, value: Noted, t: torch.Tensor) -> bool:
        """Return True if a value belongs to a leaf; `requires_grad_` turns an input or a computed value into one.

        One that `detach` computed stays: the leaf is another value, as the gradient of one is none of the other.
        """
        own = self._owners[value] is t and value not in self.cuts.tensors
        if value.kind == "input" or value.kind == "computed" and own:
            value.kind = "parameter"
            self._owners[value] = self.tensors[value] = t
        return value.kind == "parameter" and self._owners[value] is t

    def assign(self, t: torch.Tensor, value: Noted) -> Noted:
        """Assign a value to a tensor until its next write.  The tensor is kept alive, so its memory is not reused."""
        t = bottom(t)
        self._known[id(t)] = (t, self.state(t), value)
        self._owners.setdefault(value, t)
        if (at := self.place(t)) is not None and not self.cuts.is_apart(t):
            self._places[at] = value
            self._extents[self.extent(t)] = value
        return value

    def known(self, t: torch.Tensor) -> Noted | None:
        """Return the known value at a tensor's place in memory, or None."""
        return self._known[id(bottom(t))][2] if self.has_current_value(t) else self._places.get(self.place(t) or ())

    def has_current_value(self, t: torch.Tensor) -> bool:
        """Return True if a tensor's value is known and current."""
        t = bottom(t)
        return id(t) in self._known and self._known[id(t)][1] == self.state(t)

    def state(self, t: torch.Tensor) -> tuple[int, int]:
        """Return the number of writes to a tensor's memory: by its own version, and by recorded operations."""
        return version(t), self._writes.get(memory(t), 0)

    def place(self, t: torch.Tensor) -> tuple | None:
        """Return a tensor's place in memory and the number of writes to it; None if it has no memory or no elements."""
        t = bottom(t)
        known = has_memory(t) and t.numel()
        return (t.data_ptr(), t.shape, t.stride(), t.dtype, t.device, *self.state(t)) if known else None

    def extent(self, t: torch.Tensor) -> tuple:
        """Return a tensor's place in memory, regardless of shape, and the number of writes to it."""
        t = bottom(t)
        return t.data_ptr(), t.numel(), t.dtype, t.device, *self.state(t)

    def result(self, t: torch.Tensor, call: Call | None) -> Noted:
        """Make the value of a tensor that a call returned or wrote."""
        if call is not None:
            self._writers[memory(t)] = call
        value = self.assign(t, Noted(t, "parameter" if is_leaf(t) else "computed"))
        if is_leaf(t):
            self.tensors[value] = bottom(t)
        return value

    def kept(self, t: torch.Tensor, call: Call) -> Noted | None:
        """Return the value of a tensor that a node saves, also in another shape; None for a number in the program's text."""
        at = self.place(t)
        apart = [one for one in call.inputs if isinstance(one, Noted) and one in self.cuts.tensors]
        own = [
            one for one in apart if at and self.place(self.cuts.tensors[one]) == at
        ]  # its source is at the same place
        known = own[0] if own else self._places.get(at or ()) or self._extents.get(self.extent(t) if at else ())
        if known is None and (low := bottom(t)).dim() == 0 and {"const": low.item()} in call.inputs:
            return None
        if known is None and at not in call.internal:
            call.internal[at] = Noted(t, "computed")
            if call.cls is not None:  # its methods have the same tensor
                self.assign(t, call.internal[at])
        return known or call.internal[at]

    def seen_again(self, t: torch.Tensor) -> Noted:
        """Return the value of a tensor whose memory was written through another tensor since its last read.

        The value is a result of that write; for a view with a graph, autograd takes the view of the new base again, which is a
        separate operation.
        """
        maker, writer = self._views.get(id(t)), self._writers.get(memory(t))
        if not edges_of(t) or t._base is None or maker is None:
            value = self.result(t, writer)
            if writer is not None:
                writer.outputs.append(value)
                if not is_leaf(t):
                    self.tangents.note(writer, t, value)
            return value
        base = t._base
        view = Call("forward", maker.name, maker.where)
        view.formula, view.primitive, view.labels, view.modules = (
            maker.formula,
            maker.primitive,
            maker.labels,
            maker.modules,
        )
        view.inputs, view.boundary = [self.ref(base)], self.backward.edges({id(base): (base, self.ref(base))})
        self.calls.append(view)
        value = self.result(t, view)
        view.outputs = [value]
        self.backward.attach(view, [(t, value)])
        self.tangents.note(view, base, view.inputs[0])
        self.tangents.note(view, t, value)
        return value

    # --------------------------------------------------------------------------------------------------- at the end
    def held(self) -> Iterator[tuple[Noted, torch.Tensor]]:
        """Yield the values that tensors have now, and earlier values of leaves."""
        yield from self.tensors.items()
        for t, at, value in self._known.values():
            if at == self.state(t):
                yield value, t

    def owners(self) -> Iterator[tuple[Noted, torch.Tensor]]:
        """Yield all values, with the tensors that had them first."""
        yield from self._owners.items()

    def returned(self, outs: list[torch.Tensor]) -> list[Noted]:
        """Return the values of the program's results."""
        given = set(self.tensors)
        values = [self.ref(o) for o in outs]
        if any(v.kind == "computed" and v in self.tensors and v not in given for v in values):
            self.notes.append(
                "a result was computed in TorchScript or in another thread, where operations are not recorded"
            )
        return values

    def run_backward(self, outs: list[torch.Tensor], keep: bool, names: Callable[[], list[list[str]]]) -> None:
        """Run backward from all results that require grad, seeded with ones, unless the program ran it itself.

        `names` returns those of each result.  `keep` the saved tensors if the program may go on with its graph.
        """
        roots = [o for o in outs if o.requires_grad]
        leaves = [*{id(t): t for t in self.tensors.values() if t.requires_grad}.values()]
        if not roots or not leaves:
            return
        if any(self.backward.gradient(self.ref(o)) is not None for o in outs):
            return refuse_gradient(self.seeds)
        try:
            seeds = self.gradients(roots, outs, names)
            self.adding = True
            found = torch.autograd.grad(roots, leaves, seeds, retain_graph=keep, allow_unused=True)
        except RuntimeError as e:
            if not any(reason in str(e) for reason in REFUSED):
                raise
            self.notes.append(f"PyTorch could not run backward for the program: {str(e).splitlines()[0]}")
            return
        finally:
            self.adding = False
        self.added_backward = True
        self.backward.returned(leaves, found)

    def gradients(self, roots: list[torch.Tensor], outs: list[torch.Tensor], names: Callable) -> list[torch.Tensor]:
        """Return the gradients with which backward begins at those results that require grad."""
        if self.seeds is None or self.seeds.grad is None:
            return [torch.ones_like(o) for o in roots]
        dtypes = [o.detach().cpu().numpy().dtype for o in roots]
        found = [some for o, some in zip(outs, names()) if o.requires_grad]
        arrays = self.seeds.gradients([tuple(o.shape) for o in roots], dtypes, found)
        return [o.new_tensor(a) for o, a in zip(roots, arrays)]


def changed(t: torch.Tensor, value: Noted) -> bool:
    """Return True if a tensor's elements differ from this value."""
    return not same(Noted(t, "").array, value.array)


def opened(func: Any) -> Callable:
    """Return a copy of a PyTorch function that skips the override dispatch, so that the functions it calls are recorded."""
    own = {**func.__globals__, "has_torch_function": lambda tensors: False}
    made = FunctionType(func.__code__, own, func.__name__, func.__defaults__, func.__closure__)
    made.__kwdefaults__ = func.__kwdefaults__
    return made


def memory(t: torch.Tensor) -> int:
    """Return an identifier of a tensor's storage."""
    t = bottom(t)
    return t.untyped_storage()._cdata if has_memory(t) else id(t)
