"""A recurrent layer as one operation computes what its definition does, a loop of operations, and so do its derivatives."""

import numpy as np
import pytest

import minigrad
from minigrad import nn
from minigrad.nn import recurrent_layer
from minigrad.nn.recurrent_layer import RecurrentLayer

from ..floats import FLOATS, some

pytestmark = pytest.mark.cpu("is about kernels for the processor")
LAYERS = [("LSTM", {}), ("GRU", {}), ("RNN", {}), ("RNN", {"nonlinearity": "relu"}), ("LSTM", {"bias": False}),
          ("GRU", {"bias": False, "batch_first": True}), ("LSTM", {"bidirectional": True, "num_layers": 2})]  # fmt: skip


@pytest.fixture
def taken(monkeypatch):
    """Have the operation run whatever the size; return the steps that it was called for."""
    found, apply = [], RecurrentLayer.apply
    monkeypatch.setattr(recurrent_layer, "FROM", 0)
    monkeypatch.setattr(RecurrentLayer, "apply", lambda *args: found.append(args[-1]) or apply(*args))
    return found


@pytest.fixture
def by_definition(monkeypatch):
    """Return a function that calls another one by the definition alone."""

    def call(f):
        with monkeypatch.context() as patched:
            patched.setattr(recurrent_layer, "FROM", np.inf)
            return f()

    return call


def made(kind, settings, dtype="float64", length=5, batch=3):
    """Return a network and its input."""
    minigrad.manual_seed(0)
    dtype = getattr(minigrad, dtype)
    network = getattr(nn, kind)(4, 6, dtype=dtype, **settings)
    shape = (batch, length, 4) if settings.get("batch_first") else (length, batch, 4)
    return network, minigrad.randn(*shape, dtype=dtype, requires_grad=True)


def tensors(found):
    """Return the outputs and all states."""
    outs, states = found
    return [outs, *(states if isinstance(states, tuple) else (states,))]


def gradients(network, x, **settings):
    """Return all gradients of a number to which outputs and states contribute differently."""
    loss = sum([(o * o * (k + 1)).sum() for k, o in enumerate(tensors(network(x)))])
    return minigrad.autograd.grad(loss, [x, *network.parameters()], **settings)


def assert_same(found, wanted, dtype="float64"):
    for a, b in zip(found, wanted, strict=True):
        close = {"rtol": 1e-4, "atol": 1e-5} if dtype == "float32" else {"rtol": 1e-9, "atol": 1e-11}
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), **close)


@FLOATS
@pytest.mark.parametrize("layer", some(LAYERS, 2))
def test_values_and_gradients_equal_the_definition(layer, dtype, taken, by_definition):
    network, x = made(*layer, dtype)
    assert_same(tensors(network(x)), by_definition(lambda: tensors(network(x))), dtype)
    assert_same(gradients(network, x), by_definition(lambda: gradients(network, x)), dtype)
    assert taken


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_second_derivatives_equal_the_definition(kind, taken, by_definition):
    network, x = made(kind, {})

    def second():
        first = gradients(network, x, create_graph=True)
        return minigrad.autograd.grad(sum([(g**3).sum() for g in first]), [x, *network.parameters()])

    found = second()
    assert taken
    assert_same(found, by_definition(second))


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_derivatives_equal_finite_differences(kind, taken):
    network, x = made(kind, {}, length=2, batch=2)
    assert minigrad.autograd.gradcheck(lambda x: tensors(network(x)), (x,))
    assert minigrad.autograd.gradgradcheck(lambda x: network(x)[0], (x,))
    assert taken


def test_transforms_run_the_definition(taken, by_definition):
    network, x = made("LSTM", {})
    run, x = lambda x: network(x)[0], x.detach()
    out, tangent = minigrad.func.jvp(run, (x,), (minigrad.ones_like(x),))
    batched = minigrad.func.vmap(run)(minigrad.stack([x, 2 * x]))
    jacobian = minigrad.func.jacrev(run)(x)
    assert not taken
    assert_same([out, *batched], [run(x), run(x), run(2 * x)])
    assert_same([tangent], [jacobian.sum((3, 4, 5))])


def test_a_batch_of_gradients_goes_back_through_the_definition(taken):
    network, x = made("GRU", {})
    out, _ = network(x)
    gs = minigrad.randn(4, *out.shape, dtype=out.dtype)
    found = minigrad.func.vmap(lambda g: minigrad.autograd.grad(out, x, g, retain_graph=True)[0])(gs)
    assert taken
    assert_same(found, [minigrad.autograd.grad(out, x, g, retain_graph=True)[0] for g in gs])


@pytest.mark.parametrize("which", [0, 1, 2])
def test_one_of_several_results_has_a_gradient(which, taken, by_definition):
    network, x = made("LSTM", {})
    gradient = lambda: minigrad.autograd.grad(tensors(network(x))[which].sum(), [x, network.weight_hh_l0])
    assert_same(gradient(), by_definition(gradient))


@pytest.mark.parametrize("kind", ["RNNCell", "LSTMCell", "GRUCell"])
def test_a_cell_is_a_layer_of_one_step(kind, taken, by_definition):
    cell, x = getattr(nn, kind)(4, 6, dtype=minigrad.float64), minigrad.randn(3, 4, dtype=minigrad.float64)
    h = minigrad.randn(3, 6, dtype=minigrad.float64, requires_grad=True)

    def found():
        out = cell(x, (h, 2 * h) if kind == "LSTMCell" else h)
        states = out if isinstance(out, tuple) else (out,)
        return [*states, *minigrad.autograd.grad(sum([(s**2).sum() for s in states]), [h, *cell.parameters()])]

    assert_same(found(), by_definition(found))
    assert len(taken) == 1


@pytest.mark.parametrize("shapes", [((4,), (6,)), ((3, 4), (2, 6))])
def test_a_cell_leaves_other_shapes_to_the_definition(shapes, taken, by_definition):
    cell, (x, h) = nn.GRUCell(4, 6), map(minigrad.ones, shapes)
    messages = []
    for call in (lambda: cell(x, h), lambda: by_definition(lambda: cell(x, h))):
        try:
            messages.append(call().tolist())
        except RuntimeError as e:
            messages.append(str(e).splitlines()[0])
    assert messages[0] == messages[1] and not taken


def test_only_the_gradients_that_are_wanted_are_computed(taken):
    network, x = made("LSTM", {})
    network.weight_ih_l0.requires_grad_(False)
    network(x)[0].sum().backward()
    assert network.weight_ih_l0.grad is None and network.weight_hh_l0.grad is not None and x.grad is not None


def test_first_states_get_their_gradients(taken, by_definition):
    network, x = made("LSTM", {})
    states = [minigrad.randn(1, 3, 6, dtype=minigrad.float64, requires_grad=True) for _ in range(2)]
    gradient = lambda: minigrad.autograd.grad(network(x, tuple(states))[0].sum(), states)
    assert_same(gradient(), by_definition(gradient))


def test_backward_runs_twice_and_names_what_was_written_in_between(taken):
    network, x = made("GRU", {})
    loss = network(x)[0].sum()
    loss.backward(retain_graph=True)
    first = x.grad.clone()
    loss.backward(retain_graph=True)
    assert_same([x.grad], [2 * first])
    with minigrad.no_grad():
        network.weight_hh_l0.mul_(2)
    with pytest.raises(RuntimeError, match="mul_"):
        loss.backward()


def test_a_small_layer_needs_no_compiler(taken, monkeypatch):
    monkeypatch.setattr(recurrent_layer, "FROM", 2048)
    network, x = made("LSTM", {})
    network(x)
    assert not taken


def test_a_recording_shows_the_steps(taken):
    network, x = made("LSTM", {}, length=2)
    with minigrad.record() as record:
        network(x)[0].sum().backward()
    assert not taken and "tanh" in [op["name"] for op in record.to_dict()["ops"]]


def test_a_step_of_a_user_is_called(taken):
    class Kept(nn.GRU):
        def _step(self, end):
            return lambda x, s, states: states

    minigrad.manual_seed(0)
    out, _ = Kept(4, 6)(minigrad.randn(5, 3, 4))
    assert not taken and (out == 0).all()


def test_other_dtypes_are_refused_with_the_definitions_message(taken, by_definition):
    network, x = made("LSTM", {})
    messages = []
    for call in (lambda: network(x.float()), lambda: by_definition(lambda: network(x.float()))):
        with pytest.raises(RuntimeError) as refused:
            call()
        messages.append(str(refused.value).splitlines()[0])
    assert messages[0] == messages[1] and not taken
