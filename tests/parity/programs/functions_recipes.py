"""Custom Functions as people write them: checkpoints, clipping, straight-through, NumPy inside, a linear layer."""

from tests.parity.harness import function, gives, leaf


@gives([[4.0, 9.0], [16.0, 54.0], [12.0, 27.0]])
def reentrant_backward_like_a_checkpoint(torch):
    w = leaf(torch, [2.0, 3.0])

    def forward(ctx, run, x):
        ctx.run = run
        ctx.save_for_backward(x)
        return run(x)

    def backward(ctx, g):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            y = ctx.run(x)
        torch.autograd.backward(y, g)
        return None, x.grad

    Checkpoint = function(torch, forward, backward)
    x = leaf(torch, [1.0, 1.0])
    y = Checkpoint.apply(lambda t: (t * w) ** 2, x)
    Checkpoint.apply(lambda t: t * w, y).sum().backward()
    return y, x.grad, w.grad


@gives([1.0, -2.0, 2.0])
def gradient_clipping_identity(torch):
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x.view_as(x)

    Clip = function(torch, forward, lambda ctx, g: (g.clamp(-ctx.limit, ctx.limit), None))
    x = leaf(torch, [1.0, 2.0, 3.0])
    (Clip.apply(x, 2.0) * torch.tensor([1.0, -5.0, 5.0])).sum().backward()
    return x.grad


@gives([0.4, 3.6])
def straight_through_rounding(torch):
    Round = function(torch, lambda ctx, x: x.round(), lambda ctx, g: g)
    x = leaf(torch, [0.4, 1.6])
    (Round.apply(x) * x).sum().backward()
    return x.grad


@gives([[[18.0, 25.0]], [[16.0, 20.0]], [[2.0, 4.0], [2.0, 4.0]], [1.0, 1.0]])
def linear_layer_of_the_documentation(torch):
    def forward(input, weight, bias):
        output = input.mm(weight.t())
        if bias is not None:
            output += bias.unsqueeze(0).expand_as(output)
        return output

    def setup_context(ctx, inputs, output):
        input, weight, bias = inputs
        ctx.save_for_backward(input, weight, bias)

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

    LinearFunction = function(torch, forward, backward, setup_context=setup_context)
    x, w, b = leaf(torch, [[1.0, 2.0]]), leaf(torch, [[3.0, 4.0], [5.0, 6.0]]), leaf(torch, [7.0, 8.0])
    y = LinearFunction.apply(x, w, b)
    (y.sum() + LinearFunction.apply(x, w, None).sum()).backward()
    return y, x.grad, w.grad, b.grad
