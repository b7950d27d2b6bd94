# %% changes numeric_gradient
# gradient[i] = (f(x + step) - f(x - step)) / (2 * h) -> gradient[i] = (f(x + step) - f(x - step)) / h / 2  # right
# gradient[i] = (f(x + step) - f(x - step)) / (2 * h) -> gradient[i] = (f(x + step) - f(x - step)) / h  # divide by 2h
# gradient[i] = (f(x + step) - f(x - step)) / (2 * h) -> gradient[i] = (f(x + step) - f(x)) / h  # both sides are exact
# gradient[i] = (f(x + step) - f(x - step)) / (2 * h) -> gradient[i] = (f(x + step) - f(x)) / (2 * h)  # only h apart
# f(x + step) - f(x - step) -> f(x - step) - f(x + step)  # f(x + h) comes first
# step[i] = h -> step[...] = h  # change one at a time
# (2 * h) -> 2  # not divided by h
# return gradient -> gradient  # is there a return
# gradient[i] = (f(x + step) - f(x - step)) -> x += step; gradient[i] = (f(x) - f(x - 2 * step))  # x has changed
# return gradient -> return gradient.ravel()  # has the shape
# (f(x + step) - f(x - step)) -> f(x + step) - f(x - step)  # the gradient of the sum of x**3
# return gradient -> return gradient * 0  # the gradient of the sum of x**3

# %% values unbroadcast
lambda g, shape: np.asarray(g).sum(axis=tuple(range(np.ndim(g) - len(shape)))).sum(axis=tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True)  # right
lambda g, shape: g  # not summed over the broadcast dimension
lambda g, shape: g.sum()  # has the shape
lambda g, shape: g.reshape(shape)  # ValueError
lambda g, shape: np.asarray(g).sum(axis=tuple(range(np.ndim(g) - len(shape))))  # not summed over the broadcast dimension
lambda g, shape: g if np.shape(g) == shape else np.full(shape, g.mean())  # the numbers are not the sums
lambda g, shape: np.asarray(g).mean(axis=tuple(range(np.ndim(g) - len(shape)))).mean(axis=tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True)  # it is the mean, expected the sum
lambda g, shape: np.asarray(g).sum(axis=tuple(range(np.ndim(g) - len(shape)))).sum(axis=tuple(i for i, n in enumerate(shape) if n == 1))  # keepdims=True
lambda g, shape: unbroadcast(g, shape)  # RecursionError
lambda g, shape: None  # is there a return
lambda g, shape: g[0] if np.ndim(g) > len(shape) else g  # the numbers are not the sums
lambda g, shape: np.broadcast_to(g, shape)  # ValueError
lambda g, shape: g.sum(axis=0)  # has the shape

# %% values mul_pull
lambda g, x, y: [y * g, x * g]  # right
lambda g, x, y: (g * x, g * y)  # are swapped
lambda g, x, y: (y, x)  # ignores the incoming gradient
lambda g, x, y: (g, g)  # the gradient of x is
lambda g, x, y: g * y  # expected a pair
lambda g, x, y: (-g * y, g * x)  # wrong sign
lambda g, x, y: (g * y, x)  # the gradient of y ignores the incoming gradient
lambda g, x, y: (g * y, None)  # the gradient of y is None
lambda g, x, y: ((g * y).sum(), (g * x).sum())  # has the shape
lambda g, x, y: None  # is there a return
lambda g, x, y: (g + y, g + x)  # the gradient of x is
lambda g, x, y: (g * x * y, g * x * y)  # the gradient of x is
lambda g, x, y: (np.multiply(g, y, out=y), g * x)  # an argument has changed

# %% wrong matmul_pull: np.outer(g, y)
# -     if y.ndim == 1:
# -         return np.outer(g, y), x.T @ g

# %% changes matmul_pull
# return g @ y.T, x.T @ g -> return (y @ g.T).T, x.T @ g  # right
# return g @ y.T, x.T @ g -> return x.T @ g, g @ y.T  # are swapped
# return g @ y.T, x.T @ g -> return g @ y, x @ g  # ValueError
# return g @ y.T, x.T @ g -> return y.T @ g, g @ x.T  # ValueError
# return g @ y.T, x.T @ g -> return g * y, g * x  # ValueError
# return g @ y.T, x.T @ g -> return (g @ y.T).T, x.T @ g  # transposed
# return g @ y.T, x.T @ g -> return np.ones(g.shape) @ y.T, x.T @ g  # the gradient of x ignores
# return g @ y.T, x.T @ g -> return g @ y.T, -x.T @ g  # the gradient of y has the wrong sign
# return np.outer(g, y), x.T @ g -> return np.outer(y, g), x.T @ g  # transposed
# return g @ y.T, x.T @ g -> return g @ y.T  # expected a pair
# return g @ y.T, x.T @ g -> g @ y.T, x.T @ g  # is there a return
# return np.outer(g, y), x.T @ g -> raise ValueError("no")  # raises ValueError: no

# %% values sum_pull
lambda g, x: g * np.ones_like(x)  # right
lambda g, x: g  # has the shape
lambda g, x: np.ones(x.shape)  # ignores the incoming gradient
lambda g, x: g * x  # the derivative of a sum is 1
lambda g, x: np.full(x.shape, g / x.size)  # as for a mean
lambda g, x: np.full(x.shape, -g)  # wrong sign
lambda g, x: np.full(len(x), g)  # has the shape
lambda g, x: np.full(x.size, g)  # has the shape
lambda g, x: None  # is there a return
lambda g, x: np.zeros(x.shape)  # the gradient of x is 0
lambda g, x: np.full(x.shape, g * x.size)  # the gradient of x is
lambda g, x: x.sum() * g  # has the shape

# %% changes sum_pull
# return np.full(x.shape, g) -> return np.full(x.shape, g) + 1j  # expected numbers, got
