"""Kernels of formulas over memory with steps: how the elements are counted, whatever their number."""

import numpy as np
import pytest

import minigrad as torch
from minigrad.kernels import formula
from minigrad.kernels.cuda import kernel_modules, pointwise_cuda, repeats
from minigrad.kernels.cuda.device_array import to_device
from minigrad.ops.base.registry import TABLE


def test_only_what_32_bits_cannot_count_is_counted_in_64():
    sizes = (0, 1, 1 << 20, (1 << 31) - 1, 1 << 31, 1 << 33)
    assert [pointwise_cuda.counter_of(n) for n in sizes] == ["uint32"] * 4 + ["uint64"] * 2


@pytest.mark.parametrize("counter", ["uint32", "uint64"])
def test_both_counters_find_every_element(counter):
    inputs = [("x", "{}"), ("y", "{}")]
    head = "from numba import cuda"
    text = pointwise_cuda.text("sums", "", head, inputs, [("out", "x + y")], pointwise_cuda.TraversalOrder(3, counter))
    x, y = np.arange(24.0).reshape(2, 3, 4), np.arange(3.0)[None, :, None]
    there = to_device(x), np.broadcast_to(to_device(y), x.shape), to_device(np.zeros_like(x))
    kernel_modules.load("sums", text).sums[1, 32](*there)
    np.testing.assert_array_equal(there[-1].to_host(), x + y)
    assert f"rest = {counter}(i)" in text


def test_an_operation_takes_the_counter_of_its_size(monkeypatch):
    x, w = torch.ones(4, 3, device="cuda"), torch.ones(4, 1, device="cuda")
    found, layout_of = [], pointwise_cuda.layout_of.__wrapped__
    monkeypatch.setattr(pointwise_cuda, "layout_of", lambda *given: found.append(layout_of(*given)) or found[-1])
    assert ((x + w).cpu() == 2).all()
    monkeypatch.setattr(pointwise_cuda, "counter_of", lambda size: "uint64" if size == 12 else "uint32")
    assert ((x + w).cpu() == 2).all()
    assert [layout.counter for layout, *_ in found] == ["uint32", "uint64"]


ROWS = np.arange(96, dtype=np.float32).reshape(3, 4, 8)
BY_FOUR = {
    "a row for all": (lambda x: x, lambda x: x[0, 0], (True, True, True)),
    "a column for all": (lambda x: x, lambda x: x[0, :, :1], (True, False, True)),
    "rows apart": (lambda x: x[:, ::2], lambda x: x[:, 2:], (True, True, True)),
    "parts of rows": (lambda x: x[..., 4:], lambda x: x[..., :4], (True, True, True)),
    "one, and a row": (lambda x: x[:, :1, :1], lambda x: x[0, :, :4], (False, True, True)),
    "a row that begins elsewhere": (lambda x: x, lambda x: x.reshape(-1)[1:9], ()),
    "rows that begin elsewhere": (lambda x: x.reshape(-1)[:90].reshape(10, 9)[:, :8], lambda x: x[0, 0], ()),
    "rows of odd length": (lambda x: x[..., :5], lambda x: x[..., 3:], ()),
    "across": (lambda x: x.swapaxes(1, 2), lambda x: x[0, 0, :4], ()),
}


@pytest.mark.parametrize("name", BY_FOUR)
def test_rows_are_read_by_four_where_all_of_them_begin_for_that(name, monkeypatch):
    left, right, along = BY_FOUR[name]
    found, laid_out = [], pointwise_cuda.laid_out
    monkeypatch.setattr(pointwise_cuda, "laid_out", lambda *a: found.append(laid_out(*a)) or found[-1])
    there = to_device(ROWS)
    np.testing.assert_array_equal((left(there) - right(there)).to_host(), left(ROWS) - right(ROWS))
    assert [layout.along for layout, _ in found] == [along]


def test_gradients_of_two_operands_are_written_by_four():
    x, w = [torch.tensor(a, device="cuda", requires_grad=True) for a in (ROWS, ROWS[0, :, :1] + 1)]
    here = [t.detach().cpu().requires_grad_() for t in (x, w)]
    for a, b in zip(torch.autograd.grad((x / w).sum(), (x, w)), torch.autograd.grad((here[0] / here[1]).sum(), here)):
        np.testing.assert_allclose(a.cpu().numpy(), b.numpy(), 1e-5)


def test_what_is_no_number_is_not_rounded_to_one():
    x = torch.tensor([np.nan, np.inf, -np.inf, 1e20, -2.5, 3.5, -0.2])
    for f in (torch.round, lambda x: torch.round(x, decimals=1), torch.compile(lambda x: x.round() * 2)):
        here, there = [f(x.to(device)).cpu().numpy() for device in ("cpu", "cuda")]
        np.testing.assert_array_equal(there, here)
        np.testing.assert_array_equal(np.signbit(there), np.signbit(here))


@pytest.mark.parametrize("name", ["ceil", "floor", "trunc", "round"])
def test_whole_numbers_are_rounded_to_themselves(name):
    x = torch.tensor([2**53 + 1, -(2**53) - 1, 7])
    assert (getattr(torch, name)(x.to("cuda")).cpu() == x).all()


SMOOTH = [n for n, op in formula.OPERATIONS.items() if n in TABLE and op.formulas and not op.n_conditions]
SMOOTH = [
    n for n in SMOOTH if n not in ("zeta", "prelu")
]  # no derivative by the first operand; another shape of the second


@pytest.fixture
def launches(monkeypatch):
    """Return the names of the kernels that run, in calls that are not repeated."""
    names, launch = [], kernel_modules.CudaKernel.launch
    noting = lambda kernel, *given: (names.append(kernel.name), launch(kernel, *given))
    monkeypatch.setattr(kernel_modules.CudaKernel, "launch", noting)
    monkeypatch.setattr(repeats, "LARGEST", -1)
    return names


def operation(name):
    """Return the function of a pointwise operation, and tensors that it takes."""
    op, random = formula.OPERATIONS[name], np.random.default_rng(0)
    n = len(op.names) - op.n_settings
    xs = [torch.tensor(random.uniform(*op.domain, 3), device="cuda") for _ in range(n)]
    settings = {"threshold": (0.1, 20.0)}.get(name, ())
    return (lambda *xs: TABLE[name].function(*xs, *settings)), xs, settings


@pytest.mark.parametrize("name", SMOOTH)
def test_small_tensors_too_have_their_gradients_from_the_kernel(name, launches):
    """Formulas with NumPy's functions would launch one kernel per step, and sinc has none."""
    f, xs, _ = operation(name)
    tracked, g = [x.clone().requires_grad_() for x in xs], torch.ones_like(xs[0])
    out, (_, pull) = f(*tracked), torch.func.vjp(f, *xs)
    launches.clear()
    wanted = torch.autograd.grad(out, tracked, g)
    eager, launches[:] = list(launches), []
    found = pull(g)
    assert launches == eager
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(a.cpu().numpy(), b.cpu().numpy())


@pytest.mark.parametrize("name", [n for n in SMOOTH if hasattr(torch.Tensor, n + "_")])
def test_a_write_into_a_small_tensor_is_one_kernel(name, launches):
    f, (x, *others), settings = operation(name)
    wanted = f(x, *others)
    launches.clear()
    getattr(x, name + "_")(*others, *settings)
    assert len(launches) <= 1
    np.testing.assert_array_equal(x.cpu().numpy(), wanted.cpu().numpy())
