# %% [markdown]
# # Gotchas
#
# *30 minutes. Needs lessons 10, 11, 12, 16 and 17.*
#
# PyTorch's documentation says of some mistakes: "We are not able to catch many of these situations and error out
# gracefully so they will lead to undefined behavior." You will make each of them once, see what it costs and what
# minigrad says, and repair it.

# %%
import gc
import warnings
import weakref

import numpy as np

import lessons
import minigrad as torch
import minigrad.autograd.forward_ad as fwAD
from minigrad.autograd import Function
from viz import draw


def message(f):
    """Return the error or the first warning of a call; there has to be one."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            f()
        except Exception as e:
            return str(e)
    return str(said[0].message)


# %% [markdown]
# ## Captured tensors
#
# "Please do not capture Tensors that are being transformed over, have requires_grad=True, or are dual tensors, into the
# methods of the `torch.autograd.Function`." Only the arguments of `apply` get an edge. Here `w` comes from outside and
# gets none: its gradient is None, as if the result did not depend on it.

# %%
w = torch.tensor(3.0, requires_grad=True)
x = torch.tensor(2.0, requires_grad=True)


class Captures(Function):
    @staticmethod
    def forward(ctx, x):
        return x * w

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * w


said = message(lambda: Captures.apply(x).backward())
print(said)
assert "captured-tensor" in said
assert x.grad.item() == 3.0 and w.grad is None

# %% [markdown]
# In the picture, `w` is missing altogether.


# %%
def of_x(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Captures.apply(x)


draw(of_x, torch.tensor(2.0, requires_grad=True), passes=("forward", "backward"))

# %% [markdown]
# A captured tensor that a transform follows raises an error: inside, it has no single value. A captured dual tensor
# would lose its tangent, so that is an error too.


# %%
def capture(w):
    """Return a Function that multiplies by w, a captured tensor."""

    class Times(Function):
        @staticmethod
        def forward(x):
            return x * w

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

    return Times


def with_a_dual():
    with fwAD.dual_level():
        return capture(fwAD.make_dual(torch.tensor(3.0), torch.tensor(1.0))).apply(torch.tensor(2.0))


said = message(lambda: torch.func.grad(lambda w: capture(w).apply(torch.tensor(2.0)))(torch.tensor(3.0)))
print(said, end="\n\n")
assert "of the running `grad` transform" in said
said = message(with_a_dual)
print(said)
assert "its tangent is lost" in said

# %% [markdown]
# The repair is always the same: pass every tensor that the result depends on to `apply`, and hand it to `backward`
# through `save_for_backward`.


# %%
class Takes(Function):
    @staticmethod
    def forward(x, w):
        return x * w

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        x, w = ctx.saved_tensors
        return grad_output * w, grad_output * x


x.grad = None
Takes.apply(x, w).backward()
assert (x.grad.item(), w.grad.item()) == (3.0, 2.0)
assert torch.func.grad(lambda w: Takes.apply(torch.tensor(2.0), w))(torch.tensor(3.0)).item() == 2.0


# %%
def of_both(x, w):
    return Takes.apply(x, w)


draw(of_both, x, w, passes=("forward", "backward"))

# %% [markdown]
# ## Tensors in structures
#
# "`torch.autograd.Function` does not handle Tensors in pytrees". `apply` passes a list on as it is, and the tensors in
# it are as good as captured. Lesson 11 has the fix: pass them one by one.


# %%
class Total(Function):
    @staticmethod
    def forward(ctx, *terms):
        return sum(terms[0]) if isinstance(terms[0], list) else sum(terms)

    @staticmethod
    def backward(ctx, grad_output):
        return (grad_output,) * len(ctx.needs_input_grad)


said = message(lambda: Total.apply([x, w]))
print(said)
assert "does not look into data structures" in said
assert torch.autograd.grad(Total.apply(x, w), [x, w]) == (1.0, 1.0)

# %% [markdown]
# ## Tensors on ctx
#
# "Please do not assign Tensors or collections of Tensors directly onto the ctx object". Attributes of the ctx have no
# version. If the input is written to afterwards, `backward` computes with the new number: the derivative of $z^2$ at 2
# comes out as 40 instead of 4.


# %%
class OnCtx(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.kept = [x]
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2 * ctx.kept[0]


z = torch.tensor(2.0, requires_grad=True)


def written_afterwards(function):
    a = z * 1
    y = function.apply(a)
    a.mul_(10)
    y.backward()


said = message(lambda: written_afterwards(OnCtx))
print(said)
assert "ctx-attribute-changed" in said and z.grad.item() == 40.0

# %% [markdown]
# Saved tensors have a version: after a write to one of them, the backward pass raises an error.


# %%
class Saves(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 2 * x


said = message(lambda: written_afterwards(Saves))
print(said)
assert "modified by an inplace operation" in said

# %% [markdown]
# An output on the ctx makes a reference cycle: the output holds its node, the node is the ctx, and the ctx holds the
# output. Python's reference counting never frees a cycle; the memory waits for the garbage collector.
# `save_for_backward` recognizes outputs and makes no cycle.


# %%
class Circle(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.y = x.exp()
        return ctx.y

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.y


class NoCircle(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[0]


def lives_on(function):
    """Return True if the node is still alive when nothing holds the output any more."""
    gc.collect()
    gc.disable()
    watch = weakref.ref(function.apply(z).grad_fn)
    found = watch() is not None
    gc.enable()
    return found


said = message(lambda: Circle.apply(z))
print(said)
assert "ctx-attribute-leak" in said
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    assert lives_on(Circle) and not lives_on(NoCircle)

# %% [markdown]
# ## An intermediate that is not returned
#
# In the separate form, `setup_context` sees inputs and outputs only. Intermediate results of `forward` are not there.


# %%
class NotReturned(Function):
    @staticmethod
    def forward(x):
        slope = 3 * x * x  # noqa: F841  never used
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(slope)  # noqa: F821


said = message(lambda: NotReturned.apply(x))
print(said)
assert "'slope' is not defined" in said

# %% [markdown]
# It is tempting to compute it in `setup_context`. The documentation advises against it: "Please do not do additional
# compute (e.g. add Tensors together) in setup_context." Such computation is not recorded, as in lesson 10, and the
# second derivative of $x^6$ at 1 is 18 instead of 30. As an output, the slope has a history and a gradient, which
# `backward` adds (lesson 16).


# %%
class ComputesLate(Function):
    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.save_for_backward(3 * x * x)

    @staticmethod
    def backward(ctx, grad_output):
        (slope,) = ctx.saved_tensors
        return grad_output * slope


class Returns(Function):
    @staticmethod
    def forward(x):
        return x**3, 3 * x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output[1])

    @staticmethod
    def backward(ctx, grad_output, grad_slope):
        x, slope = ctx.saved_tensors
        return grad_output * slope + grad_slope * 6 * x


def two_derivatives(f, at):
    x = torch.tensor(at, requires_grad=True)
    (slope,) = torch.autograd.grad(f(x), x, create_graph=True)
    (curvature,) = torch.autograd.grad(slope, x)
    return slope.item(), curvature.item()


late = two_derivatives(lambda x: ComputesLate.apply(x) ** 2, 1.0)
returned = two_derivatives(lambda x: Returns.apply(x)[0] ** 2, 1.0)
print(late, returned)
assert late == (6.0, 18.0) and returned == (6.0, 30.0)

with torch.debug():
    said = message(lambda: two_derivatives(lambda x: ComputesLate.apply(x) ** 2, 1.0))
print(said)
assert "saved-intermediate" in said

# %% [markdown]
# ## Two forms at once, and the wrong one
#
# With a `setup_context`, `forward` takes no ctx; without one, it does. Mixed forms raise an error at the first call,
# with the line to write. A Function in the combined form cannot be transformed: the message shows the skeleton of the
# separate form.


# %%
class BothForms(Function):
    @staticmethod
    def forward(ctx, x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)


class NeitherForm(Function):
    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


for function in (BothForms, NeitherForm):
    said = message(lambda function=function: function.apply(x))
    print(said, end="\n\n")
    assert "To fix: write def forward" in said

said = message(lambda: torch.func.grad(Saves.apply)(torch.tensor(2.0)))
print(said)
assert "must override the setup_context staticmethod" in said

# %% [markdown]
# ## A backward that cannot be transformed
#
# To be composed with transforms at will, "all other staticmethods other than `forward()` and `setup_context()` must be
# transformable". This `backward` computes in NumPy. One `grad` works, a second does not: under it, tensors have no
# single array. The repair is the one of `NumpyTake` in lesson 15: code that leaves the graph goes into the `forward` of
# a Function with its own derivative. Here that Function exists already: the derivative of $e^x$ is its own output.


# %%
class NumpyExp(Function):
    @staticmethod
    def forward(x):
        return torch.tensor(np.exp(x.numpy()))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return torch.tensor(grad_output.detach().numpy() * y.detach().numpy())


class TransformableExp(NumpyExp):
    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y


zero = torch.tensor(0.0)
assert torch.func.grad(NumpyExp.apply)(zero).item() == 1.0
said = message(lambda: torch.func.grad(torch.func.grad(NumpyExp.apply))(zero))
print(said)
assert "no memory for numpy()" in said
assert torch.func.grad(torch.func.grad(TransformableExp.apply))(zero).item() == 1.0

# %% [markdown]
# ## A generated rule for what cannot be batched
#
# `generate_vmap_rule = True` runs `forward` itself under `vmap`. That works for tensor operations only. PyTorch's
# documentation says that violating this "may lead to undefined behavior"; here it is an error. Code in another system
# needs its own `vmap` (lesson 17); having both is an error.


# %%
class GeneratedSquares(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return torch.tensor(np.square(x.numpy()))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)


class WrittenSquares(GeneratedSquares):
    generate_vmap_rule = False

    @staticmethod
    def vmap(info, in_dims, x):
        return WrittenSquares.apply(x), in_dims[0]


class TwoRules(WrittenSquares):
    generate_vmap_rule = True


rows = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
for function in (GeneratedSquares, TwoRules):
    said = message(lambda function=function: torch.vmap(function.apply)(rows))
    print(said, end="\n\n")
    assert "generate_vmap_rule" in said
assert torch.vmap(WrittenSquares.apply)(rows).tolist() == [[1.0, 4.0], [9.0, 16.0]]

# %% [markdown]
# A rule can still be wrong without any message: this one sums over the examples, because the batch dimension is in
# front. Comparing with a loop helps: `minigrad check` does that, along with everything else in this lesson.


# %%
class Sums(Function):
    @staticmethod
    def forward(x):
        return x.cumsum(0)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.flip(0).cumsum(0).flip(0)

    @staticmethod
    def vmap(info, in_dims, x):
        return Sums.apply(x), in_dims[0]


batched, loop = torch.vmap(Sums.apply)(rows), torch.stack([Sums.apply(row) for row in rows])
print(batched, loop, sep="\n")
assert not torch.equal(batched, loop)

# %%
found = {}
for function, examples in ((Captures, [x]), (OnCtx, [x]), (ComputesLate, [x]), (Sums, [rows[0]])):
    failures = torch.testing.check(function, *examples).failures
    found[function.__name__] = [one.name for one in failures]
    print(function.__name__, *[f"{one.name}: {one.message}" for one in failures], sep="\n  ")
assert "captured tensors" in found["Captures"] and "tensors on ctx" in found["OnCtx"]
assert "second derivatives" in found["ComputesLate"] and "vmap" in found["Sums"]

# %% [markdown]
# ## Exercises
#
# ### 1. The written input
#
# `z` is 3. `a = z * 1`, `y = OnCtx.apply(a)`, then `a.mul_(2)` and `y.backward()`. Which number is in `z.grad`?

# %%
gotcha_written = ...

lessons.check("gotcha_written", gotcha_written)

# %% [markdown]
# ### 2. A captured weight
#
# Repair `GotchaDense` so that `GotchaDense.apply(x, weight)` has the right gradients for both, also under
# `torch.func.grad`. `x` is a vector, the result `weight @ x`.

# %%
weight = torch.tensor([[1.0, 2.0], [0.0, -1.0], [3.0, 0.5]], requires_grad=True)


class GotchaDense(Function):
    @staticmethod
    def forward(ctx, x):
        return weight @ x

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output @ weight


lessons.check("GotchaDense", GotchaDense)

# %% [markdown]
# ### 3. On ctx, and late
#
# `GotchaReciprocal` has two of the faults of this lesson. Repair it so that its second derivative is right, too.
# `apply` should still return one tensor, `1 / x`.


# %%
class GotchaReciprocal(Function):
    @staticmethod
    def forward(x):
        return 1 / x

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.kept = {"x": x}
        ctx.save_for_backward(-1 / (x * x))

    @staticmethod
    def backward(ctx, grad_output):
        (slope,) = ctx.saved_tensors
        return grad_output * slope


lessons.check("GotchaReciprocal", GotchaReciprocal)

# %% [markdown]
# ### 4. A rule for NumPy
#
# `GotchaSums.apply(x, dim)` sums up along the dimension `dim`, which counts from 0. Write a rule for `vmap` that
# replaces the generated one. The batch may be any dimension of `x`.


# %%
class GotchaSums(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, dim):
        return torch.tensor(np.cumsum(x.numpy(), axis=dim))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.dim = inputs[1]

    @staticmethod
    def backward(ctx, grad_output):
        return GotchaSums.apply(grad_output.flip(ctx.dim), ctx.dim).flip(ctx.dim), None


lessons.check("GotchaSums", GotchaSums)
