"""The exercises of lesson 24."""

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise


def doubles(*numbers):
    """Return numbers in double precision, where Newton's method shows its full speed."""
    return torch.tensor(numbers, dtype=torch.float64)


def valley(x):
    """Return Rosenbrock's function of x, with its minimum at (1, 1)."""
    a, b = x
    return (1 - a) ** 2 + 100 * (b - a**2) ** 2


@exercise(
    "When should it stop: when the gradient is large, or when it is small?",
    "The step is H⁻¹ g. What does the program multiply by?",
    "torch.linalg.solve(H, g) gives H⁻¹ g.",
)
def newton_minimum(answer):
    """Newton's method steps by the solution of H d = g, and stops where the gradient is zero."""
    bowl = lambda x: (x[0] - 3) ** 2 + 10 * (x[1] + 1) ** 2 + x[0] * x[1]
    lowest = torch.linalg.solve(doubles(*[[2.0, 1.0], [1.0, 20.0]]), doubles(6.0, -20.0))
    _minimum(answer, bowl, doubles(20.0, 20.0), lowest, "a bowl")
    _minimum(answer, valley, doubles(-1.2, 1.0), doubles(1.0, 1.0), "Rosenbrock's valley")
    _minimum(answer, valley, doubles(1.0, 1.0), doubles(1.0, 1.0), "Rosenbrock's valley from its minimum")


def _minimum(answer, f, start, lowest, called):
    given = answer(f, start.clone())
    if isinstance(given, torch.Tensor) and given.equal(start) and not start.equal(lowest):
        raise Wrong(f"for {called} it returns the start without taking a step: when does it return?")
    try:
        expect.tensor(given, lowest, f"the minimum of {called}", atol=1e-5)
    except Wrong as wrong:
        after = torch.func.hessian(f)(start) @ torch.func.grad(f)(start)
        far = isinstance(given, torch.Tensor) and not bool((given - lowest).abs().max() < after.abs().max())
        raise Wrong(f"{wrong}" + ("; the steps lead farther and farther away" if far else "")) from None


@exercise(
    "torch.linalg.eigvalsh(hessian(f)(x)) gives the eigenvalues.",
    "All positive: a minimum. All negative: a maximum. Otherwise: a saddle.",
)
def level_kind(answer):
    """Along an eigenvector the function bends upwards if its eigenvalue is positive, else downwards."""
    for f, x, kind, what, why in (
        (lambda x: (x**2).sum(), doubles(0.0, 0.0), "minimum", "a² + b²", "both eigenvalues are 2"),
        (lambda x: -(x**2).sum() + x[0] * x[1], doubles(0.0, 0.0), "maximum", "-a² - b² + ab", "they are -3 and -1"),
        (lambda x: x[0] ** 2 - x[1] ** 2, doubles(0.0, 0.0), "saddle", "a² - b²", "the eigenvalues are 2 and -2"),
        (
            lambda x: (x**2).sum() + 4 * x[0] * x[1],
            doubles(0.0, 0.0),
            "saddle",
            "a² + b² + 4ab",
            "the eigenvalues are 6 and -2; the elements off the diagonal count, too",
        ),
        (
            lambda x: x[0] ** 2 / 4 - x[1] ** 2,
            doubles(0.0, 0.0),
            "saddle",
            "a² / 4 - b²",
            "the eigenvalues are 0.5 and -2",
        ),
        (
            lambda x: x[0] ** 2 - x[1] ** 2 - x[2] ** 2,
            doubles(0.0, 0.0, 0.0),
            "saddle",
            "a² - b² - c²",
            "the eigenvalues are 2, -2 and -2; the determinant, 8, does not tell",
        ),
        (valley, doubles(1.0, 1.0), "minimum", "Rosenbrock's valley at (1, 1)", "both eigenvalues are positive"),
    ):
        given = answer(f, x)
        if not isinstance(given, str) or given.strip().lower() != kind:
            raise Wrong(f"for {what} it returns {given!r}, but {why}: a {kind}")


@exercise(
    "f(x) + J d = 0 is a system of linear equations for the step d.",
    "d = -solve(J, f(x)), with J from jacrev or jacfwd; then x + d is closer to the root.",
    "for _ in range(15): x = x - torch.linalg.solve(jacrev(f)(x), f(x))",
)
def newton_root(answer):
    """Each step solves the linear equations that approximate f."""
    circle = lambda x: torch.stack([x[0] ** 2 + x[1] ** 2 - 25, x[0] - x[1] - 1])
    _root(answer, circle, doubles(5.0, 1.0), doubles(4.0, 3.0), "a circle and a line")
    turned = lambda x: torch.stack([x[1] - 2, x[0].exp() - 1, x[2] * x[1] - 6])
    _root(answer, turned, doubles(0.5, 1.0, 1.0), doubles(0.0, 2.0, 3.0), "three equations")
    _root(answer, lambda x: x**2 - 2, doubles(1.0), doubles(2**0.5), "the root of 2, of shape (1,)")


def _root(answer, f, start, root, called):
    given = answer(f, start.clone())
    if isinstance(given, torch.Tensor) and given.shape == root.shape and not f(given).abs().max() < 1e-5:
        raise Wrong(f"for {called} it ends at {given.tolist()}, where f is {f(given).tolist()}, not zero")
    expect.tensor(given, root, f"for {called} it")


@exercise(
    "The slope along v is a number, the gradient times v. How does this number change along v?",
    "H v is the derivative of the gradient along v; the lesson's hvp gives it. Multiply that by v.",
    "return v @ jvp(grad(f), (x,), (v,))[1], if x is a vector. For other shapes multiply and take the sum.",
)
def curvature(answer):
    """One forward pass through a backward pass, and no tensor larger than x."""
    product = lambda x: x[0] ** 3 + 2 * x[0] * x[1] ** 2
    for f, x, v, bends in (
        (product, torch.tensor([1.0, 2.0]), torch.tensor([1.0, -1.0]), 6 - 16 + 4),
        (product, torch.tensor([1.0, 2.0]), torch.tensor([0.0, 3.0]), 9 * 4),
        (lambda x: (x**4).sum() / 12, doubles(1.0, 2.0, 3.0), doubles(1.0, 1.0, 1.0), 1 + 4 + 9),
    ):
        given = answer(f, x, v)
        if isinstance(given, torch.Tensor) and given.shape == x.shape:
            expect.tensor(given, torch.func.jvp(torch.func.grad(f), (x,), (v,))[1], "a vector, but it")
            raise Wrong("that is H v, a vector: multiply it by v and sum up to get one number")
        slope = (torch.func.grad(f)(x) @ v).item()
        expect.number(given, bends, {slope: "that is the slope along v. How does it change?"})
    n = 300
    x = torch.linspace(0.0, 1.0, n)
    values = torch.record(lambda: answer(lambda x: (x**3).sum(), x, x), passes="forward").to_dict()["values"]
    if sum(value["bytes"] for value in values) >= 4 * n * n:
        raise Wrong(f"the numbers are right, but for {n} inputs it computes a matrix of {n} x {n}")
