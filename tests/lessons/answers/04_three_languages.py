# %% values languages_seed
0.5  # right
[0.501]  # right
0.4  # not right
1.0  # then two contributions of 2.718 arrive at x
2.0  # then the gradient of x is twice as large as at first
2.718  # that is the gradient of x

# %% values languages_gradients
3.0  # right
len("a s b".split())  # right
2  # Variable()
4  # ctx
1  # incoming gradients


# %% right LanguagesClip
class LanguagesClip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bound):
        inside = (x >= -bound) & (x <= bound)
        ctx.save_for_backward(inside.to(x.dtype))
        return torch.minimum(torch.maximum(x, torch.full_like(x, -bound)), torch.full_like(x, bound))

    @staticmethod
    def vjp(ctx, grad_output):
        return grad_output.mul(ctx.saved_tensors[0]), None


# %% wrong LanguagesClip: only takes tensors
# -         ctx.save_for_backward(x)
# -         ctx.bound = bound
# +         ctx.save_for_backward(x, bound)
# -         (x,) = ctx.saved_tensors
# -         inside = x.abs() <= ctx.bound
# -         return grad_output * inside, None
# +         x, bound = ctx.saved_tensors
# +         return grad_output * (x.abs() <= bound), None

# %% changes LanguagesClip
# drop inside = x.abs() <= ctx.bound
#   return grad_output * inside, None -> return grad_output * (x.abs() <= ctx.bound)  # expected 2, got 1
# ctx.save_for_backward(x) -> ctx.save_for_backward({x})
#   drop inside = x.abs() <= ctx.bound
#   return grad_output * inside, None -> return grad_output * (x.abs() <= ctx.bound), None  # omit the braces
# ctx.save_for_backward(x, bound) -> ctx.save_for_backward(x.abs() < bound)
#   x, bound = ctx.saved_tensors -> (inside,) = ctx.saved_tensors
#   return grad_output * (x.abs() <= bound), None -> return grad_output * inside, None  # the gradient


# %% right LanguagesHypot
class LanguagesHypot(torch.autograd.Function):
    def forward(x, y):
        return torch.sqrt(x.square() + y.square())

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output)

    def vjp(ctx, grad_output):
        *sides, r = ctx.saved_tensors
        return tuple(grad_output * side / r for side in sides)


# %% wrong LanguagesHypot: setup_context
class LanguagesHypot(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        r = (x * x + y * y).sqrt()
        ctx.save_for_backward(x, y, r)
        return r

    @staticmethod
    def backward(ctx, grad_output):
        x, y, r = ctx.saved_tensors
        return grad_output * x / r, grad_output * y / r


# %% wrong LanguagesHypot: the gradients of x and y are swapped
# -         x, y = inputs
# -         ctx.save_for_backward(x, y, output)
# +         ctx.save_for_backward(*inputs, output)
# -         return grad_output * x / r, grad_output * y / r
# +         return grad_output * y / r, grad_output * x / r

# %% changes LanguagesHypot
# return grad_output * y / r, grad_output * x / r -> return grad_output * (x + y) / r  # expected 2, got 1
# return (x * x + y * y).sqrt() -> return x.mul(x).add(y).mul(y).sqrt()
#   drop x, y = inputs
#   ctx.save_for_backward(x, y, output) -> ctx.save_for_backward(*inputs, output)  # the result


# %% right LanguagesTimes
class LanguagesTimes(torch.autograd.Function):
    @staticmethod
    def forward(ctx, n, var):
        ctx.save_for_backward(torch.tensor(float(n)))
        return sum(var for _ in range(n))

    @staticmethod
    def backward(ctx, g):
        (n,) = ctx.saved_tensors
        return None, g * n


# %% changes LanguagesTimes
# return n * var -> var = var.clone(); var.mul_(n); return var
#   def backward(ctx, grad_output): -> def backward(ctx, *grad_output):
#   return None, grad_output * ctx.n -> return [None, grad_output[0] * ctx.n]  # right
# return n * var -> var.mul_(n); ctx.mark_dirty(var); return var  # leaf
# return n * var -> return [var * n]  # returns a list
# return n * var -> return var * 2
#   return None, grad_output * ctx.n -> return None, grad_output * 2  # the result
# return n * var -> return var * n
#   return None, grad_output * ctx.n -> return [grad_output * ctx.n]  # expected 2, got 1
# return n * var -> return var * n
#   return None, grad_output * ctx.n -> return grad_output * ctx.n, None  # gradient
# return n * var -> var.mul_(n); ctx.mark_dirty(var); return var  # make a new tensor
