"""Arguments of custom Functions: numbers, None, defaults, keywords, integers."""

from tests.parity.harness import attempt, function, gives, leaf


@gives([10.0])
def non_tensor_arguments_of_every_kind(torch):
    def forward(ctx, x, number, text, flag, nothing, options, function):
        ctx.factor = number * options["factor"]
        return function(x) * ctx.factor

    Func = function(torch, forward, lambda ctx, g: (g * ctx.factor, None, None, None, None, None, None))
    x = leaf(torch, [1.0])
    Func.apply(x, 2.5, "a", True, None, {"factor": 4}, lambda t: t + 0).sum().backward()
    return x.grad


@gives([[6.0], [1.0]])
def optional_tensor_argument(torch):
    def forward(ctx, x, bias=None):
        ctx.needs = list(ctx.needs_input_grad)
        return x * 2 if bias is None else x * 2 + bias

    Affine = function(torch, forward, lambda ctx, g: (g * 2, (g if len(ctx.needs) > 1 and ctx.needs[1] else None)))
    x, b = leaf(torch, [1.0]), leaf(torch, [5.0])
    (Affine.apply(x) + Affine.apply(x, None) + Affine.apply(x, b)).sum().backward()
    return x.grad, b.grad


@gives([[[True, False], [True, True]], [8.0], [2.0]])
def keyword_arguments_and_defaults_count_as_inputs(torch):
    seen = []

    def forward(ctx, x, factor=3):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * factor

    def backward(ctx, g):
        seen.append(list(ctx.needs_input_grad))
        return g * ctx.factor, g * ctx.saved_tensors[0]

    Scale = function(torch, forward, backward)
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

    def setup_context(ctx, inputs, output):
        x, ctx.factor = inputs
        seen.append([x.detach(), ctx.factor])

    Scale = function(
        torch, lambda x, factor=3: x * factor, lambda ctx, g: (g * ctx.factor, None), setup_context=setup_context
    )
    x = leaf(torch, [2.0])
    (Scale.apply(x, factor=5) + Scale.apply(x)).sum().backward()
    Scale.apply(x, 8).sum().backward()
    return seen[0], seen[1], x.grad


@gives([TypeError, TypeError])
def unknown_or_missing_arguments_of_apply(torch):
    Scale = function(torch, lambda ctx, x, factor: x * factor, None)
    x = leaf(torch, [1.0])
    return attempt(Scale.apply, x, 2, other=3), attempt(Scale.apply, x)


@gives([2.0, 0.0, 1.0])
def integer_inputs(torch):
    def forward(ctx, x, index):
        ctx.save_for_backward(index)
        ctx.shape = x.shape
        return x[index]

    def backward(ctx, g):
        (index,) = ctx.saved_tensors
        return torch.zeros(ctx.shape).index_add_(0, index, g), None

    Take = function(torch, forward, backward)
    x = leaf(torch, [1.0, 2.0, 3.0])
    Take.apply(x, torch.tensor([0, 0, 2])).sum().backward()
    return x.grad
