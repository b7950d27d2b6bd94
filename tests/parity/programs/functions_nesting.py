"""Custom Functions within one another and differentiated again: grad modes, second derivatives, exceptions."""

from tests.parity.harness import attempt, function, gives, leaf
from tests.parity.makers import product_function, square_function


@gives([[[True, True]], [12.0], [12.0]])
def backward_runs_with_grad_mode_under_create_graph(torch):
    seen = []

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        seen.append([torch.is_grad_enabled(), x.requires_grad])
        return 3 * x**2 * g

    Func = function(torch, forward, backward)
    x = leaf(torch, [2.0])
    (g,) = torch.autograd.grad(Func.apply(x).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    return seen, g, h


@gives([[32.0], [48.0], [[48.0]]])
def double_backward_through_saved_input(torch):
    x = leaf(torch, [2.0], torch.float64)
    (g,) = torch.autograd.grad(
        square_function(torch).apply(square_function(torch).apply(x)).sum(), x, create_graph=True
    )
    (h,) = torch.autograd.grad(g.sum(), x, create_graph=True)
    return g, h, torch.autograd.grad(h.sum(), x)


def double_backward_through_saved_output(torch):
    def forward(ctx, x):
        result = x.exp()
        ctx.save_for_backward(result)
        return result

    def backward(ctx, g):
        (result,) = ctx.saved_tensors
        return g * result

    Exp = function(torch, forward, backward)
    x = leaf(torch, [0.0, 1.0], torch.float64)
    (g,) = torch.autograd.grad((Exp.apply(x) ** 2).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    return g, h


@gives([[1800.0], [400.0]])
def double_backward_with_respect_to_two_inputs(torch):
    x, y = leaf(torch, [2.0]), leaf(torch, [3.0])
    z = product_function(torch).apply(x * x, y, 5)
    gx, gy = torch.autograd.grad(z.sum(), (x, y), create_graph=True)
    return torch.autograd.grad((gx * gy).sum(), (x, y))


@gives([[6.0], [[False, False], [False, False]], RuntimeError])
def once_differentiable_allows_one_backward(torch):
    class Func(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            seen.append([torch.is_grad_enabled(), (x * g).requires_grad])
            return 2 * x * g

    seen, x = [], leaf(torch, [3.0])
    (g,) = torch.autograd.grad(Func.apply(x).sum(), x)
    (tracked,) = torch.autograd.grad(Func.apply(x).sum(), x, create_graph=True)
    return g, seen, attempt(torch.autograd.grad, tracked.sum(), x)


@gives([[False, True], [[0.0, 0.0, 6.0], [0.0, 12.0, 6.0]]])
def once_differentiable_with_a_constant_slope(torch):
    """Keep only integers and a flag on the ctx, which have no derivative."""

    class Largest(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, twice):
            values, places = x.max(-1)
            ctx.save_for_backward(places)
            ctx.shape, ctx.twice = x.shape, twice
            return values

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            (places,) = ctx.saved_tensors
            return torch.zeros(ctx.shape).scatter(-1, places.unsqueeze(-1), g.unsqueeze(-1) * (1 + ctx.twice)), None

    x = leaf(torch, [[1.0, 2.0, 3.0], [1.0, 6.0, 3.0]])
    (constant,) = torch.autograd.grad(Largest.apply(x, True).sum(), x, create_graph=True)
    (g,) = torch.autograd.grad(Largest.apply(x, True).sum() + (x**3).sum() / 3, x, create_graph=True)
    places = torch.tensor([[0.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    return [constant.requires_grad, g.requires_grad], torch.autograd.grad((g * places).sum(), x)[0]


@gives([[12.0], RuntimeError])
def once_differentiable_in_the_middle_of_a_graph(torch):
    Func = function(torch, backward=torch.autograd.function.once_differentiable(lambda ctx, g: g * 2))
    x = leaf(torch, [3.0])
    (g,) = torch.autograd.grad((Func.apply(x) * x).sum(), x, create_graph=True)
    return g, attempt(g.sum().backward)


def forward_with_grad_enabled_inside_and_backward_through_it(torch):
    def forward(ctx, x):
        with torch.enable_grad():
            ctx.x = x.detach().requires_grad_()
            ctx.y = ctx.x.sin() * 2
        return ctx.y.detach()

    Inner = function(torch, forward, lambda ctx, g: torch.autograd.grad(ctx.y, ctx.x, g)[0])
    x = leaf(torch, [0.5], torch.float64)
    (Inner.apply(x) * 3).sum().backward()
    return x.grad


@gives([2.0])
def reentrant_backward_nested_deeply(torch):
    def forward(ctx, x, depth):
        ctx.depth = depth
        ctx.save_for_backward(x)
        return x * 2

    def backward(ctx, g):
        if ctx.depth:
            x = ctx.saved_tensors[0].detach().requires_grad_()
            with torch.enable_grad():
                y = Nest.apply(x, ctx.depth - 1).sum()
            y.backward()
            return g * x.grad, None
        return g * 2, None

    Nest = function(torch, forward, backward)
    x = leaf(torch, [1.0])
    Nest.apply(x, 30).sum().backward()
    return x.grad


@gives([KeyError, True])
def exception_in_forward_propagates(torch):
    def forward(ctx, x):
        raise KeyError("forward")

    Func = function(torch, forward, None)
    return attempt(Func.apply, leaf(torch, [1.0])), torch.is_grad_enabled()


@gives([KeyError, None, True])
def exception_in_backward_propagates(torch):
    def backward(ctx, g):
        raise KeyError("backward")

    Func = function(torch, backward=backward)
    x = leaf(torch, [1.0])
    return attempt(Func.apply(x).sum().backward), x.grad, torch.is_grad_enabled()
