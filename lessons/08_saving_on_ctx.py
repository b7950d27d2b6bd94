# %% [markdown]
# # What to keep on ctx
#
# *Needs lessons 6 and 7.*
#
# **Why not just write `ctx.x = x`?** It works until the tensor changes or is an output: then the gradient is wrong, or
# the memory stays in use. `save_for_backward` prevents both. Attributes are for numbers.
#
# After this lesson you can:
#
# - explain why tensors belong in `save_for_backward` and numbers in attributes,
# - save tensors for `jvp`,
# - store saved tensors in another form.

# %%
import gc
import warnings
import weakref

import lessons
import minigrad as torch
import minigrad.autograd.forward_ad as fwAD
from viz import draw

# %% [markdown]
# Two squares. The second one keeps its input as an attribute.


# %%
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 2 * x


class CarelessSquare(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x  # should be ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2 * ctx.x


def squares(x):
    return Square.apply(x) + CarelessSquare.apply(x)


x = torch.tensor([0.0, 1.0, 2.0, 3.0], requires_grad=True)
draw(squares, x, passes=("forward", "backward"))

# %% [markdown]
# Both Functions keep `x`, and both gradients are right. But only one card names a saved tensor: an attribute is none.
# Backward neither checks nor frees it.
#
# **Try it.** Drag the last number of `x` to 5. Which contribution to its gradient does each of the two Functions send
# back?

# %%
saved_contributions = ...

lessons.check("saved_contributions", saved_contributions)

# %% [markdown]
# ## A change goes unnoticed
#
# `save_for_backward` remembers the version of the tensor: the number of writes to it so far. Backward raises an error if
# the tensor has changed since. An attribute has no such protection.


# %%
def changed_before_backward(function):
    a = torch.tensor(3.0, requires_grad=True)
    b = a * 1
    y = function.apply(b)
    b += 1
    try:
        y.backward()
    except RuntimeError as e:
        print(e)
        return "an error"
    return a.grad.item()


assert changed_before_backward(Square) == "an error"


def careless_gradient():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return changed_before_backward(CarelessSquare)


lessons.predict(
    "b is 3.0, y = CarelessSquare.apply(b), then b += 1. Which gradient does y.backward() compute?",
    {
        6.0: "That is the right gradient. But ctx.x is the tensor itself, not a copy of its values.",
        8.0: "ctx.x is b, which is 4.0 by now: 2 * 4. Attributes have no version that backward compares.",
        "an error": "save_for_backward would raise it, because it remembers the version. An attribute does not.",
    },
    careless_gradient,
)

# %% [markdown]
# minigrad warns when it sees the change, but continues with the new values.

# %%
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    gradient = changed_before_backward(CarelessSquare)
print(caught[0].message)
assert gradient == 8.0

# %% [markdown]
# ## An output makes a cycle
#
# The output holds its graph, the graph holds the ctx, and the ctx holds the output: a reference cycle. Python does not
# free it when its last name is gone, but only when the garbage collector happens to run. `save_for_backward` recognizes
# outputs and makes no cycle.


# %%
class CarelessExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.result = x.exp()
        return ctx.result

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.result


class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        result = x.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return grad_output * result


def outlives_its_name(function):
    """Return True if a result is still in memory after its only name is gone."""
    y = function.apply(x)
    memory = weakref.ref(y)
    del y
    return memory() is not None


gc.collect()
gc.disable()  # so that it does not run now
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    found = {function.__name__: outlives_its_name(function) for function in (CarelessExp, Exp)}
gc.enable()
gc.collect()
print(caught[0].message)
print(found)
assert found == {"CarelessExp": True, "Exp": False}

# %% [markdown]
# ## Numbers are attributes
#
# `save_for_backward` accepts tensors only; for any other value, the error says where it belongs.


# %%
class Power(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, n):
        ctx.save_for_backward(x, n)
        return x**n

    @staticmethod
    def backward(ctx, grad_output):
        x, n = ctx.saved_tensors
        return grad_output * n * x ** (n - 1), None


try:
    Power.apply(x, 3)
except TypeError as e:
    print(e)
    assert "ctx.n = n" in str(e)
else:
    raise AssertionError("a number was saved as a tensor")

# %% [markdown]
# ## Saving for jvp
#
# Forward mode runs `jvp` right after `forward`, and `jvp` may need tensors that `backward` does not. `save_for_forward`
# saves those, and `ctx.saved_tensors` returns them inside `jvp`. This example is from PyTorch's documentation:
# `x * y * z` with a number `z`, an attribute.


# %%
class Func(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: torch.Tensor, y: torch.Tensor, z: int):
        ctx.save_for_backward(x, y)
        ctx.save_for_forward(x, y)
        ctx.z = z
        return x * y * z

    @staticmethod
    def jvp(ctx, x_t, y_t, _):
        x, y = ctx.saved_tensors
        z = ctx.z
        return z * (y * x_t + x * y_t)

    @staticmethod
    def vjp(ctx, grad_out):
        x, y = ctx.saved_tensors
        z = ctx.z
        return z * grad_out * y, z * grad_out * x, None


a = torch.tensor(1.0, requires_grad=True, dtype=torch.double)
t = torch.tensor(1.0, dtype=torch.double)
b = torch.tensor(2.0, requires_grad=True, dtype=torch.double)
c = 4

with fwAD.dual_level():
    a_dual = fwAD.make_dual(a, t)
    d = Func.apply(a_dual, b, c)
    print(fwAD.unpack_dual(d).tangent)
    assert fwAD.unpack_dual(d).tangent.item() == 8.0  # 4 * (2 * 1 + 1 * 0)

# %% [markdown]
# `vjp` is another name for `backward`. Only the tensors saved for backward stay: when `apply` returns, `jvp` has run, and its
# tensors are freed.


# %%
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        twice = 2 * x
        memories.append(weakref.ref(twice))
        ctx.save_for_backward(x)
        ctx.save_for_forward(twice)
        return x * x

    @staticmethod
    def jvp(ctx, x_t):
        (twice,) = ctx.saved_tensors
        return twice * x_t


memories = []
with fwAD.dual_level():
    y = Twice.apply(fwAD.make_dual(a, t))
    print(fwAD.unpack_dual(y).tangent, y.grad_fn.saved_tensors)
    assert fwAD.unpack_dual(y).tangent.item() == 2.0
    assert [kept.item() for kept in y.grad_fn.saved_tensors] == [1.0]
    assert memories[0]() is None

# %% [markdown]
# ## Saving tensors in another form
#
# `saved_tensors_hooks` takes two functions. Every saved tensor passes through the first, and the second restores it when
# backward needs it. It works for all operations, built in or not. Here it stores float64 numbers as float32.

# %%
packed, unpacked = [], []


def pack(tensor):
    packed.append(tensor.float())
    return packed[-1]


def unpack(short):
    unpacked.append(short.double())
    return unpacked[-1]


x = torch.tensor([0.1, 0.2, 0.3, 0.4], requires_grad=True, dtype=torch.double)
with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
    y = x.exp() * x
assert not unpacked

lessons.predict(
    "exp saves its result, and the product both factors. How many times does pack run for x.exp() * x?",
    {
        2: "Two different tensors are saved. But the hooks see each save separately.",
        3: "exp saves its result; the product saves the same tensor again and also x.",
        1: "Every saved tensor passes through pack, each by itself.",
    },
    lambda: len(packed),
)

# %%
y.sum().backward()
assert len(packed) == len(unpacked) == 3
print([tensor.nbytes for tensor in packed], "bytes instead of", [tensor.nbytes for tensor in unpacked])
exact = x.exp() * (x + 1)
print((x.grad - exact).abs().max())
assert 0 < (x.grad - exact).abs().max() < 1e-6

# %% [markdown]
# The price for half the memory is a gradient that is right to seven digits instead of sixteen. Attributes do not pass
# through the hooks, because they are not saved tensors.

# %%
packed.clear()
with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
    squares(x)
assert len(packed) == 1

# %% [markdown]
# ## Exercises
#
# ### 1. Repair
#
# The Function computes $e^{-rx}$ for a tensor `x` and a number `rate`. It keeps both the result and the number in the
# wrong place. Repair it.


# %%
class SavedDecay(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, rate):
        ctx.result = (-rate * x).exp()
        ctx.save_for_backward(rate)
        return ctx.result

    @staticmethod
    def backward(ctx, grad_output):
        (rate,) = ctx.saved_tensors
        return grad_output * -rate * ctx.result, None


lessons.check("SavedDecay", SavedDecay)

# %% [markdown]
# ### 2. Both directions
#
# Write the Function $x^n$ for a tensor `x` and a number `n`, with `backward` and `jvp`. Save one tensor, and
# keep the number where numbers belong.


# %%
class SavedPower(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, n): ...

    @staticmethod
    def backward(ctx, grad_output): ...

    @staticmethod
    def jvp(ctx, x_t, n_t): ...


lessons.check("SavedPower", SavedPower)

# %% [markdown]
# ### 3. Measure it yourself (at home)
#
# Write `bytes_saved(f, *args)`: call `f` and return the number of bytes that it saves for backward. Count each save
# separately (so `x.exp() * x` of four float32 numbers saves 48). Use `saved_tensors_hooks`.


# %%
def bytes_saved(f, *args): ...


lessons.check("bytes_saved", bytes_saved)

# %% [markdown]
# ## Summary
#
# - Tensors go through `save_for_backward`, which checks versions and makes no cycle.
# - Numbers and other values are attributes.
# - `save_for_forward` is for `jvp`; its tensors are freed as soon as `apply` returns.
# - `saved_tensors_hooks` stores saved tensors in another form, even those of built-in operations.
#
# ## Questions
#
# <details markdown="1">
# <summary>Why does an output kept as an attribute make a cycle, while an input does not?</summary>
#
# The output holds the ctx through its `grad_fn`, so each keeps the other in memory. An input does not hold the ctx. But
# the version of an attribute is not checked.
#
# </details>
#
# <details markdown="1">
# <summary>Why may the tensors for <code>jvp</code> be freed before those for <code>backward</code>?</summary>
#
# `jvp` runs together with `forward`, so nothing needs its tensors afterwards. `backward` runs later, or not at all.
#
# </details>
#
# <details markdown="1">
# <summary>When is it worth storing saved tensors in float32 instead of float64?</summary>
#
# When memory is short and seven digits of the gradient are enough. The result of forward keeps all its digits.
#
# </details>
