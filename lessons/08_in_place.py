# %% [markdown]
# # Writing in place
#
# *25 minutes. Needs lessons 6 and 7.*
#
# An operation whose name ends in an underscore writes into its input's memory instead of making a new tensor. You will see
# what that does to the graph, write a Function that works in place, and learn to tell when a write is an error.

# %%
import lessons
import minigrad as torch
from viz import draw


def message_of(f, *args):
    """Return the message of the error that f raises."""
    try:
        f(*args)
    except RuntimeError as e:
        return str(e)
    raise AssertionError("no error was raised")


# %% [markdown]
# ## The same tensor, another past
#
# `mul_` gives back the very tensor that it was called on. Its numbers are others now, and so is its past: `grad_fn` is the
# write, and what the tensor was before is only an input of that. `_version` counts the writes.

# %%
leaf = torch.tensor([1.0, 2.0], requires_grad=True)
x = leaf * 5
before = x.grad_fn
y = x.mul_(3)
print(x, x._version)
assert y is x
assert x._version == 1
assert x.grad_fn is not before
assert x.grad_fn.next_functions[0][0] is before

# %% [markdown]
# In the picture a write is an operation like any other, marked "in place". The value before it and the one after are drawn
# apart, though they were at the same place in memory.


# %%
def times_fifteen(leaf):
    x = leaf * 5
    x.mul_(3)
    return x


draw(times_fifteen, leaf, passes=("forward", "backward"))

# %% [markdown]
# ## What may not be written
#
# A leaf that requires grad is refused: after the write it would be the result of an operation, and there would be no leaf
# left that `.grad` could belong to. Under `no_grad` nothing is remembered and the leaf stays one; optimizers work so.

# %%
message = message_of(leaf.mul_, 2)
print(message)
assert "a leaf Variable that requires grad" in message
with torch.no_grad():
    leaf.mul_(2)
print(leaf)
assert leaf.is_leaf and leaf.tolist() == [2.0, 4.0]

# %% [markdown]
# The second refusal you know from lesson 6: what an operation has saved must not change before its backward. It depends on
# the formula. `sigmoid` keeps its result, so the result must stay as it is. `leaf + 1` keeps nothing.

# %%
s = leaf.sigmoid()
s.mul_(2)
message = message_of(s.sum().backward)
print(message)
assert "its own result" in message
s = leaf + 1
s.mul_(2)
s.sum().backward()
assert leaf.grad.tolist() == [2.0, 2.0]

# %% [markdown]
# The count belongs to the memory, not to the name. `detach` gives a tensor without a past on the same memory, and a write
# through it is noticed as well.

# %%
a = torch.tensor([1.0, 2.0], requires_grad=True)
square = a * a
a.detach().mul_(10)
message = message_of(square.sum().backward)
print(message)
assert "it is at version 1, expected version 0" in message

# %% [markdown]
# ## A Function that writes in place
#
# This is the example of PyTorch's page on C++ Functions, which lesson 4 has read line by line:
#
# ```cpp
# class MyFunction : public Function<MyFunction> {
#   public:
#   static constexpr bool is_traceable = true;
#
#   static variable_list forward(AutogradContext *ctx, int n, Variable var) {
#      // Save data for backward in context
#      ctx->saved_data["n"] = n;
#      var.mul_(2);
#      // Mark var as modified by inplace operation
#      ctx->mark_dirty({var});
#      return {var};
#   }
#
#   static variable_list backward(AutogradContext *ctx, variable_list
#   grad_output) {
#      // Use data saved in forward
#      auto n = ctx->saved_data["n"].toInt();
#      return {grad_output[0]*n};
#   }
# };
# ```
#
# In Python it reads as follows. `mark_dirty` says which inputs `forward` has written to, and those are returned. The example
# gives back one gradient for two arguments, though its page asks for one for each input: in Python it has `None` for `n`.


# %%
class MyFunction(torch.autograd.Function):
    is_traceable = True

    @staticmethod
    def forward(ctx, n, var):
        # Save data for backward in context
        ctx.saved_data["n"] = n
        var.mul_(2)
        # Mark var as modified by inplace operation
        ctx.mark_dirty(var)
        return [var]

    @staticmethod
    def backward(ctx, *grad_output):
        # Use data saved in forward
        n = ctx.saved_data["n"]
        return None, grad_output[0] * n


leaf = torch.tensor([1.0, 2.0], requires_grad=True)
x = leaf * 1
y = MyFunction.apply(6, x)
assert y[0] is x
# Example backward call
y[0].sum().backward()
print(x, leaf.grad)
assert x.tolist() == [2.0, 4.0]
assert leaf.grad.tolist() == [6.0, 6.0]


def program(leaf):
    x = leaf * 1
    (y,) = MyFunction.apply(6, x)
    return y.sum()


draw(program, leaf, passes=("forward", "backward"))

# %% [markdown]
# With the one gradient of the C++ text, the count is wrong, and backward raises an error.


# %%
class Literally(MyFunction):
    @staticmethod
    def backward(ctx, grad_output):
        return [grad_output * ctx.saved_data["n"]]


(y,) = Literally.apply(6, leaf * 1)
message = message_of(y.sum().backward)
print(message)
assert "1 gradient for the 2 arguments of forward, (n, var)" in message

# %% [markdown]
# The example only shows how data travels: it doubles the numbers and multiplies the gradient by 6. That is not the
# derivative, and `minigrad check` reports it. With `n = 2` it is.

# %%
failure = torch.testing.check(MyFunction, 6, leaf * 1).failures[0]
print(failure.message)
assert "backward gives 6" in failure.message and "finite differences give 2" in failure.message
assert "gradients" not in [failure.name for failure in torch.testing.check(MyFunction, 2, leaf * 1).failures]

# %% [markdown]
# `x` had to be the result of something, here of `leaf * 1`. With the leaf itself the Function is refused like `mul_`. But
# see when: `forward` has run by then, and its write has happened.

# %%
message = message_of(MyFunction.apply, 6, leaf)
print(message)
assert "a leaf Variable that requires grad" in message
print(leaf)
assert leaf.tolist() == [2.0, 4.0]

# %% [markdown]
# ## What mark_dirty is for
#
# Without the mark the graph would not know of the write: `x` would keep the past it had, and gradients that come back
# through `x` would miss the factor 2. minigrad sees that an input was written to, and does not let it pass.


# %%
class Unmarked(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.mul_(2)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2


message = message_of(Unmarked.apply, leaf * 1)
print(message)
assert "in place (mul_) without ctx.mark_dirty(x)" in message

# %% [markdown]
# The other half of the promise is to return what was marked. The new past has to hang on some output.


# %%
class NotReturned(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2


message = message_of(NotReturned.apply, leaf * 1)
print(message)
assert "not returned as output" in message

# %% [markdown]
# ## What did you save?
#
# `save_for_backward` keeps the tensor, not its numbers. A tensor that `forward` then writes to has its new numbers in
# `backward`, in whatever order the lines stand. For the derivative of `x * x`, which needs the old ones, that is wrong: at 3
# it gives 18 instead of 6, without a word.


# %%
class WrongSquare_(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.mark_dirty(x)
        return x.mul_(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 2 * x


b = torch.tensor(3.0, requires_grad=True)
WrongSquare_.apply(b * 1).backward()
print(b.grad)
assert b.grad.item() == 18.0

# %% [markdown]
# minigrad cannot know which numbers were meant. `minigrad check` compares with differences of `forward`, and finds the mistake.

# %%
failure = torch.testing.check(WrongSquare_, b * 1).failures[0]
print(failure.message)
assert failure.name == "gradients"

# %% [markdown]
# Where the derivative is made of the result, the same is just right, and working in place saves a tensor: nothing but the
# result exists.


# %%
class Exp_(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.exp_()
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return grad_output * result


def exp_in_place(b):
    x = b * 1
    Exp_.apply(x)
    return x


(gradient,) = torch.autograd.grad(exp_in_place(b), b)
print(gradient, b.exp())
assert torch.allclose(gradient, b.exp())
draw(exp_in_place, b)

# %% [markdown]
# ## A write to a part
#
# A view, such as `x[0]`, has the memory of its base. A write to the view changes the base, too, and the graph has to know:
# the base becomes "itself, with one place replaced". What flows back goes apart there: through the write for that place,
# directly for the rest.


# %%
def first_times_ten(leaf):
    x = leaf * 1
    first = x[0]
    first.mul_(10)
    return x.sum()


leaf = torch.tensor([1.0, 2.0], requires_grad=True)
first_times_ten(leaf).backward()
print(leaf.grad)
assert leaf.grad.tolist() == [10.0, 1.0]
draw(first_times_ten, leaf, passes=("forward", "backward"))

# %% [markdown]
# A Function that is given a view and marks it dirty works in the same way. Base and view share one count of writes.

# %%
x = leaf * 1
first = x[:1]
Exp_.apply(first)
print(x)
assert torch.allclose(x, torch.tensor([1.0, 2.0]).exp() * torch.tensor([1.0, 0.0]) + torch.tensor([0.0, 2.0]))
assert x._version == first._version > 0
(gradient,) = torch.autograd.grad(x.sum(), leaf)
print(gradient)
assert torch.allclose(gradient, torch.stack([leaf[0].exp(), torch.tensor(1.0)]))

# %% [markdown]
# ## Exercises
#
# ### 1. Two writes
#
# Compute `leaf.grad` at the end. Give the three numbers.
#
# ```python
# leaf = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
# x = leaf * 2
# x[0].mul_(5)
# x.mul_(3)
# x.sum().backward()
# ```

# %%
inplace_gradient = ...

lessons.check("inplace_gradient", inplace_gradient)

# %% [markdown]
# ### 2. The promise
#
# This Function multiplies its input by a number, in place. Fill in what is missing.


# %%
class InplaceScale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        x.mul_(k)
        ctx.k = k
        return ...

    @staticmethod
    def backward(ctx, grad_output):
        return ...


lessons.check("InplaceScale", InplaceScale)

# %% [markdown]
# ### 3. Repair
#
# Backward of this program raises. Repair it: the result has to stay what it is, and the gradient has to be right.


# %%
def inplace_repaired(x):
    s = x.sigmoid()
    s -= 0.5
    return (s * s).sum()


lessons.check("inplace_repaired", inplace_repaired)

# %% [markdown]
# ### 4. ReLU in place
#
# Write a Function that sets all negative elements of its input to 0, in place. Its derivative is 1 where the result is
# positive, and 0 elsewhere. Keep no tensor but the result.


# %%
class InplaceRelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): ...

    @staticmethod
    def backward(ctx, grad_output): ...


lessons.check("InplaceRelu", InplaceRelu)

# %% [markdown]
# ### 5. A right square
#
# Write what `WrongSquare_` above was meant to be: it squares its input in place, and its gradient is right.


# %%
class InplaceSquare(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): ...

    @staticmethod
    def backward(ctx, grad_output): ...


lessons.check("InplaceSquare", InplaceSquare)
