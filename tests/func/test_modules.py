"""functional_call and stack_module_state, and what they are for: per-sample gradients, ensembles, inner loops."""

import pytest

import minigrad as torch
from minigrad import nn
from minigrad.func import functional_call, grad, hessian, stack_module_state, vmap

F64 = {"dtype": torch.float64}


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()


def loss_of(net):
    return lambda p, x, y: ((functional_call(net, p, (x,)) - y) ** 2).sum()


def test_functional_call_uses_the_given_parameters_and_keeps_the_modules():
    net, x = network(), torch.randn(5, 3, **F64)
    doubled = {n: p.detach() * 2 for n, p in net.named_parameters()}
    before = net(x)
    found = functional_call(net, doubled, x)
    assert torch.allclose(
        found, (x @ doubled["0.weight"].T + doubled["0.bias"]).tanh() @ doubled["2.weight"].T + doubled["2.bias"]
    )
    assert torch.equal(net(x), before)
    with pytest.raises(RuntimeError):
        functional_call(net, doubled, torch.ones(7))
    assert torch.equal(net(x), before)


def test_the_gradient_equals_that_of_backward():
    net, x, y = network(), torch.randn(5, 3, **F64), torch.randn(5, 2, **F64)
    found = grad(loss_of(net))(dict(net.named_parameters()), x, y)
    ((net(x) - y) ** 2).sum().backward()
    for n, p in net.named_parameters():
        assert torch.allclose(found[n], p.grad), n


def test_per_sample_gradients_equal_those_of_a_loop():
    net, x, y = network(), torch.randn(5, 3, **F64), torch.randn(5, 2, **F64)
    p = {n: t.detach() for n, t in net.named_parameters()}
    found = vmap(grad(loss_of(net)), (None, 0, 0))(p, x, y)
    for i in range(5):
        one = grad(loss_of(net))(p, x[i], y[i])
        assert all(torch.allclose(found[n][i], one[n]) for n in p)


def test_ensemble():
    nets = [network() for _ in range(3)]
    for i, net in enumerate(nets):
        nn.init.constant_(net[0].bias, float(i))
    p, b = stack_module_state(nets)
    assert all(t.requires_grad and t.is_leaf and t.shape[0] == 3 for t in p.values()) and b == {}
    x = torch.randn(5, 3, **F64)
    found = vmap(lambda p: functional_call(nets[0], p, (x,)))(p)
    assert torch.allclose(found, torch.stack([net(x) for net in nets]))
    found.sum().backward()
    assert p["0.bias"].grad.shape == (3, 4)


def test_a_minibatch_for_each_of_an_ensemble():
    nets = [network(), network()]
    p, _ = stack_module_state(nets)
    x = torch.randn(2, 5, 3, **F64)
    found = vmap(lambda p, x: functional_call(nets[0], p, (x,)))(p, x)
    assert torch.allclose(found, torch.stack([net(x_) for net, x_ in zip(nets, x)]))


def test_inner_loop_as_in_maml():
    net, x, y = network(), torch.randn(5, 3, **F64), torch.randn(5, 2, **F64)
    loss = loss_of(net)

    def adapted(p, rate):
        for _ in range(2):
            g = grad(loss)(p, x, y)
            p = {n: p[n] - rate * g[n] for n in p}
        return loss(p, x, y)

    p, rate, step = {n: t.detach() for n, t in net.named_parameters()}, torch.tensor(0.01, **F64), 1e-6
    by_rate = grad(adapted, argnums=1)(p, rate)
    assert by_rate.item() == pytest.approx(
        (adapted(p, rate + step) - adapted(p, rate - step)).item() / (2 * step), rel=1e-6
    )
    by_p = grad(adapted)(p, rate)["2.bias"]
    moved = [adapted({**p, "2.bias": p["2.bias"] + torch.tensor([s, 0.0], **F64)}, rate) for s in (step, -step)]
    assert by_p[0].item() == pytest.approx((moved[0] - moved[1]).item() / (2 * step), rel=1e-6)


def test_inner_loops_of_several_tasks_at_once():
    net = network()
    p = {n: t.detach() for n, t in net.named_parameters()}
    x, y = torch.randn(4, 5, 3, **F64), torch.randn(4, 5, 2, **F64)
    loss = loss_of(net)

    def task(p, x, y):
        g = grad(loss)(p, x, y)
        return loss({n: p[n] - 0.01 * g[n] for n in p}, x, y)

    found = grad(lambda p: vmap(task, (None, 0, 0))(p, x, y).sum())(p)
    one = [grad(task)(p, x[i], y[i]) for i in range(4)]
    assert all(torch.allclose(found[n], sum(g[n] for g in one)) for n in p)


def test_newton_step_solves_a_quadratic_problem():
    a, b = torch.randn(3, 3, **F64), torch.randn(3, **F64)
    f = lambda x: ((a @ x - b) ** 2).sum()
    x = torch.zeros(3, **F64)
    x = x - torch.linalg.solve(hessian(f)(x), grad(f)(x))
    assert f(x).item() < 1e-12


def test_tied_weights():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(1, 1, bias=False)
            self.b = self.a

        def forward(self, x):
            return self.a(self.b(x))

    three, two, x = torch.full((1, 1), 3.0), torch.full((1, 1), 2.0), torch.ones(1)
    assert functional_call(Twice(), {"a.weight": three}, x).item() == 9.0
    assert functional_call(Twice(), {"b.weight": three}, x).item() == 9.0
    with pytest.raises(ValueError, match="the same tensor in the module"):
        functional_call(Twice(), {"a.weight": three, "b.weight": two}, x)


def test_batch_norm_updates_the_given_statistics():
    bn = nn.BatchNorm1d(2)
    buffers = {n: b.clone() for n, b in bn.named_buffers()}
    functional_call(bn, buffers, torch.arange(8.0).reshape(4, 2))
    assert buffers["running_mean"].tolist() == pytest.approx([0.3, 0.4]) and bn.running_mean.tolist() == [0.0, 0.0]


def test_batch_norm_with_statistics_that_all_examples_share_is_refused():
    bn = nn.BatchNorm1d(2)
    with pytest.raises(RuntimeError, match="same for all examples"):
        vmap(bn)(torch.randn(3, 4, 2))
    with pytest.raises(RuntimeError, match="captured"):
        grad(lambda x: bn(x).sum())(torch.randn(4, 2))
    assert bn.running_mean.tolist() == [0.0, 0.0]
    assert vmap(nn.BatchNorm1d(2, track_running_stats=False))(torch.randn(3, 4, 2)).shape == (3, 4, 2)


def test_refusals():
    lin = nn.Linear(1, 1)
    for given, kwargs, kind, text in [
        ({"wieght": torch.ones(1, 1)}, {}, KeyError, "'wieght'.*weight, bias"),
        ({"weight": torch.ones(1, 1)}, {"strict": True}, RuntimeError, "'bias' is missing"),
        ({"weight": 3}, {}, TypeError, "int"),
        (({"weight": torch.ones(1, 1)}, {"weight": torch.ones(1, 1)}), {}, ValueError, "several"),
    ]:
        with pytest.raises(kind, match=text):
            functional_call(lin, given, torch.ones(1), **kwargs)
    for models, text in [
        ([], "at least one"),
        ([lin, nn.ReLU()], "same class, got Linear, ReLU"),
        ([lin, nn.Linear(1, 1).eval()], "training/eval"),
    ]:
        with pytest.raises(RuntimeError, match=text):
            stack_module_state(models)
