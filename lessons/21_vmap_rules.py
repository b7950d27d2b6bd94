# %% [markdown]
# # Rules for vmap
#
# *Needs lessons 18 and 19.*
#
# **My Function calls NumPy. How can `vmap` run it on a batch?** With a rule that you write: it receives the whole batch
# and says how to compute it at once.
#
# After this lesson you can:
#
# - read the arguments of a rule: `info`, `in_dims`, and tensors with a batch dimension,
# - write a `vmap` staticmethod for a batch in any dimension,
# - say why the backward needs a rule as well.

# %%
import numpy as np

import lessons
import minigrad as torch
from minigrad.autograd import Function
from viz import draw


def to_numpy(tensor):
    return tensor.cpu().numpy()


# %% [markdown]
# ## The arguments of a rule
#
# With a batch, minigrad calls `vmap(info, in_dims, *args)` instead of `forward`. The arguments include the batch
# dimension, and `in_dims` says where it is in each. It is `None` for a non-tensor, and for a tensor that is the same for
# all examples. The method returns the output for the whole batch, and its batch dimension; for several outputs, two
# tuples.


# %%
class Affine(Function):
    @staticmethod
    def forward(x, weight, n):
        return x * weight + n

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def vmap(info, in_dims, x, weight, n):
        seen.append((info.batch_size, in_dims, tuple(x.shape), tuple(weight.shape), n))
        return Affine.apply(x.movedim(in_dims[0], 0), weight, n), 0


seen = []
weight = torch.tensor([10.0, 20.0, 30.0])
# two examples: the columns of a matrix with three rows
result = torch.vmap(lambda column: Affine.apply(column, weight, 5), in_dims=1)(torch.ones(3, 2))
print(seen)
assert seen == [(2, (1, None, None), (3, 2), (3,), 5)]
assert result.tolist() == [[15.0, 25.0, 35.0], [15.0, 25.0, 35.0]]


# %% [markdown]
# ## The rules of NumpySort and NumpyTake
#
# These are the Functions of lesson 19, in short, each with a rule. `NumpySort.backward` calls `NumpyTake`, so `NumpyTake`
# needs a rule as well. Its three tensors may have the batch in different dimensions, or none.


# %%
def front(t, bdim, size):
    """Return a tensor with the batch in dimension 0."""
    return t.expand(size, *t.shape) if bdim is None else t.movedim(bdim, 0)


class NumpySort(Function):
    @staticmethod
    def forward(x, dim):
        ind = np.argsort(to_numpy(x), axis=dim)
        ind_inv = np.argsort(ind, axis=dim)
        return torch.tensor(np.take_along_axis(to_numpy(x), ind, dim)), torch.tensor(ind), torch.tensor(ind_inv)

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, ind, ind_inv = output
        ctx.mark_non_differentiable(ind, ind_inv)
        ctx.save_for_backward(ind, ind_inv)
        ctx.dim = inputs[1]

    @staticmethod
    def backward(ctx, grad_output, _0, _1):
        ind, ind_inv = ctx.saved_tensors
        return NumpyTake.apply(grad_output, ind_inv, ind, ctx.dim), None

    @staticmethod
    def vmap(info, in_dims, x, dim):
        return NumpySort.apply(x.movedim(in_dims[0], 0), dim if dim < 0 else dim + 1), (0, 0, 0)


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


def numpy_sort(x):
    return NumpySort.apply(x, 0)[0]


def sort_columns(columns):
    return torch.vmap(numpy_sort, in_dims=1)(columns)


columns = torch.tensor([[3.0, 4.0], [1.0, 6.0], [2.0, 5.0]])
draw(sort_columns, columns)

# %% [markdown]
# `numpy_sort` sorts one vector along dimension 0. The rule moves the batch to the front, and one `NumpySort` sorts all
# examples, along dimension 1. With the batch in front, each dimension of an example is one further right: `dim + 1`. A
# negative `dim` counts from the end, where nothing has changed.


# %%
# %%
def calls_of_forward(examples):
    """Return the number of times that NumpySort.forward runs for a batch."""
    ops = torch.record(sort_columns, torch.ones(3, examples), passes="forward").to_dict()["ops"]
    return [op["name"] for op in ops].count("NumpySort")


lessons.predict(
    "How many times does NumpySort.forward run when sort_columns sorts 300 columns?",
    {
        0: "vmap calls the rule instead of forward. But the rule calls apply on the whole batch, and that calls forward.",
        1: "The rule passes all columns to one apply: NumPy sorts the whole matrix.",
        300: "That would be a loop. The rule is there to avoid it.",
    },
    lambda: calls_of_forward(300),
)

# %% [markdown]
# A rule must keep the promise of vmap: the result equals the result of a loop. So must the gradient.

# %%
weights = torch.tensor([1.0, 10.0, 100.0])


def weighted(x):
    return (numpy_sort(x) * weights).sum()


assert calls_of_forward(300) == 1
assert sort_columns(columns).tolist() == [numpy_sort(column).tolist() for column in columns.T]
gradients = torch.vmap(torch.func.grad(weighted), in_dims=1)(columns)
print(gradients)
assert gradients.tolist() == [torch.func.grad(weighted)(column).tolist() for column in columns.T]

# %% [markdown]
# ## Exercises
#
# ### 1. The shape in a rule
#
# `torch.vmap(lambda row, w: Affine.apply(row, w, 2), in_dims=(1, None))(A, w)` with `A` of shape (3, 5) and `w` of
# shape (3,). What shape does `x` have in `Affine.vmap`? Give a list of numbers.

# %%
rule_shape = ...

lessons.check("rule_shape", rule_shape)

# %% [markdown]
# ### 2. A rule for the running sum
#
# Fill in `vmap`, without a loop. The batch may be in any dimension, and `dim` may be negative.


# %%
class CumsumRule(Function):
    @staticmethod
    def forward(x, dim):
        return torch.tensor(np.cumsum(to_numpy(x), axis=dim))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.dim = inputs[1]

    @staticmethod
    def backward(ctx, grad_output):
        return CumsumRule.apply(grad_output.flip(ctx.dim), ctx.dim).flip(ctx.dim), None

    @staticmethod
    def vmap(info, in_dims, x, dim): ...


lessons.check("CumsumRule", CumsumRule)

# %% [markdown]
# ### 3. Two arguments
#
# `forward` and `backward` are given. They work along the last dimension, with any number of dimensions before it, as
# long as both arguments have the same shape. Write `vmap` without a loop: each argument may have the batch in any dimension,
# or be the same for all examples. Think of the gradient of an argument that is the same for all.


# %%
class DotRule(Function):
    @staticmethod
    def forward(a, b):
        return torch.tensor(np.sum(to_numpy(a) * to_numpy(b), axis=-1))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        grad_output = grad_output.unsqueeze(-1)
        return grad_output * b, grad_output * a

    @staticmethod
    def vmap(info, in_dims, a, b): ...


lessons.check("DotRule", DotRule)

# %% [markdown]
# ## Summary
#
# - A `vmap` staticmethod gets whole arguments with `in_dims`, and returns the output and its batch dimension.
# - Move the batch to the front; then a `dim` that is not negative becomes `dim + 1`.
# - Expand a tensor that is the same for all examples.
# - Results and gradients must be those of a loop.
#
# ## Questions
#
# <details markdown="1">
# <summary>Why does the rule of <code>NumpySort</code> call <code>apply</code>, and not NumPy?</summary>
#
# `apply` makes a node in the graph, so the batch has a gradient. And if there is another vmap around this one, `apply` calls
# the rule again. NumPy would do neither.
#
# </details>
#
# <details markdown="1">
# <summary>Why does <code>NumpyTake</code> expand a tensor that is the same for all examples?</summary>
#
# `take_along_axis` needs an array and indices with the same number of dimensions. The backward of `expand` also sums the
# gradients of all examples, which is the gradient of a shared tensor.
#
# </details>
