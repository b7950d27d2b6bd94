# %% right difference_at_corner
difference_at_corner = 3 / 4

# %% right difference_at_corner
difference_at_corner = central(torch.relu, torch.tensor(0.5e-6, dtype=torch.float64), 1e-6)

# %% right difference_at_corner
difference_at_corner = np.float32(0.75)

# %% wrong difference_at_corner: derivative
difference_at_corner = 1

# %% wrong difference_at_corner: x = 0
difference_at_corner = 0.5

# %% wrong difference_at_corner: apart
difference_at_corner = 1.5

# %% right checked_by
checked_by = ("gradgradcheck", "gradcheck", "neither")

# %% right checked_by
checked_by = ["Gradgradcheck", "Gradcheck", " neither "]


# %% right checked_by
class First(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(2 * x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[0]


class Second(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.cos()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[0].sin()


class Third(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x * x


checked_by = []
at = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64, requires_grad=True)
for one in (First, Second, Third):
    finds = [check.__name__ for check in (gradcheck, gradgradcheck) if not check(one.apply, at, raise_exception=False)]
    checked_by += finds or ["neither"]

# %% wrong checked_by: first Function: 2 * x is the right slope
checked_by = ["gradcheck", "gradcheck", "neither"]

# %% wrong checked_by: second Function: the derivative of x.sin()
checked_by = ["gradgradcheck", "gradgradcheck", "neither"]

# %% wrong checked_by: third Function: 3 * x * x
checked_by = ["gradgradcheck", "gradcheck", "gradcheck"]

# %% wrong checked_by: the words are
checked_by = ["gradgradcheck", "gradcheck", "none"]

# %% wrong checked_by: three words in a list
checked_by = "gradgradcheck"


# %% right CheckedHypot
class CheckedHypot(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return torch.sqrt(a**2 + b**2)

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        share = grad_output / torch.sqrt(a**2 + b**2)
        return share * a, share * b


# %% right CheckedHypot
class CheckedHypot(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(a, b):
        return (a * a + b * b).sqrt()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output)

    @staticmethod
    def backward(ctx, g):
        a, b, length = ctx.saved_tensors
        return g * (a / length), g * (b / length)


# %% right CheckedHypot
# -     def backward(ctx, grad_output):
# +     def vjp(ctx, grad_output):
# -         return grad_output * a / length, grad_output * b / length
# +         by_a = by_b = None
# +         if ctx.needs_input_grad[0]:
# +             by_a = grad_output * a / length
# +         if ctx.needs_input_grad[1]:
# +             by_b = grad_output * b / length
# +         return by_a, by_b

# %% wrong CheckedHypot: derivative of output 0
# -         return grad_output * a / length, grad_output * b / length
# +         return grad_output * b / length, grad_output * a / length

# %% wrong CheckedHypot: minigrad check finds
# -         return grad_output * a / length, grad_output * b / length
# +         return grad_output * a / length, b / length

# %% wrong CheckedHypot: second derivatives
# -         ctx.save_for_backward(a, b, length)
# +         ctx.save_for_backward(a / length, b / length)
# -         a, b, length = ctx.saved_tensors
# -         return grad_output * a / length, grad_output * b / length
# +         by_a, by_b = ctx.saved_tensors
# +         return grad_output * by_a, grad_output * by_b


# %% wrong CheckedHypot: the result
class CheckedHypot(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * a + b * b

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        return grad_output * 2 * a, grad_output * 2 * b
