# %% [markdown]
# # Jacobians, Hessians and Newton
#
# *25 minutes. Needs lessons 5, 13 and 21.*
#
# **My function has several results. Which way gives all its derivatives, forward or backward?** Both do, one row or one
# column of a matrix at a time. The shape of the matrix says which way is cheaper, and often you need no matrix at all.
#
# After this lesson you can:
#
# - build a Jacobian from backward passes or from forward passes, and choose the cheaper way
# - compute a Hessian, and its product with a vector without the matrix
# - find minima with Newton's method, and tell a minimum from a saddle

# %%
import time

import numpy as np
from matplotlib import pyplot as plt

import lessons
import minigrad as torch
from minigrad.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap
from viz import draw


def pair(a, b):
    return a * b, a * a


a, b = torch.tensor(2.0), torch.tensor(3.0)
draw(pair, a, b, passes=("backward", "jvp"))

# %% [markdown]
# Two inputs and two results have four derivatives. Backward starts at the results and arrives at `a` with one number, forward
# starts at the inputs and arrives at each result with one number. Each of these numbers adds up two of the four derivatives.
#
# ## All derivatives in a table
#
# `f` takes two numbers and returns two. Its Jacobian has a row for each result and a column for each input: the number
# in row `i` and column `j` says how fast result `i` changes with input `j`.


# %%
def f(x):
    a, b = x
    return torch.stack([a * b, a * a])


x = torch.tensor([2.0, 3.0])
print(jacrev(f)(x))
assert jacrev(f)(x).tolist() == [[3.0, 2.0], [4.0, 0.0]]

# %% [markdown]
# By hand, with $a = 2$ and $b = 3$:
#
# $$J = \begin{pmatrix} \partial(ab)/\partial a & \partial(ab)/\partial b \\ \partial(a^2)/\partial a & \partial(a^2)/\partial b
# \end{pmatrix} = \begin{pmatrix} b & a \\ 2a & 0 \end{pmatrix} = \begin{pmatrix} 3 & 2 \\ 4 & 0 \end{pmatrix}$$
#
# ## Backward gives rows, forward gives columns
#
# A backward pass that starts with 1 at one result and 0 at the others gives that result's row. A forward pass (`jvp`) that
# starts with 1 at one input and 0 at the others gives that input's column.

# %%
_, pull = vjp(f, x)
(row,) = pull(torch.tensor([1.0, 0.0]))
_, column = jvp(f, (x,), (torch.tensor([1.0, 0.0]),))
print("row of a * b:    ", row)
print("column of a:     ", column)
assert row.tolist() == [3.0, 2.0]
assert column.tolist() == [3.0, 4.0]

lessons.predict(
    "Now backward starts with 0 at a * b and 1 at a * a. What arrives at x?",
    {
        "[4.0, 0.0]": "The row of a * a: it changes with a by 4, and with b not at all.",
        "[2.0, 0.0]": "That is the column of b, from a forward pass that starts at b.",
        "[7.0, 2.0]": "That is the sum of both rows, from a pass that starts with 1 at both results.",
        "[0.0, 4.0]": "Backward returns a number for each input, not for each result. b has no part in a * a.",
    },
    lambda: pull(torch.tensor([0.0, 1.0]))[0],
)

# %% [markdown]
# Starting with ones everywhere, as in the first picture, backward gives the sum of the rows and forward the sum of the columns.

# %%
sum_of_rows = pull(torch.ones(2))[0]
sum_of_columns = jvp(f, (x,), (torch.ones(2),))[1]
print(sum_of_rows, sum_of_columns)
assert sum_of_rows.equal(jacrev(f)(x).sum(0)) and sum_of_rows.tolist() == [7.0, 2.0]
assert sum_of_columns.equal(jacrev(f)(x).sum(1)) and sum_of_columns.tolist() == [5.0, 4.0]

# %% [markdown]
# The whole matrix takes one pass for each row of the identity. `vmap` runs them all at once, so `jacrev` is three lines.


# %%
def my_jacrev(f, x):
    y, pull = vjp(f, x)
    (rows,) = vmap(pull)(torch.eye(y.numel()))
    return rows


def my_jacfwd(f, x):
    column = lambda direction: jvp(f, (x,), (direction,))[1]
    return vmap(column, out_dims=1)(torch.eye(x.numel()))


print(my_jacrev(f, x))
assert my_jacrev(f, x).equal(jacrev(f)(x))
assert my_jacfwd(f, x).equal(jacfwd(f)(x))

# %% [markdown]
# Inputs and results may have any shape: the shape of the Jacobian is the shape of the result followed by the shape of
# the input. `grad` takes one result only; for more, it raises an error.

# %%
matrix = torch.ones(2, 3)
print(jacrev(lambda m: m.sum(1))(matrix).shape)
assert jacrev(lambda m: m.sum(1))(matrix).shape == (2, 2, 3)
try:
    grad(f)(x)
except RuntimeError as e:
    print(e)
    assert "use jacrev" in str(e)
else:
    raise AssertionError("grad took a function with two results")

# %% [markdown]
# ## Which way is cheaper
#
# `jacrev` needs a pass for each result, `jacfwd` one for each input. Count the bytes of all intermediate results, and look at
# the clock.

# %%
tall_weights = torch.linspace(-1.0, 1.0, 3 * 400).reshape(400, 3)


def tall(x):
    return (tall_weights @ x).tanh().cumsum(0)


def wide(x):
    return (tall_weights.mT @ x.tanh()).exp()


def bytes_made(f, *args):
    """Return the bytes of all tensors created while f runs."""
    return sum(value["bytes"] for value in torch.record(f, *args, passes="forward").to_dict()["values"])


def seconds(f, *args):
    """Return the shortest time of five runs."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        f(*args)
        times.append(time.perf_counter() - start)
    return min(times)


lessons.predict(
    "tall has 3 inputs and 400 results. Which transform creates fewer bytes?",
    {
        "jacfwd": "Three passes, one for each input, against 400, one for each result.",
        "jacrev": "Backward is right for a loss, with one result. Here it needs 400 passes.",
    },
    lambda: min((jacrev, jacfwd), key=lambda way: bytes_made(way(tall), torch.ones(3))).__name__,
)

# %%
made = {}
for name, function, n in (("tall: 3 to 400", tall, 3), ("wide: 400 to 3", wide, 400)):
    for transform in (jacrev, jacfwd):
        jacobian, at = transform(function), torch.ones(n) / n
        made[name[:4], transform.__name__] = bytes_made(jacobian, at)
        print(f"{name}  {transform.__name__}  {made[name[:4], transform.__name__]:>9,} bytes", end="  ")
        print(f"{1000 * seconds(jacobian, at):7.3f} ms")
assert made["tall", "jacfwd"] < made["tall", "jacrev"] / 10
assert made["wide", "jacrev"] < made["wide", "jacfwd"] / 10

# %% [markdown]
# A loss has one result and thousands of inputs. That is why training goes backward.
#
# The two ways also need different methods of a Function that calls another system. `jacrev` runs `vmap` over the backward pass
# only, so `backward` has to consist of tensor operations, and the Function needs neither a `vmap` nor a `jvp` staticmethod.


# %%
class NumpyExp(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return torch.tensor(np.exp(x.numpy()))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return grad_output * result


x = torch.tensor([0.0, 1.0])
print(jacrev(NumpyExp.apply)(x))
assert jacrev(NumpyExp.apply)(x).allclose(x.exp().diag())
try:
    jacfwd(NumpyExp.apply)(x)
except NotImplementedError as e:
    print(e)
    assert "jvp" in str(e)
else:
    raise AssertionError("a Function without a jvp was differentiated forward")

# %% [markdown]
# ## Second derivatives
#
# The Hessian of a function with one result is the Jacobian of its gradient. `hessian` is `jacfwd(jacrev(f))`: one
# backward pass for the gradient, then forward passes through it, since it has as many results as inputs.
#
# $$g = a^3 + 2ab^2 \qquad \nabla g = \begin{pmatrix} 3a^2 + 2b^2 \\ 4ab \end{pmatrix} \qquad
# H = \begin{pmatrix} 6a & 4b \\ 4b & 4a \end{pmatrix}$$


# %%
def g(x):
    a, b = x
    return a**3 + 2 * a * b**2


x = torch.tensor([1.0, 2.0])
print(hessian(g)(x))
assert hessian(g)(x).tolist() == [[6.0, 8.0], [8.0, 4.0]]
assert hessian(g)(x).equal(hessian(g)(x).mT)
assert hessian(g)(x).equal(jacfwd(jacrev(g))(x))
assert hessian(g)(x).equal(torch.autograd.functional.hessian(g, x))

# %% [markdown]
# A Hessian is symmetric: the order of the two differentiations does not matter. `relu` consists of straight pieces, so its
# Hessian is zero, and Newton's method (below) cannot use it.

# %%
bent = lambda x: x.relu().sum()
print(hessian(bent)(x))
assert hessian(bent)(x).equal(torch.zeros(2, 2))
try:
    torch.linalg.solve(hessian(bent)(x), grad(bent)(x))
except torch.linalg.LinAlgError as e:
    print(e)
    assert "singular" in str(e)
else:
    raise AssertionError("a matrix of zeros was inverted")

# %% [markdown]
# ## Without the matrix
#
# A network with a million weights has a Hessian with $10^{12}$ elements. But its product with a vector `v` is only the
# derivative of the gradient along `v`: one forward pass through a backward pass. No tensor is larger than `x`.


# %%
def hvp(f, x, v):
    return jvp(grad(f), (x,), (v,))[1]


v = torch.tensor([1.0, -1.0])
print(hvp(g, x, v), hessian(g)(x) @ v)
assert hvp(g, x, v).equal(hessian(g)(x) @ v)


def cubes(x):
    return (x**3).sum()


many = torch.linspace(0.0, 1.0, 500)
by_matrix = bytes_made(lambda x: hessian(cubes)(x) @ x, many)
by_product = bytes_made(lambda x: hvp(cubes, x, x), many)
print(f"through the matrix {by_matrix:,} bytes, without it {by_product:,}")
assert by_product * 50 < by_matrix

# %% [markdown]
# Two backward passes give the same product: the gradient times `v` is one number, and its gradient is the product. For
# that, the first pass has to leave a graph behind.

# %%
leaf = x.clone().requires_grad_()
(slope,) = torch.autograd.grad(g(leaf), leaf, create_graph=True)
(product,) = torch.autograd.grad(slope @ v, leaf)
print(product)
assert product.equal(hvp(g, x, v))

(slope,) = torch.autograd.grad(g(leaf), leaf)
try:
    torch.autograd.grad(slope @ v, leaf)
except RuntimeError as e:
    print(e)
else:
    raise AssertionError("a gradient without a graph was differentiated")

# %% [markdown]
# ## Newton's method
#
# Near $x$ a function looks like a parabola, given by its gradient and its Hessian. Newton's method steps to the lowest
# point of that parabola. If the function is a parabola, one step is enough.
#
# $$x_\text{next} = x - H^{-1} \nabla f(x)$$


# %%
def newton_step(f, x):
    return x - torch.linalg.solve(hessian(f)(x), grad(f)(x))


bowl = lambda x: (x[0] - 3) ** 2 + 10 * (x[1] + 1) ** 2
print(newton_step(bowl, torch.tensor([20.0, 20.0])))
assert newton_step(bowl, torch.tensor([20.0, 20.0])).allclose(torch.tensor([3.0, -1.0]))

# %% [markdown]
# Rosenbrock's valley is bent, and flat along its ground: $(1 - a)^2 + 100\,(b - a^2)^2$, with its minimum at $(1, 1)$. Once
# the steps are near, each about doubles the number of right digits, up to the precision of `float64`.


# %%
def valley(x):
    a, b = x
    return (1 - a) ** 2 + 100 * (b - a**2) ** 2


start, goal = torch.tensor([-1.2, 1.0], dtype=torch.float64), torch.ones(2, dtype=torch.float64)
path, distances = [start], []
for i in range(7):
    path.append(newton_step(valley, path[-1]))
    distances.append((path[-1] - goal).norm().item())
    print(f"step {i + 1} to ({path[-1][0]:.12f}, {path[-1][1]:.12f}), distance {distances[-1]:.1e}")
assert 1e-2 < distances[3] < 1e-1 and distances[4] < 1e-4 and distances[5] < 1e-9

# %% [markdown]
# Gradient descent knows only the slope. With a rate of 0.01 it flies out of the valley. With 0.002 it stays in, but does not
# get far along the ground in 200 steps.


# %%
def descend(rate, steps):
    points = [start]
    for _ in range(steps):
        points.append(points[-1] - rate * grad(valley)(points[-1]))
    return points


print("rate 0.01, 5 steps:   ", descend(0.01, 5)[-1])
print("rate 0.002, 200 steps:", descend(0.002, 200)[-1])
assert descend(0.01, 5)[-1].norm() > 1e6
assert (descend(0.002, 200)[-1] - goal).norm() > 1

# %% alt="Two paths in a bent valley: gradient descent stops far from the minimum, Newton's method reaches it at (1, 1)"
across, up = np.meshgrid(np.linspace(-1.6, 1.6, 120), np.linspace(-3.5, 2, 120))
figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained", subplot_kw={"xlabel": "a", "ylabel": "b"})
axes.contour(across, up, (1 - across) ** 2 + 100 * (up - across**2) ** 2, np.logspace(-1, 3.4, 12), colors="#b8c0cc")
ways = {"gradient descent, 200 steps": descend(0.002, 200), "Newton, 7 steps": path, "minimum": [goal]}
for (name, points), style in zip(ways.items(), ("--.", "-o", "k*")):
    axes.plot(*np.array([point.tolist() for point in points]).T, style, label=name, markersize=6)
    axes.legend(loc="lower left")

# %% [markdown]
# ## Not every level point is a minimum
#
# Newton's method steps to the point where the parabola is level. That is a minimum only if the parabola opens upwards in
# all directions, that is, if all eigenvalues of the Hessian are positive. $a^2 - b^2$ has a saddle at zero, and Newton's
# method goes right there, though the function falls without end along `b`.

# %%
saddle = lambda x: x[0] ** 2 - x[1] ** 2
reached = newton_step(saddle, torch.tensor([1.0, 0.5]))
bending = torch.linalg.eigvalsh(hessian(saddle)(reached))
print(reached, bending)
assert reached.equal(torch.zeros(2))
assert bending.tolist() == [-2.0, 2.0]

# %% [markdown]
# So look at the eigenvalues at a point before you call it a minimum.
#
# ## Exercises
#
# ### 1. A Jacobian by hand
#
# Work out the Jacobian of `[x0 * x1, x0 * x0, x1]` with respect to `x` at `x = [2, 3]`. Give it as a list of rows.

# %%
jacobian_by_hand = ...

lessons.check("jacobian_by_hand", jacobian_by_hand)

# %% [markdown]
# ### 2. Forward or reverse
#
# Which of `"jacfwd"` and `"jacrev"` is cheaper for the Jacobian of
#
# - the loss of a network by its 1000 weights,
# - the place of a planet, three coordinates, by the time,
# - the scores of ten digits by the 784 pixels of a picture?
#
# Give a list of three words.

# %%
jacobian_modes = ...

lessons.check("jacobian_modes", jacobian_modes)

# %% [markdown]
# ### 3. How much a function bends
#
# Write `curvature(f, x, v)`, which gives $v^\top H v$: how fast the slope of `f` along `v` changes along `v`. Do it without the
# Hessian, for `x` may have a million elements.


# %%
def curvature(f, x, v): ...


lessons.check("curvature", curvature)

# %% [markdown]
# ### 4. A repair
#
# This function should find a minimum with Newton's method, but returns nonsense. Two things are wrong with it.


# %%
def newton_minimum(f, x):
    for _ in range(20):
        if grad(f)(x).norm() > 1e-8:
            return x
        x = x - hessian(f)(x) @ grad(f)(x)
    return x


lessons.check("newton_minimum", newton_minimum)

# %% [markdown]
# ### 5. Where it is zero
#
# Newton's method also solves equations. Near `x`, `f` looks like `f(x) + J d`, where `d` is a step and `J` the Jacobian;
# go where that is zero, and again from there. Write `newton_root(f, x)` for functions that have as many results as inputs.
# Fifteen steps are enough for the check.


# %%
def newton_root(f, x): ...


lessons.check("newton_root", newton_root)

# %% [markdown]
# ## Summary
#
# - A backward pass gives a row of the Jacobian, a forward pass (`jvp`) a column.
# - `jacrev` suits few results, `jacfwd` few inputs. A loss has one result: go backward.
# - The Hessian is the Jacobian of the gradient; its product with a vector is one forward pass through a backward pass.
# - Newton's method steps by $-H^{-1} \nabla f$; the eigenvalues of $H$ tell if the point it reaches is a minimum.
#
# ## Questions
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
# <summary>A function has 5 inputs and 5 results. Does it matter which way you take?</summary>
#
# Both take five passes. Forward keeps no tensors for later, so it needs less memory; but each operation must have a `jvp`.
#
# </details>
#
# <details markdown="1">
# <summary>Newton's method has reached a point with gradient zero. What do you check?</summary>
#
# The eigenvalues of the Hessian there. If all are positive, it is a minimum; if one is negative, the function still falls along
# that eigenvector.
#
# </details>
