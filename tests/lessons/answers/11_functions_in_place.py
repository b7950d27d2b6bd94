# %% right InplaceScale
# -         x.mul_(k)
# +         ctx.mark_dirty(x)
# -         ctx.mark_dirty(x)
# -         return x
# +         return x.mul_(k)
# -         return grad_output * ctx.k, None
# +         return ctx.k * grad_output, None

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


# %% wrong InplaceScale: without ctx.mark_dirty
# -         ctx.mark_dirty(x)

# %% wrong InplaceScale: not returned
# -         return x
# +         return x * 1


# %% wrong InplaceScale: write to the argument
class InplaceScale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        return x * k

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.k, None


# %% wrong InplaceScale: expected 2, got 1
# -         return x * k
# +         ctx.mark_dirty(x)
# +         return x.mul_(k)
# -         return grad_output * ctx.k, None
# +         return grad_output * ctx.k

# %% wrong InplaceScale: the gradient
# -         ctx.k = k
# -         return x * k
# +         ctx.mark_dirty(x)
# +         return x.mul_(k)
# -         return grad_output * ctx.k, None
# +         return grad_output, None

# %% right InplaceRelu
# -         x.clamp_(min=0)
# +         x.relu_()
# -         (result,) = ctx.saved_tensors
# -         return grad_output * (result > 0)
# +         (y,) = ctx.saved_tensors
# +         return torch.where(y > 0, grad_output, 0.0)


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


# %% wrong InplaceRelu: without ctx.mark_dirty
# -         ctx.mark_dirty(x)

# %% wrong InplaceRelu: the gradient
# -         return grad_output * (result > 0)
# +         return grad_output * result

# %% wrong InplaceRelu: save_for_backward saves no tensor
# -         ctx.save_for_backward(x.clone())
# +         ctx.positive = x > 0
# -         return x.clamp_(min=0)
# +         return x.relu_()
# -         (old,) = ctx.saved_tensors
# -         return grad_output * (old > 0)
# +         return grad_output * ctx.positive

# %% right InplaceSquare
# -         old = x.clone()
# -         ctx.save_for_backward(old)
# +         ctx.save_for_backward(x.clone())
# +         x.pow_(2)
# -         return x.mul_(old)
# +         return x
# -         return grad_output * 2 * old
# +         return 2 * old * grad_output


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


# %% wrong InplaceSquare: after the write
# -         ctx.save_for_backward(x * 2)
# +         ctx.save_for_backward(x)
# -         return x.copy_(x**2)
# +         return x.mul_(x)
# -         return grad_output * ctx.saved_tensors[0]
# +         (x,) = ctx.saved_tensors
# +         return grad_output * 2 * x

# %% wrong InplaceSquare: the gradient of x is -9.6
# -         ctx.save_for_backward(x.clone())
# -         x.pow_(2)
# +         x.mul_(x)
# +         ctx.save_for_backward(x)
# -         (old,) = ctx.saved_tensors
# -         return 2 * old * grad_output
# +         (square,) = ctx.saved_tensors
# +         return grad_output * 2 * square.sqrt()

# %% wrong InplaceSquare: write to the argument
# -         ctx.mark_dirty(x)
# -         return x.mul_(x)
# +         return x * x

# %% wrong InplaceSquare: 2 times as large
# -         ctx.save_for_backward(x)
# +         ctx.save_for_backward(x.clone())
# -         (x,) = ctx.saved_tensors
# -         return grad_output * 2 * x
# +         (old,) = ctx.saved_tensors
# +         return grad_output * old
