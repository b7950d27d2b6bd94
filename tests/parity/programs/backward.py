"""`backward`: its arguments, accumulation, freed buffers, several roots, refusals."""

from math import nan

from tests.parity.harness import attempt, function, gives, leaf


@gives([RuntimeError] * 6)
def backward_of_what_is_no_tracked_number_raises(torch):
    x, one = leaf(torch, [1.0, 2.0]), torch.ones(1)
    y = x * 2
    of_results = [attempt(result.backward) for result in (y, one, x.argmax(), (x > 0).sum())]
    return *of_results, attempt(torch.autograd.grad, y, []), attempt(torch.autograd.grad, one, one)


@gives([RuntimeError, RuntimeError, RuntimeError, RuntimeError, TypeError, TypeError])
def backward_with_mismatched_gradient_raises(torch):
    x = leaf(torch, [1.0, 2.0])
    wrong = [torch.ones(3), torch.ones(1), torch.ones(1, 2), torch.tensor(1.0), "text", 1.0]
    return [attempt((x * 3).backward, gradient) for gradient in wrong]


@gives([RuntimeError, [2.0, 4.0]])
def backward_twice_raises_when_buffers_are_freed(torch):
    x = leaf(torch, [1.0, 2.0])
    y = (x * x).sum()
    y.backward()
    return attempt(y.backward), x.grad


@gives(RuntimeError)
def shared_part_freed_by_the_first_of_two_losses(torch):
    x = leaf(torch, [1.0, 2.0])
    shared = x.exp()
    a, b = (shared * 2).sum(), (shared * 3).sum()
    a.backward()
    return attempt(b.backward)


@gives([RuntimeError, [1.0]])
def new_graph_on_a_freed_one_raises(torch):
    x = leaf(torch, [1.0])
    y = x * x
    y.sum().backward()
    return attempt((y * 2).sum().backward), y


@gives([[5.0, 6.0], [10.0, 12.0]])
def accumulated_gradient_does_not_alias_the_seed(torch):
    x, seed = leaf(torch, [1.0, 2.0]), torch.tensor([5.0, 6.0])
    x.backward(seed)
    x.backward(seed)
    return seed, x.grad


@gives([[100.0], [1.0]])
def gradients_of_two_leaves_do_not_alias(torch):
    x, y = leaf(torch, [1.0]), leaf(torch, [2.0])
    z = (x + y).sum()
    z.backward()
    x.grad.mul_(100)
    return x.grad, y.grad


@gives([False, True, [4.0], [12.0]])
def accumulation_with_create_graph_makes_a_new_tensor(torch):
    x = leaf(torch, [2.0])
    (x * x).sum().backward(create_graph=True)
    first = x.grad
    (x * x).sum().backward(create_graph=True)
    same = first is x.grad
    x.grad.sum().backward(inputs=[x])
    return same, first.requires_grad, first, x.grad


@gives([RuntimeError, RuntimeError, RuntimeError])
def backward_function_checks_its_arguments(torch):
    x = leaf(torch, [1.0, 2.0])
    return [
        attempt(torch.autograd.backward, [(x * 1).sum(), (x * 2).sum()], [torch.tensor(1.0)]),
        attempt(torch.autograd.backward, [x * 2], [None]),
        attempt(torch.autograd.backward, (x * 2).sum(), inputs=[]),
    ]


@gives([[6.0, 12.0], None])
def backward_with_a_result_among_inputs(torch):
    x = leaf(torch, [1.0, 2.0])
    y = x * 3
    z = (y * y).sum()
    z.backward(inputs=[y])
    return y.grad, x.grad


@gives([[2.0], [[2.0]], ValueError])
def backward_with_inputs_skips_functions_that_lead_elsewhere(torch):
    def backward(ctx, g):
        raise ValueError("should not run")

    Loud = function(torch, backward=backward)
    x, w = leaf(torch, [1.0]), leaf(torch, [2.0])
    (Loud.apply(x) * w).sum().backward(inputs=[w])
    filled = w.grad.clone()
    return filled, torch.autograd.grad((Loud.apply(x) * w).sum(), w), attempt((Loud.apply(x) * w).sum().backward)


def deep_reuse_grows_exponentially_not_the_work(torch):
    x = leaf(torch, 1.0, torch.float64)
    y = x
    for _ in range(40):
        y = y + y
    y.backward()
    return x.grad


@gives(True)
def long_chain(torch):
    x = leaf(torch, 1.0, torch.float64)
    y = x
    for _ in range(3000):
        y = y * 1.0001
    y.backward()
    return torch.allclose(x.grad, torch.tensor(1.0001, dtype=torch.float64) ** 3000)


@gives([[[36.0], [36.0]], [12.0, 12.0, 12.0]])
def broadcasting_sums_the_gradient(torch):
    x, y = leaf(torch, [[1.0], [2.0]]), leaf(torch, [1.0, 2.0, 3.0])
    (x * y + torch.ones(4, 1, 1) * x).sum().backward()
    return x.grad, y.grad


@gives([0.0, 0.0])
def gradient_through_constant_function_is_zero(torch):
    x = leaf(torch, [1.5, 2.5])
    (x.floor() + x.sign() + x.round() + 0 * x).sum().backward()
    return x.grad


@gives([nan, nan, 0.5])
def infinity_and_nan_gradients(torch):
    x = leaf(torch, [0.0, -1.0, 1.0])
    (x.sqrt() + x.log() * 0).sum().backward()
    return x.grad


@gives([nan, 0.25])
def zero_gradient_of_an_unused_branch_meets_nan(torch):
    x = leaf(torch, [0.0, 4.0])
    torch.where(x > 0, x.sqrt(), torch.zeros(2)).sum().backward()
    return x.grad


@gives([[[False, False]], True])
def grad_mode_is_off_during_backward(torch):
    x, seen = leaf(torch, [1.0]), []
    y = x * 2
    y.register_hook(lambda g: seen.append([torch.is_grad_enabled(), (g * x).requires_grad]))
    y.sum().backward()
    return seen, torch.is_grad_enabled()


@gives([ZeroDivisionError, [5.0], True])
def failed_backward_leaves_the_engine_usable(torch):
    x = leaf(torch, [1.0])
    y = x * 2
    handle = y.register_hook(lambda g: 1 / 0)
    error = attempt(y.sum().backward)
    handle.remove()
    (x * 5).sum().backward()
    return error, x.grad, torch.is_grad_enabled()


@gives([[8.0], [8.0], True, [16.0]])
def results_among_the_inputs_retain_their_gradient_once(torch):
    x, w = leaf(torch, [2.0]), leaf(torch, [2.0])
    y, v = x * 2, w * 2
    v.retain_grad()
    (y * y).sum().backward(inputs=[y, y], retain_graph=True)
    (v * v).sum().backward(inputs=[v])
    first = y.grad.clone()
    (y * y).sum().backward()
    return first, v.grad, y.retains_grad, y.grad


@gives([None, [4.0], True])
def gradient_edges_among_the_inputs(torch):
    x = leaf(torch, [2.0])
    y, edge = x * 2, torch.autograd.graph.get_gradient_edge
    (y * y).sum().backward(inputs=[edge(y)])
    before = x.grad
    (x * x).sum().backward(inputs=[edge(x)])
    g = x.grad.clone()
    kept = x.grad
    (x * 1).sum().backward(inputs=[x])
    return before, g, x.grad is kept


@gives([["pre", "tensor", "post"]])
def hooks_of_a_leaf_among_the_inputs(torch):
    x, seen = leaf(torch, [2.0]), []
    node = (x * 2).grad_fn.next_functions[0][0]
    x.register_hook(lambda g: seen.append("tensor"))
    node.register_prehook(lambda grads: seen.append("pre"))
    node.register_hook(lambda *grads: seen.append("post"))
    (x * x).sum().backward(inputs=[x])
    return [sorted(seen, key=["pre", "tensor", "post"].index)]
