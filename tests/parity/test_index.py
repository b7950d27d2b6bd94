"""Random index expressions in PyTorch and in minigrad: what is read, what writing changes, and both gradients."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

import minigrad
from tests.indices import given_to, index_arrays, indices, positions, shapes


def in_both(f):
    """Return f's results, tensors as arrays, with each library."""

    def plain(result):
        return [np.asarray(t.detach().numpy()) for t in result]

    return plain(f(torch)), plain(f(minigrad))


@given(st.data())
def test_reading_and_its_gradient(data):
    shape = data.draw(shapes)
    index = data.draw(indices(shape))

    def read(module):
        x = module.arange(float(np.prod(shape))).reshape(shape).requires_grad_()
        y = x[given_to(module, index)]
        (y * module.arange(float(y.numel())).reshape(y.shape)).sum().backward()
        return y, x.grad

    for theirs, ours in zip(*in_both(read)):
        assert theirs.shape == ours.shape and np.array_equal(theirs, ours)


@given(st.data())
def test_writing_and_its_gradients(data):
    shape = data.draw(shapes)
    index = data.draw(indices(shape))
    p = positions(shape, index)
    number = data.draw(st.booleans())

    def write(module):
        x = module.arange(float(np.prod(shape))).reshape(shape).requires_grad_()
        v = module.arange(100.0, 100.0 + p.size).reshape(p.shape).requires_grad_()
        y = x * 1
        y[given_to(module, index)] = 7.0 if number else v
        (y * module.arange(float(y.numel())).reshape(shape)).sum().backward()
        once = len(np.unique(p)) == p.size  # PyTorch's gradients of what is written to one place are undefined
        value = y if number or once else x
        return (value, x.grad, v.grad) if once and not number else (value, x.grad)

    for theirs, ours in zip(*in_both(write)):
        assert theirs.shape == ours.shape and np.array_equal(theirs, ours)


@given(st.data())
def test_accumulating_with_repeated_places(data):
    shape = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple))
    common = data.draw(st.sampled_from(((3,), (2, 3))))
    at = [data.draw(index_arrays(n, common)) for n in shape[: data.draw(st.integers(1, len(shape)))]]

    def add(module):
        x = module.zeros(shape).requires_grad_()
        places = tuple(module.tensor(i) for i in at)
        v = module.ones(x.detach()[places].shape).requires_grad_()
        y = x.index_put(places, v, accumulate=True)
        (y * y).sum().backward()
        return y, x.grad, v.grad

    for theirs, ours in zip(*in_both(add)):
        assert np.array_equal(theirs, ours)
