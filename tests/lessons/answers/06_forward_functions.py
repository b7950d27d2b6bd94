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


# %% right ForwardHypot
class ForwardHypot(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        r = (x * x + y * y).sqrt()
        ctx.save_for_backward(x, y, r)
        ctx.save_for_forward(x, y, r)
        return r

    @staticmethod
    def backward(ctx, grad_output):
        x, y, r = ctx.saved_tensors
        return grad_output * x / r, grad_output * y / r

    @staticmethod
    def jvp(ctx, x_tangent, y_tangent):
        x, y, r = ctx.saved_tensors
        return x_tangent * (x / r) + y_tangent * (y / r)


# %% wrong ForwardHypot: returns 2 tangents
# -         return torch.hypot(x, y)
# +         return (x * x + y * y).sqrt()
# -         ctx.save_for_forward(*inputs)
# +         ctx.save_for_forward(*inputs, output)
# -         x, y = ctx.saved_tensors
# -         return (x * x_tangent + y * y_tangent) / torch.hypot(x, y)
# +         x, y, r = ctx.saved_tensors
# +         return x_tangent * x / r, y_tangent * y / r

# %% wrong ForwardHypot: y's tangent = 0, the tangent is 3
# -         return x_tangent * x / r, y_tangent * y / r
# +         return x * x_tangent + y * y_tangent

# %% wrong ForwardHypot: jvp
# -     def jvp(ctx, x_tangent, y_tangent):
# +     def jvp(ctx, tangent):
# -         return x_tangent * x / r, y_tangent * y / r
# +         return (x + y) * tangent / r

# %% wrong ForwardHypot: return
# -         return x_tangent * x / r, y_tangent * y / r
# +         (x * x_tangent + y * y_tangent) / r

# %% right ForwardCube
# -         ctx.save_for_backward(*inputs)
# -         ctx.save_for_forward(*inputs)
# +         (x,) = inputs
# +         ctx.save_for_backward(x)
# +         ctx.save_for_forward(x)
# -     @staticmethod
# -     def jvp(ctx, x_tangent):
# -         (x,) = ctx.saved_tensors
# -         return 3 * x**2 * x_tangent
# +     jvp = backward


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


# %% wrong ForwardCube: the tangent is
# -         ctx.save_for_forward(*inputs)
# +         ctx.save_for_forward(output)

# %% wrong ForwardCube: x's tangent = 10
# -         return 3 * x**2 * x_tangent
# +         return 3 * x**2

# %% wrong ForwardCube: the gradient
# -         ctx.save_for_backward(*inputs)
# +         ctx.save_for_backward(output)

# %% wrong ForwardCube: jvp
# -         (x,) = inputs
# -         ctx.save_for_backward(x)
# -         ctx.save_for_forward(x)
# +         ctx.save_for_backward(*inputs)
# -
# -     jvp = backward


# %% right ForwardPolar
class ForwardPolar(ForwardPolar):
    @staticmethod
    def jvp(ctx, r_t, phi_t):
        r, phi = ctx.saved_tensors
        c, s = phi.cos(), phi.sin()
        return (c * r_t - s * r * phi_t, s * r_t + c * r * phi_t)


# %% right ForwardPolar
class ForwardPolar(torch.autograd.Function):
    @staticmethod
    def forward(ctx, r, phi):
        ctx.save_for_forward(r, phi.cos(), phi.sin())
        return r * phi.cos(), r * phi.sin()

    @staticmethod
    def jvp(ctx, *tangents):
        r, c, s = ctx.saved_tensors
        r_tangent, phi_tangent = tangents
        return r_tangent * c - r * s * phi_tangent, r_tangent * s + r * c * phi_tangent


# %% wrong ForwardPolar: the tangent of result 0
class ForwardPolar(ForwardPolar):
    @staticmethod
    def jvp(ctx, r_tangent, phi_tangent):
        r, phi = ctx.saved_tensors
        return (
            r_tangent * phi.cos() + r * phi.sin() * phi_tangent,
            r_tangent * phi.sin() + r * phi.cos() * phi_tangent,
        )


# %% wrong ForwardPolar: the tangent of result 1
class ForwardPolar(ForwardPolar):
    @staticmethod
    def jvp(ctx, r_tangent, phi_tangent):
        r, phi = ctx.saved_tensors
        return r_tangent * phi.cos() - r * phi.sin() * phi_tangent, r_tangent * phi.sin()


# %% wrong ForwardPolar: returns 1 tangent
# -         return r_tangent * phi.cos() - r * phi.sin() * phi_tangent, r_tangent * phi.sin()
# +         return r_tangent * phi.cos() - r * phi.sin() * phi_tangent


# %% right ForwardSteps
class ForwardSteps(ForwardSteps):
    @staticmethod
    def jvp(ctx, x_tangent):
        return x_tangent.diff()


# %% right ForwardSteps
class ForwardSteps(ForwardSteps):
    @staticmethod
    def jvp(ctx, t):
        return torch.stack([b - a for a, b in zip(t[:-1], t[1:])])


# %% wrong ForwardSteps: jvp
class ForwardSteps(ForwardSteps):
    jvp = ForwardSteps.backward


# %% wrong ForwardSteps: the tangent is
# -         return x_tangent.diff()
# +         return x_tangent[:-1] - x_tangent[1:]


# %% wrong ForwardSteps: the gradient
class ForwardSteps(ForwardSteps):
    @staticmethod
    def backward(ctx, grad_output):
        zero = grad_output.new_zeros(1)
        return torch.cat([grad_output, zero]) - torch.cat([zero, grad_output])

    @staticmethod
    def jvp(ctx, x_tangent):
        return x_tangent[1:] - x_tangent[:-1]
