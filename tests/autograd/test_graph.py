"""Looking at the graph and reaching into it: edges, hooks on several tensors, hooks on what is saved."""

import gc
import weakref

import pytest

import minigrad
from minigrad.autograd import graph
from tests.functions import custom


def leaf(*values):
    return minigrad.tensor(values, requires_grad=True)


def test_nodes_and_leaf_ends_are_nodes():
    x = leaf(1.0)
    y = x * 2
    assert isinstance(y.grad_fn, graph.Node)
    assert isinstance(y.grad_fn.next_functions[0][0], graph.Node)
    assert not isinstance(y, graph.Node)


def test_gradient_edge_stands_for_a_tensor():
    x = leaf(1.0, 2.0)
    y = x * x
    edge = graph.get_gradient_edge(y)
    assert (edge.node, edge.output_nr) == (y.grad_fn, 0)
    (g,) = minigrad.autograd.grad((y * 3).sum(), edge)
    assert g.tolist() == [3.0, 3.0]
    (g,) = minigrad.autograd.grad(edge, x, minigrad.ones(2))
    assert g.tolist() == [2.0, 4.0]
    with pytest.raises(RuntimeError, match="does not require gradients"):
        graph.get_gradient_edge(minigrad.ones(1))


def test_gradient_edge_of_one_of_several_outputs():
    Two = custom("Two", forward=lambda ctx, x: (x * 1, x * 2), backward=lambda ctx, g, h: g + 2 * h)

    a, b = Two.apply(leaf(1.0))
    edge = graph.get_gradient_edge(b)
    (g,) = minigrad.autograd.grad((a + 5 * b).sum(), edge)
    assert (edge.output_nr, g.tolist()) == (1, [5.0])


def test_increment_version_is_detected_by_backward():
    x = leaf(1.0)
    y = x * 1
    z = y * y
    graph.increment_version([y])
    with pytest.raises(RuntimeError, match="increment_version"):
        z.backward()


def both_used(seen, mode="all"):
    a, b = leaf(1.0), leaf(2.0)
    c, d = a * b, a * b
    handle = graph.register_multi_grad_hook((a, b, c, d), seen.append, mode=mode)
    return a, c, handle


def test_multi_grad_hook_waits_for_what_the_backward_reaches():
    seen = []
    a, c, handle = both_used(seen)
    c.sum().backward(retain_graph=True)
    c.sum().backward(inputs=(a,), retain_graph=True)
    assert [[g is not None for g in grads] for grads in seen] == [[True, True, True, False], [True, False, True, False]]
    handle.remove()
    c.sum().backward()
    assert len(seen) == 2


def test_multi_grad_hook_in_any_mode_gets_the_first_gradient_of_each_backward():
    seen = []
    _, c, handle = both_used(seen, "any")
    c.sum().backward(retain_graph=True)
    c.sum().backward()
    assert [g.tolist() for g in seen] == [[1.0], [1.0]]
    with pytest.raises(ValueError):
        graph.register_multi_grad_hook((c,), seen.append, mode="some")


def test_multi_grad_hook_in_a_backward_inside_a_backward():
    seen = []
    x = leaf(3.0)
    graph.register_multi_grad_hook((x,), lambda grads: seen.append(grads[0].tolist()))

    class Inner(minigrad.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            ctx.save_for_backward(t)
            return t * t

        @staticmethod
        def backward(ctx, g):
            (t,) = ctx.saved_tensors
            with minigrad.enable_grad():
                minigrad.autograd.grad((t * t * t).sum(), t)
            return 2 * t * g

    Inner.apply(x).backward()
    assert seen == [[27.0], [6.0]]


def test_multi_grad_hooks_do_not_keep_the_graph_alive():
    x = leaf(1.0)
    y = x * 2
    graph.register_multi_grad_hook((y,), lambda grads: None)
    watch = weakref.ref(y.grad_fn)
    gc.disable()
    try:
        del y
        assert watch() is None
    finally:
        gc.enable()


def test_saved_tensors_hooks_can_be_subclassed():
    class Count(graph.saved_tensors_hooks):
        packed = 0

        def __init__(self):
            super().__init__(self.pack, lambda t: t)

        def pack(self, t):
            Count.packed += 1
            return t

    x = leaf(2.0)
    with Count():
        y = x * x
    y.backward()
    assert (Count.packed, x.grad.tolist()) == (2, [4.0])


def test_pack_hook_that_writes_to_the_saved_tensor_raises():
    x = leaf(2.0) * 1
    with graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t), pytest.raises(RuntimeError, match="in place"):
        x * x


def test_disabled_hooks_cannot_be_entered_and_tensors_are_still_saved():
    x = leaf(2.0)
    with graph.disable_saved_tensors_hooks("not here"):
        with pytest.raises(RuntimeError, match="not here"), graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            pass
        (x * x).backward()
    with graph.save_on_cpu(), pytest.raises(RuntimeError, match="no"), graph.disable_saved_tensors_hooks("no"):
        pass
    with graph.save_on_cpu():
        (x * x).backward()
    assert x.grad.tolist() == [8.0]


def test_mutation_of_saved_tensors_may_be_allowed():
    x = leaf(2.0)
    with graph.allow_mutation_on_saved_tensors():
        y = x * 1
        z = y * y
        y.zero_()
        z.backward()
        assert x.grad.tolist() == [4.0]
        w = x * x
    with pytest.raises(AssertionError, match="outside"):
        w.backward()


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_write_in_a_hook_changes_only_its_tensor(create_graph):
    x, y, g = leaf(1.0, 2.0), leaf(1.0, 2.0), minigrad.ones(2)
    x.register_hook(lambda g: g.mul_(3))
    (x + y).backward(g, create_graph=create_graph)
    assert (x.grad.tolist(), y.grad.tolist(), g.tolist()) == ([3.0, 3.0], [1.0, 1.0], [1.0, 1.0])


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_write_in_a_node_hook_changes_only_its_node(create_graph):
    x, y = leaf(1.0, 2.0), leaf(1.0, 2.0)
    a, b = x * 1, y * 1
    a.grad_fn.register_prehook(lambda grads: [grads[0].mul_(3), None][1])
    s = a + b
    s.grad_fn.register_hook(lambda grads, _: [grads[1].mul_(5), None][1])
    s.backward(minigrad.ones(2), create_graph=create_graph)
    assert (x.grad.tolist(), y.grad.tolist()) == ([3.0, 3.0], [5.0, 5.0])
