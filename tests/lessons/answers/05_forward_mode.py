# %% values forward_smallest
2.0  # right
torch.tensor(2.0)  # right
-10  # not right
0.0  # that is the x where the tangent is smallest
29.0  # that is the tangent at 3
5.0  # that is the tangent at 1 and at -1

# %% values forward_tangent
102  # right
12  # contribution of x
21.0  # tangent of 1
18.0  # value

# %% right forward_tangent
x, y = Dual(3.0, 1.0), Dual(2.0, 10.0)
forward_tangent = (x * x * y).tangent

# %% values forward_quotient
lambda a, da, b, db: [a / b, da / b - a * db / (b * b)]  # right
lambda a, a_tangent, b, b_tangent: (a / b, (a * b_tangent - a_tangent * b) / b**2)  # order of the subtraction

# %% changes forward_quotient
# drop value = a / b
#   return value, (a_tangent - value * b_tangent) / b -> return a / b, (a_tangent * b - a * b_tangent) / b**2  # right
# drop value = a / b
#   value, (a_tangent - value * b_tangent) / b -> a / b, a_tangent / b_tangent  # not divided by each other
# drop value = a / b
#   return value, (a_tangent - value * b_tangent) / b -> return (a_tangent * b - a * b_tangent) / b**2  # as a pair
# return value, (a_tangent - value * b_tangent) / b -> value, (a_tangent - value * b_tangent) / b  # returns None
# a * b_tangent - a_tangent * b -> a_tangent * b + a * b_tangent  # result 1

# %% values forward_jacobian
lambda f, x: torch.func.jacfwd(f)(x)  # right
lambda f, x: torch.func.jacrev(f)(x)  # no backward here
lambda f, x: [torch.func.jvp(f, (x,), (tangent,)) for tangent in torch.eye(x.numel())]  # [3, 2, 2]


# %% right forward_jacobian
def forward_jacobian(f, x):
    def column(tangent):
        return torch.func.jvp(f, (x,), (tangent,))[1]

    return torch.vmap(column, out_dims=1)(torch.eye(len(x)))


# %% wrong forward_jacobian: backward
def forward_jacobian(f, x):
    x = x.clone().requires_grad_()
    y = f(x)
    return torch.stack([torch.autograd.grad(y, x, row, retain_graph=True)[0] for row in torch.eye(y.numel())])


# %% changes forward_jacobian
# drop columns = [torch.func.jvp(f, (x,), (tangent,))[1] for tangent in torch.eye(x.numel())]
#   columns, dim=1 -> [torch.func.jvp(f, (x,), (tangent,))[1] for tangent in torch.eye(x.numel())]  # dim=1
# drop columns = [torch.func.jvp(f, (x,), (tangent,))[1] for tangent in torch.eye(x.numel())]
#   return torch.stack(columns, dim=1) -> return torch.func.jvp(f, (x,), (torch.ones_like(x),))[1]  # shape
# drop columns = [torch.func.jvp(f, (x,), (tangent,))[1] for tangent in torch.eye(x.numel())]
#   columns, -> [torch.func.jvp(f, (x,), (tangent,))[1] for tangent in torch.eye(3)],  # shape (2,)

# %% values forward_passes
(6, 3, 1)  # right
torch.tensor([6, 3, 1])  # right
[3, 6, 1]  # a pass for each input
[6, 3, 6]  # one tangent
[6, 3, 3]  # all three coordinates
[6, 3]  # expected 3 numbers
[18, 18, 1]  # a whole column
