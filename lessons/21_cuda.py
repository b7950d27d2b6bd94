# %% [markdown]
# # CUDA: the same formula on a GPU
#
# *30 minutes. Needs lessons 1, 2, 6, 12 and 20.*
#
# A GPU runs one small program in thousands of threads. You will write such programs, launch minigrad's formulas in them, give
# them a backward pass, and see what goes wrong when threads share a number.

# %%
import math
import os
import shutil
import subprocess
import sys

# Numba can play a GPU on the processor. That has to be chosen before Numba is imported: does a kernel run on a GPU here?
probe = "import numpy; from numba import cuda; cuda.jit(lambda x_: None)[1, 1](numpy.zeros(1))"
if "NUMBA_ENABLE_CUDASIM" not in os.environ:
    tried = shutil.which("nvidia-smi") and subprocess.run([sys.executable, "-c", probe], capture_output=True)
    os.environ["NUMBA_ENABLE_CUDASIM"] = "0" if tried and tried.returncode == 0 else "1"
os.environ["NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS"] = "0"  # ten numbers do not keep a GPU busy, and Numba would say so
os.environ["NUMBA_CUDA_WARN_ON_IMPLICIT_COPY"] = "0"  # nor is copying them worth a word

# %%
import numba
import numpy as np
from matplotlib import pyplot as plt
from numba import cuda

import lessons
import minigrad as torch
from minigrad.kernels import formula
from minigrad.ops.activation import Silu
from minigrad.ops.elementary import Sigmoid
from viz import draw

simulated = os.environ["NUMBA_ENABLE_CUDASIM"] == "1"
print("This runs in Numba's simulator, on the processor." if simulated else f"This runs on {cuda.gpus[0].name}.")

# %% [markdown]
# The line above says where this lesson runs. Everything in it gives the same results in both places; the simulator runs
# threads one block at a time, in Python, so it is slow and here to learn with. minigrad's own tensors live in the memory of the
# processor in this version, also where there is a GPU.

# %%
try:
    torch.zeros(3, device="cuda")
except RuntimeError as e:
    print(e)
else:
    raise AssertionError("there is a tensor on a GPU")

# %% [markdown]
# ## What one thread does
#
# A loop says: for each index, do this. A kernel says only: do this, for one index. As many threads as are asked for run it, and
# each asks which one it is. Threads come in blocks of equal size; all blocks together are the grid. This kernel has each
# thread write the number of its block, and its own number within the block.


# %%
@cuda.jit
def who(block_, thread_):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < block_.size:
        block_[i] = cuda.blockIdx.x
        thread_[i] = cuda.threadIdx.x


block, thread = np.zeros(10, np.int32), np.zeros(10, np.int32)
who[3, 4](block, thread)  # 3 blocks of 4 threads
print(block)
print(thread)
assert list(block) == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]
assert list(thread) == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]

# %% [markdown]
# `who[3, 4]` is the launch: 3 blocks of 4 threads, 12 threads for 10 elements. The index of an element is the number of threads
# in the blocks before, plus the thread's own number. `cuda.grid(1)` is that sum. This picture is drawn from the two arrays.


# %% alt="Ten elements in a row: blocks 0 and 1 write four each, block 2 writes two; its threads 2 and 3 have no element"
def who_writes(block, thread, threads):
    """Each element with the block and the thread that wrote it, and behind them the threads that had none."""
    colours = ["#dbe7f5", "#f7e2df", "#dff1ec", "#f6ecd6"]
    blocks = -(-len(block) // threads)
    figure, axes = plt.subplots(figsize=(8, 1.6), layout="constrained")
    for i in range(blocks * threads):
        b, t = (block[i], thread[i]) if i < len(block) else (i // threads, i % threads)
        used = i < len(block)
        box = plt.Rectangle((i, 0), 1, 1, facecolor=colours[b % 4] if used else "white", edgecolor="#566171")
        box.set_linestyle("solid" if used else "dashed")
        axes.add_patch(box)
        axes.text(i + 0.5, 0.5, f"block {b}\nthread {t}", ha="center", va="center", fontsize=8)
        axes.text(i + 0.5, 1.15, f"[{i}]" if used else "none", ha="center", fontsize=8)
    axes.set(xlim=(-0.1, blocks * threads + 0.1), ylim=(-0.1, 1.5))
    axes.set_axis_off()


who_writes(block, thread, 4)

# %% [markdown]
# ## The bound
#
# Blocks have equal sizes, so there are threads too many whenever the number of elements is no multiple. Their `if` is all that
# keeps them from writing behind the array. The simulator catches a thread that does. A GPU does not: it writes into the memory
# of whatever lies there, so this cell runs in the simulator only.


# %%
@cuda.jit
def unbounded(out_):
    out_[cuda.grid(1)] = 1


if simulated:
    try:
        unbounded[3, 4](np.zeros(10, np.float32))
    except IndexError as e:
        print(e)
    else:
        raise AssertionError("a thread wrote behind the array")

# %% [markdown]
# The message names the thread (`tid`) and the block (`ctaid`). How many blocks are enough? As many as hold all elements, rounded
# up.


# %%
def blocks_for(elements, threads):
    """The number of blocks with so many threads each that hold all elements."""
    return math.ceil(elements / threads)


print(blocks_for(10, 4), blocks_for(12, 4), blocks_for(13, 4))
assert [blocks_for(n, 4) for n in (1, 4, 10, 12, 13)] == [1, 1, 3, 3, 4]

# %% [markdown]
# ## The formula of an operation
#
# Lesson 20 put the text of `silu` into a loop. A GPU kernel has the same two lines in its middle; instead of the `for` there
# are an index and a bound. The derivative's formula calls `sigmoid`, so that becomes a function too: a device function, which
# kernels call.


# %%
def written(dtype):
    """The text of a module with the kernels of silu, for arrays of one dtype."""
    return f"""
from math import exp
from numba import cuda
from numpy import float32


@cuda.jit(device=True)
def sigmoid(x):
    return {formula.scalar_text(Sigmoid.kernel, dtype)}


@cuda.jit
def silu_forward(x_, out_):
    i = cuda.grid(1)
    if i < out_.size:
        x = x_[i]
        out_[i] = {formula.scalar_text(Silu.kernel, dtype)}


@cuda.jit
def silu_backward(g_, x_, dx_):
    i = cuda.grid(1)
    if i < dx_.size:
        g = g_[i]
        x = x_[i]
        dx_[i] = g * ({formula.scalar_text(Silu.dx, dtype)})
"""


def kernels(dtype):
    """The functions of that module, by their names."""
    module = {}
    exec(written(dtype), module)
    return module


single, double = np.dtype(np.float32), np.dtype(np.float64)
silu = {dtype: kernels(dtype) for dtype in (single, double)}
print(written(single))

# %% [markdown]
# A GPU has its own memory. `to_device` copies an array there, `device_array_like` makes one there, `copy_to_host` brings the
# result back. Between these, kernels may follow one another without any copying.

# %%
x = torch.linspace(-2.0, 2.0, 10, requires_grad=True)
x_ = cuda.to_device(x.detach().numpy())
out_ = cuda.device_array_like(x_)
silu[single]["silu_forward"][blocks_for(10, 4), 4](x_, out_)
on_gpu = out_.copy_to_host()
print(on_gpu)
expected = torch.nn.functional.silu(x)
assert np.allclose(on_gpu, expected.detach().numpy(), rtol=1e-5, atol=1e-6)

# %% [markdown]
# The backward kernel reads the gradient of the result and what the formula names, and writes the gradient of `x`.

# %%
g = torch.arange(10.0)
(wanted,) = torch.autograd.grad(expected, x, g)
dx_ = cuda.device_array_like(x_)
silu[single]["silu_backward"][blocks_for(10, 4), 4](cuda.to_device(g.numpy()), x_, dx_)
print(dx_.copy_to_host())
assert np.allclose(dx_.copy_to_host(), wanted.numpy(), rtol=1e-5, atol=1e-6)

# %% [markdown]
# With both, the kernels become an operation: a Function that launches one in `forward` and the other in `backward`.


# %%
def launched(name, *tensors):
    """Copy to the GPU, run a kernel that writes one more array, copy back."""
    inputs = [cuda.to_device(np.ascontiguousarray(t.detach().numpy())) for t in tensors]
    out = cuda.device_array_like(inputs[0])
    silu[out.dtype][name][blocks_for(out.size, 4), 4](*inputs, out)
    return torch.from_numpy(out.copy_to_host())


class CudaSilu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return launched("silu_forward", x)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return launched("silu_backward", g, x)


points = torch.tensor([-1.5, 0.3, 2.0], dtype=torch.float64, requires_grad=True)
assert torch.autograd.gradcheck(CudaSilu.apply, (points,))


def by_kernels(x):
    return CudaSilu.apply(x)


draw(by_kernels, torch.tensor([-1.0, 0.0, 2.0], requires_grad=True), passes=("forward", "backward"))

# %% [markdown]
# ## A race
#
# Element by element is easy, for no two threads touch the same number. A sum is not. `total_[0] += x_[i]` reads the total, adds,
# and writes it back; between the two, other threads may have written. Nobody promises an order. Here all threads of a block
# are made to read before any of them writes, which may happen without being asked for: `syncthreads` is a barrier, at which
# each thread waits for all others of its block.


# %%
@cuda.jit
def racing_sum(x_, total_):
    i = cuda.grid(1)
    total = total_[0]
    cuda.syncthreads()
    total_[0] = total + x_[i]


ones, total = np.ones(8, np.float32), np.zeros(1, np.float32)
racing_sum[1, 8](ones, total)
print("eight threads add 1 each:", total[0])
assert total[0] == 1.0

# %% [markdown]
# Seven of eight additions are lost. An atomic addition reads, adds and writes as one step that no other thread can come between.


# %%
@cuda.jit
def atomic_sum(x_, total_):
    i = cuda.grid(1)
    if i < x_.size:
        cuda.atomic.add(total_, 0, x_[i])


total = np.zeros(1, np.float32)
atomic_sum[1, 8](ones, total)
print("eight threads add 1 each:", total[0])
assert total[0] == 8.0

# %% [markdown]
# ## A sum in shared memory
#
# Atomic additions to one number wait in line. The threads of a block can do better: they have memory of their own, shared and
# fast. Each thread puts its number there; then half of the threads add the numbers of the other half to their own, then half
# of these, until one number is left. Eight numbers take three steps, a thousand take ten.
#
# A thread reads what others wrote, so there is a barrier after each step. Every thread has to come to it: it stands outside of
# the `if`. Threads without an element put 0 there. The kernel below also notes what lies in shared memory after each step.

# %%
THREADS = 8


@cuda.jit
def block_sums(x_, out_, steps_):
    shared = cuda.shared.array(THREADS, numba.float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    shared[t] = x_[i] if i < x_.size else 0
    steps_[cuda.blockIdx.x, 0, t] = shared[t]
    cuda.syncthreads()
    half, step = THREADS // 2, 1
    while half > 0:
        if t < half:
            shared[t] += shared[t + half]
        cuda.syncthreads()
        steps_[cuda.blockIdx.x, step, t] = shared[t]
        half, step = half // 2, step + 1
    if t == 0:
        out_[cuda.blockIdx.x] = shared[0]


numbers = np.arange(1, 15, dtype=np.float32)  # 14 numbers: the second block has two threads without one
sums, steps = np.zeros(2, np.float32), np.zeros((2, 4, THREADS), np.float32)
block_sums[2, THREADS](numbers, sums, steps)
print(sums, "together", sums.sum())
assert list(sums) == [36.0, 69.0] and sums.sum() == numbers.sum()

# %% [markdown]
# The picture shows what the kernel noted. In each step the coloured threads add what the arrow brings from the other half; what
# the others hold is not needed any more.

# %% alt="Two blocks of eight threads in four rows: eight numbers, then four, two and one coloured sum; 36 and 69 are left"
figure, both = plt.subplots(1, 2, figsize=(10, 3.2), layout="constrained")
for b, axes in enumerate(both):
    for step in range(4):
        alive = THREADS >> step
        for t in range(THREADS):
            colour = "#dbe7f5" if t < alive else "white"
            axes.add_patch(plt.Rectangle((t, -step), 0.9, 0.6, facecolor=colour, edgecolor="#566171"))
            ink = "black" if t < alive else "#9aa3ad"
            axes.text(t + 0.45, 0.3 - step, f"{steps[b, step, t]:g}", ha="center", va="center", fontsize=9, color=ink)
            if step and t < alive:
                arrow = {"arrowstyle": "->", "color": "#b2443c"}
                axes.annotate("", (t + 0.6, 0.62 - step), (t + alive + 0.45, 1 - step), arrowprops=arrow)
    axes.set(xlim=(-0.1, THREADS), ylim=(-3.1, 1), title=f"block {b}")
    axes.set_axis_off()

# %% [markdown]
# Each block leaves one number, for blocks cannot wait for one another within a kernel. The few sums that are left are added by a
# second launch, or with one atomic addition for each block.
#
# ## Exercises
#
# ### 1. Blocks
#
# An array has 1000 elements, a block 128 threads. How many blocks does the launch need?

# %%
cuda_blocks = ...

lessons.check("cuda_blocks", cuda_blocks)

# %% [markdown]
# ### 2. Which thread?
#
# With blocks of 32 threads, which thread writes element 77? Give its block and its number within the block, as a pair.

# %%
cuda_thread = ...

lessons.check("cuda_thread", cuda_thread)

# %% [markdown]
# ### 3. Repair
#
# This kernel should double each element. It works when the number of elements is a multiple of the block's size, and starts
# anew with each block when there is more than one. Repair both.


# %%
@cuda.jit
def cuda_doubled(x_, out_):
    i = cuda.threadIdx.x
    out_[i] = 2 * x_[i]


lessons.check("cuda_doubled", cuda_doubled)

# %% [markdown]
# ### 4. A backward kernel
#
# The derivative of `out = tanh(x)` is `1 - out²`. Write the kernel that reads the gradient of the result, `g_`, and the result,
# `out_`, and writes the gradient of x to `dx_`.


# %%
@cuda.jit
def cuda_tanh_backward(g_, out_, dx_): ...


lessons.check("cuda_tanh_backward", cuda_tanh_backward)

# %% [markdown]
# ### 5. The largest of each block
#
# Write a kernel that puts the largest number of each block into `out_`, at the block's place. It is launched with blocks of
# `THREADS` threads, and the number of elements need not be a multiple.


# %%
@cuda.jit
def cuda_largest(x_, out_): ...


lessons.check("cuda_largest", cuda_largest)
