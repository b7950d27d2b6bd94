# %% values slope_halved
1e-4  # right
0.0004 * (0.01 / 0.02) ** 2  # right
0.0002  # one-sided
0.00005  # not to its cube
0.0008  # rounding

# %% values complex_slope
lambda f, x: complex_step(f, x, 1e-150)  # right

# %% changes complex_slope
# drop h = 1e-100
#   return f(x + 1j * h).imag / h -> return np.imag(f(complex(x, 1e-200))) / 1e-200  # right
# drop h = 1e-100
#   return f(x + 1j * h).imag / h -> return f(x + 1e-100j).real  # take the imaginary part
# drop h = 1e-100
#   return f(x + 1j * h).imag / h -> return f(x + 1e-100j).imag  # divide by h
# drop h = 1e-100
#   return f(x + 1j * h).imag / h -> return f(x + 1e-3j).imag / 1e-3  # much smaller step
# drop h = 1e-100
#   return f(x + 1j * h).imag / h -> return central(f, x, 1e-5)  # Subtract nothing
# drop h = 1e-100
#   return f(x + 1j * h).imag / h -> return f(x + 1e-100j) / 1e-100  # complex number

# %% changes complex_abs
# return np.where(z.real < 0, -z, z) -> return z * np.sign(z.real)  # right
# return np.where(z.real < 0, -z, z) -> return np.array([-one if one.real < 0 else one for one in z])  # right
# return np.where(z.real < 0, -z, z) -> return np.abs(z)  # imaginary part is lost
# return np.where(z.real < 0, -z, z) -> return np.abs(z.real) + 1j * np.abs(z.imag)  # the slope
# return np.where(z.real < 0, -z, z) -> return np.where(z.imag < 0, -z, z)  # the real part


# %% right forward_gradient
def forward_gradient(f, x):
    out = torch.zeros_like(x)
    for i in range(len(x)):
        direction = torch.zeros_like(x)
        direction[i] = 1
        _, out[i] = torch.func.jvp(f, (x,), (direction,))
    return out


# %% wrong forward_gradient: the gradient
def forward_gradient(f, x):
    return torch.func.jvp(f, (x,), (torch.ones_like(x),))[1]


# %% changes forward_gradient
# return torch.func.jvp(f, (x,), (torch.ones_like(x),))[1] -> return torch.func.grad(f)(x)  # calls grad
# return torch.func.jvp(f, (x,), (torch.ones_like(x),))[1] -> return torch.func.jacfwd(f)(x)  # calls jacfwd
# return torch.func.jvp(f, (x,), (torch.ones_like(x),))[1]
#   -> leaf = x.clone().requires_grad_(); f(leaf).backward(); return leaf.grad  # called 1 times
# return torch.func.jvp(f, (x,), (torch.ones_like(x),))[1]
#   -> return [torch.func.jvp(f, (x,), (e,))[1] for e in torch.eye(len(x), dtype=x.dtype)]  # torch.stack
