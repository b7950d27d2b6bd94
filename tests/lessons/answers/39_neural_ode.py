# %% values ode_number
-2  # right
torch.tensor([-2.0])  # right
-4 * math.exp(-1)  # exact solution
4  # inner derivative
1  # not its derivative

# %% values ode_midpoint
lambda f, h, state: [s + h * d for s, d in zip(state, f(*[s + 0.5 * h * d for s, d in zip(state, f(*state))]))]  # right

# %% changes ode_midpoint
# middle = moved(state, h / 2, f(*state)) -> middle = euler(f, h / 2, state)  # right
# drop middle = moved(state, h / 2, f(*state))
#   return moved(state, h, f(*middle)) -> return euler(f, h, state)  # Euler's step
# drop middle = moved(state, h / 2, f(*state))
#   f(*middle) -> f(*moved(state, h, f(*state)))  # part 0 of the new state
# drop middle = moved(state, h / 2, f(*state))
#   return moved(state, h, f(*middle)) -> moved(state, h, f(*moved(state, h / 2, f(*state))))  # is there a return


# %% right OdeDecay
class OdeDecay(OdeDecay):
    @staticmethod
    def backward(ctx, a):
        end, k = ctx.saved_tensors
        state = (end, a, torch.zeros_like(k))
        for _ in range(ctx.steps * 100):
            state = euler(lambda z, a, g: (-k * z, a * k, a * z), -ctx.time / ctx.steps / 100, state)
        return state[1], state[2], None, None


# %% wrong OdeDecay: a sign is wrong
# -         state = (end, a, torch.zeros_like(k))
# -         for _ in range(ctx.steps * 100):
# -             state = euler(lambda z, a, g: (-k * z, a * k, a * z), -ctx.time / ctx.steps / 100, state)
# -         return state[1], state[2], None, None
# +         slopes = lambda z, a, g: (-k * z, a * k, -a * z)
# +         _, a, to_k = solve(slopes, (end, a, torch.zeros_like(k)), -ctx.time, ctx.steps)
# +         return a, to_k, None, None


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


# %% changes OdeDecay
# drop slopes = lambda z, a, g: (-k * z, a * k, -a * z)
#   _, a, to_k = solve(slopes, (end, a, torch.zeros_like(k)), -ctx.time, ctx.steps)
#   -> a_at_start = a * (-k * ctx.time).exp()
#   return a, to_k, None, None -> return a_at_start, -ctx.time * end * a, None, None  # right
# a * k, -a -> -a * k, a  # the gradient of z
# slopes = lambda z, a, g: (-k * z, a * k, -a * z) -> slopes = lambda z, a, g: (-k * z, a * k, a * z)
#   return a, to_k, None, None -> return a, to_k  # expected 4, got 2
