# %% checkpoint_kept
checkpoint_kept = 12 // 3

# %% checkpoint_best
checkpoint_best = math.sqrt(300 / 12)


# %% checkpointed
def checkpointed(functions, k, x):
    def group(part, x):
        for f in part:
            x = f(x)
        return x

    for i in range(0, len(functions), k):
        x = checkpoint(group, functions[i : i + k], x, use_reentrant=False)
    return x


# %% OwnCheckpoint
class OwnCheckpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, f, x):
        ctx.f = f
        ctx.save_for_backward(x)
        return f(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            y = ctx.f(x)
        return None, *torch.autograd.grad(y, x, grad_output)
