# %% right languages_gradients
languages_gradients = 3.0

# %% right languages_gradients
languages_gradients = len("a s b".split())

# %% right languages_gradients
languages_gradients = torch.tensor(3)

# %% wrong languages_gradients: Variable()
languages_gradients = 2

# %% wrong languages_gradients: ctx
languages_gradients = 4

# %% wrong languages_gradients: incoming gradients
languages_gradients = 1


# %% right LanguagesClip
class LanguagesClip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bound):
        ctx.save_for_backward(x)
        ctx.saved_data["bound"] = bound
        return x.clamp(-bound, bound)

    @staticmethod
    def backward(ctx, *grad_output):
        saved = ctx.saved_tensors
        bound = ctx.saved_data["bound"]
        return [grad_output[0] * (saved[0].abs() <= bound), None]


# %% right LanguagesClip
class LanguagesClip(torch.autograd.Function):
    @staticmethod
    def forward(x, bound):
        return torch.clamp(x, -bound, bound)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, bound = inputs
        ctx.save_for_backward(x.abs() <= bound)

    @staticmethod
    def backward(ctx, g):
        (inside,) = ctx.saved_tensors
        return torch.where(inside, g, torch.zeros_like(g)), None


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


# %% wrong LanguagesClip: expected 2, got 1
# -         inside = x.abs() <= ctx.bound
# -         return grad_output * inside, None
# +         return grad_output * (x.abs() <= ctx.bound)


# %% wrong LanguagesClip: the gradient
class LanguagesClip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bound):
        ctx.bound = bound
        return x.clamp(-bound, bound)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(-ctx.bound, ctx.bound), None


# %% wrong LanguagesClip: only takes tensors
class LanguagesClip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bound):
        ctx.save_for_backward(x, bound)
        return x.clamp(-bound, bound)

    @staticmethod
    def backward(ctx, grad_output):
        x, bound = ctx.saved_tensors
        return grad_output * (x.abs() <= bound), None


# %% wrong LanguagesClip: omit the braces
# -         ctx.save_for_backward(x)
# +         ctx.save_for_backward({x})
# -         inside = x.abs() <= ctx.bound
# -         return grad_output * inside, None
# +         return grad_output * (x.abs() <= ctx.bound), None

# %% wrong LanguagesClip: the gradient
# -         ctx.save_for_backward(x)
# -         ctx.bound = bound
# +         ctx.save_for_backward(x.abs() < bound)
# -         (x,) = ctx.saved_tensors
# -         inside = x.abs() <= ctx.bound
# +         (inside,) = ctx.saved_tensors

# %% right LanguagesHypot
# -         return (x * x + y * y).sqrt()
# +         return x.mul(x).add(y.mul(y)).sqrt()
# -         x, y = inputs
# +         [x, y] = inputs
# -         x, y, r = ctx.saved_tensors
# -         return grad_output * x / r, grad_output * y / r
# +         [x, y, r] = ctx.saved_tensors
# +         return [grad_output.mul(x).div(r), grad_output.mul(y).div(r)]


# %% right LanguagesHypot
class LanguagesHypot(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, y):
        return torch.hypot(x, y)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        scaled = g / LanguagesHypot.apply(x, y)
        return x * scaled, y * scaled


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


# %% wrong LanguagesHypot: expected 2, got 1
# -         x, y = inputs
# -         ctx.save_for_backward(x, y, output)
# +         ctx.save_for_backward(*inputs, output)
# -         return grad_output * x / r, grad_output * y / r
# +         return grad_output * (x + y) / r

# %% wrong LanguagesHypot: argument 0
# -         x, y = inputs
# -         ctx.save_for_backward(x, y, output)
# +         ctx.save_for_backward(*inputs, output)
# -         return grad_output * x / r, grad_output * y / r
# +         return grad_output * y / r, grad_output * x / r

# %% wrong LanguagesHypot: the result
# -         return (x * x + y * y).sqrt()
# +         return x.mul(x).add(y).mul(y).sqrt()
# -         x, y = inputs
# -         ctx.save_for_backward(x, y, output)
# +         ctx.save_for_backward(*inputs, output)


# %% right LanguagesTimes
class LanguagesTimes(torch.autograd.Function):
    @staticmethod
    def forward(ctx, n, var):
        ctx.n = n
        var = var.clone()
        var.mul_(n)
        return var

    @staticmethod
    def backward(ctx, *grad_output):
        return [None, grad_output[0] * ctx.n]


# %% right LanguagesTimes
class LanguagesTimes(torch.autograd.Function):
    @staticmethod
    def forward(n, var):
        return torch.mul(var, n)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.n, _ = inputs

    @staticmethod
    def backward(ctx, grad_output):
        return None, ctx.n * grad_output


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


# %% wrong LanguagesTimes: leaf
# -         return n * var
# +         var.mul_(n)
# +         ctx.mark_dirty(var)
# +         return var

# %% wrong LanguagesTimes: returns a list
# -         return n * var
# +         return [var * n]

# %% wrong LanguagesTimes: the result
# -         return n * var
# +         return var * 2
# -         return None, grad_output * ctx.n
# +         return None, grad_output * 2

# %% wrong LanguagesTimes: expected 2, got 1
# -         return n * var
# +         return var * n
# -         return None, grad_output * ctx.n
# +         return [grad_output * ctx.n]

# %% wrong LanguagesTimes: gradient
# -         return n * var
# +         return var * n
# -         return None, grad_output * ctx.n
# +         return grad_output * ctx.n, None

# %% wrong LanguagesTimes: make a new tensor
# -         return n * var
# +         var.mul_(n)
# +         ctx.mark_dirty(var)
# +         return var
