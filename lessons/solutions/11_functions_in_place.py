# %% InplaceScale
class InplaceScale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        x.mul_(k)
        ctx.k = k
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.k, None


# %% InplaceRelu
class InplaceRelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.clamp_(min=0)
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return grad_output * (result > 0)


# %% InplaceSquare
class InplaceSquare(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        old = x.clone()
        ctx.save_for_backward(old)
        ctx.mark_dirty(x)
        return x.mul_(old)

    @staticmethod
    def backward(ctx, grad_output):
        (old,) = ctx.saved_tensors
        return grad_output * 2 * old
