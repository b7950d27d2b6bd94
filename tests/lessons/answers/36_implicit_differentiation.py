# %% values implicit_slope
0.25  # right
np.float32(1 / 4)  # right
4  # reciprocal
1 / 3  # the term y
1 / (3 * 2**2 + 1)  # not a = 2


# %% right ImplicitQuintic
class ImplicitQuintic(ImplicitQuintic):
    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        y = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            (slope,) = torch.autograd.grad((y**5 + y).sum(), y)
        return grad_output / slope


# %% wrong ImplicitQuintic: gradient
# - class ImplicitQuintic(Function):
# -     @staticmethod
# -     def forward(ctx, a):
# -         y = torch.zeros_like(a)
# -         for _ in range(60):
# -             y = y - (y**5 + y - a) / (5 * y**4 + 1)
# -         ctx.save_for_backward(y)
# -         return y
# -
# + class ImplicitQuintic(ImplicitQuintic):
# -         return grad_output / (5 * y**4 + 1)
# +         return 1 / (5 * y**4 + 1)

# %% wrong ImplicitQuintic: a loop, where one division is enough
# -         return 1 / (5 * y**4 + 1)
# +         slope, found = 5 * y**4 + 1, torch.zeros_like(y)
# +         for _ in range(40):
# +             found = found + (grad_output - slope * found) / (2 * slope)
# +         return found

# %% changes ImplicitQuintic
# return 1 / (5 * y**4 + 1) -> return grad_output * (5 * y**4 + 1)  # gradient


# %% right ImplicitSolve
class ImplicitSolve(Function):
    @staticmethod
    def forward(A, b):
        return torch.linalg.solve(A, b)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        A, b = ctx.saved_tensors
        u = torch.linalg.solve(A.T, g)
        return -torch.outer(u, torch.linalg.solve(A, b)), u


# %% changes ImplicitSolve
# def backward(ctx, grad_output): -> def backward(ctx, g):
#   u = torch.linalg.solve(A.mT, grad_output) -> u = torch.linalg.solve(A.T, g)
#   return -torch.outer(u, x), u -> return -u[:, None] * x[None, :], u  # right
# u = torch.linalg.solve(A.mT, grad_output) -> u = torch.linalg.solve(A, grad_output)  # gradient of A
# return -torch.outer(u, x), u -> return torch.outer(u, x), u  # gradient of A


# %% right implicit_gradient
def implicit_gradient(f, x, a, g):
    slopes = torch.func.jacrev(f)(x, a).reshape(x.numel(), x.numel())
    u = torch.linalg.solve((torch.eye(x.numel(), dtype=x.dtype) - slopes).T, g.reshape(-1)).reshape(x.shape)
    return torch.func.vjp(lambda a: f(x, a), a)[1](u)[0]


# %% wrong implicit_gradient: the gradient of a
def implicit_gradient(f, x, a, g):
    return torch.func.vjp(lambda a: f(x, a), a)[1](g)[0]


# %% changes implicit_gradient
# return torch.func.vjp(lambda a: f(x, a), a)[1](g)[0]
#   -> _, pull = torch.func.vjp(f, x, a); return pull(g + pull(g)[0])[1]  # the gradient of a
