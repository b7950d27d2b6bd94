# %% [markdown]
# # Two layers in one Function
#
# *Needs lessons 7, 9, 15 and 34.*
#
# **My network saves too much for backward. Can two layers share their memory?** Yes: put both into one `Function` that saves
# only the inputs. Its `backward` computes the value in between once more. PyTorch's tutorials do it with a convolution and a
# batch normalization, and so does this lesson.
#
# After this lesson you can:
#
# - count the bytes that two layers save, and say which of them fusing removes,
# - write the backward of a normalization,
# - fuse two operations, and check gradients, memory and second derivatives.

# %%
import lessons
import minigrad as torch
from minigrad.nn import functional as F
from minigrad.nn.grad import conv2d_input, conv2d_weight
from viz import draw


def conv_then_norm(x, weight):
    return F.batch_norm(F.conv2d(x, weight), None, None, training=True)


x, weight = (torch.randn(*shape, requires_grad=True) for shape in ((2, 3, 6, 6), (4, 3, 3, 3)))
draw(conv_then_norm, x, weight, passes=("forward", "backward"))

# %% [markdown]
# The forward picture shows what each layer saves. The convolution saves its two inputs, and the normalization saves `v0`, the
# result of the convolution: in a real network the largest tensor of the three.
#
# ## The memory of the pair


# %%
def saved_bytes(f, *args):
    """Return the bytes that each operation of a call saves for backward."""
    ops = torch.record(f, *args, passes="forward").to_dict()["ops"]
    return {op["name"]: sum(entry["bytes"] for entry in op["saved"]) for op in ops}


print(saved_bytes(conv_then_norm, x, weight))
assert saved_bytes(conv_then_norm, x, weight)["conv2d"] == x.nbytes + weight.nbytes
assert saved_bytes(conv_then_norm, x, weight)["batch_norm"] > 2 * 4 * 4 * 4 * 4

# %% [markdown]
# ## The backward of a normalization
#
# A batch normalization subtracts from each channel its mean $m$, and divides by its standard deviation $s$, both over the
# examples and positions of the channel:
#
# $$n = \frac{c - m}{s} \qquad s = \sqrt{\mathrm{var}(c) + \varepsilon}$$
#
# With the incoming gradient $g$ and $\mathrm{mean}$ over the same dimensions, the gradient of $c$ is
#
# $$\bar c = \frac{g - \mathrm{mean}(g) - n \cdot \mathrm{mean}(g \cdot n)}{s}$$
#
# Without the two means it would be $g / s$. The first is there because $c$ moves $m$, the second because it moves $s$.

# %%
CHANNEL = {"dim": (0, 2, 3), "keepdim": True}  # over all but dimension 1


def normalized(c, eps):
    """Return each channel with mean 0 and variance 1, and its standard deviation before."""
    s = (c.var(correction=0, **CHANNEL) + eps).sqrt()
    return (c - c.mean(**CHANNEL)) / s, s


def normalized_backward(g, n, s):
    """Return the gradient of c, for the incoming gradient g."""
    return (g - g.mean(**CHANNEL) - n * (g * n).mean(**CHANNEL)) / s


c, g = torch.randn(2, 4, 3, 3, requires_grad=True), torch.randn(2, 4, 3, 3)
n, s = normalized(c, 1e-5)
assert torch.allclose(torch.autograd.grad(n, c, g, retain_graph=True)[0], normalized_backward(g, n, s), atol=1e-5)

# %% [markdown]
# ## One Function
#
# `forward` runs both layers, and nothing inside it is recorded. Saved are the inputs alone. So `backward` has no `c`, and
# computes the convolution once more. Then it goes back through both layers: `conv2d_input` and `conv2d_weight` are the two
# derivatives of a convolution.


# %%
class ConvNorm(torch.autograd.Function):
    @staticmethod
    def forward(x, weight, eps=1e-5):
        return normalized(F.conv2d(x, weight), eps)[0]

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, weight, ctx.eps = inputs
        ctx.save_for_backward(x, weight)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        n, s = normalized(F.conv2d(x, weight), ctx.eps)
        grad_c = normalized_backward(grad_output, n, s)
        return conv2d_input(x.shape, weight, grad_c), conv2d_weight(x, weight.shape, grad_c), None


def fused(x, weight):
    return ConvNorm.apply(x, weight)


pair = sum(saved_bytes(conv_then_norm, x, weight).values())
lessons.predict(
    f"The pair saves {pair} bytes: 864 for x, 432 for the weight, and 544 in the normalization. What does ConvNorm save?",
    {
        1840: "That is the pair. ConvNorm saves neither the result of the convolution nor its statistics.",
        1296: "Only x and the weight. The other 544 bytes exist in backward for a short time.",
        864: "backward needs the weight as well: for the convolution, and for the gradient of x.",
        0: "backward starts from the inputs, so they have to be kept.",
    },
    lambda: saved_bytes(fused, x, weight)["ConvNorm"],
)

# %% [markdown]
# Values and gradients are those of the pair. `backward` consists of tensor operations on saved inputs, so second derivatives
# are right as well.

# %%
assert torch.allclose(fused(x, weight), conv_then_norm(x, weight), atol=1e-5)
g = torch.randn(2, 4, 4, 4)
for a, b in zip(*(torch.autograd.grad(f(x, weight), (x, weight), g) for f in (fused, conv_then_norm))):
    assert torch.allclose(a, b, atol=1e-4)

small = [torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in ((2, 2, 4, 4), (2, 2, 3, 3))]
assert torch.autograd.gradcheck(fused, small) and torch.autograd.gradgradcheck(fused, small)

# %% [markdown]
# The price is time: a step runs the convolution twice forward. PyTorch's tutorial also saves the sums and deviations of the
# channels, which are small, and its backward is for first derivatives only.
#
# ## Fusing and checkpointing
#
# `checkpoint` of lesson 34 does the same without a formula: it runs a part of the network again in backward, and records it
# then. A Function of your choice can do better where you know more. It can skip what backward does not need, or use the
# result to get an intermediate value back.

# %%
x_only = torch.utils.checkpoint.checkpoint(conv_then_norm, x, weight, use_reentrant=False)
assert torch.equal(x_only, conv_then_norm(x, weight))

# %% [markdown]
# ## Exercises
#
# ### 1. Count
#
# `x` has the shape (8, 16, 32, 32), the weight (16, 16, 3, 3), and there is no padding, so an image loses one pixel on each
# side. All numbers are float32. How many bytes has the result of the convolution, which `ConvNorm` does not save?

# %%
conv_norm_bytes = ...

lessons.check("conv_norm_bytes", conv_norm_bytes)

# %% [markdown]
# ### 2. Convolution and ReLU
#
# Write a Function whose `apply(x, weight)` is `F.conv2d(x, weight).relu()` and that saves only `x` and `weight`.


# %%
class FusedRelu(torch.autograd.Function):
    @staticmethod
    def forward(x, weight):
        return F.conv2d(x, weight).relu()

    @staticmethod
    def setup_context(ctx, inputs, output): ...

    @staticmethod
    def backward(ctx, grad_output): ...


lessons.check("FusedRelu", FusedRelu)

# %% [markdown]
# ### 3. After the training
#
# With fixed statistics, a normalization is `(c - mean) / sqrt(var + eps)` with one number `mean` and one `var` for each
# channel: a product and a sum. So the convolution can do it. Write `folded(weight, mean, var, eps)`, which returns a weight
# and a bias, such that `F.conv2d(x, *folded(weight, mean, var, eps))` is the convolution and its normalization.


# %%
def folded(weight, mean, var, eps): ...


lessons.check("folded", folded)

# %% [markdown]
# ## Summary
#
# - Two layers save the value between them. One Function of both can compute it again instead.
# - The backward of a normalization subtracts two means, because each element moves the mean and the deviation.
# - Check a fused Function against the pair: values, gradients, bytes, second derivatives.
# - Fusing costs a second computation; `checkpoint` does the same without a formula.
#
# ## Questions
#
# <details markdown="1">
# <summary>Why does <code>setup_context</code> not save the result of the convolution?</summary>
#
# It sees only inputs and outputs of `forward`, and that value is neither. Saving it would also give the memory back that the
# fusion has won.
#
# </details>
#
# <details markdown="1">
# <summary>Is the sum of each channel of <code>normalized_backward</code> zero?</summary>
#
# Yes. Adding a constant to a channel changes nothing in the result, so its gradient along that direction is 0.
#
# </details>
#
# <details markdown="1">
# <summary>Why does the backward of <code>ConvNorm</code> have right second derivatives?</summary>
#
# Everything in it is computed from `x`, `weight` and `grad_output` by operations that minigrad can differentiate.
#
# </details>
