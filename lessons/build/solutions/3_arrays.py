# %% numeric_gradient
def numeric_gradient(f, x, h=1e-6):
    """Return the gradient of f, a function from an array to a number, by central differences."""
    gradient = np.zeros(x.shape)
    for i in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[i] = h
        gradient[i] = (f(x + step) - f(x - step)) / (2 * h)
    return gradient


# %% unbroadcast
def unbroadcast(g, shape):
    """Sum a gradient over the dimensions that broadcasting has added or repeated, so that it has the shape."""
    g = np.asarray(g)
    g = g.sum(axis=tuple(range(g.ndim - len(shape))))
    repeated = tuple(i for i, size in enumerate(shape) if size == 1)
    return g.sum(axis=repeated, keepdims=True)


# %% mul_pull
def mul_pull(g, x, y):
    """Return the gradients of x and y for x * y."""
    return g * y, g * x


# %% matmul_pull
def matmul_pull(g, x, y):
    """Return the gradients of x and y for x @ y, where x is a matrix, and y a matrix or a vector."""
    if y.ndim == 1:
        return np.outer(g, y), x.T @ g
    return g @ y.T, x.T @ g


# %% sum_pull
def sum_pull(g, x):
    """Return the gradient of x for the sum of all its numbers."""
    return np.full(x.shape, g)
