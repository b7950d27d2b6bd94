# %% right implicit_slope
implicit_slope = 0.25

# %% right implicit_slope
a = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
y = torch.ones_like(a)
for _ in range(50):
    y = y - (y**3 + y - a) / (3 * y**2 + 1)
implicit_slope = torch.autograd.grad(y, a)[0]

# %% right implicit_slope
implicit_slope = np.float32(1 / 4)

# %% wrong implicit_slope: reciprocal
implicit_slope = 4

# %% wrong implicit_slope: the term y
implicit_slope = 1 / 3

# %% wrong implicit_slope: not a = 2
implicit_slope = 1 / (3 * 2**2 + 1)


# %% right ImplicitQuintic
class ImplicitQuintic(ImplicitQuintic):
    @staticmethod
    def backward(ctx, g):
        y = ctx.saved_tensors[0]
        return (1 + 5 * y.pow(4)).reciprocal() * g


# %% right ImplicitQuintic
class ImplicitQuintic(ImplicitQuintic):
    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        y = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            (slope,) = torch.autograd.grad((y**5 + y).sum(), y)
        return grad_output / slope


# %% right ImplicitQuintic
class ImplicitQuintic(torch.autograd.Function):
    @staticmethod
    def forward(a):
        y = a.sign() * a.abs() ** 0.2
        for _ in range(60):
            y = y - (y**5 + y - a) / (5 * y**4 + 1)
        return y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output / (5 * y**4 + 1)


# %% wrong ImplicitQuintic: gradient
class ImplicitQuintic(ImplicitQuintic):
    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * (5 * y**4 + 1)


# %% wrong ImplicitQuintic: gradient
class ImplicitQuintic(ImplicitQuintic):
    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return 1 / (5 * y**4 + 1)


# %% wrong ImplicitQuintic: gradient
class ImplicitQuintic(ImplicitQuintic):
    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output / (5 * y**4)


# %% right ImplicitSolve
# -     def backward(ctx, grad_output):
# +     def backward(ctx, g):
# -         u = torch.linalg.solve(A.mT, grad_output)
# -         return -torch.outer(u, x), u
# +         u = torch.linalg.solve(A.T, g)
# +         return -u[:, None] * x[None, :], u


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


# %% right ImplicitSolve
class ImplicitSolve(Function):
    @staticmethod
    def forward(ctx, A, b):
        inverse = torch.linalg.inv(A)
        x = inverse @ b
        ctx.save_for_backward(inverse, x)
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        inverse, x = ctx.saved_tensors
        u = g @ inverse
        return torch.outer(u, -x), u


# %% wrong ImplicitSolve: gradient of argument 0
# -         u = torch.linalg.solve(A.mT, grad_output)
# +         u = torch.linalg.solve(A, grad_output)

# %% wrong ImplicitSolve: gradient of argument 0
# -         return -torch.outer(u, x), u
# +         return torch.outer(u, x), u

# %% wrong ImplicitSolve: gradient of argument 0
# -         return -torch.outer(u, x), u
# +         return -torch.outer(x, u), u


# %% right implicit_gradient
def implicit_gradient(f, x, a, g):
    _, pull = torch.func.vjp(f, x, a)
    u = g
    for _ in range(200):
        u = g + pull(u)[0]
    return pull(u)[1]


# %% right implicit_gradient
def implicit_gradient(f, x, a, g):
    slopes = torch.func.jacrev(f)(x, a).reshape(x.numel(), x.numel())
    u = torch.linalg.solve((torch.eye(x.numel(), dtype=x.dtype) - slopes).T, g.reshape(-1)).reshape(x.shape)
    return torch.func.vjp(lambda a: f(x, a), a)[1](u)[0]


# %% right implicit_gradient
def implicit_gradient(f, x, a, g):
    x, a = x.clone().requires_grad_(), a.clone().requires_grad_()
    total, term = torch.zeros_like(g), g
    while term.abs().max() > 1e-14:
        total = total + term
        (term,) = torch.autograd.grad(f(x, a), x, term)
    return torch.autograd.grad(f(x, a), a, total)[0]


# %% wrong implicit_gradient: the gradient of a
def implicit_gradient(f, x, a, g):
    return torch.func.vjp(lambda a: f(x, a), a)[1](g)[0]


# %% wrong implicit_gradient: the gradient of a
def implicit_gradient(f, x, a, g):
    _, pull = torch.func.vjp(f, x, a)
    u = g
    for _ in range(200):
        u = pull(u)[0]
    return pull(u)[1]


# %% wrong implicit_gradient: the gradient of a
def implicit_gradient(f, x, a, g):
    _, pull = torch.func.vjp(f, x, a)
    return pull(g + pull(g)[0])[1]


# %% wrong implicit_gradient: the gradient of a
def implicit_gradient(f, x, a, g):
    u = g
    for _ in range(200):
        u = g + torch.func.jvp(lambda x: f(x, a), (x,), (u,))[1]
    return torch.func.vjp(lambda a: f(x, a), a)[1](u)[0]
