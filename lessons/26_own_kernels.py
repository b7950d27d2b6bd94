# %% [markdown]
# # A kernel of your own
#
# *Needs lessons 7, 16 and 25.*
#
# **Can my own operation be as fast as minigrad's?** Yes. Declare a formula for the result and a formula for the derivative.
# minigrad makes a loop from each, and `gradcheck` tells you if the two belong together.
#
# After this lesson you can:
#
# - declare an operation with its derivatives, and check it
# - read the loop of its backward pass, and choose the arrays that it saves
# - explain why a formula has no loop, or needs one over rows

# %%
import math
import time

import numpy as np

import lessons
import minigrad as torch
from minigrad.compile import eager_kernels
from minigrad.kernels import formula, generate, row_kernels
from minigrad.ops.base.families import Pointwise
from minigrad.ops.elementary import exp
from minigrad.ops.nn.softmax import Softmax
from viz import draw

# %% [markdown]
# This is a whole operation: a formula and its derivative.


# %%
class Bell(Pointwise):
    """exp(-x²)."""

    kernel = lambda x: exp(-x * x)
    dx = lambda x, out: -2 * x * out


def bell(x):
    return Bell.apply(x)


x = torch.tensor([0.0, 1.0, 2.0], requires_grad=True)
draw(bell, x, passes=("forward", "backward"))

# %% [markdown]
# The whole curve is one node. Beside its arrow in the backward pass is `dx`, the formula of its derivative.
#
# ## Your own operation
#
# `Pointwise` is the family of operations that work element by element. `kernel` computes the result; `d` with an argument's
# name is the derivative with respect to this argument. In it, `out` stands for the result, so `dx` computes no second
# exponential.

# %%
y = bell(x)
y.sum().backward()
print(y)
print(x.grad)
assert np.allclose(x.grad.numpy(), [0.0, -2 / math.e, -4 / math.e**4])

# %% [markdown]
# From these two lines come broadcasting, dtypes, the loops, forward mode and higher derivatives. `gradcheck` compares the
# declared derivative with differences, here also in forward mode; `gradgradcheck` does the same for the derivative's
# derivative.

# %%
points = torch.tensor([-1.5, 0.3, 2.0], dtype=torch.float64, requires_grad=True)
assert torch.autograd.gradcheck(bell, (points,), check_forward_ad=True)
assert torch.autograd.gradgradcheck(bell, (points,))

# %% [markdown]
# ## Derivatives are loops too
#
# Lesson 25 reads the loop of a kernel. The derivative's formula becomes a loop in the same way: it reads the gradient of the
# result, `g_`, and the arrays that the formula names.

# %%
f32 = np.dtype(np.float32)
text = generate.backward("bell", ["g", "x", "out"], (True, True, True), [("dx", Bell.dx)], f32)
print(text[text.index("@njit") :])
assert text.count("for i in range") == 1 and "float32(2)" in text

# %% [markdown]
# The node saves the same arrays for the backward pass, and nothing else. Written as three operations, the same curve has
# three nodes, and each of them saves arrays.


# %%
def steps(x):
    return (-x * x).exp()


def saved_bytes(f, x):
    """Return the bytes of all values that nodes save for backward, counting each once."""
    saved = [entry for op in torch.record(f, x).to_dict()["ops"] for entry in op["saved"]]
    return sum({entry["value"]: entry["bytes"] for entry in saved}.values())


print("three nodes save", saved_bytes(steps, x), "bytes, one node saves", saved_bytes(bell, x))
assert saved_bytes(steps, x) == 36 and saved_bytes(bell, x) == 24
draw(steps, x, show="saved", name="three operations")

# %% [markdown]
# So the names in `dx` decide which arrays the node saves. The next derivative computes the exponential again instead of saving
# it. A loop that waits for memory has time for that.


# %%
class LeanBell(Pointwise):
    """exp(-x²), with a derivative that reads x alone."""

    kernel = lambda x: exp(-x * x)
    dx = lambda x: -2 * x * exp(-x * x)


assert torch.autograd.gradcheck(LeanBell.apply, (points,))
lessons.predict(
    "The node of Bell saves 24 bytes for three float32 numbers. How many does the node of LeanBell save?",
    {
        12: "dx names x alone. The results inside a formula are not arrays.",
        24: "dx names x three times, but the node saves it once.",
        36: "-x and exp(-x²) are inside the formula: no array holds them.",
        0: "The derivative depends on x, so the node must save it.",
    },
    lambda: saved_bytes(LeanBell.apply, x),
)

# %% [markdown]
# Now measure the time of both passes for a million numbers. The ratios differ between machines.

# %%
torch.set_num_threads(1)
large = torch.linspace(-2.0, 2.0, 1_000_000).requires_grad_()


def milliseconds(f, runs=10):
    """Return the shortest processor time of several runs of both passes; the first run may compile."""
    times = []
    for _ in range(runs + 1):
        start = time.process_time()
        torch.autograd.grad(f(large).sum(), large)
        times.append(time.process_time() - start)
    return 1000 * min(times[1:])


silu = torch.nn.functional.silu
for name, f in (("three operations", steps), ("Bell", bell), ("LeanBell", LeanBell.apply), ("minigrad's silu", silu)):
    print(f"{name:>16}: {milliseconds(f):6.2f} ms")
assert torch.autograd.grad(bell(large).sum(), large)[0].allclose(torch.autograd.grad(steps(large).sum(), large)[0])

# %% [markdown]
# ## What goes wrong
#
# Nothing proves that a declared derivative belongs to its kernel. The next one lacks the factor `out`: the program runs, but
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


def accepted_at(number):
    point = torch.tensor([number], dtype=torch.float64, requires_grad=True)
    return torch.autograd.gradcheck(Bent.apply, (point,), raise_exception=False)


lessons.predict(
    "gradcheck compares only at the points that you give. At which point does it accept Bent?",
    {
        0.0: "Both the right slope, -2x exp(-x²), and the wrong one, -2x, are 0 there.",
        0.3: "The right slope is -0.55, the wrong one -0.6. gradcheck sees much smaller differences.",
        2.0: "The right slope is -0.07, the wrong one -4.",
        "nowhere": "gradcheck compares numbers, not formulas, so one point may hide a mistake.",
    },
    lambda: next(number for number in (2.0, 0.3, 0.0) if accepted_at(number)),
)

# %% [markdown]
# A formula has no loop if it calls a function that minigrad does not know for single numbers: `generate` returns None, and
# NumPy does the computation for arrays of any size. The result is right, but no faster.


# %%
class Window(Pointwise):
    """Bessel's function I0."""

    kernel = lambda x: np.i0(x)


print(Window.apply(torch.tensor([0.0, 1.0])))
assert generate.forward("window", Window.kernel, (True,), f32) is None

# %% [markdown]
# ## A derivative over rows
#
# `softmax` is not elementwise: it divides each number of a row by a sum over the row, so each gradient depends on the whole
# row. Its formula reads the incoming gradient `g` and calls an operation, a sum. `result` in the kernel below is the gradient.

# %%
table = np.random.default_rng(0).standard_normal((300, 10)).astype(np.float32)
saved = type(None), tuple, np.ndarray, np.ndarray  # not x, but dims, the result and its gradient
text = eager_kernels.text(row_kernels.backward_plan(Softmax, saved), (None, (1,), table, table))
print("dx:", formula.text(Softmax.dx))
print(text[text.index("def softmax_backward") :])

found = torch.tensor(table, requires_grad=True)
found.softmax(1).square().sum().backward()
p = np.exp(table) / np.exp(table).sum(1, keepdims=True)
assert np.allclose(found.grad.numpy(), 2 * p * (p - (p * p).sum(1, keepdims=True)), atol=1e-6)

# %% [markdown]
# The kernel is one pass over the rows: for each row a loop computes the sum, in parts of 512 numbers, and a second loop
# computes the gradient. One formula serves both devices, small arrays, compiled programs and the second derivative.
#
# ## Exercises
#
# ### 1. Repair
#
# The kernel, $\log(1 + x^2)$, is right, but the derivative is not. Repair it.

# %%
from minigrad.ops.elementary import log


class KernelRepaired(Pointwise):
    """log(1 + x²)."""

    kernel = lambda x: log(1 + x * x)
    dx = lambda x, out: 1 / out


lessons.check("KernelRepaired", KernelRepaired)

# %% [markdown]
# ### 2. One loop for two gradients
#
# Write the loop of the backward pass of $x e^y$: it reads `g_`, `x_` and `y_`, and writes both gradients, `dx_` and
# `dy_`. You may use `math.exp`.


# %%
def kernel_backward(g_, x_, y_, dx_, dy_): ...


lessons.check("kernel_backward", kernel_backward)

# %% [markdown]
# ### 3. Save only one array
#
# Declare the logistic function, $1 / (1 + e^{-x})$. Its node may save only one array.


# %%
class KernelLean(Pointwise):
    """1 / (1 + exp(-x))."""

    kernel = lambda x: ...
    dx = lambda x: ...


lessons.check("KernelLean", KernelLean)

# %% [markdown]
# ### 4. From scratch (at home)
#
# Declare an operation of two operands, $\sqrt{x^2 + y^2 + 1}$, with the derivatives with respect to both. A formula may use
# `torch.sqrt`, and you may change the names that each formula reads.


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
# - An operation of the family `Pointwise` consists of a formula `kernel` and a derivative for each argument.
# - Both become loops. The family adds broadcasting, forward mode and higher derivatives.
# - The node saves the arrays that the derivative names; computing again may be cheaper than saving.
# - `gradcheck` finds a wrong derivative, unless the points are special.
#
# ## Questions
#
# <details markdown="1">
# <summary>The derivative of silu computes the sigmoid again. Why does the node not save it?</summary>
#
# A saved sigmoid needs memory until backward, and backward has to read it from there. Computing it again from `x` often takes
# less time than that read.
#
# </details>
#
# <details markdown="1">
# <summary>For which derivative is <code>out</code> the best choice?</summary>
#
# For one that follows from the result alone, as for `exp` or `tanh`. The result exists anyway, and `x` need not be saved.
#
# </details>
#
# <details markdown="1">
# <summary>Your formula calls a SciPy function. Does the operation work?</summary>
#
# Yes, on NumPy arrays and without a loop. It is as fast as the steps that it consists of.
#
# </details>
