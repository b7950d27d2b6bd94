# %% [markdown]
# # CUDA: the same program on a GPU
#
# *Needs lessons 1, 2, 7, 15 and 25.*
#
# **What changes when my tensors are on a GPU?** Your program stays the same. Moving a tensor becomes an operation, and every
# other operation becomes a kernel: a small program that thousands of threads run.
#
# After this lesson you can:
#
# - compute with tensors in a GPU's memory, and follow a gradient back to the processor
# - write a kernel in which each thread finds its element, and surplus threads stop
# - turn two kernels into a Function with a backward

# %%
import os
import pathlib
import shutil
import subprocess
import sys

# The processor can simulate a GPU. Choose that before importing minigrad: is there a GPU here?
probe = "import minigrad; raise SystemExit(not minigrad.cuda.is_available())"
if "NUMBA_ENABLE_CUDASIM" not in os.environ:
    there = shutil.which("nvidia-smi") and subprocess.run([sys.executable, "-c", probe]).returncode == 0
    os.environ["NUMBA_ENABLE_CUDASIM"] = "0" if there else "1"

# %%
import math

import numpy as np
from numba import cuda

import lessons
import minigrad as torch
from viz import draw, draw_threads

simulated = os.environ["NUMBA_ENABLE_CUDASIM"] == "1"
print("This runs in the simulator, on the processor." if simulated else f"This runs on {torch.cuda.get_device_name()}.")


def there_and_back(w):
    return (w.cuda() ** 2).sum().cpu()


draw(there_and_back, torch.tensor([1.0, 2.0, 3.0], requires_grad=True), passes=("forward", "backward"))

# %% [markdown]
# The first and the last operation move a tensor between the two memories. Between them is an ordinary program, and its
# gradient returns to the processor.
#
# The line above the picture says where this lesson runs. Its programs give the same results in both places. The simulator runs
# the threads one after the other, in Python. It is slow, but it sees every access of every thread, so only it can draw
# pictures of threads. Set `NUMBA_ENABLE_CUDASIM=1` in the environment to choose the simulator yourself.
#
# ## Tensors on the device
#
# A GPU has its own memory. `device="cuda"` puts a tensor there, and results computed from it stay there. `cpu()`, `item()`
# and `print` bring it back.

# %%
x = torch.tensor([1.0, 2.0, 3.0], device="cuda")
y = x * x + 1
print(y)
assert y.device.type == "cuda" and y.cpu().tolist() == [2.0, 5.0, 10.0]

# %% [markdown]
# No tensor moves by itself. An operation on tensors in two memories is an error, and so is a NumPy view of memory that NumPy
# cannot reach. Both messages say what to do.

# %%
for mixed in (lambda: x + torch.ones(3), lambda: x.numpy()):
    try:
        mixed()
    except (RuntimeError, TypeError) as e:
        print(e)
        print()
    else:
        raise AssertionError("a tensor moved by itself")

# %% [markdown]
# ## The kernel of a formula
#
# Lesson 25 put the text of `silu` into a loop. On the device the same text goes into a kernel: a function that every thread
# runs. You can open the module in the cache folder.

# %%
x = torch.linspace(-2.0, 2.0, 10, device="cuda", requires_grad=True)
out = torch.nn.functional.silu(x)
(name,) = [name for name in sys.modules if name.startswith("minigrad_cuda_silu_forward")]
file = pathlib.Path(sys.modules[name].__file__)
print(file.read_text() if file.exists() else file)
assert np.allclose(out.detach().cpu().numpy(), torch.nn.functional.silu(x.detach().cpu()).numpy(), rtol=1e-5, atol=1e-6)

# %% [markdown]
# `cuda.grid(1)` is the index of the thread, `cuda.gridsize(1)` the number of threads. Each thread computes one element, then
# the element `cuda.gridsize(1)` further on, and so on. So the kernel works for any number of elements with any number of
# threads.

# %% [markdown]
# ## What one thread does
#
# A loop says: do this for each index. A kernel only says: do this for one index. `torch.cuda.jit` turns a function written
# with Numba's `cuda` into a kernel that accepts tensors on the device. Threads come in blocks of equal size; all blocks
# together are the grid. Here each thread writes the number of its block.


# %%
@torch.cuda.jit
def note_block(block_):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < block_.size:
        block_[i] = cuda.blockIdx.x


block = torch.zeros(10, dtype=torch.int32, device="cuda")
note_block[3, 4](block)  # 3 blocks of 4 threads

lessons.predict(
    "block has 10 elements, and note_block[3, 4] starts 3 blocks of 4 threads. What is in block afterwards?",
    {
        "[0, 0, 0, 0, 1, 1, 1, 1, 2, 2]": "Each block has four threads. The last two threads have no element.",
        "[0, 0, 0, 1, 1, 1, 2, 2, 2, 0]": "The first number of a launch is the number of blocks, the second the number of threads in each.",
        "[0, 1, 2, 3, 0, 1, 2, 3, 0, 1]": "That is the number of the thread in its block, threadIdx.x.",
        "[0, 1, 2, 0, 1, 2, 0, 1, 2, 0]": "Neighbouring threads belong to the same block.",
    },
    block,
)

# %%
print(block)
assert block.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]

# %% [markdown]
# `note_block[3, 4]` is the launch: 12 threads for 10 elements. The index of an element is the number of threads in the earlier
# blocks plus the thread's own number; `cuda.grid(1)` is that sum. In the picture, 2.1 is thread 1 of block 2. Find the threads
# that access nothing.


# %%
def watched(launch):
    """Launch; in the simulator, return the picture of the threads' accesses."""
    if not simulated:
        return launch()
    with torch.cuda.watch() as trace:
        launch()
    return draw_threads(trace.launches[-1])


watched(lambda: note_block[3, 4](block))

# %% [markdown]
# ## The number of blocks
#
# Blocks have equal sizes. Twelve threads are more than 10 elements need, but too few for 13.


# %%
def last_of_13():
    thirteen = torch.full((13,), -1, dtype=torch.int32, device="cuda")
    note_block[3, 4](thirteen)
    return thirteen[12]


lessons.predict(
    "note_block[3, 4] runs on 13 elements that are all -1. What is the last one afterwards?",
    {
        -1: "The threads have the indices 0 to 11. No thread writes element 12, and no error tells you.",
        3: "That would need a fourth block. The launch starts three.",
        0: "A kernel does not start again with the first block: each thread runs once.",
        2: "Block 2 has the threads 8 to 11.",
    },
    last_of_13,
)

# %% [markdown]
# Divide the number of elements by the threads of a block, and round up.


# %%
def blocks_for(elements, threads):
    """Return the number of blocks of `threads` threads that cover all elements."""
    return math.ceil(elements / threads)


print(blocks_for(10, 4), blocks_for(12, 4), blocks_for(13, 4))
assert [blocks_for(n, 4) for n in (1, 4, 10, 12, 13)] == [1, 1, 3, 3, 4]

# %% [markdown]
# ## The bound
#
# Only the `if` keeps surplus threads from writing past the end of the array. The simulator names a thread that does this. A
# GPU overwrites the memory there without an error, so this cell runs only in the simulator.


# %%
@torch.cuda.jit
def unbounded(out_):
    out_[cuda.grid(1)] = 1


if simulated:
    try:
        unbounded[3, 4](torch.zeros(10, device="cuda"))
    except IndexError as e:
        print(e)
    else:
        raise AssertionError("a thread wrote past the end of the array")

# %% [markdown]
# ## Your kernels as an operation
#
# Autograd does not see the values that a kernel writes. So a launch with a tensor that requires grad raises an error if the
# gradient would be lost.


# %%
@torch.cuda.jit
def bell_forward(x_, out_):
    i = cuda.grid(1)
    if i < out_.size:
        out_[i] = math.exp(-x_[i] * x_[i])


@torch.cuda.jit
def bell_backward(g_, x_, out_, dx_):
    i = cuda.grid(1)
    if i < dx_.size:
        dx_[i] = -2 * x_[i] * out_[i] * g_[i]


try:
    bell_forward[3, 4](x, torch.empty_like(x))
except RuntimeError as e:
    print(e)
else:
    raise AssertionError("a gradient was lost")

# %% [markdown]
# Kernels belong in a Function: one in `forward`, the other in `backward`. `empty_like` allocates the memory that they write
# to.


# %%
class Bell(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = torch.empty_like(x)
        bell_forward[blocks_for(x.numel(), 4), 4](x, out)
        ctx.save_for_backward(x, out)
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        x, out = ctx.saved_tensors
        dx = torch.empty_like(x)
        bell_backward[blocks_for(x.numel(), 4), 4](g, x, out, dx)
        return dx


points = torch.tensor([-1.5, 0.3, 2.0], dtype=torch.float64, device="cuda", requires_grad=True)
assert torch.autograd.gradcheck(Bell.apply, (points,))


def bell(x):
    return Bell.apply(x)


draw(bell, torch.tensor([-1.0, 0.0, 2.0], device="cuda", requires_grad=True), passes=("forward", "backward"))

# %% [markdown]
# ## Exercises
#
# ### 1. Two memories
#
# `x` and `y` are on the device; the parameter `w`, of shape (1,), is not. So this function fails. Repair it: it has to return
# the loss in the computer's memory, and `w` has to receive its gradient.


# %%
def cuda_loss(x, y, w):
    return ((x * w - y) ** 2).mean()


lessons.check("cuda_loss", cuda_loss)

# %% [markdown]
# ### 2. Blocks
#
# An array has 1000 elements, and a block has 128 threads. How many blocks does the launch need?

# %%
cuda_blocks = ...

lessons.check("cuda_blocks", cuda_blocks)

# %% [markdown]
# ### 3. Repair
#
# This kernel should double each element. But it works only if the number of elements is a multiple of the block's size, and
# each block starts again at the first element. Repair both mistakes.


# %%
@torch.cuda.jit
def cuda_doubled(x_, out_):
    i = cuda.threadIdx.x
    out_[i] = 2 * x_[i]


lessons.check("cuda_doubled", cuda_doubled)

# %% [markdown]
# ### 4. A backward kernel (at home)
#
# The derivative of $y = \tanh x$ is $1 - y^2$. Write the kernel that reads the gradient of the result, `g_`, and the result,
# `out_`, and writes the gradient of x to `dx_`.


# %%
@torch.cuda.jit
def cuda_tanh_backward(g_, out_, dx_): ...


lessons.check("cuda_tanh_backward", cuda_tanh_backward)

# %% [markdown]
# ## Summary
#
# - `cuda()` and `cpu()` are operations with a gradient. On the device, every other operation is a kernel.
# - A kernel says what one thread does; a launch starts blocks of threads.
# - A thread computes its index from its block and its own number, and an `if` stops surplus threads.
# - Autograd does not see a kernel: put it into a Function, together with the kernel of its gradient.
#
# ## Questions
#
# <details markdown="1">
# <summary>Where is the gradient of a parameter that you create on the processor and move with <code>cuda()</code>?</summary>
#
# On the processor, like the parameter. The backward of `cuda()` moves the gradient back.
#
# </details>
#
# <details markdown="1">
# <summary>A kernel works for 1024 elements and fails for 1000. Where do you look first?</summary>
#
# Look at the bound. 1024 is a multiple of the usual block sizes, so each thread has an element. With 1000 elements, some
# threads have none.
#
# </details>
#
# <details markdown="1">
# <summary>Why does an elementwise kernel not depend on the order of its threads?</summary>
#
# Each thread reads and writes only its own element. No thread needs the result of another.
#
# </details>
