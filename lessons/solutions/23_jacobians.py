# %% jacobian_by_hand
jacobian_by_hand = [[3.0, 2.0], [4.0, 0.0], [0.0, 1.0]]

# %% jacobian_modes
jacobian_modes = ["jacrev", "jacfwd", "jacrev"]


# %% jacobian_diagonal
def jacobian_diagonal(f, x):
    return jvp(f, (x,), (torch.ones_like(x),))[1]


# %% hessian_by_hand
hessian_by_hand = [[4.0, 2.0], [2.0, 12.0]]
