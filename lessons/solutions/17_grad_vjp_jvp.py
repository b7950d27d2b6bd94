# %% vjp_by_hand
vjp_by_hand = [14.0, 6.0]


# %% descent_step
def descent_step(w, b, xs, ys, rate):
    by_w, by_b = torch.func.grad(loss, argnums=(0, 1))(w, b, xs, ys)
    return w - rate * by_w, b - rate * by_b


# %% gradient_and_worst
def gradient_and_worst(w, xs, ys):
    def mean_square(w):
        errors = w * xs - ys
        return (errors**2).mean(), errors.abs().max()

    gradient, worst = torch.func.grad(mean_square, has_aux=True)(w)
    return gradient, worst.item()


# %% partial_change
def partial_change(f, x, y, u):
    _, change = torch.func.jvp(f, (x, y), (u, torch.zeros_like(y)))
    return change


# %% jacobian_of_rows
def jacobian_of_rows(f, x):
    y, pull = torch.func.vjp(f, x)
    return torch.stack([pull(row)[0] for row in torch.eye(len(y))])
