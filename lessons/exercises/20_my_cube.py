"""The exercises of lesson 20."""

import warnings

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise


def derivatives(f, x, most):
    """Return the derivatives of f at each number of x, one row for each order up to the given one."""
    found = []
    for _ in range(most):
        g = (lambda f: lambda x: torch.autograd.grad(f(x).sum(), x, create_graph=True, allow_unused=True)[0])(f)
        found.append(g)
        f = g
    rows = []
    for order, g in enumerate(found, 1):
        try:
            rows.append(g(x.clone().requires_grad_()).detach())
        except (RuntimeError, AttributeError) as e:
            if order == 1:
                raise
            raise Wrong(
                f"derivatives are right up to order {order - 1}, but there is no next one: {str(e).splitlines()[0]}"
            ) from None
    return rows


def both_outputs(answer, x):
    """Check that the answer is a Function with two outputs."""
    if not (isinstance(answer, type) and issubclass(answer, torch.autograd.Function)):
        raise Wrong(f"expected a subclass of autograd.Function, got {answer!r}")
    given = answer.apply(x)
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise Wrong(f"apply has to return two tensors, as forward did, got {given!r}")


@exercise(
    "The second pass starts at 10 * gradient. Which of MyCube's outputs is gradient computed from: the result or dx?",
    "gradient = 1 * dx + 0 * 6 * x. Its incoming gradient is 10, and y plays no part in it.",
)
def second_walk(answer):
    """10 is the incoming gradient of dx, since the gradient is dx; the result plays no part and receives 0."""
    mistakes = {
        (10.0, 0.0): "that would be a pass that starts at 10 * my_cube(x); here it starts at 10 times the gradient",
        (1.0, 0.0): "those are the incoming gradients of the first pass",
        (0.0, 1.0): "the pass starts at 10 times the gradient",
        (10.0, 10.0): "the result of my_cube plays no part in the gradient, only dx does",
        (0.0, 300.0): "300 is the result that backward returns, 10 * 6 * x",
    }
    expect.numbers(answer, [0.0, 10.0], mistakes)


@exercise(
    "Two outputs, two contributions: each gradient times the derivative of its output with respect to x.",
    "The derivative of x**4 is dx, which is saved. The derivative of 4 * x**3 is 12 * x**2.",
    "return grad_output * dx + grad_dx * 12 * x**2",
)
def MyFourth(answer):
    """Both outputs depend on x, and both contribute."""
    x = torch.tensor([2.0, -1.0, 0.5])

    class Expected(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**4, 4 * x**3

        @staticmethod
        def backward(ctx, g, g_dx):
            (x,) = ctx.saved_tensors
            return g * 4 * x**3 + g_dx * 12 * x**2

    both_outputs(answer, x)
    given = derivatives(lambda x: answer.apply(x)[0], x, 1)[0]
    expect.tensor(given, 4 * x**3, "the first derivative")
    expect.function(answer, Expected, (x.clone().requires_grad_(),))
    for order, (a, b) in enumerate(
        zip(derivatives(lambda x: answer.apply(x)[0], x, 4), (4 * x**3, 12 * x**2, 24 * x, 24 + 0 * x)), 1
    ):
        expect.tensor(a, b, f"derivative {order}", 1e-3)


@exercise(
    "Use grad_cosine as well, times the derivative of the cosine.",
    "The derivative of the cosine is -sine, and the sine is saved.",
    "return grad_sine * cosine - grad_cosine * sine",
)
def MySine(answer):
    """Each output is the other's derivative, up to the sign, so no other tensor has to be saved."""
    x = torch.tensor([0.5, -1.0, 2.0])

    class Expected(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.sin(x), torch.cos(x)

        @staticmethod
        def backward(ctx, g_sine, g_cosine):
            (x,) = ctx.saved_tensors
            return g_sine * torch.cos(x) - g_cosine * torch.sin(x)

    both_outputs(answer, x)
    sine, cosine = torch.sin(x), torch.cos(x)
    expect.tensor(derivatives(lambda x: answer.apply(x)[0], x, 1)[0], cosine, "the first derivative")
    second = derivatives(lambda x: answer.apply(x)[0], x, 2)[1]
    if torch.allclose(second, sine):
        raise Wrong("the second derivative is sine, expected -sine: what is the derivative of the cosine?")
    if not second.any():
        raise Wrong("the second derivative of the sine is still zero: backward ignores grad_cosine")
    expect.function(answer, Expected, (x.clone().requires_grad_(),))
    wanted = (cosine, -sine, -cosine, sine)
    for order, (a, b) in enumerate(zip(derivatives(lambda x: answer.apply(x)[0], x, 4), wanted), 1):
        expect.tensor(a, b, f"derivative {order} of the sine")
    expect.saves(lambda x: answer.apply(x)[0], (x.clone().requires_grad_(),), 24)


@exercise(
    "torch.where(x > 0, a, b) chooses the gradient. You may save either x or the root.",
    "Both sides of where are differentiated: 0 times an infinite derivative is NaN again. So the root needs a "
    "positive argument even where its result is not used.",
    "In backward: safe = torch.where(x > 0, x, torch.ones_like(x)), then grad_output * torch.where(x > 0, 0.5 / safe.sqrt(), "
    "torch.zeros_like(x)).",
)
def SafeSqrt(answer):
    """Both branches of where are finite, so their derivatives are, too."""
    if not (isinstance(answer, type) and issubclass(answer, torch.autograd.Function)):
        raise Wrong(f"expected a subclass of autograd.Function, got {answer!r}")
    x = torch.tensor([4.0, 0.0, 0.25])

    def root(x):
        result = answer.apply(x)
        return result[0] if isinstance(result, tuple) else result

    expect.tensor(root(x), [2.0, 0.0, 0.5], "the root")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a NaN on the way is reported below
        (first,) = derivatives(root, x, 1)
        if not first.isfinite().all():
            raise Wrong(f"the gradient at 0 is {first[1].item()}, expected 0")
        expect.tensor(first, [0.25, 0.0, 1.0], "the gradient")
        weighted = derivatives(lambda x: 3 * root(x), x, 1)[0]
        expect.tensor(weighted, [0.75, 0.0, 3.0], "the gradient of 3 times the root")
        second = derivatives(root, x, 2)[1]
    if second[1].isnan():
        raise Wrong("the second derivative at 0 is NaN: both branches of where are differentiated, and 0 * inf is NaN")
    expect.tensor(second[0], -1 / 32, "the second derivative at 4")
    expect.tensor(second[2], -2.0, "the second derivative at 0.25")
