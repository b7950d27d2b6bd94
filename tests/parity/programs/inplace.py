"""In-place operations: on bases, on views, on leaves, on aliases, and on what backward still needs."""

from tests.parity.harness import attempt, gives, leaf


@gives([[6.0, 12.0], [0.0, 3.0, 4.0]])
def inplace_on_base_then_view(torch):
    x = leaf(torch, [1.0, 2.0, 3.0])
    base = x.clone()
    v = base[1:]
    base.mul_(torch.tensor([2.0, 3.0, 4.0]))
    v.sum().backward()
    return v, x.grad


@gives([[2.0, 6.0, 3.0], [2.0, 4.0, 3.0]])
def inplace_on_view_changes_base(torch):
    x = leaf(torch, [1.0, 2.0, 3.0])
    base = x.clone()
    v = base[:2]
    v.mul_(x[1:])
    base.sum().backward()
    return base, x.grad


@gives([[[1.0, 2.0], [3.0, 40.0]], [3.0, 40.0], [40.0], [[1.0, 1.0], [2.0, 30.0]]])
def inplace_on_view_of_view(torch):
    x = leaf(torch, [[1.0, 2.0], [3.0, 4.0]])
    base = x * 1
    v = base[1]
    w = v[1:]
    w.mul_(10)
    (base.sum() + v.sum() + w.sum()).backward()
    return base, v, w, x.grad


@gives([[[1.0, 6.0, 15.0], [8.0, 20.0, 36.0]], [[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]]])
def inplace_on_transposed_view(torch):
    x = leaf(torch, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    base = x.clone()
    base.t().mul_(torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    base.sum().backward()
    return base, x.grad


@gives([[1.0, 2.0, 9.0, 4.0, 25.0], [2.0, 1.0, 6.0, 1.0, 10.0]])
def inplace_on_step_slice(torch):
    x = leaf(torch, [1.0, 2.0, 3.0, 4.0, 5.0])
    base = x.clone()
    base[::2].square_()
    base.sum().backward()
    return base, x.grad


@gives([[[5.0, 2.0], [3.0, 20.0]], [[5.0, 1.0], [1.0, 5.0]]])
def inplace_on_diagonal(torch):
    x = leaf(torch, [[1.0, 2.0], [3.0, 4.0]])
    base = x.clone()
    base.diagonal().mul_(5)
    base.sum().backward()
    return base, x.grad


@gives([[6.0, 3.0], [0.0, 3.0, 1.0]])
def inplace_on_sibling_view(torch):
    x = leaf(torch, [1.0, 2.0, 3.0])
    base = x.clone()
    a, b = base[:2], base[1:]
    a.mul_(3)
    b.sum().backward()
    return b, x.grad


@gives([[3.0, 21.0, 15.0], [3.0, 21.0], [21.0, 15.0], [4.0, 10.0, 5.0]])
def inplace_twice_on_overlapping_views(torch):
    x = leaf(torch, [1.0, 2.0, 3.0])
    base = x.clone()
    a, b = base[:2], base[1:]
    a.mul_(2)
    b.mul_(5)
    a.add_(x[0])
    base.sum().backward()
    return base, a, b, x.grad


@gives([[35.0, 6.0], [35.0], [35.0, 3.0]])
def inplace_on_base_view_base_alternating(torch):
    x = leaf(torch, [1.0, 2.0])
    base = x.clone()
    v = base[0:1]
    base.mul_(2)
    v.mul_(3)
    base.add_(x)
    v.mul_(5)
    base.sum().backward()
    return base, v, x.grad


@gives([[4.0, 9.0, 2.0, 3.0, 16.0, 5.0], [0.0, 4.0, 2.0, 3.0, 16.0, 6.0]])
def inplace_on_reshaped_view(torch):
    x = torch.arange(6.0).requires_grad_()
    base = x.clone()
    v = base.view(2, 3)
    v[:, 1] *= 4
    base.view(3, 2)[0].add_(x[4:])
    (base * torch.arange(6.0)).sum().backward()
    return base, x.grad


@gives([[6.0, 12.0], [6.0, 6.0]])
def inplace_on_unsqueezed_and_squeezed_view(torch):
    x = leaf(torch, [1.0, 2.0])
    base = x.clone()
    base.unsqueeze(0).mul_(2)
    base.view(1, 2, 1).squeeze().mul_(3)
    base.sum().backward()
    return base, x.grad


@gives([True, False])
def history_of_a_view_is_renewed(torch):
    x = leaf(torch, [1.0, 2.0])
    base = x.clone()
    v = base[0]
    before = v.grad_fn
    same = v.grad_fn is before
    base.mul_(2)
    return same, v.grad_fn is before


@gives([True, False, True])
def inplace_keeps_identity_and_renews_grad_fn(torch):
    x = leaf(torch, [1.0, 2.0])
    y = x * 2
    before, address = y.grad_fn, id(y)
    y += 1
    return id(y) == address, y.grad_fn is before, "add" in y.grad_fn.name().lower()


@gives([True, False, True, [3.0, 6.0]])
def writing_tracked_values_into_a_buffer(torch):
    x = leaf(torch, [1.0, 2.0])
    buffer = torch.zeros(4)
    view = buffer[2:]
    buffer[1:3] = x * 3
    (buffer * torch.arange(4.0)).sum().backward()
    return buffer.requires_grad, buffer.is_leaf, view.requires_grad, x.grad


@gives([True, [1.0, 2.0, 2.0], 3.0])
def writing_through_a_view_makes_the_buffer_tracked(torch):
    x = leaf(torch, 2.0)
    buffer = torch.ones(3)
    view = buffer[1:]
    view.mul_(x)
    (buffer.sum() + view[0]).backward()
    return buffer.requires_grad, buffer, x.grad


@gives([[1.0, 2.0, 6.0, 24.0], RuntimeError])
def loop_filling_a_buffer_that_backward_reads_raises(torch):
    x = leaf(torch, [2.0, 3.0, 4.0])
    out = torch.ones(4)
    for i in range(3):
        out[i + 1] = out[i] * x[i]
    return out, attempt(out[3].backward)


@gives([[1.0, 2.0, 6.0, 24.0], [12.0, 8.0, 6.0]])
def loop_filling_a_buffer_with_clones(torch):
    x = leaf(torch, [2.0, 3.0, 4.0])
    out = torch.ones(4)
    for i in range(3):
        out[i + 1] = out[i].clone() * x[i]
    out[3].backward()
    return out, x.grad


@gives([[RuntimeError, RuntimeError, RuntimeError, RuntimeError], [1.0, 2.0]])
def inplace_on_leaf_raises(torch):
    x = leaf(torch, [1.0, 2.0])
    actions = [lambda: x.add_(1), lambda: x.zero_(), lambda: x.__setitem__(0, 1.0), lambda: x.__imul__(2)]
    return [attempt(action) for action in actions], x


@gives([RuntimeError, RuntimeError, [1.0, 2.0], 0])
def inplace_on_view_of_leaf_raises(torch):
    x = leaf(torch, [1.0, 2.0])
    return attempt(x[0].mul_, 2), attempt(x.view(2, 1).zero_), x, x._version


@gives([True, True, [2.0, 1.5], [4.0, 3.0], 2])
def inplace_on_leaf_without_grad_mode(torch):
    x = leaf(torch, [1.0, 2.0])
    with torch.no_grad():
        x -= 0.5
        x[0].mul_(4)
    (x * x).sum().backward()
    return x.is_leaf, x.requires_grad, x, x.grad, x._version


@gives([[300.0, 600.0], True, [3.0, 3.0]])
def inplace_without_grad_mode_keeps_the_history(torch):
    x = leaf(torch, [1.0, 2.0])
    y = x * 3
    with torch.no_grad():
        y.mul_(100)
    y.sum().backward()
    return y, y.grad_fn is not None, x.grad


@gives([RuntimeError, [3.0, 6.0]])
def inplace_on_view_made_without_grad_mode_raises(torch):
    x = leaf(torch, [1.0, 2.0])
    y = x * 3
    with torch.no_grad():
        v = y[:1]
    return attempt(v.mul_, 2), y


@gives(RuntimeError)
def inplace_on_view_of_untracked_made_without_grad_mode(torch):
    x = leaf(torch, [2.0])
    y = torch.ones(2)
    with torch.no_grad():
        v = y[:1]
    return attempt(v.mul_, x)


@gives([3.0, 3.0, 1.0, 1.0])
def inplace_on_split_of_untracked(torch):
    y = torch.ones(4)
    first, _ = y.split(2)
    first.mul_(3)
    return y


@gives([RuntimeError, RuntimeError, [[0.0, 0.0]]])
def inplace_on_expanded_raises(torch):
    x = torch.zeros(1, 2)
    return attempt(x.expand(3, 2).add_, 1), attempt(torch.zeros(2).expand(2, 2).add_, 1), x


@gives([[1.0, 2.0]])
def inplace_on_expanded_size_one(torch):
    x = torch.zeros(1, 2)
    x.expand(1, 2).add_(torch.tensor([1.0, 2.0]))
    return x


@gives([[2.0, 4.0], [2.0, 2.0]])
def adding_a_tensor_to_itself(torch):
    x = leaf(torch, [1.0, 2.0])
    y = x * 1
    y.add_(y)
    y.sum().backward()
    return y, x.grad


@gives([[4.0, 9.0], True])
def multiplying_by_itself_is_never_silently_wrong(torch):
    x = leaf(torch, [2.0, 3.0])
    y = x * 1
    y.mul_(y)
    error = attempt(y.sum().backward)
    return y, isinstance(error, RuntimeError) or x.grad.tolist() == [4.0, 6.0]


@gives([[[0.0, 0.0], [2.0, 2.0]], [[-1.0, -1.0], [1.0, 1.0]]])
def subtracting_a_view_of_itself(torch):
    x = leaf(torch, [[1.0, 2.0], [3.0, 4.0]])
    y = x * 1
    y.sub_(y[0].clone())
    y.sum().backward()
    return y, x.grad


@gives([RuntimeError, None])
def saved_input_modified_raises(torch):
    x = leaf(torch, [1.0, 2.0])
    y = x * 1
    z = (y * y).sum()
    y.add_(1)
    return attempt(z.backward), x.grad


@gives(RuntimeError)
def saved_result_modified_raises(torch):
    x = leaf(torch, [1.0, 2.0])
    y = x.exp()
    y.add_(1)
    return attempt(y.sum().backward)


@gives([6.0, 6.0])
def modified_where_nothing_is_saved_is_fine(torch):
    x = leaf(torch, [1.0, 2.0])
    y = x + 1
    y.mul_(3)
    z = y * 2
    z.sub_(1)
    z.sum().backward()
    return x.grad


@gives(RuntimeError)
def saved_through_a_view_modified_raises(torch):
    x = leaf(torch, [1.0, 2.0])
    y = x * 1
    z = (y**2).sum()
    y[0].mul_(3)
    return attempt(z.backward)


@gives(RuntimeError)
def saved_through_a_detached_alias_modified_raises(torch):
    x = leaf(torch, [1.0, 2.0])
    y = x * 1
    z = (y * y).sum()
    y.detach().add_(1)
    return attempt(z.backward)


@gives([4.0, 6.0])
def saved_modified_through_data_is_not_noticed(torch):
    x = leaf(torch, [1.0, 2.0])
    y = x * 1
    z = (y * y).sum()
    y.data.add_(1)
    z.backward()
    return x.grad


@gives(RuntimeError)
def saved_leaf_modified_raises(torch):
    w = leaf(torch, [1.0, 2.0])
    loss = (w * w).sum()
    with torch.no_grad():
        w -= 0.1
    return attempt(loss.backward)


@gives(RuntimeError)
def untracked_operand_modified_raises(torch):
    x, c = leaf(torch, [1.0, 2.0]), torch.tensor([3.0, 4.0])
    y = (x * c).sum()
    c.zero_()
    return attempt(y.backward)


@gives([[1.0, 1.0], RuntimeError])
def untracked_operand_not_saved_when_not_needed(torch):
    x, c = leaf(torch, [1.0, 2.0]), torch.tensor([3.0, 4.0])
    y = c * x
    x_only = (x + c).sum()
    c.zero_()
    x_only.backward()
    return x.grad, attempt(y.sum().backward)


def division_saves_its_inputs_not_its_result(torch):
    x, y = leaf(torch, [6.0]), leaf(torch, [3.0])
    z = x / y
    z.add_(1)
    z.sum().backward()
    return x.grad, y.grad


@gives([[0.0, 6.0], [0.0, 3.0]])
def relu_inplace_gradient(torch):
    x = leaf(torch, [-1.0, 2.0])
    y = (x * 3).relu_()
    y.sum().backward()
    return y, x.grad


@gives([RuntimeError, [0.841471]])
def sin_inplace_of_saved_raises(torch):
    x = leaf(torch, [1.0])
    y = x * 1
    z = y.sin()
    y.sin_()
    return attempt(z.backward), y


@gives([[[3.0, 3.0], [4.0, 4.0]], [0.0, 0.0], [[1.0], [5.0]]])
def copy_carries_the_gradient_to_the_source(torch):
    x, y = leaf(torch, [1.0, 2.0]), leaf(torch, [[3.0], [4.0]])
    z = torch.zeros(2, 2) + x
    z.copy_(y)
    (z * torch.arange(4.0).view(2, 2)).sum().backward()
    return z, x.grad, y.grad


@gives([[1.5, 2.5], [1.0, 1.0]])
def copy_converts_and_the_gradient_converts_back(torch):
    x = leaf(torch, [1.5, 2.5], torch.float64)
    z = torch.zeros(2, dtype=torch.float32)
    z.copy_(x)
    z.sum().backward()
    return z, x.grad


@gives([[5.0, 5.0, 5.0], [0.0, 0.0, 0.0], 6.0])
def fill_with_a_tracked_value(torch):
    x, y = leaf(torch, [1.0, 2.0, 3.0]), leaf(torch, 5.0)
    z = x * 1
    z.fill_(y)
    (z * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    return z, x.grad, y.grad


@gives([[0.0, 6.0], [0.0, 3.0]])
def zero_cuts_the_gradient(torch):
    x = leaf(torch, [1.0, 2.0])
    y = x * 3
    y[0].zero_()
    y.sum().backward()
    return y, x.grad


@gives([[9.0, 4.0, 9.0], [0.0, 2.0, 0.0], 2.0])
def masked_fill_inplace(torch):
    x, v = leaf(torch, [1.0, 2.0, 3.0]), leaf(torch, 9.0)
    y = x * 2
    y.masked_fill_(torch.tensor([True, False, True]), v)
    y.sum().backward()
    return y, x.grad, v.grad


@gives([[20.0, 34.0, 10.0], [0.0, 20.0, 0.0], [110.0, 11.0]])
def scatter_and_index_add_inplace(torch):
    x, s = leaf(torch, [1.0, 2.0, 3.0]), leaf(torch, [10.0, 20.0])
    y = x * 2
    y.scatter_(0, torch.tensor([2, 0]), s)
    y.index_add_(0, torch.tensor([1, 1]), s)
    (y * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    return y, x.grad, s.grad


@gives([[31.0, 32.0], [62.0, 64.0], [62.0, 62.0, 64.0]])
def scatter_add_inplace(torch):
    x, s = leaf(torch, [1.0, 2.0]), leaf(torch, [10.0, 20.0, 30.0])
    y = x * 1
    y.scatter_add_(0, torch.tensor([0, 0, 1]), s)
    (y * y).sum().backward()
    return y, x.grad, s.grad


@gives([[1.0, 32.0, 3.0], [1.0, 2.0, 3.0], [2.0, 2.0]])
def index_put_accumulates(torch):
    x, v = leaf(torch, [1.0, 2.0, 3.0]), leaf(torch, [10.0, 20.0])
    y = x * 1
    y.index_put_((torch.tensor([1, 1]),), v, accumulate=True)
    (y * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    return y, x.grad, v.grad


def lerp_addcmul_addcdiv_inplace(torch):
    x, y = leaf(torch, [1.0, 2.0]), leaf(torch, [3.0, 4.0])
    z = x * 1
    z.addcmul_(x, y, value=2).addcdiv_(x, y, value=-1).lerp_(y, 0.5)
    z.sum().backward()
    return z, x.grad, y.grad


@gives([[1.0, 4.0, 5.0], [2.0, 4.0, 0.0]])
def pow_and_clamp_inplace(torch):
    x = leaf(torch, [1.0, 2.0, 3.0])
    y = (x * 1).pow_(2).clamp_(max=5)
    y.sum().backward()
    return y, x.grad


@gives([[RuntimeError, RuntimeError, RuntimeError, RuntimeError], [1, 1]])
def inplace_on_dtype_that_cannot_hold_the_result_raises(torch):
    i, b = torch.ones(2, dtype=torch.int64), torch.ones(2, dtype=torch.bool)
    actions = [lambda: i.add_(0.5), lambda: i.div_(2), lambda: b.add_(1), lambda: i.mul_(torch.ones(2))]
    return [attempt(action) for action in actions], i


@gives([[4.0, 6.0], [101, -55]])
def inplace_keeps_the_dtype(torch):
    x = torch.ones(2)
    x += torch.ones(2, dtype=torch.float64)
    x *= torch.tensor([2, 3])
    i = torch.ones(2, dtype=torch.int8)
    i += torch.tensor([100, 200])
    return x, i


@gives([RuntimeError, RuntimeError, [2.0, 2.0]])
def inplace_cannot_grow_its_shape(torch):
    x = torch.ones(2)
    return attempt(x.add_, torch.ones(3, 2)), attempt(x.mul_, torch.ones(3)), x.add_(torch.ones(1))


@gives([[[10.0, 40.0], [30.0, 80.0]], [[10.0, 20.0], [10.0, 20.0]], [4.0, 6.0]])
def inplace_with_broadcast_operand_gradient(torch):
    x, y = leaf(torch, [[1.0, 2.0], [3.0, 4.0]]), leaf(torch, [10.0, 20.0])
    z = x * 1
    z.mul_(y)
    z.sum().backward()
    return z, x.grad, y.grad


@gives([[3, 1], [3, 1], [[1.0, 2.0, 3.0]]])
def shape_changing_inplace_methods(torch):
    x = leaf(torch, [[1.0, 2.0, 3.0]])
    y = x * 1
    y.t_()
    first = list(y.shape)
    y.squeeze_(1).unsqueeze_(0).transpose_(0, 1)
    (y * torch.tensor([[1.0], [2.0], [3.0]])).sum().backward()
    return first, list(y.shape), x.grad


@gives([True, False, True, [6.0]])
def detach_inplace(torch):
    x = leaf(torch, [1.0])
    y = x * 2
    z = y * 3
    y.detach_()
    z.backward()
    return y.is_leaf, y.requires_grad, y.grad_fn is None, x.grad


@gives(RuntimeError)
def detach_inplace_on_view_raises(torch):
    y = leaf(torch, [1.0, 2.0]) * 2
    return attempt(y[0].detach_)


@gives([True, [2.0, 4.0], RuntimeError])
def out_argument_writes_and_refuses_grad(torch):
    x, out = torch.tensor([1.0, 2.0]), torch.zeros(2)
    result = torch.add(x, x, out=out)
    return result is out, out, attempt(torch.mul, leaf(torch, [1.0, 2.0]), 2, out=torch.zeros(2))


@gives([True, [5.0]])
def grad_accumulates_in_place_without_create_graph(torch):
    x = leaf(torch, [1.0])
    (2 * x).sum().backward()
    first = x.grad
    (3 * x).sum().backward()
    return first is x.grad, first


@gives([[3.0, 5.0], [22.0, 22.0]])
def inplace_on_result_used_before(torch):
    x = leaf(torch, [1.0, 2.0])
    y = x * 2
    z = y + 1
    y.mul_(10)
    (z + y).sum().backward()
    return z, x.grad


def each_inplace_function_has_its_gradient(torch):
    x = leaf(torch, [4.0, 0.25], torch.float64)
    names = [
        "sqrt", "neg", "abs", "reciprocal", "exp", "log", "sin", "cos", "tanh", "sigmoid", "square", "rsqrt", "erf",
    ]  # fmt: skip
    results = {}
    for name in names:
        y = x * 1
        assert getattr(y, name + "_")() is y
        results[name] = [y, *torch.autograd.grad(y.sum(), x)]
    return results


@gives([[-2.0, -3.0], RuntimeError])
def inplace_chain_over_a_saved_result_raises(torch):
    y = (leaf(torch, [4.0, 9.0]) * 1).sqrt_()
    y.neg_()
    return y, attempt(y.sum().backward)


@gives([0.0, 0.0])
def random_fill_detaches_values(torch):
    x = leaf(torch, [1.0, 2.0])
    y = x * 2
    y.normal_()
    y.sum().backward()
    return x.grad


@gives([[12.0, 10.0], [10.0, 6.0]])
def second_derivative_through_inplace(torch):
    x = leaf(torch, [2.0, 3.0])
    y = x.clone()
    y.mul_(x)
    y[0].mul_(x[1])
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    return g, h
