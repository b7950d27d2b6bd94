# %% forward_tangent
forward_tangent = 102.0


# %% forward_quotient
def forward_quotient(a, a_tangent, b, b_tangent):
    value = a / b
    return value, (a_tangent - value * b_tangent) / b


# %% ForwardHypot
class ForwardHypot(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return (x * x + y * y).sqrt()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output)
        ctx.save_for_forward(*inputs, output)

    @staticmethod
    def backward(ctx, grad_output):
        x, y, r = ctx.saved_tensors
        return grad_output * x / r, grad_output * y / r

    @staticmethod
    def jvp(ctx, x_tangent, y_tangent):
        x, y, r = ctx.saved_tensors
        return (x * x_tangent + y * y_tangent) / r


# %% ForwardCube
class ForwardCube(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x**2

    @staticmethod
    def jvp(ctx, x_tangent):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * x_tangent


# %% forward_jacobian
def forward_jacobian(f, x):
    columns = [torch.func.jvp(f, (x,), (tangent,))[1] for tangent in torch.eye(x.numel())]
    return torch.stack(columns, dim=1)
