"""Recomputation of the tensors that a checkpoint does not save: a Region fills its placeholders when backward asks for them.

Saved tensors hooks count the tensors that a function saves.  When backward asks for one, the function runs again, and other
hooks pick the tensors with the same numbers; once the last needed one is there, the run stops.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, NamedTuple

from ..autograd import Function, enable_grad
from ..autograd.grad_mode import without_layer
from ..autograd.graph import saved_tensors_hooks
from ..core.engine import running
from ..core.frames import Frame, current, recorder_of, use
from ..core.saved import memory, save, unpack, version
from ..core.tensor import Tensor
from ..errors import MinigradRuntimeError, error
from ..events import events, unheard
from ..func.tree import flatten, rebuild
from ..ops.generator import fork_rng, generators
from ..places import Place, user_place

Contexts = tuple[AbstractContextManager, AbstractContextManager]
AUTOCAST = "autocast"  # the name of the layer in compat/amp.py


class CheckpointError(MinigradRuntimeError):
    """Raised when a checkpointed function does not compute the same again.

    >>> import minigrad
    >>> issubclass(minigrad.utils.checkpoint.CheckpointError, RuntimeError)
    True
    """


def noop_context_fn() -> Contexts:
    """Return two contexts that do nothing, the default of `context_fn`.

    >>> from minigrad.utils.checkpoint import noop_context_fn
    >>> len(noop_context_fn())
    2
    """
    return nullcontext(), nullcontext()


class Surroundings:
    """Restores the first run's autocast for the second run, and its random numbers if requested."""

    def __init__(self, preserve_rng_state: bool):
        self.states = [(g, g._position()) for g in generators()] if preserve_rng_state else None
        self.autocasts = [layer for layer in current().layers() if layer.name == AUTOCAST]

    @contextmanager
    def again(self) -> Iterator[None]:
        """Restore the first run's surroundings inside the `with` block, and the generators afterwards."""
        frame = without_layer(current(), AUTOCAST)
        for layer in self.autocasts:
            frame = Frame(layer, frame.grad, frame.dual, frame.inference, frame)
        with fork_rng(enabled=self.states is not None), use(frame):
            for generator, state in self.states or ():
                generator.set_state(state)
            yield


# ---------------------------------------------------------------------- placeholders
class Fact(NamedTuple):
    """Shape, dtype and device of a saved tensor, and the place where it was saved."""

    shape: tuple
    dtype: str
    device: Any
    place: Place | None

    def __str__(self) -> str:
        return f"shape {self.shape} of {self.dtype} on {self.device}"

    def same(self, other: Fact) -> bool:
        """Return True if another tensor has the same shape, dtype and device."""
        return self[:3] == other[:3]


class SavedPlaceholder:
    """Stands in the graph for the saved tensor with this number."""

    def __init__(self, number: int):
        self.number = number


class Enough(BaseException):
    """Raised when all needed tensors are there.  Not an Exception, which the function might catch."""


class Inputs(Function):
    """The node that saves the arguments of a checkpoint."""

    @classmethod
    def node_name(cls, node: Any) -> str:
        """Return the name of the function that the user called, for messages."""
        return "checkpoint"


class Region:
    """A function that was called with placeholders, and the means to fill them.

    Recomputed tensors belong to one run of backward, and are freed once backward has used them, even with
    `retain_graph=True`.
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
            raise error(ValueError, "checkpoint", what, 'pass "default" to compare the recomputed tensors')
        self.function, self.context, self.surroundings = function, context, surroundings
        self.compared, self.early_stop, self.debug = determinism_check == "default", early_stop, debug
        leaves, self.spec = flatten((args, kwargs))
        self.node, self.frame = Inputs.Node(None, ()), current()
        if events.checkpoint is not unheard:
            inputs = [x for x in leaves if isinstance(x, Tensor) and x._layer is None]
            events.checkpoint("region_began", self.node, inputs)
        self.inputs = [save(x) for x in leaves]  # a checkpoint around this one has placeholders for them
        self.facts: list[Fact] = []
        self.placeholders: list[weakref.ref[SavedPlaceholder]] = []
        self.computed: weakref.WeakKeyDictionary[Any, dict] = weakref.WeakKeyDictionary()  # run -> number -> tensor

    def pack(self, t: Tensor) -> SavedPlaceholder | Tensor:
        """Save a placeholder instead of a tensor."""
        if in_other_frame(self.frame):
            return t
        made = SavedPlaceholder(len(self.facts))
        self.facts.append(fact(t))
        self.placeholders.append(weakref.ref(made))
        return made

    def unpack(self, wanted: SavedPlaceholder | Tensor) -> Tensor:
        """Return the tensor behind a placeholder, recomputed if necessary."""
        if isinstance(wanted, Tensor):
            return wanted
        run: Any = running.get() or SavedPlaceholder(-1)  # outside of backward: for this tensor alone
        self.node._saved = getattr(run, "freed", None) or ()  # a recording shows when the inputs are freed
        computed = self.computed.get(run)
        if computed is None or wanted.number not in computed:
            numbers = {wanted.number}  # only this one, if it is asked for a second time
            if computed is None and running.get() is not None:
                numbers = {p.number for ref in self.placeholders if (p := ref()) is not None}
            computed = self.computed.setdefault(run, {})
            computed |= Recomputation(self, numbers).run()
        t, expected = computed.pop(wanted.number)
        if version(t) != expected:
            raise self.modified(wanted.number, t)
        return t

    def arguments(self) -> tuple[tuple, dict]:
        """Return the arguments of the call.  Raises RuntimeError if they were modified since."""
        return rebuild(self.spec, [unpack(x, self.node) for x in self.inputs])

    def modified(self, number: int, t: Tensor) -> Exception:
        """Return the error for a tensor that the function overwrites after an operation has saved it."""
        what = f"the function modifies a tensor of shape {tuple(t.shape)} in place after it was saved for backward"
        writer = f"last written by {memory(t).writer} at {memory(t).place}"
        return error(RuntimeError, "checkpoint", what, "write to a copy: x.clone()", self.facts[number].place, [writer])


class Recomputation:
    """One more run of a region's function, for the tensors with these numbers."""

    def __init__(self, region: Region, numbers: set[int]):
        self.region, self.numbers, self.last = region, numbers, max(numbers)
        self.frame: Frame = current()
        self.facts: list[Fact] = []
        self.found: dict[int, tuple[Tensor, int]] = {}

    def run(self) -> dict[int, tuple[Tensor, int]]:
        """Return the tensors by number, with the versions of their memory.  Raises CheckpointError if they differ."""
        region = self.region
        args, kwargs = region.arguments()
        hooks = saved_tensors_hooks(self.pack, lambda t: t)
        with (
            suppress(Enough),
            noted_as_recomputation(region),
            region.surroundings.again(),
            enable_grad(),
            hooks,
            region.context,
        ):
            region.function(*args, **kwargs)
        before, now = region.facts, self.facts
        if len(now) < len(before) if not region.early_stop else self.last not in self.found:
            missing = before[len(now)]
            what = f"saved {len(before)} tensors in forward, but {len(now)} in the recomputation"
            raise self.differs(what, [f"the first missing one: {missing}, saved at {missing.place}"], missing.place)
        if len(now) > len(before):
            what = f"saved {len(before)} tensors in forward, but {len(now)} in the recomputation"
            more = now[len(before)]
            raise self.differs(what, [f"the first new one: {more}, saved at {more.place}"], more.place)
        del self.region  # so that this run's graph, if the user keeps it, does not keep the region alive
        return self.found

    def pack(self, t: Tensor) -> Tensor:
        """Take a tensor if it is needed."""
        if in_other_frame(self.frame):
            return t
        number, region, new = len(self.facts), self.region, fact(t)
        self.facts.append(new)
        t = t.detach()
        if region.compared and number < len(region.facts) and not new.same(region.facts[number]):
            old = region.facts[number]
            notes = [f"in forward: {old}, saved at {old.place}", f"recomputed: {new}, saved at {new.place}"]
            raise self.differs(
                f"computed something else in the second run: saved tensor {number} differs", notes, new.place
            )
        if number in self.numbers:
            self.found[number] = t, version(t)
        if number == self.last and region.early_stop:
            raise Enough
        return t

    def differs(self, what: str, notes: list[str], place: Place | None) -> Exception:
        """Return the error for a function that does not compute the same again."""
        if self.region.debug:
            runs = {"in forward": self.region.facts, "recomputed": self.facts}
            notes += [
                f"{when} {i}: {f}, saved at {f.place}" for when, facts in runs.items() for i, f in enumerate(facts)
            ]
        fix = (
            "make the function depend on its arguments alone, not on variables that change between forward and backward; "
            "draw random numbers with preserve_rng_state=True"
        )
        who = getattr(self.region.function, "__qualname__", type(self.region.function).__name__)
        return error(CheckpointError, "checkpoint", f"{who} {what}", fix, place, notes)


@contextmanager
def noted_as_recomputation(region: Region) -> Iterator[None]:
    """Mark the operations inside as recomputation for recordings."""
    try:
        events.checkpoint("again_began", region.node, ())
        yield
    finally:
        events.checkpoint("again_ended", region.node, ())


def in_other_frame(frame: Frame) -> bool:
    """Return True if the running code is not the function's own operations but computes tangents, in another dual frame.

    The number of tangents may differ between runs, so their saved tensors get no placeholders.
    """
    now = current()
    return now.dual is not frame.dual or recorder_of(now) is not recorder_of(
        frame
    )  # a recording may have its own duals


def fact(t: Tensor) -> Fact:
    """Return a tensor's shape, dtype and device, and the place that saves it."""
    return Fact(tuple(t.shape), str(t.dtype), t.device, user_place())
