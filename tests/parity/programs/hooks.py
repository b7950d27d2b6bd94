"""Hooks on tensors, on nodes, after accumulation; `retain_grad`."""

from tests.parity.harness import attempt, function, gives, leaf


@gives([[40.0], [40.0]])
def hooks_of_results_and_leaves_run_in_order_of_registration(torch):
    x, w = leaf(torch, [1.0]), leaf(torch, [1.0])
    y = x * 2
    for tensor in (y, w):
        tensor.register_hook(lambda g: g + 1)
        tensor.register_hook(lambda g: g * 10)
    (y + w * 3).sum().backward()
    return x.grad, w.grad


@gives([[[9.0]], [9.0]])
def leaf_hook_sees_the_sum_of_all_uses_once(torch):
    x, seen = leaf(torch, [2.0]), []
    x.register_hook(seen.append)
    (x * x + 5 * x).sum().backward()
    return seen, x.grad


@gives([3.0])
def hook_handle_as_context(torch):
    x = leaf(torch, [1.0])
    with x.register_hook(lambda g: g * 2):
        x.sum().backward()
    x.sum().backward()
    return x.grad


@gives(RuntimeError)
def hook_on_untracked_tensor_raises(torch):
    return attempt(torch.ones(1).register_hook, lambda g: g)


@gives([RuntimeError, TypeError, TypeError])
def hook_returning_wrong_shape_or_type_raises(torch):
    def attempt_with(hook):
        x = leaf(torch, [1.0, 2.0])
        y = x * 2
        y.register_hook(hook)
        return attempt(y.sum().backward)

    return attempt_with(lambda g: torch.ones(3)), attempt_with(lambda g: "text"), attempt_with(lambda g: 1.0)


@gives([KeyError, None])
def hook_that_raises_stops_backward(torch):
    x = leaf(torch, [1.0])
    y = x * 2

    def hook(gradient):
        raise KeyError("from the hook")

    y.register_hook(hook)
    return attempt(y.sum().backward), x.grad


@gives([[True, True], [False, False]])
def hook_with_create_graph_sees_a_tracked_gradient(torch):
    x, seen = leaf(torch, [2.0]), []
    y = x * x
    y.register_hook(lambda g: seen.append([g.requires_grad, torch.is_grad_enabled()]))
    torch.autograd.grad((y * y).sum(), x, create_graph=True)
    torch.autograd.grad((y * y).sum(), x)
    return seen


@gives([[20.0], [28.0]])
def hook_changes_the_second_derivative(torch):
    x = leaf(torch, [2.0])
    y = x * x
    y.register_hook(lambda g: g * g)
    (g,) = torch.autograd.grad((y * x).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    return g, h


@gives([[[14.0]], None])
def hook_on_a_leaf_applies_to_autograd_grad(torch):
    x = leaf(torch, [1.0])
    x.register_hook(lambda g: g * 7)
    return torch.autograd.grad((x * 2).sum(), x), x.grad


@gives([[[1.0, 2.0, 3.0]], [6.0, 2.0, 4.0]])
def hook_on_one_output_of_a_function_with_two(torch):
    x, seen = leaf(torch, [3.0, 1.0, 2.0]), []
    values, _ = x.sort()
    values.register_hook(lambda g: seen.append(g) or g * 2)
    (values * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    return seen, x.grad


@gives([[6.0, 12.0], [18.0, 36.0], True, False])
def retain_grad_on_a_result(torch):
    x = leaf(torch, [1.0, 2.0])
    y = x * 3
    y.retain_grad()
    (y * y).sum().backward()
    return y.grad, x.grad, y.retains_grad, x.retains_grad


@gives([False, [2.0], RuntimeError])
def retain_grad_on_a_leaf_does_nothing(torch):
    x = leaf(torch, [1.0])
    x.retain_grad()
    (x * 2).sum().backward()
    return x.retains_grad, x.grad, attempt(torch.ones(1).retain_grad)


@gives([[3.0], [60.0]])
def retain_grad_then_inplace(torch):
    x = leaf(torch, [1.0])
    y = x * 2
    y.retain_grad()
    y.mul_(10)
    (y * 3).sum().backward()
    return y.grad, x.grad


@gives([[[30.0]], [[3.0]], [60.0]])
def hook_then_inplace_then_hook(torch):
    x, before, after = leaf(torch, [1.0]), [], []
    y = x * 2
    y.register_hook(before.append)
    y.mul_(10)
    y.register_hook(after.append)
    (y * 3).sum().backward()
    return before, after, x.grad


@gives([0, [60.0, 0.0]])
def hook_on_a_view_then_inplace_on_the_base(torch):
    x, seen = leaf(torch, [1.0, 2.0]), []
    y = x * 2
    v = y[:1]
    v.register_hook(seen.append)
    y.mul_(10)
    (v * 3).sum().backward()
    return len(seen), x.grad


@gives([[3.0], [[6.0]]])
def retain_grad_is_filled_by_autograd_grad_too(torch):
    x = leaf(torch, [1.0])
    y = x * 2
    y.retain_grad()
    g = torch.autograd.grad((y * 3).sum(), x)
    return y.grad, g


@gives(RuntimeError)
def post_accumulate_hook_on_non_leaf_raises(torch):
    return attempt((leaf(torch, [1.0]) * 2).register_post_accumulate_grad_hook, lambda t: None)


@gives(1)
def post_accumulate_hook_can_be_removed(torch):
    x, seen = leaf(torch, [1.0]), []
    handle = x.register_post_accumulate_grad_hook(lambda t: seen.append(1))
    x.sum().backward()
    handle.remove()
    x.sum().backward()
    return len(seen)


@gives(0)
def post_accumulate_hook_does_not_run_for_autograd_grad(torch):
    x, seen = leaf(torch, [1.0]), []
    x.register_post_accumulate_grad_hook(lambda t: seen.append(1))
    torch.autograd.grad((x * 2).sum(), x)
    return len(seen)


@gives([[20.0], [100.0]])
def node_hook_replaces_the_gradients(torch):
    x, y = leaf(torch, [1.0]), leaf(torch, [2.0])
    z = x * y
    z.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 10, inputs[1] * 100))
    z.sum().backward()
    return x.grad, y.grad


@gives([20.0])
def node_prehook_replaces_the_gradients(torch):
    x = leaf(torch, [1.0])
    y = x * 2
    y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 10,))
    y.sum().backward()
    return x.grad


@gives([RuntimeError, RuntimeError])
def node_hook_returning_the_wrong_number_raises(torch):
    x = leaf(torch, [1.0])
    y, z = x * 2, x * 3
    y.grad_fn.register_hook(lambda inputs, outputs: (None, None, None))
    z.grad_fn.register_prehook(lambda outputs: (outputs[0], outputs[0]))
    return attempt(y.sum().backward), attempt(z.sum().backward)


@gives(["tensor hook", "node prehook", "node hook", "leaf hook", "post accumulate"])
def order_of_all_kinds_of_hooks(torch):
    x, order = leaf(torch, [1.0]), []
    y = x * 2
    y.grad_fn.register_hook(lambda i, o: order.append("node hook"))
    y.grad_fn.register_prehook(lambda o: order.append("node prehook"))
    y.register_hook(lambda g: order.append("tensor hook"))
    x.register_post_accumulate_grad_hook(lambda t: order.append("post accumulate"))
    x.register_hook(lambda g: order.append("leaf hook"))
    y.sum().backward()
    return order


@gives([True, [[3.0]], [3.0]])
def hook_on_the_accumulating_node_of_a_leaf(torch):
    x, seen = leaf(torch, [1.0]), []
    node = x.expand(1).grad_fn.next_functions[0][0]
    node.register_hook(lambda inputs, outputs: seen.append(outputs[0]))
    (x * 3).sum().backward()
    return node.variable is x, seen, x.grad


@gives([[[2.0], [1.0]], [[5.0], None]])
def multi_grad_hook_waits_for_all(torch):
    x, y, seen = leaf(torch, [1.0]), leaf(torch, [2.0]), []
    torch.autograd.graph.register_multi_grad_hook((x, y), lambda gradients: seen.append(list(gradients)))
    (x * y).sum().backward()
    (x * 5).sum().backward()
    return seen


@gives(1)
def multi_grad_hook_in_any_mode(torch):
    x, y, seen = leaf(torch, [1.0]), leaf(torch, [2.0]), []
    torch.autograd.graph.register_multi_grad_hook((x, y), lambda gradient: seen.append(1), mode="any")
    (x * y).sum().backward()
    return len(seen)


@gives([[6.0], [14.0]])
def hook_may_run_another_backward(torch):
    x, w = leaf(torch, [2.0]), leaf(torch, [5.0])
    y = x * 3

    @torch.enable_grad()
    def hook(gradient):
        (w * 7 * gradient).sum().backward()

    y.register_hook(hook)
    (y * 2).sum().backward()
    return x.grad, w.grad


@gives([RuntimeError, None])
def hook_returning_another_dtype_raises(torch):
    x = leaf(torch, [1.0])
    x.register_hook(lambda g: g.double())
    return attempt((x * 2).sum().backward), x.grad


@gives([3.0, 6.0, [2.0, 2.0]])
def hook_may_write_to_its_gradient(torch):
    x, y, z = leaf(torch, 1.0), leaf(torch, 1.0), leaf(torch, [1.0, 1.0])
    x.register_hook(lambda g: g.mul_(3))
    y.register_hook(lambda g: [g.mul_(3), None][1])
    z.register_hook(lambda g: g.clamp_(-2, 2))
    for result in (x * 1, 2 * y, (5 * z).sum()):
        result.backward()
    return x.grad, y.grad, z.grad


@gives([[True, True]])
def post_accumulate_hook_runs_with_the_grad_mode_of_backward(torch):
    x, seen = leaf(torch, [2.0]), []
    x.register_post_accumulate_grad_hook(lambda t: seen.append([torch.is_grad_enabled(), t.grad.requires_grad]))
    (x * x).sum().backward(create_graph=True)
    return seen


@gives([[[4.0], None], [20.0]])
def node_hook_of_a_function_sees_its_tensors_only(torch):
    Scale = function(torch, lambda ctx, n, x, y: x * n, lambda ctx, g: (None, g * 4, None))
    x, seen = leaf(torch, [1.0]), []
    y = Scale.apply(4, x, torch.ones(1))
    y.grad_fn.register_hook(lambda grad_inputs, _: [seen.extend(grad_inputs), (grad_inputs[0] * 5, None)][1])
    y.sum().backward()
    return seen, x.grad


@gives([True, 5.0])
def retain_grad_follows_a_view_whose_base_is_written(torch):
    x = leaf(torch, [1.0, 2.0])
    y = x * 2
    v = y[0]
    v.retain_grad()
    y.mul_(5)
    (v * 5).backward()
    return v.retains_grad, v.grad


@gives([None, [3.0, 3.0], [[2.0, 2.0], [3.0, 3.0]]])
def a_leaf_that_asks_for_gradients_again_has_its_hooks(torch):
    x, seen = leaf(torch, [1.0, 2.0]), []
    x.register_hook(seen.append)
    y = (x * 2).sum()
    x.requires_grad_(False)
    y.backward()
    before = x.grad
    x.requires_grad_(True)
    (x * 3).sum().backward()
    return before, x.grad, seen


@gives([[2.0, 2.0], [2.0, 2.0]])
def a_graph_leads_to_a_leaf_that_asks_for_gradients_again(torch):
    x = leaf(torch, [1.0, 2.0])
    y = (x * 2).sum()
    x.requires_grad_(False)
    x.requires_grad_(True)
    (g,) = torch.autograd.grad(y, x, retain_graph=True)
    y.backward()
    return g, x.grad
