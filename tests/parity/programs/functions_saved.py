"""Custom Functions save tensors for backward and get them back until backward frees them."""

from tests.parity.harness import attempt, function, gives, leaf
from tests.parity.makers import square_function


@gives([0.841471])
def saving_an_intermediate(torch):
    def forward(ctx, x):
        middle = x.sin()
        ctx.save_for_backward(x, middle)
        return middle * middle

    def backward(ctx, g):
        x, middle = ctx.saved_tensors
        return g * 2 * middle * x.cos()

    Func = function(torch, forward, backward)
    x = leaf(torch, [0.5], torch.float64)
    Func.apply(x).sum().backward()
    return x.grad


@gives(True)
def saving_twice_keeps_the_last(torch):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_backward(x * 10, x)
        return x * 2

    Func = function(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0])
    x = leaf(torch, [3.0])
    error = attempt(lambda: Func.apply(x).sum().backward())
    return isinstance(error, RuntimeError) or x.grad.tolist() == [30.0]


def save_for_backward_in_forward_and_setup_context(torch):
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, *output)

    def backward(ctx, a, b):
        x, e, double = ctx.saved_tensors
        return a * e + b * double / x

    Func = function(torch, lambda x: (x.exp(), x * 2), backward, setup_context=setup_context)
    x = leaf(torch, [0.5, 1.0], torch.float64)
    first, second = Func.apply(x)
    (first * 3 + second).sum().backward()
    return x.grad


@gives(RuntimeError)
def saved_input_modified_later_raises(torch):
    x = leaf(torch, [1.0])
    y = x * 1
    z = square_function(torch).apply(y)
    y.add_(1)
    return attempt(z.sum().backward)


@gives([1, RuntimeError])
def saved_tensors_after_backward_raises(torch):
    y = square_function(torch).apply(leaf(torch, [1.0]))
    before = len(y.grad_fn.saved_tensors)
    y.sum().backward()
    return before, attempt(lambda: y.grad_fn.saved_tensors)


@gives([[8.0], RuntimeError])
def second_backward_of_a_function_raises_unless_retained(torch):
    x = leaf(torch, [2.0])
    y = square_function(torch).apply(x).sum()
    y.backward(retain_graph=True)
    y.backward()
    return x.grad, attempt(y.backward)


@gives([12.0])
def attribute_that_holds_an_input_keeps_working(torch):
    def forward(ctx, x):
        ctx.x = x
        return x**3

    Func = function(torch, forward, lambda ctx, g: 3 * ctx.x**2 * g)
    x = leaf(torch, [2.0])
    Func.apply(x).sum().backward(create_graph=True)
    return x.grad.detach()
