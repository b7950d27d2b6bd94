"""A compiled function leaves eager code's effects: `.grad`, the state of modules and optimizers."""

import copy
import gc
import tracemalloc
import weakref

import numpy as np
import pytest

import minigrad as torch
from minigrad import compile, nn
from minigrad.compile.specialization import Specialisation
from minigrad.errors import MinigradWarning

from .interpreted import interpreted

__all__ = ["interpreted"]

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
    "Rprop": lambda p: torch.optim.Rprop(p, lr=0.1),
}


BRANCHES = {"RAdam": (8, 3)}  # what does something else from some step on: steps, programs


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_training_loop_gives_what_eager_code_gives(name):
    steps, programs = BRANCHES.get(name, (5, 2))  # before the first step, and from then on
    assert runs_as_eager(training(OPTIMIZERS[name]), steps)._count == programs


SCHEDULES = {
    "exponential": lambda o: torch.optim.lr_scheduler.ExponentialLR(o, 0.9),
    "lambda": lambda o: torch.optim.lr_scheduler.LambdaLR(o, lambda k: 1 / (k + 1)),
    "cosine": lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 10),
    "one cycle": lambda o: torch.optim.lr_scheduler.OneCycleLR(o, 0.1, total_steps=30),
}


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_a_rate_that_changes_is_no_other_program(optimizer, name):
    c = runs_as_eager(training(OPTIMIZERS[optimizer], SCHEDULES[name]), 7)
    assert c._count <= 3 and "opt.param_groups[0]['lr'] any float" in c.explain()


def test_dropout_batch_norm_and_clipping():
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


def test_gradients_of_several_batches_add_up():
    def step(model, opt):
        def accumulated(x, y):
            opt.zero_grad(set_to_none=False)
            for part in range(3):
                (F.cross_entropy(model(x[2 * part : 2 * part + 2]), y[2 * part : 2 * part + 2]) / 3).backward()
            opt.step()

        return accumulated

    runs_as_eager(training(OPTIMIZERS["SGD"], step=step), 4)


def test_a_closure_and_a_loop_over_layers():
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
def test_a_schedule_inside(name):
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
    assert c._count <= 4


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


def test_a_state_that_was_loaded_is_used():
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


# ---------------------------------------------------------------------- .grad
def test_grad_of_parameters_and_arguments():
    def make():
        w, v = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)

        def f(x):
            (w * x * v).sum().backward()
            return w.grad * 2

        return f, lambda k: (torch.ones(3) * k,), lambda: [w.grad, v.grad]

    c = runs_as_eager(make, 4)
    assert c._count == 2

    def of_arguments():
        w = torch.randn(3, requires_grad=True)
        x = torch.ones(3)

        def f(w, x):
            (w * x).sum().backward()

        return f, lambda k: (w, x * k), lambda: [w.grad]

    c = runs_as_eager(of_arguments, 4)
    assert c._count == 2


def test_gradients_set_to_none_between_calls():
    w, x = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0])

    @compile(fullgraph=True)
    def f(x):
        (w * x).sum().backward()

    for _ in range(3):
        f(x), f(x)
        assert w.grad.tolist() == [6, 8]
        w.grad = None
    assert f._count == 2


def test_a_gradient_that_is_replaced_leaves_the_old_one_alone():
    w = torch.tensor([1.0, 2.0], requires_grad=True)

    @compile(fullgraph=True)
    def f(x):
        w.grad = None
        (w * x).sum().backward()

    f(torch.ones(2))
    first = w.grad
    f(torch.ones(2) * 5)
    assert first.tolist() == [1, 1] and w.grad.tolist() == [5, 5] and w.grad is not first
    kept = w.grad
    compile(lambda x: (w * x).sum().backward(), fullgraph=True)(torch.ones(2))
    assert w.grad is kept and kept.tolist() == [6, 6]  # added to in place


def test_whether_there_is_a_gradient_decides():
    w = torch.tensor([1.0, 2.0], requires_grad=True)

    @compile(fullgraph=True)
    def f(x):
        return x if w.grad is None else x + w.grad

    assert f(torch.ones(2)).tolist() == [1, 1]
    w.sum().backward()
    assert f(torch.ones(2)).tolist() == [2, 2]
    w.grad = None
    assert f(torch.ones(2)).tolist() == [1, 1]

    g = compile(lambda v: v.detach() * 1 if v.grad is None else v.grad * 2, fullgraph=True)
    assert g(w).tolist() == [1, 2]
    w.sum().backward()
    assert g(w).tolist() == [2, 2]
    w.grad = None
    assert g(w).tolist() == [1, 2]


def test_a_loss_whose_graph_is_freed_says_so():
    w = torch.ones(2, requires_grad=True)

    @compile(fullgraph=True)
    def f(x):
        loss = (w * x).sum()
        loss.backward()
        return loss

    for _ in range(2):
        with pytest.raises(RuntimeError, match="backward"):
            f(torch.ones(2)).backward()
    assert w.grad.tolist() == [2, 2]


def test_hooks_run_eagerly():
    w, seen = torch.ones(2, requires_grad=True), []
    w.register_hook(seen.append)
    f = compile(lambda x: (w * x).sum().backward())
    with pytest.warns(MinigradWarning, match="has a hook that needs the gradient"):
        f(torch.ones(2)), f(torch.ones(2))
    assert len(seen) == 2 and w.grad.tolist() == [2, 2]


def test_hooks_of_parameters_are_called_by_a_backward_outside_of_what_is_compiled():
    w, seen = torch.ones(2, requires_grad=True), []
    w.register_hook(lambda g: g * 3)
    w.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.tolist()))
    f = compile(lambda x: (w * x).sum(), fullgraph=True)
    for _ in range(2):
        w.grad = None
        f(torch.tensor([1.0, 2.0])).backward()
    assert seen == [[3, 6], [3, 6]]


# ---------------------------------------------------------------------- the state of modules and optimizers
class Counter:
    def __init__(self):
        self.calls = 0


class Attention(torch.nn.Module):
    """Assigns its buffers, with and without a history."""

    def __init__(self):
        super().__init__()
        self.linear, self.norm = torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3)
        self.register_buffer("scores", torch.zeros(4, 3))
        self.register_buffer("shown", torch.zeros(4, 3))

    def forward(self, x):
        self.scores = self.norm(self.linear(x)).softmax(1)
        self.shown = self.shown * 0.5 + self.scores.detach() * 2
        return (self.scores @ x.T).sum(), x * 2


def test_buffers_that_are_assigned_beside_results_with_a_history(interpreted):
    ends = []
    for run in (lambda f: f, compile):
        torch.manual_seed(0)
        module, seen = Attention(), []
        f = run(module)
        for k in range(4):
            x = torch.randn(4, 3).requires_grad_()
            loss, doubled = f(x)
            (loss + (doubled.sum() if k % 2 else 0)).backward()
            seen += [loss.detach(), x.grad, module.linear.weight.grad.clone(), module.shown]
            loss, _ = f(x)
            (module.scores**2).sum().backward()
            seen += [module.linear.weight.grad.clone(), module.norm.running_mean.clone()]
        ends.append(seen)
    assert "runs eagerly" not in f.explain(), f.explain()
    for a, b in zip(*ends, strict=True):
        assert torch.allclose(a, b, rtol=1e-4, atol=1e-5)


def test_a_capture_that_fails_leaves_nothing_behind():
    net, table = torch.nn.BatchNorm1d(2), {}
    opt = torch.optim.Adam(net.parameters(), lr=0.1)

    def f(x):
        opt.zero_grad()
        net(x).pow(2).sum().backward()
        opt.param_groups[0]["lr"] = 0.2
        opt.step()
        table["x"] = x
        return x

    ends = []
    for run in (compile, lambda f: f):
        net.load_state_dict(torch.nn.BatchNorm1d(2).state_dict()), opt.state.clear(), table.clear()
        opt.param_groups[0]["lr"] = 0.1
        c, x = run(f), torch.arange(8.0).view(4, 2)
        if run is compile:
            with pytest.warns(MinigradWarning, match="stores an entry in table, which outlives the call"):
                c(x)
        else:
            c(x)
        ends.append([plain(t) for t in (*net.parameters(), *net.buffers())] + [plain(list(opt.state.values()))])
        assert opt.param_groups[0]["lr"] == 0.2
    same(*ends)


def test_gradients_of_gradients_of_what_changes_something_else_are_refused():
    net = torch.nn.Module()
    net.register_buffer("calls", torch.tensor(0.0))

    def f(x):
        net.calls = net.calls + 1
        return (x**3).sum()

    c, x = compile(f), torch.ones(2, requires_grad=True)
    c(x), c(x)
    with pytest.raises(RuntimeError, match=r"(?s)second run of the function, which changes objects.*f\.function\(x\)"):
        torch.autograd.grad(c(x), x, create_graph=True)
    assert net.calls.item() == 3


def test_a_rate_that_the_function_sets():
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


def test_a_users_optimizer():
    c = runs_as_eager(training(lambda p: Own(p, 0.1)), 5)
    assert c._count <= 3


def test_a_step_that_returns_what_it_has_differentiated_leaves_grads():
    def make():
        w = torch.ones(2, requires_grad=True)

        def step(x):
            loss = (w * x).sum()
            loss.backward()
            return loss

        return step, lambda k: (torch.ones(2) * k,), lambda: [w, w.grad]

    runs_as_eager(make, 3)


def test_what_grows_with_each_call_is_given_up():
    w = torch.ones(2, requires_grad=True)
    opt = torch.optim.SGD([w], lr=0.1)

    def f(x, k):
        opt.state[w][int(k)] = x * 2
        return x + 1

    c = compile(f)
    with pytest.warns(MinigradWarning, match="9 calls each changed state that the next call depends on") as said:
        for k in range(30):
            assert c(torch.ones(2), k).tolist() == [2, 2]
    assert len(said) == 1, [str(one.message) for one in said]
    assert list(opt.state[w]) == list(range(30)) and c._count == 10


# ---------------------------------------------------------------------- numbers
RATE = 0.5


def test_numbers_outside_are_parameters_once_they_have_changed():
    global RATE
    counter = Counter()
    f = compile(lambda x: x * RATE + 2.0**-counter.calls, fullgraph=True)
    for k in range(8):
        RATE, counter.calls = 0.5 + k, k
        assert f(torch.ones(2)).tolist() == [0.5 + k + 2.0**-k] * 2
    assert f._count <= 3 and "RATE any float" in f.explain()


@pytest.mark.cpu("a number on a GPU is not waited for")
def test_the_number_in_a_tensor():
    scale, steps = torch.tensor(0.5), torch.tensor(3)

    @compile(fullgraph=True)
    def f(x, s):
        return x * (scale.item() * 2) + s.item() / steps.item()

    for k in range(1, 6):
        scale.fill_(k / 2), steps.fill_(k)
        assert f(torch.ones(2), torch.tensor(6.0 * k)).tolist() == [k + 6, k + 6]
    assert f._count == 1
    big = compile(lambda x: x + 1 if scale.item() > 1 else x - 1, fullgraph=True)
    for value in (0.5, 3.0, 0.25, 8.0):
        scale.fill_(value)
        assert big(torch.zeros(1)).item() == (1 if value > 1 else -1)
    assert big._count == 2


def test_a_number_that_the_program_computes_is_returned_or_kept():
    def make():
        scale = torch.tensor(0.5)
        w = torch.ones(3, requires_grad=True)

        def f(x, k):
            loss = (w * x).sum()
            scale.add_(1)
            right = (x > 1).sum().item()
            return {
                "half": loss.item() / 2 + k,
                "loss": loss.item(),
                "scale": scale.item(),
                "right": [right, right // 2],
                "mean": loss.detach() / 3,
            }

        return f, lambda k: (torch.ones(3) * k, k), lambda: [scale]

    c = runs_as_eager(make, 6)
    assert c._count <= 3


def test_a_result_and_its_number():
    c = compile(lambda x: ((y := (x * x).sum()), y.item(), y.item() ** 2), fullgraph=True)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y, number, square = c(x)
    assert (number, square) == (5.0, 25.0) and type(number) is type(square) is float
    y.backward()
    assert x.grad.tolist() == [2, 4]
    assert c(x * 0)[1:] == (0.0, 0.0) and np.isnan(c(x * np.inf * 0)[1])


@pytest.mark.parametrize("f", [
    lambda x: x * x.sum().item(), lambda x: x if x.sum().item() > 0 else -x, lambda x: str(x.sum().item()),
    lambda x: x.new_zeros(x.long().sum().item()), lambda x: np.float64(x.sum().item()) * 2, lambda x: round(x.sum().item()) * x,
    lambda x: x + max(x.sum().item(), 0.0), lambda x: float(x.sum()),
])  # fmt: skip
def test_a_number_that_the_program_computes_is_no_part_of_it(f):
    c = compile(f)
    with pytest.warns(MinigradWarning, match="needs the value of a tensor|it creates a float64"):
        for k in (1.0, 2.0, -3.0):
            if f(abs(torch.ones(2))) is not None and k > 0:
                same([plain(c(torch.ones(2) * k))], [plain(f(torch.ones(2) * k))])


def test_the_number_of_a_tensor_that_is_written_to_afterwards():
    def f(x):
        y = x.sum()
        number = y.item()
        y.add_(1)
        return y, number

    with pytest.warns(MinigradWarning, match=r"calls item\(\) on a tensor and writes to that tensor afterwards"):
        y, number = compile(f)(torch.ones(2))
    assert (y.item(), number) == (3.0, 2.0)


def test_derivatives_know_the_numbers_of_their_call():
    counter = Counter()
    counter.calls = 2
    f = compile(lambda x: x * counter.calls * counter.calls, fullgraph=True)
    x = torch.ones(2, requires_grad=True)
    outs = []
    for k in (2, 3, 4, 5):
        counter.calls = k
        outs.append(f(x))
    for k, out in zip((2, 3, 4, 5), outs):
        assert torch.autograd.grad(out.sum(), x)[0].tolist() == [k * k] * 2
    out = f(x)
    counter.calls = 7
    with pytest.raises(RuntimeError, match="has changed since the call"):
        torch.autograd.grad(out.sum(), x, create_graph=True)


# ---------------------------------------------------------------------- what is run again
def test_a_function_that_is_run_again_for_its_gradients_writes_once():
    """With create_graph, or where not all results were used, gradients are those of the function itself, run again."""
    norm, counter = nn.BatchNorm1d(3), torch.tensor(0.0)

    def f(x):
        counter.add_(1)
        y = norm(x)
        return y.tanh().sum(), (y * x).mean()

    c, x = compile(f, fullgraph=True), torch.randn(5, 3, requires_grad=True)
    for calls in range(1, 4):
        before = norm.running_mean.clone()
        first, second = c(x)
        (torch.autograd.grad(first, x, create_graph=True, retain_graph=True)[0] ** 2).sum().backward()
        second.backward()
        assert counter.item() == calls and norm.num_batches_tracked.item() == calls
        assert torch.allclose(norm.running_mean, before * 0.9 + x.detach().mean(0) * 0.1)


def test_gradients_are_cleared_also_where_there_were_none_at_first():
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    opt = torch.optim.SGD([a, b], lr=0.1)

    def clear(x, y):
        opt.zero_grad()
        y.grad = None
        return x * 2

    c, y = compile(clear, fullgraph=True), torch.ones(2, requires_grad=True)
    for _ in range(3):
        c(torch.ones(2), y)
        assert a.grad is None and b.grad is None and y.grad is None
        (a * b * y).sum().backward()
    assert c._count == 1


def test_nothing_of_the_first_call_is_kept():
    counter = Counter()

    def f(x, k):
        y = (x * 2).detach() + counter.calls
        return y.sum().item(), k + 1, y

    c = compile(f, fullgraph=True)
    for k in range(3):
        counter.calls = k
        given = torch.ones(5) * k
        seen = [weakref.ref(given), weakref.ref(c(given, k)[2])]
        del given
        gc.collect()
        assert [one() for one in seen] == [None] * 2


@pytest.mark.cpu("tracemalloc sees the computer's memory")
def test_nothing_of_a_capture_is_kept():
    def f(x, k):
        return (x.sin() * x.cos() * k).sum().item() + k

    c, x = compile(f, fullgraph=True), torch.ones(1000, 1000)
    tracemalloc.start()
    try:
        made = Specialisation(c, (x, 2), 2, (x, 2), {})  # runs nothing yet
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] < 1.5 * x._a.nbytes  # an example of the argument, for graph()
    finally:
        tracemalloc.stop()
    assert made.results


@pytest.mark.cpu("tracemalloc sees the computer's memory")
def test_a_capture_waits_for_no_collector():
    def f(x, k):
        for _ in range(20):
            x = (x * k).sin()
        return x

    compile(f, fullgraph=True)(torch.ones(3), 2.0)  # imports what writes programs
    c, x = compile(f, fullgraph=True), torch.ones(1000, 1000)
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        Specialisation(c, (x, 2.0), 2, (x, 2.0), {})
        kept, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        gc.enable()
    assert kept < 1.5 * x._a.nbytes  # an example of the argument
    assert most < 60 * x._a.nbytes  # the 40 results of the capture


@pytest.mark.cpu("tracemalloc sees the computer's memory")
def test_between_compiled_parts_nothing_is_kept_that_is_not_needed_any_more():
    def f(x):
        for _ in range(10):
            x = x.sin().cumsum(0)  # no rule: a call
        return x

    c, x = compile(f, fullgraph=True), torch.ones(1000, 100)
    c(x)
    tracemalloc.start()
    try:
        c(x)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert c.source().count("call(") == 10
    assert most < 5 * x._a.nbytes
