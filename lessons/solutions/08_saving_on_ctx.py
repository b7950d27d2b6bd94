# %% saved_contributions
saved_contributions = 10.0


# %% SavedDecay
class SavedDecay(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, rate):
        result = (-rate * x).exp()
        ctx.save_for_backward(result)
        ctx.rate = rate
        return result

    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return grad_output * -ctx.rate * result, None


# %% SavedPower
class SavedPower(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, n):
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        ctx.n = n
        return x**n

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * ctx.n * x ** (ctx.n - 1), None

    @staticmethod
    def jvp(ctx, x_t, n_t):
        (x,) = ctx.saved_tensors
        return x_t * ctx.n * x ** (ctx.n - 1)


# %% bytes_saved
def bytes_saved(f, *args):
    total = 0

    def count(tensor):
        nonlocal total
        total += tensor.nbytes
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(count, lambda tensor: tensor):
        f(*args)
    return total
