"""Hooks: what is warned of, and what is not; writes to a gradient are what the hook returns."""

import warnings

import numpy as np
import pytest

import minigrad as torch
from minigrad.core.engine import queue_callback

BY_NUMPY = pytest.mark.cpu("arrays of NumPy lie in the computer's memory")


def gradient(hook) -> list:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    y.register_hook(hook)
    (y * y).sum().backward()
    return x.grad.tolist()


def zero_by_numpy(g):
    g.numpy()[:] = 0


def zero_by_data(g):
    g.data.mul_(0)


@pytest.mark.parametrize("hook", [lambda g: g.mul_(0), pytest.param(zero_by_numpy, marks=BY_NUMPY), zero_by_data])
def test_a_hook_may_modify_its_gradient_in_place(hook):
    assert gradient(hook) == [0.0, 0.0]


def test_a_hook_that_returns_none_keeps_nan():
    x = torch.tensor([1.0], requires_grad=True)
    x.register_hook(lambda g: None)
    (x * float("nan")).sum().backward(torch.tensor(1.0))
    assert np.isnan(x.grad.item())


def test_the_hooks_of_a_tensor_receive_one_object_until_a_hook_replaces_it():
    kept = []

    def mark(g):
        g.mark = "seen"
        kept[0].mul_(10)

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    for hook in (kept.append, mark, lambda g: g + 1, kept.append):
        y.register_hook(hook)
    (y * y).sum().backward()
    assert kept[0].mark == "seen" and not hasattr(kept[1], "mark")
    assert kept[1].tolist() == x.grad.tolist() == [21.0, 41.0]


def test_the_hooks_of_a_node_receive_the_same_objects():
    kept = []
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    node = (y := x * 3).grad_fn
    node.register_prehook(lambda gs: kept.append(gs[0]))
    node.register_prehook(lambda gs: kept.append(gs[0]))
    node.register_hook(lambda to, of: kept.extend((to[0], of[0])))
    node.register_hook(lambda to, of: kept.extend((to[0], of[0])))
    y.sum().backward()
    assert kept[0] is kept[1] and kept[2] is kept[4] and kept[3] is kept[5]


def test_a_gradient_that_a_hook_kept_is_separate_after_backward():
    kept = []
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    x.register_hook(kept.append)
    (x * x).sum().backward()
    kept[0].zero_()
    assert x.grad.tolist() == [2.0, 4.0]


def test_hooks_that_differ_in_what_they_capture_are_not_the_same():
    x = torch.tensor([1.0], requires_grad=True)

    def scaled(s):
        return lambda g: g * s

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for s in (2.0, 3.0, 5.0, 7.0):
            x.register_hook(scaled(s))
        (x * 1).sum().backward()
    assert x.grad.tolist() == [210.0]


def test_a_method_registered_in_a_loop_is_the_same_hook():
    x, seen = torch.tensor([1.0], requires_grad=True), []
    with pytest.warns(torch.MinigradWarning, match="3 times"):
        for _ in range(3):
            x.register_hook(seen.append)


def test_a_type_error_inside_a_hook_is_not_replaced():
    with pytest.raises(TypeError, match="unsupported operand"):
        gradient(lambda g: None + 1)


@BY_NUMPY
def test_a_hook_without_signature_is_called():
    assert gradient(np.abs) == [2.0, 4.0]


def test_a_leaf_keeps_its_hooks_while_requires_grad_is_false():
    x, seen = torch.tensor([1.0, 2.0], requires_grad=True), []
    x.register_hook(lambda g: seen.append(g.tolist()))
    y = (x * 2).sum()
    x.requires_grad_(False).requires_grad_(True)
    assert torch.autograd.grad(y, x, retain_graph=True)[0].tolist() == [2.0, 2.0]
    y.backward()
    assert x.grad.tolist() == [2.0, 2.0] and seen == [[2.0, 2.0], [2.0, 2.0]]


def test_a_leafs_hook_is_called_as_soon_as_its_gradient_is_complete_and_callbacks_at_the_end():
    shared, last, order = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True), []
    shared.register_post_accumulate_grad_hook(lambda t: order.append(("shared", t.grad.item())))
    last.register_post_accumulate_grad_hook(lambda t: (order.append("last"), queue_callback(ended))[1])
    early = shared * 2
    early.register_hook(lambda g: order.append("early"))
    late = early.exp().log() * shared
    late.register_hook(lambda g: order.append("late"))

    def ended():
        order.append("ended")
        assert shared.grad is not None
        with pytest.raises(RuntimeError, match="no backward is running"):
            queue_callback(ended)

    (late * last).backward()
    assert order == ["last", "late", "early", ("shared", pytest.approx(24.0)), "ended"]


def test_callbacks_of_a_backward_inside_another_are_called_at_the_end_of_the_outer_one():
    x, y, order = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True), []
    y.register_post_accumulate_grad_hook(lambda t: queue_callback(lambda: order.append("end")))
    z, inner = x * 2, y * y
    z.register_hook(lambda g: (inner.backward(), order.append("inner done"))[1])
    x.register_hook(lambda g: order.append("x"))
    z.backward()
    assert order == ["inner done", "x", "end"]


def test_a_hook_that_modifies_a_leafs_gradient_changes_no_other():
    """Both terms of a sum get the gradient of the sum, in one memory; each leaf has its own when its hook is called."""
    a, b = (torch.ones(3, requires_grad=True) for _ in range(2))
    given = torch.full((3,), 2.0)
    for t, factor in ((a, 10), (b, 100)):
        t.register_post_accumulate_grad_hook(lambda t, factor=factor: (t.grad.mul_(factor), None)[1])
    for _ in range(2):
        (a + b).backward(given)
        assert (a.grad.tolist(), b.grad.tolist(), given.tolist()) == ([20.0] * 3, [200.0] * 3, [2.0] * 3)
        a.grad = b.grad = None
    y = a * 1
    (y + b).backward(given)  # once more, with a node between
    assert (a.grad.tolist(), b.grad.tolist(), given.tolist()) == ([20.0] * 3, [200.0] * 3, [2.0] * 3)
    (a * 3).sum().backward()
    assert a.grad.tolist() == [230.0] * 3
