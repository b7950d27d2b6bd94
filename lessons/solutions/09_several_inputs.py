# %% several_dragged
several_dragged = 70.0

# %% several_nones
several_nones = ["n", "mode", "bias"]


# %% SeveralMix
class SeveralMix(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, t):
        ctx.t = t
        return (1 - t) * x + t * y

    @staticmethod
    def backward(ctx, grad_output):
        return (1 - ctx.t) * grad_output, ctx.t * grad_output, None


# %% SeveralLean
class SeveralLean(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        wanted = ctx.needs_input_grad
        ctx.save_for_backward(x if wanted[1] else None, y if wanted[0] else None)
        return x * y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        return None if y is None else grad_output * y, None if x is None else grad_output * x


# %% SeveralSinCos
class SeveralSinCos(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        sine, cosine = x.sin(), x.cos()
        ctx.save_for_backward(sine, cosine)
        return sine, cosine

    @staticmethod
    def backward(ctx, grad_sin, grad_cos):
        sine, cosine = ctx.saved_tensors
        return grad_sin * cosine - grad_cos * sine
