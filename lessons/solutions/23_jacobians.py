# %% jacobian_by_hand
jacobian_by_hand = [[3.0, 2.0], [4.0, 0.0], [0.0, 1.0]]

# %% jacobian_modes
jacobian_modes = ["jacrev", "jacfwd", "jacrev"]


# %% curvature
def curvature(f, x, v):
    return (v * jvp(grad(f), (x,), (v,))[1]).sum()


# %% newton_minimum
def newton_minimum(f, x):
    for _ in range(20):
        if grad(f)(x).norm() < 1e-8:
            return x
        x = x - torch.linalg.solve(hessian(f)(x), grad(f)(x))
    return x


# %% newton_root
def newton_root(f, x):
    for _ in range(15):
        x = x - torch.linalg.solve(jacrev(f)(x), f(x))
    return x
