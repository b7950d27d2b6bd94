"""Kernels on several threads: same results, from whichever threads they are called."""

import os
import threading

import numpy as np
import pytest

import minigrad
from minigrad.kernels import pointwise_calls, threads
from minigrad.nn import functional as F
from tests.floats import some
from tests.kernels import test_channels, test_conv, test_reductions, test_rows
from tests.kernels.definitions import from_several_threads, numbers

T = minigrad.tensor


@pytest.fixture
def four(monkeypatch):
    """Use four threads, and slices so small that all threads work."""
    monkeypatch.setattr(threads, "GRAIN", 1000)
    monkeypatch.setitem(pointwise_calls.SIZES, "many", 1000)
    before = threads.get_num_threads()
    threads.set_num_threads(4)
    yield
    threads.set_num_threads(before)


def value_and_gradient(x):
    x = minigrad.tensor(x).requires_grad_()
    y = minigrad.sin(x).tanh()
    (g,) = minigrad.autograd.grad(y.sum(), x)
    return y.detach().numpy(), g.numpy()


@pytest.mark.parametrize("size", [3999, 4000, 40_001])
def test_results_do_not_depend_on_the_threads(four, size):
    x = np.linspace(-2, 2, size)
    shared = value_and_gradient(x)
    threads.set_num_threads(1)
    for a, b in zip(shared, value_and_gradient(x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-15)
    np.testing.assert_allclose(shared[0], np.tanh(np.sin(x)), rtol=1e-14)


def test_every_element_is_computed_once(four):
    seen = []

    def kernel(x, factor, out):
        seen.append(out.size)
        out[:] += factor * x

    for size in (4000, 4001, 4063, 5000, 123_457):
        seen.clear()
        out = np.zeros(size)
        threads.launch(kernel, [np.arange(size), 2.0, out])
        assert (out == 2.0 * np.arange(size)).all()
        assert sum(seen) == size and len(seen) == 4


def test_several_threads_may_run_kernels_at_once(four):
    x = np.linspace(-2, 2, 30_000)
    expected, wrong = value_and_gradient(x), []

    def work():
        for _ in range(20):
            found = value_and_gradient(x)
            if not all((a == b).all() for a, b in zip(found, expected, strict=True)):
                wrong.append(threading.get_ident())

    workers = [threading.Thread(target=work) for _ in range(6)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert not wrong


I = np.random.default_rng(0).integers(0, 8, (9, 8, 5))  # noqa: E741
WHOLE = {  # functions of arrays of these shapes
    "scans": (lambda x: x.cumsum(1) * (x / 9).cumprod(1) + x.cummax(1).values, (9, 30, 3)),
    "products": (lambda x: x.prod(0).sum() * x.prod(1).sum() * x.prod(2), (9, 30, 3)),
    "windows": (lambda x: F.max_pool2d(x, 2).sum() * F.max_pool2d(x, 3, 2, 1), (6, 5, 8, 8)),
    "places": (
        lambda x: x.gather(1, T(I)).index_select(2, T(I[0, 0] % 5)).sum() * x.scatter_add(1, T(I), x),
        (9, 8, 8),
    ),
    "sums": (lambda x: x.sum(2).sum(0) * x.sum(), (6, 7, 50)),
    "convolutions": (lambda *given: test_conv.convolved(*given), *[a.shape for a in test_conv.PARAMETERS]),
}
ALONG = {
    **{f"{name} of channels": (f, (9, 6, 30), (6,), (6,)) for name, f in test_channels.NORMS.items()},
    **{f"{name} of columns": (f, (9, 7, 30)) for name, f in test_channels.COLUMNS.items()},
    **{f"{name} of rows": (f, (40, 60)) for name, f in test_rows.FUNCTIONS.items()},
    **{
        f"{name} over {dims}": (
            lambda x, f=test_reductions.REDUCTIONS[name], dims=dims: f(x.float() / 3, dims),
            (6, 7, 50),
        )
        for name in ("amax", "amin", "prod", "norm", "var")
        for dims in ((2,), (0,), (0, 1, 2))
    },
}


@pytest.mark.parametrize("name", [*WHOLE, *some(ALONG, 6)])
def test_each_family_of_kernels_gives_the_same_from_several_threads(name, monkeypatch):
    f, *shapes = (WHOLE | ALONG)[name]
    from_several_threads(monkeypatch, f, *[numbers(shape, seed=i) / 3 for i, shape in enumerate(shapes)])


def test_error_in_one_slice_reaches_the_caller(four):
    def kernel(x, out):
        if x[0] > 0:
            raise FloatingPointError("in a thread")

    with pytest.raises(FloatingPointError, match="in a thread"):
        threads.launch(kernel, [np.arange(8000), np.empty(8000)])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_forked_process_has_threads_of_its_own(four):
    x = np.linspace(-2, 2, 30_000)
    expected = value_and_gradient(x)[0]
    child = os.fork()
    if child == 0:
        os._exit(0 if (value_and_gradient(x)[0] == expected).all() else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_small_arrays_stay_with_the_caller():
    assert threads.parts(threads.GRAIN) == 1


@pytest.mark.parametrize(
    ("n", "kind"), [(0, RuntimeError), (-2, RuntimeError), (1.5, RuntimeError), (True, RuntimeError)]
)
def test_number_of_threads_is_checked(n, kind):
    with pytest.raises(kind, match="set_num_threads: expected"):
        threads.set_num_threads(n)


def test_the_threads_of_blas_are_as_many():
    from threadpoolctl import threadpool_info

    before = threads.get_num_threads()
    try:
        for n in (1, 2):
            threads.set_num_threads(n)
            assert {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"} == {n}
    finally:
        threads.set_num_threads(before)
