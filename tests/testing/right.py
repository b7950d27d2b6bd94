"""Functions that are right, of the kinds that a check could wrongly complain about."""

import minigrad as torch

Function = torch.autograd.Function
RIGHT = {}


def right(*args, skip=()):
    def enter(cls):
        RIGHT[cls.__name__] = (cls, args, skip)
        return cls

    return enter


@right(torch.rand(4, 3), torch.rand(5, 3), torch.rand(5))
class Linear(Function):
    """Arguments of different shapes, and all methods."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, w, b):
        return x @ w.mT + b

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:2])
        ctx.save_for_forward(*inputs[:2])

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g @ w, g.mT @ x, g.sum(0)

    @staticmethod
    def jvp(ctx, dx, dw, db):
        x, w = ctx.saved_tensors
        return dx @ w.mT + x @ dw.mT + db


factor = torch.tensor(5.0, requires_grad=True)  # no Function here uses it


@right(torch.rand(3), 2.0)
class Scale(Function):
    """An attribute on ctx that is called like a parameter outside."""

    @staticmethod
    def forward(ctx, x, by):
        ctx.factor = by
        return x * by

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor, None


@right(torch.rand(3, 4), -1)
class Softmax(Function):
    """Softmax: one argument is a number, and the rule is its own."""

    @staticmethod
    def forward(x, dim):
        e = (x - x.max(dim, keepdim=True).values).exp()
        return e / e.sum(dim, keepdim=True)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.dim = inputs[1]
        ctx.save_for_backward(output)
        ctx.save_for_forward(output)

    @staticmethod
    def backward(ctx, g):
        (s,) = ctx.saved_tensors
        return s * (g - (g * s).sum(ctx.dim, keepdim=True)), None

    @staticmethod
    def jvp(ctx, t, _):
        (s,) = ctx.saved_tensors
        return s * (t - (t * s).sum(ctx.dim, keepdim=True))

    @staticmethod
    def vmap(info, in_dims, x, dim):
        return Softmax.apply(x.movedim(in_dims[0], 0), dim if dim < 0 else dim + 1), 0


@right(torch.rand(3, 4), 0.5, skip=["gradients", "jvp"])
class Reversed(Function):
    """A view of the input with another gradient."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, factor):
        return x.view_as(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.factor = inputs[1]

    @staticmethod
    def backward(ctx, g):
        return -ctx.factor * g, None


@right(torch.rand(3, 4) - 0.5, skip=["gradients"])
class Clipped(Function):
    """A backward that is not linear."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return (g * 2).clamp(-1, 1)


@right(torch.rand(3, 4), torch.tensor([2, 0]))
class Rows(Function):
    """Integers among the arguments."""

    @staticmethod
    def forward(ctx, x, i):
        ctx.save_for_backward(i)
        ctx.shape = x.shape
        return x[i]

    @staticmethod
    def backward(ctx, g):
        (i,) = ctx.saved_tensors
        return torch.zeros(ctx.shape, dtype=g.dtype).index_add(0, i, g), None


@right(torch.rand(5))
class Split(Function):
    """Two views as outputs."""

    @staticmethod
    def forward(ctx, x):
        return x[:2], x[2:]

    @staticmethod
    def backward(ctx, a, b):
        return torch.cat([a, b])


@right(torch.rand(4, 3), torch.rand(3))
class Broadcast(Function):
    """A gradient that is left to be summed."""

    @staticmethod
    def forward(ctx, x, b):
        return x + b

    @staticmethod
    def backward(ctx, g):
        return g, g


@right(torch.rand(3), torch.rand(2, 3))
class TwoInTwoOut(Function):
    """Outputs of different shapes."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, y):
        return x * y, (x + y).sum()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g, h):
        x, y = ctx.saved_tensors
        return (g * y).sum(0) + 2 * h * torch.ones_like(x), g * x + h * torch.ones_like(y)

    @staticmethod
    def jvp(ctx, dx, dy):
        x, y = ctx.saved_tensors
        return dx * y + x * dy, 2 * dx.sum() + dy.sum()


@right(torch.rand(3), torch.rand(3))
class Unmaterialized(Function):
    """None for what is not there, both ways."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, y):
        return x * 2, y * 3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx, g, h):
        return None if g is None else g * 2, None if h is None else h * 3

    @staticmethod
    def jvp(ctx, a, b):
        return None if a is None else a * 2, None if b is None else b * 3


@right(torch.rand(2, 2) + 2 * torch.eye(2))
class Inverse(Function):
    """Not every number is in the domain."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return torch.linalg.inv(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)
        ctx.save_for_forward(output)

    @staticmethod
    def backward(ctx, g):
        (inverse,) = ctx.saved_tensors
        return -inverse.mT @ g @ inverse.mT

    @staticmethod
    def jvp(ctx, t):
        (inverse,) = ctx.saved_tensors
        return -inverse @ t @ inverse


@right(torch.rand(4, 3))
class WithConstant(Function):
    """An output that is the same for all examples."""

    @staticmethod
    def forward(x):
        return x.sum(), torch.ones(2, dtype=x.dtype)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.shape = inputs[0].shape
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx, g, _):
        return g.expand(ctx.shape)

    @staticmethod
    def jvp(ctx, t):
        return t.sum(), None

    @staticmethod
    def vmap(info, in_dims, x):
        return (x.movedim(in_dims[0], 0).flatten(1).sum(1), torch.ones(2, dtype=x.dtype)), (0, None)


@right(torch.rand(3), 0.5)
class Dropout(Function):
    """Random numbers, drawn once for each call."""

    @staticmethod
    def forward(ctx, x, p):
        mask = (torch.rand(x.shape) > p).to(x.dtype) / (1 - p)
        ctx.save_for_backward(mask)
        return x * mask

    @staticmethod
    def backward(ctx, g):
        (mask,) = ctx.saved_tensors
        return g * mask, None


@right(torch.rand(3) * 1e-4 + 1e-4)
class LogOfLittle(Function):
    """Steep slopes."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.log()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g / x


@right(torch.zeros(0, 3))
class Nothing(Function):
    """No elements to begin with."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


@right(torch.rand(64, 32), torch.rand(32, 16))
class Product(Function):
    """More elements than can be moved one by one."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x @ y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g @ y.mT, x.mT @ g
