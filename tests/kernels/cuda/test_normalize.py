"""Layer, RMS, batch, group and instance norm on the device give what they give on the processor, and so do their gradients."""

import numpy as np
import pytest

import minigrad
from minigrad.kernels.cuda import normalize_cuda, two_step_reductions
from tests.kernels.cuda.both import check, numbers

F = minigrad.nn.functional
SHAPES = [(3, 5), (2, 33), (2, 3, 4), (1, 2), (40, 3)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_layer_norm(shape, dtype):
    size = shape[-1:]
    check(lambda x: F.layer_norm(x, size), numbers(shape, dtype))
    check(
        lambda x, w, b: F.layer_norm(x, size, w, b),
        numbers(shape, dtype),
        numbers(size, dtype, 2),
        numbers(size, dtype, 3),
    )
    check(lambda x, w: F.layer_norm(x, size, w), numbers(shape, dtype), numbers(size, dtype, 2))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_rms_norm(shape, dtype):
    check(lambda x, w: F.rms_norm(x, shape[-1:], w), numbers(shape, dtype), numbers(shape[-1:], dtype, 2))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_normalize(shape, dtype):
    check(lambda x: F.normalize(x), numbers(shape, dtype))
    check(lambda x: F.normalize(x, dim=-1, eps=2.0), numbers(shape, dtype))
    check(lambda x, y: F.cosine_similarity(x, y, -1), numbers(shape, dtype), numbers(shape, dtype, 2))


@pytest.mark.parametrize("width", [300, 530])  # for two warps; too long for their registers
def test_long_rows_are_shared_by_a_block(width):
    x, w, b = numbers((2, width)), numbers(width, seed=2), numbers(width, seed=3)
    check(lambda x, w, b: F.layer_norm(x, (width,), w, b), x, w, b)
    check(lambda x, w: F.rms_norm(x, (width,), w), x, w)


def test_over_several_dimensions_and_of_other_layouts():
    check(lambda x, w, b: F.layer_norm(x, (3, 4), w, b), numbers((2, 3, 4)), numbers((3, 4)), numbers((3, 4), seed=2))
    check(lambda x: F.layer_norm(x.mT, (4,)), numbers((4, 4)))
    check(lambda x: F.layer_norm(x[::2, 1:], (3,)), numbers((4, 4)))
    check(lambda x: F.rms_norm(x.mT, (4,)), numbers((4, 4)))
    check(lambda x: F.layer_norm(x, (3,)), numbers((0, 3)))


@pytest.mark.parametrize("shape", [(4, 3), (3, 2, 4), (2, 3, 2, 3)])
def test_batch_norm(shape, monkeypatch):
    weight, bias = numbers(shape[1], seed=2), numbers(shape[1], seed=3)
    called, backward = [], normalize_cuda.backward
    monkeypatch.setattr(normalize_cuda, "backward", lambda *args: called.append(backward(*args)) or called[-1])
    check(lambda x, w, b: F.batch_norm(x, None, None, w, b, True), numbers(shape), weight, bias)
    assert len(called) == 1 and called[0] is not None
    check(lambda x: F.batch_norm(x, None, None, training=True), numbers(shape))
    mean, var = numbers(shape[1], seed=4), abs(numbers(shape[1], seed=5)) + 1
    running = [minigrad.tensor(a) for a in (mean, var)]
    f = lambda x, w, b: F.batch_norm(x, *(r.to(x.device) for r in running), w, b, False)
    check(f, numbers(shape), weight, bias)


def test_running_statistics_move_on_the_device():
    moved = []
    for device in ("cpu", "cuda"):
        layer = minigrad.nn.BatchNorm1d(3).to(device)
        layer(minigrad.tensor(numbers((5, 3)), device=device))
        moved.append([layer.running_mean.cpu().numpy(), layer.running_var.cpu().numpy()])
    np.testing.assert_allclose(moved[1], moved[0], 1e-5, 1e-6)


def test_group_and_instance_norm():
    x, w, b = numbers((2, 6, 2, 3)), numbers(6, seed=2), numbers(6, seed=3)
    check(lambda x, w, b: F.group_norm(x, 3, w, b), x, w, b)
    check(lambda x: F.group_norm(x, 2), x)
    check(lambda x, w, b: F.instance_norm(x, None, None, w, b), x, w, b)


def test_an_offset_costs_no_digits():
    x = (1e4 + numbers((3, 64), "float64")).astype("float32")
    exact = F.layer_norm(minigrad.tensor(x.astype("float64")), (64,)).numpy()
    there = F.layer_norm(minigrad.tensor(x, device="cuda"), (64,)).cpu().numpy()
    np.testing.assert_allclose(there, exact, 1e-3, 1e-3)


def test_many_short_rows_and_the_gradients_of_weights(monkeypatch):
    monkeypatch.setattr(two_step_reductions, "ENOUGH", 4)
    shape = (100, 3)
    check(lambda x, w, b: F.layer_norm(x, (3,), w, b), numbers(shape), numbers(3, seed=2), numbers(3, seed=3))
