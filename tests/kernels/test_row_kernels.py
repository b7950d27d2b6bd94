"""Fused kernels of operations on lines: when they are written, for what, and which gradients they give."""

import importlib
import sys

import numpy as np
import pytest

import minigrad
from minigrad.kernels import cache, choose, fallback, row_kernels
from minigrad.ops.nn.class_losses import NLL, MeanNLL
from minigrad.ops.nn.softmax import Softmax
from minigrad.ops.nn.standardize import LayerNorm
from tests.kernels.definitions import kernels, numbers
from tests.kernels.test_rows import defined

F = minigrad.nn.functional


@pytest.fixture
def fresh():
    """Forget all kernels."""
    row_kernels.forward_plan.cache_clear()
    row_kernels.backward_plan.cache_clear()


def test_arrays_of_the_same_shapes_in_another_layout_give_the_same():
    x, target = numbers((32, 16), "float32"), np.arange(32) % 16
    rows, turned = minigrad.tensor(x), minigrad.tensor(x.T.copy()).T
    classes, spaced, narrow = (minigrad.tensor(t) for t in (target, np.repeat(target, 2), target.astype("int32")))
    expected = F.cross_entropy(rows, classes).item()
    for given in ((turned, classes), (rows, spaced[::2]), (turned, spaced[::2]), (rows, narrow.long())):
        assert F.cross_entropy(*given).item() == pytest.approx(expected, rel=1e-6)
    weight = minigrad.ones(32)[::2]
    assert np.allclose(F.layer_norm(rows, (16,), minigrad.ones(16), weight), F.layer_norm(rows, (16,)) + 1)


def test_one_kernel_for_all_sizes_of_a_layout(fresh):
    plan = row_kernels.forward_plan(Softmax)
    for shape in ((64, 7), (5, 100), (1, 400), (2, 3, 50), (300, 1)):
        minigrad.tensor(numbers(shape)).softmax(-1)
    assert [(key[0], key[2]) for key in plan.kernels] == [((False, True), np.dtype("float64"))]
    minigrad.tensor(numbers((4, 33, 40))).softmax(1)
    minigrad.tensor(numbers((33, 400))).softmax(0)
    minigrad.tensor(numbers((64, 7), "float32")).softmax(1)
    assert [key[0] for key in plan.kernels] == [(False, True), (False, True, False), (False, True)]


@pytest.mark.parametrize("shape, dim", [((5, 7), 1), ((4, 5, 6), 1), ((1, 1), 0), ((3,), 0)])
def test_small_arrays_have_kernels_but_do_not_load_the_compiler(fresh, monkeypatch, shape, dim):
    x, plan = numbers(shape), row_kernels.forward_plan(Softmax)
    asked = fallback.Compiler.refused
    importlib.import_module("numba")
    with monkeypatch.context() as m:
        m.delitem(sys.modules, "numba")
        expected = Softmax.impl(x, (dim,))
    assert not plan.kernels and fallback.Compiler.refused == asked
    np.testing.assert_allclose(Softmax.impl(x, (dim,)), expected, rtol=1e-14)
    assert len(plan.kernels) == 1


def test_kernels_have_no_line_of_the_users(fresh, monkeypatch):
    texts, load = [], cache.load
    monkeypatch.setattr(cache, "load", lambda name, text: (texts.append(text), load(name, text))[1])
    scores = minigrad.tensor(numbers((40, 50)), requires_grad=True)
    scores.softmax(1).sum().backward()
    assert len(texts) == 2
    assert not any("scores" in text or __file__ in text or ".py:" in text for text in texts)


def test_writing_a_kernel_leaves_no_trace_in_a_record(fresh):
    def program():
        x = minigrad.tensor(numbers((40, 50)), requires_grad=True)
        F.layer_norm(x.softmax(1), (50,)).sum().backward()

    first, second = (minigrad.record(program).to_dict() for _ in range(2))
    assert [op["name"] for op in first["ops"]] == [op["name"] for op in second["ops"]]
    assert len(first["values"]) == len(second["values"])


@pytest.mark.parametrize("wanted", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2)])
def test_gradients_of_some_arguments(wanted, monkeypatch):
    arrays = numbers((40, 30)), numbers((30,), seed=1), numbers((30,), seed=2)

    def gradients():
        x, w, b = (minigrad.tensor(a, requires_grad=i in wanted) for i, a in enumerate(arrays))
        out = F.layer_norm(x, (30,), w, b)
        g = minigrad.tensor(numbers((40, 30), seed=3))
        return minigrad.autograd.grad(out, [(x, w, b)[i] for i in wanted], g)

    found = gradients()
    with kernels(monkeypatch, False):
        expected = gradients()
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-11, atol=1e-12)


def test_weights_of_another_shape_than_the_lines_are_not_taken_for_theirs():
    x = minigrad.tensor(numbers((3, 8, 8, 8)), requires_grad=True)
    weight, bias = (minigrad.tensor(numbers((8,), seed=k), requires_grad=True) for k in (1, 2))
    for some in ((weight, bias), (weight,), (None, bias)):
        given = [t for t in some if t is not None]
        out = F.group_norm(x, 8, *some)
        found = minigrad.autograd.grad(out, given, minigrad.ones_like(out) * 2)
        assert [g.shape for g in found] == [(8,)] * len(given)
        if some[-1] is bias:
            np.testing.assert_allclose(found[-1].numpy(), np.full(8, 2 * 3 * 64))


def test_what_is_computed_of_all_lines_is_not_shared_among_threads(monkeypatch):
    monkeypatch.setattr(row_kernels.threads, "GRAIN", 100)
    x, target = numbers((64, 30)), minigrad.arange(64) % 30
    before = minigrad.get_num_threads()
    minigrad.set_num_threads(4)
    try:
        y = minigrad.tensor(x, requires_grad=True)
        loss = F.cross_entropy(y, target)
        (dx,) = minigrad.autograd.grad(loss, y)
    finally:
        minigrad.set_num_threads(before)
    expected = defined(lambda x: F.cross_entropy(x, target), x)
    np.testing.assert_allclose(loss.item(), expected[0], rtol=1e-12)
    np.testing.assert_allclose(dx.numpy(), expected[1], atol=1e-14)


def test_a_program_that_is_no_loop_is_an_internal_error(fresh, monkeypatch):
    monkeypatch.setattr(Softmax, "program", staticmethod(lambda x, dims: x.sort(dims[0])[0]))
    with pytest.raises(
        minigrad.InternalError, match="softmax: its kernel does not loop over all of its arguments"
    ) as caught:
        minigrad.tensor(numbers((40, 50))).softmax(1)
    assert "MINIGRAD_GENERIC=1" in str(caught.value) and "call(" in str(caught.value)


def test_many_shapes_are_forgotten(fresh, monkeypatch):
    monkeypatch.setattr(choose, "REMEMBERED", 3)
    for n in range(300, 310):
        minigrad.tensor(numbers((1, n))).softmax(1)
    assert len(choose.calls) <= 3


def test_a_plan_says_what_its_arguments_hold():
    plan = row_kernels.forward_plan(LayerNorm)
    assert plan.takes == (row_kernels.ALL, row_kernels.WEIGHT, row_kernels.WEIGHT, None, None)
    assert [plan.cls.names[i] for i in (plan.x, plan.dims, *plan.numbers)] == ["x", "dims", "eps"]


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("shape", [(50, 7), (7, 50), (400, 3), (1, 300), (300, 1), (3, 40, 30)])
@pytest.mark.parametrize("ignore", [-100, 0])
def test_losses_of_classes_and_their_gradients_come_from_kernels(monkeypatch, shape, reduction, ignore):
    x, g = numbers(shape), numbers((*shape[:1], *shape[2:]), seed=1)
    target = minigrad.tensor(np.random.default_rng(2).integers(0, shape[1], g.shape))

    def loss_and_gradient():
        y = minigrad.tensor(x, requires_grad=True)
        loss = F.nll_loss(y, target, reduction=reduction, ignore_index=ignore)
        (dx,) = minigrad.autograd.grad(loss, y, minigrad.tensor(g) if loss.ndim else None)
        return loss.detach().numpy(), dx.numpy()

    found = loss_and_gradient()
    with kernels(monkeypatch, False):
        expected = loss_and_gradient()
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("operation", [NLL, MeanNLL], ids=lambda c: c.__name__)
def test_the_kernel_of_a_gradient_at_classes_goes_through_memory_once(fresh, monkeypatch, operation):
    texts, load = [], cache.load
    monkeypatch.setattr(cache, "load", lambda name, text: (texts.append(text), load(name, text))[1])
    x, target = minigrad.tensor(-abs(numbers((64, 40))), requires_grad=True), minigrad.arange(64) % 40
    F.nll_loss(x, target, reduction="mean" if operation is MeanNLL else "none").sum().backward()
    forward, backward = texts
    assert "target" in forward and row_kernels.forward_plan(operation).kernels
    assert backward.count("in range(x.shape[0])") == 1, "zeros, and what belongs at the classes, by one loop over rows"
