"""On the device meta: PyTorch's shapes, dtypes and strides, and its errors."""

import pytest
import torch

import minigrad
from tests.parity.in_both import same_in_both

PROGRAMS = {
    "pointwise": lambda t, x: x.exp() * 2 + x,
    "promotion": lambda t, x: x.to(t.float16) + t.ones(3, 4, dtype=t.int64, device="meta"),
    "comparison": lambda t, x: x > 0,
    "sum": lambda t, x: x.sum(1, keepdim=True),
    "sum of integers": lambda t, x: (x > 0).sum(0),
    "argmax": lambda t, x: x.argmax(-1),
    "matmul": lambda t, x: x @ x.mT,
    "batches": lambda t, x: x.expand(2, 3, 4) @ x.mT,
    "view": lambda t, x: x.t()[1:, ::2],
    "reshape": lambda t, x: x.t().reshape(-1),
    "cat": lambda t, x: t.cat([x, x], 1),
    "stack": lambda t, x: t.stack([x, x], 1),
    "softmax": lambda t, x: t.softmax(x, 0),
    "sort": lambda t, x: x.sort(0)[1],
    "topk": lambda t, x: x.topk(2)[0],
    "gather": lambda t, x: x.gather(1, t.zeros(3, 2, dtype=t.int64, device="meta")),
    "index": lambda t, x: x[:, t.zeros(5, 6, dtype=t.int64, device="meta")],
    "index_select": lambda t, x: x.index_select(0, t.zeros(7, dtype=t.int64, device="meta")),
    "cumsum": lambda t, x: x.cumsum(1),
    "pad": lambda t, x: t.nn.functional.pad(x, (1, 2)),
    "conv": lambda t, x: t.nn.Conv2d(1, 5, 3, 2, 1, device="meta")(x[None, None]),
    "pool": lambda t, x: t.nn.functional.max_pool2d(x[None, None], 2),
    "linear": lambda t, x: t.nn.Linear(4, 7, device="meta")(x),
    "layer_norm": lambda t, x: t.nn.functional.layer_norm(x, (4,)),
    "batch_norm": lambda t, x: t.nn.BatchNorm1d(4, device="meta")(x),
    "embedding": lambda t, x: t.nn.Embedding(10, 6, device="meta")(t.zeros(3, 2, dtype=t.int64, device="meta")),
    "cross_entropy": lambda t, x: t.nn.functional.cross_entropy(x, t.zeros(3, dtype=t.int64, device="meta")),
    "lstm": lambda t, x: t.nn.LSTM(4, 5, device="meta")(x)[0],
    "einsum": lambda t, x: t.einsum("ij,kj->ik", x, x),
    "inverse": lambda t, x: t.linalg.inv(x[:, :3]),
    "svd": lambda t, x: t.linalg.svd(x, full_matrices=False)[2],
    "where": lambda t, x: t.where(x > 0, x, 0.0),
    "tril": lambda t, x: x.tril(),
    "std": lambda t, x: x.std(0),
    "full": lambda t, x: t.full_like(x, 2, dtype=t.int32),
}


def told(t):
    """Return all properties of meta tensors."""
    return tuple(t.shape), t.stride(), str(t.dtype).rpartition(".")[2], str(t.device), t.requires_grad


@pytest.mark.parametrize("name", PROGRAMS)
def test_shapes_dtypes_and_strides_are_torchs(name):
    found = []
    for library in (torch, minigrad):
        x = library.zeros(3, 4, device="meta", requires_grad=True)
        y = PROGRAMS[name](library, x)
        found.append([told(y)])
        if y.requires_grad:
            y.sum().backward()
            found[-1].append(None if x.grad is None else told(x.grad)[0])
    if name in ("inverse", "svd"):  # by columns there
        found = [[(shape, *rest) for shape, _, *rest in [f[0]]] for f in found]
    assert found[0] == found[1]


REFUSED = {
    "item": lambda t, x: x.sum().item(),
    "bool": lambda t, x: bool(x.sum() > 0),
    "tolist": lambda t, x: x.tolist(),
    "numpy": lambda t, x: x.numpy(),
    "cpu": lambda t, x: x.cpu(),
    "copy": lambda t, x: t.ones(3, 4).copy_(x),
    "nonzero": lambda t, x: x.nonzero(),
    "mask": lambda t, x: x[x > 0],
    "cpu and meta": lambda t, x: x + t.ones(4),
}


@pytest.mark.parametrize("name", REFUSED)
@same_in_both
def test_the_same_is_refused_with_the_same_type(library, name):
    with pytest.raises(Exception) as e:
        REFUSED[name](library, library.zeros(3, 4, device="meta"))
    return e.type.__name__


@pytest.mark.parametrize("options", [{}, {"dtype": "float64"}, {"dtype": "int64"}, {"requires_grad": True}])
@same_in_both
def test_they_are_printed_as_in_torch(library, options):
    given = {k: getattr(library, v) if k == "dtype" else v for k, v in options.items()}
    return repr(library.zeros(2, 3, device="meta", **given)).replace(library.__name__ + ".", "")
