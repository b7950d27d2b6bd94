# %% [markdown]
# # Compile: read your training step
#
# *Needs lessons 2, 10 and 25.*
#
# **What does `torch.compile` make of my function?** It runs the function once and records its operations. From the record it
# writes a module with as few loops as possible, gradients and updates included. You can read this module.
#
# After this lesson you can:
#
# - read the module of a compiled function, and of its backward pass
# - follow a whole training step through its module
# - rewrite a formula so that it needs fewer loops

# %%
import math
import time

import numpy as np

import lessons
import minigrad as torch
from viz import draw


def wave(x, w):
    return ((x * w).sin() + x).sum()


# %%
compiled = torch.compile(wave)
x = torch.tensor([0.0, 1.0, 2.0])
w = torch.tensor([2.0, 0.0, 1.0], requires_grad=True)
y = compiled(x, w)
draw(compiled.graph())

# %% [markdown]
# This is the record of the first call. The cards are the operations that the module computes.
#
# ## Capturing one call
#
# You call a compiled function like the original. The first call runs it once and records each operation; minigrad writes one
# module from the record, and later calls run that.

# %%
print(y)
assert math.isclose(y.item(), wave(x, w).item(), rel_tol=1e-6)

lessons.predict(
    "The function has four operations. How many loops over the elements does its module have?",
    {
        1: "Each element goes through all four operations before the next begins.",
        2: "The sum needs no second loop: it adds each number as soon as it is computed.",
        4: "That is the eager program, with a loop for each operation.",
    },
    lambda: compiled.source().count("for i in range"),
)

# %% [markdown]
# `source()` is the module. Comments above each loop quote the lines of the function that it computes. Most results are single
# numbers like `mul_result_i` that need no array. One of them does go into an array.

# %%
print(compiled.source())
assert compiled.source().count("for i in range") == 1

# %% [markdown]
# `explain()` lists the operations of each loop. The backward pass has a loop, too, written at the same time.

# %%
print(compiled.explain())
assert compiled.explain().count("one loop over (3,)") == 2

# %% [markdown]
# You can differentiate the result like any other. Its backward pass is a separate module and shows the purpose of the array:
# the derivative of `sin` needs `x * w`.

# %%
y.backward()
print(compiled.source("backward"))
print(w.grad)
(expected,) = torch.autograd.grad(wave(x, w), w)
assert np.allclose(w.grad.numpy(), expected.numpy(), rtol=1e-6)

# %% [markdown]
# ## A whole step
#
# Compiled code need not stop at the loss. This function computes the loss of a linear model, takes its gradients, and writes
# the new parameters in place.


# %%
def train(x, y, w, b, rate):
    error = x @ w + b - y
    loss = (error * error).mean()
    dw, db = torch.autograd.grad(loss, (w, b))
    with torch.no_grad():
        w.sub_(rate * dw)
        b.sub_(rate * db)
    return loss


def fresh():
    """Return parameters that start at zero."""
    return torch.zeros(2, requires_grad=True), torch.zeros(1, requires_grad=True)


examples = torch.tensor(np.random.default_rng(0).standard_normal((8, 2)).astype(np.float32))
targets = examples @ torch.tensor([1.0, -2.0]) + 0.5
step = torch.compile(train)
w, b = fresh()
for i in range(101):
    loss = step(examples, targets, w, b, 0.1)
    if i % 50 == 0:
        print(f"step {i}: loss {loss.item():.5f}")
print(w.detach(), b.detach())
assert loss.item() < 1e-3 and np.allclose(w.detach().numpy(), [1.0, -2.0], atol=0.05)

# %% [markdown]
# `x @ w` is not a loop of the module, but a call of `np.dot`, which uses BLAS, a library for linear algebra.

# %%
lessons.predict(
    "How many calls of np.dot does the module of the whole step have?",
    {
        1: "The gradient of w is a product, too: of the error and x.",
        2: "x @ w for the error, and the error times x for the gradient of w.",
        3: "A third product would be the gradient of x, which the step does not ask for.",
        0: "The module does not write its own loop for a matrix product: BLAS is much faster.",
    },
    lambda: step.source().count("np.dot("),
)

# %% [markdown]
# Read it from the top. The first product is `x @ w`. The error and the sum of its squares share a loop, which adds each term
# as it computes it. The gradient begins right after, since it does not need the value of the loss. It reuses the memory of
# `error`, which no later code reads. The last loops are the updates, in the memory of `w` and `b` themselves.

# %%
print(step.source())

# %%
print(step.explain())

# %% [markdown]
# Compiled or not, these steps give the same parameters up to rounding.

# %%
w_eager, b_eager = fresh()
for _ in range(101):
    train(examples, targets, w_eager, b_eager, 0.1)
assert np.allclose(w.detach().numpy(), w_eager.detach().numpy(), rtol=1e-4, atol=1e-5)
assert np.allclose(b.detach().numpy(), b_eager.detach().numpy(), rtol=1e-4, atol=1e-5)

# %% [markdown]
# ## The savings
#
# Two things cost time besides the arithmetic. Each call of an operation has a fixed cost, which matters for small arrays. Each
# operation also writes an array for the next one to read, which matters for large arrays. This cell measures both, on one
# thread.

# %%
torch.set_num_threads(1)


def microseconds(f, *args, runs=30):
    """Return the shortest processor time of several calls, after two that may compile."""
    f(*args)
    f(*args)
    times = []
    for _ in range(runs):
        start = time.process_time()
        f(*args)
        times.append(time.process_time() - start)
    return 1e6 * min(times)


def chain(x, y):
    return (x * y + x).square().mean()


fast_chain = torch.compile(chain)
large = torch.randn(1_000_000), torch.randn(1_000_000)
for what, eager, fast, args in (
    ("a training step on 8 examples", train, step, (examples, targets, *fresh(), 0.1)),
    ("four operations on a million numbers", chain, fast_chain, large),
):
    slow, quick = microseconds(eager, *args), microseconds(fast, *args)
    print(f"{what}: {slow:.0f} µs eager, {quick:.0f} µs compiled, a ratio of {slow / quick:.1f}")
assert math.isclose(chain(*large).item(), fast_chain(*large).item(), rel_tol=1e-4)

# %% [markdown]
# ## Your own Functions
#
# minigrad traces your own Functions: the computations of their methods become part of the program. If the methods do more than
# compute, set `is_traceable = False`: then code that calls the Function is not compiled. With `fullgraph=True`, code that is
# not compiled is an error.


# %%
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


def squares(x):
    return Square.apply(x).sum()


x = torch.tensor([1.0, 2.0], requires_grad=True)
compiled_squares = torch.compile(squares, fullgraph=True)
compiled_squares(x).backward()
print(x.grad)
print(compiled_squares.explain())
assert x.grad.tolist() == [2.0, 4.0]

# %%
Square.is_traceable = False
try:
    torch.compile(squares, fullgraph=True)(x)
except RuntimeError as e:
    print(e)
    assert "is_traceable = False" in str(e)
else:
    raise AssertionError("a Function was traced although it does not allow that")

# %% [markdown]
# ## Exercises
#
# ### 1. Loops
#
# At least how many loops over the elements of `x` does the program of `x.exp() / x.exp().sum()` need? A loop can add terms as
# it computes them; an operation that needs the whole sum has to wait.

# %%
compile_loops = ...

lessons.check("compile_loops", compile_loops)

# %% [markdown]
# ### 2. One loop
#
# The variance of `x` is the mean squared distance from the mean. Written as below, its program has two loops over `x`. Write a
# function with the same result whose program has only one.


# %%
def compile_variance(x):
    return ((x - x.mean()) ** 2).mean()


lessons.check("compile_variance", compile_variance)

# %% [markdown]
# ### 3. Saved for backward
#
# `x` and `w` have 1000 elements each, and both require grad. How many arrays of 1000 elements does the forward module of
# `(x.exp() * w).sum()` write for its backward pass?

# %%
compile_saved = ...

lessons.check("compile_saved", compile_saved)

# %% [markdown]
# ### 4. From scratch (at home)
#
# Write a training step with momentum for the model `x @ w`, with the mean of squared errors as its loss. `velocity` is a tensor
# like `w`. The step computes `velocity = 0.9 * velocity + gradient`, then `w = w - rate * velocity`, both in place, and
# returns the loss. It has to compile without running eagerly.


# %%
def compile_momentum(x, y, w, velocity, rate): ...


lessons.check("compile_momentum", compile_momentum)

# %% [markdown]
# ## Summary
#
# - The first call is recorded; the module of the record has one loop for as many operations as possible.
# - `source()` shows the module, `source("backward")` the gradients, `explain()` the operations of each loop.
# - Gradients and in-place updates are part of the module.
# - A loop needs no array for a result that only the same loop reads.
#
# ## Questions
#
# <details markdown="1">
# <summary>A function adds up a tensor and divides each element by the sum. Why are two loops needed?</summary>
#
# No element can be divided before the last one is added. The first loop computes the sum, the second divides.
#
# </details>
#
# <details markdown="1">
# <summary>Why does compiling help more for 8 examples and for a million numbers than for a large matrix product?</summary>
#
# It saves the fixed cost of calls and the arrays between elementwise operations. A large matrix product spends its time in
# BLAS, compiled or not.
#
# </details>
#
# <details markdown="1">
# <summary>Which results become arrays although their operation is inside a loop?</summary>
#
# The results that other code reads: a later loop, BLAS, the backward pass or the caller.
#
# </details>
