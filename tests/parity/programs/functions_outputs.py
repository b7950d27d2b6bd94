"""Outputs of custom Functions: several, unused, repeated, not differentiable, inputs and views of them."""

from tests.parity.harness import attempt, function, gives, leaf


@gives([True, 0, 1, [320.0]])
def several_outputs(torch):
    two = function(torch, lambda ctx, x: (x * 2, x * 3), lambda ctx, a, b: 2 * a + 3 * b)
    x = leaf(torch, [1.0])
    a, b = two.apply(x)
    (a * 10 + b * 100).sum().backward()
    return a.grad_fn is b.grad_fn, a.output_nr, b.output_nr, x.grad


@gives([[[True, False]], [3.0]])
def unused_output_gives_none_when_not_materialized(torch):
    seen = []

    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    two = function(torch, forward, lambda ctx, a, b: seen.append([a is None, b is None]) or 3 * b)
    x = leaf(torch, [1.0])
    two.apply(x)[1].sum().backward()
    return seen, x.grad


@gives([[], [5.0]])
def both_outputs_none_is_never_called(torch):
    x, seen = leaf(torch, [1.0]), []
    two = function(torch, lambda ctx, x: (x * 2, x * 3), lambda ctx, a, b: seen.append(1) or a + b)
    two.apply(x)
    (x * 5).sum().backward()
    return seen, x.grad


@gives([[[None, None, None]], 7, "text", None, [2.0]])
def non_tensor_outputs_pass_through(torch):
    seen = []

    def backward(ctx, a, b, c, d):
        seen.append([b, c, d])
        return 2 * a

    func = function(torch, lambda ctx, x: (x * 2, 7, "text", None), backward)
    x = leaf(torch, [1.0])
    y, seven, text, nothing = func.apply(x)
    y.sum().backward()
    return seen, seven, text, nothing, x.grad


@gives([False, False, True, [[[0, 0], [False, False]]], [2.0, 2.0]])
def integer_output_does_not_require_grad(torch):
    seen = []

    def forward(ctx, x):
        return x * 2, x.argsort(), x > 0

    def backward(ctx, a, b, c):
        seen.append([b, c])
        return 2 * a

    x = leaf(torch, [3.0, 1.0])
    y, order, mask = function(torch, forward, backward).apply(x)
    y.sum().backward()
    return order.requires_grad, mask.requires_grad, order.is_leaf, seen, x.grad


@gives([False, True, [[0.0]], [2.0]])
def marked_non_differentiable_output(torch):
    seen = []

    def forward(ctx, x):
        a, b = x * 2, x * 3
        ctx.mark_non_differentiable(b)
        return a, b

    two = function(torch, forward, lambda ctx, a, b: seen.append(b) or 2 * a)
    x = leaf(torch, [1.0])
    a, b = two.apply(x)
    (a + b).sum().backward()
    return b.requires_grad, b.is_leaf, seen, x.grad


@gives([False, True, [2.0]])
def everything_marked_non_differentiable(torch):
    def forward(ctx, x):
        y = x * 2
        ctx.mark_non_differentiable(y)
        return y

    y = function(torch, forward, lambda ctx, g: g).apply(leaf(torch, [1.0]))
    return y.requires_grad, y.grad_fn is None, y


@gives([False, False, True, [10.0]])
def input_returned_as_it_is(torch):
    Same = function(torch, lambda ctx, x: x, lambda ctx, g: g * 10)
    x = leaf(torch, [1.0])
    y = Same.apply(x)
    y.sum().backward()
    return y is x, y.is_leaf, x.is_leaf, x.grad


@gives([[1.0, 2.0], [-3.0, -3.0]])
def input_returned_as_it_is_by_the_separate_form(torch):
    def setup_context(ctx, inputs, output):
        ctx.factor = inputs[1]

    Same = function(torch, lambda x, factor: x, lambda ctx, g: (g * ctx.factor, None), setup_context=setup_context)
    x = leaf(torch, [1.0, 2.0])
    y = Same.apply(x * 1, -1.0)
    (y * 3).sum().backward()
    return y, x.grad


@gives([False, [1.0]])
def untracked_input_returned_as_it_is(torch):
    same = function(torch, lambda ctx, x: x, lambda ctx, g: g)
    x = torch.ones(1)
    y = same.apply(x)
    return y.requires_grad, y


@gives(RuntimeError)
def view_returned_among_two_then_modified(torch):
    two = function(torch, lambda ctx, x: (x.view(-1), x * 2), lambda ctx, a, b: a.view(1, -1) + 2 * b)
    v, _ = two.apply(leaf(torch, [[1.0, 2.0]]) * 1)
    return attempt(v.mul_, 2)


@gives([[2.0], [2.0], [22.0]])
def same_tensor_returned_twice(torch):
    def forward(ctx, x):
        y = x * 2
        return y, y

    two = function(torch, forward, lambda ctx, a, b: 2 * (a + b))
    x = leaf(torch, [1.0])
    a, b = two.apply(x)
    (a + 10 * b).sum().backward()
    return a, b, x.grad


@gives([[[2, 3], "float64"]])
def materialize_grads_default_has_the_shape_of_the_output(torch):
    seen = []

    def forward(ctx, x):
        return x * 2, x.new_ones(2, 3, dtype=torch.float64) * x.sum()

    def backward(ctx, a, b):
        seen.append([list(b.shape), b.dtype])
        return 2 * a

    x = leaf(torch, [1.0])
    function(torch, forward, backward).apply(x)[0].sum().backward()
    return seen


@gives([True, [2.0]])
def constant_output_of_a_tracked_function(torch):
    func = function(torch, lambda ctx, x: torch.ones(2), lambda ctx, g: g.sum() * torch.ones(1))
    x = leaf(torch, [5.0])
    y = func.apply(x)
    y.sum().backward()
    return y.requires_grad, x.grad
