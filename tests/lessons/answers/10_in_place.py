# %% right inplace_gradient
inplace_gradient = (30, 6, 6)

# %% right inplace_gradient
inplace_gradient = torch.tensor([30.0, 6.0, 6.0])

# %% right inplace_gradient
leaf = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
x = leaf * 2
x[0].mul_(5)
x.mul_(3)
x.sum().backward()
inplace_gradient = leaf.grad

# %% wrong inplace_gradient: the last write
inplace_gradient = [10, 2, 2]

# %% wrong inplace_gradient: changes x, too
inplace_gradient = [6.0, 6.0, 6.0]

# %% wrong inplace_gradient: shape
inplace_gradient = 30.0

# %% right inplace_refused
inplace_refused = ("sqrt", "exp")

# %% right inplace_refused
inplace_refused = {"exp", "sqrt"}

# %% right inplace_refused
inplace_refused = []
for f in (torch.neg, torch.exp, torch.cos, torch.sqrt, torch.square):
    y = f(torch.tensor([1.0, 2.0], requires_grad=True))
    y.mul_(2)
    try:
        y.sum().backward()
    except RuntimeError:
        inplace_refused.append(f.__name__)

# %% wrong inplace_refused: -sin(x)
inplace_refused = ["exp", "cos"]

# %% wrong inplace_refused: saves nothing
inplace_refused = ["neg", "exp", "sqrt"]

# %% wrong inplace_refused: 1 more is missing
inplace_refused = ["exp"]

# %% wrong inplace_refused: its input
inplace_refused = ["square", "sqrt"]

# %% wrong inplace_refused: several answers in a list
inplace_refused = "exp"


# %% right inplace_repaired
def inplace_repaired(x):
    return ((x.sigmoid() - 0.5) ** 2).sum()


# %% right inplace_repaired
def inplace_repaired(x):
    s = x.sigmoid().clone()
    s -= 0.5
    return (s * s).sum()


# %% right inplace_repaired
def inplace_repaired(x):
    s = torch.sub(torch.sigmoid(x), 0.5)
    return s @ s


# %% wrong inplace_repaired: modified by an inplace operation
def inplace_repaired(x):
    s = x.sigmoid()
    s.sub_(0.5)
    return s.square().sum()


# %% wrong inplace_repaired: does not require grad
def inplace_repaired(x):
    s = x.sigmoid().detach()
    s -= 0.5
    return (s * s).sum()


# %% wrong inplace_repaired: the result
def inplace_repaired(x):
    s = x.sigmoid()
    return (s * s).sum()


# %% wrong inplace_repaired: the gradient
# -     s = s - 0.5
# +     s.data -= 0.5


# %% right inplace_column
def inplace_column(x):
    y = x * 1
    y[:, 0].mul_(2)
    return y


# %% right inplace_column
# -     y[:, 0] *= 2
# +     column = y.select(1, 0)
# +     column += x[:, 0]

# %% right inplace_column
# -     y[:, 0] *= 2
# +     y[:, :1] = x[:, :1] * 2


# %% wrong inplace_column: has changed
def inplace_column(x):
    with torch.no_grad():
        x[:, 0] *= 2
    return x * 1


# %% wrong inplace_column: cut the graph
# -     y = x.clone()
# +     y = x.detach().clone()


# %% wrong inplace_column: has changed
def inplace_column(x):
    x[:, 0].mul_(2)
    return x


# %% wrong inplace_column: a copy
def inplace_column(x):
    y = x.view(x.shape)
    y[:, 0].mul_(2)
    return y


# %% wrong inplace_column: the result
# -     y[:, 0] *= 2
# +     y[0].mul_(2)

# %% wrong inplace_column: the gradient
# -     y[:, 0] *= 2
# +     y.data[:, 0] *= 2
