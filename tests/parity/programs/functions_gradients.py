"""The backward of a custom Function may return these gradients: None, other shapes and dtypes, shared tensors."""

from tests.parity.harness import attempt, function, gives, leaf


@gives([[1.0], None])
def none_gradient_leaves_none(torch):
    Func = function(torch, lambda ctx, x, y: x * y, lambda ctx, g: (g, None))
    x, y = leaf(torch, [1.0]), leaf(torch, [2.0])
    Func.apply(x, y).sum().backward()
    return x.grad, y.grad


@gives([RuntimeError, [None]])
def none_gradient_under_autograd_grad(torch):
    Stop = function(torch, backward=lambda ctx, g: None)
    x = leaf(torch, [1.0])
    y = lambda: Stop.apply(x * 3).sum()
    return attempt(torch.autograd.grad, y(), x), torch.autograd.grad(y(), x, allow_unused=True)


@gives([[[1.0, 1.0], [1.0, 1.0]], [2.0, 2.0]])
def gradient_of_a_broadcast_argument_is_summed_by_the_user(torch):
    Add = function(torch, lambda ctx, x, y: x + y, lambda ctx, g: (g, g.sum(0)))
    x, y = leaf(torch, [[1.0, 2.0], [3.0, 4.0]]), leaf(torch, [1.0, 2.0])
    Add.apply(x, y).sum().backward()
    return x.grad, y.grad


@gives([None, [3.0]])
def integer_gradient_is_converted(torch):
    func = function(torch, lambda ctx, x: x * 2, lambda ctx, g: torch.tensor([3]))
    x = leaf(torch, [1.0])
    return attempt(func.apply(x).sum().backward), x.grad


@gives([["float64"], [1.0]])
def incoming_gradient_has_the_dtype_of_the_output(torch):
    seen = []
    func = function(torch, lambda ctx, x: x.double(), lambda ctx, g: seen.append(g.dtype) or g)
    x = leaf(torch, [1.0])
    func.apply(x).float().sum().backward()
    return seen, x.grad


@gives([[6.0], [1.0]])
def gradient_returned_is_not_aliased_by_two_leaves(torch):
    func = type(
        "Add",
        (torch.autograd.Function,),
        {"forward": staticmethod(lambda ctx, x, y: x + y), "backward": staticmethod(lambda ctx, g: (g, g))},
    )
    x, y = leaf(torch, [1.0]), leaf(torch, [1.0])
    func.apply(x, y).backward()
    x.grad.add_(5)
    return x.grad, y.grad


def _gives_none(torch):
    Stop = function(torch, backward=lambda ctx, g: None)
    return Stop


def _pair(torch):
    Pair = function(torch, lambda ctx, x: (x * 3, x * 4), lambda ctx, g, h: g * 3 + h * 4)
    return Pair


@gives([[0.0], None, None, [0.0], [3.0], [[[0.0]], [[0.0]], [None]]])
def none_from_a_backward_reaches_the_next_function_as_zeros(torch):
    Stop, Pair, found = _gives_none(torch), _pair(torch), []
    programs = [
        lambda x: Stop.apply(Pair.apply(x)[0].exp() * 2),
        lambda x: Stop.apply(x * 2),
        lambda x: Stop.apply(x),
        lambda x: Stop.apply(Pair.apply(Pair.apply(x)[1] + 1)[0] * x),
        lambda x: Stop.apply(y := Pair.apply(x)[0]) + y,
    ]
    for f in programs:
        x = leaf(torch, [1.0])
        f(x).sum().backward()
        found.append(x.grad)
    x = leaf(torch, [1.0])
    slopes = [
        torch.autograd.grad(programs[i](x).sum(), x, allow_unused=True, create_graph=again)
        for i, again in ((0, False), (0, True), (1, False))
    ]
    return *found, slopes
