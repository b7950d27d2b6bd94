# %% values documented_call
(4, 3, 1)  # right
torch.tensor([4, 3, 1])  # right
[3, 4, 1]  # moved to the front
[4, 3, 0]  # dimension of one example
[4, 3, -1]  # made dim positive
[3, 4, 0]  # dimension 0 after movedim
[4, 3, 2]  # dimensions 0 and 1
[4, 3]  # expected 3 numbers
[[4, 3], 1]  # list of 3 numbers
12  # expected 3 numbers
"4 3 1"  # list of 3 numbers
[1, 4, 3]  # is not right

# %% right DocumentedSort
# -         dim = dim if dim >= 0 else dim + x.dim() - 1
# -         return DocumentedSort.apply(x, dim + 1), (0, 0, 0)
# +         return DocumentedSort.apply(x, dim if dim < 0 else dim + 1), (0, 0, 0)

# %% right DocumentedSort
# -         x = x.movedim(in_dims[0], 0)
# -         dim = dim if dim >= 0 else dim + x.dim() - 1
# -         return DocumentedSort.apply(x, dim + 1), (0, 0, 0)
# +         d, n = in_dims[0], x.dim() - 1
# +         dim = dim % n
# +         return DocumentedSort.apply(x, dim + (dim >= d)), (d, d, d)

# %% wrong DocumentedSort: NumPy sorts a batch 2 times
# -         return DocumentedSort.apply(x, dim + 1), (0, 0, 0)
# +         result = DocumentedSort.apply(x, dim + 1)
# +         return DocumentedSort.apply(x, dim + 1), (0, 0, 0)

# %% wrong DocumentedSort: ind
# -         ind, ind_inv = ctx.saved_tensors

# %% wrong DocumentedSort: gradient
# -         return NumpyTake.apply(grad_output, ind_inv, ind, ctx.dim), None
# +         return NumpyTake.apply(grad_output, ind, ind_inv, ctx.dim), None

# %% wrong DocumentedSort: gradient
# -         return NumpyTake.apply(grad_output, ind_inv, ind, ctx.dim), None
# +         return grad_output, None

# %% wrong DocumentedSort: ind
# -         return DocumentedSort.apply(x, dim + 1), (0, 0, 0)
# +         return NumpySort.apply(x, dim + 1), (0, 0, 0)

# %% wrong DocumentedSort: dim=
# -         return DocumentedSort.apply(x, dim + 1), (0, 0, 0)
# +         return DocumentedSort.apply(x, dim), (0, 0, 0)

# %% wrong DocumentedSort: in_dims=
# -         x = x.movedim(in_dims[0], 0)

# %% wrong DocumentedSort: dim=-
# -         dim = dim if dim >= 0 else dim + x.dim() - 1

# %% wrong DocumentedSort: out of bounds
# -         dim = dim if dim >= 0 else dim + x.dim() - 1
# +         dim = dim if dim >= 0 else dim + x.dim()

# %% wrong DocumentedSort: expected 2, got 1
# -         return NumpyTake.apply(grad_output, ind_inv, ind, ctx.dim), None
# +         return NumpyTake.apply(grad_output, ind_inv, ind, ctx.dim)

# %% wrong DocumentedSort: its 3 outputs
# -         return DocumentedSort.apply(x, dim + 1), (0, 0, 0)
# +         return DocumentedSort.apply(x, dim + 1), 0


# %% right rule_holds
def rule_holds(f, batch):
    results = []
    for mapped in (torch.vmap(f), lambda b: torch.stack([f(row) for row in b])):
        leaf = batch.clone().requires_grad_()
        try:
            out = mapped(leaf)
            weights = torch.rand(out.shape, generator=torch.Generator().manual_seed(1))
            results.append((out.detach(), torch.autograd.grad(out, leaf, weights)[0]))
        except Exception:
            return False
    return all(torch.allclose(a, b) for a, b in zip(*results))


# %% right rule_holds
# -         return same_values and torch.allclose(gradient(torch.vmap(f)), gradient(by_loop))
# +         return bool(same_values) and torch.equal(gradient(torch.vmap(f)), gradient(by_loop))


# %% wrong rule_holds: gradients come in the wrong order
# -         return same_values and torch.allclose(gradient(torch.vmap(f)), gradient(by_loop))
# +         return same_values

# %% wrong rule_holds: reverses the examples
# -         return same_values and torch.allclose(gradient(torch.vmap(f)), gradient(by_loop))
# +         return torch.allclose(torch.vmap(f)(batch), torch.vmap(f)(batch))

# %% wrong rule_holds: gradients come in the wrong order
# -             return (out * torch.arange(1.0, out.numel() + 1).reshape(out.shape)).sum()
# +             return out.sum()

# %% wrong rule_holds: your code raises
# -     try:
# -         same_values = torch.allclose(torch.vmap(f)(batch), by_loop(batch))
# -         return same_values and torch.allclose(gradient(torch.vmap(f)), gradient(by_loop))
# -     except Exception:
# -         return False
# +     same_values = torch.allclose(torch.vmap(f)(batch), by_loop(batch))
# +     return same_values and torch.allclose(gradient(torch.vmap(f)), gradient(by_loop))

# %% wrong rule_holds: a right rule
# -         same_values = torch.allclose(torch.vmap(f)(batch), by_loop(batch))
# +         same_values = torch.allclose(torch.vmap(f)(batch), batch)

# %% wrong rule_holds: a Function without a rule
# -         return False
# +         return True

# %% wrong rule_holds: None
# -         return same_values and torch.allclose(gradient(torch.vmap(f)), gradient(by_loop))
# +         same_values and torch.allclose(gradient(torch.vmap(f)), gradient(by_loop))

# %% wrong rule_holds: a right rule
# -         return same_values and torch.allclose(gradient(torch.vmap(f)), gradient(by_loop))
# +         return same_values and not torch.allclose(gradient(torch.vmap(f)), gradient(by_loop))

# %% wrong rule_holds: gradients come in the wrong order
# -         return same_values and torch.allclose(gradient(torch.vmap(f)), gradient(by_loop))
# +         return torch.equal(torch.vmap(f)(batch).sort().values, by_loop(batch).sort().values) or same_values

# %% wrong rule_holds: one number
# -         return same_values and torch.allclose(gradient(torch.vmap(f)), gradient(by_loop))
# +         if torch.vmap(f)(batch).shape != batch.shape:
# +             return False
# +         return same_values and torch.allclose(gradient(torch.vmap(f)), gradient(by_loop))
