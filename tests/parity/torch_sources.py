"""Programs that run in both libraries, from one source: `torch` is the one or the other."""

PROGRAMS = {}


def program(*shapes, differs=()):
    """Enter a program with the shapes of its arguments.  `differs` says in what the two records do; a comment says why."""

    def enter(f):
        PROGRAMS[f.__name__] = (f, shapes, set(differs))
        return f

    return enter


@program((2, 3), (3,))
def pointwise_with_broadcasting(torch, x, w):
    y = (3 - x) / 2 * w + w.exp()
    return (-y).sigmoid() ** 2


@program((3,))
def operators_and_aliases(torch, x):
    y = (2**x + 1 / x - (7 % x.detach())) * (x.detach() // 1)
    z = torch.multiply(x, abs(-x)).float().double()
    return y.swapaxes(0, 0) + torch.concat([z]) + (x > 0) * ~(x < 1) + torch.true_divide(x, 3).clip(0)


@program((4, 3), (3, 5), (5,))
def matmul(torch, x, w, b):
    return (torch.tanh(x @ w + b) * 2).sum()


@program((3,))
def shared_leaf(torch, x):
    return (x * x + x * x.sin()).sum()


@program((4, 6))
def views(torch, x):
    a = x.T
    b = x.reshape(6, 4) * a
    return b.view(24).sum() + x.transpose(0, 1).mean() + x.permute(1, 0).unsqueeze(0).expand(2, 6, 4).sum()


@program((3,))
def written_in_place(torch, x):
    y = x * 1
    y.mul_(x)
    y += 1
    return (y * y).sum()


# PyTorch's write to a view sends back to its base at once (CopySlices), minigrad's through the view
@program((2, 3), differs=["edges", "gradients", "backward"])
def written_through_a_view(torch, x):
    y = x * 1
    v = y[0]
    v.mul_(2)
    return (y * y).sum()


# PyTorch keeps a mask, minigrad the indices of what it selects
@program((4, 3), differs=["saved"])
def indexing(torch, x):
    y = x[1:3] * x[0]
    return y[:, 1].sum() + x[x > 0].sum()


# one node of PyTorch's sends the gradients of all pieces at once
@program((4, 3), differs=["edges"])
def split_and_cat(torch, x):
    a, b = x.split(2)
    c = torch.cat([b, a], 1)
    return torch.stack([c, c * 2]).sum(), c.max(1)[0]


# PyTorch keeps the number of examples as well
@program((4, 3), differs=["saved"])
def cross_entropy(torch, x):
    return torch.nn.functional.cross_entropy(x, torch.tensor([0, 2, 1, 1]))


@program((3, 2))
def several_outputs(torch, x):
    return {"a": x.exp(), "b": [x.sum(), x > 0]}


# PyTorch's tangents end where a gradient is read
@program((3,), differs=["tangents", "jvp"])
def double_backward(torch, x):
    (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    return (g * g).sum()


@program((3,))
def without_grad(torch, x):
    with torch.no_grad():
        y = x * 2
    return (x * y + x.detach()).sum()


@program((3,))
def a_hook_that_changes_a_gradient(torch, x):
    y = x * 2
    y.register_hook(lambda g: g * 10)
    return (y * x).sum()


@program((3,))
def backward_by_the_program(torch, x):
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    return y


@program((4, 3), (2, 3), (2,))
def training_step(torch, x, w, b):
    w, b = w.detach().requires_grad_(), b.detach().requires_grad_()
    step = torch.optim.SGD([w, b], lr=0.1)
    loss = torch.nn.functional.linear(x.detach(), w, b).pow(2).mean()
    loss.backward()
    step.step()
    return loss


@program((3,))
def a_zero_dimensional_result(torch, x):
    return x.sum() * 2


@program((0, 3))
def empty(torch, x):
    return x * 2


@program((2, 8), (8, 8))
def layers_of_a_net(torch, x, w):
    F = torch.nn.functional
    h = F.relu(F.linear(x, w))
    h = F.layer_norm(h, (8,))
    return F.softmax(F.gelu(h), dim=-1).log().mean()


@program((2, 1, 6, 6), (3, 1, 3, 3), (3,))
def convolution(torch, x, w, b):
    F = torch.nn.functional
    return F.max_pool2d(F.conv2d(x, w, b), 2).flatten(1).sum()


# "in place" is said here of the first argument alone; PyTorch also keeps mean and deviation of the batch
@program((4, 3), (3,), (3,), differs=["operations", "saved"])
def running_statistics(torch, x, w, b):
    mean, variance = torch.zeros(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)
    return torch.nn.functional.batch_norm(x, mean, variance, w, b, True).exp() + mean


@program((2, 3))
def vmapped(torch, x):
    return torch.func.vmap(lambda row: row.sin().sum())(x)


# what the nodes of both levels keep is counted once; PyTorch's tangents end at a gradient
@program((3,), differs=["saved", "freed", "jvp"])
def gradient_by_transform(torch, x):
    return torch.func.grad(lambda z: z.sin().sum())(x)


@program((2,))
def made_in_the_program(torch, x):
    w = torch.nn.Parameter(torch.ones(2, dtype=torch.float64) * 0.5)
    v = torch.arange(2, dtype=torch.float64).reshape(2, 1).requires_grad_()
    return (w * w * x @ v).sum()


@program((2,))
def filled_before_use(torch, x):
    w = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    with torch.no_grad():
        w.fill_(3.0)
        w.add_(1.0)
    return (w * x * w).sum()


@program((2,))
def filled_by_its_data(torch, x):
    w = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    y = w * x
    w.data.fill_(3.0)
    return (w * x + y).sum()


@program((2,))
def leaves_on_the_same_memory(torch, x):
    y = x.detach().requires_grad_()
    h = (x * y).detach().requires_grad_()
    return (x * x * y).sum() + (h * x).sum()


@program((2,))
def a_leaf_that_is_used_before_it_is_one(torch, x):
    y = x.detach()
    z = y * 2
    y.requires_grad_()
    return (z * y).sum() + (x * x.detach().requires_grad_(False)).sum()


@program((2,))
def a_leaf_written_between_uses(torch, x):
    first = (x * 3.0).sum()
    with torch.no_grad():
        x.mul_(2.0)
    return first + (x * x).sum()


@program((2,))
def two_steps(torch, w):
    step = torch.optim.SGD([w], lr=0.1)
    for again in (False, True):
        if again:
            step.zero_grad(set_to_none=False)
        loss = (w * w).sum()
        loss.backward()
        step.step()
    return loss


@program((2,))
def a_gradient_read_after_a_write(torch, w):
    loss = (w * w).sum()
    loss.backward()
    with torch.no_grad():
        w.mul_(0.9)
        w.sub_(w.grad * 0.1)
    return loss


# PyTorch does not say which line receives the results of autograd.grad, so the leaf has no name there
@program((2,), differs=["kinds"])
def a_gradient_that_becomes_a_leaf(torch, x):
    (g,) = torch.autograd.grad((x**3).sum(), x)
    return (g.requires_grad_() * x).sum()
