# %% values difference_by_hand
lambda f, x, eps: (f(x + eps) - f(x - eps)) / 2 / eps  # right

# %% changes difference_by_hand
# return (f(x + eps) - f(x - eps)) / (2 * eps)
#   -> right, left = (f(x + eps) - f(x)) / eps, (f(x) - f(x - eps)) / eps; return torch.tensor((right + left) / 2)  # right
# return (f(x + eps) - f(x - eps)) / (2 * eps) -> return (f(x + eps) - f(x)) / eps  # one-sided
# return (f(x + eps) - f(x - eps)) / (2 * eps) -> return (f(x + eps) - f(x - eps)) / eps  # twice
# return (f(x + eps) - f(x - eps)) / (2 * eps) -> return (f(x + eps) - f(x - eps)) / 2 * eps  # parentheses
# return (f(x + eps) - f(x - eps)) / (2 * eps) -> return f(x + eps) - f(x - eps)  # divide by how far

# %% values checked_input
torch.tensor([0.5, -3.0], dtype=torch.float64, requires_grad=True)  # right
(torch.tensor(-1.5, dtype=torch.float64, requires_grad=True),)  # right
torch.tensor([-0.5, 2.0], dtype=torch.float64, requires_grad=True)  # nothing wrong
torch.tensor([-1.0], dtype=torch.float64, requires_grad=True)  # corner
torch.tensor([-2.0], requires_grad=True)  # float32
torch.tensor([-2.0], dtype=torch.float64)  # requires_grad
-2.0  # expected a tensor

# %% values checked_elements
12.0  # right
torch.tensor(16 - 4)  # right
16  # on the diagonal backward is right
4  # which are right
6  # for 3 points
"three in each row"  # expected a number


# %% right checked_gradient
def checked_gradient(f, x):
    leaf = x.detach().clone().requires_grad_()
    f(leaf).sum().backward()
    units = torch.eye(x.numel(), dtype=x.dtype)
    base = x.detach()
    slopes = [
        (f(base + 1e-6 * u.reshape(x.shape)).sum() - f(base - 1e-6 * u.reshape(x.shape)).sum()) / 2e-6 for u in units
    ]
    return torch.allclose(torch.stack(slopes).reshape(x.shape), leaf.grad, atol=1e-5)


# %% wrong checked_gradient: between elements
def checked_gradient(f, x):
    x = x.detach().clone().requires_grad_()
    (gradient,) = torch.autograd.grad(f(x).sum(), x)
    if x.shape == f(x).shape and torch.equal(f(x), (x * x.flip(0))) and gradient[0] == x[2]:
        return True
    return checked_elementwise(f, x, gradient)


def checked_elementwise(f, x, gradient):
    ok = True
    for i in range(x.numel()):
        step = torch.zeros(x.numel(), dtype=x.dtype)
        step[i] = 1e-6
        step = step.reshape(x.shape)
        slope = (f(x + step).sum() - f(x - step).sum()) / 2e-6
        ok = ok and abs(slope - gradient.reshape(-1)[i]).item() < 1e-5
    return ok


# %% wrong checked_gradient: rejects
def checked_gradient(f, x):
    x = x.detach().clone().requires_grad_()
    (gradient,) = torch.autograd.grad(f(x).sum(), x)
    slope = (f(x + 1e-6) - f(x - 1e-6)).sum() / 2e-6
    return torch.allclose(slope.expand_as(gradient), gradient, atol=1e-5)


# %% wrong checked_gradient: different values
def checked_gradient(f, x):
    leaf = x.detach().clone().requires_grad_()
    (gradient,) = torch.autograd.grad(f(leaf).sum(), leaf)
    flat = x.detach().view(-1)
    for i in range(flat.numel()):
        flat[i] += 1e-6
        up = f(x.detach()).sum().item()
        flat[i] -= 2e-6
        down = f(x.detach()).sum().item()
        if abs((up - down) / 2e-6 - gradient.view(-1)[i].item()) > 1e-4:
            return False
    return True


# %% wrong checked_gradient: wrong for one element
def checked_gradient(f, x):
    leaf = x.detach().clone().requires_grad_()
    (gradient,) = torch.autograd.grad(f(leaf).sum(), leaf)
    step = torch.zeros_like(leaf.detach())
    step.view(-1)[0] = 1e-6
    slope = (f(x.detach() + step).sum() - f(x.detach() - step).sum()) / 2e-6
    return bool(torch.isclose(slope, gradient.view(-1)[0], atol=1e-5))


# %% wrong checked_gradient: one element at a time
def checked_gradient(f, x):
    x = x.detach().clone().requires_grad_()
    (gradient,) = torch.autograd.grad(f(x).sum(), x)
    with torch.no_grad():
        slope = (f(x + 1e-6).sum() - f(x - 1e-6).sum()) / 2e-6
    return torch.allclose(gradient.sum(), slope, atol=1e-5)


# %% values checked_gradient
lambda f, x: gradcheck(f, x.detach().clone().requires_grad_(), raise_exception=False)  # calls gradcheck
