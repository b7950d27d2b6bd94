# %% right forward_tangent
forward_tangent = 102

# %% right forward_tangent
x, y = Dual(3.0, 1.0), Dual(2.0, 10.0)
forward_tangent = (x * x * y).tangent

# %% right forward_tangent
with fwAD.dual_level():
    x, y = fwAD.make_dual(torch.tensor(3.0), torch.tensor(1.0)), fwAD.make_dual(torch.tensor(2.0), torch.tensor(10.0))
    forward_tangent = fwAD.unpack_dual(x * x * y).tangent

# %% wrong forward_tangent: contribution of x
forward_tangent = 12

# %% wrong forward_tangent: tangent of 1
forward_tangent = 21.0

# %% wrong forward_tangent: value
forward_tangent = 18.0


# %% right forward_quotient
def forward_quotient(a, a_tangent, b, b_tangent):
    return a / b, (a_tangent * b - a * b_tangent) / b**2


# %% right forward_quotient
forward_quotient = lambda a, da, b, db: [a / b, da / b - a * db / (b * b)]


# %% right forward_quotient
def forward_quotient(a, a_tangent, b, b_tangent):
    inverse = Dual(1 / b, -b_tangent / b**2)
    result = Dual(a, a_tangent) * inverse
    return result.value, result.tangent


# %% right forward_quotient
def forward_quotient(a, a_tangent, b, b_tangent):
    a, da, b, db = (torch.tensor(v) for v in (a, a_tangent, b, b_tangent))
    return torch.func.jvp(torch.div, (a, b), (da, db))


# %% wrong forward_quotient: order of the subtraction
def forward_quotient(a, a_tangent, b, b_tangent):
    return a / b, (a * b_tangent - a_tangent * b) / b**2


# %% wrong forward_quotient: not divided by each other
def forward_quotient(a, a_tangent, b, b_tangent):
    return a / b, a_tangent / b_tangent


# %% wrong forward_quotient: as a pair
def forward_quotient(a, a_tangent, b, b_tangent):
    return (a_tangent * b - a * b_tangent) / b**2


# %% wrong forward_quotient: returns None
def forward_quotient(a, a_tangent, b, b_tangent):
    value = a / b
    value, (a_tangent - value * b_tangent) / b


# %% wrong forward_quotient: result 1
def forward_quotient(a, a_tangent, b, b_tangent):
    return a / b, (a_tangent * b + a * b_tangent) / b**2


# %% right forward_jacobian
def forward_jacobian(f, x):
    columns = []
    with fwAD.dual_level():
        for i in range(len(x)):
            tangent = torch.zeros_like(x)
            tangent[i] = 1.0
            columns.append(fwAD.unpack_dual(f(fwAD.make_dual(x, tangent))).tangent)
    return torch.stack(columns).T


# %% right forward_jacobian
def forward_jacobian(f, x):
    def column(tangent):
        return torch.func.jvp(f, (x,), (tangent,))[1]

    return torch.vmap(column, out_dims=1)(torch.eye(len(x)))


# %% right forward_jacobian
forward_jacobian = lambda f, x: torch.func.jacfwd(f)(x)


# %% right forward_jacobian
def forward_jacobian(f, x):
    table = torch.zeros(f(x).numel(), x.numel())
    for i, tangent in enumerate(torch.eye(x.numel())):
        _, table[:, i] = torch.func.jvp(f, (x,), (tangent,))
    return table


# %% wrong forward_jacobian: dim=1
def forward_jacobian(f, x):
    return torch.stack([torch.func.jvp(f, (x,), (tangent,))[1] for tangent in torch.eye(x.numel())])


# %% wrong forward_jacobian: backward
def forward_jacobian(f, x):
    x = x.clone().requires_grad_()
    y = f(x)
    return torch.stack([torch.autograd.grad(y, x, row, retain_graph=True)[0] for row in torch.eye(y.numel())])


# %% wrong forward_jacobian: shape
def forward_jacobian(f, x):
    return torch.func.jvp(f, (x,), (torch.ones_like(x),))[1]


# %% wrong forward_jacobian: [3, 2, 2]
def forward_jacobian(f, x):
    return [torch.func.jvp(f, (x,), (tangent,)) for tangent in torch.eye(x.numel())]


# %% wrong forward_jacobian: no backward here
forward_jacobian = lambda f, x: torch.func.jacrev(f)(x)


# %% wrong forward_jacobian: shape (2,)
def forward_jacobian(f, x):
    return torch.stack([torch.func.jvp(f, (x,), (tangent,))[1] for tangent in torch.eye(3)], dim=1)


# %% right forward_passes
forward_passes = (6, 3, 1)

# %% right forward_passes
forward_passes = torch.tensor([6, 3, 1])

# %% right forward_passes
angles, coordinates = 6, 3
forward_passes = [float(angles), float(coordinates), 1.0]

# %% wrong forward_passes: a pass for each input
forward_passes = [3, 6, 1]

# %% wrong forward_passes: one tangent
forward_passes = [6, 3, 6]

# %% wrong forward_passes: all three coordinates
forward_passes = [6, 3, 3]

# %% wrong forward_passes: expected 3 numbers
forward_passes = [6, 3]

# %% wrong forward_passes: a whole column
forward_passes = [18, 18, 1]
