# %% [markdown]
# # Three ways to a slope
#
# *Needs lessons 1 and 5.*
#
# **Why not just use (f(x + h) - f(x)) / h?** It is one line, and it needs no graph. But it loses half of the digits, and you
# must choose `h`. Two other ways lose none: a complex step and dual numbers.
#
# After this lesson you can:
#
# - choose the step of a difference, and say how many digits it gives
# - compute a slope with one complex number, to the last digit
# - explain why dual numbers need no step
# - choose a method by the number of inputs

# %%
import math

import numpy as np
from matplotlib import pyplot as plt

import lessons
import minigrad as torch
from viz import draw


def f(x, lib=np):
    return lib.exp(lib.sin(x))


# %%
exact = math.cos(1.0) * math.exp(math.sin(1.0))


def one_sided(f, x, h):
    return (f(x + h) - f(x)) / h


def central(f, x, h):
    return (f(x + h) - f(x - h)) / (2 * h)


def complex_step(f, x, h):
    return f(x + 1j * h).imag / h


def error(method, h):
    return abs(method(f, 1.0, h) / exact - 1) + 1e-17  # a logarithmic axis has no 0


# %% alt="Relative error over the step h, both axes logarithmic. One-sided and central differences are V-shaped with minima near 1e-8 and 1e-5; to the left both rise to 1. The complex step falls to 1e-16 and stays there. Dual numbers are a horizontal line below all others."
one = torch.tensor(1.0, dtype=torch.float64)
_, dual = torch.func.jvp(lambda x: f(x, torch), (one,), (one,))

steps = np.logspace(-18, 0, 145)
figure, axes = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
for method, style in ((one_sided, "-"), (central, "--"), (complex_step, "-.")):
    axes.loglog(steps, [error(method, h) for h in steps], style, label=method.__name__.replace("_", " "))
axes.axhline(abs(dual.item() / exact - 1) + 1e-17, color="black", linestyle=":", label="dual numbers: no step")
axes.set(xlabel="step h", ylabel="relative error")
axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.25), ncols=2, frameon=False)
assert abs(dual.item() / exact - 1) < 1e-15

# %% [markdown]
# Read the picture from right to left. As the step shrinks, all errors fall at first. Then the errors of the two differences
# rise again, until no digit is right. The other two stay small.
#
# ## The two errors of a difference
#
# A large step is wrong because the curve bends: Taylor's theorem gives the *truncation error*. A small step is wrong
# because `f(x + h)` and `f(x)` share most of their digits. Each value is rounded by up to $u|f|$ with $u = 2^{-53}$,
# and the division by `h` enlarges this *rounding error*.
#
# $$\frac{f(x+h)-f(x)}{h} = f'(x) + \frac{h}{2} f''(x) + \ldots \qquad \text{error} \le \frac{h}{2}|f''| + \frac{2u|f|}{h}$$
#
# The sum is smallest where both parts are equal: at $h = 2\sqrt{u|f|/|f''|}$.

# %%
u = 2.0**-53
second = abs(math.cos(1.0) ** 2 - math.sin(1.0)) * f(1.0)  # |f''(1)|
best = 2 * math.sqrt(u * f(1.0) / second)
bound = math.sqrt(4 * u * f(1.0) * second) / exact
print(f"best step {best:.1e}, error {error(one_sided, best):.1e}, bound {bound:.1e}")
assert 1e-8 < best < 1e-7 and error(one_sided, best) < bound < 1e-7

lessons.predict(
    "You shrink the step from 1e-8 to 1e-12. How does the error of the one-sided difference change?",
    {
        "it grows": "The difference of the two values has about four correct digits left, and the rest is rounding.",
        "it shrinks": "The truncation error shrinks, but at 1e-8 rounding is already the larger part.",
        "it stays": "Float64 numbers have 16 digits, but the first twelve of both values are the same, and they cancel.",
    },
    lambda: "it grows" if error(one_sided, 1e-12) > 100 * error(one_sided, 1e-8) else "another result",
)

# %%
lessons.predict(
    "What is (f(1 + h) - f(1)) / h for h = 1e-17?",
    {
        0.0: "1 + 1e-17 is rounded to 1, so both values are the same number.",
        1.253: "The slope is 1.253, but the sum 1 + h has no room for the 17th digit.",
        "nan": "h is not 0, so nothing is divided by zero.",
        "inf": "h is not 0, so nothing is divided by zero.",
    },
    lambda: float(round(one_sided(f, 1.0, 1e-17), 3)),
)

# %% [markdown]
# Here are the digits for other steps. The digits that both values share cancel in the difference, and rounding fills up the
# end of the slope.


# %%
def digits(h):
    values = [f(1.0 + h), f(1.0), f(1.0 + h) - f(1.0), one_sided(f, 1.0, h), exact]
    names = ["f(1 + h)", "f(1)", "difference", "slope", "exact slope"]
    return "\n".join(f"{name:<12}{value:.16f}" for name, value in zip(names, values))


lessons.slider(digits, h=[1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-14, 1e-16])

# %% [markdown]
# ## Both sides
#
# In $f(x+h) - f(x-h)$ the terms with $f''$ cancel, and the truncation error becomes $h^2 f'''/6$. The best step is
# larger, near $\sqrt[3]{u}$, and two thirds of the digits survive. That is why `gradcheck` uses central differences, in
# float64.

# %%
for method, h in ((one_sided, 1e-2), (central, 1e-2)):
    print(f"{method.__name__}: half the step divides the error by {error(method, h) / error(method, h / 2):.2f}")
assert math.isclose(error(one_sided, 1e-2) / error(one_sided, 5e-3), 2, rel_tol=0.02)
assert math.isclose(error(central, 1e-2) / error(central, 5e-3), 4, rel_tol=0.02)
assert error(central, u ** (1 / 3)) < error(one_sided, best) / 10

# %% [markdown]
# ## A complex step
#
# The subtraction does the damage, so avoid it: take the step sideways, into the complex plane. If $f$ has a power series,
#
# $$f(x + ih) = f(x) + ih f'(x) - \frac{h^2}{2} f''(x) - \frac{ih^3}{6} f'''(x) + \ldots$$
#
# $$\frac{\operatorname{Im} f(x+ih)}{h} = f'(x) - \frac{h^2}{6} f'''(x) + \ldots$$
#
# The value is in the real part and the slope in the imaginary part: nothing cancels, so `h` may be as small as you
# like. Lyness and Moler found this in 1967; Squire and Trapp made it popular ("Using Complex Variables to Estimate
# Derivatives of Real Functions", SIAM Review 40, 1998).

# %%
z = f(1.0 + 1e-200j)
print("value", z.real, "slope", z.imag / 1e-200)
assert z.real == f(1.0) and error(complex_step, 1e-200) < 1e-15

# %% [markdown]
# The complex step has two limits. First, all code on the way must accept complex numbers. NumPy does; minigrad has no complex
# tensors.

# %%
try:
    torch.tensor(1.0 + 1e-200j)
except RuntimeError as e:
    print(e)
    assert "complex" in str(e)
else:
    raise AssertionError("minigrad has complex tensors")

lessons.predict(
    "The slope of abs at -2 is -1. What does a complex step through np.abs give?",
    {
        0.0: "The absolute value of a complex number is its length, a real number: the imaginary part is lost.",
        -1.0: "np.abs does not change the sign of a complex number; it returns its length.",
        1.0: "np.abs does not keep the sign of the imaginary part: its result is a real number.",
        "an error": "Complex numbers have an absolute value, too, but it is a different function.",
    },
    lambda: float(complex_step(np.abs, -2.0, 1e-20)),
)

# %% [markdown]
# That is the second limit: `abs` and `conj` mean something else for complex numbers, and you get no error.
#
# ## Dual numbers
#
# A dual number is $a + b\varepsilon$ with $\varepsilon^2 = 0$. The complex step has an error because $i^2 = -1$ is not zero.
# Here the series ends by itself, and there is no `h` to choose:
#
# $$f(x + \varepsilon) = f(x) + f'(x)\,\varepsilon$$
#
# The matrix below is an $\varepsilon$: its square is zero. The cube of `1 + ε` has the slope of $x^3$ next to its value.

# %%
epsilon = np.array([[0.0, 1.0], [0.0, 0.0]])
assert not (epsilon @ epsilon).any()
d = np.eye(2) + epsilon
print(d @ d @ d)
assert (d @ d @ d).tolist() == [[1.0, 3.0], [0.0, 1.0]]

# %% [markdown]
# minigrad's forward mode is this arithmetic. Each card of the jvp pass has a value and its tangent, the factor of
# $\varepsilon$.

# %%
draw(lambda x: f(x, torch), one, passes="jvp", name="exp(sin(x))")

# %% [markdown]
# ## The cost
#
# All three ways change one input at a time. So a gradient with `n` inputs needs at least `n` runs, and backward needs one, for
# any number of inputs. Count the calls:

# %%
calls = []


def total(x, lib=np):
    calls.append("call")
    return lib.exp(lib.sin(x)).sum()


def gradient(method, x, h):
    """Return the gradient, computed as one slope per element; `method` changes one element by t."""
    units = np.eye(len(x))
    return np.array([method(lambda t, unit=unit: total(x + t * unit), 0.0, h) for unit in units])


def by_duals(x):
    t = torch.from_numpy(x)
    return np.array(
        [torch.func.jvp(lambda x: total(x, torch), (t,), (e,))[1].item() for e in torch.eye(len(x)).double()]
    )


def by_backward(x):
    t = torch.from_numpy(x).requires_grad_()
    total(t, torch).backward()
    return t.grad.numpy()


x = np.linspace(-1, 1, 50)
wanted = np.cos(x) * np.exp(np.sin(x))
counts, errors = {}, {}
for name, compute in {
    "one-sided": lambda: gradient(one_sided, x, 1e-8),
    "central": lambda: gradient(central, x, 1e-5),
    "complex": lambda: gradient(complex_step, x, 1e-200),
    "dual": lambda: by_duals(x),
    "backward": lambda: by_backward(x),
}.items():
    calls.clear()
    errors[name] = np.abs(compute() - wanted).max()
    counts[name] = len(calls)
    print(f"{name:10} {counts[name]:4} calls, error {errors[name]:.0e}")
assert counts == {"one-sided": 100, "central": 100, "complex": 50, "dual": 50, "backward": 1}
assert max(errors[name] for name in ("complex", "dual", "backward")) < 1e-14 < errors["central"] < errors["one-sided"]

# %% [markdown]
# A one-sided difference could compute $f(x)$ once for all inputs, with `n + 1` calls. Use differences to test a derivative, a
# complex step for NumPy code without `abs`, dual numbers for few inputs, and backward for many.
#
# ## Exercises
#
# ### 1. Half the step
#
# With the step 0.02, a central difference has an error of 0.0004, and rounding does not matter yet. What error do you expect
# with the step 0.01?

# %%
slope_halved = ...

lessons.check("slope_halved", slope_halved)

# %% [markdown]
# ### 2. A slope from a complex step
#
# Write `complex_slope(f, x)`: it returns the slope of a NumPy function at a number `x`, right to the last digits.


# %%
def complex_slope(f, x): ...


lessons.check("complex_slope", complex_slope)

# %% [markdown]
# ### 3. An absolute value for complex steps
#
# Write `complex_abs(z)` for an array of complex numbers: it returns `z` where the real part is positive, and `-z` where it is
# negative. With it, a complex step gives the slope of the absolute value.


# %%
def complex_abs(z): ...


lessons.check("complex_abs", complex_abs)

# %% [markdown]
# ### 4. A gradient in forward mode (at home)
#
# Write `forward_gradient(f, x)` for a vector `x`: it returns the gradient of `f(x)`, which is a single number. Use one
# `torch.func.jvp` per element.


# %%
def forward_gradient(f, x): ...


lessons.check("forward_gradient", forward_gradient)

# %% [markdown]
# ## Summary
#
# - A difference has a truncation error, which grows with the step, and a rounding error, which grows as the step
#   shrinks.
# - At best, one-sided differences keep half of the digits, and central ones two thirds.
# - A complex step subtracts nothing and keeps all digits. The code must be analytic and accept complex numbers.
# - Dual numbers are exact, since their series ends. All three need one run per input; backward needs one for all.
#
# ## Questions
#
# <details><summary>Why may the complex step be 1e-200, when 1e-17 is too small for a difference?</summary>
# Value and slope are in different parts of the number. The small part is never added to the large one, so no digit is
# lost.
# </details>
#
# <details><summary>Why does gradcheck use differences, the least accurate way?</summary>
# It needs a way that shares nothing with the code under test. Differences use only values, so a wrong formula for the
# derivative cannot affect them.
# </details>
#
# <details><summary>A model has one input and a million outputs. Do you choose backward or dual numbers?</summary>
# Dual numbers: one pass gives the derivatives of all outputs. Backward would need one pass per output.
# </details>
