"""Type promotion: every pair of dtypes as tensors with dimensions, without dimensions and as Python numbers."""

import operator
from math import inf, nan

from tests.parity.harness import attempt, gives, leaf

DTYPES = ["float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool"]
NUMBERS = {"True": True, "2": 2, "2.5": 2.5}


def _arrays(torch):
    return {name: torch.tensor([3, 2]).to(getattr(torch, name)) for name in DTYPES}


def _tensors(torch):
    """`int8` has a dimension, `int8()` has none."""
    return _arrays(torch) | {f"{name}()": torch.tensor(2).to(getattr(torch, name)) for name in DTYPES}


def _operands(torch):
    return _tensors(torch) | NUMBERS


def _pairs(left, right, function):
    """Return the result of the function, or what it raises, for every pair of which one at least is a tensor."""
    return {
        f"{a}, {b}": attempt(function, x, y)
        for a, x in left.items()
        for b, y in right.items()
        if a not in NUMBERS or b not in NUMBERS
    }


def _table(torch, function):
    return _pairs(_operands(torch), _operands(torch), function)


def operator_tables(torch):
    names = ["sub", "truediv", "floordiv", "mod", "eq", "lt", "and_"]
    return {name: _table(torch, getattr(operator, name)) for name in names}


def pow_table(torch):
    # PyTorch refuses bool ** bool, except where the exponent is Python's True
    bools = ("bool", "bool()", "True")
    table = _table(torch, operator.pow)
    return {pair: result for pair, result in table.items() if not all(side in bools for side in pair.split(", "))}


def maximum_table(torch):
    return _pairs(_tensors(torch), _tensors(torch), torch.maximum)


def where_table(torch):
    condition = torch.tensor([True, False])
    return _table(torch, lambda x, y: torch.where(condition, x, y))


def inplace_add_table(torch):
    return _pairs(_tensors(torch), _operands(torch), lambda x, y: x.clone().add_(y))


def inplace_div_table(torch):
    return _pairs(_tensors(torch), _operands(torch), lambda x, y: x.clone().div_(y))


def assignment_table(torch):
    def assign(x, y):
        x = x.clone()
        x[...] = y
        return x

    return _pairs(_tensors(torch), _operands(torch), assign)


def conversion_table(torch):
    return {
        f"{a} to {b}": torch.tensor([3, 0]).to(getattr(torch, a)).to(getattr(torch, b)) for a in DTYPES for b in DTYPES
    }


@gives(
    [
        [
            [-1.5, 2.9, 0.5, 0.0],
            [-1.5, 2.9, 0.5, 0.0],
            [-1, 2, 0, 0],
            [-1, 2, 0, 0],
            [-1, 2, 0, 0],
            [-1, 2, 0, 0],
            [True, True, True, False],
        ],
        [-1, 44],
    ]
)
def conversion_of_fractions_and_signs(torch):
    x = torch.tensor([-1.5, 2.9, 0.5, 0.0])
    return [x.to(getattr(torch, name)) for name in DTYPES if name != "uint8"], torch.tensor([-1, 300]).to(torch.int8)


@gives([[1.5, 0.0], [1.5, 0.0], [1, 0], [1, 0], [1, 0], [1, 0], [1, 0], [True, False], [1, 0]])
def conversion_methods(torch):
    x = torch.tensor([1.5, 0.0])
    return [x.float(), x.double(), x.int(), x.long(), x.short(), x.char(), x.byte(), x.bool(), x.type(torch.int32)]


def concatenation_table(torch):
    return _pairs(_arrays(torch), _arrays(torch), lambda x, y: torch.cat([x, y]))


def gradient_dtype_table(torch):
    """The gradient of a leaf has the dtype of the leaf, whatever it met."""
    results = {}
    for name, other in _operands(torch).items():
        for dtype in (torch.float32, torch.float64):
            for operation in (operator.add, operator.mul, operator.truediv):
                x = leaf(torch, [1.0, 2.0], dtype)
                y = operation(x, other)
                y.sum().backward()
                results[f"{name}, {dtype.itemsize}, {operation.__name__}"] = [y.dtype, x.grad]
    return results


def reduction_table(torch):
    names = [
        "sum", "prod", "mean", "max", "min", "amax", "amin", "any", "all", "std", "var", "cumsum", "count_nonzero",
    ]  # fmt: skip
    results = {}
    for name, x in _arrays(torch).items():
        for function in names:
            arguments = (0,) if function.startswith("cum") else ()
            results[f"{name}.{function}"] = attempt(getattr(x, function), *arguments)
    return results


@gives([3.0, 3, 2, 1.5, 3.75, [1.0, 3.0], "float64"])
def reduction_with_dtype(torch):
    i, x, b = torch.tensor([1, 2]), torch.tensor([1.5, 2.5]), torch.tensor([True, True])
    return [
        i.sum(dtype=torch.float64), x.sum(dtype=torch.int64), b.sum(dtype=torch.uint8), i.mean(dtype=torch.float32),
        x.prod(dtype=torch.float64), i.cumsum(0, dtype=torch.float32), x.softmax(0, dtype=torch.float64).dtype,
    ]  # fmt: skip


def float_functions_of_integers(torch):
    results = {}
    for name, x in _tensors(torch).items():
        for function in ["exp", "sqrt", "sin", "sigmoid", "log", "tanh", "reciprocal", "rsqrt", "erf"]:
            results[f"{name}.{function}"] = attempt(getattr(x, function))
    return results


def functions_that_keep_the_dtype(torch):
    names = ["abs", "neg", "sign", "square", "floor", "round", "trunc", "relu", "bitwise_not", "logical_not", "isnan"]
    results = {}
    for name, x in _arrays(torch).items():
        for function in names:
            results[f"{name}.{function}"] = attempt(getattr(x, function))
    return results


def functions_of_floats_only(torch):
    i = torch.tensor([1, 2])
    functions = [torch.softmax, torch.log_softmax, torch.logsumexp]
    return [attempt(function, i, 0) for function in functions], attempt(i.norm), attempt(torch.nn.functional.gelu, i)


@gives(
    [
        [[2.0, 2.0], [2.0, 2.0]],
        RuntimeError,
        RuntimeError,
        RuntimeError,
        [[2.0, 2.0], [2.0, 2.0]],
        RuntimeError,
        RuntimeError,
        RuntimeError,
        [[2, 2], [2, 2]],
    ]
)
def matmul_of_different_dtypes_raises(torch):
    a, b, i = torch.ones(2, 2), torch.ones(2, 2, dtype=torch.float64), torch.ones(2, 2, dtype=torch.int64)
    return [attempt(torch.matmul, x, y) for x in (a, b, i) for y in (a, b, i)]


@gives([[45], [0], RuntimeError])
def python_number_out_of_range(torch):
    i, u = torch.tensor([1], dtype=torch.int8), torch.tensor([1], dtype=torch.uint8)
    return attempt(lambda: i + 300), attempt(lambda: u - 1), attempt(torch.full, (1,), 300, dtype=torch.int8)


@gives([[-56, 0], [99, 127], [100, -128], [-100, -128], [255, 198], [2, 144], [255, 56], -28])
def integers_wrap_around(torch):
    i, u = torch.tensor([100, -128], dtype=torch.int8), torch.tensor([1, 200], dtype=torch.uint8)
    return i + i, i - 1, i.abs(), -i, u - 2, u * 2, -u, i.sum()


@gives(
    [
        [[3.5, -3.5, -3.5, 3.5], [3, -4, -4, 3], [3, -3, -3, 3]],
        [[3.5, -3.5, -3.5, 3.5], [3.0, -4.0, -4.0, 3.0], [3.0, -3.0, -3.0, 3.0]],
        [3, -4, -4, 3],
        [1, 1, -1, -1],
        [1, -1, 1, -1],
        [1.0, 1.0, -1.0, -1.0],
    ]
)
def division_of_integers(torch):
    a, b = torch.tensor([7, -7, 7, -7]), torch.tensor([2, 2, -2, -2])
    modes = [torch.div(a, b, rounding_mode=mode) for mode in (None, "floor", "trunc")]
    floats = [torch.div(a.float(), b.float(), rounding_mode=mode) for mode in (None, "floor", "trunc")]
    return modes, floats, a // b, a % b, torch.fmod(a, b), torch.remainder(a.float(), b.float())


@gives([[inf, -inf, nan], [inf, -inf, nan], [nan, nan, nan], RuntimeError, RuntimeError])
def division_by_zero(torch):
    i, z = torch.tensor([1, -1, 0]), torch.tensor([0, 0, 0])
    x = torch.tensor([1.0, -1.0, 0.0])
    return i / z, x / 0, x % 0, attempt(lambda: i // z), attempt(lambda: i % z)


@gives([RuntimeError, [1, 8], [1.0, 4.0], [1.0, 0.5], [2, 4]])
def integer_to_a_negative_power_raises(torch):
    i = torch.tensor([1, 2])
    return attempt(lambda: i**-1), i ** torch.tensor([2, 3]), i**2.0, i.float() ** -1, 2**i


@gives([[2, 4], [1.0, 2.5], [2.0, 5.0], [3, 5]])
def clamp_promotes_like_arithmetic(torch):
    i = torch.tensor([1, 5])
    return i.clamp(2, 4), i.clamp(max=2.5), i.clamp(torch.tensor([2.0, 2.0])), i.to(torch.int8).clamp(min=3)


@gives([[7, 2], [3.0]])
def masked_fill_keeps_the_dtype(torch):
    i, m = torch.tensor([1, 2]), torch.tensor([True, False])
    return i.masked_fill(m, 7), torch.tensor([1.0]).masked_fill(torch.tensor([True]), 3)


@gives(
    [
        [
            [False, False],
            [True, False],
            [True, False],
            [False, True],
            [True, False],
            [False, True],
            [0, 1],
            [False, False],
        ],
        NotImplementedError,
        TypeError,
    ]
)
def comparisons_and_logic_are_bool(torch):
    x, i = torch.tensor([1.0, 0.0]), torch.tensor([1, 0])
    results = [x > i, x == True, x.logical_and(i), x.logical_not(), i.bool() & i.bool(), ~i.bool(), i ^ 1, x.isnan()]  # noqa: E712
    return results, attempt(lambda: x & 1), attempt(lambda: ~x)


@gives(
    [
        [True, True, False],
        [True, False, False],
        [1.0, 1.0, nan],
        RuntimeError,
        RuntimeError,
        [2, 2, 1],
        [2.5, 2.5, 0.0],
        2,
    ]
)
def bool_arithmetic(torch):
    b, c = torch.tensor([True, True, False]), torch.tensor([True, False, False])
    return [b + c, b * c, b / (c | b), attempt(lambda: b - c), attempt(lambda: -b), b + 1, b * 2.5, b.sum()]


def default_dtype_decides_the_quotient_of_integers(torch):
    i = torch.tensor([1, 2])
    torch.set_default_dtype(torch.float64)
    try:
        results = [i / 2, i * 2.5, i.exp(), i + torch.tensor(1.5), torch.tensor(True) / True, torch.arange(2.0)]
    finally:
        torch.set_default_dtype(torch.float32)
    return results


@gives(
    [
        [0, 2, 4],
        [1.0, 1.25, 1.5, 1.75],
        [0.0, 1.0, 2.0],
        [1.5, 1.5],
        [[True], [False]],
        [1.0, 2.5],
        [1, 2],
        [0.0, 0.5, 1.0],
        [[1, 0], [0, 1]],
        [False],
        "int64",
        "float32",
        [1.0],
        [1.0, 10.0, 100.0],
    ]
)
def factories_and_dtype_of_python_data(torch):
    return [
        torch.arange(0, 5, 2), torch.arange(1.0, 2.0, 0.25), torch.arange(3, dtype=torch.float64),
        torch.full((2,), 1.5), torch.tensor([[True], [False]]), torch.tensor((1, 2.5)),
        torch.tensor([torch.tensor(1), torch.tensor(2)]),
        torch.linspace(0, 1, 3, dtype=torch.float64), torch.eye(2, dtype=torch.int32), torch.zeros(1, dtype=torch.bool),
        torch.tensor(3).dtype, torch.tensor(3.0).dtype, torch.tensor([1.0], dtype=torch.float), torch.logspace(0, 2, 3),
    ]  # fmt: skip


@gives([48.0, [10.0, 12.0], [2.0, 2.0]])
def mixed_precision_expression(torch):
    x, d, i = leaf(torch, [1.0, 2.0]), leaf(torch, [3.0, 4.0], torch.float64), torch.tensor([5, 6])
    y = (x * i + d).sum() * torch.tensor(2.0)
    y.backward()
    return y, x.grad, d.grad


def softmax_and_losses_keep_float32(torch):
    x = leaf(torch, [[1.0, 2.0], [3.0, 1.0]])
    scale = torch.tensor(2.0, dtype=torch.float64)
    results = [
        (x * scale).softmax(1),
        (x / 3).logsumexp(0),
        torch.nn.functional.cross_entropy(x * scale, torch.tensor([0, 1])),
    ]
    results[2].backward()
    return results, x.grad
