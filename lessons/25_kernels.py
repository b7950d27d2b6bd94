# %% [markdown]
# # Kernels: from a formula to a loop
#
# *Needs lesson 1.*
#
# **Why is one operation faster than the four that compute the same result?** Each of the four reads arrays from memory and
# writes an array for the next. One loop reads once and writes once. minigrad writes this loop from the text of a formula.
#
# After this lesson you can:
#
# - read the loop that minigrad makes from a formula, for a processor and for a GPU
# - count the bytes that a program reads and writes
# - write such a loop yourself, and keep it in float32

# %%
import math
import time

import numpy as np
from matplotlib import pyplot as plt
from numba import njit

import lessons
import minigrad as torch
from minigrad.kernels import cache, formula, generate
from minigrad.ops.nn.activation import Silu
from viz import draw

# %% [markdown]
# Here is `silu`, written with four operations.


# %%
def steps(x):
    return x / (1 + (-x).exp())


numbers = [-1.0, 0.0, 2.0]
draw(steps, torch.tensor(numbers))

# %% [markdown]
# These are four operations. Each card is a pass over an array in memory, and the values on it are a new array. Only the last
# one is the result.
#
# ## One formula
#
# `silu` is an activation function of neural networks: a number times its sigmoid. This is its whole definition in minigrad:
# `kernel` computes the result, `dx` the derivative (lesson 26). Both are lambdas, and minigrad reads their text from the
# source file.

# %%
print("kernel:", formula.text(Silu.kernel))
print("dx:    ", formula.text(Silu.dx))

# %% [markdown]
# minigrad uses one formula in three ways. On tensors it calls the formula as it is. On small arrays the same code runs with
# NumPy's functions instead of the operations. For large arrays, the text goes into a loop.

# %%
on_tensor = Silu.kernel(torch.tensor(numbers))
on_array = formula.on_arrays(Silu.kernel)(np.array(numbers))
print(on_tensor, on_array, sep="\n")
assert np.allclose(on_tensor.numpy(), on_array, rtol=1e-6)

# %% [markdown]
# ## The text becomes a module
#
# `generate.forward` writes a Python module around the formula, for arguments that are arrays or numbers (here one array)
# and a dtype. Names that end in an underscore are arrays. `njit` has Numba compile the function to machine code.

# %%
f32, f64 = np.dtype(np.float32), np.dtype(np.float64)
source = generate.forward("silu", Silu.kernel, (True,), f32)
print(source)

# %%
widened, narrow = njit(lambda x: 1 + x), njit(lambda x: np.float32(1) + x)
for f in (widened, narrow):
    f(np.float32(0))

lessons.predict(
    "The module has float32(1) instead of 1. Which type would 1 + x have, if Numba compiled it for a float32 x?",
    {
        "float64": "For Numba, 1 is an int64, and an int64 plus a float32 is a float64.",
        "float32": "That is NumPy's rule for Python's numbers. Numba gives each constant a type: 1 is an int64.",
        "int64": "The sum of an integer and a float is a float.",
    },
    lambda: str(widened.nopython_signatures[0].return_type),
)

# %% [markdown]
# With the constant 1, all later results would be float64, too, and a vector instruction would compute half as many numbers.
# The module for float64 needs no such conversions.

# %%
assert str(narrow.nopython_signatures[0].return_type) == "float32"
for_doubles = generate.forward("silu", Silu.kernel, (True,), f64)
print(for_doubles[for_doubles.index("@njit") :])
assert "float32(1)" in source and "float32" not in for_doubles

# %% [markdown]
# For a large array, of more than a few thousand numbers, the operation does all this by itself. The cache folder then holds
# the module, a file that you can open, together with its machine code.

# %%
import pathlib
import sys

torch.nn.functional.silu(torch.zeros(10_000))
assert [name for name in sys.modules if name.startswith("minigrad_kernel_silu_forward")]

module = cache.load("silu_forward", source)
file = pathlib.Path(module.__file__)
print(file.name)
assert not file.exists() or file.read_text() == source  # where no file can be written, the text is in memory only

# %% [markdown]
# It is a module like any other, and you can call its function: it reads one array and writes another.

# %%
x = np.array(numbers, np.float32)
out = np.empty_like(x)
module.silu_forward(x, out)
print(out)
assert np.allclose(out, on_array, rtol=1e-6)

# %% [markdown]
# ## Why one loop wins
#
# NumPy computes `x / (1 + exp(-x))` one operation after the other. Each reads its whole input from memory and writes a whole
# array for the next one to read. This array class counts the bytes read and written.


# %%
class Counted(np.ndarray):
    """Array that notes the bytes that each of NumPy's functions reads and writes."""

    moved, steps = 0, []

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        arrays = [np.asarray(a) if isinstance(a, Counted) else a for a in inputs]
        result = getattr(ufunc, method)(*arrays, **options)
        moved = sum(a.nbytes for a in [*arrays, result] if isinstance(a, np.ndarray))
        Counted.moved += moved
        Counted.steps.append(f"{ufunc.__name__}: {moved / 1e6:.0f} MB")
        return result.view(Counted)


x = np.random.default_rng(0).standard_normal(1_000_000).astype(np.float32)
by_steps = np.asarray(x.view(Counted) / (1 + np.exp(-x.view(Counted))))

lessons.predict(
    "x has a million float32 numbers, 4 MB. How many MB does NumPy read and write for x / (1 + exp(-x))?",
    {
        8: "That is one loop: it reads x and writes the result. NumPy's four functions know nothing of one another.",
        16: "Four results of 4 MB. But each function also reads its input from memory.",
        32: "Four functions that read one array and write one. The division reads two.",
        36: "Minus, exp and plus move two arrays each, the division three.",
    },
    Counted.moved // 10**6,
)

# %%
in_one_loop = x.nbytes + by_steps.nbytes
print(*Counted.steps, sep="\n")
print(f"{Counted.moved / 1e6:.0f} MB in four steps, {in_one_loop / 1e6:.0f} MB in one loop")
assert Counted.moved == 9 * x.nbytes and in_one_loop == 2 * x.nbytes

# %% [markdown]
# That is nine arrays against two. Now measure the shortest processor time of several runs, on one thread. The last program
# only copies, so it shows the cost of moving the bytes. The ratios differ between machines.

# %%
torch.set_num_threads(1)


def milliseconds(f, runs=20):
    """Return the shortest processor time of several runs, without the first, which may compile."""
    f()
    times = []
    for _ in range(runs):
        start = time.process_time()
        f()
        times.append(time.process_time() - start)
    return 1000 * min(times)


@njit
def copy_loop(x_, out_):
    for i in range(out_.size):
        out_[i] = x_[i]


out = np.empty_like(x)
measured = {
    "four steps": milliseconds(lambda: x / (1 + np.exp(-x))),
    "one loop": milliseconds(lambda: module.silu_forward(x, out)),
    "copy": milliseconds(lambda: copy_loop(x, out)),
}
module.silu_forward(x, out)
for name, ms in measured.items():
    print(f"{name:>10}: {ms:.2f} ms, {ms / measured['one loop']:.1f} times the loop")
assert np.allclose(out, by_steps, rtol=1e-5, atol=1e-6)

# %% alt="Three bars, the processor time for a million numbers: four steps of NumPy, one loop, and a plain copy"
figure, axes = plt.subplots(figsize=(7, 2.2), layout="constrained")
bars = axes.barh(list(measured), list(measured.values()), color=["#b2443c", "#1f4e8c", "#566171"])
axes.bar_label(bars, fmt="%.2f", padding=3)
axes.set_xlabel("milliseconds for a million numbers")
axes.invert_yaxis()
axes.spines[["top", "right"]].set_visible(False)

# %% [markdown]
# ## The function inside the loop
#
# One loop is not everything. `exp` in the module above is minigrad's own, from `vecmath`: it has no branch, so the compiler
# can compute several numbers with one instruction. The C library's `exp`, behind `math.exp`, takes one at a time. Otherwise
# the text of the loop is the same.


# %%
@njit(error_model="numpy")
def silu_of_c(x_, out_):
    for i in range(out_.size):
        x = x_[i]
        out_[i] = x / (np.float32(1) + math.exp(-x))


other = np.empty_like(x)
slower = milliseconds(lambda: silu_of_c(x, other), runs=5)
print(f"math.exp: {slower:.2f} ms, {slower / measured['one loop']:.1f} times the loop with vecmath's exp")
assert np.allclose(out, other, rtol=1e-5, atol=1e-6)

# %% [markdown]
# ## A row at a time
#
# `softmax` is not elementwise: it divides each number of a row by a sum over the row. In minigrad it is a program of
# other operations.

# %%
import inspect

from minigrad.compile import eager_kernels
from minigrad.kernels import row_kernels
from minigrad.ops.nn.softmax import Softmax

print(inspect.getsource(Softmax.program))

# %% [markdown]
# Run one after the other, they would read and write the whole table again and again. The compiler of lesson 29 writes the
# kernel: it traces the program on an example, and turns it into one pass over the rows. A row just read is still in the
# processor's nearest memory, so the second and third loop over it cost little.

# %%
table = np.random.default_rng(0).standard_normal((300, 10)).astype(np.float32)
text = eager_kernels.text(row_kernels.forward_plan(Softmax), (table, (1,)))
print(text[text.index("def softmax") :])
assert "class" not in text and len(text) < 4000

# %% [markdown]
# For a GPU the same program becomes another text. Here several threads share a row. Each reads some numbers into its registers
# and keeps their `exp` there, too; `block_max` and `block_sum` combine the results of all threads. If a row is too long for
# that, a second kernel reads it again in each loop. It computes `exp` twice, which costs less than writing it to memory.

# %%
text = eager_kernels.text(row_kernels.forward_plan(Softmax), (table, (1,)), on_device=True)
print(text[text.index("def softmax_0") :])

# %% [markdown]
# One loop for an operation, or for a row, is only the beginning. Lesson 29 compiles a whole function, so that all its
# operations are in one loop.
#
# ## Exercises
#
# ### 1. Bytes
#
# `x` and `y` are arrays of 1,000,000 float32 numbers, each of 4 bytes. How many bytes does NumPy read and write in total for
# `(x + y) * x`, one operation after the other?

# %%
kernel_bytes = ...

lessons.check("kernel_bytes", kernel_bytes)

# %% [markdown]
# ### 2. The loop
#
# Softsign is $x / (1 + |x|)$. Write its loop as minigrad would: for each index, read `x_`, compute, write `out_`. Return
# nothing, and create no array.


# %%
def kernel_loop(x_, out_): ...


lessons.check("kernel_loop", kernel_loop)

# %% [markdown]
# ### 3. Stay in float32
#
# Write `kernel_narrow(x)`, which computes $1 / (1 + x^2 / 2)$ for one number. If Numba compiles it for a float32, each step has
# to be float32. Inside the function you may use `np.float32`.


# %%
def kernel_narrow(x): ...


lessons.check("kernel_narrow", kernel_narrow)

# %% [markdown]
# ## Summary
#
# - An operation states a formula; minigrad makes loops and GPU kernels from its text.
# - In a loop for float32 each constant is a float32, or the results become float64.
# - Separate operations move arrays in every step; one loop reads each input once and writes the result.
# - Operations on rows share a loop over the rows: a row stays in the nearest memory while it is read again.
#
# ## Questions
#
# <details markdown="1">
# <summary>A formula consists of twenty additions. Is one loop still faster than NumPy's twenty functions?</summary>
#
# Yes, even more: the loop still reads each input once and writes one array, while the twenty functions write twenty.
#
# </details>
#
# <details markdown="1">
# <summary>For which arrays does one loop save little?</summary>
#
# For small ones. They stay in the processor's nearest memory, so reading and writing them costs little.
#
# </details>
#
# <details markdown="1">
# <summary>Why does minigrad keep the modules in a folder?</summary>
#
# Numba takes about a second to compile one. The folder keeps its machine code, so the next program loads it at once.
#
# </details>
