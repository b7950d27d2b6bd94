"""Corners of operations that no sample meets: empty and negative indices, tensors without dimensions, mixed dtypes.

Each line runs in PyTorch and here; both give the same values, dtypes and shapes, or an error of the same type.
"""

import numpy as np
import pytest
import torch

import minigrad
from tests.parity.in_both import same_in_both

EXPRESSIONS = """
m.gather(m.rand(3, 4), 0, m.empty(0, dtype=m.uint8))
m.gather(m.rand(3, 4), 0, m.zeros(0, 4, dtype=m.uint8))
m.gather(m.rand(3), 0, m.zeros(2, dtype=m.uint8))
m.take_along_dim(R(3, 4), m.tensor([[-1, 0]]), 1)
m.take_along_dim(R(3, 4), m.tensor([[-4, 3]]), 1)
m.take_along_dim(R(3, 4), m.tensor([-1, 0]))
m.take_along_dim(R(3, 4), m.tensor([[0, 5, 11]]))
m.take_along_dim(R(3, 4), m.tensor([1.0, 0]))
m.gather(R(3, 4), 1, m.tensor([[-1, 0]]))
m.tensor(1.0).scatter_add(0, m.tensor([0]), m.tensor([2.0]))
m.tensor(1.0).scatter_add(0, m.tensor(0), m.tensor(2.0))
m.tensor(1.0).scatter(0, m.tensor([0]), 2.0)
m.tensor(1.0).scatter(0, m.tensor([0, 0]), m.tensor([2.0, 3.0]))
m.tensor(1.0).gather(0, m.tensor([0, 0]))
m.tensor(1.0).gather(0, m.tensor(0))
m.tensor(1.0).index_fill(0, m.tensor([0]), 2.0)
m.tensor(1.0).index_fill(0, m.tensor([0, 0]), 2.0)
m.tensor(1.0).index_fill(-1, m.tensor(0), m.tensor(2.0))
m.tensor(1.0).index_copy(0, m.tensor([0]), m.tensor([2.0]))
m.tensor(1.0).index_copy(0, m.tensor(0), m.tensor(2.0))
m.tensor(1.0).index_add(0, m.tensor([0]), m.tensor([2.0]))
m.tensor(1.0).index_add(0, m.tensor([0]), m.tensor(2.0))
m.tensor(1.0).index_add(0, m.tensor(0), m.tensor(2.0))
m.tensor([1.0]).index_add(0, m.tensor(0), m.tensor(2.0))
m.tensor([1.0]).index_add(0, m.tensor(0), m.tensor([2.0]))
m.tensor(1.0).index_select(0, m.tensor([0, 0]))
m.tensor(1.0).index_select(0, m.tensor(0))
m.tensor(1.0).clone().scatter_add_(0, m.tensor([0]), m.tensor([2.0]))
m.tensor(1.0).clone().index_fill_(0, m.tensor([0]), 2.0)
m.tensor(1.0).clone().index_copy_(0, m.tensor([0]), m.tensor([2.0]))
m.tensor(1.0).clone().index_add_(0, m.tensor([0]), m.tensor(2.0))
F.batch_norm(m.zeros(0), None, None, training=True)
F.batch_norm(m.zeros(0), m.zeros(0), m.ones(0))
F.batch_norm(m.zeros(0, 3), m.zeros(3), m.ones(3), training=True)
F.pad(R(1, 5), (-1, 2), "replicate")
F.pad(R(1, 5), (-1, -1), "replicate")
F.pad(R(1, 1, 3, 4), (-1, 1, 1, -1), "replicate")
F.pad(R(1, 5), (2, -2), "reflect")
F.pad(R(1, 1, 3, 4), (-1, 1, 1, -1), "reflect")
F.pad(R(1, 5), (-2, 2), "circular")
F.pad(R(1, 5), (1, -2), "circular")
F.pad(R(1, 5), (-2, -2), "circular")
F.pad(R(1, 1, 3, 4), (-1, 1, 1, -1), "circular")
m.tensordot(R(2, 3), R(1, 4), ([1], [0]))
m.tensordot(R(2, 1), R(3, 4), ([1], [0]))
m.tensordot(R(2, 1, 3), R(3, 2), ([1], [0]))
m.tensordot(R(2, 3), R(2, 4), ([1], [0]))
m.as_strided(R(12)[2:], (2, 2), (1, 2))
m.as_strided(R(12)[2:], (2, 2), (1, 2), 1)
m.as_strided(R(3, 4)[:, 1:3], (2, 3), (1, 4))
m.as_strided(R(3, 4)[:, 1:3], (12,), (1,), 0)
m.as_strided(R(12)[2:5], (4,), (2,))
m.addmv(I(2), I(2, 2), I(2), beta=2, alpha=3)
m.addmv(I(2), I(2, 2), I(2), beta=2.0, alpha=3.0)
m.addmm(I(2), I(2, 2), I(2, 2), beta=2.0)
m.addbmm(I(2), I(3, 2, 2), I(3, 2, 2), alpha=2, beta=3)
m.addbmm(I(2), I(3, 2, 2), I(3, 2, 2), alpha=2.0, beta=3.0)
m.baddbmm(I(2), I(3, 2, 2), I(3, 2, 2), alpha=2.0)
m.index_put(m.zeros(3), (m.tensor([True, False]),), m.tensor(1.0))
m.index_put(m.zeros(3, 2), (m.tensor([True, False, True]),), m.ones(3, 2))
m.index_put(m.zeros(3, 2), (m.ones(2, 3, dtype=m.bool),), m.tensor(1.0))
m.searchsorted(R(3), m.tensor([2.0]), sorter=m.tensor([0, 1]))
m.searchsorted(R(1, 3), m.tensor([[2.0]]), sorter=m.tensor([0, 1, 2]))
m.ones(3).masked_fill(m.ones(3).bool(), 1j)
m.ones(3).masked_fill_(m.ones(3).bool(), 1j)
m.ones(3).index_fill(0, m.tensor([0]), 1j)
m.narrow(R(3), 0, 0.5, 1)
m.narrow(R(3), 0, m.tensor([0]), 1)
m.narrow(R(3), 0, m.tensor(1), 1)
m.linspace(m.ones(2), m.ones(2), 1)
m.tensor(1.0).roll(0, 0)
m.tensor(1.0).roll(1)
F.triplet_margin_loss(R(2), R(2), R(2), margin=0.0)
F.max_pool1d(m.ones(0, 10), 1)
F.avg_pool2d(m.ones(0, 3, 4), 1)
F.max_pool2d(m.ones(0, 2, 3, 4), 1)
F.conv1d(I(1, 1, 3), I(1, 1, 2), R(1))
F.conv1d(I(1, 1, 3), I(1, 1, 2), I(1))
F.conv2d(I(1, 1, 3, 3), I(1, 1, 2, 2), R(1))
F.conv1d(R(1, 1, 3), R(1, 1, 2), I(1))
F.conv_transpose1d(I(1, 1, 3), I(1, 1, 2), R(1))
F.linear(I(2, 3), I(4, 3), R(4))
F.linear(R(2, 3), R(4, 3), I(4))
F.linear(R(2, 3), R(4, 3), R(4).double())
F.bilinear(R(2, 3), R(2, 4), R(5, 3, 4), R(5).double())
F.layer_norm(R(2, 3), (3,), R(3).double())
F.layer_norm(R(2, 3).double(), (3,), R(3))
F.layer_norm(R(2, 3).bfloat16(), (3,), m.ones(3))
F.batch_norm(R(4, 3).bfloat16(), m.zeros(3), m.ones(3), m.ones(3))
F.group_norm(R(2, 4), 2, R(4).double())
F.batch_norm(R(4, 3), None, None, R(3).double(), training=True)
""".strip().splitlines()


def outcome(m, expression):
    """Shape, dtype, values and strides; the type of an error."""
    makers = {
        "R": lambda *shape: m.arange(float(np.prod(shape))).reshape(shape),
        "I": lambda *shape: m.arange(int(np.prod(shape))).reshape(shape) - 1,
    }
    try:
        out = eval(expression, {"m": m, "F": m.nn.functional, **makers})
    except Exception as e:
        return next(kind.__name__ for kind in type(e).__mro__ if kind.__module__ == "builtins")
    return tuple(out.shape), str(out.dtype).split(".")[-1], out.double().tolist(), out.stride()


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_values_and_errors_are_torchs(expression):
    assert outcome(minigrad, expression) == outcome(torch, expression)


@pytest.mark.parametrize(
    "expression",
    [
        "m.take_along_dim(R(3, 4), m.tensor([[4, 0]]), 1)",  # PyTorch takes the rest of a division by the size
        "F.pad(R(1, 5), (-5, 1), 'circular')",  # PyTorch shows memory that was never written
        "m.addmv(I(2), I(2, 2), I(2), beta=2.5)",  # PyTorch takes 2, but in addr, which it refuses
        "m.baddbmm(I(2), I(3, 2, 2), I(3, 2, 2), alpha=1.5)",
    ],
)
def test_where_torch_is_silently_wrong_it_is_refused(expression):
    assert isinstance(outcome(torch, expression), tuple)
    assert outcome(minigrad, expression) == "RuntimeError"


@pytest.mark.parametrize("mode", ["replicate", "circular", "reflect"])
@same_in_both
def test_gradients_of_negative_padding_are_torchs(m, mode):
    x = m.arange(12.0).reshape(1, 1, 3, 4).requires_grad_()
    y = m.nn.functional.pad(x, (-1, 2, 1, -1), mode)
    (y * m.arange(float(y.numel())).reshape(y.shape)).sum().backward()
    return x.grad.tolist()


@same_in_both
def test_gradients_of_tensordot_over_a_size_of_one_are_torchs(m):
    x, y = m.ones(2, 1, requires_grad=True), m.arange(12.0).reshape(3, 4).requires_grad_()
    m.tensordot(x, y, ([1], [0])).pow(2).sum().backward()
    return (x.grad.tolist(), y.grad.tolist())
