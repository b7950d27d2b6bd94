"""An answer that runs autograd is refused where the exercise forbids it, although its numbers are right."""

import re

import pytest

import lessons
import minigrad as torch
from lessons import expect
from lessons.bank import entries
from lessons.exercise import Wrong
from minigrad.autograd import forward_ad

from .test_bank import answer

FORBIDS = re.compile(r"without autograd|no autograd|Do not use autograd")
X = torch.tensor([3.0, 1.0])


def backward(x):
    with torch.enable_grad():
        leaf = x.detach().clone().requires_grad_()
        (leaf * leaf).sum().backward()
        return leaf.grad


def of_square(transform):
    return transform(lambda x: (x * x).sum())


def duals(x):
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(forward_ad.make_dual(x, x) * 2).tangent


WAYS = {
    "backward": backward,
    "duals": duals,
    "jvp": lambda x: torch.func.jvp(lambda x: x * x, (x,), (x,))[1],
    "vjp": lambda x: torch.func.vjp(lambda x: x * x, x)[1](x)[0],
    "linearize": lambda x: torch.func.linearize(lambda x: x * x, x)[1](x),
    **{
        name: of_square(getattr(torch.func, name)) for name in ("grad", "jacrev", "jacfwd", "hessian", "grad_and_value")
    },
    "functional": lambda x: torch.autograd.functional.jacobian(lambda x: x * x, x),
}


@pytest.mark.parametrize("name", WAYS)
def test_each_way_to_a_derivative_is_refused_and_formulas_are_not(name):
    WAYS[name](X)
    with pytest.raises(Wrong, match="your code runs autograd"):
        expect.by_hand(WAYS[name])(X)
    assert expect.by_hand(torch.vmap(lambda x: 2 * x))(X).tolist() == [6.0, 2.0]
    assert expect.by_hand(3.0) == 3.0


def test_an_error_that_an_answer_catches_hides_nothing():
    def quiet(x):
        try:
            return backward(x)
        except Exception:
            return 2 * x

    with pytest.raises(Wrong):
        expect.by_hand(quiet)(X)


def cheating(right):
    """Return an answer with the same numbers that also runs autograd."""
    if not isinstance(right, type):
        return lambda *args: (backward(X), right(*args))[1]

    class Cheating(right):
        @staticmethod
        def backward(ctx, *gs):
            backward(X)
            return right.backward(ctx, *gs)

    return Cheating


CODE = [one for one in entries().values() if one.task("ada").start != f"{one.name} = ..."]


@pytest.mark.parametrize("one", [one for one in CODE if FORBIDS.search(one.task("ada").text)], ids=lambda one: one.name)
def test_an_exercise_that_forbids_autograd_refuses_it(one):
    right = answer(one.task("ada").solution, one.name)
    verdict = lessons.check(one.name, cheating(right), "ada")
    assert verdict.status == "wrong" and "your code runs autograd" in verdict.message
    assert verdict.mistake == "runs autograd"
