"""A compiled function sees each change of what it has read from outside; numbers become parameters of its program."""

import collections
import functools
import io
from contextlib import suppress

import numpy as np
import pytest

import minigrad as torch
from minigrad import compile
from minigrad.errors import MinigradWarning
from minigrad.events import events, unheard
from tests.functions import custom

from .both import X
from .interpreted import interpreted
from .training import plain, runs_as_eager, same

__all__ = ["interpreted"]

F = torch.nn.functional


def function_with_attribute():
    def g(x):
        return x * g.k

    g.k = 2.0
    return g, lambda: setattr(g, "k", 3.0)


def code_of_a_function():
    def g(x):
        return x * 2

    def other(x):
        return x * 3

    return (lambda x: g(x)), lambda: setattr(g, "__code__", other.__code__)


def defaults():
    def g(x, k=2.0):
        return x * k

    return (lambda x: g(x)), lambda: setattr(g, "__defaults__", (3.0,))


class Parts:
    k = 2.0

    def m(self, x):
        return x * 2

    @property
    def q(self):
        return 2.0

    @classmethod
    def c(cls, x):
        return x * 2

    @staticmethod
    def s(x):
        return x * 2

    def __call__(self, x):
        return x * 2


def part_of_a_class(name, new, use):
    def make():
        class Own(Parts):
            pass

        own = Own()
        return (lambda x: use(own, x)), lambda: setattr(Own, name, new)

    return make


def class_of_an_object():
    class One:
        def m(self, x):
            return x * 2

    class Other:
        def m(self, x):
            return x * 3

    one = One()
    return (lambda x: one.m(x)), lambda: setattr(one, "__class__", Other)


def method_of_an_object():
    own = Parts()
    return (lambda x: own.m(x)), lambda: setattr(own, "m", lambda x: x * 3)


def attribute_of_a_parameter():
    p = torch.nn.Parameter(torch.ones(1))
    p.lr_mult = 2.0
    return (lambda x: x * p.lr_mult * p.detach()), lambda: setattr(p, "lr_mult", 3.0)


def forward_of_a_library():
    class Net(torch.nn.Module):
        def forward(self, x):
            return x * 2

    net = torch.nn.Sequential(torch.nn.Identity(), Net())
    return (lambda x: net(x)), lambda: setattr(Net, "forward", lambda self, x: x * 3)


def custom_function():
    Twice = custom("Twice", forward=lambda ctx, x: x * 2, backward=lambda ctx, g: g * 2)

    def f(x):
        leaf = x.clone().requires_grad_()
        return torch.autograd.grad(Twice.apply(leaf).sum(), leaf)[0]

    return f, lambda: setattr(Twice, "backward", staticmethod(lambda ctx, g: g * 3))


def container(start, change):
    def make():
        table = {"it": start()}
        return (lambda x: x * sum(list(table["it"]))), lambda: change(table["it"])

    return make


def order_of_keys():
    table = {"a": 1.0, "b": 2.0}
    return (lambda x: x * list(table)[0].count("a")), lambda: table.update(a=table.pop("a"))


def around_a_function():
    k = 2.0
    f = torch.vmap(lambda x: x * k)

    def change():
        nonlocal k
        k = 3.0

    return (lambda x: f(x)), change


def of_partial():
    table = [2.0]
    f = functools.partial(lambda rows, x: x * rows[0], table)
    return (lambda x: f(x)), lambda: table.__setitem__(0, 3.0)  # noqa: PLW0108


CHANGES = {
    "an attribute of a function": function_with_attribute, "code": code_of_a_function, "defaults": defaults,
    "a class attribute": part_of_a_class("k", 3.0, lambda own, x: x * own.k),
    "a method": part_of_a_class("m", lambda self, x: x * 3, lambda own, x: own.m(x)),
    "a property": part_of_a_class("q", property(lambda self: 3.0), lambda own, x: x * own.q),
    "a class method": part_of_a_class("c", classmethod(lambda cls, x: x * 3), lambda own, x: own.c(x)),
    "a static method": part_of_a_class("s", staticmethod(lambda x: x * 3), lambda own, x: type(own).s(x)),
    "__call__": part_of_a_class("__call__", lambda self, x: x * 3, lambda own, x: own(x)),
    "a class": class_of_an_object, "a method of an object": method_of_an_object,
    "an attribute of a parameter": attribute_of_a_parameter, "forward in a container": forward_of_a_library,
    "a custom Function": custom_function, "a list": container(lambda: [2.0], lambda a: a.append(1.0)),
    "an element": container(lambda: [2.0], lambda a: a.__setitem__(0, 3.0)),
    "a set": container(lambda: {2.0}, lambda a: a.add(1.0)), 
    "a dict": container(lambda: {2.0: 1}, lambda a: a.update({1.0: 1})),
    "the order of keys": order_of_keys, "a function in a transform": around_a_function, "a partial": of_partial,
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_what_was_read_is_seen(name, interpreted):
    f, change = CHANGES[name]()
    c = compile(f, fullgraph=True)
    for _ in range(2):
        assert torch.equal(c(X), f(X))
    before = f(X)
    change()
    assert not torch.equal(before, f(X)) and torch.equal(c(X), f(X)) and torch.equal(c(X), f(X))
    assert len(c.versions) == 2


TAKES = {
    "a set": (lambda: {1, 2, 3}, lambda e, x: x * e.pop()),
    "a file": (lambda: io.StringIO("1\n2\n3\n4\n"), lambda e, x: x * float(e.readline())),
    "an iterator": (lambda: iter([1, 2, 3]), lambda e, x: x * next(e)),
    "a generator": (lambda: (i for i in (1, 2, 3)), lambda e, x: x * sum([i for i in e])),
    "a deque": (lambda: collections.deque([1, 2, 3]), lambda e, x: x * e.popleft()),
    "a defaultdict": (lambda: collections.defaultdict(lambda: len(TAKES)), lambda e, x: x * e["new"]),
}


@pytest.mark.parametrize("name", TAKES)
@pytest.mark.filterwarnings("ignore")
def test_the_first_call_takes_what_an_eager_call_takes(name, interpreted):
    make, take = TAKES[name]
    ends = []
    for run in (lambda f: f, compile):
        e = make()
        f = run(lambda x: take(e, x))  # noqa: B023
        ends.append([f(X).tolist() for _ in range(2)])
    assert ends[0] == ends[1]


sine = torch.tensor([0.5, 1.0]).sin


def test_a_method_of_a_tensor_sees_what_the_tensor_holds(interpreted):
    c = compile(lambda x: x * sine(), fullgraph=True)
    for _ in range(2):
        assert torch.equal(c(X), X * sine())
        sine.__self__.mul_(2)


class Counter:
    def __init__(self):
        self.calls = 0


RATE = 0.5


def test_numbers_outside_are_parameters_once_they_have_changed():
    global RATE
    counter = Counter()
    f = compile(lambda x: x * RATE + 2.0**-counter.calls, fullgraph=True)
    for k in range(8):
        RATE, counter.calls = 0.5 + k, k
        assert f(torch.ones(2)).tolist() == [0.5 + k + 2.0**-k] * 2
    assert len(f.every) <= 3 and "RATE any float" in f.explain()


@pytest.mark.cpu("a number on a GPU is not waited for")
def test_the_number_in_a_tensor():
    scale, steps = torch.tensor(0.5), torch.tensor(3)

    @compile(fullgraph=True)
    def f(x, s):
        return x * (scale.item() * 2) + s.item() / steps.item()

    for k in range(1, 6):
        scale.fill_(k / 2), steps.fill_(k)
        assert f(torch.ones(2), torch.tensor(6.0 * k)).tolist() == [k + 6, k + 6]
    assert len(f.every) == 1
    big = compile(lambda x: x + 1 if scale.item() > 1 else x - 1, fullgraph=True)
    for value in (0.5, 3.0, 0.25, 8.0):
        scale.fill_(value)
        assert big(torch.zeros(1)).item() == (1 if value > 1 else -1)
    assert len(big.every) == 2


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
    assert len(c.every) <= 3


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


def test_memory_that_replaces_the_memory_of_the_last_call_is_compared(interpreted):
    w = torch.ones(2, 3)
    c, x = compile(lambda x: x * w.sum(0), fullgraph=True), torch.tensor([1.0, 2.0, 3.0])
    for data in (torch.ones(2, 3) * 2, torch.ones(4, 3), torch.ones(3, 2).T, torch.arange(6.0).reshape(2, 3)):
        assert torch.equal(c(x), x * w.sum(0))
        w.data = data
        assert torch.equal(c(x), x * w.sum(0))
    assert len(c.versions) == 3


@pytest.mark.parametrize(
    "f",
    [lambda x: x.sum(), lambda x: compile(torch.exp)(x).sum(), lambda x: x.exp().missing],
    ids=["one", "two", "failed"],
)
def test_reads_are_as_quick_after_a_capture_as_before(f):
    with suppress(AttributeError):
        compile(f)(torch.ones(3))
    assert events.read is unheard  # a read asks no observer
