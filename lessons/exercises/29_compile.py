"""The exercises of lesson 29."""

import numpy as np

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise


def compiled(answer):
    """Compile the answer so that a call that would run eagerly raises Wrong."""
    if not callable(answer):
        raise Wrong(f"expected a function, got {answer!r}")
    fast = torch.compile(getattr(answer, "function", answer), fullgraph=True)  # of a compiled one, what it is made of

    def called(*args):
        try:
            return fast(*args)
        except RuntimeError as e:
            if "cannot be compiled" not in str(e):
                raise
            words = "\n".join(line for line in str(e).splitlines() if __file__ not in line)
            raise Wrong(f"it runs, but not compiled: {words}") from None

    return called


@exercise(
    "Which calls are of the same kind as an earlier one? A float is an argument of the module.",
    "The second and the fifth call are like the first. Another size is another kind, and an int is not a float.",
)
def compile_count(answer):
    """Four floats, six floats, and six floats times an int: floats that only enter arithmetic make no difference."""
    mistakes = {
        5: "floats that only enter arithmetic are arguments of the module",
        4: "floats that only enter arithmetic are arguments of the module",
        2: "the 2 is an int, and its value belongs to the program",
        1: "another size is captured anew, also where the text is the same",
    }
    expect.number(answer, 3, mistakes)


@exercise(
    "Which loop can compute the exponentials? Can it also divide them?",
    "A quotient needs the whole sum, and that is known only after the last term.",
)
def compile_loops(answer):
    """One loop for the exponentials and their sum; the division has to wait for the whole sum, so it is in a second one."""
    mistakes = {
        1: "the first quotient needs the sum, which is known only after the last term",
        3: "the sum can be made in the loop that computes its terms",
        4: "equal operations are computed once, and operations in one loop count once",
    }
    expect.number(answer, 2, mistakes)


@exercise(
    "The `if` and the `item()` need the value of a tensor. Keep both as tensors.",
    "torch.where(length > 1, x / length, x) chooses without an `if`.",
    "Or divide by something that is never below 1: x / length.clamp(min=1).",
)
def compile_limited(answer):
    """Every vector now takes the same operations: a number replaces the decision."""

    def expected(x):
        length = (x * x).sum().sqrt()
        return torch.where(length > 1, x / length, x)

    vectors = [torch.tensor(v, requires_grad=True) for v in ([3.0, 4.0], [0.3, 0.4], [-0.6, 0.0], [0.0, -2.0])]
    expect.computes(answer, expected, *[(x,) for x in vectors], gradients=False)
    expect.computes(compiled(answer), expected, *[(x,) for x in vectors])


@exercise(
    "The list outlives the call. Let the caller append to it.",
    "The loss may be returned as a tensor, or as a number, with item().",
    "return loss, dw",
)
def compile_noted(answer):
    """Without effects, the function returns its results, and the caller keeps them."""

    def expected(x, w):
        return ((x * w).sum() - 1) ** 2, 2 * ((x * w).sum() - 1) * x

    calls = [
        (torch.tensor([1.0, 2.0]), torch.tensor([0.5, 1.0], requires_grad=True)),
        (torch.tensor([3.0, 0.0, -1.0]), torch.tensor([0.0, 1.0, 2.0], requires_grad=True)),
    ]
    fast = compiled(answer)
    for args in calls:
        given = fast(*args)
        if isinstance(given, torch.Tensor) or not isinstance(given, (tuple, list)) or len(given) != 2:
            raise Wrong("it compiles; now let it return two things, the loss and the gradient")
        wanted = [value.detach() for value in expected(*args)]
        loss, gradient = given
        if np.shape(gradient) == () and np.shape(loss) != ():
            raise Wrong("the loss comes first, then the gradient")
        expect.tensor(loss, wanted[0], "the loss")
        expect.tensor(gradient, wanted[1], "the gradient")


@exercise(
    "Begin with `train` of the lesson, without its bias.",
    "Under no_grad: velocity.mul_(0.9).add_(dw), then w.sub_(rate * velocity).",
)
def compile_momentum(answer):
    """Loss, gradient and both updates are one program that writes to the memory of w and velocity."""
    data = np.random.default_rng(1)
    x, y = torch.tensor(data.standard_normal((6, 3))), torch.tensor(data.standard_normal(6))
    fast = compiled(answer)
    own, right = [[torch.zeros(3, dtype=x.dtype, requires_grad=True), torch.ones(3, dtype=x.dtype)] for _ in range(2)]
    for i, rate in enumerate((0.1, 0.1, 0.05)):
        (w, velocity), before = own, [t.detach().clone() for t in own]
        given, wanted = fast(x, y, w, velocity, rate), momentum(x, y, *right, rate)
        if given is None:
            raise Wrong("the loss is to be returned")
        for name, now, was in (("w", w, before[0]), ("velocity", velocity, before[1])):
            if np.array_equal(now.detach().numpy(), was.numpy()):
                raise Wrong(f"{name} is still what it was: write to it in place, as with {name}.sub_(...)")
        expect.tensor(given, wanted, f"the loss of step {i + 1}")
        expect.tensor(velocity, right[1], f"velocity after step {i + 1}")
        expect.tensor(w, right[0], f"w after step {i + 1}")


def momentum(x, y, w, velocity, rate):
    """Take one step with momentum."""
    loss = (x @ w - y).square().mean()
    (dw,) = torch.autograd.grad(loss, w)
    with torch.no_grad():
        velocity.mul_(0.9).add_(dw)
        w.sub_(rate * velocity)
    return loss
