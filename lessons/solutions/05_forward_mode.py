# %% forward_smallest
forward_smallest = 2.0

# %% forward_tangent
forward_tangent = 102.0


# %% forward_quotient
def forward_quotient(a, a_tangent, b, b_tangent):
    value = a / b
    return value, (a_tangent - value * b_tangent) / b


# %% forward_jacobian
def forward_jacobian(f, x):
    columns = [torch.func.jvp(f, (x,), (tangent,))[1] for tangent in torch.eye(x.numel())]
    return torch.stack(columns, dim=1)


# %% forward_passes
forward_passes = [6, 3, 1]
