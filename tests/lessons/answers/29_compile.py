# %% right compile_loops
compile_loops = 2.0

# %% right compile_loops
softmax = torch.compile(lambda x: x.exp() / x.exp().sum())
softmax(torch.ones(5))
compile_loops = softmax.explain().count("loop over (5,)")

# %% right compile_loops
compile_loops = 1 + 1

# %% wrong compile_loops: last term
compile_loops = 1

# %% wrong compile_loops: can also add them up
compile_loops = 3

# %% wrong compile_loops: once
compile_loops = 4


# %% right compile_variance
@torch.compile
def compile_variance(x):
    return x.square().mean() - x.mean().square()


# %% right compile_variance
def compile_variance(x):
    n = x.numel()
    return ((x * x).sum() - x.sum() ** 2 / n) / n


# %% right compile_variance
def compile_variance(x):
    total, squares = x.sum(), (x**2).sum()
    return squares / len(x) - (total / len(x)) ** 2


# %% wrong compile_variance: 2 loops over x
def compile_variance(x):
    return ((x - x.mean()) ** 2).mean()


# %% wrong compile_variance: calls an operation
def compile_variance(x):
    return x @ x / x.numel() - x.mean() ** 2


# %% wrong compile_variance: calls an operation
def compile_variance(x):
    return x.var(unbiased=False)


# %% wrong compile_variance: the result for 3 numbers
def compile_variance(x):
    return (x * x).mean() - x.mean()


# %% wrong compile_variance: not compiled
def compile_variance(x):
    return (x * x).mean() - x.mean().item() ** 2


# %% right compile_saved
compile_saved = 1.0

# %% right compile_saved
both = [torch.ones(1000, requires_grad=True) for _ in range(2)]
forward = torch.compile(lambda x, w: (x.exp() * w).sum())
forward(*both)
compile_saved = forward.source().count("np.empty(")

# %% right compile_saved
compile_saved = len({"x.exp()"})

# %% wrong compile_saved: the loop saves it
compile_saved = 0

# %% wrong compile_saved: added up
compile_saved = 2

# %% wrong compile_saved: exist already
compile_saved = 3


# %% right compile_momentum
@torch.compile
def compile_momentum(x, y, w, velocity, rate):
    loss = (x @ w - y).square().mean()
    gradient = torch.autograd.grad(loss, w)[0]
    with torch.no_grad():
        velocity.copy_(0.9 * velocity + gradient)
        w.copy_(w - rate * velocity)
    return loss


# %% right compile_momentum
def compile_momentum(x, y, w, velocity, rate):
    dw, loss = torch.func.grad_and_value(lambda w: torch.nn.functional.mse_loss(x @ w, y))(w)
    with torch.no_grad():
        velocity *= 0.9
        velocity += dw
        w -= rate * velocity
    return loss


# %% right compile_momentum
@torch.no_grad()
def compile_momentum(x, y, w, velocity, rate):
    error = x @ w - y
    loss = (error**2).mean()
    velocity.mul_(0.9).add_(2 * x.T @ error / len(y))
    w.add_(velocity, alpha=-rate)
    return loss


# %% right compile_momentum
def compile_momentum(x, y, w, velocity, rate):
    loss = torch.nn.functional.mse_loss(torch.mv(x, w), y)
    (dw,) = torch.autograd.grad(loss, [w])
    velocity.mul_(0.9).add_(dw)
    with torch.no_grad():
        w.sub_(velocity * rate)
    return loss.detach()


# %% wrong compile_momentum: velocity has not changed
def compile_momentum(x, y, w, velocity, rate):
    loss = (x @ w - y).square().mean()
    (dw,) = torch.autograd.grad(loss, w)
    with torch.no_grad():
        velocity = 0.9 * velocity + dw
        w.sub_(rate * velocity)
    return loss


# %% wrong compile_momentum: velocity after step
def compile_momentum(x, y, w, velocity, rate):
    loss = (x @ w - y).square().mean()
    (dw,) = torch.autograd.grad(loss, w)
    with torch.no_grad():
        velocity.mul_(0.9).add_(0.1 * dw)
        w.sub_(rate * velocity)
    return loss


# %% wrong compile_momentum: return the loss
def compile_momentum(x, y, w, velocity, rate):
    loss = (x @ w - y).square().mean()
    (dw,) = torch.autograd.grad(loss, w)
    with torch.no_grad():
        velocity.mul_(0.9).add_(dw)
        w.sub_(rate * velocity)


# %% wrong compile_momentum: w after step
def compile_momentum(x, y, w, velocity, rate):
    loss = (x @ w - y).square().mean()
    (dw,) = torch.autograd.grad(loss, w)
    with torch.no_grad():
        velocity.mul_(0.9).add_(dw)
        w.sub_(velocity)
    return loss
