# %% right ode_number
ode_number = -2

# %% right ode_number
k = torch.tensor(1.0, requires_grad=True)
(end,) = solve(lambda z: (-k * z,), (torch.tensor(4.0),), 1.0, 2, euler)
(ode_number,) = torch.autograd.grad(end, k)

# %% right ode_number
ode_number = torch.tensor([-2.0])

# %% wrong ode_number: exact solution
ode_number = -4 * math.exp(-1)

# %% wrong ode_number: inner derivative
ode_number = 4

# %% wrong ode_number: not its derivative
ode_number = 1


# %% right ode_midpoint
def ode_midpoint(f, h, state):
    middle = euler(f, h / 2, state)
    return moved(state, h, f(*middle))


# %% right ode_midpoint
ode_midpoint = lambda f, h, state: [
    s + h * d for s, d in zip(state, f(*[s + 0.5 * h * d for s, d in zip(state, f(*state))]))
]


# %% right ode_midpoint
def ode_midpoint(f, h, state):
    slope = f(*state)
    half = [s + h / 2 * d for s, d in zip(state, slope)]
    return tuple(s + h * d for s, d in zip(state, f(*half)))


# %% wrong ode_midpoint: Euler's step
def ode_midpoint(f, h, state):
    return euler(f, h, state)


# %% wrong ode_midpoint: part 0 of the new state
def ode_midpoint(f, h, state):
    middle = moved(state, h / 2, f(*state))
    return moved(middle, h / 2, f(*middle))


# %% wrong ode_midpoint: part 0 of the new state
def ode_midpoint(f, h, state):
    return moved(state, h, f(*moved(state, h, f(*state))))


# %% wrong ode_midpoint: is there a return
def ode_midpoint(f, h, state):
    moved(state, h, f(*moved(state, h / 2, f(*state))))


# %% right OdeDecay
class OdeDecay(OdeDecay):
    @staticmethod
    def backward(ctx, a):
        end, k = ctx.saved_tensors
        slopes = lambda z, a, g: (-k * z, k * a, z * a)
        _, a, to_k = solve(slopes, (end, a, 0.0 * k), -ctx.time, ctx.steps, rk4)
        return a, to_k, None, None


# %% right OdeDecay
class OdeDecay(OdeDecay):
    @staticmethod
    def backward(ctx, a):
        end, k = ctx.saved_tensors
        a_at_start = a * (-k * ctx.time).exp()
        return a_at_start, -ctx.time * end * a, None, None


# %% right OdeDecay
class OdeDecay(OdeDecay):
    @staticmethod
    def backward(ctx, a):
        end, k = ctx.saved_tensors
        state = (end, a, torch.zeros_like(k))
        for _ in range(ctx.steps * 100):
            state = euler(lambda z, a, g: (-k * z, a * k, a * z), -ctx.time / ctx.steps / 100, state)
        return state[1], state[2], None, None


# %% wrong OdeDecay: the gradient of z
class OdeDecay(OdeDecay):
    @staticmethod
    def backward(ctx, a):
        end, k = ctx.saved_tensors
        slopes = lambda z, a, g: (-k * z, -a * k, a * z)
        _, a, to_k = solve(slopes, (end, a, torch.zeros_like(k)), -ctx.time, ctx.steps)
        return a, to_k, None, None


# %% wrong OdeDecay: a sign is wrong
class OdeDecay(OdeDecay):
    @staticmethod
    def backward(ctx, a):
        end, k = ctx.saved_tensors
        slopes = lambda z, a, g: (-k * z, a * k, -a * z)
        _, a, to_k = solve(slopes, (end, a, torch.zeros_like(k)), -ctx.time, ctx.steps)
        return a, to_k, None, None


# %% wrong OdeDecay: the gradient of z
class OdeDecay(OdeDecay):
    @staticmethod
    def backward(ctx, a):
        end, k = ctx.saved_tensors
        slopes = lambda z, a, g: (-k * z, a * k, a * z)
        _, a, to_k = solve(slopes, (end, a, torch.zeros_like(k)), ctx.time, ctx.steps)
        return a, to_k, None, None


# %% wrong OdeDecay: expected 4, got 2
class OdeDecay(OdeDecay):
    @staticmethod
    def backward(ctx, a):
        end, k = ctx.saved_tensors
        slopes = lambda z, a, g: (-k * z, a * k, a * z)
        _, a, to_k = solve(slopes, (end, a, torch.zeros_like(k)), -ctx.time, ctx.steps)
        return a, to_k


# %% wrong OdeDecay: the gradient of k
class OdeDecay(OdeDecay):
    @staticmethod
    def backward(ctx, a):
        end, k = ctx.saved_tensors
        start = torch.ones_like(a)
        slopes = lambda z, a, g: (-k * z, a * k, a * z)
        _, to_z, _ = solve(slopes, (end, a, torch.zeros_like(k)), -ctx.time, ctx.steps)
        _, _, to_k = solve(slopes, (end, start, torch.zeros_like(k)), -ctx.time, ctx.steps)
        return to_z, to_k, None, None


# %% wrong OdeDecay: numbers are saved
class OdeDecay(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z, k, time, steps):
        points = [z]
        for _ in range(steps):
            points.append(rk4(lambda z: (-k * z,), time / steps, (points[-1],))[0])
        ctx.h = time / steps
        ctx.save_for_backward(k, *points[1:])
        return points[-1]

    @staticmethod
    def backward(ctx, a):
        k, *points = ctx.saved_tensors
        slopes = lambda z, a, g: (-k * z, a * k, a * z)
        to_k = torch.zeros_like(k)
        for point in reversed(points):
            _, a, to_k = rk4(slopes, -ctx.h, (point, a, to_k))
        return a, to_k, None, None
