# %% [markdown]
# # Forward mode
#
# *Needs lessons 2 and 3.*
#
# **Can I compute a derivative without a graph?** Yes: together with the values, from the inputs to the outputs. Each
# value carries a tangent, which says how fast the value changes.
#
# After this lesson you can:
#
# - compute a tangent by hand, with dual numbers,
# - use `make_dual`, `unpack_dual` and `torch.func.jvp`,
# - choose between forward mode and `backward`.

# %%
import math
import warnings

import lessons
import minigrad as torch
import minigrad.autograd.forward_ad as fwAD
from viz import draw


def f(x):
    return x * x * x + 2 * x


draw(f, torch.tensor(3.0), passes="jvp")

# %% [markdown]
# The tangents stand below the values. The arrows run with the computation, not against it: press Play to see the tangents
# move.
#
# **Try it.** Drag `x`, and leave its tangent at 1. Which is the smallest tangent that the result can have?

# %%
forward_smallest = ...

lessons.check("forward_smallest", forward_smallest)

# %% [markdown]
# ## Dual numbers
#
# A dual number is a value together with a tangent: how fast the value changes when the input does. Sums and products of
# duals follow the rules you learned at school. That is all of forward mode: each operation computes two numbers instead
# of one. `explain` prints the rule of each operation with the numbers of the picture.

# %%
print(torch.explain(f, torch.tensor(3.0), tangents=(torch.tensor(1.0),)))

# %% [markdown]
# The same two rules, for sums and products, in a class:


# %%
class Dual:
    def __init__(self, value, tangent):
        self.value, self.tangent = value, tangent

    def __add__(self, other):
        return Dual(self.value + other.value, self.tangent + other.tangent)

    def __mul__(self, other):
        return Dual(self.value * other.value, self.value * other.tangent + self.tangent * other.value)

    def __repr__(self):
        return f"{self.value} and {self.tangent} ε"


# %% [markdown]
# The input changes as fast as itself, so its tangent is 1; a constant has the tangent 0. Take $x^3 + 2x$ at 3: its value is
# $27 + 6 = 33$, its derivative $3 \cdot 9 + 2 = 29$.

# %%
x, two = Dual(3.0, 1.0), Dual(2.0, 0.0)
y = x * x * x + two * x
print(y)
assert (y.value, y.tangent) == (33.0, 29.0)

# %% [markdown]
# Other functions need their own rules, which follow from the chain rule: apply the function to the value, and multiply
# the tangent by its slope. Here is the rule for exp, and with it the derivative of $\exp(x^2)$ at 1, which is $2e$.


# %%
def exp(a):
    return Dual(math.exp(a.value), math.exp(a.value) * a.tangent)


x = Dual(1.0, 1.0)
y = exp(x * x)
print(y)
assert math.isclose(y.tangent, 2 * math.e)

# %% [markdown]
# ## A tangent is a direction
#
# With two inputs, each has a tangent. Together the tangents say in which direction the inputs move.


# %%
def product(a_tangent, b_tangent):
    return (Dual(3.0, a_tangent) * Dual(5.0, b_tangent)).tangent


lessons.predict(
    "a = 3.0 and b = 5.0. What is the tangent of a * b if both tangents are 1?",
    {
        1.0: "That would be 1 * 1. The rule multiplies each tangent by the other value.",
        5.0: "That is the tangent along a alone.",
        8.0: "Along a the product changes by b, along b by a, and along both by the sum.",
        15.0: "That is the value.",
    },
    lambda: product(1.0, 1.0),
)

# %%
print(product(1.0, 0.0), product(0.0, 1.0), product(1.0, 1.0))
assert product(1.0, 0.0) == 5.0
assert product(0.0, 1.0) == 3.0
assert product(1.0, 1.0) == 8.0

# %% [markdown]
# ## The same with tensors
#
# In minigrad, as in PyTorch, `make_dual` attaches a tangent to a tensor, every operation computes the tangent of its
# result, and `unpack_dual` separates value and tangent. Duals live inside a `dual_level`.

# %%
with fwAD.dual_level():
    x = fwAD.make_dual(torch.tensor(3.0), torch.tensor(1.0))
    value, tangent = fwAD.unpack_dual(f(x))
print(value, tangent)
assert value == 33.0 and tangent == 29.0

# %% [markdown]
# `torch.func.jvp` does the three steps in one call. It takes a function, a tuple of inputs and a tuple of their tangents.
# The name is short for Jacobian-vector product; the section on columns shows why.

# %%
value, tangent = torch.func.jvp(f, (torch.tensor(3.0),), (torch.tensor(1.0),))
assert value == 33.0 and tangent == 29.0

# %% [markdown]
# ## No saved tensors
#
# `backward` starts at the end of the program. Until then the graph has to save the tensors that the slopes need, so a
# longer program saves more. Forward mode no longer needs a value once the next one is computed. `torch.record` returns
# the data of a picture, including the bytes that each operation saves.


# %%
def repeated(times):
    def program(x):
        for _ in range(times):
            x = x.sin()
        return x

    return program


start = torch.tensor(1.0, requires_grad=True)
for times in (1, 10, 100):
    record = torch.record(repeated(times), start).to_dict()
    kept = sum(entry["bytes"] for op in record["ops"] for entry in op["saved"])
    print(f"steps: {times}, bytes that backward needs: {kept}")
    assert kept == 4 * times

with fwAD.dual_level():
    x = fwAD.make_dual(torch.tensor(1.0), torch.tensor(1.0))
    y = repeated(100)(x)
    slope = fwAD.unpack_dual(y).tangent
assert y.grad_fn is None  # no graph at all
assert torch.allclose(slope, torch.autograd.grad(repeated(100)(start), start)[0])

# %% [markdown]
# ## Mistakes with levels
#
# There are no duals outside a level, and a tangent has the shape of its tensor.

# %%
one, pair = torch.tensor(1.0), torch.tensor([1.0, 2.0])
try:
    fwAD.make_dual(pair, torch.ones(2))
except RuntimeError as e:
    print(e, "\n")
    assert "no level exists" in str(e)
else:
    raise AssertionError("a dual was made outside a level")

with fwAD.dual_level():
    try:
        fwAD.make_dual(pair, one)
    except RuntimeError as e:
        print(e)
        assert "the tangent has shape ()" in str(e)
    else:
        raise AssertionError("a tangent of another shape was accepted")

# %% [markdown]
# When the level ends, the tangents are gone. Unpack them inside.

# %%
with fwAD.dual_level():
    y = f(fwAD.make_dual(one, one))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    late = fwAD.unpack_dual(y).tangent
print(caught[0].message)
assert late is None and "has ended" in str(caught[0].message)

# %% [markdown]
# ## Columns and rows
#
# Let `g` map three numbers to two. Its derivatives form a table of two rows and three columns, the Jacobian: rows belong
# to outputs, columns to inputs.
#
# Forward mode with the tangent (0, 1, 0) asks how everything changes with the second input: a column. `backward` with the
# gradient (0, 1) asks how the second output changes with everything: a row.


# %%
def g(x):
    return torch.stack([x[0] * x[1], x[1] + 10 * x[2]])


def columns(h, x):
    found = []
    for tangent in torch.eye(len(x)):
        found.append(torch.func.jvp(h, (x,), (tangent,))[1])
    return found


def rows(h, x):
    leaf = x.clone().requires_grad_()
    y, found = h(leaf), []
    for gradient in torch.eye(len(y)):
        found.append(torch.autograd.grad(y, leaf, gradient, retain_graph=True)[0])  # keep the graph for the next row
    return found


x = torch.tensor([2.0, 3.0, 4.0])
jacobian = torch.stack(columns(g, x), dim=1)
print(jacobian)
assert jacobian.tolist() == [[3.0, 2.0, 0.0], [0.0, 1.0, 10.0]]
assert torch.equal(jacobian, torch.stack(rows(g, x)))

# %% [markdown]
# Any other tangent gives a combination of the columns, weighted by its elements. This is the product of the Jacobian and
# that vector: hence the name jvp. Any other gradient gives a combination of the rows.

# %%
v = torch.tensor([1.0, -1.0, 0.5])
_, jv = torch.func.jvp(g, (x,), (v,))
print(jv)
assert torch.equal(jv, jacobian @ v)

# %% [markdown]
# ## When to use which
#
# How many passes does it take to compute all derivatives?


# %%
def loss(x):  # 50 numbers to one
    return (x * x).sum().reshape(1)


def curve(t):  # one number to 50
    return t * t * torch.arange(50.0)


def count_passes(h, x):
    assert torch.equal(torch.stack(columns(h, x), dim=1), torch.stack(rows(h, x)))
    return {"forward mode": len(columns(h, x)), "backward": len(rows(h, x))}


many, single = torch.arange(50.0), torch.tensor([3.0])

lessons.predict(
    "curve maps one number to 50. How many passes does each mode need to compute all derivatives?",
    {
        "{'forward mode': 50, 'backward': 1}": "That is right for loss, which maps 50 numbers to one.",
        "{'forward mode': 1, 'backward': 50}": "Forward mode needs a pass for each input, backward for each output.",
        "{'forward mode': 1, 'backward': 1}": "A pass of backward returns one row of the Jacobian, and there are 50.",
    },
    lambda: count_passes(curve, single),
)

# %%
for h, at in ((loss, many), (curve, single)):
    print(h.__name__, count_passes(h, at))
assert count_passes(loss, many) == {"forward mode": 50, "backward": 1}

# %% [markdown]
# Forward mode needs a pass for each input, `backward` one for each output. Training has a million inputs, the weights,
# and one output, the loss: one `backward` gives all derivatives. A path through space has one input, the time, and many
# outputs: one pass of forward mode gives all velocities and saves nothing. If one direction is enough, forward mode needs
# one pass, however many inputs and outputs there are.
#
# ## Exercises
#
# ### 1. By hand
#
# Let $z = x \cdot x \cdot y$ with $x = 3$ and $y = 2$. Compute the tangent of $z$ if the tangent of $x$ is 1 and the tangent
# of $y$ is 10.

# %%
forward_tangent = ...

lessons.check("forward_tangent", forward_tangent)

# %% [markdown]
# ### 2. A rule
#
# Write the rule for division of dual numbers: from the values and tangents of `a` and `b`, return the value and the
# tangent of `a / b` as a pair.


# %%
def forward_quotient(a, a_tangent, b, b_tangent): ...


lessons.check("forward_quotient", forward_quotient)

# %% [markdown]
# ### 3. A Jacobian, column by column (at home)
#
# Write a function that takes `f` and a vector `x` and returns the Jacobian of `f` at `x`: one row for each output, one
# column for each input. Use forward mode only: the check has a `Function` without `backward`.


# %%
def forward_jacobian(f, x): ...


lessons.check("forward_jacobian", forward_jacobian)

# %% [markdown]
# ### 4. A robot's arm (at home)
#
# Six angles determine the three coordinates of a hand. Give three numbers of passes in a list: forward mode for the whole
# Jacobian, `backward` for the whole Jacobian, and forward mode for the hand's velocity while all six angles turn.

# %%
forward_passes = ...

lessons.check("forward_passes", forward_passes)

# %% [markdown]
# ## Summary
#
# - Forward mode computes a tangent with each value; it needs no graph and saves nothing.
# - The tangents of the inputs are the direction of the move.
# - A pass of forward mode gives a column of the Jacobian, or a combination of columns; `backward` gives a row.
# - Few inputs: forward mode. Few outputs, such as a loss: `backward`.
#
# ## Questions
#
# <details markdown="1">
# <summary>Why does forward mode need no saved tensors?</summary>
#
# It uses each value as soon as it is computed. `backward` needs the values later, so the graph has to save them.
#
# </details>
#
# <details markdown="1">
# <summary>Why does training use <code>backward</code>?</summary>
#
# It has many inputs, the weights, and one output, the loss. One `backward` gives all derivatives; forward mode needs a
# pass for each weight.
#
# </details>
#
# <details markdown="1">
# <summary>Why is the tangent of a constant 0?</summary>
#
# A tangent says how fast a value changes when the input does, and a constant does not change.
#
# </details>
