# %% [markdown]
# # Forward mode in a Function
#
# *Needs lessons 3 and 5.*
#
# **How does forward mode get through a Function that I wrote?** It needs a second formula: the `jvp` staticmethod turns the
# tangents of the inputs into the tangents of the outputs. `backward` alone is not enough.
#
# After this lesson you can:
#
# - give a `Function` its `jvp`,
# - say which tangents `jvp` receives and which it returns,
# - test a `jvp` against differences and against `backward`.

# %%
import warnings

import lessons
import minigrad as torch
import minigrad.autograd.forward_ad as fwAD
from viz import draw

# %% [markdown]
# This `Function` has two formulas: `backward` for gradients, and `jvp` for tangents.


# %%
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(i):
        return i.exp()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)
        ctx.save_for_forward(output)

    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return grad_output * result

    @staticmethod
    def jvp(ctx, i_tangent):
        (result,) = ctx.saved_tensors
        return result * i_tangent


def exp_of_square(x):
    return Exp.apply(x * x)


one = torch.tensor(1.0)
draw(exp_of_square, one.clone().requires_grad_(), passes=("backward", "jvp"))

# %% [markdown]
# Press Play: in the backward pass the gradient moves up from the bottom, in the jvp pass the tangent moves down from the
# top. Both end at the same number. The custom Function takes part in both, since it has both formulas.
#
# **Try it.** Drag `x` until its gradient is 0. The tangent of the result is 0 there, too. What is the result there?

# %%
forward_flat = ...

lessons.check("forward_flat", forward_flat)

# %% [markdown]
# ## The jvp staticmethod
#
# A tangent says how fast a value changes. `jvp` receives one tangent for each argument of `forward` and returns one for each
# output: the reverse of `backward`. `save_for_forward` saves its tensors, and `ctx.saved_tensors` returns them
# (lesson 8 compares it with `save_for_backward`). `torch.func.jvp` starts with the tangents of the inputs.

# %%
value, tangent = torch.func.jvp(exp_of_square, (one,), (one,))
print(tangent)
assert torch.allclose(tangent, 2 * one.exp())

# %% [markdown]
# `backward` says nothing about tangents: without a `jvp`, a `Function` stops forward mode with an error.


# %%
class BackwardOnly(torch.autograd.Function):
    @staticmethod
    def forward(i):
        return i.exp()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    backward = Exp.backward


try:
    torch.func.jvp(BackwardOnly.apply, (one,), (one,))
except NotImplementedError as e:
    print(e)
    assert "implement the jvp function" in str(e)
else:
    raise AssertionError("forward mode went through a Function without jvp")

# %% [markdown]
# ## Several arguments and outputs
#
# This Function returns $x + y$ and $n \cdot x \cdot y$ for two tensors and a number. Its `jvp` records the tangents that
# it receives, and returns a tuple of two.


# %%
class SumAndProduct(torch.autograd.Function):
    @staticmethod
    def forward(x, y, n):
        return x + y, n * x * y

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, y, ctx.n = inputs
        ctx.save_for_forward(x, y)

    @staticmethod
    def jvp(ctx, x_tangent, y_tangent, n_tangent):
        received.append((x_tangent, y_tangent, n_tangent))
        x, y = ctx.saved_tensors
        return x_tangent + y_tangent, ctx.n * (y * x_tangent + x * y_tangent)


received = []
with fwAD.dual_level():
    x = fwAD.make_dual(torch.tensor(3.0), torch.tensor(1.0))
    total, product = SumAndProduct.apply(x, torch.tensor(5.0), 10)
    tangents = [fwAD.unpack_dual(total).tangent, fwAD.unpack_dual(product).tangent]

lessons.predict(
    "Only x has a tangent. What does jvp receive for y and for the number n?",
    {
        "0.0 and None": "A tensor without a tangent does not change: zero. A number has no tangent at all.",
        "None and None": "For a tensor, jvp receives zeros, so the formula needs no special case.",
        "0.0 and 0.0": "That is right for y. But n is a number, and tangents belong to tensors.",
        "1.0 and None": "That is the tangent of x. Along x alone, y stays as it is.",
    },
    lambda: "{} and {}".format(*received[0][1:]),
)

# %%
print(received, tangents)
assert received == [(1.0, 0.0, None)]
assert tangents == [1.0, 50.0]

# %% [markdown]
# ## Mistakes in a jvp
#
# minigrad checks the shape and the number of tangents.


# %%
class TwoTangents(Exp):
    @staticmethod
    def jvp(ctx, i_tangent):
        return i_tangent, i_tangent


try:
    torch.func.jvp(TwoTangents.apply, (one,), (one,))
except RuntimeError as e:
    print(e)
    assert "returns 2 tangents, but forward has 1 output" in str(e)
else:
    raise AssertionError("an extra tangent was accepted")

# %% [markdown]
# This `jvp` returns the slope and forgets the incoming tangent.


# %%
class NoChain(Exp):
    @staticmethod
    def jvp(ctx, i_tangent):
        (result,) = ctx.saved_tensors
        return result


def without_chain(tangent):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _, result = torch.func.jvp(NoChain.apply, (one,), (tangent,))
    return result, caught


lessons.predict(
    "exp(1) is 2.72. What tangent does NoChain return at 1 for the incoming tangent 3?",
    {
        2.72: "The slope alone. It would be right for the incoming tangent 1.",
        8.15: "That is the right tangent, 3 * 2.72. But this jvp never uses the 3.",
        "an error": "The shape and the number of tangents are right, so minigrad continues. It warns.",
    },
    lambda: round(without_chain(3 * one)[0].item(), 2),
)

# %%
wrong, caught = without_chain(3 * one)
print(caught[0].message)
assert without_chain(one)[0] == wrong == one.exp()
assert len(caught) == 1 and "does not depend on i_tangent" in str(caught[0].message)

# %% [markdown]
# ## Test it against differences
#
# minigrad takes your word for the formula, as it does for `backward`. `gradcheck` compares it with differences if you ask
# for forward mode.


# %%
class WrongFormula(Exp):
    @staticmethod
    def jvp(ctx, i_tangent):
        (result,) = ctx.saved_tensors
        return result * result * i_tangent


try:
    torch.autograd.gradcheck(WrongFormula.apply, one.double().requires_grad_(), check_forward_ad=True)
except RuntimeError as e:
    print(e)
    assert "in forward mode" in str(e)
else:
    raise AssertionError("a wrong jvp went through")

# %% [markdown]
# ## Test it against backward
#
# Let $J$ be the Jacobian, the table of all derivatives with a row for each output and a column for each input. `jvp`
# multiplies it by a tangent $v$, `backward` multiplies a gradient $u$ by it (vjp). So $u \cdot (J v)$ and $(u J) \cdot v$
# are the same number, for any $u$ and $v$. This test needs no step and no tolerance beyond rounding.


# %%
def both_ways(function, x, v, u):
    _, jv = torch.func.jvp(function.apply, (x,), (v,))
    leaf = x.clone().requires_grad_()
    (uj,) = torch.autograd.grad(function.apply(leaf), leaf, u)
    return u @ jv, uj @ v


x, v, u = torch.tensor([0.5, 1.0, 2.0]), torch.tensor([1.0, -1.0, 0.5]), torch.tensor([2.0, 3.0, 1.0])
print(both_ways(Exp, x, v, u), both_ways(WrongFormula, x, v, u))
assert torch.allclose(*both_ways(Exp, x, v, u))
assert not torch.allclose(*both_ways(WrongFormula, x, v, u))

# %% [markdown]
# The test does not say which of the two formulas is wrong. For a function of single elements, such as `exp`, both
# formulas are the same: slope times tangent, slope times gradient. In general they are not: `jvp` combines columns of
# $J$, and `backward` rows.
#
# ## Exercises
#
# ### 1. Fill the gap
#
# The length $r$ of a vector $(x, y)$ changes by $(x \cdot x' + y \cdot y') / r$. Write `jvp`.


# %%
class ForwardHypot(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return (x * x + y * y).sqrt()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output)
        ctx.save_for_forward(*inputs, output)

    @staticmethod
    def backward(ctx, grad_output):
        x, y, r = ctx.saved_tensors
        return grad_output * x / r, grad_output * y / r

    @staticmethod
    def jvp(ctx, x_tangent, y_tangent): ...


lessons.check("ForwardHypot", ForwardHypot)

# %% [markdown]
# ### 2. Repair
#
# `backward` is right, forward mode is not. There are two mistakes.


# %%
class ForwardCube(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(output)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x**2

    @staticmethod
    def jvp(ctx, x_tangent):
        (x,) = ctx.saved_tensors
        return 3 * x**2


lessons.check("ForwardCube", ForwardCube)

# %% [markdown]
# ### 3. Two outputs (at home)
#
# A point with the radius `r` and the angle `phi` is at $x = r \cos \varphi$, $y = r \sin \varphi$. Write `jvp`: the velocity
# of the point in $x$ and in $y$.


# %%
class ForwardPolar(torch.autograd.Function):
    @staticmethod
    def forward(r, phi):
        return r * phi.cos(), r * phi.sin()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(*inputs)

    @staticmethod
    def jvp(ctx, r_tangent, phi_tangent): ...


lessons.check("ForwardPolar", ForwardPolar)

# %% [markdown]
# ### 4. A linear Function (at home)
#
# `forward` returns the differences between neighbours: `n - 1` numbers from `n`. Write `jvp`. It needs no saved tensors.


# %%
class ForwardSteps(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x[1:] - x[:-1]

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        zero = grad_output.new_zeros(1)
        return torch.cat([zero, grad_output]) - torch.cat([grad_output, zero])

    @staticmethod
    def jvp(ctx, x_tangent): ...


lessons.check("ForwardSteps", ForwardSteps)

# %% [markdown]
# ## Summary
#
# - A `Function` needs a `jvp` for forward mode: one tangent for each argument comes in, one for each output goes out.
# - For a tensor without a tangent, `jvp` receives zeros; for a non-tensor, `None`.
# - minigrad checks the shapes and the number of tangents, and warns if `jvp` ignores one; it does not know your formula.
# - `gradcheck(..., check_forward_ad=True)` tests it against differences, $u \cdot (J v) = (u J) \cdot v$ against `backward`.
#
# ## Questions
#
# <details markdown="1">
# <summary>How can you test a <code>jvp</code> against a <code>backward</code>?</summary>
#
# Choose a tangent $v$ and a gradient $u$: $u \cdot (J v)$ and $(u J) \cdot v$ must be the same number.
#
# </details>
#
# <details markdown="1">
# <summary>Why does <code>jvp</code> take a tangent per argument, but <code>backward</code> a gradient per output?</summary>
#
# Tangents follow the values, from the inputs to the outputs. Gradients go from the outputs to the inputs.
#
# </details>
#
# <details markdown="1">
# <summary>Why does a test with the tangent 1 not find a forgotten chain rule?</summary>
#
# The right tangent is the slope times the incoming tangent. With 1 it is the slope itself. Test with another number.
#
# </details>
