# %% [markdown]
# # CUDA: the same program on a GPU
#
# *30 minutes. Needs lessons 1, 2, 6, 12 and 20.*
#
# A GPU runs one small program in thousands of threads. You will compute with tensors in its memory, read the kernels that do so,
# see which thread touches which number, write kernels with a backward pass of your own, and find a race.

# %%
import os
import pathlib
import shutil
import subprocess
import sys

# A GPU can be simulated on the processor. That has to be chosen before minigrad is imported: is there a GPU here?
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

# %% [markdown]
# The line above says where this lesson runs. Its programs give the same results in both places. The simulator runs the threads
# one after the other, in Python: it is slow, and it sees what each of them does. A GPU is fast and tells nothing, so the
# pictures of threads are there in the simulator only. `NUMBA_ENABLE_CUDASIM=1` in the environment chooses it by hand.
#
# ## Tensors on the device
#
# A GPU has its own memory. `device="cuda"` puts a tensor there, and what is computed from it stays there. `cpu()` brings it
# back, and so does `item()`, or `print`.

# %%
x = torch.tensor([1.0, 2.0, 3.0], device="cuda")
y = x * x + 1
print(y)
assert y.device.type == "cuda" and y.cpu().tolist() == [2.0, 5.0, 10.0]

# %% [markdown]
# Nothing crosses unasked. An operation of one tensor here and one there is an error, and so is NumPy's view of memory that
# NumPy cannot reach. Both say what to do.

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
# The way there and the way back are operations, with gradients that go the other way. In the picture find both: behind `cuda()`
# the program is the one of lesson 1, and the gradient of `w` comes home to the processor.

# %%
w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)


def there_and_back(w):
    return (w.cuda() ** 2).sum().cpu()


there_and_back(w).backward()
print(w.grad)
assert w.grad.device.type == "cpu" and w.grad.tolist() == [2.0, 4.0, 6.0]

draw(there_and_back, torch.tensor([1.0, 2.0, 3.0], requires_grad=True), passes=("forward", "backward"))

# %% [markdown]
# ## The kernel of a formula
#
# Lesson 20 put the text of `silu` into a loop. On the device the same text stands in a kernel: a function that every thread
# runs. The module lies in the cache folder, where you can open it.

# %%
x = torch.linspace(-2.0, 2.0, 10, device="cuda", requires_grad=True)
out = torch.nn.functional.silu(x)
(name,) = [name for name in sys.modules if name.startswith("minigrad_cuda_silu_forward")]
file = pathlib.Path(sys.modules[name].__file__)
print(file.read_text() if file.exists() else file)
assert np.allclose(out.detach().cpu().numpy(), torch.nn.functional.silu(x.detach().cpu()).numpy(), rtol=1e-5, atol=1e-6)

# %% [markdown]
# `cuda.grid(1)` is the number of the thread, `cuda.gridsize(1)` how many there are. Each computes one element, then the one
# that lies so many further on. So the text serves any number of elements, with any number of threads.
#
# `watch` records what the threads of the kernels do that are launched meanwhile.

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
# A loop says: for each index, do this. A kernel says only: do this, for one index. `torch.cuda.jit` makes a function a kernel
# that takes tensors on the device; what stands in it is Numba's `cuda`. Threads come in blocks of equal size; all blocks
# together are the grid. Here each thread writes the number of its block.


# %%
@torch.cuda.jit
def who(block_):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < block_.size:
        block_[i] = cuda.blockIdx.x


block = torch.zeros(10, dtype=torch.int32, device="cuda")
who[3, 4](block)  # 3 blocks of 4 threads
print(block)
assert block.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]

# %% [markdown]
# `who[3, 4]` is the launch: 12 threads for 10 elements. The index of an element is the number of threads in the blocks before,
# plus the thread's own number; `cuda.grid(1)` is that sum. In the picture 2.1 is thread 1 of block 2. Find the threads that
# touch nothing.


# %%
def watched(launch, array=None):
    """Launch; in the simulator, give the picture of what the threads have done, to one array or to all."""
    if not simulated:
        return launch()
    with torch.cuda.watch() as trace:
        launch()
    return draw_threads(trace.launches[-1], array)


watched(lambda: who[3, 4](block))

# %% [markdown]
# ## The bound
#
# Blocks have equal sizes, so there are threads too many whenever the number of elements is no multiple. Their `if` is all that
# keeps them from writing behind the array. The simulator names a thread that does. A GPU does not: it writes into the memory
# of whatever lies there, so this cell runs in the simulator only.


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
# How many blocks are enough? As many as hold all elements, rounded up.


# %%
def blocks_for(elements, threads):
    """The number of blocks with so many threads each that hold all elements."""
    return math.ceil(elements / threads)


print(blocks_for(10, 4), blocks_for(12, 4), blocks_for(13, 4))
assert [blocks_for(n, 4) for n in (1, 4, 10, 12, 13)] == [1, 1, 3, 3, 4]

# %% [markdown]
# ## Your kernels as an operation
#
# Autograd does not see what a kernel writes. A tensor that requires grad is therefore refused, where its gradient would be
# lost.


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
# Within a Function they are at home: one kernel in `forward`, the other in `backward`. `empty_like` makes the memory that
# they write. A kernel takes arrays of any strides, so nothing needs to be copied before.


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
# ## A race
#
# Element by element is easy, for no two threads touch the same number. Counting is not. `count_[k] += 1` reads the number, adds,
# and writes it back; between the two, another thread may have written. Nobody promises an order.


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
# In the simulator this is even right: its threads run one after the other. On a GPU two that read before either of them writes
# lose an addition. `watch` goes by the rule and not by what happened: two threads, one element, one of them writes, no
# barrier between.

# %%
if simulated:
    with torch.cuda.watch() as trace:
        racing_count[2, 4](classes, count)
    print(trace)
    assert [race.first.element for race in trace.launches[0].races] == ["count_[0]", "count_[2]"]

# %%
watched(lambda: racing_count[2, 4](classes, count), "count_")

# %% [markdown]
# An atomic addition reads, adds and writes as one step that no other thread can come between.


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
# Atomic additions to one number wait in line. The threads of a block can do better: they have memory of their own, shared and
# fast. Each thread puts its number there; then half of the threads add the numbers of the other half to their own, then half
# of these, until one number is left. Eight numbers take three steps, a thousand take ten.
#
# A thread reads what others wrote, so each step ends at a barrier: at `syncthreads` each thread waits for all others of its
# block. Every thread has to come to it: it stands outside of the `if`. Threads without an element put 0 there.

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
# The picture shows the shared memory of the first block from barrier to barrier: who reads, and who writes. Half as many threads
# are left after each.

# %%
watched(lambda: block_sums[2, THREADS](numbers, sums), "shared")

# %% [markdown]
# Each block leaves one number, for blocks cannot wait for one another within a kernel. The few sums that are left are added by a
# second launch, or with one atomic addition for each block. What if the barriers are forgotten?


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
# Thread 0 came first here, and read what thread 1 had yet to write. Shared memory is full of garbage at first, which in the
# simulator is not a number.
#
# ## What memory costs
#
# The 32 threads of a warp go step by step together. What they read at once comes in pieces of 128 bytes: 32 neighbouring
# floats are one piece, 32 floats that lie far apart are 32 pieces, of which most is thrown away. This kernel transposes, so it
# reads along rows and writes across them.

# %%
SIDE, PADDED = 32, 33


@torch.cuda.jit
def transposed(x_, out_):
    row, column = cuda.threadIdx.y, cuda.threadIdx.x
    out_[column, row] = x_[row, column]


matrix, result = torch.rand(SIDE, SIDE, device="cuda"), torch.empty(SIDE, SIDE, device="cuda")


def costs(kernel):
    """How the first warp's accesses fall together, in words."""
    picture = watched(lambda: kernel[1, (SIDE, SIDE)](matrix, result))
    assert torch.equal(result, matrix.T)
    return [line for line in picture.text().splitlines() if "warp 0" in line] if simulated else []


print(*costs(transposed), sep="\n")

# %% [markdown]
# The cure is to turn the numbers where crossing rows costs little: in shared memory. Its words lie in 32 banks, each of which
# gives one at a time; a row of 33 instead of 32 puts the elements of a column into different banks.


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
# minigrad's own kernels for matrix products, reductions and copies are made of these pieces; they are in
# `minigrad/kernels/cuda`, and `watch` shows their threads as well.
#
# ## Fewer launches
#
# Every operation is a launch, and each reads its arrays from the device's memory and writes one there. `torch.compile`, of which
# lesson 22 tells, writes one kernel for operations that go element by element.


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
# This kernel should double each element. It works when the number of elements is a multiple of the block's size, and starts
# anew with each block when there is more than one. Repair both.


# %%
@torch.cuda.jit
def cuda_doubled(x_, out_):
    i = cuda.threadIdx.x
    out_[i] = 2 * x_[i]


lessons.check("cuda_doubled", cuda_doubled)

# %% [markdown]
# ### 3. A backward kernel
#
# The derivative of `out = tanh(x)` is `1 - out²`. Write the kernel that reads the gradient of the result, `g_`, and the result,
# `out_`, and writes the gradient of x to `dx_`.


# %%
@torch.cuda.jit
def cuda_tanh_backward(g_, out_, dx_): ...


lessons.check("cuda_tanh_backward", cuda_tanh_backward)

# %% [markdown]
# ### 4. The gradient of an index
#
# The forward pass of an embedding is `out[i] = table[index[i]]`. Its backward pass adds each `g_[i]` to `dtable_[index_[i]]`, and
# an index may come twice. Write the kernel; `dtable_` is full of zeros at first.


# %%
@torch.cuda.jit
def cuda_index_backward(g_, index_, dtable_): ...


lessons.check("cuda_index_backward", cuda_index_backward)

# %% [markdown]
# ### 5. The largest of each block
#
# Write a kernel that puts the largest number of each block into `out_`, at the block's place. It is launched with blocks of
# `THREADS` threads, and the number of elements need not be a multiple.


# %%
@torch.cuda.jit
def cuda_largest(x_, out_): ...


lessons.check("cuda_largest", cuda_largest)
