"""The contestants: minigrad and the libraries beside it, each eager or compiled, and what has to be set once in each.

minigrad and PyTorch share their programs, since they share their names; the others have short versions of their own.
Every library is set up to be as quick as one thread lets it be.
"""

import functools
import importlib
import importlib.util
import types
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Contestant:
    """A library in one of its ways to run: `style` says whose version of a program it takes."""

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
RATIOS = (("minigrad", ("torch",)), ("minigrad.compile", ("torch.compile", "jax.jit")))  # what is compared with what


def installed(names=None):
    """The contestants whose library is installed, in order; only those named, if names are given."""
    chosen = CONTESTANTS if names is None else [c for c in CONTESTANTS if c.name in names]
    return [c for c in chosen if importlib.util.find_spec(c.library)]


@functools.cache
def load(library):
    """The module that programs get, imported and set up."""
    module = importlib.import_module(library)
    globals().get(f"set_up_{library}", lambda module: None)(module)
    return module


def set_up_minigrad(minigrad):
    minigrad.set_num_threads(1)


def set_up_torch(torch):
    torch.set_num_threads(1)
    importlib.import_module("torch.func")


def set_up_jax(jax):
    jax.config.update("jax_enable_x64", True)  # float64 where a case asks for it; arrays of float32 stay what they are


def set_up_mygrad(mygrad):
    importlib.import_module("mygrad.nnet")
    mygrad.turn_memory_guarding_off()  # checks that cost time


def set_up_autograd(autograd):
    for name in ("numpy", "extend", "tracer"):
        importlib.import_module(f"autograd.{name}")


def compiler(contestant, breaks=False):
    """Return what a shared program passes its function through: the library's compile, or nothing.

    It must not fall back; only torch.compile may run a part uncompiled where a case says so by `breaks`.
    """
    lib = load(contestant.library)
    if not contestant.compiled:
        return lambda f: f
    if contestant.library == "minigrad":
        return functools.partial(lib.compile, fullgraph=True)
    config = importlib.import_module("torch._dynamo.config")
    config.trace_autograd_ops = True  # whole steps: loss, gradients and update in one graph
    lib.compiler.reset()  # it compiles the same lines at most eight times, and growth.py has more sizes
    return functools.partial(lib.compile, fullgraph=not breaks, dynamic=False)


def waits(contestant, run):
    """run, returning when the work is done.  JAX answers before; results of one call are ready together."""
    if contestant.library != "jax":
        return run

    def wait():
        results = run()
        results[-1].block_until_ready()
        return results

    return wait


def arrays(results):
    """The results of a program as NumPy arrays, whatever library made them."""
    if isinstance(results, (tuple, list)):
        return [a for r in results for a in arrays(r)]
    if isinstance(results, types.NoneType):
        raise TypeError("a program returned None where its result was to be compared")
    for name in ("detach", "numpy"):  # PyTorch and minigrad
        results = getattr(results, name)() if hasattr(results, name) else results
    return [np.asarray(getattr(results, "data", results) if type(results).__module__.startswith("mygrad") else results)]
