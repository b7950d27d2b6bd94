"""The forms of a question to `explain`, each turned into a derivative in a recording."""

from collections.abc import Callable
from types import FrameType
from typing import Any

from ..autograd import forward_ad
from ..core.tensor import Tensor
from ..errors import error
from ..record.build import numbered
from ..record.labels import as_expression, is_free
from ..record.passes import parameter_names, record, run_backward
from ..record.recorder import Record
from ..scopes import undoing
from .derive import Asked
from .lookup import derivative, of_tensor
from .value_names import name_after


def tensor(t: Tensor, by: tuple, frame: FrameType | None) -> Asked:
    """Return a gradient or tangent, or the derivative of a tensor with respect to another."""
    asked = of_tensor(t, by[0]) if by else derivative(t, frame)
    name_after(asked.rec, frame)
    if asked.owned and (name := asked.rec.values[asked.value].name):
        asked.label = f"{name}.grad"
    return asked


def recording(rec: Record, of: Any) -> Asked:
    """Return a gradient in a recording."""
    rec.settle()
    return Asked(rec, "gradient", chosen(rec, of))


def function(f: Callable, inputs: tuple, of: Any, tangents: tuple | None) -> Asked:
    """Return the derivative of a function's result, or its tangent."""
    if tangents is not None:
        return pushed(f, inputs, tangents)
    rec = record(f, *inputs, passes=("forward",), inside=True)
    name_result(rec, f)
    back = {gradient: value for value, gradient in rec.gradients.items()}
    for out in rec.outputs:
        if out in back:
            return Asked(rec, "gradient", back[out], f"the result of {rec.program_name}")
    notes = ["the function runs backward itself; this explains the derivative of its result"] if rec.runs else []
    with undoing(rec.leave), rec:
        run_backward(rec, [rec.values[out].tensor for out in rec.outputs])
    rec.settle()
    return Asked(rec, "gradient", chosen(rec, of), notes=notes)


def name_result(rec: Record, f: Callable) -> None:
    """Name a single unnamed result after its function, unless formulas use that name."""
    name = getattr(f, "__name__", "")
    if len(rec.outputs) == 1 and not rec.values[rec.outputs[0]].name:
        rec.values[rec.outputs[0]].name = name if is_free(name) else "result"


def pushed(f: Callable, inputs: tuple, tangents: tuple) -> Asked:
    """Return the tangent of f's result."""
    if len(tangents) != len(inputs):
        what = f"got {len(tangents)} tangents for {len(inputs)} inputs"
        raise error(ValueError, "explain", what, "pass one tangent, or None, for each input")

    with forward_ad.dual_level():
        duals = [x if t is None else forward_ad.make_dual(x, t) for x, t in zip(inputs, tangents)]
        rec = record(lambda: f(*duals), passes=("forward",), name=getattr(f, "__name__", ""), inside=True)
    rec.name_arguments(parameter_names(f, len(inputs)), duals)
    name_result(rec, f)
    out = next((o for o in rec.outputs if any(o in g.tangents for g in rec.groups)), None)
    if out is None:
        what = "no result has a tangent"
        fix = "make the result depend on an input with a tangent, through differentiable operations"
        raise error(ValueError, "explain", what, fix)
    return Asked(rec, "tangent", out)


def behind_results(rec: Record) -> set[int]:
    """Return the values that the program computed the recording's results from."""
    found = set(rec.outputs)
    for event in [event for g in reversed(rec.groups) if g.phase != "update" for event in reversed(g.events)]:
        if not found.isdisjoint(event.outputs):
            found.update(i for i in event.inputs if isinstance(i, int))
    return found


def names_in_pictures(rec: Record) -> dict[int, str]:
    """Return the names by which pictures show the values of a recording: net[0].weight, h[2], v0."""
    document, number = numbered(rec)
    return {old: document.values[new].shown for old, new in number.new.items()}


def chosen(rec: Record, of: Any) -> int:
    """Return the value to differentiate with respect to: the first one, or the one that `of` names, counts or is."""
    leading, gradients = behind_results(rec), rec.gradients
    having = [v for v in rec.values if v.index in gradients]
    having = [v for v in having if v.index in leading] or having  # not those of earlier training steps
    able = [v for v in having if v.kind == "parameter"]
    if of is not None:
        shown = names_in_pictures(rec) if isinstance(of, str) else {}
        found = [v for v in having if v.tensor is of or of == shown.get(v.index)]
        found += [v for v in having if isinstance(of, str) and of in (v.name, as_expression(v.name))]
        found += [able[of]] if isinstance(of, int) and -len(able) <= of < len(able) else []
    else:
        found = able
    if not found:
        wanted = f"the tensor of shape {tuple(of.shape)}" if isinstance(of, Tensor) else repr(of)
        there = ", ".join(as_expression(v.name) or v.name or "an unnamed tensor" for v in able) or "none"
        raise error(
            ValueError,
            "explain",
            ": ".join(["no tensor here has a gradient", *rec.notes[-1:]])
            if of is None
            else f"{wanted} has no gradient here; available: {there}",
            "pass one of these names as of=, or pass inputs that the result depends on",
        )
    return found[0].index
