# %% inplace_dragged
inplace_dragged = 15.0

# %% inplace_gradient
inplace_gradient = [2.0 * 5.0 * 3.0, 2.0 * 3.0, 2.0 * 3.0]


# %% inplace_refused
inplace_refused = ["exp", "sqrt"]


# %% inplace_repaired
def inplace_repaired(x):
    s = x.sigmoid()
    s = s - 0.5
    return (s * s).sum()


# %% inplace_column
def inplace_column(x):
    y = x.clone()
    y[:, 0] *= 2
    return y
