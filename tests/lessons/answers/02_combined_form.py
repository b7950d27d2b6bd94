# %% values combined_saved
2.0  # right
torch.tensor(2.003)  # right
2.1  # not right
6.0  # that is the gradient
0.693  # that is x
3.0  # that is the gradient that comes in

# %% values combined_claim
50  # right
torch.tensor([50.0])  # right
60.0  # true derivative
5  # incoming gradient, 10
300  # not right


# %% right CombinedReciprocal
class CombinedReciprocal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.reciprocal()

    @staticmethod
    def backward(ctx, grad_output):
        x = ctx.saved_tensors[0]
        return grad_output * (-1 / x**2)


# %% right CombinedReciprocal
class CombinedReciprocal(torch.autograd.Function):
    def forward(ctx, x):
        ctx.save_for_backward(1 / x)
        return 1 / x

    def vjp(ctx, grad_output):
        return -(grad_output * ctx.saved_tensors[0].square())


# %% wrong CombinedReciprocal: gradient
# -         return -grad_output * result * result
# +         return grad_output * result * result

# %% wrong CombinedReciprocal: is None
# -         return -grad_output * result * result
# +         -grad_output * result * result

# %% wrong CombinedReciprocal: 8 are enough
# -         ctx.save_for_backward(result)
# +         ctx.save_for_backward(result, x)
# -         (result,) = ctx.saved_tensors
# -         return -grad_output * result * result
# +         result, x = ctx.saved_tensors
# +         return -grad_output * result / x


# %% wrong CombinedReciprocal: subclass of autograd.Function
class CombinedReciprocal:
    @staticmethod
    def apply(x):
        return 1 / x


# %% right CombinedSine
class CombinedSine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(scale * x.cos())
        return scale * torch.sin(x)

    @staticmethod
    def backward(ctx, grad_output):
        (slope,) = ctx.saved_tensors
        return slope * grad_output, None


# %% right CombinedSine
# -         ctx.save_for_backward(x)
# -         ctx.scale = scale
# +         ctx.save_for_backward(x, torch.tensor(scale))
# -         (x,) = ctx.saved_tensors
# -         return grad_output * ctx.scale * x.cos(), None
# +         x, scale = ctx.saved_tensors
# +         return [grad_output * scale * x.cos(), None]

# %% wrong CombinedSine: scale
# -         ctx.save_for_backward(x, torch.tensor(scale))
# +         ctx.save_for_backward(x)
# -         x, scale = ctx.saved_tensors
# -         return [grad_output * scale * x.cos(), None]
# +         (x,) = ctx.saved_tensors
# +         return ctx.scale * x.cos()

# %% wrong CombinedSine: expected 2, got 1
# -         return grad_output * ctx.scale * x.cos(), None
# +         return grad_output * ctx.scale * x.cos()

# %% wrong CombinedSine: gradient
# -         return grad_output * ctx.scale * x.cos(), None
# +         return ctx.scale * x.cos(), None

# %% wrong CombinedSine: -0.5
# -         return ctx.scale * x.cos()
# +         return grad_output * 3 * x.cos(), None

# %% right CombinedClip
# -         return x.clone()
# +         return x
# -     def backward(ctx, grad_output):
# -         return grad_output.clamp(-ctx.bound, ctx.bound), None
# +     def backward(ctx, g):
# +         return torch.clamp(g, min=-ctx.bound, max=ctx.bound), None

# %% right CombinedClip
# -         return x
# +         return x.view_as(x)
# -         return torch.clamp(g, min=-ctx.bound, max=ctx.bound), None
# +         b = torch.full_like(g, ctx.bound)
# +         return torch.minimum(torch.maximum(g, -b), b), None

# %% wrong CombinedClip: the result
# -         return x.clone()
# +         return x.clamp(-bound, bound)

# %% wrong CombinedClip: does not depend on grad_output
#       def forward(ctx, x, bound):
# +         ctx.save_for_backward(x)
# -         return grad_output.clamp(-ctx.bound, ctx.bound), None
# +         (x,) = ctx.saved_tensors
# +         return x.clamp(-ctx.bound, ctx.bound), None

# %% wrong CombinedClip: the gradient of x is
# -         return grad_output.clamp(-ctx.bound, ctx.bound), None
# +         return grad_output.clamp(max=ctx.bound), None

# %% wrong CombinedClip: expected 2, got 1
# -         return grad_output.clamp(-ctx.bound, ctx.bound), None
# +         return grad_output.clamp(-ctx.bound, ctx.bound)
