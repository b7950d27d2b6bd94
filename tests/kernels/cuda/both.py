"""The same calculation on the processor and on the device."""

import numpy as np

import minigrad


def numbers(shape, dtype="float32", seed=0):
    return (3 * np.random.default_rng(seed).standard_normal(shape)).astype(dtype)


def found(f, arrays, device):
    """Return values and gradients of f of tensors on a device, as NumPy's arrays; those of floats are tracked."""
    tensors = [minigrad.tensor(a, device=device, requires_grad=a.dtype.kind == "f") for a in arrays]
    out = f(*tensors)
    assert out.device.type == device
    g = minigrad.tensor(numbers(out.shape, out.detach().cpu().numpy().dtype, 1), device=device)
    leaves = [t for t in tensors if t.requires_grad]
    return [t.detach().cpu().numpy() for t in (out, *minigrad.autograd.grad(out, leaves, g))]


def check(f, *arrays, tolerance=None):
    """Check that f gives the same on the device as on the processor, in the same dtypes, and so do its gradients."""
    for here, there in zip(found(f, arrays, "cpu"), found(f, arrays, "cuda"), strict=True):
        assert (here.dtype, here.shape) == (there.dtype, there.shape)
        scale = tolerance or (2e-5 if here.dtype == np.float32 else 1e-11)
        np.testing.assert_allclose(
            there, here, scale, scale * max(1, np.nanmax(abs(here), initial=0, where=abs(here) < 1e9))
        )
