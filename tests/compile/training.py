"""Training loops for the tests of compile, and the comparison of everything that eager and compiled calls leave behind."""

import numpy as np
import pytest

import minigrad as torch
from minigrad import compile, nn

F = torch.nn.functional


def plain(a):
    """Return a structure of tensors as arrays, to be compared."""
    if isinstance(a, torch.Tensor):
        return a.detach().cpu().numpy().copy()
    if isinstance(a, dict):
        return [plain(v) for v in a.values()]
    return [plain(v) for v in a] if isinstance(a, (list, tuple)) else a


def same(a, b):
    assert type(a) is type(b)
    if isinstance(a, list):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            same(x, y)
    elif isinstance(a, np.ndarray):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    elif isinstance(a, float):
        assert a == pytest.approx(b, rel=1e-4, abs=1e-5, nan_ok=True)
    else:
        assert a == b


def runs_as_eager(make, calls, texts=None, **options):
    """Make a function twice, run it eagerly and compiled, and compare what each call gives and leaves behind.

    `make` gives the function, a function of the call's number for its arguments, and one that tells the state.
    """
    told = []
    for fast in (False, True):
        torch.manual_seed(0)
        f, given, state = make()
        c = compile(f, fullgraph=True, **options) if fast else f
        told.append([(plain(c(*given(k))), plain(state())) for k in range(calls)])
    for k, (eager, compiled) in enumerate(zip(*told)):
        same(list(eager), list(compiled)), k
    assert texts is None or len(c._texts) == texts
    return c


def network():
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3))


def batches():
    xs, ys = [torch.randn(6, 5) for _ in range(5)], [torch.randint(0, 3, (6,)) for _ in range(5)]
    return lambda k: (xs[k % 5], ys[k % 5])


def training(optimizer, schedule=None, net=network, step=None):
    """Return a training loop as it is written, and the objects that it changes."""

    def make():
        model = net()
        opt = optimizer(model.parameters())
        scheduler = schedule and schedule(opt)

        def loop(x, y):
            opt.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            opt.step()
            return loss.detach()

        def given(k, of=batches()):  # noqa: B008 (one for each loop)
            if scheduler and k:
                scheduler.step()
            return of(k)

        def state():
            params = list(model.parameters())
            return [params, [p.grad for p in params], list(model.buffers()), [opt.state[p] for p in params]]

        return (step(model, opt) if step else loop), given, state

    return make


OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.1),
    "nesterov": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "maximize": lambda p: torch.optim.SGD(p, lr=0.01, maximize=True),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "amsgrad": lambda p: torch.optim.Adam(p, lr=0.01, amsgrad=True, weight_decay=0.1),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.01),
    "RMSprop": lambda p: torch.optim.RMSprop(p, lr=0.01, momentum=0.5, centered=True),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1, lr_decay=0.1),
    "Adadelta": lambda p: torch.optim.Adadelta(p, lr=0.1, weight_decay=0.1),
    "Adamax": lambda p: torch.optim.Adamax(p, lr=0.1, maximize=True),
    "NAdam": lambda p: torch.optim.NAdam(p, lr=0.1, decoupled_weight_decay=True, weight_decay=0.1),
    "RAdam": lambda p: torch.optim.RAdam(p, lr=0.1),
    "ASGD": lambda p: torch.optim.ASGD(p, lr=0.1, lambd=0.01, t0=1),
    "Rprop": lambda p: torch.optim.Rprop(p, lr=0.1),
}
SCHEDULES = {
    "exponential": lambda o: torch.optim.lr_scheduler.ExponentialLR(o, 0.9),
    "lambda": lambda o: torch.optim.lr_scheduler.LambdaLR(o, lambda k: 1 / (k + 1)),
    "cosine": lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 10),
    "one cycle": lambda o: torch.optim.lr_scheduler.OneCycleLR(o, 0.1, total_steps=30),
}
