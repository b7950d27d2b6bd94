"""Hints at NaN: they name the operation that is at fault, and stay quiet where there is none."""

import math
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import minigrad
from tests.functions import custom

NUMPY_TELLS = pytest.mark.cpu("what NumPy tells of NaN; a GPU would have to be waited for, as detect_anomaly does")


def given(run):
    """Return the names of the warnings that a program gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", minigrad.MinigradWarning)
        run()
    return [w.message.name for w in caught]


@NUMPY_TELLS
def test_a_nan_of_another_computation_is_not_reported():
    minigrad.tensor([-1.0]).sqrt()  # a NaN that nothing uses
    minigrad.tensor([-1.0], requires_grad=True).log()
    x = minigrad.tensor([float("nan"), 1.0], requires_grad=True)
    with pytest.warns(minigrad.MinigradWarning) as caught:
        x.log().sum().backward()
    assert "log: made" not in str(caught[0].message)


def test_a_masked_nan_with_a_finite_gradient_is_no_warning():
    x = minigrad.tensor([-1.0, 4.0], requires_grad=True)

    def run():
        y = minigrad.where(x > 0, x.detach().sqrt(), 0.0)
        (y * x).sum().backward()

    assert given(run) == []
    assert not x.grad.isnan().any()


def test_infinities_without_nan_are_no_warning():
    x = minigrad.tensor([0.0, 2.0], requires_grad=True)
    assert given(lambda: (1 / x).backward(minigrad.ones(2))) == []
    assert x.grad.tolist() == [-np.inf, -0.25]


def test_events_of_other_threads_are_not_reported():
    x = minigrad.tensor([4.0], requires_grad=True)

    def other():
        minigrad.tensor([-1.0], requires_grad=True).sqrt()

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert given(lambda: x.sqrt().sum().backward()) == []


@NUMPY_TELLS
@pytest.mark.parametrize(("run", "name"), [
    (lambda x: x.log_softmax(0), "log_softmax"), (lambda x: x.softmax(0), "softmax"), (lambda x: x.var(), "var"),
    (lambda x: minigrad.nn.functional.layer_norm(x, (3,)), "standardize"), (lambda x: x.std(), "std"),
    (lambda x: minigrad.nn.functional.cross_entropy(x[None], minigrad.tensor([0])), "mean_cross_entropy"),
])  # fmt: skip
def test_few_numbers_are_computed_where_their_nan_is_told(run, name):
    x = minigrad.tensor([math.inf, 0.0, 1.0], requires_grad=True)
    with pytest.warns(minigrad.MinigradWarning, match=f"{name}: produces the first NaN"):
        run(x).sum().backward()


@NUMPY_TELLS
def test_a_backward_along_few_lines_tells_of_its_nan():
    x = minigrad.tensor([1000.0, 0.0], requires_grad=True)
    assert given(lambda: (-x.softmax(0).log()[1]).backward())[-1] == "nan-gradient"


@NUMPY_TELLS
def test_the_loss_is_blamed_on_the_forward_line():
    x = minigrad.tensor([-1.0, 1.0], requires_grad=True)
    y = x.log()  # here
    with pytest.warns(minigrad.MinigradWarning, match="log: produces the first NaN") as caught:
        y.sum().backward()
    assert "# here" in str(caught[0].message)


def test_large_arrays_are_checked_for_nan_in_anomaly_mode():
    x = minigrad.ones(70, 80, requires_grad=True)
    with (
        minigrad.autograd.detect_anomaly(),
        pytest.raises(RuntimeError, match="log: produces NaN from inputs .*; 5600 of 5600 elements"),
    ):
        (x - 2).log().sum().backward()


def test_anomaly_mode_without_check_nan_only_warns():
    x = minigrad.tensor([-1.0], requires_grad=True)
    with minigrad.autograd.detect_anomaly(check_nan=False), pytest.warns(minigrad.MinigradWarning, match="nan-loss"):
        x.log().sum().backward()
    assert np.isfinite(x.grad.item())


@NUMPY_TELLS
@pytest.mark.parametrize("create_graph", [False, True])
def test_gradients_of_any_order_are_hinted_at(create_graph):
    x = minigrad.tensor([0.0, 1.0], requires_grad=True)
    assert given(lambda: minigrad.autograd.grad((x * x).sqrt().sum(), x, create_graph=create_graph)) == ["nan-gradient"]


@NUMPY_TELLS
def test_a_transform_hints_too():
    slope = minigrad.func.grad(lambda x: (x * x).sqrt().sum())
    assert given(lambda: slope(minigrad.tensor([0.0, 1.0]))) == ["nan-gradient"]


# ---------------------------------------------------------------------- settings of the user's
@NUMPY_TELLS
@pytest.mark.parametrize("how", ["warn", "raise"])
@pytest.mark.parametrize("action", ["always", "default", "ignore", "error"])
@pytest.mark.parametrize(("run", "name"), [
    (lambda x: x / x, "div"), (lambda x: x - 1 / x + 1 / x, "add"), (lambda x: (1 / x - 1 / x).sum(), "sub"),
    (lambda x: (1 / x * minigrad.tensor([1.0, -1.0, 1.0])).sum(), "sum"),
])  # fmt: skip
def test_the_operation_is_found_whatever_the_filters_and_settings_are(run, name, action, how):
    x = minigrad.tensor([0.0, 0.0, 1.0], requires_grad=True)
    with warnings.catch_warnings(record=True) as caught, np.errstate(all=how):
        warnings.resetwarnings()
        warnings.simplefilter(action)
        warnings.simplefilter("always", minigrad.MinigradWarning)
        before = np.geterr()
        y = run(x)
        (y if y.ndim == 0 else y[0]).backward()
        assert np.geterr() == before
    assert {w.category for w in caught} == {minigrad.MinigradWarning}
    assert f"{name}: produces the first NaN" in str(caught[0].message)


def test_importing_leaves_the_filters_alone():
    program = (
        "import warnings, numpy; before = list(warnings.filters); import minigrad; assert warnings.filters == before"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@NUMPY_TELLS
@pytest.mark.parametrize("compiled", [False, True])
def test_a_nan_of_a_users_function_or_of_a_compiled_one_is_reported(compiled):
    """Neither has a formula with which the number could be computed again."""

    Log = custom(
        "Log",
        forward=lambda ctx, x: ctx.save_for_backward(x) or minigrad.from_numpy(np.full(x.shape, np.nan, np.float32)),
        backward=lambda ctx, grad: grad / ctx.saved_tensors[0],
    )
    x = minigrad.tensor([1.0, -2.0], requires_grad=True)
    f = minigrad.compile(lambda x: (x * float("nan")).exp()) if compiled else Log.apply
    with pytest.warns(minigrad.MinigradWarning, match="the loss is NaN"):
        f(x).exp().sum().backward()
