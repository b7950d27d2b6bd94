# %% compile_count
compile_count = 3

# %% compile_loops
compile_loops = 2


# %% compile_limited
def compile_limited(x):
    length = (x * x).sum().sqrt()
    return torch.where(length > 1, x / length, x)


# %% compile_noted
def compile_noted(x, w):
    loss = ((x * w).sum() - 1) ** 2
    (dw,) = torch.autograd.grad(loss, w)
    return loss, dw


# %% compile_momentum
def compile_momentum(x, y, w, velocity, rate):
    error = x @ w - y
    loss = (error * error).mean()
    (dw,) = torch.autograd.grad(loss, w)
    with torch.no_grad():
        velocity.mul_(0.9).add_(dw)
        w.sub_(rate * velocity)
    return loss
