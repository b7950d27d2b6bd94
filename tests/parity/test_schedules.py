"""Every schedule of learning rates beside PyTorch's: new, resumed, asked outside of its step, moved, saved and overridden."""

import copy
import math

import numpy as np
import pytest
import torch

import minigrad

pytestmark = pytest.mark.filterwarnings("ignore")


class Decay:
    """A callable object with a state."""

    def __init__(self, base):
        self.base = base

    def __call__(self, epoch):
        return self.base**epoch


def last(e):
    return {} if e is None else {"last_epoch": e}


SCHEDULES = {  # of the module lr_scheduler, an optimizer with two groups, and last_epoch
    "StepLR": lambda s, o, e=None: s.StepLR(o, 3, gamma=0.5, **last(e)),
    "MultiStepLR": lambda s, o, e=None: s.MultiStepLR(o, [2, 5, 5], gamma=0.1, **last(e)),
    "ConstantLR": lambda s, o, e=None: s.ConstantLR(o, 0.25, total_iters=4, **last(e)),
    "ExponentialLR": lambda s, o, e=None: s.ExponentialLR(o, 0.9, **last(e)),
    "LinearLR": lambda s, o, e=None: s.LinearLR(o, 0.2, 0.8, total_iters=4, **last(e)),
    "LinearLR, up": lambda s, o, e=None: s.LinearLR(o, **last(e)),
    "PolynomialLR": lambda s, o, e=None: s.PolynomialLR(o, 6, power=2.0, **last(e)),
    "CosineAnnealingLR": lambda s, o, e=None: s.CosineAnnealingLR(o, 4, eta_min=0.01, **last(e)),
    "CosineAnnealingLR, long": lambda s, o, e=None: s.CosineAnnealingLR(o, 10, **last(e)),
    "LambdaLR": lambda s, o, e=None: s.LambdaLR(o, [lambda t: 1 / (1 + t), lambda t: math.cos(t)], **last(e)),
    "LambdaLR, object": lambda s, o, e=None: s.LambdaLR(o, Decay(0.9), **last(e)),
    "MultiplicativeLR": lambda s, o, e=None: s.MultiplicativeLR(o, [lambda t: 1 / (1 + t), Decay(0.99)], **last(e)),
    "restarts": lambda s, o, e=None: s.CosineAnnealingWarmRestarts(o, 3, 2, 0.01, **last(e)),
    "restarts, alike": lambda s, o, e=None: s.CosineAnnealingWarmRestarts(o, 2, **last(e)),
    "one cycle": lambda s, o, e=None: s.OneCycleLR(o, [0.5, 0.7], total_steps=23, **last(e)),
    "three phases": lambda s, o, e=None: s.OneCycleLR(
        o, 0.5, epochs=5, steps_per_epoch=5, anneal_strategy="linear", three_phase=True, **last(e)
    ),
    "one rate": lambda s, o, e=None: s.OneCycleLR(o, 0.5, 30, cycle_momentum=False, pct_start=0.5, **last(e)),
    "cyclic": lambda s, o, e=None: s.CyclicLR(o, [0.1, 0.2], 0.5, step_size_up=3, step_size_down=2, **last(e)),
    "cyclic, halved": lambda s, o, e=None: s.CyclicLR(
        o, 0.1, 0.5, 2, mode="triangular2", base_momentum=[0.5, 0.6], **last(e)
    ),
    "cyclic, gamma": lambda s, o, e=None: s.CyclicLR(o, 0.1, 0.5, 2, mode="exp_range", gamma=0.9, **last(e)),
    "cyclic, scaled": lambda s, o, e=None: s.CyclicLR(
        o, 0.1, 0.5, 2, scale_fn=Decay(0.5), cycle_momentum=False, **last(e)
    ),
    "cyclic, batches": lambda s, o, e=None: s.CyclicLR(
        o, 0.1, 0.5, 2, scale_fn=lambda n: 1 / (1 + n), scale_mode="iterations", **last(e)
    ),
    "sequence": lambda s, o, e=None: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, total_iters=2), s.ExponentialLR(o, 0.9), s.StepLR(o, 2)], [4, 7], **last(e)
    ),
    "sequence in a sequence": lambda s, o, e=None: s.SequentialLR(
        o, [s.SequentialLR(o, [s.ConstantLR(o), s.PolynomialLR(o)], [2]), s.CosineAnnealingLR(o, 5)], [5], **last(e)
    ),
    "chain": lambda s, o, e=None: s.ChainedScheduler([s.ConstantLR(o, 0.1, 3), s.ExponentialLR(o, 0.9)]),
    "chain of two cosines": lambda s, o, e=None: s.ChainedScheduler((s.LinearLR(o), s.CosineAnnealingLR(o, 5)), o),
    "chain first": lambda s, o, e=None: s.SequentialLR(
        o, [s.ChainedScheduler([s.StepLR(o, 1), s.ConstantLR(o)]), s.ExponentialLR(o, 0.5)], [2]
    ),
    "average": lambda s, o, e=None: swa(s).SWALR(o, [0.05, 0.7], 4, **last(e)),
    "average, straight": lambda s, o, e=None: swa(s).SWALR(o, [0.05, 0.7], 4, "linear", **last(e)),
    "average, in one step": lambda s, o, e=None: swa(s).SWALR(o, [0.05, 0.7], 1, **last(e)),
    "average, at once": lambda s, o, e=None: swa(s).SWALR(o, 0.05, 0, "linear", **last(e)),
}
OPTIMIZERS = {
    "SGD": lambda optim, groups: optim.SGD(groups, lr=0.1, momentum=0.9),
    "Adam": lambda optim, groups: optim.Adam(groups, lr=0.1),
}


def swa(schedules):
    return (minigrad if schedules is minigrad.optim.lr_scheduler else torch).optim.swa_utils


def optimizer_of(library, kind="SGD", tensor=False):
    a, b = (library.zeros(2, requires_grad=True) for _ in range(2))
    second = library.tensor(0.3) if tensor else 0.3
    return OPTIMIZERS[kind](library.optim, [{"params": [a]}, {"params": [b], "lr": second}])


def looked(optimizer, schedule):
    """Return the rates and momenta, and what the schedule says of them."""
    groups = [[float(g["lr"]), g.get("momentum", 0), *g.get("betas", ())] for g in optimizer.param_groups]
    counted = [getattr(schedule, name, None) for name in ("last_epoch", "_step_count")]
    return [*groups, list(map(float, schedule.get_last_lr())), counted]


def stepped(optimizer, schedule, n, *given):
    found = [looked(optimizer, schedule)]
    for _ in range(n):
        optimizer.step()
        schedule.step(*given)
        found.append(looked(optimizer, schedule))
    return found


def same(ours, theirs):
    if isinstance(theirs, list):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs):
            same(a, b)
    else:
        assert ours == theirs or ours == pytest.approx(theirs, rel=1e-9, abs=1e-15)


def both(program):
    ours, theirs = program(minigrad), program(torch)
    same(ours, theirs)
    return ours


def test_the_table_has_every_schedule_of_pytorch():
    names = [*torch.optim.lr_scheduler.__all__]
    assert [name for name in names if not hasattr(minigrad.optim.lr_scheduler, name)] == []
    tried = {type(SCHEDULES[name](torch.optim.lr_scheduler, optimizer_of(torch))).__name__ for name in SCHEDULES}
    assert tried == {*names, "SWALR"} - {"LRScheduler", "ReduceLROnPlateau"}


@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize("name", SCHEDULES)
def test_rates_and_momenta_of_a_new_schedule(name, kind):
    def program(library):
        optimizer = optimizer_of(library, kind)
        return stepped(optimizer, SCHEDULES[name](library.optim.lr_scheduler, optimizer), 20)

    both(program)


@pytest.mark.parametrize("epochs", [1, 2, 3, 4, 5, 6, 10])
@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_made_with_last_epoch_goes_on_as_pytorchs(name, epochs):
    def program(library):
        optimizer, s = optimizer_of(library), library.optim.lr_scheduler
        stepped(optimizer, SCHEDULES[name](s, optimizer), epochs)
        return stepped(optimizer, SCHEDULES[name](s, optimizer, epochs - 1), 9)

    both(program)


@pytest.mark.parametrize("epochs", [0, 2, 5])
@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_resumes_with_a_saved_optimizer(name, epochs):
    """As checkpoints do: a fresh optimizer loads the state, a schedule is made with last_epoch, or loads its own."""

    def program(library):
        s = library.optim.lr_scheduler
        optimizer = optimizer_of(library)
        schedule = SCHEDULES[name](s, optimizer)
        stepped(optimizer, schedule, epochs)
        saved = copy.deepcopy(optimizer.state_dict())
        resumed = optimizer_of(library)
        resumed.load_state_dict(saved)
        made = stepped(resumed, SCHEDULES[name](s, resumed, epochs - 1), 6)
        other = optimizer_of(library)
        loaded = SCHEDULES[name](s, other)
        other.load_state_dict(saved)
        loaded.load_state_dict(copy.deepcopy(schedule.state_dict()))
        return [made, stepped(other, loaded, 6), stepped(optimizer, schedule, 6)]

    _, loaded, alone = both(program)
    same(loaded, alone)


RESUMABLE = [name for name in SCHEDULES if not name.startswith(("sequence", "chain"))]


@pytest.mark.parametrize("name", RESUMABLE)
def test_a_new_optimizer_has_no_first_rates_to_resume(name):
    for library in (torch, minigrad):
        with pytest.raises(KeyError):
            SCHEDULES[name](library.optim.lr_scheduler, optimizer_of(library), 3)
    if name.startswith(("one", "three")):  # which read max_lr of the group, too
        return
    with pytest.raises(KeyError, match=r"'initial_lr' is not specified in param_groups\[0\] .*last_epoch=3"):
        SCHEDULES[name](minigrad.optim.lr_scheduler, optimizer_of(minigrad), 3)


def asked(schedule, optimizer):
    try:
        return list(map(float, schedule.get_lr())) + [g.get("momentum") for g in optimizer.param_groups]
    except NotImplementedError:
        return ["none"]


@pytest.mark.parametrize("epochs", [0, 1, 4, 5])
@pytest.mark.parametrize("name", SCHEDULES)
def test_get_lr_outside_of_a_step(name, epochs):
    def program(library):
        optimizer, s = optimizer_of(library), library.optim.lr_scheduler
        schedule = SCHEDULES[name](s, optimizer)
        stepped(optimizer, schedule, epochs)
        found = [asked(schedule, optimizer)]
        if epochs and not name.startswith(("chain", "sequence")):
            found.append(asked(SCHEDULES[name](s, optimizer, epochs - 1), optimizer))
        return found + [stepped(optimizer, schedule, 2)]

    both(program)


@pytest.mark.parametrize("name", RESUMABLE)
def test_steps_to_a_given_epoch(name):
    def program(library):
        optimizer = optimizer_of(library)
        schedule, found = SCHEDULES[name](library.optim.lr_scheduler, optimizer), []
        for epoch in (1, 7, 7, 2, 0, 12):
            optimizer.step()
            schedule.step(epoch)
            found.append(looked(optimizer, schedule))
        assert hasattr(schedule, "_get_closed_form_lr") == (name in CLOSED)
        return found + stepped(optimizer, schedule, 3)

    both(program)


CLOSED = [
    *("StepLR", "MultiStepLR", "ConstantLR", "ExponentialLR", "LinearLR", "LinearLR, up", "PolynomialLR"),
    *("CosineAnnealingLR", "CosineAnnealingLR, long"),
]


@pytest.mark.parametrize("t_0, t_mult", [(1, 1), (3, 1), (2, 2), (1, 3), (10, 1)])
def test_restarts_at_fractions_of_epochs(t_0, t_mult):
    def program(library):
        optimizer, found = optimizer_of(library), []
        schedule = library.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, t_0, t_mult, eta_min=0.001)
        for epoch in [i / 8 for i in range(60)] + [0, 3, 0.5, None, None, 2.25, None, None]:
            optimizer.step()
            schedule.step(epoch)
            found.append([*looked(optimizer, schedule), schedule.T_cur, schedule.T_i])
        with pytest.raises(ValueError):
            schedule.step(-0.5)
        return found

    both(program)


@pytest.mark.parametrize("name", SCHEDULES)
def test_rates_that_are_tensors_stay_the_same_tensors(name):
    if name.startswith(("cyclic", "one", "three")):  # whose groups get new rates
        pytest.skip("sets other rates")

    def program(library):
        optimizer = optimizer_of(library, "Adam", tensor=True)
        rate = optimizer.param_groups[1]["lr"]
        schedule = SCHEDULES[name](library.optim.lr_scheduler, optimizer)
        found = stepped(optimizer, schedule, 8)
        assert optimizer.param_groups[1]["lr"] is rate and schedule.get_last_lr()[1] is not rate
        return [[float(np.float32(x)) for x in step[2]] for step in found]

    ours, theirs = program(minigrad), program(torch)
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", [name for name in RESUMABLE if not name.startswith("average")])
def test_get_lr_of_a_subclass_sets_the_rates(name):
    def program(library):
        optimizer, calls = optimizer_of(library), []
        schedule = SCHEDULES[name](library.optim.lr_scheduler, optimizer)

        class Own(type(schedule)):
            def get_lr(self):
                calls.append(self.last_epoch)
                return [lr * 0.5 for lr in super().get_lr()]

        schedule.__class__ = Own
        return stepped(optimizer, schedule, 5) + [calls]

    assert both(program)[-1]


OVERRIDES = {
    "get_lr": lambda self: [base * 0.5 for base in self.base_lrs],
    "_get_closed_form_lr": lambda self: [base * 0.25 for base in self.base_lrs],
    "_update_lr": lambda self, epoch=None: setattr(self, "_last_lr", [g["lr"] for g in self.optimizer.param_groups]),
    "_initial_step": lambda self: vars(self).update(_step_count=3, _last_lr=[7.0, 7.0]),
    "step": lambda self, epoch=None: vars(self).update(last_epoch=self.last_epoch + 2, _last_lr=[7.0, 7.0]),
    "get_last_lr": lambda self: [3.0, 4.0],
}


@pytest.mark.parametrize("method", OVERRIDES)
@pytest.mark.parametrize("base", ["StepLR", "ExponentialLR", "LRScheduler", "CosineAnnealingLR"])
def test_overridden_methods_are_called(base, method):
    if base == "LRScheduler" and method in ("_get_closed_form_lr", "get_last_lr"):
        pytest.skip("the base class has no rates")
    more = {"StepLR": (2,), "ExponentialLR": (0.5,), "LRScheduler": (), "CosineAnnealingLR": (5,)}[base]

    def program(library):
        optimizer = optimizer_of(library)
        own = type("Own", (getattr(library.optim.lr_scheduler, base),), {method: OVERRIDES[method]})
        schedule = own(optimizer, *more)
        found = stepped(optimizer, schedule, 3)
        return (
            found + stepped(optimizer, schedule, 1, 6) if base != "LRScheduler" or method != "_initial_step" else found
        )

    if base == "LRScheduler" and method == "_initial_step":
        pytest.skip("the base class has no rates")
    both(program)


PLATEAUS = [
    {"patience": 1},
    {"mode": "max", "patience": 0, "cooldown": 2, "min_lr": [0.01, 0.1]},
    {"threshold_mode": "abs", "threshold": 0.2, "factor": 0.5, "patience": 1},
]


@pytest.mark.parametrize("settings", PLATEAUS)
def test_plateaus_are_seen_at_the_same_epochs(settings):
    def program(library):
        optimizer = optimizer_of(library)
        schedule, found = library.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **settings), []
        for k, loss in enumerate((3.0, 2.0, 2.1, 2.05, 1.9, 2.0, 2.0, 2.0, -1.0, -1.0, -0.9, -1.0001)):
            schedule.step(library.tensor(loss), *([k + 5] if k % 3 else []))
            found.append([*looked(optimizer, schedule), schedule.in_cooldown, schedule.best, schedule.num_bad_epochs])
            if k == 5:
                state = schedule.state_dict()
                schedule = library.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
                schedule.load_state_dict(state)
        schedule._reset()
        return [*found, [schedule.best, schedule.mode_worse]]

    both(program)


def test_a_group_that_joins_later_is_scheduled_where_pytorch_does_it():
    def program(library, name):
        optimizer = optimizer_of(library)
        schedule = SCHEDULES[name](library.optim.lr_scheduler, optimizer)
        optimizer.add_param_group({"params": [library.zeros(1, requires_grad=True)], "lr": 0.7})
        try:
            return stepped(optimizer, schedule, 5)
        except ValueError:
            return ["ValueError"]

    for name in CLOSED:
        same(program(minigrad, name), program(torch, name))
    same(program(minigrad, "LambdaLR, object"), program(torch, "LambdaLR, object"))


REFUSED = {
    "no optimizer": lambda s, o: s.StepLR(3, 1),
    "no schedules": lambda s, o: s.SequentialLR(o, [], []),
    "no schedules in a chain": lambda s, o: s.ChainedScheduler([]),
    "a number as a schedule": lambda s, o: s.ChainedScheduler([3], o),
    "a plateau in a chain": lambda s, o: s.ChainedScheduler([s.ReduceLROnPlateau(o)]),
    "a plateau in a sequence": lambda s, o: s.SequentialLR(o, [s.ReduceLROnPlateau(o)], []),
    "milestones": lambda s, o: s.SequentialLR(o, [s.StepLR(o, 1)], [1]),
    "constant": lambda s, o: s.ConstantLR(o, 1.5),
    "constant below 0": lambda s, o: s.ConstantLR(o, -0.5),
    "linear": lambda s, o: s.LinearLR(o, 0.0),
    "functions": lambda s, o: s.LambdaLR(o, [abs]),
    "no function": lambda s, o: s.MultiplicativeLR(o, 0.9),
    "T_0": lambda s, o: s.CosineAnnealingWarmRestarts(o, 0),
    "T_mult": lambda s, o: s.CosineAnnealingWarmRestarts(o, 2, 1.5),
    "eta_min": lambda s, o: s.CosineAnnealingWarmRestarts(o, 2, eta_min="low"),
    "no steps": lambda s, o: s.OneCycleLR(o, 0.1, total_steps=0),
    "half steps": lambda s, o: s.OneCycleLR(o, 0.1, total_steps=2.5),
    "no epochs": lambda s, o: s.OneCycleLR(o, 0.1, epochs=0, steps_per_epoch=3),
    "pct_start": lambda s, o: s.OneCycleLR(o, 0.1, 5, pct_start=1),
    "mode": lambda s, o: s.CyclicLR(o, 0.1, 0.2, mode="up"),
    "three rates": lambda s, o: s.CyclicLR(o, [0.1] * 3, 0.2),
    "factor": lambda s, o: s.ReduceLROnPlateau(o, factor=1.0),
    "plateau": lambda s, o: s.ReduceLROnPlateau(o, mode="low"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_refuses_what_pytorch_refuses(name):
    with pytest.raises((ValueError, TypeError)) as theirs:
        REFUSED[name](torch.optim.lr_scheduler, optimizer_of(torch))
    with pytest.raises(theirs.type):
        REFUSED[name](minigrad.optim.lr_scheduler, optimizer_of(minigrad))
