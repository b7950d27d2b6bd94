# %% saved_at_zero
saved_at_zero = 0.1745

# %% saved_bytes_of_product
saved_bytes_of_product = 3 * 1000 * 4


# %% SavedTanh
class SavedTanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        e = (2 * x).exp()
        result = (e - 1) / (e + 1)
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return grad_output * (1 - result**2)


# %% saved_then_changed
def saved_then_changed(x):
    e = x.exp()
    doubled = e * 2
    return doubled + e


# %% saved_less
def saved_less(x):
    return (6 * x).exp()
