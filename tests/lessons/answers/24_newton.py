# %% right newton_minimum
def newton_minimum(f, x):
    while grad(f)(x).abs().max() > 1e-9:
        x = newton_step(f, x)
    return x


# %% changes newton_minimum
# while grad(f)(x).abs().max() > 1e-9: -> for _ in range(20):
#   x = newton_step(f, x) -> x = x - torch.linalg.inv(hessian(f)(x)) @ grad(f)(x)  # right
# if grad(f)(x).norm() < 1e-8: -> if grad(f)(x).norm() > 1e-8:  # without taking a step
# x = x - torch.linalg.solve(hessian(f)(x), grad(f)(x)) -> x = x - hessian(f)(x) @ grad(f)(x)  # farther
# x = x - torch.linalg.solve(hessian(f)(x), grad(f)(x)) -> x = x - 0.001 * grad(f)(x)  # the minimum of a bowl


# %% right level_kind
def level_kind(f, x):
    H = torch.autograd.functional.hessian(f, x)
    lowest, *_, highest = [torch.linalg.eigvalsh(H).min(), torch.linalg.eigvalsh(H).max()]
    return "Minimum" if lowest > 0 else "Maximum" if highest < 0 else "Saddle"


# %% wrong level_kind: determinant
def level_kind(f, x):
    H = hessian(f)(x)
    if torch.linalg.det(H) < 0:
        return "saddle"
    return "minimum" if H[0, 0] > 0 else "maximum"


# %% changes level_kind
# bending = torch.linalg.eigvalsh(hessian(f)(x)) -> bending = hessian(f)(x).diagonal()  # off the diagonal
# if (bending > 0).all(): -> if (bending > 0).any():
#   return "maximum" if (bending < 0).all() else "saddle" -> return "maximum"  # minimum
# drop return "maximum" if (bending < 0).all() else "saddle"  # None

# %% values newton_root
lambda f, x: x - torch.linalg.solve(jacrev(f)(x), f(x))  # where f is

# %% changes newton_root
# for _ in range(15): -> while f(x).norm() > 1e-10:
#   x = x - torch.linalg.solve(jacrev(f)(x), f(x)) -> x = x - torch.func.jacfwd(f)(x).inverse() @ f(x)  # right
# x = x - torch.linalg.solve(jacrev(f)(x), f(x))
#   -> x = x + torch.linalg.solve(torch.autograd.functional.jacobian(f, x), -f(x))  # right
# x = x - torch.linalg.solve(jacrev(f)(x), f(x)) -> x = x - torch.linalg.solve(jacrev(f)(x).mT, f(x))  # not zero
# x = x - torch.linalg.solve(jacrev(f)(x), f(x)) -> x = x - f(x) / grad(f)(x)  # your code raises

# %% changes curvature
# return (v * jvp(grad(f), (x,), (v,))[1]).sum() -> return v @ torch.autograd.functional.hvp(f, x, v)[1]  # right
# return (v * jvp(grad(f), (x,), (v,))[1]).sum() -> return v.reshape(1, -1) @ hvp(f, x, v).reshape(-1, 1)  # right
# return (v * jvp(grad(f), (x,), (v,))[1]).sum()
#   -> slope = lambda y: (grad(f)(y) * v).sum(); return (grad(slope)(x) * v).sum().numpy()  # right
# return (v * jvp(grad(f), (x,), (v,))[1]).sum() -> return v @ hessian(f)(x) @ v  # matrix
# return (v * jvp(grad(f), (x,), (v,))[1]).sum() -> return jvp(grad(f), (x,), (v,))[1]  # that is H v
# return (v * jvp(grad(f), (x,), (v,))[1]).sum() -> return grad(f)(x) @ v  # slope along v
# return (v * jvp(grad(f), (x,), (v,))[1]).sum() -> v @ jvp(grad(f), (x,), (v,))[1]  # expected a number, got None
