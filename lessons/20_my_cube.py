# %% [markdown]
# # Your own gradient, twice
#
# *Needs lessons 3, 16 and 17.*
#
# **I already compute the slope in `forward`. Why is my second derivative zero?** Because the graph does not know how the
# slope changes with `x`. Return the slope as an output, and add its term in `backward`.
#
# After this lesson you can:
#
# - write a Function that computes its slope in `forward` and has all derivatives,
# - predict the incoming gradients of a first and a second backward pass,
# - find a Function that lacks second derivatives,
# - define a gradient that is right for large numbers.

# %%
import warnings

import lessons
import minigrad as torch
from viz import draw

# %% [markdown]
# `MyCube` computes the slope in `forward`, returns it as a second output, and saves it.


# %%
class MyCube(torch.autograd.Function):
    @staticmethod
    def forward(x):
        result = x**3
        # In regular PyTorch, if we had just run y = x ** 3, then the backward
        # pass computes dx = 3 * x ** 2. In this autograd.Function, we've done
        # that computation here in the forward pass instead.
        dx = 3 * x**2
        return result, dx

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        result, dx = output
        ctx.save_for_backward(x, dx)

    @staticmethod
    def backward(ctx, grad_output, grad_dx):
        x, dx = ctx.saved_tensors
        # In order for the autograd.Function to work with higher-order
        # gradients, we must add the gradient contribution of `dx`.
        result = grad_output * dx + grad_dx * 6 * x
        return result


def my_cube(x):
    result, _ = MyCube.apply(x)
    return result


x = torch.tensor(2.0, requires_grad=True)
(gradient,) = torch.autograd.grad(my_cube(x), x, create_graph=True)
draw(gradient, passes=("forward", "backward"))

# %% [markdown]
# This is the graph of the gradient of $x^3$. It begins with `MyCube` itself, and leaves it through the second output, `dx`,
# which is 12. The second derivative goes back the same way.
#
# ## MyCube
#
# This example is from PyTorch's documentation, "Extending torch.func with autograd.Function". Usually the backward pass
# computes the derivative of $x^3$, $3x^2$. Here the forward pass computes it, and returns it as a second result.
#
# The value and the first two derivatives are right: $x^3$, $3x^2$ and $6x$. The last line is the check from the
# documentation.

# %%
x = torch.tensor(2.0)
first = torch.func.grad(my_cube)
second = torch.func.grad(first)
print(my_cube(x), first(x), second(x))
assert my_cube(x).item() == 8.0 and first(x).item() == 12.0 and second(x).item() == 12.0

x = torch.randn([])
ggx = torch.func.grad(torch.func.grad(my_cube))(x)
assert torch.allclose(ggx, 6 * x)

# %% [markdown]
# All powers are in `forward`; `backward` has only products and a sum. The price is memory: `MyCube` saves two numbers for
# each element, `x` and `dx`. Plain `x ** 3` saves only `x`.

# %%
x = torch.tensor(2.0, requires_grad=True)


def saved_bytes(f):
    ops = torch.record(f, x, passes="forward").to_dict()["ops"]
    return sum(entry["bytes"] for op in ops for entry in op["saved"])


print(saved_bytes(my_cube), saved_bytes(lambda x: x**3))
assert saved_bytes(my_cube) == 8 and saved_bytes(lambda x: x**3) == 4

# %% [markdown]
# ## The incoming gradients
#
# `MyCube` has two outputs, so `backward` receives two gradients. This Function records them and does the same.


# %%
class SpyingCube(MyCube):
    @staticmethod
    def backward(ctx, grad_output, grad_dx):
        arrived.append((grad_output.item(), grad_dx.item()))
        return MyCube.backward(ctx, grad_output, grad_dx)


arrived = []
y, _ = SpyingCube.apply(x)
(gradient,) = torch.autograd.grad(y, x, create_graph=True)
print("first pass:", arrived)
assert arrived == [(1.0, 0.0)]


def second_pass_at_2():
    """Return the gradients that arrive when the gradient at x = 2 is differentiated."""
    y, _ = SpyingCube.apply(x)
    (gradient,) = torch.autograd.grad(y, x, create_graph=True)
    arrived.clear()
    torch.autograd.grad(gradient, x)
    return arrived.pop()


lessons.predict(
    "The second backward pass starts at the gradient. What does backward receive, as grad_output and grad_dx?",
    {
        (1.0, 0.0): "That is the first pass, which starts at y. The second one starts at a result computed from dx.",
        (0.0, 1.0): "The gradient is 1 * dx + 0, so it uses the output dx alone.",
        (1.0, 1.0): "The result y plays no part in the gradient.",
        (0.0, 12.0): "12 is the value of dx. The derivative of 1 * dx + 0 with respect to dx is 1.",
    },
    second_pass_at_2,
)

# %%
assert second_pass_at_2() == (0.0, 1.0)

# %% [markdown]
# The first pass starts at `y`. The other output is unused, so `grad_dx` is zero, and `backward` returns 1 * dx + 0.
#
# The second pass starts at that result, which is computed from `dx`. Now `grad_dx` is 1, and `grad_output` is zero. All
# of the second derivative comes through the second term, `grad_dx * 6 * x`.
#
# Look at the first picture again: the 1 and the 0 next to `dx` are from the first pass, `grad_output`, and `grad_dx`
# times 6. As a formula, with the result $y = x^3$, the slope $s = 3x^2$, and a bar for each gradient:
#
# $$\bar x = \bar y \cdot 3x^2 + \bar s \cdot 6x$$
#
# ## Forgetting the second term
#
# Without it, first derivatives stay right, and second derivatives raise no error.


# %%
class ForgetfulCube(MyCube):
    @staticmethod
    def backward(ctx, grad_output, grad_dx):
        x, dx = ctx.saved_tensors
        return grad_output * dx


def forgetful_cube(x):
    result, _ = ForgetfulCube.apply(x)
    return result


point = torch.tensor(2.0)
lessons.predict(
    "Which second derivative does forgetful_cube give at x = 2?",
    {
        12.0: "The missing term is the one that the 12 comes from.",
        6.0: "No part of the computation divides the 12 into two terms.",
        0.0: "In the second pass only grad_dx is not zero, and this backward does not use it.",
        "an error": "To the graph, this is a Function whose second output has no derivative. That is allowed.",
    },
    lambda: torch.func.grad(torch.func.grad(forgetful_cube))(point),
)

# %% [markdown]
# Which check finds it? `gradcheck` of `forgetful_cube` does not, because that function hides `dx`. `gradcheck` of `apply`
# tests both outputs, and `gradgradcheck` tests second derivatives. Both report the mistake.

# %%
assert torch.func.grad(forgetful_cube)(point).item() == 12.0
assert torch.func.grad(torch.func.grad(forgetful_cube))(point).item() == 0.0  # it should be 12

precise = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
assert torch.autograd.gradcheck(forgetful_cube, precise)

for look in (
    lambda: torch.autograd.gradcheck(ForgetfulCube.apply, precise),
    lambda: torch.autograd.gradgradcheck(forgetful_cube, precise),
):
    try:
        look()
    except RuntimeError as e:
        print(e, end="\n\n")
        assert "ForgetfulCube.backward" in str(e)
    else:
        raise AssertionError("a forgotten derivative was not found")

# %% [markdown]
# `torch.testing.check` names the unused argument.

# %%
failure = torch.testing.check(ForgetfulCube, point).failures[0]
print(failure.name, "-", failure.message)
assert "grad_dx is not used" in failure.message
assert not torch.testing.check(MyCube, point).failures

# %% [markdown]
# Marking `dx` as not differentiable is the same mistake, but on purpose: it promises that the derivative of `dx` is
# never needed. The second derivative needs it.


# %%
class MarkedCube(MyCube):
    @staticmethod
    def setup_context(ctx, inputs, output):
        MyCube.setup_context(ctx, inputs, output)
        ctx.mark_non_differentiable(output[1])


print(torch.func.grad(torch.func.grad(lambda x: MarkedCube.apply(x)[0]))(point))
assert torch.func.grad(torch.func.grad(lambda x: MarkedCube.apply(x)[0]))(point).item() == 0.0

# %% [markdown]
# `Cube` of lesson 13 does without a second output: its `backward` computes the slope from `x`, an input, which belongs to
# the graph. Derivatives of all orders follow by themselves. `MyCube` has them, too; the third is 6.


# %%
third = torch.func.grad(torch.func.grad(torch.func.grad(my_cube)))(point)
print(third)
assert third.item() == 6.0

# %% [markdown]
# ## Large numbers
#
# A derivative can be right and still overflow. For a large $x$, $\log(1 + e^x)$ is nearly $x$, with the slope 1. But in
# float32 $e^{100}$ is infinite, and the derivative of the plain formula is a quotient of two infinities. minigrad warns
# where the NaN appears.


# %%
def plain_softplus(x):
    return torch.log1p(torch.exp(x))


large = torch.tensor(100.0)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", UserWarning)
    nan = torch.func.grad(plain_softplus)(large)
print(plain_softplus(large), nan, caught[0].message, sep="\n")
assert nan.isnan() and "exp: " in str(caught[0].message)

# %% [markdown]
# This Function computes both without overflow. Its `backward` uses the derivative, `torch.sigmoid`, an operation with its
# own derivatives: second derivatives need nothing more.


# %%
class SoftPlus(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x.clamp(min=0) + torch.log1p(torch.exp(-x.abs()))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.sigmoid(x)


print(SoftPlus.apply(large), torch.func.grad(SoftPlus.apply)(large))
assert SoftPlus.apply(large).item() == 100.0 and torch.func.grad(SoftPlus.apply)(large).item() == 1.0
assert torch.func.grad(torch.func.grad(SoftPlus.apply))(torch.tensor(0.0)).item() == 0.25

# %% [markdown]
# ## Exercises
#
# ### 1. The second pass
#
# ```python
# x = torch.tensor(5.0, requires_grad=True)
# (gradient,) = torch.autograd.grad(my_cube(x), x, create_graph=True)
# torch.autograd.grad(10 * gradient, x)
# ```
#
# Which two numbers does `MyCube.backward` receive in the last line, as `grad_output` and `grad_dx`? Give them as a list.

# %%
second_walk = ...

lessons.check("second_walk", second_walk)

# %% [markdown]
# ### 2. The fourth power
#
# Fill in `backward`. Derivatives of every order have to be right.


# %%
class MyFourth(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x**4, 4 * x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        _, dx = output
        ctx.save_for_backward(x, dx)

    @staticmethod
    def backward(ctx, grad_output, grad_dx): ...


lessons.check("MyFourth", MyFourth)

# %% [markdown]
# ### 3. Repair (at home)
#
# This Function computes the sine and the cosine together. First derivatives of the sine are right, second ones are
# zero. Repair `backward`; you need not save anything more.


# %%
class MySine(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return torch.sin(x), torch.cos(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        sine, cosine = output
        ctx.save_for_backward(sine, cosine)

    @staticmethod
    def backward(ctx, grad_sine, grad_cosine):
        sine, cosine = ctx.saved_tensors
        return grad_sine * cosine


lessons.check("MySine", MySine)

# %% [markdown]
# ### 4. A root without infinity (at home)
#
# The derivative of the square root at 0 is infinite, and 0 times infinity is NaN: lengths of zero have spoilt many
# training runs. Write a Function that computes the square root of non-negative numbers. Its gradient is the usual one,
# but 0 where the number is 0. Second derivatives have to be right for positive numbers, and must not be NaN at 0.


# %%
class SafeSqrt(torch.autograd.Function):
    @staticmethod
    def forward(x): ...


lessons.check("SafeSqrt", SafeSqrt)

# %% [markdown]
# ## Summary
#
# - A slope that `forward` computes and returns is an output: it belongs to the graph and has a gradient.
# - The second backward pass enters through that output, so `backward` must add its term, `grad_dx * 6 * x`.
# - Without the term, or with a mark, second derivatives are silently zero. `gradcheck` of `apply` and `gradgradcheck` find it.
# - Or save the input and compute the slope in `backward`: then derivatives of all orders follow by themselves.
#
# ## Questions
#
# <details markdown="1">
# <summary>What does <code>MyCube</code> gain, and what does it pay?</summary>
#
# Its `backward` computes no powers. It saves two numbers for each element, where `x ** 3` saves one.
#
# </details>
#
# <details markdown="1">
# <summary>Why does <code>gradcheck</code> of <code>forgetful_cube</code> find nothing?</summary>
#
# The function returns only the cube, whose first derivative is right. The forgotten gradient belongs to the other output,
# which the function hides.
#
# </details>
#
# <details markdown="1">
# <summary>May a Function have a gradient that is not its derivative?</summary>
#
# Yes, if you mean it, like `CombinedClip` of lesson 2. `gradcheck` then fails, as it should: it compares with the
# derivative.
#
# </details>
