# %% [markdown]
# # Kernels: from a formula to a loop
#
# *30 minutes. Needs lessons 1, 7 and 16.*
#
# **Why is one operation faster than the four that compute the same?** Each of the four reads arrays from memory and writes an
# array for the next. One loop reads once and writes once. minigrad writes this loop from the text of a formula.
#
# After this lesson you can:
#
# - read the loop that minigrad makes of a formula, for a processor and for a GPU
# - count the bytes that a program reads, writes and saves
# - declare an operation with its derivative, and check it

# %%
import inspect
import math
import pathlib
import sys
import time

import numpy as np
from matplotlib import pyplot as plt
from numba import njit

import lessons
import minigrad as torch
from minigrad.compile import eager_kernels
from minigrad.kernels import cache, formula, generate, lines
from minigrad.ops.nn.activation import Silu
from minigrad.ops.nn.softmax import Softmax
from viz import draw


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
# `silu` is an activation of neural networks: a number times its sigmoid. This is its whole definition in minigrad: `kernel`
# computes the result, `dx` the derivative. Both are lambdas, and minigrad reads their text from the source file.

# %%
print("kernel:", formula.text(Silu.kernel))
print("dx:    ", formula.text(Silu.dx))
value = torch.nn.functional.silu(torch.tensor(1.0))
print(value)
assert math.isclose(value.item(), 1 / (1 + math.exp(-1)), rel_tol=1e-6)

# %% [markdown]
# minigrad uses one formula in three ways. On tensors it calls the formula as it is. On small arrays the same code runs
# with NumPy's functions in place of the operations. For large arrays, the text goes into a loop.

# %%
on_tensor = Silu.kernel(torch.tensor(numbers))
on_array = formula.on_arrays(Silu.kernel)(np.array(numbers))
print(on_tensor)
print(on_array)
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

# %% [markdown]
# The constant 1 has become `float32(1)`. For Numba, Python's own numbers are int64 or float64. A float32 that meets one is
# widened to float64, and so are all later results, with half as many numbers in each vector instruction.

# %%
widened, narrow = njit(lambda x: 1 + x), njit(lambda x: np.float32(1) + x)
for f in (widened, narrow):
    f(np.float32(0))
    print(f.nopython_signatures[0])
assert [str(f.nopython_signatures[0].return_type) for f in (widened, narrow)] == ["float64", "float32"]

# %% [markdown]
# The module for float64 needs no such care.

# %%
for_doubles = generate.forward("silu", Silu.kernel, (True,), f64)
print(for_doubles)
assert "float32(1)" in source and "float32" not in for_doubles

# %% [markdown]
# The operation does the same by itself for a large array, one of more than a few thousand numbers. The cache folder then
# holds the module, a file that you can open, and the machine code beside it.

# %%
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
        8: "That is one loop: it reads x and writes the result. NumPy's four functions do not know of one another.",
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
# Nine arrays against two. Now the clock: the least processor time of several runs, on one thread. The last one only copies,
# so it shows the cost of moving the bytes. The ratios differ between machines.

# %%
torch.set_num_threads(1)


def milliseconds(f, runs=20):
    """Return the least processor time of several runs, without the first, which may compile."""
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

# %% alt="Three bars, the processor time for a million numbers: four steps of NumPy, one loop, and a mere copy"
figure, axes = plt.subplots(figsize=(7, 2.2), layout="constrained")
bars = axes.barh(list(measured), list(measured.values()), color=["#b2443c", "#1f4e8c", "#566171"])
axes.bar_label(bars, fmt="%.2f", padding=3)
axes.set_xlabel("milliseconds for a million numbers")
axes.invert_yaxis()
axes.spines[["top", "right"]].set_visible(False)

# %% [markdown]
# ## The function inside the loop
#
# One loop is not everything. `exp` in the module above is minigrad's own, from `vecmath`: it has no branch, so the
# compiler can compute several numbers with one instruction. The C library's `exp`, behind `math.exp`, takes one at a
# time. The text of the loop is the same otherwise.


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
# ## Derivatives are loops too
#
# The derivative's formula becomes a loop in the same way. The loop reads the gradient of the result, `g_`, and the arrays
# that the formula names: here only `x`. The node saves the same arrays for the backward pass.

# %%
print(generate.backward("silu", ["g", "x"], (True, True), [("dx", Silu.dx)], f32))

# %% [markdown]
# Written as four operations, the same function has four nodes.


# %%
def fused(x):
    return torch.nn.functional.silu(x)


def kept(f, x):
    """Return the bytes of all values that nodes save for backward, counting each once."""
    saved = [entry for op in torch.record(f, x).to_dict()["ops"] for entry in op["saved"]]
    return sum({entry["value"]: entry["bytes"] for entry in saved}.values())


small = torch.tensor(numbers, requires_grad=True)

lessons.predict(
    "The four nodes of steps save 36 bytes: x, exp(-x) and 1 + exp(-x). How many bytes does the one node of silu save?",
    {
        0: "The derivative depends on x, so the node must save something.",
        12: "From x alone, its derivative computes everything again.",
        24: "x and the sigmoid would be enough, but dx names x alone.",
        36: "Results inside one formula are no tensors, and need not be saved.",
    },
    lambda: kept(fused, small),
)

# %%
draw(steps, small, passes=("forward", "backward"))

# %%
draw(fused, small, passes=("forward", "backward"))

# %%
print(kept(steps, small), "bytes kept by four nodes,", kept(fused, small), "by one")
assert kept(steps, small) == 3 * 3 * 4  # x, exp(-x) and 1 + exp(-x), of three float32 numbers each
assert kept(fused, small) == 3 * 4

# %% [markdown]
# ## Your own operation
#
# `Pointwise` is the family of operations that work element by element: `kernel`, and `d` with an argument's name for its
# derivative. `out` stands for the result. This is the bell curve:
#
# $$f(x) = e^{-x^2} \qquad f'(x) = -2x\,f(x)$$

# %%
from minigrad.ops.base.families import Pointwise
from minigrad.ops.elementary import exp


class Bell(Pointwise):
    """exp(-x²)."""

    kernel = lambda x: exp(-x * x)
    dx = lambda x, out: -2 * x * out


x = torch.tensor([0.0, 1.0], requires_grad=True)
y = Bell.apply(x)
y.sum().backward()
print(y)
print(x.grad)
assert np.allclose(x.grad.numpy(), [0.0, -2 / math.e])

# %% [markdown]
# From these two lines come broadcasting, dtypes, the loops, forward mode and higher derivatives. `gradcheck` compares the
# declared derivative with differences, here also in forward mode; `gradgradcheck` does it for the derivative's derivative.

# %%
points = torch.tensor([-1.5, 0.3, 2.0], dtype=torch.float64, requires_grad=True)
assert torch.autograd.gradcheck(Bell.apply, (points,), check_forward_ad=True)
assert torch.autograd.gradgradcheck(Bell.apply, (points,))

large = torch.ones(10_000, requires_grad=True)
Bell.apply(large).sum().backward()
print(large.grad[0])
assert math.isclose(large.grad[0].item(), -2 / math.e, rel_tol=1e-6)

# %% [markdown]
# ## What goes wrong
#
# Nothing proves that a declared derivative belongs to its kernel. Here the factor `out` is forgotten; the program runs, and
# its gradients are wrong. `gradcheck` shows both numbers.


# %%
class Bent(Pointwise):
    """exp(-x²), with a wrong derivative."""

    kernel = lambda x: exp(-x * x)
    dx = lambda x: -2 * x


try:
    torch.autograd.gradcheck(Bent.apply, (points,))
except RuntimeError as e:
    print(e)
else:
    raise AssertionError("a wrong derivative was accepted")

# %% [markdown]
# A formula for numbers of one kind raises an error for others, and says what to do.

# %%
try:
    torch.nn.functional.silu(torch.tensor([1, 2]))
except NotImplementedError as e:
    print(e)
else:
    raise AssertionError("integers were accepted")

# %% [markdown]
# A formula has no loop if it calls a function that minigrad does not know for single numbers: `generate` returns None, and
# NumPy computes at every size. The result is right, but no faster.


# %%
class Window(Pointwise):
    """Bessel's function I0."""

    kernel = lambda x: np.i0(x)


print(generate.forward("window", Window.kernel, (True,), f32))
print(Window.apply(torch.tensor([0.0, 1.0])))
assert generate.forward("window", Window.kernel, (True,), f32) is None

# %% [markdown]
# ## A line at a time
#
# `softmax` is not elementwise: it divides each number of a row by a sum over the row. In minigrad it is a program of three
# other operations.

# %%
print(inspect.getsource(Softmax.program))

# %% [markdown]
# Run one after the other, they would read and write the whole table again and again. The compiler of lesson 29 writes the
# kernel: it traces the program on an example, and turns it into one pass over the rows. A row just read is still in the
# processor's nearest memory, so the second and third loop over it cost little.

# %%
table = np.random.default_rng(0).standard_normal((300, 10)).astype(np.float32)
text = eager_kernels.text(lines.forward_plan(Softmax), (table, (1,)))
print(text[text.index("def softmax") :])
assert "class" not in text and len(text) < 4000

# %% [markdown]
# For a GPU the same program becomes another text. Here threads share a row: each reads some numbers into its registers, where
# `exp` of them stays, too, and `block_max` and `block_sum` combine the results of all threads. If a row is too long for that,
# a second kernel reads it again in each loop. It computes `exp` twice, which costs less than writing it down.

# %%
text = eager_kernels.text(lines.forward_plan(Softmax), (table, (1,)), on_device=True)
print(text[text.index("def softmax_0") :])

# %% [markdown]
# The gradient's kernel comes from the derivative's formula in the same way. One formula serves both devices, small arrays,
# compiled programs and the second derivative.

# %%
print(formula.text(Softmax.dx))
kept_for_backward = type(None), tuple, np.ndarray, np.ndarray  # not x, but dims, the result and its gradient
text = eager_kernels.text(lines.backward_plan(Softmax, kept_for_backward), (None, (1,), table, table))
print(text[text.index("def softmax_backward") :])

found = torch.tensor(table, requires_grad=True)
found.softmax(1).square().sum().backward()
p = np.exp(table) / np.exp(table).sum(1, keepdims=True)
assert np.allclose(found.grad.numpy(), 2 * p * (p - (p * p).sum(1, keepdims=True)), atol=1e-6)

# %% [markdown]
# A loop over one operation, or over one row, is where fusing begins. Lesson 29 compiles a whole function, so that all its
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
# ### 3. Repair
#
# The kernel is right, $\log(1 + x^2)$. The derivative is not. Repair it.

# %%
from minigrad.ops.elementary import log


class KernelRepaired(Pointwise):
    """log(1 + x²)."""

    kernel = lambda x: log(1 + x * x)
    dx = lambda x, out: 1 / out


lessons.check("KernelRepaired", KernelRepaired)

# %% [markdown]
# ### 4. One loop for two gradients
#
# Write the loop of the backward pass of $x e^y$: it reads `g_`, `x_` and `y_`, and writes both gradients, `dx_` and
# `dy_`. You may use `math.exp`.


# %%
def kernel_backward(g_, x_, y_, dx_, dy_): ...


lessons.check("kernel_backward", kernel_backward)

# %% [markdown]
# ### 5. From scratch
#
# Declare an operation of two operands, $\sqrt{x^2 + y^2 + 1}$, with the derivatives with respect to both. A formula may use
# `torch.sqrt`, and each formula may read other names than those given here.


# %%
class KernelDistance(Pointwise):
    """sqrt(x² + y² + 1)."""

    kernel = lambda x, y: ...
    dx = lambda x, y: ...
    dy = lambda x, y: ...


lessons.check("KernelDistance", KernelDistance)

# %% [markdown]
# ## Summary
#
# - An operation states a formula and its derivatives; minigrad makes loops and GPU kernels of their text.
# - Separate operations move an array for every step; one loop reads each input once and writes the result.
# - One node saves only what its derivative names.
# - A family such as `Pointwise` adds broadcasting, forward mode and higher derivatives. `gradcheck` tests the formula.
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
# <summary>The derivative of silu computes the sigmoid again. Why does the node not save it?</summary>
#
# Saving it costs memory until backward, and a read from memory there. Computing it again in the loop, from `x`, often takes
# less time than that, and saves an array.
#
# </details>
