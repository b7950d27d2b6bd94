# %% languages_seed
languages_seed = 0.5

# %% languages_gradients
languages_gradients = 3


# %% LanguagesClip
class LanguagesClip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bound):
        ctx.save_for_backward(x)
        ctx.bound = bound
        return x.clamp(-bound, bound)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        inside = x.abs() <= ctx.bound
        return grad_output * inside, None


# %% LanguagesHypot
class LanguagesHypot(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return (x * x + y * y).sqrt()

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, y = inputs
        ctx.save_for_backward(x, y, output)

    @staticmethod
    def backward(ctx, grad_output):
        x, y, r = ctx.saved_tensors
        return grad_output * x / r, grad_output * y / r


# %% LanguagesTimes
class LanguagesTimes(torch.autograd.Function):
    @staticmethod
    def forward(ctx, n, var):
        ctx.n = n
        return n * var

    @staticmethod
    def backward(ctx, grad_output):
        return None, grad_output * ctx.n
