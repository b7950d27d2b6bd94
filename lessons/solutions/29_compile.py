# %% compile_loops
compile_loops = 2


# %% compile_variance
def compile_variance(x):
    return (x * x).mean() - x.mean() ** 2


# %% compile_saved
compile_saved = 1  # x.exp()


# %% compile_momentum
def compile_momentum(x, y, w, velocity, rate):
    error = x @ w - y
    loss = (error * error).mean()
    (dw,) = torch.autograd.grad(loss, w)
    with torch.no_grad():
        velocity.mul_(0.9).add_(dw)
        w.sub_(rate * velocity)
    return loss
