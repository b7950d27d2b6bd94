"""Custom Functions that write: `mark_dirty` on leaves, results and views, and what happens without it."""

from tests.parity.harness import attempt, function, gives, leaf


def _double_(torch):
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    Double = function(torch, forward)
    return Double


@gives([True, False, [6.0, 12.0], [6.0, 6.0]])
def dirty_result_keeps_its_identity(torch):
    x = leaf(torch, [1.0, 2.0])
    y = x * 3
    before = y.grad_fn
    z = _double_(torch).apply(y)
    z.sum().backward()
    return z is y, y.grad_fn is before, y, x.grad


@gives(RuntimeError)
def dirty_leaf_raises(torch):
    x = leaf(torch, [1.0])
    return attempt(_double_(torch).apply, x)


@gives([[2.0], [2.0], True, True])
def dirty_leaf_without_grad_mode(torch):
    x = leaf(torch, [1.0])
    with torch.no_grad():
        y = _double_(torch).apply(x)
    return y.detach(), x, x.is_leaf, x.requires_grad


@gives([True, [2.0, 2.0], [2.0, 1.0]])
def dirty_view_changes_the_base(torch):
    x = leaf(torch, [1.0, 2.0])
    base = x * 1
    v = base[:1]
    w = _double_(torch).apply(v)
    base.sum().backward()
    return w is v, base, x.grad


@gives([[2.0], [2.0, 0.0]])
def dirty_base_changes_its_views(torch):
    x = leaf(torch, [1.0, 2.0])
    base = x * 1
    v = base[:1]
    _double_(torch).apply(base)
    v.sum().backward()
    return v, x.grad


@gives(RuntimeError)
def dirty_view_of_a_leaf_raises(torch):
    x = leaf(torch, [1.0, 2.0])
    return attempt(_double_(torch).apply, x[:1])


@gives(RuntimeError)
def dirty_invalidates_what_was_saved_before(torch):
    x = leaf(torch, [1.0, 2.0])
    y = x * 1
    z = (y * y).sum()
    _double_(torch).apply(y)
    return attempt(z.backward)


@gives(RuntimeError)
def dirty_input_not_returned(torch):
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x.sum()

    Func = function(torch, forward)
    x = leaf(torch, [1.0])
    return attempt(lambda: Func.apply(x * 1).backward())


@gives([[2.0, 4.0], [6.0, 6.0]])
def dirty_inside_a_list_of_outputs(torch):
    def forward(ctx, n, x):
        ctx.n = n
        x.mul_(2)
        ctx.mark_dirty(x)
        return (x,)

    Func = function(torch, forward, lambda ctx, g: (None, g * ctx.n))
    x = leaf(torch, [1.0, 2.0])
    (y,) = Func.apply(6, x * 1)
    y.sum().backward()
    return y, x.grad


@gives(True)
def version_counts_a_dirty_write(torch):
    y = leaf(torch, [1.0]) * 1
    before = y._version
    _double_(torch).apply(y)
    return y._version > before


@gives([[2.0], RuntimeError])
def ordinary_in_place_on_the_result_of_a_function(torch):
    def forward(ctx, x):
        result = x.exp()
        ctx.save_for_backward(result)
        return result

    Exp = function(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0])
    Double = function(torch)
    x = leaf(torch, [1.0])
    y, z = Exp.apply(x), Double.apply(x)
    y.add_(1)
    z.add_(1)
    z.sum().backward()
    return x.grad, attempt(y.sum().backward)


@gives([[20.0, 4.0], [20.0, 2.0]])
def in_place_on_a_view_of_the_result_of_a_function(torch):
    Double = function(torch)
    x = leaf(torch, [1.0, 2.0])
    y = Double.apply(x)
    y[0].mul_(10)
    y.sum().backward()
    return y, x.grad


@gives([[2.0], False, True, [2.0], False])
def untracked_dirty_result_does_not_require_grad(torch):
    double_, x, y = _double_(torch), leaf(torch, [1.0]), leaf(torch, [1.0]) * 1
    with torch.no_grad():
        z, w = double_.apply(x), double_.apply(y)
    return z, z.requires_grad, x.requires_grad, w, w.requires_grad


@gives([[1.0, 1.0], [6.0, 6.0]])
def retain_grad_follows_a_dirty_input(torch):
    x = leaf(torch, [1.0, 2.0])
    y = x * 3
    y.retain_grad()
    _double_(torch).apply(y)
    y.sum().backward()
    return y.grad, x.grad


@gives([[3.0, 3.0], [122.0, 122.0]])
def other_argument_that_is_a_view_of_the_dirty_one(torch):
    def forward(ctx, x, view):
        ctx.mark_dirty(x)
        x.numpy()[...] *= 3
        return x

    Triple = function(torch, forward, lambda ctx, g: (g * 3, torch.full_like(g, 104)))
    x = leaf(torch, [1.0, 1.0])
    y = x * 1
    view = y[:]
    Triple.apply(y, view)
    (view * view).sum().backward()
    return view, x.grad
