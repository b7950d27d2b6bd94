# %% ode_number
ode_number = 4 * 2 * (1 - 0.5 * 1) * (-0.5)


# %% ode_midpoint
def ode_midpoint(f, h, state):
    middle = moved(state, h / 2, f(*state))
    return moved(state, h, f(*middle))


# %% OdeDecay
class OdeDecay(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z, k, time, steps):
        (end,) = solve(lambda z: (-k * z,), (z,), time, steps)
        ctx.time, ctx.steps = time, steps
        ctx.save_for_backward(end, k)
        return end

    @staticmethod
    def backward(ctx, a):
        end, k = ctx.saved_tensors

        def slopes(z, a, to_k):
            return -k * z, a * k, a * z

        _, a, to_k = solve(slopes, (end, a, torch.zeros_like(k)), -ctx.time, ctx.steps)
        return a, to_k, None, None
