"""Compile ahead of time: run every operation once, forward and backward, on arrays large enough to use its kernels.

The compiled kernels are stored in the cache folder (cache.py), so that later programs need not wait.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .kernels import cache, formula, pointwise_calls, pointwise_gradients

COMMON = ("abs add cos div erf exp gelu log maximum minimum mul pow relu sigmoid silu sin softplus sqrt square sub tanh "
          "where").split()  # fmt: skip
DTYPES = (np.dtype(np.float32), np.dtype(np.float64))


def jobs(everything: bool = False) -> list[tuple[str, Callable]]:
    """Return the jobs to compile, each a name and a function to call."""
    operations = [op for name, op in sorted(formula.OPERATIONS.items()) if everything or name in COMMON]
    floats = [op for op in operations if "f" in op.accepts and op.kind != "bool"]
    todo = [(op.name, lambda dtype, op=op: pointwise(op, dtype)) for op in floats]
    todo += [(name, lambda dtype, f=f: of_rows(f, dtype)) for name, f in row_functions().items()]
    todo += [(name, lambda dtype, f=f: three_steps(f, dtype)) for name, f in optimizers().items()]
    return [(f"{name} {dtype}", lambda f=f, dtype=dtype: f(dtype)) for name, f in todo for dtype in DTYPES]


def row_functions() -> dict[str, Callable]:
    """Return functions with kernels that do not come from formulas; they take a matrix of two long rows."""
    from .nn import functional as F

    return {
        "softmax": lambda x: F.softmax(x, -1),
        "log_softmax": lambda x: F.log_softmax(x, -1),
        "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:], x[0], x[1]),
        "cross_entropy": lambda x: F.cross_entropy(x, x.new_zeros(len(x)).long()),
        "rms_norm": lambda x: F.rms_norm(x, x.shape[-1:]),
        "sum": lambda x: x.sum(1),
        "prod": lambda x: x.prod(1),
        "amax": lambda x: x.amax(1),
        "norm": lambda x: x.norm(2, 1),
        "topk": lambda x: x.topk(3).values,
        "gather": lambda x: x.gather(1, x.detach().long() * 0),
        "cumsum": lambda x: x.cumsum(1),
        "conv2d": lambda x: F.conv2d(x.reshape(2, 16, 16, -1), x.new_ones(8, 16, 3, 3).requires_grad_(), x.new_ones(8)),
        "max_pool2d": lambda x: F.max_pool2d(x.reshape(2, 16, 16, -1), 2),
        "batch_norm": lambda x: F.batch_norm(x.reshape(2, 16, -1), None, None, training=True),
        "embedding": lambda x: F.embedding(x.detach()[0].long() * 0, x),
        **{kind: lambda x, kind=kind: sequence(kind, x) for kind in ("RNN", "LSTM", "GRU")},
    }


def sequence(kind: str, x: Any) -> Any:
    """Return the outputs of a recurrent network over 16 time steps."""
    from . import nn

    network = getattr(nn, kind)(32, 8, dtype=x.dtype)
    for p in network.parameters():
        nn.init.constant_(p, 0.1)
    return network(x.reshape(16, -1, 32))[0]


def optimizers() -> dict[str, Callable]:
    """Return optimizers with common settings, as functions of the parameters."""
    from . import optim

    with_momentum = {"SGD with momentum": lambda params: optim.SGD(params, momentum=0.9)}
    return {kind: getattr(optim, kind) for kind in ("SGD", "Adam", "AdamW", "RMSprop")} | with_momentum


def three_steps(make: Callable, dtype: np.dtype) -> None:
    """Run three steps of an optimizer, the first of which creates its state."""
    x = tensor(np.ones(pointwise_gradients.GRADIENTS_FROM, dtype))
    x.grad, optimizer = tensor(np.ones(x.shape, dtype)).detach(), make([x])
    for _ in range(3):
        optimizer.step()


def of_rows(f: Callable, dtype: np.dtype) -> None:
    """Run a function of rows and its backward."""
    x = tensor(np.ones((2, pointwise_gradients.GRADIENTS_FROM), dtype))
    differentiate(f(x), [x])


def pointwise(op: Any, dtype: np.dtype) -> None:
    """Run an operation on large arrays and its backward; a binary one also with a number as the second operand."""
    n = len(op.names) - op.n_settings
    kinds = [bool] * op.n_conditions + [dtype] * (n - op.n_conditions)
    arrays = [tensor(np.full(pointwise_calls.SIZES["many"], kind is not bool, kind)) for kind in kinds]
    for operands in [arrays, [arrays[0], 0.5]] if n == 2 else [arrays]:
        differentiate(op.apply(*operands, *op.defaults), operands)


def tensor(a: np.ndarray) -> Any:
    """Return a tensor that requires grad, if it can."""
    from .core.tensor import wrap

    return wrap(a).requires_grad_(a.dtype.kind == "f")


def differentiate(out: Any, operands: list) -> None:
    """Run the first-order backward of a result."""
    from .autograd import grad

    tracked = [x for x in operands if getattr(x, "requires_grad", False)]
    if out.requires_grad:
        grad(out, tracked, out.new_ones(out.shape), allow_unused=True)


def tally() -> tuple[int, int]:
    """Return the number of functions that this process compiled, and the number it found in the cache folder."""
    from numba.core.dispatcher import Dispatcher

    # a set, because some are shared
    found = {f for m in cache._modules.values() for f in vars(m).values() if isinstance(f, Dispatcher)}
    kept = [f for f in found if isinstance(f._cache, cache.CompiledCache)]
    hits = sum(sum(f.stats.cache_hits.values()) for f in kept)
    return sum(len(f.signatures) for f in kept) - hits, hits
