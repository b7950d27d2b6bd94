# %% [markdown]
# # Nested Functions in full
#
# *Needs lessons 6, 11, 12 and 14.*
#
# **`NestedIOFunction` has all methods of ctx. What do they take when the tensors are nested?** The same structure: you save,
# mark and return dicts and lists as they are. This lesson runs each method, compares the class with pytrees, and shows how
# keywords reach `forward`.
#
# After this lesson you can:
#
# - save, mark and push forward nested tensors,
# - say where minigrad accepts pytrees, and where it does not,
# - pass keywords to `forward`, and count the gradients that `backward` returns.

# %%
import lessons
import minigrad as torch
import minigrad.autograd.forward_ad as fwAD
from minigrad.autograd.function import Function, NestedIOFunction
from viz import draw


def area(box):
    return box["width"] * box["height"]


box = {name: torch.tensor(n, requires_grad=True) for name, n in (("width", 3.0), ("height", 5.0))}
draw(area, box, passes=("forward", "backward", "jvp"))

# %% [markdown]
# The function takes a dict, and each tensor in it is an input of the picture. The class below computes the same in one step,
# with its own formulas for both directions.
#
# ## save_for_backward, save_for_forward and jvp
#
# `save_for_backward` takes the dict as it is, and `saved_tensors` returns it as it was. So does `save_for_forward`, for
# the static method `jvp`. That receives tangents nested like the inputs, and returns tangents nested like the output.


# %%
class Area(NestedIOFunction):
    def forward_extended(self, box):
        self.save_for_backward(box)
        self.save_for_forward(box)
        return {"area": box["width"] * box["height"]}

    def backward_extended(self, grads):
        (box,) = self.saved_tensors
        return ({"width": grads["area"] * box["height"], "height": grads["area"] * box["width"]},)

    @staticmethod
    def jvp(ctx, tangents):
        (box,) = ctx.saved_tensors
        return {"area": tangents["width"] * box["height"] + box["width"] * tangents["height"]}


with fwAD.dual_level():
    wider = {"width": fwAD.make_dual(box["width"], torch.tensor(1.0)), "height": box["height"]}
    tangent = fwAD.unpack_dual(Area.apply(wider)["area"]).tangent
gradients = torch.autograd.grad(Area.apply(box)["area"], list(box.values()))
print(tangent, gradients)
assert tangent.item() == 5.0 and [g.item() for g in gradients] == [5.0, 3.0]

# %% [markdown]
# Only `width` has a tangent, and for `height` the `jvp` receives zero. `vjp` is another name for `backward`; a
# `NestedIOFunction` may define it instead of `backward_extended`.
#
# ## mark_non_differentiable
#
# One output may have no derivative. You name it wherever it is in the result.


# %%
class Largest(NestedIOFunction):
    def forward_extended(self, pair):
        a, b = pair
        first = a >= b
        self.mark_non_differentiable({"first": first})
        self.save_for_backward(first)
        return {"value": torch.where(first, a, b), "first": first}

    def backward_extended(self, grads):
        (first,) = self.saved_tensors
        zeros = torch.zeros_like(grads["value"])
        return ([torch.where(first, grads["value"], zeros), torch.where(first, zeros, grads["value"])],)


a, b = torch.tensor([1.0, 5.0], requires_grad=True), torch.tensor([3.0, 4.0], requires_grad=True)
out = Largest.apply([a, b])
print(out)
assert out["value"].requires_grad and not out["first"].requires_grad
assert [g.tolist() for g in torch.autograd.grad(out["value"].sum(), (a, b))] == [[0.0, 1.0], [1.0, 0.0]]

# %% [markdown]
# ## mark_dirty
#
# A Function that writes into its inputs marks them and returns them. `mark_dirty` finds the tensors in the dict. This class
# also has a constructor: call an instance where you would call `apply`.


# %%
class Decay(NestedIOFunction):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def forward_extended(self, params):
        for t in params.values():
            t.mul_(self.rate)
        self.mark_dirty(params)
        return params

    def backward_extended(self, grads):
        return ({name: g * self.rate for name, g in grads.items()},)


params = {"weight": a * 1, "bias": b * 1}
decayed = Decay(0.5)(params)
assert decayed["bias"] is params["bias"] and params["bias"].tolist() == [1.5, 2.0]
assert torch.autograd.grad(decayed["bias"].sum(), b)[0].tolist() == [0.5, 0.5]

# %% [markdown]
# ## None, in every place
#
# An argument that is no tensor has the tangent `None`, and an output that is no tensor has the gradient `None`. A method
# returns `None` for them as well. `save_for_forward` accepts `None` among its tensors. This holds for every Function.


# %%
class Labelled(Function):
    @staticmethod
    def forward(ctx, x, label):
        ctx.save_for_forward(None, x)
        return x * x, label

    @staticmethod
    def jvp(ctx, x_t, label_t):
        nothing, x = ctx.saved_tensors
        received.append((nothing, label_t))
        return 2 * x * x_t, None


received = []
with fwAD.dual_level():
    square, label = Labelled.apply(fwAD.make_dual(torch.tensor(3.0), torch.tensor(1.0)), "x")
    assert fwAD.unpack_dual(square).tangent.item() == 6.0
assert received == [(None, None)] and label == "x"

# %% [markdown]
# Each of the two methods that save is called once, with all tensors. A second call is an error, because it would replace the
# first.


# %%
class SavesTwice(Labelled):
    @staticmethod
    def forward(ctx, x, label):
        ctx.save_for_forward(x)
        ctx.save_for_forward(2 * x)
        return x * x, label


try:
    SavesTwice.apply(a, "x")
except RuntimeError as e:
    print(e)
    assert "calls save_for_forward a second time" in str(e)
else:
    raise AssertionError("tensors were saved in two calls")

# %% [markdown]
# ## Pytrees
#
# A *pytree* is a tensor, or a tuple, list or dict of pytrees. The transforms of `torch.func` accept them: they flatten the
# arguments, work on the tensors, and nest the results. JAX's `custom_vjp` accepts them as well.

# %%
by_dict = torch.func.grad(area)({"width": torch.tensor(3.0), "height": torch.tensor(5.0)})
print(by_dict)
assert {name: g.item() for name, g in by_dict.items()} == {"width": 5.0, "height": 3.0}

# %% [markdown]
# A custom Function does not: only its direct arguments are tracked. The documentation of C++ says the same of vectors and sets.
#
# | | nested tensors | what you return |
# | --- | --- | --- |
# | `torch.func` | any pytree | the result nests like the argument |
# | `NestedIOFunction` | any pytree | gradients nested like the arguments |
# | `Function` | an error; in PyTorch they get no gradient, silently | one gradient for each argument |
#
# So the usual way is an ordinary function that takes a pytree and passes its tensors to a `Function`. `NestedIOFunction` is
# there for old programs.
#
# ## Keywords
#
# PyTorch's documentation writes the two forms like this:
#
# ```python
# @staticmethod
# def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
#     pass
# ```
#
# ```python
# @staticmethod
# def forward(*args: Any, **kwargs: Any) -> Any:
#     pass
#
# @staticmethod
# def setup_context(ctx: Any, inputs: Tuple[Any, ...], output: Any) -> None:
#     pass
# ```
#
# `apply` takes keywords and defaults, and puts each at its position: `setup_context` sees them all in `inputs`.


# %%
class Power(Function):
    @staticmethod
    def forward(x, power=2):
        return x**power

    @staticmethod
    def setup_context(ctx, inputs, output):
        seen.append(inputs[1:])
        x, ctx.power = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * ctx.power * x ** (ctx.power - 1), None


seen = []
gradients = [torch.autograd.grad(y, a)[0] for y in (Power.apply(a).sum(), Power.apply(power=3, x=a).sum())]
lessons.predict(
    "seen has an entry for Power.apply(a), and one for Power.apply(power=3, x=a). Which?",
    {
        "[(), ()]": "setup_context gets every argument of forward, in the order of its parameters.",
        "[(2,), (3,)]": "A default and a keyword both have the position of their parameter.",
        "[(), (3,)]": "A default counts as well: forward has received it.",
    },
    seen,
)

# %% [markdown]
# So `backward` returns a gradient for `power` too, and it is `None`. A keyword without a position, after a `*` or in
# `**kwargs`, could get no gradient: minigrad raises an error.


# %%
class Anything(Power):
    @staticmethod
    def forward(x, **kwargs):
        return x ** kwargs["power"]


assert [g.tolist() for g in gradients] == [[2.0, 10.0], [3.0, 75.0]]
try:
    Anything.apply(a, power=3)
except TypeError as e:
    print(e)
    assert "keyword-only arguments power cannot be tracked" in str(e)
else:
    raise AssertionError("a keyword without a position was accepted")

# %% [markdown]
# ## Exercises
#
# ### 1. Count
#
# `forward(ctx, x, weight, eps=1e-5)` is called as `apply(x, weight=weight)`, with two tensors. How many gradients does
# `backward` return, and how many of them are tensors? Give a list.

# %%
nested_keywords = ...

lessons.check("nested_keywords", nested_keywords)

# %% [markdown]
# ### 2. Forward mode
#
# The Function turns `{"r": r, "phi": phi}` and a name, which is text, into `{"x": r cos(phi), "y": r sin(phi), "name": name}`.
# Write its `jvp`.


# %%
class NestedPolar(NestedIOFunction):
    def forward_extended(self, point, name):
        self.save_for_forward(point)
        return {"x": point["r"] * point["phi"].cos(), "y": point["r"] * point["phi"].sin(), "name": name}

    @staticmethod
    def jvp(ctx, tangents, _): ...


lessons.check("NestedPolar", NestedPolar)

# %% [markdown]
# ### 3. Repair
#
# This Function clamps each tensor of a dict to the range from -1 to 1, in place. It returns the dict, and a second dict that
# has a 1 for each number that it keeps, with an absolute value of at most 1, and a 0 for the others. A number that is clamped
# has the gradient 0. Declare what has to be declared, and write `backward_extended`.


# %%
class NestedClamp(NestedIOFunction):
    def forward_extended(self, tensors):
        kept = {name: (t.abs() <= 1).float() for name, t in tensors.items()}
        for t in tensors.values():
            t.clamp_(-1, 1)
        return tensors, kept

    def backward_extended(self, grads, _): ...


lessons.check("NestedClamp", NestedClamp)

# %% [markdown]
# ## Summary
#
# - `save_for_backward`, `save_for_forward`, `mark_dirty` and `mark_non_differentiable` take nested tensors as they are.
# - `jvp` receives tangents nested like the inputs and returns them nested like the output.
# - Transforms accept pytrees; a `Function` tracks only its direct arguments.
# - Keywords of `apply` take the position of their parameter, and each position has a gradient.
#
# ## Questions
#
# <details markdown="1">
# <summary>Why is <code>jvp</code> a static method here, when <code>backward_extended</code> is none?</summary>
#
# `jvp` is newer than the class: it came when all methods of a Function were static. Its `ctx` is the same object as `self` in
# the others.
#
# </details>
#
# <details markdown="1">
# <summary>Why can a keyword after a <code>*</code> not get a gradient?</summary>
#
# `backward` returns gradients by position, and that argument has none.
#
# </details>
#
# <details markdown="1">
# <summary>When do you still need <code>NestedIOFunction</code>?</summary>
#
# Never in a new program: an ordinary function can take the structure apart. You meet the class in old code.
#
# </details>
