"""Softmax and cross-entropy on the device give what they give on the processor, and so do their gradients."""

import numpy as np
import pytest

import minigrad
from minigrad.kernels.cuda import lines_cuda, two_step_reductions
from minigrad.kernels.cuda.watch import watch
from tests.kernels.cuda.both import check, numbers

F = minigrad.nn.functional
FUNCTIONS = {
    "softmax": lambda x, dim: x.softmax(dim),
    "log_softmax": lambda x, dim: x.log_softmax(dim),
    "logsumexp": lambda x, dim: x.logsumexp(dim),
    "logsumexp, kept": lambda x, dim: x.logsumexp(dim, True),
}
CASES = [((3, 5), 1), ((2, 33), 1), ((2, 7, 3), 1), ((4, 3), 0), ((), 0), ((5, 1), 1), ((0, 3), 1), ((41,), 0)]
LAYOUTS = {"transposed": lambda x: x.mT, "every other": lambda x: x[:, ::2], "repeated": lambda x: x[:1].expand(3, 4)}


@pytest.fixture
def launches(monkeypatch):
    """Collect what kernels of rows and columns give."""
    seen, by_rows = [], lines_cuda.run_by_rows
    monkeypatch.setattr(lines_cuda, "run_by_rows", lambda *args: seen.append(by_rows(*args)) or seen[-1])
    return seen


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape, dim", CASES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients(name, shape, dim, dtype, launches):
    check(lambda x: FUNCTIONS[name](x, dim), numbers(shape, dtype))
    if np.prod(shape) > 1:
        assert len(launches) == (1 if "sum" in name else 2)  # the gradient of logsumexp is a formula


@pytest.mark.parametrize("width", [300, 530, 1100])  # for a warp; two warps; too long for the registers of two
@pytest.mark.parametrize("name", FUNCTIONS)
def test_long_rows_are_shared_by_a_block(name, width):
    check(lambda x: FUNCTIONS[name](x, 1), numbers((2, width)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("begin, width", [(0, 63), (1, 64), (3, 5), (2, 40)])
def test_rows_that_begin_anywhere_in_memory(begin, width, dtype):
    for f in FUNCTIONS.values():
        check(lambda x, f=f: f(x[:, begin : begin + width], 1), numbers((3, 67), dtype))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_many_rows_that_are_short_or_columns_have_a_thread_each(name, monkeypatch):
    monkeypatch.setattr(two_step_reductions, "ENOUGH", 4)
    check(lambda x: FUNCTIONS[name](x, 1), numbers((70, 3)))
    check(lambda x: FUNCTIONS[name](x, 1), numbers((2, 11, 40)))
    check(lambda x: FUNCTIONS[name](x, 0), numbers((11, 5)))


def test_how_rows_are_shared_depends_on_their_number_their_width_and_where_they_lie(monkeypatch):
    monkeypatch.setattr(two_step_reductions, "ENOUGH", 50)
    x = minigrad.ones(100, 40, device="cuda")._a
    assert (
        two_step_reductions.rows(100, 40, 16, x)[1:]
        == two_step_reductions.rows(100, 40, 16)[1:]
        == ((4, two_step_reductions.SHORT // 4), True)
    )
    assert two_step_reductions.rows(100, 16, 16, x)[1:] == ((1, two_step_reductions.SHORT), True)
    assert two_step_reductions.rows(49, 16, 16, x)[1:] == ((32, two_step_reductions.SHORT // 32), True)
    assert two_step_reductions.rows(100, 40, 16, minigrad.ones(40, 100, device="cuda").mT._a)[1:] == (
        (1, two_step_reductions.SHORT),
        False,
    )
    assert two_step_reductions.rows(100, 32 * 16 + 1, 16, x)[1:] == ((64, 1), True)
    assert two_step_reductions.rows(100, two_step_reductions.LONG * 16 + 1, 16, x)[1:] == (
        (two_step_reductions.LONG, 1),
        False,
    )


def test_each_row_is_read_once_and_its_exponentials_are_kept():
    compiled = minigrad.compile(lambda x: x.softmax(1))
    compiled(minigrad.tensor(numbers((2, 3)), device="cuda"))
    _, short, long = compiled.source().split("@cuda.jit\n")
    assert short.count("load_four(x[i0], row_index(q), x_row, q)") == short.count("exp(") == 1
    assert long.count("x[i0, i1]") == 3


def test_the_gradient_of_cross_entropy_is_not_copied():
    x = minigrad.tensor(numbers((2, 3)), device="cuda", requires_grad=True)
    with watch() as trace:
        F.cross_entropy(x, minigrad.tensor([0, 2], device="cuda")).backward()
    assert not any("copy" in launch.kernel and len(launch.arrays) > 1 for launch in trace.launches)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_layouts(name, layout):
    check(lambda x: FUNCTIONS[name](LAYOUTS[layout](x), 1), numbers((4, 4)))
    check(lambda x: FUNCTIONS[name](LAYOUTS[layout](x), 0), numbers((4, 4)))


def test_several_dimensions():
    check(lambda x: x.logsumexp((0, 1)), numbers((2, 3, 4)))
    check(lambda x: x.logsumexp((0, 2)), numbers((2, 3, 4)))
    check(lambda x: x.logsumexp((1, 2), True), numbers((2, 3, 4)))


@pytest.mark.parametrize("odd", [[np.nan], [np.inf], [-np.inf], [-np.inf, np.nan], [np.inf, -np.inf], [1e30, -1e30]])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_infinities_and_nan(name, odd):
    x = numbers((6, 7), "float64")
    x[1, 2 : 2 + len(odd)] = odd
    x[2, -len(odd) :] = odd
    x[3] = odd[0]
    x[4, 0] = odd[0]
    check(lambda x: FUNCTIONS[name](x, 1), x)


def test_large_numbers_do_not_overflow():
    check(lambda x: x.softmax(1), np.asarray([[1000, 1000, -1000], [-5000, -5001, -5002]], "float32"))


# ---------------------------------------------------------------------- cross-entropy
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("shape", [(4, 3), (2, 5, 3), (40,), (3, 40)])
def test_cross_entropy(shape, reduction):
    classes = shape[min(1, len(shape) - 1)]
    target = np.arange(int(np.prod(shape)) // classes).reshape(shape[:1][: len(shape) - 1] + shape[2:]) * 7 % classes
    for options in ({}, {"ignore_index": 1}, {"label_smoothing": 0.1}, {"weight": True, "ignore_index": 2}):
        weight = [np.linspace(1, 2, classes)] if "weight" in options else []
        some = {k: v for k, v in options.items() if k != "weight"}
        f = lambda x, t, *w, some=some: F.cross_entropy(x, t, *(a.detach() for a in w), reduction=reduction, **some)
        check(lambda x, t, *w: f(x, t, *w) + sum(a.sum() for a in w), numbers(shape, "float64"), target, *weight)


@pytest.mark.parametrize("odd", [[np.nan], [np.inf], [-np.inf], [-np.inf, np.nan], [np.inf, -np.inf]])
def test_cross_entropy_of_infinities_and_nan(odd):
    x = numbers((5, 7), "float64")
    x[1, 2 : 2 + len(odd)] = odd
    x[2] = odd[0]
    check(lambda x, t: F.cross_entropy(x, t, reduction="none"), x, np.asarray([0, 2, 1, 6, 3]))


@pytest.mark.parametrize("loss", [F.cross_entropy, F.nll_loss], ids=lambda f: f.__name__)
@pytest.mark.parametrize("target", [[0, 3], [0, -1]])
def test_a_class_that_there_is_not_is_an_error(loss, target):
    x, t = minigrad.tensor(numbers((2, 3)), device="cuda"), minigrad.tensor(target, device="cuda")
    for reduction in ("mean", "none"):
        with pytest.raises(IndexError, match=f"Target {target[1]} is out of bounds for 3 classes"):
            loss(x, t, reduction=reduction)


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8"])
def test_classes_of_other_dtypes(dtype):
    target = np.asarray([[0, 2, 1], [4, 1, 3]], dtype)
    for loss in (F.cross_entropy, F.nll_loss):
        check(lambda x, t, loss=loss: loss(x, t), numbers((2, 5, 3)), target)


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_nll_loss(reduction):
    target = np.asarray([[0, 2, 1], [4, 1, 3]])
    for options in ({}, {"ignore_index": 1}):
        check(lambda x, t, o=options: F.nll_loss(x, t, reduction=reduction, **o), numbers((2, 5, 3)), target)
