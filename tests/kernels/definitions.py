"""Kernels beside the definitions: a function of tensors and its gradients, computed in both ways."""

import contextlib
import threading

import numpy as np

import minigrad
from minigrad.kernels import cache, fallback, row_kernels, threads
from minigrad.kernels.cpu import conv_cpu, index_cpu, reductions_cpu, scans_cpu

MODULES = (fallback, row_kernels, reductions_cpu, conv_cpu)
THRESHOLDS = ((fallback, "FEW"), (index_cpu, "PLACES_FROM"), (scans_cpu, "SCAN_FROM"),
              (reductions_cpu, "REDUCE_FROM"), (reductions_cpu, "LOOPS_FROM"), (conv_cpu, "CONV_FROM"))  # fmt: skip


def numbers(shape, dtype="float64", seed=0):
    return (3 * np.random.default_rng(seed).standard_normal(shape)).astype(dtype)


def differentiated(f, *arrays):
    """Return the results of f on tensors, then its gradients with respect to the floats, with different weights."""
    tensors = [minigrad.tensor(a, requires_grad=a.dtype.kind == "f") for a in arrays]
    out = f(*tensors)
    outs = list(out) if isinstance(out, tuple) else [out]
    tracked = [t for t in tensors if t.requires_grad]
    g = minigrad.tensor(numbers(tuple(outs[0].shape), str(outs[0].dtype).split(".")[-1], 1))
    grads = minigrad.autograd.grad(outs[0], tracked, g) if outs[0].requires_grad else []
    return [t.detach().numpy() for t in (*outs, *grads)]


@contextlib.contextmanager
def kernels(monkeypatch, on):
    """Use kernels for all arrays, however small, or for none."""
    with monkeypatch.context() as m:
        for module in MODULES:
            m.setattr(module, "only_definitions", lambda: not on or cache.without.get())
        for module, name in THRESHOLDS:
            m.setattr(module, name, 1)
        yield


def agree(monkeypatch, f, *arrays, scale=30):
    """Check that kernels and definitions compute the same."""
    with kernels(monkeypatch, True):
        found = differentiated(f, *arrays)
    with kernels(monkeypatch, False):
        expected = differentiated(f, *arrays)
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        if a.dtype.kind != "f":
            np.testing.assert_array_equal(a, b)
            continue
        size = max(1, np.abs(b[np.isfinite(b)]).max(initial=0))
        np.testing.assert_allclose(
            a, b, rtol=1e-4 if a.dtype == "float32" else 1e-12, atol=scale * np.finfo(a.dtype).eps * size
        )


def from_several_threads(monkeypatch, f, *arrays):
    """Check that threads and concurrent calls give the same results."""
    with kernels(monkeypatch, True):
        alone, wrong = differentiated(f, *arrays), []
        for module in (threads, reductions_cpu):
            monkeypatch.setattr(module, "GRAIN", 100)
        before = threads.get_num_threads()
        threads.set_num_threads(3)

        def work():
            for _ in range(5):
                found = differentiated(f, *arrays)
                if not all(np.allclose(a, b, rtol=1e-12, atol=1e-12) for a, b in zip(found, alone, strict=True)):
                    wrong.append(threading.get_ident())

        workers = [threading.Thread(target=work) for _ in range(4)]
        try:
            for w in workers:
                w.start()
            for w in workers:
                w.join()
        finally:
            threads.set_num_threads(before)
    assert not wrong
