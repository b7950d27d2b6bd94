"""Looking at the graph and reaching into it: edges, hooks on several tensors, hooks on what is saved."""

import pytest

import minigrad
from minigrad.autograd import graph


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
    class Two(minigrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1, x * 2

        @staticmethod
        def backward(ctx, g, h):
            return g + 2 * h

    a, b = Two.apply(leaf(1.0))
    edge = graph.get_gradient_edge(b)
    (g,) = minigrad.autograd.grad((a + 5 * b).sum(), edge)
    assert (edge.output_nr, g.tolist()) == (1, [5.0])


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
