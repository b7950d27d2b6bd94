# %% [markdown]
# # Newton's method
#
# *Needs lessons 13 and 23.*
#
# **Gradient descent takes hundreds of steps. How can seven be enough?** The slope gives the direction, but not how far to go.
# The Hessian says how the slope changes. Newton's method uses both, and steps to the point where the slope should be zero.
#
# After this lesson you can:
#
# - find minima with Newton's method, and say why its last steps are so precise
# - tell a minimum from a saddle
# - multiply a Hessian by a vector without computing the matrix

# %%
import numpy as np
from matplotlib import pyplot as plt

import lessons
import minigrad as torch
from minigrad.func import grad, hessian, jacrev, jvp


def valley(x):
    a, b = x
    return (1 - a) ** 2 + 100 * (b - a**2) ** 2


def newton_step(f, x):
    return x - torch.linalg.solve(hessian(f)(x), grad(f)(x))


# %%
def newton(f, x, steps):
    """Return the start and the points that Newton's method reaches."""
    points = [x]
    for _ in range(steps):
        points.append(newton_step(f, points[-1]))
    return points


def descend(f, x, steps, rate):
    """Return the start and the points that gradient descent reaches."""
    points = [x]
    for _ in range(steps):
        points.append(points[-1] - rate * grad(f)(points[-1]))
    return points


start, goal = torch.tensor([-1.2, 1.0], dtype=torch.float64), torch.ones(2, dtype=torch.float64)

# %% alt="Two paths in a curved valley: gradient descent stops far from the minimum, Newton's method reaches it at (1, 1)"
across, up = np.meshgrid(np.linspace(-1.6, 1.6, 120), np.linspace(-3.5, 2, 120))
figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained", subplot_kw={"xlabel": "a", "ylabel": "b"})
levels = np.logspace(-1, 3.4, 12)
axes.contour(across, up, (1 - across) ** 2 + 100 * (up - across**2) ** 2, levels, colors="#b8c0cc")
ways = {"gradient descent, 200 steps": descend(valley, start, 200, 0.002), "Newton, 7 steps": newton(valley, start, 7)}
for (name, points), style in zip([*ways.items(), ("minimum", [goal])], ("--.", "-o", "k*")):
    axes.plot(*np.array([point.tolist() for point in points]).T, style, label=name, markersize=6)
    axes.legend(loc="lower left")

# %% [markdown]
# This is Rosenbrock's valley, $(1 - a)^2 + 100\,(b - a^2)^2$: curved, and almost flat along its floor, with its minimum at
# $(1, 1)$. Newton's second step leaves the valley, and yet the seventh ends at the minimum. Gradient descent creeps along.
#
# ## The step
#
# The Hessian $H$ is the Jacobian of the gradient: row `i` and column `j` say how fast slope `i` changes with input `j`. So
# after a small step $d$ the slopes are about
#
# $$\nabla f(x + d) \approx \nabla f(x) + H d$$
#
# They are zero if $H d = -\nabla f(x)$. That is a system of linear equations, and `newton_step` solves it:
#
# $$x_\text{next} = x - H^{-1} \nabla f(x)$$
#
# In other words: near $x$ the function looks like a parabola, and the step goes to its lowest point.

# %%
bowl = lambda x: (x[0] - 3) ** 2 + 10 * (x[1] + 1) ** 2
x = torch.tensor([20.0, 20.0])
print(grad(bowl)(x), hessian(bowl)(x))
assert hessian(bowl)(x).tolist() == [[2.0, 0.0], [0.0, 20.0]] and hessian(bowl)(x).equal(jacrev(grad(bowl))(x))

lessons.predict(
    "bowl is (a - 3)² + 10 (b + 1)². Where does one step from [20, 20] end?",
    {
        "[3.0, -1.0]": "bowl is a parabola, so one step reaches its lowest point, from anywhere.",
        "[-14.0, -400.0]": "That subtracts the gradient, [34, 420]. The step divides it by the curvatures, 2 and 20.",
        "[11.5, 9.5]": "The step does not stop halfway; for a parabola it goes all the way.",
        "[-48.0, -8380.0]": "That multiplies the gradient by the Hessian. The step solves a system of equations with it.",
    },
    lambda: newton_step(bowl, x).round(decimals=4),
)

# %% [markdown]
# ## Twice as many digits
#
# The valley is not a parabola, so the first steps jump around. The dot is the point after some steps, and the dashed lines are
# the parabola there. The star is the parabola's lowest point, where the next step ends. The closer the two are, the better the
# parabola fits.


# %%
def parabola(steps):
    at, star = newton(valley, start, steps + 1)[-2:]
    d = np.stack([across, up], axis=-1) - at.numpy()
    g, H = grad(valley)(at).numpy(), hessian(valley)(at).numpy()
    z = valley(at).item() + d @ g + ((d @ H) * d).sum(-1) / 2
    figure, axes = plt.subplots(figsize=(4, 3.4), layout="constrained")
    axes.contour(across, up, (1 - across) ** 2 + 100 * (up - across**2) ** 2, levels, colors="#b8c0cc")
    axes.contour(across, up, z - z.min(), levels, colors="#1f4e8c", linestyles="dashed", linewidths=0.8)
    axes.plot(*at, "o", *star, "k*", markersize=9)
    return figure


lessons.slider(parabola, alt="The valley and its parabola at one point", steps=[0, 1, 2, 3, 4, 5, 6])

# %%
distances = [(point - goal).norm().item() for point in ways["Newton, 7 steps"]]
for i in range(6):
    print(f"after {i} steps: distance {distances[i]:.1e}, value {valley(ways['Newton, 7 steps'][i]):.1e}")
assert 1e-2 < distances[4] < 1e-1 and distances[5] < 1e-5

lessons.predict(
    "After 5 steps the distance is about 1e-05. How far is it after 6?",
    {
        "2e-11": "The error of a step grows with the square of the distance: the number of right digits doubles.",
        "5e-06": "That would halve the distance. Newton's method is much faster here.",
        "1e-06": "That would gain one digit. Near the minimum each step doubles the number of digits.",
        "0e+00": "One step is enough only for a parabola. Here the function is close to one, but not exactly one.",
    },
    lambda: f"{distances[6]:.0e}",
)

# %% [markdown]
# Gradient descent knows only the slope. The floor is flat and the walls are steep, so no rate suits both. With a rate of 0.01
# it flies out of the valley. With 0.002 it stays inside, but does not get far along the floor.

# %%
for rate, steps in ((0.01, 5), (0.002, 200)):
    print(f"rate {rate}, {steps} steps:", descend(valley, start, steps, rate)[-1])
assert descend(valley, start, 5, 0.01)[-1].norm() > 1e6
assert (descend(valley, start, 200, 0.002)[-1] - goal).norm() > 1
assert distances[7] < 1e-15

# %% [markdown]
# ## Not every stationary point is a minimum
#
# Newton's method steps towards a *stationary point*, where all slopes are zero. That is a minimum only if the parabola opens
# upwards in all directions. $a^2 - b^2$ opens upwards along `a` and downwards along `b`: it falls without end.

# %%
saddle = lambda x: x[0] ** 2 - x[1] ** 2
lessons.predict(
    "Newton's method starts at [1, 0.5] on a² - b². Where does its first step end?",
    {
        "[0.0, 0.0]": "There both slopes are zero. It is a saddle: the step goes up along b.",
        "[0.0, 1.0]": "Along b the function falls away from zero, but the step does not look for lower values.",
        "[-1.0, 1.5]": "That is gradient descent with rate 1. It falls along b without end.",
        "it fails": "The Hessian is [[2, 0], [0, -2]]. It has an inverse, so there is a step.",
    },
    lambda: newton_step(saddle, torch.tensor([1.0, 0.5])).abs(),
)

# %% [markdown]
# The eigenvalues of the Hessian say how the function bends in its main directions. If all are positive, the point is a
# minimum; if all are negative, a maximum; with some of both, a saddle. Look at them before you call a point a minimum.

# %%
bending = torch.linalg.eigvalsh(hessian(saddle)(torch.zeros(2)))
print("saddle:", bending, " valley:", torch.linalg.eigvalsh(hessian(valley)(goal)))
assert bending.tolist() == [-2.0, 2.0]
assert bool((torch.linalg.eigvalsh(hessian(valley)(goal)) > 0).all())

# %% [markdown]
# A function made of straight pieces does not bend at all. `relu` has a Hessian of zeros, so the equations have no solution.

# %%
try:
    newton_step(lambda x: x.relu().sum(), torch.tensor([1.0, 2.0]))
except torch.linalg.LinAlgError as e:
    print(e)
    assert "singular" in str(e)
else:
    raise AssertionError("a matrix of zeros was inverted")

# %% [markdown]
# ## Without the matrix
#
# A network with a million weights has a Hessian with $10^{12}$ elements. But its product with a vector `v` is just the
# derivative of the gradient along `v`: one forward pass through a backward pass. No tensor is larger than `x`.


# %%
def hvp(f, x, v):
    return jvp(grad(f), (x,), (v,))[1]


def cubes(x):
    return (x**3).sum()


def bytes_made(f):
    """Return the bytes of all tensors created while f runs."""
    return sum(value["bytes"] for value in torch.record(f, passes="forward").to_dict()["values"])


v = torch.tensor([1.0, -1.0], dtype=torch.float64)
print(hvp(valley, start, v), hessian(valley)(start) @ v)
assert hvp(valley, start, v).allclose(hessian(valley)(start) @ v)

x = torch.linspace(0.0, 1.0, 500)
by_matrix, by_product = bytes_made(lambda: hessian(cubes)(x) @ x), bytes_made(lambda: hvp(cubes, x, x))
print(f"500 inputs: through the matrix {by_matrix:,} bytes, without it {by_product:,}")
assert by_product * 50 < by_matrix

# %% [markdown]
# Two backward passes give the same product: the gradient times `v` is one number, and its gradient is the product. For that,
# the first pass has to record a graph.

# %%
leaf = start.clone().requires_grad_()
(slope,) = torch.autograd.grad(valley(leaf), leaf, create_graph=True)
(product,) = torch.autograd.grad(slope @ v, leaf)
print(product)
assert product.allclose(hvp(valley, start, v))

(slope,) = torch.autograd.grad(valley(leaf), leaf)
try:
    torch.autograd.grad(slope @ v, leaf)
except RuntimeError as e:
    print(e)
else:
    raise AssertionError("a gradient without a graph was differentiated")

# %% [markdown]
# ## Exercises
#
# ### 1. A repair
#
# This function should find a minimum with Newton's method, but it returns nonsense. Fix its two mistakes.


# %%
def newton_minimum(f, x):
    for _ in range(20):
        if grad(f)(x).norm() > 1e-8:
            return x
        x = x - hessian(f)(x) @ grad(f)(x)
    return x


lessons.check("newton_minimum", newton_minimum)

# %% [markdown]
# ### 2. Minimum, maximum or saddle
#
# Write `level_kind(f, x)` for a stationary point `x` of `f`. It returns `"minimum"`, `"maximum"` or `"saddle"`. In the check,
# no eigenvalue is zero.


# %%
def level_kind(f, x): ...


lessons.check("level_kind", level_kind)

# %% [markdown]
# ### 3. Finding a zero
#
# Newton's method also solves equations. Near `x`, `f` looks like `f(x) + J d`, where `d` is a step and `J` the Jacobian; step
# to the point where that is zero, and repeat. Write `newton_root(f, x)` for functions that have as many results as inputs.
# Fifteen steps are enough for the check.


# %%
def newton_root(f, x): ...


lessons.check("newton_root", newton_root)

# %% [markdown]
# ### 4. How much a function bends (at home)
#
# Write `curvature(f, x, v)`, which returns $v^\top H v$: how fast the slope of `f` along `v` changes along `v`. Do not compute
# the Hessian: `x` may have a million elements.


# %%
def curvature(f, x, v): ...


lessons.check("curvature", curvature)

# %% [markdown]
# ## Summary
#
# - Newton's method steps by $-H^{-1} \nabla f$, to the lowest point of a parabola. Solve a system; do not invert.
# - Near a minimum each step about doubles the number of right digits.
# - It also finds saddles: only at a minimum are all eigenvalues positive.
# - A product of the Hessian with a vector is one forward pass through a backward pass, and needs no matrix.
#
# ## Questions
#
# <details markdown="1">
# <summary>Newton's method reaches a point where the gradient is zero. What do you check?</summary>
#
# The eigenvalues of the Hessian there. If all are positive, it is a minimum; if one is negative, the function still falls along
# that eigenvector.
#
# </details>
#
# <details markdown="1">
# <summary>Why does no library compute the Hessian of a large network?</summary>
#
# With $n$ weights it has $n^2$ elements. Most methods need only its product with a vector, which costs about as much as a
# few gradients and creates no tensor larger than the weights.
#
# </details>
#
# <details markdown="1">
# <summary>In the picture the second step leaves the valley. Why?</summary>
#
# The parabola fits the function only near the point. The valley bends, so the parabola's lowest point is far outside. Robust
# programs shorten a step that does not lead downhill.
#
# </details>
