# %% [markdown]
# # One kernel, and digits
#
# *Needs build 7.*
#
# **Can your engine read handwriting, and how far is it from minigrad?** You write a loop for Numba from the text of a formula,
# make a Function of it, and train a network on 1797 digits. Then a clock compares your engine with minigrad, and with PyTorch if
# you have it.
#
# After this step you can:
#
# - make a compiled loop, forward and backward, from one formula
# - write softmax with cross entropy as one Function, safe for large scores
# - train a network with an engine that you wrote, and say where its time goes

# %%
import inspect
import time
from importlib.util import find_spec

import numpy as np
from engine import *
from numba import njit
from sklearn.datasets import load_digits

import lessons
import minigrad
from viz import draw

# %% [markdown]
# ## Memory is slow
#
# NumPy computes `(x * x + 1) * (x - 2) * x` in five operations, and each one reads arrays from memory and writes a new one. A
# compiled loop reads `x` once, computes in the processor's registers, and writes the result once.

# %%
x = np.random.default_rng(0).normal(size=1_000_000)


@njit
def by_hand(x_, result_):
    for i in range(result_.size):
        x = x_[i]
        result_[i] = (x * x + 1) * (x - 2) * x


def seconds(f, *args):
    """Return the shortest of three times of a call; an earlier call compiles."""
    f(*args)
    times = []
    for _ in range(3):
        begun = time.perf_counter()
        f(*args)
        times.append(time.perf_counter() - begun)
    return min(times)


result = np.empty_like(x)
numpy_time, loop_time = seconds(lambda: (x * x + 1) * (x - 2) * x), seconds(by_hand, x, result)
print(f"NumPy {1000 * numpy_time:.1f} ms, one loop {1000 * loop_time:.1f} ms")
assert np.allclose(result, (x * x + 1) * (x - 2) * x)

lessons.predict(
    "How many numbers does the loop read and write in memory for one number of the result?",
    {
        2: "It reads x and writes the result. What lies between stays in registers.",
        5: "That is the number of operations. Their intermediate results never reach memory.",
        13: "That is what NumPy's five operations read and write. The loop keeps what lies between in registers.",
    },
    lambda: len(inspect.signature(by_hand.py_func).parameters),
)

# %% [markdown]
# ## 1. The text of a loop
#
# Only two things in `by_hand` depend on the operation: the names of the arrays and the formula. Write a function that returns
# the text of the loop. It is a function `loop`; its arguments are the names with an underscore at the end, and `result_`.
# `loop_source(["x", "y"], "x - y")` returns:
#
# ```python
# def loop(x_, y_, result_):
#     for i in range(result_.size):
#         x = x_[i]
#         y = y_[i]
#         result_[i] = x - y
# ```


# %%
def loop_source(names, formula): ...


lessons.check("loop_source", loop_source)

# %% [markdown]
# `compiled` runs the text, which defines `loop`, and has Numba compile it. The formula may use a few functions of `math`.


# %%
def compiled(source):
    """Return the compiled loop of a text."""
    import math

    from numba import njit

    names = {name: getattr(math, name) for name in ("exp", "log", "sin", "cos", "sqrt", "tanh")}
    exec(source, names)
    return njit(names["loop"])


lessons.keep(compiled)

# %% [markdown]
# ## 2. Any shape
#
# The loop has one index, so it needs flat arrays of one size. Write `run_loop(loop, *arrays)`: broadcast the arrays, flatten
# them, call the loop with a new array for the result, and return the result in the broadcast shape. Arrays may be numbers or
# transposed matrices; `np.ascontiguousarray` copies only if it must.


# %%
def run_loop(loop, *arrays): ...


lessons.check("run_loop", run_loop)

# %% [markdown]
# ## 3. A Function from formulas
#
# A pointwise operation is two formulas: the result, and the derivative with respect to each argument, which may use the
# arguments and the result `out`. Write `pointwise("Root", "sqrt(x * x + y * y)", x="x / out", y="y / out")`. It returns a Function
# with this name. Its forward runs the loop of the formula and saves the arrays and the result. Its backward runs one loop for
# each derivative, which multiplies by the incoming gradient in the same pass. Your engine sums over broadcast dimensions itself.


# %%
def pointwise(name, formula, **derivatives): ...


lessons.check("pointwise", pointwise)

# %% [markdown]
# SiLU is an activation function, `x / (1 + exp(-x))`. Here is yours in a graph of your engine.

# %%
Silu = pointwise("Silu", "x / (1 + exp(-x))", x="(1 + out * exp(-x)) / (1 + exp(-x))")
x = Value(np.array([-1.0, 0.0, 2.0]))
w = Value(np.array([1.0, 2.0, 3.0]))
loss = total(Silu.apply(x) * w)
backward(loss)
draw(loss, passes=("forward", "backward"))

# %% [markdown]
# ## 4. The loss
#
# The last layer gives a score for each of ten classes. Softmax makes probabilities of a row of scores, $p_k = e^{s_k} / \sum_j
# e^{s_j}$, and cross entropy is $-\log p_c$ for the right class $c$, as a mean over the rows. The derivative is short because
# the two fit together:
#
# $$\frac{\partial}{\partial s_k}(-\log p_c) = p_k - [k = c]$$
#
# Write it as one Function. Its arguments are a matrix of scores and a vector of classes, which needs no gradient: return `None`
# for it. Large scores must not overflow: to subtract the largest score of a row changes no probability.


# %%
class CrossEntropy(Function):
    @staticmethod
    def forward(ctx, scores, classes): ...

    @staticmethod
    def backward(ctx, g): ...


lessons.check("CrossEntropy", CrossEntropy)

# %% [markdown]
# ## 5. A step downhill
#
# Write `descend(parameters, rate)`: change the value of each parameter by `rate` times its gradient, in place, and set the
# gradient to `None`. A parameter without a gradient stays as it is.


# %%
def descend(parameters, rate): ...


lessons.check("descend", descend)

# %% [markdown]
# ## Digits
#
# Now everything is there: your graph, your backward, your kernel, your loss. The network has 64 inputs, 32 hidden numbers and 10
# scores. The first 1500 digits are for training, the others for a test.

# %%
pixels, digits = load_digits(return_X_y=True)
pixels = pixels / 16


def network(seed=0):
    """Return the parameters of a network with a hidden layer."""
    random = np.random.default_rng(seed)
    return [Value(random.normal(size=(64, 32)) / 8), Value(np.zeros(32)),
            Value(random.normal(size=(32, 10)) / 6), Value(np.zeros(10))]  # fmt: skip


def scores(parameters, x):
    w1, b1, w2, b2 = parameters
    return Silu.apply(Value(x) @ w1 + b1) @ w2 + b2


def epoch(parameters, rate=0.5, batch=50):
    """Train on all 1500 digits once, and return the mean loss."""
    losses = []
    for start in range(0, 1500, batch):
        part = slice(start, start + batch)
        loss = CrossEntropy.apply(scores(parameters, pixels[part]), digits[part])
        backward(loss)
        descend(parameters, rate)
        losses.append(float(loss.value))
    return sum(losses) / len(losses)


parameters = network()
for number in range(1, 11):
    mean = epoch(parameters)
    if number in (1, 2, 5, 10):
        print(f"epoch {number:2}: loss {mean:.3f}")
found = scores(parameters, pixels[1500:]).value.argmax(axis=1)
right = float((found == digits[1500:]).mean())
print(f"{right:.0%} of the 297 other digits are read correctly")
assert right > 0.8

# %% [markdown]
# One digit, and the whole graph behind its loss:

# %%
loss = CrossEntropy.apply(scores(parameters, pixels[:1]), digits[:1])
backward(loss)
draw(loss, passes="backward")

# %% [markdown]
# ## The clock
#
# The same network, the same numbers, three engines. The networks are small, so most of the time is not arithmetic but what an
# engine does around it: making nodes, saving, ordering.


# %%
def epoch_of(torch, silu, cross_entropy, batch=50):
    """Return a function that trains for an epoch with minigrad or PyTorch."""
    leaves = [torch.tensor(p.value, requires_grad=True) for p in network()]
    x, y = torch.tensor(pixels), torch.tensor(digits)

    def train():
        for start in range(0, 1500, batch):
            w1, b1, w2, b2 = leaves
            hidden = silu(x[start : start + batch] @ w1 + b1)
            cross_entropy(hidden @ w2 + b2, y[start : start + batch]).backward()
            with torch.no_grad():
                for p in leaves:
                    p -= 0.5 * p.grad
                    p.grad = None

    return train


engines = {"your engine": lambda: epoch(parameters)}
functional = minigrad.nn.functional
engines["minigrad"] = epoch_of(minigrad, functional.silu, functional.cross_entropy)
if find_spec("torch"):
    import torch

    engines["PyTorch"] = epoch_of(torch, torch.nn.functional.silu, torch.nn.functional.cross_entropy)
for name, train in engines.items():
    print(f"{name:12} {1000 * seconds(train):6.1f} ms for an epoch")

# %% [markdown]
# Do not be surprised if yours is the fastest here. It supports little and checks nothing: no dtypes, no devices, no hooks, no
# messages. On large arrays all three wait for the same matrix products.
#
# ## Your lines and minigrad's
#
# minigrad's kernels begin with a formula, too. This is the whole definition of `silu` there, and the loop that minigrad makes of it:

# %%
from lessons.build.beside import beside
from minigrad.kernels import generate
from minigrad.ops.nn.activation import Silu as Theirs

print(generate.forward("silu", Theirs.kernel, (True,), np.dtype(np.float32)))
beside((pointwise, Theirs), (loop_source, generate.flat))

# %% [markdown]
# The extra lines there are for:
#
# - `dtype`: `float32(1)` keeps the loop in float32, where Numba would widen it
# - `nogil=True`: threads can run parts of a large array at the same time
# - `row`: an operation such as softmax has a loop over rows around that over elements
# - `prelude`: a formula may not be a scalar one. Then there is no kernel, and NumPy computes
# - **a module**: it is a file, so Numba compiles it once and not in every program
#
# Around the kernel, `minigrad/core/tensor.py` is what `Value` is in your engine, and `minigrad/core/frames.py` decides which layer
# an operation meets first. How long are they?

# %%
import engine

from minigrad.core import backward as entry
from minigrad.core import context, frames, function, graph, inplace, saved, tensor
from minigrad.core import engine as walk

for module in (engine, tensor, graph, function, context, saved, inplace, walk, entry, frames):
    lines = len([line for line in inspect.getsource(module).splitlines() if line.strip()])
    print(f"{lines:4} lines  {module.__name__}")

# %% [markdown]
# ## Summary
#
# - A pointwise operation is a formula and its derivatives. Text becomes a loop, and the loop one pass over memory.
# - The gradient of softmax with cross entropy is the probability, minus 1 at the right class.
# - A training loop is four calls: forward, loss, backward, step.
#
# You have written an engine: a graph, the walk over it, arrays, Functions, writes, two modes and a kernel.
