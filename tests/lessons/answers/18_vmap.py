# %% values vmap_shape
(3, 4, 5)  # right
torch.vmap(torch.outer, in_dims=(1, None), out_dims=2)(torch.ones(3, 5), torch.ones(4)).shape  # right
[5, 3, 4]  # out_dims=0
[3, 4]  # one example
60  # expected 3 numbers

# %% values all_distances
lambda ps, qs: torch.vmap(lambda p: torch.vmap(lambda q: distance(p, q))(qs))(ps)  # right
lambda ps, qs: torch.vmap(torch.vmap(distance, in_dims=(0, None)), in_dims=(None, 0))(ps, qs)  # transposed

# %% changes all_distances
# torch.vmap(lambda p: torch.vmap(lambda q: distance(p, q))(qs))(ps) -> (ps[:, None] - qs).norm(dim=-1)  # right
# torch.vmap(lambda p: torch.vmap(lambda q: distance(p, q))(qs))(ps) -> torch.vmap(distance)(ps, qs)  # same size
# drop to_all = torch.vmap(distance, in_dims=(None, 0))
#   torch.vmap(to_all, in_dims=(0, None))(ps, qs) -> torch.vmap(distance, in_dims=(None, 0))(ps[0], qs)  # pairs

# %% values robust_losses
torch.vmap(lambda e: (e.abs() <= 1) * e * e + (e.abs() > 1) * (2 * e.abs() - 1))  # right


# %% right robust_losses
def robust_losses(errors):
    return torch.where(errors.abs() <= 1, errors**2, 2 * errors.abs() - 1)


# %% changes robust_losses
# torch.where(e.abs() <= 1, e * e, 2 * e.abs() - 1) -> e * e if e.abs() <= 1 else 2 * e.abs() - 1  # a single value
# return torch.where(errors.abs() <= 1, errors**2, 2 * errors.abs() - 1)
#   -> return torch.stack([e * e if e.abs() <= 1 else 2 * e.abs() - 1 for e in errors])  # a loop
# return torch.where(errors.abs() <= 1, errors**2, 2 * errors.abs() - 1)
#   -> return torch.vmap(lambda e: torch.where(e <= 1, e * e, 2 * e.abs() - 1))(errors)  # expected

# %% values most_influential
lambda w, xs, ys: torch.stack([torch.func.grad(loss)(w, x, y).norm() for x, y in zip(xs, ys)]).argmax()  # right
lambda w, xs, ys: torch.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(w, xs, ys).norm(dim=1)  # one example

# %% changes most_influential
# drop gradients = torch.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(w, xs, ys)
#   return gradients.norm(dim=1).argmax().item() -> return int(((xs @ w - ys).abs() * xs.norm(dim=1)).argmax())  # right
# drop gradients = torch.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(w, xs, ys)
#   gradients.norm(dim=1) -> torch.vmap(loss, in_dims=(None, 0, 0))(w, xs, ys)  # x may be short
# drop gradients = torch.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(w, xs, ys)
#   gradients.norm -> torch.vmap(torch.func.grad(loss))(w, xs, ys).norm  # same size
# drop gradients = torch.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(w, xs, ys)
#   return gradients -> torch.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(w, xs, ys)  # not None


# %% wrong clipped_mean: before you take the mean
def clipped_mean(w, xs, ys, most):
    mean = torch.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(w, xs, ys).mean(0)
    return mean * (most / mean.norm().clamp(min=most))


# %% wrong clipped_mean: the sum
# -     lengths = gradients.norm(dim=1, keepdim=True)
# -     return (gradients * (most / lengths.clamp(min=most))).mean(0)
# +     return (gradients * (most / gradients.norm(dim=1, keepdim=True).clamp(min=most))).sum(0)


# %% wrong clipped_mean: a loop
def clipped_mean(w, xs, ys, most):
    clipped = []
    for x, y in zip(xs, ys):
        gradient = torch.func.grad(loss)(w, x, y)
        clipped.append(gradient * (most / gradient.norm().clamp(min=most)))
    return torch.stack(clipped).mean(0)


# %% changes clipped_mean
# lengths = gradients.norm(dim=1, keepdim=True) -> factors = (most / (gradients.norm(dim=1) + 1e-12)).clamp(max=1.0)
#   return (gradients * (most / lengths.clamp(min=most))).mean(0) -> return factors @ gradients / len(xs)  # right
# drop lengths = gradients.norm(dim=1, keepdim=True)
#   (most / lengths.clamp(min=most)) -> (most / gradients.norm(dim=1, keepdim=True)).clamp(max=1.0)  # right
# gradients * (most / lengths.clamp(min=most)) -> gradients / lengths * lengths.clamp(max=most)  # NaN
