"""The protocol of custom Functions: both forms, ctx, several inputs and outputs, None, repeated outputs, nesting."""

from tests.parity.harness import attempt, gives, leaf


def _square(torch, seen=None):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            if seen is not None:
                seen.append(g)
            return 2 * x * g

    return Square


def _scaled_product(torch):
    class ScaledProduct(torch.autograd.Function):
        @staticmethod
        def forward(x, y, factor):
            return x * y * factor

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, y, ctx.factor = inputs
            ctx.save_for_backward(x, y)

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * y * ctx.factor, g * x * ctx.factor, None

    return ScaledProduct


def _two(torch, forward, backward):
    """A Function with one input and two outputs."""
    return type(
        "Two",
        (torch.autograd.Function,),
        {"forward": staticmethod(forward), "backward": staticmethod(backward)},
    )


@gives([[1.0, 9.0], [2.0, -6.0]])
def combined_form(torch):
    x = leaf(torch, [1.0, -3.0])
    y = _square(torch).apply(x)
    y.sum().backward()
    return y, x.grad


@gives([[30.0, 80.0], [30.0, 40.0], [10.0, 20.0]])
def separate_form(torch):
    x, y = leaf(torch, [1.0, 2.0]), leaf(torch, [3.0, 4.0])
    z = _scaled_product(torch).apply(x, y, 10)
    z.sum().backward()
    return z, x.grad, y.grad


@gives(["SquareBackward", "SquareBackward", False, True, True])
def output_has_the_backward_of_the_function(torch):
    y = _square(torch).apply(leaf(torch, [1.0]))
    node = y.grad_fn
    return node.name(), type(node).__name__, y.is_leaf, y.requires_grad, "Square" in repr(y)


@gives([[["tuple", [3, "a", None], "tuple", 1]], [3.0]])
def setup_context_gets_inputs_and_output_as_documented(torch):
    seen = []

    class Func(torch.autograd.Function):
        @staticmethod
        def forward(x, n, text, nothing):
            return (x * n,)

        @staticmethod
        def setup_context(ctx, inputs, output):
            seen.append([type(inputs).__name__, list(inputs[1:]), type(output).__name__, len(output)])

        @staticmethod
        def backward(ctx, g):
            return g, None, None, None

    (y,) = Func.apply(leaf(torch, [1.0]), 3, "a", None)
    return seen, y


@gives([[[True, False, False, True], [True, False, False, True]], [1.0]])
def needs_input_grad_follows_the_arguments(torch):
    seen = []

    class Func(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b, n, c):
            seen.append(list(ctx.needs_input_grad))
            return a + b + c * n

        @staticmethod
        def backward(ctx, g):
            seen.append(list(ctx.needs_input_grad))
            return g, g, None, g

    a, b, c = leaf(torch, [1.0]), torch.tensor([1.0]), leaf(torch, [2.0]) * 1
    Func.apply(a, b, 2, c).sum().backward()
    return seen, a.grad


@gives([False, False, [[True, False], [False, False]]])
def needs_input_grad_without_any(torch):
    seen = []

    class Func(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            seen.append(list(ctx.needs_input_grad))
            return a + b

        @staticmethod
        def backward(ctx, g):
            return g, g

    with torch.no_grad():
        quiet = Func.apply(leaf(torch, [1.0]), torch.ones(1))
    return Func.apply(torch.ones(1), torch.ones(1)).requires_grad, quiet.requires_grad, seen


@gives([[[3.0]], [[True, True]]])
def needs_input_grad_under_partial_grad(torch):
    seen = []

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            seen.append(list(ctx.needs_input_grad))
            return g * b, g * a

    a, b = leaf(torch, [2.0]), leaf(torch, [3.0])
    return torch.autograd.grad(Product.apply(a, b).sum(), a), seen


@gives([[[False, True, False], [False, False]], True])
def forward_runs_without_grad_mode(torch):
    seen = []

    class Func(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            seen.append([torch.is_grad_enabled(), x.requires_grad, y.requires_grad])
            return y

        @staticmethod
        def backward(ctx, g):
            seen.append([torch.is_grad_enabled(), g.requires_grad])
            return g * 2

    x = leaf(torch, [1.0])
    Func.apply(x).sum().backward()
    return seen, torch.is_grad_enabled()


@gives([[[True, True]], [12.0], [12.0]])
def backward_runs_with_grad_mode_under_create_graph(torch):
    seen = []

    class Func(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            seen.append([torch.is_grad_enabled(), x.requires_grad])
            return 3 * x**2 * g

    x = leaf(torch, [2.0])
    (g,) = torch.autograd.grad(Func.apply(x).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    return seen, g, h


@gives([[32.0], [48.0], [[48.0]]])
def double_backward_through_saved_input(torch):
    x = leaf(torch, [2.0], torch.float64)
    (g,) = torch.autograd.grad(_square(torch).apply(_square(torch).apply(x)).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x, create_graph=True)
    return g, h, torch.autograd.grad(h.sum(), x)


def double_backward_through_saved_output(torch):
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            result = x.exp()
            ctx.save_for_backward(result)
            return result

        @staticmethod
        def backward(ctx, g):
            (result,) = ctx.saved_tensors
            return g * result

    x = leaf(torch, [0.0, 1.0], torch.float64)
    (g,) = torch.autograd.grad((Exp.apply(x) ** 2).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    return g, h


@gives([[1800.0], [400.0]])
def double_backward_with_respect_to_two_inputs(torch):
    x, y = leaf(torch, [2.0]), leaf(torch, [3.0])
    z = _scaled_product(torch).apply(x * x, y, 5)
    gx, gy = torch.autograd.grad(z.sum(), (x, y), create_graph=True)
    return torch.autograd.grad((gx * gy).sum(), (x, y))


@gives([[True, True, False, True, True]])
def saved_input_is_the_input_itself(torch):
    seen = []

    class Func(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x + y

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            seen.append([a.is_leaf, a.requires_grad, b.is_leaf, b.requires_grad, b.grad_fn is not None])
            return g, g

    x = leaf(torch, [1.0])
    Func.apply(x, x * 2).sum().backward()
    return seen


@gives([[True, True, False, [2.0]]])
def saved_output_has_its_grad_fn(torch):
    seen = []

    class Func(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            seen.append([y.requires_grad, y.grad_fn is ctx, y.is_leaf, y])
            return g * 2

    x = leaf(torch, [1.0])
    Func.apply(x).sum().backward()
    return seen


@gives([[[None, None, False, "tuple"]], [4.0]])
def saving_none_and_untracked_tensors(torch):
    seen = []

    class Func(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, c):
            ctx.save_for_backward(None, c, x, None)
            return x * c

        @staticmethod
        def backward(ctx, g):
            a, c, x, b = ctx.saved_tensors
            seen.append([a, b, c.requires_grad, type(ctx.saved_tensors).__name__])
            return g * c, None

    x = leaf(torch, [1.0])
    Func.apply(x, torch.tensor([4.0])).sum().backward()
    return seen, x.grad


@gives([[[]], [2.0]])
def saving_nothing_gives_an_empty_tuple(torch):
    seen = []

    class Func(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            seen.append(list(ctx.saved_tensors))
            return g * 2

    x = leaf(torch, [1.0])
    Func.apply(x).sum().backward()
    return seen, x.grad


@gives([0.841471])
def saving_an_intermediate(torch):
    class Func(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            middle = x.sin()
            ctx.save_for_backward(x, middle)
            return middle * middle

        @staticmethod
        def backward(ctx, g):
            x, middle = ctx.saved_tensors
            return g * 2 * middle * x.cos()

    x = leaf(torch, [0.5], torch.float64)
    Func.apply(x).sum().backward()
    return x.grad


@gives(True)
def saving_twice_keeps_the_last(torch):
    class Func(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.save_for_backward(x * 10, x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    x = leaf(torch, [3.0])
    error = attempt(lambda: Func.apply(x).sum().backward())
    return isinstance(error, RuntimeError) or x.grad.tolist() == [30.0]


@gives([[["func", [1, 2], [2], False]], [3.0, 3.0]])
def attributes_on_ctx(torch):
    seen = []

    class Func(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, n):
            ctx.n, ctx.name_of_it, ctx.saved, ctx.shape = n, "func", [1, 2], x.shape
            return x.sum() * n

        @staticmethod
        def backward(ctx, g):
            seen.append([ctx.name_of_it, ctx.saved, tuple(ctx.shape), hasattr(ctx, "other")])
            return g.expand(ctx.shape) * ctx.n, None

    x = leaf(torch, [1.0, 2.0])
    Func.apply(x, 3).backward()
    return seen, x.grad


@gives([True, "here"])
def ctx_of_backward_is_the_node(torch):
    seen = []

    class Func(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.tag = "here"
            return x * 2

        @staticmethod
        def backward(ctx, g):
            seen.append(ctx)
            return g * 2

    y = Func.apply(leaf(torch, [1.0]))
    y.sum().backward()
    return seen[0] is y.grad_fn, y.grad_fn.tag


@gives([[44.0], False])
def each_call_has_its_own_ctx(torch):
    x = leaf(torch, [2.0])
    product = _scaled_product(torch)
    a, b = product.apply(x, x, 1), product.apply(x, x, 10)
    (a + b).sum().backward()
    return x.grad, a.grad_fn is b.grad_fn


@gives([10.0])
def non_tensor_arguments_of_every_kind(torch):
    class Func(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, number, text, flag, nothing, options, function):
            ctx.factor = number * options["factor"]
            return function(x) * ctx.factor

        @staticmethod
        def backward(ctx, g):
            return g * ctx.factor, None, None, None, None, None, None

    x = leaf(torch, [1.0])
    Func.apply(x, 2.5, "a", True, None, {"factor": 4}, lambda t: t + 0).sum().backward()
    return x.grad


@gives([2.0])
def trailing_none_gradients_may_be_too_many(torch):
    class Func(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2, None, None

    x = leaf(torch, [1.0])
    Func.apply(x).sum().backward()
    return x.grad


@gives([[6.0], [1.0]])
def optional_tensor_argument(torch):
    class Affine(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, bias=None):
            ctx.needs = list(ctx.needs_input_grad)
            return x * 2 if bias is None else x * 2 + bias

        @staticmethod
        def backward(ctx, g):
            return g * 2, (g if len(ctx.needs) > 1 and ctx.needs[1] else None)

    x, b = leaf(torch, [1.0]), leaf(torch, [5.0])
    (Affine.apply(x) + Affine.apply(x, None) + Affine.apply(x, b)).sum().backward()
    return x.grad, b.grad


@gives([8.0])
def default_arguments_of_forward(torch):
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor=3):
            ctx.factor = factor
            return x * factor

        @staticmethod
        def backward(ctx, g):
            return g * ctx.factor, None

    x = leaf(torch, [1.0])
    (Scale.apply(x) + Scale.apply(x, 5)).sum().backward()
    return x.grad


@gives([[[True, False], [True, True]], [8.0], [2.0]])
def keyword_arguments_and_defaults_count_as_inputs(torch):
    seen = []

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor=3):
            ctx.save_for_backward(x)
            ctx.factor = factor
            return x * factor

        @staticmethod
        def backward(ctx, g):
            seen.append(list(ctx.needs_input_grad))
            return g * ctx.factor, g * ctx.saved_tensors[0]

    x, w = leaf(torch, [2.0]), leaf(torch, [0.0])

    class Plain(Scale):
        @staticmethod
        def backward(ctx, g):
            seen.append(list(ctx.needs_input_grad))
            return g * ctx.factor, None

    Plain.apply(x, factor=5).sum().backward()
    Scale.apply(x, factor=w).sum().backward()
    Plain.apply(x).sum().backward()
    return seen[:2], x.grad, w.grad


@gives([[[2.0], 5], [[2.0], 3], [16.0]])
def keyword_arguments_in_separate_form(torch):
    seen = []

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(x, factor=3):
            return x * factor

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.factor = inputs
            seen.append([x.detach(), ctx.factor])

        @staticmethod
        def backward(ctx, g):
            return g * ctx.factor, None

    x = leaf(torch, [2.0])
    (Scale.apply(x, factor=5) + Scale.apply(x)).sum().backward()
    Scale.apply(x, 8).sum().backward()
    return seen[0], seen[1], x.grad


@gives([TypeError, TypeError])
def unknown_or_missing_arguments_of_apply(torch):
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            return x * factor

    x = leaf(torch, [1.0])
    return attempt(Scale.apply, x, 2, other=3), attempt(Scale.apply, x)


@gives([[1.0], None])
def none_gradient_leaves_none(torch):
    class Func(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * y

        @staticmethod
        def backward(ctx, g):
            return g, None

    x, y = leaf(torch, [1.0]), leaf(torch, [2.0])
    Func.apply(x, y).sum().backward()
    return x.grad, y.grad


@gives([None, [1.0]])
def none_gradient_into_a_further_operation(torch):
    class Stop(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return None

    x = leaf(torch, [1.0])
    Stop.apply(x * 3).sum().backward()
    first = x.grad
    (Stop.apply(x * 3) + x).sum().backward()
    return first, x.grad


@gives([RuntimeError, [None]])
def none_gradient_under_autograd_grad(torch):
    class Stop(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return None

    x = leaf(torch, [1.0])
    y = lambda: Stop.apply(x * 3).sum()
    return attempt(torch.autograd.grad, y(), x), torch.autograd.grad(y(), x, allow_unused=True)


@gives([True, 0, 1, [320.0]])
def several_outputs(torch):
    two = _two(torch, lambda ctx, x: (x * 2, x * 3), lambda ctx, a, b: 2 * a + 3 * b)
    x = leaf(torch, [1.0])
    a, b = two.apply(x)
    (a * 10 + b * 100).sum().backward()
    return a.grad_fn is b.grad_fn, a.output_nr, b.output_nr, x.grad


@gives([[[[1.0, 1.0], 0.0]], [2.0, 2.0]])
def unused_output_gives_zeros(torch):
    seen = []
    two = _two(torch, lambda ctx, x: (x * 2, x.sum()), lambda ctx, a, b: seen.append([a, b]) or 2 * a + b)
    x = leaf(torch, [1.0, 2.0])
    two.apply(x)[0].sum().backward()
    return seen, x.grad


@gives([[[True, False]], [3.0]])
def unused_output_gives_none_when_not_materialized(torch):
    seen = []

    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    two = _two(torch, forward, lambda ctx, a, b: seen.append([a is None, b is None]) or 3 * b)
    x = leaf(torch, [1.0])
    two.apply(x)[1].sum().backward()
    return seen, x.grad


@gives([[], [5.0]])
def both_outputs_none_is_never_called(torch):
    x, seen = leaf(torch, [1.0]), []
    two = _two(torch, lambda ctx, x: (x * 2, x * 3), lambda ctx, a, b: seen.append(1) or a + b)
    two.apply(x)
    (x * 5).sum().backward()
    return seen, x.grad


@gives(["tuple", 1, True])
def tuple_of_one_output(torch):
    one = _two(torch, lambda ctx, x: (x * 2,), lambda ctx, a: 2 * a)
    result = one.apply(leaf(torch, [1.0]))
    return type(result).__name__, len(result), result[0].requires_grad


@gives([[[None, None, None]], 7, "text", None, [2.0]])
def non_tensor_outputs_pass_through(torch):
    seen = []

    def backward(ctx, a, b, c, d):
        seen.append([b, c, d])
        return 2 * a

    func = _two(torch, lambda ctx, x: (x * 2, 7, "text", None), backward)
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
    y, order, mask = _two(torch, forward, backward).apply(x)
    y.sum().backward()
    return order.requires_grad, mask.requires_grad, order.is_leaf, seen, x.grad


@gives([2.0, 0.0, 1.0])
def integer_inputs(torch):
    class Take(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, index):
            ctx.save_for_backward(index)
            ctx.shape = x.shape
            return x[index]

        @staticmethod
        def backward(ctx, g):
            (index,) = ctx.saved_tensors
            return torch.zeros(ctx.shape).index_add_(0, index, g), None

    x = leaf(torch, [1.0, 2.0, 3.0])
    Take.apply(x, torch.tensor([0, 0, 2])).sum().backward()
    return x.grad


@gives([False, True, [[0.0]], [2.0]])
def marked_non_differentiable_output(torch):
    seen = []

    def forward(ctx, x):
        a, b = x * 2, x * 3
        ctx.mark_non_differentiable(b)
        return a, b

    two = _two(torch, forward, lambda ctx, a, b: seen.append(b) or 2 * a)
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

    y = _two(torch, forward, lambda ctx, g: g).apply(leaf(torch, [1.0]))
    return y.requires_grad, y.grad_fn is None, y


@gives([False, False, True, [10.0]])
def input_returned_as_it_is(torch):
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 10

    x = leaf(torch, [1.0])
    y = Same.apply(x)
    y.sum().backward()
    return y is x, y.is_leaf, x.is_leaf, x.grad


@gives([[1.0, 2.0], [-3.0, -3.0]])
def input_returned_as_it_is_by_the_separate_form(torch):
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(x, factor):
            return x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.factor = inputs[1]

        @staticmethod
        def backward(ctx, g):
            return g * ctx.factor, None

    x = leaf(torch, [1.0, 2.0])
    y = Same.apply(x * 1, -1.0)
    (y * 3).sum().backward()
    return y, x.grad


@gives([False, [1.0]])
def untracked_input_returned_as_it_is(torch):
    same = _two(torch, lambda ctx, x: x, lambda ctx, g: g)
    x = torch.ones(1)
    y = same.apply(x)
    return y.requires_grad, y


@gives([[1.0, 2.0], True, [[20.0, 40.0], [0.0, 0.0]]])
def view_of_the_input_returned(torch):
    class Row(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.shape = x.shape
            return x[0]

        @staticmethod
        def backward(ctx, g):
            result = torch.zeros(ctx.shape)
            result[0] = g * 10
            return result

    x = leaf(torch, [[1.0, 2.0], [3.0, 4.0]])
    y = Row.apply(x)
    (y * y).sum().backward()
    return y, y._base is x, x.grad


@gives(RuntimeError)
def view_returned_among_two_then_modified(torch):
    two = _two(torch, lambda ctx, x: (x.view(-1), x * 2), lambda ctx, a, b: a.view(1, -1) + 2 * b)
    v, _ = two.apply(leaf(torch, [[1.0, 2.0]]) * 1)
    return attempt(v.mul_, 2)


@gives([[2.0], [2.0], [22.0]])
def same_tensor_returned_twice(torch):
    def forward(ctx, x):
        y = x * 2
        return y, y

    two = _two(torch, forward, lambda ctx, a, b: 2 * (a + b))
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
    _two(torch, forward, backward).apply(x)[0].sum().backward()
    return seen


@gives([[[False, True]], [2.0]])
def set_materialize_grads_in_setup_context(torch):
    seen = []

    class Func(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2, x * 3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.set_materialize_grads(False)

        @staticmethod
        def backward(ctx, a, b):
            seen.append([a is None, b is None])
            return a * 2

    x = leaf(torch, [1.0])
    Func.apply(x)[0].sum().backward()
    return seen, x.grad


@gives([[12.0], [8.0]])
def vjp_is_another_name_of_backward(torch):
    class Func(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y, n):
            ctx.save_for_backward(x, y)
            ctx.n = n
            return x * y * n

        @staticmethod
        def vjp(ctx, g):
            x, y = ctx.saved_tensors
            return g * y * ctx.n, g * x * ctx.n, None

    x, y = leaf(torch, [2.0]), leaf(torch, [3.0])
    Func.apply(x, y, 4).sum().backward()
    return x.grad, y.grad


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


@gives([[12.0], RuntimeError])
def once_differentiable_in_the_middle_of_a_graph(torch):
    class Func(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            return g * 2

    x = leaf(torch, [3.0])
    (g,) = torch.autograd.grad((Func.apply(x) * x).sum(), x, create_graph=True)
    return g, attempt(g.sum().backward)


@gives([[12.0], [12.0]])
def backward_calls_another_function(torch):
    square = _square(torch)

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3 * square.apply(x) * g

    x = leaf(torch, [2.0], torch.float64)
    (g,) = torch.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    return g, h


@gives([[False], [20.0]])
def forward_calls_another_function(torch):
    calls = []
    square = _square(torch, calls)

    class Outer(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            inner = square.apply(x)
            calls.append(inner.requires_grad)
            return inner * 5

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 10 * x * g

    x = leaf(torch, [2.0])
    Outer.apply(x).sum().backward()
    return calls, x.grad


def forward_with_grad_enabled_inside_and_backward_through_it(torch):
    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with torch.enable_grad():
                ctx.x = x.detach().requires_grad_()
                ctx.y = ctx.x.sin() * 2
            return ctx.y.detach()

        @staticmethod
        def backward(ctx, g):
            return torch.autograd.grad(ctx.y, ctx.x, g)[0]

    x = leaf(torch, [0.5], torch.float64)
    (Inner.apply(x) * 3).sum().backward()
    return x.grad


@gives([[4.0, 9.0], [16.0, 54.0], [12.0, 27.0]])
def reentrant_backward_like_a_checkpoint(torch):
    w = leaf(torch, [2.0, 3.0])

    class Checkpoint(torch.autograd.Function):
        @staticmethod
        def forward(ctx, run, x):
            ctx.run = run
            ctx.save_for_backward(x)
            return run(x)

        @staticmethod
        def backward(ctx, g):
            x = ctx.saved_tensors[0].detach().requires_grad_()
            with torch.enable_grad():
                y = ctx.run(x)
            torch.autograd.backward(y, g)
            return None, x.grad

    x = leaf(torch, [1.0, 1.0])
    y = Checkpoint.apply(lambda t: (t * w) ** 2, x)
    Checkpoint.apply(lambda t: t * w, y).sum().backward()
    return y, x.grad, w.grad


@gives([2.0])
def reentrant_backward_nested_deeply(torch):
    class Nest(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, depth):
            ctx.depth = depth
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            if ctx.depth:
                x = ctx.saved_tensors[0].detach().requires_grad_()
                with torch.enable_grad():
                    y = Nest.apply(x, ctx.depth - 1).sum()
                y.backward()
                return g * x.grad, None
            return g * 2, None

    x = leaf(torch, [1.0])
    Nest.apply(x, 30).sum().backward()
    return x.grad


@gives([KeyError, True])
def exception_in_forward_propagates(torch):
    class Func(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            raise KeyError("forward")

    return attempt(Func.apply, leaf(torch, [1.0])), torch.is_grad_enabled()


@gives([KeyError, None, True])
def exception_in_backward_propagates(torch):
    class Func(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise KeyError("backward")

    x = leaf(torch, [1.0])
    return attempt(Func.apply(x).sum().backward), x.grad, torch.is_grad_enabled()


@gives([36.0])
def functions_in_a_chain(torch):
    square, product = _square(torch), _scaled_product(torch)
    x = leaf(torch, [2.0])
    product.apply(square.apply(x), x, 3).sum().backward()
    return x.grad


@gives([[[1.0, 1.0], [1.0, 1.0]], [2.0, 2.0]])
def gradient_of_a_broadcast_argument_is_summed_by_the_user(torch):
    class Add(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, g):
            return g, g.sum(0)

    x, y = leaf(torch, [[1.0, 2.0], [3.0, 4.0]]), leaf(torch, [1.0, 2.0])
    Add.apply(x, y).sum().backward()
    return x.grad, y.grad


@gives([[[2.0, 2.0], [2.0, 2.0]], [2.0, 2.0], 4.0])
def larger_gradient_is_summed_to_the_shape_of_the_input(torch):
    class Add(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, g):
            return g, g

    x, y = leaf(torch, [[1.0, 2.0], [3.0, 4.0]]), leaf(torch, [1.0, 2.0])
    z = leaf(torch, 5.0)
    (Add.apply(x, y) + Add.apply(x, z)).sum().backward()
    return x.grad, y.grad, z.grad


@gives([[10.0, 2.0], [2.0, 2.0]])
def expanded_gradient_is_accepted(torch):
    class Sum(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.shape = x.shape
            return x.sum()

        @staticmethod
        def backward(ctx, g):
            return g.expand(ctx.shape)

    x = leaf(torch, [[1.0, 2.0], [3.0, 4.0]])
    Sum.apply(x).backward()
    x.grad[0, 0] = 9.0
    Sum.apply(x).backward()
    return x.grad


@gives([2.0])
def gradient_of_other_float_dtype_is_converted(torch):
    func = _two(torch, lambda ctx, x: x * 2, lambda ctx, g: g.double() * 2)
    x = leaf(torch, [1.0])
    func.apply(x).sum().backward()
    return x.grad


@gives([None, [3.0]])
def integer_gradient_is_converted(torch):
    func = _two(torch, lambda ctx, x: x * 2, lambda ctx, g: torch.tensor([3]))
    x = leaf(torch, [1.0])
    return attempt(func.apply(x).sum().backward), x.grad


@gives([["float64"], [1.0]])
def incoming_gradient_has_the_dtype_of_the_output(torch):
    seen = []
    func = _two(torch, lambda ctx, x: x.double(), lambda ctx, g: seen.append(g.dtype) or g)
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


def save_for_backward_in_forward_and_setup_context(torch):
    class Func(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x.exp(), x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs, *output)

        @staticmethod
        def backward(ctx, a, b):
            x, e, double = ctx.saved_tensors
            return a * e + b * double / x

    x = leaf(torch, [0.5, 1.0], torch.float64)
    first, second = Func.apply(x)
    (first * 3 + second).sum().backward()
    return x.grad


@gives(RuntimeError)
def saved_input_modified_later_raises(torch):
    x = leaf(torch, [1.0])
    y = x * 1
    z = _square(torch).apply(y)
    y.add_(1)
    return attempt(z.sum().backward)


@gives([1, RuntimeError])
def saved_tensors_after_backward_raises(torch):
    y = _square(torch).apply(leaf(torch, [1.0]))
    before = len(y.grad_fn.saved_tensors)
    y.sum().backward()
    return before, attempt(lambda: y.grad_fn.saved_tensors)


@gives([[8.0], RuntimeError])
def second_backward_of_a_function_raises_unless_retained(torch):
    x = leaf(torch, [2.0])
    y = _square(torch).apply(x).sum()
    y.backward(retain_graph=True)
    y.backward()
    return x.grad, attempt(y.backward)


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
    y = _square(torch).apply(torch.tensor([3.0]))
    return y, y.requires_grad, y.grad_fn is None


@gives([[1.0, 1.0, 1.0], False])
def function_without_tensors(torch):
    func = _two(torch, lambda ctx, n: torch.ones(n), lambda ctx, g: None)
    y = func.apply(3)
    return y, y.requires_grad


@gives([[], 6.0])
def function_on_zero_size_and_zero_dimensions(torch):
    square = _square(torch)
    x, y = leaf(torch, []), leaf(torch, 3.0)
    (square.apply(x).sum() + square.apply(y)).backward()
    return x.grad, y.grad


@gives([True, [2.0]])
def constant_output_of_a_tracked_function(torch):
    func = _two(torch, lambda ctx, x: torch.ones(2), lambda ctx, g: g.sum() * torch.ones(1))
    x = leaf(torch, [5.0])
    y = func.apply(x)
    y.sum().backward()
    return y.requires_grad, x.grad


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


@gives([6.0])
def saved_for_forward_is_not_there_in_backward(torch):
    class Func(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.save_for_forward(x * 2)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0]

    x = leaf(torch, [3.0])
    Func.apply(x).sum().backward()
    return x.grad


@gives([12.0])
def attribute_that_holds_an_input_keeps_working(torch):
    class Func(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.x = x
            return x**3

        @staticmethod
        def backward(ctx, g):
            return 3 * ctx.x**2 * g

    x = leaf(torch, [2.0])
    Func.apply(x).sum().backward(create_graph=True)
    return x.grad.detach()


@gives([1.0, -2.0, 2.0])
def gradient_clipping_identity(torch):
    class Clip(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, limit):
            ctx.limit = limit
            return x.view_as(x)

        @staticmethod
        def backward(ctx, g):
            return g.clamp(-ctx.limit, ctx.limit), None

    x = leaf(torch, [1.0, 2.0, 3.0])
    (Clip.apply(x, 2.0) * torch.tensor([1.0, -5.0, 5.0])).sum().backward()
    return x.grad


@gives([0.4, 3.6])
def straight_through_rounding(torch):
    class Round(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.round()

        @staticmethod
        def backward(ctx, g):
            return g

    x = leaf(torch, [0.4, 1.6])
    (Round.apply(x) * x).sum().backward()
    return x.grad


def numpy_inside_forward_and_backward(torch):
    import numpy as np

    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.from_numpy(np.sin(x.numpy()))

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * torch.from_numpy(np.cos(x.detach().numpy()))

    x = leaf(torch, [0.5], torch.float64)
    Sine.apply(x).sum().backward()
    return x.grad


@gives([[[18.0, 25.0]], [[16.0, 20.0]], [[2.0, 4.0], [2.0, 4.0]], [1.0, 1.0]])
def linear_layer_of_the_documentation(torch):
    class LinearFunction(torch.autograd.Function):
        @staticmethod
        def forward(input, weight, bias):
            output = input.mm(weight.t())
            if bias is not None:
                output += bias.unsqueeze(0).expand_as(output)
            return output

        @staticmethod
        def setup_context(ctx, inputs, output):
            input, weight, bias = inputs
            ctx.save_for_backward(input, weight, bias)

        @staticmethod
        def backward(ctx, grad_output):
            input, weight, bias = ctx.saved_tensors
            grad_input = grad_weight = grad_bias = None
            if ctx.needs_input_grad[0]:
                grad_input = grad_output.mm(weight)
            if ctx.needs_input_grad[1]:
                grad_weight = grad_output.t().mm(input)
            if bias is not None and ctx.needs_input_grad[2]:
                grad_bias = grad_output.sum(0)
            return grad_input, grad_weight, grad_bias

    x, w, b = leaf(torch, [[1.0, 2.0]]), leaf(torch, [[3.0, 4.0], [5.0, 6.0]]), leaf(torch, [7.0, 8.0])
    y = LinearFunction.apply(x, w, b)
    (y.sum() + LinearFunction.apply(x, w, None).sum()).backward()
    return y, x.grad, w.grad, b.grad
