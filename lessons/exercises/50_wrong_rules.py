"""The exercises of lesson 50."""

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise, failed


@exercise(
    "The generated rule runs all methods under vmap. Which of these methods cannot run there?",
    "NumPy cannot, and neither can item(), which needs one number. Operations and Functions that have a rule can.",
)
def may_generate(answer):
    """Tensor operations and Functions that have a rule can run under vmap."""
    mistakes = {
        "b": "its forward calls NumPy, which cannot be run under vmap",
        "c": "item() needs one number, but under vmap each example has its own",
    }
    if isinstance(answer, str) and len(answer.strip()) > 1:
        answer = [letter for letter in answer.lower() if letter in "abcde"]
    expect.choice(answer, ["a", "d", "e"], mistakes)


@exercise(
    "logical_dim is in_dims[0] - 1, whatever the number of dimensions is. Then dim + logical_dim, and 1 more for the batch.",
    "With the batch in front, the last dimension of a matrix is dimension 2 of the batch.",
)
def taken_dims(answer):
    """-1 + (2 - 1) + 1 = 1, but the last dimension of a matrix is dimension 2 of the batch."""
    mistakes = {
        (0, 2): "0 is dim + logical_dim; the rule adds 1 for the batch",
        (1, 1): "the batch has three dimensions, and the last one is needed",
        (2, 1): "it is the other way round: first the dimension that the rule computes",
        (2, 2): "that would be right for a rule that adds x.dim() - 1; this one adds in_dims[0] - 1",
    }
    expect.numbers(answer, [1, 2], mistakes)


@exercise(
    "The batch stays where it is, but dims are those of one example. Which of the numbers in dims changes?",
    "Move the batch to the front, x.movedim(in_dims[0], 0): then each dimension of an example is one further right.",
    "return FlipRule.apply(x.movedim(in_dims[0], 0), tuple(dim + 1 for dim in dims)), 0",
)
def FlipRule(answer):
    """With the batch in front, each dimension of an example is one further right."""
    if not (isinstance(answer, type) and issubclass(answer, torch.autograd.Function)):
        raise Wrong(f"expected a subclass of autograd.Function, got {answer!r}")
    cube = torch.arange(24.0).reshape(2, 3, 4)
    for place in (0, 1, 2):
        for dims in ((0,), (1,), (0, 1)):
            where = f"with in_dims={place} and dims={dims}"
            weights = torch.arange(24.0).reshape(torch.movedim(cube, place, 0).shape)
            mapped = [torch.vmap(lambda x, f=f: f(x, dims), in_dims=place) for f in (answer.apply, torch.flip)]
            try:
                given, wanted = (f(cube) for f in mapped)
                expect.tensor(given, wanted, f"the result {where}")
                by_answer, right = (torch.func.grad(lambda x, f=f: (f(x) * weights).sum())(cube) for f in mapped)
                expect.tensor(by_answer, right, f"the result is right, but the gradient {where}")
            except RuntimeError as e:
                raise failed(e, f"{where}: ") from None
    expect.without_loop(torch.vmap(lambda x: answer.apply(x, (0,))), (cube,), (torch.ones(9, 3, 4),))
