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


# %% right newton_minimum
def newton_minimum(f, x):
    for _ in range(20):
        slope = torch.autograd.functional.jacobian(f, x)
        if not slope.norm() > 1e-8:
            return x
        x = x - torch.autograd.functional.hessian(f, x).inverse() @ slope
    return x


# %% wrong newton_minimum: without taking a step
# -         if grad(f)(x).norm() < 1e-8:
# +         if grad(f)(x).norm() > 1e-8:

# %% wrong newton_minimum: farther
# -         x = x - torch.linalg.solve(hessian(f)(x), grad(f)(x))
# +         x = x - hessian(f)(x) @ grad(f)(x)

# %% wrong newton_minimum: farther
# -         x = x - torch.linalg.solve(hessian(f)(x), grad(f)(x))
# +         x = x + torch.linalg.solve(hessian(f)(x), grad(f)(x))

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


# %% right level_kind
def level_kind(f, x):
    values, vectors = torch.linalg.eigh(jacrev(grad(f))(x))
    up = int((values > 0).sum())
    if up == len(values):
        return "minimum"
    elif up == 0:
        return "maximum"
    return "saddle"


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
def level_kind(f, x):
    bending = torch.linalg.eigvalsh(hessian(f)(x))
    if (bending > 0).all():
        return "minimum"


# %% right newton_root
def newton_root(f, x):
    while f(x).norm() > 1e-10:
        x = x - torch.func.jacfwd(f)(x).inverse() @ f(x)
    return x


# %% right newton_root
# -         x = x - torch.linalg.solve(jacrev(f)(x), f(x))
# +         x = x + torch.linalg.solve(torch.autograd.functional.jacobian(f, x), -f(x))


# %% right newton_root
def newton_root(f, x, steps=15):
    if steps == 0:
        return x
    return newton_root(f, x - torch.linalg.solve(jacrev(f)(x), f(x)), steps - 1)


# %% right newton_root
def newton_root(f, x):
    for _ in range(15):
        x = x.detach().requires_grad_()
        y = f(x)
        rows = [torch.autograd.grad(one, x, retain_graph=True)[0] for one in y]
        x = x - torch.linalg.solve(torch.stack(rows), y)
    return x


# %% wrong newton_root: where f is
def newton_root(f, x):
    return x - torch.linalg.solve(jacrev(f)(x), f(x))


# %% wrong newton_root: not zero
# -         x = x - torch.linalg.solve(jacrev(f)(x), f(x))
# +         x = x - torch.linalg.solve(jacrev(f)(x).mT, f(x))

# %% wrong newton_root: your code raises
# -         x = x - torch.linalg.solve(jacrev(f)(x), f(x))
# +         x = x - f(x) / grad(f)(x)

# %% wrong newton_root: not zero
# -         x = x - torch.linalg.solve(jacrev(f)(x), f(x))
# +         x = x - jacrev(f)(x) @ f(x) * 1e-3


# %% right curvature
def curvature(f, x, v):
    return v @ torch.autograd.functional.hvp(f, x, v)[1]


# %% right curvature
def curvature(f, x, v):
    along = lambda t: f(x + t * v)
    return grad(grad(along))(torch.zeros((), dtype=x.dtype))


# %% right curvature
def curvature(f, x, v):
    x = x.detach().clone().requires_grad_()
    (slope,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad(slope @ v, x)[0].dot(v).item()


# %% right curvature
def curvature(f, x, v):
    slope = lambda y: jvp(f, (y,), (v,))[1]
    return jvp(slope, (x,), (v,))[1]


# %% right curvature
def curvature(f, x, v):
    return v.reshape(1, -1) @ hvp(f, x, v).reshape(-1, 1)


# %% right curvature
def curvature(f, x, v):
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x.detach().requires_grad_(), v)
        (slope,) = torch.autograd.grad(f(dual), dual, create_graph=True)
        return (torch.autograd.forward_ad.unpack_dual(slope).tangent * v).sum()


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


# %% right curvature
def curvature(f, x, v):
    return sum(v * hvp(f, x, v))


# %% right curvature
def curvature(f, x, v):
    slope = lambda y: (grad(f)(y) * v).sum()
    return (grad(slope)(x) * v).sum().numpy()
