# %% [markdown]
# # Many processes, one gradient
#
# *Needs lessons 17 and 31.*
#
# **How do several processes train one model?** Each process computes the gradient for its part of the pictures. The mean of
# these gradients is the gradient for all pictures. A sum over processes is an operation, and its backward is again a sum over
# processes.
#
# After this lesson you can:
#
# - start processes from a notebook, and exchange tensors with collectives
# - train a model with half of the pictures on each process, and explain why the models stay equal
# - follow a gradient from one process into another
# - read the errors that you get when processes disagree

# %%
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits

import lessons
import minigrad as torch
import minigrad.distributed as dist
from minigrad import nn
from minigrad.distributed.nn import functional as collectives
from minigrad.nn import functional as F
from viz import draw, draw_ranks

if not dist.is_available():
    print(f"The processes of this lesson need MPI: {torch.config.install('mpi')}. The exercises work without it.")


# %%
def drawn_rank():
    x = torch.tensor(dist.get_rank() + 1.0, requires_grad=True)
    total = collectives.all_reduce(x)
    return total.square() if dist.get_rank() == 0 else 2 * total.square()


drawn = draw_ranks(drawn_rank, 2, passes=("forward", "backward"))
drawn.drawing

# %% [markdown]
# These are two processes, each with its own lane. `all_reduce` spans both lanes: there they exchange numbers, forward and
# backward.
#
# ## Two processes
#
# If a program is too slow, or too large for one computer's memory, divide it among several processes. All run the same
# program, and each knows its number, its *rank*. MPI starts the processes and exchanges data between them. At a terminal you
# type `mpiexec -n 2 python train.py`. In a notebook, `run` calls a function in several processes, and shows the output and the
# result of each.

# %%
x = torch.tensor(1.0)


def add_rank():
    x.add_(dist.get_rank())
    print(f"I am rank {dist.get_rank()} of {dist.get_world_size()}")
    return x


ranks = dist.run(add_rank, 2)
ranks

# %%
lessons.predict(
    "Rank 0 adds 0 to x, and rank 1 adds 1. What is x in this notebook afterwards?",
    {
        1.0: "Each process has its own copy of x. The one in this notebook never changes.",
        2.0: "That is x of rank 1. The processes share nothing.",
        3.0: "No process adds up the numbers of the others. For that you need a collective.",
    },
    x,
)

# %%
assert [one.item() for one in ranks] == [1.0, 2.0] and x.item() == 1.0

# %% [markdown]
# The processes share no memory, so they send their data. In a *collective* all ranks take part. With `all_reduce`, each rank
# gives a tensor, and minigrad writes the sum over all ranks into it.


# %%
def summed():
    x = torch.tensor([1.0, 10.0]) * (dist.get_rank() + 1)
    dist.all_reduce(x)
    return x


ranks = dist.run(summed, 2)
assert ranks[0].tolist() == ranks[1].tolist() == [3.0, 30.0]
ranks

# %% [markdown]
# ## One gradient
#
# The loss $L$ of a batch is the mean over its examples. So two processes can each compute the gradient for one half, with the
# losses $L_0$ and $L_1$. This is *data-parallel* training.
#
# $$L = \frac{L_0 + L_1}{2} \qquad \nabla L = \frac{\nabla L_0 + \nabla L_1}{2}$$
#
# `share` gives each of two ranks every second picture.

# %%
pixels, written = load_digits(return_X_y=True)
images, labels = torch.tensor(pixels / 16, dtype=torch.float32)[:1600], torch.tensor(written)[:1600]


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 10))


def share(pictures, digits, rank, size):
    return pictures[rank::size], digits[rank::size]


def gradients(model, pictures, digits):
    model.zero_grad()
    loss = F.cross_entropy(model(pictures), digits)
    loss.backward()
    return loss.detach(), [p.grad for p in model.parameters()]


def half():
    model = network()
    _, mine = gradients(model, *share(images, labels, dist.get_rank(), dist.get_world_size()))
    own = [g.clone() for g in mine]
    for g in mine:
        dist.all_reduce(g, dist.ReduceOp.AVG)
    return own, mine


_, whole = gradients(network(), images, labels)
for rank, (own, mean) in enumerate(dist.run(half, 2)):
    far, near = (max((a - b).abs().max().item() for a, b in zip(whole, one)) for one in (own, mean))
    print(f"rank {rank}: its own gradient is off by {far:.4f}, the mean of both by {near:.0e}")
    assert far > 1e-3 and near < 1e-6

# %% [markdown]
# ## Training
#
# The ranks start with the same parameters, from the same seed, and take the same steps with the same gradient. So their models
# stay equal, and no rank has to send its model. Without `all_reduce` each model learns from its own half, and they drift
# apart.


# %%
def train(together=True, steps=40):
    rank, size = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)
    model, losses = network(), []
    pictures, digits = share(images, labels, rank, size)
    for _ in range(steps):
        loss, found = gradients(model, pictures, digits)
        for g in found if together and size > 1 else ():
            dist.all_reduce(g, dist.ReduceOp.AVG)
        with torch.no_grad():
            for p, g in zip(model.parameters(), found):
                p -= 0.5 * g
        losses.append(loss)
    return torch.stack(losses), model.state_dict()


alone, model = train()
first, second = dist.run(train, 2)
apart = dist.run(train, 2, False)
assert all(first[1][name].equal(second[1][name]) for name in model)
assert all(first[1][name].allclose(model[name], atol=1e-5) for name in model)
assert not apart[0][1]["0.weight"].allclose(apart[1][1]["0.weight"], atol=1e-2)
both = (first[0] + second[0]) / 2
print("the losses of one process and of two differ by at most", f"{(both - alone).abs().max().item():.0e}")
assert both.allclose(alone, atol=1e-5)

# %% alt="The loss falls from 2.3 to below 0.6: the losses of the two ranks are close to the losses of one process"
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained", subplot_kw={"xlabel": "step", "ylabel": "loss"})
for name, numbers, style in (("one process", alone, "k-"), ("rank 0", first[0], "--"), ("rank 1", second[0], ":")):
    axes.plot(numbers.numpy(), style, label=name)
axes.legend()
assert alone[0] > 2.2 and alone[-1] < 0.6

# %% [markdown]
# ## Backward from one process into another
#
# `dist.all_reduce` writes into a tensor, and autograd does not record it. That is enough for averaging gradients. But you can
# also divide a model among ranks. Then a computation crosses from one rank to another, and so does its gradient.
#
# Imagine that all ranks run in one process. Here are two, each with a loss.


# %%
def all_ranks(a, b):
    total = a + b  # all_reduce gives this to rank 0 and to rank 1
    return total.square() + 2 * total.square()  # the loss of rank 0, plus the loss of rank 1


a, b = torch.tensor(1.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
draw(all_ranks, a, b, passes=("forward", "backward"))

# %% [markdown]
# Both ranks use the total, so its gradient is the sum of the gradients from both ranks, and each tensor receives this sum.
# The backward of a sum over all ranks is again a sum over all ranks.
#
# `distributed.nn.functional` has the collectives as Functions with this backward. Each rank calls `backward` on its own loss,
# and all ranks get the gradient of the sum of all losses.


# %%
def loss_of(rank, total):
    return (rank + 1) * total.square()


def one_rank():
    rank = dist.get_rank()
    x = torch.tensor(rank + 1.0, requires_grad=True)
    loss_of(rank, collectives.all_reduce(x)).backward()
    return x.grad


ranks = dist.run(one_rank, 2)
all_ranks(a, b).backward()
assert [g.item() for g in ranks] == [a.grad.item(), b.grad.item()] == [18.0, 18.0]
ranks

# %% [markdown]
# The first picture is the same computation on two ranks: `draw_ranks` runs a function as `run` does, and draws it. Find the gradient 6 from rank 0, the
# gradient 12 from rank 1, and the sum 18 that both receive.

# %%
assert [loss.item() for loss in drawn] == [9.0, 18.0]

# %% [markdown]
# Collectives are linear: stack the tensors of all ranks, and a collective multiplies the stack by a matrix. Its backward
# multiplies by the transposed matrix, and that is again a collective:
#
# | forward | result | backward |
# | --- | --- | --- |
# | `all_reduce` | the sum, to all | `all_reduce` |
# | `broadcast` | one rank's tensor, to all | `reduce` |
# | `reduce` | the sum, to one rank | `broadcast` |
# | `all_gather` | all tensors stacked, to all | `reduce_scatter` |
# | `scatter` | one part to each rank | `gather` |
# | `send` | one tensor, to one other rank | `recv` |
#
# Here is the matrix of `broadcast` for two ranks with two numbers each. Both ranks get the two numbers of rank 0, so each of
# the first two columns has two ones.

# %%
broadcast = torch.tensor([[1.0, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]])
sent_back = torch.tensor([1.0, 2.0, 30.0, 40.0])  # rank 0 sends back 1 and 2, rank 1 sends back 30 and 40

lessons.predict(
    "The two numbers of x on rank 0 go to both ranks. Which gradient does x receive?",
    {
        "[1.0, 2.0]": "That is the part from rank 0. Rank 1 uses the two numbers, too.",
        "[31.0, 42.0]": "Both ranks use the two numbers, so x gets the sum of the gradients from both.",
        "[15.5, 21.0]": "That is the mean. The loss is a sum over all ranks, and so is the gradient.",
        "[30.0, 40.0]": "That is the part from rank 1. Rank 0 uses its numbers, too.",
    },
    lambda: (broadcast.T @ sent_back)[:2],
)


# %%
def broadcast_backward():
    x = torch.zeros(2, requires_grad=True)
    y = collectives.broadcast(x, src=0)
    y.backward(sent_back[:2] if dist.get_rank() == 0 else sent_back[2:])
    return x.grad


ranks = dist.run(broadcast_backward, 2)
assert torch.cat(list(ranks)).equal(broadcast.T @ sent_back)
ranks

# %% [markdown]
# ## When ranks disagree
#
# A collective finishes when all ranks have called it. If one rank calls a different collective, many libraries wait forever.
# minigrad raises an error that names the call of each rank.


# %%
def disagree():
    x = torch.ones(3)
    if dist.get_rank() == 0:
        dist.all_reduce(x)
    else:
        dist.broadcast(x, src=0)


try:
    dist.run(disagree, 2)
except RuntimeError as e:
    print(e)
    assert "rank 0 calls all_reduce" in str(e) and "rank 1 calls broadcast" in str(e)
else:
    raise AssertionError("two ranks made different calls without an error")

# %% [markdown]
# ## Exercises
#
# The checks need no MPI: they run the ranks one after the other.
#
# ### 1. By hand
#
# `one_rank` runs in *three* processes. Rank $r$ has $x = r + 1$, and its loss is $(r + 1)\,t^2$, where $t$ is the total.
# Compute the gradient of `x` on rank 0.

# %%
gradient_over_ranks = ...

lessons.check("gradient_over_ranks", gradient_over_ranks)

# %% [markdown]
# ### 2. Unequal parts
#
# Three ranks cannot share ten examples equally. Each rank has `count` examples and `grad`, the gradient of the mean of *their*
# losses. Return the gradient of the mean over all examples of all ranks. `all_reduce(x)` returns the sum of all ranks'
# tensors, and does not change `x`.


# %%
def gradient_of_all(grad, count, all_reduce): ...


lessons.check("gradient_of_all", gradient_of_all)

# %% [markdown]
# ### 3. The backward of all_gather (at home)
#
# `all_gather` gives each rank the tensors of all ranks, concatenated along dimension 0: if two ranks have three rows each,
# both get six. In backward, a rank receives `grad`, the gradient of *its copy* of these rows, and must return the gradient of
# the tensor that it gave. `rank` is its number, and `size` the number of ranks.


# %%
def all_gather_backward(grad, rank, size, all_reduce): ...


lessons.check("all_gather_backward", all_gather_backward)

# %% [markdown]
# ### 4. Clipped together (at home)
#
# A large gradient is divided among the ranks, so that each has one part. Write `clipped_part(part, all_reduce)`, which returns
# this rank's part of the clipped gradient: if the norm of the *whole* gradient exceeds 1, divide the gradient by the norm.


# %%
def clipped_part(part, all_reduce): ...


lessons.check("clipped_part", clipped_part)

# %% [markdown]
# ## Summary
#
# - Processes share no memory; in a collective, all ranks take part and exchange tensors.
# - The mean of the gradients of equal parts is the gradient of the whole batch, so equal models stay equal.
# - A collective multiplies by a matrix, and its backward by the transposed matrix, which is again a collective.
# - Collectives in `distributed.nn.functional` have a backward; collectives in `dist` write in place, without a gradient.
#
# ## Questions
#
# <details markdown="1">
# <summary>Two ranks have 100 and 50 pictures. Is the mean of their gradients right?</summary>
#
# No. Each picture of the smaller part would count twice as much. Weight each gradient by its number of pictures.
#
# </details>
#
# <details markdown="1">
# <summary>Why does <code>broadcast</code> add up gradients in backward?</summary>
#
# All ranks use one rank's tensor. A tensor that is used several times receives the sum of the gradients of its uses.
#
# </details>
#
# <details markdown="1">
# <summary>The ranks start from different seeds. Does averaging the gradients make their models equal?</summary>
#
# No. They take the same steps from different starting points, so they stay as far apart as they were. First send the
# parameters of one rank to all others, with `broadcast`.
#
# </details>
