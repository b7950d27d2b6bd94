# %% [markdown]
# # CUDA: the same program on a GPU
#
# *30 minutes. Needs lessons 1, 2, 7, 15 and 25.*
#
# **What changes when my tensors are on a GPU?** Your program stays the same. Moving a tensor becomes an operation, and every
# other operation becomes a kernel: one small program that thousands of threads run.
#
# After this lesson you can:
#
# - compute with tensors in a GPU's memory, and follow a gradient back to the processor
# - write a kernel with a bound, an atomic addition or a sum in shared memory
# - put kernels with a backward into a Function
# - find a race in the picture of the threads

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

import numba
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
# The first and the last operation move a tensor between the memories. Between them is an ordinary program, and its gradient
# returns to the processor.
#
# The line above the picture says where this lesson runs. Its programs give the same results in both places. The simulator runs
# the threads one after the other, in Python: it is slow, but sees every access of each thread. A GPU is fast but reports
# nothing, so only the simulator has pictures of threads. Set `NUMBA_ENABLE_CUDASIM=1` in the environment to choose the
# simulator yourself.
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
# No tensor moves by itself. An operation on one tensor here and one there is an error, and so is a NumPy view of memory
# that NumPy cannot reach. Both messages say what to do.

# %%
for mixed in (lambda: x + torch.ones(3), lambda: x.numpy()):
    try:
        mixed()
    except (RuntimeError, TypeError) as e:
        print(e)
        print()
    else:
        raise AssertionError("a number crossed unasked")

# %% [markdown]
# Moving there and back are operations, and their gradients move the other way, as in the picture.

# %%
w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
there_and_back(w).backward()
print(w.grad)
assert w.grad.device.type == "cpu" and w.grad.tolist() == [2.0, 4.0, 6.0]

# %% [markdown]
# ## The kernel of a formula
#
# Lesson 25 put the text of `silu` into a loop. On the device the same text is in a kernel: a function that every thread
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
# the element `cuda.gridsize(1)` further on, and so forth. So the text serves any number of elements with any number of threads.
#
# `watch` records the accesses of all threads of the kernels launched inside it.

# %%
g = torch.ones_like(out)
if simulated:
    with torch.cuda.watch() as trace:
        torch.autograd.grad(out, x, g)
    print(trace)
    (launch,) = trace.launches
    assert launch.kernel == "silu_backward" and launch.counts() == {"reads": 20, "writes": 10}

# %% [markdown]
# ## What one thread does
#
# A loop says: for each index, do this. A kernel says only: do this, for one index. `torch.cuda.jit` turns a function, written
# with Numba's `cuda`, into a kernel that takes tensors on the device. Threads come in blocks of equal size; all blocks
# together are the grid. Here each thread writes the number of its block.


# %%
@torch.cuda.jit
def who(block_):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < block_.size:
        block_[i] = cuda.blockIdx.x


block = torch.zeros(10, dtype=torch.int32, device="cuda")
who[3, 4](block)  # 3 blocks of 4 threads

lessons.predict(
    "block has 10 elements, and who[3, 4] starts 3 blocks of 4 threads. What is in block?",
    {
        "[0, 0, 0, 0, 1, 1, 1, 1, 2, 2]": "Four threads of each block. The last two threads have no element.",
        "[0, 0, 0, 1, 1, 1, 2, 2, 2, 0]": "The first number of a launch counts the blocks, the second the threads of each.",
        "[0, 1, 2, 3, 0, 1, 2, 3, 0, 1]": "That is the number of the thread in its block, threadIdx.x.",
        "[0, 1, 2, 0, 1, 2, 0, 1, 2, 0]": "Neighbouring threads belong to the same block.",
    },
    block,
)

# %%
print(block)
assert block.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]

# %% [markdown]
# `who[3, 4]` is the launch: 12 threads for 10 elements. The index of an element is the number of threads in the earlier blocks
# plus the thread's own number; `cuda.grid(1)` is that sum. In the picture 2.1 is thread 1 of block 2. Find the threads that
# touch nothing.


# %%
def watched(launch, array=None):
    """Launch; in the simulator, return the picture of the threads' accesses to one array or to all."""
    if not simulated:
        return launch()
    with torch.cuda.watch() as trace:
        launch()
    return draw_threads(trace.launches[-1], array)


watched(lambda: who[3, 4](block))

# %% [markdown]
# ## The bound
#
# Blocks have equal sizes, so there are surplus threads whenever the number of elements is not a multiple of that size. Only
# the `if` keeps them from writing past the end of the array. The simulator names a thread that does. A GPU does not: it
# overwrites the memory there, so this cell runs in the simulator only.


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
        raise AssertionError("a thread wrote behind the array")

# %% [markdown]
# How many blocks are enough? The number of elements divided by the threads of a block, rounded up.


# %%
def blocks_for(elements, threads):
    """Return the number of blocks of `threads` threads that cover all elements."""
    return math.ceil(elements / threads)


print(blocks_for(10, 4), blocks_for(12, 4), blocks_for(13, 4))
assert [blocks_for(n, 4) for n in (1, 4, 10, 12, 13)] == [1, 1, 3, 3, 4]

# %% [markdown]
# ## Your kernels as an operation
#
# Autograd does not see what a kernel writes. So a launch with a tensor that requires grad raises an error if its gradient
# would be lost.


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
# Kernels belong in a Function: one in `forward`, the other in `backward`. `empty_like` allocates the memory that they
# write. A kernel takes arrays of any strides, so no copy is needed first.


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
# A kernel that you already have, compiled by Numba's `cuda.jit`, takes tensors on a GPU as they are: it finds their memory
# through `__cuda_array_interface__`, without a copy. `torch.cuda.jit` does two things more: its kernels run in the simulator,
# and they refuse a tensor whose gradient would be lost. With Numba's, you detach the tensor yourself. This cell needs a GPU.


# %%
@cuda.jit
def cube(x_, out_):
    i = cuda.grid(1)
    if i < out_.size:
        out_[i] = x_[i] * x_[i] * x_[i]


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = torch.empty_like(x)
        cube[blocks_for(x.numel(), 4), 4](x.detach(), out)
        ctx.save_for_backward(x)
        return out

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x * x * g


if not simulated:
    assert torch.autograd.gradcheck(Cube.apply, (points,))
    print(Cube.apply(points))

# %% [markdown]
# ## A race
#
# Elementwise kernels are easy: no two threads touch the same number. Counting is harder. `count_[k] += 1` reads the number,
# adds, and writes it back; in between, another thread may write. The order is not defined.


# %%
@torch.cuda.jit
def racing_count(class_, count_):
    i = cuda.grid(1)
    if i < class_.size:
        count_[class_[i]] += 1


classes = torch.tensor([0, 2, 2, 1, 2, 0], device="cuda")
count = torch.zeros(3, dtype=torch.int32, device="cuda")
racing_count[2, 4](classes, count)
print(count)

# %% [markdown]
# In the simulator the count is even right: its threads run one after the other. On a GPU, two threads that both read before
# either writes lose an addition. `watch` applies the rule, whatever the result: a race is two threads at one element, of which
# one writes, without a barrier between them.

# %%
if simulated:
    with torch.cuda.watch() as trace:
        racing_count[2, 4](classes, count)
    print(trace)
    assert [race.first.element for race in trace.launches[0].races] == ["count_[0]", "count_[2]"]

# %%
watched(lambda: racing_count[2, 4](classes, count), "count_")

# %% [markdown]
# An atomic addition reads, adds and writes in one step that no other thread can interrupt.


# %%
@torch.cuda.jit
def atomic_count(class_, count_):
    i = cuda.grid(1)
    if i < class_.size:
        cuda.atomic.add(count_, class_[i], 1)


count = torch.zeros(3, dtype=torch.int32, device="cuda")
picture = watched(lambda: atomic_count[2, 4](classes, count), "count_")
print(count)
assert count.tolist() == [2, 1, 3] and (not simulated or not picture.launch.races)

# %% [markdown]
# ## A sum in shared memory
#
# Atomic additions to one number wait in line. The threads of a block can do better: they share a small, fast memory. Each
# thread puts its number there; then half of the threads add the numbers of the other half to theirs, then half of these,
# until one number is left. Eight numbers take three steps, a thousand take ten.
#
# A thread reads what others wrote, so each step ends at a barrier: at `syncthreads` each thread waits for all others of its
# block. Every thread has to reach it, so it is outside the `if`. Threads without an element write 0 to shared memory.

# %%
THREADS = 8


@torch.cuda.jit
def block_sums(x_, out_):
    shared = cuda.shared.array(THREADS, numba.float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    shared[t] = x_[i] if i < x_.size else 0
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            shared[t] += shared[t + half]
        cuda.syncthreads()
        half = half // 2
    if t == 0:
        out_[cuda.blockIdx.x] = shared[0]


numbers = torch.arange(1.0, 15.0, device="cuda")  # 14 numbers: the second block has two threads without one
sums = torch.zeros(2, device="cuda")
block_sums[2, THREADS](numbers, sums)
print(sums, "together", sums.sum().item())
assert sums.tolist() == [36.0, 69.0] and sums.sum().item() == numbers.sum().item()

# %% [markdown]
# The picture shows which threads read and write the shared memory of the first block from barrier to barrier. After each
# barrier, half as many threads are left.

# %%
watched(lambda: block_sums[2, THREADS](numbers, sums), "shared")

# %% [markdown]
# Each block leaves one number, because blocks cannot wait for one another within a kernel. A second launch adds the few
# remaining sums, or each block adds its sum atomically. What happens without the barriers?


# %%
@torch.cuda.jit
def without_barriers(x_, out_):
    shared = cuda.shared.array(THREADS, numba.float32)
    t = cuda.threadIdx.x
    shared[t] = x_[t]
    if t == 0:
        out_[0] = shared[0] + shared[1]


if simulated:
    with torch.cuda.watch() as trace:
        without_barriers[1, THREADS](numbers, sums)
    print(trace)
    print(sums)
    assert len(trace.launches[0].races) == 1 and math.isnan(sums[0].item())

# %% [markdown]
# Thread 0 came first here and read a number that thread 1 had not yet written. Shared memory starts with garbage, which is
# NaN in the simulator.
#
# ## What memory costs
#
# The 32 threads of a warp advance together, step by step. Memory is read and written in pieces of 128 bytes: 32 neighbouring
# floats are one piece. This kernel transposes, so it reads along rows and writes
# across them.

# %%
SIDE, PADDED = 32, 33


@torch.cuda.jit
def transposed(x_, out_):
    row, column = cuda.threadIdx.y, cuda.threadIdx.x
    out_[column, row] = x_[row, column]


matrix, result = torch.rand(SIDE, SIDE, device="cuda"), torch.empty(SIDE, SIDE, device="cuda")


def costs(kernel):
    """Describe in words how the first warp's accesses combine."""
    picture = watched(lambda: kernel[1, (SIDE, SIDE)](matrix, result))
    assert torch.equal(result, matrix.T)
    return [line for line in picture.text().splitlines() if "warp 0" in line] if simulated else []


written = [4 * SIDE * column for column in range(32)]  # the bytes of warp 0, which has row 0 of x_
lessons.predict(
    "The first warp reads one row of x_, which is one piece. How many pieces does it write?",
    {
        1: "It would be one if the 32 elements were neighbours. They are a column: 128 bytes from one to the next.",
        4: "Each of the 32 elements has 4 bytes, together 128. But they are in different places.",
        32: "Each element is in another row of out_, and a row has 128 bytes.",
        1024: "That is the whole matrix. One warp writes 32 elements.",
    },
    len({byte // 128 for byte in written}),
)

# %%
print(*costs(transposed), sep="\n")

# %% [markdown]
# The cure is to transpose where crossing rows costs little: in shared memory. Its words are spread over 32 banks, each of
# which serves one word at a time; a row of 33 instead of 32 puts the elements of a column into different banks.


# %%
@torch.cuda.jit
def tiled(x_, out_):
    tile = cuda.shared.array((SIDE, PADDED), numba.float32)
    row, column = cuda.threadIdx.y, cuda.threadIdx.x
    tile[row, column] = x_[row, column]
    cuda.syncthreads()
    out_[row, column] = tile[column, row]


found = costs(tiled)
print(*found, sep="\n")
assert not simulated or all(line.endswith((": 1 transaction of 128 bytes", ": no two in one bank")) for line in found)

# %% [markdown]
# minigrad's own kernels for matrix products, reductions and copies use these techniques; they are in
# `minigrad/kernels/cuda`, and `watch` shows their threads as well.
#
# ## Fewer launches
#
# Every operation is a launch that reads its arrays from the device's memory and writes one there. `torch.compile`, the subject
# of lesson 29, writes one kernel for several elementwise operations.


# %%
def wave(x):
    return (x * x).sin() + x


x, compiled = torch.linspace(0.0, 2.0, 10, device="cuda"), torch.compile(wave)
assert torch.allclose(compiled(x), wave(x))
print(compiled.source())

# %%
if simulated:
    with torch.cuda.watch() as trace:
        wave(x)
        compiled(x)
    print(*[launch.kernel for launch in trace.launches], sep=", ")
    assert len(trace.launches) == 4

# %% [markdown]
# ## Exercises
#
# ### 1. Blocks
#
# An array has 1000 elements, a block 128 threads. How many blocks does the launch need?

# %%
cuda_blocks = ...

lessons.check("cuda_blocks", cuda_blocks)

# %% [markdown]
# ### 2. Repair
#
# This kernel should double each element. It works only if the number of elements is a multiple of the block's size, and
# with several blocks each starts again at the first element. Repair both.


# %%
@torch.cuda.jit
def cuda_doubled(x_, out_):
    i = cuda.threadIdx.x
    out_[i] = 2 * x_[i]


lessons.check("cuda_doubled", cuda_doubled)

# %% [markdown]
# ### 3. A backward kernel
#
# The derivative of $y = \tanh x$ is $1 - y^2$. Write the kernel that reads the gradient of the result, `g_`, and the result,
# `out_`, and writes the gradient of x to `dx_`.


# %%
@torch.cuda.jit
def cuda_tanh_backward(g_, out_, dx_): ...


lessons.check("cuda_tanh_backward", cuda_tanh_backward)

# %% [markdown]
# ### 4. The gradient of an index
#
# The forward pass of an embedding is `out[i] = table[index[i]]`. Its backward pass adds each `g_[i]` to `dtable_[index_[i]]`,
# and an index may come twice. Write the kernel; `dtable_` starts with zeros.


# %%
@torch.cuda.jit
def cuda_index_backward(g_, index_, dtable_): ...


lessons.check("cuda_index_backward", cuda_index_backward)

# %% [markdown]
# ### 5. The largest of each block
#
# Write a kernel that puts the largest number of each block into `out_`, at the block's place. The launch has blocks of
# `THREADS` threads, and the number of elements need not be a multiple of `THREADS`.


# %%
@torch.cuda.jit
def cuda_largest(x_, out_): ...


lessons.check("cuda_largest", cuda_largest)

# %% [markdown]
# ## Summary
#
# - On a GPU each operation is a kernel; `cuda()` and `cpu()` are operations with a gradient.
# - A thread computes its index from its block and its number, and an `if` stops surplus threads.
# - Two threads at one element, one of which writes, are a race; atomic additions and barriers prevent it.
# - Threads of a block share memory. Neighbouring threads should touch neighbouring numbers.
#
# ## Questions
#
# <details markdown="1">
# <summary>Why does an elementwise kernel need no barrier?</summary>
#
# Each thread reads and writes its own element only. There is no other thread to wait for.
#
# </details>
#
# <details markdown="1">
# <summary>`syncthreads` is inside an `if` that only some threads of a block enter. What goes wrong?</summary>
#
# The barrier waits for all threads of the block, and some never arrive. The kernel hangs, or its result is undefined.
#
# </details>
#
# <details markdown="1">
# <summary>A race gave the right result in a test. Is the kernel right?</summary>
#
# No. The order of the threads is not defined, and another run or another GPU may lose an addition. Only the rule tells: no two
# threads at one element without a barrier, if one of them writes.
#
# </details>
