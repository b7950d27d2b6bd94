# %% values saved_at_zero
0.1745  # right
0.17  # right
0.175  # right
1.0  # not right
-1.746  # that is x
-0.9847  # that is the result of sin
0.0  # that is the gradient

# %% values saved_bytes_of_product
12000  # right
16000  # once
8000  # factors
3000  # each has 4 bytes

# %% right saved_bytes_of_product
x = torch.ones(1000, requires_grad=True)
saved_bytes_of_product = torch.tensor(3 * x.nbytes)


# %% right SavedTanh
class SavedTanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(result := x.tanh())
        return result

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output - grad_output * ctx.saved_tensors[0].square()


# %% right SavedTanh
class SavedTanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        result = torch.from_numpy(__import__("numpy").tanh(x.detach().numpy()))
        ctx.save_for_backward(result, None)
        return result

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output):
        result, _ = ctx.saved_tensors
        return (grad_output * (1 - result * result),)


# %% wrong SavedTanh: save_for_backward
# -         ctx.save_for_backward(result := x.tanh())
# -         return result
# +         ctx.x = x
# +         return x.tanh()
# -         return grad_output - grad_output * ctx.saved_tensors[0].square()
# +         return grad_output * (1 - ctx.x.tanh() ** 2)

# %% wrong SavedTanh: the result
# -         ctx.x = x
# +         ctx.save_for_backward(x)
# -         return grad_output * (1 - ctx.x.tanh() ** 2)
# +         (x,) = ctx.saved_tensors
# +         return grad_output * (1 - x.tanh() ** 2)

# %% wrong SavedTanh: 2 tensors are saved
# -         ctx.save_for_backward(result := x.tanh())
# +         result = x.tanh()
# +         ctx.save_for_backward(x, result)
# -         return grad_output - grad_output * ctx.saved_tensors[0].square()
# +         _, result = ctx.saved_tensors
# +         return grad_output * (1 - result**2)

# %% wrong SavedTanh: the gradient
# -         e = (2 * x).exp()
# -         result = (e - 1) / (e + 1)
# +         result = x.tanh()
# -         return grad_output * (1 - result**2)
# +         return 1 - result**2

# %% wrong SavedTanh: as ctx.x besides
# -         e = (2 * x).exp()
# -         result = (e - 1) / (e + 1)
# +         result = x.tanh()
# +         ctx.x = x

# %% values saved_then_changed
lambda x: 3 * torch.exp(x)  # right


# %% right saved_then_changed
def saved_then_changed(x):
    e = x.exp()
    return e + 2 * e


# %% wrong saved_then_changed: modified by an inplace operation
def saved_then_changed(x):
    e = x.exp()
    doubled = e.clone()
    e.mul_(2)
    return doubled + e / 2 * 2 - doubled + doubled


# %% wrong saved_then_changed: is 4
def saved_then_changed(x):
    e = x.exp().clone()
    doubled = e.mul_(2)
    return doubled + e


# %% wrong saved_then_changed: does not require grad
def saved_then_changed(x):
    e = x.exp().detach()
    return e * 2 + e


# %% values saved_less
lambda x: torch.exp(6 * x)  # right


# %% right saved_less
def saved_less(x):
    return x.exp() ** 6


# %% wrong saved_less: 48 bytes are saved
def saved_less(x):
    e = x.exp()
    return e * e**2 * e**3


# %% wrong saved_less: does not require grad
def saved_less(x):
    return (6 * x.detach()).exp()


# %% wrong saved_less: 24 bytes are saved
def saved_less(x):
    return (4 * x).exp() * (2 * x).exp()


# %% wrong saved_less: the result
def saved_less(x):
    return x.exp() + (2 * x).exp() + (3 * x).exp()
