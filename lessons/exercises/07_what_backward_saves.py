"""The exercises of lesson 7."""

import minigrad as torch
import minigrad.autograd.forward_ad as fwAD
from lessons import expect
from lessons.exercise import Wrong, exercise


@exercise(
    "Which of the four operations save a tensor? Write down what each derivative needs.",
    "sin needs x, cos needs x, and the product needs both of its factors. A tensor kept twice is in memory once.",
    "That makes x and the two factors: three tensors of 1000 numbers with 4 bytes each.",
)
def saved_bytes_of_product(answer):
    """x, sin(x) and cos(x), each once: 3 * 1000 * 4 bytes. The sum keeps no numbers."""
    mistakes = {
        16000.0: "x is kept by two operations, but it is in memory once",
        8000.0: "that is two tensors; sin and cos keep x, and the product keeps both of its factors",
        4000.0: "that is one tensor; the product keeps its factors, too",
        3000.0: "that is how many numbers are kept; each has 4 bytes",
        20000.0: "each tensor counts once, and the sum keeps none",
    }
    expect.number(answer, 12000.0, mistakes)


@exercise(
    "In forward: ctx.save_for_backward(...), with the tensor that backward should use.",
    "In backward: (result,) = ctx.saved_tensors; the gradient is grad_output times the derivative.",
)
def SavedTanh(answer):
    """Only the result is saved: backward needs neither the input nor e."""

    class Expected(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x.tanh())
            return x.tanh()

        @staticmethod
        def backward(ctx, grad_output):
            (result,) = ctx.saved_tensors
            return grad_output * (1 - result**2)

    x = torch.tensor([0.5, -1.0, 0.0], requires_grad=True)
    expect.function(answer, Expected, (x,), (torch.tensor([[0.25], [2.0]], requires_grad=True),))
    expect.keeps(answer.apply(x), x.tanh(), what="the result")


@exercise(
    "mul_ writes to the memory of e. Which other operations need the old numbers?",
    "exp has saved e for its backward, and the last line adds e. Leave e alone: create a new tensor.",
    "Without the underscore, mul returns one.",
)
def saved_then_changed(answer):
    """With a new tensor, the sum and exp's saved result stay intact."""
    inputs = [(torch.tensor(v, requires_grad=True),) for v in ([0.0, 1.0], -2.0)]
    expect.computes(answer, lambda x: 2 * x.exp() + x.exp(), *inputs)


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
            raise Wrong("jvp gives no tangent")
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
        ("x.exp() * x without grad", lambda x: x.exp() * x, (x.detach(),)),
    ]
    for what, f, args in cases:
        given, wanted = answer(f, *args), expected(f, args)
        if given is None:
            raise Wrong("bytes_saved returns None: is there a return?")
        if isinstance(given, bool) or not isinstance(given, (int, float)) and not hasattr(given, "__int__"):
            raise Wrong(f"expected a number of bytes, got {given!r}")
        if int(given) != wanted:
            raise Wrong(f"{what} saves {wanted} bytes, bytes_saved says {given}")
    y = x.exp()
    y.sum().backward()  # outside of any hook that was left behind
