"""`autograd.grad`: inputs and outputs of every kind, derivatives of higher order, batches of cotangents."""

from tests.parity.harness import attempt, gives, leaf


@gives([[[4.0]], RuntimeError, [[4.0]]])
def grad_frees_only_what_it_went_through(torch):
    x, w = leaf(torch, [2.0]), leaf(torch, [3.0])
    h = x * x
    y = (h * w).sum()
    g = torch.autograd.grad(y, w)
    return g, attempt(torch.autograd.grad, y, x), attempt(torch.autograd.grad, h.sum(), x)


@gives([[12.0], [12.0]])
def gradient_of_create_graph_is_tracked(torch):
    x = leaf(torch, [2.0])
    (x**3).sum().backward(create_graph=True)
    g = x.grad
    x.grad = None
    g.sum().backward()
    return g, x.grad


@gives([[3.0], RuntimeError])
def gradient_of_linear_function_with_create_graph(torch):
    x = leaf(torch, [2.0])
    (g,) = torch.autograd.grad((3 * x).sum(), x, create_graph=True)
    return g, attempt(torch.autograd.grad, g.sum(), x)


@gives([[144.0, 2048.0], [24.0, 512.0]])
def gradient_penalty(torch):
    w, x = leaf(torch, [1.0, 2.0]), leaf(torch, [3.0, 4.0])
    (g,) = torch.autograd.grad((w * x).pow(2).sum(), x, create_graph=True)
    (g.norm() ** 2).backward()
    return w.grad, x.grad


@gives([RuntimeError, RuntimeError])
def grad_with_grad_outputs_of_wrong_number_or_shape_raises(torch):
    x = leaf(torch, [1.0, 2.0])
    y = x * 2
    return [
        attempt(torch.autograd.grad, y, x, grad_outputs=torch.ones(3)),
        attempt(torch.autograd.grad, [y, y], x, grad_outputs=[torch.ones(2)]),
    ]


@gives([RuntimeError, [[2.0], None], [[2.0], [0.0, 0.0]], ValueError])
def grad_for_an_unused_input(torch):
    x, y = leaf(torch, [1.0]), leaf(torch, [2.0, 3.0])
    z = lambda: (x * 2).sum()
    return [
        attempt(torch.autograd.grad, z(), [x, y]),
        attempt(torch.autograd.grad, z(), [x, y], allow_unused=True),
        attempt(torch.autograd.grad, z(), [x, y], materialize_grads=True),
        attempt(torch.autograd.grad, z(), [x, y], allow_unused=False, materialize_grads=True),
    ]


@gives([RuntimeError, RuntimeError])
def grad_for_an_input_without_requires_grad_raises(torch):
    x, c = leaf(torch, [1.0]), torch.tensor([2.0])
    return attempt(torch.autograd.grad, (x * c).sum(), c), attempt(
        torch.autograd.grad, (x * c).sum(), c, allow_unused=True
    )


@gives([[1.0], [1.0, 2.0]])
def grad_with_respect_to_the_output_itself(torch):
    x = leaf(torch, 3.0)
    y = x * 2
    return torch.autograd.grad(y, y, retain_graph=True), torch.autograd.grad([y], [y, x])


@gives([[[16.0, 26.0]], [[16.0, 26.0]], [[16.0, 26.0], [6.0, 6.0]]])
def root_that_is_the_wanted_leaf_adds_its_own_part(torch):
    x, c0, c1 = leaf(torch, [1.0, 2.0]), torch.tensor([10.0, 20.0]), torch.tensor(3.0)
    y = x * 1
    return (
        torch.autograd.grad([x, (x * 2).sum()], x, [c0, c1]),
        torch.autograd.grad([(x * 2).sum(), x], x, [c1, c0]),
        torch.autograd.grad([x, y.sum(), (y * 1).sum()], [x, y], [c0, c1, c1], retain_graph=True),
    )


@gives([[[30.0, 60.0]], [[30.0, 60.0]], [[30.0, 60.0]]])
def output_that_is_the_input_itself_adds_its_part(torch):
    x, c = torch.tensor([1.0, 2.0]), torch.tensor([10.0, 20.0])
    return [
        torch.func.vjp(lambda x: (same(x), x * 2), x)[1]((c, c))
        for same in (lambda x: x.contiguous(), lambda x: x.flatten(), lambda x: x.type_as(x))
    ]


@gives([[9.0], [9.0]])
def hook_that_comes_to_a_leaf_during_backward_gets_the_whole_gradient(torch):
    x, seen = leaf(torch, [2.0]), []
    first, second, third = x * 5, x * 3, x * 1
    second.register_hook(lambda g: x.register_hook(seen.append) and None)
    return torch.autograd.grad([first, second, third], x, [torch.ones(1)] * 3)[0], seen[0]


@gives(RuntimeError)
def grad_with_respect_to_a_later_view_of_the_input_raises(torch):
    x = leaf(torch, [1.0, 2.0])
    y = (x * x).sum()
    return attempt(torch.autograd.grad, y, x[0])


def batched_grad_outputs_through_matmul_and_indexing(torch):
    x = leaf(torch, [[1.0, 2.0], [3.0, 4.0]])
    y = (x @ x)[:, 0].exp() * torch.tensor([0.01, 0.001])
    return torch.autograd.grad(y, x, grad_outputs=torch.eye(2), is_grads_batched=True)


@gives([[[12.0, 0.0], [0.0, 27.0]], [[12.0, 18.0]]])
def batched_grad_outputs_with_create_graph(torch):
    x = leaf(torch, [2.0, 3.0])
    (j,) = torch.autograd.grad(x**3, x, torch.eye(2), is_grads_batched=True, create_graph=True)
    return j, torch.autograd.grad(j.sum(), x)


@gives(RuntimeError)
def batched_grad_outputs_of_wrong_shape_raises(torch):
    x = leaf(torch, [1.0, 2.0])
    return attempt(torch.autograd.grad, x * 2, x, grad_outputs=torch.ones(3, 3), is_grads_batched=True)


@gives([12.0, [12.0]])
def retain_graph_false_with_create_graph(torch):
    x = leaf(torch, 2.0)
    y = x**3
    (g,) = torch.autograd.grad(y, x, create_graph=True, retain_graph=False)
    return g, attempt(torch.autograd.grad, g, x)


@gives([[[4.0]], RuntimeError])
def gradient_edge_of_a_leaf(torch):
    x = leaf(torch, [2.0])
    edge = torch.autograd.graph.get_gradient_edge(x)
    return torch.autograd.grad((x * x).sum(), edge), attempt(torch.autograd.graph.get_gradient_edge, torch.ones(1))


@gives([TypeError, RuntimeError, TypeError, ValueError])
def what_is_no_tensor_raises(torch):
    x, grad = leaf(torch, [3.0, 4.0]), torch.autograd.grad
    return (
        attempt(grad, 3, x),
        attempt(grad, (x * 2).sum(), [x, 3]),
        attempt(grad, (x * 2).sum(), 3),
        attempt(grad, [x * 2, x.sum()], x, [torch.eye(2), torch.ones(3)], is_grads_batched=True),
    )
