# %% documented_call
documented_call = [4, 3, 1]


# %% DocumentedSort
class DocumentedSort(NumpySort):
    @staticmethod
    def backward(ctx, grad_output, _0, _1):
        ind, ind_inv = ctx.saved_tensors
        return NumpyTake.apply(grad_output, ind_inv, ind, ctx.dim), None

    @staticmethod
    def vmap(info, in_dims, x, dim):
        x = x.movedim(in_dims[0], 0)
        dim = dim if dim >= 0 else dim + x.dim() - 1
        return DocumentedSort.apply(x, dim + 1), (0, 0, 0)


# %% rule_holds
def rule_holds(f, batch):
    def by_loop(batch):
        return torch.stack([f(row) for row in batch])

    def gradient(mapped):
        def weighted(batch):
            out = mapped(batch)
            return (out * torch.arange(1.0, out.numel() + 1).reshape(out.shape)).sum()

        return torch.func.grad(weighted)(batch)

    try:
        same_values = torch.allclose(torch.vmap(f)(batch), by_loop(batch))
        return same_values and torch.allclose(gradient(torch.vmap(f)), gradient(by_loop))
    except Exception:
        return False
