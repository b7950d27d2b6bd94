# %% [markdown]
# # When compile runs your function again
#
# *Needs lessons 2 and 29.*
#
# **Does a compiled function ever run my Python code again?** Yes, for each new kind of call, because a module fits one choice
# of dtypes, sizes and decisions. A line that depends on the values of a tensor even runs in Python at every call.
#
# After this lesson you can:
#
# - predict when a function is captured again
# - compile a training loop with an optimizer and a schedule
# - recognize a line that cannot be compiled, and rewrite it

# %%
import time
import warnings

import numpy as np
from matplotlib import pyplot as plt

import lessons
import minigrad as torch


@torch.compile
def scaled(x, factor):
    return x * factor


# %% alt="Time of 12 calls on a logarithmic axis. Calls 1, 5 and 9, the first with 3 floats, 5 floats and 3 doubles, take between milliseconds and seconds. All other calls take a few microseconds."
def microseconds(*arguments):
    start = time.perf_counter()
    scaled(*arguments)
    return 1e6 * (time.perf_counter() - start)


three, five, doubles = torch.ones(3), torch.ones(5), torch.ones(3).double()
calls = [three] * 4 + [five] * 4 + [doubles] * 4
times = [microseconds(x, 2.0) for x in calls]

figure, axes = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
for name, first in (("3 floats", 0), ("5 floats", 4), ("3 doubles", 8)):
    axes.semilogy(range(first + 1, first + 5), times[first : first + 4], "o-", label=name)
axes.set(xlabel="call", ylabel="microseconds", xticks=range(1, 13))
legend = axes.legend(frameon=False)

# %% [markdown]
# The first call of each kind is slow: minigrad runs your Python code once and records the operations.
#
# ## One specialisation for each kind of call
#
# A module fits one kind of call: dtypes, sizes and layouts of tensors, and which require grad. The module for
# a kind is a *specialisation*. For other sizes the text of the module is usually the same, and then minigrad does not compile
# it twice.

# %%
print(scaled)
assert "3 specialisations" in repr(scaled) and times[4] > 10 * min(times)


def specialisations(*calls):
    """Compile a function, call it with each tuple of arguments, and return the number of its specialisations."""
    tried = torch.compile(lambda x, factor: x * factor)
    for arguments in calls:
        tried(*arguments)
    return int(repr(tried).split(", ")[1].split()[0])


lessons.predict(
    "You call a function with (three, 2.0), (three, 0.125), (five, 2.0), (doubles, 2.0). How many specialisations result?",
    {
        1: "A module fits only one size and one dtype. minigrad captures the function again for others.",
        2: "Another size needs another capture, even if the text of the module is the same.",
        3: "One each for three floats, five floats and three doubles. The factor is an argument of the module.",
        4: "2.0 and 0.125 share one: a float is an argument of the module, not part of its text.",
    },
    lambda: specialisations((three, 2.0), (three, 0.125), (five, 2.0), (doubles, 2.0)),
)

# %% [markdown]
# Python values count, too. An int is a different kind of argument from a float. Both are arguments of the module, which
# computes with them at each call. If a number decides something, as in an `if` or as the count of a loop, minigrad compares
# the decision.

# %%
scaled(three, 2)
scaled(three, 3)
assert "4 specialisations" in repr(scaled)


@torch.compile
def scheduled(x, rate, step):
    return x * (rate * 0.9**step) if step > 2 else x * 0


for step in range(6):
    scheduled(three, 0.5, step)
print(scheduled.explain())
assert "2 specialisations" in repr(scheduled)

# %% [markdown]
# The same holds for everything that a function reads from outside: minigrad notices a changed global. Once a number has
# changed, minigrad looks it up at each call, as if it were an argument.

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
# Changes of parameters, gradients and optimizers belong to the program, too: `backward()` fills `.grad`, an optimizer writes to
# parameters and keeps its state. So you can compile a training step as it is written for eager code. `item()` reads the loss as
# a number. That works if the number is returned, but not if the rest of the program depends on it.
#
# Only the first call creates the optimizer's state. So the first call runs eagerly, and minigrad compiles the second.

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
print(training_step)
assert history[-1] < 0.1 * history[0] and "2 specialisations" in repr(training_step)

# %% [markdown]
# ## Functions that run in Python
#
# The record of one call is valid for another only if both do the same operations. An `if` on a tensor depends on values that
# are not known beforehand. So the function runs eagerly at each call, and one warning names the line.


# %%
def bent(x):
    y = (x * x).sin() + x
    if y.sum() > 0:
        y = 2 * y
    return (y * y).mean()


compiled_bent = torch.compile(bent)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    results = [compiled_bent(x).item() for x in (three, -three)]
print(caught[0].message)
print(compiled_bent.explain())
assert len(caught) == 1 and np.allclose(results, [bent(x).item() for x in (three, -three)], rtol=1e-5)

# %% [markdown]
# With `fullgraph=True` the line is an error, for programs that must be one module. `where` computes both branches and picks
# one of the results, so the program is the same for all values.


# %%
def straight(x):
    y = (x * x).sin() + x
    y = torch.where(y.sum() > 0, 2 * y, y)
    return (y * y).mean()


try:
    torch.compile(bent, fullgraph=True)(three)
except RuntimeError as e:
    print(e)
else:
    raise AssertionError("one branch was compiled for all values")

whole = torch.compile(straight, fullgraph=True)
print(whole(three), whole(-three))
assert np.allclose([whole(x).item() for x in (three, -three)], results, rtol=1e-5)

# %% [markdown]
# Some lines have an effect besides their value: they print, or append to a list. A recorded program would repeat only the
# operations. minigrad compiles only what has no such effect.

# %%
seen = []


@torch.compile
def noting(x):
    seen.append(len(x))
    return 2 * x


def length_of_list():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(3):
            noting(three)
    return len(seen)


lessons.predict(
    "noting runs three times with the same kind of tensor. How many elements does the list seen have then?",
    {
        3: "The function runs eagerly at each call, since the list outlives the call.",
        1: "A library that records a function once forgets such an effect. minigrad does not.",
        0: "The function runs in Python, and the line with it.",
        2: "The second call and the third do the same.",
    },
    length_of_list,
)

# %%
print(seen, noting.explain(), sep="\n")
assert "outlives the call" in noting.explain() and noting(three).tolist() == [2.0, 2.0, 2.0]

# %% [markdown]
# If a size depends on values, as in `x[x > 0]`, a module would keep the size of the first call. So such a function runs
# eagerly, too. The sum of `x[x > 0]` needs no size, so it compiles.
#
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
# ### 2. Repair
#
# The function limits the length of a vector to 1. It is right, but does not compile as a whole. Write a function with the same
# results that does.


# %%
def compile_limited(x):
    length = (x * x).sum().sqrt()
    if length > 1:
        return x / length.item()
    return x


lessons.check("compile_limited", compile_limited)

# %% [markdown]
# ### 3. One thing at a time
#
# This function also keeps its losses in a list, so it runs eagerly. Rewrite it so that it compiles, and let its caller
# keep the list: return the loss and the gradient, in this order.

# %%
losses = []


def compile_noted(x, w):
    loss = ((x * w).sum() - 1) ** 2
    losses.append(loss.item())
    (dw,) = torch.autograd.grad(loss, w)
    return dw


lessons.check("compile_noted", compile_noted)

# %% [markdown]
# ## Summary
#
# - Other dtypes, sizes and layouts need another specialisation. So does a Python number that changes a decision.
# - A float is an argument of the module. minigrad notices a changed global.
# - A training step compiles with its optimizer, `.grad` and `item()`.
# - A function with an `if` on a tensor, a `print` or a size that depends on values runs eagerly.
# - `fullgraph=True` makes such a line an error; `where` replaces an `if`.
#
# ## Questions
#
# <details markdown="1">
# <summary>Your batches have 64 examples, but the last one has 10. How many specialisations does a step have?</summary>
#
# Two, one for each size. Both usually share one compiled text.
#
# </details>
#
# <details markdown="1">
# <summary>Your compiled function warns that a line runs eagerly. Are its results wrong?</summary>
#
# No. The line runs as if it were not compiled, so the results are right. Only the compiled lines are faster.
#
# </details>
#
# <details markdown="1">
# <summary>Why does minigrad not record a <code>print</code> and repeat it?</summary>
#
# The record has operations on tensors, not Python code. The printed text may contain numbers that each call computes anew.
#
# </details>
