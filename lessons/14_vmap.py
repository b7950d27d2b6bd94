# %% [markdown]
# # One example, all examples
#
# *25 minutes. Needs lesson 13.*
#
# Write a function for one example, and `vmap` turns it into a function of a whole batch, without a loop. You will say
# which dimension of which argument is the batch, replace an `if`, and get the gradient of each single example, which a
# sum over the batch would hide.

# %%
import time

from matplotlib import pyplot as plt

import lessons
import minigrad as torch
from viz import draw

# %% [markdown]
# ## Written for one
#
# `score` takes one vector of two features. It knows nothing of batches: `torch.dot` even insists on vectors.

# %%
w = torch.tensor([1.0, 2.0])


def score(x):
    return torch.dot(w, x) + 10


xs = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
print(score(xs[0]))

try:
    score(xs)
except RuntimeError as e:
    print(e)
else:
    raise AssertionError("dot took a matrix")

# %% [markdown]
# `vmap(score)` is a function that takes all examples at once, one in each row, and returns one result for each.

# %%
print(torch.vmap(score)(xs))
assert torch.vmap(score)(xs).tolist() == [score(x).item() for x in xs] == [11.0, 12.0, 13.0]

# %% [markdown]
# Inside, the function sees the shape of a single example. The mapped dimension is hidden from it. And the function ran
# only once: each operation worked on all three examples.

# %%
seen = []


def observed(x):
    seen.append(tuple(x.shape))
    return score(x)


torch.vmap(observed)(xs)
print(seen)
assert seen == [(2,)]

# %% [markdown]
# The picture shows it: two operations for all examples, marked `vmap`, with a result of shape (3,).


# %%
def scores(xs):
    return torch.vmap(score)(xs)


draw(scores, xs)

# %% [markdown]
# The number of operations does not grow with the batch, as it does with a loop.


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
# `in_dims` gives the batch dimension of each argument: 0 by default, and `None` for an argument that is the same for
# all examples. `out_dims` says where the batch goes in the result. Here the examples are the columns of a matrix.


# %%
def scaled(factor, x):
    return factor * x


columns = xs.T
result = torch.vmap(scaled, in_dims=(None, 1), out_dims=1)(torch.tensor(3.0), columns)
print(result)
assert result.tolist() == (3 * columns).tolist()

each_its_own = torch.vmap(scaled)(torch.tensor([1.0, 10.0, 100.0]), xs)
print(each_its_own)
assert each_its_own.tolist() == [[1.0, 0.0], [0.0, 10.0], [100.0, 100.0]]

# %% [markdown]
# A shared argument without `None` is cut along its first dimension as well. If the sizes do not agree, the message
# names them; if they agree by chance, the result is silently wrong. So say `None`.

# %%
try:
    torch.vmap(lambda w, x: torch.dot(w, x))(w, xs)
except ValueError as e:
    print(e)
    assert "input 0 has 2" in str(e) and "pass None" in str(e)
else:
    raise AssertionError("2 and 3 examples were mapped over together")

# %% [markdown]
# vmap of vmap maps over two dimensions. From the product of two numbers comes the table of all products: the inner vmap
# goes along `b`, the outer one along `a`.


# %%
def product(a, b):
    return a * b


row = torch.vmap(product, in_dims=(None, 0))
table = torch.vmap(row, in_dims=(0, None))
print(table(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0, 5.0])))
assert table(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0, 5.0])).tolist() == [[3.0, 4.0, 5.0], [6.0, 8.0, 10.0]]

# %% [markdown]
# ## The gradient of each example
#
# A training step adds up the losses of all examples, and `backward` gives the gradient of the sum. How much each
# example contributed is lost. `grad` of the loss of one example, mapped over the examples, keeps them apart.


# %%
def loss(w, x, y):
    return (torch.dot(w, x) - y) ** 2


ys = torch.tensor([0.0, 0.0, 1.0])
per_sample = torch.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))
print(per_sample(w, xs, ys))
# the errors w @ x - y are 1, 2 and 2, and the gradient is 2 * error * x
assert per_sample(w, xs, ys).tolist() == [[2.0, 0.0], [0.0, 4.0], [4.0, 4.0]]

# %% [markdown]
# Their sum is what a training step would have got.


# %%
def total(w, xs, ys):
    return torch.vmap(loss, in_dims=(None, 0, 0))(w, xs, ys).sum()


print(torch.func.grad(total)(w, xs, ys))
assert torch.func.grad(total)(w, xs, ys).tolist() == per_sample(w, xs, ys).sum(0).tolist() == [6.0, 8.0]

# %% [markdown]
# These two compositions differ. `vmap(grad(loss))` is one gradient for each example, `grad(total)`, with the vmap
# inside, one for all of them.
#
# This finds outliers. Here are 30 examples on a line, one of them measured wrongly. Its gradient stands out.

# %%
torch.manual_seed(0)
inputs = torch.stack([torch.rand(30) * 2 - 1, torch.ones(30)], dim=1)
targets = inputs @ w + torch.randn(30) * 0.1
targets[17] += 5.0
norms = per_sample(w, inputs, targets).norm(dim=1)
print("largest at example", norms.argmax().item())
assert norms.argmax().item() == 17

# %% alt="30 bars, the norm of each example's gradient: that of example 17 is many times higher than all others"
labels = {"xlabel": "example", "ylabel": "norm of its gradient"}
figure, axes = plt.subplots(figsize=(7, 2.4), layout="constrained", subplot_kw=labels)
bars = axes.bar(range(30), norms.tolist(), color=["#b2443c" if i == 17 else "#1f4e8c" for i in range(30)])

# %% [markdown]
# A loop gives the same numbers, but takes a step of Python for each example. Here are both, measured now, on this
# machine.


# %%
def per_sample_by_loop(w, xs, ys):
    return torch.stack([torch.func.grad(loss)(w, x, y) for x, y in zip(xs, ys)])


many = torch.randn(500, 2)
wanted = many @ w
seconds = {}
for name, f in (("vmap", per_sample), ("loop", per_sample_by_loop)):
    f(w, many[:2], wanted[:2])  # the first run of all is not the one to measure
    start = time.process_time()
    found = f(w, many, wanted)
    seconds[name] = time.process_time() - start
    print(f"{name}: {1000 * seconds[name]:.2f} ms for {len(found)} gradients")
assert seconds["vmap"] < seconds["loop"]

# %% [markdown]
# ## What cannot be mapped
#
# One run of the function stands for all examples. So it cannot go one way for one example and another way for the next:
# an `if` has no single answer.


# %%
def relu(x):
    if x > 0:
        return x
    return 0 * x


try:
    torch.vmap(relu)(torch.tensor([1.0, -1.0]))
except RuntimeError as e:
    print(e)
    assert "torch.where" in str(e) or "minigrad.where" in str(e)
else:
    raise AssertionError("one branch was taken for all")

# %% [markdown]
# `torch.where` computes both sides and chooses for each element. The same holds for `item()`, which would need one
# number, and for results whose shape depends on values, such as `nonzero`.


# %%
def relu_by_where(x):
    return torch.where(x > 0, x, torch.zeros_like(x))


print(torch.vmap(relu_by_where)(torch.tensor([1.0, -1.0])))
assert torch.vmap(relu_by_where)(torch.tensor([1.0, -1.0])).tolist() == [1.0, 0.0]

try:
    torch.vmap(torch.nonzero)(xs)
except RuntimeError as e:
    print(e)
    assert "depends on the values" in str(e)
else:
    raise AssertionError("rows of different length")

# %% [markdown]
# Writing in place to a tensor from outside is an error too: it has room for one value, and each example brings its own.

# %%
total_so_far = torch.zeros(())
try:
    torch.vmap(lambda x: total_so_far.add_(x))(torch.tensor([1.0, 2.0]))
except RuntimeError as e:
    print(e)
    assert "same for all examples" in str(e)
else:
    raise AssertionError("two values were written to one place")

# %% [markdown]
# Random numbers: shall all examples get the same ones, or each its own? Both make sense, for instance one mask of
# dropout for a batch or one for each example, so vmap asks.


# %%
def noisy(x):
    return x + torch.rand(())


zeros = torch.zeros(4)
try:
    torch.vmap(noisy)(zeros)
except RuntimeError as e:
    print(e)
    assert 'randomness="different"' in str(e)
else:
    raise AssertionError("random numbers without a word")

same = torch.vmap(noisy, randomness="same")(zeros)
different = torch.vmap(noisy, randomness="different")(zeros)
print(same, different)
assert len(set(same.tolist())) == 1 and len(set(different.tolist())) == 4

# %% [markdown]
# minigrad's own operations have rules for vmap. Your own Function needs one, too: see lesson 17.
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
# The square of small errors, the absolute value of large ones: this loss should be computed for each element of a
# vector. It raises an error. Repair it, without a loop.


# %%
def robust_losses(errors):
    def robust(e):
        if e.abs() <= 1:
            return e * e
        return 2 * e.abs() - 1

    return torch.vmap(robust)(errors)


lessons.check("robust_losses", robust_losses)

# %% [markdown]
# ### 4. Whose gradient
#
# Write a function that returns the index of the example whose gradient by `w` is longest, for the `loss` of this
# lesson.


# %%
def most_influential(w, xs, ys): ...


lessons.check("most_influential", most_influential)

# %% [markdown]
# ### 5. Clip each
#
# Training that keeps single examples private first shortens each example's gradient to the length `most` if it is
# longer, and then takes the mean. Write it for the `loss` of this lesson, without a loop. Some example may have a
# gradient of zero.


# %%
def clipped_mean(w, xs, ys, most): ...


lessons.check("clipped_mean", clipped_mean)
