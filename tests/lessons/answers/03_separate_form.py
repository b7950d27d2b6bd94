# %% values separate_gradient
2.0  # right
torch.tensor([2.0])  # right
4.0  # not right
1.0  # that is the contribution of one of the two forms
0.0  # that is the value of x
5.437  # that is the gradient at 1

# %% values separate_inputs
4.0  # right
len(("x", "y", "factor", "shift"))  # right
3  # defaults
5  # ctx
2  # tensors


# %% right SeparateTanh
class SeparateTanh(torch.autograd.Function):
    generate_vmap_rule = True

    def forward(x):
        return (x.exp() - (-x).exp()) / (x.exp() + (-x).exp())

    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.save_for_backward(output)
        ctx.shape = x.shape

    def backward(ctx, g):
        (t,) = ctx.saved_tensors
        return (g - g * t.square(),)


# %% wrong SeparateTanh: setup_context
class SeparateTanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        result = x.tanh()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return grad_output * (1 - result**2)


# %% wrong SeparateTanh: counts as a constant
#       def forward(x):
# +         global slope
# +         slope = 1 - x.tanh() ** 2
# -         ctx.save_for_backward(output)
# +         ctx.save_for_backward(slope)
# -         (result,) = ctx.saved_tensors
# -         return grad_output * (1 - result * result)
# +         return grad_output * ctx.saved_tensors[0]

# %% wrong SeparateTanh: the result is enough
# -         ctx.save_for_backward(output)
# +         ctx.save_for_backward(*inputs)
# -         (result,) = ctx.saved_tensors
# -         return grad_output * (1 - result * result)
# +         (x,) = ctx.saved_tensors
# +         return grad_output * (1 - x.tanh() ** 2)

# %% changes SeparateTanh
# ctx.save_for_backward(output) -> ctx.save_for_backward(*inputs)
#   return grad_output * (1 - result * result) -> return grad_output * (1 - result**2)  # the gradient
# ctx.save_for_backward(*inputs) -> ctx.save_for_backward(inputs)  # only takes tensors
# ctx.save_for_backward(output) -> ctx.save_for_backward(*inputs, output)
#   (result,) = ctx.saved_tensors -> _, result = ctx.saved_tensors
#   return grad_output * (1 - result * result) -> return grad_output * (1 - result**2)  # 8 are enough


# %% right SeparateSilu
class SeparateSilu(torch.autograd.Function):
    @staticmethod
    def forward(x):
        s = torch.sigmoid(x)
        return x * s, s

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output[1])

    @staticmethod
    def backward(ctx, grad_output, grad_s):
        x, s = ctx.saved_tensors
        return grad_output * (s + x * s * (1 - s)) + grad_s * s * (1 - s)


# %% wrong SeparateSilu: setup_context
class SeparateSilu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        s = torch.sigmoid(x)
        ctx.save_for_backward(x, s)
        return x * s

    @staticmethod
    def backward(ctx, grad_output):
        x, s = ctx.saved_tensors
        return grad_output * (s + x * s * (1 - s))


# %% wrong SeparateSilu: ctx
# -     def forward(ctx, x):
# +     def forward(x):
#           return x * s
# +
# +     @staticmethod
# +     def setup_context(ctx, inputs, output):
# +         ctx.ready = True

# %% changes SeparateSilu
# ctx.save_for_backward(*inputs) -> (x,) = inputs; ctx.save_for_backward(x, torch.sigmoid(x))
#   drop (x,) = ctx.saved_tensors
#   s = torch.sigmoid(x) -> x, s = ctx.saved_tensors  # counts as a constant
# ctx.save_for_backward(inputs[0], output[1]) -> ctx.save_for_backward(*inputs, output[1])
#   (s + x * s * (1 - s)) + grad_s * s * (1 - s) -> (s + x * s * (1 - s))  # second derivative
# ctx.save_for_backward(inputs[0], output[1]) -> ctx.save_for_backward(*inputs, output[1])
#   (s + x * s * (1 - s)) + grad_s * s * (1 - s) -> (s + x * s * (1 - s))  # the gradient of a second output

# %% right SeparatePower
# -         x, ctx.n = inputs
# +         x, n = inputs
#           ctx.save_for_backward(x)
# +         ctx.n = n
# -     def backward(ctx, grad_output):
# +     def backward(ctx, g):
# -         return grad_output * ctx.n * x ** (ctx.n - 1), None
# +         lower = SeparatePower.apply(x, ctx.n - 1) if ctx.n > 1 else torch.ones_like(x)
# +         return ctx.n * lower * g, None

# %% wrong SeparatePower: only takes tensors
# -         x, ctx.n = inputs
# -         ctx.save_for_backward(x)
# +         ctx.save_for_backward(*inputs)
# -         (x,) = ctx.saved_tensors
# -         return grad_output * ctx.n * x ** (ctx.n - 1), None
# +         x, n = ctx.saved_tensors
# +         return grad_output * n * x ** (n - 1), None

# %% changes SeparatePower
# (ctx.n - 1), None -> (ctx.n - 1)  # expected 2, got 1
# def forward(x, n=2): -> def forward(x, n):  # missing a required argument
# return grad_output * ctx.n * x ** (ctx.n - 1), None -> return grad_output * ctx.n * x**ctx.n, None  # gradient
