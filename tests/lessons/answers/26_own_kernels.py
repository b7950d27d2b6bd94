# %% right KernelRepaired
class KernelRepaired(Pointwise):
    kernel = lambda x: log(1 + x * x)
    dx = lambda g, x: g * 2 * x / (1 + x**2)


# %% right KernelRepaired
class KernelRepaired(Pointwise):
    kernel = lambda x: log(1 + x * x)
    dx = lambda x, out: 2 * x * exp(-out)


# %% right KernelRepaired
class KernelRepaired(Pointwise):
    kernel = lambda number: torch.log1p(number**2)

    def dnumber(number):
        inside = 1 + number * number
        return 2 * number / inside


# %% wrong KernelRepaired: gradient
class KernelRepaired(Pointwise):
    kernel = lambda x: log(1 + x * x)
    dx = lambda x, out: 2 * x / out


# %% wrong KernelRepaired: gradient
class KernelRepaired(Pointwise):
    kernel = lambda x: log(1 + x * x)
    dx = lambda x: 1 / (1 + x * x)


# %% wrong KernelRepaired: kernel
class KernelRepaired(Pointwise):
    kernel = lambda x: log(x * x)
    dx = lambda x: 2 / x


# %% wrong KernelRepaired: dx is missing
class KernelRepaired(Pointwise):
    kernel = lambda x: log(1 + x * x)


# %% right kernel_backward
from numba import njit


@njit
def kernel_backward(g_, x_, y_, dx_, dy_):
    for i in range(len(g_)):
        dx_[i] = g_[i] * math.exp(y_[i])
        dy_[i] = dx_[i] * x_[i]


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


# %% right kernel_backward
def kernel_backward(g, x, y, dx, dy):
    for i, (a, b, c) in enumerate(zip(g, x, y)):
        a *= math.e**c
        dx[i] = a
        dy[i] = a * b


# %% wrong kernel_backward: dx_ is
def kernel_backward(g_, x_, y_, dx_, dy_):
    for i in range(dx_.size):
        e = math.exp(y_[i])
        dx_[i], dy_[i] = g_[i] * x_[i] * e, g_[i] * e


# %% wrong kernel_backward: dy_ is
def kernel_backward(g_, x_, y_, dx_, dy_):
    for i in range(dx_.size):
        e = math.exp(y_[i])
        dx_[i] = g_[i] * e
        dy_[i] = x_[i] * e


# %% wrong kernel_backward: as a whole
def kernel_backward(g_, x_, y_, dx_, dy_):
    e = np.exp(y_)
    dx_[:] = g_ * e
    dy_[:] = g_ * x_ * e


# %% right kernel_backward
from minigrad.kernels.vecmath import exp as vector_exp


def kernel_backward(g_, x_, y_, dx_, dy_):
    for i in range(dx_.size):
        dx_[i] = g_[i] * vector_exp(y_[i])
        dy_[i] = dx_[i] * x_[i]


# %% wrong kernel_backward: read before
def kernel_backward(g_, x_, y_, dx_, dy_):
    for i in range(dx_.size):
        dx_[i] += g_[i] * math.exp(y_[i])
        dy_[i] += g_[i] * x_[i] * math.exp(y_[i])


# %% wrong kernel_backward: element 0 of dy_ was not written
def kernel_backward(g_, x_, y_, dx_, dy_):
    for i in range(dx_.size):
        dx_[i] = g_[i] * math.exp(y_[i])


# %% wrong kernel_backward: as a whole
def kernel_backward(g_, x_, y_, dx_, dy_):
    return g_ * math.exp(y_), g_ * x_ * math.exp(y_)


# %% right KernelLean
class KernelLean(Pointwise):
    kernel = lambda x: 1 / (1 + exp(-x))
    dx = lambda x: exp(-x) / (1 + exp(-x)) ** 2


# %% right KernelLean
class KernelLean(Pointwise):
    def kernel(x):
        return torch.sigmoid(x)

    def dx(g, out):
        return g * (out - out * out)


# %% right KernelLean
class KernelLean(Pointwise):
    kernel = lambda t: exp(t) / (1 + exp(t))
    dt = lambda out: out * (1 - out)


# %% wrong KernelLean: 64
class KernelLean(Pointwise):
    kernel = lambda x: 1 / (1 + exp(-x))
    dx = lambda x, out: exp(-x) * out * out


# %% wrong KernelLean: the gradient
class KernelLean(Pointwise):
    kernel = lambda x: 1 / (1 + exp(-x))
    dx = lambda out: 1 - out


# %% wrong KernelLean: the kernel
class KernelLean(Pointwise):
    kernel = lambda x: 1 / (1 + exp(x))
    dx = lambda out: out * (1 - out)


# %% wrong KernelLean: dx is missing
class KernelLean(Pointwise):
    kernel = lambda x: 1 / (1 + exp(-x))


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


# %% right KernelDistance
class KernelDistance(Pointwise):
    def kernel(x, y):
        squares = x * x + y * y
        return torch.sqrt(squares + 1)

    def dx(x, out):
        return x / out

    def dy(y, out):
        return y / out


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
