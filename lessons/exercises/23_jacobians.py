"""The exercises of lesson 23."""

import numpy as np

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise


@exercise(
    "There are three results and two inputs: three rows with two numbers each.",
    "The first row: x0 * x1 changes with x0 by x1, and with x1 by x0.",
)
def jacobian_by_hand(answer):
    """Each result has a row, each input a column."""
    wanted = [[3.0, 2.0], [4.0, 0.0], [0.0, 1.0]]
    try:
        expect.tensor(answer, [list(column) for column in zip(*wanted)])
    except Wrong:
        expect.tensor(answer, wanted)
    else:
        raise Wrong("rows and columns are swapped: a row belongs to a result, a column to an input")


@exercise(
    "jacrev needs a pass for each result, jacfwd one for each input. Count both.",
    "The loss is one result, and time is one input.",
)
def jacobian_modes(answer):
    """Reverse mode needs a pass for each result, forward mode one for each input: the smaller number is cheaper."""
    whats = ("a loss has 1 result and 1000 inputs", "a position has 3 results and 1 input", "10 results, 784 inputs")
    answer = answer.tolist() if isinstance(answer, np.ndarray) else answer
    if not isinstance(answer, (list, tuple)) or len(answer) != len(whats):
        raise Wrong(f"expected a list of three words, got {answer!r}")
    for given, right, what in zip(answer, ("jacrev", "jacfwd", "jacrev"), whats):
        expect.choice(getattr(given, "__name__", given), right, {{"jacrev": "jacfwd", "jacfwd": "jacrev"}[right]: what})


@exercise(
    "The sum of each row is its only element that is not zero. Which pass gives the sums of all rows?",
    "A pass that starts with ones everywhere: forward gives the sum of the columns, backward the sum of the rows.",
    "return jvp(f, (x,), (torch.ones_like(x),))[1]",
)
def jacobian_diagonal(answer):
    """One pass that starts with ones is enough: the sum of a row is its only element that is not zero."""
    for f, x, slopes in (
        (lambda x: x**3, torch.tensor([1.0, 2.0, -3.0]), [3.0, 12.0, 27.0]),
        (lambda x: x.exp() * x, torch.tensor([0.0, 1.0]), [1.0, 2 * np.e]),
        (lambda x: x * x, torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), [[2.0, 4.0, 6.0], [8.0, 10.0, 12.0]]),
    ):
        given = answer(f, x)
        if isinstance(given, torch.Tensor) and given.numel() == x.numel() ** 2 > 1:
            raise Wrong(f"{given.numel()} numbers for {x.numel()} inputs: that is the whole matrix, not its diagonal")
        expect.tensor(given, slopes)
    n = 300
    x = torch.linspace(0.0, 1.0, n)
    values = torch.record(lambda: answer(lambda x: x**3, x), passes="forward").to_dict()["values"]
    if sum(value["bytes"] for value in values) >= 4 * n * n:
        raise Wrong(f"the numbers are right, but for {n} inputs it computes a matrix of {n} x {n}")


@exercise(
    "First the gradient: 2ab, and a² + 3b². Each row of the Hessian has the derivatives of one of the two.",
    "2ab changes with a by 2b, and with b by 2a.",
)
def hessian_by_hand(answer):
    """Rows [2b, 2a] and [2a, 6b]: the two elements off the diagonal are equal."""
    wanted = [[4.0, 2.0], [2.0, 12.0]]
    if np.shape(answer) == (2,):
        raise Wrong("the gradient has two numbers. The Hessian has a row of two numbers for each input")
    expect.tensor(answer, wanted)
