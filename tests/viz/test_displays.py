"""Notebook displays: whatever a cell ends in, showing it raises nothing and changes nothing.

Each program runs twice, with and without a look at its tensors and nodes at the marked places. Gradients, hook calls, random
numbers, versions, warnings and errors have to be the same.
"""

import random
import threading
import warnings

import numpy as np
import pytest

import minigrad as torch
from minigrad.autograd.function import once_differentiable
from minigrad.autograd.graph import saved_tensors_hooks
from minigrad.utils.checkpoint import checkpoint
from tests.functions import custom

PROGRAMS = {}


def program(f):
    """Enter a program: it gets `look`, and returns everything that a look could change."""
    PROGRAMS[f.__name__] = f
    return f


def leaf(*values, **options):
    return torch.tensor(list(values), requires_grad=True, **options)


def attempt(f, *args, **kwargs):
    """Return the result of a call as comparable data, or its error."""
    try:
        found = f(*args, **kwargs)
    except Exception as e:
        return type(e).__name__, str(e).partition("\n")[0]
    return [None if g is None else g.tolist() for g in found] if isinstance(found, tuple) else found


class Noisy(torch.autograd.Function):
    """A Function whose backward draws random numbers from three generators and writes on its ctx."""

    runs = 0

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.runs = 0
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        ctx.runs += 1
        return g * 2 * x * ctx.runs * (torch.rand(1).item() + np.random.rand() + random.random() + 1)


class Broken(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        raise ZeroDivisionError("the user's own mistake")


Once = custom(
    "Once",
    forward=lambda ctx, x: ctx.save_for_backward(x) or x**3,
    backward=once_differentiable(lambda ctx, g: 3 * ctx.saved_tensors[0] ** 2 * g),
)


# ---------------------------------------------------------------------- before and after backward
@program
def before_and_after_backward(look):
    x = leaf(1.0, 2.0)
    h = x.exp()
    loss = (h * x).sum()
    look(x, h, loss)
    loss.backward()
    look(x, h, loss, x.grad)
    return x.grad.tolist(), h._version, attempt(loss.backward)


@program
def backward_twice(look):
    x = leaf(1.0, 2.0)
    loss = (x * x).sum()
    loss.backward(retain_graph=True)
    look(loss)
    loss.backward()
    look(loss)
    return x.grad.tolist()


@program
def half_of_a_graph_is_freed(look):
    x = leaf(1.0, 2.0)
    h = x.exp()
    h.sum().backward()
    loss = (h * h).sum()
    look(h, loss)
    return x.grad.tolist(), attempt(loss.backward)


@program
def a_gradient_with_a_history(look):
    x = leaf(2.0)
    (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    look(g)
    g.sum().backward()
    look(g)
    return x.grad.tolist()


@program
def once_differentiable_gradients(look):
    x = leaf(2.0)
    (g,) = torch.autograd.grad(Once.apply(x).sum(), x, create_graph=True)
    look(g)
    return attempt(g.sum().backward)


@program
def a_saved_tensor_is_modified(look):
    x = leaf(1.0, 2.0)
    h = x * 2
    loss = (h * h).sum()
    h.add_(1)
    look(h, loss)
    return h._version, attempt(loss.backward)


@program
def a_leaf_is_gone(look):
    x = leaf(1.0)
    y = x * torch.tensor([3.0]) + leaf(2.0)
    look(y)
    y.sum().backward()
    look(y)
    return x.grad.tolist()


@program
def a_leaf_is_replaced(look):
    x = leaf(1.0, 2.0)
    y = x * x
    x.data = torch.ones(2, 2)
    look(y)
    return x.tolist(), attempt(torch.autograd.grad, y.sum(), x)


# ---------------------------------------------------------------------- code of the program
@program
def hooks_and_retained_gradients(look):
    calls, x = [], leaf(1.0, 2.0)
    note = lambda *given: calls.append(len(given))
    h = x * 3
    h.retain_grad()
    h.register_hook(lambda g: calls.append("h") or g * 10)
    h.grad_fn.register_prehook(note)
    h.grad_fn.register_hook(note)
    x.register_hook(note)
    x.register_post_accumulate_grad_hook(note)
    loss = (h * h).sum()
    look(x, h, loss)
    seen = list(calls), h.grad
    loss.backward()
    look(x, h, loss, h.grad)
    return seen, calls, h.grad.tolist(), x.grad.tolist()


@program
def hooks_of_modules(look):
    torch.manual_seed(0)
    calls, net = [], torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh())
    net[0].register_full_backward_hook(lambda *given: calls.append("backward"))
    net.register_full_backward_pre_hook(lambda *given: calls.append("pre"))
    net.register_forward_hook(lambda *given: calls.append("forward"))
    loss = net(torch.ones(1, 2)).sum()
    look(loss)
    seen = list(calls)
    loss.backward()
    return seen, calls, net[0].weight.grad.tolist()


@program
def a_backward_with_random_numbers_and_a_state(look):
    torch.manual_seed(0), np.random.seed(0), random.seed(0)
    x = leaf(1.0, 2.0)
    loss = Noisy.apply(x).sum()
    look(loss)
    loss.backward()
    return x.grad.tolist(), torch.rand(2).tolist(), np.random.rand(), random.random()


@program
def a_backward_that_raises(look):
    loss = Broken.apply(leaf(1.0, 2.0)).sum()
    look(loss)
    return attempt(loss.backward)


@program
def hooks_for_saved_tensors(look):
    calls, x = [], leaf(1.0, 2.0)
    with saved_tensors_hooks(lambda t: t, lambda t: calls.append("unpack") or t):
        loss = x.exp().sum()
    look(loss)
    seen = list(calls)
    loss.backward()
    return seen, calls, x.grad.tolist()


@program
def a_checkpoint(look):
    calls, x = [], leaf(1.0, 2.0)
    loss = checkpoint(lambda x: calls.append("forward") or x.exp() * x, x, use_reentrant=False).sum()
    look(loss)
    seen = list(calls)
    loss.backward()
    look(loss)
    return seen, calls, x.grad.tolist()


@program
def dropout(look):
    torch.manual_seed(0)
    x = torch.ones(20, requires_grad=True)
    y = torch.nn.functional.dropout(x, 0.5)
    look(y)
    more = torch.rand(2).tolist()
    y.sum().backward()
    return more, x.grad.tolist()


# ---------------------------------------------------------------------- modes and transforms
@program
def under_modes(look):
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    with torch.no_grad():
        look(x, y, x * 2)
    with torch.inference_mode():
        look(x, y, x * 2)
    with torch.autograd.detect_anomaly():
        look(y)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        look(y, x @ x)
    y.backward()
    return x.grad.tolist()


@program
def inside_transforms(look):
    def f(x):
        y = (x.sin() * x).sum()
        look(x, y)
        return y

    x = leaf(1.0, 2.0)
    rows = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    found = [torch.func.grad(f)(x), torch.func.vmap(f)(rows), torch.func.jvp(f, (x,), (torch.ones(2),))]
    found += [torch.func.grad(lambda x: torch.func.grad(f)(x).sum())(x), torch.func.vmap(torch.func.grad(f))(rows)]
    return [t.tolist() for one in found for t in (one if isinstance(one, tuple) else (one,))]


@program
def dual_tensors(look):
    with torch.autograd.forward_ad.dual_level():
        x = torch.autograd.forward_ad.make_dual(leaf(1.0, 2.0), torch.ones(2))
        y = x.exp()
        look(x, y)
        return torch.autograd.forward_ad.unpack_dual(y).tangent.tolist()


@program
def while_a_recording_runs(look):
    x = leaf(1.0, 2.0)
    with torch.record(passes=("forward", "backward")) as rec:
        loss = (x * x).sum()
        look(loss)
        loss.backward()
        look(loss)
    return [op["name"] for op in rec.to_dict()["ops"]], x.grad.tolist()


@program
def in_other_threads(look):
    x = leaf(1.0, 2.0)
    loss = (x * x).sum()
    workers = [threading.Thread(target=look, args=(x, loss)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    loss.backward()
    return x.grad.tolist()


@program
def inside_a_hook_of_a_running_backward(look):
    x = leaf(1.0, 2.0)
    h = x.exp()
    loss = (h * h).sum()
    h.register_hook(lambda g: look(g, h, loss))
    loss.backward()
    return x.grad.tolist()


# ---------------------------------------------------------------------- values
@program
def numbers_that_are_not_finite(look):
    x = leaf(0.0, -1.0)
    loss = (x.log() * x.sqrt()).sum()
    look(x, loss)
    loss.backward()
    look(loss, x.grad)
    return str(x.grad.tolist())


@program
def without_elements(look):
    x = torch.zeros(0, 3, requires_grad=True)
    y = x * 2
    look(x, y, y.sum(), torch.zeros(0))
    y.sum().backward()
    return tuple(x.grad.shape)


@program
def large_views_and_long_graphs(look):
    x = leaf(1.0)
    y = x.expand(1_000_000)
    look(y)
    z = x
    for _ in range(2_000):
        z = z * 1.0
    look(z)
    z.sum().backward()
    look(z)
    return x.grad.tolist()


@program
def without_memory(look):
    x = torch.ones(2, device="meta", requires_grad=True)
    y = (x @ torch.ones(2, 3, device="meta")).sum()
    look(x, y)
    y.backward()
    look(y)
    return str(x.grad.device)


@program
def many_outputs_and_views(look):
    x = leaf(1.0, 2.0, 3.0)
    a, b, c = x.unbind()
    values, indices = (x * 2).max(0)
    view = (x * 1).view(3, 1)
    view.mul_(2)
    look(a, b, values, indices, view, view.T, values.grad_fn)
    (a + values + view.sum()).backward()
    look(c, view)
    return x.grad.tolist(), view._version


@program
def other_dtypes(look):
    x = torch.tensor([1.0, 2.0], dtype=torch.bfloat16, requires_grad=True)
    y = x.double() * 2
    look(x, y, y > 1, y.long(), (y > 1).sum())
    y.sum().backward()
    return x.grad.tolist()


@program
def parameters_with_and_without_a_shape(look):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.LazyLinear(2), torch.nn.Linear(2, 1))
    optimizer = torch.optim.Adam(net.parameters()) if not isinstance(look, Looks) else None
    look(net, net[0].weight, net[1].weight, net[1], optimizer)
    loss = net(torch.ones(1, 3)).sum()
    look(net, loss, net[0].weight)
    loss.backward()
    return net[0].weight.grad.tolist()


class Looks:
    """Display what a cell might end in, as IPython would, and the nodes behind it."""

    def __init__(self):
        self.shown = []

    def __call__(self, *objects):
        for one in objects:
            self.show(one)
            node = getattr(one, "grad_fn", None) if isinstance(one, torch.Tensor) else None
            if node is not None:
                self.show(node)
                for following, _ in node.next_functions:
                    self.show(following)

    def show(self, one):
        self.shown.append({"text/plain": repr(one)})
        for name in ("_repr_mimebundle_", "_repr_html_", "_repr_png_"):
            if (method := getattr(one, name, None)) is not None and not isinstance(one, type):
                made = method()
                self.shown.append(made if isinstance(made, dict) else {name: made})


def outcome(f, look):
    """Return what a program computes, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = f(look)
    return found, [str(w.message).partition("\n")[0] for w in caught]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_look_raises_nothing_and_changes_nothing(name):
    looks = Looks()
    expected = outcome(PROGRAMS[name], lambda *objects: None)
    assert outcome(PROGRAMS[name], looks) == expected
    assert looks.shown and all(looks.shown)
