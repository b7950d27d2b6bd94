"""The tasks of step 3: arrays."""

import numpy as np

import minigrad
from lessons.build.oracle import close, of_shapes
from lessons.exercise import Wrong, exercise


@exercise(
    "np.zeros(x.shape) for the result. For each index of np.ndindex(x.shape), change one element of a copy.",
    "(f(x + step) - f(x - step)) / (2 * h), where step is h at the index and 0 elsewhere.",
)
def numeric_gradient(answer):
    """The error of a difference from both sides is proportional to h², that of one side to h."""
    random = np.random.default_rng()
    for shape in ((3,), (2, 2), ()):
        x = random.uniform(0.5, 1.5, size=shape)
        before = x.copy()
        given = answer(lambda a: float((a**3).sum()), x)
        if not np.array_equal(x, before):
            raise Wrong("x has changed: add the step to a copy, or set the element back")
        if given is None:
            raise Wrong("it returns None: is there a return?")
        right = 3 * x**2
        if np.shape(given) == shape:
            for factor, why in ((2, "divide by 2h: the two points are 2h apart"), (0.5, "the points x + h and x are only h apart"),
                                (-1, "the sign is wrong: f(x + h) comes first"), (1e-6, "it is not divided by h")):  # fmt: skip
                if np.allclose(given, factor * right, rtol=1e-4):
                    raise Wrong(f"each number is {factor:g} times the gradient: {why}")
            if x.size > 1 and np.allclose(given, right.sum(), rtol=1e-4):
                raise Wrong("all elements are changed at once: change one at a time")
        close(given, right, "the gradient of the sum of x**3", 1e-5)
    large = answer(lambda a: float((a**2).sum()), np.array([1.0]), 0.5)
    close(large, [2.0], "the gradient of x**2 at 1 with h = 0.5, where differences from both sides are exact,")


@exercise(
    "First sum over the first g.ndim - len(shape) dimensions. Then over each dimension where shape has a 1.",
    "g.sum(axis=repeated, keepdims=True), with a tuple of the dimensions whose size in shape is 1.",
)
def unbroadcast(answer):
    """An element that was used several times gets the sum of what its uses contribute."""
    random = np.random.default_rng()
    for of, shape in (((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 3), (2, 1)), ((2, 3), (1, 3)), ((4, 3), ()), ((2, 4, 3), (4, 1)),
                      ((5, 2, 3), (1, 3)), ((2, 3), (1, 1)), ((1, 3), (1, 3)), ((3, 3), (3, 1)), ((), ())):  # fmt: skip
        g = random.uniform(0.5, 2.0, size=of)
        x = minigrad.tensor(np.zeros(shape), requires_grad=True)
        (right,) = minigrad.autograd.grad(x + minigrad.tensor(np.zeros(of)), x, minigrad.tensor(g))
        before = g.copy()
        given = answer(g, shape)
        what = f"for g of the shape {of} and shape = {shape}"
        if given is None:
            raise Wrong("it returns None: is there a return?")
        if not np.array_equal(g, before):
            raise Wrong("g has changed: make a new array")
        if np.shape(given) == of != shape:
            raise Wrong(f"{what} the result still has the shape {of}: it is not summed over the broadcast dimension")
        if np.shape(given) != shape:
            kept = ": keep the size 1, with keepdims=True" if len(np.shape(given)) < len(shape) else ""
            raise Wrong(f"{what} the result has the shape {np.shape(given)}, expected {shape}{kept}")
        if shape != of and not np.allclose(given, right.numpy()):
            count = np.prod(of) / max(np.prod(shape), 1)
            if np.allclose(np.asarray(given) * count, right.numpy()):
                raise Wrong(f"{what} it is the mean, expected the sum: each use contributes fully")
            raise Wrong(f"{what} the numbers are not the sums over the broadcast dimensions: is one use picked out?")
        close(given, right.numpy(), f"{what} the result")
    if np.shape(answer(2.5, ())) != ():
        raise Wrong("for the plain number 2.5 and shape = () the result is a number: begin with np.asarray(g)")


def pulls(answer, oracle, arrays, called, formula):
    """Expect the gradients of all arguments for a random incoming gradient, and name the common mistakes."""
    leaves = [minigrad.tensor(a, requires_grad=True) for a in arrays]
    out = oracle(*leaves)
    g = np.random.default_rng().uniform(1.2, 2.0, size=out.shape)
    wanted = [one.numpy() for one in minigrad.autograd.grad(out, leaves, minigrad.tensor(g), retain_graph=True)]
    ones = [one.numpy() for one in minigrad.autograd.grad(out, leaves, minigrad.ones(g.shape, dtype=minigrad.float64))]
    copies = [a.copy() for a in arrays]
    given = answer(g, *copies)
    if any(not np.array_equal(a, b) for a, b in zip(arrays, copies)):
        raise Wrong("an argument has changed: make a new array")
    if given is None:
        raise Wrong("it returns None: is there a return?")
    if len(arrays) > 1:
        if not isinstance(given, (tuple, list)) or len(given) != len(arrays):
            raise Wrong(f"expected a pair: a gradient for {' and one for '.join(called)}")
    else:
        given = (given,)
    shapes = [np.shape(one) for one in given]
    same = [a.shape == b.shape and np.allclose(a, b) for a, b in zip(map(np.asarray, given), wanted)]
    if all(same):
        return
    if len(given) > 1 and all(np.shape(a) == b.shape and np.allclose(a, b) for a, b in zip(given, wanted[::-1])):
        raise Wrong(f"the gradients of {' and '.join(called)} are swapped")
    for name, one, right, plain, shape in zip(called, given, wanted, ones, shapes):
        if one is None:
            raise Wrong(f"the gradient of {name} is None")
        if shape == right.shape and np.allclose(one, right):
            continue
        if shape == plain.shape and np.allclose(one, plain):
            raise Wrong(f"the gradient of {name} ignores the incoming gradient: use g")
        if shape == right.shape and np.allclose(one, -right):
            raise Wrong(f"the gradient of {name} has the wrong sign")
        if shape == right.T.shape and right.ndim == 2 and np.allclose(one, right.T):
            raise Wrong(f"the gradient of {name} is transposed")
        if shape != right.shape:
            raise Wrong(
                f"the gradient of {name} has the shape {shape}, expected {right.shape}, that of {name}: {formula}"
            )
        close(one, right, f"the gradient of {name}")


@exercise("The local derivative for x is y: multiply g by it.", "return g * y, g * x")
def mul_pull(answer):
    """Each factor gets the incoming gradient times the other factor."""
    random = np.random.default_rng()
    for shape in ((3,), (2, 3)):
        pulls(
            answer,
            lambda x, y: x * y,
            [random.uniform(2, 3, size=shape), random.uniform(4, 5, size=shape)],
            ["x", "y"],
            "",
        )


@exercise(
    "Let the shapes decide: (n, m) times (m, k) for x, and (k, n) times (n, m) for y.",
    "g @ y.T and x.T @ g. For a vector y, the first is np.outer(g, y).",
)
def matmul_pull(answer):
    """For every use of an element, g times its partner is added: that is a matrix product with the transpose."""
    random = np.random.default_rng()
    words = "the transpose of the other factor is needed"
    for n, k, m in ((2, 3, 4), (3, 3, 3), (1, 2, 1)):
        pulls(answer, lambda x, y: x @ y, [random.normal(size=(n, k)), random.normal(size=(k, m))], ["x", "y"], words)
    try:
        pulls(
            answer,
            lambda x, y: x @ y,
            [random.normal(size=(2, 3)), random.normal(size=3)],
            ["x", "y"],
            "use np.outer(g, y)",
        )
    except ValueError as e:
        if not of_shapes(e):
            raise
        raise Wrong(f"for a vector y it fails ({str(e).partition(':')[0]}): use np.outer(g, y)") from None


@exercise("g is one number, and each element of x gets it.", "np.full(x.shape, g), or g * np.ones(x.shape).")
def sum_pull(answer):
    """The transpose of summing is repeating: each element gets g."""
    random = np.random.default_rng()
    for shape in ((3,), (2, 3), ()):
        x = random.normal(size=shape) + 3
        try:
            pulls(answer, lambda x: x.sum(), [x], ["x"], "repeat g")
        except Wrong as wrong:
            given, g = np.asarray(answer(1.5, x.copy())), 1.5
            if given.shape == shape and np.allclose(given, g / max(x.size, 1)) and x.size > 1:
                raise Wrong(f"each element gets g / {x.size}, as for a mean: for a sum it is g") from None
            if given.shape == shape and np.allclose(given, g * x):
                raise Wrong("each element gets g times its value: the derivative of a sum is 1") from None
            raise wrong from None
