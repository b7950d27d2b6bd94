# %% values slope_halved
1e-4  # right
0.0004 * (0.01 / 0.02) ** 2  # right
0.0002  # one-sided
0.00005  # not to its cube
0.0008  # rounding

# %% values complex_slope
lambda f, x: complex_step(f, x, 1e-150)  # right


# %% right complex_slope
def complex_slope(f, x):
    return np.imag(f(complex(x, 1e-200))) / 1e-200


# %% wrong complex_slope: take the imaginary part
def complex_slope(f, x):
    return f(x + 1e-100j).real


# %% wrong complex_slope: divide by h
def complex_slope(f, x):
    return f(x + 1e-100j).imag


# %% wrong complex_slope: much smaller step
def complex_slope(f, x):
    return f(x + 1e-3j).imag / 1e-3


# %% wrong complex_slope: Subtract nothing
def complex_slope(f, x):
    return central(f, x, 1e-5)


# %% wrong complex_slope: complex number
def complex_slope(f, x):
    return f(x + 1e-100j) / 1e-100


# %% right complex_abs
def complex_abs(z):
    return z * np.sign(z.real)


# %% right complex_abs
def complex_abs(z):
    return np.array([-one if one.real < 0 else one for one in z])


# %% wrong complex_abs: imaginary part is lost
def complex_abs(z):
    return np.abs(z)


# %% wrong complex_abs: the slope
def complex_abs(z):
    return np.abs(z.real) + 1j * np.abs(z.imag)


# %% wrong complex_abs: the real part
def complex_abs(z):
    return np.where(z.imag < 0, -z, z)


# %% right forward_gradient
def forward_gradient(f, x):
    out = torch.zeros_like(x)
    for i in range(len(x)):
        direction = torch.zeros_like(x)
        direction[i] = 1
        _, out[i] = torch.func.jvp(f, (x,), (direction,))
    return out


# %% right forward_gradient
def forward_gradient(f, x):
    return torch.tensor([torch.func.jvp(f, (x,), (e.to(x.dtype),))[1].item() for e in torch.eye(len(x))], dtype=x.dtype)


# %% wrong forward_gradient: calls grad
def forward_gradient(f, x):
    return torch.func.grad(f)(x)


# %% wrong forward_gradient: calls jacfwd
def forward_gradient(f, x):
    return torch.func.jacfwd(f)(x)


# %% wrong forward_gradient: the gradient
def forward_gradient(f, x):
    return torch.func.jvp(f, (x,), (torch.ones_like(x),))[1]


# %% wrong forward_gradient: called 1 times
def forward_gradient(f, x):
    leaf = x.clone().requires_grad_()
    f(leaf).backward()
    return leaf.grad


# %% wrong forward_gradient: torch.stack
def forward_gradient(f, x):
    return [torch.func.jvp(f, (x,), (e,))[1] for e in torch.eye(len(x), dtype=x.dtype)]
