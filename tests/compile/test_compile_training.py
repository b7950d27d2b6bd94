"""Compiled training loops give what eager code gives: parameters, gradients, buffers, the state of optimizers."""

import copy

import pytest

import minigrad as torch
from minigrad import compile, nn

from .interpreted import either, interpreted
from .training import OPTIMIZERS, SCHEDULES, batches, network, plain, runs_as_eager, same, training

__all__ = ["either", "interpreted"]

F = torch.nn.functional


BRANCHES = {"RAdam": (8, 3), "ASGD": (5, 3)}  # what does something else from some step on: steps, programs


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_training_loop_gives_what_eager_code_gives(name, either):
    steps, programs = BRANCHES.get(name, (5, 2))  # before the first step, and from then on
    assert len(runs_as_eager(training(OPTIMIZERS[name]), steps).every) == programs


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_a_rate_that_changes_is_no_other_program(optimizer, name, interpreted):
    c = runs_as_eager(training(OPTIMIZERS[optimizer], SCHEDULES[name]), 7)
    assert len(c.every) <= 3 and "opt.param_groups[0]['lr'] any float" in c.explain()


def test_dropout_batch_norm_and_clipping(either):
    def net():
        return nn.Sequential(nn.Linear(5, 7), nn.BatchNorm1d(7), nn.ReLU(), nn.Dropout(0.5), nn.Linear(7, 3))

    def step(model, opt):
        def clipped(x, y):
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            opt.step()
            return loss.detach(), norm

        return clipped

    runs_as_eager(training(OPTIMIZERS["momentum"], net=net, step=step), 5)


def test_gradients_of_several_batches_add_up(interpreted):
    def step(model, opt):
        def accumulated(x, y):
            opt.zero_grad(set_to_none=False)
            for part in range(3):
                (F.cross_entropy(model(x[2 * part : 2 * part + 2]), y[2 * part : 2 * part + 2]) / 3).backward()
            opt.step()

        return accumulated

    runs_as_eager(training(OPTIMIZERS["SGD"], step=step), 4)


def test_a_closure_and_a_loop_over_layers(interpreted):
    def step(model, opt):
        def loop(x, y):
            def closure():
                opt.zero_grad()
                h = x
                for layer in model:
                    h = layer(h)
                loss = F.cross_entropy(h, y)
                loss.backward()
                return loss

            return opt.step(closure).detach()

        return loop

    runs_as_eager(training(OPTIMIZERS["momentum"], step=step), 4)


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_inside(name, interpreted):
    def make():
        w = torch.randn(3, requires_grad=True)
        opt = torch.optim.SGD([w], lr=0.1, momentum=0.9)
        scheduler = SCHEDULES[name](opt)

        def step(x):
            opt.zero_grad()
            (w * x).pow(2).sum().backward()
            opt.step()
            scheduler.step()

        return (
            step,
            lambda k: (torch.ones(3) + k,),
            lambda: [w, w.grad, opt.param_groups[0]["lr"], scheduler.last_epoch],
        )

    c = runs_as_eager(make, 7)
    assert len(c.every) <= 4


def test_eager_and_compiled_steps_take_turns():
    torch.manual_seed(0)
    make = training(OPTIMIZERS["Adam"])
    found = []
    for turns in ((False,), (False, True), (True, True, False)):
        torch.manual_seed(0)
        f, given, state = make()
        both = f, compile(f, fullgraph=True)
        for k in range(6):
            both[turns[k % len(turns)]](*given(k))
        found.append(plain(state()))
    same(found[0], found[1]), same(found[0], found[2])


def test_a_state_that_was_loaded_is_used(interpreted):
    torch.manual_seed(0)
    model = network()
    opt = torch.optim.Adam(model.parameters(), lr=0.1)
    given = batches()

    @compile(fullgraph=True)
    def step(x, y):
        opt.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
        return loss.detach()

    step(*given(0)), step(*given(1))
    kept = copy.deepcopy(model.state_dict()), copy.deepcopy(opt.state_dict())
    once = [step(*given(k)).item() for k in (2, 3, 4)]
    model.load_state_dict(kept[0]), opt.load_state_dict(kept[1])
    assert [step(*given(k)).item() for k in (2, 3, 4)] == pytest.approx(once, rel=1e-5)


def test_a_rate_that_the_function_sets(interpreted):
    def make():
        w = torch.ones(2, requires_grad=True)
        opt = torch.optim.SGD([w], lr=0.1)

        def step(x, k):
            for group in opt.param_groups:
                group["lr"] = 0.1 / (k + 1)
            opt.zero_grad()
            (w * x).sum().backward()
            opt.step()

        return step, lambda k: (torch.ones(2) * k, k), lambda: [w, w.grad, opt.param_groups[0]["lr"]]

    runs_as_eager(make, 5)


class Own(torch.optim.Optimizer):
    """A user's optimizer, whose method minigrad calls."""

    factor = 2.0

    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    def update(self, p, grad, state, group):
        state["sum"] = state["sum"] * 0.5 + grad if "sum" in state else grad * 1
        p.sub_(state["sum"] * group["lr"] * self.factor)


def test_a_users_optimizer(interpreted):
    c = runs_as_eager(training(lambda p: Own(p, 0.1)), 5)
    assert len(c.every) <= 3
