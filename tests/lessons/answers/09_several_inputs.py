# %% values several_dragged
70.0  # right
[70]  # right
60.0  # not right
50.0  # that gradient of x stays as it is
7.0  # the scale is missing
10.0  # that was the gradient before
350.0  # that is the value of the product

# %% values several_nones
("bias", "mode", "n")  # right
{"n", "mode", "bias"}  # right
["n", "y", "mode", "bias"]  # is dropped
["n", "mode"]  # 1 more is missing
"n"  # in a list


# %% right SeveralMix
class SeveralMix(SeveralMix):
    @staticmethod
    def backward(ctx, grad_output):
        x = (1 - ctx.t) * grad_output if ctx.needs_input_grad[0] else None
        y = ctx.t * grad_output if ctx.needs_input_grad[1] else None
        return x, y, None


# %% wrong SeveralMix: the gradients of x and y are swapped
# -         x = (1 - ctx.t) * grad_output if ctx.needs_input_grad[0] else None
# -         y = ctx.t * grad_output if ctx.needs_input_grad[1] else None
# -         return x, y, None
# +         return ctx.t * grad_output, (1 - ctx.t) * grad_output, None

# %% values SeveralMix
lambda x, y, t: (1 - t) * x + t * y  # expected a subclass

# %% changes SeveralMix
# return (1 - ctx.t) * grad_output, ctx.t * grad_output, None
#   -> by_y = grad_output * ctx.t; return grad_output - by_y, by_y, None  # right
# return ctx.t * grad_output, (1 - ctx.t) * grad_output, None
#   -> return (1 - ctx.t) * grad_output, ctx.t * grad_output  # 2 gradients for the 3 arguments


# %% right SeveralLean
class SeveralLean(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return x * y

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, y = inputs
        ctx.save_for_backward(*[t if wanted else None for t, wanted in zip((y, x), ctx.needs_input_grad)])

    @staticmethod
    def backward(ctx, grad_output):
        y, x = ctx.saved_tensors
        return y * grad_output if y is not None else None, x * grad_output if x is not None else None


# %% wrong SeveralLean: save_for_backward
# -         wanted = ctx.needs_input_grad
# -         ctx.save_for_backward(x if wanted[1] else None, y if wanted[0] else None)
# +         ctx.x, ctx.y = x, y
# -         x, y = ctx.saved_tensors
# -         return None if y is None else grad_output * y, None if x is None else grad_output * x
# +         wanted = ctx.needs_input_grad
# +         return grad_output * ctx.y if wanted[0] else None, grad_output * ctx.x if wanted[1] else None

# %% changes SeveralLean
# drop wanted = ctx.needs_input_grad
#   ctx.save_for_backward(x if wanted[1] else None, y if wanted[0] else None) -> ctx.save_for_backward(x, y)
#   return None if y is None else grad_output * y, None if x is None else grad_output * x
#   -> return grad_output * y, grad_output * x  # is enough
# None if y is None else grad_output * y, None if x is None else grad_output -> grad_output * y, grad_output  # NoneType


# %% right SeveralSinCos
class SeveralSinCos(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        both = x.sin(), x.cos()
        ctx.save_for_backward(*both)
        return both

    @staticmethod
    def vjp(ctx, *grads):
        return (grads[0] * ctx.saved_tensors[1] - grads[1] * ctx.saved_tensors[0],)


# %% wrong SeveralSinCos: the two results are enough
class SeveralSinCos(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin(), x.cos()

    @staticmethod
    def backward(ctx, grad_sin, grad_cos):
        (x,) = ctx.saved_tensors
        return grad_sin * x.cos() - grad_cos * x.sin()


# %% wrong SeveralSinCos: the gradient
class SeveralSinCos(SeveralSinCos):
    @staticmethod
    def backward(ctx, grad_sin, grad_cos):
        s, c = ctx.saved_tensors
        return grad_sin * c + grad_cos * s


# %% wrong SeveralSinCos: expected 2 results
class SeveralSinCos(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        s, c = x.sin(), x.cos()
        ctx.save_for_backward(s, c)
        return torch.stack([s, c])

    @staticmethod
    def backward(ctx, grads):
        s, c = ctx.saved_tensors
        return grads[0] * c - grads[1] * s


# %% changes SeveralSinCos
# return grad_sin * c + grad_cos * s -> return grad_sin * c, -grad_cos * s  # 2 gradients
