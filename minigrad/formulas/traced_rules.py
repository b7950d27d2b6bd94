"""Formulas of derivatives: the rules of an operation, run on the program's values, with names for the values they read."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from ..arrays.dtypes import FLOATS, of_numpy
from ..core.backward import sum_to
from ..core.function import as_tuple
from ..core.tensor import Tensor, wrap
from ..func.vmap import vmap
from ..ops.base.families import ViewScatter
from ..ops.create import zeros_like
from . import expression as e
from .expression import Tree
from .shaping import replaced
from .terms import Terms, is_tame
from .textbook import shown


class Step(NamedTuple):
    """A built-in operation that ran: its arguments and results, as numbers of values or as plain values in a dict."""

    cls: Any
    inputs: Sequence
    outputs: Sequence
    moving: Sequence | None = None  # True for arguments with a tangent: x.detach() is the value x, but has none


class Program:
    """The steps of one operation, run again on named values; `constants` are values that it created for itself."""

    def __init__(
        self,
        steps: Sequence[Step],
        array: Callable,
        label: Callable,
        outputs: Sequence[int],
        constants: Collection = (),
    ):
        self.layer, self.steps, self.outputs = Terms(), steps, list(outputs)
        self.boxes: dict[int, Any] = {}
        made = {o for step in steps for o in step.outputs}
        for step in steps:
            for ref in step.inputs:
                if not isinstance(ref, dict) and ref not in made and ref not in self.boxes:
                    held = wrap(array(ref))
                    self.boxes[ref] = (
                        self.layer.adopt(held) if ref in constants else self.layer.variable(label(ref), held)
                    )
        self.layer.tame = all(map(is_tame, [array(ref) for ref in (*self.boxes, *outputs)]))
        with self.layer.running():
            for step in steps:
                results = self.run(step, array)
                for ref, t in zip(step.outputs, results):
                    if ref in self.outputs:
                        self.boxes[ref] = self.layer.variable(label(ref), wrap(array(ref)))
                    else:
                        self.boxes[ref] = t

    def arguments(self, step: Step) -> tuple:
        """Return a step's arguments under the layer."""
        return tuple([i["const"] if isinstance(i, dict) else self.boxes[i] for i in step.inputs])

    def run(self, step: Step, array: Callable) -> Sequence:
        """Return the results of a step that have no names, with their expressions."""
        if all(o in self.outputs for o in step.outputs):
            return [None] * len(step.outputs)
        found = step.cls.apply(*self.arguments(step))
        found = found if isinstance(found, tuple) else (found,)
        for ref, t in zip(step.outputs, found):
            t._value = wrap(array(ref))
        return found

    def computed(self, values: Sequence[int] | None = None) -> list[Any]:
        """Return the outputs, or other values of the steps, with the expressions that compute them."""
        known = {ref: box for ref, box in self.boxes.items() if ref not in self.outputs}
        with self.layer.running():
            for step in self.steps:
                args = [i["const"] if isinstance(i, dict) else known[i] for i in step.inputs]
                found = step.cls.apply(*args)
                known |= zip(step.outputs, found if isinstance(found, tuple) else (found,))
        return [known[o] for o in (self.outputs if values is None else values)]

    def pulled(self, grads: dict[int, Any], batches: int = 0) -> dict[tuple, Any]:
        """Return the gradient of each outside argument, by step and position, from gradients of the outputs.

        With `batches`, the gradients have as many leading dimensions that a vmap around the rules hides, as in jacrev.
        """
        several = len(self.outputs) > 1
        flowing: dict[int, Any] = {}
        for k, ref in enumerate(self.outputs):
            if grads.get(ref) is not None:
                name = e.subscript(e.name("g"), k) if several else e.name("g")
                flowing[ref] = self.layer.variable(name, wrap(grads[ref]))
        pull = self.pulled_back
        for _ in range(batches):
            pull = vmap(pull)
        with self.layer.running():
            return pull(flowing)

    def pulled_back(self, flowing: dict[int, Any]) -> dict[tuple, Any]:
        """Return the gradient of each outside argument, by step and position, from gradients of the outputs."""
        made = {o for step in self.steps for o in step.outputs}
        found: dict[tuple, Any] = {}
        for number, step in reversed(list(enumerate(self.steps))):
            gs = tuple([flowing.get(o) for o in step.outputs])
            if all(g is None for g in gs):
                continue
            for i, d in self.gradients(step, gs):
                ref = step.inputs[i]
                if ref in made:
                    flowing[ref] = flowing[ref] + d if ref in flowing else d
                else:
                    found[number, i] = d
        return found

    def merged(self, pulled: dict[tuple, Any], ends: Collection[tuple]) -> dict[int, Any]:
        """Return the gradient of each value, summed over those of its uses that a gradient reaches."""
        found: dict[int, Any] = {}
        with self.layer.running():
            for (number, i), t in pulled.items():
                if (number, i) not in ends:
                    continue
                ref = self.steps[number].inputs[i]
                found[ref] = found[ref] + t if ref in found else t
        return found

    def pushed(self, tangents: dict[int, Any], label: Callable) -> dict[int, Any]:
        """Return the existing tangents of the outputs, from tangents of outside arguments; `label` names these."""
        moving = {ref: self.layer.variable(label(ref), wrap(t)) for ref, t in tangents.items()}
        with self.layer.running():
            for step in self.steps:
                args = self.arguments(step)
                still = step.moving or (True,) * len(args)
                given = [None if isinstance(i, dict) or not m else moving.get(i) for i, m in zip(step.inputs, still)]
                if all(t is None for t in given):
                    continue
                outs = tuple([self.boxes[o] for o in step.outputs])
                if step.cls is ViewScatter:
                    (base, view, region, *_), (db, dv, *_) = args, given
                    found = [
                        replaced(zeros_like(base) if db is None else db, zeros_like(view) if dv is None else dv, region)
                    ]
                else:
                    rule = shown(step.cls, args, self.layer.tame)
                    found = as_tuple(rule.pushforward(args, given, outs)) if rule.differentiable else ()
                for ref, out, t in zip(step.outputs, outs, found):
                    if t is not None and out._np_dtype in FLOATS:
                        moving[ref] = t
        return {o: moving[o] for o in self.outputs if o in moving}

    def gradients(self, step: Step, grads: tuple) -> list:
        """Return the gradients of a step's arguments, in their shapes and dtypes."""
        args, found = self.arguments(step), []
        outs = tuple([self.boxes[o] for o in step.outputs])
        if step.cls is ViewScatter:
            return list(enumerate(through_view(*args[:3], grads[0])))
        bound = (*args, *outs)  # half precision stays: the rule's computation in float32 is not part of the formula
        rule = shown(step.cls, args, self.layer.tame)
        for i, a in enumerate(args):
            if isinstance(a, Tensor) and a._np_dtype in FLOATS:
                d = rule.evaluate(i, bound, len(args), grads)
                if d is not None:
                    d = sum_to(d, tuple(a.shape))
                    found.append((i, d if d._np_dtype == a._np_dtype else d.to(of_numpy(a._np_dtype))))
        return found


def through_view(base: Tensor, view: Tensor, region: tuple, g: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients of base and view for a write to the view: g outside the region, and g inside it."""
    inner = g
    for fn, args in region:
        inner = fn.apply(inner, *args)
    return replaced(g, zeros_like(view), region), inner


def written(t: Any) -> str:
    """Return the formula of a result."""
    return e.text(tidied(t))


def tidied(t: Any) -> Tree:
    """Return the expression of a result, as a person would write it."""
    return e.tidy(t._extra.tree)
