"""Backward hooks of modules run in the passes that reach the module's output, and in no others; under transforms too."""

import threading

import pytest

import minigrad as torch
from minigrad import nn
from minigrad.autograd import forward_ad, grad
from minigrad.errors import MinigradWarning
from minigrad.func import grad as func_grad
from minigrad.func import hessian, jacfwd, jacrev, jvp, vjp, vmap
from minigrad.utils.checkpoint import checkpoint


class Parts(nn.Module):
    """sin of x, then its square; keeps the sine, which is inside the module."""

    def forward(self, x):
        self.inner = x.sin()
        return self.inner**2


class Pair(nn.Module):
    def forward(self, x):
        return x * 2, x * x


def tripled(module):
    """Return the module with a hook that triples grad_input, and the calls of its hooks."""
    calls = []
    module.register_full_backward_pre_hook(lambda m, gout: calls.append(("output", gout[0])))
    module.register_full_backward_hook(lambda m, gin, gout: calls.append(("input", gout[0])) or (gin[0] * 3,))
    return module, calls


def point():
    return torch.tensor([0.5], dtype=torch.float64, requires_grad=True)


def names(calls):
    return [name for name, _ in calls]


X = point().detach()
SINE, COSINE = X.sin().item(), X.cos().item()


def test_a_second_backward_that_misses_the_output_calls_no_hook():
    (net, calls), x = tripled(nn.Tanh()), point()
    (g,) = grad(net(x).sum(), x, create_graph=True)
    assert names(calls) == ["output", "input"]
    (h,) = grad(g.sum(), x)
    t = x.tanh().item()
    assert names(calls) == ["output", "input"] and h.item() == pytest.approx(3 * -2 * t * (1 - t * t))


def test_a_second_backward_that_reaches_the_output_calls_the_hooks():
    (net, calls), x = tripled(nn.Tanh()), point()
    y = net(x)
    (g,) = grad(y.sum(), x, create_graph=True)
    grad((g * y).sum(), x)
    assert names(calls) == ["output", "input"] * 2
    assert calls[3][1].item() == pytest.approx(g.item())


def test_the_gradient_of_an_inner_activation_calls_no_hook():
    (net, calls), x = tripled(Parts()), point()
    net(x)
    assert grad(net.inner.sum(), x)[0].item() == pytest.approx(COSINE) and not calls


def test_a_pass_through_output_and_inner_activation_calls_the_hooks_once():
    (net, calls), x = tripled(Parts()), point()
    y = net(x)
    (g,) = grad((y + net.inner).sum(), x)
    assert names(calls) == ["output", "input"] and g.item() == pytest.approx(3 * (2 * SINE + 1) * COSINE)


def test_a_pass_to_an_inner_activation_after_one_through_the_output_calls_no_hook():
    (net, calls), x = tripled(Parts()), point()
    y = net(x)
    grad(y.sum(), x, retain_graph=True)
    assert grad(net.inner.sum(), x)[0].item() == pytest.approx(COSINE)
    assert names(calls) == ["output", "input"]


def test_a_failed_pass_does_not_affect_the_next_one():
    (net, calls), x = tripled(Parts()), point()
    y, failing = net(x), [True]

    def fail(g):
        if failing:
            raise ValueError("not this time")

    net.inner.register_hook(fail)
    with pytest.raises(ValueError, match="not this time"):
        y.sum().backward(retain_graph=True)
    failing.clear()
    assert grad(net.inner.sum(), x, retain_graph=True)[0].item() == pytest.approx(COSINE)
    assert names(calls) == ["output"]
    assert grad(y.sum(), x)[0].item() == pytest.approx(3 * 2 * SINE * COSINE)
    assert names(calls) == ["output", "output", "input"]


def test_a_pass_for_parameters_alone_calls_the_pre_hook():
    net, x = nn.Linear(1, 1, bias=False).double(), point()
    net, calls = tripled(net)
    y = net(x)
    grad(y.sum(), net.weight, retain_graph=True)
    assert names(calls) == ["output"]
    grad(y.sum() * 2, x)
    assert names(calls) == ["output", "output", "input"] and calls[-1][1].item() == 2


def test_every_pass_over_a_retained_graph_calls_the_hooks():
    (net, calls), x = tripled(nn.Tanh()), point()
    y = net(x).sum()
    for k in (1, 2, 3):
        (y * k).backward(retain_graph=True)
    assert [g.item() for _, g in calls] == [1, 1, 2, 2, 3, 3]


def test_a_hook_removed_between_passes_is_not_called():
    net, x, calls = nn.Tanh(), point(), []
    handle = net.register_full_backward_hook(lambda m, gin, gout: calls.append(1))
    y = net(x).sum()
    y.backward(retain_graph=True)
    handle.remove()
    y.backward()
    assert calls == [1]


def test_one_output_of_two_has_a_gradient():
    (net, x), seen = (Pair(), point()), []
    net.register_full_backward_hook(lambda m, gin, gout: seen.append([None if g is None else g.item() for g in gout]))
    first, second = net(x)
    grad(first.sum(), x, retain_graph=True)
    grad(second.sum(), x, retain_graph=True)
    grad((first + second).sum(), x)
    assert seen == [[1, None], [None, 1], [1, 1]]


def test_gradients_keep_the_positions_of_the_outputs():
    class Mixed(nn.Module):
        def forward(self, x):
            return torch.tensor([1, 2]), "name", x * 2

    (net, x), seen = (Mixed(), point()), []
    net.register_full_backward_pre_hook(lambda m, gout: (None, None, gout[2] * 10))
    net.register_full_backward_hook(lambda m, gin, gout: seen.append(gout))
    net(x)[2].sum().backward()
    ((a, b, c),) = seen
    assert a is b is None and c.item() == 10 and x.grad.item() == 20


def test_a_module_that_is_used_twice_calls_its_hooks_for_each_use():
    (net, calls), x = tripled(nn.Tanh()), point()
    (g,) = grad(net(net(x)).sum(), x)
    once, twice = x.tanh(), x.tanh().tanh()
    assert names(calls) == ["output", "input"] * 2
    assert g.item() == pytest.approx(9 * ((1 - once**2) * (1 - twice**2)).item())


def test_nested_modules_with_hooks_call_theirs_from_the_outside_in():
    calls = []
    net = nn.Sequential(nn.Sequential(nn.Tanh()))
    for name, module in (("outer", net), ("inner", net[0])):
        module.register_full_backward_pre_hook(lambda m, gout, name=name: calls.append(name + " output"))
        module.register_full_backward_hook(lambda m, gin, gout, name=name: calls.append(name + " input"))
    x = point()
    y = net(x)
    (g,) = grad(y.sum(), x, create_graph=True)
    grad(g.sum(), x)
    assert calls == ["outer output", "inner output", "inner input", "outer input"]


def test_a_backward_in_another_thread_calls_the_hooks():
    (net, calls), x = tripled(Parts()), point()
    y, inner_came, through = net(x), threading.Event(), []

    def wait(g):
        inner_came.wait(5)

    net.inner.register_hook(wait)
    worker = threading.Thread(target=lambda: through.append(grad(y.sum(), x, retain_graph=True)))
    worker.start()
    while not calls:
        pass
    inner_came.set()
    assert grad(net.inner.sum(), x, retain_graph=True)[0].item() == pytest.approx(COSINE)
    worker.join()
    assert through[0][0].item() == pytest.approx(6 * SINE * COSINE)


# ---------------------------------------------------------------------- transforms
def backward(f):
    def slope(x):
        x = x.clone().requires_grad_()
        return grad(f(x).sum(), x)[0]

    return slope


def in_dual_level(f):
    def slope(x):
        x = x.clone().requires_grad_()
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, torch.ones_like(x))
            return forward_ad.unpack_dual(grad(f(dual).sum(), x, create_graph=True)[0]).tangent

    return slope


def summed(f):
    return lambda x: f(x).sum()


def batch(x):
    return torch.stack([x, x * 2, x * 3])


REVERSE = {  # each passes the module's output once
    "backward": backward,
    "func.grad": lambda f: func_grad(summed(f)),
    "vjp": lambda f: lambda x: vjp(f, x)[1](torch.ones_like(x))[0],
    "jacrev": jacrev,
    "hessian": lambda f: hessian(summed(f)),
    "jvp of grad": lambda f: lambda x: jvp(func_grad(summed(f)), (x,), (torch.ones_like(x),))[1],
    "vmap of grad": lambda f: lambda x: vmap(func_grad(summed(f)))(batch(x)),
    "vmap of vmap of grad": lambda f: lambda x: vmap(vmap(func_grad(summed(f))))(batch(x)[None]),
    "grad of vmap": lambda f: func_grad(lambda x: vmap(f)(batch(x)).sum()),
    "backward of vmap": lambda f: backward(lambda x: vmap(f)(batch(x))),
    "dual": in_dual_level,
    "checkpoint": lambda f: backward(lambda x: checkpoint(f, x, use_reentrant=False)),
}
FORWARD = {  # the gradient of a tangent needs no gradient of the output
    "grad of jvp": lambda f: func_grad(lambda x: jvp(summed(f), (x,), (torch.ones_like(x),))[1]),
    "jvp": lambda f: lambda x: jvp(f, (x,), (torch.ones_like(x),))[1],
    "jacfwd": jacfwd,
    "vmap": lambda f: lambda x: vmap(f)(batch(x)),
}


@pytest.mark.parametrize("way", REVERSE)
def test_hooks_replace_gradients_in_every_kind_of_reverse_mode(way):
    plain = nn.Sequential(nn.Linear(3, 3), nn.Tanh()).double()
    hooked, shapes = nn.Sequential(*plain), []
    hooked.register_full_backward_pre_hook(lambda m, gout: shapes.append(gout[0].shape))
    hooked.register_full_backward_hook(lambda m, gin, gout: shapes.append(gin[0].shape) or (gin[0] * 3,))
    x = torch.randn(3, dtype=torch.float64)
    assert torch.allclose(REVERSE[way](hooked)(x), 3 * REVERSE[way](plain)(x))
    assert shapes == [(3,), (3,)]


@pytest.mark.parametrize("way", FORWARD)
def test_a_derivative_without_the_gradient_of_the_output_calls_no_hook(way):
    net, x = nn.Tanh(), torch.randn(3, dtype=torch.float64)
    hooked, calls = tripled(nn.Tanh())
    assert torch.equal(FORWARD[way](hooked)(x), FORWARD[way](net)(x)) and not calls


def test_a_program_that_calls_hooks_runs_eagerly_under_compile():
    net, calls = tripled(nn.Tanh())
    compiled = torch.compile(net)
    with pytest.warns(MinigradWarning, match="runs eagerly, because it calls the backward hooks of Tanh"):
        backward(compiled)(X)
    backward(compiled)(X)
    assert names(calls) == ["output", "input"] * 2


def test_a_write_inside_a_module_with_hooks_names_the_module():
    net, _ = tripled(nn.ReLU(inplace=True))
    for way in (backward, lambda f: func_grad(summed(f))):
        with pytest.raises(RuntimeError, match=r"relu_: a view .* it passes the backward hooks of ReLU"):
            way(lambda x: net(x * 1))(X)


def test_a_module_with_hooks_under_no_grad_is_a_module_without():
    net, _ = tripled(nn.ReLU(inplace=True))
    x = point()
    with torch.no_grad():
        y = net(x * 1)
    assert not y.requires_grad and not y._is_view()


def test_a_regular_backward_hook_sees_the_last_node_of_forward():
    seen = []
    layer = nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 1))
    handle = layer.register_backward_hook(lambda module, gi, go: seen.append((module, gi, go)))
    x = torch.randn(4, 3)
    layer(x).sum().backward()
    (module, (hidden, weight, bias), (g,)) = seen[0]
    assert module is layer and g.tolist() == [[1]] * 4 and hidden.shape == (4, 2) and weight.shape == (1, 2)
    assert bias.tolist() == layer[2].bias.grad.tolist() and weight.tolist() == layer[2].weight.grad.tolist()
    handle.remove()
    layer(x).sum().backward()
    assert len(seen) == 1


def test_a_regular_backward_hook_replaces_gradients_of_the_last_node():
    relu = nn.ReLU()
    relu.register_backward_hook(lambda module, gi, go: (gi[0].clamp(min=0),))
    x = torch.tensor([1.0, 2.0, -1.0], requires_grad=True)
    (relu(x) * torch.tensor([-1.0, 3.0, 5.0])).sum().backward()
    assert x.grad.tolist() == [0, 3, 0]
    with torch.no_grad():
        assert relu(x).tolist() == [1, 2, 0]
