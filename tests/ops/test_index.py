"""Reading and writing by index, against a model of positions in NumPy (tests/indices.py)."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad
from minigrad.autograd import forward_ad, grad
from minigrad.layers.batch import batched
from minigrad.ops import index as index_module
from tests.indices import given_to, indices, positions, shapes

BASIC = ("int", "slice", "none")


def numbers(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def tracked(a):
    return minigrad.tensor(a).requires_grad_()


@given(st.data())
def test_reading_shows_the_positions_and_its_gradient_counts_them(data):
    shape = data.draw(shapes)
    index = data.draw(indices(shape))
    p = positions(shape, index)
    a = numbers(shape)
    x = tracked(a)
    y = x[given_to(minigrad, index)]
    assert y.shape == p.shape
    assert np.array_equal(y.detach().numpy(), a.reshape(-1)[p])
    g = numbers(p.shape, 1)
    (gx,) = grad(y, x, minigrad.tensor(g))
    expected = np.bincount(p.reshape(-1), g.reshape(-1), a.size)[: a.size].reshape(shape)
    assert np.allclose(gx.numpy(), expected)


@given(st.data())
def test_writing_a_tensor_changes_the_positions_and_divides_the_gradient(data):
    shape = data.draw(shapes)
    index = data.draw(indices(shape))
    p = positions(shape, index)
    small = tuple(data.draw(st.sampled_from((1, n))) for n in p.shape[data.draw(st.integers(0, p.ndim)) :])
    a, b, g = numbers(shape), numbers(small, 1), numbers(shape, 2)
    x, v = tracked(a), tracked(b)
    y = x * 1
    y[given_to(minigrad, index)] = v
    touched = np.zeros(a.size, bool)
    touched[p] = True
    assert np.array_equal(y.detach().numpy().reshape(-1)[~touched], a.reshape(-1)[~touched])
    last = np.zeros(a.size, int)  # which of the values stays at each place
    last[p.reshape(-1)] = np.arange(p.size)
    stays = (last[p.reshape(-1)] == np.arange(p.size)).reshape(p.shape)
    assert np.array_equal(y.detach().numpy().reshape(-1)[p[stays]], np.broadcast_to(b, p.shape)[stays])
    gx, gv = grad(y, (x, v), minigrad.tensor(g))
    assert np.array_equal(gx.numpy(), np.where(touched.reshape(shape), 0, g))
    at = g.reshape(-1)[p] * stays
    assert np.allclose(gv.numpy(), sum_to(at, small))


def sum_to(a, shape):
    a = a.sum(tuple(range(a.ndim - len(shape))))
    return a.sum(tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True).reshape(shape)


@given(st.data())
def test_writing_a_number_and_augmented_assignment(data):
    shape = data.draw(shapes)
    index = data.draw(indices(shape))
    p = positions(shape, index)
    a = numbers(shape)
    x = minigrad.tensor(a)
    x[given_to(minigrad, index)] = 2.5
    expected = a.reshape(-1).copy()
    expected[p] = 2.5
    assert np.array_equal(x.numpy(), expected.reshape(shape))
    x[given_to(minigrad, index)] *= 2
    expected[p] = 5.0
    assert np.array_equal(x.numpy(), expected.reshape(shape))


@given(st.data())
def test_basic_indices_give_views_others_copies(data):
    shape = data.draw(shapes.filter(lambda s: 0 not in s))
    index = data.draw(indices(shape, BASIC))
    x = minigrad.zeros(shape)
    part = x[given_to(minigrad, index)]
    part += 1
    assert part._base is x
    assert float(x.sum()) == part.numel()
    some = x[[0] if x.ndim else True]
    some += 1
    assert float(x.sum()) == part.numel()


@given(st.data())
def test_a_layout_that_is_not_contiguous_makes_no_difference(data):
    shape = data.draw(shapes)
    index = data.draw(indices(shape))
    a = numbers(shape[::-1]).transpose()
    x = minigrad.tensor(a.transpose().copy()).permute(tuple(range(len(shape)))[::-1])
    p = positions(shape, index)
    assert np.array_equal(x[given_to(minigrad, index)].numpy(), a.reshape(-1)[p])
    x[given_to(minigrad, index)] = 1.0
    flat = a.reshape(-1).copy()
    flat[p] = 1.0
    assert np.array_equal(x.numpy(), flat.reshape(shape))


def test_repeated_indices_accumulate_the_gradient_to_any_order():
    x = tracked(np.array([2.0, 3.0]))
    y = x[[0, 0, 1]] ** 3
    (g,) = grad(y.sum(), x, create_graph=True)
    (gg,) = grad(g.sum(), x)
    assert g.tolist() == [24.0, 27.0] and gg.tolist() == [24.0, 18.0]


def test_tangents_follow_reading_and_writing():
    a, t = numbers((3, 4)), numbers((3, 4), 1)
    with forward_ad.dual_level():
        x = forward_ad.make_dual(minigrad.tensor(a), minigrad.tensor(t)) * 1
        read = forward_ad.unpack_dual(x[:, [0, 0, 3]]).tangent.numpy()
        x[[0, 1], [2, 3]] = x[2, :2] * 2
        x[2] = 1.0
        wrote = forward_ad.unpack_dual(x).tangent.numpy()
    expected = t.copy()
    expected[[0, 1], [2, 3]], expected[2] = 2 * t[2, :2], 0
    assert np.array_equal(read, t[:, [0, 0, 3]])
    assert np.array_equal(wrote, expected)


READS = [
    lambda x, i, j: x[i],
    lambda x, i, j: x[:, i],
    lambda x, i, j: x[i, j],
    lambda x, i, j: x[:, i, j],
    lambda x, i, j: x[i, :, j],
    lambda x, i, j: x[:, :, i.reshape(3, 1)],
    lambda x, i, j: x[..., i, :],
    lambda x, i, j: x[0, :, j],
    lambda x, i, j: x[i[0], :, 1:],
    lambda x, i, j: x[:, None, i, None, j],
]


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("mask", range(1, 8))
def test_vmap_of_reading_and_writing_is_a_loop(read, mask):
    random = np.random.default_rng(mask)
    args = [numbers((2, 3, 3, 3)), random.integers(-3, 3, (2, 3)), random.integers(0, 3, (2, 3))]
    dims = [0 if mask >> k & 1 else None for k in range(3)]
    given_ = [minigrad.tensor(a if d == 0 else a[0]) for a, d in zip(args, dims)]

    def one(k):
        return [t if d is None else t[k] for t, d in zip(given_, dims)]

    found = batched(read, tuple(given_), tuple(dims), 2)
    for k in range(2):
        assert np.array_equal(found[k].numpy(), read(*one(k)).numpy())

    def gradient(x, i, j):
        x = x.detach().requires_grad_() if x._layer is None else x
        weights = minigrad.arange(float(read(x, i, j).numel())).reshape(read(x, i, j).shape)
        return minigrad.func.grad(lambda x: (read(x, i, j) * weights).sum())(x)

    found = batched(gradient, tuple(given_), tuple(dims), 2)
    for k in range(2):
        assert np.allclose(found[k].numpy(), gradient(*one(k)).numpy())


WRITES = [
    lambda x, i, v: x.__setitem__(i, v),
    lambda x, i, v: x.__setitem__((slice(None), i), v[:, None]),
    lambda x, i, v: x.__setitem__(0, v),
    lambda x, i, v: x.__setitem__((i, slice(None), i), v),
    lambda x, i, v: x.__setitem__((slice(1, None), i, i), v),
    lambda x, i, v: x[1].__setitem__(i, v),
    lambda x, i, v: x.index_add_(1, i, x * 2 + v),
    lambda x, i, v: x.index_put_((i, i), v, accumulate=True),
    lambda x, i, v: x.masked_fill_(v > 0, 3.0),
    lambda x, i, v: x.scatter_add_(0, i.expand(3, 3, 3), x * 2),
    lambda x, i, v: x.__setitem__(x > 0, v.sum()),
]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("mask", (1, 3, 5, 7))
def test_vmap_of_writing_is_a_loop(write, mask):
    args = [numbers((2, 3, 3, 3)), np.array([[2, 0, 1], [1, 2, 0]]), numbers((2, 3), 1)]
    dims = [0 if mask >> k & 1 else None for k in range(3)]
    given_ = [minigrad.tensor(a if d == 0 else a[0]) for a, d in zip(args, dims)]

    def written(x, i, v):
        x = x.clone()
        write(x, i, v)
        return x

    found = batched(written, tuple(given_), tuple(dims), 2)
    for k in range(2):
        assert np.allclose(found[k].numpy(), written(*[t if d is None else t[k] for t, d in zip(given_, dims)]).numpy())


@pytest.mark.parametrize(
    "index, kind",
    [
        (3, IndexError),
        (-4, IndexError),
        ((0, 0, 0), IndexError),
        ([0, 5], IndexError),
        (1.0, IndexError),
        (slice(None, None, -1), ValueError),
        (slice(0, 1.5), TypeError),
        ("a", TypeError),
        (([0, 1], [0, 1, 2]), IndexError),
        (minigrad.tensor([True, False]), IndexError),
        (minigrad.tensor([0.0]), IndexError),
        (minigrad.tensor([0], dtype=minigrad.int16), IndexError),
    ],
)
def test_a_wrong_index_raises_pytorchs_exception_type(index, kind):
    x = minigrad.zeros(3, 4)
    with pytest.raises(kind):
        x[index]
    with pytest.raises(kind):
        x[index] = 1.0
    assert x.is_cuda or float(x.sum()) == 0  # a kernel looks at an index when it comes to it


def test_writing_to_a_leaf_or_an_expanded_tensor_is_refused():
    with pytest.raises(RuntimeError, match="leaf"):
        tracked(np.zeros(3))[0] = 1.0
    with pytest.raises(RuntimeError, match="single memory location"):
        minigrad.zeros(1).expand(3)[[0]] = 1.0


def test_an_index_changed_between_forward_and_backward_is_detected():
    x, i = tracked(np.zeros(3)), minigrad.tensor([0, 1])
    y = x[i]
    i += 1
    with pytest.raises(RuntimeError, match="modified"):
        y.sum().backward()


def test_a_small_integer_tensor_is_an_index():
    assert minigrad.arange(3)[minigrad.tensor(1, dtype=minigrad.int8)].item() == 1


@pytest.mark.parametrize(
    ("shape", "wrap"), [((3, 3), False), ((7, 3), False), ((7, 3), True), ((3, 7), True), ((2, 2, 2), False)]
)
def test_fill_diagonal(shape, wrap):
    a = np.zeros(shape)
    np.fill_diagonal(a, 5.0, wrap=wrap)
    assert minigrad.zeros(shape).fill_diagonal_(5.0, wrap).tolist() == a.tolist()
    with pytest.raises(RuntimeError, match="fill_diagonal_"):
        minigrad.zeros(2, 3, 4).fill_diagonal_(1.0)


PLACES = minigrad.tensor([0, 0, 2, 0])
WRITES = {
    "scatter": lambda s: minigrad.zeros(3).scatter(0, PLACES, s),
    "index_put": lambda s: minigrad.zeros(3).index_put((PLACES,), s),
    "index_copy": lambda s: minigrad.zeros(3).index_copy(0, PLACES, s),
    "setitem": lambda s: written_at(PLACES, s),
}


def written_at(places, s):
    x = minigrad.zeros(3) * s.sum()
    x[places] = s
    return x


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_an_overwritten_value_has_no_gradient(write):
    s = minigrad.tensor([1.0, 2.0, 3.0, 4.0])
    assert write(s).tolist() == [4.0, 0.0, 3.0]
    forward, backward = minigrad.func.jacfwd(write)(s), minigrad.func.jacrev(write)(s)
    assert forward.tolist() == backward.tolist() == [[0.0, 0.0, 0.0, 1.0], [0.0] * 4, [0.0, 0.0, 1.0, 0.0]]
    many = minigrad.func.vmap(minigrad.func.grad(lambda s: write(s).sum()))(minigrad.stack([s, 2 * s]))
    assert many.tolist() == [[0.0, 0.0, 1.0, 1.0]] * 2
    assert minigrad.func.linearize(write, s)[1](s).tolist() == [4.0, 0.0, 3.0]


def test_adding_at_a_list_of_indices_counts_a_repeated_index_once():
    x = tracked(np.array([1.0, 2.0, 3.0]))
    y = x * 1
    y[[0, 0, 2]] += 10
    assert y.tolist() == [11.0, 2.0, 13.0]
    assert grad(y.sum(), x)[0].tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "shape", [(0,), (0, 3), (3, 0, 2), (1,), (5,), (1, 1), (3, 4), (4, 1, 3), (2, 1, 3, 4), (41, 50)]
)
def test_nonzero_indices_are_in_row_major_order(shape):
    for dtype in ("bool", "int64", "float32"):
        a = np.random.default_rng(0).integers(-1, 2, shape).astype(dtype)
        for x in (a, a.T, a[::-1], np.broadcast_to(a, (2, *shape))):
            found = minigrad.nonzero(minigrad.tensor(x))
            assert found.dtype == minigrad.int64 and found.tolist() == np.argwhere(x).tolist()
    assert minigrad.nonzero(minigrad.tensor([math.nan, 0.0, -0.0, math.inf])).tolist() == [[0], [3]]


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 2), (0, 3), (60, 50)])
def test_a_mask_of_the_whole_tensor_selects_and_its_gradient_is_the_mask(shape):
    a = np.random.default_rng(1).normal(size=shape)
    x = tracked(a)
    for index in (x > 0, (x > 0,), (x > 0, ...)):
        chosen = x[index]
        assert chosen.tolist() == a[a > 0].tolist()
        assert grad(chosen.square().sum(), x)[0].tolist() == (2 * a * (a > 0)).tolist()
    assert x.masked_select(x > 0).tolist() == a[a > 0].tolist()


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float16", "bfloat16", "float32", "float64"])
def test_triangles_keep_the_dtype(dtype):
    a = np.random.default_rng(2).integers(-3, 4, (2, 4, 3))
    for x in (minigrad.tensor(a).to(getattr(minigrad, dtype)), minigrad.tensor(a).to(getattr(minigrad, dtype)).mT):
        values = np.array(x.tolist())
        for d in (-7, -1, 0, 2, 9):
            for ours, numpys in ((x.tril(d), np.tril(values, d)), (x.triu(d), np.triu(values, d))):
                assert ours.dtype == x.dtype and ours.is_contiguous() and ours.tolist() == numpys.tolist()


def test_an_index_far_out_of_range_is_refused():
    x = minigrad.zeros(2, 3)
    for call in (lambda i: x.select(0, i), lambda i: x.select_scatter(minigrad.ones(3), 0, i), lambda i: x[i]):
        for index in (2**70, -(2**70)):
            with pytest.raises(minigrad.errors.IndexError, match="out of"):
                call(index)


def sums_of_parts(x, z, order):
    """Terms that read x whole and in parts, added up in an order; some gradients are shared with z."""
    terms = [
        lambda: x[0] * z[1],
        lambda: x[1, ::2].sum() * z[0],
        lambda: x[:, 1:3].square().sum() + z[2],
        lambda: (x + z).sum(0),
        lambda: x[..., None, -1].cumsum(0).sum() + x.unbind(1)[0].sum(),
        lambda: (x * x).sum(1)[:2].prod() * z[1:2],
    ]
    return sum(terms[i]().sum() for i in order)


@pytest.mark.parametrize("computed", [False, True])
def test_gradients_of_parts_add_up_in_any_order(computed):
    start = np.random.default_rng(0).standard_normal((2, 3, 4))
    for order in [(0, 1, 2, 3, 4, 5), (3, 0, 1), (0, 3, 1), (1, 0, 3, 5, 2), (3, 3, 2, 0), (5, 4, 2, 2, 0), (3,), (0,)]:
        x, z = (minigrad.tensor(a, requires_grad=True) for a in start)
        whole = x * 1 if computed else x
        loss = sums_of_parts(whole, z, order)
        again = grad(loss, (x, z), create_graph=True)
        once = grad(loss, (x, z), retain_graph=True)
        loss.backward()
        for a, b, c in zip(again, once, (x.grad, z.grad)):
            assert np.allclose(a.detach().numpy(), b.numpy(), atol=1e-14) and np.array_equal(b.numpy(), c.numpy())


def test_parts_leave_gradients_that_others_hold_as_they_are():
    x = minigrad.ones(3, requires_grad=True)
    y, seen = x * 2, []
    z = y * 1
    z.register_hook(seen.append)
    z.retain_grad()
    ((y + z) * minigrad.arange(3.0) + y[0] + y[2]).sum().backward()  # y + z has one gradient for both
    assert seen[0].tolist() == z.grad.tolist() == [0.0, 1.0, 2.0]
    assert x.grad.tolist() == [6.0, 4.0, 14.0]


@pytest.mark.parametrize("computed", [False, True])
@pytest.mark.parametrize("n", [3, 3000])  # the gradient of many elements is spread as a view of one number
def test_a_part_is_added_to_the_gradient_of_a_sum(n, computed):
    x = minigrad.ones(n, 3, requires_grad=True)
    whole = x * 1 if computed else x
    part, total = whole[0], whole.sum()  # the sum is younger: its gradient arrives first
    (part.sum() + total).backward()
    assert x.grad.tolist() == [[2.0] * 3, *[[1.0] * 3] * (n - 1)]


def test_a_loop_over_parts_makes_one_array_for_their_gradients(monkeypatch):
    made, make = [], index_module.zeros
    monkeypatch.setattr(index_module, "zeros", lambda *args: made.append(args) or make(*args))
    for parts in (lambda x: [x[i] for i in range(50)], lambda x: x.unbind(), lambda x: x.T.split(1, 1)):
        x = minigrad.randn(50, 3, requires_grad=True)
        made.clear()
        sum((part * i).sum() for i, part in enumerate(parts(x * 1))).backward()
        assert len(made) == 1
        assert x.grad.tolist() == [[float(i)] * 3 for i in range(50)]


@pytest.mark.parametrize("many", (10, 5000))
@pytest.mark.parametrize("dtype", (np.int64, np.int32))
def test_few_and_many_indices_read_and_add_the_same_elements(many, dtype):
    rng = np.random.default_rng(0)
    x, i, j = rng.standard_normal((6, 7)), *[rng.integers(-n, n, many).astype(dtype) for n in (6, 7)]
    x, rows, columns = minigrad.tensor(x, requires_grad=True), minigrad.tensor(i), minigrad.tensor(j)
    y = x[rows, columns]
    assert np.array_equal(y.detach().numpy(), x.detach().numpy()[i, j])
    counts = np.zeros((6, 7))
    np.add.at(counts, (i, j), 1)
    for created in (False, True):  # on arrays, and on tensors
        assert np.array_equal(grad(y.sum(), x, create_graph=created, retain_graph=True)[0].numpy(), counts)
    rows[-1] = 6
    for refused in (lambda: x[rows, columns], lambda: x.index_put((rows, columns), y, accumulate=True)):
        with pytest.raises(IndexError, match="index 6 is out of bounds for dimension 0 with size 6"):
            refused()
