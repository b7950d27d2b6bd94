"""A compiled function leaves the same `.grad` behind as eager code."""

import pytest

import minigrad as torch
from minigrad import compile, nn
from minigrad.errors import MinigradWarning

from .interpreted import interpreted
from .training import runs_as_eager

__all__ = ["interpreted"]

F = torch.nn.functional


def test_grad_of_parameters_and_arguments():
    def make():
        w, v = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)

        def f(x):
            (w * x * v).sum().backward()
            return w.grad * 2

        return f, lambda k: (torch.ones(3) * k,), lambda: [w.grad, v.grad]

    c = runs_as_eager(make, 4)
    assert len(c.every) == 2

    def of_arguments():
        w = torch.randn(3, requires_grad=True)
        x = torch.ones(3)

        def f(w, x):
            (w * x).sum().backward()

        return f, lambda k: (w, x * k), lambda: [w.grad]

    c = runs_as_eager(of_arguments, 4)
    assert len(c.every) == 2


def test_gradients_set_to_none_between_calls():
    w, x = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0])

    @compile(fullgraph=True)
    def f(x):
        (w * x).sum().backward()

    for _ in range(3):
        f(x), f(x)
        assert w.grad.tolist() == [6, 8]
        w.grad = None
    assert len(f.every) == 2


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
    for create_graph in (False, False, True):
        w.grad = None
        f(torch.tensor([1.0, 2.0])).backward(create_graph=create_graph)
    assert seen == [[3, 6]] * 3


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


def test_a_step_that_returns_what_it_has_differentiated_leaves_grads():
    def make():
        w = torch.ones(2, requires_grad=True)

        def step(x):
            loss = (w * x).sum()
            loss.backward()
            return loss

        return step, lambda k: (torch.ones(2) * k,), lambda: [w, w.grad]

    runs_as_eager(make, 3)


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
    assert len(c.every) == 1


def test_a_first_gradient_is_compiled_when_such_a_call_comes_again(interpreted):
    w, x = torch.ones(2, requires_grad=True), torch.tensor([1.0, 2.0])
    f = compile(lambda x: (w * x).sum().backward(), fullgraph=True)
    f(x)
    assert f.versions[0].entry is None and "def " in f.source() and "program:" in f.explain()
    for _ in range(2):
        w.grad = None
        f(x)
        assert w.grad.tolist() == [1, 2] and f.versions[-1].entry is not None
    assert len(f.every) == len(f.versions) == 1
