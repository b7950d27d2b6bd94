# %% [markdown]
# # What backward saves
#
# *25 minutes. Needs lessons 2, 3 and 5.*
#
# **Why does training need more memory than the model?** Most derivatives need numbers from the forward pass. They stay
# in memory until backward has run.
#
# After this lesson you can:
#
# - say which tensors an operation saves, and how many bytes they take,
# - choose the tensors that your own Function saves,
# - explain why tensors belong in `save_for_backward` and nowhere else,
# - save tensors for `jvp`, or in another form.

# %%
import gc
import warnings
import weakref

import lessons
import minigrad as torch
import minigrad.autograd.forward_ad as fwAD
from viz import draw

x = torch.tensor([0.0, 1.0, 2.0, 3.0], requires_grad=True)


def f(x):
    return (x.exp() + x.sin()) * 2


draw(f, x, passes=("forward", "backward"))

# %% [markdown]
# The green lines show the tensors that each operation saves.
#
# ## Which operation saves what
#
# The derivative of $e^x$ is its own result. The derivative of $\sin x$ is $\cos x$ and needs `x`. The derivatives of `+` and
# `* 2` need nothing.
#
# Four float32 numbers are 16 bytes. The picture's record has the same data: each forward operation lists the values it
# saves and their bytes.


# %%
def saved(f, *args):
    """For each operation of f the names of the values it keeps for backward and their bytes."""
    record = torch.record(f, *args).to_dict()
    names = {value["id"]: value["name"] or f"v{value['id']}" for value in record["values"]}
    forward = [op for op in record["ops"] if op["phase"] == "forward"]
    return [(op["name"], {names[kept["value"]]: kept["bytes"] for kept in op["saved"]}) for op in forward]


for name, kept in saved(f, x):
    print(name, kept)
assert saved(f, x) == [("exp", {"v1": 16}), ("sin", {"x": 16}), ("add", {}), ("mul", {})]

# %% [markdown]
# The same tensor can be saved by two operations.


# %%
def g(x):
    return x.exp() * x


lessons.predict(
    "x has 16 bytes. exp saves its result, and the product both factors. How many bytes do the saved tensors take?",
    {
        16: "Two different tensors are saved, x and its exponential.",
        32: "Three entries, but two tensors: the result of exp is saved twice and is in memory once.",
        48: "That counts the result of exp twice. Saving makes no copy.",
    },
    lambda: draw(g, x).graph.saved_bytes(),
)

# %% [markdown]
# The head of the picture counts each tensor once.

# %%
assert saved(g, x) == [("exp", {"v1": 16}), ("mul", {"v1": 16, "x": 16})]
drawing = draw(g, x)
assert drawing.graph.saved_bytes() == 32
drawing

# %% [markdown]
# ## The choice is yours in a Function
#
# A Function saves the tensors that it passes to `save_for_backward`. Take the sigmoid. In a chain of operations, `exp` saves
# its result, and the division saves its denominator.
#
# $$s = \frac{1}{1 + e^{-x}} \qquad s' = s\,(1 - s)$$


# %%
def sigmoid_in_steps(x):
    return 1 / (1 + (-x).exp())


in_steps = draw(sigmoid_in_steps, x)
print(in_steps.graph.saved_bytes(), "bytes")
in_steps

# %% [markdown]
# For the derivative, the result alone is enough. The Function saves one tensor instead of two, with the same arithmetic.


# %%
class Sigmoid(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return 1 / (1 + (-x).exp())

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad_output):
        (s,) = ctx.saved_tensors
        return grad_output * s * (1 - s)


def sigmoid(x):
    return Sigmoid.apply(x)


at_once = draw(sigmoid, x)
print(at_once.graph.saved_bytes(), "bytes")
assert in_steps.graph.saved_bytes() == 32
assert at_once.graph.saved_bytes() == 16
(gradient,) = torch.autograd.grad(sigmoid(x).sum(), x)
(expected,) = torch.autograd.grad(sigmoid_in_steps(x).sum(), x)
assert torch.allclose(gradient, expected)
at_once

# %% [markdown]
# The gain depends on the tensors that stay in memory anyway. An input is there already if something else holds it, for
# example a parameter; an intermediate exists for backward alone.
#
# ## How long tensors stay saved
#
# The ctx is the node. You can read the saved tensors from it until backward has run, which frees them even though the
# result is still there.

# %%
y = sigmoid(x)
print(y.grad_fn.saved_tensors)
y.sum().backward()
try:
    y.grad_fn.saved_tensors
except RuntimeError as e:
    print(e)
    assert "freed" in str(e)
else:
    raise AssertionError("saved tensors are still there")

# %% [markdown]
# ## A saved tensor must not change
#
# Saving makes no copy: the node holds the tensor itself. To notice a change, each tensor counts the writes to its memory in
# `_version`, and the node remembers the count. Backward compares the two, and raises an error instead of computing with the
# wrong numbers.

# %%
y = x.exp()
z = y * y
print(y._version)
y += 1
print(y._version)
assert y._version == 1
try:
    z.sum().backward()
except RuntimeError as e:
    print(e)
    assert "it is at version 1, expected version 0" in str(e)
else:
    raise AssertionError("backward used numbers that had changed")

# %% [markdown]
# Only saved tensors matter. `y * 2` does not save `y`, so `y` may change afterwards.

# %%
y = x + 1
z = y * 2
y += 1
(gradient,) = torch.autograd.grad(z.sum(), x)
print(gradient)
assert gradient.tolist() == [2.0, 2.0, 2.0, 2.0]

# %% [markdown]
# ## What not to keep on ctx
#
# The ctx takes any attribute, and a number such as an exponent belongs there. A tensor does not.


# %%
class CarelessSquare(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x  # should be ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2 * ctx.x


def changed_before_backward():
    a = torch.tensor(3.0, requires_grad=True)
    b = a * 1
    y = CarelessSquare.apply(b)
    b += 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            y.backward()
        except RuntimeError:
            return "an error"
    return a.grad.item()


lessons.predict(
    "b is 3.0, y = CarelessSquare.apply(b), then b += 1. Which gradient does y.backward() compute?",
    {
        6.0: "That is the right one. But ctx.x is the tensor itself, not a copy of its numbers.",
        8.0: "ctx.x is b, which is 4.0 by now: 2 * 4. Attributes have no version that backward compares.",
        "an error": "save_for_backward would raise it, because it remembers the version. An attribute does not.",
    },
    changed_before_backward,
)

# %% [markdown]
# The version of an attribute is not checked. minigrad warns where it sees the change, but continues with the new numbers.

# %%
a = torch.tensor(3.0, requires_grad=True)
b = a * 1
y = CarelessSquare.apply(b)
b += 1
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    y.backward()
print(said[0].message)
print(a.grad)
assert a.grad.item() == 8.0

# %% [markdown]
# An output on the ctx has another fault. The output holds its graph, the graph holds the ctx, and the ctx holds the output:
# a reference cycle. Python frees it not with the last name but only when the garbage collector happens to run.
# `save_for_backward` recognizes outputs and makes no cycle.


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
gc.disable()  # so that it does not run just now
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    found = {function.__name__: outlives_its_name(function) for function in (CarelessExp, Exp)}
gc.enable()
gc.collect()
print(said[0].message)
print(found)
assert found == {"CarelessExp": True, "Exp": False}

# %% [markdown]
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
# Forward mode runs `jvp` right after `forward`, and `jvp` may need other tensors than `backward`: `save_for_forward`
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
# `vjp` is another name for `backward`. Here are all three passes in one row; the jvp pass gives both inputs the tangent 1.


# %%
def product(a, b):
    return Func.apply(a, b, 4)


draw(product, a, b, passes="all")

# %% [markdown]
# Only the tensors saved for backward stay: when `apply` returns, `jvp` has run, and its tensors are freed.


# %%
class Square(torch.autograd.Function):
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
    y = Square.apply(fwAD.make_dual(a, t))
    print(fwAD.unpack_dual(y).tangent, y.grad_fn.saved_tensors)
    assert fwAD.unpack_dual(y).tangent.item() == 2.0
    assert [kept.item() for kept in y.grad_fn.saved_tensors] == [1.0]
    assert memories[0]() is None

# %% [markdown]
# ## Saving tensors in another form
#
# `saved_tensors_hooks` takes a function that every saved tensor passes through, and one that undoes it when backward needs
# the tensor. It works for all operations, built in or not. Here it stores float64 numbers as float32.

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
assert len(packed) == 3 and not unpacked
y.sum().backward()
assert len(unpacked) == 3
print([tensor.nbytes for tensor in packed], "bytes instead of", [tensor.nbytes for tensor in unpacked])
exact = x.exp() * (x + 1)
print((x.grad - exact).abs().max())
assert 0 < (x.grad - exact).abs().max() < 1e-6

# %% [markdown]
# The hooks see each save separately: the result of `exp` came twice and was packed twice. The price of half the memory is a
# gradient that is right to seven digits instead of sixteen.
#
# ## Exercises
#
# ### 1. Count the bytes
#
# `x` has 1000 float32 numbers. How many bytes does `(x.sin() * x.cos()).sum()` save for backward, `x` included? A sum saves
# only the shape of its input.

# %%
saved_bytes_of_product = ...

lessons.check("saved_bytes_of_product", saved_bytes_of_product)

# %% [markdown]
# ### 2. One tensor is enough
#
# The derivative of $\tanh x$ is $1 - \tanh^2 x$. Fill in the gaps, so that the Function saves the result and nothing else.


# %%
class SavedTanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        e = (2 * x).exp()
        result = (e - 1) / (e + 1)
        ...
        return result

    @staticmethod
    def backward(ctx, grad_output):
        return ...


lessons.check("SavedTanh", SavedTanh)

# %% [markdown]
# ### 3. Repair
#
# This should compute `2 * exp(x) + exp(x)`. It does not, and its backward raises an error as well. Repair both.


# %%
def saved_then_changed(x):
    e = x.exp()
    doubled = e.mul_(2)
    return doubled + e


lessons.check("saved_then_changed", saved_then_changed)

# %% [markdown]
# ### 4. Both directions
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
# ### 5. Measure it yourself
#
# Write `bytes_saved(f, *args)`: call `f` and return the number of bytes that it saves for backward. Count each save
# separately (so `x.exp() * x` of four float32 numbers saves 48). Use `saved_tensors_hooks`.


# %%
def bytes_saved(f, *args): ...


lessons.check("bytes_saved", bytes_saved)

# %% [markdown]
# ## Summary
#
# - An operation saves only what its derivative needs: `exp` its result, `sin` its input, `+` nothing.
# - Saved tensors stay until backward has run. Saving makes no copy, so they must not change.
# - Tensors go through `save_for_backward`, which checks versions and makes no cycle; numbers are attributes.
# - `save_for_forward` is for `jvp`, whose tensors are freed at once; `saved_tensors_hooks` store tensors in another form.
#
# ## Questions
#
# <details markdown="1">
# <summary>Why may `y` change after `y * 2`, but not after `y * y`?</summary>
#
# The derivative of `y * 2` needs only the 2. The product of two tensors saves both factors.
#
# </details>
#
# <details markdown="1">
# <summary>Why is an output on the ctx a problem, and an input not the same one?</summary>
#
# The output holds the ctx through its `grad_fn`, so both keep each other in memory. An input does not hold the ctx.
# But its version is not checked.
#
# </details>
#
# <details markdown="1">
# <summary>A Function saves its input, which is also a parameter. What does this cost?</summary>
#
# Nothing more: the parameter is in memory anyway. Only a tensor that nothing else holds takes additional memory.
#
# </details>
