"""Pointwise kernels give NumPy's results for operands that are broadcast or are parts of larger arrays."""

import numpy as np
import pytest

from minigrad.arrays.memory import order_in_memory
from minigrad.kernels import choose, pointwise_calls, pointwise_gradients, select, threads
from minigrad.ops.base.families import Pointwise
from minigrad.ops.base.registry import TABLE
from minigrad.ops.compare import Gt, Where
from minigrad.ops.nn.activation import LeakyRelu, Prelu
from minigrad.ops.pointwise import Add, Mul, Sub
from tests.floats import some


def rand(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


LAYOUTS = {
    "a column": (rand(30, 20), rand(30, 1)),
    "a row": (rand(30, 20), rand(20)),
    "a row in front": (rand(20), rand(30, 20)),
    "a column and a row": (rand(30, 1), rand(20)),
    "a row of two dimensions": (rand(6, 5, 8), rand(5, 8)),
    "a number for each channel": (rand(4, 3, 5, 6), rand(3, 1, 1)),
    "a number for each image and channel": (rand(4, 3, 5, 6), rand(4, 3, 1, 1)),
    "neighbours": (rand(30, 21)[:, 1:], rand(30, 21)[:, :-1]),
    "halves": (rand(30, 40)[:, :20], rand(30, 40)[:, 20:]),
    "every second row": (rand(60, 20)[::2], rand(30, 20)),
    "a part and its row": (rand(30, 40)[:, 20:], rand(40)[20:]),
    "a strided column": (rand(30, 20), rand(30, 7)[:, 3:4]),
    "dimensions of one": (rand(30, 1, 20), rand(1, 1, 20)),
    "one element": (rand(30, 20), rand(1, 1)),
    "turned": (rand(20, 30).T, rand(20)),
    "one inside": (rand(4, 3, 9), rand(4, 1, 9)),
    "every second column": (rand(30, 40)[:, ::2], rand(20)),
    "reversed": (rand(30, 20)[::-1], rand(20)),
    "narrow rows": (rand(30, 4), rand(4)),
}


@pytest.fixture(autouse=True)
def kernels_from_one_element_on(monkeypatch):
    for name in ("few", "many"):
        monkeypatch.setitem(pointwise_calls.SIZES, name, 1)
    monkeypatch.setattr(pointwise_gradients, "GRADIENTS_FROM", 1)
    monkeypatch.setattr(choose, "calls", {})


@pytest.mark.parametrize("layout", LAYOUTS)
def test_operands_that_broadcast_give_what_numpy_gives(layout):
    x, y = LAYOUTS[layout]
    for op in (Add, Sub, Mul):
        out = select.forward(op, (x, y))
        assert out.dtype == np.float32
        np.testing.assert_array_equal(out, op.ufunc(x, y))
    assert select.forward(Gt, (x, y)).dtype == bool
    np.testing.assert_array_equal(select.forward(Gt, (x, y)), x > y)
    np.testing.assert_array_equal(select.forward(Prelu, (x, y)), np.where(x > 0, x, y * x))


def test_conditions_settings_and_numbers_meet_operands_that_broadcast():
    x, y, c = rand(30, 21)[:, 1:], rand(30, 1), rand(20) > 0
    np.testing.assert_array_equal(select.forward(Where, (c, x, y)), np.where(c, x, y))
    np.testing.assert_array_equal(select.forward(Where, (c, x, 2.0)), np.where(c, x, np.float32(2)))
    np.testing.assert_array_equal(select.forward(LeakyRelu, (x, 0.5)), np.where(x > 0, x, x * np.float32(0.5)))


@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (1, 1, 1)])
def test_one_element_is_a_number_that_may_add_dimensions(shape):
    x, y = rand(30, 20), np.full(shape, -0.5, np.float32)
    out = select.forward(Prelu, (x, y))
    assert out.shape == np.broadcast_shapes(x.shape, shape)
    np.testing.assert_array_equal(out, np.where(x > 0, x, y * x))
    with pytest.raises(ValueError, match="broadcast"):
        select.forward(Prelu, (x, rand(0)))


def test_layouts_that_are_remembered_do_not_hold_for_other_dtypes():
    x, y, c = rand(30, 20), rand(30, 1), rand(30, 1) > 0
    for dtype in (np.float64, np.float32, np.float64):
        a, b = x.astype(dtype), y.astype(dtype)
        np.testing.assert_array_equal(select.forward(Prelu, (a, b)), np.where(a > 0, a, b * a))
        np.testing.assert_array_equal(select.forward(Where, (c, a, b)), np.where(c, a, b))


def test_threads_share_the_elements(monkeypatch):
    monkeypatch.setattr(threads, "parts", lambda size: 3)
    for x, y in LAYOUTS.values():
        np.testing.assert_array_equal(select.forward(Prelu, (x, y)), np.where(x > 0, x, y * x))


def test_integers_stay_with_numpy():
    x, y = np.arange(600).reshape(30, 20), np.arange(20)
    np.testing.assert_array_equal(select.forward(Add, (x, y)), x + y)


TURNED = {
    "turned": rand(20, 30).T,
    "turned inside": rand(4, 20, 30).swapaxes(1, 2),
    "channels last": rand(4, 6, 5, 3).transpose(0, 3, 1, 2),
    "a part, turned": rand(20, 30).T[1:, 2:],
    "single, and turned": rand(20, 30).T[None],
    "repeated": np.broadcast_to(rand(1, 30), (20, 30)),
    "repeated columns, turned": np.broadcast_to(rand(1, 30), (20, 30)).T,
}
ALONE = [e.cls for e in TABLE.values() if issubclass(e.cls or object, Pointwise) and len(e.cls.names) == 1]


@pytest.mark.parametrize("layout", TURNED)
@pytest.mark.parametrize("op", some(sorted({*ALONE}, key=lambda op: op.name), 6), ids=lambda op: op.name)
def test_results_lie_in_memory_as_the_operand_does(op, layout):
    """Compare kernels with NumPy: whether a view of a result can be had must not depend on its size."""
    x = TURNED[layout] > 0 if "f" not in op.accepts else TURNED[layout]
    with np.errstate(all="ignore"):
        assert order_in_memory(select.forward(op, (x,))) == order_in_memory(select.numpy_function(op)(x))


@pytest.mark.parametrize("layout", [*TURNED, *LAYOUTS])
def test_results_lie_in_memory_as_the_operands_do(layout):
    for x, y in (
        [LAYOUTS[layout]] if layout in LAYOUTS else [(TURNED[layout], a) for a in (TURNED[layout][..., :1, :], rand(1))]
    ):
        for op in (Add, Mul, Prelu):
            out = select.forward(op, (x, y))
            np.testing.assert_allclose(out, select.numpy_function(op)(x, y), 1e-6)
            assert order_in_memory(out) == order_in_memory(x * y)
