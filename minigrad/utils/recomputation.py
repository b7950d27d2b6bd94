"""Computing again what a checkpoint has not kept: a Region has placeholders for saved tensors, and fills them when asked.

Saved tensors hooks count the tensors that a function saves.  When backward asks for one, the function runs again, and other
hooks pick out the tensors with the same numbers; when the last that is needed is there, it is stopped.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, NamedTuple

from ..autograd import Function, enable_grad
from ..autograd.grad_mode import without
from ..autograd.graph import saved_tensors_hooks
from ..core.engine import recorder_of, running
from ..core.frames import Frame, current, use
from ..core.saved import memory, save, unpack, version
from ..core.tensor import Tensor
from ..errors import MinigradRuntimeError, error
from ..func.tree import flatten, rebuild
from ..ops.generator import fork_rng, generators
from ..places import Place, user_place
from ..record.callbacks import checkpointed, recordings

Contexts = tuple[AbstractContextManager, AbstractContextManager]
AUTOCAST = "autocast"  # the name of the layer in compat/amp.py


class CheckpointError(MinigradRuntimeError):
    """A checkpointed function has not computed the same again.

    >>> import minigrad
    >>> issubclass(minigrad.utils.checkpoint.CheckpointError, RuntimeError)
    True
    """


def noop_context_fn() -> Contexts:
    """Return two contexts that do nothing: the default of `context_fn`.

    >>> from minigrad.utils.checkpoint import noop_context_fn
    >>> len(noop_context_fn())
    2
    """
    return nullcontext(), nullcontext()


class Surroundings:
    """Restore for the second run the autocast of the first, and its random numbers if they are to be the same."""

    def __init__(self, preserve_rng_state: bool):
        self.states = [(g, g.get_state()) for g in generators()] if preserve_rng_state else None
        self.autocasts = [layer for layer in current().layers() if layer.name == AUTOCAST]

    @contextmanager
    def again(self) -> Iterator[None]:
        """Be where the first run was; the generators are left as they are."""
        frame = without(current(), AUTOCAST)
        for layer in self.autocasts:
            frame = Frame(layer, frame.grad, frame.dual, frame.inference, frame)
        with fork_rng(enabled=self.states is not None), use(frame):
            for generator, state in self.states or ():
                generator.set_state(state)
            yield


# ---------------------------------------------------------------------- placeholders
class Fact(NamedTuple):
    """Note the place where a tensor was saved, its shape, dtype and device."""

    shape: tuple
    dtype: str
    device: Any
    place: Place | None

    def __str__(self) -> str:
        return f"shape {self.shape} of {self.dtype} on {self.device}"

    def same(self, other: Fact) -> bool:
        """Return whether another tensor is of the same kind."""
        return self[:3] == other[:3]


class Placeholder:
    """Stands in the graph for the saved tensor with this number."""

    def __init__(self, number: int):
        self.number = number


class Enough(BaseException):
    """All that is needed has been computed again.  No Exception, which the function could catch."""


class Inputs(Function):
    """In whose name the arguments of a checkpoint are saved."""


class Region:
    """A function that was called with placeholders, and how to fill them.

    What was computed again belongs to one run of backward, and is let go when it has been asked for: with
    `retain_graph=True`, too.
    """

    def __init__(
        self,
        function: Callable,
        args: tuple,
        kwargs: dict,
        context: AbstractContextManager,
        surroundings: Surroundings,
        determinism_check: str,
        early_stop: bool,
        debug: bool,
    ):
        if determinism_check not in ("default", "none"):
            what = f'determinism_check should be "default" or "none", but got {determinism_check!r}'
            raise error(ValueError, "checkpoint", what, 'pass "default" to have what is computed again compared')
        self.function, self.context, self.surroundings = function, context, surroundings
        self.compared, self.early_stop, self.debug = determinism_check == "default", early_stop, debug
        leaves, self.spec = flatten((args, kwargs))
        self.node, self.frame = Inputs.Node(None, ()), current()
        if recordings:
            checkpointed("region_began", self.node, [x for x in leaves if isinstance(x, Tensor) and x._layer is None])
        self.inputs = [save(x) for x in leaves]  # a checkpoint around this one has placeholders for these
        self.facts: list[Fact] = []
        self.placeholders: list[weakref.ref[Placeholder]] = []
        self.computed: weakref.WeakKeyDictionary[Any, dict] = weakref.WeakKeyDictionary()  # run -> number -> tensor

    def pack(self, t: Tensor) -> Placeholder | Tensor:
        """Keep a placeholder instead of a tensor."""
        if beside(self.frame):
            return t
        made = Placeholder(len(self.facts))
        self.facts.append(fact(t))
        self.placeholders.append(weakref.ref(made))
        return made

    def unpack(self, wanted: Placeholder | Tensor) -> Tensor:
        """Return the tensor that a placeholder stands for, computed again if need be."""
        if isinstance(wanted, Tensor):
            return wanted
        run: Any = running.get() or Placeholder(-1)  # outside of backward for this one alone
        self.node._saved = getattr(run, "freed", None) or ()  # for a record, which says when the inputs are let go
        computed = self.computed.get(run)
        if computed is None or wanted.number not in computed:
            numbers = {wanted.number}  # of one that is asked for a second time that one
            if computed is None and running.get() is not None:
                numbers = {p.number for ref in self.placeholders if (p := ref()) is not None}
            computed = self.computed.setdefault(run, {})
            computed |= Again(self, numbers).run()
        t, expected = computed.pop(wanted.number)
        if version(t) != expected:
            raise self.modified(wanted.number, t)
        return t

    def arguments(self) -> tuple[tuple, dict]:
        """Return what the function was called with; RuntimeError if it was written to since."""
        return rebuild(self.spec, [unpack(x, self.node) for x in self.inputs])

    def modified(self, number: int, t: Tensor) -> Exception:
        """Return the error for a tensor that the function itself overwrites after an operation has saved it."""
        what = (
            f"the function has modified a tensor of shape {tuple(t.shape)} in place that was saved for backward before"
        )
        writer = f"last written by {memory(t).writer} at {memory(t).place}"
        return error(RuntimeError, "checkpoint", what, "write to a copy: x.clone()", self.facts[number].place, [writer])


class Again:
    """One more run of a region's function, for the tensors with these numbers."""

    def __init__(self, region: Region, numbers: set[int]):
        self.region, self.numbers, self.last = region, numbers, max(numbers)
        self.frame: Frame = current()
        self.facts: list[Fact] = []
        self.found: dict[int, tuple[Tensor, int]] = {}

    def run(self) -> dict[int, tuple[Tensor, int]]:
        """Return the tensors by number, with the versions of their memory; CheckpointError if they are others.

        NotImplementedError if they have tangents: those of results are not known when they are saved.
        """
        region = self.region
        args, kwargs = region.arguments()
        hooks = saved_tensors_hooks(self.pack, lambda t: t)
        with suppress(Enough), told(region), region.surroundings.again(), enable_grad(), hooks, region.context:
            region.function(*args, **kwargs)
        before, now = region.facts, self.facts
        if len(now) < len(before) if not region.early_stop else self.last not in self.found:
            missing = before[len(now)]
            what = f"saved {len(before)} tensors in forward, but {len(now)} when it was computed again"
            raise self.differs(what, [f"the first that is missing: {missing}, saved at {missing.place}"], missing.place)
        if len(now) > len(before):
            what = f"saved {len(before)} tensors in forward, but {len(now)} when it was computed again"
            more = now[len(before)]
            raise self.differs(what, [f"the first that is new: {more}, saved at {more.place}"], more.place)
        del self.region  # which the graph of this run, where somebody has kept it, is not to keep alive
        return self.found

    def pack(self, t: Tensor) -> Tensor:
        """Take a tensor if it is one of those that are needed."""
        if self.frame.dual is not None and (beside(self.frame) or self.frame.dual.tangent(t) is not None):
            what = "forward mode goes through its backward, and what is computed again there has no tangents"
            raise error(NotImplementedError, "checkpoint", what, "call the function without checkpoint")
        if beside(self.frame):
            return t
        number, region, new = len(self.facts), self.region, fact(t)
        self.facts.append(new)
        t = t.detach()
        if region.compared and number < len(region.facts) and not new.same(region.facts[number]):
            old = region.facts[number]
            notes = [f"in forward: {old}, saved at {old.place}", f"computed again: {new}, saved at {new.place}"]
            raise self.differs(
                f"computed something else when it ran again: saved tensor {number} differs", notes, new.place
            )
        if number in self.numbers:
            self.found[number] = t, version(t)
        if number == self.last and region.early_stop and self.frame.dual is None:
            raise Enough
        return t

    def differs(self, what: str, notes: list[str], place: Place | None) -> Exception:
        """Return the error for a function that has not computed the same again."""
        if self.region.debug:
            runs = {"in forward": self.region.facts, "computed again": self.facts}
            notes += [
                f"{when} {i}: {f}, saved at {f.place}" for when, facts in runs.items() for i, f in enumerate(facts)
            ]
        fix = (
            "let the function depend on its arguments alone, not on variables that change between forward and backward; "
            "draw random numbers with preserve_rng_state=True"
        )
        who = getattr(self.region.function, "__qualname__", type(self.region.function).__name__)
        return error(CheckpointError, "checkpoint", f"{who} has {what}", fix, place, notes)


@contextmanager
def told(region: Region) -> Iterator[None]:
    """Tell recordings that what runs inside is computed again."""
    try:
        checkpointed("again_began", region.node)
        yield
    finally:
        checkpointed("again_ended", region.node)


def beside(frame: Frame) -> bool:
    """Return whether what runs is no operation of a function that began in this frame, but the tangent of one.

    How many tangents there are may differ from run to run: they keep what they need.
    """
    now = current()
    return now.dual is not frame.dual or recorder_of(now) is not recorder_of(
        frame
    )  # a recording may have its own duals


def fact(t: Tensor) -> Fact:
    """Return of what kind a tensor is, and where it is being saved."""
    return Fact(tuple(t.shape), str(t.dtype), t.device, user_place())
