"""The exercises of lesson 46."""

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise


@exercise(
    "The rule moves the batch, dimension 1 of A, to the front. What is the shape of A then?",
    "dim is -1, and x.dim() is 2 there: -1 + 2 - 1 = 0 is the dimension of one example.",
)
def documented_call(answer):
    """With the batch of 4 in front, dimension 0 of an example becomes dimension 1."""
    mistakes = {
        (3, 4, 1): "the batch of 4 examples has moved to the front",
        (4, 3, 0): "0 is the dimension of one example; the batch comes before it",
        (4, 3, -1): "the rule has made dim positive",
        (3, 4, 0): "the batch is dimension 0 after movedim, and each example has 3 numbers",
        (4, 3, 2): "x has the dimensions 0 and 1",
    }
    expect.numbers(answer, [4, 3, 1], mistakes)


@exercise(
    "backward needs one more line: ind, ind_inv = ctx.saved_tensors.",
    "The rule calls DocumentedSort.apply once: NumpySort.apply would run the backward of NumpySort.",
    "return DocumentedSort.apply(x, dim + 1), (0, 0, 0)",
)
def DocumentedSort(answer):
    """backward reads what setup_context saved, and the rule calls apply once."""
    if not (isinstance(answer, type) and issubclass(answer, torch.autograd.Function)):
        raise Wrong(f"expected a subclass of autograd.Function, got {answer!r}")

    def by_answer(dim):
        return lambda x: answer.apply(x, dim)[0]

    def by_sort(dim):
        return lambda x: torch.sort(x, dim).values

    cube = torch.tensor([5.0, 1.0, 4.0, 9.0, 3.0, 8.0, 2.0, 7.0, 6.0, 0.0, 11.0, 10.0]).reshape(2, 2, 3)
    expect.computes(by_answer(-1), by_sort(-1), (cube.clone().requires_grad_(),))
    for in_dims in (0, 1, 2):
        for dim in (-1, -2, 0, 1):
            f, g = (torch.vmap(by(dim), in_dims=in_dims) for by in (by_answer, by_sort))
            try:
                expect.computes(f, g, (cube.clone().requires_grad_(),))
            except Wrong as wrong:
                raise Wrong(f"dim={dim}, in_dims={in_dims}: {wrong}", wrong.drawing) from None
    ops = torch.record(torch.vmap(by_answer(0)), cube[0], passes="forward").to_dict()["ops"]
    sorts = sum(op["name"] == answer.__name__ for op in ops)
    if sorts != 1:
        raise Wrong(f"the numbers are right, but NumPy sorts a batch {sorts} times: call apply once")


class Reversed(torch.autograd.Function):
    """Function of a row with a right rule."""

    @staticmethod
    def forward(x):
        return x.flip(0)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.flip(0)

    @staticmethod
    def vmap(info, in_dims, x):
        return Along.apply(x.movedim(in_dims[0], 0)), 0


class Along(Reversed):
    """Function that reverses each row of a matrix."""

    @staticmethod
    def forward(x):
        return x.flip(1)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.flip(1)


class WrongValue(Reversed):
    """Function whose rule reverses the examples, so a batch with equal rows hides it."""

    @staticmethod
    def vmap(info, in_dims, x):
        return Reversed.apply(x.movedim(in_dims[0], 0)), 0


class WrongOrder(Along):
    """Function of a matrix whose backward does not reverse: only different incoming gradients show it."""

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


class WrongGradient(Reversed):
    """Function whose rule is right for values only."""

    @staticmethod
    def vmap(info, in_dims, x):
        return WrongOrder.apply(x.movedim(in_dims[0], 0)), 0


class NoRule(Reversed):
    """Function without a rule."""

    vmap = torch.autograd.Function.vmap


@exercise(
    "The values: torch.vmap(f)(batch) and torch.stack([f(row) for row in batch]).",
    "The gradients: torch.func.grad of the sum of the result times torch.arange of the same shape, for both.",
    "Put all of it into try, and return False in except Exception.",
)
def rule_holds(answer):
    """Each rule is measured by a loop: the same values, and the same gradients for incoming gradients that differ."""
    batch = torch.tensor([[1.0, 2.0, 4.0], [8.0, 3.0, 5.0]])
    for function, wanted, what in (
        (Reversed, True, "a right rule"),
        (WrongValue, False, "a rule that reverses the examples instead of each of them"),
        (WrongGradient, False, "a rule whose gradients come in the wrong order"),
        (NoRule, False, "a Function without a rule"),
    ):
        given = answer(function.apply, batch)
        if isinstance(given, torch.Tensor) and given.numel() == 1:
            given = given.item()
        if given is not wanted:
            raise Wrong(f"it returns {given!r} for {what}, expected {wanted}")
    if answer(lambda row: row.sin().sum(), batch) is not True:
        raise Wrong(
            "it returns False for an f whose result is one number, row.sin().sum(), which vmap computes rightly"
        )
