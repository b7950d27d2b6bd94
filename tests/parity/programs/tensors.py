"""Tensors apart from operations: leaves, `requires_grad`, `grad`, `data`, `detach`, shapes, factories, dtypes."""

from tests.parity.harness import attempt, gives, leaf


def leaf_rules(torch):
    x, c = leaf(torch, [1.0]), torch.tensor([1.0])
    with torch.no_grad():
        quiet = x * 2
    tensors = {
        "leaf": x,
        "constant": c,
        "result": x * 2,
        "of constants": c * 2,
        "quiet": quiet,
        "detached": (x * 2).detach(),
        "clone": x.clone(),
        "comparison": x > 0,
        "argmax": x.argmax(),
        "to same dtype": x.to(torch.float32),
        "to other dtype": x.to(torch.float64),
    }
    return {name: [t.is_leaf, t.requires_grad, t.grad_fn is None] for name, t in tensors.items()}


@gives([True, False, True, False, False, False, True, True, False, False])
def requires_grad_of_results(torch):
    x, c = leaf(torch, [1.0, 2.0]), torch.tensor([1.0, 2.0])
    results = [x + c, c + c, x.sum(), x.long(), x.bool(), x == c, x.floor(), x.sign(), x.argsort(), x.detach() + c]
    return [r.requires_grad for r in results]


@gives([RuntimeError, RuntimeError, RuntimeError, RuntimeError, RuntimeError, False])
def integers_cannot_require_grad(torch):
    i, b = torch.tensor([1, 2]), torch.tensor([True])
    return [
        attempt(i.requires_grad_),
        attempt(b.requires_grad_),
        attempt(torch.tensor, [1], requires_grad=True),
        attempt(torch.zeros, 2, dtype=torch.int32, requires_grad=True),
        attempt(setattr, i, "requires_grad", True),
        i.requires_grad_(False).requires_grad,
    ]


@gives([RuntimeError, RuntimeError, [2.0]])
def requires_grad_of_non_leaf_cannot_be_switched_off(torch):
    y = leaf(torch, [1.0]) * 2
    return (
        attempt(y.requires_grad_, False),
        attempt(setattr, y, "requires_grad", False),
        attempt(y.requires_grad_, True),
    )


@gives([False, True, False, None, None])
def requires_grad_switched_on_and_off_on_a_leaf(torch):
    x = torch.tensor([1.0, 2.0])
    before = x * 2
    x.requires_grad_()
    after = x * 2
    x.requires_grad = False
    return before.requires_grad, after.requires_grad, (x * 2).requires_grad, attempt(after.sum().backward), x.grad


@gives([None, [2.0], None, None])
def grad_starts_as_none_and_can_be_deleted(torch):
    x = leaf(torch, [1.0])
    before = x.grad
    (x * 2).sum().backward()
    middle = x.grad
    x.grad = None
    after = x.grad
    (x * 5).sum().backward()
    del x.grad
    return before, middle, after, x.grad


@gives([[RuntimeError, RuntimeError, RuntimeError, RuntimeError, TypeError, TypeError], None])
def grad_assignment_checks(torch):
    x = leaf(torch, [1.0, 2.0])
    wrong = [torch.zeros(3), torch.zeros(2, dtype=torch.float64), torch.zeros(2, dtype=torch.int64), x, [1.0, 2.0], 3.0]
    return [attempt(setattr, x, "grad", value) for value in wrong], x.grad


@gives([[2.0], False])
def grad_of_untracked_tensor_can_be_assigned(torch):
    x = torch.tensor([1.0])
    x.grad = torch.tensor([2.0])
    return x.grad, x.requires_grad


@gives([None, [6.0]])
def grad_of_non_leaf_stays_none(torch):
    x = leaf(torch, [1.0])
    y = x * 2
    (y * 3).sum().backward()
    return y.grad, x.grad


@gives([[100.0, 6.0], False, True, True, False])
def detach_shares_memory_and_drops_history(torch):
    x = leaf(torch, [1.0, 2.0])
    y = x * 3
    d = y.detach()
    d[0] = 100.0
    return y, d.requires_grad, d.grad_fn is None, d.is_leaf, d is y.detach()


@gives([False, [10.0, 20.0], [20.0, 40.0], 0])
def data_is_detached_and_shares_memory(torch):
    x = leaf(torch, [1.0, 2.0])
    x.data.mul_(10)
    (x * x).sum().backward()
    return x.data.requires_grad, x, x.grad, x._version


@gives([[3.0, 4.0, 5.0], True, [6.0, 8.0, 10.0]])
def data_can_be_replaced(torch):
    x = leaf(torch, [1.0, 2.0])
    x.data = torch.tensor([3.0, 4.0, 5.0])
    (x * x).sum().backward()
    return x, x.is_leaf, x.grad


@gives([[3.0, 4.0], True, True, "float64"])
def conversion_passes_the_gradient_back_in_the_first_dtype(torch):
    x = leaf(torch, [1.0, 2.0])
    (x.double() * torch.tensor([3.0, 4.0], dtype=torch.float64)).float().sum().backward()
    return x.grad, x.to(torch.float32) is x, x.to("cpu") is x, x.to(torch.zeros(1, dtype=torch.float64)).dtype


@gives([[3.0, 8.0], [3.0, 4.0], [1.0, 2.0]])
def gradient_has_the_dtype_of_its_leaf(torch):
    x, y = leaf(torch, [1.0, 2.0]), leaf(torch, [3.0, 4.0], torch.float64)
    z = x * y
    z.sum().backward()
    return z, x.grad, y.grad


@gives([[2, 0, 3], 3, 3, 3, 0, [2, 0, 3], 0, 2, 3])
def size_and_shape(torch):
    x = torch.zeros(2, 0, 3)
    return [tuple(x.size()), x.size(-1), x.dim(), x.ndim, x.numel(), tuple(x.shape), x.nelement(), len(x), x.stride(0)]


@gives([True, True, 6, 2, [2, 5], "Size([2, 3])"])
def shape_is_a_tuple_with_numel(torch):
    shape = torch.zeros(2, 3).shape
    return (
        shape == (2, 3),
        isinstance(shape, tuple),
        shape.numel(),
        shape[0],
        list(shape[:1] + (5,)),
        repr(shape).split(".")[-1],
    )


@gives([True, True, [2.0, 4.0], True, True, False])
def parameter_requires_grad_and_is_a_leaf(torch):
    p = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    q = torch.nn.Parameter(leaf(torch, [1.0]) * 2, requires_grad=False)
    (p * p).sum().backward()
    return p.is_leaf, p.requires_grad, p.grad, isinstance(p, torch.Tensor), q.is_leaf, q.requires_grad


@gives([[[[0.0, 0.0]], [[1, 1]], [0.0, 0.0, 0.0], [1.0, 2.0], [1.0]], [[3.0, 3.0]], [7.0, 7.0], [[], []]])
def like_and_new_factories(torch):
    x = leaf(torch, [[1.0, 2.0]], torch.float64)
    made = [
        torch.zeros_like(x),
        torch.ones_like(x, dtype=torch.int64),
        x.new_zeros(3),
        x.new_tensor([1, 2]),
        x.new_ones(1),
    ]
    return made, torch.full_like(x, 3.0, requires_grad=True), x.new_full((2,), 7.0), x.new_empty(2, 0)


@gives(
    {
        "ints": "int64",
        "floats": "float32",
        "bools": "bool",
        "bool and int": "int64",
        "nothing": "float32",
        "full int": "int64",
        "full bool": "bool",
        "arange int": "int64",
        "arange float": "float32",
        "linspace": "float32",
        "eye": "float32",
        "randperm": "int64",
        "numpy float64": "float64",
    }
)
def dtype_of_factories(torch):
    made = {
        "ints": torch.tensor([1, 2]),
        "floats": torch.tensor([1, 2.0]),
        "bools": torch.tensor([True, False]),
        "bool and int": torch.tensor([True, 2]),
        "nothing": torch.tensor([]),
        "full int": torch.full((1,), 2),
        "full bool": torch.full((1,), True),
        "arange int": torch.arange(3),
        "arange float": torch.arange(0, 1, 0.5),
        "linspace": torch.linspace(0, 1, 3),
        "eye": torch.eye(2),
        "randperm": torch.randperm(3),
        "numpy float64": torch.tensor(torch.zeros(1, dtype=torch.float64).numpy()),
    }
    return {name: t.dtype for name, t in made.items()}


@gives([ValueError, ValueError, RuntimeError])
def ragged_and_foreign_data_raise(torch):
    return attempt(torch.tensor, [[1.0, 2.0], [3.0]]), attempt(torch.tensor, ["a"]), attempt(torch.tensor, [None])


@gives(["float32", [[1.0], [0.5], [0.0], [0.0, 1.0], [1]], "float32", TypeError])
def default_dtype(torch):
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        made = [torch.tensor([1.0]), torch.tensor([1]) / 2, torch.zeros(1), torch.linspace(0, 1, 2), torch.tensor([1])]
    finally:
        torch.set_default_dtype(before)
    return before, made, torch.tensor([1.0]).dtype, attempt(torch.set_default_dtype, torch.int64)


@gives(
    [
        [
            [True, 4, 4],
            [True, 8, 8],
            [False, 1, 1],
            [False, 2, 2],
            [False, 4, 4],
            [False, 8, 8],
            [False, 1, 1],
            [False, 1, 1],
        ],
        [True, True, True, True],
    ]
)
def dtype_properties(torch):
    dtypes = [torch.float32, torch.float64, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.bool]
    return [[d.is_floating_point, d.itemsize, torch.zeros(1, dtype=d).element_size()] for d in dtypes], [
        torch.float is torch.float32, torch.double is torch.float64, torch.long is torch.int64, torch.int is torch.int32
    ]  # fmt: skip


@gives([RuntimeError, RuntimeError, True, RuntimeError, RuntimeError, RuntimeError, RuntimeError, True])
def requires_grad_of_a_result_cannot_be_set(torch):
    x = leaf(torch, [1.0, 2.0])
    y, i = x * 2, torch.tensor([1])
    return (
        attempt(setattr, y, "requires_grad", True),
        attempt(setattr, y, "requires_grad", False),
        y.requires_grad_() is y,
        attempt(setattr, x[0], "requires_grad", True),
        attempt(setattr, i, "requires_grad", True),
        attempt(setattr, x, "requires_grad", 1),
        attempt(setattr, x, "requires_grad", None),
        x.requires_grad,
    )


@gives([TypeError] * 4 + [RuntimeError] * 5)
def sums_refuse_a_second_dimension_and_integers_of_what_is_tracked(torch):
    x = torch.ones(2, 3, requires_grad=True)
    wrong = [attempt(f, x, 0, 1) for f in (torch.sum, torch.mean, torch.amax, torch.logsumexp)]
    total = [
        attempt(getattr(torch, n), x, 0, dtype=torch.int64) for n in ("sum", "prod", "nansum", "cumsum", "cumprod")
    ]
    return wrong + total
