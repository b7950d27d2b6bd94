"""The exercises of lesson 9."""

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise


@exercise(
    "The gradient of a factor contains the other factor, not itself.",
    "It is the first gradient of `y`: x times the scale.",
)
def several_dragged(answer):
    """Only y's first gradient changes: 1 · x · 10 = 70. The gradient of x itself does not contain x."""
    mistakes = {
        50.0: "that gradient of x stays as it is: it contains y",
        7.0: "the scale is missing",
        10.0: "that was the gradient before",
        350.0: "that is the value of the product",
    }
    expect.number(answer, 70.0, mistakes)


def by_formula(f):
    """Wrap an ordinary function as `apply`, for comparison with a learner's Function."""
    return type("Expected", (), {"apply": staticmethod(f)})


def vector(*numbers, grad=True):
    return torch.tensor(numbers, requires_grad=grad)


@exercise(
    "Only a tensor can have a gradient. Which of the five arguments are not tensors?",
    "You may return a gradient that is not needed: that is wasted work, not a mistake.",
)
def several_nones(answer):
    """Numbers, strings and missing tensors have no gradient. You may return one for y; minigrad drops it."""
    mistakes = {
        "y": "y is a tensor. Its gradient is not needed, so None is enough, but you may return one, which is dropped",
        "x": "x requires grad: its gradient is needed",
        "ctx": "backward returns nothing for the ctx",
    }
    expect.choice(answer, {"n", "mode", "bias"}, mistakes)


@exercise(
    "On its way to x, the gradient is multiplied by the factor of x.",
    "Three arguments of forward, three gradients. The last one is None: t is a number.",
)
def SeveralMix(answer):
    """Each gradient is the incoming one times the factor of its tensor; the number has none."""
    calls = [
        (vector(1.0, 2.0), vector(5.0, 6.0), 0.25),
        (vector(1.0), vector(3.0), 1),
        (vector(1.0, 2.0), vector(4.0), 0),
    ]
    expect.function(answer, by_formula(lambda x, y, t: (1 - t) * x + t * y), *calls)


@exercise(
    "Each tensor is saved for the gradient of the other.",
    "ctx.needs_input_grad is a pair of booleans, in forward and backward. save_for_backward accepts None instead of a tensor.",
    "ctx.save_for_backward(x if ctx.needs_input_grad[1] else None, y if ctx.needs_input_grad[0] else None)",
    "In backward, return None instead of a product that is not needed: a if condition else None.",
)
def SeveralLean(answer):
    """Unneeded work is left out: x is saved only for the gradient of y, and y only for the gradient of x."""
    for x_requires, y_requires in ((True, True), (True, False), (False, True)):
        x, y = vector(1.0, 2.0, 3.0, grad=x_requires), vector(4.0, 5.0, 6.0, grad=y_requires)
        expect.function(answer, by_formula(lambda x, y: x * y), (x, y))
        wanted = [name for name, requires in (("x", x_requires), ("y", y_requires)) if requires]
        lean(
            answer,
            x,
            y,
            f"when only {wanted[0]} requires grad" if len(wanted) == 1 else "when both require grad",
            wanted,
        )


def lean(answer, x, y, when, wanted):
    """Check that only the needed tensors are saved and only the needed products computed."""
    needed = [other for name, other in (("x", y), ("y", x)) if name in wanted]
    expect.keeps(answer.apply(x, y), *needed, what=f"{when}, {'one of them' if len(wanted) == 1 else 'the two'}")
    (op,) = [op for op in torch.record(answer.apply, x, y, inside=True).to_dict()["ops"] if op["phase"] == "forward"]
    products = sum(o["name"] == "mul" for m in op["inside"] if m["method"] in ("backward", "vjp") for o in m["ops"])
    if products > len(wanted):
        raise Wrong(f"{when}, backward computes {products} products; {len(wanted)} is enough")


@exercise(
    "Return two tensors: return s, c. Save both; backward finds them in ctx.saved_tensors.",
    "The derivative of the sine is the cosine; the derivative of the cosine is minus the sine.",
    "x influences both outputs: the gradient is a sum of two terms.",
)
def SeveralSinCos(answer):
    """Both outputs depend on x, so both gradients contribute; backward needs only the two results."""
    x = vector(0.5, -1.0, 3.0)
    expect.function(answer, by_formula(lambda x: (x.sin(), x.cos())), (x,))
    expect.computes(lambda x: answer.apply(x)[0], lambda x: x.sin(), (x,))
    expect.computes(lambda x: answer.apply(x)[1], lambda x: x.cos(), (x,))
    expect.keeps(answer.apply(x)[0], x.sin(), x.cos(), what="the two results")
