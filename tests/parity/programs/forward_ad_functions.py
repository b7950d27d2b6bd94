"""Forward mode of custom Functions: their jvp in both forms, with views, writes and both modes."""

from tests.parity.harness import attempt, function, gives
from tests.parity.makers import dual_of, parts_of


@gives([[[[0.0], None]], [[30.0], [15.0]]])
def custom_function_with_jvp(torch):
    def forward(ctx, x, y, n):
        ctx.save_for_forward(x, y)
        ctx.n = n
        return x * y * n

    def jvp(ctx, x_t, y_t, n_t):
        x, y = ctx.saved_tensors
        seen.append([y_t, n_t])
        return ctx.n * (x_t * y + x * y_t)

    Product = function(torch, forward, None, jvp=jvp)
    seen = []
    with torch.autograd.forward_ad.dual_level():
        y = Product.apply(dual_of(torch, [2.0], [1.0]), torch.tensor([5.0]), 3)
        return seen, parts_of(torch, y)


@gives([[[6.0], [3.0]], [[5.0], [1.0]]])
def custom_function_with_jvp_in_separate_form(torch):
    def setup_context(ctx, inputs, output):
        ctx.factor = inputs[1]

    Scale = function(
        torch,
        lambda x, factor: (x * factor, x + factor),
        None,
        setup_context=setup_context,
        jvp=lambda ctx, x_t, _: (x_t * ctx.factor, x_t),
    )
    with torch.autograd.forward_ad.dual_level():
        a, b = Scale.apply(dual_of(torch, [2.0], [1.0]), 3.0)
        return parts_of(torch, a), parts_of(torch, b)


@gives([[[False, True]], [[7.0], [1.0]]])
def custom_jvp_without_materialization(torch):
    def forward(ctx, x, y):
        ctx.set_materialize_grads(False)
        return x + y

    def jvp(ctx, x_t, y_t):
        seen.append([x_t is None, y_t is None])
        return x_t

    Add = function(torch, forward, None, jvp=jvp)
    seen = []
    with torch.autograd.forward_ad.dual_level():
        y = Add.apply(dual_of(torch, [2.0], [1.0]), torch.tensor([5.0]))
        return seen, parts_of(torch, y)


@gives([RuntimeError, RuntimeError])
def custom_jvp_of_wrong_number_or_shape_raises(torch):
    def attempt_with(tangents):
        Func = function(torch, backward=None, jvp=lambda ctx, x_t: tangents)
        with torch.autograd.forward_ad.dual_level():
            return attempt(Func.apply, dual_of(torch, [2.0, 3.0], [1.0, 1.0]))

    return attempt_with((torch.ones(2), torch.ones(2))), attempt_with(torch.ones(3))


@gives([True, [[4.0], [2.0]]])
def custom_jvp_in_place(torch):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    Double = function(torch, forward, None, jvp=lambda ctx, x_t: x_t.mul_(2))
    with torch.autograd.forward_ad.dual_level():
        y = dual_of(torch, [2.0], [1.0]) * 1
        return Double.apply(y) is y, parts_of(torch, y)


@gives([[[4.0], [2.0]], 1])
def forward_of_a_function_runs_without_tangents(torch):
    def forward(ctx, x):
        seen.append(torch.autograd.forward_ad.unpack_dual(x * 1).tangent is None)
        return x * 2

    Func = function(torch, forward, None, jvp=lambda ctx, x_t: x_t * 2)
    seen = []
    with torch.autograd.forward_ad.dual_level():
        return parts_of(torch, Func.apply(dual_of(torch, [2.0], [1.0]))), len(seen)
