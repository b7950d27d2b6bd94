"""minigrad.compile with products of batches of matrices: matmul of any ranks, einsum, attention, gradients of each sample.

Most programs run as plain Python (interpreted.py), for waiting for Numba would take minutes.
"""

import math

import numpy as np
import pytest

import minigrad as torch
from minigrad import func
from minigrad.compile.api import compile
from minigrad.func.tree import flatten
from tests.floats import some

from .both import T, function_of, same
from .interpreted import either, interpreted

__all__ = ["either", "interpreted"]
F = torch.nn.functional


def agree(f, *args, tolerance=1e-4):
    """Check that f gives the same compiled, without a call of an operation, and eager."""
    c = compile(f, fullgraph=True)
    for a, b in zip(flatten(c(*args))[0], flatten(f(*args))[0], strict=True):
        same(a, b, tolerance)
    assert "no rule" not in c.explain()


def with_gradients(f):
    """Return f's result, and the gradients of a number made of it."""

    def g(*args):
        out, pull = func.vjp(f, *args)
        return out, pull(out.cos())

    return g


# ---------------------------------------------------------------------- products
SHAPES = [
    ((2, 3, 4), (2, 4, 5)), ((2, 3, 4), (4, 5)), ((3, 4), (2, 4, 5)), ((2, 1, 3, 4), (5, 4, 3)), ((1, 3, 4), (2, 4, 5)),
    ((2, 3, 4), (1, 4, 5)), ((1, 3, 4), (1, 4, 5)), ((2, 6, 3, 4), (2, 6, 4, 5)), ((2, 6, 3, 4), (4, 5)),
    ((4,), (2, 4, 5)), ((2, 3, 4), (4,)), ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 3)),
    ((2, 3, 1), (2, 1, 5)), ((3, 1), (1, 5)), ((2, 1, 4), (2, 4, 1)), ((3, 4), (2, 4, 1)), ((2, 1, 4), (4, 5)),
    ((2, 1, 4), (2, 4, 5)), ((2, 3, 4), (2, 4, 1)), ((1, 1, 4), (1, 4, 1)), ((1, 1, 1), (2, 1, 1)), ((2, 1, 6), (2, 6, 1)),
    ((0, 3, 4), (0, 4, 5)), ((0, 3, 4), (4, 5)), ((2, 0, 4), (2, 4, 5)), ((2, 3, 0), (2, 0, 5)), ((2, 3, 4), (2, 4, 0)),
    ((3, 0), (2, 0, 5)), ((3, 4), (0, 4, 5)), ((3, 4), (0, 4, 1)), ((0, 1, 4), (0, 4, 1)),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["f4", pytest.param("f8", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("of_x", "of_y"), SHAPES)
def test_products_of_every_shape(of_x, of_y, dtype, interpreted):
    agree(with_gradients(torch.matmul), T(*of_x, dtype=dtype), T(*of_y, dtype=dtype))


@pytest.mark.parametrize("shapes", some(SHAPES[:24:3], 4))
def test_products_compiled_by_numba(shapes):
    agree(with_gradients(lambda x, y: x @ y), *[T(*shape) for shape in shapes])


LAYOUTS = {
    "transposed": (lambda: T(2, 4, 3).mT, lambda: T(2, 5, 4).mT),
    "transposed and shared": (lambda: T(2, 4, 3).mT, lambda: T(5, 4).T),
    "heads": (lambda: T(2, 3, 6, 4).transpose(1, 2), lambda: T(2, 5, 6, 4).permute(0, 2, 3, 1)),
    "strided": (lambda: T(4, 6, 6)[::2, ::2, :4], lambda: T(2, 4, 10)[:, :, ::2]),
    "batch last": (lambda: T(3, 4, 2).movedim(-1, 0), lambda: T(4, 5, 2).movedim(-1, 0)),
    "expanded": (lambda: T(3, 4).expand(2, 3, 4), lambda: T(4, 5).expand(2, 4, 5)),
    "expanded in part": (lambda: T(6, 1, 3, 4).expand(6, 2, 3, 4), lambda: T(4, 5).expand(2, 4, 5)),
    "columns": (lambda: T(2, 3, 4).permute(2, 1, 0), lambda: T(4, 2, 3)),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts_of_operands(name, interpreted):
    x, y = (make() for make in LAYOUTS[name])
    agree(lambda x, y: x @ y, x, y)
    agree(lambda x, y: (x * 2) @ y.sin(), x, y)


@pytest.mark.parametrize("f", [
    lambda x: x @ x.mT, lambda x: x.mT @ x, lambda x: x[0].expand(2, 3, 4) @ x.mT, lambda x: x[0:1, :2, 1:3] @ x[:, 1:3, 2:4],
    lambda x: x.transpose(0, 1) @ x.permute(1, 2, 0), lambda x: x[:, None] @ x.mT[None], lambda x: x.sin().mT @ x[0],
    lambda x: x.reshape(6, 4) @ x.mT, lambda x: x[:, :, None] @ x[:, :, :, None], lambda x: x[0].mT @ x[:, :, :1],
])  # fmt: skip
def test_views_of_operands(f, interpreted):
    agree(f, T(2, 3, 4))


def test_numbers_that_are_none_spread_as_in_eager_code(interpreted):
    x, y = T(3, 2, 4), T(3, 4, 2)
    x[0, 0, 0], x[1, 1, 1], y[2, 3, 1] = math.nan, math.inf, -math.inf
    for f in (torch.bmm, lambda x, y: x @ y[0], lambda x, y: x[:, :, :1] @ y[:, :1]):
        np.testing.assert_allclose(compile(f)(x, y).numpy(), f(x, y).numpy(), rtol=1e-5)


def test_relatives_of_matmul(interpreted):
    x, y, b = T(2, 3, 4), T(2, 4, 5), T(3, 5)
    agree(with_gradients(torch.bmm), x, y)
    agree(with_gradients(lambda b, x, y: torch.baddbmm(b, x, y, beta=0.5, alpha=2.0)), b, x, y)
    agree(with_gradients(torch.addbmm), b, x, y)
    agree(with_gradients(F.linear), x, T(6, 4), T(6))
    agree(with_gradients(F.linear), T(2, 2, 3, 4), T(6, 4), T(6))
    agree(with_gradients(F.linear), T(4), T(6, 4), T(6))
    agree(with_gradients(F.linear), T(0, 3, 4), T(6, 4), T(6))


@pytest.mark.parametrize(("equation", "shapes"), [
    ("ij,jk->ik", ((2, 3), (3, 4))), ("bij,bjk->bik", ((2, 3, 4), (2, 4, 5))), ("i,j->ij", ((2,), (3,))),
    ("bthd,bshd->bhts", ((2, 3, 4, 5), (2, 6, 4, 5))), ("...ij,...jk->...ik", ((2, 3, 4), (4, 5))),
    ("bi,bi->b", ((3, 4), (3, 4))), ("ijk,kjl->il", ((2, 3, 4), (4, 3, 5))), ("ij,jk,kl->li", ((2, 3), (3, 4), (4, 2))),
    ("ij,ij->", ((2, 3), (2, 3))), ("bi,bj->bij", ((2, 3), (2, 4))), ("ij,ij->ij", ((2, 3), (2, 3))),
    (",i->i", ((), (3,))), ("bij,bjk->bik", ((0, 3, 4), (0, 4, 5))),
])  # fmt: skip
def test_einsum(equation, shapes, interpreted):
    operands = [T(*s) for s in shapes]
    agree(with_gradients(lambda *xs: torch.einsum(equation, *xs)), *operands)


@pytest.mark.parametrize("dims", [(0, 0), (0, None), (None, 0), (1, 1), (2, 0)])
def test_products_under_vmap(dims, interpreted):
    shapes = {None: (3, 3), 0: (3, 3, 3), 1: (3, 3, 3), 2: (3, 3, 3)}
    x, y = (T(*shapes[d]) for d in dims)
    agree(with_gradients(func.vmap(torch.matmul, dims)), x, y)
    agree(with_gradients(func.vmap(lambda a, b: a.sum(0) @ b, dims)), x, y)
    agree(with_gradients(func.vmap(lambda a, b: a @ b.sum(1), dims)), x, y)
    agree(with_gradients(func.vmap(lambda a, b: a.sum(0) @ b.sum(1), dims)), x, y)


# ---------------------------------------------------------------------- attention
def attention(x, of_in, of_out, heads=2):
    """Self-attention of several heads."""
    batch, length, width = x.shape
    q, k, v = F.linear(x, of_in).reshape(batch, length, 3, heads, width // heads).permute(2, 0, 3, 1, 4).unbind(0)
    found = F.scaled_dot_product_attention(q, k, v)
    return F.linear(found.transpose(1, 2).reshape(batch, length, width), of_out)


def test_attention(interpreted):
    args = T(2, 5, 6), T(18, 6), T(6, 6)
    agree(with_gradients(attention), *args)
    agree(func.vmap(func.grad(lambda x, a, b: (attention(x[None], a, b) ** 2).sum(), (1, 2)), (0, None, None)), *args)


@pytest.mark.parametrize(
    "options", [{}, {"is_causal": True}, {"scale": 0.3}, {"attn_mask": torch.tensor([[True, False]])}]
)
def test_attention_with_masks(options, interpreted):
    agree(
        with_gradients(lambda *qkv: F.scaled_dot_product_attention(*qkv, **options)),
        T(2, 3, 2, 4),
        T(2, 3, 2, 4),
        T(2, 3, 2, 5),
    )


@pytest.mark.slow
def test_attention_compiled_by_numba():
    def f(q, k, v):
        return torch.softmax(q @ k.mT / 2.0, -1) @ v

    agree(with_gradients(f), T(2, 3, 5, 4), T(2, 3, 6, 4), T(2, 3, 6, 4))


# ---------------------------------------------------------------------- gradients of each sample
LOSSES = {
    "cross_entropy": lambda out, label: F.cross_entropy(out, label),
    "sum": lambda out, label: F.cross_entropy(out, label, reduction="sum", ignore_index=1),
    "ignore": lambda out, label: F.cross_entropy(out, label, ignore_index=1),
    "nll": lambda out, label: F.nll_loss(F.log_softmax(out, -1), label),
    "mse": lambda out, label: F.mse_loss(out, label.float().unsqueeze(-1).expand(out.shape)),
}


def network(sizes):
    return [p for n, m in zip(sizes, sizes[1:]) for p in (T(m, n) * 0.5, T(m))]


def forward(parameters, x):
    for k in range(0, len(parameters), 2):
        x = F.linear(x, *parameters[k : k + 2])
        x = x.tanh() if k + 2 < len(parameters) else x
    return x


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("sizes", [(4, 3), (4, 5, 3), (4, 5, 6, 3)])
def test_gradients_of_each_sample(sizes, name, alone, interpreted):
    def loss(parameters, x, label):
        x, label = (x, label) if alone else (x[None], label[None])
        return LOSSES[name](forward(parameters, x), label)

    f, labels = func.vmap(func.grad_and_value(loss), in_dims=(None, 0, 0)), torch.tensor([0, 1, 2, 1, 0, 2, 2])
    for n in (7, 1, 0) if name != "ignore" else (7, 1):
        agree(f, network(sizes), T(n, sizes[0]), labels[:n])
    many = func.vmap(f, in_dims=(None, 0, 0))
    agree(many, network(sizes), T(2, 3, sizes[0]), labels[:6].reshape(2, 3))


def test_gradients_of_each_sample_are_one_function_for_every_batch():
    def loss(parameters, image, label):
        return F.cross_entropy(forward(parameters, image[None]), label[None])

    f, parameters = func.vmap(func.grad(loss), in_dims=(None, 0, 0)), network((16, 12, 10))
    c, texts = compile(f, fullgraph=True), set()
    for n in (24, 40):
        for a, b in zip(c(parameters, x := T(n, 16), labels := torch.arange(n) % 10), f(parameters, x, labels)):
            same(a, b, 1e-4)
        texts.add(c.source())
    assert len(texts) == 1 and "no rule" not in c.explain()
    if not x.is_cuda:  # a kernel raises nothing
        with pytest.raises(IndexError, match="out of bounds"):
            c(parameters, T(24, 16), torch.arange(24))


@pytest.mark.parametrize("transform", [func.jacrev, func.jacfwd, func.hessian])
def test_jacobians_of_networks(transform, interpreted):
    parameters = network((3, 4, 2))
    agree(lambda x, *ps: transform(lambda x: forward(ps, x))(x), T(3), *parameters)
    agree(
        lambda x, *ps: transform(lambda x: F.cross_entropy(forward(ps, x), torch.tensor([0, 1])))(x),
        T(2, 3),
        *parameters,
    )
    agree(
        lambda w, x, *ps: transform(lambda w: (forward([w, *ps], x) ** 2).sum())(w), T(4, 3), T(2, 3), *parameters[1:]
    )


def test_a_product_reads_an_operand_before_it_is_written_to(interpreted):
    def f(p, w):
        out = p @ w.sin()
        p.sub_(w.sin().mT)
        return out, p

    c, w, p = compile(f, fullgraph=True), T(2, 4, 3), T(2, 3, 4)
    q = p.clone()
    for _ in range(2):
        same(c(p, w)[0], f(q, w)[0])
        same(p, q)


def test_operands_that_overlap(interpreted):
    x = T(3, 4, 4)
    agree(lambda x, y: x @ y, x, x)
    agree(lambda x, y: x @ y, x[:2], x[1:])
    agree(lambda x, y: x @ y, x, x.mT)


def test_parts_filled_in_by_index(interpreted):
    for f in (
        lambda x: x[None, 0:1] * 2,
        lambda x: x[0, 1:3].sin(),
        lambda x: x[:, None, ::2],
        lambda x: x.sum()[None] * x,
    ):
        agree(with_gradients(f), T(2, 4))
    for f in (
        lambda x: x[0] * x[1],
        lambda x: x[0] * x[1] + x[0],
        lambda x: x[0, 1:3] * x[1, :2] + x[0, 0],
        lambda x: x[:, 0] * x[1, 1:2],
    ):
        agree(with_gradients(f), T(2, 4))
    x = T(1, 4)
    same(compile(func.grad(lambda x: (x[0] * 0 + x[-1]).sum()))(x), torch.ones(1, 4))


PARTS = ["x[:, 1]", "x[2]", "x[:, :, 1]", "x[:, 1].T", "x[..., 1].T", "x[1:4, 2]", "x[:, 0, 1:]", "x[:, :1, 0]", "x[0:1, 1]",
         "x.transpose(0, 1)[1]", "x[:2, 1]", "x[:, 1, :2]", "x[:3, :2, 2]"]  # fmt: skip


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize(
    "side", ["{0} @ {0}.T", "({0}.T @ {0}).tanh()", "{0} @ torch.ones({0}.shape[1], 2, dtype=x.dtype)"]
)
def test_parts_of_arrays_are_multiplied_where_they_lie(part, side, either):
    f = function_of(f"lambda x: {side.format(part)}", {"torch": torch})
    x = torch.tensor(np.random.default_rng(0).standard_normal((5, 4, 3)), requires_grad=True)
    c = compile(lambda x: (f(x), *torch.autograd.grad((f(x) ** 2).sum(), x)), fullgraph=True)
    for a, b in zip(c(x), (f(x), *torch.autograd.grad((f(x) ** 2).sum(), x)), strict=True):
        assert torch.allclose(a, b)
    batches = lambda x: x[:, :2] @ x[:, :3, :2]
    assert torch.allclose(compile(batches)(x), batches(x))
    if part == "x[:, 1]":
        assert "product(x[:, 1], " in c.source() and "copy" not in c.source()
