"""Optimizers and schedules: closed forms of steps, groups, state, errors."""

import copy
import math

import numpy as np
import pytest

import minigrad
from minigrad import optim

EVERY = [optim.SGD, optim.Adam, optim.AdamW, optim.RMSprop, optim.Adagrad]


def leaf(*values):
    return minigrad.tensor(list(values), dtype=minigrad.float64, requires_grad=True)


def step(optimizer, p, gradient):
    p.grad = minigrad.tensor(gradient, dtype=p.dtype)
    optimizer.step()
    return p.tolist()


def test_sgd_follows_the_gradient():
    p = leaf(1.0, 2.0)
    assert step(optim.SGD([p], lr=0.1), p, [10.0, -10.0]) == [0.0, 3.0]


def test_momentum_adds_up():
    p = leaf(0.0)
    optimizer = optim.SGD([p], lr=1.0, momentum=0.5)
    assert [step(optimizer, p, [1.0])[0] for _ in range(3)] == [-1.0, -2.5, -4.25]


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_first_step_of_adam_is_the_rate_whatever_the_gradients_size(scale):
    p = leaf(0.0, 0.0)
    assert np.allclose(step(optim.Adam([p], lr=0.1), p, [scale, -scale]), [-0.1, 0.1], rtol=1e-3)


def test_decoupled_decay_shrinks_where_the_gradient_is_zero():
    p, q = leaf(1.0), leaf(1.0)
    assert np.allclose(step(optim.AdamW([p], lr=0.1, weight_decay=0.5), p, [0.0]), 0.95)
    assert np.allclose(step(optim.Adam([q], lr=0.1, weight_decay=0.5), q, [0.0]), 0.9)


@pytest.mark.parametrize("kind", EVERY)
def test_every_optimizer_finds_the_minimum_of_a_bowl(kind):
    p = leaf(1.0, -2.0)
    optimizer = kind([p], lr=0.5 if kind is optim.Adagrad else 0.05)
    for _ in range(300):
        optimizer.zero_grad()
        ((p - minigrad.tensor([0.5, 0.25])) ** 2).sum().backward()
        optimizer.step()
    assert np.allclose(p.tolist(), [0.5, 0.25], atol=0.06)


@pytest.mark.parametrize("kind", EVERY)
def test_parameters_without_gradient_stay(kind):
    p, q = leaf(1.0), leaf(1.0)
    optimizer = kind([p, q])
    step(optimizer, p, [1.0])
    assert q.tolist() == [1.0] and not optimizer.state.get(q, {}).get("step")  # Adagrad has a state with step 0


@pytest.mark.parametrize("kind", EVERY)
def test_state_goes_on_in_another_optimizer(kind):
    p = leaf(1.0, 2.0)
    optimizer = kind([p], lr=0.1, **({"momentum": 0.9} if kind is optim.SGD else {}))
    step(optimizer, p, [1.0, 2.0])
    q = leaf(*p.tolist())
    other = kind([q])
    other.load_state_dict(optimizer.state_dict())
    assert step(optimizer, p, [3.0, 1.0]) == step(other, q, [3.0, 1.0])
    assert step(optimizer, p, [1.0, 1.0]) == step(other, q, [1.0, 1.0])


def test_groups_have_settings_of_their_own():
    p, q = leaf(0.0), leaf(0.0)
    optimizer = optim.SGD([{"params": [p]}, {"params": q, "lr": 1.0}], lr=0.1)
    p.grad = q.grad = minigrad.ones(1, dtype=minigrad.float64)
    optimizer.step()
    assert (p.item(), q.item()) == (-0.1, -1.0)


def test_step_is_not_recorded_and_counts_as_a_write():
    p = leaf(1.0)
    loss = (p * p).sum()
    step(optim.SGD([p], lr=0.1), p, [1.0])
    assert p.is_leaf and p.requires_grad
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_closure_runs_with_gradients_and_its_loss_is_returned():
    p = leaf(3.0)
    optimizer = optim.SGD([p], lr=0.5)

    def closure():
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with minigrad.no_grad():
        assert optimizer.step(closure).item() == 9
    assert p.item() == 0


def test_zero_grad_forgets_or_fills():
    p = leaf(1.0)
    optimizer = optim.SGD([p])
    p.grad = minigrad.ones(1, dtype=minigrad.float64)
    optimizer.zero_grad(set_to_none=False)
    assert p.grad.tolist() == [0]
    optimizer.zero_grad()
    assert p.grad is None


def rates(make, epochs):
    optimizer = optim.SGD([leaf(0.0)], lr=1.0)
    schedule = make(optimizer)
    found = [optimizer.param_groups[0]["lr"]]
    for _ in range(epochs):
        schedule.step()
        found.append(optimizer.param_groups[0]["lr"])
    return found


def test_schedules_in_closed_form():
    s = optim.lr_scheduler
    assert rates(lambda o: s.StepLR(o, 2, 0.5), 4) == [1, 1, 0.5, 0.5, 0.25]
    assert np.allclose(rates(lambda o: s.ExponentialLR(o, 0.9), 3), [0.9**t for t in range(4)])
    assert np.allclose(rates(lambda o: s.LinearLR(o, 0.5, 1.0, 2), 3), [0.5, 0.75, 1, 1])
    assert np.allclose(
        rates(lambda o: s.CosineAnnealingLR(o, 4), 4), [(1 + math.cos(math.pi * t / 4)) / 2 for t in range(5)]
    )
    assert rates(lambda o: s.LambdaLR(o, lambda t: 1 / (t + 1)), 2) == [1, 1 / 2, 1 / 3]


def test_schedule_goes_on_from_its_state():
    optimizer = optim.SGD([leaf(0.0)], lr=1.0)
    schedule = optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    schedule.step()
    other = optim.lr_scheduler.StepLR(copy.deepcopy(optimizer), 7)
    other.load_state_dict(schedule.state_dict())
    schedule.step()
    other.step()
    assert other.get_last_lr() == schedule.get_last_lr() == [0.5]


@pytest.mark.parametrize("kind", EVERY)
def test_choices_of_implementation_are_taken_and_listed(kind):
    p = leaf(1.0)
    optimizer = kind([p], lr=0.1, foreach=False, differentiable=False)
    assert optimizer.param_groups[0]["foreach"] is False and "    foreach: False" in repr(optimizer)


def test_named_parameters_keep_their_names():
    optimizer = optim.SGD([("a", leaf(1.0)), ("b", leaf(2.0))])
    assert optimizer.param_groups[0]["param_names"] == ["a", "b"]


def test_decoupled_decay_is_a_setting_of_adam():
    p, q = leaf(1.0), leaf(1.0)
    found = step(optim.Adam([p], lr=0.1, weight_decay=0.5, decoupled_weight_decay=True), p, [2.0])
    assert found == step(optim.AdamW([q], lr=0.1, weight_decay=0.5), q, [2.0])


def test_hooks_run_before_and_after_a_step():
    p, seen = leaf(1.0), []
    optimizer = optim.SGD([p], lr=1.0)
    optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append(p.item()))
    handle = optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(p.item()))
    step(optimizer, p, [1.0])
    handle.remove()
    step(optimizer, p, [1.0])
    assert seen == [1.0, 0.0, 0.0]


def test_step_hooks_receive_the_arguments_of_step():
    p, seen = leaf(1.0), []
    optimizer = optim.SGD([p], lr=1.0)
    optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append((args, kwargs)))
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append((args, kwargs)))
    closure = lambda: 1.0
    optimizer.step()
    optimizer.step(closure)
    assert seen == [((optimizer,), {})] * 2 + [((optimizer, closure), {})] * 2


@pytest.mark.parametrize("kind", EVERY)
def test_gradients_pass_through_a_differentiable_step(kind):
    start = leaf(2.0)
    p = start * 1.0
    p.grad = (start * start).clone()
    kind([p], lr=0.1, differentiable=True).step()
    (slope,) = minigrad.autograd.grad(p.sum(), start)
    h, ends = 1e-6, []
    for value in (2 - h, 2 + h):
        q = leaf(value)
        ends.append(step(kind([q], lr=0.1), q, [value * value])[0])
    assert np.allclose(slope.item(), (ends[1] - ends[0]) / (2 * h), rtol=1e-4)


def test_state_of_a_sequence_of_schedules_goes_on():
    def make():
        s, optimizer = optim.lr_scheduler, optim.SGD([leaf(0.0)], lr=1.0)
        return optimizer, s.SequentialLR(
            optimizer, [s.LinearLR(optimizer, 0.5, total_iters=2), s.ExponentialLR(optimizer, 0.5)], [3]
        )

    (a, schedule), (b, other) = make(), make()
    for _ in range(4):
        schedule.step()
    b.load_state_dict(a.state_dict())
    other.load_state_dict(schedule.state_dict())
    schedule.step(), other.step()
    assert schedule.get_last_lr() == other.get_last_lr() == [a.param_groups[0]["lr"]] == [b.param_groups[0]["lr"]]


def test_parameters_come_from_any_iterable():
    a, b = leaf(1.0), leaf(2.0)
    for given in (
        minigrad.nn.ParameterList([a, b]),
        {"a": a, "b": b}.values(),
        map(lambda p: p, (a, b)),
        [("a", a), ("b", b)],
    ):
        (group,) = optim.SGD(given).param_groups
        assert group["params"][0].item() == 1 and len(group["params"]) == 2


def test_a_rate_in_a_tensor_is_read_at_every_step_of_a_large_parameter():
    p, rate = minigrad.zeros(2000, requires_grad=True), minigrad.tensor(1.0)
    optimizer = optim.Adam([p], rate)
    for _ in range(3):
        p.grad = minigrad.ones(2000)
        optimizer.step()
        rate.mul_(0.5)
    assert np.allclose(p.detach().numpy(), -1.75)


def test_a_step_of_a_subclass_runs_its_hooks_once():
    class Own(optim.SGD):
        def step(self, closure=None):
            return super().step(closure)

    p, seen = leaf(1.0), []
    optimizer = Own([p], lr=1.0)
    optimizer.register_step_post_hook(lambda *given: seen.append(p.item()))
    step(optimizer, p, [1.0])
    assert seen == [0.0]


def test_init_group_of_a_subclass_chooses_what_a_step_updates():
    class First(optim.Adam):
        def _init_group(self, group, params, grads, exp_avgs, *others):
            super()._init_group(group, params, grads, exp_avgs, *others)
            assert len(params) == len(exp_avgs) == 2
            del params[1:], grads[1:]

    p, q = leaf(0.0), leaf(0.0)
    q.grad = minigrad.ones(1, dtype=minigrad.float64)
    assert np.allclose(step(First([p, q], lr=0.1), p, [1.0]), [-0.1]) and q.item() == 0


def test_a_loaded_state_reaches_setstate_of_a_subclass():
    class Older(optim.SGD):
        def __setstate__(self, state):
            super().__setstate__(state)
            for group in self.param_groups:
                group.setdefault("of_old", 3)

    optimizer = Older([leaf(1.0)], lr=0.5)
    optimizer.load_state_dict(optimizer.state_dict())
    assert optimizer.param_groups[0]["of_old"] == 3
