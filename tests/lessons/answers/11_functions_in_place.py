# %% right InplaceScale
class InplaceScale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.saved_data["k"] = k
        x.copy_(x * k)
        ctx.mark_dirty(x)
        return (x,)

    @staticmethod
    def backward(ctx, *grads):
        return [grads[0] * ctx.saved_data["k"], None]


# %% wrong InplaceScale: the gradient
class InplaceScale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.mark_dirty(x)
        return x.mul_(k)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None


# %% changes InplaceScale
# drop ctx.mark_dirty(x)  # without ctx.mark_dirty
# return x -> return x * 1  # not returned
# drop x.mul_(k)
#   drop ctx.mark_dirty(x)
#   return x -> return x * k  # write to the argument
# drop x.mul_(k)
#   return x -> return x.mul_(k)
#   return grad_output * ctx.k, None -> return grad_output * ctx.k  # expected 2, got 1


# %% right InplaceRelu
class InplaceRelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x[x < 0] = 0
        ctx.save_for_backward(x)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        grad = grad_output.clone()
        grad[ctx.saved_tensors[0] == 0] = 0
        return grad


# %% wrong InplaceRelu: the result is enough
class InplaceRelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x.clone())
        ctx.mark_dirty(x)
        return x.clamp_(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (old,) = ctx.saved_tensors
        return grad_output * (old > 0)


# %% wrong InplaceRelu: save_for_backward saves no tensor
# -         ctx.save_for_backward(x.clone())
# +         ctx.positive = x > 0
# -         return x.clamp_(min=0)
# +         return x.relu_()
# -         (old,) = ctx.saved_tensors
# -         return grad_output * (old > 0)
# +         return grad_output * ctx.positive

# %% changes InplaceRelu
# x.clamp_(min=0) -> x.relu_()
#   (result,) = ctx.saved_tensors -> (y,) = ctx.saved_tensors
#   return grad_output * (result > 0) -> return torch.where(y > 0, grad_output, 0.0)  # right
# drop ctx.mark_dirty(x)  # without ctx.mark_dirty
# return grad_output * (result > 0) -> return grad_output * result  # the gradient


# %% right InplaceSquare
class InplaceSquare(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x * 2)
        ctx.mark_dirty(x)
        return x.copy_(x**2)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[0]


# %% wrong InplaceSquare: write to the argument
# -         ctx.save_for_backward(x * 2)
# -         ctx.mark_dirty(x)
# -         return x.copy_(x**2)
# +         ctx.save_for_backward(x)
# +         return x * x
# -         return grad_output * ctx.saved_tensors[0]
# +         (x,) = ctx.saved_tensors
# +         return grad_output * 2 * x

# %% changes InplaceSquare
# return x * x -> ctx.mark_dirty(x); return x.mul_(x)  # after the write
# ctx.save_for_backward(x * 2) -> x.mul_(x); ctx.save_for_backward(x)
#   return x.copy_(x**2) -> return x
#   return grad_output * ctx.saved_tensors[0]
#   -> (square,) = ctx.saved_tensors; return grad_output * 2 * square.sqrt()  # the gradient of x is -9.6
# ctx.save_for_backward(x * 2) -> ctx.save_for_backward(x.clone())
#   return x.copy_(x**2) -> return x.mul_(x)
#   return grad_output * ctx.saved_tensors[0]
#   -> (old,) = ctx.saved_tensors; return grad_output * old  # 2 times as large
