# %% [markdown]
# # A Function in two parts: the separate form
#
# *Needs lessons 1 and 2.*
#
# **Why does `torch.func.grad` raise an error for my `Function`?** Its `forward` computes and saves in one step. In the
# separate form, `forward` knows nothing of `ctx`, and `setup_context` saves. Then a transform can do one without the
# other.
#
# After this lesson you can:
#
# - split a `Function` into `forward` and `setup_context`,
# - explain why the transforms of `torch.func` need the separate form,
# - choose what to save, so that second derivatives are right.

# %%
import warnings

import lessons
import minigrad as torch
from viz import draw

# %% [markdown]
# The same `Function` in two forms. In the second, `forward` does not take `ctx`, and `setup_context` saves.


# %%
class Combined(torch.autograd.Function):
    @staticmethod
    def forward(ctx, i):
        result = i.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return grad_output * result


class Separate(torch.autograd.Function):
    @staticmethod
    def forward(i):
        return i.exp()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return grad_output * result


def total(x):
    return Combined.apply(x).sum() + Separate.apply(x).sum()


x = torch.tensor([0.0, 1.0], requires_grad=True)
draw(total, x, passes=("forward", "backward"))

# %% [markdown]
# In the graph the two forms look the same: each is one node that saves its result, 8 bytes.
#
# **Try it.** Drag the second number of `x` to 0. Which gradient does it have then?

# %%
separate_gradient = ...

lessons.check("separate_gradient", separate_gradient)

# %% [markdown]
# ## Exp again
#
# In the combined form, `forward` does two jobs: it computes, and it saves tensors on the `ctx`. In the separate form each
# job has its own method. `backward`, values and gradients are the same. A `forward` without `ctx` is an ordinary function:
# you can call and test it by itself.

# %%
a, b = Combined.apply(x), Separate.apply(x)
assert torch.equal(a, b)
assert torch.equal(torch.autograd.grad(a.sum(), x)[0], torch.autograd.grad(b.sum(), x)[0])
print(Separate.forward(torch.tensor(0.0)))
assert Separate.forward(torch.tensor(0.0)) == 1.0

# %% [markdown]
# ## The arguments of setup_context
#
# `inputs` is always a tuple of all arguments of `forward`, including omitted ones. `output` is the return value of
# `forward`: a tensor or a tuple.


# %%
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(x, factor=2.0):
        return x * factor

    @staticmethod
    def setup_context(ctx, inputs, output):
        print("inputs:", inputs)
        print("output:", output)
        seen.append(inputs)
        _, ctx.factor = inputs

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.factor, None


seen = []
y = Scale.apply(torch.tensor(3.0, requires_grad=True))
assert len(seen[0]) == 2 and seen[0][1] == 2.0
assert y.grad_fn.factor == 2.0

# %% [markdown]
# ## Why the transforms need it
#
# `torch.func.grad(f)` is a function that computes the derivative of `f` (lesson 17). It works with the separate form,
# even twice: the second derivative of exp at 0 is 1.

# %%
zero = torch.tensor(0.0)
print(torch.func.grad(Separate.apply)(zero), torch.func.grad(torch.func.grad(Separate.apply))(zero))
assert torch.func.grad(Separate.apply)(zero) == 1.0
assert torch.func.grad(torch.func.grad(Separate.apply))(zero) == 1.0

# %% [markdown]
# The combined form raises an error, and the message shows how to split it.

# %%
try:
    torch.func.grad(Combined.apply)(zero)
except RuntimeError as e:
    print(e)
    assert "setup_context" in str(e)
else:
    raise AssertionError("a combined form went through a transform")

# %% [markdown]
# Each `grad` is a level with its own graph, and each level needs its own `ctx`. But the computation should run only once.
# So a transform calls `forward` once and `setup_context` for each level. Count the calls:


# %%
class Watched(Separate):
    @staticmethod
    def forward(i):
        calls.append("forward")
        return i.exp()

    @staticmethod
    def setup_context(ctx, inputs, output):
        calls.append("setup_context")
        saved.append(output)
        ctx.save_for_backward(output)


def calls_of(f):
    calls.clear()
    f(zero)
    return {name: calls.count(name) for name in ("forward", "setup_context")}


calls, saved = [], []
lessons.predict(
    "torch.func.grad(torch.func.grad(Watched.apply))(zero): how many times does it call forward and setup_context?",
    {
        "{'forward': 1, 'setup_context': 1}": "Then only one level would have a ctx, and the other would have no graph.",
        "{'forward': 2, 'setup_context': 2}": "The computation is the same for all levels, so it runs once.",
        "{'forward': 1, 'setup_context': 2}": "Nearly: the ground level below the two counts as well.",
        "{'forward': 1, 'setup_context': 3}": "It computes once, and saves for each grad and for the ground level.",
    },
    lambda: calls_of(torch.func.grad(torch.func.grad(Watched.apply))),
)

# %%
for name, f in (
    ("apply", Watched.apply),
    ("grad", torch.func.grad(Watched.apply)),
    ("grad of grad", torch.func.grad(torch.func.grad(Watched.apply))),
):
    print(name, calls_of(f))
print("The last one saves", saved[-1])
assert calls == ["forward"] + 3 * ["setup_context"] and "GradTensor" in repr(saved[-1])

# %% [markdown]
# The ground level, where `apply` runs outside all transforms, counts as well. The last saved tensor is a `GradTensor`:
# the outer `grad` tracks it, and with it everything that the inner `backward` computes from it. That makes a second
# derivative possible. A `forward` with `ctx` runs on the ground level and would save plain numbers, which no `grad`
# tracks.
#
# The other transforms need the separate form for the same reason: `jvp` (lesson 6) and `vmap` (lesson 21).
#
# ## Saved tensors
#
# `setup_context` may save only inputs and outputs, apart from numbers and shapes as attributes. Take $(e^x)^2$, computed
# as `e * e` with the intermediate `e`. Its first derivative at 0 is 2, and its second is 4. This `Function` smuggles `e`
# into `setup_context`.


# %%
class Smuggled(torch.autograd.Function):
    @staticmethod
    def forward(x):
        global e
        e = x.exp()
        return e * e

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(e)

    @staticmethod
    def backward(ctx, grad_output):
        (e,) = ctx.saved_tensors
        return grad_output * 2 * e * e


first = torch.func.grad(Smuggled.apply)
second = torch.func.grad(first)

lessons.predict(
    "Which first and second derivatives does Smuggled give at 0?",
    {
        "[2.0, 4.0]": "Those are the right ones. But the second grad cannot track e.",
        "[2.0, 2.0]": "The second grad would have to track one of the two factors. It tracks neither.",
        "[2.0, 0.0]": "e was computed on the ground level, so for the second grad all of backward is a constant.",
        "an error": "By default, minigrad does not check where a saved tensor was computed.",
    },
    lambda: [first(zero).item(), second(zero).item()],
)

# %% [markdown]
# The first derivative is right, the second silently wrong. minigrad finds the mistake on request: `torch.debug()` watches where
# saved tensors come from, and `torch.testing.check` compares second derivatives with differences.

# %%
assert first(zero) == 2.0 and second(zero) == 0.0  # it should be 4
start = torch.tensor(0.0, requires_grad=True)
with warnings.catch_warnings(record=True) as caught, torch.debug():
    warnings.simplefilter("always")
    torch.autograd.grad(Smuggled.apply(start), start, create_graph=True)
print(caught[0].message)
assert "as a constant" in str(caught[0].message)

(failure,) = torch.testing.check(Smuggled, torch.tensor(0.0, dtype=torch.float64, requires_grad=True)).failures
print(failure.name + ":", failure.message)
assert failure.name == "second derivatives"

# %% [markdown]
# There are two fixes. Save the input and compute the intermediate again in `backward`: this takes time, but no extra
# memory. Or return the intermediate as one more output, so that you may save it. Then it also gets a gradient, which
# `backward` has to add: lesson 20 does this. Here is the first fix.


# %%
class Recomputed(torch.autograd.Function):
    @staticmethod
    def forward(x):
        e = x.exp()
        return e * e

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        e = x.exp()
        return grad_output * 2 * e * e


first, second = torch.func.grad(Recomputed.apply), torch.func.grad(torch.func.grad(Recomputed.apply))
print(first(zero), second(zero))
assert first(zero) == 2.0 and second(zero) == 4.0

# %% [markdown]
# ## Mixing them up
#
# A class has one form or the other. If you mix them, or mistake the tuple `inputs` for a tensor, the message says which
# line to change.


# %%
class Both(Separate):
    @staticmethod
    def forward(ctx, i):
        return i.exp()


class WholeTuple(Separate):
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs)


for broken, words in ((Both, "which receives the ctx"), (WholeTuple, "only takes tensors")):
    try:
        broken.apply(x)
    except TypeError as e:
        print(e, "\n")
        assert words in str(e)
    else:
        raise AssertionError("a mixed form was accepted")

# %% [markdown]
# ## Exercises
#
# ### 1. How many inputs?
#
# A class has `def forward(x, y, factor=2.0, shift=0.0)` and a `setup_context`. It is called as `F.apply(x, y, 3.0)`. How
# many elements does `inputs` have?

# %%
separate_inputs = ...

lessons.check("separate_inputs", separate_inputs)

# %% [markdown]
# ### 2. Fill the gaps
#
# The derivative of tanh is 1 minus the square of its result. Write `setup_context` and `backward`; save only the result.


# %%
class SeparateTanh(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x.tanh()

    @staticmethod
    def setup_context(ctx, inputs, output): ...

    @staticmethod
    def backward(ctx, grad_output): ...


lessons.check("SeparateTanh", SeparateTanh)

# %% [markdown]
# ### 3. Split it (at home)
#
# This `Function` is right, but in the combined form. Write it in the separate form, so that `torch.func.grad` works and
# the second derivative is right, too.


# %%
class SeparateSilu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        s = torch.sigmoid(x)
        ctx.save_for_backward(x, s)
        return x * s

    @staticmethod
    def backward(ctx, grad_output):
        x, s = ctx.saved_tensors
        return grad_output * (s + x * s * (1 - s))


lessons.check("SeparateSilu", SeparateSilu)

# %% [markdown]
# ### 4. From scratch (at home)
#
# Write a `Function` in the separate form that computes `x**n` for a number `n`, 2 by default. The derivative is
# `n * x**(n - 1)`; `torch.func.grad` should work any number of times.


# %%
class SeparatePower(torch.autograd.Function):
    @staticmethod
    def forward(): ...


lessons.check("SeparatePower", SeparatePower)

# %% [markdown]
# ## Summary
#
# - In the separate form, `forward` computes and `setup_context(ctx, inputs, output)` saves; `backward` stays the same.
# - A transform calls `forward` once and `setup_context` for each level, so that each level has its own graph.
# - Save inputs and outputs only. Compute an intermediate again, or return it as one more output.
# - Choose the separate form unless you must save an intermediate without returning it.
#
# ## Questions
#
# <details markdown="1">
# <summary>Why can a transform not use a <code>forward</code> with <code>ctx</code>?</summary>
#
# Each level needs its own `ctx`, but `forward` should run once. And it runs on the ground level, so it would save plain
# numbers, which no `grad` tracks.
#
# </details>
#
# <details markdown="1">
# <summary>Which of the two fixes for an intermediate costs memory, and which costs time?</summary>
#
# Returning it costs the memory of one more saved tensor. Computing it again costs time in `backward`.
#
# </details>
#
# <details markdown="1">
# <summary>Why is the first derivative of <code>Smuggled</code> right?</summary>
#
# The values in `e` are right. Only the history of `e` is missing, and the second derivative is the first to need it.
#
# </details>
