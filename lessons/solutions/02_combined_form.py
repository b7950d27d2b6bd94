# %% combined_saved
combined_saved = 2.0

# %% combined_claim
combined_claim = 50.0


# %% CombinedReciprocal
class CombinedReciprocal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        result = 1 / x
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return -grad_output * result * result


# %% CombinedSine
class CombinedSine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return scale * x.sin()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * ctx.scale * x.cos(), None


# %% CombinedClip
class CombinedClip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bound):
        ctx.bound = bound
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(-ctx.bound, ctx.bound), None
