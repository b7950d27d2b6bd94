"""Define the contestants, minigrad and other libraries, each eager or compiled, and their set-up.

minigrad and PyTorch share their names, so they share programs; the others have separate short versions.
Every library is set up to be as fast as possible on one thread.
"""

import functools
import importlib
import importlib.util
import types
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Contestant:
    """A library in one of its modes; `style` selects the version of a program."""

    name: str
    library: str
    style: str
    compiled: bool = False


CONTESTANTS = (
    Contestant("minigrad", "minigrad", "shared"),
    Contestant("minigrad.compile", "minigrad", "shared", compiled=True),
    Contestant("torch", "torch", "shared"),
    Contestant("torch.compile", "torch", "shared", compiled=True),
    Contestant("jax.jit", "jax", "jax"),
    Contestant("mygrad", "mygrad", "mygrad"),
    Contestant("autograd", "autograd", "autograd"),
)
BY_NAME = {c.name: c for c in CONTESTANTS}
RATIOS = (("minigrad", ("torch",)), ("minigrad.compile", ("torch.compile", "jax.jit")))  # ours, theirs


def installed(names=None):
    """Return the contestants whose library is installed, in order; with `names`, only those."""
    chosen = CONTESTANTS if names is None else [c for c in CONTESTANTS if c.name in names]
    return [c for c in chosen if importlib.util.find_spec(c.library)]


@functools.cache
def load(library):
    """Import and set up a library, and return its module."""
    module = importlib.import_module(library)
    globals().get(f"set_up_{library}", lambda module: None)(module)
    return module


def set_up_minigrad(minigrad):
    minigrad.set_num_threads(1)


def set_up_torch(torch):
    torch.set_num_threads(1)
    importlib.import_module("torch.func")


def set_up_jax(jax):
    jax.config.update("jax_enable_x64", True)  # float64 if a case asks for it; float32 arrays stay float32


def set_up_mygrad(mygrad):
    importlib.import_module("mygrad.nnet")
    mygrad.turn_memory_guarding_off()  # switches off checks that cost time


def set_up_autograd(autograd):
    for name in ("numpy", "extend", "tracer"):
        importlib.import_module(f"autograd.{name}")


def compiler(contestant, breaks=False):
    """Return the library's compile for a shared program, or the identity for eager contestants.

    It must not fall back, except that torch.compile may leave parts uncompiled if a case sets `breaks`.
    """
    lib = load(contestant.library)
    if not contestant.compiled:
        return lambda f: f
    if contestant.library == "minigrad":
        return functools.partial(lib.compile, fullgraph=True)
    config = importlib.import_module("torch._dynamo.config")
    config.trace_autograd_ops = True  # whole steps: loss, gradients and update in one graph
    lib.compiler.reset()  # else it compiles the same lines at most eight times, and growth.py has more sizes
    return functools.partial(lib.compile, fullgraph=not breaks, dynamic=False)


def waits(contestant, run):
    """Return `run`, made to wait for its results: JAX returns earlier, and the results of one call are ready together."""
    if contestant.library != "jax":
        return run

    def wait():
        results = run()
        results[-1].block_until_ready()
        return results

    return wait


def arrays(results):
    """Return the results of a program as NumPy arrays, for any library."""
    if isinstance(results, (tuple, list)):
        return [a for r in results for a in arrays(r)]
    if isinstance(results, types.NoneType):
        raise TypeError("a program returned None instead of a result to compare")
    for name in ("detach", "numpy"):  # PyTorch and minigrad
        results = getattr(results, name)() if hasattr(results, name) else results
    return [np.asarray(getattr(results, "data", results) if type(results).__module__.startswith("mygrad") else results)]
