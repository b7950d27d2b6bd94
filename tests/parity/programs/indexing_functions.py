"""Selecting elements by functions instead of brackets: gather, take, index_select, masked_select, where."""

from tests.parity.harness import gives, leaf


@gives([[4.0, 4.0], [6.0, 3.0]])
def gather_and_take_along_dim_gradient(torch):
    x = leaf(torch, [[1.0, 2.0], [3.0, 4.0]])
    index = torch.tensor([[0, 0], [1, 0]])
    (x.gather(1, index) * torch.take_along_dim(x, index, 0)).sum().backward()
    return x.grad


@gives([[[2.0, 2.0, 1.0], [4.0, 4.0, 3.0]], [[3.0, 3.0], [6.0, 9.0]]])
def index_select_gradient(torch):
    x = leaf(torch, [[1.0, 2.0], [3.0, 4.0]])
    y = x.index_select(1, torch.tensor([1, 1, 0]))
    (y * torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])).sum().backward()
    return y, x.grad


@gives([[1.0, 0.0], [10.0, 12.0]])
def take_and_masked_select_gradient(torch):
    x = leaf(torch, [[1.0, 2.0], [3.0, 4.0]])
    (x.take(torch.tensor([3, 0, 3])).sum() + 10 * x.masked_select(x > 2).sum()).backward()
    return x.grad


@gives([[[3.0, 2.0], [4.0, 2.0]], [0.0, 8.0], [[6.0], [8.0]]])
def where_gradient(torch):
    x, y = leaf(torch, [1.0, 2.0]), leaf(torch, [[3.0], [4.0]])
    z = torch.where(x > 1, x, y)
    (z * z).sum().backward()
    return z, x.grad, y.grad


@gives([[7.0, 7.0, 7.0], [0.0, 1.0, 2.0], [[7.0, 7.0, 7.0], [3.0, 4.0, 5.0]], [2, 0]])
def index_put_of_a_flag(torch):
    x, seven, yes, no = torch.arange(3.0), torch.tensor(7.0), torch.tensor(True), torch.tensor(False)
    matrix = torch.arange(6.0).reshape(2, 3).index_put((yes, torch.tensor([0])), seven)
    examples = torch.vmap(lambda y: y.index_put((no,), y.sum()))(torch.ones(2, 0))
    return x.clone().index_put_((yes,), seven), x.index_put((no,), seven), matrix, list(examples.shape)
