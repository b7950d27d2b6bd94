# %% [markdown]
# # Rules for vmap
#
# *30 minutes. Needs lessons 14, 15 and 16.*
#
# `vmap` knows how minigrad's operations behave on a batch, but not how your Function does. You will let it generate a
# rule, write a `vmap` staticmethod where it cannot, and see how a rule can be wrong without an error.

# %%
import numpy as np

import lessons
import minigrad as torch
from viz import draw

# %% [markdown]
# ## No rule
#
# Call `MyCube` of the last lesson under `vmap`. `forward` defines the result for one example, but not for a batch: a
# Function needs a rule for that.


# %%
class PlainCube(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x**3, 3 * x**2

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        result, dx = output
        ctx.save_for_backward(x, dx)

    @staticmethod
    def backward(ctx, grad_output, grad_dx):
        x, dx = ctx.saved_tensors
        return grad_output * dx + grad_dx * 6 * x


x = torch.tensor([1.0, 2.0, 3.0])
try:
    torch.vmap(lambda x: PlainCube.apply(x)[0])(x)
except RuntimeError as e:
    print(e)
    assert "generate_vmap_rule" in str(e)
else:
    raise AssertionError("a Function without a rule was mapped")

# %% [markdown]
# ## A generated rule
#
# `MyCube` is made of tensor operations only, and those have rules. `generate_vmap_rule = True` allows vmap to use them.
# This example and its check are from PyTorch's documentation.


# %%
class MyCube(torch.autograd.Function):
    # Set generate_vmap_rule to True to ask PyTorch to automatically generate
    # a vmap rule.
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        result = x**3
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
        result = grad_output * dx + grad_dx * 6 * x
        return result


def my_cube(x):
    result, dx = MyCube.apply(x)
    return result


x = torch.randn(3)
result = torch.vmap(my_cube)(x)
assert torch.allclose(result, x**3)

# %% [markdown]
# The rule is simple: vmap runs each method of the Function on the batch, `forward` now and `backward` later. So the
# rule composes with `grad`, in both orders and more than once.

# %%
x = torch.tensor([1.0, 2.0, 3.0])
print(torch.vmap(torch.func.grad(my_cube))(x))
print(torch.func.grad(lambda x: torch.vmap(my_cube)(x).sum())(x))
print(torch.vmap(torch.func.grad(torch.func.grad(my_cube)))(x))
assert torch.vmap(torch.func.grad(my_cube))(x).tolist() == [3.0, 12.0, 27.0]
assert torch.func.grad(lambda x: torch.vmap(my_cube)(x).sum())(x).tolist() == [3.0, 12.0, 27.0]
assert torch.vmap(torch.func.grad(torch.func.grad(my_cube)))(x).tolist() == [6.0, 12.0, 18.0]

# %% [markdown]
# Code of another system cannot run on a batch that way: NumPy would need a single example, and under vmap there is none.
# minigrad raises an error that names two vmaps: the one you call and the one of the generated rule. (PyTorch's
# documentation warns that the behaviour is undefined.)


# %%
def to_numpy(tensor):
    return tensor.cpu().numpy()


class GeneratedSquare(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return torch.tensor(np.square(to_numpy(x)))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 2 * x


try:
    torch.vmap(GeneratedSquare.apply)(x)
except RuntimeError as e:
    print(e)
    assert "GeneratedSquare.forward" in str(e)
else:
    raise AssertionError("NumPy was run under vmap")

# %% [markdown]
# ## Your own rule: its arguments
#
# With a batch, minigrad calls the staticmethod `vmap(info, in_dims, *args)` instead of `forward`. The arguments include
# the batch dimension, and `in_dims` says where it is in each: `None` for a non-tensor, and for a tensor that is the
# same for all examples. The method returns the output for the whole batch and its batch dimension.


# %%
class Affine(torch.autograd.Function):
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
print(result)
assert seen == [(2, (1, None, None), (3, 2), (3,), 5)]
assert result.tolist() == [[15.0, 25.0, 35.0], [15.0, 25.0, 35.0]]

# %% [markdown]
# ## NumpySort and NumpyTake
#
# These are the Functions of lesson 15 with the rules from PyTorch's documentation, unchanged. Both move the batch to
# the front and call the Function again on the whole, one dimension further right. `NumpyTake` has three tensors and
# first expands those that are the same for all examples. (In the documentation, `backward` of `NumpySort` lacks the
# first line that it has here.)


# %%
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
        ind, ind_inv = ctx.saved_tensors
        return NumpyTake.apply(grad_output, ind_inv, ind, ctx.dim), None

    # The signature of the vmap staticmethod is:
    # vmap(info, in_dims: Tuple[Optional[int]], *args)
    # where *args is the same as the arguments to `forward`.
    @staticmethod
    def vmap(info, in_dims, x, dim):
        # For every input (x and dim), in_dims stores an Optional[int]
        # that is:
        # - None if the input is not being vmapped over or if the input
        #   is not a Tensor
        # - an integer if the input is being vmapped over that represents
        #   the index of the dimension being vmapped over.
        x_bdim, _ = in_dims

        # A "vmap rule" is the logic of how to perform the operation given
        # inputs with one additional dimension. In NumpySort, x has an
        # additional dimension (x_bdim). The vmap rule is simply
        # to call NumpySort again but pass it a different `dim`.
        x = x.movedim(x_bdim, 0)
        # Handle negative dims correctly
        dim = dim if dim >= 0 else dim + x.dim() - 1
        result = NumpySort.apply(x, dim + 1)

        # The vmap rule must return a tuple of two things
        # 1. the output. Should be the same amount of things
        #    as returned by the forward().
        # 2. one Optional[int] for each output specifying if each output
        # is being vmapped over, and if so, the index of the
        # dimension being vmapped over.
        #
        # NumpySort.forward returns a Tuple of 3 Tensors. Since we moved the
        # dimension being vmapped over to the front of `x`, that appears at
        # dimension 0 of all outputs.
        # The return is (output, out_dims) -- output is a tuple of 3 Tensors
        # and out_dims is a Tuple of 3 Optional[int]
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

        # The strategy is: expand {x, ind, ind_inv} to all have the dimension
        # being vmapped over.
        # Then, call back into NumpyTake(expanded_x, expanded_ind, expanded_ind_inv, new_dim).

        # Handle negative dims by wrapping them to be positive
        logical_dim = x.dim() if x_bdim is None else x_bdim - 1
        dim = dim if dim >= 0 else dim + logical_dim

        def maybe_expand_bdim_at_front(x, x_bdim):
            if x_bdim is None:
                return x.expand(info.batch_size, *x.shape)
            return x.movedim(x_bdim, 0)

        # If the Tensor doesn't have the dimension being vmapped over,
        # expand it out. Otherwise, move it to the front of the Tensor
        x = maybe_expand_bdim_at_front(x, x_bdim)
        ind = maybe_expand_bdim_at_front(ind, ind_bdim)
        ind_inv = maybe_expand_bdim_at_front(ind_inv, ind_inv_bdim)

        # The return is a tuple (output, out_dims). Since output is a Tensor,
        # then out_dims is an Optional[int] (instead of being a Tuple).
        return NumpyTake.apply(x, ind, ind_inv, dim + 1), 0


def numpy_sort(x, dim=-1):
    result, _, _ = NumpySort.apply(x, dim)
    return result


# %% [markdown]
# The documentation checks that each row of the result is sorted. A sharper check: each row holds the numbers of the
# same input row.

# %%
x = torch.randn(2, 3)
result = torch.vmap(numpy_sort)(x)
assert torch.allclose(result, numpy_sort(result, 1))

rows = torch.tensor([[3.0, 1.0, 2.0], [4.0, 6.0, 5.0]])
print(torch.vmap(numpy_sort)(rows))
assert torch.vmap(numpy_sort)(rows).tolist() == [numpy_sort(row).tolist() for row in rows]
assert torch.vmap(numpy_sort, in_dims=1, out_dims=1)(rows.T).tolist() == torch.vmap(numpy_sort)(rows).T.tolist()

# %% [markdown]
# The picture shows `NumpySort` twice: the documentation's rule sorts once for `result`, which is never used, and once
# more in the return. Pictures reveal such waste.

# %%
sorts = [op["name"] for op in torch.record(torch.vmap(numpy_sort), rows, passes="forward").to_dict()["ops"]]
print(sorts)
assert sorts.count("NumpySort") == 2
draw(torch.vmap(numpy_sort), rows)

# %% [markdown]
# Gradients pass through, with vmap inside grad or outside.

# %%
weights = torch.tensor([1.0, 10.0, 100.0])


def weighted(row):
    return (numpy_sort(row) * weights).sum()


outside = torch.vmap(torch.func.grad(weighted))(rows)
inside = torch.func.grad(lambda rows: torch.vmap(weighted)(rows).sum())(rows)
print(outside)
assert outside.tolist() == inside.tolist() == [[100.0, 1.0, 10.0], [1.0, 100.0, 10.0]]

# %% [markdown]
# `jacrev` computes all rows of a Jacobian with vmap over the backward pass. It needs a rule for `NumpyTake`, which
# backward calls; the forward pass runs once, without a batch.

# %%
jacobian = torch.func.jacrev(numpy_sort)(rows[0])
print(jacobian)
assert jacobian.tolist() == [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]

# %% [markdown]
# ## A wrong rule
#
# vmap promises the results of a loop. A rule that breaks the promise raises no error as long as the shapes fit.
# `NumpyTake` has such a rule: for a negative `dim` it adds `x_bdim - 1`, where it should add the number of dimensions
# of one example, `x.dim() - 1`. With the batch in dimension 0 the rule works by chance: -1 becomes -2 and then -1, the
# last. With the batch in dimension 1, the -1 becomes 0, the batch.

# %%
columns = torch.tensor([[3.0, 4.0, 9.0], [1.0, 6.0, 8.0], [2.0, 5.0, 7.0]])
ind = torch.argsort(columns, dim=0)
ind_inv = torch.argsort(ind, dim=0)


def taken(x, ind, ind_inv):
    return NumpyTake.apply(x, ind, ind_inv, -1)


looped = torch.stack([taken(columns[:, i], ind[:, i], ind_inv[:, i]) for i in range(3)], dim=1)
mapped = torch.vmap(taken, in_dims=1, out_dims=1)(columns, ind, ind_inv)
print(looped)
print(mapped)
assert looped.tolist() == torch.sort(columns, dim=0).values.tolist()
assert mapped.tolist() != looped.tolist()

# %% [markdown]
# `torch.testing.check` (lesson 12) tries a rule with the batch in each place, alone and together, and compares with a loop. It
# finds the mistake.

# %%
failures = torch.testing.check(NumpyTake, columns[:, 0], ind[:, 0], ind_inv[:, 0], -1).failures
print(failures[0].name, "-", failures[0].message)
assert [failure.name for failure in failures] == ["vmap"]

# %% [markdown]
# Repaired, in a subclass:


# %%
class RepairedTake(NumpyTake):
    @staticmethod
    def vmap(info, in_dims, x, ind, ind_inv, dim):
        def front(t, bdim):
            return t.expand(info.batch_size, *t.shape) if bdim is None else t.movedim(bdim, 0)

        x, ind, ind_inv = map(front, (x, ind, ind_inv), in_dims)
        dim = dim if dim < 0 else dim + 1  # a negative one counts from the end, where nothing has changed
        return RepairedTake.apply(x, ind, ind_inv, dim), 0


assert not torch.testing.check(RepairedTake, columns[:, 0], ind[:, 0], ind_inv[:, 0], -1).failures
repaired = torch.vmap(lambda x, i, j: RepairedTake.apply(x, i, j, -1), in_dims=1, out_dims=1)(columns, ind, ind_inv)
assert repaired.tolist() == looped.tolist()

# %% [markdown]
# minigrad checks the return value of a rule: it needs one batch dimension for each output of `forward`.


# %%
class ForgetfulSort(NumpySort):
    @staticmethod
    def vmap(info, in_dims, x, dim):
        return NumpySort.apply(x.movedim(in_dims[0], 0), dim), 0


try:
    torch.vmap(lambda row: ForgetfulSort.apply(row, -1)[0])(rows)
except RuntimeError as e:
    print(e)
    assert "3 outputs" in str(e)
else:
    raise AssertionError("one place was taken for three outputs")

# %% [markdown]
# ## What a rule has to keep
#
# `grad` of `vmap` has to equal `grad` of the loop, too. A Function whose gradient depends on its whole argument easily
# breaks this. The one below shortens the gradient to length 1, and its rule calls the Function on the batch. That seems
# enough for an operation that copies each number.


# %%
class ShortGradient(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output / grad_output.norm().clamp(min=1.0)

    @staticmethod
    def vmap(info, in_dims, x):
        return ShortGradient.apply(x), in_dims[0]


class GeneratedShort(ShortGradient):
    generate_vmap_rule = True
    vmap = torch.autograd.Function.vmap


pairs = torch.tensor([[1.0, 2.0], [3.0, 4.0]])


def gradients(f):
    """Differentiate a loss that sums over rows, each with the gradient [3, 4] before it is shortened."""
    three_four = torch.tensor([3.0, 4.0])
    by_loop = torch.func.grad(lambda rows: sum((f(row) * three_four).sum() for row in rows))(pairs)
    by_vmap = torch.func.grad(lambda rows: torch.vmap(lambda row: (f(row) * three_four).sum())(rows).sum())(pairs)
    return by_loop, by_vmap


by_loop, by_own = gradients(ShortGradient.apply)
_, by_generated = gradients(GeneratedShort.apply)
print(by_loop)
print(by_own)
print(by_generated)
assert torch.allclose(by_loop, torch.tensor([[0.6, 0.8], [0.6, 0.8]]))
assert torch.allclose(by_generated, by_loop)
assert not torch.allclose(by_own, by_loop)  # both rows together were shortened to length 1

# %% [markdown]
# The loop shortens each row's gradient separately. So does the generated rule, which maps `backward` as well. With the
# rule written by hand, `backward` receives the gradients of the whole batch as one tensor and shortens that.
#
# Which should you choose? Take the generated rule where all methods consist of tensor operations. Write a rule by hand
# for other systems, for a better way to compute the batch, or where the generated rule does not mean what you want.
# Having both is an error.


# %%
class BothRules(ShortGradient):
    generate_vmap_rule = True


try:
    torch.vmap(BothRules.apply)(pairs)
except RuntimeError as e:
    print(e)
    assert "has both" in str(e)
else:
    raise AssertionError("two rules were accepted")

# %% [markdown]
# ## Exercises
#
# ### 1. In the rule
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
# Fill in `vmap`. The batch may be in any dimension, and `dim` may be negative.


# %%
class CumsumRule(torch.autograd.Function):
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
# ### 4. Two arguments
#
# `forward` and `backward` are given. They work along the last dimension, with any number of dimensions before it, as
# long as both arguments have the same shape. Write `vmap`: each argument may have the batch in any dimension, or be the
# same for all examples. Think of the gradient of an argument that is the same for all.


# %%
class DotRule(torch.autograd.Function):
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
