# %% [markdown]
# # One example, all examples
#
# *Needs lesson 17.*
#
# **My function takes one example. Do I have to rewrite it for a batch?** No: `vmap` turns it into a function of a whole
# batch, without a loop. It also gives the gradient of each single example, which a sum over the batch would hide.
#
# After this lesson you can:
#
# - map a function over any dimension of any argument,
# - compute the gradient of each example, and find the one that stands out,
# - replace an `if`, and say how random numbers are drawn.

# %%
from matplotlib import pyplot as plt

import lessons
import minigrad as torch
from viz import draw

w = torch.tensor([1.0, 2.0])


def score(x):
    return torch.dot(w, x) + 10


def scores(xs):
    return torch.vmap(score)(xs)


xs = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
draw(scores, xs)

# %% [markdown]
# Two operations, marked `vmap`, compute the scores of three examples: the result has the shape (3,).
#
# ## Written for one
#
# `score` takes one vector of two features: `torch.dot` raises an error for a matrix. `vmap(score)` is a function that takes
# all examples at once, one in each row, and returns one result for each.


# %%
def message_of(f, *args):
    """Return the message of the error that f raises."""
    try:
        f(*args)
    except (RuntimeError, ValueError) as e:
        return str(e)
    raise AssertionError("no error was raised")


print(message_of(score, xs))
print(torch.vmap(score)(xs))
assert torch.vmap(score)(xs).tolist() == [score(x).item() for x in xs] == [11.0, 12.0, 13.0]

# %% [markdown]
# `observed` records the shape of its argument in each call.


# %%
def observed(x):
    seen.append(tuple(x.shape))
    return score(x)


seen = []
torch.vmap(observed)(xs)

lessons.predict(
    "xs has the shape (3, 2). Which shapes does observed see under vmap?",
    {
        "[(2,), (2,), (2,)]": "That would be a loop over the rows. vmap calls the function once.",
        "[(3, 2)]": "The mapped dimension is hidden: dot would raise an error for a matrix.",
        "[(2,)]": "One call for all examples, and it looks like a call for one.",
        "[(3,), (3,)]": "vmap goes along the rows, dimension 0, unless in_dims names another one.",
    },
    seen,
)

# %% [markdown]
# The function runs once, and each operation works on all examples. A larger batch needs no more operations; a loop does.


# %%
def scores_by_loop(xs):
    return torch.stack([score(x) for x in xs])


def operations(f, *args):
    """Count the operations that a call runs."""
    return len(torch.record(f, *args, passes="forward").to_dict()["ops"])


for n in (3, 30, 300):
    batch = torch.ones(n, 2)
    print(f"{n} examples: {operations(scores, batch)} with vmap, {operations(scores_by_loop, batch)} in a loop")
assert operations(scores, torch.ones(3, 2)) == operations(scores, torch.ones(300, 2))

# %% [markdown]
# ## Which dimension
#
# `in_dims` names the batch dimension of each argument: 0 by default, and `None` for an argument that all examples share.
# `out_dims` is the batch dimension of the result. Here the examples are the columns of a matrix.


# %%
def scaled(factor, x):
    return factor * x


columns = xs.T
result = torch.vmap(scaled, in_dims=(None, 1), out_dims=1)(torch.tensor(3.0), columns)
print(result)
assert result.tolist() == (3 * columns).tolist()

# %% [markdown]
# Without `None`, vmap cuts a shared argument along its first dimension as well. If the sizes differ, there is an error. If
# they agree by chance, there is none: below, each example gets one of the three factors.

# %%
message = message_of(torch.vmap(torch.dot), w, xs)
print(message)
assert "input 0 has 2" in message and "pass None" in message

each_its_own = torch.vmap(scaled)(torch.tensor([1.0, 10.0, 100.0]), xs)
print(each_its_own)
assert each_its_own.tolist() == [[1.0, 0.0], [0.0, 10.0], [100.0, 100.0]]

# %% [markdown]
# vmap of vmap maps over two dimensions. It turns the product of two numbers into the table of all products: the inner vmap
# goes along `b`, the outer one along `a`.


# %%
def product(a, b):
    return a * b


row = torch.vmap(product, in_dims=(None, 0))
table = torch.vmap(row, in_dims=(0, None))
products = table(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0, 5.0]))
print(products)
assert products.tolist() == [[3.0, 4.0, 5.0], [6.0, 8.0, 10.0]]

# %% [markdown]
# ## The gradient of each example
#
# A training step adds up the losses of all examples, so `backward` hides the contribution of each example. `grad` of the
# loss of one example, mapped over the examples, keeps them apart:
#
# $$L(w) = \sum_i \ell_i(w) \qquad \nabla L = \sum_i \nabla \ell_i \qquad
# \nabla \ell_i = 2\,(w^\top x_i - y_i)\,x_i$$


# %%
def loss(w, x, y):
    return (torch.dot(w, x) - y) ** 2


ys = torch.tensor([0.0, 0.0, 1.0])
per_sample = torch.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))
print(per_sample(w, xs, ys))
# the errors w @ x - y are 1, 2 and 2, and the gradient is 2 * error * x
assert per_sample(w, xs, ys).tolist() == [[2.0, 0.0], [0.0, 4.0], [4.0, 4.0]]

# %% [markdown]
# Their sum is the gradient of a training step. There, the vmap is inside `grad`.


# %%
def total(w, xs, ys):
    return torch.vmap(loss, in_dims=(None, 0, 0))(w, xs, ys).sum()


print(torch.func.grad(total)(w, xs, ys))
assert torch.func.grad(total)(w, xs, ys).tolist() == per_sample(w, xs, ys).sum(0).tolist() == [6.0, 8.0]

# %% [markdown]
# Gradients of single examples reveal outliers. Here are 30 points on a line, one of them measured wrongly. Its gradient
# stands out.

# %%
torch.manual_seed(0)
inputs = torch.stack([torch.rand(30) * 2 - 1, torch.ones(30)], dim=1)
targets = inputs @ w + torch.randn(30) * 0.1
targets[17] += 5.0
norms = per_sample(w, inputs, targets).norm(dim=1)
assert norms.argmax().item() == 17

# %% alt="30 bars, the norm of each example's gradient: the bar of example 17 is many times higher than all others"
labels = {"xlabel": "example", "ylabel": "norm of its gradient"}
figure, axes = plt.subplots(figsize=(7, 2.4), layout="constrained", subplot_kw=labels)
bars = axes.bar(range(30), norms.tolist(), color=["#b2443c" if i == 17 else "#1f4e8c" for i in range(30)])

# %% [markdown]
# ## What cannot be mapped
#
# One run of the function stands for all examples. So an `if` has no single answer. `torch.where` computes both sides and
# chooses for each element.


# %%
def relu(x):
    if x > 0:
        return x
    return 0 * x


def relu_by_where(x):
    return torch.where(x > 0, x, torch.zeros_like(x))


message = message_of(torch.vmap(relu), torch.tensor([1.0, -1.0]))
print(message)
assert "torch.where" in message or "minigrad.where" in message
assert torch.vmap(relu_by_where)(torch.tensor([1.0, -1.0])).tolist() == [1.0, 0.0]

# %% [markdown]
# Two more errors follow from the single run. `nonzero` would return rows of different lengths. And a tensor from outside,
# changed in place, has room for one value, but each example has a different one.

# %%
total_so_far = torch.zeros(())
rows = message_of(torch.vmap(torch.nonzero), xs)
one_place = message_of(torch.vmap(lambda x: total_so_far.add_(x)), torch.tensor([1.0, 2.0]))
print(rows, one_place, sep="\n")
assert "depends on the values" in rows and "same for all examples" in one_place

# %% [markdown]
# Should all examples get the same random numbers? For dropout, one mask for a batch makes sense, and so does one for each
# example.


# %%
def noisy(x):
    return x + torch.rand(())


zeros = torch.zeros(4)


def different_numbers():
    try:
        return len(set(torch.vmap(noisy)(zeros).tolist()))
    except RuntimeError:
        return "an error"


lessons.predict(
    "How many different numbers does torch.vmap(noisy)(zeros) give for four zeros?",
    {
        1: "noisy runs once, but a single random number for all examples may not be what you need.",
        4: "A loop would give four. But vmap does not guess that you need them.",
        "an error": "Both answers make sense, so vmap asks for randomness=.",
    },
    different_numbers,
)

# %%
message = message_of(torch.vmap(noisy), zeros)
print(message)
assert 'randomness="different"' in message

same = torch.vmap(noisy, randomness="same")(zeros)
different = torch.vmap(noisy, randomness="different")(zeros)
print(same, different)
assert len(set(same.tolist())) == 1 and len(set(different.tolist())) == 4

# %% [markdown]
# minigrad's operations have rules for vmap. Your own Function needs one, too: see lesson 21.
#
# ## Exercises
#
# ### 1. A shape
#
# `A` has the shape (3, 5), `b` the shape (4,). What shape does `torch.vmap(torch.outer, in_dims=(1, None), out_dims=2)(A, b)`
# have? `torch.outer` of vectors with m and n elements has the shape (m, n). Give a list of numbers.

# %%
vmap_shape = ...

lessons.check("vmap_shape", vmap_shape)

# %% [markdown]
# ### 2. All pairs
#
# `distance` compares two points. Write a function of two matrices, with a point in each row, that returns the table of
# all distances: row i, column j for point i of the first and point j of the second.


# %%
def distance(p, q):
    return (p - q).norm()


def all_distances(ps, qs): ...


lessons.check("all_distances", all_distances)

# %% [markdown]
# ### 3. Repair
#
# This loss squares small errors, and grows like the absolute value for large ones. It should work on each element of a
# vector, but it raises an error. Repair it, without a loop.


# %%
def robust_losses(errors):
    def robust(e):
        if e.abs() <= 1:
            return e * e
        return 2 * e.abs() - 1

    return torch.vmap(robust)(errors)


lessons.check("robust_losses", robust_losses)

# %% [markdown]
# ### 4. Whose gradient is longest? (at home)
#
# Write a function that returns the index of the example whose gradient with respect to `w` is longest, for the `loss` of
# this lesson.


# %%
def most_influential(w, xs, ys): ...


lessons.check("most_influential", most_influential)

# %% [markdown]
# ### 5. Clip each (at home)
#
# Training that keeps single examples private first shortens each example's gradient to the length `most` if it is
# longer, and then takes the mean. Write it for the `loss` of this lesson, without a loop. Some example may have a
# gradient of zero.


# %%
def clipped_mean(w, xs, ys, most): ...


lessons.check("clipped_mean", clipped_mean)

# %% [markdown]
# ## Summary
#
# - `vmap(f)` runs `f` once for all examples; `f` sees the shape of a single one.
# - `in_dims` names the batch dimension of each argument, `None` an argument that all examples share.
# - `vmap(grad(loss))` gives a gradient for each example; their sum is the gradient of the batch.
# - One run cannot take two branches: use `where` instead of `if`, and say how random numbers are drawn.
#
# ## Questions
#
# <details markdown="1">
# <summary>Why is <code>vmap</code> faster than a loop over the examples?</summary>
#
# The loop runs each operation once for each example. `vmap` runs it once on a larger tensor, so Python and minigrad spend
# less time per number.
#
# </details>
#
# <details markdown="1">
# <summary>A shared argument has as many rows as the batch, and you forget <code>None</code>. What happens?</summary>
#
# Each example gets one row of it. There is no error, and the result is wrong.
#
# </details>
#
# <details markdown="1">
# <summary>How do <code>vmap(grad(loss))</code> and <code>grad</code> of a sum of <code>vmap(loss)</code> differ?</summary>
#
# The first gives one gradient for each example, in one more dimension. The second gives one gradient for all of them: the
# sum of those.
#
# </details>
