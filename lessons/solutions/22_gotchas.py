# %% gotcha_written
gotcha_written = 2 * 6.0


# %% GotchaDense
class GotchaDense(Function):
    @staticmethod
    def forward(x, weight):
        return weight @ x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        return grad_output @ weight, torch.outer(grad_output, x)


# %% GotchaReciprocal
class GotchaReciprocal(Function):
    @staticmethod
    def forward(x):
        return 1 / x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return -grad_output * y * y


# %% GotchaSums
class GotchaSums(Function):
    @staticmethod
    def forward(x, dim):
        return torch.tensor(np.cumsum(x.numpy(), axis=dim))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.dim = inputs[1]

    @staticmethod
    def backward(ctx, grad_output):
        return GotchaSums.apply(grad_output.flip(ctx.dim), ctx.dim).flip(ctx.dim), None

    @staticmethod
    def vmap(info, in_dims, x, dim):
        return GotchaSums.apply(x.movedim(in_dims[0], 0), dim + 1), 0
