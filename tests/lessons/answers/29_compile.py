# %% right compile_count
compile_count = 3.0

# %% right compile_count
compile_count = int(repr(halved).split()[-2])

# %% right compile_count
compile_count = len({(4, float), (6, float), (6, 2)})

# %% wrong compile_count: floats
compile_count = 5

# %% wrong compile_count: int
compile_count = 2

# %% wrong compile_count: anew
compile_count = 1

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

# %% wrong compile_loops: the loop that computes
compile_loops = 3

# %% wrong compile_loops: once
compile_loops = 4


# %% right compile_limited
def compile_limited(x):
    return x / (x * x).sum().sqrt().clamp(min=1)


# %% right compile_limited
@torch.compile
def compile_limited(x):
    length = x.norm()
    return x / torch.maximum(length, torch.ones_like(length))


# %% right compile_limited
def compile_limited(x):
    squared = (x**2).sum()
    return x * torch.where(squared > 1, 1 / squared.sqrt(), 1.0)


# %% right compile_limited
def compile_limited(x):
    too_long = (x.norm() > 1).float()
    return too_long * x / x.norm() + (1 - too_long) * x


# %% wrong compile_limited: not compiled
def compile_limited(x):
    length = (x * x).sum().sqrt()
    if length > 1:
        return x / length
    return x


# %% wrong compile_limited: expected 0.3
def compile_limited(x):
    return x / (x * x).sum().sqrt()


# %% wrong compile_limited: not compiled
def compile_limited(x):
    length = (x * x).sum().sqrt()
    return x / max(length.item(), 1.0)


# %% wrong compile_limited: gradient
def compile_limited(x):
    length = (x * x).sum().sqrt().detach()
    return torch.where(length > 1, x / length, x)


# %% right compile_noted
def compile_noted(x, w):
    error = (x * w).sum() - 1
    return error * error, 2 * error * x


# %% right compile_noted
@torch.compile
def compile_noted(x, w):
    dw, loss = torch.func.grad_and_value(lambda w: ((x * w).sum() - 1) ** 2)(w)
    return loss, dw


# %% right compile_noted
def compile_noted(x, w):
    loss = ((x * w).sum() - 1) ** 2
    return [loss, *torch.autograd.grad(loss, [w])]


# %% right compile_noted
def compile_noted(x, w):
    loss = ((x * w).sum() - 1).square()
    (dw,) = torch.autograd.grad(loss, w)
    return loss.detach(), dw


# %% wrong compile_noted: two things
def compile_noted(x, w):
    loss = ((x * w).sum() - 1) ** 2
    (dw,) = torch.autograd.grad(loss, w)
    return dw


# %% right compile_noted
def compile_noted(x, w):
    loss = ((x * w).sum() - 1) ** 2
    (dw,) = torch.autograd.grad(loss, w)
    return loss.item(), dw


# %% wrong compile_noted: comes first
def compile_noted(x, w):
    loss = ((x * w).sum() - 1) ** 2
    (dw,) = torch.autograd.grad(loss, w)
    return dw, loss


# %% wrong compile_noted: not compiled
def compile_noted(x, w):
    loss = ((x * w).sum() - 1) ** 2
    losses.append(loss)
    (dw,) = torch.autograd.grad(loss, w)
    return loss, dw


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


# %% wrong compile_momentum: velocity is still
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


# %% wrong compile_momentum: returned
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
