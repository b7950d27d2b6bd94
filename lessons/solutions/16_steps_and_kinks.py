# %% difference_at_corner
difference_at_corner = (1.5e-6 - 0) / 2e-6


# %% checked_by
checked_by = ["gradgradcheck", "gradcheck", "neither"]


# %% CheckedHypot
class CheckedHypot(Function):
    @staticmethod
    def forward(ctx, a, b):
        length = (a * a + b * b).sqrt()
        ctx.save_for_backward(a, b, length)
        return length

    @staticmethod
    def backward(ctx, grad_output):
        a, b, length = ctx.saved_tensors
        return grad_output * a / length, grad_output * b / length
