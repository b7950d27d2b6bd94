# %% values second_walk
(0, 10)  # right
torch.tensor([0.0, 10.0])  # right
[10, 0]  # times the gradient
[1.0, 0.0]  # first pass
[0.0, 300.0]  # backward returns
300.0  # expected 2 numbers


# %% right MyFourth
class MyFourth(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        dx = 4 * x**3
        ctx.save_for_backward(x, dx)
        return x**4, dx

    @staticmethod
    def backward(ctx, grad_output, grad_dx):
        x, dx = ctx.saved_tensors
        return grad_output * dx + grad_dx * 12 * x**2


# %% wrong MyFourth: gradient
# -         (x,) = inputs
# -         _, dx = output
# -         ctx.save_for_backward(x, dx)
# +         ctx.save_for_backward(inputs[0], output[1])
# -         return grad_output * dx + grad_dx * 12 * x**2
# +         return grad_output * dx, grad_dx * 12 * x**2

# %% changes MyFourth
# return grad_output * dx, grad_dx * 12 * x**2 -> return grad_output * dx  # the gradient


# %% right MySine
class MySine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        sine, cosine = x.sin(), x.cos()
        ctx.save_for_backward(sine, cosine)
        return sine, cosine

    @staticmethod
    def backward(ctx, grad_sine, grad_cosine):
        sine, cosine = ctx.saved_tensors
        return grad_sine * cosine - grad_cosine * sine


# %% wrong MySine: ignores grad_cosine
# -         sine, cosine = output
# -         ctx.save_for_backward(sine, cosine)
# +         ctx.save_for_backward(*output)
# -         return grad_sine * cosine - grad_cosine * sine
# +         return grad_sine * cosine

# %% wrong MySine: derivative of the cosine
# -         return grad_sine * cosine
# +         return grad_sine * cosine + grad_cosine * sine


# %% wrong MySine: two tensors
class MySine(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return torch.sin(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.cos(x)


# %% changes MySine
# return grad_sine * cosine + grad_cosine * sine -> return cosine * grad_sine + -sine * grad_cosine  # right
# drop sine, cosine = output
#   ctx.save_for_backward(sine, cosine) -> ctx.save_for_backward(*inputs, *output)
#   sine, cosine = ctx.saved_tensors -> x, sine, cosine = ctx.saved_tensors  # 24 are enough


# %% right SafeSqrt
class SafeSqrt(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sqrt(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        filled = x + (x == 0).to(x.dtype)
        return torch.where(x == 0, torch.zeros_like(x), grad_output / (2 * torch.sqrt(filled)))


# %% wrong SafeSqrt: is NaN
# -         return torch.sqrt(x)
# +         return x.sqrt()
# -         safe = torch.where(x > 0, x, torch.ones_like(x))
# -         return grad_output * torch.where(x > 0, 0.5 / safe.sqrt(), torch.zeros_like(x))
# +         return grad_output * torch.where(x > 0, 0.5 / x.sqrt(), torch.zeros_like(x))

# %% changes SafeSqrt
# torch.where(x > 0, 0.5 / x.sqrt(), torch.zeros_like(x)) -> 0.5 / x.sqrt()  # at 0 is inf
# return torch.sqrt(x) -> return x.sqrt()
#   grad_output * torch -> torch  # 3 times the root
# return grad_output * torch.where(x > 0, 0.5 / x.sqrt(), torch.zeros_like(x))
#   -> slope = torch.zeros_like(x); slope[x > 0] = 0.5 / x.detach()[x > 0].sqrt(); return grad_output * slope  # no next one
