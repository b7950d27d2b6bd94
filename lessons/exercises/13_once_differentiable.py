"""The exercises of lesson 13."""

import warnings

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise


def curvature(f, x):
    """Return the second derivative of the sum of f(x), for x of one dimension whose elements do not mix."""
    x = x.detach().clone().requires_grad_()
    (slope,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
    return torch.autograd.grad(slope.sum(), x)[0]


@exercise(
    "The first derivative is `2 * y * slope`, with y = Square.apply(x). One of the two factors counts as a constant.",
    "Only y changes with x: the second derivative comes out as 2 * slope * (derivative of y with respect to x).",
    "That derivative is what backward multiplies by: slope. So the answer is 2 * slope * slope, with slope = 6.",
)
def second_missed(answer):
    """2 * slope * slope = 2 * 6 * 6 = 72; the term of the changing slope, 2 * y * 2 = 36, is missing."""
    mistakes = {
        108.0: "that is the right second derivative; here the slope counts as a constant",
        36.0: "that is the missing term, in which the slope changes",
        0.0: "the slope counts as a constant, but the incoming gradient of Square, 2 * y, does not",
        12.0: "that is 2 * slope; the derivative of y, another factor slope, is missing",
    }
    expect.number(answer, 72.0, mistakes)


@exercise(
    "Which saved tensors have a history in backward?",
    "Inputs and outputs. Save `root` and compute the slope from it in backward.",
)
def SecondRoot(answer):
    """Only an input or output is saved now, and the slope is computed where autograd records it."""

    class Root(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            root = x.sqrt()
            ctx.save_for_backward(root)
            return root

        @staticmethod
        def backward(ctx, grad_output):
            (root,) = ctx.saved_tensors
            return grad_output * 0.5 / root

    x = torch.tensor([1.0, 4.0], requires_grad=True)
    expect.function(answer, Root, (x,))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for f in (lambda root: root, lambda root: root**3):
            try:
                given = curvature(lambda x, f=f: f(answer.apply(x)), x)
            except RuntimeError as e:
                if "does not require grad" in str(e):
                    raise Wrong("the first derivative has no history: backward computes it from constants") from None
                if "twice" in str(e):
                    raise Wrong("the second derivative raises an error; it should be right") from None
                raise
            expect.tensor(given, curvature(lambda x, f=f: f(Root.apply(x)), x), "the second derivative")


@exercise(
    "`x.detach().numpy()` turns a tensor into an array, `torch.tensor(array)` an array into a tensor.",
    "The derivative of the exponential function is its own result: save that.",
    "Write two lines above `def backward`: `@staticmethod`, and below it `@once_differentiable`.",
)
def OnceExp(answer):
    """First derivatives are right, and the second raises an error instead of being wrong."""

    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            result = x.exp()
            ctx.save_for_backward(result)
            return result

        @staticmethod
        def backward(ctx, grad_output):
            (result,) = ctx.saved_tensors
            return grad_output * result

    expect.function(answer, Exp, (torch.tensor([0.0, 1.0, -2.0], requires_grad=True),))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = torch.tensor([0.5], requires_grad=True)
        (slope,) = torch.autograd.grad((answer.apply(x) ** 2 + x**2).sum(), x, create_graph=True)
    try:
        torch.autograd.grad(slope.sum(), x)
    except RuntimeError as e:
        if "twice" not in str(e):
            raise
    else:
        raise Wrong("the second derivative raises no error: backward lacks the decorator once_differentiable")


@exercise(
    "Take the gradient with `torch.autograd.grad(f(x), x, ...)`.",
    "Which argument of autograd.grad makes the gradient remember how it was computed?",
    "`(slope,) = torch.autograd.grad(f(x), x, create_graph=True)`, and then the sum of its squares.",
)
def second_penalty(answer):
    """With its graph, the gradient lets the penalty reach x and the weights inside f."""
    w = torch.tensor([2.0, -1.0], requires_grad=True)
    x = torch.tensor([1.0, 3.0], requires_grad=True)
    given = answer(lambda x: (w * x**3).sum(), x)
    wanted = ((3 * w * x**2) ** 2).sum()
    if given is None:
        raise Wrong("it returns None: is there a return?")
    expect.tensor(given, wanted, "the penalty")
    if not getattr(given, "requires_grad", False):
        raise Wrong("the number is right, but it cannot be differentiated: the gradient in it has no history")
    if x.grad is not None or w.grad is not None:
        raise Wrong(
            ".grad has changed, but training needs it for other gradients; autograd.grad returns gradients instead"
        )
    by_x, by_w = torch.autograd.grad(given, (x, w), allow_unused=True)
    if by_x is None or by_w is None:
        raise Wrong(
            "the number is right, but no path leads from it to x and the weights in f: do you pass x itself to f?"
        )
    expect.tensor(by_x, 36 * w**2 * x**3, "the derivative of the penalty with respect to x")
    expect.tensor(by_w, 18 * w * x**4, "the derivative of the penalty with respect to the weights in f")


@exercise(
    "Begin with `x = torch.tensor(at, requires_grad=True)` and `y = f(x)`, and take the gradient of the latest result n times.",
    "Each gradient needs create_graph=True, so that you can differentiate it again.",
    "`for _ in range(n): (y,) = torch.autograd.grad(y, x, create_graph=True)`, and at the end y.item().",
)
def second_and_more(answer):
    """Each step differentiates the graph of the step before."""
    cases = [
        (lambda x: x**5, 2.0, (32.0, 80.0, 160.0, 240.0, 240.0)),
        (lambda x: torch.exp(2 * x), 0.0, (1.0, 2.0, 4.0, 8.0, 16.0)),
        (torch.sin, 0.0, (0.0, 1.0, 0.0, -1.0)),
    ]
    for f, at, derivatives in cases:
        for n, wanted in enumerate(derivatives):
            given = answer(f, at, n)
            if given is None:
                raise Wrong(f"for n = {n} it returns None: is there a return?")
            try:
                expect.number(given, wanted)
            except Wrong as wrong:
                raise Wrong(f"derivative {n} at {at}: {wrong}, expected {wanted:g}") from None
