# %% values vjp_by_hand
(14, 6)  # right
torch.tensor([1.0, 2.0]) @ torch.tensor([[6.0, 0.0], [4.0, 3.0]])  # right
[6.0, 10.0]  # a jvp
[10.0, 3.0]  # weight 2
20.0  # expected 2 numbers

# %% changes descent_step
# by_w, by_b = torch.func.grad(loss, argnums=(0, 1))(w, b, xs, ys) -> down = torch.func.grad(loss, (0, 1))(w, b, xs, ys)
#   return w - rate * by_w, b - rate * by_b -> return [p - rate * g for p, g in zip((w, b), down)]  # right
# by_w, by_b = torch.func.grad(loss, argnums=(0, 1))(w, b, xs, ys)
#   -> gradients = torch.func.grad(loss_of)({"w": w, "b": b}, xs, ys)
#   return w - rate * by_w, b - rate * by_b -> return w - rate * gradients["w"], b - rate * gradients["b"]  # right
# drop by_w, by_b = torch.func.grad(loss, argnums=(0, 1))(w, b, xs, ys)
#   by_w, b - rate * by_b -> torch.func.grad(loss)(w, b, xs, ys), b  # b has not moved
# return w - rate * by_w, b - rate * by_b -> return w + rate * by_w, b + rate * by_b  # subtracts
# return w - rate * by_w, b - rate * by_b -> return by_w, by_b  # expected 0.733333
# return w - rate * by_w, b - rate * by_b -> w = w - rate * by_w; b = b - rate * by_b  # return


# %% right gradient_and_worst
def gradient_and_worst(w, xs, ys):
    gradient = torch.func.grad(lambda w: ((w * xs - ys) ** 2).mean())(w)
    return gradient, float((w * xs - ys).abs().max())


# %% wrong gradient_and_worst: a float
# -         return (errors**2).mean(), errors.abs().max()
# +         return (errors**2).mean().item(), errors.abs().max().item()
# -     gradient, worst = torch.func.grad(mean_square, has_aux=True)(w)
# -     return gradient, worst.item()
# +     return torch.func.grad(mean_square, has_aux=True)(w)

# %% values gradient_and_worst
lambda w, xs, ys: torch.func.grad(lambda w: ((w * xs - ys) ** 2).mean())(w)  # expected the pair

# %% changes gradient_and_worst
# (errors**2).mean().item(), errors -> (errors**2).mean(), errors.detach()  # right
# return (errors**2).mean(), errors.abs().max() -> return (errors**2).mean(), errors.abs().max().item()
#   drop gradient, worst = torch.func.grad(mean_square, has_aux=True)(w)
#   return gradient, worst.item() -> return torch.func.grad(mean_square)(w)  # has_aux
# (errors**2).mean().item(), errors.abs().max().item -> (errors**2).mean(), errors.abs().max  # plain number

# %% changes partial_change
# drop _, change = torch.func.jvp(f, (x, y), (u, torch.zeros_like(y)))
#   return change -> return torch.func.jvp(lambda x: f(x, y), (x,), (u,))[1]  # right
# _, change = torch.func.jvp(f, (x, y), (u, torch.zeros_like(y)))
#   -> still = [torch.zeros_like(other) for other in (y,)]; value, change = torch.func.jvp(f, (x, y), (u, *still))  # right
# _, change = torch.func.jvp(f, (x, y), (u, torch.zeros_like(y)))
#   -> value, push = torch.func.linearize(lambda x: f(x, y), x)
#   return change -> return push(u)  # for a backward pass
# drop _, change = torch.func.jvp(f, (x, y), (u, torch.zeros_like(y)))
#   return change -> return torch.func.jvp(f, (x, y), (u, torch.zeros_like(y)))  # change alone
# drop _, change = torch.func.jvp(f, (x, y), (u, torch.zeros_like(y)))
#   return change -> return torch.func.jvp(f, (x, y), (u, torch.ones_like(y)))[1]  # the result
# drop _, change = torch.func.jvp(f, (x, y), (u, torch.zeros_like(y)))
#   return change -> return torch.func.jvp(f, (x, y), (u,))[1]  # same structure
# drop _, change = torch.func.jvp(f, (x, y), (u, torch.zeros_like(y)))
#   return change -> return (f(x + 0.01 * u, y) - f(x - 0.01 * u, y)) / 0.02  # f ran 2 times
# drop _, change = torch.func.jvp(f, (x, y), (u, torch.zeros_like(y)))
#   return change -> return 2 * (x * u).sum(1) * y  # ran 0 times

# %% values jacobian_of_rows
lambda f, x: torch.stack([torch.func.grad(lambda x: f(x)[i])(x) for i in range(len(f(x)))])  # times

# %% changes jacobian_of_rows
# return torch.stack([pull(row)[0] for row in torch.eye(len(y))])
#   -> (rows,) = torch.vmap(pull)(torch.eye(y.shape[0])); return rows  # right
# y, pull = torch.func.vjp(f, x) -> x = x.detach().requires_grad_()
#   return torch.stack([pull(row)[0] for row in torch.eye(len(y))])
#   -> y = f(x); return torch.stack([torch.autograd.grad(one, x, retain_graph=True)[0] for one in y])  # right
# torch.stack([pull(row)[0] for row in torch.eye(len(y))]) -> pull(torch.ones_like(y))[0]  # sum of all rows
# torch.stack([pull(row)[0] for row in torch.eye(len(y))]) -> [pull(row)[0] for row in torch.eye(len(y))]  # torch.stack
# return torch.stack([pull(row)[0] for row in torch.eye(len(y))])
#   -> return torch.stack([pull(row)[0] for row in torch.eye(len(y))], dim=1)  # transposed
# drop y, pull = torch.func.vjp(f, x)
#   return torch.stack([pull(row)[0] for row in torch.eye(len(y))]) -> return torch.func.jacrev(f)(x)  # calls jacrev
# torch.stack -> torch.cat  # the shape
