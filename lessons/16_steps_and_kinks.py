# %% [markdown]
# # Steps, kinks and second derivatives
#
# *Needs lessons 13 and 15.*
#
# **`gradcheck` fails. Is my gradient wrong, or the check?** Usually the gradient. But differences need a good step, a
# point away from corners, and a function without random numbers. And a gradient that passes may still have a wrong
# derivative.
#
# After this lesson you can:
#
# - choose a step and a dtype for a check that you can trust,
# - tell a corner and random numbers from a wrong gradient,
# - check second derivatives with `gradgradcheck`, and everything else with `minigrad check`.

# %%
import warnings

import numpy as np
from matplotlib import pyplot as plt

import lessons
import minigrad as torch
from minigrad.autograd import Function, gradcheck, gradgradcheck
from viz import draw


def central(f, x, eps):
    return (f(x + eps) - f(x - eps)) / (2 * eps)


# %% alt="Error of the central difference of exp at 1 over eps, both axes logarithmic. Both curves are V-shaped: float64 is lowest between 1e-7 and 1e-5 with errors below 1e-9, float32 near 1e-2 with an error above 1e-6."
def errors(dtype, steps):
    x = torch.tensor(1.0, dtype=dtype)
    return [abs(float(central(torch.exp, x, eps)) - np.e) for eps in steps]


steps = 10.0 ** np.arange(-12, 0)
found = {dtype: errors(dtype, steps) for dtype in (torch.float64, torch.float32)}
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
for dtype, error in found.items():
    axes.loglog(steps, error, marker="o", label=str(dtype))
axes.set(xlabel="eps", ylabel="error of the slope")
axes.legend()

best = {dtype: min(error) for dtype, error in found.items()}
print(best)
assert best[torch.float64] < 1e-8 < 1e-6 < best[torch.float32]
assert found[torch.float64][0] > 100 * best[torch.float64] and found[torch.float64][-1] > 100 * best[torch.float64]

# %% [markdown]
# `gradcheck` compares `backward` with central differences. The picture shows their error for `exp` at 1, plotted against the
# step.
#
# ## How small a step?
#
# A large step sees the bend of the curve: the error of a central difference shrinks with the square of `eps`. A small
# step subtracts two nearly equal numbers and divides their rounding errors by `2 * eps`. So there is a best step in
# between, and its error depends on the dtype.
#
# Here is the curve as float32 stores it, with the two points of the difference. As the step shrinks, the curve first
# looks straight. Then it breaks into stairs, and the slope depends on the stairs that the two points stand on.


# %%
def two_points(eps):
    at = torch.linspace(1 - 2 * eps, 1 + 2 * eps, 400)
    ends = torch.tensor([1 - eps, 1 + eps], dtype=torch.float32)
    slope = central(torch.exp, torch.tensor(1.0), eps).item()
    figure, axes = plt.subplots(figsize=(4, 3), layout="constrained")
    axes.plot(np.linspace(-2, 2, 400), at.exp().numpy())
    axes.plot([-1, 1], ends.exp().numpy(), marker="o")
    axes.set(xlabel="steps from x = 1", yticks=[], title=f"slope {slope:.4f}, off by {abs(slope - np.e):.1g}")
    return figure


lessons.slider(two_points, alt="The curve of exp around 1, and a line through two points", eps=10.0 ** -np.arange(8))

# %% [markdown]
# The default of `gradcheck`, `eps=1e-6`, is for float64. With float32 it warns, and then reports mistakes that do not
# exist. Convert the inputs.

# %%
single = torch.tensor([0.5, 1.0, -2.0], requires_grad=True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert not gradcheck(torch.tanh, single, raise_exception=False)
print(caught[0].message)
assert gradcheck(torch.tanh, single.detach().double().requires_grad_())

# %% [markdown]
# ## Kinks
#
# At a corner there is no derivative: the slope on the left differs from the slope on the right. `backward` takes one of
# them.

# %%
corner = torch.tensor([0.0], dtype=torch.float64, requires_grad=True)
lessons.predict(
    "relu(x) is max(x, 0). Which slope does the central difference with eps = 1e-6 give at x = 0?",
    {
        0.0: "That is the slope on the left, which backward takes.",
        1.0: "That is the slope on the right.",
        0.5: "One end is at 1e-6 and the other at 0, and they are 2e-6 apart: the mean of both slopes.",
        "nan": "There is no derivative there, but the difference is an ordinary quotient.",
    },
    lambda: central(torch.relu, corner.detach(), 1e-6).item(),
)

# %% [markdown]
# So `gradcheck` fails, and neither side is wrong. The same happens if the corner is within `eps` of the input. Move the input
# away from it.

# %%
assert torch.autograd.grad(torch.relu(corner).sum(), corner)[0].item() == 0.0
assert not gradcheck(torch.relu, corner, raise_exception=False)
assert gradcheck(torch.relu, torch.tensor([0.1, -0.1], dtype=torch.float64, requires_grad=True))

# %% [markdown]
# `torch.testing.check`, explained below, recognizes corners: it accepts any slope between the slopes of both sides.


# %%
class Relu(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x > 0)


assert torch.testing.check(Relu, torch.tensor([0.0, 1.0]))

# %% [markdown]
# ## Random numbers
#
# A function whose results change from call to call has no differences. The message reports that, not a wrong gradient.

# %%
inputs = torch.tensor([0.5, 1.0, -2.0], dtype=torch.float64, requires_grad=True)
try:
    gradcheck(lambda x: x * torch.rand(3, dtype=torch.float64), inputs)
except RuntimeError as e:
    print(e)
    assert "called twice" in str(e)
else:
    raise AssertionError("random numbers were not noticed")

# %% [markdown]
# Dropout is such a function. Check it in evaluation mode, or set the seed at the beginning of the function.

# %% [markdown]
# ## Second derivatives
#
# `gradgradcheck` treats the gradients as the function and checks their gradients. It finds the mistake of lesson 13: a
# slope computed in `forward`, which is a constant for the second derivative.


# %%
class KeptSlope(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(3 * x * x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (kept,) = ctx.saved_tensors
        return grad_output * kept


points = torch.tensor([1.0, -2.0], dtype=torch.float64, requires_grad=True)
assert gradcheck(KeptSlope.apply, points)
assert gradgradcheck(lambda x: x**3, points)
try:
    gradgradcheck(KeptSlope.apply, points)
except RuntimeError as e:
    print(e)
    assert "gradgradcheck" in str(e) and "is zero" in str(e)
else:
    raise AssertionError("a wrong second derivative was accepted")

# %% [markdown]
# Does `gradgradcheck` make `gradcheck` unnecessary? Try it on a `backward` that is wrong by a factor of 2.


# %%
class Doubled(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 4 * x


lessons.predict(
    "The slope of x * x is 2 * x, but backward of Doubled uses 4 * x. Which of the two checks finds the mistake?",
    {
        "gradcheck": "It compares 4 * x with the differences of forward. gradgradcheck compares 4 with those of 4 * x.",
        "gradgradcheck": "The derivative of 4 * x is 4, and so are its differences: backward agrees with itself.",
        "both": "gradgradcheck does not know that 4 * x should be 2 * x: it does not look at forward.",
        "neither": "gradcheck compares 4 * x with the differences of forward, which give 2 * x.",
    },
    lambda: " and ".join(
        check.__name__
        for check in (gradcheck, gradgradcheck)
        if not check(Doubled.apply, points, raise_exception=False)
    ),
)

# %% [markdown]
# So run both checks.
#
# ## Everything at once
#
# Right gradients are not all that a Function promises. `torch.testing.check` tests the requirements of PyTorch's
# documentation: first and second derivatives, empty tensors, several threads, memory, transforms. For each failure it
# keeps the smallest input that shows it.

# %%
result = torch.testing.check(KeptSlope, torch.tensor([0.5, 1.0]))
for failure in result.failures:
    print(failure.name, failure.message, failure.line, failure.input, failure.remedy, sep="\n")
assert not result and "second" in result.failures[0].name

# %% [markdown]
# The command `minigrad check` does the same for a file. With `-o wrong.svg` it draws the failure; with JSON output, you
# can draw the record here.

# %%
import json
import pathlib
import subprocess
import sys
import tempfile

program = """import minigrad as torch

class Tanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.tanh()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * (1 - y)
"""
with tempfile.TemporaryDirectory() as folder:
    pathlib.Path(folder, "wrong.py").write_text(program)
    command = [sys.executable, "-m", "viz.cli", "check", "wrong.py:Tanh", "-o", "wrong.json"]  # minigrad check ...
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    record = json.loads(pathlib.Path(folder, "wrong.json").read_text())
print(done.stdout.replace(f"{folder}/", ""))
assert done.returncode == 1 and "✗ gradients" in done.stdout

# %% [markdown]
# The picture shows the smallest input.

# %%
picture = draw(record, passes="backward")
assert "but finite differences give" in picture.svg()
picture

# %% [markdown]
# ## Exercises
#
# ### 1. Near a corner
#
# Which slope does the central difference with `eps = 1e-6` give for `relu` at
# `x = 0.5e-6`? Work it out by hand.

# %%
difference_at_corner = ...

lessons.check("difference_at_corner", difference_at_corner)

# %% [markdown]
# ### 2. Which check?
#
# Each of three Functions has one mistake. Which check finds it: `"gradcheck"`, `"gradgradcheck"` or `"neither"`? Give three
# words in a list.
#
# - The first one computes `x * x`. Its `forward` saves `2 * x`, and its `backward` returns `grad_output * saved`.
# - The second one computes `x.cos()`. Its `forward` saves `x`, and its `backward` returns `grad_output * x.sin()`.
# - The third one should compute `x * x`. Its `forward` saves `x` and returns `x * x * x`, and its `backward` returns
#   `grad_output * 3 * x * x`.

# %%
checked_by = ...

lessons.check("checked_by", checked_by)

# %% [markdown]
# ### 3. Repair
#
# This Function computes the length of the hypotenuse, $\sqrt{a^2 + b^2}$. Repair it until `minigrad check` finds no
# mistake.


# %%
class CheckedHypot(Function):
    @staticmethod
    def forward(ctx, a, b):
        length = (a * a + b * b).sqrt()
        ctx.save_for_backward(a, b, length)
        return length

    @staticmethod
    def backward(ctx, grad_output):
        a, b, length = ctx.saved_tensors
        return grad_output * b / length, a / length


lessons.check("CheckedHypot", CheckedHypot)

# %% [markdown]
# ## Summary
#
# - A good step for float64 is near `1e-6`; float32 has too few digits for a check.
# - At a corner, differences give the mean of both slopes. Move the input away.
# - `gradcheck` compares `backward` with `forward`, `gradgradcheck` compares `backward` with its derivative: run both.
# - `minigrad check` tests everything that a Function promises.
#
# ## Questions
#
# <details markdown="1">
# <summary>Which mistakes does no check find?</summary>
#
# A wrong value: if `forward` computes a different function from the one you meant, and `backward` its derivative, the two
# agree. Compare the values with another program.
#
# </details>
