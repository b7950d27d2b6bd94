"""The exercises of lesson 14."""

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise
from minigrad.autograd.function import NestedIOFunction


@exercise(
    "Begin with the incoming gradients: the derivatives of the loss with respect to the sum and to the product.",
    "The incoming gradients are 1 for the sum and 10 for the product. The derivative of a * b with respect to a is b.",
)
def nested_gradients(answer):
    """Add both paths: for a, 1 + 10 * b = 41; for b, 1 + 10 * a = 31."""
    if isinstance(answer, dict):
        answer = [answer.get("a"), answer.get("b")]
    try:
        given = [float(g) for g in answer]
    except (TypeError, ValueError):
        raise Wrong(f"expected two numbers in a list, got {answer!r}") from None
    if given == [31.0, 41.0]:
        raise Wrong("these two are swapped: the derivative of a * b with respect to a is b")
    if given == [5.0, 4.0]:
        raise Wrong("the incoming gradient of the product is 10, not 1")
    if given == [40.0, 30.0]:
        raise Wrong("the path through the sum contributes, too")
    expect.tensor(given, [41.0, 31.0], "the list of gradients")


def nested(answer):
    """Check that an answer is a NestedIOFunction."""
    if not (isinstance(answer, type) and issubclass(answer, NestedIOFunction)):
        raise Wrong(f"expected a subclass of NestedIOFunction, got {answer!r}")


@exercise(
    "Return one result for each of the two arguments: a dict with a gradient for each name, and the gradient of factor.",
    "The gradient of tensors[name] is grads[name] * factor.",
    "All numbers of all tensors use factor: its gradient is the sum of (grads[name] * tensors[name]).sum().",
)
def NestedScale(answer):
    """Each tensor gets its gradient under its name, and factor the sum over all uses."""
    nested(answer)

    def expected(a, b, c, factor):
        return a * factor, b * factor, c * factor

    def given(a, b, c, factor):
        out = answer.apply({"a": a, "b": b, "c": c}, factor)
        if not isinstance(out, dict) or sorted(out) != ["a", "b", "c"]:
            raise Wrong(f"for a dict with the names a, b, c it returns {out!r}")
        return out["a"], out["b"], out["c"]

    values = (torch.tensor([1.0, 2.0]), torch.tensor(-3.0), torch.tensor([[4.0], [0.5]]), torch.tensor(2.0))
    expect.computes(given, expected, tuple(v.requires_grad_() for v in values))


@exercise(
    "Compare the return value with the arguments: a dict with two tensors, and a list with two tensors.",
    "The derivatives with respect to u and v are those with respect to x and y with the opposite sign.",
    "Each of them has to include the incoming gradient: grad_output * 2 * dx.",
)
def NestedDistance(answer):
    """Four gradients, nested like the arguments, each multiplied by the incoming one."""
    nested(answer)

    def expected(x, y, u, v):
        return (x - u) ** 2 + (y - v) ** 2

    def given(x, y, u, v):
        return answer.apply({"x": x, "y": y}, [u, v])

    for numbers in ((1.0, 2.0, 4.0, 6.0), (0.0, -1.0, 2.0, 0.5)):
        expect.computes(given, expected, tuple(torch.tensor(n, requires_grad=True) for n in numbers))


def used_nested(f, args):
    """Return True if f calls a NestedIOFunction."""
    seen, call = [], NestedIOFunction.__call__

    def __call__(self, *inputs):
        seen.append(self)
        return call(self, *inputs)

    NestedIOFunction.__call__ = __call__
    try:
        f(*args)
    finally:
        NestedIOFunction.__call__ = call
    return bool(seen)


@exercise(
    "Take the tensors out first: a loop over params.values(), which looks into lists.",
    "Then call your Function with all of them: HalfSquares.apply(*tensors). Its forward is forward(ctx, *tensors).",
    "backward returns a tuple with one gradient for each tensor: tuple(grad_output * t for t in ctx.saved_tensors).",
)
def nested_squares(answer):
    """Only the outer function handles the dict; the Function takes tensors one by one."""

    def expected(a, b, c):
        return ((a**2).sum() + (b**2).sum() + (c**2).sum()) / 2

    def of_lists(a, b, c):
        return answer({"weights": [a, b], "bias": c})

    def of_tensors(a, b, c):
        return answer({"a": a, "b": b, "c": c})

    values = (torch.tensor([1.0, 2.0]), torch.tensor([[-3.0]]), torch.tensor(4.0))
    values = tuple(v.requires_grad_() for v in values)
    for f in (of_tensors, of_lists):
        expect.computes(f, expected, values)
    ops = torch.record(of_lists, *values).to_dict()["ops"]
    if not any(op["function"] for op in ops):
        raise Wrong("the numbers are right, but no Function of your own takes part: write a class, and call its apply")
    if any(kept["bytes"] > 4 for op in ops if not op["function"] for kept in op["saved"]):  # a tensor of many numbers
        raise Wrong("the numbers are right, but some squares are taken by operations outside of your Function")
    if used_nested(of_lists, values):
        raise Wrong("the numbers are right, but NestedIOFunction handles the nesting: take the tensors out yourself")
    alone = answer({"only": torch.tensor([3.0], requires_grad=True)})
    expect.tensor(alone.reshape(()), 4.5, "the result for a dict with one tensor")
