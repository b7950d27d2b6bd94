"""In-place operations: on leaves and results, each with its gradient, dtypes and shapes that do not fit."""

from tests.parity.harness import attempt, gives, leaf


@gives([True, False, True])
def inplace_keeps_identity_and_renews_grad_fn(torch):
    x = leaf(torch, [1.0, 2.0])
    y = x * 2
    before, address = y.grad_fn, id(y)
    y += 1
    return id(y) == address, y.grad_fn is before, "add" in y.grad_fn.name().lower()


@gives([[RuntimeError, RuntimeError, RuntimeError, RuntimeError], [1.0, 2.0]])
def inplace_on_leaf_raises(torch):
    x = leaf(torch, [1.0, 2.0])
    actions = [lambda: x.add_(1), lambda: x.zero_(), lambda: x.__setitem__(0, 1.0), lambda: x.__imul__(2)]
    return [attempt(action) for action in actions], x


@gives([RuntimeError, RuntimeError, [1.0, 2.0], 0])
def inplace_on_view_of_leaf_raises(torch):
    x = leaf(torch, [1.0, 2.0])
    return attempt(x[0].mul_, 2), attempt(x.view(2, 1).zero_), x, x._version


@gives([[5.0, 5.0, 5.0], [0.0, 0.0, 0.0], 6.0])
def fill_with_a_tracked_value(torch):
    x, y = leaf(torch, [1.0, 2.0, 3.0]), leaf(torch, 5.0)
    z = x * 1
    z.fill_(y)
    (z * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    return z, x.grad, y.grad


@gives([[RuntimeError, RuntimeError, RuntimeError, RuntimeError], [1, 1]])
def inplace_on_dtype_that_cannot_hold_the_result_raises(torch):
    i, b = torch.ones(2, dtype=torch.int64), torch.ones(2, dtype=torch.bool)
    actions = [lambda: i.add_(0.5), lambda: i.div_(2), lambda: b.add_(1), lambda: i.mul_(torch.ones(2))]
    return [attempt(action) for action in actions], i


@gives([RuntimeError, RuntimeError, [2.0, 2.0]])
def inplace_cannot_grow_its_shape(torch):
    x = torch.ones(2)
    return attempt(x.add_, torch.ones(3, 2)), attempt(x.mul_, torch.ones(3)), x.add_(torch.ones(1))


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
