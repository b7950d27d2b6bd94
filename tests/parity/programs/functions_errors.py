"""Custom Functions that break the protocol: wrong number, shape or kind of gradients, wrong methods, wrong calls."""

from tests.parity.harness import attempt, function, gives, leaf


def _backward_of(torch, values, *gradients):
    """Run the backward of a Function with one argument (or more) that gives these gradients."""

    Func = function(torch, lambda ctx, *arguments: sum(a.sum() for a in arguments), lambda ctx, g: gradients)
    leaves = [leaf(torch, value) for value in values]
    return attempt(Func.apply(*leaves).backward), [x.grad for x in leaves]


@gives(
    {
        "too few": [RuntimeError, [None, None]],
        "too many": [RuntimeError, [None]],
        "too many, of which the last is None": [None, [[1.0]]],
        "none at all": [RuntimeError, [None]],
        "of another shape": [RuntimeError, [None]],
        "too small": [RuntimeError, [None]],
        "without dimensions": [RuntimeError, [None]],
        "larger by broadcasting": [None, [[3.0, 3.0]]],
        "larger by broadcasting, of one element": [None, [[2.0]]],
        "a number": [RuntimeError, [None]],
        "a string": [RuntimeError, [None]],
    }
)
def gradients_of_another_number_or_kind(torch):
    one, pair = torch.ones(1), [[1.0, 2.0]]
    return {
        "too few": _backward_of(torch, [[1.0], [2.0]], one),
        "too many": _backward_of(torch, [[1.0]], one, one),
        "too many, of which the last is None": _backward_of(torch, [[1.0]], one, None),
        "none at all": _backward_of(torch, [[1.0]]),
        "of another shape": _backward_of(torch, pair, torch.ones(3)),
        "too small": _backward_of(torch, pair, one),
        "without dimensions": _backward_of(torch, pair, torch.tensor(1.0)),
        "larger by broadcasting": _backward_of(torch, pair, torch.ones(3, 2)),
        "larger by broadcasting, of one element": _backward_of(torch, [[1.0]], torch.ones(2)),
        "a number": _backward_of(torch, [1.0], 1.0),
        "a string": _backward_of(torch, [1.0], "one"),
    }


@gives([RuntimeError, None])
def gradient_for_a_non_tensor_argument(torch):
    Func = function(torch, lambda ctx, x, n: x * n, lambda ctx, g: (g, g))
    x = leaf(torch, [1.0])
    return attempt(Func.apply(x, 2).sum().backward), x.grad


@gives([True, NotImplementedError])
def backward_not_implemented(torch):
    Func = function(torch, backward=None)
    y = Func.apply(leaf(torch, [1.0]))
    return y.requires_grad, attempt(y.sum().backward)


@gives(NotImplementedError)
def forward_not_implemented(torch):
    class Func(torch.autograd.Function):
        pass

    return attempt(Func.apply, leaf(torch, [1.0]))


@gives(RuntimeError)
def forward_that_is_not_static(torch):
    class Func(torch.autograd.Function):
        def forward(self, x):
            return x * 2

        def backward(self, g):
            return g * 2

    return attempt(lambda: Func()(leaf(torch, [1.0])))


@gives(
    {
        "it is called": RuntimeError,
        "it has backward and vjp": RuntimeError,
        "apply lacks an argument": TypeError,
        "backward lacks a parameter": TypeError,
        "forward returns a number": 5,
    }
)
def functions_that_are_made_or_called_otherwise(torch):
    x = leaf(torch, [1.0])
    both, two = (
        function(torch, vjp=lambda ctx, g: g * 2),
        function(torch, lambda ctx, x: (x * 2, x * 3), lambda ctx, g: g),
    )
    return {
        "it is called": attempt(lambda: function(torch)()(x)),
        "it has backward and vjp": attempt(lambda: both.apply(x).sum().backward()),
        "apply lacks an argument": attempt(function(torch, lambda ctx, x, y: x * y, lambda ctx, g: (g, g)).apply, x),
        "backward lacks a parameter": attempt(lambda: two.apply(x)[0].sum().backward()),
        "forward returns a number": attempt(function(torch, lambda ctx, x: 5, lambda ctx, g: None).apply, x),
    }


@gives([TypeError, True, RuntimeError, [2.0]])
def ctx_is_told_of_what_is_no_tensor_or_no_output(torch):
    def after(tell):
        def forward(ctx, x):
            tell(ctx, x)
            return x * 2

        return attempt(function(torch, forward).apply, leaf(torch, [1.0]))

    return [
        after(lambda ctx, x: ctx.save_for_backward(x, 3)),
        isinstance(after(lambda ctx, x: ctx.save_for_forward(x, "text")), Exception),
        after(lambda ctx, x: ctx.mark_non_differentiable(3)),
        after(lambda ctx, x: ctx.mark_non_differentiable(x)),
    ]


@gives([KeyError, True])
def setup_context_that_raises(torch):
    def setup_context(ctx, inputs, output):
        raise KeyError("setup")

    Func = function(torch, lambda x: x * 2, None, setup_context=setup_context)
    return attempt(Func.apply, leaf(torch, [1.0])), torch.is_grad_enabled()


@gives(NotImplementedError)
def forward_mode_without_jvp(torch):
    Func = function(torch)
    fw = torch.autograd.forward_ad
    with fw.dual_level():
        return attempt(Func.apply, fw.make_dual(torch.ones(1), torch.ones(1)))


@gives(True)
def dirty_argument_is_no_input(torch):
    def forward(ctx, x):
        y = x * 2
        ctx.mark_dirty(y)
        return y

    Func = function(torch, forward)
    error = attempt(lambda: Func.apply(leaf(torch, [1.0])).sum().backward())
    return error is None or isinstance(error, RuntimeError)
