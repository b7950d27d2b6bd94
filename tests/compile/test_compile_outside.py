"""Tensors that a compiled function is not given: it sees what they hold at each call, however it takes hold of them."""

import copy
import pickle
from functools import partial

import numpy as np
import pytest

import minigrad as torch
from minigrad.compile.api import compile
from minigrad.ops.base.registry import TABLE

from .. import table
from ..floats import some
from .interpreted import interpreted

__all__ = ["interpreted"]
NAMES = [n for n in table.NAMES if not n.startswith("empty")]


def arguments(name, sample):
    """Return the arguments of a sample, and the tensors of floats among them."""
    (args, kwargs), leaves = table.call(torch, lambda *a, **k: (a, k), TABLE[name], sample, dtype="float32")
    return args, kwargs, leaves


def detached(a):
    if isinstance(a, (tuple, list)):
        return type(a)(map(detached, a))
    return a.detach() if isinstance(a, torch.Tensor) else a


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", some(NAMES, 3))
def test_operations_see_what_tensors_outside_hold_now(name, interpreted):
    compare(name, lambda a: a)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", some(NAMES, 8))
def test_operations_see_what_detached_tensors_hold_now(name, interpreted):
    compare(name, detached)


def compare(name, take):
    """Compare an operation on tensors from outside, compiled and eager, before and after these change."""
    function = TABLE[name].function
    for sample in TABLE[name].samples:
        args, kwargs, leaves = arguments(name, sample)
        f = lambda: [t.clone() for t in table.tensors(function(*take(args), **kwargs))]
        c = compile(f)
        for k in range(3):
            found, wanted = [seeded(g, k) for g in (c, f)]
            for a, b in zip(found, wanted, strict=True):
                assert a.shape == b.shape and a.dtype == b.dtype, sample
                assert torch.allclose(a.double(), b.double(), rtol=1e-3, atol=1e-5, equal_nan=True), (sample, k)
            with torch.no_grad():
                for t in leaves:
                    t.mul_(0.75)


def seeded(f, k):
    torch.manual_seed(k)
    return f()


def by_detach(x, w, m, b):
    y = w.detach() * x + m.detach()[1:].sum(0)
    with torch.no_grad():
        w.add_(0.1 * y)
        m.mul_(0.9)
    return y


def by_data(x, w, m, b):
    y = w.data * x
    w.data.add_(0.1 * y)
    w.data -= 0.1 * m.data.T[0]
    return y


def data_of_gradients(x, w, m, b):
    y = w * x
    y.sum().backward()
    w.grad.data.clamp_(-1, 1)
    w.data.sub_(w.grad.data)
    w.grad.data.zero_()
    return y.data.exp() * 2


def copies(x, w, m, b):
    y = torch.tensor(b) * x + torch.as_tensor(b) + b.new_tensor(b)
    with torch.no_grad():
        b.add_(0.1)
    return y


def in_transforms(x, w, m, b):
    t = w.detach()
    y = torch.func.grad(lambda t: (t.exp() * x).sum())(t) + torch.func.jvp(torch.sin, (t,), (x,))[1]
    with torch.no_grad():
        w.add_(0.1 * y)
    return y


def asks_for_gradients(x, w, m, b):
    x = x.clone().requires_grad_()
    (g,) = torch.autograd.grad((x * w).sin().sum(), x, create_graph=True)
    loss = (g**2).sum()
    loss.backward()
    with torch.no_grad():
        w.sub_(0.1 * w.grad)
    w.grad = None
    return loss.detach()


def has_a_leaf_of_its_own(x, w, m, b):
    shift = torch.zeros(3)
    shift.requires_grad = True
    p = torch.nn.Parameter(b.data)
    ((x + shift) * w.detach() * p).exp().sum().backward()
    with torch.no_grad():
        b.sub_(0.1 * p.grad)
    return shift.grad * 2


def freezes_for_a_while(x, w, m, b):
    loss = (w * x).sum()
    w.requires_grad_(False)
    (w * m[0] * x).sum().backward()
    w.requires_grad_(True)
    loss.backward()
    with torch.no_grad():
        for p in (w, m):
            p.sub_(0.1 * p.grad)
            p.grad = None
    return loss.detach()


def forgets_in_place(x, w, m, b):
    y = w * x
    y.detach_()
    return y * m[0]


def stops_gradients_for_a_while(x, w, m, b):
    torch.set_grad_enabled(False)
    y = w * x
    torch.set_grad_enabled(True)
    return y + x * w.detach()


WHOLE = [by_detach, by_data, data_of_gradients, copies, in_transforms, asks_for_gradients, has_a_leaf_of_its_own,
         freezes_for_a_while, forgets_in_place, stops_gradients_for_a_while]  # fmt: skip


def freezes(x, w, m, b):
    w.requires_grad_(False)
    return (w * x * m[0]).sum()


def unfreezes(x, w, m, b):
    b.requires_grad_(True)
    return (w * x * b * m[0]).sum()


def argument_asks(x, w, m, b):
    x.requires_grad_(True)
    return torch.autograd.grad((x * w).cos().sum(), x)[0]


def copies_deeply(x, w, m, b):
    y = copy.deepcopy(b) + pickle.loads(pickle.dumps(b))
    with torch.no_grad():
        b.add_(0.1)
    return y * x


def seeds(x, w, m, b):
    torch.manual_seed(3)
    return x * torch.randn(3)


def goes_back_in_the_stream(x, w, m, b):
    with torch.random.fork_rng():
        y = torch.rand(3)
    return (y - torch.rand(3)) * x


def replaces_memory(x, w, m, b):
    w.data = w.data * 0.5 + x
    return (w * x).detach() * 1


def turns(x, w, m, b):
    b.unsqueeze_(0).squeeze_(0)
    return b * x


def writes_into_memory_that_grows(x, w, m, b):
    out = torch.empty(0)
    torch.add(x, b, out=out)
    torch.mul(b, 2, out=b)
    return out


IN_PART = [freezes, unfreezes, argument_asks, copies_deeply, seeds, goes_back_in_the_stream, replaces_memory, turns,
           writes_into_memory_that_grows]  # fmt: skip


def outcome(program, run, k):
    """Return what some calls give, and what they leave behind."""
    torch.manual_seed(0)
    w, m = torch.tensor([1.0, 2, 3], requires_grad=True), torch.arange(9.0).view(3, 3).sin().requires_grad_()
    b = torch.tensor([1.0, 1, 2])
    f = run(lambda x: program(x, w, m, b))
    for k in range(4):
        x = torch.tensor([0.1 * k, 0.3, -0.2])
        out = f(x)
        grads = torch.autograd.grad(out.sum(), m) if out.requires_grad else ()
        found = [t.clone().detach() for t in (out, w, m, b, *grads)]
        yield found, [t.requires_grad for t in (x, out, w, m, b)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", WHOLE + IN_PART)
def test_what_a_program_does_to_tensors_outside(program, interpreted):
    run = partial(compile, fullgraph=program in WHOLE)
    for (found, asks), (wanted, asked) in zip(outcome(program, run, 0), outcome(program, lambda f: f, 0), strict=True):
        assert asks == asked
        for a, b in zip(found, wanted, strict=True):
            assert torch.allclose(a, b, rtol=1e-4, atol=1e-6)


generator = torch.Generator().manual_seed(1)
STATES = {
    "the version of an argument": lambda x, w: x * x._version,
    "the version of a tensor outside": lambda x, w: x * w._version,
    "a version inside": lambda x, w: (lambda y: y.add_(1) * y._version)(x * 1),
    "whether an argument is a leaf": lambda x, w: x * (2 if x.is_leaf else 3),
    "what made a tensor outside": lambda x, w: x * (2 if w.grad_fn is None else 3),
    "the state of the generator": lambda x, w: x * torch.get_rng_state().sum(),
    "a seed": lambda x, w: x * (torch.initial_seed() % 97),
    "a generator of one's own": lambda x, w: x + torch.rand(2, generator=generator),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", [*list(STATES)[:-1], pytest.param(list(STATES)[-1], marks=pytest.mark.cpu("it draws on the processor"))]
)
def test_what_differs_from_call_to_call_is_asked_at_each_call(name, interpreted):
    w, f = torch.ones(2, requires_grad=True), STATES[name]
    c = compile(lambda x: f(x, w))
    for k in range(4):
        x = torch.ones(2, requires_grad=True)
        x = x * 2 if k % 2 else x.detach() if k == 2 else x
        outs = []
        for g in (c, c.function):
            torch.manual_seed(k)
            generator.manual_seed(k)
            outs.append(g(x))
        assert torch.equal(*outs), k
        with torch.no_grad():
            w.mul_(2)
        torch.rand(1)
    assert c.versions or name != "a generator of one's own"


LARGE, COUNTER = np.ones(100_000), iter(range(1_000_000))


def catching(read):
    """Return a function that takes any exception for a failure of `read`."""

    def f(x):
        try:
            return x * read(x)
        except:  # noqa: E722
            return x * 0

    return f


READS = {
    "a large array": lambda x: float(LARGE[0]),
    "an object of C": lambda x: 2 + next(COUNTER),
    "a value": lambda x: 3 if x.sum() > 0 else 4,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", list(READS))
def test_a_function_that_catches_everything_cannot_catch_the_end_of_its_capture(name):
    c, x = compile(catching(READS[name])), torch.ones(2)
    assert c(x)[0] > 0 and c(x)[0] > 0
    assert "runs eagerly in some calls: it" in c.explain()


@pytest.mark.filterwarnings("ignore")
def test_an_error_that_a_function_raises_instead_does_not_hide_the_reason():
    def f(x):
        try:
            return x * float(LARGE[0])
        except Exception:
            raise ValueError("the matrix is singular") from None

    c = compile(f)
    assert c(torch.ones(1)).item() == 1 and "it reads the NumPy array LARGE, which is too large" in c.explain()
