"""Running pointwise operations on arrays: NumPy for small ones, so that a first lesson never waits for the compiler, and
generated Numba kernels for large ones.  Promotion of dtypes and broadcasting are settled here, before a kernel is called.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import dtypes
from ..core.context import OFF, current
from ..core.tensor import Tensor, meta, wrap
from . import cache, formula, generate

FUSE_FROM = 4096  # elements; below, the formulas on arrays need no compiler and cost a few microseconds
_kernels: dict[tuple, Any] = {}


def forward(op: Any, args: tuple) -> np.ndarray:
    """op.kernel on arrays and numbers."""
    n = len(args) - op.statics
    operands, statics = convert(op, args[:n]), args[n:]
    if op.ufunc is not None:
        return np.asarray(op.ufunc(*operands, *statics))
    size = max([a.size for a in operands if isinstance(a, np.ndarray)], default=1)
    kernel = compiled_forward(op, operands, statics) if size >= FUSE_FROM else None
    if kernel is None:
        return cast(np.asarray(formula.on_arrays(op.kernel)(*operands, *statics)), op, operands)
    shape = np.broadcast_shapes(*[a.shape for a in operands if isinstance(a, np.ndarray)])
    out = np.empty(shape, np.bool_ if op.kind == "bool" else dtypes.common(operands))
    kernel(*[flat(a, shape) for a in operands], *statics, out.reshape(-1))
    return out


def convert(op: Any, operands: tuple) -> list:
    """The operands in the one dtype in which they meet."""
    for a in operands:
        if not isinstance(a, (np.ndarray, int, float, np.generic)):
            raise TypeError(f"expected tensors and numbers, got {type(a).__name__}")
    first = operands[0]
    if len(operands) == 1 and isinstance(first, np.ndarray) and (op.kind != "float" or first.dtype.kind == "f"):
        return [first]
    target = dtypes.common(operands)
    if op.kind == "float" and target.kind != "f":
        target = dtypes.default()
    return [a.astype(target, copy=False) if isinstance(a, np.ndarray) else number(a, target) for a in operands]


def number(a: Any, target: np.dtype) -> Any:
    """A number beside arrays of dtype `target`: NumPy does not widen for Python's own, but refuses those out of range."""
    if target.kind == "f":
        return float(a)
    return np.array(a).astype(target)


def cast(out: np.ndarray, op: Any, operands: list) -> np.ndarray:
    """Formulas with float constants stay in the dtype of their operands."""
    if op.kind == "bool":
        return out
    target = dtypes.common(operands)
    return out if out.dtype == target else out.astype(target)


def flat(a: Any, shape: tuple) -> Any:
    """What a kernel takes: contiguous memory of the full size, or a number."""
    if not isinstance(a, np.ndarray):
        return a
    if a.ndim == 0:
        return a[()]
    return (a if a.shape == shape else np.broadcast_to(a, shape)).reshape(-1)


def compiled_forward(op: Any, operands: list, statics: tuple) -> Any:
    """The Numba kernel of op for these kinds of arguments, or None if its formula cannot be compiled."""
    kinds = tuple([isinstance(a, np.ndarray) and a.ndim > 0 for a in operands]) + (False,) * len(statics)
    key = (op, kinds)
    if key not in _kernels:
        name = op.__name__.lower()
        source = generate.forward(name, op.kernel, kinds)
        _kernels[key] = None if source is None else getattr(cache.load(name, source), name)
    return _kernels[key]


def fusable(g: Any) -> bool:
    """Whether a gradient is one that a fused kernel may work on: plain, large, and not to be differentiated again."""
    return type(g) is Tensor and g._a.size >= FUSE_FROM and current() is OFF and g._tan is None


def backward(op: Any, edges: tuple, g: Tensor, bound: tuple) -> tuple | None:
    """All wanted gradients of op in one compiled pass; None where that cannot be done."""
    n = len(edges)
    wanted = [i for i, e in enumerate(edges) if e is not None and i in op.formulas]
    read = [k for k, name in enumerate((*op.names, "out")) if any(name in op.reads[i] for i in wanted)]
    values = [bound[k]._a if isinstance(bound[k], Tensor) else bound[k] for k in read]
    arrays = [v for v in values if isinstance(v, np.ndarray)]
    if not wanted or len(op.names) != n or any(a.dtype not in (g._a.dtype, dtypes.BOOL) for a in arrays) or not plain(values):
        return None
    if any(meta(edges[i])[1] != g._a.dtype for i in wanted) or all(not op.reads[i] for i in wanted):
        return None
    is_array = (True, *[isinstance(v, np.ndarray) and v.ndim > 0 for v in values])
    key = (op, tuple(wanted), is_array)
    if key not in _kernels:
        names = ["g", *[(*op.names, "out")[k] for k in read]]
        source = generate.backward(op.__name__.lower(), names, is_array, [("d" + op.names[i], op.formulas[i]) for i in wanted])
        _kernels[key] = None if source is None else getattr(cache.load(op.__name__.lower() + "_backward", source), op.__name__.lower() + "_backward")
    if _kernels[key] is None:
        return None
    outs = [np.empty(g._a.shape, g._a.dtype) for _ in wanted]
    _kernels[key](g._a.reshape(-1), *[flat(scalar(v, g), g._a.shape) for v in values], *[o.reshape(-1) for o in outs])
    found = dict(zip(wanted, outs))
    return tuple([wrap(found[i]) if i in found else None for i in range(n)])


def plain(values: list) -> bool:
    """Whether a kernel can take them all."""
    return all(isinstance(v, (np.ndarray, int, float, bool)) for v in values)


def scalar(v: Any, g: Tensor) -> Any:
    """Numbers among a kernel's arguments in the gradient's dtype: a float64 would widen the whole loop."""
    return g._a.dtype.type(v) if type(v) in (int, float) else v
