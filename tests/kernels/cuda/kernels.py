"""Small kernels for the tests of the simulator: modules from texts."""

import itertools
import types

from minigrad.kernels.cuda import simulator

HEAD = "import math\n\nimport numpy as np\nfrom numba import cuda\n\n"
_count = itertools.count()


def module(text: str) -> types.ModuleType:
    """Return the prepared module with this text."""
    made = types.ModuleType(f"kernels_{next(_count)}")
    exec(compile(HEAD + text, made.__name__, "exec"), made.__dict__)
    simulator.prepare(made, HEAD + text)
    return made


SCALE = """
@cuda.jit(device=True)
def doubled(x):
    return 2 * x


@cuda.jit
def scale(x_, out_):
    i = cuda.grid(1)
    if i < x_.size:
        out_[i] = doubled(x_[i])


@cuda.jit
def careless(x_, out_):
    i = cuda.grid(1)
    out_[i] = x_[i]
"""

TREE = """
@cuda.jit
def tree(x_, out_):
    part = cuda.shared.array(8, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    part[t] = x_[i] if i < x_.size else 0
    cuda.syncthreads()
    n = 4
    while n > 0:
        if t < n:
            part[t] += part[t + n]
        cuda.syncthreads()
        n //= 2
    if t == 0:
        out_[cuda.blockIdx.x] = part[0]
"""

TRANSPOSE = """
@cuda.jit
def transpose(x_, out_):
    tile = cuda.shared.array((4, 4), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    i, j = 4 * cuda.blockIdx.y, 4 * cuda.blockIdx.x
    if i + y < x_.shape[0] and j + x < x_.shape[1]:
        tile[y, x] = x_[i + y, j + x]
    cuda.syncthreads()
    if j + y < x_.shape[1] and i + x < x_.shape[0]:
        out_[j + y, i + x] = tile[x, y]
"""

HISTOGRAM = """
@cuda.jit
def count(bins_, out_):
    i = cuda.grid(1)
    if i < bins_.size:
        out_[bins_[i]] += 1


@cuda.jit
def count_atomically(bins_, out_):
    i = cuda.grid(1)
    if i < bins_.size:
        cuda.atomic.add(out_, bins_[i], 1)
"""
