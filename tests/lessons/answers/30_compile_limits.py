# %% values compile_count
3.0  # right
int(repr(halved).split()[-2])  # right
5  # floats
2  # int
1  # anew


# %% right compile_limited
def compile_limited(x):
    return x / (x * x).sum().sqrt().clamp(min=1)


# %% right compile_limited
def compile_limited(x):
    squared = (x**2).sum()
    return x * torch.where(squared > 1, 1 / squared.sqrt(), 1.0)


# %% wrong compile_limited: expected 0.3
def compile_limited(x):
    return x / (x * x).sum().sqrt()


# %% wrong compile_limited: not compiled
# -     return torch.where(length > 1, x / length, x)
# +     return x / max(length.item(), 1.0)

# %% wrong compile_limited: gradient
# -     length = (x * x).sum().sqrt()
# +     length = (x * x).sum().sqrt().detach()


# %% right compile_noted
def compile_noted(x, w):
    error = (x * w).sum() - 1
    return error * error, 2 * error * x


# %% right compile_noted
def compile_noted(x, w):
    loss = ((x * w).sum() - 1) ** 2
    return [loss, *torch.autograd.grad(loss, [w])]


# %% wrong compile_noted: two things
# -     return loss, dw
# +     return dw

# %% wrong compile_noted: comes first
# -     return loss, dw
# +     return dw, loss

# %% wrong compile_noted: not compiled
#       loss = ((x * w).sum() - 1) ** 2
# +     losses.append(loss)
