"""The exercises of lesson 36."""

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise
from minigrad.autograd import Function


@exercise(
    "Differentiate both sides of the equation: 3 y² dy + dy = da.",
    "Solve for dy / da, and put in y = 1.",
)
def implicit_slope(answer):
    """One quarter: dy / da = 1 / (3 y² + 1)."""
    mistakes = {
        4.0: "that is da / dy; its reciprocal is right",
        1 / 3: "the term y has a derivative, too",
        1 / 13: "the formula needs y = 1, not a = 2",
        0.0: "y depends on a: other values of a have other solutions",
        1.0: "that leaves out y³",
    }
    expect.number(answer, 0.25, mistakes)


MOST = 12  # operations of a backward without a loop: the formula has 5


class Quintic(Function):
    @staticmethod
    def forward(ctx, a):
        y = torch.zeros_like(a)
        for _ in range(60):
            y = y - (y**5 + y - a) / (5 * y**4 + 1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output / (5 * y**4 + 1)


@exercise(
    "Differentiate the equation: 5 y⁴ dy + dy = da.",
    "backward returns the incoming gradient times dy / da, which needs y alone.",
)
def ImplicitQuintic(answer):
    """Sixty rounds in forward, one division in backward."""
    points = [(torch.tensor(a, dtype=torch.float64, requires_grad=True),) for a in (2.0, [0.0, -3.0], [[34.0, 0.5]])]
    expect.function(answer, Quintic, *points)
    expect.keeps(answer.apply(*points[1]), Quintic.apply(*points[1]), what="the solution")
    (op,) = [
        op for op in torch.record(answer.apply, *points[1], inside=True).to_dict()["ops"] if op["phase"] == "forward"
    ]
    steps = max((len(ran["ops"]) for ran in op["inside"] if ran["method"] in ("backward", "vjp")), default=0)
    if steps > MOST:
        raise Wrong(
            f"the numbers are right, but backward runs {steps} operations: a loop, where one division is enough"
        )


class Solved(Function):
    @staticmethod
    def forward(ctx, A, b):
        x = torch.linalg.solve(A, b)
        ctx.save_for_backward(A, x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        A, x = ctx.saved_tensors
        u = torch.linalg.solve(A.mT, grad_output)
        return -torch.outer(u, x), u


@exercise(
    "The matrix of the first check is symmetric: it is its own transpose.",
    "u = A⁻ᵀ g: the system of backward has the transpose of A, which is A.mT.",
)
def ImplicitSolve(answer):
    """Check a solver with matrices that are not symmetric, so that the transpose matters."""

    def leaf(values):
        return torch.tensor(values, dtype=torch.float64, requires_grad=True)

    calls = [
        (leaf([[2.0, 1.0], [0.5, 3.0]]), leaf([1.0, -2.0])),
        (leaf([[4.0, 1.0, 0.0], [2.0, 5.0, 1.0], [0.0, 3.0, 6.0]]), leaf([1.0, 2.0, 3.0])),
    ]
    expect.function(answer, Solved, *calls)
    expect.holds(answer, *calls[0], skip=("no dimensions", "no elements"))


@exercise(
    "Compute y = f(x, a) once, at leaves: x.detach().requires_grad_(), and the same for a.",
    "Repeat u = g + torch.autograd.grad(y, x, u, retain_graph=True)[0], for example a hundred times.",
    "The gradient is torch.autograd.grad(y, a, u)[0].",
)
def implicit_gradient(answer):
    """Any equation whose loop converges will do: the loop of backward converges just as fast."""
    W = torch.tensor([[0.3, -0.5, 0.1], [0.2, 0.1, 0.4], [-0.3, 0.2, 0.2]], dtype=torch.float64)
    equations = [
        ("x = tanh(W x + a)", lambda x, a: (W @ x + a).tanh(), [0.5, -1.0, 2.0], [1.0, 2.0, -1.0]),
        ("x = a + 0.3 sin x", lambda x, a: a + 0.3 * x.sin(), [0.5, 1.0], [1.0, -0.5]),
        ("x = cos(x) a, with one number", lambda x, a: x.cos() * a, 0.7, 2.0),
    ]
    for name, f, a, g in equations:
        a = torch.tensor(a, dtype=torch.float64, requires_grad=True)
        x = torch.zeros_like(a)
        for _ in range(200):
            x = f(x, a)
        g = torch.tensor(g, dtype=torch.float64)
        (wanted,) = torch.autograd.grad(x, a, g)
        given = answer(f, x.detach(), a.detach(), g)
        expect.tensor(given, wanted, f"the gradient of a for {name}")
