"""The exercises of lesson 8."""

import weakref

import minigrad as torch
import minigrad.autograd.forward_ad as fwAD
from lessons import expect
from lessons.exercise import Wrong, exercise


@exercise(
    "Both multiply the incoming 1 by 2 · x.",
    "An attribute of `ctx` serves as well as a saved tensor, if no code changes it.",
)
def saved_contributions(answer):
    """Both send back 1 · 2 · 5 = 10. The gradient is the sum of both, 20."""
    mistakes = {
        20.0: "that is the sum of both",
        5.0: "that is x itself",
        25.0: "that is the square",
        6.0: "that is the contribution at 3",
    }
    expect.number(answer, 10.0, mistakes)


@exercise(
    "The number becomes an attribute: ctx.rate = rate. backward returns None for it.",
    "The result goes through save_for_backward, which recognizes outputs and makes no cycle.",
    "In backward: (result,) = ctx.saved_tensors; the gradient is grad_output * -ctx.rate * result.",
)
def SavedDecay(answer):
    """Now both are where they belong, and the result is freed when its last name is gone."""

    class Expected(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, rate):
            result = (-rate * x).exp()
            ctx.save_for_backward(result)
            ctx.rate = rate
            return result

        @staticmethod
        def backward(ctx, grad_output):
            (result,) = ctx.saved_tensors
            return grad_output * -ctx.rate * result, None

    x = torch.tensor([0.5, -1.0, 0.0], requires_grad=True)
    expect.function(answer, Expected, (x, 2), (x, 0.5))
    y = answer.apply(x, 2)
    expect.keeps(y, y.detach().clone(), what="the result")
    memory = weakref.ref(y)
    del y
    if memory() is not None:
        raise Wrong(
            "the result stays in memory after its last name is gone: the ctx holds it outside of save_for_backward"
        )


@exercise(
    "A number is kept as an attribute, ctx.n = n; a tensor with ctx.save_for_backward(x).",
    "backward returns one gradient per argument of forward; for the number, that is None.",
    "jvp reads ctx.saved_tensors as well: the tensors of save_for_forward or, without it, of save_for_backward.",
    "Both multiply by n * x ** (n - 1); jvp receives None as the tangent of the number.",
)
def SavedPower(answer):
    """One tensor serves both directions: the derivative of x**n is n * x**(n - 1) in each."""

    class Expected(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, n):
            ctx.save_for_backward(x)
            ctx.n = n
            return x**n

        @staticmethod
        def backward(ctx, grad_output):
            (x,) = ctx.saved_tensors
            return grad_output * ctx.n * x ** (ctx.n - 1), None

    x = torch.tensor([0.5, 2.0, 3.0], requires_grad=True)
    expect.function(answer, Expected, (x, 3), (x, 0.5), (x, 1))
    expect.keeps(answer.apply(x, 3), x, what="x")
    for n in (3, 0.5):
        with fwAD.dual_level():
            dual = fwAD.make_dual(x.detach(), torch.tensor([1.0, 10.0, -1.0]))
            tangent = fwAD.unpack_dual(answer.apply(dual, n)).tangent
        wanted = torch.tensor([1.0, 10.0, -1.0]) * n * x.detach() ** (n - 1)
        if tangent is None:
            raise Wrong("jvp returns no tangent")
        expect.tensor(tangent, wanted, f"the tangent for n = {n}")


@exercise(
    "The pack hook sees every saved tensor. Let it count, and return the tensor.",
    "t.nbytes is the number of bytes. A function inside yours can append it to a list.",
    "with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t): f(*args)",
)
def bytes_saved(answer):
    """Every saved tensor passes through the hook, from operations and Functions alike."""

    def expected(f, args):
        found = []

        def pack(t):
            found.append(t.nbytes)
            return t

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            f(*args)
        return sum(found)

    x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    double = torch.ones(2, 3, dtype=torch.double, requires_grad=True)
    cases = [
        ("x.exp() * x", lambda x: x.exp() * x, (x,)),
        ("x + 1, which saves nothing,", lambda x: x + 1, (x,)),
        ("a * b.sin() of 6 float64 numbers each", lambda a, b: a * b.sin(), (double, double.detach())),
        ("a backward pass in f", lambda x: torch.autograd.grad(x.exp().sum(), x), (x,)),
        ("x.exp() * x without grad", lambda x: x.exp() * x, (x.detach(),)),
    ]
    for what, f, args in cases:
        given, wanted = answer(f, *args), expected(f, args)
        if given is None:
            raise Wrong("bytes_saved returns None: is there a return?")
        if isinstance(given, bool) or not isinstance(given, (int, float)) and not hasattr(given, "__int__"):
            raise Wrong(f"expected a number of bytes, got {given!r}")
        if int(given) != wanted:
            raise Wrong(f"{what} saves {wanted} bytes, but bytes_saved returns {given}")
    y = x.exp()
    y.sum().backward()  # outside of any hook that was left behind
