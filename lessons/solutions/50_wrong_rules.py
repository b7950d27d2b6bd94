# %% may_generate
may_generate = ["a", "d", "e"]

# %% taken_dims
taken_dims = [1, 2]


# %% FlipRule
class FlipRule(torch.autograd.Function):
    @staticmethod
    def forward(x, dims):
        return torch.tensor(np.flip(to_numpy(x), dims).copy())

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.dims = inputs[1]

    @staticmethod
    def backward(ctx, grad_output):
        return FlipRule.apply(grad_output, ctx.dims), None

    @staticmethod
    def vmap(info, in_dims, x, dims):
        return FlipRule.apply(x.movedim(in_dims[0], 0), tuple(dim + 1 for dim in dims)), 0
