# %% [markdown]
# # Tensors in lists and dicts
#
# *Needs lessons 2, 3 and 9.*
#
# **My parameters are in a dict. Can a Function take the dict?** A plain `Function` takes tensors one by one and raises an
# error for a dict. `NestedIOFunction` takes it, and this lesson shows how to do the same without that class.
#
# After this lesson you can:
#
# - explain why a tensor in a dict would get no gradient,
# - write a Function with nested arguments and outputs,
# - find a gradient that is lost in the nesting,
# - write the flat Function that is used today instead.

# %%
import lessons
import minigrad as torch
from minigrad.autograd import Function
from minigrad.autograd.function import NestedIOFunction
from viz import draw

# %% [markdown]
# `Line` takes its parameters in a dict.


# %%
class Line(NestedIOFunction):
    def forward_extended(self, params, x):
        self.save_for_backward(params, x)
        return params["weight"] * x + params["bias"]

    def backward_extended(self, grad_output):
        params, x = self.saved_tensors
        grad_params = {"weight": grad_output * x, "bias": grad_output}
        return grad_params, grad_output * params["weight"]


def line(weight, bias, x):
    return Line.apply({"weight": weight, "bias": bias}, x)


weight = torch.tensor(2.0, requires_grad=True)
bias = torch.tensor(1.0, requires_grad=True)
x = torch.tensor(3.0, requires_grad=True)
draw(line, weight, bias, x, passes=("forward", "backward"))

# %% [markdown]
# The program passes a dict and a tensor to `Line`. Yet the operation in the picture has three inputs, all tensors, and each
# receives a gradient.
#
# ## apply does not look into structures
#
# `apply` goes through its arguments once: tensors get an edge in the graph, and everything else passes to `forward` as it
# is. A tensor inside a dict would get no edge, and its gradient would be lost. minigrad raises an error; PyTorch computes
# and leaves `.grad` at None.


# %%
class LineOfDict(Function):
    @staticmethod
    def forward(ctx, params, x):
        return params["weight"] * x + params["bias"]

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, grad_output


try:
    LineOfDict.apply({"weight": weight, "bias": bias}, x)
except TypeError as e:
    print(e)
    assert "argument 0 is a dict" in str(e)
else:
    raise AssertionError("a tensor in a dict was accepted")

# %% [markdown]
# ## NestedIOFunction
#
# The message names a class for this. For a `NestedIOFunction` you write two methods, `forward_extended` and
# `backward_extended`. They are not static methods: `self` is the ctx. Arguments arrive unchanged, saved tensors keep
# their nesting, and the gradients you return are nested like the arguments. Read `Line` above again, then see it run.

# %%
y = Line.apply({"weight": weight, "bias": bias}, x)
y.backward()
print(y.item(), weight.grad.item(), bias.grad.item(), x.grad.item())
assert (y.item(), weight.grad.item(), bias.grad.item(), x.grad.item()) == (7.0, 3.0, 1.0, 2.0)

# %% [markdown]
# The class takes the tensors out of the dict in order, runs one operation on all of them, and gives your methods the
# nested view. So the engine, which knows only tensors, has three inputs to send gradients to.

# %%
assert len(line(weight, bias, x).grad_fn.next_functions) == 3

# %% [markdown]
# ## Nested outputs
#
# Outputs may be nested as well. Then `backward_extended` receives the gradients nested like the outputs. An unused
# output has a gradient of zeros, as in any Function.


# %%
incoming = []


class SumAndProduct(NestedIOFunction):
    def forward_extended(self, pair):
        a, b = pair
        self.save_for_backward(pair)
        return {"sum": a + b, "product": a * b}

    def backward_extended(self, grads):
        ((a, b),) = self.saved_tensors
        incoming.append(grads)
        return ([grads["sum"] + grads["product"] * b, grads["sum"] + grads["product"] * a],)


a = torch.tensor(2.0, requires_grad=True)
b = torch.tensor(5.0, requires_grad=True)
outputs = SumAndProduct.apply([a, b])
print(outputs)
assert {name: t.item() for name, t in outputs.items()} == {"sum": 7.0, "product": 10.0}

lessons.predict(
    'a is 2 and b is 5. After outputs["product"].backward(), what are the gradients of a and b?',
    {
        (5.0, 2.0): "The gradient of the sum is zero, so only the product counts: b for a, and a for b.",
        (6.0, 3.0): "That adds the sum's gradient of 1. But the sum is not used, so its gradient is zero.",
        (1.0, 1.0): "That is the gradient of the sum.",
        (2.0, 5.0): "The derivative of a * b with respect to a is the other factor.",
    },
    lambda: tuple(g.item() for g in torch.autograd.grad(outputs["product"], (a, b), retain_graph=True)),
)

# %%
outputs["product"].backward()
print("incoming:", incoming[-1])
assert {name: g.item() for name, g in incoming[-1].items()} == {"sum": 0.0, "product": 1.0}
assert (a.grad.item(), b.grad.item()) == (5.0, 2.0)

# %% [markdown]
# ## Mistakes
#
# The nesting says which gradient belongs to which argument. If one is missing in a list, minigrad cannot tell, and the
# message says how many it expected.


# %%
class OneTooFew(SumAndProduct):
    def backward_extended(self, grads):
        ((a, b),) = self.saved_tensors
        return ([grads["sum"] + grads["product"] * b],)


try:
    OneTooFew.apply([a, b])["sum"].backward()
except RuntimeError as e:
    print(e)
    assert "1 gradient, expected 2" in str(e)
else:
    raise AssertionError("a gradient was missing without an error")

# %% [markdown]
# In a dict, a name may be missing: that may be intended, so there is no message. Here the bias is forgotten.


# %%
class NoBias(Line):
    def backward_extended(self, grad_output):
        params, x = self.saved_tensors
        return {"weight": grad_output * x}, grad_output * params["weight"]


lessons.predict(
    "NoBias returns no gradient for the bias. What does torch.autograd.grad(..., allow_unused=True) return for it?",
    {
        "None": "A missing name counts as None, which means: no gradient.",
        "0.0": "minigrad does not make zeros from a gradient that a Function does not return.",
        "1.0": "That is the derivative, but the engine knows only what backward returns.",
        "an error": "In a list, yes. In a dict, the names still tell which gradient belongs to which tensor.",
    },
    lambda: torch.autograd.grad(
        NoBias.apply({"weight": weight, "bias": bias}, x), [weight, bias, x], allow_unused=True
    )[1],
)

# %%
found = torch.autograd.grad(NoBias.apply({"weight": weight, "bias": bias}, x), [weight, bias, x], allow_unused=True)
print(found)
assert found[1] is None

# %% [markdown]
# The bias would never be trained. The next lesson is about a tool that finds such gradients: it compares all gradients
# with differences.
#
# ## The way to do it today
#
# PyTorch's documentation says of `NestedIOFunction`: "This class is here only for backward compatibility reasons. Use
# Function instead of this for any new use case." The first picture shows the fix: let the Function take the tensors one
# by one, and handle the nesting in an ordinary function around it.


# %%
class FlatLine(Function):
    @staticmethod
    def forward(weight, bias, x):
        return weight * x + bias

    @staticmethod
    def setup_context(ctx, inputs, output):
        weight, _, x = inputs
        ctx.save_for_backward(weight, x)

    @staticmethod
    def backward(ctx, grad_output):
        weight, x = ctx.saved_tensors
        return grad_output * x, grad_output, grad_output * weight


def nested_line(params, x):
    return FlatLine.apply(params["weight"], params["bias"], x)


for t in (weight, bias, x):
    t.grad = None
nested_line({"weight": weight, "bias": bias}, x).backward()
assert (weight.grad.item(), bias.grad.item(), x.grad.item()) == (3.0, 1.0, 2.0)

# %% [markdown]
# `FlatLine` has the separate form, so it also works under transforms, and these do look into dicts: `torch.func.grad` of
# a function of a dict returns a dict of gradients.

# %%
params = {"weight": torch.tensor(2.0), "bias": torch.tensor(1.0)}
gradients = torch.func.grad(nested_line)(params, torch.tensor(3.0))
print(gradients)
assert {name: g.item() for name, g in gradients.items()} == {"weight": 3.0, "bias": 1.0}


# %% [markdown]
# If the number of tensors is not known in advance, the Function takes `*tensors`, after its other arguments, and
# `backward` returns a tuple of that length.


# %%
class SumOfPowers(Function):
    """Function for the sum of a power of all numbers in any number of tensors."""

    @staticmethod
    def forward(ctx, power, *tensors):
        ctx.power = power
        ctx.save_for_backward(*tensors)
        return sum((t**power).sum() for t in tensors)

    @staticmethod
    def backward(ctx, grad_output):
        return None, *[grad_output * ctx.power * t ** (ctx.power - 1) for t in ctx.saved_tensors]


layers = [torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([[3.0]], requires_grad=True)]
SumOfPowers.apply(2, *layers).backward()
print([t.grad for t in layers])
assert [t.grad.tolist() for t in layers] == [[2.0, 4.0], [[6.0]]]

# %% [markdown]
# ## Exercises
#
# ### 1. By hand
#
# Let `out = SumAndProduct.apply([a, b])` and `loss = out["sum"] + 10 * out["product"]`, with `a = 3` and `b = 4`. Give
# the gradients of `a` and `b`, in a list.

# %%
nested_gradients = ...

lessons.check("nested_gradients", nested_gradients)

# %% [markdown]
# ### 2. Scale a dict
#
# `NestedScale.apply(tensors, factor)` multiplies each tensor of a dict by the tensor `factor`, which has one number.
# Write its `backward_extended`.


# %%
class NestedScale(NestedIOFunction):
    def forward_extended(self, tensors, factor):
        self.save_for_backward(tensors, factor)
        return {name: t * factor for name, t in tensors.items()}

    def backward_extended(self, grads): ...


lessons.check("NestedScale", NestedScale)

# %% [markdown]
# ### 3. Repair
#
# This Function computes the square of the distance between the points `{"x": x, "y": y}` and `[u, v]`. Its gradients are
# not right yet: there are mistakes in the numbers and in the nesting.


# %%
class NestedDistance(NestedIOFunction):
    def forward_extended(self, point, other):
        self.save_for_backward(point, other)
        return (point["x"] - other[0]) ** 2 + (point["y"] - other[1]) ** 2

    def backward_extended(self, grad_output):
        point, other = self.saved_tensors
        dx, dy = point["x"] - other[0], point["y"] - other[1]
        return {"x": 2 * dx, "y": 2 * dy}, [-2 * dy]


lessons.check("NestedDistance", NestedDistance)

# %% [markdown]
# ### 4. Without NestedIOFunction (at home)
#
# `nested_squares(params)` takes a dict whose values are tensors or lists of tensors, and returns half the sum of the
# squares of all numbers in it. Compute it with your own `Function` (not NestedIOFunction): the gradient of each tensor
# is the tensor itself times the incoming gradient.


# %%
def nested_squares(params): ...


lessons.check("nested_squares", nested_squares)

# %% [markdown]
# ## Summary
#
# - `apply` gives an edge to each tensor among its arguments. It does not look into lists and dicts.
# - `NestedIOFunction` flattens nested arguments, runs one operation on the tensors, and nests them again for your methods.
# - The gradients that you return are nested like the arguments. A name missing in a dict means no gradient.
# - Today a flat Function takes the tensors, or `*tensors`, and an ordinary function around it handles the nesting.
#
# ## Questions
#
# <details markdown="1">
# <summary>Why does minigrad raise an error for a tensor in a dict, when PyTorch does not?</summary>
#
# The tensor would get no edge in the graph, so its gradient would be lost without a message. The error shows it at once.
#
# </details>
#
# <details markdown="1">
# <summary>What does the engine know about the dict?</summary>
#
# Nothing. It sees an operation with three inputs. Flattening and nesting happen before and after the operation runs.
#
# </details>
#
# <details markdown="1">
# <summary>Why does the flat form work under <code>torch.func</code> and suit new programs?</summary>
#
# It is an ordinary Function in the separate form. Another ordinary function handles the dict, and every transform can run
# it.
#
# </details>
