# %% compile_count
compile_count = 3


# %% compile_limited
def compile_limited(x):
    length = (x * x).sum().sqrt()
    return torch.where(length > 1, x / length, x)


# %% compile_noted
def compile_noted(x, w):
    loss = ((x * w).sum() - 1) ** 2
    (dw,) = torch.autograd.grad(loss, w)
    return loss, dw
