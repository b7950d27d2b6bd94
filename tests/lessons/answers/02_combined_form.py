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
    def forward(ctx, x):
        ctx.save_for_backward(1 / x)
        return 1 / x

    def vjp(ctx, grad_output):
        return -(grad_output * ctx.saved_tensors[0].square())


# %% wrong CombinedReciprocal: subclass of autograd.Function
class CombinedReciprocal:
    @staticmethod
    def apply(x):
        return 1 / x


# %% changes CombinedReciprocal
# return -grad_output * result * result -> return grad_output * result * result  # gradient
# return -grad_output * result * result -> -grad_output * result * result  # is None
# ctx.save_for_backward(result) -> ctx.save_for_backward(result, x)
#   (result,) = ctx.saved_tensors -> result, x = ctx.saved_tensors
#   return -grad_output * result * result -> return -grad_output * result / x  # 8 are enough


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


# %% changes CombinedSine
# drop ctx.scale = scale
#   return grad_output * ctx.scale * x.cos(), None -> return ctx.scale * x.cos()  # scale
# return grad_output * ctx.scale * x.cos(), None -> return grad_output * ctx.scale * x.cos()  # expected 2, got 1
# return grad_output * ctx.scale * x.cos(), None -> return ctx.scale * x.cos(), None  # gradient
# drop ctx.scale = scale
#   return grad_output * ctx.scale * x.cos(), None -> return grad_output * 3 * x.cos(), None  # -0.5

# %% right CombinedClip
# -         return x.clone()
# +         return x.view_as(x)
# -     def backward(ctx, grad_output):
# -         return grad_output.clamp(-ctx.bound, ctx.bound), None
# +     def backward(ctx, g):
# +         b = torch.full_like(g, ctx.bound)
# +         return torch.minimum(torch.maximum(g, -b), b), None

# %% changes CombinedClip
# return x.clone() -> return x
#   def backward(ctx, grad_output): -> def backward(ctx, g):
#   grad_output.clamp(-ctx.bound, ctx.bound) -> torch.clamp(g, min=-ctx.bound, max=ctx.bound)  # right
# return x.clone() -> return x.clamp(-bound, bound)  # the result
# ctx.bound = bound -> ctx.save_for_backward(x); ctx.bound = bound
#   return grad_output -> (x,) = ctx.saved_tensors; return x  # does not depend on grad_output
# grad_output.clamp(-ctx.bound, ctx.bound) -> grad_output.clamp(max=ctx.bound)  # the gradient of x is
# grad_output.clamp(-ctx.bound, ctx.bound), None -> grad_output.clamp(-ctx.bound, ctx.bound)  # expected 2, got 1
