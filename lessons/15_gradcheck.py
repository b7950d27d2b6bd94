# %% [markdown]
# # Is this gradient right?
#
# *Needs lessons 2 and 9.*
#
# **How do I find out that my gradient is wrong?** A wrong `backward` raises no error; training just goes worse than it
# should. But `forward` alone also gives the slope, by differences. `gradcheck` compares the two.
#
# After this lesson you can:
#
# - compare a gradient with differences, by hand and with `gradcheck`,
# - choose inputs at which a mistake shows,
# - read the message of `gradcheck`.

# %%
import numpy as np
from matplotlib import pyplot as plt

import lessons
import minigrad as torch
from minigrad.autograd import Function, gradcheck
from viz import draw

# %% [markdown]
# One of these lines is wrong. Can you see it in the picture?


# %%
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
# `Tanh` computes the right values, but its `backward` computes a wrong slope: the differences of `forward` show another
# curve.
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
# `forward` alone also gives the slope: move the input a little to both sides, and see how much the result moves. This is
# a *central difference*. It needs no formula, so there is no formula to get wrong.
#
# $$f'(x) \approx \frac{f(x + \varepsilon) - f(x - \varepsilon)}{2\,\varepsilon}$$

# %%
numerical = central(Tanh.apply, x.detach(), 1e-6)
print(numerical.item())
assert abs(numerical.item() - (1 - np.tanh(1.0) ** 2)) < 1e-9
assert abs(numerical.item() - analytical.item()) > 0.1

# %% [markdown]
# In the pictures, the Function and the built-in operation return the same value but send back different gradients.


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
# `gradcheck(f, inputs)` moves every element of every input that requires grad, and compares all elements of the Jacobian:
# row $i$, column $j$ is the derivative of output $j$ with respect to input $i$. It returns True or raises an error.

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
# Read it from the bottom up. First comes the advice, then the line of the `backward`, then the element with the largest
# error, with both numbers, then the two Jacobians. Their pattern often reveals the mistake. An elementwise function has
# zeros off the diagonal. A Function that forgets `grad_output` fills whole rows:


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
# ## Several inputs
#
# `gradcheck` compares one Jacobian for each input. In a product, the gradient of `a` is `grad_output * b`. Here the two
# gradients are swapped, a frequent mistake.


# %%
class Swapped(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        return grad_output * a, grad_output * b


def found(a, b):
    """Return True if gradcheck finds the mistake at a and b."""
    given = [torch.tensor(one, dtype=torch.float64, requires_grad=True) for one in (a, b)]
    return not gradcheck(Swapped.apply, given, raise_exception=False)


lessons.predict(
    "Does gradcheck find the mistake with a = b = [1, 2]? And with a = [1, 2] and b = [3, 4]?",
    {
        "[True, True]": "At a = b both gradients are the same numbers, in either order.",
        "[False, True]": "At a = b it does not matter which gradient is which. With different numbers it does.",
        "[True, False]": "It is the other way round: equal inputs hide the swap.",
        "[False, False]": "With different inputs, backward gives 1 and 2 where the differences give 3 and 4.",
    },
    lambda: [found([1.0, 2.0], [1.0, 2.0]), found([1.0, 2.0], [3.0, 4.0])],
)

# %% [markdown]
# So do not check with inputs that are all ones or zeros, or equal. Random numbers are best; seed them, so that you can
# reproduce a failure.
#
# ## How exact?
#
# Differences are not exact, so `gradcheck` allows a deviation: `atol + rtol * |numerical|`, with `atol=1e-5` and
# `rtol=1e-3`. A mistake of less than a thousandth passes. Here a constant, $\sqrt{2/\pi} = 0.79788\ldots$, has too few
# digits.


# %%
class Rounded(Function):
    @staticmethod
    def forward(ctx, x):
        return x * np.sqrt(2 / np.pi)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 0.7978


assert gradcheck(Rounded.apply, inputs)
try:
    gradcheck(Rounded.apply, inputs, rtol=1e-6)
except RuntimeError as e:
    print(e)
    assert "3 of 9 elements differ" in str(e)
else:
    raise AssertionError("the rounded constant was accepted")

# %% [markdown]
# ## Exercises
#
# ### 1. By hand
#
# Write the central difference at `x`, with the step `eps`, for a function `f` that maps a number to a number.


# %%
def difference_by_hand(f, x, eps): ...


lessons.check("difference_by_hand", difference_by_hand)

# %% [markdown]
# ### 2. Where does it show?
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
# ### 3. How many differ?
#
# You check `Forgetful` from above at 4 points, none of which has the slope 0. How many of the 16 elements of the Jacobian
# differ?

# %%
checked_elements = ...

lessons.check("checked_elements", checked_elements)

# %% [markdown]
# ### 4. Your own gradcheck (at home)
#
# Write `checked_gradient(f, x)`: return True if the gradient of `f(x).sum()` with respect to the float64 tensor `x`
# agrees with differences for each element of `x`. `f` may mix the elements. Do not use `gradcheck`, and leave `x`
# unchanged.


# %%
def checked_gradient(f, x): ...


lessons.check("checked_gradient", checked_gradient)

# %% [markdown]
# ## Summary
#
# - A central difference of `forward` gives the slope without a formula.
# - `gradcheck` compares all elements of the Jacobians of all inputs.
# - Check at several points, of both signs and with different numbers.
# - The message names the line, the worst element and often the kind of mistake.
#
# ## Questions
#
# <details markdown="1">
# <summary>Can <code>gradcheck</code> prove that a gradient is right?</summary>
#
# No. It compares at the inputs that you give. A mistake in a branch that these inputs do not reach stays hidden.
#
# </details>
#
# <details markdown="1">
# <summary>The loss falls in each step. Is my gradient right?</summary>
#
# Not necessarily. At $x = 1$, `Tanh.backward` gives 0.24 instead of 0.42: the sign is right, so each step still helps, but it
# is too short.
#
# </details>
#
# <details markdown="1">
# <summary>Why not train with differences instead of <code>backward</code>?</summary>
#
# Differences need two calls of `forward` for each trained number, and a model has millions of them. `backward` gives all
# slopes at once. For a test with three numbers, six calls cost nothing.
#
# </details>
