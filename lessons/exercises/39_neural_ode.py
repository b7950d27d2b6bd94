"""The exercises of lesson 39."""

import math

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise


@exercise(
    "After two steps z is 4 * (1 - 0.5 * k) ** 2.",
    "The chain rule: 4 * 2 * (1 - 0.5 * k) * (-0.5).",
)
def ode_number(answer):
    """Euler's result is 4 * (1 - 0.5 * k)**2, and its derivative 8 * (1 - 0.5 * k) * (-0.5)."""
    mistakes = {
        -4 * math.exp(-1): "that is the derivative of the exact solution; Euler's result has another one",
        4: "the inner derivative is -0.5",
        2: "the inner derivative is negative: with more decay, less is left",
        1: "that is the result of the two steps, not its derivative",
        -1: "there are two steps, and each contributes -1",
    }
    expect.number(answer, -2, mistakes)


def midpoint(f, h, state):
    """Return the expected step."""
    middle = tuple(s + h / 2 * d for s, d in zip(state, f(*state)))
    return tuple(s + h * d for s, d in zip(state, f(*middle)))


@exercise(
    "middle = moved(state, h / 2, f(*state))",
    "Then return moved(state, h, ...): start again from state, along the slope in the middle.",
)
def ode_midpoint(answer):
    """Two evaluations of the slope, and an error that falls with the square of the step."""
    x, v = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([0.5, -1.0], requires_grad=True)
    euler = x + 0.5 * v
    cases = {
        "a swinging pair (v, -x)": (lambda x, v: (v, -x), (x, v)),
        "dz/dt = sin(z)": (lambda z: (z.sin(),), (x,)),
    }
    for what, (f, state) in cases.items():
        given, wanted = answer(f, 0.5, state), midpoint(f, 0.5, state)
        if not isinstance(given, (tuple, list)):
            raise Wrong(f"for {what} it returns {given!r}, expected a tuple like state: is there a return?")
        if len(given) != len(wanted):
            raise Wrong(f"for {what} it returns {len(given)} tensors, expected {len(wanted)}")
        if len(state) == 2 and torch.allclose(given[0], euler):
            raise Wrong("that is Euler's step: use the slope in the middle for the whole step")
        for i, (one, other) in enumerate(zip(given, wanted)):
            expect.tensor(one, other, f"for {what} and h = 0.5, part {i} of the new state")
        (g,), (right,) = (torch.autograd.grad(sum(r.sum() for r in all_), [state[0]]) for all_ in (given, wanted))
        expect.tensor(g, right, f"for {what}, the gradient of part 0")


@exercise(
    "The partial derivatives of f = -k * z are -k with respect to z, and -z with respect to k.",
    "So the slopes are -k * z for z, -a * (-k) for a, and -a * (-z) for the gradient of k.",
    "_, a, to_k = solve(lambda z, a, _: (-k * z, a * k, a * z), (end, a, zero), -ctx.time, ctx.steps)",
    "backward returns a gradient for each argument of forward: a, to_k, None, None.",
)
def OdeDecay(answer):
    """Backward in time a falls like exp(k t): at 0 it is the incoming gradient times exp(-k T)."""
    if not (isinstance(answer, type) and issubclass(answer, torch.autograd.Function)):
        raise Wrong(f"expected a subclass of autograd.Function, got {answer!r}")
    for z0, k0, time, incoming in ((1.0, 0.8, 2.0, 1.0), (3.0, 0.5, 1.0, 10.0), (-2.0, 1.5, 0.5, -1.0)):
        z = torch.tensor(z0, dtype=torch.float64, requires_grad=True)
        k = torch.tensor(k0, dtype=torch.float64, requires_grad=True)
        end = answer.apply(z, k, time, 40)
        what = f"for z = {z0}, k = {k0}, time = {time} and the incoming gradient {incoming}"
        expect.tensor(end, z0 * math.exp(-k0 * time), f"{what} the result", rtol=1e-4)
        (incoming * end).backward()
        left = incoming * math.exp(-k0 * time)
        for name, given, right in (("z", z.grad, left), ("k", k.grad, -time * z0 * left)):
            if given is None:
                raise Wrong(f"{what} there is no gradient of {name}")
            if math.isclose(given.item(), -right, rel_tol=1e-3):
                raise Wrong(
                    f"{what} the gradient of {name} is {given.item():.6g}, expected {right:.6g}: a sign is wrong"
                )
            expect.tensor(given, right, f"{what} the gradient of {name}", rtol=1e-3)
    saved = [t.numel() for t in answer.apply(z, k, 1.0, 5).grad_fn.saved_tensors]
    if sum(saved) > 2:
        raise Wrong(f"{sum(saved)} numbers are saved: the end and k are enough")
