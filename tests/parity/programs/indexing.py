"""Reading with every kind of index: values, gradients, and refusals."""

from tests.parity.harness import attempt, gives, leaf


def _read(torch, index):
    x = torch.arange(24.0).view(2, 3, 4).requires_grad_()
    y = x[index]
    (y * torch.arange(1.0, y.numel() + 1).view(y.shape)).sum().backward()
    return y, x.grad


@gives([[[0.0, 1.0, 2.0, 3.0]], [], [1, 4]])
def read_python_bools(torch):
    x = torch.arange(4.0)
    return x[True], x[False], x[None].shape


@gives(
    [
        [[12.0, 13.0, 14.0, 15.0], [16.0, 17.0, 18.0, 19.0], [20.0, 21.0, 22.0, 23.0]],
        [
            [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]],
            [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0]],
        ],
    ]
)
def read_zero_dimensional_tensor_index(torch):
    return _read(torch, torch.tensor(1))


@gives([[1.0, 2.0], [1.0, 2.0], IndexError])
def read_other_integer_dtypes(torch):
    x = torch.arange(5.0)
    dtypes = [torch.int64, torch.int32, torch.float32]
    return [attempt(lambda: x[torch.tensor([1, 2], dtype=dtype)]) for dtype in dtypes]


@gives([IndexError, IndexError, IndexError, IndexError, IndexError, IndexError, IndexError])
def read_out_of_range_raises(torch):
    x = torch.zeros(2, 3)
    indices = [2, -3, (0, 3), (0, 0, 0), [0, 5], torch.tensor([-3]), 1.5]
    return [attempt(lambda: x[index]) for index in indices]


@gives([IndexError, IndexError])
def read_mask_of_wrong_shape_raises(torch):
    x = torch.zeros(2, 3)
    return attempt(lambda: x[torch.tensor([True, False, True])]), attempt(lambda: x[:, torch.tensor([True])])


@gives([ValueError, ValueError])
def read_negative_step_raises(torch):
    return attempt(lambda: torch.arange(3.0)[::-1]), attempt(lambda: torch.arange(3.0)[::0])


@gives(IndexError)
def read_unbroadcastable_indices_raises(torch):
    return attempt(lambda: torch.zeros(3, 3)[[0, 1], [0, 1, 2]])


@gives([IndexError, 1.0, [1.0], IndexError])
def read_zero_dimensional_raises(torch):
    x = torch.tensor(1.0)
    return attempt(lambda: x[0]), x[...], x[None], attempt(lambda: x[:])


@gives([[0.0, 7.0, 0.0], True, True])
def advanced_read_is_a_copy_basic_is_a_view(torch):
    x = torch.zeros(3)
    x[[0, 1]].add_(1)
    x[x == 0].add_(1)
    x[1:2].add_(7)
    return x, x[[0]]._base is None, x[0]._base is x


@gives([[24.0, 27.0], [24.0, 18.0]])
def second_derivative_through_repeated_index(torch):
    x = leaf(torch, [2.0, 3.0])
    y = x[[0, 0, 1]]
    (g,) = torch.autograd.grad((y**3).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    return g, h


@gives([20, TypeError, [0, 1]])
def index_used_as_python_index(torch):
    return [10, 20, 30][torch.tensor(1)], attempt(lambda: [10, 20][torch.tensor(1.0)]), list(range(torch.tensor(2)))


@gives([[1.0, 3.0], RuntimeError])
def modified_index_after_read_raises(torch):
    x = leaf(torch, [1.0, 2.0, 3.0])
    index = torch.tensor([0, 2])
    y = x[index]
    index[0] = 1
    return y, attempt(y.sum().backward)
