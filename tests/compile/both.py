"""The tests of compile share these helpers: random tensors, and a comparison of compiled and eager results."""

import itertools
import linecache
import warnings

import numpy as np
import pytest

import minigrad as torch
from minigrad.errors import MinigradWarning

RANDOM = np.random.default_rng(0)
TEXTS = itertools.count()
X = torch.tensor([1.0, 2.0])


def defined(text, scope):
    """Return a scope in which a text has run; Python finds the source of its functions, as it does for a notebook's cells."""
    name = f"<text {next(TEXTS)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), scope)
    return scope


def function_of(text, scope):
    """Return the function that an expression gives."""
    return defined(f"f = {text}", dict(scope))["f"]


def T(*shape, dtype="f4"):
    return torch.tensor(RANDOM.standard_normal(shape).astype(dtype))


def same(a, b, tolerance=2e-5):
    a, b = a.detach().numpy(), b.detach().numpy()
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    size = max(
        1, np.abs(b[np.isfinite(b)]).max(initial=0)
    )  # sums of large terms round alike, however small they come out
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * size)


def quietly(f, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MinigradWarning)
        return f(*args, **kwargs)


def runs_eagerly(f, *args, match=""):
    """Check that a call runs a function eagerly, with one warning that matches; return the result and the warning."""
    with pytest.warns(MinigradWarning, match=match) as said:
        found = f(*args)
    text = str(said[0].message)
    assert len(said) == 1 and "[compile-eager]" in text and "<fast path" not in text
    return found, text
