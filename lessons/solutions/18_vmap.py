# %% vmap_shape
vmap_shape = [3, 4, 5]


# %% all_distances
def all_distances(ps, qs):
    to_all = torch.vmap(distance, in_dims=(None, 0))
    return torch.vmap(to_all, in_dims=(0, None))(ps, qs)


# %% robust_losses
def robust_losses(errors):
    def robust(e):
        return torch.where(e.abs() <= 1, e * e, 2 * e.abs() - 1)

    return torch.vmap(robust)(errors)


# %% most_influential
def most_influential(w, xs, ys):
    gradients = torch.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(w, xs, ys)
    return gradients.norm(dim=1).argmax().item()


# %% clipped_mean
def clipped_mean(w, xs, ys, most):
    gradients = torch.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(w, xs, ys)
    lengths = gradients.norm(dim=1, keepdim=True)
    return (gradients * (most / lengths.clamp(min=most))).mean(0)
