"""Views share their memory: what is written through any of them reaches the base, its value and its gradient.  And
what the table of samples cannot say: errors, and which results are views.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad
from minigrad.autograd import forward_ad, grad
from minigrad.layers.batch import batched
from tests.indices import full_shapes

VIEWS = {
    "view": lambda x: x.view(3, 8),
    "reshape": lambda x: x.reshape(4, -1),
    "flatten": lambda x: x.flatten(1),
    "ravel": lambda x: x.ravel(),
    "unflatten": lambda x: x.unflatten(2, (2, 2)),
    "unsqueeze": lambda x: x.unsqueeze(-1),
    "squeeze": lambda x: x[:1].squeeze(0),
    "permute": lambda x: x.permute(2, 0, 1),
    "transpose": lambda x: x.transpose(0, 2),
    "movedim": lambda x: x.movedim(0, -1),
    "t": lambda x: x[1].t(),
    "T": lambda x: x[1].T,
    "mT": lambda x: x.mT,
    "select": lambda x: x.select(1, -1),
    "narrow": lambda x: x.narrow(2, 1, 2),
    "index": lambda x: x[:, ::2, 1],
    "split": lambda x: x.split(2, 2)[1],
    "split_with_sizes": lambda x: x.split([1, 2], 1)[1],
    "chunk": lambda x: x.chunk(2, 1)[0],
    "tensor_split": lambda x: x.tensor_split(3, 2)[0],
    "unbind": lambda x: x.unbind(1)[2],
    "diagonal": lambda x: x.diagonal(-1, 0, 2),
    "unfold": lambda x: x.unfold(2, 2, 2),
    "as_strided": lambda x: x.as_strided((2, 3), (12, 4), 1),
    "view_as": lambda x: x.view_as(minigrad.zeros(6, 4)),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "expand": lambda x: x.expand(2, 3, 4),
    "iteration": lambda x: list(x)[1],
    "atleast_3d": lambda x: minigrad.atleast_3d(x[0]),
    "views of views": lambda x: x.permute(2, 0, 1)[1:].transpose(0, 1)[:, 0].unsqueeze(0),
}


def seen(view):
    """Return the positions that a view of 24 elements shows."""
    return view(minigrad.arange(24).reshape(2, 3, 4)).numpy()


@pytest.mark.parametrize("name", VIEWS)
def test_a_write_through_a_view_reaches_the_base_and_its_gradient(name):
    view, p = VIEWS[name], seen(VIEWS[name])
    random = np.random.default_rng(0)
    a, b, g = random.standard_normal((2, 3, 4)), random.standard_normal(p.shape), random.standard_normal((2, 3, 4))
    x, v = minigrad.tensor(a).requires_grad_(), minigrad.tensor(b).requires_grad_()
    y = x * 1
    part = view(y)
    part *= v
    expected, factor = a.reshape(-1).copy(), np.ones(24)
    expected[p] *= b
    factor[p] = b
    assert part._base is y
    assert np.array_equal(y.detach().numpy().reshape(-1), expected)
    gx, gv = grad(y, (x, v), minigrad.tensor(g), retain_graph=True)
    gy = grad(part, y, minigrad.tensor(b))[0]  # the view depends on its base, not the base on the view
    assert np.allclose(gx.numpy(), g * factor.reshape(2, 3, 4))
    assert np.allclose(gv.numpy(), (g.reshape(-1) * a.reshape(-1))[p])
    wanted = np.zeros(24)
    wanted[p] = b
    assert np.allclose(gy.numpy().reshape(-1), wanted)


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_follows_a_write_to_its_base(name):
    view, p = VIEWS[name], seen(VIEWS[name])
    x = minigrad.arange(24.0).reshape(2, 3, 4).requires_grad_()
    y = x * 1
    part = view(y)
    y.mul_(3)
    y[1] = 5.0
    expected, factor = 3.0 * np.arange(24), np.full(24, 3.0)
    expected[12:], factor[12:] = 5, 0
    assert np.array_equal(part.detach().numpy(), expected[p])
    (gx,) = grad(part, x, minigrad.ones(p.shape))
    assert np.allclose(gx.numpy().reshape(-1), np.bincount(p.reshape(-1), minlength=24) * factor)


@pytest.mark.parametrize("name", VIEWS)
def test_tangents_and_batches_follow_writes_to_views(name):
    view, p = VIEWS[name], seen(VIEWS[name])
    t = np.random.default_rng(0).standard_normal(24)

    def written(x):
        y = x * 1
        view(y).mul_(minigrad.tensor(p + 2))
        return y

    with forward_ad.dual_level():
        y = written(
            forward_ad.make_dual(
                minigrad.arange(24.0, dtype=minigrad.float64).reshape(2, 3, 4), minigrad.tensor(t.reshape(2, 3, 4))
            )
        )
        found = forward_ad.unpack_dual(y).tangent.numpy().reshape(-1)
    expected = t.copy()
    expected[p] *= p + 2
    assert np.allclose(found, expected)
    xs = minigrad.arange(48.0).reshape(2, 2, 3, 4)
    together = batched(written, (xs,), (0,), 2)
    assert all(np.array_equal(together[k].numpy(), written(xs[k].clone()).numpy()) for k in range(2))


@given(st.data())
def test_reshape_of_any_layout_keeps_the_order(data):
    shape = data.draw(full_shapes)
    order = data.draw(st.permutations(range(len(shape))))
    a = np.arange(int(np.prod(shape))).reshape(shape)
    x = minigrad.tensor(a).permute(tuple(order))
    sizes = data.draw(st.permutations(shape))
    b = a.transpose(order).reshape(sizes)
    y = x.reshape(tuple(sizes))
    assert np.array_equal(y.numpy(), b)
    fits = np.may_share_memory(b, a)
    assert (y._base is not None and np.may_share_memory(y._a, x._a)) == (
        fits and bool(np.shares_memory(b, a.transpose(order)))
    ) or not fits


def test_view_refuses_memory_that_reshape_copies():
    x = minigrad.zeros(2, 3).t()
    with pytest.raises(RuntimeError, match="not compatible"):
        x.view(6)
    assert x.reshape(6).shape == (6,)
    with pytest.raises(RuntimeError):
        x.view(4)
    with pytest.raises(RuntimeError):
        minigrad.zeros(0, 3).view(-1, 0)


def test_view_as_another_dtype_shares_the_bytes():
    x = minigrad.tensor([1.0, -2.0])
    bits = x.view(minigrad.int32)
    assert bits.tolist() == [0x3F800000, -0x40000000] and bits._base is x
    bits[0] = 0
    assert x.tolist() == [0.0, -2.0]


def test_view_as_a_wider_dtype_needs_a_last_dimension_that_holds_whole_elements():
    x = minigrad.arange(8, dtype=minigrad.int32).reshape(2, 4)
    assert x.view(dtype=minigrad.int64).tolist() == [[1 << 32, 2 + (3 << 32)], [4 + (5 << 32), 6 + (7 << 32)]]
    assert x.view(minigrad.uint8).shape == (2, 16)
    for wrong in (x[:, :3], x.t(), x[0, 0]):
        with pytest.raises(RuntimeError, match="last dimension"):
            wrong.view(minigrad.int64)


def test_pytorchs_second_keywords_are_accepted():
    x = minigrad.arange(6.0).reshape(2, 3)
    assert x.sum(axis=1, keepdims=True).tolist() == [[3.0], [12.0]]
    assert x.max(axis=0).indices.tolist() == [1, 1, 1]
    assert minigrad.cat(tensors=(x, x), axis=1).shape == (2, 6)
    assert minigrad.permute(input=x, dims=(1, 0)).shape == x.permute(dims=(1, 0)).shape == (3, 2)
    assert x.reshape(shape=(3, 2)).shape == x.view(size=(3, 2)).shape == (3, 2)
    assert x[:1].expand(size=(4, 3)).shape == (4, 3) and x.repeat(repeats=(2, 1)).shape == (4, 3)
    assert x.split(split_size=1)[1].tolist() == [[3.0, 4.0, 5.0]] and x[0].broadcast_to(4, 3).shape == (4, 3)
    assert minigrad.arange(end=3).tolist() == [0, 1, 2]
    out = minigrad.empty(0)
    assert minigrad.sum(x, axis=0, out=out) is out and out.tolist() == [3.0, 5.0, 7.0]
    with pytest.raises(TypeError, match="twice"):
        x.sum(dim=0, axis=0)
    with pytest.raises(TypeError, match="unexpected keyword"):
        x.exp(axis=0)


def test_as_strided_and_unfold_add_gradients_where_windows_overlap_to_any_order():
    x = minigrad.tensor([1.0, 2.0, 3.0, 4.0], dtype=minigrad.float64).requires_grad_()
    for windows in (x.unfold(0, 3, 1), x.as_strided((2, 3), (1, 1))):
        (g,) = grad((windows**3).sum(), x, create_graph=True)
        assert g.tolist() == [3.0, 24.0, 54.0, 48.0]
        assert grad(g.sum(), x)[0].tolist() == [6.0, 24.0, 36.0, 24.0]


STRIDES = [((2, 3), (3, 1), 0), ((3, 2), (1, 3), 5), ((2, 2), (1, 2), 1), ((3, 3), (1, 1), 0), ((3,), (0,), 2),
           ((2, 2, 2), (12, 4, 1), 3), ((), (), 7), ((0, 3), (1, 1), 0), ((4, 1, 3), (6, 0, 2), 0)]  # fmt: skip


@pytest.mark.parametrize("view", STRIDES)
def test_gradients_of_as_strided_are_equal_on_arrays_and_tensors(view):
    x = minigrad.randn(4, 6, dtype=minigrad.float64, requires_grad=True)
    for part in (x, (x * 2)[:, 1:4].contiguous(), (x * 2).reshape(-1)[2:]):
        if view[2] + sum((n - 1) * s for n, s in zip(*view[:2])) < part.numel():
            y = part.as_strided(*view)
            g = minigrad.randn(y.shape, dtype=minigrad.float64)
            once, again = (grad(y, x, g, retain_graph=True, create_graph=created)[0] for created in (False, True))
            assert once.tolist() == again.tolist()


def test_as_strided_of_a_transposed_tensor_finds_the_elements_in_memory():
    x = minigrad.arange(6.0).reshape(2, 3).requires_grad_()
    y = x.t()
    z = y.as_strided((2, 2), (1, 3), 1)
    assert z.tolist() == [[1.0, 4.0], [2.0, 5.0]]
    assert grad(z, x, minigrad.tensor([[1.0, 2.0], [3.0, 4.0]]))[0].tolist() == [[0, 1, 3], [0, 2, 4]]


def test_a_tensor_changes_its_own_shape_and_views_keep_theirs():
    x = minigrad.tensor([[1.0, 2.0, 3.0]]).requires_grad_()
    y = x * 1
    y.t_().squeeze_(1).unsqueeze_(0).transpose_(0, 1)
    assert y.shape == (3, 1) and y._base is None
    assert grad(y, x, minigrad.tensor([[1.0], [2.0], [3.0]]))[0].tolist() == [[1.0, 2.0, 3.0]]
    row = y[0]
    assert y.t_().shape == (1, 3) and row.tolist() == [1.0]
    with pytest.raises(RuntimeError, match="leaf"):
        x.t_()


@pytest.mark.parametrize("change", ["y.t_()", "minigrad.add(minigrad.ones(3, 1), 1, out=y)", "y.unsqueeze_(0)"])
@pytest.mark.filterwarnings("ignore::minigrad.errors.MinigradWarning")
def test_a_saved_tensor_that_changes_its_shape_is_detected(change):
    y, w = minigrad.tensor([[1.0, 2.0, 3.0]]), minigrad.ones(1, 3, requires_grad=True)
    z = (y * w).sum()
    eval(change, {"minigrad": minigrad, "y": y})
    with pytest.raises(RuntimeError, match="modified"):
        z.backward()


def test_a_reshape_that_copies_is_no_view():
    x = minigrad.arange(6.0).requires_grad_()
    for y in (x.view(2, 3).t().reshape(6), x.repeat(2), x.view(2, 3).t().flatten()):
        assert y._base is None and not y._is_view() and y.data_ptr() != x.data_ptr()
        y.mul_(3.0)
    assert grad(x.view(2, 3).t().reshape(6).mul_(2.0)[:2].sum(), x)[0].tolist() == [2, 0, 0, 2, 0, 0]
    assert (x * 1).reshape(2, 3)._base is not None


def test_a_tangent_with_another_layout_is_reshaped():
    x, t = minigrad.ones(2, 3), minigrad.arange(6.0).reshape(3, 2).T
    assert minigrad.func.jvp(lambda x: x.view(6), (x,), (t,))[1].tolist() == [0, 2, 4, 1, 3, 5]
    rows = minigrad.ones(1).expand(3)  # all of whose rows are one place in memory, but not those of its tangent
    out = minigrad.func.jvp(lambda x: x.reshape(3, 1).expand(3, 2).reshape(-1), (rows,), (minigrad.arange(3.0),))[1]
    assert out.tolist() == [0, 0, 1, 1, 2, 2]


@pytest.mark.cpu("a kernel for GPUs knows 32 dimensions")
@pytest.mark.parametrize("n", [2, 70_000])
def test_64_dimensions_are_broadcast(n):
    x, y = minigrad.ones((1,) * 63 + (n,), requires_grad=True), minigrad.ones((1,) * 62 + (2, 1))
    out = minigrad.atan2(x, y) + x * y
    assert out.shape == (1,) * 62 + (2, n)
    assert minigrad.autograd.grad(out.sum(), x)[0].shape == x.shape
    with pytest.raises(RuntimeError, match="cannot be broadcast"):
        minigrad.ones((1,) * 63 + (2,)) * minigrad.ones((1,) * 63 + (3,))


@pytest.mark.parametrize("n", [1, 2, 3, 8, 9])
def test_a_tensor_expanded_along_a_short_last_dimension_is_copied(n):
    x = minigrad.arange(12.0).reshape(3, 4)
    repeated = x.unsqueeze(-1).expand(3, 4, n)
    copy = repeated.clone()
    assert copy.is_contiguous() and np.array_equal(copy.numpy(), np.repeat(x.numpy()[..., None], n, -1))


def test_the_gradient_of_an_expanded_tensor_is_as_accurate_as_a_sum():
    g = np.random.default_rng(0).random((200_000, 3), "f4")
    x = minigrad.zeros(3, requires_grad=True)
    for use in (lambda x: x.expand(200_000, 3), lambda x: minigrad.zeros(200_000, 3) + x):
        (found,) = minigrad.autograd.grad(use(x), x, minigrad.tensor(g))
        np.testing.assert_allclose(found.numpy(), g.astype("f8").sum(0), rtol=1e-6)
