"""Under jacrev, a backward computes several gradients at once: formulas give all of them, as they stand beside them."""

import numpy as np
import pytest

import minigrad
from minigrad import func
from minigrad.nn import functional as F

from .evaluated import check, read

RANDOM = np.random.default_rng(0)
W = minigrad.tensor(RANDOM.standard_normal((3, 4)))
V = minigrad.tensor(RANDOM.uniform(0.5, 1.5, 4))

FUNCTIONS = {
    "tanh of a product": lambda x: (W @ x).tanh(),
    "softmax": lambda x: (W @ x).softmax(0),
    "elements": lambda x: minigrad.stack([x[0] * x[1], x[2:].sum(), x[3]]),
    "matrix": lambda x: (x.unsqueeze(0) * x.unsqueeze(1) + W[:1])[:2],
    "norm": lambda x: F.layer_norm(x, (4,)) * x.norm(),
    "cat": lambda x: minigrad.cat([x, x * 2]).log_softmax(-1)[2:5],
    "cumsum": lambda x: (x.cumsum(0) * x.flip(0)).T,
    "linear": lambda x: F.linear(x, W, x[:3]).relu(),
    "expand": lambda x: (x.expand(3, 4) * W).std(1),
    "indices": lambda x: x[minigrad.tensor([0, 2, 2])] ** 2,
    "square": lambda x: (x[:2].unsqueeze(1) * x[2:]) @ x[:2],
    "number": lambda x: (x * x).sum().exp(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_formulas_of_several_gradients_at_once_give_all_of_them(name):
    made, arrays = read(minigrad.record(func.jacrev(FUNCTIONS[name]), V.clone(), passes=("forward",)))
    assert check(made, arrays, calls=name != "norm") > 1  # the rule of a norm reads more than its call gives


def test_a_jacobian_of_two_arguments_has_labels_that_evaluate():
    program = func.jacrev(lambda x, y: (x * y).sin()[:3] * x[0], argnums=(0, 1))
    made, arrays = read(minigrad.record(program, V.clone(), V * 2, passes=("forward",)))
    assert check(made, arrays)
