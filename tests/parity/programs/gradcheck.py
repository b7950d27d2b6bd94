"""`gradcheck` and `gradgradcheck` pass, fail and report failures, in forward mode and for batches, too."""

from tests.parity.harness import attempt, function, gives, leaf


def _double(torch, values):
    return leaf(torch, values, torch.float64)


def _wrong(torch):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x

    Wrong = function(torch, forward, backward)
    return Wrong.apply


def _cube(torch):
    class Cube(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x**3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3 * x**2 * g

        @staticmethod
        def jvp(ctx, x_t):
            (x,) = ctx.saved_tensors
            return 3 * x**2 * x_t

    return Cube.apply


@gives([True, True, True])
def right_gradients_pass(torch):
    x, w = _double(torch, [[1.0, 2.0], [3.0, 4.0]]), _double(torch, [[0.5], [-1.0]])
    check = torch.autograd.gradcheck
    return check(torch.mm, (x, w)), check(lambda a: a.sin() * a.exp(), (x,)), check(torch.sum, x)


@gives(RuntimeError)
def wrong_gradient_raises(torch):
    return attempt(torch.autograd.gradcheck, _wrong(torch), (_double(torch, [1.0, 2.0]),))


@gives([False, True, True, True])
def wrong_gradient_in_fast_mode(torch):
    x = _double(torch, [1.0, 2.0])
    check = torch.autograd.gradcheck
    return [
        check(_wrong(torch), (x,), fast_mode=True, raise_exception=False),
        check(torch.sin, (x,), fast_mode=True),
        check(torch.sin, (x,), fast_mode=False),
        check(lambda t: t @ t, (x,), fast_mode=True),
    ]


@gives(True)
def failure_is_a_runtime_error(torch):
    return isinstance(attempt(torch.autograd.gradcheck, _wrong(torch), (_double(torch, [1.0]),)), RuntimeError)


@gives(ValueError)
def inputs_without_grad_raise(torch):
    x = torch.ones(2, dtype=torch.float64)
    return attempt(torch.autograd.gradcheck, torch.sin, (x,))


@gives([True, True, True])
def several_outputs_and_integer_outputs(torch):
    x = _double(torch, [3.0, 1.0, 2.0])
    check = torch.autograd.gradcheck
    return (
        check(lambda t: (t * 2, t.sum(), t * t), (x,)),
        check(lambda t: t.sort().values, (x,)),
        check(lambda t: t.max(0), (x,)),
    )


@gives([RuntimeError, True])
def constant_output(torch):
    x = _double(torch, [1.0])
    return attempt(torch.autograd.gradcheck, lambda t: t.detach() * 2, (x,)), attempt(
        torch.autograd.gradcheck, lambda t: (t * 2, torch.ones(1, dtype=torch.float64)), (x,)
    )


@gives(False)
def single_precision_fails_with_default_tolerances(torch):
    x = leaf(torch, [1.234, 2.345])
    return torch.autograd.gradcheck(lambda t: (t * 10).exp(), (x,), raise_exception=False)


@gives([True, True, True, True])
def forward_mode_checked(torch):
    x = _double(torch, [[1.0, 2.0], [0.5, 4.0]])
    check = torch.autograd.gradcheck
    functions = [torch.sin, lambda t: t.softmax(1), lambda t: t @ t, _cube(torch)]
    return [check(f, (x,), check_forward_ad=True) for f in functions]


@gives([True, True, True, True, True])
def batched_gradients_checked(torch):
    x = _double(torch, [[1.0, 2.0], [3.0, 4.0]])
    check = torch.autograd.gradcheck
    functions = [torch.sin, lambda t: t @ t, lambda t: t.cumsum(1), lambda t: t[[0, 0, 1]], _cube(torch)]
    return [check(f, (x,), check_batched_grad=True) for f in functions]


@gives([True, True])
def batched_forward_mode_checked(torch):
    x = _double(torch, [[1.0, 2.0], [3.0, 4.0]])
    functions = [torch.sin, lambda t: t @ t]
    return [
        torch.autograd.gradcheck(f, (x,), check_forward_ad=True, check_batched_forward_grad=True) for f in functions
    ]


@gives([True, True, True, True])
def second_derivatives_pass(torch):
    x, y = _double(torch, [1.0, 2.0]), _double(torch, [0.5, -0.5])
    check = torch.autograd.gradgradcheck
    return (
        check(torch.sin, (x,)),
        check(torch.mul, (x, y)),
        check(_cube(torch), (x,)),
        check(lambda t: t.exp().sum(), (x,)),
    )


@gives([True, False])
def second_derivatives_of_a_careless_function_fail(torch):
    def forward(ctx, x):
        ctx.x = x.detach()
        return x**3

    Careless = function(torch, forward, lambda ctx, g: 3 * ctx.x**2 * g)
    x = _double(torch, [1.0, 2.0])
    return torch.autograd.gradcheck(Careless.apply, (x,)), torch.autograd.gradgradcheck(
        Careless.apply, (x,), raise_exception=False
    )


@gives(True)
def second_derivatives_with_given_grad_outputs(torch):
    x = _double(torch, [1.0, 2.0])
    v = _double(torch, [0.3, 0.7])
    return torch.autograd.gradgradcheck(lambda t: t**3, (x,), grad_outputs=(v,))


@gives([True, True])
def second_derivatives_forward_over_reverse(torch):
    x = _double(torch, [1.0, 2.0])
    check = torch.autograd.gradgradcheck
    return check(torch.tanh, (x,), check_fwd_over_rev=True), check(_cube(torch), (x,), check_fwd_over_rev=True)


@gives([True, RuntimeError])
def second_derivatives_of_once_differentiable_fail(torch):
    class Once(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g

    x = _double(torch, [1.0, 2.0])
    return torch.autograd.gradcheck(Once.apply, (x,)), attempt(torch.autograd.gradgradcheck, Once.apply, (x,))


@gives([True, True])
def views_and_in_place_in_the_function(torch):
    def function(t):
        y = t.clone()
        y[0] *= 2
        y[:, 1].sin_()
        return y.t()

    x = _double(torch, [[1.0, 2.0], [3.0, 4.0]])
    return torch.autograd.gradcheck(function, (x,)), torch.autograd.gradgradcheck(function, (x,))


@gives([None, [1.0, 2.0]])
def leaf_grad_is_left_alone(torch):
    x = _double(torch, [1.0, 2.0])
    torch.autograd.gradcheck(torch.sin, (x,))
    return x.grad, x


@gives([False, True])
def nondeterministic_backward_fails(torch):
    count = []

    def backward(ctx, g):
        count.append(1)
        return g * (2 + 1e-7 * len(count))

    Unsteady = function(torch, backward=backward)
    x = _double(torch, [1.0])
    check = torch.autograd.gradcheck
    return [
        check(Unsteady.apply, (x,), raise_exception=False),
        check(Unsteady.apply, (x,), nondet_tol=1.0, raise_exception=False),
    ]


@gives([RuntimeError, False, False])
def backward_that_forgets_the_gradient_fails(torch):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sum()

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return torch.ones_like(x)

    Total = function(torch, forward, backward)
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    check = torch.autograd.gradcheck
    return (
        attempt(check, Total.apply, (x,)),
        check(Total.apply, (x,), raise_exception=False),
        check(Total.apply, (x,), raise_exception=False, fast_mode=True),
    )
