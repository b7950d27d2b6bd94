# %% [markdown]
# # Compile: read your training step
#
# *25 minutes. Needs lessons 2, 10 and 25.*
#
# **What does `torch.compile` make of my function?** It runs the function once, records its operations, and writes a module with
# as few loops as possible, gradients and updates included. You can read this module.
#
# After this lesson you can:
#
# - read the module of a compiled function or training step
# - predict when a function is compiled again
# - recognize code that cannot be compiled, and rewrite it

# %%
import math
import time
import warnings

import numpy as np

import lessons
import minigrad as torch
from viz import draw


def wave(x, w):
    return ((x * w).sin() + x).sum()


compiled = torch.compile(wave)
x = torch.tensor([0.0, 1.0, 2.0])
w = torch.tensor([2.0, 0.0, 1.0], requires_grad=True)
y = compiled(x, w)
draw(compiled.graph())

# %% [markdown]
# This is the record of the first call. The cards are the operations that the module computes.
#
# ## One call is captured
#
# You call a compiled function like the original. The first call runs it once and records each operation; minigrad writes one
# module from the record, and later calls run that.

# %%
print(y)
assert math.isclose(y.item(), wave(x, w).item(), rel_tol=1e-6)

lessons.predict(
    "The function has four operations. How many loops over the elements has its module?",
    {
        1: "Each element goes through all four operations before the next begins.",
        2: "The sum needs no second loop: it adds each number as soon as it is computed.",
        4: "That is the eager program, a loop for each operation.",
    },
    lambda: compiled.source().count("for i in range"),
)

# %% [markdown]
# `source()` is the module. Comments above each loop quote the lines of the function that it computes. The results are numbers
# like `mul_result_i` that need no array. One of them goes into an array all the same.

# %%
print(compiled.source())
assert compiled.source().count("for i in range") == 1

# %% [markdown]
# `explain()` lists the operations of each loop. The backward pass has a loop as well, written at the same time.

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
# Read it from the top. `x @ w` is one call of BLAS. The error and the sum of its squares share a loop: it adds each term as it
# computes it. The gradient begins where the mean ends, since it does not need the value of the loss; it reuses the memory of
# `error`, which nothing reads afterwards. The last loops are the updates, in the memory of `w` and `b` themselves.

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
# Two things cost time besides the arithmetic. Each call of an operation has a fixed price, which counts for small arrays. Each
# operation writes an array for the next one to read, which counts for large ones. This cell measures both on one thread, on
# the machine that runs it.

# %%
torch.set_num_threads(1)


def microseconds(f, *args, runs=30):
    """Return the least processor time of several calls, after two that may compile."""
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
# ## When a function is captured again
#
# A module fits one kind of call: the dtypes, sizes and layouts of the tensors, and which of them require grad. minigrad
# captures a call of another kind again; this makes another specialisation. The text is usually the same for other sizes, and
# then minigrad does not compile it twice.


# %%
@torch.compile
def scaled(x, factor):
    return x * factor


def specialisations(*calls):
    """Compile a function, call it with each tuple of arguments, and return the number of its specialisations."""
    tried = torch.compile(lambda x, factor: x * factor)
    for arguments in calls:
        tried(*arguments)
    return int(repr(tried).split(", ")[1].split()[0])


three, five, doubles = torch.ones(3), torch.ones(5), torch.ones(3).double()
lessons.predict(
    "scaled is called with (three, 2.0), (three, 0.125), (five, 2.0) and (doubles, 2.0). How many specialisations are there?",
    {
        1: "A module fits one size and one dtype. The other sizes and dtypes are captured again.",
        2: "Another size needs a capture as well, even if its text is the same.",
        3: "Three floats, five floats, three doubles. The factor is an argument of the module.",
        4: "2.0 and 0.125 share one: a float is an argument of the module, not a part of it.",
    },
    lambda: specialisations((three, 2.0), (three, 0.125), (five, 2.0), (doubles, 2.0)),
)

# %%
scaled(torch.ones(3), 2.0)
text = scaled.source()
print(scaled)
scaled(torch.ones(3), 2.0)
print(scaled, "after the same call again")
scaled(torch.ones(5), 2.0)
print(scaled, "after five numbers")
assert "2 specialisations" in repr(scaled) and scaled.source() == text
scaled(torch.ones(3).double(), 2.0)
print(scaled, "after float64")
assert "3 specialisations" in repr(scaled) and scaled.source() != text

# %% [markdown]
# Python values count as well. A number is an argument of the module, which computes with it at each call. Where it decides
# something, as in an `if` or as the count of a loop, minigrad compares the decision.

# %%
scaled(torch.ones(3), 0.125)
print(scaled, "after another float")
assert "3 specialisations" in repr(scaled)
scaled(torch.ones(3), 2)
scaled(torch.ones(3), 3)
print(scaled, "after two ints")
assert "4 specialisations" in repr(scaled)


@torch.compile
def scheduled(x, rate, step):
    return x * (rate * 0.9**step) if step > 2 else x * 0


for step in range(6):
    scheduled(torch.ones(3), 0.5, step)
print(scheduled.explain())
assert "2 specialisations" in repr(scheduled)

# %% [markdown]
# The same holds for everything that a function reads from outside. minigrad notices a changed global. After a number has
# changed once, minigrad looks it up at each call, as if it were an argument.

# %%
offset = 1.0


@torch.compile
def shifted(x):
    return x + offset


first = shifted(torch.zeros(2))
offset = 10.0
second = shifted(torch.zeros(2))
print(first, second, shifted)
assert first.tolist() == [1.0, 1.0] and second.tolist() == [10.0, 10.0]
for offset in (20.0, 30.0, 40.0):
    assert shifted(torch.zeros(2)).tolist() == [offset, offset]
print(shifted.explain())
assert "2 specialisations" in repr(shifted)

# %% [markdown]
# ## A training loop
#
# The side effects of a call belong to the program too: `backward()` fills `.grad`, an optimizer writes to parameters and keeps
# a state, attributes and entries of dictionaries change. So a training step compiles as it is written for eager code. `item()`
# reads the loss as a number for the caller: that works for values that are returned or stored, but not for values that the
# program itself depends on.
#
# The first call creates the optimizer's state. No later call does, so the first runs eagerly, and the second is compiled.

# %%
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.99)


@torch.compile(fullgraph=True)
def training_step(inputs, targets):
    optimizer.zero_grad()
    loss = ((model(inputs)[:, 0] - targets) ** 2).mean()
    loss.backward()
    optimizer.step()
    return loss.item()


inputs = torch.randn(16, 3)
targets = inputs.sum(1)
history = []
for _ in range(50):
    history.append(training_step(inputs, targets))
    schedule.step()
print(history[0], history[-1], training_step)
assert history[-1] < 0.1 * history[0] and "2 specialisations" in repr(training_step)

# %% [markdown]
# ## Limits
#
# The record of one call is valid for another only if both do the same operations. An `if` on a tensor decides by numbers that
# are unknown beforehand. Such a function runs eagerly, with one warning that names the line. The results are right, but no
# faster.


# %%
def bent(x):
    if x.sum() > 0:
        return 2 * x
    return 3 * x


compiled_bent = torch.compile(bent)
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    results = [compiled_bent(torch.tensor(numbers)).tolist() for numbers in ([1.0, 1.0], [-1.0, -1.0])]
print(said[0].message)
print(results)
assert len(said) == 1 and results == [[2.0, 2.0], [-3.0, -3.0]]

# %% [markdown]
# With `fullgraph=True` it is an error instead, for programs that must not run uncompiled.

# %%
try:
    torch.compile(bent, fullgraph=True)(torch.ones(2))
except RuntimeError as e:
    print(e)
else:
    raise AssertionError("one branch was taken for both")

# %% [markdown]
# `where` computes both branches and picks one by the number: the program is the same for all numbers.


# %%
@torch.compile(fullgraph=True)
def straight(x):
    return torch.where(x.sum() > 0, 2 * x, 3 * x)


for numbers in ([1.0, 1.0], [-1.0, -1.0]):
    print(straight(torch.tensor(numbers)))
    assert straight(torch.tensor(numbers)).tolist() == bent(torch.tensor(numbers)).tolist()

# %% [markdown]
# Effects other than values, such as `print` or a growing list, would happen once, during the capture, and never again.
# Sizes that depend on numbers, as in `x[x > 0]`, would stay those of the first call. minigrad compiles neither. A sum of
# `x[x > 0]` needs no size, so it compiles.

# %%
seen = []


def noting(x):
    seen.append(1)
    return 2 * x


def positive(x):
    return x[x > 0]


def sum_of_positive(x):
    return x[x > 0].sum()


x = torch.tensor([1.0, -2.0, 3.0])
print(torch.compile(sum_of_positive, fullgraph=True)(x))
assert torch.compile(sum_of_positive, fullgraph=True)(x).item() == 4.0

for f in (noting, positive):
    try:
        torch.compile(f, fullgraph=True)(torch.ones(2))
    except RuntimeError as e:
        print(e)
        print()
    else:
        raise AssertionError(f"{f.__name__} was compiled")

# %% [markdown]
# minigrad traces your own Functions: the computations of their methods become part of the program. If the methods do more
# than compute, set `is_traceable = False`; code that calls the Function then runs eagerly.


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
    raise AssertionError("a Function was looked into that does not allow it")

# %% [markdown]
# ## Exercises
#
# ### 1. Count
#
# How many specialisations does this function have after these five calls?


# %%
@torch.compile
def halved(x, share):
    return x * share


halved(torch.ones(4), 0.5)
halved(torch.ones(4), 0.25)
halved(torch.ones(6), 0.5)
halved(torch.ones(6), 2)
halved(torch.ones(4), 0.75)
compile_count = ...

lessons.check("compile_count", compile_count)

# %% [markdown]
# ### 2. Loops
#
# How many loops over the elements of `x` does the program of `x.exp() / x.exp().sum()` need at least? A loop can add terms as
# it computes them; an operation that needs the whole sum has to wait.

# %%
compile_loops = ...

lessons.check("compile_loops", compile_loops)

# %% [markdown]
# ### 3. Repair
#
# The function limits the length of a vector to 1. It is right, but does not compile. Write one with the same results that
# does.


# %%
def compile_limited(x):
    length = (x * x).sum().sqrt()
    if length > 1:
        return x / length.item()
    return x


lessons.check("compile_limited", compile_limited)

# %% [markdown]
# ### 4. One thing at a time
#
# This function also keeps its losses in a list, so it runs eagerly. Rewrite it so that it compiles and still returns
# everything that its caller needs to keep a list: the loss and the gradient, in this order.

# %%
losses = []


def compile_noted(x, w):
    loss = ((x * w).sum() - 1) ** 2
    losses.append(loss.item())
    (dw,) = torch.autograd.grad(loss, w)
    return dw


lessons.check("compile_noted", compile_noted)

# %% [markdown]
# ### 5. From scratch
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
# - Gradients, updates in place and an optimizer's step are parts of the module.
# - Other dtypes, sizes and layouts make another specialisation; a float is an argument.
# - An `if` on a tensor, a `print` or a size that depends on numbers prevents compilation; `where` has no branch.
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
# It saves the fixed price of calls and the arrays between elementwise operations. A large matrix product spends its time in
# BLAS, compiled or not.
#
# </details>
#
# <details markdown="1">
# <summary>Your compiled function warns that it runs eagerly. Are its results wrong?</summary>
#
# No. It runs as if it were not compiled, so they are right but no faster. `fullgraph=True` turns the warning into an error.
#
# </details>
