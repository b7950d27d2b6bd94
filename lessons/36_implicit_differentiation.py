# %% [markdown]
# # Differentiate the equation, not the loop
#
# *Needs lessons 2, 7 and 16.*
#
# **My function solves an equation with a loop. Do I have to differentiate the loop?** No. The solution depends on the
# equation, not on the loop that finds it. So a custom `Function` computes the derivative from the equation alone.
#
# After this lesson you can:
#
# - derive the slope of a solution from its equation
# - write a `Function` that loops in forward and solves a linear equation in backward
# - compare its memory with the memory of the recorded loop
# - do the same for a system of linear equations

# %%
import numpy as np

import lessons
import minigrad as torch
from minigrad.autograd import Function, gradcheck, gradgradcheck
from minigrad.autograd.function import once_differentiable
from viz import draw


def kepler(E, M, e):
    return M + e * E.sin()


M = torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64, requires_grad=True)
e = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)

# %% [markdown]
# ## The equation
#
# Where is a planet at a given time? Kepler's equation says $E = M + e \sin E$: `M` is the time, `e` says how flat the ellipse
# is, and the angle `E` is unknown. No formula gives `E`. But if you put a guess into the right side, you get a better one. The
# loop stops at the *fixed point*, where the result is `E` itself.


# %%
def solve(M, e, rounds=100):
    """Repeat E = M + e sin E until it holds."""
    E = M
    for _ in range(rounds):
        E, before = kepler(E, M, e), E
        if torch.allclose(E, before, rtol=0, atol=1e-13):
            break
    return E


E = solve(M, e)
print(E.detach())
assert torch.allclose(E, kepler(E, M, e), rtol=0, atol=1e-12)

# %% [markdown]
# ## Through the loop
#
# The recorded loop works: every operation has a derivative. Two rounds already make this graph, and each further round
# adds three operations and two tensors of 24 bytes.


# %%
def unrolled(M, e, rounds=2):
    E = M
    for _ in range(rounds):
        E = kepler(E, M, e)
    return E


def saved(f, *args):
    return draw(f, *args).graph.saved_bytes()


for rounds in (2, 10, 50):
    print(f"{rounds} rounds keep {saved(unrolled, M, e, rounds)} bytes")
assert saved(unrolled, M, e, 50) - saved(unrolled, M, e, 10) == 40 * 2 * 24
draw(unrolled, M, e, show="saved", name="two rounds of the loop")

# %% [markdown]
# ## The derivative of the equation
#
# Let $x = f(x, a)$ be the equation. When $a$ changes a little, the solution $x$ changes so that both sides stay equal:
#
# $$\begin{aligned} x &= f(x, a) \\ dx &= f_x\,dx + f_a\,da \\ dx &= (1 - f_x)^{-1} f_a\,da \end{aligned}$$
#
# This is the implicit function theorem (Krantz and Parks wrote a whole book, "The Implicit Function Theorem", 2002). It
# needs $1 - f_x$ to have an inverse. For Kepler's equation with one number, $f_x = e \cos E$ and $f_M = 1$:

# %%
(by_M,) = torch.autograd.grad(solve(M, e).sum(), M)
print(by_M, "=", (1 / (1 - e * E.cos())).detach())
assert torch.allclose(by_M, 1 / (1 - e * E.cos()))

# %% [markdown]
# ## Backward is a loop, too
#
# Backward receives $g$ and has to return $g^\top dx$. With several numbers, $f_x$ is a matrix. Never build it. Instead,
# compute a vector $u$, which solves an equation of the same kind. Each round of its loop is one call of `torch.autograd.grad`.
#
# $$g^\top dx = u^\top f_a\,da \qquad u = (1 - f_x)^{-\top} g \qquad u = g + f_x^\top u$$
#
# Christianson described this in 1994 ("Reverse Accumulation and Attractive Fixed Points", Optimization Methods and Software
# 3); deep equilibrium models (Bai, Kolter and Koltun, 2019, arXiv:1909.01377) are networks built on it. `Kepler.backward`
# computes these three equations. `gradcheck` uses neither loop: it compares with differences.


# %%
class Kepler(Function):
    @staticmethod
    def forward(ctx, M, e):
        E = solve(M, e)
        ctx.save_for_backward(E, M, e)
        return E

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        E, M, e = [t.detach().requires_grad_() for t in ctx.saved_tensors]
        with torch.enable_grad():
            again = kepler(E, M, e)  # one round, at the solution
        u = grad_output
        for _ in range(100):
            (by_E,) = torch.autograd.grad(again, E, u, retain_graph=True)
            u, before = grad_output + by_E, u
            if torch.allclose(u, before, rtol=0, atol=1e-13):
                break
        return torch.autograd.grad(again, (M, e), u)


def planet(M, e):
    return Kepler.apply(M, e)


draw(planet, M, e, passes=("forward", "backward"))

# %% [markdown]
# One card stands for the whole loop.

# %%
assert gradcheck(planet, (M, e))
many = [unrolled(M, e, rounds=50).sum(), planet(M, e).sum()]
for by_loop, by_equation in zip(*[torch.autograd.grad(total, (M, e)) for total in many]):
    assert torch.allclose(by_loop, by_equation, rtol=1e-10)

# %%
flat = torch.tensor(0.9, dtype=torch.float64, requires_grad=True)  # each round removes at least a tenth of the error
lessons.predict(
    "With e = 0.9 the loop needs many more rounds. How many bytes does the Function keep?",
    {
        56: "The solution and M have 24 bytes each, and e has 8. The number of rounds does not matter.",
        48: "e is a tensor of 8 bytes, and backward needs it as well.",
        24: "The solution alone is not enough: backward computes one more round, which also needs M and e.",
        4808: "That would be the recorded loop with 100 rounds: each keeps two tensors of 24 bytes.",
    },
    lambda: saved(planet, M, flat),
)

# %%
start = torch.tensor([0.0, 3.0, -5.0], dtype=torch.float64, requires_grad=True)


def slope_of_start():
    E = start
    for _ in range(100):
        E = kepler(E, M.detach(), e.detach())
    return torch.autograd.grad(E.sum(), start)[0].round(decimals=6).abs()


lessons.predict(
    "The loop begins at a guess. Which gradient does the guess get from the recorded loop of 100 rounds?",
    {
        "[0.0, 0.0, 0.0]": "Each guess leads to the same solution, so another guess changes nothing.",
        "[1.0, 1.0, 1.0]": "The guess is not just added: each round applies the sine to it and multiplies by e.",
        "[0.3, 0.3, 0.3]": "One round multiplies by e cos E. A hundred rounds multiply by it a hundred times.",
        "None": "The graph leads to the guess, so there is a gradient, though a very small one.",
    },
    slope_of_start,
)

# %% [markdown]
# The Function does not have the guess as an input at all.
#
# ## A solver from another library
#
# The loop may even be in another library, where autograd cannot record it. Here NumPy solves $A x = b$. The same steps give
#
# $$dA\,x + A\,dx = db \qquad dx = A^{-1}(db - dA\,x) \qquad u = A^{-\top} g \qquad \bar b = u \qquad \bar A = -u x^\top$$
#
# where $\bar b$ and $\bar A$ are the gradients. Backward solves one more system, with the transpose.


# %%
class Solve(Function):
    @staticmethod
    def forward(ctx, A, b):
        x = torch.from_numpy(np.linalg.solve(A.detach().numpy(), b.detach().numpy()))
        ctx.save_for_backward(A, x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        A, x = ctx.saved_tensors
        u = Solve.apply(A.mT, grad_output)
        return -torch.outer(u, x), u


A = torch.tensor([[4.0, 1.0, 0.0], [2.0, 5.0, 1.0], [0.0, 3.0, 6.0]], dtype=torch.float64, requires_grad=True)
b = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
assert gradcheck(Solve.apply, (A, b))
assert gradgradcheck(Solve.apply, (A, b))


def system(A, b):
    return Solve.apply(A, b)


draw(system, A, b, passes=("forward", "backward"))

# %% [markdown]
# Its backward calls `Solve` again, so it can be differentiated as often as you like. A recorded loop for the same system, here
# Jacobi's method, keeps tensors in each round.


# %%
def jacobi(A, b, rounds=60):
    diagonal = A.diagonal()
    x = b / diagonal
    for _ in range(rounds):
        x = x + (b - A @ x) / diagonal
    return x


print("Jacobi:", saved(jacobi, A, b), "bytes, Solve:", saved(system, A, b), "bytes")
assert torch.allclose(jacobi(A, b), system(A, b))
assert saved(system, A, b) == (9 + 3) * 8 < saved(jacobi, A, b) / 10
for by_loop, by_equation in zip(*[torch.autograd.grad(f(A, b).sum(), (A, b)) for f in (jacobi, system)]):
    assert torch.allclose(by_loop, by_equation)

# %% [markdown]
# ## Exercises
#
# ### 1. By hand
#
# `y` solves $y^3 + y = a$. For $a = 2$ the solution is $y = 1$. Compute $dy/da$ there.

# %%
implicit_slope = ...

lessons.check("implicit_slope", implicit_slope)

# %% [markdown]
# ### 2. A backward for Newton's loop
#
# `forward` solves $y^5 + y = a$, element by element. Write `backward` without a loop. `forward` saves only the solution.


# %%
class ImplicitQuintic(Function):
    @staticmethod
    def forward(ctx, a):
        y = torch.zeros_like(a)
        for _ in range(60):
            y = y - (y**5 + y - a) / (5 * y**4 + 1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output): ...


lessons.check("ImplicitQuintic", ImplicitQuintic)

# %% [markdown]
# ### 3. Repair
#
# This solver passes `gradcheck` for one matrix and fails for others. Find out why, and repair it.

# %%
symmetric = torch.tensor([[2.0, 1.0], [1.0, 3.0]], dtype=torch.float64)


class ImplicitSolve(Function):
    @staticmethod
    def forward(ctx, A, b):
        x = torch.linalg.solve(A, b)
        ctx.save_for_backward(A, x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        A, x = ctx.saved_tensors
        u = torch.linalg.solve(A, grad_output)
        return -torch.outer(u, x), u


assert gradcheck(lambda b: ImplicitSolve.apply(symmetric, b), b[:2].detach().requires_grad_())
lessons.check("ImplicitSolve", ImplicitSolve)

# %% [markdown]
# ### 4. Any equation (at home)
#
# Write `implicit_gradient(f, x, a, g)`: `x` solves `x = f(x, a)`, and `g` is the incoming gradient of `x`. Return the
# gradient of `a`.


# %%
def implicit_gradient(f, x, a, g): ...


lessons.check("implicit_gradient", implicit_gradient)

# %% [markdown]
# ## Summary
#
# - The derivative of a solution follows from the equation: $dx = (1 - f_x)^{-1} f_a\,da$.
# - Backward solves a linear equation of the same size: $u = g + f_x^\top u$.
# - The Function keeps the solution and the inputs; a recorded loop keeps tensors in each round.
# - The solver may be any code. `gradcheck` tells you if the equation and backward fit together.
#
# ## Questions
#
# <details><summary>The loop stops too early. Which gradient does the Function compute?</summary>
# The derivative formula, evaluated at a point that is not quite the solution. Its error is about as large as the
# point's, and gradcheck can fail.
# </details>
#
# <details><summary>For which planet does the formula fail?</summary>
# For e = 1 and E = 0: there 1 - e cos E is 0, and the slope of the solution is infinite.
# </details>
#
# <details><summary>Does backward have to use the same method as forward?</summary>
# No. Its equation is linear, so for a small system a direct solver is best, no matter how forward works.
# </details>
