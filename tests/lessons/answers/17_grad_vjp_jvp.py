# %% values vjp_by_hand
(14, 6)  # right
torch.tensor([1.0, 2.0]) @ torch.tensor([[6.0, 0.0], [4.0, 3.0]])  # right
[6.0, 10.0]  # a jvp
[10.0, 3.0]  # weight 2
20.0  # expected 2 numbers


# %% right descent_step
def descent_step(w, b, xs, ys, rate):
    down = torch.func.grad(loss, (0, 1))(w, b, xs, ys)
    return [p - rate * g for p, g in zip((w, b), down)]


# %% right descent_step
def descent_step(w, b, xs, ys, rate):
    gradients = torch.func.grad(loss_of)({"w": w, "b": b}, xs, ys)
    return w - rate * gradients["w"], b - rate * gradients["b"]


# %% wrong descent_step: b has not moved
def descent_step(w, b, xs, ys, rate):
    return w - rate * torch.func.grad(loss)(w, b, xs, ys), b


# %% wrong descent_step: subtracts
# -     return w - rate * by_w, b - rate * by_b
# +     return w + rate * by_w, b + rate * by_b

# %% wrong descent_step: expected 0.733333
# -     return w - rate * by_w, b - rate * by_b
# +     return by_w, by_b


# %% wrong descent_step: return
def descent_step(w, b, xs, ys, rate):
    by_w, by_b = torch.func.grad(loss, argnums=(0, 1))(w, b, xs, ys)
    w = w - rate * by_w
    b = b - rate * by_b


# %% right gradient_and_worst
def gradient_and_worst(w, xs, ys):
    def mean_square(w):
        errors = w * xs - ys
        return (errors**2).mean(), errors.detach().abs().max().item()

    return torch.func.grad(mean_square, has_aux=True)(w)


# %% right gradient_and_worst
def gradient_and_worst(w, xs, ys):
    gradient = torch.func.grad(lambda w: ((w * xs - ys) ** 2).mean())(w)
    return gradient, float((w * xs - ys).abs().max())


# %% wrong gradient_and_worst: has_aux
# -         return (errors**2).mean(), errors.detach().abs().max().item()
# +         return (errors**2).mean(), errors.abs().max().item()
# -     return torch.func.grad(mean_square, has_aux=True)(w)
# +     return torch.func.grad(mean_square)(w)


# %% wrong gradient_and_worst: expected the pair
def gradient_and_worst(w, xs, ys):
    return torch.func.grad(lambda w: ((w * xs - ys) ** 2).mean())(w)


# %% wrong gradient_and_worst: plain number
# -         return (errors**2).mean(), errors.detach().abs().max().item()
# +         return (errors**2).mean(), errors.abs().max()

# %% wrong gradient_and_worst: a float
# -         return (errors**2).mean(), errors.detach().abs().max().item()
# +         return (errors**2).mean().item(), errors.abs().max().item()


# %% right partial_change
def partial_change(f, x, y, u):
    return torch.func.jvp(lambda x: f(x, y), (x,), (u,))[1]


# %% right partial_change
def partial_change(f, x, y, u):
    still = [torch.zeros_like(other) for other in (y,)]
    value, change = torch.func.jvp(f, (x, y), (u, *still))
    return change


# %% wrong partial_change: for a backward pass
def partial_change(f, x, y, u):
    value, push = torch.func.linearize(lambda x: f(x, y), x)
    return push(u)


# %% wrong partial_change: change alone
def partial_change(f, x, y, u):
    return torch.func.jvp(f, (x, y), (u, torch.zeros_like(y)))


# %% wrong partial_change: the result
def partial_change(f, x, y, u):
    return torch.func.jvp(f, (x, y), (u, torch.ones_like(y)))[1]


# %% wrong partial_change: same structure
def partial_change(f, x, y, u):
    return torch.func.jvp(f, (x, y), (u,))[1]


# %% wrong partial_change: f ran 2 times
def partial_change(f, x, y, u):
    return (f(x + 0.01 * u, y) - f(x - 0.01 * u, y)) / 0.02


# %% wrong partial_change: ran 0 times
def partial_change(f, x, y, u):
    return 2 * (x * u).sum(1) * y


# %% right jacobian_of_rows
def jacobian_of_rows(f, x):
    y, pull = torch.func.vjp(f, x)
    (rows,) = torch.vmap(pull)(torch.eye(y.shape[0]))
    return rows


# %% right jacobian_of_rows
def jacobian_of_rows(f, x):
    x = x.detach().requires_grad_()
    y = f(x)
    return torch.stack([torch.autograd.grad(one, x, retain_graph=True)[0] for one in y])


# %% wrong jacobian_of_rows: sum of all rows
# -     return torch.stack([pull(row)[0] for row in torch.eye(len(y))])
# +     return pull(torch.ones_like(y))[0]


# %% wrong jacobian_of_rows: times
def jacobian_of_rows(f, x):
    return torch.stack([torch.func.grad(lambda x: f(x)[i])(x) for i in range(len(f(x)))])


# %% wrong jacobian_of_rows: torch.stack
# -     return torch.stack([pull(row)[0] for row in torch.eye(len(y))])
# +     return [pull(row)[0] for row in torch.eye(len(y))]

# %% wrong jacobian_of_rows: transposed
# -     return torch.stack([pull(row)[0] for row in torch.eye(len(y))])
# +     return torch.stack([pull(row)[0] for row in torch.eye(len(y))], dim=1)


# %% wrong jacobian_of_rows: calls jacrev
def jacobian_of_rows(f, x):
    return torch.func.jacrev(f)(x)


# %% wrong jacobian_of_rows: the shape
# -     return torch.stack([pull(row)[0] for row in torch.eye(len(y))])
# +     return torch.cat([pull(row)[0] for row in torch.eye(len(y))])
