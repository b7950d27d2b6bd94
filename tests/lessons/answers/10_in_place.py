# %% values inplace_dragged
15.0  # right
torch.tensor(15.0)  # right
30.0  # not right
0.0  # that is the value of the result, not the gradient
5.0  # the write multiplies by 3 as well
3.0  # that is the gradient of x after the first operation

# %% values inplace_gradient
(30, 6, 6)  # right
torch.tensor([30.0, 6.0, 6.0])  # right
[10, 2, 2]  # the last write
[6.0, 6.0, 6.0]  # changes x, too
30.0  # shape

# %% values inplace_refused
("sqrt", "exp")  # right
{"exp", "sqrt"}  # right
["exp", "cos"]  # -sin(x)
["neg", "exp", "sqrt"]  # saves nothing
["exp"]  # 1 more is missing
["square", "sqrt"]  # its input
"exp"  # several answers in a list


# %% right inplace_repaired
def inplace_repaired(x):
    return ((x.sigmoid() - 0.5) ** 2).sum()


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
# -     s = s - 0.5

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
# +     y[:, :1] = x[:, :1] * 2

# %% wrong inplace_column: cut the graph
# -     y = x.clone()
# +     y = x.detach().clone()


# %% wrong inplace_column: has changed
def inplace_column(x):
    x[:, 0].mul_(2)
    return x


# %% wrong inplace_column: a copy
# -     y = x * 1
# +     y = x.view(x.shape)

# %% wrong inplace_column: the result
# -     y[:, 0] *= 2
# +     y[0].mul_(2)

# %% wrong inplace_column: the gradient
# -     y[:, 0] *= 2
# +     y.data[:, 0] *= 2
