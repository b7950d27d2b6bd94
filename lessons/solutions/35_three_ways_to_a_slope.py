# %% slope_halved
slope_halved = 0.0004 / 2**2


# %% complex_slope
def complex_slope(f, x):
    h = 1e-100
    return f(x + 1j * h).imag / h


# %% complex_abs
def complex_abs(z):
    return np.where(z.real < 0, -z, z)


# %% forward_gradient
def forward_gradient(f, x):
    directions = torch.eye(len(x), dtype=x.dtype)
    return torch.stack([torch.func.jvp(f, (x,), (e,))[1] for e in directions])
