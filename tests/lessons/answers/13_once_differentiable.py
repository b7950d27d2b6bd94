# %% values second_missed
72  # right
torch.tensor([72.0])  # right
108  # counts as a constant
36.0  # missing term
0  # 2 * y


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
class SecondRoot(Function):
    @staticmethod
    def forward(ctx, x):
        root = x.sqrt()
        ctx.save_for_backward(root)
        return root

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        (root,) = ctx.saved_tensors
        return grad_output * 0.5 / root


# %% wrong SecondRoot: gradient
# -         return grad_output * 0.5 / root
# +         return grad_output * root

# %% wrong SecondRoot: history
# -         return grad_output * 0.5 / root
# +         return grad_output * (0.5 / root).detach()


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
# -     @once_differentiable

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
# -     return (slope * slope).sum()
# +     return slope.sum()


# %% wrong second_penalty: pass x itself
def second_penalty(f, x):
    x = x.detach().requires_grad_()
    (slope,) = torch.autograd.grad(f(x), x, create_graph=True)
    return (slope**2).sum()


# %% wrong second_penalty: return
# -     return (slope * slope).sum()
# +     (slope**2).sum()


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
