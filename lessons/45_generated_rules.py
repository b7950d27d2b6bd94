# %% [markdown]
# # A generated rule, and random numbers
#
# *Needs lessons 18, 20 and 21.*
#
# **Can `vmap` find the rule for my Function by itself?** Yes, if all its methods consist of tensor operations: set
# `generate_vmap_rule = True`. For another system you write the rule, and the rule has to answer one more question: do all
# examples share their random numbers?
#
# After this lesson you can:
#
# - let minigrad generate a rule, and say what its methods must not do,
# - find the method that the generated rule cannot run,
# - write a rule that obeys `info.randomness`.

# %%
import numpy as np

import lessons
import minigrad as torch
from viz import draw


def cubes(xs):
    return torch.vmap(lambda x: x**3)(xs)


xs = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
draw(cubes, xs, passes=("forward", "backward"))

# %% [markdown]
# The power is marked `vmap`: minigrad has a rule for each of its operations. It has none for an operation that you write.
#
# ## Ask for the rule
#
# This is `MyCube` of lesson 20 with one more line. It is the example of PyTorch's documentation, "Extending torch.func with
# autograd.Function", and so is the check below it.


# %%
class MyCube(torch.autograd.Function):
    # Set generate_vmap_rule to True to ask PyTorch to automatically generate
    # a vmap rule.
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        result = x**3
        dx = 3 * x**2
        return result, dx

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        result, dx = output
        ctx.save_for_backward(x, dx)

    @staticmethod
    def backward(ctx, grad_output, grad_dx):
        x, dx = ctx.saved_tensors
        result = grad_output * dx + grad_dx * 6 * x
        return result


def my_cube(x):
    result, dx = MyCube.apply(x)
    return result


x = torch.randn(3)
result = torch.vmap(my_cube)(x)
assert torch.allclose(result, x**3)

# %% [markdown]
# The rule is there for every transform that maps: the second derivative of each example, and the Jacobian, which maps
# `backward` over the rows.

# %%
at = torch.tensor([1.0, 2.0])
assert torch.vmap(torch.func.grad(torch.func.grad(my_cube)))(at).tolist() == [6.0, 12.0]
assert torch.func.jacrev(my_cube)(at).tolist() == [[3.0, 0.0], [0.0, 12.0]]


def cubes_by_rule(x):
    return torch.vmap(my_cube)(x)


draw(cubes_by_rule, at.requires_grad_(), passes=("forward", "backward"))

# %% [markdown]
# ## All methods are mapped
#
# The generated rule runs `forward`, `backward` and `jvp` under vmap, each when it is needed. So each of them has to consist
# of tensor operations. Here `backward` breaks the rule.


# %%
class NumpySlope(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.sin()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.tensor(np.cos(x.numpy()))


def outcome(f, *args):
    """Return "a result", or the message of the error that f raises."""
    try:
        f(*args)
    except RuntimeError as e:
        return str(e)
    return "a result"


def sum_of_sines(x):
    return NumpySlope.apply(x).sum()


batch = torch.ones(3, 4)
values = outcome(torch.vmap(sum_of_sines), batch)
gradients = outcome(torch.vmap(torch.func.grad(sum_of_sines)), batch)

lessons.predict(
    "Does vmap(f)(batch) give a result, and does vmap(grad(f))(batch)?",
    {
        "[True, True]": "In the second call, backward asks for the numbers of one example, and there are none.",
        "[True, False]": "forward is a tensor operation. Only the gradient runs backward, and with it NumPy.",
        "[False, False]": "The rule is generated when a method runs, and the first call does not run backward.",
    },
    [values == "a result", gradients == "a result"],
)

# %%
print(gradients)
assert values == "a result" and "NumpySlope.backward: runs under `vmap`" in gradients

# %% [markdown]
# PyTorch's documentation calls the outcome undefined; minigrad names method and line. There are two ways out: write
# `backward` with `x.cos()`, or write a `vmap` staticmethod. Do not do both: a class that has its rule and asks for one
# raises an error. The documentation recommends a rule for every Function, above all in a library, because users combine
# transforms.


# %%
class TwoRules(MyCube):
    @staticmethod
    def vmap(info, in_dims, x):
        return MyCube.apply(x), in_dims * 2


two_rules = outcome(torch.vmap(TwoRules.apply), batch)
print(two_rules)
assert "has both generate_vmap_rule=True and an overridden vmap staticmethod" in two_rules

# %% [markdown]
# ## Random numbers
#
# `vmap` has the option `randomness`: `"error"`, `"same"` or `"different"` (lesson 18). A generated rule passes it to the
# random operations of `forward`. NumPy knows nothing of it, so a rule of yours has to look: the option is
# `info.randomness`, beside `info.batch_size`.


# %%
class Noise(torch.autograd.Function):
    """Function that adds NumPy's random numbers."""

    @staticmethod
    def forward(x):
        return x + torch.tensor(np.random.standard_normal(x.shape).astype(np.float32))

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output

    @staticmethod
    def vmap(info, in_dims, x):
        asked.append((info.batch_size, info.randomness))
        return Noise.apply(x.movedim(in_dims[0], 0)), 0


asked = []
noisy = torch.vmap(Noise.apply, randomness="same")(torch.zeros(3, 2))
print(asked, noisy)
assert asked == [(3, "same")] and noisy[0].tolist() != noisy[1].tolist()

# %% [markdown]
# The caller asked for the same numbers, and each row has different ones. No error tells of it; `torch.testing.check` does. It
# compares the three options with their promises.

# %%
failure = next(one for one in torch.testing.check(Noise, torch.zeros(2)).failures if one.name == "randomness")
print(failure.message)
assert "randomness='error'" in failure.message

# %% [markdown]
# Under `"same"`, all examples share one draw, as large as one example. Under `"different"`, the draw is as large as the
# batch. Under `"error"`, the default, the rule raises an error, because it cannot know which of the two is right.
#
# ## Exercises
#
# ### 1. How many numbers?
#
# A right rule for `Noise` runs on a batch of shape (8, 5), with the examples in dimension 0. How many random numbers does it
# draw under `"same"`, and how many under `"different"`? Give a list.

# %%
generated_draws = ...

lessons.check("generated_draws", generated_draws)

# %% [markdown]
# ### 2. Repair for a generated rule
#
# This Function computes `x` times its norm, and the gradient of a loop is right. But the generated rule cannot run it.
# Repair it without a `vmap` staticmethod.


# %%
class GeneratedNorm(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * x.norm().item()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        n = x.norm()
        if n == 0:
            return torch.zeros_like(x)
        return grad_output * n + x * (grad_output * x).sum() / n


lessons.check("GeneratedNorm", GeneratedNorm)

# %% [markdown]
# ### 3. A rule that obeys
#
# Write the rule of this Function, which multiplies each element by a random sign. Raise a `RuntimeError` for the option
# `"error"`. The batch may be in any dimension. Call `RandomSigns.apply` for the signs, and leave `backward` as it is.


# %%
class RandomSigns(torch.autograd.Function):
    @staticmethod
    def forward(x):
        signs = torch.tensor(np.random.choice([-1.0, 1.0], x.shape).astype(np.float32))
        return x * signs, signs

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[1])

    @staticmethod
    def backward(ctx, grad_output, _):
        (signs,) = ctx.saved_tensors
        return grad_output * signs

    @staticmethod
    def vmap(info, in_dims, x): ...


lessons.check("RandomSigns", RandomSigns)

# %% [markdown]
# ## Summary
#
# - `generate_vmap_rule = True` maps `forward`, `backward` and `jvp`: all must consist of tensor operations.
# - A method is mapped when it runs, so a NumPy `backward` fails only with the gradient.
# - A class has a generated rule or a `vmap` staticmethod, not both.
# - A rule that draws random numbers obeys `info.randomness`: an error, one draw for all, or one for each example.
#
# ## Questions
#
# <details markdown="1">
# <summary>When would you write a rule although minigrad can generate one?</summary>
#
# When you know a faster way to compute a batch, or when a batch should behave differently. The result and the gradient still
# have to be those of a loop.
#
# </details>
#
# <details markdown="1">
# <summary>Why does <code>jacrev</code> need only a <code>backward</code> that can be mapped?</summary>
#
# It runs `forward` once, without a batch, and maps `backward` over the rows of an identity matrix.
#
# </details>
#
# <details markdown="1">
# <summary>Why does a rule not always draw different numbers?</summary>
#
# Some programs need one draw for all, such as one dropout mask for the batch. The caller decides, and the rule obeys.
#
# </details>
