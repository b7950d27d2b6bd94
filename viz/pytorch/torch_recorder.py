"""The recording of a PyTorch program while it runs: its operations, and the values that they read and make.

torch_calls.py passes it each call as the user wrote it, torch_graph.py hooks backward, torch_tangents.py pushes tangents.
minigrad/record/build.py makes the document of it, as of a recording of minigrad's.
"""

# pyright: reportMissingImports=false, reportAttributeAccessIssue=false, reportPrivateImportUsage=false

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
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
from minigrad.record.values import OpEntry, Ref

from .torch_calls import Calls
from .torch_contents import READING, WORDS, draws, sizing
from .torch_cuts import Cuts, has_history, reason
from .torch_graph import Backward, run_now, same
from .torch_inside import BACK, Crossings, Inside, look_into
from .torch_tangents import Tangents
from .torch_values import Call, Kind, batches, bottom, edges_of, is_freed, is_leaf, memory, numbers, sights, version
from .torch_wording import TorchWording
from .torch_words import (
    MADE,
    PROPERTIES,
    SAME,
    SIZES,
    SWAPPED,
    defaults,
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


class Recorder(Backward):
    """Records the calls of a program while `with watching(recorder):` is open."""

    # what build.py asks of a recording
    wording, is_freed = TorchWording, staticmethod(is_freed)
    draws: Collection[int] = ()
    handed: Collection[tuple] = ()
    times: dict[OpEntry, float] = {}
    pushing: dict[OpEntry, float] = {}
    ran_jvp = True
    file = program_name = ""

    def __init__(self, jvp: bool, seeds: Seeds | None = None):
        super().__init__()
        self.seeds = seeds
        self.tangents, self.cuts = Tangents(self, jvp), Cuts(self)
        self.reads: list[tuple] = []  # of elements by Python (minigrad/record/reads.py)
        self.notes: list[str] = []  # gaps in the recording, with the reasons
        self._views: dict[int, Call] = {}  # id of a view -> the operation that made it
        self.module_paths: dict[Any, dict] = {}
        self.crossings: Crossings | None = None  # to NumPy and back, in a method of a custom Function
        self.failure: Any = None  # as of a recording of minigrad's
        self.added_backward = False  # True if `run_backward` ran, because the program ran none
        self.has_gap = self.folds = False
        self.on_full: Callable | None = None  # called when the recording has grown
        self.passed: Callable | None = None  # called for each operation while the recording pauses
        self.drawn: Collection[int] | None = None  # the operations of the document that have texts; None for all
        self.insides: list[Inside] = []  # calls of custom Functions' methods
        self._insides: list[Inside] = []  # those of the Function that is running

    def note_failure(self, error: BaseException) -> None:
        """Note that the program has ended with an exception."""
        from .torch_failure import note_failure

        with suppress(Exception), self.aside():  # the program's own exception matters
            if self.failure is None:
                note_failure(self, error, Recorder.call.__code__)

    def operations(self) -> int:
        """Return the number of operations of the program."""
        return sum(call.of is None for call in self.groups)

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
        return self.busy or self.paused or run_now() != self.within

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
            read = name == "__get__" and attribute in ("data", "grad")
            name = "requires_grad_" if frozen else attribute * read
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
                self.received([inputs] if isinstance(inputs, torch.Tensor) else inputs, out)
            elif isinstance(out, torch.Tensor) and name == "grad":
                self.stored(args[0], out)
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
            boundary = self.edges(around)
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
                plain = {key: pair for key, pair in given.items() if not pair[0].requires_grad}
                written |= {key: (t, v) for key, (t, v) in plain.items() if not same(numbers(bottom(t)), self.array(v))}
            new = name in MADE or name.endswith("_like") or name.startswith("new_")
            if not given or not written and (new or not fresh):
                self.note_read(name.strip("_"), args, given)
                for t in fresh.values() if name == "from_numpy" else ():
                    if (value := self.known(t)) is not None and self.values[value].owner.requires_grad:
                        self.cuts.note("detach", self.values[value].owner, t, True, value, where(sys._getframe(1)))
                return out  # a query, or a tensor made from no tensor
            made = self.begin(run, name, cls, args, {key: one for key, one in kwargs.items() if key != "out"}, given)
            made.boundary = boundary
            if any(is_leaf(t) for t, _ in written.values()):
                made.phase = "update"  # it writes to a parameter
            made.event.inputs += [value for key, (_, value) in written.items() if key not in given]
            made.inplace = bool(written) and next(iter(given)) in written
            self._writes |= {at: self._writes.get(at, 0) + 1 for at in {memory(t) for t, _ in written.values()}}
            sides = [[t for t, _ in written.values()], list(fresh.values())]
            results = [(t, self.result(t, made)) for side in sides[:: 1 if made.inplace else -1] for t in side]
            self._views |= {key: made for key, t in fresh.items() if t._is_view()}
            self.cuts.writing.clear()
            made.event.outputs = [value for _, value in results]
            if self.crossings is None:  # no gradient passes through a method of a Function by itself
                made.cut = reason(made, [t for t, _ in given.values()], list(fresh.values()))
            made.dims |= {value: batches(t) for t, value in results}
            self.attach(made, results)
            for inside in insides:
                inside.find(self)
            self.note_methods({inside.name: inside for inside in reversed(insides)}.values(), made)
            if push is not None and made.phase == "forward":
                values = {key: value for key, (_, value) in given.items()} | {id(t): value for t, value in results}
                self.push(made, partial(push, made, out, results), values)
            if self.on_full is not None and len(self.groups) % OFTEN == 0:
                self.on_full(self)
            return out

    def note_read(self, name: str, args: tuple, given: dict[int, tuple]) -> None:
        """Note that Python reads the elements of a tensor."""
        if name in READING and args and id(args[0]) in given:
            t, value = given[id(args[0])]
            cut = WORDS.get(name, name) in NUMBERS and (t.requires_grad or id(bottom(t)) in self.cuts.cuts)
            self.reads.append((len(self.groups), value, WORDS.get(name, name), where(sys._getframe(2)), cut))

    def push(self, call: Call, push: Callable, values: dict[int, int]) -> None:
        """Push an operation's tangents, and note the call of a custom Function's jvp; `values` are those of its tensors."""
        self._insides, outer = [], self._insides
        try:
            push()
        finally:
            insides, self._insides = self._insides, outer
        for inside in [inside for inside in insides if inside.name == "jvp"]:
            inside.match(self.tangents.twins(call, values), call, self)
            self.note_methods([inside], call)

    def ran(self, inside: Inside) -> None:
        """Note that a method of a custom Function ran, in a call or in backward."""
        if (home := self.owner.get(inside.ctx)) is not None:
            inside.find(self)
            self.note_methods([inside], home)
        elif inside.name not in BACK:
            self._insides.append(inside)

    def note_methods(self, insides: Iterable[Inside], call: Call) -> None:
        """Note the operation for which some methods ran."""
        for inside in [*insides][::-1]:
            inside.group = call
            inside.ctx = call if inside.ctx is None else inside.ctx
            self.insides.append(inside)

    def nested(self, name: str) -> Recorder:
        """Return a recording for a method of a custom Function; both keep as many contents together as one."""
        made = Recorder(jvp=False)
        made.program_name, made.kept = name, self.kept
        return made

    def begin(self, run: Any, name: str, cls: Any, args: tuple, kwargs: dict, given: dict[int, tuple]) -> Call:
        """Begin the entry of a call: its operation, arguments, line and modules."""
        phase = "update" if self.runs and not torch.is_grad_enabled() else "forward"
        frame = sys._getframe(2)
        made = Call(phase, op_name(name) if cls is None else cls.__name__, where(frame), self.layers())
        made.modules, made.tracks = module_names(modules_around(frame), self.module_paths), torch.is_grad_enabled()
        args = args[::-1] if name in SWAPPED else args[1:] if args and args[0] is cls and cls is not None else args
        usual = defaults(run) if cls is None else {}
        kwargs = {key: one for key, one in kwargs.items() if key not in usual or one is not usual[key]}
        known = lambda a: Ref(given[id(a)][1]) if id(a) in given else a
        made.word, made.args, made.kwargs = name, *tree_map(known, (tuple(args), kwargs))
        made.dims = {value: batches(t) for t, value in given.values()}
        if cls is None:
            args = (args[0], args[1:]) if made.name in SIZES and len(args) > 2 else args
            made.primitive = primitive_of(made.name, kwargs)
            kernel = getattr(made.primitive, "kernel", None)
            names, kind = parameters_of(made.name) if kernel is None else made.primitive.names, Kind(kernel=kernel)
        else:
            made.function, made.cls, names = cls.__name__, cls, forward_parameters(cls)
            kind = Kind(forward=cls.forward, setup_context=cls.setup_context)
        labelled = [(names[i] if i < len(names) else f"x{i}", one) for i, arg in enumerate(args) for one in spread(arg)]
        labelled += [(key, one) for key, arg in kwargs.items() for one in spread(arg)]
        kind.names = [label for label, _ in labelled]
        made.event.cls = kind
        made.event.inputs = [given[id(one)][1] if id(one) in given else {"const": one} for _, one in labelled]
        made.event.views = sights([one for _, one in labelled if id(one) in given])
        made.events = (made.event,)
        self.groups.append(made)
        return made

    def layers(self) -> list[str]:
        """Return the active transforms of torch.func, outermost first."""
        return [name for name, _ in sights([])]

    def saved(self, t: torch.Tensor, call: Call) -> int | None:
        """Return the value of a tensor that a node saves, also in another shape; None for a number in the program's text."""
        at = self.place(t)
        apart = [one for one in call.read if one in self.cuts.tensors]
        # its source is at the same place
        own = [one for one in apart if at and self.place(self.cuts.tensors[one]) == at]
        places = [*own[:1], self._places.get(at or ()), self._extents.get(self.extent(t) if at else ())]
        if (known := next((one for one in places if one is not None), None)) is not None:
            return known
        if (low := bottom(t)).dim() == 0 and {"const": low.item()} in call.event.inputs:
            return None
        if at not in call.internal:
            call.internal[at] = self.add(t, "computed")
            if call.cls is not None:  # its methods have the same tensor
                self.assign(t, call.internal[at])
        return call.internal[at]

    def seen_again(self, t: torch.Tensor) -> int:
        """Return the value of a tensor whose memory was written through another tensor since its last read.

        The value is a result of that write; for a view with a graph, autograd takes the view of the new base again, which is a
        separate operation.
        """
        maker, writer = self._views.get(id(t)), self._writers.get(memory(t))
        if not edges_of(t) or t._base is None or maker is None:
            value = self.result(t, writer)
            if writer is not None:
                writer.events[0].outputs.append(value)
                if not is_leaf(t):
                    self.tangents.note(writer, t, value)
            return value
        base = t._base
        view = Call("forward", maker.name, maker.where, [])
        view.primitive, view.modules, view.events = maker.primitive, maker.modules, (view.event,)
        view.event.cls, view.event.inputs = maker.event.cls, [self.ref(base)]
        view.boundary = self.edges({id(base): (base, self.ref(base))})
        self.groups.append(view)
        value = self.result(t, view)
        view.event.outputs = [value]
        self.attach(view, [(t, value)])
        self.tangents.note(view, base, view.event.inputs[0])
        self.tangents.note(view, t, value)
        return value

    # --------------------------------------------------------------------------------------------------- at the end

    def returned(self, outs: list[torch.Tensor]) -> list[int]:
        """Return the values of the program's results."""
        given = set(self.tensors)
        self.outputs = [self.ref(o) for o in outs]
        if any(self.values[v].kind == "computed" and v in self.tensors and v not in given for v in self.outputs):
            there = "in TorchScript or in another thread, where operations are not recorded"
            self.notes.append(f"a result was computed {there}")
        return self.outputs

    def settle(self) -> None:
        """Note the gradients of the passes, and what the methods of custom Functions have in common with the program."""
        super().settle()
        for inside in self.insides:
            inside.settle(self)

    def note_unseen_writes(self) -> None:
        """Do nothing: writes by NumPy are found when a tensor is used."""

    @property
    def in_method(self) -> bool:
        """True if it is the recording of a method of a custom Function."""
        return self.crossings is not None

    def sizing(self, group: OpEntry) -> list[int]:
        """Return the arguments of an operation whose elements decide on the shape of its result."""
        return sizing(group, self.values)

    def random(self, _: Any, number: Any) -> set[int]:
        """Return the operations of the document that draw random numbers."""
        calls = [(call, i) for call, i in number.ops.items() if isinstance(call, Call) and call.of is None]
        return {i for call, i in calls if draws(call.word)}

    def run_backward(self, outs: list[torch.Tensor], keep: bool, names: Callable[[], list[list[str]]]) -> None:
        """Run backward from all results that require grad, seeded with ones, unless the program ran it itself.

        `names` returns those of each result.  `keep` the saved tensors if the program may go on with its graph.
        """
        roots = [o for o in outs if o.requires_grad]
        leaves = [*{id(t): t for t in self.tensors.values() if t.requires_grad}.values()]
        if not roots or not leaves:
            return
        if any(self.gradient_of(self.ref(o)) is not None for o in outs):
            return refuse_gradient(self.seeds)
        try:
            seeds = self.seeds_of(roots, outs, names)
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
        self.received(leaves, found)

    def seeds_of(self, roots: list[torch.Tensor], outs: list[torch.Tensor], names: Callable) -> list[torch.Tensor]:
        """Return the gradients with which backward begins at those results that require grad."""
        if self.seeds is None or self.seeds.grad is None:
            return [torch.ones_like(o) for o in roots]
        dtypes = [o.detach().cpu().numpy().dtype for o in roots]
        found = [some for o, some in zip(outs, names()) if o.requires_grad]
        arrays = self.seeds.gradients([tuple(o.shape) for o in roots], dtypes, found)
        return [o.new_tensor(a) for o, a in zip(roots, arrays)]


def opened(func: Any) -> Callable:
    """Return a copy of a PyTorch function that skips the override dispatch, so that the functions it calls are recorded."""
    own = {**func.__globals__, "has_torch_function": lambda tensors: False}
    made = FunctionType(func.__code__, own, func.__name__, func.__defaults__, func.__closure__)
    made.__kwdefaults__ = func.__kwdefaults__
    return made
