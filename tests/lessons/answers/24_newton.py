# %% right newton_minimum
def newton_minimum(f, x):
    while grad(f)(x).abs().max() > 1e-9:
        x = newton_step(f, x)
    return x


# %% right newton_minimum
def newton_minimum(f, x):
    for _ in range(20):
        x = x - torch.linalg.inv(hessian(f)(x)) @ grad(f)(x)
    return x


# %% wrong newton_minimum: without taking a step
# -         if grad(f)(x).norm() < 1e-8:
# +         if grad(f)(x).norm() > 1e-8:

# %% wrong newton_minimum: farther
# -         x = x - torch.linalg.solve(hessian(f)(x), grad(f)(x))
# +         x = x - hessian(f)(x) @ grad(f)(x)

# %% wrong newton_minimum: the minimum of a bowl
# -         x = x - torch.linalg.solve(hessian(f)(x), grad(f)(x))
# +         x = x - 0.001 * grad(f)(x)


# %% right level_kind
def level_kind(f, x):
    signs = {bool(one > 0) for one in np.linalg.eigvalsh(hessian(f)(x).numpy())}
    return {(True,): "minimum", (False,): "maximum"}.get(tuple(signs), "saddle")


# %% right level_kind
def level_kind(f, x):
    H = torch.autograd.functional.hessian(f, x)
    lowest, *_, highest = [torch.linalg.eigvalsh(H).min(), torch.linalg.eigvalsh(H).max()]
    return "Minimum" if lowest > 0 else "Maximum" if highest < 0 else "Saddle"


# %% wrong level_kind: off the diagonal
# -     bending = torch.linalg.eigvalsh(hessian(f)(x))
# +     bending = hessian(f)(x).diagonal()


# %% wrong level_kind: determinant
def level_kind(f, x):
    H = hessian(f)(x)
    if torch.linalg.det(H) < 0:
        return "saddle"
    return "minimum" if H[0, 0] > 0 else "maximum"


# %% wrong level_kind: minimum
def level_kind(f, x):
    bending = torch.linalg.eigvalsh(hessian(f)(x))
    if (bending > 0).any():
        return "minimum"
    return "maximum"


# %% wrong level_kind: None
# -     return "maximum" if (bending < 0).all() else "saddle"


# %% right newton_root
def newton_root(f, x):
    while f(x).norm() > 1e-10:
        x = x - torch.func.jacfwd(f)(x).inverse() @ f(x)
    return x


# %% right newton_root
# -         x = x - torch.linalg.solve(jacrev(f)(x), f(x))
# +         x = x + torch.linalg.solve(torch.autograd.functional.jacobian(f, x), -f(x))


# %% wrong newton_root: where f is
def newton_root(f, x):
    return x - torch.linalg.solve(jacrev(f)(x), f(x))


# %% wrong newton_root: not zero
# -         x = x - torch.linalg.solve(jacrev(f)(x), f(x))
# +         x = x - torch.linalg.solve(jacrev(f)(x).mT, f(x))

# %% wrong newton_root: your code raises
# -         x = x - torch.linalg.solve(jacrev(f)(x), f(x))
# +         x = x - f(x) / grad(f)(x)


# %% right curvature
def curvature(f, x, v):
    return v @ torch.autograd.functional.hvp(f, x, v)[1]


# %% right curvature
def curvature(f, x, v):
    return v.reshape(1, -1) @ hvp(f, x, v).reshape(-1, 1)


# %% right curvature
def curvature(f, x, v):
    slope = lambda y: (grad(f)(y) * v).sum()
    return (grad(slope)(x) * v).sum().numpy()


# %% wrong curvature: matrix
def curvature(f, x, v):
    return v @ hessian(f)(x) @ v


# %% wrong curvature: that is H v
def curvature(f, x, v):
    return jvp(grad(f), (x,), (v,))[1]


# %% wrong curvature: slope along v
def curvature(f, x, v):
    return grad(f)(x) @ v


# %% wrong curvature: expected a number, got None
def curvature(f, x, v):
    v @ jvp(grad(f), (x,), (v,))[1]
