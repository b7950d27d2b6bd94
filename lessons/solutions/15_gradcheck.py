# %% difference_by_hand
def difference_by_hand(f, x, eps):
    return (f(x + eps) - f(x - eps)) / (2 * eps)


# %% checked_input
class Leaky(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x > -1, x, 0.1 * x - 0.9)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x > -1, grad_output, 0.01 * grad_output)


checked_input = torch.tensor([-2.0], dtype=torch.float64, requires_grad=True)


# %% checked_elements
checked_elements = 4 * 4 - 4


# %% checked_gradient
def checked_gradient(f, x):
    x = x.detach().clone().requires_grad_()
    (gradient,) = torch.autograd.grad(f(x).sum(), x)
    eps = 1e-6
    for i in range(x.numel()):
        step = torch.zeros(x.numel(), dtype=x.dtype)
        step[i] = eps
        step = step.reshape(x.shape)
        with torch.no_grad():
            slope = (f(x + step).sum() - f(x - step).sum()) / (2 * eps)
        if abs(slope - gradient.reshape(-1)[i]) > 1e-5:
            return False
    return True
