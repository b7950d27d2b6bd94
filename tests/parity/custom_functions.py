"""The custom Functions that random programs of transforms call.

A program takes its module as `torch`, so the Functions are text that is run once for each library.
"""

FUNCTIONS = """\
class Cube(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x**3, 3 * x**2

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output[1])
        ctx.save_for_forward(inputs[0])

    @staticmethod
    def backward(ctx, grad, grad_slope):
        x, slope = ctx.saved_tensors
        return grad * slope + grad_slope * 6 * x

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * tangent, 6 * x * tangent


class Affine(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, weight, n):
        return x * weight + n

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, weight, ctx.n = inputs
        ctx.save_for_backward(x, weight)
        ctx.save_for_forward(x, weight)

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        to_x = (grad * weight).sum_to_size(x.shape) if ctx.needs_input_grad[0] else None
        to_weight = (grad * x).sum_to_size(weight.shape) if ctx.needs_input_grad[1] else None
        return to_x, to_weight, None

    @staticmethod
    def jvp(ctx, x_t, weight_t, _):
        x, weight = ctx.saved_tensors
        return x_t * weight + x * weight_t


class Product(torch.autograd.Function):  # the engine sums its gradients down to the inputs' shapes
    generate_vmap_rule = True

    @staticmethod
    def forward(x, y):
        return x * y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * y, grad * x

    @staticmethod
    def jvp(ctx, x_t, y_t):
        x, y = ctx.saved_tensors
        return x_t * y + x * y_t


class Sort(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return torch.sort(x.flatten())

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[1])
        ctx.save_for_forward(output[1])
        ctx.shape = tuple(inputs[0].shape)
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx, grad, _):
        if grad is None:
            return None
        (order,) = ctx.saved_tensors
        return Take.apply(grad, torch.argsort(order, -1)).reshape(ctx.shape)

    @staticmethod
    def jvp(ctx, tangent):
        (order,) = ctx.saved_tensors
        return Take.apply(tangent.flatten(), order), None

    @staticmethod
    def vmap(info, in_dims, x):
        x = x.movedim(in_dims[0], 0)
        values, order = BatchedSort.apply(x.reshape(info.batch_size, x[0].numel() if info.batch_size else 0))
        return (values, order), (0, 0)


class BatchedSort(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return torch.sort(x, -1)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[1])
        ctx.save_for_forward(output[1])

    @staticmethod
    def backward(ctx, grad, _):
        (order,) = ctx.saved_tensors
        return torch.gather(grad, -1, torch.argsort(order, -1))

    @staticmethod
    def jvp(ctx, tangent):
        (order,) = ctx.saved_tensors
        return torch.gather(tangent, -1, order), None


class Take(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, order):
        return x.gather(-1, order)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[1])
        ctx.save_for_forward(inputs[1])

    @staticmethod
    def backward(ctx, grad):
        (order,) = ctx.saved_tensors
        return Take.apply(grad, torch.argsort(order, -1)), None

    @staticmethod
    def jvp(ctx, tangent, _):
        (order,) = ctx.saved_tensors
        return Take.apply(tangent, order)


class Turn(torch.autograd.Function):  # its gradients are views
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.movedim(-1, 0).clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad):
        return grad.movedim(0, -1)

    @staticmethod
    def jvp(ctx, tangent):
        return tangent.movedim(-1, 0).clone()  # a later write to the output would reach it in PyTorch


class Same(torch.autograd.Function):  # what it returns has its batch dimension where the argument has it
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad):
        return grad

    @staticmethod
    def jvp(ctx, tangent):
        return tangent


class Double(torch.autograd.Function):  # in place
    @staticmethod
    def forward(x):
        return x.mul_(2)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(inputs[0])

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad

    @staticmethod
    def jvp(ctx, tangent):
        return tangent.mul_(2)


def ones(x):  # the same for all examples, as a direction mostly is; ones_like(x) has a batch dimension where x has one
    return torch.ones(x.shape, dtype=torch.float64)


def no_grad(f):
    with torch.no_grad():
        return f()
"""
CUSTOM = [
    "Cube.apply({t})[0]", "Cube.apply({t})[1]", "sum(Cube.apply({t}))", "Affine.apply({t}, {u}, 2)",
    "Affine.apply({t}, {u}, 0.5)", "Product.apply({t}, {u})", "Product.apply({t}, {t}.sum(0))",
    "Product.apply({t}[:1], {t})", "Sort.apply({t})[0]", "Turn.apply({t})", "Same.apply({t})",
    "Same.apply({u})", "Double.apply({t}.clone())", "Double.apply({t} * 1)",
]  # fmt: skip
