"""`backward`: its arguments, accumulation, freed buffers, several roots, refusals."""

from math import nan

from tests.parity.harness import attempt, function, gives, leaf


@gives([RuntimeError, RuntimeError])
def backward_of_non_scalar_raises(torch):
    y = leaf(torch, [1.0, 2.0]) * 2
    return attempt(y.backward), attempt(torch.autograd.grad, y, [])


@gives([[6.0]])
def backward_of_one_element_of_any_shape(torch):
    x = leaf(torch, [[3.0]])
    (x * x).backward()
    return x.grad


@gives([RuntimeError, RuntimeError])
def backward_of_untracked_raises(torch):
    return attempt(torch.ones(1).backward), attempt(torch.autograd.grad, torch.ones(1), torch.ones(1))


@gives(5.0)
def backward_of_a_leaf(torch):
    x = leaf(torch, 3.0)
    x.backward()
    x.backward(torch.tensor(4.0))
    return x.grad


@gives([RuntimeError, RuntimeError])
def backward_of_integer_result_raises(torch):
    x = leaf(torch, [1.0, 2.0])
    return attempt(x.argmax().backward), attempt((x > 0).sum().backward)


@gives([4.0, 32.0])
def backward_with_gradient(torch):
    x = leaf(torch, [1.0, 2.0])
    (x * 3).backward(torch.tensor([1.0, 10.0]))
    (x * x).backward(gradient=torch.tensor([0.5, 0.5]))
    return x.grad


@gives([RuntimeError, RuntimeError, RuntimeError, RuntimeError, TypeError, TypeError])
def backward_with_mismatched_gradient_raises(torch):
    x = leaf(torch, [1.0, 2.0])
    wrong = [torch.ones(3), torch.ones(1), torch.ones(1, 2), torch.tensor(1.0), "text", 1.0]
    return [attempt((x * 3).backward, gradient) for gradient in wrong]


@gives([None, [3.0, 3.0]])
def backward_with_gradient_of_other_dtype(torch):
    x = leaf(torch, [1.0, 2.0])
    result = attempt((x * 3).backward, torch.ones(2, dtype=torch.float64))
    return result, x.grad


@gives([None, [3.0, 6.0]])
def backward_with_integer_gradient(torch):
    x = leaf(torch, [1.0, 2.0])
    return attempt((x * 3).backward, torch.tensor([1, 2])), x.grad


@gives([RuntimeError, [2.0, 4.0]])
def backward_twice_raises_when_buffers_are_freed(torch):
    x = leaf(torch, [1.0, 2.0])
    y = (x * x).sum()
    y.backward()
    return attempt(y.backward), x.grad


@gives([2.0, 2.0])
def backward_twice_where_nothing_was_saved(torch):
    x = leaf(torch, [1.0, 2.0])
    y = (x + 1).sum()
    y.backward()
    y.backward()
    return x.grad


@gives([[4.0, 8.0], RuntimeError])
def backward_twice_with_retain_graph(torch):
    x = leaf(torch, [1.0, 2.0])
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    return x.grad, attempt(y.backward)


@gives(RuntimeError)
def shared_part_freed_by_the_first_of_two_losses(torch):
    x = leaf(torch, [1.0, 2.0])
    shared = x.exp()
    a, b = (shared * 2).sum(), (shared * 3).sum()
    a.backward()
    return attempt(b.backward)


@gives([5.0, 5.0])
def shared_part_without_saved_values_survives(torch):
    x = leaf(torch, [1.0, 2.0])
    shared = x + 1
    a, b = (shared * 2).sum(), (shared * 3).sum()
    a.backward()
    b.backward()
    return x.grad


@gives([RuntimeError, [1.0]])
def new_graph_on_a_freed_one_raises(torch):
    x = leaf(torch, [1.0])
    y = x * x
    y.sum().backward()
    return attempt((y * 2).sum().backward), y


@gives([6.0, 6.0])
def gradients_accumulate_over_calls(torch):
    x = leaf(torch, [1.0, 2.0])
    for factor in (1.0, 2.0, 3.0):
        (x * factor).sum().backward()
    return x.grad


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


@gives([10.0, 14.0])
def backward_of_several_roots(torch):
    x = leaf(torch, [1.0, 2.0])
    y = x * x
    torch.autograd.backward([y, y.sum(), (3 * x).sum()], [torch.ones(2), None, torch.tensor(2.0)])
    return x.grad


@gives([RuntimeError, RuntimeError, RuntimeError])
def backward_function_checks_its_arguments(torch):
    x = leaf(torch, [1.0, 2.0])
    return [
        attempt(torch.autograd.backward, [(x * 1).sum(), (x * 2).sum()], [torch.tensor(1.0)]),
        attempt(torch.autograd.backward, [x * 2], [None]),
        attempt(torch.autograd.backward, (x * 2).sum(), inputs=[]),
    ]


@gives(16.0)
def root_below_another_root(torch):
    x = leaf(torch, 2.0)
    y = x * x
    z = y * 3
    torch.autograd.backward([y, z])
    return x.grad


@gives([[2.0], [1.0]])
def backward_with_inputs_fills_only_these(torch):
    x, w = leaf(torch, [1.0]), leaf(torch, [2.0])
    (x * w).sum().backward(inputs=[w])
    (x * w).sum().backward(inputs=x)
    return x.grad, w.grad


@gives([[6.0, 12.0], None])
def backward_with_a_result_among_inputs(torch):
    x = leaf(torch, [1.0, 2.0])
    y = x * 3
    z = (y * y).sum()
    z.backward(inputs=[y])
    return y.grad, x.grad


@gives([[2.0], None])
def backward_with_unreached_input(torch):
    x, w = leaf(torch, [1.0]), leaf(torch, [2.0])
    (x * 2).sum().backward(inputs=[x, w])
    return x.grad, w.grad


@gives([[2.0], [[2.0]], ValueError])
def backward_with_inputs_skips_functions_that_lead_elsewhere(torch):
    def backward(ctx, g):
        raise ValueError("should not run")

    Loud = function(torch, backward=backward)
    x, w = leaf(torch, [1.0]), leaf(torch, [2.0])
    (Loud.apply(x) * w).sum().backward(inputs=[w])
    filled = w.grad.clone()
    return filled, torch.autograd.grad((Loud.apply(x) * w).sum(), w), attempt((Loud.apply(x) * w).sum().backward)


@gives(363.0)
def diamond_counts_both_paths(torch):
    x = leaf(torch, 2.0)
    a = x * 3
    b, c = a * a, a + 1
    (b * c + a).backward()
    return x.grad


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


@gives([0.0, 1.0])
def nothing_reaches_through_comparisons(torch):
    x = leaf(torch, [1.0, 2.0])
    ((x > 1).float() * x).sum().backward()
    return x.grad


@gives([0.0, 0.0])
def gradient_through_constant_function_is_zero(torch):
    x = leaf(torch, [1.5, 2.5])
    (x.floor() + x.sign() + x.round() + 0 * x).sum().backward()
    return x.grad


@gives(None)
def leaf_used_in_nothing_keeps_none(torch):
    x, y = leaf(torch, [1.0]), leaf(torch, [2.0])
    (x * y.detach()).sum().backward()
    return y.grad


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


@gives([True, [6.0]])
def backward_inside_no_grad(torch):
    x = leaf(torch, [3.0])
    y = (x * x).sum()
    with torch.no_grad():
        y.backward(create_graph=True)
    return x.grad.requires_grad, x.grad


@gives([ZeroDivisionError, [5.0], True])
def failed_backward_leaves_the_engine_usable(torch):
    x = leaf(torch, [1.0])
    y = x * 2
    handle = y.register_hook(lambda g: 1 / 0)
    error = attempt(y.sum().backward)
    handle.remove()
    (x * 5).sum().backward()
    return error, x.grad, torch.is_grad_enabled()


@gives([[3.0, 12.0], [3.0, 12.0]])
def positional_arguments_of_backward_and_grad(torch):
    x = leaf(torch, [1.0, 2.0])
    y = x**3
    y.backward(torch.ones(2), True, True)
    (g,) = torch.autograd.grad(y, x, torch.ones(2), None, True, True)
    return x.grad, g


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
