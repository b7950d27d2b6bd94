"""float16: what is stored in it, that operations compute in float32, and that gradients, modules and records follow."""

import copy
import io
import pickle

import numpy as np
import pytest

import minigrad
from minigrad import float16, float32, float64, func, nn
from minigrad.autograd import forward_ad

SMALL = minigrad.tensor([1.5, -2.25, 3.0], dtype=float16)


def half(array):
    return minigrad.tensor(np.asarray(array), dtype=float16)


# ---------------------------------------------------------------------- what it is
def test_names_and_conversions():
    x = minigrad.tensor([1.0, 2.0])
    assert minigrad.half is float16 and x.half().dtype is float16 and x.to(float16).half().dtype is float16
    assert x.half().float().tolist() == [1.0, 2.0] and x.half().element_size() == 2
    assert isinstance(x.half(), minigrad.HalfTensor) and x.half().type() == "minigrad.HalfTensor"
    assert nn.Linear(2, 2).half().weight.dtype is float16


def test_numbers_are_rounded_to_11_digits_and_overflow_to_infinity():
    x = minigrad.tensor([2049.0, 65504.0, 70000.0, 1e-8], dtype=float16)
    assert x.tolist() == [2048.0, 65504.0, np.inf, 0.0]
    assert (minigrad.finfo(float16).max, minigrad.finfo(float16).eps) == (65504.0, 2.0**-10)


def test_promotion():
    whole = minigrad.tensor([1, 2, 3])
    assert (SMALL + 1).dtype is (SMALL * 2.5).dtype is (SMALL + whole).dtype is float16
    assert (SMALL + minigrad.ones(3)).dtype is float32
    assert (SMALL + minigrad.ones(())).dtype is float16  # a tensor without dimensions weighs less
    assert minigrad.promote_types(float16, minigrad.int64) is float16
    assert minigrad.promote_types(float16, float64) is float64


def test_default_dtype():
    minigrad.set_default_dtype(float16)
    try:
        assert minigrad.ones(2).dtype is minigrad.tensor([0.5]).dtype is (minigrad.arange(3) / 2).dtype is float16
        assert nn.Linear(2, 3)(minigrad.randn(4, 2)).dtype is float16
        assert repr(minigrad.ones(2, device="cpu")) == "tensor([1., 1.])"
    finally:
        minigrad.set_default_dtype(float32)


def test_text_pickles_files_and_memory():
    assert repr(SMALL.cpu()) == "tensor([ 1.5000, -2.2500,  3.0000], dtype=minigrad.float16)"
    file = io.BytesIO()
    minigrad.save(SMALL, file)
    file.seek(0)
    for same in (minigrad.load(file), pickle.loads(pickle.dumps(SMALL)), copy.deepcopy(SMALL)):
        assert same.dtype is float16 and minigrad.equal(same, SMALL) and minigrad.equal(same + same, SMALL * 2)
    array = np.ones(2, np.float16)
    shared = minigrad.from_numpy(array)
    array[0] = 3
    assert shared.tolist() == [3.0, 1.0] and shared.numpy() is array


# ---------------------------------------------------------------------- computing
@pytest.mark.parametrize("shape, dim", [((3000,), 0), ((3000, 2), 0), ((2, 3000), 1), ((50, 60, 2), (0, 1))])
def test_sums_are_kept_in_float32(shape, dim):
    assert (minigrad.ones(*shape).half().sum(dim) == 3000).all()  # float16 stops at 2048
    assert (minigrad.ones(*shape).half().mean(dim) == 1).all()


def test_a_mean_may_be_of_more_than_float16_can_count():
    assert minigrad.full((2, 70000), 2.0, dtype=float16).mean(1).tolist() == [2.0, 2.0]


def test_products_are_kept_in_float32():
    x, y = minigrad.ones(2, 3000).half(), minigrad.ones(3000, 2).half()
    assert (x @ y == 3000).all() and (x @ y).dtype is float16


def test_formulas_are_rounded_once():
    x = half(np.linspace(-4, 4, 101))
    for f in (nn.functional.gelu, nn.functional.silu, nn.functional.softplus, minigrad.tanh):
        assert minigrad.equal(f(x), f(x.float()).half())


def test_steps_of_a_formula_do_not_overflow():
    x = half([300.0])  # its square is no number of float16
    assert minigrad.hypot(x, x).item() == pytest.approx(300 * 2**0.5, rel=1e-3)
    assert x.norm().item() == 300 and nn.functional.layer_norm(half([300.0, -300.0]), (2,)).tolist() == [1.0, -1.0]


@pytest.mark.parametrize("size", [5, 5000])
def test_gradients_have_the_dtype_and_are_rounded_once(size):
    x = half(np.linspace(-3, 3, size)).requires_grad_()
    wide = x.detach().float().requires_grad_()
    for t in (x, wide):
        (nn.functional.gelu(t) * t.sigmoid()).backward(minigrad.ones(size, dtype=t.dtype))
    assert x.grad.dtype is float16
    assert np.allclose(x.grad.numpy(), wide.grad.numpy(), 4e-3, 4e-3)


def test_the_gradient_of_what_is_broadcast_is_summed_in_float32():
    x = minigrad.zeros(1).half().requires_grad_()
    (x + minigrad.ones(3000).half()).sum().backward()
    assert x.grad.item() == 3000
    x.grad = None
    x.expand(3000).sum().backward()
    assert x.grad.item() == 3000


def test_float16_beside_float32():
    x, y = SMALL.clone().requires_grad_(), minigrad.ones(3, requires_grad=True)
    (x * y).sum().backward()
    assert x.grad.dtype is float16 and y.grad.dtype is float32 and y.grad.tolist() == SMALL.tolist()


def test_in_place():
    x = SMALL.clone()
    x.add_(1).mul_(SMALL).sin_()
    assert x.dtype is float16
    assert np.allclose(x.numpy(), np.sin((SMALL.numpy() + 1) * SMALL.numpy()), 2e-3)
    total = minigrad.zeros(2).half()
    total.index_add_(0, minigrad.zeros(3000, dtype=minigrad.int64), minigrad.ones(3000).half())
    assert total.tolist() == [3000.0, 0.0]


def test_operations_that_move_elements_share_memory():
    x = half(np.arange(6.0)).reshape(2, 3)
    x.t()[1:].fill_(0)
    assert x.tolist() == [[0.0, 0.0, 0.0], [3.0, 0.0, 0.0]]
    assert x.view(minigrad.int16)[1, 0].item() == 0x4200


# ---------------------------------------------------------------------- transforms, modules, programs
def test_transforms():
    f = lambda x: (x.sin() * x).sum()
    assert func.grad(f)(SMALL).dtype is float16
    assert func.vmap(lambda x: x.softmax(0))(SMALL.expand(2, 3)).dtype is float16
    assert func.hessian(f)(SMALL).dtype is float16
    with forward_ad.dual_level():
        out = minigrad.softmax(forward_ad.make_dual(SMALL, SMALL), 0)
        assert forward_ad.unpack_dual(out).tangent.dtype is float16


def test_second_derivatives():
    x = half([0.5]).requires_grad_()
    (g,) = minigrad.autograd.grad(x.sin(), x, create_graph=True)
    (gg,) = minigrad.autograd.grad(g, x)
    assert g.dtype is gg.dtype is float16 and gg.item() == pytest.approx(-np.sin(0.5), rel=1e-3)


@pytest.mark.parametrize("optimizer", [minigrad.optim.SGD, minigrad.optim.Adam])
def test_training(optimizer):
    minigrad.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 8), nn.LayerNorm(8), nn.ReLU(), nn.Linear(8, 1)).half()
    x = minigrad.randn(32, 2, dtype=float16)
    y, losses = x[:, :1] * 2 - 1, []
    steps = optimizer(net.parameters(), lr=0.02, **({"eps": 1e-4} if optimizer is minigrad.optim.Adam else {}))
    for _ in range(60):
        loss = nn.functional.mse_loss(net(x), y)
        steps.zero_grad()
        loss.backward()
        steps.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 5


def test_a_compiled_program_gives_the_same():
    f = lambda x: (x * 2 + x.exp()).softmax(0).sum()
    assert minigrad.equal(minigrad.compile(f)(SMALL), f(SMALL))


def test_a_record_says_what_it_is():
    x = SMALL.clone().requires_grad_()
    record = minigrad.record(lambda x: (x * x).sum(), x)
    assert {v["dtype"] for v in record.to_dict()["values"]} == {"float16"}


# ---------------------------------------------------------------------- random numbers
def test_uniform_numbers_stay_below_1():
    x = minigrad.rand(100000, dtype=float16)
    assert x.dtype is float16 and x.max() < 1 and x.min() == 0 and abs(x.float().mean().item() - 0.5) < 0.01


def test_normal_numbers():
    x = minigrad.randn(10000, dtype=float16)
    assert x.dtype is float16 and abs(x.std().item() - 1) < 0.05


def test_rare_events_are_drawn_as_often_as_they_should():
    minigrad.manual_seed(0)
    kept = minigrad.bernoulli(minigrad.full((200000,), 1e-4, dtype=float16)).float().sum().item()
    assert 5 < kept < 45  # multiples of 2 ** -11 would give about 98
    assert minigrad.dropout(minigrad.ones(8).half(), 0.5).dtype is float16
    assert nn.functional.gumbel_softmax(minigrad.zeros(4).half()).dtype is float16
