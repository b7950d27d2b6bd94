# %% values forward_flat
1.0  # right
[1.0001]  # right
-1.0  # not right
0.0  # that is the gradient, and x
2.718  # that is the result at 1


# %% right ForwardHypot
class ForwardHypot(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return torch.hypot(x, y)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(*inputs)

    @staticmethod
    def jvp(ctx, x_tangent, y_tangent):
        x, y = ctx.saved_tensors
        return (x * x_tangent + y * y_tangent) / torch.hypot(x, y)


# %% wrong ForwardHypot: returns 2 tangents
# -         return torch.hypot(x, y)
# +         return (x * x + y * y).sqrt()
# -         ctx.save_for_forward(*inputs)
# +         ctx.save_for_forward(*inputs, output)
# -         x, y = ctx.saved_tensors
# -         return (x * x_tangent + y * y_tangent) / torch.hypot(x, y)
# +         x, y, r = ctx.saved_tensors
# +         return x_tangent * x / r, y_tangent * y / r

# %% changes ForwardHypot
# x_tangent * x / r, y_tangent * y / r -> x * x_tangent + y * y_tangent  # y's tangent = 0, the tangent is 3
# def jvp(ctx, x_tangent, y_tangent): -> def jvp(ctx, tangent):
#   return x_tangent * x / r, y_tangent * y / r -> return (x + y) * tangent / r  # jvp
# return x_tangent * x / r, y_tangent * y / r -> (x * x_tangent + y * y_tangent) / r  # return


# %% right ForwardCube
class ForwardCube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        return x**3

    @staticmethod
    def vjp(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x**2

    @staticmethod
    def jvp(ctx, x_tangent):
        (x,) = ctx.saved_tensors
        return 3 * x * x * x_tangent


# %% wrong ForwardCube: jvp
#           ctx.save_for_backward(*inputs)
# -         ctx.save_for_forward(*inputs)
#           return grad_output * 3 * x**2
# -
# -     @staticmethod
# -     def jvp(ctx, x_tangent):
# -         (x,) = ctx.saved_tensors
# -         return 3 * x**2 * x_tangent

# %% changes ForwardCube
# ctx.save_for_forward(*inputs) -> ctx.save_for_forward(output)  # the tangent is
# return 3 * x**2 * x_tangent -> return 3 * x**2  # x's tangent = 10
# ctx.save_for_backward(*inputs) -> ctx.save_for_backward(output)  # the gradient


# %% right ForwardPolar
class ForwardPolar(ForwardPolar):
    @staticmethod
    def jvp(ctx, r_t, phi_t):
        r, phi = ctx.saved_tensors
        c, s = phi.cos(), phi.sin()
        return (c * r_t - s * r * phi_t, s * r_t + c * r * phi_t)


# %% wrong ForwardPolar: the tangent of result 0
class ForwardPolar(ForwardPolar):
    @staticmethod
    def jvp(ctx, r_tangent, phi_tangent):
        r, phi = ctx.saved_tensors
        return (
            r_tangent * phi.cos() + r * phi.sin() * phi_tangent,
            r_tangent * phi.sin() + r * phi.cos() * phi_tangent,
        )


# %% wrong ForwardPolar: returns 1 tangent
# -     def jvp(ctx, r_t, phi_t):
# +     def jvp(ctx, r_tangent, phi_tangent):
# -         c, s = phi.cos(), phi.sin()
# -         return (c * r_t - s * r * phi_t, s * r_t + c * r * phi_t)
# +         return r_tangent * phi.cos() - r * phi.sin() * phi_tangent

# %% changes ForwardPolar
# def jvp(ctx, r_t, phi_t): -> def jvp(ctx, r_tangent, phi_tangent):
#   drop c, s = phi.cos(), phi.sin()
#   return (c * r_t - s * r * phi_t, s * r_t + c * r * phi_t)
#   -> return r_tangent * phi.cos() - r * phi.sin() * phi_tangent, r_tangent * phi.sin()  # the tangent of result 1


# %% right ForwardSteps
class ForwardSteps(ForwardSteps):
    @staticmethod
    def jvp(ctx, x_tangent):
        return x_tangent.diff()


# %% wrong ForwardSteps: jvp
class ForwardSteps(ForwardSteps):
    jvp = ForwardSteps.backward


# %% wrong ForwardSteps: the gradient
class ForwardSteps(ForwardSteps):
    @staticmethod
    def backward(ctx, grad_output):
        zero = grad_output.new_zeros(1)
        return torch.cat([grad_output, zero]) - torch.cat([zero, grad_output])

    @staticmethod
    def jvp(ctx, x_tangent):
        return x_tangent[1:] - x_tangent[:-1]


# %% changes ForwardSteps
# def jvp(ctx, x_tangent): -> def jvp(ctx, t):
#   return x_tangent.diff() -> return torch.stack([b - a for a, b in zip(t[:-1], t[1:])])  # right
# return x_tangent.diff() -> return x_tangent[:-1] - x_tangent[1:]  # the tangent is
