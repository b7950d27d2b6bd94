# %% [markdown]
# # When a rule is wrong
#
# *Needs lessons 16, 18 and 21.*
#
# **My rule runs without an error. Is it right?** Only if result and gradient are those of a loop. A rule that breaks this
# promise raises no error as long as the shapes fit.
#
# After this lesson you can:
#
# - let vmap generate a rule, and tell where it cannot,
# - find a rule whose result is wrong,
# - find a rule whose gradient is wrong.

# %%
import numpy as np

import lessons
import minigrad as torch
from minigrad.autograd import Function


def to_numpy(tensor):
    return tensor.cpu().numpy()


# %% [markdown]
# ## A generated rule
#
# Here is a Function of tensor operations. It copies its input, and shortens the incoming gradient to length 1 if it is
# longer.
#
# Without a rule, `vmap` raises an error, because `forward` defines the result for one example only. Tensor operations have
# rules, and `generate_vmap_rule = True` uses those.


# %%
class NoRule(Function):
    @staticmethod
    def forward(x):
        return x.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output / grad_output.norm().clamp(min=1.0)


class GeneratedShort(NoRule):
    generate_vmap_rule = True


rows = torch.ones(2, 2)
try:
    torch.vmap(NoRule.apply)(rows)
except RuntimeError as e:
    print(e)
    assert "generate_vmap_rule" in str(e)
else:
    raise AssertionError("a Function without a rule was mapped")
assert torch.vmap(GeneratedShort.apply)(rows).tolist() == rows.tolist()

# %% [markdown]
# vmap runs each method on the batch, `forward` at once and `backward` later. So the gradient equals the gradient of a loop:
# each row of the result gets the incoming gradient [3, 4], and each row of the input gets [0.6, 0.8].


# %%
def gradient_of_rows(f):
    """Return the gradient of two rows if each row of f's result has the incoming gradient [3, 4]."""
    three_four = torch.tensor([3.0, 4.0])
    gradient = torch.func.grad(lambda rows: (f(rows) * three_four).sum())(rows)
    return [[round(number, 2) for number in row] for row in gradient.tolist()]


by_loop = gradient_of_rows(lambda rows: torch.stack([NoRule.apply(row) for row in rows]))
assert by_loop == gradient_of_rows(torch.vmap(GeneratedShort.apply)) == [[0.6, 0.8], [0.6, 0.8]]

# %% [markdown]
# ## A wrong rule
#
# `NumpyTake` of lesson 21 has a right rule. Below it is the one of PyTorch's documentation, "Extending torch.func with
# autograd.Function". Where is its mistake?


# %%
def front(t, bdim, size):
    """Return a tensor with the batch in dimension 0."""
    return t.expand(size, *t.shape) if bdim is None else t.movedim(bdim, 0)


class NumpyTake(Function):
    @staticmethod
    def forward(x, ind, ind_inv, dim):
        return torch.tensor(np.take_along_axis(to_numpy(x), to_numpy(ind), dim))

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, ind, ind_inv, ctx.dim = inputs
        ctx.save_for_backward(ind, ind_inv)

    @staticmethod
    def backward(ctx, grad_output):
        ind, ind_inv = ctx.saved_tensors
        return NumpyTake.apply(grad_output, ind_inv, ind, ctx.dim), None, None, None

    @staticmethod
    def vmap(info, in_dims, x, ind, ind_inv, dim):
        x, ind, ind_inv = [front(t, bdim, info.batch_size) for t, bdim in zip((x, ind, ind_inv), in_dims)]
        return NumpyTake.apply(x, ind, ind_inv, dim if dim < 0 else dim + 1), 0


class DocumentedTake(NumpyTake):
    @staticmethod
    def vmap(info, in_dims, x, ind, ind_inv, dim):
        logical_dim = x.dim() if in_dims[0] is None else in_dims[0] - 1
        dim = dim if dim >= 0 else dim + logical_dim
        x, ind, ind_inv = [front(t, bdim, info.batch_size) for t, bdim in zip((x, ind, ind_inv), in_dims)]
        return DocumentedTake.apply(x, ind, ind_inv, dim + 1), 0


square = torch.tensor([[3.0, 4.0, 9.0], [1.0, 6.0, 8.0], [2.0, 5.0, 7.0]])
ind = torch.argsort(square, dim=0)
ind_inv = torch.argsort(ind, dim=0)


def taken(function, in_dims):
    return torch.vmap(lambda *tensors: function.apply(*tensors, -1), in_dims=in_dims)


looped = torch.stack([NumpyTake.apply(square[:, i], ind[:, i], ind_inv[:, i], -1) for i in range(3)])
for function in (NumpyTake, DocumentedTake):
    print(function.__name__, taken(function, 1)(square, ind, ind_inv))
assert taken(NumpyTake, 1)(square, ind, ind_inv).tolist() == looped.tolist()
assert taken(DocumentedTake, 0)(square.T, ind.T, ind_inv.T).tolist() == looped.tolist()  # right by chance
assert taken(DocumentedTake, 1)(square, ind, ind_inv).tolist() != looped.tolist()

# %% [markdown]
# For a negative `dim` it adds the batch dimension minus 1 instead of the number of dimensions of one example. With the
# batch in dimension 0, -1 becomes -2 and then -1: right by chance. With the batch in dimension 1, -1 becomes 0, the
# batch.
#
# `torch.testing.check` (lesson 16) puts the batch into each dimension of each argument and compares with a loop.

# %%
example = square[:, 0], ind[:, 0], ind_inv[:, 0], -1
(failure,) = torch.testing.check(DocumentedTake, *example).failures
print(failure.name, "-", failure.message)
assert failure.name == "vmap" and not torch.testing.check(NumpyTake, *example).failures

# %% [markdown]
# ## A wrong gradient
#
# Copying numbers needs no loop. So this rule for the Function that shortens gradients passes the batch on as it is.


# %%
class ShortGradient(NoRule):
    @staticmethod
    def vmap(info, in_dims, x):
        return ShortGradient.apply(x), in_dims[0]


lessons.predict(
    "A loop gives each row the gradient [0.6, 0.8]. Which gradient does torch.vmap(ShortGradient.apply) give?",
    {
        "[0.6, 0.8]": "The generated rule gives it. But after this rule, backward receives both rows as one tensor.",
        "[0.42, 0.57]": "The rule took the batch out of vmap, so backward divides by the length of both rows together.",
        "[3.0, 4.0]": "backward runs, and [3, 4] is longer than 1.",
        "an error": "The shapes fit, so there is no error.",
    },
    lambda: gradient_of_rows(torch.vmap(ShortGradient.apply))[0],
)

# %% [markdown]
# So generate the rule where all methods consist of tensor operations. Write one for other systems, or for a better way to
# compute the batch, and check it against a loop.
#
# ## Exercises
#
# ### 1. When to generate
#
# For which of these is `generate_vmap_rule = True` right? Give a list of letters.
#
# - `"a"`: forward is `x.exp()`, backward is `grad * y` with the saved output `y`
# - `"b"`: forward is `torch.tensor(np.exp(x.numpy()))`, backward is `grad * y`
# - `"c"`: forward is `x / x.norm().item()`, backward is made of tensor operations
# - `"d"`: forward is `x.clone()`, backward is `grad.clamp(-1, 1)`
# - `"e"`: forward is `x * x`, backward calls another Function that has a vmap staticmethod

# %%
may_generate = ...

lessons.check("may_generate", may_generate)

# %% [markdown]
# ### 2. Which dimension?
#
# `DocumentedTake` maps over matrices, and the batch is in dimension 2 of all three tensors. The caller passes `dim=-1`, the
# last dimension of each matrix. With which `dim` does the rule call `DocumentedTake.apply`? And with which should it,
# counted from 0? Give both numbers in a list.

# %%
taken_dims = ...

lessons.check("taken_dims", taken_dims)

# %% [markdown]
# ### 3. Repair
#
# This Function flips its input along `dims`, a tuple of dimensions counted from 0, such as `(0, 1)`. The rule raises no
# error. Repair it without a loop, for a batch in any dimension.


# %%
class FlipRule(Function):
    @staticmethod
    def forward(x, dims):
        return torch.tensor(np.flip(to_numpy(x), dims).copy())

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.dims = inputs[1]

    @staticmethod
    def backward(ctx, grad_output):
        return FlipRule.apply(grad_output, ctx.dims), None

    @staticmethod
    def vmap(info, in_dims, x, dims):
        return FlipRule.apply(x, dims), in_dims[0]


lessons.check("FlipRule", FlipRule)

# %% [markdown]
# ## Summary
#
# - `generate_vmap_rule = True` runs all methods under vmap: right for tensor operations, an error for NumPy.
# - A wrong rule raises no error if the shapes fit. Compare it with a loop, with the batch in each dimension.
# - A backward that looks at the whole gradient sees the whole batch, unless the rule is generated.
# - `torch.testing.check` makes these comparisons.
#
# ## Questions
#
# <details markdown="1">
# <summary>A rule passes all tests with the batch in dimension 0. Is it right?</summary>
#
# Not necessarily. The documentation's rule for `NumpyTake` is right there by chance. Test each dimension, and arguments
# without a batch.
#
# </details>
