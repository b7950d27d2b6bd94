# %% values rule_shape
(3, 5)  # right
torch.ones(3, 5).shape  # right
[3]  # one example
[5, 3]  # moved the batch
15  # expected 2 numbers

# %% right CumsumRule
# -         return CumsumRule.apply(x.movedim(in_dims[0], 0), dim if dim < 0 else dim + 1), 0
# +         last = dim if dim < 0 else dim - (x.dim() - 1)
# +         return CumsumRule.apply(x.transpose(in_dims[0], 0) if x.dim() == 2 else x.movedim(in_dims[0], 0), last), 0

# %% wrong CumsumRule: more operations
# -         return CumsumRule.apply(x.movedim(in_dims[0], 0), dim if dim < 0 else dim + 1), 0
# +         results = [CumsumRule.apply(x.select(in_dims[0], i), dim) for i in range(info.batch_size)]
# +         return torch.stack(results), 0

# %% changes CumsumRule
# return CumsumRule.apply(x.movedim(in_dims[0], 0), dim if dim < 0 else dim + 1), 0
#   -> x = x.movedim(in_dims[0], -1); return CumsumRule.apply(x, dim if dim >= 0 else dim - 1), x.dim() - 1  # right
# dim if dim < 0 else dim + 1 -> dim + 1  # dim=-1
# dim if dim < 0 else dim + 1 -> dim  # dim=0
# x.movedim(in_dims[0], 0) -> x  # in_dims=(1, None)
# return CumsumRule.apply(x.movedim(in_dims[0], 0), dim if dim < 0 else dim + 1), 0
#   -> return CumsumRule.apply(x.movedim(in_dims[0], 0), dim if dim < 0 else dim + 1)  # pair


# %% right DotRule
# -         def front(t, dim):
# -             return t.expand(info.batch_size, *t.shape) if dim is None else t.movedim(dim, 0)
# -
# -         return DotRule.apply(front(a, in_dims[0]), front(b, in_dims[1])), 0
# +         a = a.movedim(in_dims[0], 0) if in_dims[0] is not None else a.unsqueeze(0)
# +         b = b.movedim(in_dims[1], 0) if in_dims[1] is not None else b.unsqueeze(0)
# +         a, b = torch.broadcast_tensors(a, b)
# +         return DotRule.apply(a, b), 0

# %% wrong DotRule: more operations
# -         a = a.movedim(in_dims[0], 0) if in_dims[0] is not None else a.unsqueeze(0)
# -         b = b.movedim(in_dims[1], 0) if in_dims[1] is not None else b.unsqueeze(0)
# -         a, b = torch.broadcast_tensors(a, b)
# -         return DotRule.apply(a, b), 0
# +         a = a.expand(info.batch_size, *a.shape) if in_dims[0] is None else a.movedim(in_dims[0], 0)
# +         b = b.expand(info.batch_size, *b.shape) if in_dims[1] is None else b.movedim(in_dims[1], 0)
# +         return torch.stack([DotRule.apply(*rows) for rows in zip(a, b)]), 0

# %% wrong DotRule: not NoneType
# -         a = a.expand(info.batch_size, *a.shape) if in_dims[0] is None else a.movedim(in_dims[0], 0)
# -         b = b.expand(info.batch_size, *b.shape) if in_dims[1] is None else b.movedim(in_dims[1], 0)
# -         return torch.stack([DotRule.apply(*rows) for rows in zip(a, b)]), 0
# +         return DotRule.apply(a.movedim(in_dims[0], 0), b.movedim(in_dims[1], 0)), 0

# %% changes DotRule
# a.movedim(in_dims[0], 0), b.movedim(in_dims[1], 0) -> a, b  # in_dims=(1, 1)
# t.expand -> t.detach().expand  # the gradient of b
