# %% [markdown]
# # A Function of your own: the combined form
#
# *25 minutes. Needs lesson 1.*
#
# You will write an operation with its own derivative: a `Function` with a `forward` and a `backward`. You will see what
# `apply` does with it, what the `ctx` is that both receive, and what happens when `backward` is wrong.

# %%
import warnings

import lessons
import minigrad as torch
from viz import draw

# %% [markdown]
# ## An exponential
#
# minigrad knows the derivative of each of its operations. For an operation that it lacks, or to replace a derivative
# with another, you write a `Function`: `forward` computes the result, `backward` the derivative. This example is from
# PyTorch's documentation. The derivative of exp is exp itself, so `forward` keeps its result for `backward`.


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


# %% [markdown]
# Call it through `apply`; never create an instance. Values and gradients are the same as for the built-in `exp`.

# %%
x = torch.tensor([0.0, 1.0], requires_grad=True)
y = Exp.apply(x)
y.sum().backward()
print(y)
print(x.grad)
assert torch.equal(y, x.exp())
assert torch.equal(x.grad, x.exp())

# %% [markdown]
# ## One node
#
# In the graph, the call is a single node called `ExpBackward`, whatever `forward` does inside. Its card also shows the
# tensor saved for `backward`: the result, two numbers of 4 bytes each.

# %%
y = Exp.apply(x)
assert y.grad_fn.name() == "ExpBackward"
assert [node.name() for node, _ in y.grad_fn.next_functions] == ["AccumulateGrad"]
draw(y)

# %% [markdown]
# The `exp` inside leaves no trace because `apply` switches recording off while `forward` runs. The derivatives of the
# parts are not needed: `backward` computes the derivative of the whole.


# %%
class Curious(torch.autograd.Function):
    @staticmethod
    def forward(ctx, i):
        result = i.exp()
        print("recording:", torch.is_grad_enabled(), "- the result's node:", result.grad_fn)
        assert not torch.is_grad_enabled() and result.grad_fn is None
        return result


Curious.apply(x)

# %% [markdown]
# ## What backward gets and gives
#
# `grad_output` is the derivative of the final result with respect to the output of this node; `backward` returns the
# derivative with respect to the input. So it has to multiply: the incoming gradient times the slope of this one operation.
# Here the incoming gradient is 3 for each element.


# %%
def tripled(x):
    return (3 * Exp.apply(x)).sum()


draw(tripled, x, passes="backward")

# %% [markdown]
# `explain` says the same in words, from the end of the program back to `x`.

# %%
print(torch.explain(tripled(x), x))
(found,) = torch.autograd.grad(tripled(x), x)
assert torch.equal(found, 3 * x.exp())

# %% [markdown]
# ## What ctx is
#
# The `ctx` is where `forward` leaves what `backward` will need. It is the node of the graph itself: `apply` creates one
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
# Save tensors with `save_for_backward` and read them from `ctx.saved_tensors`, a tuple in the same order; lesson 6 says
# why. Anything else, such as a number, is an attribute. `backward` returns one gradient for each argument of `forward`
# (`ctx` does not count), and `None` for an argument that has none.


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
# ## Calls that are refused
#
# `apply` creates the `ctx`. A call that bypasses `apply` has none, and minigrad says what to call instead.

# %%
for wrong_call in (lambda: Exp.forward(x), lambda: Exp(x), lambda: Exp.apply(x, 2)):
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
# A forgotten `return` returns `None`, which means "no gradient". That is allowed but hardly intended, so minigrad warns.


# %%
class NoReturn(Exp):
    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        grad_output * result


x.grad = None
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    NoReturn.apply(x).sum().backward()
print(said[0].message)
assert "has no `return`" in str(said[0].message) and x.grad is None

# %% [markdown]
# Without `grad_output` the numbers are right only if the operation is the last before a sum, where the incoming gradient is 1.
# With any other operation behind it they are wrong. minigrad warns when a gradient does not depend on the incoming one.


# %%
class NoChain(Exp):
    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return result


with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    (lucky,) = torch.autograd.grad(NoChain.apply(x).sum(), x)
    (wrong,) = torch.autograd.grad((3 * NoChain.apply(x)).sum(), x)
print(said[0].message)
print("expected", (3 * x.exp()).tolist(), "got", wrong.tolist())
assert torch.equal(lucky, x.exp()) and torch.equal(wrong, x.exp())
assert len(said) == 1 and "does not depend on grad_output" in str(said[0].message)

# %% [markdown]
# A wrong formula is something else: minigrad takes your word for it. Only a comparison with the values of `forward` finds
# it: move the input a little to both sides, and see how far the output moves.


# %%
class WrongFormula(Exp):
    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return grad_output * result * result


at = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
claimed = torch.autograd.grad(WrongFormula.apply(at), at)[0].item()
step = 1e-4
measured = (WrongFormula.apply(at + step) - WrongFormula.apply(at - step)).item() / (2 * step)
print(f"backward says {claimed:.4f}, the values say {measured:.4f}")
assert abs(measured - at.exp().item()) < 1e-4 < abs(claimed - measured)

# %% [markdown]
# `gradcheck` does this for every element of every input; lesson 12 is about it.

# %%
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
# The derivative of 1 / x is -1 / x², which is minus the square of the result. Write `backward`.


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
# ### 3. Repair
#
# This `Function` should compute `scale * sin(x)`, where `scale` is a number. It has three mistakes: run the cell, read
# the message, fix one, run it again.


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
# ### 4. A gradient that is not the derivative
#
# Sometimes you want a gradient that is wrong on purpose. Write a `Function` of a tensor `x` and a number `bound` that
# returns `x` unchanged. Its gradient is the incoming one, with each element clipped to between `-bound` and `bound`.


# %%
class CombinedClip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bound): ...

    @staticmethod
    def backward(ctx, grad_output): ...


lessons.check("CombinedClip", CombinedClip)
