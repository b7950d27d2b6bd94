"""Writing with every kind of index: values, gradients of both sides, and refusals."""

from tests.parity.harness import attempt, gives, leaf


def _write(torch, index, value):
    x, v = torch.arange(24.0).view(2, 3, 4).requires_grad_(), leaf(torch, value)
    y = x * 1
    y[index] = v
    (y * torch.arange(24.0).view(2, 3, 4)).sum().backward()
    return y, x.grad, v.grad


def write_mask_with_scalar(torch):
    return _write(torch, torch.arange(24).view(2, 3, 4) % 7 == 0, 50.0)


@gives([[[2.5, 1.0, 1.0], [2.5, 1.0, 0.0]], True])
def write_python_numbers_and_lists(torch):
    x = torch.zeros(2, 3)
    x[0] = 1
    x[1, 1:] = torch.tensor([True, False])
    x[:, 0] = 2.5
    error = attempt(x.__setitem__, 0, [1.0, 2.0, 3.0])
    return x, isinstance(error, Exception) or error is None


@gives([[2, -1, 3], [True, False]])
def write_converts_to_the_dtype(torch):
    i, b = torch.zeros(3, dtype=torch.int64), torch.zeros(2, dtype=torch.bool)
    i[0] = 2.9
    i[1:] = torch.tensor([-1.7, 3.2])
    b[0] = 5
    return i, b


@gives([[RuntimeError, RuntimeError, None, RuntimeError, IndexError], [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]])
def write_wrong_shape_raises(torch):
    x = torch.zeros(2, 3)
    errors = [
        attempt(x.__setitem__, 0, torch.zeros(2)),
        attempt(x.__setitem__, slice(None), torch.zeros(3, 2)),
        attempt(x.__setitem__, torch.tensor([0, 1]), torch.zeros(3)),
        attempt(x.__setitem__, x == 0, torch.zeros(2)),
        attempt(x.__setitem__, (2, 0), 1.0),
    ]
    return errors, x


@gives([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
def write_extra_leading_ones(torch):
    x = torch.zeros(2, 3)
    x[0] = torch.ones(1, 1, 3)
    return x


@gives([[2.0, 2.0, 6.0], [-2.0, 1.0, -2.0]])
def augmented_assignment_on_mask(torch):
    x = leaf(torch, [-1.0, 2.0, -3.0])
    y = x * 1
    y[y < 0] *= -2
    y.sum().backward()
    return y, x.grad


@gives([[7.0, 7.0, 7.0], [0.0, 1.0, 2.0], [[7.0, 7.0, 7.0], [3.0, 4.0, 5.0]], [2, 0]])
def index_put_of_a_flag(torch):
    x, seven, yes, no = torch.arange(3.0), torch.tensor(7.0), torch.tensor(True), torch.tensor(False)
    matrix = torch.arange(6.0).reshape(2, 3).index_put((yes, torch.tensor([0])), seven)
    examples = torch.vmap(lambda y: y.index_put((no,), y.sum()))(torch.ones(2, 0))
    return x.clone().index_put_((yes,), seven), x.index_put((no,), seven), matrix, list(examples.shape)
