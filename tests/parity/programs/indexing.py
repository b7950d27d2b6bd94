"""Reading and writing with every kind of index: values, gradients of both sides, and refusals."""

from tests.parity.harness import attempt, gives, leaf


def _read(torch, index):
    x = torch.arange(24.0).view(2, 3, 4).requires_grad_()
    y = x[index]
    (y * torch.arange(1.0, y.numel() + 1).view(y.shape)).sum().backward()
    return y, x.grad


def _write(torch, index, value):
    x, v = torch.arange(24.0).view(2, 3, 4).requires_grad_(), leaf(torch, value)
    y = x * 1
    y[index] = v
    (y * torch.arange(24.0).view(2, 3, 4)).sum().backward()
    return y, x.grad, v.grad


@gives(
    [
        [[12.0, 13.0, 14.0, 15.0], [16.0, 17.0, 18.0, 19.0], [20.0, 21.0, 22.0, 23.0]],
        [
            [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]],
            [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0]],
        ],
    ]
)
def read_integer(torch):
    return _read(torch, 1)


@gives(
    [
        22.0,
        [
            [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]],
            [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]],
        ],
    ]
)
def read_integers(torch):
    return _read(torch, (1, -1, 2))


@gives(
    [
        [[[1.0, 3.0], [9.0, 11.0]], [[13.0, 15.0], [21.0, 23.0]]],
        [
            [[0.0, 1.0, 0.0, 2.0], [0.0, 0.0, 0.0, 0.0], [0.0, 3.0, 0.0, 4.0]],
            [[0.0, 5.0, 0.0, 6.0], [0.0, 0.0, 0.0, 0.0], [0.0, 7.0, 0.0, 8.0]],
        ],
    ]
)
def read_slices_with_steps(torch):
    return _read(torch, (slice(None), slice(0, 3, 2), slice(1, None, 2)))


@gives(
    [
        [[[[1.0], [5.0], [9.0]], [[13.0], [17.0], [21.0]]]],
        [
            [[0.0, 1.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0], [0.0, 3.0, 0.0, 0.0]],
            [[0.0, 4.0, 0.0, 0.0], [0.0, 5.0, 0.0, 0.0], [0.0, 6.0, 0.0, 0.0]],
        ],
    ]
)
def read_none_and_ellipsis(torch):
    return _read(torch, (None, ..., None, 1))


def read_list(torch):
    return _read(torch, [1, 0, 1])


@gives(
    [
        [[8.0, 9.0, 10.0, 11.0], [0.0, 1.0, 2.0, 3.0]],
        [
            [[5.0, 6.0, 7.0, 8.0], [0.0, 0.0, 0.0, 0.0], [1.0, 2.0, 3.0, 4.0]],
            [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]],
        ],
    ]
)
def read_list_in_a_tuple(torch):
    return _read(torch, (0, [2, 0]))


def read_integer_tensor_with_repeats(torch):
    return _read(torch, torch.tensor([[0, 0], [1, 0]]))


@gives(
    [
        [[3.0, 9.0], [15.0, 21.0]],
        [
            [[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0]],
            [[0.0, 0.0, 0.0, 3.0], [0.0, 0.0, 0.0, 0.0], [0.0, 4.0, 0.0, 0.0]],
        ],
    ]
)
def read_two_adjacent_integer_tensors(torch):
    return _read(torch, (slice(None), torch.tensor([0, 2]), torch.tensor([3, 1])))


@gives(
    [
        [[3.0, 7.0, 11.0], [13.0, 17.0, 21.0]],
        [
            [[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 2.0], [0.0, 0.0, 0.0, 3.0]],
            [[0.0, 4.0, 0.0, 0.0], [0.0, 5.0, 0.0, 0.0], [0.0, 6.0, 0.0, 0.0]],
        ],
    ]
)
def read_two_separated_integer_tensors(torch):
    return _read(torch, (torch.tensor([0, 1]), slice(None), torch.tensor([3, 1])))


@gives(
    [
        [[[0.0, 1.0, 2.0, 3.0], [8.0, 9.0, 10.0, 11.0]], [[12.0, 13.0, 14.0, 15.0], [20.0, 21.0, 22.0, 23.0]]],
        [
            [[1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 0.0, 0.0], [5.0, 6.0, 7.0, 8.0]],
            [[9.0, 10.0, 11.0, 12.0], [0.0, 0.0, 0.0, 0.0], [13.0, 14.0, 15.0, 16.0]],
        ],
    ]
)
def read_broadcast_integer_tensors(torch):
    return _read(torch, (torch.tensor([[0], [1]]), torch.tensor([0, 2])))


@gives(
    [
        [[12.0, 15.0], [16.0, 19.0], [20.0, 23.0]],
        [
            [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]],
            [[1.0, 0.0, 0.0, 2.0], [3.0, 0.0, 0.0, 4.0], [5.0, 0.0, 0.0, 6.0]],
        ],
    ]
)
def read_integer_beside_list(torch):
    return _read(torch, (1, slice(None), [0, 3]))


@gives(
    [
        [[[0.0, 1.0, 2.0, 3.0]], [[20.0, 21.0, 22.0, 23.0]]],
        [
            [[1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]],
            [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [5.0, 6.0, 7.0, 8.0]],
        ],
    ]
)
def read_separated_by_none(torch):
    return _read(torch, ([0, 1], None, [0, 2]))


@gives(
    [
        [0.0, 5.0, 10.0, 15.0, 20.0],
        [
            [[1.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 3.0, 0.0]],
            [[0.0, 0.0, 0.0, 4.0], [0.0, 0.0, 0.0, 0.0], [5.0, 0.0, 0.0, 0.0]],
        ],
    ]
)
def read_boolean_mask_of_full_shape(torch):
    return _read(torch, torch.arange(24).view(2, 3, 4) % 5 == 0)


@gives(
    [
        [[0.0, 1.0, 2.0, 3.0], [8.0, 9.0, 10.0, 11.0], [20.0, 21.0, 22.0, 23.0]],
        [
            [[1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 0.0, 0.0], [5.0, 6.0, 7.0, 8.0]],
            [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [9.0, 10.0, 11.0, 12.0]],
        ],
    ]
)
def read_boolean_mask_of_first_dimensions(torch):
    return _read(torch, torch.tensor([[True, False, True], [False, False, True]]))


@gives(
    [
        [[[0.0, 3.0], [4.0, 7.0], [8.0, 11.0]], [[12.0, 15.0], [16.0, 19.0], [20.0, 23.0]]],
        [
            [[1.0, 0.0, 0.0, 2.0], [3.0, 0.0, 0.0, 4.0], [5.0, 0.0, 0.0, 6.0]],
            [[7.0, 0.0, 0.0, 8.0], [9.0, 0.0, 0.0, 10.0], [11.0, 0.0, 0.0, 12.0]],
        ],
    ]
)
def read_boolean_mask_of_last_dimension(torch):
    return _read(torch, (..., torch.tensor([True, False, False, True])))


@gives(
    [
        [[8.0, 9.0, 10.0, 11.0]],
        [
            [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [1.0, 2.0, 3.0, 4.0]],
            [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]],
        ],
    ]
)
def read_boolean_mask_beside_integers(torch):
    return _read(torch, (torch.tensor([True, False]), torch.tensor([2])))


@gives(
    [
        [[[12.0, 13.0, 14.0, 15.0], [16.0, 17.0, 18.0, 19.0], [20.0, 21.0, 22.0, 23.0]]],
        [
            [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]],
            [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0]],
        ],
    ]
)
def read_boolean_list(torch):
    return _read(torch, [False, True])


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


@gives(
    [
        [],
        [
            [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]],
            [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]],
        ],
    ]
)
def read_empty_selection(torch):
    return _read(torch, torch.tensor([], dtype=torch.int64))


@gives(
    [
        [],
        [
            [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]],
            [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]],
        ],
    ]
)
def read_empty_mask(torch):
    return _read(torch, torch.zeros(2, 3, dtype=torch.bool))


def read_negative_integers(torch):
    return _read(torch, torch.tensor([-1, -2, 0]))


@gives([[1.0, 2.0], [1.0, 2.0], False])
def read_empty_tuple(torch):
    x = leaf(torch, [1.0, 2.0])
    return x[()], x[...], x[()] is x


@gives([[1.0, 2.0], [1.0, 2.0], IndexError])
def read_other_integer_dtypes(torch):
    x = torch.arange(5.0)
    dtypes = [torch.int64, torch.int32, torch.float32]
    return [attempt(lambda: x[torch.tensor([1, 2], dtype=dtype)]) for dtype in dtypes]


@gives([0.0, 2.0])
def read_uint8_is_a_mask(torch):
    return torch.arange(3.0)[torch.tensor([1, 0, 1], dtype=torch.uint8)]


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


@gives([[2.0, 3.0], [0.0], [], []])
def read_slices_beyond_the_end(torch):
    x = torch.arange(4.0)
    return x[2:100], x[-100:1], x[3:1], x[10:]


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


def write_integer(torch):
    return _write(torch, 1, [1.0, 2.0, 3.0, 4.0])


def write_integers(torch):
    return _write(torch, (0, 1, 2), 100.0)


def write_slices_with_steps(torch):
    return _write(torch, (slice(None), slice(0, 3, 2), slice(1, None, 2)), [[100.0], [200.0]])


def write_none_and_ellipsis(torch):
    return _write(torch, (None, ..., 1), [[[100.0, 200.0, 300.0]]])


@gives(
    [
        [
            [[5.0, 5.0, 5.0, 5.0], [5.0, 5.0, 5.0, 5.0], [5.0, 5.0, 5.0, 5.0]],
            [[5.0, 5.0, 5.0, 5.0], [5.0, 5.0, 5.0, 5.0], [5.0, 5.0, 5.0, 5.0]],
        ],
        [
            [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]],
            [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]],
        ],
        276.0,
    ]
)
def write_everything(torch):
    return _write(torch, ..., 5.0)


def write_list(torch):
    return _write(torch, (slice(None), [2, 0]), [[1.0], [2.0]])


@gives(
    [
        [
            [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0]],
            [[3.0, 3.0, 3.0, 3.0], [3.0, 3.0, 3.0, 3.0], [3.0, 3.0, 3.0, 3.0]],
        ],
        [
            [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0]],
            [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]],
        ],
        210.0,
    ]
)
def write_integer_tensor(torch):
    return _write(torch, torch.tensor([1]), 3.0)


def write_two_integer_tensors(torch):
    return _write(torch, (torch.tensor([0, 1]), slice(None), torch.tensor([3, 1])), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def write_same_place_twice_same_value(torch):
    return _write(torch, (0, 0, torch.tensor([1, 1])), 7.0)


def write_mask_with_scalar(torch):
    return _write(torch, torch.arange(24).view(2, 3, 4) % 7 == 0, 50.0)


def write_mask_with_one_value_each(torch):
    return _write(torch, torch.arange(24).view(2, 3, 4) % 10 == 0, [1.0, 2.0, 3.0])


def write_mask_of_first_dimension(torch):
    return _write(torch, torch.tensor([True, False]), [[1.0], [2.0], [3.0]])


def write_mask_beside_integer(torch):
    return _write(torch, (torch.tensor([False, True]), 2), [1.0, 2.0, 3.0, 4.0])


def write_nothing_with_empty_mask(torch):
    return _write(torch, torch.zeros(2, 3, 4, dtype=torch.bool), 9.0)


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


@gives([[1.0, 1.0, 2.0], [2.0, 1.0, 0.0]])
def write_own_values_shifted_clone(torch):
    x = leaf(torch, [1.0, 2.0, 3.0])
    y = x * 1
    y[1:] = y[:-1].clone()
    y.sum().backward()
    return y, x.grad


@gives([[5.0, 8.0, 12.0], [1.0, 4.0, 4.0], 6.0])
def augmented_assignment_on_basic_index(torch):
    x, w = leaf(torch, [1.0, 2.0, 3.0]), leaf(torch, 4.0)
    y = x * 1
    y[1:] *= w
    y[0] += w
    y.sum().backward()
    return y, x.grad, w.grad


@gives([[11.0, 2.0, 13.0], [2.0, 1.0, 1.0]])
def augmented_assignment_on_list_counts_repeats_once(torch):
    x = leaf(torch, [1.0, 2.0, 3.0])
    y = x * 1
    y[[0, 0, 2]] += 10
    y.sum().backward()
    return y, x.grad


@gives([[2.0, 2.0, 6.0], [-2.0, 1.0, -2.0]])
def augmented_assignment_on_mask(torch):
    x = leaf(torch, [-1.0, 2.0, -3.0])
    y = x * 1
    y[y < 0] *= -2
    y.sum().backward()
    return y, x.grad


@gives([[0.0, 2.0, 0.0], [0.0, 4.0, 0.0]])
def relu_by_masked_assignment(torch):
    x = leaf(torch, [-1.0, 2.0, -3.0])
    y = x.clone()
    y[x < 0] = 0
    (y * y).sum().backward()
    return y, x.grad


@gives([[2.0], [0.0, 1.0]])
def mask_of_itself_then_modified(torch):
    x = leaf(torch, [-1.0, 2.0])
    y = x * 1
    z = y[y > 0]
    y.add_(1)
    z.sum().backward()
    return z, x.grad


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


@gives([[3.0, 2.0], [0.0, 1.0], [1.0]])
def write_then_modified_value_is_fine(torch):
    x, v = leaf(torch, [1.0, 2.0]), leaf(torch, [3.0])
    y, w = x * 1, v * 1
    y[:1] = w
    w.mul_(100)
    y.sum().backward()
    return y, x.grad, v.grad


@gives([[1.0, 3.0], RuntimeError])
def modified_index_after_read_raises(torch):
    x = leaf(torch, [1.0, 2.0, 3.0])
    index = torch.tensor([0, 2])
    y = x[index]
    index[0] = 1
    return y, attempt(y.sum().backward)
