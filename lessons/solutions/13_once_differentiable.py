# %% second_missed
second_missed = 2 * 6.0 * 6.0


# %% SecondRoot
class SecondRoot(Function):
    @staticmethod
    def forward(ctx, x):
        root = x.sqrt()
        ctx.save_for_backward(root)
        return root

    @staticmethod
    def backward(ctx, grad_output):
        (root,) = ctx.saved_tensors
        return grad_output * 0.5 / root


# %% OnceExp
class OnceExp(Function):
    @staticmethod
    def forward(ctx, x):
        result = torch.tensor(np.exp(x.numpy()))
        ctx.save_for_backward(result)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return torch.tensor(grad_output.detach().numpy() * result.detach().numpy())


# %% second_penalty
def second_penalty(f, x):
    (slope,) = torch.autograd.grad(f(x), x, create_graph=True)
    return (slope * slope).sum()


# %% second_and_more
def second_and_more(f, at, n):
    x = torch.tensor(at, requires_grad=True)
    y = f(x)
    for _ in range(n):
        (y,) = torch.autograd.grad(y, x, create_graph=True)
    return y.item()
