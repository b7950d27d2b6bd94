"""Numbers that a dtype cannot hold: where PyTorch refuses them, where it writes infinities, and where integers wrap."""

import warnings

import numpy as np
import pytest
import torch

import minigrad

HUGE = 1e40  # in float32 an infinity
INF, NAN = float("inf"), float("nan")
FULL = [(HUGE, "float32"), (INF, "float32"), (3.4028235e38, "float32"), (3.402823e38, "float32"), (1e5, "float16"),
        (65519.0, "float16"), (65504.0, "float16"), (1e39, "bfloat16"), (HUGE, "float64"), (300, "int8"), (-129, "int8"),
        (2.9, "int8"), (300.5, "int8"), (-1, "uint8"), (-255, "uint8"), (-256, "uint8"), (256, "uint8"),
        (-1.0, "uint8"), (-0.5, "uint8"), (255.0, "uint8"), (NAN, "int64"), (INF, "int64"), (1e30, "int64"),
        (5, "bool"), (0.5, "bool"), (NAN, "float32")]  # fmt: skip
MAKERS = {
    "full": lambda m, n, d: m.full((2,), n, dtype=d),
    "full_like": lambda m, n, d: m.full_like(m.ones(2), n, dtype=d),
    "new_full": lambda m, n, d: m.ones(2).new_full((2,), n, dtype=d),
    "scalar_tensor": lambda m, n, d: m.scalar_tensor(n, dtype=d),
    "fill_": lambda m, n, d: m.ones(2, dtype=d).fill_(n),
    "setitem": lambda m, n, d: set_first(m.ones(2, dtype=d), 0, n),
    "setitem by a mask": lambda m, n, d: set_first(m.ones(2, dtype=d), m.tensor([True, False]), n),
    "setitem by indices": lambda m, n, d: set_first(m.ones(2, dtype=d), m.tensor([0]), n),
}


def set_first(x, at, n):
    x[at] = n
    return x


F = "nn.functional."
CALLS = {
    "tensor": lambda m: m.tensor([HUGE, 1.0]),
    "add": lambda m: m.ones(2) + HUGE,
    "mul_": lambda m: m.ones(2).mul_(HUGE),
    "less": lambda m: m.ones(2) < HUGE,
    "less, int8": lambda m: m.ones(2, dtype=m.int8) < 300,
    "copy_": lambda m: m.ones(2).copy_(m.tensor(HUGE, dtype=m.float64)),
    "float": lambda m: m.tensor([HUGE], dtype=m.float64).float(),
    "add alpha": lambda m: m.add(m.ones(2), m.ones(2), alpha=HUGE),
    "sub alpha": lambda m: m.sub(m.ones(2), m.ones(2), alpha=HUGE),
    "pow, int8": lambda m: m.full((2,), 3, dtype=m.int8) ** 300,
    "lerp": lambda m: m.lerp(m.zeros(2), m.ones(2), HUGE),
    "addcmul": lambda m: m.addcmul(m.ones(2), m.ones(2), m.ones(2), value=HUGE),
    "addcdiv": lambda m: m.addcdiv(m.ones(2), m.ones(2), m.ones(2), value=HUGE),
    "addmm alpha": lambda m: m.addmm(m.ones(2, 2), m.ones(2, 2), m.ones(2, 2), alpha=HUGE),
    "addmm beta": lambda m: m.addmm(m.ones(2, 2), m.ones(2, 2), m.ones(2, 2), beta=HUGE),
    "masked_fill": lambda m: m.ones(2).masked_fill(m.tensor([True, False]), HUGE),
    "masked_fill, 0-d": lambda m: m.ones(2).masked_fill(m.tensor([True, False]), m.tensor(HUGE, dtype=m.float64)),
    "masked_fill, 0-d, many": lambda m: m.ones(900).masked_fill(m.ones(900) > 0, m.tensor(HUGE, dtype=m.float64)),
    "masked_fill, 0-d ints": lambda m: m.ones(2).masked_fill(m.tensor([True, False]), m.tensor(3)),
    "where, numbers": lambda m: m.where(m.tensor([True, False]), 1.0, HUGE),
    "where, ints and numbers": lambda m: m.where(m.tensor([True, False]), 1, HUGE),
    "where, float64": lambda m: m.where(m.tensor([True, False]), m.ones(2, dtype=m.float64), HUGE),
    "uniform_": lambda m: m.ones(2).uniform_(0, HUGE),
    "uniform_, far apart": lambda m: m.ones(2).uniform_(-3e38, 3e38),
    "masked_fill_": lambda m: m.ones(2).masked_fill_(m.tensor([True, False]), HUGE),
    "masked_fill, int8": lambda m: m.ones(2, dtype=m.int8).masked_fill(m.tensor([True, False]), 300),
    "index_fill": lambda m: m.ones(2).index_fill(0, m.tensor([0]), HUGE),
    "scatter": lambda m: m.ones(2).scatter(0, m.tensor([0]), HUGE),
    "scatter, bytes": lambda m: m.ones(2, dtype=m.uint8).scatter(0, m.tensor([0]), -1),
    "scatter, bytes and a float": lambda m: m.ones(2, dtype=m.uint8).scatter(0, m.tensor([0]), -1.0),
    "scatter, bytes and a large float": lambda m: m.ones(2, dtype=m.uint8).scatter(0, m.tensor([0]), 256.0),
    "scatter, part of a number": lambda m: m.ones(2, dtype=m.uint8).scatter(0, m.tensor([0]), 2.5),
    "scatter, bytes added": lambda m: m.ones(2, dtype=m.uint8).scatter(0, m.tensor([0]), -2, reduce="add"),
    "masked_fill, bytes": lambda m: m.ones(2, dtype=m.uint8).masked_fill(m.tensor([True, False]), -1),
    "masked_fill, bytes and a float": lambda m: m.ones(2, dtype=m.uint8).masked_fill(m.tensor([True, False]), -1.0),
    "index_fill, bytes and a float": lambda m: m.ones(2, dtype=m.uint8).index_fill(0, m.tensor([0]), -1.0),
    "tensor, bytes": lambda m: m.tensor([-1.0, 3.0], dtype=m.uint8),
    "where, bytes": lambda m: m.where(m.tensor([True, False]), m.ones(2, dtype=m.uint8), -1),
    "where, bytes second": lambda m: m.where(m.tensor([True, False]), -1, m.ones(2, dtype=m.uint8)),
    "where, bytes and a large number": lambda m: m.where(m.tensor([True, False]), m.ones(2, dtype=m.uint8), 256),
    "where, bytes and a float": lambda m: m.where(m.tensor([True, False]), m.ones(2, dtype=m.uint8), -1.0),
    "where, bytes and a truth": lambda m: m.where(m.tensor([True, False]), m.ones(2, dtype=m.uint8), False),
    "pad, bytes": lambda m: m.nn.functional.pad(m.ones(2, dtype=m.uint8), (1, 1), value=-1),
    "scatter, int8": lambda m: m.ones(2, dtype=m.int8).scatter(0, m.tensor([0]), 300),
    "fill_diagonal_": lambda m: m.ones(2, 2).fill_diagonal_(HUGE),
    "clamp": lambda m: m.ones(2).clamp(max=HUGE),
    "clamp both": lambda m: m.ones(2).clamp(-HUGE, HUGE),
    "clamp_min": lambda m: m.clamp_min(m.ones(2), -HUGE),
    "clamp_max": lambda m: m.clamp_max(m.ones(2), HUGE),
    "clamp_max, inf": lambda m: m.clamp_max(m.ones(2), INF),
    "clamp_min, int8": lambda m: m.clamp_min(m.ones(2, dtype=m.int8), -300),
    "where": lambda m: m.where(m.tensor([True, False]), m.ones(2), HUGE),
    "where, int8": lambda m: m.where(m.tensor([True, False]), m.ones(2, dtype=m.int8), 300),
    "pad": lambda m: m.nn.functional.pad(m.ones(2), (1, 1), value=HUGE),
    "pad, int8": lambda m: m.nn.functional.pad(m.ones(2, dtype=m.int8), (1, 1), value=300),
    "pad, part of a number": lambda m: m.nn.functional.pad(m.ones(2, dtype=m.int64), (1, 1), value=2.5),
    "linspace": lambda m: m.linspace(0, HUGE, 3),
    "linspace, int8": lambda m: m.linspace(0, 300, 3, dtype=m.int8),
    "linspace, part of a number": lambda m: m.linspace(0, 127.9, 3, dtype=m.int8),
    "nan_to_num": lambda m: m.nan_to_num(m.tensor([NAN, 1.0]), nan=HUGE),
    "isclose": lambda m: m.isclose(m.ones(2), m.ones(2), rtol=HUGE),
    **{
        name: lambda m, name=name, n=n: getattr(m.nn.functional, name)(-m.ones(2), *n)
        for name, n in {"threshold": (2.0, HUGE), "hardtanh": (-HUGE, HUGE), "leaky_relu": (HUGE,), "elu": (HUGE,),
                        "celu": (HUGE,), "softplus": (HUGE,), "hardshrink": (HUGE,), "softshrink": (HUGE,)}.items()
    },
}  # fmt: skip


def outcome(f, module):
    """Return the numbers, or the kind of the error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = f(module)
        return str(found.dtype).split(".")[-1], found.double().numpy().tolist()
    except (RuntimeError, TypeError, ValueError, OverflowError) as e:
        return next(kind for kind in type(e).__mro__ if kind.__module__ == "builtins")


@pytest.mark.parametrize("name", CALLS)
def test_numbers_out_of_range_are_refused_where_torch_does(name):
    np.testing.assert_equal(outcome(CALLS[name], minigrad), outcome(CALLS[name], torch))


SAME = ("full", "full_like", "new_full", "fill_")  # the others of PyTorch write infinities into half precision


@pytest.mark.parametrize(("number", "dtype"), FULL)
@pytest.mark.parametrize("name", MAKERS)
def test_writing_a_number_refuses_what_the_dtype_cannot_hold(name, number, dtype):
    if name in SAME or "float16" not in dtype:
        ours, theirs = (outcome(lambda m: MAKERS[name](m, number, getattr(m, dtype)), m) for m in (minigrad, torch))
        np.testing.assert_equal(ours, theirs)
