# %% implicit_slope
implicit_slope = 1 / (3 * 1**2 + 1)


# %% ImplicitQuintic
class ImplicitQuintic(Function):
    @staticmethod
    def forward(ctx, a):
        y = torch.zeros_like(a)
        for _ in range(60):
            y = y - (y**5 + y - a) / (5 * y**4 + 1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output / (5 * y**4 + 1)


# %% ImplicitSolve
class ImplicitSolve(Function):
    @staticmethod
    def forward(ctx, A, b):
        x = torch.linalg.solve(A, b)
        ctx.save_for_backward(A, x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        A, x = ctx.saved_tensors
        u = torch.linalg.solve(A.mT, grad_output)
        return -torch.outer(u, x), u


# %% implicit_gradient
def implicit_gradient(f, x, a, g):
    x, a = x.detach().requires_grad_(), a.detach().requires_grad_()
    y = f(x, a)
    u = g
    for _ in range(100):
        u = g + torch.autograd.grad(y, x, u, retain_graph=True)[0]
    return torch.autograd.grad(y, a, u)[0]
