# %% newton_minimum
def newton_minimum(f, x):
    for _ in range(20):
        if grad(f)(x).norm() < 1e-8:
            return x
        x = x - torch.linalg.solve(hessian(f)(x), grad(f)(x))
    return x


# %% level_kind
def level_kind(f, x):
    bending = torch.linalg.eigvalsh(hessian(f)(x))
    if (bending > 0).all():
        return "minimum"
    return "maximum" if (bending < 0).all() else "saddle"


# %% newton_root
def newton_root(f, x):
    for _ in range(15):
        x = x - torch.linalg.solve(jacrev(f)(x), f(x))
    return x


# %% curvature
def curvature(f, x, v):
    return (v * jvp(grad(f), (x,), (v,))[1]).sum()
