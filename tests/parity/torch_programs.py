"""Programs of PyTorch alone, to be recorded, and what holds in every record."""

import math
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch

from tests.functions import custom

nn, F = torch.nn, torch.nn.functional


def leaf(*shape):
    return torch.randn(shape, dtype=torch.float64, requires_grad=True)


OldSquare = custom(
    "OldSquare",
    torch,
    forward=lambda ctx, x: ctx.save_for_backward(x) or x * x,
    backward=lambda ctx, g: 2 * ctx.saved_tensors[0] * g,
)


class Square(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g

    @staticmethod
    def jvp(ctx, t):
        (x,) = ctx.saved_tensors
        return 2 * x * t


class SinCos(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        return x.sin(), x.cos()

    @staticmethod
    def backward(ctx, g, h):
        (x,) = ctx.saved_tensors
        return g * x.cos() - h * x.sin()

    @staticmethod
    def jvp(ctx, t):
        (x,) = ctx.saved_tensors
        return t * x.cos(), -t * x.sin()


Double_ = custom(
    "Double_",
    torch,
    forward=lambda ctx, x: ctx.mark_dirty(x) or x.mul_(2),
    backward=lambda ctx, g: 2 * g,
    jvp=lambda ctx, t: t.mul_(2),
)


square = Square.apply  # bound before any recording


def writes(x):
    y = torch.zeros(3, 2, dtype=x.dtype)
    y[0] = x[0]
    y[1:].copy_(x[1:] * 2)
    y.t()[0].add_(x[:, 0])
    F.relu(y, inplace=True)
    return y * y


def writes_over_views(x):
    y = x * 1
    y[1:] *= x[0, 0]
    y.view(-1)[0].add_(x[0, 1])
    return y * y


def third_derivative(x):
    g = OldSquare.apply(OldSquare.apply(x)).sum()
    for _ in range(2):
        (g,) = torch.autograd.grad(g.sum(), x, create_graph=True)
    return g


def penalty(x):
    (g,) = torch.autograd.grad((x**3 + x.exp()).sum(), x, create_graph=True)
    return ((g.norm() - 1) ** 2 + x.sum()).sum()


def checkpointed(x):
    return torch.utils.checkpoint.checkpoint(lambda z: (z.sin() * z).tanh(), x, use_reentrant=False) * 2


def attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


def net():
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()


def convolutional():
    layers = (
        nn.Conv2d(1, 2, 3),
        nn.BatchNorm2d(2),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.5),
    )
    return nn.Sequential(*layers, nn.Linear(2, 3)).double()


PLAIN = {
    "linear": lambda: (nn.Linear(3, 2).double(), leaf(4, 3)),
    "sequential": lambda: (net(), leaf(2, 3)),
    "convolutional": lambda: (convolutional(), leaf(2, 1, 4, 4)),
    "convolutional, single precision": lambda: (convolutional().float(), leaf(2, 1, 4, 4).detach().float()),
    "transformer": lambda: (nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).double(), leaf(1, 3, 4)),
    "transformer, evaluated": lambda: (nn.TransformerEncoderLayer(4, 2, 8).double().eval(), leaf(3, 1, 4)),
    "attention": lambda: (attention, leaf(1, 2, 4), leaf(1, 2, 4), leaf(1, 2, 4)),
    "embedding": lambda: (nn.Embedding(5, 3), torch.tensor([1, 4, 1])),
    "old function": lambda: (lambda x: OldSquare.apply(x) + 1, leaf(3)),
    "function": lambda: (lambda x: square(x) * x, leaf(3)),
    "function of several outputs": lambda: (lambda x: SinCos.apply(x), leaf(3)),
    "function that uses one output": lambda: (lambda x: SinCos.apply(x)[1], leaf(3)),
    "function in place": lambda: (lambda x: Double_.apply(x * 1) * x, leaf(3)),
    "writes": lambda: (writes, leaf(3, 2)),
    "writes over views": lambda: (writes_over_views, leaf(3, 2)),
    "third derivative": lambda: (third_derivative, leaf(3)),
    "batched gradients": lambda: (
        lambda x: torch.autograd.functional.jacobian(torch.exp, x, vectorize=True) * x,
        leaf(2),
    ),
    "penalty": lambda: (penalty, leaf(3)),
    "checkpoint": lambda: (checkpointed, leaf(3)),
    "dropout": lambda: (lambda x: F.dropout(x, 0.5) * x, leaf(3, 4)),
    "noise": lambda: (lambda x: x * torch.randn_like(x) + torch.rand(3), leaf(2, 3)),
    "unbind": lambda: (lambda x: [r * i for i, r in enumerate(x)], leaf(3, 2)),
    "sorted": lambda: (lambda x: x.sort().values.cumsum(0) + x.topk(3).values, leaf(3)),
    "einsum": lambda: (lambda x, y: torch.einsum("ij,jk->ik", x, y).logsumexp(1), leaf(2, 3), leaf(3, 2)),
    "label smoothing": lambda: (lambda x: F.cross_entropy(x, torch.tensor([0, 2]), label_smoothing=0.1), leaf(2, 3)),
    "a result that is an argument": lambda: (lambda x: (x, x * 2), leaf(3)),
    "many uses": lambda: (lambda x: sum([x * i for i in range(1, 9)]) / x, leaf(2)),
    "several of everything": lambda: (
        lambda d: {"s": d["a"] + d["b"][0], "p": [d["a"] * 2]},
        {"a": leaf(2), "b": [leaf(2)]},
    ),
    "foreach": lambda: (lambda x: torch._foreach_mul([x, x.exp()], 2.0), leaf(2)),
    "vmap": lambda: (lambda x: torch.vmap(lambda r: square(r).sum() * r)(x), leaf(2, 3)),
    "vmap over columns": lambda: (lambda x: torch.vmap(lambda r: r.softmax(0), 1, 1)(x), leaf(2, 3)),
    "grad": lambda: (lambda x: torch.func.grad(lambda z: (square(z) * z).sum())(x) * 2, leaf(3)),
    "grad in vmap": lambda: (lambda x: torch.vmap(torch.func.grad(lambda z: (z**3).sum()))(x), leaf(2, 3)),
    "hessian": lambda: (lambda x: torch.func.hessian(lambda z: (z**3).sum())(x), leaf(2)),
    "jvp": lambda: (lambda x: torch.func.jvp(torch.sin, (x,), (torch.ones_like(x),)), leaf(2)),
    "nothing requires grad": lambda: (lambda x, i: x[i] * 2, leaf(3).detach(), torch.tensor([0, 2])),
    "integers": lambda: (lambda i: i * 2 + i.sum(), torch.tensor([1, 2])),
    "one number": lambda: (lambda x: x.sin() * x, leaf()),
    "nothing in it": lambda: (lambda x: (x * 2).sum(0), leaf(0, 3)),
    "bfloat16": lambda: (lambda x: x * x, torch.ones(3, dtype=torch.bfloat16)),
    "complex": lambda: (lambda x: (torch.complex(x, x) * 1j).abs(), leaf(3)),
    "meta": lambda: (lambda x: x * 2, torch.ones(3, device="meta")),
}


def made(name):
    torch.manual_seed(0)
    return PLAIN[name]()


def weight(document, value):
    """Return a value's elements, or the sum of a large value's, by the mean in its summary."""
    value = document["values"][value]
    whole = value["summary"].get("values")
    if not value["summary"]:
        return np.array(math.nan)  # not known, as in a batch of PyTorch's older vmap
    if whole is None:
        return np.array(value["summary"]["mean"]) * np.prod(value["shape"])
    return np.array(whole, complex if value["dtype"].startswith("complex") else float)


def assert_holds_together(document):
    assert [v["id"] for v in document["values"]] == list(range(len(document["values"])))
    assert [op["id"] for op in document["ops"]] == list(range(len(document["ops"])))
    for op in document["ops"]:
        edges = [e[k] for e in op["edges"] for k in ("input", "upstream", "gives")]
        kept = [s["value"] for s in op["saved"]]
        for one in (*op["inputs"], *op["outputs"], *edges, *kept, *op["tangents"].values()):
            assert isinstance(one, dict) or 0 <= one < len(document["values"])
        file = op["where"]["file"]  # of a line of the program; a module of PyTorch's own has none
        assert not file or Path(file).parent == Path(__file__).parent
        assert (op["of"] is None) == (op["phase"] in ("forward", "update"))


def assert_adds_up(document):
    gives = defaultdict(list)
    for op in document["ops"]:
        for edge in op["edges"]:
            gives[edge["input"]].append(weight(document, edge["gives"]))
    for value, parts in gives.items():
        if value in document["outputs"]:
            continue  # where backward starts, there is a one more
        whole = weight(document, document["gradients"][str(value)])
        known = not any(np.isnan(part).any() for part in parts)
        assert not known or np.allclose(sum(parts), whole, rtol=1e-4, atol=1e-6), document["values"][value]
