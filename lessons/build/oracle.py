"""Expectations for the steps: a learner's engine against minigrad, with random numbers and random incoming gradients."""

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import minigrad
from lessons.exercise import Wrong
from lessons.failure import short


def names_of(answer: Any) -> dict[str, Any]:
    """Return the names that a learner's function or class sees: those of the notebook, with the engine's among them."""
    functions = (
        [answer, *(getattr(value, "__func__", value) for value in vars(answer).values())]
        if isinstance(answer, type)
        else [answer]
    )
    known = [one.__globals__ for one in functions if hasattr(one, "__globals__")]
    return known[0] if known else vars(sys.modules["__main__"])


def is_class(answer: Any) -> None:
    """Expect a class."""
    if not isinstance(answer, type):
        raise Wrong(f"expected a class, got {short(answer)}")


def of_shapes(e: Exception) -> bool:
    """Return True for an error about shapes that do not fit, as NumPy raises it."""
    return isinstance(e, (ValueError, IndexError)) and any(
        word in str(e) for word in ("shape", "dimension", "mismatch")
    )


def close(given: Any, right: Any, what: str, rtol: float = 1e-6) -> None:
    """Expect the shape and the numbers of an array."""
    try:
        if given is None or np.iscomplexobj(given):  # NumPy would make NaN of the first, and drop a part of the second
            raise TypeError
        given = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise Wrong(f"{what}: expected numbers, got {short(given)}") from None
    right = np.asarray(right)
    if given.shape != right.shape:
        raise Wrong(f"{what} has the shape {list(given.shape)}, expected {list(right.shape)}")
    bad = ~np.isclose(given, right, rtol=rtol, atol=1e-8, equal_nan=True)
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        where = f" at {list(at)}" if at else ""
        raise Wrong(f"{what} is {given[at]:.4g}{where}, expected {right[at]:.4g}")


def same_gradients(
    f: Callable, oracle: Callable, arrays: Sequence[np.ndarray], Value: Any, backward: Callable, what: str
) -> None:
    """Expect the result and the gradients of minigrad's function `oracle`, for a random incoming gradient."""
    leaves = [Value(a.copy()) for a in arrays]
    theirs = [minigrad.tensor(a, requires_grad=True) for a in arrays]
    out, right = f(*leaves), oracle(*theirs)
    if not hasattr(out, "value"):
        raise Wrong(f"{what}: the result is {short(out)}, expected a node of your engine")
    for number, (leaf, a) in enumerate(zip(leaves, arrays)):
        if not np.array_equal(leaf.value, a):
            raise Wrong(f"{what}: the value of argument {number} has changed: make a new array")
    close(out.value, right.detach().numpy(), f"{what}: the result")
    g = np.random.default_rng().uniform(0.5, 2.0, size=right.shape).round(2)
    wanted = minigrad.autograd.grad(right, theirs, minigrad.tensor(g))
    backward(out, incoming := g.copy())
    if not np.array_equal(incoming, g):
        raise Wrong(f"{what}: backward writes into the incoming gradient, which others read too: make a new array")
    plain = minigrad.autograd.grad(oracle(*theirs), theirs, minigrad.tensor(np.ones(g.shape)))
    for number, (leaf, grad, ones) in enumerate(zip(leaves, wanted, plain)):
        which = f"{what}: the gradient of argument {number}"
        if leaf.grad is None:
            raise Wrong(f"{which} is None")
        if not np.allclose(leaf.grad, grad.numpy()):
            others = [i for i, other in enumerate(wanted) if i != number and np.shape(leaf.grad) == tuple(other.shape)
                      and np.allclose(leaf.grad, other.numpy())]  # fmt: skip
            if others:
                raise Wrong(f"{which} is the one of argument {others[0]}: they are swapped")
            if np.shape(leaf.grad) == tuple(ones.shape) and np.allclose(leaf.grad, ones.numpy()):
                raise Wrong(f"{which} ignores the incoming gradient: multiply by g")
            if np.shape(leaf.grad) == tuple(grad.shape) and np.allclose(leaf.grad, -grad.numpy()):
                raise Wrong(f"{which} has the wrong sign")
        close(leaf.grad, grad.numpy(), which)
        if not np.array_equal(leaf.value, arrays[number]):
            raise Wrong(f"{what}: backward changes the value of argument {number}: make a new array")
    independent(f, arrays, Value, lambda out: backward(out, g.copy()), wanted, what)


def independent(
    f: Callable, arrays: Sequence[np.ndarray], Value: Any, backward: Callable, wanted: Any, what: str
) -> None:
    """Expect the same gradients if another call comes between forward and backward."""
    out = f(*map(Value, arrays))
    f(*[Value(a + 1) for a in arrays])
    backward(out)
    for parent, grad in zip(out.parents, wanted):
        if isinstance(parent, Value) and not np.allclose(parent.grad, grad.numpy()):
            raise Wrong(
                f"{what}: another call before backward changes the gradients: keep each call's arrays on its ctx"
            )
