# %% right jacobian_by_hand
jacobian_by_hand = ((3, 2), (4, 0), (0, 1))

# %% right jacobian_by_hand
jacobian_by_hand = torch.tensor([[3, 2], [4, 0], [0, 1]])

# %% right jacobian_by_hand
jacobian_by_hand = jacrev(lambda x: torch.stack([x[0] * x[1], x[0] ** 2, x[1]]))(torch.tensor([2.0, 3.0]))

# %% right jacobian_by_hand
jacobian_by_hand = np.array([[3.0, 2.0], [4.0, 0.0], [0.0, 1.0]])

# %% wrong jacobian_by_hand: swapped
jacobian_by_hand = [[3.0, 4.0, 0.0], [2.0, 0.0, 1.0]]

# %% wrong jacobian_by_hand: expected 3
jacobian_by_hand = [[2.0, 3.0], [4.0, 0.0], [0.0, 1.0]]

# %% wrong jacobian_by_hand: shape
jacobian_by_hand = [3.0, 2.0, 4.0, 0.0, 0.0, 1.0]

# %% wrong jacobian_by_hand: expected 4
jacobian_by_hand = [[3, 2], [2, 0], [0, 1]]

# %% right jacobian_modes
jacobian_modes = ("jacrev", "jacfwd", "jacrev")

# %% right jacobian_modes
jacobian_modes = "jacrev jacfwd jacrev".split()

# %% right jacobian_modes
jacobian_modes = ["Jacrev", "Jacfwd ", "jacrev"]

# %% right jacobian_modes
jacobian_modes = [jacrev, jacfwd, jacrev]

# %% wrong jacobian_modes: 1 result
jacobian_modes = ["jacfwd", "jacfwd", "jacrev"]

# %% wrong jacobian_modes: 784
jacobian_modes = ["jacrev", "jacfwd", "jacfwd"]

# %% wrong jacobian_modes: three words
jacobian_modes = "jacrev"

# %% right jacobian_modes
jacobian_modes = np.array(["jacrev", "jacfwd", "jacrev"])


# %% right jacobian_diagonal
def jacobian_diagonal(f, x):
    return vjp(f, x)[1](torch.ones_like(x))[0]


# %% right jacobian_diagonal
def jacobian_diagonal(f, x):
    return grad(lambda x: f(x).sum())(x)


# %% right jacobian_diagonal
def jacobian_diagonal(f, x):
    x = x.detach().clone().requires_grad_()
    f(x).sum().backward()
    return x.grad


# %% right jacobian_diagonal
def jacobian_diagonal(f, x):
    return vmap(grad(f))(x.flatten()).reshape(x.shape).numpy()


# %% wrong jacobian_diagonal: whole matrix
def jacobian_diagonal(f, x):
    return jacrev(f)(x)


# %% wrong jacobian_diagonal: matrix of 300
def jacobian_diagonal(f, x):
    return jacfwd(f)(x).reshape(x.numel(), x.numel()).diagonal().reshape(x.shape)


# %% wrong jacobian_diagonal: your code raises
def jacobian_diagonal(f, x):
    return grad(f)(x)


# %% wrong jacobian_diagonal: expected 12
def jacobian_diagonal(f, x):
    return jvp(f, (x,), (x,))[1]


# %% right hessian_by_hand
hessian_by_hand = ((4, 2), (2, 12))

# %% right hessian_by_hand
hessian_by_hand = hessian(lambda x: x[0] ** 2 * x[1] + x[1] ** 3)(torch.tensor([1.0, 2.0]))

# %% right hessian_by_hand
hessian_by_hand = np.array([[4, 2], [2, 12]])

# %% wrong hessian_by_hand: gradient
hessian_by_hand = [4, 13]

# %% wrong hessian_by_hand: expected 2
hessian_by_hand = [[4, 0], [0, 12]]

# %% wrong hessian_by_hand: expected 12
hessian_by_hand = [[4, 2], [2, 6]]

# %% wrong hessian_by_hand: shape
hessian_by_hand = [4, 2, 2, 12]
