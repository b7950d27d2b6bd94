"""The exercises of lesson 47."""

import minigrad as torch
import minigrad.autograd.forward_ad as fwAD
from lessons import expect
from lessons.exercise import Wrong, exercise
from minigrad.autograd.function import NestedIOFunction


@exercise(
    "Every parameter of forward after ctx has a position, even one that you left out of the call.",
    "Two of the three positions hold tensors.",
)
def nested_keywords(answer):
    """There are three positions; eps is a number, so its gradient is None."""
    mistakes = {
        (2, 2): "eps has a position as well, and a gradient: None",
        (3, 1): "a tensor passed by keyword takes the position of its parameter, and has a gradient",
        (1, 1): "a keyword takes the position of its parameter",
        (4, 2): "ctx does not count",
        (3, 3): "a number has no gradient: None for eps",
        (2, 3): "these two are swapped: three gradients, two of them tensors",
    }
    expect.numbers(answer, [3, 2], mistakes)


def nested(answer):
    """Check that an answer is a NestedIOFunction."""
    if not (isinstance(answer, type) and issubclass(answer, NestedIOFunction)):
        raise Wrong(f"expected a subclass of NestedIOFunction, got {answer!r}")


def dicts_like(given, names, what):
    """Check that a result is a dict with these names."""
    if not isinstance(given, dict) or sorted(given) != sorted(names):
        raise Wrong(f"{what} is {given!r}, expected a dict with the names {', '.join(names)}")


@exercise(
    "The saved dict: (point,) = ctx.saved_tensors. The tangents are tangents['r'] and tangents['phi'].",
    "x changes by cos(phi) times the tangent of r, minus r sin(phi) times the tangent of phi.",
    "y changes by sin(phi) times the tangent of r, plus r cos(phi) times the tangent of phi. The name has the tangent None.",
)
def NestedPolar(answer):
    """Each output's tangent adds up the contributions of r and of phi."""
    nested(answer)
    for r, phi, r_t, phi_t in ((2.0, 0.5, 1.0, 0.0), (2.0, 0.5, 0.0, 3.0), (1.5, -1.0, 0.7, -0.4)):
        r, phi, r_t, phi_t = map(torch.tensor, (r, phi, r_t, phi_t))
        wanted = {
            "x": r_t * phi.cos() - r * phi.sin() * phi_t,
            "y": r_t * phi.sin() + r * phi.cos() * phi_t,
        }
        with fwAD.dual_level():
            out = answer.apply({"r": fwAD.make_dual(r, r_t), "phi": fwAD.make_dual(phi, phi_t)}, "A")
            dicts_like(out, ["x", "y", "name"], "the result")
            for name, value in (("x", r * phi.cos()), ("y", r * phi.sin())):
                expect.tensor(fwAD.unpack_dual(out[name]).primal, value, f"the result {name!r}")
            tangents = {name: fwAD.unpack_dual(out[name]).tangent for name in ("x", "y")}
        for name in ("x", "y"):
            if tangents[name] is None:
                raise Wrong(f"{name} has no tangent")
        if all(torch.allclose(tangents[a], wanted[b]) for a, b in (("x", "y"), ("y", "x"))):
            raise Wrong("the tangents of x and y are swapped")
        for name in ("x", "y"):
            where = f"at r = {r.item():g}, phi = {phi.item():g}, with the tangents {r_t.item():g} and {phi_t.item():g}"
            expect.tensor(tangents[name], wanted[name], f"the tangent of {name} {where}")


@exercise(
    "forward_extended writes into its inputs: self.mark_dirty(tensors).",
    "kept has no derivative, but it holds floats: self.mark_non_differentiable(kept).",
    "Save kept with self.save_for_backward(kept). The gradient is grads[name] where kept[name], and 0 elsewhere.",
)
def NestedClamp(answer):
    """Now the write and the mask are marked, and a clamped number has the gradient 0."""
    nested(answer)
    values = {"a": torch.tensor([0.5, -3.0, 1.0]), "b": torch.tensor([[2.0], [-0.25]])}
    leaves = {name: t.clone().requires_grad_() for name, t in values.items()}
    given = {name: t * 1 for name, t in leaves.items()}
    result = answer.apply(given)
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise Wrong(f"it returns one {type(result).__name__}, expected two dicts")
    clamped, kept = result
    for what, one in (("the first result", clamped), ("the second result", kept)):
        dicts_like(one, ["a", "b"], what)
    weights = {"a": torch.tensor([2.0, 3.0, 5.0]), "b": torch.tensor([[7.0], [11.0]])}
    for name, t in values.items():
        inside = t.abs() <= 1
        if clamped[name] is not given[name]:
            raise Wrong(f"the result {name!r} is another tensor than the input: clamp in place, and return the input")
        expect.tensor(clamped[name].detach(), t.clamp(-1, 1), f"the result {name!r}")
        if kept[name].requires_grad:
            raise Wrong(f"kept[{name!r}] requires grad: mark it as not differentiable")
        if not torch.equal(kept[name].float(), inside.float()):
            raise Wrong(f"kept[{name!r}] is {kept[name].tolist()}, expected {inside.float().tolist()}")
    total = sum((clamped[name] * weights[name]).sum() for name in values)
    for name, gradient in zip(leaves, torch.autograd.grad(total, list(leaves.values()), allow_unused=True)):
        if gradient is None:
            raise Wrong(f"{name!r} gets no gradient: return a dict with a gradient for each name")
        wanted = weights[name] * (values[name].abs() <= 1)
        where = f"{name!r} = {values[name].tolist()} with the incoming gradient {weights[name].tolist()}"
        expect.tensor(gradient, wanted, f"the gradient of {where}")
