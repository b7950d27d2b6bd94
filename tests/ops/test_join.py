"""Joining, cutting and padding, against NumPy, and what the table of samples cannot say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad
from minigrad.autograd import grad
from tests.indices import full_shapes


@given(st.data())
def test_cat_of_split_is_the_tensor(data):
    shape = data.draw(full_shapes.filter(bool))
    d = data.draw(st.integers(-len(shape), len(shape) - 1))
    a = np.arange(np.prod(shape)).reshape(shape)
    x = minigrad.tensor(a)
    size = data.draw(st.integers(1, 5))
    cuts = sorted(data.draw(st.lists(st.integers(0, shape[d]), max_size=3)))
    for parts in (x.split(size, d), x.chunk(size, d), x.tensor_split(size, d), x.tensor_split(cuts, d)):
        assert np.array_equal(minigrad.cat(parts, d).numpy(), a)
        assert all(part._base is x for part in parts)
    assert np.array_equal(minigrad.stack(x.unbind(d), d).numpy(), a)
    assert [p.shape[d] for p in x.tensor_split(size, d)] == [p.shape[d] for p in np.array_split(a, size, d)]


@given(
    st.lists(st.sampled_from([(0,), (2, 3), (1, 3), (0, 3)]), min_size=1, max_size=4),
    st.sampled_from(["float32", "int64", "bool"]),
)
def test_cat_skips_empty_vectors_and_promotes(shapes, kind):
    xs = [minigrad.ones(s, dtype=getattr(minigrad, kind) if i == 0 else minigrad.int32) for i, s in enumerate(shapes)]
    rows = [x.numpy() for x in xs if x.shape != (0,)]
    found = minigrad.cat(xs, 0)
    assert found.shape == (np.concatenate(rows).shape if rows else (0,))
    expected = {"float32": "float32", "int64": "int64", "bool": "int32"}[kind] if len(xs) > 1 else kind
    assert found.dtype.name == expected


def test_the_gradient_of_one_tensor_joined_twice_adds_up():
    x = minigrad.tensor([1.0, 2.0]).requires_grad_()
    y = minigrad.cat([x, x * x, minigrad.zeros(1)])
    (g,) = grad((y * minigrad.arange(5.0)).sum(), x, create_graph=True)
    assert g.tolist() == [4.0, 13.0]
    assert grad(g.sum(), x)[0].tolist() == [4.0, 6.0]
    (g,) = grad(minigrad.stack([x, x], 1).sum(), x)
    assert g.tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    "mode, numpys", [("constant", "constant"), ("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")]
)
@pytest.mark.parametrize("widths", [(1, 2), (0, 3, 2, 1), (3, 0)])
def test_pad_is_numpys(mode, numpys, widths):
    a = np.random.default_rng(0).standard_normal((2, 2, 4, 5)[: 2 + len(widths) // 2])
    pairs = [(0, 0)] * 2 + [widths[k : k + 2] for k in range(0, len(widths), 2)][::-1]
    pad = minigrad.ops.pad.pad
    assert np.array_equal(pad(minigrad.tensor(a), widths, mode).numpy(), np.pad(a, pairs, mode=numpys))


def test_negative_padding_cuts():
    x = minigrad.arange(5.0).requires_grad_()
    y = minigrad.ops.pad.pad(x, (-1, 2), value=9.0)
    assert y.tolist() == [1.0, 2.0, 3.0, 4.0, 9.0, 9.0]
    assert grad(y.sum(), x)[0].tolist() == [0.0, 1.0, 1.0, 1.0, 1.0]


@given(full_shapes, st.data())
def test_tile_and_repeat_interleave_are_numpys(shape, data):
    a = np.arange(np.prod(shape)).reshape(shape)
    times = tuple(data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=4)))
    assert np.array_equal(minigrad.tensor(a).tile(times).numpy(), np.tile(a, times))
    n = data.draw(st.integers(0, 3))
    d = data.draw(st.none() | st.integers(-a.ndim, a.ndim - 1)) if a.ndim else None
    assert np.array_equal(minigrad.tensor(a).repeat_interleave(n, d).numpy(), np.repeat(a, n, d))


def test_other_spellings_of_arguments_name_the_node_too():
    x = minigrad.ones(3, 4, requires_grad=True)
    assert [t.shape for t in x.split(split_size=2)] == [(2, 4), (1, 4)]
    assert x.split(split_size=2, axis=1)[0].grad_fn.name() == "SplitBackward0"
    assert x.split(split_size=[1, 2])[1].grad_fn.name() == "SplitWithSizesBackward0"
    filled = x.index_fill(axis=0, index=minigrad.tensor([0]), value=1.5)
    assert filled.grad_fn.name() == "IndexFillBackward0"
