# %% right rule_shape
rule_shape = (3, 5)

# %% right rule_shape
seen = []
torch.vmap(lambda row, w: Affine.apply(row, w, 2), in_dims=(1, None))(torch.ones(3, 5), torch.ones(3))
rule_shape = seen[0][2] if seen else (3, 5)

# %% right rule_shape
rule_shape = torch.ones(3, 5).shape

# %% wrong rule_shape: one example
rule_shape = [3]

# %% wrong rule_shape: moved the batch
rule_shape = [5, 3]

# %% wrong rule_shape: expected 2 numbers
rule_shape = 15

# %% right may_generate
may_generate = {"a", "d", "e"}

# %% right may_generate
may_generate = ("E", "D", "A")

# %% right may_generate
may_generate = "a, d and e"[:4] + ", e"

# %% wrong may_generate: 1 more
may_generate = ["a", "d"]

# %% wrong may_generate: NumPy
may_generate = ["a", "b", "d", "e"]

# %% wrong may_generate: one number
may_generate = list("acde")

# %% right CumsumRule
# -         return CumsumRule.apply(x.movedim(in_dims[0], 0), dim if dim < 0 else dim + 1), 0
# +         x = x.movedim(in_dims[0], 0)
# +         dim = dim if dim >= 0 else dim + x.dim() - 1
# +         return CumsumRule.apply(x, dim + 1), 0

# %% right CumsumRule
# -         return CumsumRule.apply(x.movedim(in_dims[0], 0), dim if dim < 0 else dim + 1), 0
# +         place = in_dims[0]
# +         dim = dim % (x.dim() - 1)
# +         return CumsumRule.apply(x, dim if dim < place else dim + 1), place

# %% right CumsumRule
# -         return CumsumRule.apply(x.movedim(in_dims[0], 0), dim if dim < 0 else dim + 1), 0
# +         x = x.movedim(in_dims[0], -1)
# +         return CumsumRule.apply(x, dim if dim >= 0 else dim - 1), x.dim() - 1

# %% right CumsumRule
# -         return CumsumRule.apply(x.movedim(in_dims[0], 0), dim if dim < 0 else dim + 1), 0
# +         results = [CumsumRule.apply(x.select(in_dims[0], i), dim) for i in range(info.batch_size)]
# +         return torch.stack(results), 0

# %% wrong CumsumRule: dim=-1
# -         return CumsumRule.apply(x.movedim(in_dims[0], 0), dim if dim < 0 else dim + 1), 0
# +         return CumsumRule.apply(x.movedim(in_dims[0], 0), dim + 1), 0

# %% wrong CumsumRule: dim=0
# -         return CumsumRule.apply(x.movedim(in_dims[0], 0), dim if dim < 0 else dim + 1), 0
# +         return CumsumRule.apply(x.movedim(in_dims[0], 0), dim), 0

# %% wrong CumsumRule: in_dims=(1, None)
# -         return CumsumRule.apply(x.movedim(in_dims[0], 0), dim if dim < 0 else dim + 1), 0
# +         return CumsumRule.apply(x, dim if dim < 0 else dim + 1), 0

# %% wrong CumsumRule: pair
# -         return CumsumRule.apply(x.movedim(in_dims[0], 0), dim if dim < 0 else dim + 1), 0
# +         return CumsumRule.apply(x.movedim(in_dims[0], 0), dim if dim < 0 else dim + 1)

# %% right DotRule
# -         def front(t, dim):
# -             return t.expand(info.batch_size, *t.shape) if dim is None else t.movedim(dim, 0)
# -
# -         return DotRule.apply(front(a, in_dims[0]), front(b, in_dims[1])), 0
# +         a = a.expand(info.batch_size, *a.shape) if in_dims[0] is None else a.movedim(in_dims[0], 0)
# +         b = b.expand(info.batch_size, *b.shape) if in_dims[1] is None else b.movedim(in_dims[1], 0)
# +         return DotRule.apply(a, b), 0

# %% right DotRule
# -         def front(t, dim):
# -             return t.expand(info.batch_size, *t.shape) if dim is None else t.movedim(dim, 0)
# -
# -         return DotRule.apply(front(a, in_dims[0]), front(b, in_dims[1])), 0
# +         a = a.movedim(in_dims[0], 0) if in_dims[0] is not None else a.unsqueeze(0)
# +         b = b.movedim(in_dims[1], 0) if in_dims[1] is not None else b.unsqueeze(0)
# +         a, b = torch.broadcast_tensors(a, b)
# +         return DotRule.apply(a, b), 0

# %% right DotRule
# -         def front(t, dim):
# -             return t.expand(info.batch_size, *t.shape) if dim is None else t.movedim(dim, 0)
# +         def one(t, d, i):
# +             return t if d is None else t.select(d, i)
# -         return DotRule.apply(front(a, in_dims[0]), front(b, in_dims[1])), 0
# +         results = []
# +         for i in range(info.batch_size):
# +             results.append(DotRule.apply(one(a, in_dims[0], i), one(b, in_dims[1], i)))
# +         return torch.stack(results), 0

# %% right DotRule
# -         def front(t, dim):
# -             return t.expand(info.batch_size, *t.shape) if dim is None else t.movedim(dim, 0)
# -
# -         return DotRule.apply(front(a, in_dims[0]), front(b, in_dims[1])), 0
# +         moved = []
# +         for t, d in zip((a, b), in_dims):
# +             moved.append(torch.stack([t] * info.batch_size) if d is None else t.movedim(d, 0))
# +         return DotRule.apply(*moved), 0

# %% wrong DotRule: in_dims=(1, 1)
# -         def front(t, dim):
# -             return t.expand(info.batch_size, *t.shape) if dim is None else t.movedim(dim, 0)
# -
# -         return DotRule.apply(front(a, in_dims[0]), front(b, in_dims[1])), 0
# +         return DotRule.apply(a, b), 0

# %% right DotRule
# -             return t.expand(info.batch_size, *t.shape) if dim is None else t.movedim(dim, 0)
# +             return t if dim is None else t.movedim(dim, 0)

# %% wrong DotRule: not NoneType
# -         def front(t, dim):
# -             return t.expand(info.batch_size, *t.shape) if dim is None else t.movedim(dim, 0)
# -
# -         return DotRule.apply(front(a, in_dims[0]), front(b, in_dims[1])), 0
# +         return DotRule.apply(a.movedim(in_dims[0], 0), b.movedim(in_dims[1], 0)), 0

# %% wrong DotRule: gradient of argument
# -             return t.expand(info.batch_size, *t.shape) if dim is None else t.movedim(dim, 0)
# +             return t.detach().expand(info.batch_size, *t.shape) if dim is None else t.movedim(dim, 0)
