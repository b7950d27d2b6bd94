# %% forward_flat
forward_flat = 1.0


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


# %% ForwardPolar
class ForwardPolar(torch.autograd.Function):
    @staticmethod
    def forward(r, phi):
        return r * phi.cos(), r * phi.sin()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(*inputs)

    @staticmethod
    def jvp(ctx, r_tangent, phi_tangent):
        r, phi = ctx.saved_tensors
        x_tangent = r_tangent * phi.cos() - r * phi.sin() * phi_tangent
        y_tangent = r_tangent * phi.sin() + r * phi.cos() * phi_tangent
        return x_tangent, y_tangent


# %% ForwardSteps
class ForwardSteps(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x[1:] - x[:-1]

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        zero = grad_output.new_zeros(1)
        return torch.cat([zero, grad_output]) - torch.cat([grad_output, zero])

    @staticmethod
    def jvp(ctx, x_tangent):
        return x_tangent[1:] - x_tangent[:-1]
