"""Hooks of modules: their order, what they may replace, and gradients on their way back."""

import pytest

import minigrad
from minigrad import nn


def doubler():
    layer = nn.Linear(2, 1, bias=False)
    with minigrad.no_grad():
        layer.weight.copy_(minigrad.tensor([[2.0, 3.0]]))
    return layer


def test_prepended_hooks_come_first():
    net, seen = nn.Identity(), []
    for mark, first in ((1, False), (2, True)):
        net.register_forward_pre_hook(lambda m, a, mark=mark: seen.append(("before", mark)), prepend=first)
        net.register_forward_hook(lambda m, a, out, mark=mark: seen.append(("after", mark)), prepend=first)
    net(minigrad.ones(1))
    assert seen == [("before", 2), ("before", 1), ("after", 2), ("after", 1)]


def test_an_always_called_hook_gets_none_after_a_failed_forward():
    net, seen = doubler(), []
    net.register_forward_hook(lambda m, args, out: seen.append(out), always_call=True)
    with pytest.raises(RuntimeError):
        net(minigrad.ones(7))
    assert seen == [None]


def test_backward_hook_sees_gradients_of_inputs_and_outputs_and_replaces():
    net, seen = doubler(), []
    net.register_full_backward_hook(lambda m, gin, gout: seen.append((gin, gout)) or (gin[0] * 10,))
    x = minigrad.ones(2).requires_grad_()
    (net(x) * 4).sum().backward()
    (gin, gout) = seen[0]
    assert gin[0].tolist() == [8, 12] and gout[0].tolist() == [4] and x.grad.tolist() == [80, 120]
    assert net.weight.grad.tolist() == [[4, 4]]


def test_a_backward_hook_is_called_without_an_input_that_requires_grad():
    net, seen = doubler(), []
    handle = net.register_full_backward_hook(lambda m, gin, gout: seen.append((gin, gout[0].tolist())))
    net(minigrad.ones(2)).sum().backward()
    handle.remove()
    net(minigrad.ones(2)).sum().backward()
    assert seen == [((None,), [1])]


def test_backward_pre_hook_replaces_the_gradient_of_the_output():
    net = doubler()
    net.register_full_backward_pre_hook(lambda m, gout: (gout[0] * 3,))
    x = minigrad.ones(2).requires_grad_()
    net(x).sum().backward()
    assert x.grad.tolist() == [6, 9] and net.weight.grad.tolist() == [[3, 3]]


def test_backward_hooks_with_several_outputs_and_second_derivatives():
    class Two(nn.Module):
        def forward(self, x, y):
            return {"product": x * y, "square": x * x}

    net, seen = Two(), []
    net.register_full_backward_hook(lambda m, gin, gout: seen.append((len(gin), [g is None for g in gout])))
    x, y = (minigrad.tensor(v, requires_grad=True) for v in (2.0, 5.0))
    out = net(x, y)
    (g,) = minigrad.autograd.grad(out["square"], x, create_graph=True)
    assert g.item() == 4 and minigrad.autograd.grad(g, x)[0].item() == 2
    assert seen[0] == (2, [True, False])


def test_a_backward_hook_with_too_many_results_names_the_counts():
    net = doubler()
    net.register_full_backward_hook(lambda m, gin, gout: (gin[0], gin[0]))
    with pytest.raises(RuntimeError, match="returned 2 gradients, expected 1"):
        net(minigrad.ones(2).requires_grad_()).sum().backward()


def test_state_hooks_change_what_is_saved_and_loaded():
    net, seen = doubler(), []
    net.register_state_dict_post_hook(lambda m, state, prefix, meta: state.update(extra=minigrad.ones(1)))
    net.register_load_state_dict_pre_hook(lambda m, state, prefix, *rest: state.pop("extra"))
    net.register_load_state_dict_post_hook(lambda m, keys: seen.append(keys.missing_keys))
    net.load_state_dict(net.state_dict())
    assert list(net.state_dict()) == ["weight", "extra"] and seen == [[]]


def test_load_hook_may_forgive_missing_keys():
    net = doubler()
    net.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
    assert net.load_state_dict({}).missing_keys == []
