# %% [markdown]
# # One Function in three languages
#
# *Needs lessons 2 and 3.*
#
# **Can I read a `Function` in C++ or TypeScript if I know the Python version?** Yes. It has the same parts in each
# language, under other names. The C++ and TypeScript code follows the documentation of each; this lesson runs only the
# Python code.
#
# After this lesson you can:
#
# - match the parts of a `Function` in Python, C++ and TypeScript,
# - translate C++ and TypeScript to Python,
# - find the mistakes in the example of PyTorch's C++ documentation.

# %%
import lessons
import minigrad as torch
from viz import draw

# %% [markdown]
# This is `exp` in Python, in the style of the other two languages.


# %%
class LikeCpp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        result = x.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, *grad_output):
        saved = ctx.saved_tensors
        return (grad_output[0] * saved[0],)


class LikeTypeScript(LikeCpp):
    @staticmethod
    def backward(ctx, grad_output):
        [result] = ctx.saved_tensors
        return (grad_output.mul(result),)


def both(x):
    a = LikeCpp.apply(x)
    b = LikeTypeScript.apply(x)
    return a + b


x = torch.tensor(1.0, requires_grad=True)
draw(both, x, passes="backward")

# %% [markdown]
# Both cards pass on the same gradient.
#
# **Try it.** Backward begins with 1 at the result. Drag this gradient until that of `x` is 2.718, the slope of exp at
# 1. With which number does backward begin then?

# %%
languages_seed = ...

lessons.check("languages_seed", languages_seed)

# %% [markdown]
# ## Exp, the combined form
#
# One class, two static methods. Compare the tabs.
#
# === "Python"
#
#     ```python
#     class Exp(torch.autograd.Function):
#         @staticmethod
#         def forward(ctx, x):
#             result = x.exp()
#             ctx.save_for_backward(result)
#             return result
#
#         @staticmethod
#         def backward(ctx, grad_output):
#             (result,) = ctx.saved_tensors
#             return grad_output * result
#
#     y = Exp.apply(x)
#     ```
#
# === "C++"
#
#     ```cpp
#     class Exp : public Function<Exp> {
#       public:
#       static Variable forward(AutogradContext *ctx, Variable x) {
#          auto result = x.exp();
#          ctx->save_for_backward({result});
#          return result;
#       }
#
#       static variable_list backward(AutogradContext *ctx, variable_list grad_output) {
#          auto saved = ctx->get_saved_variables();
#          return {grad_output[0] * saved[0]};
#       }
#     };
#
#     auto y = Exp::apply(x);
#     ```
#
# === "TypeScript"
#
#     ```typescript
#     class Exp extends torch.autograd.Function {
#       static forward(ctx: FunctionCtx, x: Tensor): Tensor {
#         const result = x.exp();
#         ctx.save_for_backward(result);
#         return result;
#       }
#       static backward(ctx: FunctionCtx, grad_output: Tensor): [Tensor] {
#         const [result] = ctx.saved_tensors;
#         return [grad_output.mul(result)];
#       }
#     }
#     const y = Exp.apply(x);
#     ```
#
# | | Python | C++ | TypeScript |
# | --- | --- | --- | --- |
# | save tensors | `ctx.save_for_backward(a, b)` | `ctx->save_for_backward({a, b})` | `ctx.save_for_backward(a, b)` |
# | read them | `ctx.saved_tensors` | `ctx->get_saved_variables()` | `ctx.saved_tensors` |
# | save a number | `ctx.n = n` | `ctx->saved_data["n"] = n` | (not documented) |
# | read it | `ctx.n` | `ctx->saved_data["n"].toInt()` | (not documented) |
# | incoming gradients | one argument for each output | one list, `grad_output[0]`, … | one argument for each output |
# | gradients returned | a tensor, or a tuple | a list, `{a, b}` | an array, `[a, b]` |
# | no gradient | `None` | `Variable()` | (not documented) |
# | multiplication | `a * b` | `a * b` | `a.mul(b)` |
# | call | `Exp.apply(x)` | `Exp::apply(x)` | `Exp.apply(x)` |
#
# Look at the first cell again. A parameter with a star collects the gradients in one tuple, like `variable_list`.
# `backward` may return a tuple even for one gradient. Each operator also exists as a method, such as `mul` for `*`. Both
# classes compute `exp`, so `x` gets twice the slope of exp.

# %%
both(x).backward()
print(x.grad)
assert x.grad == 2 * x.exp()

# %% [markdown]
# ## Exp, the separate form
#
# TypeScript has the separate form as well, with the methods of lesson 3; its documentation recommends it. The C++
# documentation has only `forward(AutogradContext *ctx, ...)`.
#
# ```typescript
# class Exp extends torch.autograd.Function {
#   static forward(x: Tensor): Tensor {
#     return x.exp();
#   }
#   static setup_context(ctx: FunctionCtx, inputs: [Tensor], output: Tensor): void {
#     ctx.save_for_backward(output);
#   }
#   static backward(ctx: FunctionCtx, grad_output: Tensor): [Tensor] {
#     const [result] = ctx.saved_tensors;
#     return [grad_output.mul(result)];
#   }
# }
# const y = Exp.apply(x);
# ```
#
# In Python, this is the class `Separate` of lesson 3.
#
# ## The example in the C++ documentation
#
# This class is from the documentation of PyTorch's C++ interface. It doubles its second argument in place; `mark_dirty`
# tells autograd about the write (lesson 11). `is_traceable` says that the `Function` may be compiled (lesson 29).
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
#
# Variable x;
# auto y = MyFunction::apply(6, x);
# // Example backward call
# y[0].sum().backward();
# ```
#
# Here it is in Python, line by line. (minigrad's `ctx` has `saved_data`, too; in PyTorch's Python write `ctx.n = n`.)


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
        return (var,)

    @staticmethod
    def backward(ctx, *grad_output):
        # Use data saved in forward
        n = ctx.saved_data["n"]
        return (grad_output[0] * n,)


# %% [markdown]
# It illustrates the names. As a program it has three mistakes, which Python shows one by one.


# %%
def message_of(f, *args):
    """Return the message of the error that f raises, or "no error"."""
    try:
        f(*args)
    except RuntimeError as e:
        return str(e)
    return "no error"


x = torch.tensor([1.0, 2.0], requires_grad=True)
overwritten = message_of(MyFunction.apply, 6, x)

lessons.predict(
    "x = [1.0, 2.0] is a leaf that requires grad. What does MyFunction.apply(6, x) do?",
    {
        "no error; x is [2.0, 4.0]": "mark_dirty declares the write, but this leaf may not be overwritten at all.",
        "an error; x is [1.0, 2.0]": "There is an error. But minigrad learns of the write only after forward has run.",
        "an error; x is [2.0, 4.0]": "The error comes after forward, so the write has happened.",
    },
    lambda: f"{'no' if overwritten == 'no error' else 'an'} error; x is {x.tolist()}",
)

# %% [markdown]
# The first mistake: an operation may not overwrite a leaf that requires grad.

# %%
print(overwritten)
assert "a leaf Variable that requires grad" in overwritten and x.tolist() == [2.0, 4.0]

# %% [markdown]
# With a copy of the leaf, the second mistake shows. `forward` has two arguments besides the `ctx`, so in all three
# languages `backward` has to return two gradients, one of them for the number.

# %%
x = torch.tensor([1.0, 2.0], requires_grad=True)
too_few = message_of(MyFunction.apply(6, x.clone())[0].sum().backward)
print(too_few)
assert "expected 2, got 1" in too_few

# %% [markdown]
# In C++, return `{Variable(), grad_output[0]*n}`; in Python, `None` and the gradient. Now it runs, and the third mistake
# shows only in the numbers.


# %%
class Counted(MyFunction):
    @staticmethod
    def backward(ctx, *grad_output):
        return None, grad_output[0] * ctx.saved_data["n"]


def doubled(x):
    return Counted.apply(6, x.clone())[0].sum()


lessons.predict(
    "forward doubles var, and n is 6. Which gradient of x does minigrad compute?",
    {
        "[2.0, 2.0]": "That is the right slope. But minigrad takes the gradient from backward, not from forward.",
        "[6.0, 6.0]": "backward multiplies by n, and minigrad takes its word for it.",
        "[12.0, 12.0]": "The factor 2 in forward plays no part: apply records nothing inside forward.",
    },
    lambda: torch.autograd.grad(doubled(x), x)[0],
)

# %% [markdown]
# `forward` doubles, so the right slope is 2. The picture shows the 6 from `backward`.

# %%
assert Counted.apply(6, x.clone())[0].tolist() == [2.0, 4.0]
draw(doubled, x, passes="backward")

# %% [markdown]
# `gradcheck` compares with differences of the values, and finds the wrong factor.

# %%
at = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
wrong_factor = message_of(torch.autograd.gradcheck, doubled, at)
print(wrong_factor)
assert "3 times the numerical ones" in wrong_factor

# %% [markdown]
# If `n` is meant to be the factor, `forward` has to multiply by it: that is the last exercise.
#
# ## Exercises
#
# ### 1. How many gradients?
#
# A C++ `Function` has `static variable_list forward(AutogradContext *ctx, Variable a, double s, Variable b)`. How many
# elements does the list returned by its `backward` have?

# %%
languages_gradients = ...

lessons.check("languages_gradients", languages_gradients)

# %% [markdown]
# ### 2. From C++
#
# Translate this class to Python.
#
# ```cpp
# class Clip : public Function<Clip> {
#   public:
#   static Variable forward(AutogradContext *ctx, Variable x, double bound) {
#     ctx->save_for_backward({x});
#     ctx->saved_data["bound"] = bound;
#     return x.clamp(-bound, bound);
#   }
#
#   static variable_list backward(AutogradContext *ctx, variable_list grad_output) {
#     auto saved = ctx->get_saved_variables();
#     auto bound = ctx->saved_data["bound"].toDouble();
#     auto inside = saved[0].abs() <= bound;
#     return {grad_output[0] * inside, Variable()};
#   }
# };
# ```


# %%
class LanguagesClip(torch.autograd.Function):
    @staticmethod
    def forward(): ...

    @staticmethod
    def backward(): ...


lessons.check("LanguagesClip", LanguagesClip)

# %% [markdown]
# ### 3. From TypeScript
#
# Translate this class to Python, in the same form.
#
# ```typescript
# class Hypot extends torch.autograd.Function {
#   static forward(x: Tensor, y: Tensor): Tensor {
#     return x.mul(x).add(y.mul(y)).sqrt();
#   }
#   static setup_context(ctx: FunctionCtx, inputs: [Tensor, Tensor], output: Tensor): void {
#     const [x, y] = inputs;
#     ctx.save_for_backward(x, y, output);
#   }
#   static backward(ctx: FunctionCtx, grad_output: Tensor): [Tensor, Tensor] {
#     const [x, y, r] = ctx.saved_tensors;
#     return [grad_output.mul(x).div(r), grad_output.mul(y).div(r)];
#   }
# }
# ```


# %%
class LanguagesHypot(torch.autograd.Function):
    @staticmethod
    def forward(): ...


lessons.check("LanguagesHypot", LanguagesHypot)

# %% [markdown]
# ### 4. Repair the example (at home)
#
# Repair `MyFunction`: `LanguagesTimes.apply(n, var)` returns one tensor, `n` times `var`, with the right gradient. It
# accepts a leaf, and leaves `var` unchanged.


# %%
class LanguagesTimes(torch.autograd.Function):
    @staticmethod
    def forward(ctx, n, var):
        ctx.n = n
        var.mul_(2)
        ctx.mark_dirty(var)
        return (var,)

    @staticmethod
    def backward(ctx, *grad_output):
        return (grad_output[0] * ctx.n,)


lessons.check("LanguagesTimes", LanguagesTimes)

# %% [markdown]
# ## Summary
#
# - A `Function` has the same parts in all three languages: `forward`, `backward`, a `ctx`, `apply`.
# - C++ collects gradients in a list, and keeps numbers in `saved_data`; TypeScript has methods instead of operators.
# - In each language `backward` returns one gradient for each argument, even for a number.
# - Code in documentation can explain the names and still be wrong: run it, and check its gradients.
#
# ## Questions
#
# <details markdown="1">
# <summary>Why does <code>backward</code> return <code>None</code> or <code>Variable()</code> for a number?</summary>
#
# The position of a gradient says which argument it belongs to. So each argument needs an entry, even one without a
# gradient.
#
# </details>
#
# <details markdown="1">
# <summary>What does a C++ <code>Function</code> keep in <code>saved_data</code>, and why not its tensors?</summary>
#
# Numbers and other values. Tensors go through `save_for_backward`, which notices later writes and avoids reference
# cycles (lesson 8).
#
# </details>
#
# <details markdown="1">
# <summary>The third mistake raises no error. Why?</summary>
#
# The shapes and the number of gradients are right. Only a comparison with values of `forward` shows that the factor is
# wrong.
#
# </details>
