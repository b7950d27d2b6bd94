"""Calls of a function on arrays of the same layouts: launches are repeated with the addresses of the call's arrays."""

import threading

import numpy as np
import pytest

import minigrad
from minigrad.kernels.cache import without
from minigrad.kernels.cuda import repeats
from minigrad.kernels.cuda.device_array import empty, to_device

RNG = np.random.default_rng(0)
numbers = lambda *shape: RNG.standard_normal(shape).astype(np.float32)


@pytest.fixture(autouse=True)
def forgotten():
    """Begin with no remembered calls."""
    repeats.remembered.calls.clear()
    yield
    repeats.remembered.calls.clear()


@pytest.fixture
def counted(monkeypatch):
    """Return a list with an entry for each repeated call."""
    calls, repeat = [], repeats.Repeat.__call__
    monkeypatch.setattr(repeats.Repeat, "__call__", lambda r, arrays: (calls.append(r), repeat(r, arrays))[1])
    return calls


OPERATIONS = {
    "add": lambda x, y: x + y,
    "row": lambda x, y: x * y[0],
    "column": lambda x, y: x - y[:, :1],
    "number": lambda x, y: 2 * x + 1,
    "transposed": lambda x, y: x.T + y.T,
    "product": lambda x, y: x @ y.T,
    "sum": lambda x, y: x.sum(),
    "sums of rows": lambda x, y: y.sum(1),
    "maximum": lambda x, y: x.max(),
    "where": lambda x, y: np.where(x > 0, x, y),
    "exp": lambda x, y: np.exp(x),
    "convert": lambda x, y: x.astype(np.float64) / 3,
}


@pytest.mark.parametrize("f", OPERATIONS.values(), ids=OPERATIONS)
def test_repeated_calls_compute_with_the_numbers_of_each_call(f, counted):
    for k in range(5):
        x, y = numbers(3, 4), numbers(3, 4)
        found = f(to_device(x), to_device(y))
        np.testing.assert_allclose(found.to_host(), f(x, y), rtol=1e-4, atol=1e-6)
        assert bool(counted) == (k > 1)


def test_views_at_other_distances_are_other_calls(counted):
    x = numbers(40)
    there = to_device(x)
    for begin in (0, 1, 2, 3, 4, 8, 1, 0):
        for _ in range(3):
            np.testing.assert_array_equal(
                (there[begin : begin + 8] + there[8:16]).to_host(), x[begin : begin + 8] + x[8:16]
            )
    assert counted


def test_an_array_that_is_an_operand_twice_and_two_arrays_are_different_calls(counted):
    x, y = numbers(6), numbers(6)
    for _ in range(3):
        a, b = to_device(x), to_device(y)
        np.add(a, a, out=a)
        np.testing.assert_array_equal(a.to_host(), x + x)
        np.add(a, b, out=b)
        np.testing.assert_array_equal(b.to_host(), x + x + y)
    assert len(counted) >= 2


def test_numbers_are_told_apart_by_type_and_sign():
    x = np.array([1.0, -1.0], np.float32)
    for factor in (0.0, -0.0, 0.0, -0.0, 1, 1.0, True):
        for _ in range(3):
            found = (to_device(x) * np.float32(factor)).to_host()
            np.testing.assert_array_equal(np.signbit(found), np.signbit(x * np.float32(factor)))
    for other in (1, 1.0, 2, 2.0):
        for _ in range(3):
            a = to_device(np.array([1, 2]))
            assert (a * other).dtype == (np.array([1, 2]) * other).dtype


def test_a_call_that_copies_memory_is_not_repeated(counted):
    for _ in range(4):
        x, y = numbers(3, 4), numbers(2, 4)
        np.testing.assert_array_equal(np.concatenate([to_device(x), to_device(y)]).to_host(), np.concatenate([x, y]))
    assert not counted


def test_a_call_that_reads_numbers_is_not_repeated(counted):
    x = np.array([0.0, 1.0, 0.0, 2.0], np.float32)
    for k in range(5):
        found = np.nonzero(to_device(np.roll(x, k)))[0].to_host()
        np.testing.assert_array_equal(found, np.nonzero(np.roll(x, k))[0])
    before = len(counted)
    for index in ([0, 1], [3, 2], [1, 1], [0, 9]):
        try:
            found = to_device(x)[to_device(np.array(index))].to_host()
        except IndexError:
            assert 9 in index
        else:
            np.testing.assert_array_equal(found, x[index])
    assert len(counted) >= before


def test_large_arrays_are_not_remembered(counted, monkeypatch):
    monkeypatch.setattr(repeats, "LARGEST", 100)
    for _ in range(4):
        to_device(numbers(300)) + to_device(numbers(300))
    assert not repeats.remembered.calls and not counted


def test_results_have_memory_of_their_own():
    x = to_device(numbers(5))
    found = [x + x for _ in range(4)]
    assert len({a.address for a in found}) == 4
    found[0].fill(0)
    np.testing.assert_array_equal(found[3].to_host(), 2 * x.to_host())


def test_where_only_definitions_run_nothing_is_repeated(counted):
    x = to_device(numbers(5))
    for _ in range(3):
        x + x
    before, token = len(counted), without.set(True)
    try:
        np.testing.assert_array_equal((x + x).to_host(), 2 * x.to_host())
    finally:
        without.reset(token)
    assert before == len(counted) == 1


def test_another_default_dtype_is_another_call():
    x = minigrad.tensor([1, 2, 3], device="cuda")
    before = minigrad.get_default_dtype()
    try:
        for dtype in (minigrad.float32, minigrad.float64) * 2:
            minigrad.set_default_dtype(dtype)
            assert [f(x).dtype for _ in range(3) for f in (minigrad.exp, minigrad.relu, lambda x: x / 2)] == [
                dtype, minigrad.int64, dtype] * 3  # fmt: skip
    finally:
        minigrad.set_default_dtype(before)


def test_an_error_ends_a_recording():
    def fails(x):
        x + x
        raise ValueError("at the second call")

    x = to_device(numbers(3))
    for _ in range(4):
        with pytest.raises(ValueError, match="at the second call"):
            repeats.call(fails, x)
    assert repeats.machine.recorded.now is None
    np.testing.assert_array_equal((x + x).to_host(), 2 * x.to_host())


def test_a_view_of_an_argument_is_made_anew(counted):
    def rest(x):
        empty((2,), np.float32).fill(1)
        return x[1:]

    x = to_device(numbers(4))
    for _ in range(4):
        assert repeats.call(rest, x).address == x.address + 4
    assert all(len(r.results) == 0 for r in counted)


def test_each_thread_remembers_its_own_calls():
    def work(out):
        x = numbers(7)
        for _ in range(4):
            out.append(np.array_equal((to_device(x) + to_device(x)).to_host(), x + x))

    found = []
    threads = [threading.Thread(target=work, args=(found,)) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [True] * 12 and not repeats.remembered.calls


def test_training_in_steps_is_the_same_with_and_without_repeats(monkeypatch):
    def trained():
        minigrad.manual_seed(0)
        net = minigrad.nn.Sequential(
            minigrad.nn.Linear(4, 5), minigrad.nn.ReLU(), minigrad.nn.LayerNorm(5), minigrad.nn.Linear(5, 3)
        )
        net, step = net.cuda(), 0.1
        x = minigrad.randn(6, 4, device="cuda")
        optimizer = minigrad.optim.Adam(net.parameters(), lr=step)
        losses = []
        for _ in range(4):
            optimizer.zero_grad()
            loss = minigrad.nn.functional.cross_entropy(net(x), minigrad.tensor([0, 1, 2, 0, 1, 2], device="cuda"))
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    with_repeats = trained()
    assert any(type(r) is repeats.Repeat for r in repeats.remembered.calls.values())
    monkeypatch.setattr(repeats, "LARGEST", -1)
    assert trained() == with_repeats


def test_layouts_have_equal_numbers_if_dtype_shape_and_strides_are_equal():
    x, y = to_device(numbers(3, 4)), to_device(numbers(4, 4))
    assert x.layout == y[1:].layout == empty((3, 4), np.float32).layout
    others = [x.T, x[:, :3], x.view(np.int32), x.reshape(4, 3), y]
    assert len({x.layout, *[a.layout for a in others]}) == 6
