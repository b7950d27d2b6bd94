"""The protocol of custom Functions: both forms, what ctx knows of the call, subclasses, the smallest inputs."""

from tests.parity.harness import function, gives, leaf
from tests.parity.makers import product_function, square_function, two_outputs


@gives([[1.0, 9.0], [2.0, -6.0]])
def combined_form(torch):
    x = leaf(torch, [1.0, -3.0])
    y = square_function(torch).apply(x)
    y.sum().backward()
    return y, x.grad


@gives([[30.0, 80.0], [30.0, 40.0], [10.0, 20.0]])
def separate_form(torch):
    x, y = leaf(torch, [1.0, 2.0]), leaf(torch, [3.0, 4.0])
    z = product_function(torch).apply(x, y, 10)
    z.sum().backward()
    return z, x.grad, y.grad


@gives(["SquareBackward", "SquareBackward", False, True, True])
def output_has_the_backward_of_the_function(torch):
    y = square_function(torch).apply(leaf(torch, [1.0]))
    node = y.grad_fn
    return node.name(), type(node).__name__, y.is_leaf, y.requires_grad, "Square" in repr(y)


@gives([[["tuple", [3, "a", None], "tuple", 1]], [3.0]])
def setup_context_gets_inputs_and_output_as_documented(torch):
    seen = []

    def setup_context(ctx, inputs, output):
        seen.append([type(inputs).__name__, list(inputs[1:]), type(output).__name__, len(output)])

    Func = function(
        torch, lambda x, n, text, nothing: (x * n,), lambda ctx, g: (g, None, None, None), setup_context=setup_context
    )
    (y,) = Func.apply(leaf(torch, [1.0]), 3, "a", None)
    return seen, y


@gives([[[True, False, False, True], [True, False, False, True]], [1.0]])
def needs_input_grad_follows_the_arguments(torch):
    seen = []

    def forward(ctx, a, b, n, c):
        seen.append(list(ctx.needs_input_grad))
        return a + b + c * n

    def backward(ctx, g):
        seen.append(list(ctx.needs_input_grad))
        return g, g, None, g

    Func = function(torch, forward, backward)
    a, b, c = leaf(torch, [1.0]), torch.tensor([1.0]), leaf(torch, [2.0]) * 1
    Func.apply(a, b, 2, c).sum().backward()
    return seen, a.grad


@gives([False, False, [[True, False], [False, False]]])
def needs_input_grad_without_any(torch):
    seen = []

    def forward(ctx, a, b):
        seen.append(list(ctx.needs_input_grad))
        return a + b

    Func = function(torch, forward, lambda ctx, g: (g, g))
    with torch.no_grad():
        quiet = Func.apply(leaf(torch, [1.0]), torch.ones(1))
    return Func.apply(torch.ones(1), torch.ones(1)).requires_grad, quiet.requires_grad, seen


@gives([[[3.0]], [[True, True]]])
def needs_input_grad_under_partial_grad(torch):
    seen = []

    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    def backward(ctx, g):
        a, b = ctx.saved_tensors
        seen.append(list(ctx.needs_input_grad))
        return g * b, g * a

    Product = function(torch, forward, backward)
    a, b = leaf(torch, [2.0]), leaf(torch, [3.0])
    return torch.autograd.grad(Product.apply(a, b).sum(), a), seen


@gives([[["func", [1, 2], [2], False]], [3.0, 3.0]])
def attributes_on_ctx(torch):
    seen = []

    def forward(ctx, x, n):
        ctx.n, ctx.name_of_it, ctx.saved, ctx.shape = n, "func", [1, 2], x.shape
        return x.sum() * n

    def backward(ctx, g):
        seen.append([ctx.name_of_it, ctx.saved, tuple(ctx.shape), hasattr(ctx, "other")])
        return g.expand(ctx.shape) * ctx.n, None

    Func = function(torch, forward, backward)
    x = leaf(torch, [1.0, 2.0])
    Func.apply(x, 3).backward()
    return seen, x.grad


@gives([True, "here"])
def ctx_of_backward_is_the_node(torch):
    seen = []

    def forward(ctx, x):
        ctx.tag = "here"
        return x * 2

    def backward(ctx, g):
        seen.append(ctx)
        return g * 2

    Func = function(torch, forward, backward)
    y = Func.apply(leaf(torch, [1.0]))
    y.sum().backward()
    return seen[0] is y.grad_fn, y.grad_fn.tag


@gives([[44.0], False])
def each_call_has_its_own_ctx(torch):
    x = leaf(torch, [2.0])
    product = product_function(torch)
    a, b = product.apply(x, x, 1), product.apply(x, x, 10)
    (a + b).sum().backward()
    return x.grad, a.grad_fn is b.grad_fn


@gives([[12.0], [8.0]])
def vjp_is_another_name_of_backward(torch):
    def forward(ctx, x, y, n):
        ctx.save_for_backward(x, y)
        ctx.n = n
        return x * y * n

    def vjp(ctx, g):
        x, y = ctx.saved_tensors
        return g * y * ctx.n, g * x * ctx.n, None

    Func = function(torch, forward, None, vjp=vjp)
    x, y = leaf(torch, [2.0]), leaf(torch, [3.0])
    Func.apply(x, y, 4).sum().backward()
    return x.grad, y.grad


@gives([[3.0], 2])
def subclass_of_a_function(torch):
    class Base(torch.autograd.Function):
        factor = 2

        @staticmethod
        def backward(ctx, g):
            return g * ctx.used

    class Triple(Base):
        @staticmethod
        def forward(ctx, x):
            ctx.used = 3
            return x * 3

    x = leaf(torch, [1.0])
    Triple.apply(x).sum().backward()
    return x.grad, Triple.factor


@gives([[9.0], False, True])
def function_without_arguments_that_require_grad(torch):
    y = square_function(torch).apply(torch.tensor([3.0]))
    return y, y.requires_grad, y.grad_fn is None


@gives([[1.0, 1.0, 1.0], False])
def function_without_tensors(torch):
    func = two_outputs(torch, lambda ctx, n: torch.ones(n), lambda ctx, g: None)
    y = func.apply(3)
    return y, y.requires_grad


@gives([[], 6.0])
def function_on_zero_size_and_zero_dimensions(torch):
    square = square_function(torch)
    x, y = leaf(torch, []), leaf(torch, 3.0)
    (square.apply(x).sum() + square.apply(y)).backward()
    return x.grad, y.grad


@gives([True, [2.0]])
def traceable_marks_a_function(torch):
    class Func(torch.autograd.Function):
        is_traceable = True

        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf(torch, [1.0])
    Func.apply(x).sum().backward()
    return Func.is_traceable, x.grad
