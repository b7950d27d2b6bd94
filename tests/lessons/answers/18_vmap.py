# %% values vmap_shape
(3, 4, 5)  # right
torch.vmap(torch.outer, in_dims=(1, None), out_dims=2)(torch.ones(3, 5), torch.ones(4)).shape  # right
[5, 3, 4]  # out_dims=0
[3, 4]  # one example
60  # expected 3 numbers


# %% right all_distances
def all_distances(ps, qs):
    return torch.vmap(lambda p: torch.vmap(lambda q: distance(p, q))(qs))(ps)


# %% right all_distances
def all_distances(ps, qs):
    return (ps[:, None] - qs).norm(dim=-1)


# %% wrong all_distances: transposed
def all_distances(ps, qs):
    return torch.vmap(torch.vmap(distance, in_dims=(0, None)), in_dims=(None, 0))(ps, qs)


# %% wrong all_distances: same size
def all_distances(ps, qs):
    return torch.vmap(distance)(ps, qs)


# %% wrong all_distances: pairs
def all_distances(ps, qs):
    return torch.vmap(distance, in_dims=(None, 0))(ps[0], qs)


# %% values robust_losses
torch.vmap(lambda e: (e.abs() <= 1) * e * e + (e.abs() > 1) * (2 * e.abs() - 1))  # right


# %% right robust_losses
def robust_losses(errors):
    return torch.where(errors.abs() <= 1, errors**2, 2 * errors.abs() - 1)


# %% wrong robust_losses: a single value
# -         return torch.where(e.abs() <= 1, e * e, 2 * e.abs() - 1)
# +         return e * e if e.abs() <= 1 else 2 * e.abs() - 1


# %% wrong robust_losses: a loop
def robust_losses(errors):
    return torch.stack([e * e if e.abs() <= 1 else 2 * e.abs() - 1 for e in errors])


# %% wrong robust_losses: expected
def robust_losses(errors):
    return torch.vmap(lambda e: torch.where(e <= 1, e * e, 2 * e.abs() - 1))(errors)


# %% right most_influential
def most_influential(w, xs, ys):
    return torch.stack([torch.func.grad(loss)(w, x, y).norm() for x, y in zip(xs, ys)]).argmax()


# %% right most_influential
def most_influential(w, xs, ys):
    return int(((xs @ w - ys).abs() * xs.norm(dim=1)).argmax())


# %% wrong most_influential: x may be short
def most_influential(w, xs, ys):
    return torch.vmap(loss, in_dims=(None, 0, 0))(w, xs, ys).argmax().item()


# %% wrong most_influential: one example
def most_influential(w, xs, ys):
    return torch.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(w, xs, ys).norm(dim=1)


# %% wrong most_influential: same size
def most_influential(w, xs, ys):
    return torch.vmap(torch.func.grad(loss))(w, xs, ys).norm(dim=1).argmax().item()


# %% wrong most_influential: not None
def most_influential(w, xs, ys):
    torch.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(w, xs, ys).norm(dim=1).argmax().item()


# %% right clipped_mean
def clipped_mean(w, xs, ys, most):
    gradients = torch.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(w, xs, ys)
    factors = (most / (gradients.norm(dim=1) + 1e-12)).clamp(max=1.0)
    return factors @ gradients / len(xs)


# %% right clipped_mean
def clipped_mean(w, xs, ys, most):
    gradients = torch.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(w, xs, ys)
    return (gradients * (most / gradients.norm(dim=1, keepdim=True)).clamp(max=1.0)).mean(0)


# %% wrong clipped_mean: before you take the mean
def clipped_mean(w, xs, ys, most):
    mean = torch.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(w, xs, ys).mean(0)
    return mean * (most / mean.norm().clamp(min=most))


# %% wrong clipped_mean: NaN
# -     return (gradients * (most / lengths.clamp(min=most))).mean(0)
# +     return (gradients / lengths * lengths.clamp(max=most)).mean(0)

# %% wrong clipped_mean: the sum
# -     return (gradients * (most / gradients.norm(dim=1, keepdim=True)).clamp(max=1.0)).mean(0)
# +     return (gradients * (most / gradients.norm(dim=1, keepdim=True).clamp(min=most))).sum(0)


# %% wrong clipped_mean: a loop
def clipped_mean(w, xs, ys, most):
    clipped = []
    for x, y in zip(xs, ys):
        gradient = torch.func.grad(loss)(w, x, y)
        clipped.append(gradient * (most / gradient.norm().clamp(min=most)))
    return torch.stack(clipped).mean(0)
