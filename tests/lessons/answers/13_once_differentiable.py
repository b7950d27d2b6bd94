# %% right second_missed
second_missed = 72


# %% right second_missed
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(2 * x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (slope,) = ctx.saved_tensors
        return g * slope


_, second_missed = two_derivatives(lambda x: Square.apply(x) ** 2, 3.0)

# %% right second_missed
second_missed = torch.tensor([72.0])

# %% wrong second_missed: counts as a constant
second_missed = 108

# %% wrong second_missed: missing term
second_missed = 36.0

# %% wrong second_missed: 2 * y
second_missed = 0


# %% right SecondRoot
class SecondRoot(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sqrt()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output / (2 * x.sqrt())


# %% right SecondRoot
class SecondRoot(Function):
    @staticmethod
    def forward(x):
        return x**0.5

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def vjp(ctx, g):
        return g * (0.5 / ctx.saved_tensors[0])


# %% right SecondRoot
# -         ctx.save_for_backward(root)
# +         ctx.save_for_backward(x, root)
# -         (root,) = ctx.saved_tensors
# -         return grad_output * 0.5 / root
# +         x, root = ctx.saved_tensors
# +         return 0.5 * grad_output * root / x

# %% wrong SecondRoot: no history
# -         ctx.save_for_backward(root)
# +         ctx.save_for_backward(0.5 / root)
# -         (root,) = ctx.saved_tensors
# -         return grad_output * 0.5 / root
# +         (slope,) = ctx.saved_tensors
# +         return grad_output * slope

# %% wrong SecondRoot: raises an error
# -
# -     @staticmethod
# +
# +     @staticmethod
# +     @once_differentiable

# %% wrong SecondRoot: gradient
# -         return grad_output * 0.5 / root
# +         return grad_output * root

# %% wrong SecondRoot: history
# -         return grad_output * 0.5 / root
# +         return grad_output * (0.5 / root).detach()


# %% right OnceExp
class OnceExp(Function):
    @staticmethod
    def forward(x):
        return torch.from_numpy(np.exp(x.detach().numpy()))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        return torch.from_numpy(grad_output.numpy() * ctx.saved_tensors[0].numpy())


# %% right OnceExp
class OnceExp(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.result = np.exp(x.numpy())
        return torch.tensor(ctx.result)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        return grad_output * torch.tensor(ctx.result)


# %% right OnceExp
class OnceExp(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.tensor(np.exp(x.numpy()))

    @staticmethod
    @torch.autograd.function.once_differentiable
    def vjp(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.tensor(grad_output.detach().numpy() * np.exp(x.detach().numpy()))


# %% wrong OnceExp: decorator
# -     @staticmethod
# -     @once_differentiable
# +     @staticmethod

# %% wrong OnceExp: as a NumPy array
# -         return torch.tensor(grad_output.detach().numpy() * result.detach().numpy())
# +         return grad_output.detach().numpy() * result.detach().numpy()

# %% wrong OnceExp: gradient
# -         (result,) = ctx.saved_tensors
# -         return torch.tensor(grad_output.detach().numpy() * result.detach().numpy())
# +         return ctx.saved_tensors[0]


# %% right second_penalty
def second_penalty(f, x):
    return torch.autograd.grad(f(x), x, create_graph=True)[0].pow(2).sum()


# %% right second_penalty
def second_penalty(f, x):
    gradients = torch.autograd.grad([f(x)], [x], create_graph=True)
    return sum((g * g).sum() for g in gradients)


# %% right second_penalty
def second_penalty(f, x):
    return (torch.func.grad(f)(x) ** 2).sum()


# %% wrong second_penalty: has no history
def second_penalty(f, x):
    (slope,) = torch.autograd.grad(f(x), x)
    return (slope**2).sum()


# %% wrong second_penalty: .grad
def second_penalty(f, x):
    f(x).backward(create_graph=True)
    return (x.grad**2).sum()


# %% wrong second_penalty: the penalty is
def second_penalty(f, x):
    (slope,) = torch.autograd.grad(f(x), x, create_graph=True)
    return slope.sum()


# %% wrong second_penalty: pass x itself
def second_penalty(f, x):
    x = x.detach().requires_grad_()
    (slope,) = torch.autograd.grad(f(x), x, create_graph=True)
    return (slope**2).sum()


# %% wrong second_penalty: return
def second_penalty(f, x):
    (slope,) = torch.autograd.grad(f(x), x, create_graph=True)
    (slope**2).sum()


# %% right second_and_more
def second_and_more(f, at, n):
    def derivative(x, n):
        if n == 0:
            return f(x)
        return torch.autograd.grad(derivative(x, n - 1), x, create_graph=True)[0]

    return derivative(torch.tensor(float(at), requires_grad=True), n)


# %% right second_and_more
def second_and_more(f, at, n):
    for _ in range(n):
        f = torch.func.grad(f)
    return float(f(torch.tensor(at)))


# %% right second_and_more
def second_and_more(f, at, n):
    x = torch.tensor([at], requires_grad=True)
    y = f(x)
    while n:
        y = torch.autograd.grad(y.sum(), x, create_graph=True)[0]
        n -= 1
    return y


# %% wrong second_and_more: create_graph
# -         (y,) = torch.autograd.grad(y, x, create_graph=True)
# +         (y,) = torch.autograd.grad(y, x)

# %% wrong second_and_more: derivative 0
# -     for _ in range(n):
# +     for _ in range(n + 1):

# %% wrong second_and_more: derivative 2
# -         (y,) = torch.autograd.grad(y, x, create_graph=True)
# +         y.backward(create_graph=True)
# +         y = x.grad
