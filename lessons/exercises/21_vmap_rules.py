"""The exercises of lesson 21."""

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise, failed
from lessons.incoming import drawn
from minigrad.record.passes import parameter_names


def as_in_a_loop(answer, expected, in_dims, *args):
    """Check that vmap of a Function gives the results and gradients of vmap of minigrad's own operations."""
    where, names = f"with in_dims={in_dims}", parameter_names(answer, len(args))
    tracked = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
    tensors, numbers = [args[i] for i in tracked], tuple(range(len(tracked)))

    def mapped(f):
        def of_tensors(*tensors):  # the other arguments stay as they are
            given = dict(zip(tracked, tensors))
            return f(*[given.get(i, a) for i, a in enumerate(args)])

        return torch.vmap(of_tensors, in_dims=tuple(in_dims[i] for i in tracked))

    def gradients(f):
        def loss(*tensors):
            out = mapped(f)(*tensors)
            return (out * torch.tensor(drawn(tuple(out.shape))[0], dtype=out.dtype)).sum()

        return torch.func.grad(loss, numbers)(*tensors)

    try:
        expect.tensor(mapped(answer)(*tensors), mapped(expected)(*tensors), f"the result {where}")
        by_each = gradients(answer)
    except RuntimeError as e:
        raise failed(e, f"{where}: ") from None
    for i, a, b in zip(tracked, by_each, gradients(expected)):
        expect.tensor(a, b, f"the result is right, but the gradient of {names[i]} {where}")


@exercise(
    "The mapped function sees one row without the batch. What does the rule see?",
    "A rule receives whole arguments, with the batch dimension given by in_dims.",
)
def rule_shape(answer):
    """All of A arrives, with the batch in dimension 1."""
    mistakes = {
        (3,): "that is what the lambda sees, one example; the rule gets all of them",
        (5, 3): "minigrad has not moved the batch to the front: the rule does that",
        (5,): "there are 5 examples, with 3 numbers each",
    }
    expect.numbers(answer, [3, 5], mistakes)


@exercise(
    "Bring the batch to the front: x.movedim(in_dims[0], 0). Then every dimension of an example is one further right.",
    "A negative dim counts from the end and stays as it is; any other dim becomes dim + 1.",
    "return CumsumRule.apply(x.movedim(in_dims[0], 0), dim if dim < 0 else dim + 1), 0",
)
def CumsumRule(answer):
    """With the batch in front, dim moves one to the right, unless it counts from the end."""
    if not (isinstance(answer, type) and issubclass(answer, torch.autograd.Function)):
        raise Wrong(f"expected a subclass of autograd.Function, got {answer!r}")

    def expected(x, dim):
        return x.cumsum(dim)

    cube = torch.arange(24.0).reshape(2, 3, 4)
    for place in (0, 1, 2):
        for dim in (0, 1, -1, -2):
            try:
                as_in_a_loop(answer.apply, expected, (place, None), cube, dim)
            except Wrong as wrong:
                raise Wrong(f"dim={dim}: {wrong}", mistake=wrong.mistake, line=wrong.line) from None
    as_in_a_loop(answer.apply, expected, (1, None), cube[0], 0)
    mapped = torch.vmap(lambda x: answer.apply(x, 0))
    expect.without_loop(mapped, (cube[0],), (torch.ones(9, 4),))


@exercise(
    "Both arguments need the batch at the front and the same shape: movedim for one that has it, expand for the other.",
    "expand(info.batch_size, *t.shape) adds a batch to a tensor that has none, and sums over it in its own backward.",
    "a, b = (t.expand(info.batch_size, *t.shape) if d is None else t.movedim(d, 0) for t, d in zip((a, b), in_dims)); "
    "return DotRule.apply(a, b), 0",
)
def DotRule(answer):
    """Both arguments have the batch in front; an argument shared by all examples gets the sum of their gradients."""
    if not (isinstance(answer, type) and issubclass(answer, torch.autograd.Function)):
        raise Wrong(f"expected a subclass of autograd.Function, got {answer!r}")

    def expected(a, b):
        return (a * b).sum(-1)

    matrix, square = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]]), torch.tensor([[2.0, -1.0], [0.5, 3.0]])
    pair, triple = torch.tensor([10.0, -2.0]), torch.tensor([1.0, 0.0, -3.0])
    for in_dims, a, b in (
        ((0, 0), matrix, matrix + 1),
        ((1, 1), matrix, matrix + 1),
        ((0, 1), matrix, matrix.T + 1),
        ((0, 1), square, square + 1),
        ((0, None), matrix, pair),
        ((None, 1), triple, matrix),
        ((None, 0), pair, square),
        ((1, None), torch.stack([matrix, matrix + 2]), torch.stack([pair, pair - 1])),
    ):
        as_in_a_loop(answer.apply, expected, in_dims, a, b)
    expect.without_loop(torch.vmap(answer.apply), (matrix, matrix), (torch.ones(9, 2), torch.ones(9, 2)))
