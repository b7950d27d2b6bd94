# %% [markdown]
# # Threads that share memory
#
# *Needs lessons 1, 25 and 27.*
#
# **Thousands of threads run at once. When do they disturb each other?** When two of them use the same number and at least one
# writes it: then the result depends on their order. Atomic additions and barriers prevent that.
#
# After this lesson you can:
#
# - find a race in the picture of the threads, and repair it
# - write a kernel whose threads exchange numbers through shared memory
# - count the memory transactions and the launches of a program

# %%
import os
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
from numba import cuda

import lessons
import minigrad as torch
from viz import draw_threads

simulated = os.environ["NUMBA_ENABLE_CUDASIM"] == "1"


def watched(launch, array=None):
    """Launch; in the simulator, return the picture of the threads' accesses to one array or to all."""
    if not simulated:
        return launch()
    with torch.cuda.watch() as trace:
        launch()
    return draw_threads(trace.launches[-1], array)


@torch.cuda.jit
def racing_count(class_, count_):
    i = cuda.grid(1)
    if i < class_.size:
        count_[class_[i]] += 1


classes = torch.tensor([0, 2, 2, 1, 2, 0], device="cuda")
count = torch.zeros(3, dtype=torch.int32, device="cuda")
watched(lambda: racing_count[2, 4](classes, count), "count_")

# %% [markdown]
# Two blocks of four threads count how often each class occurs. `0.3` is thread 3 of block 0; `0.0 +1` is thread 0 of block 0
# and one more. Only the simulator of lesson 27 can draw this picture, because it sees every access. On a GPU there is no
# picture.
#
# ## A race
#
# In an elementwise kernel, no two threads touch the same number. Counting is harder. `count_[k] += 1` reads the number,
# adds, and writes it back; in between, another thread may write. The order is not defined.

# %%
print(count)

# %% [markdown]
# In the simulator the count happens to be right, because its threads run one after the other. On a GPU, two threads that both
# read before either writes lose an addition. `watch` does not look at the result, but applies the rule: two threads race if
# they access one element, at least one writes it, and no barrier is between them.

# %%
if simulated:
    with torch.cuda.watch() as trace:
        racing_count[2, 4](classes, count)
    print(trace)
    assert [race.first.element for race in trace.launches[0].races] == ["count_[0]", "count_[2]"]

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
# Atomic additions to one number wait in line. The threads of a block can do better, because they share a small, fast memory.
# Each thread puts its number there. Then half of the threads add the numbers of the other half to theirs, then half of these,
# and so on, until one number is left. Eight numbers take three steps.


# %%
def steps_of_1024():
    numbers, steps = [1] * 1024, 0
    while len(numbers) > 1:
        half = len(numbers) // 2
        numbers, steps = [a + b for a, b in zip(numbers[:half], numbers[half:])], steps + 1
    return steps


lessons.predict(
    "How many steps do 1024 numbers take, with 1024 threads?",
    {
        10: "Each step halves the numbers that are left, and 2 to the power of 10 is 1024.",
        32: "32 is the square root of 1024. But each step halves the number of sums that are left.",
        512: "512 threads add in the first step, but they all add at the same time.",
        1023: "There are 1023 additions, but the additions of one step happen at the same time.",
    },
    steps_of_1024,
)

# %% [markdown]
# A thread reads numbers that others wrote, so each step ends at a barrier: at `syncthreads`, each thread waits for all other
# threads of its block. Every thread has to reach it, so it is outside the `if`. Threads without an element write 0 to shared
# memory.

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
# The picture shows, from barrier to barrier, which threads read and write the shared memory of the first block. After each
# barrier, only half as many threads add.

# %%
watched(lambda: block_sums[2, THREADS](numbers, sums), "shared")

# %% [markdown]
# Each block leaves one number, because blocks cannot wait for one another within a kernel. A second launch adds the few
# remaining sums, or each block adds its sum atomically.
#
# What happens without the barriers?


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
# Thread 0 runs first here, and reads a number that thread 1 has not yet written. Shared memory starts with garbage, which is
# NaN in the simulator.
#
# ## The cost of memory
#
# Without a race, threads still cost time if their numbers are far apart. The threads run in groups of 32, called *warps*,
# which advance together. One memory transaction reads or writes a piece of 128 bytes: 32 neighbouring floats. This kernel
# transposes, so it reads along rows and writes across them.

# %%
SIDE, PADDED = 32, 33


@torch.cuda.jit
def transposed(x_, out_):
    row, column = cuda.threadIdx.y, cuda.threadIdx.x
    out_[column, row] = x_[row, column]


matrix, result = torch.rand(SIDE, SIDE, device="cuda"), torch.empty(SIDE, SIDE, device="cuda")


def first_warp(kernel):
    """Return the lines about the first warp from the text of the picture."""
    picture = watched(lambda: kernel[1, (SIDE, SIDE)](matrix, result))
    assert torch.equal(result, matrix.T)
    return [line for line in picture.text().splitlines() if "warp 0" in line] if simulated else []


written = [4 * SIDE * column for column in range(32)]  # the bytes of warp 0, which has row 0 of x_
lessons.predict(
    "The first warp reads one row of x_, which is one piece. How many pieces does it write?",
    {
        1: "It would be one if the 32 elements were neighbours. They form a column, with 128 bytes from one to the next.",
        4: "The 32 elements have 4 bytes each, 128 in total. But they are in different places.",
        32: "Each element is in another row of out_, and a row has 128 bytes.",
        1024: "That is the whole matrix. One warp writes 32 elements.",
    },
    len({byte // 128 for byte in written}),
)

# %%
print(*first_warp(transposed), sep="\n")

# %% [markdown]
# Crossing rows costs little in shared memory, so transpose there. Its words are spread over 32 banks, each of which serves one
# word at a time. A row of 33 words instead of 32 puts the elements of a column into different banks.


# %%
@torch.cuda.jit
def tiled(x_, out_):
    tile = cuda.shared.array((SIDE, PADDED), numba.float32)
    row, column = cuda.threadIdx.y, cuda.threadIdx.x
    tile[row, column] = x_[row, column]
    cuda.syncthreads()
    out_[row, column] = tile[column, row]


lines = first_warp(tiled)
print(*lines, sep="\n")
assert not simulated or all(line.endswith((": 1 transaction of 128 bytes", ": no two in one bank")) for line in lines)

# %% [markdown]
# ## Exercises
#
# ### 1. The gradient of an index
#
# The forward pass of an embedding is `out[i] = table[index[i]]`. Its backward pass adds each `g_[i]` to `dtable_[index_[i]]`,
# and an index may occur twice. Write the kernel; `dtable_` starts with zeros.


# %%
@torch.cuda.jit
def cuda_index_backward(g_, index_, dtable_): ...


lessons.check("cuda_index_backward", cuda_index_backward)

# %% [markdown]
# ### 2. Repair
#
# Each block should reverse the order of its numbers, but the kernel has a race. Repair it. The launch has blocks of `THREADS`
# threads, and each thread has an element.


# %%
@torch.cuda.jit
def cuda_reversed(x_, out_):
    shared = cuda.shared.array(THREADS, numba.float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    shared[t] = x_[i]
    out_[i] = shared[THREADS - 1 - t]


lessons.check("cuda_reversed", cuda_reversed)

# %% [markdown]
# ### 3. The largest of each block
#
# Write a kernel that writes the largest number of each block to `out_`, at the index of the block. The launch has blocks of
# `THREADS` threads, and the number of elements need not be a multiple of `THREADS`.


# %%
@torch.cuda.jit
def cuda_largest(x_, out_): ...


lessons.check("cuda_largest", cuda_largest)

# %% [markdown]
# ### 4. Every second number (at home)
#
# In one warp, thread `t` reads `x_[2 * t]`, a float32. The array begins at the start of a piece. How many pieces of 128 bytes
# does the warp read?

# %%
cuda_pieces = ...

lessons.check("cuda_pieces", cuda_pieces)

# %% [markdown]
# ## Summary
#
# - Two threads race if they access one element, at least one writes it, and no barrier is between them.
# - An atomic addition reads, adds and writes in one step.
# - Threads of a block share memory, and wait for each other at a barrier.
# - Neighbouring threads should use neighbouring numbers: a warp's 32 floats are then one piece.
#
# ## Questions
#
# <details markdown="1">
# <summary>Why does an elementwise kernel need no barrier?</summary>
#
# Each thread reads and writes only its own element. There is no other thread to wait for.
#
# </details>
#
# <details markdown="1">
# <summary><code>syncthreads</code> is inside an <code>if</code> that only some threads of a block enter. What goes wrong?</summary>
#
# The barrier waits for all threads of the block, and some never arrive. The kernel hangs, or its result is undefined.
#
# </details>
#
# <details markdown="1">
# <summary>A race gave the right result in a test. Is the kernel right?</summary>
#
# No. The order of the threads is not defined, and another run or another GPU may lose an addition. Only the rule decides: if
# one of two threads writes an element that both use, there must be a barrier between them.
#
# </details>
