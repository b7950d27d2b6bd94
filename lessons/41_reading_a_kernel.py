# %% [markdown]
# # Reading a kernel
#
# *Needs lessons 1, 7 and 29.*
#
# **What does the compiler make of my formula?** It makes a text that you can read: a loop for the processor, or a kernel for a
# GPU. You will find your lines in it, and predict its time from the bytes that it reads and writes.
#
# After this lesson you can:
#
# - find the text of a compiled function, on both devices
# - explain which results become arrays and which stay in registers
# - read the backward pass as a kernel
# - count bytes, and predict the time of a loop with a roofline

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
import pathlib
import time

import numpy as np

import lessons
import minigrad as torch
from viz import draw

simulated = os.environ["NUMBA_ENABLE_CUDASIM"] == "1"
torch.set_num_threads(1)

# %% [markdown]
# Five operations make this bump. The compiler puts all five into one loop. In the picture, a note at each operation says where
# its result goes: into an array if code outside the loop reads it later, otherwise into a register of the processor.


# %%
def bump(x, y):
    d = x - y
    e = d * d
    return (-e).exp() * 3


x = torch.linspace(-1.0, 1.0, 12)
y = torch.full((12,), 0.5)
tracked = x.clone().requires_grad_()

record = torch.record(bump, tracked, y, passes=("forward", "backward")).to_dict()
forward = [op for op in record["ops"] if op["phase"] == "forward"]
needed = {entry["value"] for op in forward for entry in op["saved"]} | set(record["outputs"])
for op in forward:
    op["note"] = "into an array" if needed & set(op["outputs"]) else "into a register"
draw(record, show=("saved",))

# %% [markdown]
# ## The loop
#
# The first call compiles; `source()` is the text. Here it is without gradients. Three rules help you to read it:
#
# - a name that ends in `_i` is one number: an element that no array keeps
# - `empty` allocates an array for a result
# - each comment is the line of your program that the code below it computes

# %%
compiled = torch.compile(bump)
result = compiled(x, y)
source = compiled.source()
print(source)
assert source.count("for i in range") == 1 and source.count(" = empty(") == 1
assert torch.allclose(result, bump(x, y))

# %% [markdown]
# `exp` is minigrad's, from `vecmath`: it has no branches, so the machine code computes several numbers with one instruction.
# The text is in a file in the cache folder, next to its machine code; `explain()` is its summary.

# %%
name = next(name for name in sys.modules if name.startswith("minigrad_kernel_bump"))
file = pathlib.Path(sys.modules[name].__file__)
print(file.name)
print(compiled.explain())
assert not file.exists() or "def bump(x, y):" in file.read_text()

# %% [markdown]
# ## With gradients
#
# If `x` requires grad, minigrad compiles another version. It also returns the tensors that backward needs.

# %%
result = compiled(tracked, y)
lessons.predict(
    "x requires grad now. How many arrays does the loop write?",
    {
        1: "That is the version without gradients. Backward needs some of the results in between.",
        2: "The result and the value of exp. But the derivative of d * d needs d as well.",
        3: "The result, d for the derivative of d * d, and exp's value for its own derivative.",
        5: "One for each operation is eager mode. The derivatives of -, neg and * 3 need no tensor.",
    },
    lambda: compiled.source().count(" = empty("),
)

# %%
print(compiled.source())
assert compiled.source().count(" = empty(") == len(needed & {o for op in forward for o in op["outputs"]}) == 3

# %% [markdown]
# ## The backward pass is a kernel
#
# The gradient has a loop as well. Its arguments are the arrays that forward keeps, and the incoming gradient. Compare its line
# with the chain rule, $g \cdot 3 \cdot e^{-d^2} \cdot (-2 d)$: the factor 2 is a sum, because `d * d` uses `d` twice.

# %%
gradient = torch.ones(12)
result.backward(gradient)
backward = compiled.source("backward")
print(backward)
assert backward.count("for i in range") == 1 and backward.count(" = empty(") == 1
d = x - y
assert torch.allclose(tracked.grad, gradient * 3 * (-d * d).exp() * -2 * d, atol=1e-6)

# %% [markdown]
# ## The same on a GPU
#
# Tensors in a GPU's memory get another text with the same lines. A thread of the grid runs the function `bump_0_of_one` for
# four numbers at a time: `load4` reads 16 bytes at once. The last lines handle the rest if the size is not a multiple of four.
# The third function runs on the processor: it allocates memory and launches the kernel.

# %%
gx, gy = x.cuda(), y.cuda()
result = compiled(gx, gy)
print(compiled.source())
assert "@cuda.jit" in compiled.source() and torch.allclose(result.cpu(), bump(x, y), atol=1e-6)

# %% [markdown]
# ## Count the elements that move
#
# Eagerly, each operation reads its arguments from memory and writes its result there. The record knows them all, so a program
# can count the elements.


# %%
def elements(op):
    """Return the number of elements that an operation reads and writes; a constant such as 3 is in the code."""
    tensors = [value for value in [*op["inputs"], *op["outputs"]] if isinstance(value, int)]
    return sum(math.prod(record["values"][value]["shape"]) for value in tensors)


eager = sum(elements(op) for op in forward)
fused = x.numel() + y.numel() + result.numel()
lessons.predict(
    "Without gradients, the five eager operations move more elements than the one loop. How many times as many?",
    {
        5.0: "Five operations against one, but the loop reads two arrays, and most operations read only one.",
        1.0: "The arithmetic is the same, but in the loop the intermediate results stay in registers.",
        4.0: "Twelve arrays against three: x, y, and the result.",
        3.0: "That is how many arrays the loop touches.",
    },
    eager / fused,
)

# %% [markdown]
# The simulator sees every access of each thread, so it can confirm both numbers. Here `d * d` reads `d` twice.

# %%
print(eager, "elements eagerly,", fused, "in one loop")
assert (eager, fused) == (144, 36)
if simulated:
    for f in (bump, compiled):
        with torch.cuda.watch() as trace:
            f(gx, gy)
        moved = [sum(launch.counts().values()) for launch in trace.launches]
        print([launch.kernel for launch in trace.launches], moved)
        assert sum(moved) == (eager if f is bump else fused)

# %% [markdown]
# ## The roofline
#
# A loop has to move its bytes and do its arithmetic. Both happen at the same time, so the slower one decides. That is the
# *roofline* (Williams, Waterman and Patterson, 2009):
#
# $$\text{time} \geq \max\left(\frac{\text{bytes}}{\text{bandwidth}},\ \frac{\text{operations}}{\text{peak}}\right)$$
#
# For elementwise loops, the bytes nearly always decide. Which of these two is slower by that rule?


# %%
def short(x, y):
    return x + y


def long(x, y):
    return ((x + y) * x + y) * x + y


def bytes_moved(f, *args):
    """Return the bytes of the arguments and the result, which a single loop without gradients has to move."""
    return sum(t.nbytes for t in (*args, f(*args)))


lessons.predict(
    "Both are compiled. By the bytes alone, long takes how many times as long as short?",
    {
        5.0: "It computes five times as much, but the processor waits for memory most of the time.",
        1.0: "Both read x and y and write one array, so they move the same bytes in the same time.",
        3.0: "The formula uses x and y several times, but the loop reads each once and keeps it in a register.",
    },
    bytes_moved(long, x, y) / bytes_moved(short, x, y),
)

# %% [markdown]
# Now measure the time. The arrays have 64 MB, more than most caches hold. A copy measures the bandwidth; the prediction for
# each loop is its bytes divided by the bandwidth. The numbers differ between machines, and on a busy machine from run to run.

# %%
SIZE = 16_000_000
large = torch.randn(SIZE), torch.randn(SIZE)


def milliseconds(f, *args):
    """Return the shortest processor time of five runs, after two that compile."""
    times = []
    for _ in range(7):
        before = time.process_time()
        f(*args)
        times.append(1000 * (time.process_time() - before))
    return min(times[2:])


source_of_copy, target_of_copy = large[0].numpy(), np.empty(SIZE, np.float32)
copy = milliseconds(np.copyto, target_of_copy, source_of_copy)
bandwidth = 2 * source_of_copy.nbytes / copy  # in bytes per millisecond
print(f"a copy moves {bandwidth / 1e6:.1f} GB/s")
for f in (short, long, bump):
    predicted = bytes_moved(f, *large) / bandwidth
    print(
        f"{f.__name__:>6}: predicted {predicted:.2f} ms, compiled {milliseconds(torch.compile(f), *large):.2f} ms, ",
        end="",
    )
    print(f"eager {milliseconds(f, *large):.2f} ms")

# %% [markdown]
# ## Exercises
#
# ### 1. Bytes
#
# `a`, `b` and `c` have a million float32 elements each. How many bytes does the compiled `(a * b + c).relu()` move, without
# gradients?

# %%
reading_bytes = ...

lessons.check("reading_bytes", reading_bytes)

# %% [markdown]
# ### 2. A roofline
#
# Write the roofline as a function. It returns the shortest possible time of a loop, in seconds. `operations` is the number of
# floating-point operations in the loop, `peak` the number that the processor can do per second, and `bandwidth` is in bytes
# per second.


# %%
def reading_roofline(bytes_moved, bandwidth, operations, peak): ...


lessons.check("reading_roofline", reading_roofline)

# %% [markdown]
# ### 3. Be the compiler
#
# Write the loop that a compiler should make of the backward pass of `x * x * y`: from the incoming gradient `g`, compute the
# gradients of `x` and of `y`. All arguments are arrays of one dimension. The check counts: read each of the three inputs once
# per element, write each of the two results once per element, and use no other array.


# %%
def reading_backward(g, x, y, dx, dy): ...


lessons.check("reading_backward", reading_backward)

# %% [markdown]
# ## Summary
#
# - A compiled function is a text with your lines in it: read `source()`, `source("backward")`, or the file in the cache.
# - Intermediate results stay in registers. The final results, and the tensors that backward needs, become arrays.
# - On a GPU, each thread computes one element, or four, with the same formula.
# - Time is bytes over bandwidth for nearly all elementwise loops.
#
# ## Questions
#
# <details markdown="1">
# <summary>Why does a compiled function need more memory if its arguments require grad?</summary>
#
# Backward is a separate loop that runs later. It needs some results of the forward loop, and registers do not outlive a loop.
#
# </details>
#
# <details markdown="1">
# <summary>You add one more multiplication to a fused loop. Does it get slower?</summary>
#
# Hardly: the loop waits for memory, and the bytes are the same. It gets slower if the multiplication needs another array.
#
# </details>
#
# <details markdown="1">
# <summary>For which operations does the arithmetic decide?</summary>
#
# For large matrix products: they do n³ multiplications on n² numbers, so the peak of the processor decides.
#
# </details>
