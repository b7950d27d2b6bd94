# %% [markdown]
# # Is this gradient right?
#
# *30 minutes. Needs lessons 2, 9 and 13.*
#
# **How do I find out that my gradient is wrong?** A wrong `backward` raises no error: training only goes worse than it
# should. But `forward` alone also gives the slope, by differences. `gradcheck` compares the two.
#
# After this lesson you can:
#
# - compare a gradient with differences, by hand and with `gradcheck`
# - read the message of `gradcheck`, and choose inputs and a step that it can be trusted with
# - check second derivatives with `gradgradcheck`
# - run `minigrad check`, which tests everything else, too

# %%
import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

import matplotlib.pyplot as plt
import numpy as np

import lessons
import minigrad as torch
from minigrad.autograd import Function, gradcheck, gradgradcheck
from viz import draw


class Tanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.tanh()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * (1 - y)


def central(f, x, eps):
    return (f(x + eps) - f(x - eps)) / (2 * eps)


# %% alt="Two curves over x from -3 to 3. The slope from differences is a bell with its top 1 at x = 0. The slope from backward falls from 2 to 0 and meets the bell at x = 0 only."
xs = torch.linspace(-3.0, 3.0, 61, dtype=torch.float64).requires_grad_()
(by_backward,) = torch.autograd.grad(Tanh.apply(xs).sum(), xs)
by_differences = central(Tanh.apply, xs.detach(), 1e-6)

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.plot(xs.detach().numpy(), by_differences.numpy(), label="differences of forward")
axes.plot(xs.detach().numpy(), by_backward.numpy(), label="backward")
axes.set(xlabel="x", ylabel="slope")
legend = axes.legend()

# %% [markdown]
# `Tanh` computes the right values, and its `backward` a wrong slope: the differences of `forward` show another curve.
#
# ## Two ways to a slope
#
# The derivative of `tanh` is $1 - y^2$, where $y$ is the result. `Tanh.backward` lacks the square. There is no error:
# shapes and types are right.

# %%
x = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
(analytical,) = torch.autograd.grad(Tanh.apply(x), x)
print(analytical.item())

# %% [markdown]
# `forward` alone also gives the slope: move the input a little to both sides, and see how much the result moves. This
# is a *central difference*. It needs no formula, so it makes no mistakes in formulas.
#
# $$f'(x) \approx \frac{f(x + \varepsilon) - f(x - \varepsilon)}{2\,\varepsilon}$$

# %%
numerical = central(Tanh.apply, x.detach(), 1e-6)
print(numerical.item())
assert abs(numerical.item() - (1 - np.tanh(1.0) ** 2)) < 1e-9
assert abs(numerical.item() - analytical.item()) > 0.1

# %% [markdown]
# In the pictures, the Function and the built-in operation return the same value and send different gradients back.


# %%
def without_square(x):
    return Tanh.apply(x)


def with_square(x):
    return x.tanh()


draw(without_square, x, passes="backward")

# %%
draw(with_square, x, passes="backward")

# %% [markdown]
# ## The point matters
#
# A check at one point may find nothing.


# %%
def accepted(at):
    """Return True if backward and differences agree at a point."""
    point = torch.tensor(at, dtype=torch.float64, requires_grad=True)
    return gradcheck(Tanh.apply, point, raise_exception=False)


lessons.predict(
    "At which of the points -2, 0 and 1 does Tanh pass the check?",
    {
        "none": "The formula is wrong, but it need not be wrong at each point: put y = 0 into it.",
        "0": "There y is 0, and 1 - y and 1 - y * y are both 1.",
        "1": "The input is 1 there, and the result is 0.76: 1 - y is 0.24, and 1 - y * y is 0.42.",
        "-2": "There y is negative, and the wrong slope is above 1.",
    },
    lambda: ", ".join(str(at) for at in (-2, 0, 1) if accepted(float(at))) or "none",
)

# %%
agree = torch.isclose(by_backward, by_differences, atol=1e-6)
assert xs[agree].tolist() == [xs[30].item()] and abs(xs[30].item()) < 1e-12

# %% [markdown]
# The two curves of the first picture meet at $x = 0$ only, since $1 - 0 = 1 - 0^2$. Check at several ordinary points, of
# both signs.
#
# ## gradcheck
#
# `gradcheck(f, inputs)` moves every element of every input that requires grad, and compares all elements of the
# Jacobian: row $i$, column $j$ is the derivative of output $j$ by input $i$. It returns True or raises an error.

# %%
inputs = torch.tensor([0.0, 1.0, -2.0], dtype=torch.float64, requires_grad=True)
assert gradcheck(torch.tanh, inputs)
assert gradcheck(Tanh.apply, inputs[:1].detach().requires_grad_()), "at 0 the mistake does not show"

try:
    gradcheck(Tanh.apply, inputs)
except RuntimeError as e:
    print(e)
    assert "2 of 9 elements differ" in str(e)
else:
    raise AssertionError("the wrong gradient was accepted")

# %% [markdown]
# Read it from the bottom: what to look at; which line of which `backward`; the element that is furthest off, with both
# numbers; the two Jacobians. Their pattern often reveals the mistake. An elementwise function has zeros off the
# diagonal. A Function that forgets `grad_output` fills whole rows:


# %%
class Forgetful(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, _):
        (x,) = ctx.saved_tensors
        return x.cos()


class Flipped(Forgetful):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return -grad_output * x.cos()


for wrong in (Forgetful, Flipped):
    try:
        gradcheck(wrong.apply, inputs)
    except RuntimeError as e:
        print(e, end="\n\n")
        assert wrong is not Flipped or "signs are opposite" in str(e)
    else:
        raise AssertionError(f"{wrong} was accepted")

# %% [markdown]
# ## How small a step?
#
# A large step sees the bend of the curve: the error of a central difference shrinks with the square of `eps`. A small
# step subtracts two nearly equal numbers and divides their rounding errors by `2 * eps`. So there is a best step in
# between, and its error depends on the dtype.


# %% alt="Error of the central difference of exp at 1 over eps, both axes logarithmic. Both curves are V-shaped: float64 has its lowest point near 1e-5 with an error below 1e-9, float32 near 1e-2 with an error above 1e-6."
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
# Here is the curve as float32 stores it, with the two points of the difference. With a smaller step the curve gets straight.
# Then it breaks into stairs, and the slope depends on the two stairs that the points stand on.


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

# %%
wide, good, small = errors(torch.float32, [1.0, 1e-2, 1e-7])
assert good < 1e-3 < 1e-2 < small and good < 1e-3 < wide

# %% [markdown]
# The default of `gradcheck`, `eps=1e-6`, is for float64. With float32 it warns, and then reports mistakes that do not
# exist. Convert the inputs: the formulas are the same in both.

# %%
single = torch.tensor([0.5, 1.0, -2.0], requires_grad=True)
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    assert not gradcheck(torch.tanh, single, raise_exception=False)
print(said[0].message)
assert gradcheck(torch.tanh, single.detach().double().requires_grad_())

# %% [markdown]
# ## Kinks
#
# At a corner there is no derivative. Differences take the mean of both sides, `backward` takes one of them, and neither
# is wrong. The same happens if the corner is within `eps` of the input. Move the input away from it.

# %%
corner = torch.tensor([0.0], dtype=torch.float64, requires_grad=True)
lessons.predict(
    "relu(x) is max(x, 0). Which slope does the central difference with eps = 1e-6 give at x = 0?",
    {
        0.0: "That is the slope on the left, which backward takes.",
        1.0: "That is the slope on the right.",
        0.5: "One end is at 1e-6 and the other at 0, and they are 2e-6 apart: the mean of both slopes.",
        "nan": "Mathematics knows no slope there, but the difference is an ordinary quotient.",
    },
    lambda: central(torch.relu, corner.detach(), 1e-6).item(),
)

# %%
(slope,) = torch.autograd.grad(torch.relu(corner).sum(), corner)
print(slope.item(), central(torch.relu, corner.detach(), 1e-6).item())
assert slope.item() == 0.0 and central(torch.relu, corner.detach(), 1e-6).item() == 0.5
assert not gradcheck(torch.relu, corner, raise_exception=False)
assert gradcheck(torch.relu, torch.tensor([0.1, -0.1], dtype=torch.float64, requires_grad=True))

# %% [markdown]
# `minigrad check`, which you will meet below, knows corners: there it accepts everything between the slopes of both
# sides.


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
# A function whose results change from call to call has no differences either. The message says that, not that the
# gradient is wrong.

# %%
try:
    gradcheck(lambda x: x * torch.rand(3, dtype=torch.float64), inputs)
except RuntimeError as e:
    print(e)
    assert "called twice" in str(e)
else:
    raise AssertionError("random numbers were not noticed")

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
# ## Everything at once
#
# Right gradients are not all that a Function promises. `minigrad.testing.check` tests the requirements of PyTorch's
# documentation: shapes without elements, several threads, memory, transforms. For each failure it keeps the smallest
# input that shows it.

# %%
result = torch.testing.check(Tanh, torch.tensor([0.5, 1.0]))
failure = result["gradients"]
print(failure.message, failure.line, failure.input, failure.remedy, sep="\n")
assert not result and [one.name for one in result.failures] == ["gradients"]

# %% [markdown]
# The command `minigrad check` does the same for a file. With `-o wrong.svg` it draws the failure; with JSON output, you
# can draw the record here. Save the Function in a file and run the command on it.

# %%
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
# The picture shows the smallest input. Next to its gradient is the result of differences.

# %%
picture = draw(record, passes="backward")
assert "but finite differences give" in picture.svg()
picture

# %% [markdown]
# ## Exercises
#
# ### 1. By hand
#
# Write the central difference of a function `f` from numbers to numbers at `x`, with the step `eps`.


# %%
def difference_by_hand(f, x, eps): ...


lessons.check("difference_by_hand", difference_by_hand)

# %% [markdown]
# ### 2. Near a corner
#
# `torch.relu(x)` is `max(x, 0)`. Which slope does the central difference with `eps = 1e-6` give at `x = 0.5e-6`? Work
# it out by hand.

# %%
difference_at_corner = ...

lessons.check("difference_at_corner", difference_at_corner)

# %% [markdown]
# ### 3. Where does it show?
#
# The mistake in `Leaky` shows at some inputs only. Give a tensor at which `gradcheck(Leaky.apply, checked_input)` finds
# it.


# %%
class Leaky(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x > -1, x, 0.1 * x - 0.9)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x > -1, grad_output, 0.01 * grad_output)


checked_input = ...

lessons.check("checked_input", checked_input)

# %% [markdown]
# ### 4. Repair
#
# The length of the hypotenuse, $\sqrt{a^2 + b^2}$. Repair it until `minigrad check` finds no mistake.


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
# ### 5. Your own gradcheck
#
# Write `checked_gradient(f, x)`: return True if the gradient of `f(x).sum()` by the float64 tensor `x` agrees with
# differences for each element of `x`. `f` may mix the elements. Do not use `gradcheck`, and leave `x` unchanged.


# %%
def checked_gradient(f, x): ...


lessons.check("checked_gradient", checked_gradient)

# %% [markdown]
# ## Summary
#
# - Differences of `forward` give the slope without a formula; `gradcheck` compares all elements of the Jacobian with them.
# - Check at several points of both signs, in float64, away from corners.
# - The message names the line, the worst element and often the kind of mistake.
# - `gradgradcheck` checks second derivatives, and `minigrad check` everything that a Function promises.
#
# ## Questions
#
# <details markdown="1">
# <summary>Why does float32 need a larger step than float64?</summary>
#
# Its rounding errors are larger, and the difference divides them by twice the step. So the best step is where the error
# of the bend and the error of rounding are about equal.
#
# </details>
#
# <details markdown="1">
# <summary>Can <code>gradcheck</code> prove that a gradient is right?</summary>
#
# No. It compares at the inputs that you give. A mistake in a branch that these inputs do not reach stays hidden.
#
# </details>
#
# <details markdown="1">
# <summary>The check fails, but only near one input. What do you look for?</summary>
#
# A corner of the function within the step of the input: there differences mix the slopes of both sides.
#
# </details>
