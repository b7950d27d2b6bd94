"""The exercises of lesson 17."""

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise


@exercise(
    "The Jacobian at [3, 4] has a row for each result: the derivatives of x0 * x0, then those of x0 * x1.",
    "The rows are [6, 0] and [4, 3]. The cotangent says how much of each row to take.",
)
def vjp_by_hand(answer):
    """Once the row [6, 0], and twice the row [4, 3]."""
    mistakes = {
        (6.0, 10.0): "that is J @ v, with v on the side of the inputs: a jvp",
        (10.0, 3.0): "that takes both rows once, but the second has the weight 2",
        (6.0, 0.0): "that is the first row alone",
        (4.0, 3.0): "that is the second row alone",
    }
    expect.numbers(answer, [14.0, 6.0], mistakes)


@exercise(
    "argnums=(0, 1) gives the gradients of w and b in one run.",
    "by_w, by_b = torch.func.grad(loss, argnums=(0, 1))(w, b, xs, ys); then one subtraction for each.",
)
def descent_step(answer):
    """One backward pass gives both gradients."""

    def expected(w, b, xs, ys, rate):
        errors = w * xs + b - ys
        return w - rate * (2 * errors * xs).mean(), b - rate * (2 * errors).mean()

    def pair(*args):
        given = answer(*args)
        return tuple(given) if isinstance(given, torch.Tensor) and given.ndim else given

    xs, ys = torch.tensor([1.0, 2.0, 4.0]), torch.tensor([3.0, 5.0, 1.0])
    calls = [
        (torch.tensor(1.0), torch.tensor(0.0), xs, ys, 0.1),
        (torch.tensor(-0.5), torch.tensor(2.0), xs, ys, 1.0),
    ]
    w, b, *rest = calls[0]
    given, wanted = pair(w, b, *rest), expected(w, b, *rest)
    if isinstance(given, (tuple, list)) and len(given) == 2:
        new_w, new_b = map(torch.as_tensor, given)
        if torch.allclose(new_w, 2 * w - wanted[0]):
            raise Wrong("w goes up the slope: descent subtracts the gradient")
        if torch.allclose(new_w, wanted[0]) and torch.allclose(new_b, b):
            raise Wrong("b has not moved: argnums=(0, 1) differentiates with respect to both")
    expect.computes(pair, expected, *calls, gradients=False)


@exercise(
    "Does grad differentiate a number or a tensor? .item() returns a plain number.",
    "Tell grad that mean_square returns a pair.",
    "Return (errors**2).mean() without .item(), and call torch.func.grad(mean_square, has_aux=True). The largest "
    "error is not differentiated, but inside a transform it is tracked: call .item() on it outside, or on its .detach().",
)
def gradient_and_worst(answer):
    """With has_aux, grad passes the other result through; the loss stays a tensor."""

    def expected(w, xs, ys):
        errors = w * xs - ys
        return (2 * errors * xs).mean(), errors.abs().max().item()

    for w in (1.0, -2.0):
        args = (torch.tensor(w), torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0.5, 4.0, 3.0]))
        given, wanted = answer(*args), expected(*args)
        if not isinstance(given, (tuple, list)) or len(given) != 2:
            raise Wrong(f"expected the pair of the gradient and the largest error, got {given!r}")
        expect.tensor(given[0], wanted[0], "the gradient")
        expect.tensor(given[1], wanted[1], "the largest error")
        if isinstance(given[1], torch.Tensor):
            raise Wrong(f"the largest error has to be a plain number, got {given[1]!r}: .item() gives one")


@exercise(
    "jvp takes a tangent for each argument. Which tangent belongs to an argument that does not move?",
    "torch.zeros_like(y), or a function of x alone.",
    "_, change = torch.func.jvp(f, (x, y), (u, torch.zeros_like(y))), and return change.",
)
def partial_change(answer):
    """y does not move, so its tangent is zeros."""

    ran = []

    def f(x, y):
        ran.append("f")
        return (x * x).sum(1) * y

    def expected(x, y, u):
        return 2 * (x * u).sum(1) * y

    x, y = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([10.0, -1.0])
    u = torch.tensor([[1.0, 0.0], [0.5, -2.0]])
    given = answer(f, x, y, u)
    if isinstance(given, tuple):
        raise Wrong("jvp gives the value and the change: return the change alone")
    ran.clear()
    expect.computes(lambda *args: answer(f, *args), expected, (x, y, u), gradients=False)
    if len(ran) != 1:
        raise Wrong(f"f ran {len(ran)} times; one run with a tangent is enough")
    other = (torch.tensor(3.0), torch.tensor([1.0, 2.0]), torch.tensor(0.5))  # of another function, and of other shapes
    expect.computes(lambda *args: answer(lambda x, y: x**3 - y, *args), lambda x, y, u: 3 * x**2 * u + 0 * y, other)

    recorded = torch.record(lambda: answer(f, x, y, u), passes="forward").to_dict()
    if any(op["saved"] for op in recorded["ops"]):
        raise Wrong("the numbers are right, but an operation saves tensors for a backward pass: use jvp")


@exercise(
    "torch.func.vjp(f, x) runs f once; its second result can be called many times.",
    "One call for each result of f, with a cotangent that is 1 there and 0 elsewhere: the rows of torch.eye.",
    "y, pull = torch.func.vjp(f, x), then torch.stack([pull(e)[0] for e in torch.eye(len(y))]).",
)
def jacobian_of_rows(answer):
    """One forward pass, and one backward pass for each row."""
    matrix = torch.tensor([[1.0, 2.0], [3.0, -4.0], [0.5, 6.0]])
    ran = []

    def linear(x):
        expect.refused("jacrev")
        ran.append("linear")
        return matrix @ x

    def bent(x):
        ran.append("bent")
        return torch.stack([x[0] * x[1], x[1] * x[2] ** 2])

    cases = [(linear, torch.tensor([1.0, 2.0])), (bent, torch.tensor([1.0, 2.0, 3.0]))]
    wanted = [matrix, torch.tensor([[2.0, 1.0, 0.0], [0.0, 9.0, 12.0]])]
    for (f, x), jacobian in zip(cases, wanted):
        ran.clear()
        given = answer(f, x)
        if len(ran) != 1:
            raise Wrong(f"f ran {len(ran)} times, once is enough")
        if isinstance(given, torch.Tensor) and given.shape == jacobian.T.shape and torch.allclose(given, jacobian.T):
            raise Wrong("the matrix is transposed: each result of f is a row")
        if isinstance(given, torch.Tensor) and given.shape == x.shape and torch.allclose(given, jacobian.sum(0)):
            raise Wrong("that is the sum of all rows: a cotangent of ones adds them")
        if isinstance(given, (tuple, list)) and len(given) == len(jacobian):
            raise Wrong("the rows have to form one matrix: torch.stack puts them together")
        expect.tensor(given, jacobian, "the Jacobian")
