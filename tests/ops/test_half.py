"""float16 and bfloat16: what is stored in them, that operations compute in float32, and that gradients, modules and records
follow."""

import copy
import io
import pickle

import numpy as np
import pytest

import minigrad
from minigrad import bfloat16, float16, float32, float64, func, nn
from minigrad.autograd import forward_ad

DIGITS = {float16: 11, bfloat16: 8}
HALVES = pytest.mark.parametrize("dtype", DIGITS, ids=lambda d: d.name)
MANY = 2560  # a number of both; adding ones up, float16 would stop at 2048, and bfloat16 at 256


def half(array, dtype):
    return minigrad.tensor(np.asarray(array), dtype=dtype)


def small(dtype):
    return minigrad.tensor([1.5, -2.25, 3.0], dtype=dtype)


def close(t, expected, dtype, ulps=2):
    """Return True if numbers are right to within `ulps` units in their last digit."""
    tolerance = ulps * 2.0 ** -DIGITS[dtype]
    return np.allclose(t.double().numpy(), expected, tolerance, tolerance)


# ---------------------------------------------------------------------- what they are
def test_names_and_conversions():
    x = minigrad.tensor([1.0, 2.0])
    assert minigrad.half is float16 and x.half().dtype is float16 and x.to(float16).half().dtype is float16
    assert x.bfloat16().dtype is bfloat16 and x.to(bfloat16).bfloat16().dtype is bfloat16
    assert isinstance(x.half(), minigrad.HalfTensor) and x.half().type() == "minigrad.HalfTensor"
    assert isinstance(x.bfloat16(), minigrad.BFloat16Tensor) and x.bfloat16().type() == "minigrad.BFloat16Tensor"
    assert x.type("BFloat16Tensor").dtype is bfloat16 and minigrad.BFloat16Tensor([1.5]).tolist() == [1.5]
    assert nn.Linear(2, 2).half().weight.dtype is float16 and nn.Linear(2, 2).bfloat16().weight.dtype is bfloat16


@HALVES
def test_properties_of_a_tensor(dtype):
    x = small(dtype)
    assert x.is_floating_point() and x.is_signed() and x.element_size() == 2 and dtype.itemsize == 2
    assert dtype.is_floating_point and dtype.is_signed and repr(dtype) == f"minigrad.{dtype.name}"
    assert x.float().tolist() == [1.5, -2.25, 3.0] == x.tolist() and x[1].item() == -2.25


def test_numbers_of_float16_have_11_digits_and_overflow_to_infinity():
    x = minigrad.tensor([2049.0, 65504.0, 70000.0, 1e-8], dtype=float16)
    assert x.tolist() == [2048.0, 65504.0, np.inf, 0.0]
    assert (minigrad.finfo(float16).max, minigrad.finfo(float16).eps) == (65504.0, 2.0**-10)


def test_numbers_of_bfloat16_have_8_digits_and_reach_as_far_as_those_of_float32():
    x = minigrad.tensor([257.0, 259.0, 1e38, 3.4e38, 2.0**-133, 2.0**-135], dtype=bfloat16)
    assert x.tolist()[:2] == [256.0, 260.0] and x[2].item() == pytest.approx(1e38, rel=2**-8)
    assert x.tolist()[3:] == [np.inf, 2.0**-133, 0.0]  # the smallest number, and half a half of it
    assert minigrad.finfo(bfloat16).eps == 2.0**-7 and minigrad.finfo(bfloat16).tiny == minigrad.finfo(float32).tiny


@HALVES
def test_promotion(dtype):
    whole, x = minigrad.tensor([1, 2, 3]), small(dtype)
    assert (x + 1).dtype is (x * 2.5).dtype is (x + whole).dtype is (whole * x).dtype is dtype
    assert (x + minigrad.ones(3)).dtype is float32
    assert (x + minigrad.ones(())).dtype is dtype  # a tensor without dimensions weighs less
    assert minigrad.promote_types(dtype, minigrad.int64) is dtype
    assert minigrad.promote_types(dtype, float64) is float64


def test_float16_and_bfloat16_promote_to_float32():
    x, y = small(float16), small(bfloat16)
    assert minigrad.promote_types(float16, bfloat16) is minigrad.promote_types(bfloat16, float16) is float32
    assert (x + y).dtype is minigrad.cat([x, y]).dtype is minigrad.where(x > 0, x, y).dtype is float32
    assert (x + y[0]).dtype is float16 and (y + x[0]).dtype is bfloat16
    with pytest.raises(RuntimeError, match="dtype"):
        x @ y


@HALVES
def test_default_dtype(dtype):
    minigrad.set_default_dtype(dtype)
    try:
        assert minigrad.ones(2).dtype is minigrad.tensor([0.5]).dtype is (minigrad.arange(3) / 2).dtype is dtype
        assert nn.Linear(2, 3)(minigrad.randn(4, 2)).dtype is dtype
        assert repr(minigrad.ones(2, device="cpu")) == "tensor([1., 1.])"
    finally:
        minigrad.set_default_dtype(float32)


@HALVES
def test_text_pickles_files_and_memory(dtype):
    x = small(dtype)
    assert repr(x.cpu()) == f"tensor([ 1.5000, -2.2500,  3.0000], dtype=minigrad.{dtype.name})"
    file = io.BytesIO()
    minigrad.save({"x": x, "dtype": dtype}, file)
    file.seek(0)
    loaded = minigrad.load(file)
    assert loaded["dtype"] is dtype
    for same in (loaded["x"], pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert same.dtype is dtype and minigrad.equal(same, x) and minigrad.equal(same + same, x * 2)
    array = np.ones(2, dtype.to_numpy())
    shared = minigrad.from_numpy(array)
    array[0] = 3
    assert shared.tolist() == [3.0, 1.0] and shared.numpy() is array


@pytest.mark.cpu("on a device, what NumPy reads is a copy")
def test_bfloat16_becomes_the_array_of_ml_dtypes():
    x = small(bfloat16)
    array = x.numpy()
    assert array.dtype.name == "bfloat16" and array.astype(np.float32).tolist() == x.tolist()
    array[0] = 7
    assert x[0].item() == 7.0 and np.asarray(x, np.float32).tolist() == [7.0, -2.25, 3.0]


@HALVES
def test_assert_close_chooses_the_tolerance_by_the_dtype(dtype):
    x, unit = small(dtype), 2.0 ** -DIGITS[dtype]
    minigrad.testing.assert_close(x * (1 + unit), x)
    with pytest.raises(AssertionError):
        minigrad.testing.assert_close(x * (1 + 16 * unit), x)


# ---------------------------------------------------------------------- computing
@HALVES
@pytest.mark.parametrize("shape, dim", [((MANY,), 0), ((MANY, 2), 0), ((2, MANY), 1), ((40, 64, 2), (0, 1))])
def test_sums_are_kept_in_float32(shape, dim, dtype):
    assert (minigrad.ones(*shape, dtype=dtype).sum(dim) == MANY).all()
    assert (minigrad.ones(*shape, dtype=dtype).mean(dim) == 1).all()


@HALVES
def test_a_mean_may_be_of_more_than_float16_can_count(dtype):
    assert minigrad.full((2, 70000), 2.0, dtype=dtype).mean(1).tolist() == [2.0, 2.0]


@HALVES
def test_products_are_kept_in_float32(dtype):
    x, y = minigrad.ones(2, MANY, dtype=dtype), minigrad.ones(MANY, 2, dtype=dtype)
    assert (x @ y == MANY).all() and (x @ y).dtype is dtype


@HALVES
@pytest.mark.parametrize("size", [101, 100000])
def test_formulas_are_rounded_once(size, dtype):
    x = half(np.linspace(-4, 4, size), dtype)
    for f in (nn.functional.gelu, nn.functional.silu, nn.functional.softplus, minigrad.tanh):
        assert minigrad.equal(f(x), f(x.float()).to(dtype))


@pytest.mark.filterwarnings("error")
def test_results_beyond_float16_are_infinities_without_a_warning():
    x = half([60000.0, 1.0], float16).requires_grad_()
    y = x * 2
    assert y.tolist() == [np.inf, 2.0] and minigrad.exp(y).tolist()[0] == np.inf
    assert minigrad.autograd.grad((y * y).sum(), x)[0].tolist() == [np.inf, 8.0]


def test_steps_of_a_formula_do_not_overflow():
    x = half([300.0], float16)  # its square is no number of float16
    assert minigrad.hypot(x, x).item() == pytest.approx(300 * 2**0.5, rel=1e-3)
    assert x.norm().item() == 300
    assert nn.functional.layer_norm(half([300.0, -300.0], float16), (2,)).tolist() == [1.0, -1.0]


@HALVES
@pytest.mark.parametrize("size", [5, 5000])
def test_gradients_have_the_dtype_and_are_rounded_once(size, dtype):
    x = half(np.linspace(-3, 3, size), dtype).requires_grad_()
    wide = x.detach().float().requires_grad_()
    for t in (x, wide):
        (nn.functional.gelu(t) * t.sigmoid()).backward(minigrad.ones(size, dtype=t.dtype))
    assert x.grad.dtype is dtype and close(x.grad, wide.grad.numpy(), dtype, ulps=8)


@HALVES
def test_the_gradient_of_a_broadcast_operand_is_summed_in_float32(dtype):
    x = minigrad.zeros(1, dtype=dtype).requires_grad_()
    (x + minigrad.ones(MANY, dtype=dtype)).sum().backward()
    assert x.grad.item() == MANY
    x.grad = None
    x.expand(MANY).sum().backward()
    assert x.grad.item() == MANY


@HALVES
def test_beside_float32(dtype):
    x, y = small(dtype).requires_grad_(), minigrad.ones(3, requires_grad=True)
    (x * y).sum().backward()
    assert x.grad.dtype is dtype and y.grad.dtype is float32 and y.grad.tolist() == x.tolist()


def test_float16_beside_bfloat16():
    x, y = small(float16).requires_grad_(), small(bfloat16).requires_grad_()
    (x * y).sum().backward()
    assert (x.grad.dtype, y.grad.dtype) == (float16, bfloat16) and x.grad.tolist() == y.tolist() == y.grad.tolist()


@HALVES
def test_in_place(dtype):
    x, a = small(dtype), small(float64).numpy()
    x.add_(1).mul_(small(dtype)).sin_()
    assert x.dtype is dtype and close(
        x, np.sin((a + 1) * a), dtype, ulps=12
    )  # the rounding of 12.0 is not small to sin
    x.add_(minigrad.ones(3))[1:] = minigrad.tensor([5, 6])
    assert x.dtype is dtype and x.tolist()[1:] == [5.0, 6.0]
    total = minigrad.zeros(2, dtype=dtype)
    total.index_add_(0, minigrad.zeros(MANY, dtype=minigrad.int64), minigrad.ones(MANY, dtype=dtype))
    assert total.tolist() == [MANY, 0.0]


@HALVES
def test_comparisons_and_indices(dtype):
    x = small(dtype)
    assert (x > 1).tolist() == [True, False, True] == (x != -2.25).tolist() and x[x > 1].tolist() == [1.5, 3.0]
    assert x.sort().values.tolist() == [-2.25, 1.5, 3.0] and x.argmax().item() == 2 and x.max().item() == 3.0
    assert minigrad.isclose(x, x + 2**-9, rtol=2**-6).all() and not x.isnan().any() and x[[2, 0]].tolist() == [3.0, 1.5]
    with pytest.raises(TypeError, match="index"):
        [1, 2][x[0]]


def test_operations_that_move_elements_share_memory():
    for dtype, pattern in ((float16, 0x4200), (bfloat16, 0x4040)):
        x = half(np.arange(6.0), dtype).reshape(2, 3)
        x.t()[1:].fill_(0)
        assert x.tolist() == [[0.0, 0.0, 0.0], [3.0, 0.0, 0.0]]
        assert x.view(minigrad.int16)[1, 0].item() == pattern


# ---------------------------------------------------------------------- transforms, modules, programs
@HALVES
def test_transforms(dtype):
    f, x = lambda x: (x.sin() * x).sum(), small(dtype)
    assert func.grad(f)(x).dtype is dtype
    assert func.vmap(lambda x: x.softmax(0))(x.expand(2, 3)).dtype is dtype
    assert func.hessian(f)(x).dtype is dtype
    with forward_ad.dual_level():
        out = minigrad.softmax(forward_ad.make_dual(x, x), 0)
        assert forward_ad.unpack_dual(out).tangent.dtype is dtype


@HALVES
def test_second_derivatives(dtype):
    x = half([0.5], dtype).requires_grad_()
    (g,) = minigrad.autograd.grad(x.sin(), x, create_graph=True)
    (gg,) = minigrad.autograd.grad(g, x)
    assert g.dtype is gg.dtype is dtype and close(gg, [-np.sin(0.5)], dtype)


@HALVES
def test_gradcheck_asks_for_float64(dtype):
    with (
        pytest.warns(minigrad.MinigradWarning, match="rounding errors"),
        pytest.raises(minigrad.autograd.GradcheckError),
    ):
        minigrad.autograd.gradcheck(minigrad.sin, small(dtype).requires_grad_())


@HALVES
@pytest.mark.parametrize("optimizer", [minigrad.optim.SGD, minigrad.optim.Adam])
def test_training(optimizer, dtype):
    minigrad.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 8), nn.LayerNorm(8), nn.ReLU(), nn.Linear(8, 1)).to(dtype)
    x = minigrad.randn(32, 2, dtype=dtype)
    y, losses = x[:, :1] * 2 - 1, []
    steps = optimizer(net.parameters(), lr=0.02, **({"eps": 1e-4} if optimizer is minigrad.optim.Adam else {}))
    for _ in range(60):
        loss = nn.functional.mse_loss(net(x), y)
        steps.zero_grad()
        loss.backward()
        steps.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 5


@HALVES
def test_a_compiled_program_gives_the_same(dtype):
    f, x = lambda x: (x * 2 + x.exp()).softmax(0).sum(), small(dtype)
    assert minigrad.equal(minigrad.compile(f)(x), f(x))


@HALVES
def test_a_record_has_the_dtypes_of_half_precision(dtype):
    x = small(dtype).requires_grad_()
    record = minigrad.record(lambda x: (x * x).sum(), x)
    assert {v["dtype"] for v in record.to_dict()["values"]} == {dtype.name}


# ---------------------------------------------------------------------- random numbers
@HALVES
def test_uniform_numbers_are_below_1(dtype):
    x = minigrad.rand(100000, dtype=dtype)
    assert x.dtype is dtype and x.max().item() == 1 - 2.0 ** -DIGITS[dtype] and x.min() == 0
    assert abs(x.float().mean().item() - 0.5) < 0.01
    assert minigrad.zeros(100000, dtype=dtype).uniform_().max() < 1


@HALVES
def test_normal_numbers(dtype):
    x = minigrad.randn(10000, dtype=dtype)
    assert x.dtype is dtype and abs(x.std().item() - 1) < 0.05
    assert abs(minigrad.zeros(10000, dtype=dtype).normal_(2.0, 0.5).mean().item() - 2) < 0.05


@HALVES
def test_rare_events_are_drawn_as_often_as_they_should(dtype):
    minigrad.manual_seed(0)
    kept = minigrad.bernoulli(minigrad.full((200000,), 1e-4, dtype=dtype)).float().sum().item()
    assert 5 < kept < 45  # multiples of 2 ** -11 would give about 98
    assert minigrad.dropout(minigrad.ones(8, dtype=dtype), 0.5).dtype is dtype
    assert nn.functional.gumbel_softmax(minigrad.zeros(4, dtype=dtype)).dtype is dtype


@HALVES
def test_whole_numbers_are_drawn_up_to_the_last_that_all_before_are_held(dtype):
    x = minigrad.zeros(10000, dtype=dtype).random_()
    assert x.dtype is dtype and 2.0 ** DIGITS[dtype] * 0.9 < x.max() <= 2.0 ** DIGITS[dtype] and x.min() >= 0
