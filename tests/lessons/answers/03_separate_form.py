# %% right separate_inputs
separate_inputs = 4.0

# %% right separate_inputs
separate_inputs = len(("x", "y", "factor", "shift"))


# %% right separate_inputs
class F(torch.autograd.Function):
    @staticmethod
    def forward(x, y, factor=2.0, shift=0.0):
        return x * y * factor + shift

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.count = len(inputs)

    @staticmethod
    def backward(ctx, grad_output):
        return None, None, None, None


x, y = torch.tensor(1.0, requires_grad=True), torch.tensor(2.0)
separate_inputs = F.apply(x, y, 3.0).grad_fn.count

# %% wrong separate_inputs: defaults
separate_inputs = 3

# %% wrong separate_inputs: ctx
separate_inputs = 5

# %% wrong separate_inputs: tensors
separate_inputs = 2

# %% right SeparateTanh
# - class SeparateTanh(torch.autograd.Function):
# + class SeparateTanh(torch.autograd.Function):
# +     generate_vmap_rule = True
# +
# -     def backward(ctx, grad_output):
# -         (result,) = ctx.saved_tensors
# -         return grad_output * (1 - result * result)
# +     def backward(ctx, g):
# +         t = ctx.saved_tensors[0]
# +         return (g - g * t.square(),)


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


# %% right SeparateTanh
# -         ctx.save_for_backward(output)
# +         ctx.save_for_backward(output)
# +         ctx.save_for_forward(output)
# -     def backward(ctx, grad_output):
# +     def vjp(ctx, grad_output):
# -         return grad_output * (1 - result * result)
# +         return torch.mul(grad_output, 1 - result**2)
# +
# +     @staticmethod
# +     def jvp(ctx, x_t):
# +         (result,) = ctx.saved_tensors
# +         return x_t * (1 - result**2)


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


# %% wrong SeparateTanh: the gradient
# -         ctx.save_for_backward(output)
# +         ctx.save_for_backward(*inputs)
# -         return grad_output * (1 - result * result)
# +         return grad_output * (1 - result**2)

# %% wrong SeparateTanh: only takes tensors
# -         ctx.save_for_backward(output)
# +         ctx.save_for_backward(inputs)
# -         (result,) = ctx.saved_tensors
# -         return grad_output * (1 - result * result)
# +         (x,) = ctx.saved_tensors
# +         return grad_output * (1 - x.tanh() ** 2)

# %% wrong SeparateTanh: 8 are enough
# -         ctx.save_for_backward(output)
# +         ctx.save_for_backward(*inputs, output)
# -         (result,) = ctx.saved_tensors
# -         return grad_output * (1 - result * result)
# +         _, result = ctx.saved_tensors
# +         return grad_output * (1 - result**2)

# %% wrong SeparateTanh: counts as a constant
# -     def forward(x):
# +     def forward(x):
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


# %% right SeparateSilu
class SeparateSilu(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x / (1 + (-x).exp())

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.save_for_backward(x, output)

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        s = x.sigmoid()
        return grad_output * (s + y * (1 - s))


# %% right SeparateSilu
class SeparateSilu(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return torch.nn.functional.silu(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, g):
        [x] = ctx.saved_tensors
        e = torch.exp(-x)
        return g * (1 + e + x * e) / (1 + e) ** 2


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


# %% wrong SeparateSilu: counts as a constant
# -         return x * torch.sigmoid(x)
# +         global s
# +         s = torch.sigmoid(x)
# +         return x * s
# -         ctx.save_for_backward(*inputs)
# +         ctx.save_for_backward(*inputs, s)
# -         (x,) = ctx.saved_tensors
# -         s = torch.sigmoid(x)
# +         x, s = ctx.saved_tensors

# %% wrong SeparateSilu: counts as a constant
# -         ctx.save_for_backward(*inputs)
# +         (x,) = inputs
# +         ctx.save_for_backward(x, torch.sigmoid(x))
# -         (x,) = ctx.saved_tensors
# -         s = torch.sigmoid(x)
# +         x, s = ctx.saved_tensors


# %% wrong SeparateSilu: second derivative
class SeparateSilu(torch.autograd.Function):
    @staticmethod
    def forward(x):
        s = torch.sigmoid(x)
        return x * s, s

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output[1])

    @staticmethod
    def backward(ctx, grad_output, grad_s):
        x, s = ctx.saved_tensors
        return grad_output * (s + x * s * (1 - s))


# %% wrong SeparateSilu: ctx
# -         return x * torch.sigmoid(x)
# +         s = torch.sigmoid(x)
# +         ctx.save_for_backward(x, s)
# +         return x * s
# -         ctx.save_for_backward(*inputs)
# +         ctx.ready = True
# -         (x,) = ctx.saved_tensors
# -         s = torch.sigmoid(x)
# +         x, s = ctx.saved_tensors


# %% wrong SeparateSilu: the gradient of a second output
class SeparateSilu(torch.autograd.Function):
    @staticmethod
    def forward(x):
        s = torch.sigmoid(x)
        return x * s, s

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output[1])

    @staticmethod
    def backward(ctx, grad_output, grad_s):
        x, s = ctx.saved_tensors
        return grad_output * (s + x * s * (1 - s))


# %% right SeparatePower
class SeparatePower(torch.autograd.Function):
    @staticmethod
    def forward(x, n=2):
        return torch.pow(x, n)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.n = inputs[1]

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * ctx.n * torch.pow(x, ctx.n - 1), None


# %% right SeparatePower
# -         x, ctx.n = inputs
# +         x, n = inputs
# -         ctx.save_for_backward(x)
# +         ctx.save_for_backward(x)
# +         ctx.n = n
# -     def backward(ctx, grad_output):
# +     def backward(ctx, g):
# -         return grad_output * ctx.n * x ** (ctx.n - 1), None
# +         lower = SeparatePower.apply(x, ctx.n - 1) if ctx.n > 1 else torch.ones_like(x)
# +         return ctx.n * lower * g, None


# %% right SeparatePower
class SeparatePower(torch.autograd.Function):
    generate_vmap_rule = True

    def forward(x, n=2):
        result = torch.ones_like(x)
        for _ in range(n):
            result = result * x
        return result

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:1])
        ctx.n = inputs[-1]

    def vjp(ctx, g):
        x = ctx.saved_tensors[0]
        return [g * x ** (ctx.n - 1) * ctx.n, None]


# %% wrong SeparatePower: expected 2, got 1
# -         return grad_output * ctx.n * x ** (ctx.n - 1), None
# +         return grad_output * ctx.n * x ** (ctx.n - 1)

# %% wrong SeparatePower: missing a required argument
# -     def forward(x, n=2):
# +     def forward(x, n):

# %% wrong SeparatePower: only takes tensors
# -         x, ctx.n = inputs
# -         ctx.save_for_backward(x)
# +         ctx.save_for_backward(*inputs)
# -         (x,) = ctx.saved_tensors
# -         return grad_output * ctx.n * x ** (ctx.n - 1), None
# +         x, n = ctx.saved_tensors
# +         return grad_output * n * x ** (n - 1), None

# %% wrong SeparatePower: gradient
# -         return grad_output * ctx.n * x ** (ctx.n - 1), None
# +         return grad_output * ctx.n * x**ctx.n, None
