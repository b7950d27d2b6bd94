# %% [markdown]
# # Several inputs, several outputs
#
# *Needs lessons 2, 3 and 7.*
#
# **How many gradients must `backward` return?** One for each argument of `forward`. And it receives one for each output.
#
# After this lesson you can:
#
# - write Functions with tensors, numbers and optional arguments,
# - leave out gradients that are not needed, and the tensors saved for them,
# - return two tensors from one Function.

# %%
import lessons
import minigrad as torch
from viz import draw, live

# %% [markdown]
# This `Function` has three inputs: two tensors and a number.


# %%
class ScaledProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, scale):
        ctx.save_for_backward(x, y)
        ctx.scale = scale
        return x * y * scale

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        return grad_output * y * ctx.scale, grad_output * x * ctx.scale, None


def scaled_product(x, y):
    return ScaledProduct.apply(x, y, 10)


x = torch.tensor([1.0, 2.0], requires_grad=True)
y = torch.tensor([5.0, 6.0], requires_grad=True)
picture = live(scaled_product, x, y, passes=("forward", "backward"))
lessons.drag("several_dragged", picture, lambda: picture.grads["y"][0])

# %% [markdown]
# Two edges lead into the Function, and two gradients go out.
#
# **Try it.** Drag the first number of `x` from 1 to 7. Which of the four gradients changes, and to which number?

# %%
several_dragged = ...

lessons.check("several_dragged", several_dragged)

# %% [markdown]
# ## One gradient for each argument
#
# `forward` takes two tensors and a number. `backward` returns three values in the same order: two gradients and `None`.

# %%
scaled_product(x, y).sum().backward()
print(x.grad, y.grad)
assert x.grad.tolist() == [50.0, 60.0]
assert y.grad.tolist() == [10.0, 20.0]

# %% [markdown]
# ## The right order
#
# A gradient has the shape of its argument. If the shapes differ, minigrad notices two gradients in the wrong order.


# %%
def message_of(f, *args):
    """Return the message of the error that f raises."""
    try:
        f(*args)
    except (RuntimeError, TypeError) as e:
        return str(e)
    raise AssertionError("no error was raised")


class SwappedMatmul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx, grad_output):
        x, w = ctx.saved_tensors
        return x.T @ grad_output, grad_output @ w.T


rows, weight = torch.ones(4, 3, requires_grad=True), torch.ones(3, 2, requires_grad=True)
message = message_of(SwappedMatmul.apply(rows, weight).sum().backward)
print(message)
assert "(3, 2) is the shape of argument 1, w" in message

# %% [markdown]
# If both have the same shape, the numbers are silently wrong. `torch.testing.check` (lesson 16) compares with differences of
# `forward`, and says that two gradients are swapped.

# %% [markdown]
# ## Broadcast inputs
#
# A product broadcasts a smaller input: here both elements of `x` use one number.

# %%
factor = torch.tensor(3.0, requires_grad=True)

lessons.predict(
    "x is [1.0, 2.0], factor is a number, and backward returns grad_output * x for it. Which gradient does it get?",
    {
        "[1.0, 2.0]": "backward returns these two numbers, but a gradient has the shape of its argument.",
        3.0: "Both elements of x use the factor. The engine adds the gradients of all uses.",
        1.5: "Each use contributes its whole gradient: the engine adds and does not average.",
        "an error": "A shape that does not fit is an error, but the gradient of a broadcast argument can be summed to fit.",
    },
    lambda: torch.autograd.grad(ScaledProduct.apply(x, factor, 1).sum(), factor)[0],
)

# %% [markdown]
# `backward` returns one number for each use, and the engine sums them to the shape of the argument.
#
# ## Arguments that may be missing
#
# An argument may be a tensor in one call and `None` in the next, like the bias of a layer. `ctx.needs_input_grad` says
# for each argument whether its gradient is needed. If the argument is `None`, it is not needed: return `None`.


# %%
class Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        result = x @ weight
        return result if bias is None else result + bias

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        needed = ctx.needs_input_grad
        print("needed:", needed)
        return grad_output @ weight.T, x.T @ grad_output, grad_output if needed[2] else None


bias = torch.zeros(2, requires_grad=True)
Linear.apply(rows, weight, bias).sum().backward()
Linear.apply(rows, weight, None).sum().backward()
print(bias.grad)
assert bias.grad.tolist() == [4.0, 4.0]  # from four rows of the first call

# %% [markdown]
# ## Skip gradients that are not needed
#
# Training data needs no gradient, so `Linear.backward` computes one of its two products for nothing. `backward` can ask and
# leave it out. `forward` can ask, too, and save `None` instead of a tensor that only this gradient uses.
#
# This only saves work: you may return a gradient that is not needed, and minigrad drops it. The reverse is a mistake.
# `None` for a gradient that is needed means zero, and `.grad` stays empty.
#
# ## Many tensors
#
# `apply` does not look into lists or dictionaries, so minigrad raises an error for a tensor inside. Pass the tensors one by
# one, and let `forward` collect them.


# %%
class Total(torch.autograd.Function):
    @staticmethod
    def forward(ctx, *tensors):
        ctx.count = len(tensors)
        return sum(tensors[1:], start=tensors[0])

    @staticmethod
    def backward(ctx, grad_output):
        return (grad_output,) * ctx.count


z = torch.tensor([7.0, 8.0], requires_grad=True)
message = message_of(Total.apply, [x, y, z])
print(message)
assert "apply does not look into data structures" in message
assert Total.apply(x, y, z).tolist() == [13.0, 16.0]

# %% [markdown]
# ## Two outputs
#
# `forward` may return several tensors; `backward` receives one gradient for each. This Function converts polar to
# Cartesian coordinates. Each input influences both outputs, so each gradient, marked by a bar, is a sum of two terms.
#
# $$x = r \cos t \qquad y = r \sin t \qquad \bar r = \bar x \cos t + \bar y \sin t \qquad
# \bar t = r\,(\bar y \cos t - \bar x \sin t)$$


# %%
class FromPolar(torch.autograd.Function):
    @staticmethod
    def forward(ctx, r, t):
        ctx.save_for_backward(r, t)
        return r * t.cos(), r * t.sin()

    @staticmethod
    def backward(ctx, grad_x, grad_y):
        r, t = ctx.saved_tensors
        return grad_x * t.cos() + grad_y * t.sin(), r * (grad_y * t.cos() - grad_x * t.sin())


def area(r, t):
    """Return the area of the rectangle between the origin and a point."""
    x, y = FromPolar.apply(r, t)
    return x * y


r, t = torch.tensor(2.0, requires_grad=True), torch.tensor(0.5, requires_grad=True)
assert not torch.testing.check(FromPolar, r, t).failures
draw(area, r, t, passes=("forward", "backward"))

# %% [markdown]
# The incoming gradient of `x` is the value of `y`, and vice versa. What does `backward` receive if only one output is
# used?


# %%
class Watched(FromPolar):
    @staticmethod
    def backward(ctx, grad_x, grad_y):
        received.append((grad_x.item(), grad_y.item()))
        return FromPolar.backward(ctx, grad_x, grad_y)


received = []
east, north = Watched.apply(r, t)
assert east.grad_fn is north.grad_fn
east.backward()

lessons.predict(
    "east, north = Watched.apply(r, t). Which gradients does Watched.backward receive from east.backward()?",
    {
        "[(1.0, 0.0)]": "The result does not depend on north, so its gradient is zero.",
        "[(1.0, 1.0)]": "Only the result itself starts with 1. It does not depend on north.",
        "[(1.0, 0.0), (0.0, 0.0)]": "Both outputs have the same node, and the engine calls a node once.",
        "[]": "One output is used, so backward visits the node.",
    },
    received,
)

# %% [markdown]
# ## Exercises
#
# ### 1. Where None is required
#
# A Function has `forward(ctx, x, n, y, mode, bias)` and is called as `apply(x, 3, y, "fast", None)`. The tensor `x` requires
# grad, the tensor `y` does not. For which arguments must `backward` return `None`? Give the list of their names.

# %%
several_nones = ...

lessons.check("several_nones", several_nones)

# %% [markdown]
# ### 2. A mixture
#
# The mixture of `x` and `y` is `(1 - t) * x + t * y` with a number `t`. Write its backward.


# %%
class SeveralMix(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, t):
        ctx.t = t
        return (1 - t) * x + t * y

    @staticmethod
    def backward(ctx, grad_output): ...


lessons.check("SeveralMix", SeveralMix)

# %% [markdown]
# ### 3. Less work
#
# This product saves and computes everything, needed or not. Repair it so that it saves a tensor only for a gradient that
# is needed, and computes no other gradient.


# %%
class SeveralLean(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        return grad_output * y, grad_output * x


lessons.check("SeveralLean", SeveralLean)

# %% [markdown]
# ### 4. Two from one (at home)
#
# Write a Function whose `apply(x)` returns the pair `x.sin(), x.cos()`. Save the two results and nothing else.


# %%
class SeveralSinCos(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): ...

    @staticmethod
    def backward(ctx, grad_sin, grad_cos): ...


lessons.check("SeveralSinCos", SeveralSinCos)

# %% [markdown]
# ## Summary
#
# - `backward` receives a gradient for each output and returns one for each argument, `None` for a number or a missing tensor.
# - The engine adds up the gradients of a broadcast argument.
# - `ctx.needs_input_grad` says which gradients are needed: save and compute no others.
# - All outputs share one node; `backward` is called once, with zeros for an unused output.
#
# ## Questions
#
# <details markdown="1">
# <summary>When does minigrad notice two gradients in the wrong order?</summary>
#
# When the shapes differ. With equal shapes only a comparison with differences finds it: `torch.testing.check`.
#
# </details>
#
# <details markdown="1">
# <summary>You return <code>None</code> for a tensor that requires grad. What happens?</summary>
#
# Nothing raises an error: `None` means zero, and `.grad` stays empty. `torch.testing.check` reports it.
#
# </details>
