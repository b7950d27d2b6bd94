"""Graphs beside PyTorch's: names of nodes, edges of operators, saved tensors and their order."""

import re

import numpy as np
import pytest
import torch

import minigrad
from minigrad.ops.base.registry import TABLE
from tests.parity.in_both import same_in_both
from tests.parity.test_table import SMOOTH, peer
from tests.table import call, floats

torch.backends.opt_einsum.enabled = False  # where it is installed, it chooses the order of products

# ---------------------------------------------------------------------- operators
REFLECTED = [
    "2 * b", "2 + b", "2 - b", "2 / b", "2 ** b", "np.float64(2) * b", "np.float64(2) - b", "np.float64(2) ** b", "True * b",
    "b * 2", "b + 2", "b - 2", "b / 2", "b ** 2", "b % 2", "c * b", "c + b", "c - b", "c / b", "c ** b", "c % b", "b * c",
    "b - c", "b / c", "b % c", "M @ b", "M @ c", "M @ M", "b @ b", "-b", "abs(b)", "b.clone().mul_(2)", "b.clone().pow_(2)",
    "i * b", "b * i", "m.where(b > 2, b, 0.0)", "m.lerp(c, b, 0.5)", "m.lerp(c, b, b)", "b.clamp(min=2)",
    "b.clamp(0, 5)", "b.masked_fill(b > 2, 0.0)",
]  # fmt: skip


@pytest.mark.parametrize("expression", REFLECTED)
@same_in_both
def test_operators_have_torchs_node_its_edges_and_what_it_saves(m, expression):
    b, c = (m.tensor(v, dtype=m.float64, requires_grad=v[0] < 3) for v in ([2.0, 3.0], [3.0, 4.0]))
    M, i = m.tensor([[2.0, 3.0], [1.0, 5.0]], dtype=m.float64, requires_grad=True), m.tensor([1, 2])
    packed, out = packing(m, lambda: eval(expression, {"m": m, "np": np, "b": b, "c": c, "M": M, "i": i}))
    return [name(out), following(out), packed]


def test_the_reflected_operators_that_torch_gives_no_derivative_have_one_here():
    x = torch.ones(2, requires_grad=True)
    assert (2 % x).grad_fn.name() == (2 // x).grad_fn.name() == "torch::autograd::NotImplemented"
    x = minigrad.ones(2, requires_grad=True)
    assert [name(2 % x), name(2 // x)] == ["RemainderBackward1", "FloorDivideBackward0"]


def test_a_number_is_no_input_of_a_power_also_after_backward():
    for m in (torch, minigrad):
        x = m.ones(2, requires_grad=True)
        y = x**2
        assert y.grad_fn(m.ones(2)).tolist() == [2, 2]
        y.sum().backward()
        assert [name(y), len(y.grad_fn.next_functions)] == ["PowBackward0", 1]


# ---------------------------------------------------------------------- names
COMPOSED = "PyTorch computes it from several operations, the last of which only reshapes"
ALIKE = "a 0-d tensor is computed as one of one element, and reshaped"
SHAPED = "PyTorch has several nodes for one shape: of a copy, of one and of several dimensions, of none"
SEVERAL = "made of other operations here, of which the last has its own name"
DIVIDED = "quotients that are rounded have operations of their own"
OTHERWISE = {
    COMPOSED: "adaptive_avg_pool1d adaptive_max_pool1d bilinear cdist "
    "einsum inner tensordot instance_norm matmul nanquantile quantile "
    "conv1d conv2d conv3d conv_transpose1d conv_transpose2d "
    "conv_transpose3d linalg.cond linalg.matrix_norm linalg.norm meshgrid repeat_interleave sum_to_size combinations",
    ALIKE: "cummax cummin cumprod cumsum logcumsumexp msort scatter_add sort moveaxis movedim",
    SHAPED: "atleast_2d atleast_3d flatten reshape reshape_as squeeze broadcast_tensors",
    SEVERAL: "cross_entropy cumulative_trapezoid gaussian_nll_loss huber_loss linalg.cholesky linalg.lstsq "
    "linalg.solve_triangular trapezoid trapz matrix_power mse_loss multilabel_soft_margin_loss pad "
    "polygamma smooth_l1_loss svd",
    "PyTorch chooses a kernel by the processor": "scaled_dot_product_attention",
    DIVIDED: "div divide sub subtract",
}
WHY = {n: reason for reason, names in OTHERWISE.items() for n in names.split()}


@pytest.mark.parametrize("operation", SMOOTH)
def test_the_last_node_of_every_operation_has_torchs_name(operation):
    differ = []
    for sample in TABLE[operation].samples:
        theirs, ours = (list(map(name, results(m, operation, sample)[1])) for m in (torch, minigrad))
        if theirs != ours:
            differ.append(f"{operation}({sample}): {ours}, torch {theirs}")
    if operation in WHY:
        assert differ, f"{operation} is named as in PyTorch: take it out of the exceptions ({WHY[operation]})"
    else:
        assert not differ, "\n".join(differ)


MODULES = [
    ("BatchNorm1d(3)", (4, 3)), ("BatchNorm2d(3)", (2, 3, 4, 4)), ("BatchNorm1d(3).eval()", (4, 3)),
    ("LayerNorm(3)", (4, 3)), ("GroupNorm(3, 6)", (2, 6, 4)), ("Linear(3, 2)", (4, 3)),
    ("Linear(3, 2, bias=False)", (4, 3)), ("Conv2d(3, 2, 2)", (1, 3, 4, 4)), ("ReLU()", (3,)), ("ELU()", (3,)),
    ("CELU()", (3,)), ("SELU()", (3,)), ("GELU()", (3,)), ("SiLU()", (3,)), ("Tanh()", (3,)), ("Sigmoid()", (3,)),
    ("Softmax(0)", (3,)), ("LogSoftmax(0)", (3,)), ("PReLU()", (3,)), ("Hardtanh()", (3,)), ("ReLU6()", (3,)),
    ("Softplus()", (3,)), ("Softsign()", (3,)), ("LeakyReLU()", (3,)), ("Mish()", (3,)), ("GLU(0)", (4,)),
    ("LogSigmoid()", (3,)), ("MaxPool2d(2)", (1, 3, 4, 4)), ("AvgPool2d(2)", (1, 3, 4, 4)),
    ("AdaptiveAvgPool2d(2)", (1, 3, 4, 4)), ("Flatten()", (2, 3, 4)), ("Unflatten(1, (3, 2))", (2, 6)),
    ("PixelShuffle(2)", (1, 4, 2, 2)), ("Upsample(scale_factor=2)", (1, 2, 3, 3)), ("ReflectionPad2d(1)", (1, 2, 3, 3)),
    ("ReplicationPad1d(1)", (1, 2, 3)), ("ZeroPad2d(1)", (1, 2, 3, 3)),
]  # fmt: skip


@pytest.mark.parametrize("module, shape", MODULES)
def test_the_last_node_of_a_module_has_torchs_name(module, shape):
    theirs, ours = (
        name(eval(f"nn.{module}", {"nn": m.nn})(m.rand(*shape, requires_grad=True))) for m in (torch, minigrad)
    )
    assert ours == theirs


LOSSES = "MSELoss L1Loss SmoothL1Loss HuberLoss BCELoss BCEWithLogitsLoss KLDivLoss SoftMarginLoss".split()


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_last_node_of_a_loss_has_torchs_name(loss, reduction):
    theirs, ours = (
        name(getattr(m.nn, loss)(reduction=reduction)(m.full((2, 3), 0.25, requires_grad=True), m.full((2, 3), 0.5)))
        for m in (torch, minigrad)
    )
    assert ours == theirs


def test_an_operation_that_returns_its_input_does_not_rename_what_made_it():
    x = minigrad.ones(2, 3, requires_grad=True) * 2
    assert name(minigrad.tile(x, (1,))) != name(x) == "MulBackward0"
    assert name(minigrad.nn.functional.dropout(x, training=False)) == "MulBackward0"


# ---------------------------------------------------------------------- what hooks on saved tensors see
PRODUCTS = "made of a product here, whose second operand is saved first"
OTHER_ORDER = {
    PRODUCTS: "addbmm addmm addr baddbmm matrix_power inner vdot",
    "made of other operations here": "binary_cross_entropy_with_logits cdist hinge_embedding_loss kl_div nan_to_num "
    "nanmean nansum poisson_nll_loss soft_margin_loss einsum",
    "signs of vectors are PyTorch's own": "linalg.svd svd",
}
ORDER = {n: reason for reason, names in OTHER_ORDER.items() for n in names.split()}


@pytest.mark.parametrize("operation", SMOOTH)
def test_tensors_are_saved_in_torchs_order(operation):
    """The order is compared where both save the same tensors; some formulas here need fewer."""
    differ = []
    for sample in TABLE[operation].samples:
        theirs, ours = (results(m, operation, sample)[0] for m in (torch, minigrad))
        if theirs != ours and sorted(map(str, theirs)) == sorted(map(str, ours)):
            differ.append(f"{operation}({sample}): {ours}, torch {theirs}")
    if operation in ORDER:
        assert differ, f"{operation} saves in PyTorch's order: take it out of the exceptions ({ORDER[operation]})"
    else:
        assert not differ, "\n".join(differ)


# ---------------------------------------------------------------------- helpers
def results(m, operation, sample):
    """Return the tensors that a sample saves, and its results that can have gradients."""
    entry, function = TABLE[operation], TABLE[operation].function if m is minigrad else peer(TABLE[operation])
    leaves = [leaf.detach().clone().requires_grad_() for leaf in call(m, function, entry, sample)[1]]
    packed, outs = packing(m, lambda: call(m, function, entry, sample, leaves=leaves)[0])
    return packed, floats(outs)


def packing(m, f):
    """Return the tensors saved while f runs, and its result."""
    packed = []

    def pack(t):
        packed.append((tuple(t.shape), np.round(t.detach().double().reshape(-1).tolist(), 3).tolist()[:4]))
        return t

    with m.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        out = f()
    return packed, out


def name(t):
    return t.grad_fn and re.sub(".*::", "", t.grad_fn.name())


def following(t):
    return [(f and re.sub(".*::", "", f.name()), i) for f, i in t.grad_fn.next_functions]
