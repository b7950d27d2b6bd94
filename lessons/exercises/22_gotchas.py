"""The exercises of lesson 22."""

import warnings

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise
from minigrad.autograd import Function


@exercise(
    "Which tensor does backward read, and when did it last change?",
    "It reads ctx.kept[0], which is `a`: 6 by then. backward returns 2 times that.",
)
def gotcha_written(answer):
    """backward computes 2 * a with the new a, 6. So the gradient is 12 instead of 2 * 3 = 6."""
    mistakes = {
        6.0: "that is the right derivative, but backward reads `a` after mul_ changes it",
        18.0: "y is still 9: only `a` has changed, and backward reads only `a`",
        24.0: "mul_ changes `a` after y is computed from it, so the path from y to z does not lead through mul_",
        3.0: "backward returns 2 * a",
    }
    expect.number(answer, 12.0, mistakes)


def a_function(answer):
    if not (isinstance(answer, type) and issubclass(answer, Function)):
        raise Wrong(f"expected a subclass of autograd.Function, got {answer!r}")


@exercise(
    "weight becomes the second argument of forward, and backward returns two gradients.",
    "torch.func.grad needs the separate form: forward(x, weight) and setup_context(ctx, inputs, output).",
    "The gradient of weight has the shape of weight: torch.outer(grad_output, x).",
)
def GotchaDense(answer):
    """Every tensor that the result depends on goes through apply and comes back from ctx.saved_tensors."""
    a_function(answer)
    x = torch.tensor([1.0, -2.0], requires_grad=True)
    weight = torch.tensor([[1.0, 4.0], [0.0, -1.0], [3.0, 0.5]], requires_grad=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            answer.apply(x, weight)
        except TypeError as e:
            if "is called with" not in str(e):
                raise
            raise Wrong(f"apply(x, weight) does not fit its forward: {str(e).splitlines()[0]}") from None
        expect.computes(answer.apply, lambda x, weight: weight @ x, (x, weight), (x.detach(), weight))
    if caught:
        raise Wrong(f"there is a warning: {str(caught[0].message).splitlines()[0]}")

    def loss(weight, x):
        return (answer.apply(x, weight) ** 2).sum()

    found = torch.func.grad(loss)(weight.detach(), x.detach())
    wanted = torch.outer(2 * (weight @ x), x)
    expect.tensor(found, wanted, "the gradient of weight under torch.func.grad")
    expect.holds(answer, x.detach(), weight.detach())


@exercise(
    "Which of forward's inputs and outputs is enough to compute the slope in backward?",
    "The slope is -1 / x². With y = 1 / x, that is -y * y.",
    "ctx.save_for_backward(output) in setup_context, and the slope in backward. The dict is not needed.",
)
def GotchaReciprocal(answer):
    """save_for_backward keeps the output with its history, and backward computes the slope where autograd records it."""
    a_function(answer)

    def expected(x):
        return 1 / x

    x = torch.tensor([2.0, -0.5], requires_grad=True)
    if isinstance(given := answer.apply(x), tuple):
        raise Wrong(
            f"apply returns {len(given)} results, but its callers expect 1 / x alone: compute the slope from something else"
        )
    expect.computes(answer.apply, expected, (x,))

    def second(f):
        (slope,) = torch.autograd.grad((f(x) ** 2).sum(), x, create_graph=True)
        if not slope.requires_grad:
            raise Wrong("the first derivative has no history, so there is no second one")
        return torch.autograd.grad(slope.sum(), x)[0]

    expect.tensor(second(answer.apply), second(expected), "the second derivative of 1 / x²")
    expect.holds(answer, torch.tensor([2.0, -0.5]))


@exercise(
    "Remove generate_vmap_rule, and write def vmap(info, in_dims, x, dim). in_dims[0] is the batch dimension of x.",
    "Move the batch to the front: x.movedim(in_dims[0], 0). Then all other dimensions are one further back.",
    "Return the result of GotchaSums.apply with the new dim, and 0: the batch is in front.",
)
def GotchaSums(answer):
    """With the batch in front, the dimension to sum along is one further back."""
    a_function(answer)
    x = torch.tensor([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [[-1.0, 0.5, 2.0], [3.0, 0.0, -2.0]]])
    for dim in (0, 1):
        expect.computes(answer.apply, lambda x, dim: x.cumsum(dim), (x.clone().requires_grad_(), dim))
        for batch in (0, 1, 2):
            what = f"the sums along {dim} under vmap, with the batch in dimension {batch} of x,"

            def sums(x, dim=dim):
                return answer.apply(x, dim)

            def square(x, dim=dim):
                return (answer.apply(x, dim) ** 2).sum()

            try:
                given = torch.vmap(sums, in_dims=batch)(x)
                gradients = torch.vmap(torch.func.grad(square), in_dims=batch)(x)
            except IndexError as e:
                raise Wrong(f"{what} fail: {e}") from None
            expect.tensor(given, torch.stack([one.cumsum(dim) for one in x.unbind(batch)]), what)
            wanted = [torch.func.grad(lambda y, dim=dim: (y.cumsum(dim) ** 2).sum())(one) for one in x.unbind(batch)]
            expect.tensor(gradients, torch.stack(wanted), f"the gradient of {what}")
            outside = torch.func.grad(lambda x, f=square, batch=batch: torch.vmap(f, in_dims=batch)(x).sum())(x)
            expect.tensor(outside, torch.stack(wanted, batch), f"with grad around vmap, the gradient of {what}")
