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

# %% wrong DocumentedSort: NumPy sorts a batch 2 times
#           dim = dim if dim >= 0 else dim + x.dim() - 1
# +         result = DocumentedSort.apply(x, dim + 1)

# %% changes DocumentedSort
# drop dim = dim if dim >= 0 else dim + x.dim() - 1
#   dim + 1 -> dim if dim < 0 else dim + 1  # right
# x = x.movedim(in_dims[0], 0) -> d, n = in_dims[0], x.dim() - 1
#   dim = dim if dim >= 0 else dim + x.dim() - 1 -> dim = dim % n
#   DocumentedSort.apply(x, dim + 1), (0, 0, 0) -> DocumentedSort.apply(x, dim + (dim >= d)), (d, d, d)  # right
# drop ind, ind_inv = ctx.saved_tensors  # ind
# ind_inv, ind -> ind, ind_inv  # gradient
# return NumpyTake.apply(grad_output, ind_inv, ind, ctx.dim), None -> return grad_output, None  # gradient
# return DocumentedSort.apply(x, dim + 1), (0, 0, 0) -> return NumpySort.apply(x, dim + 1), (0, 0, 0)  # ind
# return DocumentedSort.apply(x, dim + 1), (0, 0, 0) -> return DocumentedSort.apply(x, dim), (0, 0, 0)  # dim=
# drop x = x.movedim(in_dims[0], 0)  # in_dims=
# drop dim = dim if dim >= 0 else dim + x.dim() - 1  # dim=-
# dim = dim if dim >= 0 else dim + x.dim() - 1 -> dim = dim if dim >= 0 else dim + x.dim()  # out of bounds
# return NumpyTake.apply(grad_output, ind_inv, ind, ctx.dim), None
#   -> return NumpyTake.apply(grad_output, ind_inv, ind, ctx.dim)  # expected 2, got 1
# return DocumentedSort.apply(x, dim + 1), (0, 0, 0) -> return DocumentedSort.apply(x, dim + 1), 0  # its 3 outputs


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


# %% wrong rule_holds: your code raises
# -     try:
# -         same_values = torch.allclose(torch.vmap(f)(batch), by_loop(batch))
# -         return same_values and torch.allclose(gradient(torch.vmap(f)), gradient(by_loop))
# -     except Exception:
# -         return False
# +     same_values = torch.allclose(torch.vmap(f)(batch), by_loop(batch))
# +     return same_values and torch.allclose(gradient(torch.vmap(f)), gradient(by_loop))

# %% wrong rule_holds: gradients come in the wrong order
# -         return same_values and torch.allclose(gradient(torch.vmap(f)), gradient(by_loop))
# +         return torch.equal(torch.vmap(f)(batch).sort().values, by_loop(batch).sort().values) or same_values

# %% wrong rule_holds: one number
#           same_values = torch.allclose(torch.vmap(f)(batch), by_loop(batch))
# +         if torch.vmap(f)(batch).shape != batch.shape:
# +             return False

# %% changes rule_holds
# same_values and torch.allclose -> bool(same_values) and torch.equal  # right
# return same_values and torch.allclose(gradient(torch.vmap(f)), gradient(by_loop))
#   -> return same_values  # gradients come in the wrong order
# return same_values and torch.allclose(gradient(torch.vmap(f)), gradient(by_loop))
#   -> return torch.allclose(torch.vmap(f)(batch), torch.vmap(f)(batch))  # reverses the examples
# (out * torch.arange(1.0, out.numel() + 1).reshape(out.shape)) -> out  # gradients come in the wrong order
# torch.vmap(f)(batch), by_loop(batch) -> torch.vmap(f)(batch), batch  # a right rule
# return False -> return True  # a Function without a rule
# return same_values -> same_values  # None
# same_values and torch -> same_values and not torch  # a right rule
