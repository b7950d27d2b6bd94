# %% [markdown]
# # Rules for vmap
#
# *20 minutes. Needs lessons 18, 19 and 20.*
#
# **My Function calls NumPy. How can `vmap` run it on a batch?** With a rule that you write: it receives the whole batch
# and says how to compute it at once. If all methods consist of tensor operations, vmap can generate the rule.
#
# After this lesson you can:
#
# - let vmap generate a rule, and tell where it cannot,
# - write a `vmap` staticmethod for a batch in any dimension,
# - find a rule that is wrong without an error.

# %%
import numpy as np

import lessons
import minigrad as torch
from minigrad.autograd import Function
from viz import draw


def to_numpy(tensor):
    return tensor.cpu().numpy()


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
# examples, along dimension 1.
#
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
# NumPy cannot run that way: it needs the numbers of one example, and the generated rule has none.


# %%
class GeneratedSort(NumpySort):
    generate_vmap_rule = True
    vmap = Function.vmap  # remove the rule of NumpySort: having both is an error


try:
    torch.vmap(lambda x: GeneratedSort.apply(x, 0)[0])(columns)
except RuntimeError as e:
    print(e)
    assert "GeneratedSort.forward: runs under `vmap`" in str(e)
else:
    raise AssertionError("NumPy was run under vmap")

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
# ## The rules of NumpySort and NumpyTake
#
# Read them again, at the top. With the batch in front, each dimension of an example is one further right: `dim + 1`. A
# negative `dim` counts from the end, where nothing has changed. A rule must keep the promise of vmap: the result equals
# the result of a loop. So must the gradient: `NumpySort.backward` calls `NumpyTake`, so `NumpyTake` needs a rule as well.

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
# ## A wrong rule
#
# A rule that breaks the promise raises no error as long as the shapes fit. Here is the rule for `NumpyTake` from PyTorch's
# documentation, "Extending torch.func with autograd.Function". Where is its mistake?


# %%
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
# ### 1. The shape in a rule
#
# `torch.vmap(lambda row, w: Affine.apply(row, w, 2), in_dims=(1, None))(A, w)` with `A` of shape (3, 5) and `w` of
# shape (3,). What shape does `x` have in `Affine.vmap`? Give a list of numbers.

# %%
rule_shape = ...

lessons.check("rule_shape", rule_shape)

# %% [markdown]
# ### 2. When to generate
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
# ### 3. A rule for the running sum
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
# ### 4. Two arguments (at home)
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
# - `generate_vmap_rule = True` runs all methods under vmap: right for tensor operations, an error for NumPy.
# - A `vmap` staticmethod gets whole arguments with `in_dims`, and returns the output and its batch dimension.
# - Move the batch to the front; then a `dim` that is not negative becomes `dim + 1`.
# - Results and gradients must be those of a loop. `torch.testing.check` compares them.
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
#
# <details markdown="1">
# <summary>A rule passes all tests with the batch in dimension 0. Is it right?</summary>
#
# Not necessarily. The documentation's rule for `NumpyTake` is right there by chance. Test each dimension, and arguments
# without a batch.
#
# </details>
