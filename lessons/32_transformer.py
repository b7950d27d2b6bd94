# %% [markdown]
# # A transformer that learns to sort
#
# *Needs lessons 23 and 31.*
#
# **How does a position in a text learn from the others?** Through attention: it computes a mean of their values, with weights
# that say how well the others fit its question. You build a small transformer from attention, and teach it in half a minute to
# sort six digits.
#
# After this lesson you can:
#
# - write attention, and explain why it divides its products
# - build and train a transformer, and explain why it needs positions
# - read its graph, folded layer by layer, and see where each position looks

# %%
from matplotlib import pyplot as plt

import lessons
import minigrad as torch
from minigrad import nn, optim
from minigrad.func import jacrev
from minigrad.nn import functional as F
from viz import draw
from viz.figures import running_mean

torch.set_num_threads(1)  # the matrices here are so small that a second thread costs more than it saves

# %% [markdown]
# Here is attention with two queries and three keys.


# %%
def attention_weights(q, k):
    return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)


def attention(q, k, v):
    return attention_weights(q, k) @ v


q = torch.tensor([[8.0, 0.0], [0.0, 0.0]])
k = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
v = torch.tensor([[10.0], [20.0], [30.0]])
draw(attention, q, k, v, show="shapes")

# %% [markdown]
# This is all of attention: two matrix products with a softmax between them. Each row of the softmax adds up to one.
#
# ## Attention
#
# Each position asks a question, its query `q`. Each position also has a key `k`, its topic, and a value `v`, its answer. The
# product of a query and a key says how well they fit. `softmax` turns all products of a query into weights, and the result is
# the mean of the values with these weights. With `d` numbers in a query:
#
# $$\text{attention}(Q, K, V) = \text{softmax}\!\left(\frac{Q K^\top}{\sqrt d}\right) V$$

# %%
lessons.predict(
    "The second query is [0, 0], and the values are 10, 20 and 30. What does attention return for this query?",
    {
        0: "The products are zero, but the weights are not: softmax of equal numbers gives equal weights.",
        10: "The first query gets nearly 10, because it fits the first key. The second fits all keys equally well.",
        20: "It fits all keys equally well, so it gets the mean of the values.",
        60: "The weights add up to one. The result is a mean, not a sum.",
    },
    lambda: round(attention(q, k, v)[1].item()),
)

# %%
print(attention_weights(q, k))
print(attention(q, k, v))
assert attention_weights(q, k).sum(1).allclose(torch.ones(2))
assert abs(attention(q, k, v)[0].item() - 10) < 0.1
assert abs(attention(q, k, v)[1].item() - 20) < 1e-5
assert attention(q, k, v).allclose(F.scaled_dot_product_attention(q, k, v))

g = torch.tensor([[1.0], [100.0]])
gradient = torch.func.vjp(lambda v: attention(q, k, v), v)[1](g)[0]
assert gradient.allclose(attention_weights(q, k).T @ g)

# %% [markdown]
# Attention mixes positions in the backward pass, too. With the weights $W$, the gradient of the values is $W^\top g$: each
# value gets the gradient of each position, times the weight that this position gives to the value.
#
# ## Why attention divides
#
# A product of two vectors of $d$ random numbers has a spread of about $\sqrt d$. If numbers are far apart, `softmax` puts all
# weight on the largest one. Then its derivative is nearly zero, and the model cannot learn. So attention divides by $\sqrt d$.

# %%
torch.manual_seed(0)
for d in (4, 64, 1024):
    queries, keys = torch.randn(200, d), torch.randn(6, d)
    products = queries @ keys.mT
    slopes = []
    for scores in (products, products / d**0.5):
        by_score = torch.vmap(jacrev(lambda row: row.softmax(0)))(scores)
        slopes.append(by_score.abs().mean().item())
    print(f"d = {d:4}: spread {products.std().item():5.1f}, mean derivative {slopes[0]:.4f}, divided {slopes[1]:.4f}")
assert 25 < products.std().item() < 40 and slopes[0] < slopes[1] / 5

# %% [markdown]
# ## A layer, and a model of layers
#
# A layer adds to each position the result of attention, and then the result of a small network. Since it *adds*, the old
# numbers stay, and the gradient can bypass each layer on its way back. The norms keep the numbers in a good range.


# %%
class Block(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.feed = nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, width))

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.out(attention(self.query(y), self.key(y), self.value(y)))
        return x + self.feed(self.norm2(x))


block = Block(8, 16)
with torch.no_grad():
    for last in (block.out, block.feed[2]):
        last.weight.zero_()
        last.bias.zero_()
x = torch.randn(6, 8, requires_grad=True)
block(x).sum().backward()
print("a layer that adds nothing passes everything on:", block(x).equal(x), x.grad.unique().tolist())
assert block(x).equal(x) and x.grad.equal(torch.ones(6, 8))

# %% [markdown]
# The model looks up a vector for each digit and one for each position, adds the two, and sends the sums through two layers. It
# ends with ten scores for each position: which digit is here after sorting?


# %%
class Sorter(nn.Module):
    def __init__(self, length=6, width=32, layers=2, positions=True):
        super().__init__()
        self.digit = nn.Embedding(10, width)
        self.position = nn.Embedding(length, width) if positions else None
        self.blocks = nn.ModuleList(Block(width, 2 * width) for _ in range(layers))
        self.norm, self.scores = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, digits):
        x = self.digit(digits)
        if self.position is not None:
            x = x + self.position(torch.arange(digits.shape[-1]))
        for block in self.blocks:
            x = block(x)
        return self.scores(self.norm(x))


model = Sorter()
six = torch.tensor([3, 1, 2, 0, 9, 4])
print(model(six).shape, sum(p.numel() for p in model.parameters()), "numbers to learn")
assert model(six).shape == (6, 10)

# %% [markdown]
# Folded to its layers, the graph shows each layer's parameters, saved tensors and gradients. In a notebook, double-click a
# layer to open it.


# %%
def sort_digits(digits):
    return model(digits)


draw(sort_digits, six, passes=("forward", "backward"), depth=2, show=("values", "grads", "shapes", "saved"))

# %% [markdown]
# ## No order without positions
#
# Leave out the vectors for the positions, and swap the first two digits.

# %%
blind = Sorter(positions=False)
swapped = six[[1, 0, 2, 3, 4, 5]]

lessons.predict(
    "Without positions, you swap the first two of six digits. At how many positions do the scores change?",
    {
        0: "Each position starts from its own digit, and two positions now have a different digit.",
        2: "These two swap their scores. The others see the same digits, and cannot tell where they are.",
        6: "With vectors for the positions, all would change. Without them, the means do not depend on the order.",
    },
    lambda: ((blind(swapped) - blind(six)).abs().amax(1) > 1e-4).sum(),
)

# %% [markdown]
# The sorted digits are the same, but two results are swapped. So no such model can sort both sequences.

# %%
assert blind(swapped).allclose(blind(six)[[1, 0, 2, 3, 4, 5]], atol=1e-5)
assert swapped.sort().values.equal(six.sort().values)
assert not model(swapped).allclose(model(six)[[1, 0, 2, 3, 4, 5]], atol=1e-2)

# %% [markdown]
# ## Training
#
# Each step draws 128 new sequences, so the model cannot learn them by heart. The labels are the sorted digits. The next cell
# trains the model and, for fewer steps, the one without positions.


# %%
def train(model, steps):
    optimizer, losses = optim.Adam(model.parameters(), lr=2e-3), []
    for _ in range(steps):
        digits = torch.randint(0, 10, (128, 6))
        loss = F.cross_entropy(model(digits).flatten(0, 1), digits.sort(1).values.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def share_sorted(model):
    """Return the share of 1000 new sequences that the model sorts right, in all six places."""
    digits = torch.randint(0, 10, (1000, 6))
    with torch.no_grad():
        return (model(digits).argmax(2) == digits.sort(1).values).all(1).float().mean().item()


losses = {"with positions": train(model, 300), "without": train(blind, 150)}
for name, one in (("with positions", model), ("without", blind)):
    print(f"{name}: loss {losses[name][-1]:.3f}, {share_sorted(one):.1%} of new sequences sorted")
assert share_sorted(model) > 0.9 and share_sorted(blind) < 0.1

# %% alt="With positions the loss falls below 0.1 within 200 steps, without them it stays above 1.4"
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained", subplot_kw={"xlabel": "step", "ylabel": "loss"})
for (name, numbers), dash in zip(losses.items(), ("-", "--")):
    axes.plot(running_mean(numbers), dash, label=name)
    axes.legend()
assert running_mean(losses["with positions"])[200] < 0.1 and min(losses["without"]) > 1.3

# %% [markdown]
# ## Where it looks
#
# Each row of the weights says where one place of the result looks. In the second layer, most places look at the digit that
# belongs there; in the first layer, fewer do.


# %%
def looks(model, digits):
    """Return the weights of attention in each layer."""
    x, weights = model.digit(digits) + model.position(torch.arange(len(digits))), []
    for block in model.blocks:
        y = block.norm1(x)
        weights.append(attention_weights(block.query(y), block.key(y)).detach())
        x = block(x)
    return weights


hits = []
for _ in range(100):
    digits = torch.randperm(10)[:6]
    belongs = digits.argsort()  # the place of the smallest digit, then of the next
    hits.append([(weights.argmax(1) == belongs).float().mean().item() for weights in looks(model, digits)])
first, second = torch.tensor(hits).mean(0).tolist()
print(
    f"a place looks most at the digit that belongs there: {first:.0%} of the time in layer 1, {second:.0%} in layer 2"
)
assert second > 0.7 and first < second - 0.2

# %% alt="Two squares of 6 by 6 weights: for each place of the result, how much it looks at each of the digits 3 1 2 0 9 4"
figure, places = plt.subplots(1, 2, figsize=(7, 3.2), layout="constrained")
for i, (axes, weights) in enumerate(zip(places, looks(model, six))):
    picture = axes.imshow(weights.numpy(), cmap="Blues", vmin=0, vmax=1)
    axes.set_title(f"layer {i + 1}")
    axes.set_xticks(range(6), six.tolist())
    axes.set_yticks(range(6), [f"{digit} in place {j}" for j, digit in enumerate(six.sort().values.tolist())])

# %% [markdown]
# ## The same with nn
#
# `nn.TransformerEncoderLayer` is this block, with more settings: several heads, dropout, and norms after each part instead of
# before it. It keeps the weights of query, key and value in one matrix. With the same weights it gives the same result.

# %%
block = model.blocks[0]
ready = nn.TransformerEncoderLayer(32, nhead=1, dim_feedforward=64, dropout=0.0, norm_first=True, batch_first=True)
with torch.no_grad():
    ready.self_attn.in_proj_weight.copy_(torch.cat([part.weight for part in (block.query, block.key, block.value)]))
    ready.self_attn.in_proj_bias.copy_(torch.cat([part.bias for part in (block.query, block.key, block.value)]))
pairs = ((ready.self_attn.out_proj, block.out), (ready.norm1, block.norm1), (ready.norm2, block.norm2))
for theirs, ours in (*pairs, (ready.linear1, block.feed[0]), (ready.linear2, block.feed[2])):
    theirs.load_state_dict(ours.state_dict())
x = torch.randn(5, 6, 32)
print("they differ by at most", (ready(x) - block(x)).abs().max().item())
assert ready(x).allclose(block(x), atol=1e-5)

# %% [markdown]
# ## Exercises
#
# ### 1. By hand
#
# A position's products with two keys, already divided, are $0$ and $\log 3$. The values are $4$ and $8$. Compute the result
# of attention there.

# %%
attention_by_hand = ...

lessons.check("attention_by_hand", attention_by_hand)

# %% [markdown]
# ### 2. A repair
#
# This attention has two mistakes. It runs and returns the right shape, so such mistakes are easy to miss.


# %%
def attention_repaired(q, k, v):
    scores = q @ k.mT * q.shape[-1] ** 0.5
    return scores.softmax(-2) @ v


lessons.check("attention_repaired", attention_repaired)

# %% [markdown]
# ### 3. Only look back (at home)
#
# A model that writes a text word by word must not look ahead. Write `attention_causal(q, k, v)`, in which position `i` looks
# at the positions up to and including `i`, but at none after it. All three arguments have the shape `(..., positions, width)`.


# %%
def attention_causal(q, k, v): ...


lessons.check("attention_causal", attention_causal)

# %% [markdown]
# ### 4. Several heads (at home)
#
# A position has only one set of weights, so it can ask only one question. With several heads it asks several: head `h`
# computes attention with its slice of the width of `q`, `k` and `v`, and the results are concatenated. Write
# `attention_heads(q, k, v, heads)` for `q`, `k` and `v` of shape `(sequences, positions, width)`, where `heads` divides the
# width.


# %%
def attention_heads(q, k, v, heads): ...


lessons.check("attention_heads", attention_heads)

# %% [markdown]
# ## Summary
#
# - Attention is a mean of values; its weights are the softmax of the products of queries and keys.
# - The products are divided by $\sqrt d$: otherwise softmax has almost no derivative.
# - A layer adds to its input, so the gradient can bypass it.
# - Attention ignores the order of positions, so the model adds a vector for each position.
#
# ## Questions
#
# <details markdown="1">
# <summary>Why can a transformer with many layers learn?</summary>
#
# Each layer adds its result to its input. The gradient of a sum reaches both parts unchanged, so it arrives at the first layer
# even if all others contribute nothing.
#
# </details>
#
# <details markdown="1">
# <summary>Which part of attention grows fastest with the length of the text?</summary>
#
# The weights: a text of $n$ positions has $n^2$ of them, one for each query and key.
#
# </details>
#
# <details markdown="1">
# <summary>A place looks mostly at one digit. Does that prove that the model chose its answer because of that digit?</summary>
#
# No. The weights show which values entered the mean of this layer. The values already contain the contributions of earlier
# layers.
#
# </details>
