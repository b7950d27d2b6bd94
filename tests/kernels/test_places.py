"""Kernels of gather, scatter, embedding and indexing say what the definitions say."""

import numpy as np
import pytest

import minigrad
from minigrad.kernels.cpu import index_cpu
from tests.floats import FLOATS, some
from tests.kernels.definitions import agree, kernels, numbers

F = minigrad.nn.functional
SHAPES = [(4, 9, 5), (9, 4, 1), (1, 9, 30), (3, 2, 2)]


def indices(shape, high, seed=0):
    return np.random.default_rng(seed).integers(0, high, shape)


FUNCTIONS = {
    "gather": lambda x, i, s, d: x.gather(d, i),
    "scatter_add": lambda x, i, s, d: x.scatter_add(d, i, s),
    "scatter_add of a broadcast": lambda x, i, s, d: x.scatter_add(d, i, s[:1, :1, :1].expand(s.shape)),
}


@FLOATS
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_index_for_each_element(name, shape, dtype, monkeypatch):
    for d in range(3):
        size = (*shape[:d], 7, *shape[d + 1 :])
        f = lambda x, i, s, d=d: FUNCTIONS[name](x, i, s, d) + 0 * s.sum()
        agree(monkeypatch, f, numbers(shape, dtype), indices(size, shape[d]), numbers(size, dtype, 1))


@pytest.mark.parametrize("shape", SHAPES)
def test_scatter_writes(shape, monkeypatch):
    for d in range(3):
        order = np.argsort(numbers(shape), d)
        agree(monkeypatch, lambda x, i, s, d=d: x.scatter(d, i, s), numbers(shape), order, numbers(shape, seed=1))


@pytest.mark.parametrize("how", some(["sum", "prod", "amax", "amin", "mean"], 2))
@pytest.mark.parametrize("shape", SHAPES)
def test_scatter_reduces(how, shape, monkeypatch):
    for d in range(3):
        size = (*shape[:d], 7, *shape[d + 1 :])
        x, s = np.round(numbers(shape)), np.round(numbers(size, seed=1))
        x.flat[1], s.flat[::5] = np.nan, np.nan
        i = indices(size, shape[d])
        for keep in (True, False):
            f = lambda x, i, s, d=d, keep=keep: x.scatter_reduce(d, i, s, how, include_self=keep)
            agree(monkeypatch, f, x, i, s)


@pytest.mark.parametrize("shape", SHAPES)
def test_scatter_of_a_number(shape, monkeypatch):
    for d in range(3):
        size = (*shape[:d], 7, *shape[d + 1 :])
        for value in (2, 0.5, True, float("nan")):
            f = lambda x, i, d=d, value=value: x.scatter(d, i, value)
            agree(monkeypatch, f, numbers(shape), indices(size, shape[d]))


@FLOATS
@pytest.mark.parametrize("shape", SHAPES)
def test_slices_by_index(shape, dtype, monkeypatch):
    x = numbers(shape, dtype)
    for d in range(3):
        i = indices((6,), shape[d])
        source = numbers((*shape[:d], 6, *shape[d + 1 :]), dtype, 1)
        agree(monkeypatch, lambda x, i, d=d: x.index_select(d, i), x, i)
        agree(monkeypatch, lambda x, i, s, d=d: x.index_add(d, i, s), x, i, source)
    i = indices((2, 5), shape[1])
    agree(monkeypatch, lambda x, i: x[:, i], x, i - shape[1])  # from the end
    agree(monkeypatch, lambda x, i: x.mT[:, :, i], x, i)
    agree(monkeypatch, lambda x, i: x[:, i.int()], x, i)


def test_embedding(monkeypatch):
    table, i = numbers((7, 5)), indices((3, 40), 7)
    agree(monkeypatch, lambda w, i: F.embedding(i, w), table, i)
    agree(monkeypatch, lambda w, i: F.embedding(i, w, 2), table, i)
    agree(monkeypatch, lambda w, i: F.embedding(i, w), numbers((7, 1)), i)


def test_writes_into_what_is_read(monkeypatch):
    def run(x, i):
        y = x.clone()
        y.index_add_(0, i, y[:6])
        return y.scatter_add_(0, i[:, None].expand(6, 4), y[:6].clone())

    agree(monkeypatch, run, numbers((9, 4)), indices((6,), 9))


def test_indices_out_of_range_are_refused(monkeypatch):
    x, table = minigrad.ones(5, 4), minigrad.ones(5, 4)
    with kernels(monkeypatch, True):
        for f in (lambda i: x[i], lambda i: x.index_select(0, i), lambda i: F.embedding(i, table)):
            for wrong in (5, -6):
                with pytest.raises(IndexError):
                    f(minigrad.tensor([0, wrong]))
        with pytest.raises(IndexError):
            F.embedding(minigrad.tensor([-1]), table)
        for wrong in (5, -1):
            i = minigrad.tensor([[0, wrong, 1, 2]])
            for f in (lambda i: x.gather(0, i), lambda i: x.scatter_add(0, i, x)):
                with pytest.raises(RuntimeError):
                    f(i)


@pytest.mark.parametrize("shape", [(2, 5, 3), (2, 5, 1)])
@pytest.mark.parametrize("wrong", [-1, 5])
def test_kernels_leave_indices_out_of_range_to_numpy(wrong, shape, monkeypatch):
    x, i = numbers(shape), indices(shape, 5)
    i[1, 3, 0] = wrong
    with kernels(monkeypatch, True):
        assert index_cpu.gather(x, 1, i) is None and index_cpu.gather(x, 1, np.abs(i) % 5) is not None
        for how in index_cpu.HOW:
            assert not index_cpu.scatter(x.copy(), 1, i, x.copy(), how)
        assert not index_cpu.in_range(i, 5) and index_cpu.in_range(np.abs(i) % 5, 5)


def test_values_that_are_broadcast(monkeypatch):
    x, i = numbers((9, 4)), indices((6,), 9)
    for shape in ((), (4,), (6, 1), (1, 4)):
        agree(
            monkeypatch, lambda x, v: x.index_put((minigrad.tensor(i),), v, accumulate=True), x, numbers(shape, seed=1)
        )


def test_writes_into_views(monkeypatch):
    def run(x, i, s):
        y = x.clone()
        y.mT.scatter_add_(1, i, s)
        y[:, ::2].scatter_(0, i.mT[:, :2], s.mT[:, :2])
        y.mT.index_add_(0, i[0, :4] % 4, s[:4])
        return y

    agree(monkeypatch, run, numbers((9, 4)), np.argsort(numbers((4, 9)), 1), numbers((4, 9), seed=1))


@pytest.mark.parametrize("ignore", [-100, 2])
@FLOATS
def test_mean_of_losses_at_classes(dtype, ignore, monkeypatch):
    x, target = numbers((300, 5), dtype), minigrad.tensor(indices(300, 5))
    agree(monkeypatch, lambda x: F.nll_loss(x, target, ignore_index=ignore), x)
    agree(monkeypatch, lambda x: F.nll_loss(x, target * 0 + 3, ignore_index=3), x)  # 0 / 0


def test_classes_out_of_range_raise_from_the_kernel_too(monkeypatch):
    monkeypatch.setattr(index_cpu, "PLACES_FROM", 1)
    x = minigrad.tensor(numbers((3, 5), "float32"))
    for k in (5, -1):
        with pytest.raises(IndexError, match=f"Target {k} is out of bounds for 5 classes"):
            F.nll_loss(x, minigrad.tensor([0, k, 1]))
    x[1, 2] = float("inf")
    assert F.nll_loss(x, minigrad.tensor([0, 2, 1])).item() == -float("inf")
