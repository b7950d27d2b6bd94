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
    def forward(x, k):
        x *= k
        return x

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.k = inputs
        ctx.mark_dirty(x)

    @staticmethod
    def vjp(ctx, g):
        return g.mul(ctx.k), None


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
# -         ctx.k = k
# -         ctx.mark_dirty(x)
# +         ctx.k = k

# %% wrong InplaceScale: not returned
# -         return x
# +         return x * 1

# %% wrong InplaceScale: write to the argument
# -     def forward(ctx, x, k):
# -         x.mul_(k)
# +     def forward(ctx, x, k):
# -         ctx.mark_dirty(x)
# -         return x
# +         return x * k

# %% wrong InplaceScale: expected 2, got 1
# -     def forward(ctx, x, k):
# -         x.mul_(k)
# +     def forward(ctx, x, k):
# -         return x
# +         return x.mul_(k)
# -         return grad_output * ctx.k, None
# +         return grad_output * ctx.k


# %% wrong InplaceScale: the gradient
class InplaceScale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.mark_dirty(x)
        return x.mul_(k)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None


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


# %% right InplaceRelu
class InplaceRelu(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x.mul_(x > 0)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(*inputs)
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return (grad_output * result.sign(),)


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
# -         x.clamp_(min=0)
# -         ctx.mark_dirty(x)
# +         x.clamp_(min=0)

# %% wrong InplaceRelu: the gradient
# -         return grad_output * (result > 0)
# +         return grad_output * result

# %% wrong InplaceRelu: the gradient
# -         return grad_output * (result > 0)
# +         return grad_output * (result >= 0)


# %% wrong InplaceRelu: save_for_backward saves no tensor
class InplaceRelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.positive = x > 0
        ctx.mark_dirty(x)
        return x.relu_()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.positive


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


# %% right InplaceSquare
class InplaceSquare(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        sign = x.sign()
        x *= x
        ctx.mark_dirty(x)
        ctx.save_for_backward(x, sign)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        square, sign = ctx.saved_tensors
        return grad_output * 2 * sign * square.sqrt()


# %% wrong InplaceSquare: after the write
class InplaceSquare(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.mark_dirty(x)
        return x.mul_(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 2 * x


# %% wrong InplaceSquare: the gradient for [-2.0
class InplaceSquare(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.mul_(x)
        ctx.save_for_backward(x)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        (square,) = ctx.saved_tensors
        return grad_output * 2 * square.sqrt()


# %% wrong InplaceSquare: write to the argument
class InplaceSquare(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 2 * x


# %% wrong InplaceSquare: the gradient for [3
# -         old = x.clone()
# -         ctx.save_for_backward(old)
# +         ctx.save_for_backward(x.clone())
# -         return x.mul_(old)
# +         return x.mul_(x)
# -         return grad_output * 2 * old
# +         return grad_output * old
