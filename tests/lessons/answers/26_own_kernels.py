# %% right KernelRepaired
class KernelRepaired(Pointwise):
    kernel = lambda x: log(1 + x * x)
    dx = lambda g, x: g * 2 * x / (1 + x**2)


# %% right KernelRepaired
# -     dx = lambda g, x: g * 2 * x / (1 + x**2)
# +     dx = lambda x, out: 2 * x * exp(-out)

# %% wrong KernelRepaired: gradient
# -     dx = lambda g, x: g * 2 * x / (1 + x**2)
# +     dx = lambda x, out: 2 * x / out


# %% wrong KernelRepaired: kernel
class KernelRepaired(Pointwise):
    kernel = lambda x: log(x * x)
    dx = lambda x: 2 / x


# %% wrong KernelRepaired: dx is missing
# -     dx = lambda g, x: g * 2 * x / (1 + x**2)


# %% right kernel_backward
def kernel_backward(g_, x_, y_, dx_, dy_):
    for i in range(dx_.shape[0]):
        e = np.exp(y_[i]) * g_[i]
        dx_[i], dy_[i] = e, x_[i] * e


# %% right kernel_backward
def kernel_backward(g_, x_, y_, dx_, dy_):
    for i in range(dx_.size):
        dx_[i] = g_[i] * math.exp(y_[i])
        dy_[i] = g_[i] * x_[i] * math.exp(y_[i])


# %% wrong kernel_backward: dx_ is
def kernel_backward(g_, x_, y_, dx_, dy_):
    for i in range(dx_.size):
        e = math.exp(y_[i])
        dx_[i], dy_[i] = g_[i] * x_[i] * e, g_[i] * e


# %% wrong kernel_backward: dy_ is
# -         dx_[i], dy_[i] = g_[i] * x_[i] * e, g_[i] * e
# +         dx_[i] = g_[i] * e
# +         dy_[i] = x_[i] * e


# %% wrong kernel_backward: read before
def kernel_backward(g_, x_, y_, dx_, dy_):
    for i in range(dx_.size):
        dx_[i] += g_[i] * math.exp(y_[i])
        dy_[i] += g_[i] * x_[i] * math.exp(y_[i])


# %% wrong kernel_backward: element 0 of dy_ was not written
# -         dy_[i] = g_[i] * x_[i] * math.exp(y_[i])


# %% wrong kernel_backward: as a whole
def kernel_backward(g_, x_, y_, dx_, dy_):
    return g_ * math.exp(y_), g_ * x_ * math.exp(y_)


# %% right KernelLean
class KernelLean(Pointwise):
    kernel = lambda x: 1 / (1 + exp(-x))
    dx = lambda x: exp(-x) / (1 + exp(-x)) ** 2


# %% right KernelLean
class KernelLean(Pointwise):
    kernel = lambda t: exp(t) / (1 + exp(t))
    dt = lambda out: out * (1 - out)


# %% wrong KernelLean: 64
# -     dx = lambda x: exp(-x) / (1 + exp(-x)) ** 2
# +     dx = lambda x, out: exp(-x) * out * out

# %% wrong KernelLean: the gradient
# -     dx = lambda x: exp(-x) / (1 + exp(-x)) ** 2
# +     dx = lambda out: 1 - out


# %% wrong KernelLean: the kernel
class KernelLean(Pointwise):
    kernel = lambda x: 1 / (1 + exp(x))
    dx = lambda out: out * (1 - out)


# %% wrong KernelLean: dx is missing
# -     dx = lambda x: exp(-x) / (1 + exp(-x)) ** 2


# %% right KernelDistance
class KernelDistance(Pointwise):
    kernel = lambda x, y: (x * x + y * y + 1) ** 0.5
    dx = lambda x, y: x / (x * x + y * y + 1) ** 0.5
    dy = lambda x, y: y / (x * x + y * y + 1) ** 0.5


# %% right KernelDistance
from minigrad.ops.elementary import sqrt


class KernelDistance(Pointwise):
    kernel = lambda a, b: sqrt(1 + a**2 + b**2)
    da = lambda g, a, out: g * a / out
    db = lambda g, b, out: g * b / out


# %% wrong KernelDistance: the kernel
class KernelDistance(Pointwise):
    kernel = lambda x, y: torch.sqrt(x * x + y * y)
    dx = lambda x, out: x / out
    dy = lambda y, out: y / out


# %% wrong KernelDistance: expected
class KernelDistance(Pointwise):
    kernel = lambda x, y: torch.sqrt(x * x + y * y + 1)
    dx = lambda x, out: 1 / (2 * out)
    dy = lambda y, out: 1 / (2 * out)


# %% wrong KernelDistance: dy is missing
class KernelDistance(Pointwise):
    kernel = lambda x, y: torch.sqrt(x * x + y * y + 1)
    dx = lambda x, out: x / out
