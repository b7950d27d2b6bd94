"""The exercises of lesson 35."""

import math

import numpy as np

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise


@exercise(
    "Which power of the step is in the truncation error of a central difference?",
    "It is the square, so half the step gives a quarter of the error.",
)
def slope_halved(answer):
    """Half the step gives a quarter of the error, which is proportional to the square of the step."""
    mistakes = {
        0.0002: "that is the rule for a one-sided difference, whose error is proportional to h itself",
        0.00005: "the error is proportional to the square of the step, not to its cube",
        0.0004: "a smaller step has a smaller truncation error",
        0.0008: "rounding grows with smaller steps, but it does not matter yet",
        4.0: "that is the factor; the question asks for the error",
    }
    expect.number(answer, 0.0001, mistakes)


CURVES = [
    ("np.sin", np.sin, 0.5, math.cos(0.5)),
    ("exp(x) / sqrt(x)", lambda x: np.exp(x) / np.sqrt(x), 1.5, math.exp(1.5) * (1.5**-0.5 - 0.5 * 1.5**-1.5)),
    ("x ** 3", lambda x: x**3, -2.0, 12.0),
]


@exercise(
    "A complex number in Python: 1j * h. Call f once, at x + 1j * h.",
    "Take the imaginary part of the result, .imag, and divide it by h.",
    "Nothing is subtracted, so a tiny step such as 1e-100 is best.",
)
def complex_slope(answer):
    """All digits are right: the truncation error, about h ** 2, is far below the last digit."""
    for name, f, x, slope in CURVES:
        given = answer(f, x)
        if given is None:
            raise Wrong("complex_slope returns None: is there a return?")
        at = f"the slope of {name} at {x}"
        if isinstance(given, (complex, np.complexfloating)):
            raise Wrong(f"{at} is the complex number {given}; the slope is the imaginary part, divided by h")
        if isinstance(given, bool) or not isinstance(given, (int, float, np.floating)):
            raise Wrong(f"{at}: expected a number, got {given!r}")
        off = abs(given / slope - 1)
        if off < 1e-13:
            continue
        if math.isclose(given, float(f(x)), rel_tol=1e-6):
            raise Wrong(f"{at} is {given:.6g}, but that is the value: take the imaginary part")
        if off < 1e-2:
            raise Wrong(f"{at} has an error of {off:.0e}. Subtract nothing, and choose a much smaller step")
        if abs(given) < 1e-3:
            raise Wrong(f"{at} is {given:.3g}: divide by h")
        raise Wrong(f"{at} is {given:.6g}, expected {slope:.6g}")


@exercise(
    "np.where(condition, a, b) chooses element by element.",
    "The condition compares real numbers: z.real < 0.",
)
def complex_abs(answer):
    """Now the imaginary part changes its sign together with the real part, as the slope does."""
    x = np.array([-2.0, 0.5, 3.0, -1e-3])
    given = answer(x + 1e-20j)
    if given is None:
        raise Wrong("complex_abs returns None: is there a return?")
    given = np.asarray(given)
    expect.tensor(given.real, np.abs(x), "the real part for the real parts -2, 0.5, 3, -0.001")
    if not given.imag.any():
        raise Wrong("the imaginary part is lost: the result is a real number, as with np.abs")
    expect.tensor(given.imag / 1e-20, np.sign(x), "the slope for the real parts -2, 0.5, 3, -0.001")


@exercise(
    "The tangent of one element is a row of torch.eye(len(x)): 1 at this element, 0 elsewhere.",
    "torch.func.jvp(f, (x,), (e,)) returns the value and the tangent.",
    "Collect the tangents with torch.stack. The rows of torch.eye need the dtype of x.",
)
def forward_gradient(answer):
    """One pass per input, and none of them keeps a graph."""
    calls = []

    def counted(f):
        def g(x):
            for name in ("grad", "vjp", "jacrev", "jacfwd", "grad_and_value", "hessian"):
                expect.refused(name)
            calls.append("call")
            return f(x)

        return g

    points = [torch.tensor([0.5, -1.0, 2.0]), torch.linspace(-1, 1, 5, dtype=torch.float64)]
    for f in (lambda x: (x.sin() * x).sum(), lambda x: x.exp().prod()):
        for x in points:
            (wanted,) = torch.autograd.grad(f(leaf := x.clone().requires_grad_()), leaf)
            calls.clear()
            given = answer(counted(f), x)
            if given is None:
                raise Wrong("forward_gradient returns None: is there a return?")
            if isinstance(given, (tuple, list)) and len(given) == len(x):
                raise Wrong("the result is a list: collect the tangents with torch.stack")
            expect.tensor(given, wanted, "the gradient")
            if len(calls) != len(x):
                raise Wrong(f"f is called {len(calls)} times for {len(x)} elements; one jvp for each is expected")
