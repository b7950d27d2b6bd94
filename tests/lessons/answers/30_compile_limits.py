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
# -     return loss, dw
# +     return dw

# %% right compile_noted
# -     return loss, dw
# +     return loss.item(), dw

# %% wrong compile_noted: comes first
# -     return loss, dw
# +     return dw, loss

# %% wrong compile_noted: not compiled
# -     loss = ((x * w).sum() - 1) ** 2
# +     loss = ((x * w).sum() - 1) ** 2
# +     losses.append(loss)
