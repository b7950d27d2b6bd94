"""In-place operations on what backward still needs, and on their own operands: right, or refused."""

from tests.parity.harness import attempt, gives, leaf


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


@gives(
    {
        "itself": [RuntimeError, None],
        "a view": [RuntimeError, None],
        "a detached alias": [RuntimeError, None],
        "its data": [None, [4.0, 6.0]],  # is not noticed
    }
)
def saved_input_modified_raises(torch):
    writes = {
        "itself": lambda y: y.add_(1),
        "a view": lambda y: y[0].mul_(3),
        "a detached alias": lambda y: y.detach().add_(1),
        "its data": lambda y: y.data.add_(1),
    }
    found = {}
    for name, write in writes.items():
        x = leaf(torch, [1.0, 2.0])
        y = x * 1
        z = (y * y).sum()
        write(y)
        found[name] = attempt(z.backward), x.grad
    return found


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


def division_saves_its_inputs_not_its_result(torch):
    x, y = leaf(torch, [6.0]), leaf(torch, [3.0])
    z = x / y
    z.add_(1)
    z.sum().backward()
    return x.grad, y.grad


@gives([RuntimeError, [0.841471]])
def sin_inplace_of_saved_raises(torch):
    x = leaf(torch, [1.0])
    y = x * 1
    z = y.sin()
    y.sin_()
    return attempt(z.backward), y


@gives([[-2.0, -3.0], RuntimeError])
def inplace_chain_over_a_saved_result_raises(torch):
    y = (leaf(torch, [4.0, 9.0]) * 1).sqrt_()
    y.neg_()
    return y, attempt(y.sum().backward)
