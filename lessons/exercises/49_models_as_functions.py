"""The exercises of lesson 49."""

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise
from minigrad import nn
from minigrad.func import functional_call, grad, vmap


@exercise(
    "One model turns three examples into the shape (3, 2).",
    "out_dims is 0 by default: the models come first.",
)
def models_shape(answer):
    """Seven models, three examples, two outputs."""
    mistakes = {
        (3, 7, 2): "the models come first: out_dims is 0",
        (7, 3, 5): "each model turns 5 numbers into 2",
        (3, 2): "that is one model",
        (7, 2): "there are three examples",
        (21, 2): "vmap adds a dimension, it does not join two",
        (7, 2, 5): "that is the shape of the stacked weights",
    }
    expect.numbers(answer, [7, 3, 2], mistakes)


def network(seed, *sizes):
    """Return a small network with the numbers of a seed."""
    draw = torch.Generator().manual_seed(seed)
    made = nn.Sequential(nn.Linear(*sizes[:2]), nn.Tanh(), nn.Linear(*sizes[1:]))
    with torch.no_grad():
        for p in made.parameters():
            p.copy_(torch.randn(*p.shape, generator=draw))
    return made, draw


def untouched(net, before):
    """Check that a network still has its parameters, and no gradients."""
    for name, p in net.named_parameters():
        if not torch.equal(p, before[name]):
            raise Wrong(f"the numbers are right, but your function changes {name} of net")
        if p.grad is not None:
            raise Wrong(
                f"the numbers are right, but your function leaves a gradient in {name} of net: use grad of torch.func"
            )


@exercise(
    "The loss of one example as a function of a dict: loss(params, x, y), with functional_call.",
    "vmap(grad(loss), in_dims=(None, 0, 0))(params, xs, ys) is a dict; each gradient has the examples in dimension 0.",
    "Add up the squares of all gradients of an example, and take the root: "
    "sum(g.flatten(1).square().sum(1) for g in gradients.values()).sqrt().",
)
def models_gradient_norms(answer):
    """One length for each example: the root of the sum of the squares of all its gradients."""

    def expected(net, xs, ys):
        params = {name: p.detach() for name, p in net.named_parameters()}
        each = vmap(grad(lambda params, x, y: ((functional_call(net, params, (x,)) - y) ** 2).sum()), (None, 0, 0))
        return {name: g.flatten(1).square().sum(1) for name, g in each(params, xs, ys).items()}

    for seed, sizes, n in ((0, (2, 3, 1), 4), (1, (3, 2, 2), 6)):
        net, draw = network(seed, *sizes)
        xs, ys = torch.randn(n, sizes[0], generator=draw), torch.randn(n, sizes[2], generator=draw)
        before = {name: p.detach().clone() for name, p in net.named_parameters()}
        squares = expected(net, xs, ys)
        total = sum(squares.values())
        given = answer(net, xs, ys)
        if isinstance(given, torch.Tensor) and given.shape == total.shape:
            mistakes = {
                "the squares of the lengths: take the root": total,
                "the sum of the lengths of all parameters: add their squares, and take one root": sum(
                    s.sqrt() for s in squares.values()
                ),
                "the length for the last parameter alone": list(squares.values())[-1].sqrt(),
                "the length for the first parameter alone": list(squares.values())[0].sqrt(),
                "the length for half the loss": total.sqrt() / sizes[2] if sizes[2] == 2 else total.sqrt() + 1,
            }
            for why, wrong in mistakes.items():
                if torch.allclose(given.detach(), wrong, rtol=1e-4):
                    raise Wrong(f"these are {why}")
        expect.tensor(given, total.sqrt(), f"the tensor of lengths for {n} examples", rtol=1e-3)
        untouched(net, before)

    def ops(n):
        return len(torch.record(answer, net, torch.ones(n, 3), torch.ones(n, 2), passes="forward").to_dict()["ops"])

    if ops(9) > ops(3):
        raise Wrong(f"the numbers are right, but 9 examples take {ops(9)} operations, and 3 take {ops(3)}: a loop")


@exercise(
    "Write the loss as a function of params, and differentiate it with torch.func.grad: the result is a dict.",
    "return {name: p - rate * gradients[name] for name, p in params.items()}",
)
def models_step(answer):
    """Each new tensor depends on rate through one product."""
    for seed, sizes in ((2, (2, 3, 1)), (3, (1, 4, 2))):
        net, draw = network(seed, *sizes)
        x, y = torch.randn(5, sizes[0], generator=draw), torch.randn(5, sizes[2], generator=draw)
        before = {name: p.detach().clone() for name, p in net.named_parameters()}
        params = {name: p + 0.5 for name, p in before.items()}  # not those of net
        copy = {name: p.clone() for name, p in params.items()}

        def loss(params, net=net, x=x, y=y):
            return ((functional_call(net, params, (x,)) - y) ** 2).mean()

        gradients, own = grad(loss)(copy), grad(loss)(before)
        rate = torch.tensor(0.3, requires_grad=True)
        given = answer(net, params, x, y, rate)
        if not isinstance(given, dict) or list(given) != list(params):
            raise Wrong(f"expected a dict with the names {', '.join(params)}, got a {type(given).__name__}")
        for name, p in copy.items():
            if not torch.equal(params[name], p):
                raise Wrong(f"params[{name!r}] has changed: return new tensors in a new dict")
            mistakes = {
                "the step goes uphill: p - rate * gradient": p + 0.3 * gradients[name],
                "the gradient is that of the parameters of net, not of params": p - 0.3 * own[name],
                "the loss is the mean, not the sum": p - 0.3 * y.numel() * gradients[name],
                "the step is the whole gradient: multiply it by rate": p - gradients[name],
                "that is the step alone: add it to p": -0.3 * gradients[name],
                "these are the gradients": gradients[name],
            }
            for why, wrong in mistakes.items():
                if torch.allclose(given[name], wrong):
                    raise Wrong(why)
            expect.tensor(given[name].detach(), p - 0.3 * gradients[name], f"the new {name}", rtol=1e-3)
        untouched(net, before)
        after = loss(given)
        if not after.requires_grad:
            raise Wrong("the new parameters do not depend on rate: something cut the graph")
        (slope,) = torch.autograd.grad(after, rate)
        wanted = -sum(
            (g * grad(loss)({n: v.detach() for n, v in given.items()})[name]).sum() for name, g in gradients.items()
        )
        expect.tensor(slope, wanted, "the derivative of the new loss with respect to rate", rtol=1e-3)
