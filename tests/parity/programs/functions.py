"""The protocol of custom Functions: both forms, what ctx knows of the call, subclasses, the smallest inputs."""

from tests.parity.harness import function, gives, leaf
from tests.parity.makers import product_function, square_function


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


@gives([[1.0, 1.0, 1.0], False])
def function_without_tensors(torch):
    func = function(torch, lambda ctx, n: torch.ones(n), lambda ctx, g: None)
    y = func.apply(3)
    return y, y.requires_grad
