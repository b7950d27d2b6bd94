# %% right saved_bytes_of_product
saved_bytes_of_product = 12000

# %% right saved_bytes_of_product
saved_bytes_of_product = draw(
    lambda x: (x.sin() * x.cos()).sum(), torch.ones(1000, requires_grad=True)
).graph.saved_bytes()

# %% right saved_bytes_of_product
x = torch.ones(1000, requires_grad=True)
saved_bytes_of_product = torch.tensor(3 * x.nbytes)

# %% wrong saved_bytes_of_product: once
saved_bytes_of_product = 16000

# %% wrong saved_bytes_of_product: factors
saved_bytes_of_product = 8000

# %% wrong saved_bytes_of_product: each has 4 bytes
saved_bytes_of_product = 3000


# %% right SavedTanh
class SavedTanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(result := x.tanh())
        return result

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output - grad_output * ctx.saved_tensors[0].square()


# %% right SavedTanh
class SavedTanh(torch.autograd.Function):
    @staticmethod
    def forward(x):
        e = (2 * x).exp()
        return (e - 1) / (e + 1)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def vjp(ctx, g):
        (y,) = ctx.saved_tensors
        return g * (1 - y) * (1 + y)


# %% right SavedTanh
class SavedTanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        result = torch.from_numpy(__import__("numpy").tanh(x.detach().numpy()))
        ctx.save_for_backward(result, None)
        return result

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output):
        result, _ = ctx.saved_tensors
        return (grad_output * (1 - result * result),)


# %% wrong SavedTanh: save_for_backward
class SavedTanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x.tanh()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * (1 - ctx.x.tanh() ** 2)


# %% wrong SavedTanh: the result
class SavedTanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.tanh()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (1 - x.tanh() ** 2)


# %% wrong SavedTanh: 2 tensors are saved
class SavedTanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        result = x.tanh()
        ctx.save_for_backward(x, result)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        _, result = ctx.saved_tensors
        return grad_output * (1 - result**2)


# %% wrong SavedTanh: the gradient
class SavedTanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        result = x.tanh()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return 1 - result**2


# %% wrong SavedTanh: as ctx.x besides
class SavedTanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        result = x.tanh()
        ctx.x = x
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return grad_output * (1 - result**2)


# %% right saved_then_changed
def saved_then_changed(x):
    e = x.exp()
    return e + 2 * e


# %% right saved_then_changed
saved_then_changed = lambda x: 3 * torch.exp(x)


# %% right saved_then_changed
def saved_then_changed(x):
    e = x.exp()
    doubled = e.clone().mul_(2)
    return doubled.add_(e)


# %% wrong saved_then_changed: modified by an inplace operation
def saved_then_changed(x):
    e = x.exp()
    doubled = e.clone()
    e.mul_(2)
    return doubled + e / 2 * 2 - doubled + doubled


# %% wrong saved_then_changed: is 4
def saved_then_changed(x):
    e = x.exp().clone()
    doubled = e.mul_(2)
    return doubled + e


# %% wrong saved_then_changed: does not require grad
def saved_then_changed(x):
    e = x.exp().detach()
    return e * 2 + e


# %% right SavedPower
class SavedPower(torch.autograd.Function):
    @staticmethod
    def forward(x, n):
        return x**n

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.n = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (ctx.n * x ** (ctx.n - 1)), None

    @staticmethod
    def jvp(ctx, x_t, n_t):
        (x,) = ctx.saved_tensors
        return x_t * (ctx.n * x ** (ctx.n - 1))


# %% right SavedPower
class SavedPower(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, n):
        ctx.saved_data["n"] = n
        ctx.save_for_backward(x)
        ctx.save_for_forward(n * x ** (n - 1))
        return torch.pow(x, n)

    @staticmethod
    def vjp(ctx, grad_output):
        x, n = ctx.saved_tensors[0], ctx.saved_data["n"]
        return grad_output * n * torch.pow(x, n - 1), None

    @staticmethod
    def jvp(ctx, x_t, _):
        (derivative,) = ctx.saved_tensors
        return derivative * x_t


# %% right SavedPower
class SavedPower(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, exponent):
        ctx.derivative = lambda t: exponent * t ** (exponent - 1)
        ctx.save_for_backward(x)
        return x**exponent

    @staticmethod
    def backward(ctx, g):
        return g * ctx.derivative(*ctx.saved_tensors), None

    @staticmethod
    def jvp(ctx, t, *_):
        return t * ctx.derivative(*ctx.saved_tensors)


# %% wrong SavedPower: the gradient
class SavedPower(SavedPower):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * x ** (ctx.n - 1), None


# %% wrong SavedPower: returns 1 gradient
class SavedPower(SavedPower):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * ctx.n * x ** (ctx.n - 1)


# %% wrong SavedPower: save_for_backward
class SavedPower(SavedPower):
    @staticmethod
    def forward(ctx, x, n):
        ctx.x, ctx.n = x, n
        return x**n

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.n * ctx.x ** (ctx.n - 1), None


# %% wrong SavedPower: only takes tensors
class SavedPower(SavedPower):
    @staticmethod
    def forward(ctx, x, n):
        ctx.save_for_backward(x, n)
        return x**n


# %% wrong SavedPower: implement the jvp
class SavedPower(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, n):
        ctx.save_for_backward(x)
        ctx.n = n
        return x**n

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * ctx.n * x ** (ctx.n - 1), None


# %% wrong SavedPower: the tangent
class SavedPower(SavedPower):
    @staticmethod
    def jvp(ctx, x_t, n_t):
        return x_t * ctx.n


# %% right bytes_saved
def bytes_saved(f, *args):
    seen = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t.nbytes) or t, lambda t: t):
        f(*args)
    return sum(seen)


# %% right bytes_saved
def bytes_saved(f, *args):
    kept = []

    def pack(t):
        kept.append(t)
        return len(kept) - 1

    with torch.autograd.graph.saved_tensors_hooks(pack, kept.__getitem__):
        f(*args)
    return sum(t.numel() * t.element_size() for t in kept)


# %% right bytes_saved
def bytes_saved(f, *args):
    if not any(a.requires_grad for a in args):
        return 0
    ops = torch.record(f, *args).to_dict()["ops"]
    return sum(entry["bytes"] for op in ops for entry in op["saved"])


# %% wrong bytes_saved: says 12
def bytes_saved(f, *args):
    total = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: total.append(t.numel()) or t, lambda t: t):
        f(*args)
    return sum(total)


# %% wrong bytes_saved: is there a return
def bytes_saved(f, *args):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        f(*args)


# %% wrong bytes_saved: says 16
def bytes_saved(f, *args):
    return f(*args).nbytes


# %% wrong bytes_saved: says 32
def bytes_saved(f, *args):
    seen = {}

    def pack(t):
        seen[t.data_ptr()] = t.nbytes
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        f(*args)
    return sum(seen.values())
