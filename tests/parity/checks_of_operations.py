"""The checks of an entry of op_db: each compares all samples with PyTorch, and raises where one differs.

A check returns how many samples it compared; none where the entry does not offer it.
"""

import numpy as np
import torch
from torch.autograd import forward_ad as theirs_ad

import minigrad
from minigrad.autograd import forward_ad as ours_ad
from tests.parity.databases import (
    SECOND,
    Apart,
    compare,
    found,
    handed,
    handed_over,
    kind_of,
    leaves,
    operations,
    peer,
    rebound,
    samples,
    tensors,
    text,
    unset,
)


def values(op, dtype):
    """Return the result."""
    if not op.supports_dtype(dtype, "cpu"):
        return 0
    (f, g), n = operations(op), 0
    for sample in samples(op, dtype):
        x, args, kwargs = handed_over(sample)
        theirs = f(sample.input, *sample.args, **sample.kwargs)
        compare(theirs, g(x, *args, **kwargs), text(sample), unset=unset(op))
        n += 1
    return n


def float64(op):
    return values(op, torch.float64)


def float32(op):
    return values(op, torch.float32)


def int64(op):
    return values(op, torch.int64)


def bools(op):
    return values(op, torch.bool)


# ---------------------------------------------------------------------- derivatives
def differentiable(op):
    return op.supports_autograd and torch.float64 in op.supported_backward_dtypes("cpu")


def both(op, sample):
    """(library, result, leaves) of each."""
    x, args, kwargs = handed_over(sample)
    f, g = operations(op)
    theirs = f(sample.input, *sample.args, **sample.kwargs)
    yield torch, sample.output_process_fn_grad(theirs), leaves((sample.input, sample.args, sample.kwargs))
    ours = g(x, *args, **kwargs)
    yield minigrad, rebound(sample.output_process_fn_grad)(ours), leaves((x, args, kwargs))


def first(m, out, inputs, create_graph=False):
    """Return the gradients of a sum with random weights."""
    outs = [o for o in tensors(out) if o.requires_grad]
    random = np.random.default_rng(3)
    weights = [m.tensor(random.standard_normal(tuple(o.shape))).to(o.dtype) for o in outs]
    grads = m.autograd.grad(outs, inputs, weights, create_graph=create_graph, allow_unused=True) if outs else ()
    return grads, outs


def with_zeros(m, grads, inputs):
    """Return gradients by the inputs, zeros where there is none."""
    return [m.zeros_like(i) if g is None else g for i, g in zip(inputs, grads or [None] * len(inputs))]


def gradients(op):
    """Return the derivatives with respect to all inputs that have one."""
    n = 0
    for sample in samples(op, torch.float64, True) if differentiable(op) else ():
        found = [with_zeros(m, first(m, out, inputs)[0], inputs) for m, out, inputs in both(op, sample) if inputs]
        if found:
            compare(*found, text(sample), unset=unset(op))
            n += 1
    return n


def second_gradients(op):
    """Return the derivatives of a sum of the gradients."""
    n = 0
    for sample in samples(op, torch.float64, True) if differentiable(op) and op.supports_gradgrad else ():
        found = []
        for m, out, inputs in both(op, sample):
            if inputs:
                grads, _ = first(m, out, inputs, create_graph=True)
                found.append(with_zeros(m, first(m, [g for g in grads if g is not None], inputs)[0], inputs))
        if found:
            compare(*found, text(sample), SECOND, unset(op))
            n += 1
    return n


def jvp(op):
    """Return the tangents of the results for random tangents of all inputs."""
    (f, g), n = operations(op), 0
    for sample in samples(op, torch.float64, True) if differentiable(op) and op.supports_forward_ad else ():
        try:
            theirs = pushed(torch, theirs_ad, f, (sample.input, sample.args, sample.kwargs))
        except (RuntimeError, NotImplementedError):
            continue  # PyTorch has none for these arguments
        compare(theirs, pushed(minigrad, ours_ad, g, handed_over(sample)), text(sample), unset=unset(op))
        n += 1
    return n


def pushed(m, ad, f, given):
    """Return the tangents of the results, zeros where there are none."""
    random = np.random.default_rng(5)

    def dual(v):
        if hasattr(v, "requires_grad"):
            if not v.requires_grad:
                return v
            return ad.make_dual(v.detach(), m.tensor(random.standard_normal(tuple(v.shape))).to(v.dtype))
        if isinstance(v, (tuple, list)) and not hasattr(v, "_fields"):
            return type(v)(map(dual, v))
        return {k: dual(w) for k, w in v.items()} if isinstance(v, dict) else v

    with ad.dual_level():
        x, args, kwargs = dual(given[0]), dual(given[1]), dual(given[2])
        outs = tensors(f(x, *args, **kwargs))
        parts = [ad.unpack_dual(o) for o in outs if o.is_floating_point()]
        return [m.zeros_like(p) if t is None else t + 0 for p, t in parts]


# ---------------------------------------------------------------------- vmap
def vmap(op):
    """Check a batch of two against PyTorch's results for each."""
    (f, g), n = operations(op), 0
    for sample in samples(op, torch.float64)[:6] if op.supports_dtype(torch.float64, "cpu") else ():
        x = sample.input
        if not isinstance(x, torch.Tensor) or not x.is_floating_point():
            continue
        batch = [x, x * 0.75]
        try:
            each = [tensors(f(b, *sample.args, **sample.kwargs)) for b in batch]
            theirs = [torch.stack(pair) for pair in zip(*each, strict=True)]
        except (RuntimeError, ValueError):
            continue  # not for these values, or results of other shapes
        _, args, kwargs = handed_over(sample)
        given = minigrad.stack([handed(b) for b in batch])
        ours = minigrad.vmap(lambda b: tuple(tensors(g(b, *args, **kwargs))), randomness="same")(given)
        compare(theirs, ours, text(sample), unset=unset(op))
        n += 1
    return n


# ---------------------------------------------------------------------- errors
def errors(op):
    """Check that both libraries refuse bad arguments with errors of one type."""
    n = 0
    for case in op.error_inputs_func(op, "cpu") if op.error_inputs_func is not None else ():
        sample = case.sample_input
        try:
            op.op(sample.input, *sample.args, **sample.kwargs)
            continue  # PyTorch has the case for another device
        except Exception as e:
            theirs = e
        try:
            x, args, kwargs = handed_over(sample)
        except (NotImplementedError, ValueError):  # complex, sparse, or more dimensions than NumPy's arrays have
            continue
        try:
            out = peer(op)(x, *args, **kwargs)
        except Exception as e:
            ours = e
        else:
            raise Apart(f"{text(sample)}: no error but {str(out)[:200]}, torch {theirs!r}"[:700])
        if not issubclass(kind_of(ours), kind_of(theirs)):
            raise Apart(f"{text(sample)}: {ours!r}, torch {theirs!r}"[:900])
        n += 1
    return n


# ---------------------------------------------------------------------- results written into tensors
def inplace(op):
    """Check that the method with a _ writes the result into its tensor, and the gradients of what was written."""
    if op.inplace_variant is None:
        return 0
    name, n = getattr(op.inplace_variant, "__name__", ""), 0
    own = found(minigrad.Tensor, name) if name.endswith("_") else rebound(op.inplace_variant)
    if own is None:
        raise Apart(f"there is no Tensor.{name}")
    for sample in samples(op, torch.float64, differentiable(op)) if op.supports_dtype(torch.float64, "cpu") else ():
        x, args, kwargs = handed_over(sample)
        theirs = sample.input.clone()
        torch.manual_seed(1), minigrad.manual_seed(1)
        try:
            op.inplace_variant(theirs, *sample.args, **sample.kwargs)
        except (RuntimeError, TypeError):
            continue  # a result of another shape or dtype
        ours = x.clone()
        result = own(ours, *args, **kwargs)
        compare(theirs, ours, text(sample), unset=unset(op))
        if result is not ours:
            raise Apart(f"{text(sample)}: Tensor.{name} returns another tensor")
        inputs = leaves((sample.input, sample.args, sample.kwargs))
        n += 1
        try:
            grads = with_zeros(torch, first(torch, theirs, inputs)[0], inputs)
        except NotImplementedError:
            continue  # PyTorch lacks the derivative
        inputs = leaves((x, args, kwargs))
        compare(grads, with_zeros(minigrad, first(minigrad, ours, inputs)[0], inputs), text(sample), unset=unset(op))
    return n


def out(op):
    """Check that `out=` has the result written into the tensors given."""
    (f, g), n = operations(op), 0
    for sample in samples(op, torch.float64) if op.supports_out and op.supports_dtype(torch.float64, "cpu") else ():
        theirs = f(sample.input, *sample.args, **sample.kwargs)
        if not tensors(theirs):
            continue
        x, args, kwargs = handed_over(sample)
        given = [minigrad.empty(tuple(t.shape), dtype=handed(t.dtype)) for t in tensors(theirs)]
        result = g(x, *args, **kwargs, out=given[0] if isinstance(theirs, torch.Tensor) else tuple(given))
        compare(theirs, given, text(sample), unset=unset(op))
        if not all(a is b for a, b in zip(tensors(result), given)):
            raise Apart(f"{text(sample)}: returns other tensors than those of out=")
        n += 1
    return n


CHECKS = {
    f.__name__: f
    for f in (float64, float32, int64, bools, gradients, second_gradients, jvp, vmap, errors, inplace, out)
}
