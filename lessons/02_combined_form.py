# %% [markdown]
# # A Function of your own: the combined form
#
# *Needs lesson 1.*
#
# **How do I give an operation my own derivative?** You write a `Function`: `forward` computes the result, and `backward`
# multiplies the incoming gradient by the slope.
#
# After this lesson you can:
#
# - write a `Function` with `forward` and `backward`, and call it with `apply`,
# - say which gradient `backward` receives and which it returns,
# - save tensors and numbers on the `ctx`,
# - find a wrong `backward`.

# %%
import warnings

import lessons
import minigrad as torch
from viz import draw

# %% [markdown]
# Here is `exp` as a `Function`: `forward` computes the result and saves it, `backward` multiplies by the slope.


# %%
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, i):
        result = i.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return grad_output * result


def tripled(x):
    return (3 * Exp.apply(x)).sum()


x = torch.tensor([0.0, 1.0], requires_grad=True)
draw(tripled, x, passes=("forward", "backward"))

# %% [markdown]
# The whole `Function` is one card. In the backward pass it multiplies the incoming gradient, here 3, by its slope.
#
# **Try it.** Drag the first number of `x` until its gradient is 6. Which number does `Exp` save for it then?

# %%
combined_saved = ...

lessons.check("combined_saved", combined_saved)

# %% [markdown]
# ## An exponential
#
# minigrad knows the derivative of each of its operations. Write a `Function` for an operation that minigrad lacks, or to
# replace a derivative. This example is from PyTorch's documentation. The derivative of exp is exp itself, so `forward`
# saves its result for `backward`.
#
# Call it through `apply`; never create an instance. Values and gradients are the same as for the built-in `exp`.

# %%
y = Exp.apply(x)
y.sum().backward()
print(y)
print(x.grad)
assert torch.equal(y, x.exp())
assert torch.equal(x.grad, x.exp())

# %% [markdown]
# ## One node
#
# In the graph, the call is a single node called `ExpBackward`, whatever `forward` does inside.

# %%
y = Exp.apply(x)
assert y.grad_fn.name() == "ExpBackward"
assert [node.name() for node, _ in y.grad_fn.next_functions] == ["AccumulateGrad"]


# %%
class Curious(torch.autograd.Function):
    @staticmethod
    def forward(ctx, i):
        result = i.exp()
        inside.append(result.grad_fn)
        return result


inside = []
Curious.apply(x)

lessons.predict(
    "forward computes result = i.exp(), and i requires grad. Which grad_fn does the result have there?",
    {
        "ExpBackward0": "That is the node outside of a Function. In forward, nothing is recorded.",
        "CuriousBackward": "That is the node of the whole call. apply attaches it after forward has returned.",
        "None": "apply switches recording off: backward is the derivative of the whole, so the parts need none.",
    },
    inside[0],
)

# %%
print(inside)
assert inside == [None]

# %% [markdown]
# ## What backward receives and returns
#
# `grad_output` is the derivative of the final result with respect to the output of this node; `backward` returns the
# derivative with respect to the input. So it has to multiply: the incoming gradient times the slope of this one
# operation, its local derivative.
#
# `explain` shows these products step by step, from the end of the program back to `x`.

# %%
print(torch.explain(tripled(x), x))
(found,) = torch.autograd.grad(tripled(x), x)
assert torch.equal(found, 3 * x.exp())

# %% [markdown]
# ## What ctx is
#
# The `ctx` is where `forward` leaves what `backward` will need. It is itself the node of the graph: `apply` creates one
# for each call. Its attributes live as long as the graph does.


# %%
class Watched(torch.autograd.Function):
    @staticmethod
    def forward(ctx, i):
        seen.append(ctx)
        return i.clone()

    @staticmethod
    def backward(ctx, grad_output):
        seen.append(ctx)
        return grad_output


seen = []
y = Watched.apply(x)
y.sum().backward()
assert seen[0] is seen[1] is y.grad_fn
assert Watched.apply(x).grad_fn is not y.grad_fn

# %% [markdown]
# Save tensors with `save_for_backward` and read them from `ctx.saved_tensors`, a tuple in the same order; lesson 8
# explains why. Anything else, such as a number, is an attribute. `backward` returns one gradient for each argument of
# `forward` (`ctx` does not count), and `None` for an argument that has none.


# %%
class Power(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, n):
        ctx.save_for_backward(x)
        ctx.n = n
        return x**n

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * ctx.n * x ** (ctx.n - 1), None


x = torch.tensor([1.0, 2.0], requires_grad=True)
Power.apply(x, 3).sum().backward()
print(x.grad)
assert x.grad.tolist() == [3.0, 12.0]

# %% [markdown]
# ## Calls that raise an error
#
# `apply` creates the `ctx`. A call that bypasses `apply` has none, and minigrad says what to call instead.

# %%
for wrong_call in (lambda: Exp.forward(x), lambda: Exp()(x), lambda: Exp.apply(x, 2)):
    try:
        wrong_call()
    except (RuntimeError, TypeError) as e:
        print(e, "\n")
        assert "Exp.apply" in str(e)
    else:
        raise AssertionError("a wrong call was accepted")

# %% [markdown]
# ## A wrong backward
#
# minigrad detects some mistakes by itself: it checks the number of gradients and their shapes.


# %%
class TooMany(Exp):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, grad_output


class TooSmall(Exp):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.sum()


for broken, words in ((TooMany, "expected 1, got 2"), (TooSmall, "invalid gradient")):
    try:
        broken.apply(x).sum().backward()
    except RuntimeError as e:
        print(e, "\n")
        assert words in str(e)
    else:
        raise AssertionError("a wrong gradient was accepted")

# %% [markdown]
# A method without `return` returns `None`, which means "no gradient". That is allowed but rarely intended, so minigrad
# warns.


# %%
class NoReturn(Exp):
    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        grad_output * result


x.grad = None
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    NoReturn.apply(x).sum().backward()
print(caught[0].message)
assert "has no `return`" in str(caught[0].message) and x.grad is None

# %% [markdown]
# Another mistake is to return the slope alone.


# %%
class NoChain(Exp):
    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return result


def without_chain():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gradients = [torch.autograd.grad((factor * NoChain.apply(x)).sum(), x)[0] for factor in (1, 3)]
    return [torch.equal(found, factor * x.exp()) for factor, found in zip((1, 3), gradients)]


lessons.predict(
    "NoChain.backward returns result, without grad_output. Is the gradient right for y.sum(), and for (3 * y).sum()?",
    {
        "[True, True]": "The factor 3 arrives in grad_output, and NoChain ignores it.",
        "[False, False]": "For y.sum() the incoming gradient is 1, so leaving it out changes nothing.",
        "[True, False]": "You may leave out an incoming gradient of 1, but few programs end right after the operation.",
    },
    without_chain,
)

# %% [markdown]
# minigrad warns when a gradient does not depend on the incoming gradient.

# %%
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    (lucky,) = torch.autograd.grad(NoChain.apply(x).sum(), x)
    (wrong,) = torch.autograd.grad((3 * NoChain.apply(x)).sum(), x)
print(caught[0].message)
print("expected", (3 * x.exp()).tolist(), "got", wrong.tolist())
assert torch.equal(lucky, x.exp()) and torch.equal(wrong, x.exp())
assert len(caught) == 1 and "does not depend on grad_output" in str(caught[0].message)

# %% [markdown]
# A wrong formula causes no warning: minigrad takes your word for it. Only a comparison with the values of `forward` finds
# the mistake. `gradcheck` moves each element of each input a little to both sides and measures how far the output moves;
# lesson 15 covers it.


# %%
class WrongFormula(Exp):
    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return grad_output * result * result


at = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
assert torch.autograd.gradcheck(Exp.apply, at)
try:
    torch.autograd.gradcheck(WrongFormula.apply, at)
except RuntimeError as e:
    print(e)
    assert "numerical" in str(e)
else:
    raise AssertionError("a wrong formula went through")

# %% [markdown]
# ## Exercises
#
# ### 1. Take its word for it
#
# This `Function` squares, but its `backward` claims a slope of 5. Compute `x.grad` after
# `(10 * Claim.apply(x)).backward()` with `x = 3.0`.


# %%
class Claim(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 5


combined_claim = ...

lessons.check("combined_claim", combined_claim)

# %% [markdown]
# ### 2. Fill the gap
#
# The derivative of $1 / x$ is $-1 / x^2$, which is minus the square of the result. Write `backward`.


# %%
class CombinedReciprocal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        result = 1 / x
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad_output): ...


lessons.check("CombinedReciprocal", CombinedReciprocal)

# %% [markdown]
# ### 3. Repair (at home)
#
# This `Function` should compute `scale * sin(x)`, where `scale` is a number. It has three mistakes. Run the cell, read
# the message, fix one mistake, and run the cell again.


# %%
class CombinedSine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        return scale * x.sin()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return ctx.scale * x.cos()


lessons.check("CombinedSine", CombinedSine)

# %% [markdown]
# ### 4. A gradient that is not the derivative (at home)
#
# Sometimes you want a gradient that is wrong on purpose. Write a `Function` of a tensor `x` and a number `bound` that
# returns `x` unchanged. Its gradient is the incoming gradient, with each element clipped to the range from `-bound` to
# `bound`.


# %%
class CombinedClip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bound): ...

    @staticmethod
    def backward(ctx, grad_output): ...


lessons.check("CombinedClip", CombinedClip)

# %% [markdown]
# ## Summary
#
# - A `Function` has `forward` and `backward`; call it with `apply`. In the graph it is one node.
# - `backward` receives the gradient of the output and returns it times the slope, one gradient for each argument.
# - The `ctx` is the node: `save_for_backward` for tensors, attributes for anything else.
# - minigrad checks the number and the shapes of the gradients; `gradcheck` checks the formula.
#
# ## Questions
#
# <details markdown="1">
# <summary>Why is it not enough for <code>backward</code> to return the slope?</summary>
#
# Other operations follow this one. Their derivative arrives as `grad_output`, and the chain rule multiplies the two.
#
# </details>
#
# <details markdown="1">
# <summary>Why does <code>forward</code> record nothing, even though its input requires grad?</summary>
#
# `backward` is the derivative of the whole call. A graph of the parts would cost memory, and no backward pass would use
# it.
#
# </details>
#
# <details markdown="1">
# <summary>Does <code>gradcheck</code> prove that <code>backward</code> is right?</summary>
#
# No. It compares `backward` with differences at one point. At another point, for example in another case of the formula,
# `backward` can still be wrong.
#
# </details>
