"""In-place operations on bases, on views and on buffers that are filled piece by piece."""

from tests.parity.harness import attempt, gives, leaf


@gives(
    {
        "transposed": [[[1.0, 4.0, 9.0], [8.0, 15.0, 24.0]], [[1.0, 2.0, 3.0], [2.0, 3.0, 4.0]]],
        "steps": [[[1.0, 2.0, 9.0], [16.0, 5.0, 36.0]], [[2.0, 1.0, 6.0], [8.0, 1.0, 12.0]]],
        "diagonal": [[[5.0, 2.0, 3.0], [4.0, 25.0, 6.0]], [[5.0, 1.0, 1.0], [1.0, 5.0, 1.0]]],
        "squeezed": [[[3.0, 6.0, 9.0], [12.0, 15.0, 18.0]], [[3.0, 3.0, 3.0], [3.0, 3.0, 3.0]]],
    }
)
def inplace_on_views_of_a_base(torch):
    writes = {
        "transposed": lambda base: base.t().mul_(torch.tensor([[1.0, 2.0], [2.0, 3.0], [3.0, 4.0]])),
        "steps": lambda base: base[:, ::2].square_(),
        "diagonal": lambda base: base.diagonal().mul_(5),
        "squeezed": lambda base: base.unsqueeze(0).view(1, 2, 1, 3).squeeze().mul_(3),
    }
    found = {}
    for name, write in writes.items():
        x = leaf(torch, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        base = x.clone()
        write(base)
        base.sum().backward()
        found[name] = base, x.grad
    return found


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


@gives([True, False])
def history_of_a_view_is_renewed(torch):
    x = leaf(torch, [1.0, 2.0])
    base = x.clone()
    v = base[0]
    before = v.grad_fn
    same = v.grad_fn is before
    base.mul_(2)
    return same, v.grad_fn is before


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


@gives([RuntimeError, [3.0, 6.0]])
def inplace_on_view_made_without_grad_mode_raises(torch):
    x = leaf(torch, [1.0, 2.0])
    y = x * 3
    with torch.no_grad():
        v = y[:1]
    return attempt(v.mul_, 2), y


@gives([RuntimeError, RuntimeError, [[0.0, 0.0]]])
def inplace_on_expanded_raises(torch):
    x = torch.zeros(1, 2)
    return attempt(x.expand(3, 2).add_, 1), attempt(torch.zeros(2).expand(2, 2).add_, 1), x


@gives(RuntimeError)
def detach_inplace_on_view_raises(torch):
    y = leaf(torch, [1.0, 2.0]) * 2
    return attempt(y[0].detach_)


@gives([[12.0]] * 9)
def operand_that_is_a_view_of_the_one_element_that_is_written(torch):
    views = [
        lambda t: t[:], lambda t: t[...], lambda t: t.view(1), lambda t: t.t(), lambda t: t.view_as(t),
        lambda t: t.expand_as(t), lambda t: t.squeeze(), lambda t: t[0], lambda t: t[None][0],
    ]  # fmt: skip
    gradients = []
    for view in views:
        x = leaf(torch, [1.25])
        y = x * 1
        w = view(y)
        (y if w.ndim else y[0]).add_(w)
        (w * w + y).sum().backward()
        gradients.append(x.grad)
    return gradients


@gives([[[0.0, 2.0, 4.0], [6.0, 8.0, 5.0]], [6.0, 4.0, 24.0, 16.0]])
def write_through_strides_of_a_base_in_column_order(torch):
    x, y = torch.arange(6.0).reshape(3, 2).t().requires_grad_(), torch.ones(4, requires_grad=True)
    z = x.clone()
    z.as_strided((4,), (1,), 1).mul_(y * 2)
    (z * torch.arange(6.0).reshape(2, 3)).sum().backward()
    return x.grad, y.grad


@gives([[[1.0, 1.0]], RuntimeError])
def view_that_was_written_depends_on_its_base(torch):
    y = leaf(torch, [1.0, 2.0]) * 1
    v = y[:]
    v.mul_(2)
    return torch.autograd.grad(v.sum(), y, retain_graph=True), attempt(torch.autograd.grad, (y * 1).sum(), v)


@gives([[0.0, 4.0, 8.0], [2.0, 6.0, 10.0]])
def gradient_of_a_written_view_arrives_transposed(torch):
    x = torch.ones(2, 3, requires_grad=True)
    y = x * 1
    y.view(6).mul_(2)  # only a row-major memory has this view
    return torch.autograd.grad((y.t() * torch.arange(6.0).reshape(3, 2)).sum(), x)[0]


@gives([[0.0, 1.0, 4.0], [3.0, 4.0, 5.0]])
def gradient_of_a_written_view_by_strides_arrives_transposed(torch):
    weights = torch.arange(6.0).reshape(2, 3)
    x = weights.t().clone().requires_grad_()
    y = x * 1  # its memory layout is the weights'
    y.as_strided((2,), (2,)).mul_(2)
    return torch.autograd.grad((y.t() * weights).sum(), x)[0].t()
