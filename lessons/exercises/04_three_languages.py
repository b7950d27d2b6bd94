"""The exercises of lesson 4."""

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise


@exercise(
    "Each of the two Functions multiplies the number at the result by 2.718.",
    "`x` adds two contributions, so half of the number is enough.",
)
def languages_seed(answer):
    """Every rule multiplies, so the gradient of x is 2 · 2.718 times the number with which backward begins."""
    mistakes = {
        1.0: "then two contributions of 2.718 arrive at x",
        2.0: "then the gradient of x is twice as large as at first",
        2.718: "that is the gradient of x",
    }
    expect.number(answer, 0.5, mistakes, rtol=0.02)


@exercise(
    "One for each argument of forward. The ctx does not count.",
    "The number s has no gradient, but still an element in the list: Variable().",
)
def languages_gradients(answer):
    """For a, s and b, the list has a gradient, Variable() and a gradient."""
    mistakes = {
        2.0: "s has no gradient, but still an entry in the list, Variable()",
        4.0: "the ctx is not counted",
        1.0: "that is the number of incoming gradients, one for each output",
    }
    expect.number(answer, 3.0, mistakes)


class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bound):
        ctx.save_for_backward(x)
        ctx.bound = bound
        return x.clamp(-bound, bound)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x.abs() <= ctx.bound), None


@exercise(
    "AutogradContext *ctx, Variable x, double bound: in Python these are three parameters, ctx, x, bound.",
    "saved_data['bound'] becomes ctx.bound, get_saved_variables() becomes ctx.saved_tensors, Variable() becomes None.",
    "backward(ctx, grad_output): (x,) = ctx.saved_tensors; return grad_output * (x.abs() <= ctx.bound), None",
)
def LanguagesClip(answer):
    """x is saved, bound is an attribute, and None replaces the Variable() of C++."""
    calls = [(torch.tensor(x, requires_grad=True), bound) for x, bound in ((0.5, 1.0), (-3.0, 1.0))]
    vector = torch.tensor([1.0, -2.5, 3.0, 0.0], requires_grad=True)
    expect.function(answer, Clip, *calls, (vector, 2.0), (vector, 0.5), (vector, 2.5))  # the last: at the bound itself


class Hypot(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return (x * x + y * y).sqrt()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output)

    @staticmethod
    def backward(ctx, grad_output):
        x, y, r = ctx.saved_tensors
        return grad_output * x / r, grad_output * y / r


@exercise(
    "Three methods, as in lesson 3: forward(x, y), setup_context(ctx, inputs, output), backward(ctx, grad_output).",
    "const [x, y] = inputs becomes x, y = inputs; each method needs its @staticmethod.",
    "backward: x, y, r = ctx.saved_tensors; return grad_output * x / r, grad_output * y / r",
)
def LanguagesHypot(answer):
    """Python has the same three methods; mul, div and add may become operators."""
    rows = torch.tensor([[3.0, -1.0]], requires_grad=True), torch.tensor([[4.0, 2.0]], requires_grad=True)
    three, four = torch.tensor(3.0), torch.tensor(4.0)
    expect.function(answer, Hypot, (three.clone().requires_grad_(), four.clone().requires_grad_()), rows)
    for i, slope in enumerate((0.6, 0.8)):
        expect.tensor(
            torch.func.grad(answer.apply, argnums=i)(three, four), slope, f"func.grad by argument {i} at 3, 4"
        )


class Times(torch.autograd.Function):
    @staticmethod
    def forward(ctx, n, var):
        ctx.n = n
        return n * var

    @staticmethod
    def backward(ctx, grad_output):
        return None, grad_output * ctx.n


@exercise(
    "forward creates a new tensor, n * var, so there is nothing to mark.",
    "The number comes first among the arguments, so its None comes first among the gradients.",
    "return n * var, and in backward: return None, grad_output * ctx.n",
)
def LanguagesTimes(answer):
    """forward returns a new tensor, both methods use the same factor, and backward returns a gradient for each argument."""
    var = torch.tensor([1.0, 2.0], requires_grad=True)
    if not (isinstance(answer, type) and issubclass(answer, torch.autograd.Function)):
        raise Wrong(f"expected a subclass of autograd.Function, got {answer!r}")
    try:
        given = answer.apply(6, var)
    except RuntimeError as e:
        if "leaf Variable" not in str(e):
            raise
        raise Wrong("var may be a leaf that requires grad, which must not be overwritten: make a new tensor") from None
    if isinstance(given, (list, tuple)):
        raise Wrong(f"apply returns a {type(given).__name__}, as forward does; expected a tensor")
    if var.tolist() != [1.0, 2.0]:
        raise Wrong(f"var was [1.0, 2.0] before the call, and is {var.tolist()} after it")
    expect.function(answer, Times, (6, var), (3, var), (1, torch.tensor(0.5, requires_grad=True)))
