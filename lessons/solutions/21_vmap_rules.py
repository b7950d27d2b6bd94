# %% rule_shape
rule_shape = [3, 5]


# %% CumsumRule
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
    def vmap(info, in_dims, x, dim):
        return CumsumRule.apply(x.movedim(in_dims[0], 0), dim if dim < 0 else dim + 1), 0


# %% DotRule
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
    def vmap(info, in_dims, a, b):
        def front(t, dim):
            return t.expand(info.batch_size, *t.shape) if dim is None else t.movedim(dim, 0)

        return DotRule.apply(front(a, in_dims[0]), front(b, in_dims[1])), 0
