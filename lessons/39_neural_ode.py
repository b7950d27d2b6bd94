# %% [markdown]
# # Neural ODEs: a gradient through a solver
#
# *Needs lessons 2, 3 and 7.*
#
# **How do you differentiate through an ODE solver?** There are two ways. A solver is a loop of additions and multiplications,
# so backward can go through all of its steps. Or you solve a second ODE, backward in time, and save nothing on the way.
#
# After this lesson you can:
#
# - write Euler's and the Runge-Kutta method, and draw the gradient through their steps
# - derive a gradient by the adjoint method, and write it as a Function
# - compare the memory and accuracy of both ways, and choose one
# - fit the matrix of a linear ODE to points of a spiral

# %%
import math

from matplotlib import pyplot as plt

import lessons
import minigrad as torch
from viz import draw

# %% [markdown]
# An ordinary differential equation gives the slope of an unknown function: $\frac{dz}{dt} = f(z)$. Euler's method takes small
# steps along the slope. Here are two steps for a decay, $f(z) = -k z$. Follow the gradient of `k`: it is the sum of one
# contribution per step, and each step saves tensors for it.


# %%
def two_steps(z, k):
    for _ in range(2):
        z = z - k * z  # a step of length 1
    return z


k = torch.tensor(0.4, requires_grad=True)
z = torch.tensor(1.0, requires_grad=True)
draw(two_steps, z, k, passes=("forward", "backward"), show=("values", "grads", "saved"))

# %% [markdown]
# ## Two solvers
#
# A better step looks at the slope in several places. The classical Runge-Kutta method (RK4) uses four, and its error falls
# with the fourth power of the step. The state is a tuple of tensors, because the adjoint method needs several at once.


# %%
def moved(state, h, slope):
    """Return the state after a step of length h along a slope."""
    return tuple(s + h * d for s, d in zip(state, slope))


def euler(f, h, state):
    return moved(state, h, f(*state))


def rk4(f, h, state):
    first = f(*state)
    second = f(*moved(state, h / 2, first))
    third = f(*moved(state, h / 2, second))
    fourth = f(*moved(state, h, third))
    return moved(state, h / 6, [a + 2 * b + 2 * c + d for a, b, c, d in zip(first, second, third, fourth)])


def solve(f, state, time, steps, step=rk4):
    """Follow dz/dt = f(z) for a time, which may be negative, in equal steps."""
    for _ in range(steps):
        state = step(f, time / steps, state)
    return state


k = torch.tensor(0.8, dtype=torch.float64, requires_grad=True)
start, exact = torch.tensor(1.0, dtype=torch.float64), math.exp(-0.8 * 2)
(by_euler,), (by_rk4,) = (solve(lambda z: (-k * z,), (start,), 2.0, 10, step) for step in (euler, rk4))
print(f"Euler {by_euler.item():.6f}, RK4 {by_rk4.item():.6f}, exact {exact:.6f}")
assert abs(by_rk4.item() - exact) < 1e-4 < abs(by_euler.item() - exact)

# %% [markdown]
# ## Unrolled: backward through all steps
#
# The exact solution is $e^{-kT}$, and its derivative is $-T e^{-kT}$.


# %%
def end_of_euler(k, steps=4):
    """Return Euler's result for the decay from 1 after the time 2."""
    return solve(lambda z: (-k * z,), (start,), 2.0, steps, euler)[0]


(unrolled,) = torch.autograd.grad(end_of_euler(k), k)
of_solution = -2 * exact
of_euler = ((end_of_euler(k + 1e-6) - end_of_euler(k - 1e-6)) / 2e-6).item()

lessons.predict(
    "Euler's method takes 4 coarse steps. Which derivative does the unrolled gradient equal, to 6 digits?",
    {
        "the exact solution's": "Backward does not know the ODE, only the operations that ran.",
        "the computed result's": "Backward differentiates the operations, and they compute Euler's result, with its error.",
        "both": "With 4 steps Euler's result is 0.13, but the exact solution is 0.20, so the derivatives differ, too.",
    },
    "the computed result's" if abs(unrolled.item() - of_euler) < 1e-6 else "the exact solution's",
)

# %% [markdown]
# ## The adjoint method
#
# Let $L$ be the loss and $a(t) = \frac{\partial L}{\partial z(t)}$, the *adjoint*. A small step $z + h f(z)$ has the
# derivative $1 + h \frac{\partial f}{\partial z}$, so one step back in time, $a$ grows by
# $h\, a \frac{\partial f}{\partial z}$. For ever smaller steps this becomes an ODE, and the gradient of the parameters
# $\theta$ collects a contribution from each step:
#
# $$\frac{da}{dt} = -a \frac{\partial f}{\partial z} \qquad
# \frac{\partial L}{\partial \theta} = \int_0^T a \frac{\partial f}{\partial \theta}\, dt$$
#
# Solve it from $T$ back to 0, together with $z$, which you compute again on the way. Only the final $z$ must be saved. Chen et
# al. brought this to neural networks ("Neural Ordinary Differential Equations", 2018); the method is Pontryagin's (1962).
#
# Here it is as a Function: `forward` solves without a graph, and `backward` solves the three equations. The two products with
# $a$ are a vector-Jacobian product of `f`, one small backward pass per evaluation.


# %%
class Adjoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, f, time, steps, step, z, *parameters):
        (end,) = solve(lambda z: (f(z, *parameters),), (z,), time, steps, step)
        ctx.f, ctx.time, ctx.steps, ctx.step = f, time, steps, step
        ctx.save_for_backward(end, *parameters)
        return end

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, a):
        end, *parameters = ctx.saved_tensors
        parameters = [p.detach().requires_grad_() for p in parameters]

        def slopes(z, a, *_):
            with torch.enable_grad():
                z = z.detach().requires_grad_()
                slope = ctx.f(z, *parameters)
                products = torch.autograd.grad(slope, [z, *parameters], a)
            return slope.detach(), *[-product for product in products]

        zeros = [torch.zeros_like(p) for p in parameters]
        _, a, *gradients = solve(slopes, (end, a, *zeros), -ctx.time, ctx.steps, ctx.step)
        return None, None, None, None, a, *gradients


def decay(z, k):
    return -k * z


end = Adjoint.apply(decay, 2.0, 10, rk4, start, k)
(adjoint,) = torch.autograd.grad(end, k)
assert abs(adjoint.item() - of_solution) < 1e-4

# %% [markdown]
# ## Memory
#
# A drawing counts the bytes that a program saves for backward. Here is a spiral in the plane, $f(z) = z A$.


# %%
def spiral(z, matrix):
    return z @ matrix


matrix = torch.tensor([[-0.2, -1.5], [1.5, -0.2]], requires_grad=True)
point = torch.tensor([[2.0, 0.0]], requires_grad=True)


def bytes_saved(steps, adjoint):
    """Return the bytes that RK4 saves for the gradient of the end of the spiral."""

    unrolled = lambda z, matrix: solve(lambda z: (spiral(z, matrix),), (z,), 3.0, steps)[0]
    by_adjoint = lambda z, matrix: Adjoint.apply(spiral, 3.0, steps, rk4, z, matrix)
    return draw(by_adjoint if adjoint else unrolled, point, matrix).graph.saved_bytes()


lessons.predict(
    f"With 10 steps, the unrolled solver saves {bytes_saved(10, False)} bytes, the adjoint {bytes_saved(10, True)}. "
    "How many bytes does the adjoint save with 40 steps?",
    {
        24: "The last point and the matrix: 2 + 4 numbers of 4 bytes, for any number of steps.",
        96: "That would be right if each step saved something. Here none does.",
        1296: "That is the unrolled solver: each step saves the points at which it asks for the slope.",
        0: "Backward needs a point to start from, and the matrix.",
    },
    lambda: bytes_saved(40, True),
)

# %% [markdown]
# ## Accuracy
#
# The adjoint has the error of its solver, just as the solution has. How fast the errors fall depends on the solver, not on
# the way to the gradient. If the steps are coarse, prefer the unrolled gradient for an optimizer: it is the gradient of the
# loss that you compute.

# %% alt="Errors of the gradient over the number of steps: with Euler they fall slowly, with RK4 steeply"
counts = [4, 8, 16, 32, 64, 128]
ways = {
    "unrolled": lambda steps, step: solve(lambda z: (-k * z,), (start,), 2.0, steps, step)[0],
    "adjoint": lambda steps, step: Adjoint.apply(decay, 2.0, steps, step, start, k),
}
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
for name, step, colour, falls in (("Euler", euler, "#b2443c", 1.8), ("RK4", rk4, "#1f4e8c", 14)):
    for (way, end_of), line in zip(ways.items(), ("solid", "dashed")):
        found = [torch.autograd.grad(end_of(steps, step), k)[0].item() for steps in counts]
        errors = [abs(one - of_solution) for one in found]
        axes.loglog(counts, errors, color=colour, linestyle=line, marker="o", label=f"{name}, {way}")
        assert errors[-1] < errors[-2] / falls
axes.set(xlabel="steps", ylabel="error of the gradient")
legend = axes.legend(frameon=False, fontsize=8)

# %% [markdown]
# One thing can go wrong on the way back. Where the forward solution decays, the backward solution grows, and every rounding
# error grows with it. After a fast decay, a float32 no longer contains its starting value.

# %%
(end,) = solve(lambda z: (-20 * z,), (torch.tensor(1.0),), 1.0, 100)
(back,) = solve(lambda z: (-20 * z,), (end + 1e-7,), -1.0, 100)
print(f"from 1 to {end.item():.2e} and back, with an error of 1e-7: {back.item():.1f}")
assert back.item() > 10

# %% [markdown]
# ## Fit a spiral
#
# Twenty points of a spiral are given, but its matrix is not. Each interval between two points is one call of the Function, so
# the loss can use all points: backward passes the adjoint from one interval to the one before.

# %%
torch.set_num_threads(1)
INTERVALS, LENGTH = 20, 0.15


def path(matrix):
    """Return the points of the spiral at the ends of all intervals."""
    points = [point.detach()]
    for _ in range(INTERVALS):
        points.append(Adjoint.apply(spiral, LENGTH, 1, rk4, points[-1], matrix))
    return torch.cat(points)


target = path(matrix.detach())
guess = torch.zeros(2, 2, requires_grad=True)
optimizer = torch.optim.Adam([guess], lr=0.2)
for _ in range(151):
    loss = (path(guess) - target).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item(), guess.detach())
assert loss.item() < 1e-3 and torch.allclose(guess, matrix, atol=0.05)

# %% alt="Points of a spiral, and the fitted curve through all of them"
figure, axes = plt.subplots(figsize=(4.2, 4), layout="constrained")
axes.plot(*target.numpy().T, "o", color="#566171", label="given")
axes.plot(*path(guess).detach().numpy().T, color="#1f4e8c", label="fitted")
axes.set(aspect="equal")
legend = axes.legend(frameon=False, fontsize=8)

# %% [markdown]
# ## Exercises
#
# ### 1. By hand
#
# Euler takes two steps of length 0.5 for $f(z) = -k z$ from $z = 4$. Compute the derivative of the result with respect to $k$
# at $k = 1$.

# %%
ode_number = ...

lessons.check("ode_number", ode_number)

# %% [markdown]
# ### 2. Another step
#
# The midpoint method goes half a step along the slope, computes the slope there, and takes the whole step along that slope.
# Write it like `euler`; `moved` helps.


# %%
def ode_midpoint(f, h, state): ...


lessons.check("ode_midpoint", ode_midpoint)

# %% [markdown]
# ### 3. An adjoint by hand
#
# For the decay you know both derivatives of $f(z) = -k z$, so you need no small backward pass. Write `backward`: with `solve`,
# solve the equations of $z$, $a$ and the gradient of $k$ from the end back to 0. All tensors have one element.


# %%
class OdeDecay(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z, k, time, steps):
        (end,) = solve(lambda z: (-k * z,), (z,), time, steps)
        ctx.time, ctx.steps = time, steps
        ctx.save_for_backward(end, k)
        return end

    @staticmethod
    def backward(ctx, a): ...


lessons.check("OdeDecay", OdeDecay)

# %% [markdown]
# ## Summary
#
# - A solver is a loop of operations: backward through it is the exact derivative of the computed result.
# - The adjoint method solves a second ODE backward in time. It saves only the end and the parameters, for any number of steps.
# - It computes the forward path again, so it takes more time. It is as accurate as its solver.
#
# ## Questions
#
# <details markdown="1">
# <summary>Your solver takes 10,000 steps with a large network as f. Which method do you choose?</summary>
#
# The adjoint: the unrolled graph keeps the saved tensors of 10,000 evaluations of the network. Checkpoints are a third way:
# save some points, and unroll one piece after the other.
#
# </details>
