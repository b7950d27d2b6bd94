# %% values may_generate
{"a", "d", "e"}  # right
"a, d and e"[:4] + ", e"  # right
["a", "d"]  # 1 more
["a", "b", "d", "e"]  # NumPy
list("acde")  # one number

# %% values taken_dims
(1, 2)  # right
torch.tensor([1, 2])  # right
[0, 2]  # adds 1 for the batch
[2, 2]  # in_dims[0] - 1
[2, 1]  # other way round
[1, 1]  # three dimensions
1  # expected 2 numbers

# %% changes FlipRule
# return FlipRule.apply(x.movedim(in_dims[0], 0), tuple(dim + 1 for dim in dims)), 0
#   -> return FlipRule.apply(x, tuple(dim + (dim >= in_dims[0]) for dim in dims)), in_dims[0]  # right
# return FlipRule.apply(x.movedim(in_dims[0], 0), tuple(dim + 1 for dim in dims)), 0
#   -> return FlipRule.apply(x.movedim(in_dims[0], -1), dims), x.dim() - 1  # right
# return FlipRule.apply(x.movedim(in_dims[0], 0), tuple(dim + 1 for dim in dims)), 0
#   -> return FlipRule.apply(x, dims), in_dims[0]  # in_dims=0
# x.movedim(in_dims[0], 0) -> x  # out_dim 0
# return FlipRule.apply(grad_output, ctx.dims), None -> return grad_output, None  # the gradient
# tuple(dim + 1 for dim in dims) -> dims  # in_dims=0 and dims=(0,)
# return FlipRule.apply(x.movedim(in_dims[0], 0), tuple(dim + 1 for dim in dims)), 0
#   -> return FlipRule.apply(x.movedim(in_dims[0], 0), tuple(dim + 1 for dim in dims))  # pair
# return FlipRule.apply(x.movedim(in_dims[0], 0), tuple(dim + 1 for dim in dims)), 0
#   -> return torch.stack([FlipRule.apply(one, dims) for one in x.unbind(in_dims[0])]), 0  # loop
