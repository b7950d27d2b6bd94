"""minigrad.compile on a device: the programs of the processor's tests, and what kernels have of their own."""

import numpy as np
import pytest

import minigrad as torch
from minigrad.func.tree import flatten
from tests.program.test_compile import PROGRAMS, F
from tests.program.test_compile_random import compare


def same(here, there, tolerance=1e-4):
    """The device's tensor has the processor's numbers."""
    assert there.is_cuda and (here.dtype, here.shape) == (there.dtype, there.shape)
    here, there = here.detach().numpy(), there.detach().cpu().numpy()
    np.testing.assert_allclose(there, here, tolerance, tolerance)


@pytest.mark.parametrize("text", PROGRAMS)
def test_values_and_gradients_are_those_of_the_processor(text):
    names = ("x", "w", "b")[: len(args := PROGRAMS[text]())]
    f = eval(f"lambda {', '.join(names)}: {text}", {"torch": torch, "F": F, "relu": F.relu})
    compiled, found = torch.compile(f), []
    for run, device in ((f, "cpu"), (compiled, "cuda"), (compiled, "cuda"), (compiled, "cuda")):
        with torch.device(device):
            tracked = [a.clone().to(device).requires_grad_() for a in args]
            outs = [t for t in flatten(run(*tracked))[0] if isinstance(t, torch.Tensor)]
            loss = sum((t * t.detach().cos()).sum() for t in outs)
            found.append([*outs, *torch.autograd.grad(loss, tracked)])
    for again in found[1:]:
        for a, b in zip(found[0], again, strict=True):
            same(a, b)
    assert "eagerly" not in compiled.explain()


def moved(args):
    """Arguments on the device, lying there as they lie here; numbers stay."""
    return [there(a) if isinstance(a, torch.Tensor) else a for a in args]


def there(t):
    a = t.detach()
    a = a.T.to("cuda").T if a.T.is_contiguous() else a.to("cuda")
    return a.requires_grad_() if t.requires_grad else a


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(16))
def test_random_programs(seed):
    with torch.device("cuda"):
        compare(seed, moved)
