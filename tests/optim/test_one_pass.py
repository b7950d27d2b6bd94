"""An optimizer's step by generated kernels does what its update does, and leaves to it what is not plain."""

import itertools
import threading

import numpy as np
import pytest

import minigrad
from minigrad import optim
from minigrad.kernels import fallback, threads
from minigrad.optim import one_pass

from ..floats import FLOATS, some

pytestmark = pytest.mark.cpu("is about kernels for the processor")
SETTINGS = {
    optim.SGD: [{}, {"momentum": 0.9}, {"momentum": 0.9, "dampening": 0.5, "weight_decay": 0.1},
                {"momentum": 0.9, "nesterov": True, "maximize": True}],
    optim.Adam: [{}, {"amsgrad": True, "weight_decay": 0.1, "betas": (0.8, 0.95)}],
    optim.AdamW: [{}, {"weight_decay": 0.1, "maximize": True}],
    optim.RMSprop: [{}, {"momentum": 0.9, "centered": True}, {"weight_decay": 0.1}],
    optim.Adamax: [{}], optim.NAdam: [{}], optim.RAdam: [{}], optim.Adadelta: [{}],
    optim.Adagrad: [{}, {"lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5}],
}  # fmt: skip
EVERY = [(kind, settings) for kind, found in SETTINGS.items() for settings in found]
SHAPES = (40, 30), (30,), (2, 3, 5)


@pytest.fixture
def taken(monkeypatch):
    """Return the parameters that kernels have updated, one after another."""
    found, updated = [], one_pass.updated
    monkeypatch.setattr(one_pass, "updated", lambda p, *others: bool(updated(p, *others) and (found.append(p) is None)))
    return found


def trained(kind, settings, steps=4, dtype="float32", shapes=SHAPES):
    """Return parameters and state after some steps, whose rate falls in the middle."""
    random = np.random.default_rng(0)
    params = [minigrad.tensor(random.standard_normal(s).astype(dtype), requires_grad=True) for s in shapes]
    optimizer = kind(params, **{"lr": 0.1, **settings})
    for k in range(steps):
        for p in params:
            p.grad = minigrad.tensor(random.standard_normal(p.shape).astype(dtype))
        if k == steps // 2:
            optimizer.param_groups[0]["lr"] = 0.05
        optimizer.step()
    state = [t.numpy() for s in optimizer.state.values() for t in s.values()]
    return [*[p.detach().numpy() for p in params], *state]


@FLOATS
@pytest.mark.parametrize("update", some(EVERY))
def test_kernels_do_what_the_update_does(update, dtype, taken, monkeypatch):
    kind, settings = update
    found = trained(kind, settings, dtype=dtype)
    assert len(taken) >= 3 * len(SHAPES)  # all but the first step, which makes the state
    monkeypatch.setattr(one_pass, "FROM", np.inf)
    for a, b in zip(found, trained(kind, settings, dtype=dtype), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5 if dtype == "float32" else 1e-13, atol=1e-6)


def test_settings_that_decide_have_kernels_of_their_own(taken):
    for momentum, nesterov in itertools.product((0.9, 0.0), (True, False)):
        trained(optim.SGD, {"momentum": momentum, "nesterov": nesterov and momentum > 0})
    assert len(taken) == 2 * (3 + 4) * len(SHAPES)  # without momentum the first step has no state to make


def test_small_parameters_alone_need_no_compiler(taken):
    trained(optim.Adam, {}, shapes=[(3, 4), (4,)])
    assert not taken


def test_gradients_may_lie_anyhow_in_memory(taken):
    p = minigrad.zeros(40, 30, requires_grad=True)
    g = minigrad.arange(1200.0).reshape(30, 40).T
    p.grad = g
    optim.SGD([p], lr=1.0).step()
    assert taken and np.array_equal(p.detach().numpy(), -g.numpy())


def test_parameters_that_lie_in_columns_are_left_to_the_update(taken):
    p = minigrad.zeros(30, 40).T.detach().requires_grad_()
    p.grad = minigrad.ones(40, 30)
    optim.SGD([p], lr=1.0).step()
    assert not taken and (p == -1).all()


def test_a_write_by_a_kernel_is_noticed(taken):
    p = minigrad.ones(2000, requires_grad=True)
    loss = (p * p).sum()
    p.grad = minigrad.ones(2000)
    optim.SGD([p], lr=1.0).step()
    assert taken
    with pytest.raises(RuntimeError, match=r"SGD\.step"):
        loss.backward()


def test_a_recording_shows_the_operations_of_the_update(taken):
    p = minigrad.ones(2000, requires_grad=True)
    p.grad = minigrad.ones(2000)
    optimizer = optim.SGD([p], lr=1.0)
    with minigrad.record() as record:
        optimizer.step()
    assert not taken and "add" in [op["name"].rstrip("_") for op in record.to_dict()["ops"]]


def test_an_update_of_a_user_is_called(taken):
    class Mine(optim.SGD):
        def update(self, p, grad, state, group):
            called.append(p)

    called = []
    p = minigrad.ones(2000, requires_grad=True)
    p.grad = minigrad.ones(2000)
    Mine([p]).step()
    assert called == [p] and not taken


def test_threads_share_a_large_parameter(taken, monkeypatch):
    seen = set()
    launch = threads.launch
    monkeypatch.setattr(threads, "GRAIN", 1000)
    monkeypatch.setattr(threads, "get_num_threads", lambda: 2)

    def looked_at(kernel, arrays):
        return launch(lambda *some: seen.add(threading.get_ident()) or kernel(*some), arrays)

    monkeypatch.setattr(threads, "launch", looked_at)
    found = trained(optim.Adam, {}, shapes=[(500, 10)])
    assert taken and len(seen) == 2
    monkeypatch.setattr(one_pass, "FROM", np.inf)
    for a, b in zip(found, trained(optim.Adam, {}, shapes=[(500, 10)]), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_without_a_compiler_the_update_goes_on(taken, monkeypatch):
    def fail(*args):
        raise cause

    cause = RuntimeError("the compiler is out of order")
    monkeypatch.setattr(fallback.Compiler, "failed", None)
    monkeypatch.setattr(fallback, "from_compiler", lambda e: e is cause)
    monkeypatch.setattr(one_pass.optimizer_kernels, "kernel", fail)
    monkeypatch.setattr(one_pass, "kernels", {})
    with pytest.warns(minigrad.MinigradWarning, match="no-kernels"):
        found = trained(optim.Adam, {})
    assert not taken
    for a, b in zip(found, trained(optim.Adam, {}), strict=True):
        np.testing.assert_array_equal(a, b)
