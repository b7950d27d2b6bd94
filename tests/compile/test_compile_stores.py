"""A compiled function stores what eager code stores; what outlives the call and is not on the list runs eagerly, once."""

import operator

import pytest

import minigrad as torch
from minigrad import compile
from minigrad.errors import MinigradWarning

from .both import X, runs_eagerly
from .interpreted import interpreted
from .training import plain, same

__all__ = ["interpreted"]

F = torch.nn.functional


class Counter:
    total = 0

    def __init__(self):
        self.calls, self.table, self.rows = 0, {"a": X * 1}, [1.0]


COUNT = 0


def sets_a_global(counter, x):
    global COUNT
    COUNT += 1


def sets_a_class(counter, x):
    Counter.total = Counter.total + 1


STORES = {
    "an attribute": (lambda c, x: setattr(c, "calls", c.calls + 1), "it sets counter.calls, which outlives the call"),
    "a global": (sets_a_global, "it assigns to COUNT, which outlives the call"),
    "an attribute of a class": (sets_a_class, "it sets Counter.total, which outlives the call"),
    "an entry": (lambda c, x: operator.setitem(c.table, "b", x), r"it calls _?operator.setitem\(\)|it calls setitem"),
    "an entry that goes": (
        lambda c, x: c.table.pop("a"),
        r"it calls pop\(\) of counter.table, which outlives the call",
    ),
    "a list that grows": (
        lambda c, x: c.rows.append(x),
        r"it calls append\(\) of counter.rows, which outlives the call",
    ),
    "a list that is sorted": (lambda c, x: c.rows.sort(), r"it calls sort\(\) of counter.rows"),
}


@pytest.mark.parametrize("name", STORES)
def test_a_store_that_outlives_the_call_happens_once_in_each_call(name, interpreted):
    store, match = STORES[name]
    ends = []
    for run in (lambda f: f, compile):
        counter, Counter.total = Counter(), 0
        globals()["COUNT"] = 0

        def f(counter, x):
            store(counter, x)
            return x * 2

        if run is compile:
            runs_eagerly(run(f), counter, X, match=match)
        else:
            f(counter, X)
        ends.append([COUNT, Counter.total, counter.calls, sorted(counter.table), len(counter.rows)])
    assert ends[0] == ends[1]


def stores(counter, x):
    counter.table["new"] = x
    return x


def grows(counter, x):
    counter.rows += [2.0]
    return x


def deletes(counter, x):
    del counter.table["a"]
    return x


@pytest.mark.parametrize("f, match", [(stores, "stores an entry in counter.table"), (grows, "it (sets|changes) counter.rows"),
                                      (deletes, "deletes an entry of counter.table")])  # fmt: skip
def test_statements_that_store(f, match, interpreted):
    counter = Counter()
    runs_eagerly(compile(lambda x: f(counter, x)), X, match=match)
    assert len(counter.table) == {stores: 2, grows: 1, deletes: 0}[f] and len(counter.rows) == 1 + (f is grows)


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
    assert list(opt.state[w]) == list(range(30)) and len(c.every) == 10
