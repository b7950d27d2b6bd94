# %% second_walk
second_walk = [0.0, 10.0]


# %% MyFourth
class MyFourth(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x**4, 4 * x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        _, dx = output
        ctx.save_for_backward(x, dx)

    @staticmethod
    def backward(ctx, grad_output, grad_dx):
        x, dx = ctx.saved_tensors
        return grad_output * dx + grad_dx * 12 * x**2


# %% MySine
class MySine(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return torch.sin(x), torch.cos(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        sine, cosine = output
        ctx.save_for_backward(sine, cosine)

    @staticmethod
    def backward(ctx, grad_sine, grad_cosine):
        sine, cosine = ctx.saved_tensors
        return grad_sine * cosine - grad_cosine * sine


# %% SafeSqrt
class SafeSqrt(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return torch.sqrt(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        safe = torch.where(x > 0, x, torch.ones_like(x))
        return grad_output * torch.where(x > 0, 0.5 / safe.sqrt(), torch.zeros_like(x))
