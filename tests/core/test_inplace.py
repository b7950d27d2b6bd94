"""In-place writes: what they compute, and where minigrad goes further than PyTorch, which refuses them."""

import operator

import numpy as np
import pytest

import minigrad
from tests.functions import custom


def test_write_to_one_of_several_views_of_a_split():
    x = minigrad.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    y = x * 1
    first, second = y.split(2)
    first.mul_(second)
    (y * minigrad.tensor([1.0, 10.0, 100.0, 1000.0])).sum().backward()
    assert y.tolist() == [3.0, 8.0, 3.0, 4.0]
    assert x.grad.tolist() == [3.0, 40.0, 101.0, 1020.0]


def test_operand_that_overlaps_the_written_tensor_is_read_first():
    x = minigrad.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    y = x * 1
    y[1:].add_(y[:-1])
    y.sum().backward()
    assert y.tolist() == [1.0, 3.0, 5.0, 7.0]
    assert x.grad.tolist() == [2.0, 2.0, 2.0, 1.0]


@pytest.mark.parametrize("number", [1, 2, -0.5, 0])
def test_a_number_divided_by_a_tensor_does_not_save_it(number):
    x = minigrad.tensor([0.5, 4.0], requires_grad=True)
    v = x * 1
    y = number / v
    v.add_(1)
    y.sum().backward()
    assert x.grad.tolist() == [-number / 0.25, -number / 16]
    nested = minigrad.func.grad(
        lambda x: minigrad.func.grad(lambda x: (number / (v := x * 1) + 0 * v.add_(1)).sum())(x).sum()
    )
    assert nested(x.detach()).tolist() == [2 * number / 0.125, 2 * number / 64]


def test_tensor_multiplied_in_place_by_itself():
    x = minigrad.tensor([3.0], requires_grad=True)
    y = x * 1
    y.mul_(y)
    y.backward()
    assert (y.item(), x.grad.item()) == (9.0, 6.0)


def test_a_leaf_marked_dirty_is_named_in_the_call_to_write_and_was_changed_by_then():
    Doubled = custom(
        "Doubled",
        forward=lambda ctx, n, var: ctx.mark_dirty(var) or var.mul_(2),
        backward=lambda ctx, g: (None, 2 * g),
    )
    x = minigrad.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"(?s)forward has already modified it.*Doubled\.apply\(n, var\.clone\(\)\)"):
        Doubled.apply(6, x)
    assert x.tolist() == [2.0, 2.0]


def made_in_inference_mode():
    with minigrad.inference_mode():
        return minigrad.zeros(3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: minigrad.zeros(1).expand(3), "several elements of the expanded tensor"),
        (lambda: minigrad.zeros(3).as_strided((3,), (0,)), "several elements of the expanded tensor"),
        (made_in_inference_mode, "inference tensor"),
    ],
)
def test_backward_does_not_add_to_a_grad_that_cannot_be_written(make, message):
    x = minigrad.ones(3, requires_grad=True)
    x.grad = make()
    for _ in range(2):
        with pytest.raises(RuntimeError, match=message) as refused:
            (x * x).sum().backward()
        assert "the .grad into which backward accumulates" in refused.value.__notes__[0]
    assert x.grad.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_a_write_through_one_row_of_an_expanded_tensor_is_a_write_to_all(rows):
    x = minigrad.tensor([1.0, -0.5, 0.75], dtype=minigrad.float64, requires_grad=True)
    y = x * 2
    wide = y.expand(rows, 3)
    row = wide[0]
    row.mul_(3)  # y, wide and row are 6x now
    assert wide.tolist() == [[6.0, -3.0, 4.5]] * rows and y.tolist() == row.tolist()
    loss = (wide * wide).sum() + 2 * (y * y).sum() + 3 * (row * row).sum()  # 36 (rows + 5) x²
    (g,) = minigrad.autograd.grad(loss, x, create_graph=True)
    assert minigrad.allclose(g, 72 * (rows + 5) * x)
    assert minigrad.allclose(
        minigrad.autograd.grad(g.sum(), x)[0], minigrad.full((3,), 72.0 * (rows + 5), dtype=minigrad.float64)
    )
    with minigrad.Record() as rec:
        again = (x * 2).expand(rows, 3)
        again[0].mul_(3)
        minigrad.autograd.grad(again.sum(), x)
    assert rec.to_dict()["ops"]


def test_a_write_through_one_row_of_an_expanded_tensor_moves_its_tangent():
    def f(x):
        wide = (x * 2).expand(2, 3)
        wide[0].mul_(x)
        return wide * 1

    x, v = minigrad.tensor([1.0, -0.5, 0.75]), minigrad.tensor([1.0, 2.0, -1.0])
    out, moved = minigrad.func.jvp(f, (x,), (v,))
    assert minigrad.allclose(out, (2 * x * x).expand(2, 3)) and minigrad.allclose(moved, (4 * x * v).expand(2, 3))
    assert minigrad.allclose(minigrad.func.vjp(f, x)[1](minigrad.ones(2, 3))[0], 8 * x)
    batch = minigrad.stack([x, v])
    assert minigrad.allclose(minigrad.func.vmap(f)(batch), (2 * batch * batch)[:, None].expand(2, 2, 3))
    with minigrad.autograd.forward_ad.dual_level():
        tangent = minigrad.autograd.forward_ad.unpack_dual(f(minigrad.autograd.forward_ad.make_dual(x, v))).tangent
    assert minigrad.allclose(tangent, moved)


WRITES = {
    "x.add_(y)": lambda x, y: x + y,
    "x.sub_(y)": lambda x, y: x - y,
    "x.mul_(y)": lambda x, y: x * y,
    "x.div_(y)": lambda x, y: x / y,
    "x.add_(y, alpha=-0.3)": lambda x, y: x + x.dtype.type(-0.3) * y,
    "x.sub_(y, alpha=2.0)": lambda x, y: x - 2 * y,
    "x.mul_(0.3)": lambda x, y: x * x.dtype.type(0.3),
    "x.add_(3)": lambda x, y: x + 3,
    "x.copy_(y)": lambda x, y: y,
    "x.fill_(0.3)": lambda x, y: np.full_like(x, 0.3),
    "x.zero_()": lambda x, y: np.zeros_like(x),
    "x.add_(x)": lambda x, y: x + x,
    "x.reshape(-1)[1:].add_(x.reshape(-1)[:-1])": lambda x, y: np.append(
        x.ravel()[:1], x.ravel()[1:] + x.ravel()[:-1]
    ).reshape(x.shape),
    "operator.isub(x, y)": lambda x, y: x - y,
    "operator.itruediv(x, 2.0)": lambda x, y: x / 2,
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("shape", [(3, 4), (), (0, 2), (1,)])
@pytest.mark.parametrize("call", WRITES)
def test_writes_compute_as_numpy_does(call, shape, dtype):
    rng = np.random.default_rng(0)
    a, b = (rng.uniform(0.5, 1.5, shape).astype(dtype) for _ in range(2))
    if dtype == "float16" and ("alpha" in call or "(0.3)" in call) or not shape and "[1:]" in call:
        return  # numbers are in float32 there; and nothing is behind the first element
    expected = WRITES[call](a, b)
    x, y = minigrad.tensor(a), minigrad.tensor(b)
    with minigrad.no_grad():
        eval(call, {"operator": operator, "x": x, "y": y})
    assert x._version == 1 and x.numpy().dtype == dtype
    np.testing.assert_array_equal(x.numpy(), expected.astype(dtype))


def test_usual_writes_remember_their_line_and_refuse_what_they_must():
    x = minigrad.ones(3)
    y = minigrad.ones(3, requires_grad=True) * x
    x.mul_(2.0)
    with pytest.raises(RuntimeError, match=r"last written by mul_ at .*: x\.mul_\(2\.0\)\n"):
        y.sum().backward()
    w = minigrad.ones(3, requires_grad=True)
    for write in (lambda: w.add_(x), lambda: w.fill_(1.0), lambda: w.zero_(), lambda: w.copy_(x)):
        with pytest.raises(RuntimeError, match="leaf"):
            write()
    for write, message in (
        (lambda: x.mul_(x, alpha=2.0), "alpha"),
        (lambda: x.add_(x, alpha=1e39), "cannot be converted"),
        (lambda: x.fill_(1e39), "cannot be converted"),
        (lambda: x.add_(minigrad.ones(2)), "broadcast"),
        (lambda: x.expand(2, 3).add_(1.0), "one place in memory"),
        (lambda: x.fill_(x), "expected a number or a 0-d tensor"),
        (lambda: minigrad.ones(1).fill_(minigrad.ones(1)), "expected a number or a 0-d tensor"),
        (lambda: x.zero_(1), "zero_"),
    ):
        with pytest.raises((RuntimeError, TypeError), match=message):
            write()
    assert x.tolist() == [2.0] * 3
