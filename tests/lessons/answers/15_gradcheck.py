# %% right difference_by_hand
difference_by_hand = lambda f, x, eps: (f(x + eps) - f(x - eps)) / 2 / eps


# %% right difference_by_hand
def difference_by_hand(f, x, eps):
    above = f(x + eps)
    below = f(x - eps)
    return 0.5 * (above - below) / eps


# %% right difference_by_hand
def difference_by_hand(f, x, eps):
    right, left = (f(x + eps) - f(x)) / eps, (f(x) - f(x - eps)) / eps
    return torch.tensor((right + left) / 2)


# %% wrong difference_by_hand: to one side
def difference_by_hand(f, x, eps):
    return (f(x + eps) - f(x)) / eps


# %% wrong difference_by_hand: twice
def difference_by_hand(f, x, eps):
    return (f(x + eps) - f(x - eps)) / eps


# %% wrong difference_by_hand: brackets
def difference_by_hand(f, x, eps):
    return (f(x + eps) - f(x - eps)) / 2 * eps


# %% wrong difference_by_hand: divide by how far
def difference_by_hand(f, x, eps):
    return f(x + eps) - f(x - eps)


# %% right difference_at_corner
difference_at_corner = 3 / 4

# %% right difference_at_corner
difference_at_corner = central(torch.relu, torch.tensor(0.5e-6, dtype=torch.float64), 1e-6)

# %% right difference_at_corner
difference_at_corner = np.float32(0.75)

# %% wrong difference_at_corner: derivative
difference_at_corner = 1

# %% wrong difference_at_corner: x = 0
difference_at_corner = 0.5

# %% wrong difference_at_corner: apart
difference_at_corner = 1.5

# %% right checked_input
checked_input = torch.tensor([0.5, -3.0], dtype=torch.float64, requires_grad=True)

# %% right checked_input
checked_input = torch.linspace(-5, 5, 4, dtype=torch.double).reshape(2, 2).requires_grad_()

# %% right checked_input
checked_input = (torch.tensor(-1.5, dtype=torch.float64, requires_grad=True),)

# %% wrong checked_input: nothing wrong
checked_input = torch.tensor([-0.5, 2.0], dtype=torch.float64, requires_grad=True)

# %% wrong checked_input: corner
checked_input = torch.tensor([-1.0], dtype=torch.float64, requires_grad=True)

# %% wrong checked_input: float32
checked_input = torch.tensor([-2.0], requires_grad=True)

# %% wrong checked_input: requires_grad
checked_input = torch.tensor([-2.0], dtype=torch.float64)

# %% wrong checked_input: expected a tensor
checked_input = -2.0


# %% right CheckedHypot
class CheckedHypot(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return torch.sqrt(a**2 + b**2)

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        share = grad_output / torch.sqrt(a**2 + b**2)
        return share * a, share * b


# %% right CheckedHypot
class CheckedHypot(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(a, b):
        return (a * a + b * b).sqrt()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output)

    @staticmethod
    def backward(ctx, g):
        a, b, length = ctx.saved_tensors
        return g * (a / length), g * (b / length)


# %% right CheckedHypot
class CheckedHypot(Function):
    @staticmethod
    def forward(ctx, a, b):
        length = (a * a + b * b).sqrt()
        ctx.save_for_backward(a, b, length)
        return length

    @staticmethod
    def vjp(ctx, grad_output):
        a, b, length = ctx.saved_tensors
        by_a = by_b = None
        if ctx.needs_input_grad[0]:
            by_a = grad_output * a / length
        if ctx.needs_input_grad[1]:
            by_b = grad_output * b / length
        return by_a, by_b


# %% wrong CheckedHypot: derivative of output 0
class CheckedHypot(Function):
    @staticmethod
    def forward(ctx, a, b):
        length = (a * a + b * b).sqrt()
        ctx.save_for_backward(a, b, length)
        return length

    @staticmethod
    def backward(ctx, grad_output):
        a, b, length = ctx.saved_tensors
        return grad_output * b / length, grad_output * a / length


# %% wrong CheckedHypot: minigrad check finds
class CheckedHypot(Function):
    @staticmethod
    def forward(ctx, a, b):
        length = (a * a + b * b).sqrt()
        ctx.save_for_backward(a, b, length)
        return length

    @staticmethod
    def backward(ctx, grad_output):
        a, b, length = ctx.saved_tensors
        return grad_output * a / length, b / length


# %% wrong CheckedHypot: second derivatives
class CheckedHypot(Function):
    @staticmethod
    def forward(ctx, a, b):
        length = (a * a + b * b).sqrt()
        ctx.save_for_backward(a / length, b / length)
        return length

    @staticmethod
    def backward(ctx, grad_output):
        by_a, by_b = ctx.saved_tensors
        return grad_output * by_a, grad_output * by_b


# %% wrong CheckedHypot: the result
class CheckedHypot(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * a + b * b

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        return grad_output * 2 * a, grad_output * 2 * b


# %% right checked_gradient
def checked_gradient(f, x):
    x = x.detach().clone().requires_grad_()
    (gradient,) = torch.autograd.grad(f(x).sum(), x)
    array, eps, slopes = x.detach().numpy(), 1e-5, np.zeros(tuple(x.shape))
    for index in np.ndindex(array.shape):
        ends = []
        for step in (eps, -eps):
            moved = array.copy()
            moved[index] += step
            ends.append(f(torch.tensor(moved)).sum().item())
        slopes[index] = (ends[0] - ends[1]) / (2 * eps)
    return np.allclose(gradient.numpy(), slopes, rtol=1e-4, atol=1e-6)


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


# %% right checked_gradient
def checked_gradient(f, x):
    x = x.clone().detach()
    g = torch.func.grad(lambda v: f(v).sum())(x)
    ok = []
    for i in range(x.numel()):
        up, down = x.flatten().clone(), x.flatten().clone()
        up[i] += 1e-6
        down[i] -= 1e-6
        slope = (f(up.view(x.shape)).sum() - f(down.view(x.shape)).sum()) / 2e-6
        ok.append(torch.isclose(slope, g.flatten()[i], atol=1e-5))
    return torch.stack(ok).all()


# %% right checked_gradient
def checked_gradient(f, x):
    leaf = x.detach().clone().requires_grad_()
    (gradient,) = torch.autograd.grad(f(leaf).sum(), leaf)
    x = x.detach()
    flat, good = x.view(-1), True
    for i in range(flat.numel()):
        flat[i] += 1e-6
        up = f(x).sum().item()
        flat[i] -= 2e-6
        down = f(x).sum().item()
        flat[i] += 1e-6
        good = good and abs((up - down) / 2e-6 - gradient.view(-1)[i].item()) < 1e-5
    return good


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


# %% wrong checked_gradient: refuses
def checked_gradient(f, x):
    x = x.detach().clone().requires_grad_()
    (gradient,) = torch.autograd.grad(f(x).sum(), x)
    slope = (f(x + 1e-6) - f(x - 1e-6)).sum() / 2e-6
    return torch.allclose(slope.expand_as(gradient), gradient, atol=1e-5)


# %% wrong checked_gradient: other numbers
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


# %% wrong checked_gradient: calls gradcheck
def checked_gradient(f, x):
    return gradcheck(f, x.detach().clone().requires_grad_(), raise_exception=False)


# %% wrong checked_gradient: one element at a time
def checked_gradient(f, x):
    x = x.detach().clone().requires_grad_()
    (gradient,) = torch.autograd.grad(f(x).sum(), x)
    with torch.no_grad():
        slope = (f(x + 1e-6).sum() - f(x - 1e-6).sum()) / 2e-6
    return torch.allclose(gradient.sum(), slope, atol=1e-5)
