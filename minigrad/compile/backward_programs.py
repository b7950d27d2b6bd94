"""The backward programs of a compiled function: one for all of its results, and others for subsets of them.

After `loss, logits = step(x)`, often only the loss is differentiated. Gradients of unused results are left out, as if their
operations had never run. Zeros would be wrong, because 0 * inf is NaN. Where an absent gradient meets a present one, a sum
reduces to the other summand, and any other operation gets zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..ops.base.families import Linear
from ..ops.pointwise import Add
from .captured_steps import CapturedStep, CapturedValue
from .fast_call import backward_function
from .loaded import Loaded, generated

if TYPE_CHECKING:
    from .specialization import Specialisation


class Pull(NamedTuple):
    """A backward program: `by` lists the inputs it gives gradients of; `back` runs it on arrays (fast_call.py)."""

    entry: Loaded
    by: list[int]
    back: Callable


class BackwardPrograms:
    """The backward programs of one kind of call, compiled when first needed."""

    def __init__(self, owner: Specialisation, name: str, steps: list, saved: list, seeds: list, grads: list):
        self.owner, self.name = owner, name
        self.steps, self.saved, self.seeds, self.grads = steps, saved, seeds, grads
        everything = (True,) * len(seeds)
        self.whole = self.load(everything, steps, grads)
        self.pulls: dict[tuple, Pull | None] = {everything: self.whole}  # by which results have a gradient

    def pull(self, present: tuple[bool, ...]) -> Pull | None:
        """Return the program for the results that have a gradient; None if the gradients must be computed eagerly."""
        if present not in self.pulls:
            found = without(self.steps, self.seeds, self.grads, present)
            try:
                self.pulls[present] = None if found is None else self.load(present, *found)
            except Exception as e:
                self.owner.give_up(self.owner.owner, e)
                return None
        return self.pulls[present]

    def release(self) -> None:
        """Drop the arrays of the capture, and the steps if no other program can be needed."""
        for v in [*self.saved, *self.seeds, *[o for step in self.steps for o in step.outs]]:
            v.array = None
        if len(self.seeds) == 1:
            self.steps = []

    def load(self, present: tuple[bool, ...], steps: list, grads: list) -> Pull:
        """Generate and compile one backward program."""
        owner, read = self.owner, [*self.saved, *[s for s, there in zip(self.seeds, present) if there]]
        made = generated(steps, read, [g for g in grads if g is not None], [], self.name, owner.on_device)
        by = [k for k, g in zip(owner.by, grads) if g is not None]
        entry = Loaded(made, [])
        return Pull(entry, by, backward_function(owner, entry, by, [v.shape for v in read], present, self.run_partial))

    def run_partial(self, node: Any, g: list) -> list | None:
        """Run the program for the gradients that are present, on arrays."""
        pull = self.pull(tuple([one is not None for one in g]))
        return None if pull is None else pull.back(node, g)


# ---------------------------------------------------------------------- leaving out absent gradients
class AbsentGradients:
    """Propagation of gradients when some of the seeds are absent."""

    def __init__(self, seeds: Sequence[CapturedValue], present: Sequence[bool]):
        self.flowing = set(seeds)  # values that gradients flow through
        self.absent = {seed for seed, there in zip(seeds, present) if not there}
        self.zero: set[CapturedValue] = set()  # values that are zero for any gradient
        self.same: dict[CapturedValue, CapturedValue] = {}  # sums with one absent summand -> the other summand
        self.steps: list[CapturedStep] = []

    def follow(self, step: CapturedStep) -> bool:
        """Process the next step; return False if it adds a value that no gradient flows through."""
        read = [a for a in step.args if isinstance(a, CapturedValue)]
        if issubclass(step.cls, Linear) and all(map(self.is_zero, read)):
            self.zero.update(step.outs)
        gradients = [a for a in read if a in self.flowing]
        missing = [a for a in gradients if a in self.absent]
        if gradients:
            self.flowing.update(step.outs)
        if step.cls is Add and gradients and not all(a in gradients or self.is_zero(a) for a in read):
            return False
        if gradients and len(missing) == len(gradients):
            self.absent.update(step.outs)
        elif step.cls is Add and missing and read[0].shape == read[1].shape == step.outs[0].shape:
            (other,) = [a for a in read if a not in missing]
            self.same[step.outs[0]] = self.same.get(other, other)
        else:
            args = [
                zeros(a) if a in missing else self.same.get(a, a) if isinstance(a, CapturedValue) else a
                for a in step.args
            ]
            self.steps.append(CapturedStep(step.cls, args, step.outs, step.place, step.phase, step.written))
        return True

    def is_zero(self, v: CapturedValue) -> bool:
        """Return True if a value is zero everywhere, for any gradient."""
        return v in self.zero or v.kind == "constant" and not v.content.any()


def zeros(like: CapturedValue) -> CapturedValue:
    """Return a constant that is zero everywhere."""
    content = np.zeros(like.shape, like.dtype)
    made = CapturedValue("constant", content, 0, like.name)
    made.content = content
    return made


def without(
    steps: Sequence[CapturedStep],
    seeds: Sequence[CapturedValue],
    grads: Sequence[CapturedValue | None],
    present: Sequence[bool],
) -> tuple[list[CapturedStep], list[CapturedValue | None]] | None:
    """Return the steps and gradients (None: absent) if only some seeds are present; None if they cannot be determined."""
    flow = AbsentGradients(seeds, present)
    if not all(map(flow.follow, steps)) or any(g is not None and g not in flow.flowing for g in grads):
        return None
    return flow.steps, [None if g is None or g in flow.absent else flow.same.get(g, g) for g in grads]
