# %% right KernelRepaired
class KernelRepaired(Pointwise):
    kernel = lambda x: log(1 + x * x)
    dx = lambda g, x: g * 2 * x / (1 + x**2)


# %% changes KernelRepaired
# dx = lambda g, x: g * 2 * x / (1 + x**2) -> dx = lambda x, out: 2 * x * exp(-out)  # right
# dx = lambda g, x: g * 2 * x / (1 + x**2) -> dx = lambda x, out: 2 * x / out  # gradient
# kernel = lambda x: log(1 + x * x) -> kernel = lambda x: log(x * x)
#   dx = lambda g, x: g * 2 * x / (1 + x**2) -> dx = lambda x: 2 / x  # kernel
# drop dx = lambda g, x: g * 2 * x / (1 + x**2)  # dx is missing


# %% right kernel_backward
def kernel_backward(g_, x_, y_, dx_, dy_):
    for i in range(dx_.shape[0]):
        e = np.exp(y_[i]) * g_[i]
        dx_[i], dy_[i] = e, x_[i] * e


# %% wrong kernel_backward: element 0 of dy_ was not written
# -         g, x, e = g_[i], x_[i], math.exp(y_[i])
# -         dx_[i] = g * e
# -         dy_[i] = g * x * e
# +         dx_[i] = g_[i] * math.exp(y_[i])

# %% values kernel_backward
lambda g_, x_, y_, dx_, dy_: (g_ * math.exp(y_), g_ * x_ * math.exp(y_))  # as a whole

# %% changes kernel_backward
# drop g, x, e = g_[i], x_[i], math.exp(y_[i])
#   dx_[i] = g * e -> dx_[i] = g_[i] * math.exp(y_[i])
#   dy_[i] = g * x * e -> dy_[i] = g_[i] * x_[i] * math.exp(y_[i])  # right
# dx_[i] = g_[i] * math.exp(y_[i]) -> e = math.exp(y_[i]); dx_[i], dy_[i] = g_[i] * x_[i] * e, g_[i] * e  # dx_ is
# dx_[i] = g_[i] * math.exp(y_[i]) -> e = math.exp(y_[i]); dx_[i] = g_[i] * e; dy_[i] = x_[i] * e  # dy_ is
# dx_[i] = g_ -> dx_[i] += g_[i] * math.exp(y_[i]); dy_[i] += g_[i] * x_  # read before


# %% right KernelLean
class KernelLean(Pointwise):
    kernel = lambda x: 1 / (1 + exp(-x))
    dx = lambda x: exp(-x) / (1 + exp(-x)) ** 2


# %% changes KernelLean
# kernel = lambda x: 1 / (1 + exp(-x)) -> kernel = lambda t: exp(t) / (1 + exp(t))
#   dx = lambda x: exp(-x) / (1 + exp(-x)) ** 2 -> dt = lambda out: out * (1 - out)  # right
# dx = lambda x: exp(-x) / (1 + exp(-x)) ** 2 -> dx = lambda x, out: exp(-x) * out * out  # 64
# dx = lambda x: exp(-x) / (1 + exp(-x)) ** 2 -> dx = lambda out: 1 - out  # the gradient
# kernel = lambda x: 1 / (1 + exp(-x)) -> kernel = lambda x: 1 / (1 + exp(x))  # the kernel
# drop dx = lambda x: exp(-x) / (1 + exp(-x)) ** 2  # dx is missing

# %% right KernelDistance
from minigrad.ops.elementary import sqrt


class KernelDistance(Pointwise):
    kernel = lambda a, b: sqrt(1 + a**2 + b**2)
    da = lambda g, a, out: g * a / out
    db = lambda g, b, out: g * b / out


# %% wrong KernelDistance: expected
class KernelDistance(Pointwise):
    kernel = lambda x, y: torch.sqrt(x * x + y * y + 1)
    dx = lambda x, out: 1 / (2 * out)
    dy = lambda y, out: 1 / (2 * out)


# %% changes KernelDistance
# kernel = lambda x, y: torch.sqrt(x * x + y * y + 1) -> kernel = lambda x, y: torch.sqrt(x * x + y * y)  # the kernel
# drop dy = lambda y, out: y / out  # dy is missing
