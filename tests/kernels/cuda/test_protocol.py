"""NumPy's protocols work on the device: writes follow its rules without a kernel, and numbers are exact."""

from pathlib import Path

import numpy as np
import pytest

import minigrad as torch
from minigrad.kernels.cuda import functions
from minigrad.kernels.cuda.device_array import to_device

from .both import check, numbers

INF, NAN = float("inf"), float("nan")


def there(data, **options):
    return torch.tensor(data, device="cuda", **options)


def zeros(*shape, **options):
    return torch.zeros(*shape, device="cuda", **options)


def set_rows(x, value):
    x[1:] = value


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.copy_(zeros(5)),
        lambda x: x.copy_(zeros(2)),
        lambda x: x.add_(zeros(2, 3)),
        lambda x: x.lerp_(zeros(2, 3), 0.5),
        lambda x: x.masked_fill_(zeros(2, 3) == 0, 1.0),
        lambda x: set_rows(x, zeros(3)),
    ],
)
def test_what_does_not_fit_is_not_written(write):
    x = there([1.0, 2.0, 3.0])
    with pytest.raises(RuntimeError, match="cannot be broadcast|doesn't match the broadcast shape"):
        write(x)
    assert x.tolist() == [1, 2, 3]


@pytest.mark.parametrize("write", [lambda x: x.add_(1.5), lambda x: x.div_(2), lambda x: x.clamp_(min=0.5)])
def test_floats_are_not_written_into_integers(write):
    x = there([1, 2])
    with pytest.raises(RuntimeError, match="result type .*float32 can't be cast to the desired output type .*int64"):
        write(x)
    assert x.tolist() == [1, 2]


def test_numbers_that_do_not_fit_are_not_written():
    x = zeros(3, dtype=torch.uint8)
    for value in (300, NAN):
        with pytest.raises(RuntimeError, match="overflow"):
            x.fill_(value)
    assert x.tolist() == [0, 0, 0] and x.fill_(-1).tolist() == [255] * 3


def test_a_number_written_over_a_tensor_has_its_device_in_every_layer():
    """The tangent of what was written is made like the tensor that the write gives."""

    def f(x):
        y = x * x
        y[0] = 1.0
        return y

    x, t = there([2.0, 3.0]), there([1.0, 1.0])
    gradient = torch.func.grad(lambda x: (f(x) ** 2).sum())
    assert torch.func.jvp(f, (x,), (t,))[1].tolist() == [0.0, 6.0]
    assert torch.func.jvp(gradient, (x,), (t,))[1].tolist() == [0.0, 108.0]


# ---------------------------------------------------------------------- numbers
def test_integers_stay_integers():
    """2**62 + 1 is no float64."""
    big, x, y = 2**62 + 1, there([5, -5, 5, -5]), there([3, 3, -3, -3])
    assert torch.div(there([big, -big]), 1, rounding_mode="trunc").tolist() == [big, -big]
    assert torch.fmod(there([big]), 2**61).tolist() == [1]
    assert torch.div(x, y, rounding_mode="trunc").tolist() == [1, -1, -1, 1]
    assert torch.fmod(x, y).tolist() == [2, -2, 2, -2] and (x // y).tolist() == [1, -2, -2, 1]
    assert all(f(there([big])).tolist() == [big] for f in (torch.floor, torch.ceil, torch.trunc, torch.round))
    assert (there([1, -1, -1, 2, 0]) ** there([-1, -3, -2, -1, -1])).tolist() == [1, -1, 1, 0, 0]
    assert (there([3, -2]) ** there([4, 3])).tolist() == [81, -8]


@pytest.mark.parametrize("compare", [np.less, np.greater_equal, np.equal, np.not_equal], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32"])
def test_integers_are_compared_with_numbers_that_are_none_of_their_dtype(dtype, compare):
    x = np.asarray([0, 1, 127], dtype)
    for number in (-(2**40), -129, -1, 128, 300, 2**40):
        assert compare(to_device(x), number).to_host().tolist() == compare(x, number).tolist()
        assert compare(number, to_device(x)).to_host().tolist() == compare(number, x).tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "f", [torch.floor_divide, torch.remainder, torch.fmod, lambda x, y: torch.round(x * y, decimals=1)]
)
def test_division_and_rounding_at_infinities(f, dtype):
    x, y = (a.reshape(-1).astype(dtype) for a in np.meshgrid(*[[INF, -INF, NAN, 5.5, -5.5, 0.0]] * 2))
    for here, found in zip(f(*map(torch.tensor, (x, y))).tolist(), f(*map(there, (x, y))).tolist()):
        assert here == found or here != here and found != found


def test_lgamma_at_infinities():
    assert torch.lgamma(there([INF, -INF, 0.0, -1.0])).tolist() == [INF] * 4


def test_every_file_that_enters_functions_is_loaded():
    files = Path(functions.__file__).parent.glob("*.py")
    assert {f.stem for f in files if "of_arrays(" in f.read_text()} == {*functions.FILES, "functions"}


def test_what_has_no_kernel_is_refused():
    with pytest.raises(NotImplementedError, match="kron: has no kernel on the device"):
        np.kron(there([1.0])._a, there([2.0])._a)
    with pytest.raises(NotImplementedError, match="subtract.reduce: has no kernel on the device"):
        np.subtract.reduce(there([1.0])._a)


# ---------------------------------------------------------------------- memory
def test_a_view_does_not_copy():
    x = zeros(2, 3).t()
    with pytest.raises(RuntimeError, match="not compatible"):
        x.view(6)
    y = x.reshape(6)
    y.fill_(1.0)
    assert y._base is None and x.sum().item() == 0
    check(lambda x: x.t().reshape(6) * 2, numbers((2, 3)))


def test_memory_with_given_steps():
    x = torch.empty_strided((2, 3), (1, 4), device="cuda")
    assert x.stride() == (1, 4) and x.fill_(2.0).sum().item() == 12


# ---------------------------------------------------------------------- what looks at numbers
def test_a_number_beside_a_tensor_is_where_the_tensor_is():
    x = there([[1, 3], [2, 4]])
    assert torch.vmap(lambda r: torch.isin(3, r))(x).tolist() == [True, False]
    assert torch.vmap(lambda r: torch.searchsorted(r, 3))(x).tolist() == [1, 1]


def test_errors_name_the_numbers():
    with pytest.raises(RuntimeError, match="between 0 and 1, found 2 to 2"):
        torch.nn.functional.binary_cross_entropy(there([2.0]), there([1.0]))
    with pytest.raises(RuntimeError, match="negative number, -1"):
        torch.bincount(there([-1]))


def test_anomaly_mode_looks_at_the_loss():
    x = there([-1.0, 1.0], requires_grad=True)
    with (
        torch.autograd.detect_anomaly(),
        pytest.raises(RuntimeError, match="log: produces NaN from inputs .*; 1 of 2 elements"),
    ):
        x.log().sum().backward()


@pytest.mark.parametrize("write", [
    lambda x: x[1:].add_(x[:-1]),
    lambda x: x[:-1].mul_(x[1:]),
    lambda x: x.t().sub_(x),
    lambda x: torch.add(x[1:], x[:-1], out=x[1:]),
    lambda x: x.add_(x[:, :1]),
    lambda x: x.mul_(x),
    lambda x: x[1:].div_(x.flip(0)[1:]),
])  # fmt: skip
def test_operands_in_the_written_memory_are_read_before_it_is_written(write):
    x = torch.arange(1.0, 10).reshape(3, 3)
    y = x.to("cuda")
    write(x)
    write(y)
    assert y.tolist() == x.tolist()
