# %% values generated_draws
(5, 40)  # right
torch.tensor([5, 40])  # right
[40, 5]  # swapped
[1, 8]  # each element of an example
[8, 40]  # share the numbers of one example
[5, 5]  # separate
[40, 40]  # share one draw
[5, 41]  # is not right
[5]  # expected 2 numbers
45  # expected 2 numbers
"5"  # expected 2 numbers
[5, 8]  # is not right

# %% wrong GeneratedNorm: delete it
# -     generate_vmap_rule = True
# +     @staticmethod
# +     def vmap(info, in_dims, x):
# +         x = x.movedim(in_dims[0], 0)
# +         return x * x.norm(dim=-1, keepdim=True), 0

# %% changes GeneratedNorm
# x * (grad_output * x).sum() / safe -> torch.where(n == 0, 0 * x, x * (grad_output * x).sum() / safe)  # right
# return x * x.norm() -> return x * (x * x).sum().sqrt()  # right
# return x * x.norm() -> return x * x.norm().item()  # item
# safe = torch.where(n == 0, torch.ones_like(n), n) -> safe = n if n != 0 else 1  # torch.where
# safe = torch.where(n == 0, torch.ones_like(n), n) -> safe = n  # NaN
# return grad_output * n + x * (grad_output * x).sum() / safe -> return grad_output * n  # gradient
# n + x -> n - x  # gradient
# return grad_output * n + x * (grad_output * x).sum() / safe -> return n + x * x.sum() / safe  # gradient
# (grad_output * x).sum() -> grad_output * x  # gradient
# generate_vmap_rule = True -> generate_vmap_rule = False  # generate_vmap_rule is not True
# return x * x.norm() -> return x / x.norm()  # result

# %% right RandomSigns
# -         if info.randomness == "different":
# -             return RandomSigns.apply(x), (0, 0)
# -         _, signs = RandomSigns.apply(x[0])
# -         return (x * signs, signs), (0, None)
# +         if info.randomness == "same":
# +             _, signs = RandomSigns.apply(x[0])
# +             signs = signs.expand(info.batch_size, *signs.shape)
# +             return (x * signs, signs), (0, 0)
# +         return RandomSigns.apply(x), (0, 0)

# %% wrong RandomSigns: "same" the examples have different signs
# -         if info.randomness == "same":
# -             _, signs = RandomSigns.apply(x[0])
# -             signs = signs.expand(info.batch_size, *signs.shape)
# -             return (x * signs, signs), (0, 0)

# %% wrong RandomSigns: "different" all examples have the same signs
# -         if info.randomness == "different":
# -             return RandomSigns.apply(x), (0, 0)

# %% wrong RandomSigns: expected a RuntimeError
# -         if info.randomness == "error":
# -             raise RuntimeError("RandomSigns draws random numbers: pass randomness= to vmap")

# %% wrong RandomSigns: NumPy
# -     @staticmethod
# -     def vmap(info, in_dims, x):
# -         if info.randomness == "error":
# -             raise RuntimeError("RandomSigns draws random numbers: pass randomness= to vmap")
# -         x = x.movedim(in_dims[0], 0)
# -         return RandomSigns.apply(x), (0, 0)
# +     generate_vmap_rule = True

# %% changes RandomSigns
# RuntimeError -> ValueError  # your code raises
# return (x * signs, signs), (0, None) -> return (x * signs, signs), (0, 0)  # your code raises
# return (x * signs, signs), (0, None) -> return x * signs, 0  # the check cannot use this result
# drop x = x.movedim(in_dims[0], 0)  # out_dim 0
# return (x * signs, signs), (0, None) -> return (x.detach() * signs, signs), (0, None)  # cut the graph
# if info.randomness == "different": -> if info.randomness == "same":  # different
# drop ctx.mark_non_differentiable(output[1])  # the signs require grad
# x = x.movedim(in_dims[0], 0) -> x = x.movedim(0, in_dims[0])  # out_dim 0
