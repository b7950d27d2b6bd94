# %% [markdown]
# # The documentation's rule, read closely
#
# *Needs lessons 19 and 21.*
#
# **I copied the example with a `vmap` staticmethod. Is it right?** Its check passes, and three of its lines need repair. This
# lesson runs the example of PyTorch's documentation as it stands, and asks what each check can see.
#
# After this lesson you can:
#
# - read `in_dims`, `info.batch_size` and `out_dims` in a rule that you did not write,
# - say which mistakes a check cannot see,
# - compare a rule with a loop, for values and gradients.

# %%
import numpy as np

import lessons
import minigrad as torch
from viz import draw


def sort_rows(rows):
    return torch.vmap(lambda row: torch.sort(row).values)(rows)


draw(sort_rows, torch.tensor([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]]))

# %% [markdown]
# minigrad's own sort has a rule. The Functions below sort with NumPy, so they bring theirs.
#
# ## The example as it stands
#
# It is from "Extending torch.func with autograd.Function", section "Defining the vmap staticmethod", with fewer comments.
# Read the two `vmap` methods, and the last three lines.


# %%
def to_numpy(tensor):
    return tensor.cpu().numpy()


class NumpySort(torch.autograd.Function):
    @staticmethod
    def forward(x, dim):
        device = x.device
        x = to_numpy(x)
        ind = np.argsort(x, axis=dim)
        ind_inv = np.argsort(ind, axis=dim)
        result = np.take_along_axis(x, ind, axis=dim)
        return (
            torch.tensor(result, device=device),
            torch.tensor(ind, device=device),
            torch.tensor(ind_inv, device=device),
        )

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, dim = inputs
        _, ind, ind_inv = output
        ctx.mark_non_differentiable(ind, ind_inv)
        ctx.save_for_backward(ind, ind_inv)
        ctx.dim = dim

    @staticmethod
    def backward(ctx, grad_output, _0, _1):
        return NumpyTake.apply(grad_output, ind_inv, ind, ctx.dim), None  # noqa: F821

    @staticmethod
    def vmap(info, in_dims, x, dim):
        x_bdim, _ = in_dims
        # Move the batch to the front, and pass a different `dim`
        x = x.movedim(x_bdim, 0)
        # Handle negative dims correctly
        dim = dim if dim >= 0 else dim + x.dim() - 1
        result = NumpySort.apply(x, dim + 1)
        # One Optional[int] for each of the three outputs
        return NumpySort.apply(x, dim + 1), (0, 0, 0)


class NumpyTake(torch.autograd.Function):
    @staticmethod
    def forward(x, ind, ind_inv, dim):
        device = x.device
        x = to_numpy(x)
        ind = to_numpy(ind)
        return torch.tensor(np.take_along_axis(x, ind, dim), device=device)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ind, ind_inv, dim = inputs
        ctx.save_for_backward(ind, ind_inv)
        ctx.dim = dim

    @staticmethod
    def backward(ctx, grad_output):
        ind, ind_inv = ctx.saved_tensors
        result = NumpyTake.apply(grad_output, ind_inv, ind, ctx.dim)
        return result, None, None, None

    @staticmethod
    def vmap(info, in_dims, x, ind, ind_inv, dim):
        x_bdim, ind_bdim, ind_inv_bdim, _ = in_dims
        # Handle negative dims by wrapping them to be positive
        logical_dim = x.dim() if x_bdim is None else x_bdim - 1
        dim = dim if dim >= 0 else dim + logical_dim

        def maybe_expand_bdim_at_front(x, x_bdim):
            if x_bdim is None:
                return x.expand(info.batch_size, *x.shape)
            return x.movedim(x_bdim, 0)

        x = maybe_expand_bdim_at_front(x, x_bdim)
        ind = maybe_expand_bdim_at_front(ind, ind_bdim)
        ind_inv = maybe_expand_bdim_at_front(ind_inv, ind_inv_bdim)
        return NumpyTake.apply(x, ind, ind_inv, dim + 1), 0


def numpy_sort(x, dim=-1):
    result, _, _ = NumpySort.apply(x, dim)
    return result


x = torch.randn(2, 3)
result = torch.vmap(numpy_sort)(x)
assert torch.allclose(result, numpy_sort(result, 1))

# %% [markdown]
# ## The limits of the check
#
# The last line sorts `result` once more and compares. A right result passes: sorting sorted rows changes nothing. Which wrong
# ones pass as well?


# %%
def passes(result):
    """Return the outcome of the documentation's check."""
    return torch.allclose(result, numpy_sort(result, 1))


lessons.predict(
    "Does the check pass if the rule returns zeros, and if it returns x as it is?",
    {
        "[False, False]": "It never looks at x: rows of zeros are sorted rows.",
        "[True, False]": "Sorting zeros gives zeros. Rows that are not sorted are found, which is the one thing it tests.",
        "[True, True]": "x is not sorted, so sorting it changes it.",
        "[False, True]": "It is the other way round: zeros are sorted, x is not.",
    },
    lambda: [passes(torch.zeros(2, 3)), passes(torch.tensor([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]]))],
)

# %% [markdown]
# Compare with a loop over the examples instead. That is the promise of vmap, and it holds here.

# %%
assert torch.equal(result, torch.stack([numpy_sort(row) for row in x]))

# %% [markdown]
# ## Three lines to repair
#
# The check runs no `backward`. There, `ind` and `ind_inv` are not defined: the line that reads
# `ctx.saved_tensors` is missing.

# %%
try:
    torch.func.grad(lambda x: torch.vmap(numpy_sort)(x).sum())(x)
except NameError as e:
    print(e)
    assert "ind" in str(e)
else:
    raise AssertionError("backward found the indices")

# %% [markdown]
# In `NumpySort.vmap`, the line `result = ...` computes what the `return` computes again: NumPy sorts every batch twice. The
# values are right, so only a count shows it.

# %%
ops = torch.record(lambda x: torch.vmap(numpy_sort)(x), x, passes="forward").to_dict()["ops"]
print([op["name"] for op in ops])
assert [op["name"] for op in ops].count("NumpySort") == 2

# %% [markdown]
# In `NumpyTake.vmap`, `logical_dim` is a position minus 1, and should be the number of dimensions of one example,
# `x.dim() - 1`. Lesson 50 shows where that goes wrong. `NumpySort.backward` never gets there: under vmap it passes a `dim`
# that is not negative.
#
# The documentation asks for more than equal values: `grad(vmap(f))` must be replaceable with `grad(map(f))`. So compare
# gradients as well, with a different weight for each position.
#
# ## Exercises
#
# ### 1. Inside the rule
#
# `torch.vmap(numpy_sort, in_dims=1)(A)` with `A` of shape (3, 4). In its rule, `NumpySort.apply(x, dim + 1)` is called with
# an `x` of which shape, and with which `dim + 1`? Give three numbers in a list, such as `[7, 8, 2]` for the shape (7, 8) and
# the dimension 2.

# %%
documented_call = ...

lessons.check("documented_call", documented_call)

# %% [markdown]
# ### 2. Repair
#
# Repair `NumpySort`: the gradient has to be right, and NumPy sorts a batch once. `NumpyTake` can stay as it is.


# %%
class DocumentedSort(NumpySort):
    @staticmethod
    def backward(ctx, grad_output, _0, _1): ...

    @staticmethod
    def vmap(info, in_dims, x, dim): ...


lessons.check("DocumentedSort", DocumentedSort)

# %% [markdown]
# ### 3. A check that sees
#
# Write `rule_holds(f, batch)`: True if `torch.vmap(f)` and a loop over the rows of `batch` give the same values, and the same
# gradients of `batch` for different incoming gradients; False otherwise, also if one of them raises an error. `f` returns
# one tensor.


# %%
def rule_holds(f, batch): ...


lessons.check("rule_holds", rule_holds)

# %% [markdown]
# ## Summary
#
# - A rule gets whole tensors, `in_dims` and `info.batch_size`; it returns the output and one `out_dim` for each.
# - A check that never compares with the input cannot see a wrong result, and one without `backward` no wrong gradient.
# - The measure of a rule is a loop: the same values, the same gradients.
#
# ## Questions
#
# <details markdown="1">
# <summary>Why is <code>dim + x.dim() - 1</code> right in <code>NumpySort.vmap</code>?</summary>
#
# There, `x` has the batch in front: it has one dimension more than an example. The dimension counts from the end of an
# example, so the number of its dimensions is added.
#
# </details>
#
# <details markdown="1">
# <summary>Why does <code>NumpyTake.vmap</code> return 0, and not a tuple?</summary>
#
# Its output is one tensor, and `out_dims` has the structure of the output.
#
# </details>
#
# <details markdown="1">
# <summary>The sum of the sorted numbers has the right gradient. Is the rule right?</summary>
#
# Not necessarily: every order of ones is ones. Give each position a different incoming gradient.
#
# </details>
