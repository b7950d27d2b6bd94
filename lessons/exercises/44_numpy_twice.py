"""The exercises of lesson 44."""

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise


def calls_numpy(answer, names, *args):
    """Check that forward leaves the computation to another system: a recording would show minigrad's operations."""
    recorded = torch.record(answer.apply, *args, passes="forward", inside=True).to_dict()["ops"]
    forwards = [method for op in recorded for method in op["inside"] if method["method"] == "forward"]
    if ran := [name for method in forwards for op in method["ops"] for name in names if name in op["name"]]:
        raise Wrong(f"forward has to compute with NumPy, but it runs minigrad's {ran[0]}")


def second_order(answer, expected, *args):
    """Check the derivative of the gradient, weighted by itself, with respect to each argument."""

    def twice(f):
        leaves = [a.clone().requires_grad_() for a in args]
        first = torch.autograd.grad((f(*leaves) ** 3).sum(), leaves, create_graph=True)
        if not all(g.requires_grad for g in first):
            raise Wrong(
                "first derivatives are right, but they have no graph: backward leaves it through NumPy or detach()"
            )
        return torch.autograd.grad(sum((g**2).sum() for g in first), leaves)

    try:
        given = twice(answer)
    except RuntimeError as e:
        raise Wrong(f"first derivatives are right, second ones fail: {str(e).splitlines()[0]}") from None
    for i, (a, b) in enumerate(zip(given, twice(expected))):
        expect.tensor(a, b, f"first derivatives are right, but the second derivative for argument {i}", 1e-3)


@exercise(
    "backward has to use a tensor with a history: save_for_backward.",
    "Save the output, and compute 1 - y**2 in backward with tensors.",
)
def NumpyTanh(answer):
    """y, a saved output, belongs to the graph, so results computed from it have a derivative as well."""

    class Expected(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = torch.tanh(x)
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return g * (1 - y**2)

    x = torch.tensor([0.5, -1.0, 0.0])
    expect.quiet(lambda: expect.function(answer, Expected, (x.clone().requires_grad_(),)))
    calls_numpy(answer, ("tanh", "exp", "sigmoid"), x)
    second_order(answer.apply, torch.tanh, x)


@exercise(
    "Sum from the end: flip the gradient, take the running sum, flip it back.",
    "A NumPy running sum inside backward cannot be differentiated again, but there is a Function for it: "
    "NumpyCumsum itself.",
    "return NumpyCumsum.apply(grad_output.flip(0)).flip(0)",
)
def NumpyCumsum(answer):
    """backward is a running sum from the other end, with the same Function."""

    class Expected(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.cumsum(0)

        @staticmethod
        def backward(ctx, g):
            return g.flip(0).cumsum(0).flip(0)

    x = torch.tensor([1.0, -2.0, 3.0])
    expect.function(answer, Expected, (x.clone().requires_grad_(),), (torch.ones(2, 3, requires_grad=True),))
    calls_numpy(answer, ("cumsum", "sum", "matmul"), x)
    second_order(answer.apply, lambda x: x.cumsum(0), x)


@exercise(
    "setup_context saves what backward needs: A, which is an input, and x, which is the output.",
    "The gradient of b solves other equations: NumpySolve.apply(A.T, grad_output).",
    "return -torch.outer(grad_b, x), grad_b in backward, in the order of the arguments.",
)
def NumpySolve(answer):
    """backward solves equations with the transposed matrix, through the same Function."""

    class Expected(torch.autograd.Function):
        @staticmethod
        def forward(ctx, A, b):
            x = torch.linalg.solve(A, b)
            ctx.save_for_backward(A, x)
            return x

        @staticmethod
        def backward(ctx, g):
            A, x = ctx.saved_tensors
            grad_b = torch.linalg.solve(A.T, g)
            return -torch.outer(grad_b, x), grad_b

    A, b = torch.tensor([[2.0, 1.0], [0.5, -1.0]]), torch.tensor([1.0, 3.0])
    if not (isinstance(answer, type) and issubclass(answer, torch.autograd.Function)):
        raise Wrong(f"expected a subclass of autograd.Function, got {answer!r}")
    leaves = A.clone().requires_grad_(), b.clone().requires_grad_()
    expect.function(answer, Expected, leaves, (A, leaves[1]), (leaves[0], b))
    calls_numpy(answer, ("solve", "inv", "matmul"), A, b)
    second_order(answer.apply, torch.linalg.solve, A, b)
