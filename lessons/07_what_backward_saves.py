# %% [markdown]
# # What backward saves
#
# *Needs lessons 2 and 3.*
#
# **Why does training need more memory than the model?** Most derivatives need values from the forward pass. They stay in
# memory until backward has run.
#
# After this lesson you can:
#
# - say which tensors an operation saves, and how many bytes they take,
# - choose the tensors that your own Function saves,
# - explain how long tensors stay saved, and why they must not change.

# %%
import lessons
import minigrad as torch
from viz import draw

x = torch.tensor([0.0, 1.0, 2.0, 3.0], requires_grad=True)


def f(x):
    return (x.exp() + x.sin()) * 2


draw(f, x, passes=("forward", "backward"))

# %% [markdown]
# Each card names the tensors that its operation saves. Press Play to see backward free them.
#
# **Try it.** Drag the first number of `x` to the left until its gradient is 0. Which number does `exp` save for it
# there, with two digits?

# %%
saved_at_zero = ...

lessons.check("saved_at_zero", saved_at_zero)

# %% [markdown]
# ## Which operation saves what
#
# The derivative of $e^x$ is its own result. The derivative of $\sin x$ is $\cos x$ and needs `x`. The derivatives of `+` and
# `* 2` need nothing.
#
# Four float32 numbers are 16 bytes. The record behind the picture has the same data: each forward operation lists the
# values it saves and their bytes.


# %%
def saved(f, *args):
    """Return, for each operation of f, the values that it saves for backward and their bytes."""
    record = torch.record(f, *args).to_dict()
    names = {value["id"]: value["name"] or f"v{value['id']}" for value in record["values"]}
    forward = [op for op in record["ops"] if op["phase"] == "forward"]
    return [(op["name"], {names[kept["value"]]: kept["bytes"] for kept in op["saved"]}) for op in forward]


for name, kept in saved(f, x):
    print(name, kept)
assert saved(f, x) == [("exp", {"v1": 16}), ("sin", {"x": 16}), ("add", {}), ("mul", {})]

# %% [markdown]
# The same tensor can be saved by two operations.


# %%
def g(x):
    return x.exp() * x


lessons.predict(
    "x has 16 bytes. exp saves its result, and the product both factors. How many bytes do the saved tensors take?",
    {
        16: "Two different tensors are saved, x and its exponential.",
        32: "Three entries, but two tensors: the result of exp is saved twice and is in memory once.",
        48: "That counts the result of exp twice. Saving makes no copy.",
    },
    lambda: draw(g, x).graph.saved_bytes(),
)

# %% [markdown]
# The picture counts each tensor once: 32 bytes.

# %%
assert saved(g, x) == [("exp", {"v1": 16}), ("mul", {"v1": 16, "x": 16})]
drawing = draw(g, x)
assert drawing.graph.saved_bytes() == 32
drawing

# %% [markdown]
# A model has a fixed number of weights. The saved tensors grow with the layers and with the batch. These four layers share
# one matrix of 8 by 8 weights; each row of the input is an example.


# %%
def network(x, weights):
    for _ in range(4):
        x = (x @ weights).tanh()
    return x


weights = torch.eye(8, requires_grad=True)
for batch in (1, 10, 100):
    kept = draw(network, torch.ones(batch, 8), weights).graph.saved_bytes()
    print(f"examples: {batch}, weights: {weights.nbytes} bytes, saved tensors: {kept} bytes")
    assert kept == weights.nbytes + 5 * batch * 8 * 4  # the input and four results of tanh

# %% [markdown]
# ## In a Function, you choose
#
# A Function saves the tensors that it passes to `save_for_backward`. Take the sigmoid. In a chain of operations, `exp` saves
# its result, and the division saves its denominator.
#
# $$s = \frac{1}{1 + e^{-x}} \qquad s' = s\,(1 - s)$$


# %%
def sigmoid_in_steps(x):
    return 1 / (1 + (-x).exp())


in_steps = draw(sigmoid_in_steps, x)
print(in_steps.graph.saved_bytes(), "bytes")
in_steps

# %% [markdown]
# For the derivative, the result alone is enough. The Function saves one tensor instead of two, with the same arithmetic.


# %%
class Sigmoid(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return 1 / (1 + (-x).exp())

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad_output):
        (s,) = ctx.saved_tensors
        return grad_output * s * (1 - s)


def sigmoid(x):
    return Sigmoid.apply(x)


at_once = draw(sigmoid, x)
print(at_once.graph.saved_bytes(), "bytes")
assert in_steps.graph.saved_bytes() == 32
assert at_once.graph.saved_bytes() == 16
(gradient,) = torch.autograd.grad(sigmoid(x).sum(), x)
(expected,) = torch.autograd.grad(sigmoid_in_steps(x).sum(), x)
assert torch.allclose(gradient, expected)
at_once

# %% [markdown]
# The gain depends on which tensors stay in memory anyway. An input does if something else holds it, as with a parameter;
# an intermediate stays for backward alone.
#
# ## How long tensors stay saved
#
# The ctx is the node. You can read the saved tensors from it until backward runs. Backward frees them, even if the result
# still exists.

# %%
y = sigmoid(x)
print(y.grad_fn.saved_tensors)
y.sum().backward()
try:
    y.grad_fn.saved_tensors
except RuntimeError as e:
    print(e)
    assert "freed" in str(e)
else:
    raise AssertionError("saved tensors are still there")

# %% [markdown]
# ## A saved tensor must not change
#
# Saving makes no copy: the node holds the tensor itself. To notice a change, each tensor counts the writes to its memory
# in `_version`, and the node remembers the count. Backward compares the two, and raises an error instead of computing
# with the wrong values.

# %%
y = x.exp()
z = y * y
print(y._version)
y += 1
print(y._version)
assert y._version == 1
try:
    z.sum().backward()
except RuntimeError as e:
    print(e)
    assert "it is at version 1, expected version 0" in str(e)
else:
    raise AssertionError("backward used values that had changed")

# %% [markdown]
# Now the tensor changes after another operation, a product with a number.


# %%
def changed_after_use():
    y = x + 1
    z = y * 2
    y += 1
    try:
        (gradient,) = torch.autograd.grad(z.sum(), x)
    except RuntimeError:
        return "an error"
    return gradient.tolist()


lessons.predict(
    "y = x + 1, then z = y * 2, then y += 1. Which gradient does z.sum() have with respect to x?",
    {
        "[2.0, 2.0, 2.0, 2.0]": "The derivative of y * 2 is 2. The operation does not save y, so y may change.",
        "[3.0, 3.0, 3.0, 3.0]": "The addition comes after z, and adding 1 has the slope 1.",
        "an error": "y has changed, but no operation saves it.",
    },
    changed_after_use,
)

# %% [markdown]
# Only changes to saved tensors raise an error.
#
# ## Exercises
#
# ### 1. Count the bytes
#
# `x` has 1000 float32 numbers. How many bytes does `(x.sin() * x.cos()).sum()` save for backward, `x` included? A sum saves
# only the shape of its input.

# %%
saved_bytes_of_product = ...

lessons.check("saved_bytes_of_product", saved_bytes_of_product)

# %% [markdown]
# ### 2. One tensor is enough
#
# The derivative of $\tanh x$ is $1 - \tanh^2 x$. Fill in the gaps, so that the Function saves the result and nothing else.


# %%
class SavedTanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        e = (2 * x).exp()
        result = (e - 1) / (e + 1)
        ...
        return result

    @staticmethod
    def backward(ctx, grad_output):
        return ...


lessons.check("SavedTanh", SavedTanh)

# %% [markdown]
# ### 3. Repair
#
# This function should compute `2 * exp(x) + exp(x)`. It does not, and its backward raises an error as well. Repair both.


# %%
def saved_then_changed(x):
    e = x.exp()
    doubled = e.mul_(2)
    return doubled + e


lessons.check("saved_then_changed", saved_then_changed)

# %% [markdown]
# ### 4. The same values, fewer bytes (at home)
#
# This function saves four tensors. Write one with the same results and gradients that saves a single tensor, without a
# Function.


# %%
def saves_four(x):
    return x.exp() * (2 * x).exp() * (3 * x).exp()


def saved_less(x): ...


lessons.check("saved_less", saved_less)

# %% [markdown]
# ## Summary
#
# - An operation saves only what its derivative needs: `exp` its result, `sin` its input, `+` nothing.
# - A tensor that two operations save is in memory once.
# - A Function saves what it passes to `save_for_backward`. Often the result alone is enough.
# - Saved tensors stay until backward has run. Saving makes no copy, so they must not change.
#
# ## Questions
#
# <details markdown="1">
# <summary>Why may <code>y</code> change after <code>y * 2</code>, but not after <code>y * y</code>?</summary>
#
# The derivative of `y * 2` needs only the 2. The product of two tensors saves both factors.
#
# </details>
#
# <details markdown="1">
# <summary>A Function saves its input, which is also a parameter. What does this cost?</summary>
#
# Nothing more: the parameter is in memory anyway. Only a tensor that nothing else holds takes additional memory.
#
# </details>
#
# <details markdown="1">
# <summary>Why does a second <code>backward</code> through the same graph raise an error?</summary>
#
# The first one has freed the saved tensors. With `retain_graph=True` it keeps them, and their memory stays in use.
#
# </details>
