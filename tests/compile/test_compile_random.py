"""Random programs, compiled and eager: values, gradients, NaN and infinity, sizes 0 and 1, layouts, writes in place.

They run as plain Python (interpreted.py), some of them through Numba as well.
"""

import math

import numpy as np
import pytest

import minigrad as torch
from minigrad.compile.api import compile
from tests.floats import some

from .both import defined
from .interpreted import interpreted
from .random_programs import outcome, write

__all__ = ["interpreted"]


def close(a, b, text):
    """Check for the same dtype and shape, and nearly the same numbers."""
    assert (a.dtype, a.shape) == (b.dtype, b.shape), text
    few = 2e-3 if a.dtype == torch.float32 else 1e-9
    a, b = a.detach().cpu().numpy(), b.detach().numpy()
    size = max(1.0, np.max(np.abs(b), initial=0, where=np.isfinite(b)))
    np.testing.assert_allclose(a, b, few, few * size, err_msg=text)


def moved(args, device):
    """Return equal arguments on a device, the tensors among them laid out as they were."""
    to = lambda t: t.detach().to(device).requires_grad_(t.requires_grad) if isinstance(t, torch.Tensor) else t
    return [to(a) for a in args]


def compare(seed, device):
    """Check that a program compiled on a device gives eager code's results on the processor."""
    with torch.device("cpu"):
        program = write(seed, torch)
        f, make = program.function(torch), program.arguments(torch)
        with np.errstate(all="ignore"):
            try:
                wanted = outcome(torch, f, make())
            except RuntimeError:  # it has written to what its backward needs
                return compile(f)
    compiled = compile(f)
    for again in range(4):  # captured, looked up, by the fast path
        with torch.device(device), np.errstate(all="ignore"):
            found = outcome(torch, compiled, moved(make(), device))
        for a, b in zip(found, wanted, strict=True):
            assert (a is None) == (b is None), program.source
            if a is not None:
                close(a, b, f"call {again} of seed {seed}\n{program.source}")
    assert "failed" not in compiled.explain(), f"{compiled.explain()}\n{program.source}"
    return compiled


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", [0, *[pytest.param(k, marks=pytest.mark.slow) for k in range(1, 8)]])
def test_random_programs(part, interpreted):
    compiled = [compare(seed, torch.get_default_device()) for seed in range(part * 40, part * 40 + 40)]
    assert sum(["eagerly" not in c.explain() for c in compiled]) > 20


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", some(range(1000, 1012)))
def test_random_programs_by_numba(seed):
    compare(seed, torch.get_default_device())


NUMBERS = ["t * 0.1 + n", "0.9**n * t", "math.exp(-t) / (n + 1)", "t if n % 2 else t / 2", "round(t, 1) * n", "max(t, n)",
           "(n // 2 + 1) * math.sqrt(t)", "t**n", "min(n, 3) - t", "n", "-n * 2", "abs(t - n)"]  # fmt: skip


def compare_with_numbers(seed):
    """Check that a program whose number comes from a float and an int gives eager code's results for several of them."""
    program = write(seed, torch)
    computed = f"s = {NUMBERS[seed % len(NUMBERS)]}"
    source = program.source.replace("def f(x, y, k, s):", f"def f(x, y, k, t, n):\n    {computed}")
    namespace = {"torch": torch, "F": torch.nn.functional, "math": math}
    defined(source, namespace)
    f, make = namespace["f"], program.arguments(torch)
    compiled = compile(f)
    for numbers in [(0.75, 3), (1.25, 3), (0.5, 4), (0.75, 3), (2.0, 1)]:
        with np.errstate(all="ignore"):
            given = lambda: [*make()[:-1], *numbers]
            try:
                wanted = outcome(torch, f, given())
            except RuntimeError:
                return compiled
            found = outcome(torch, compiled, given())
        for a, b in zip(found, wanted, strict=True):
            assert (a is None) == (b is None), source
            if a is not None:
                close(a, b, f"{numbers} in seed {seed}\n{source}")
    assert "failed" not in compiled.explain(), f"{compiled.explain()}\n{source}"
    return compiled


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", [0, *[pytest.param(k, marks=pytest.mark.slow) for k in range(1, 8)]])
def test_random_programs_with_numbers(part, interpreted):
    compiled = [compare_with_numbers(seed) for seed in range(part * 40, part * 40 + 40)]
    assert sum([len(c.versions) < 4 for c in compiled]) > 30
