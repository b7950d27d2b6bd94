"""The exercises of lesson 45."""

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise


@exercise(
    "Under same, the rule draws the numbers of one example, and adds them to every example.",
    "Under different, each of the 8 examples has 5 numbers.",
)
def generated_draws(answer):
    """One draw of 5 numbers serves all examples; separate draws take 8 * 5 = 40."""
    mistakes = {
        (40, 5): "these two are swapped: same is the draw that all examples share",
        (1, 8): "a draw has a number for each element of an example, and an example has 5",
        (8, 40): "under same, all 8 examples share the numbers of one example",
        (5, 5): "under different, each example has separate numbers",
        (40, 40): "under same, all examples share one draw",
    }
    expect.numbers(answer, [5, 40], mistakes)


def a_function(answer):
    """Check that an answer is a Function."""
    if not (isinstance(answer, type) and issubclass(answer, torch.autograd.Function)):
        raise Wrong(f"expected a subclass of autograd.Function, got {answer!r}")


@exercise(
    "item() asks for the number of one example. Does forward need a Python number?",
    "An `if` decides once, but each example has its norm: torch.where chooses for each.",
    "safe = torch.where(n == 0, torch.ones_like(n), n): a division by it is finite, and where n is 0, x is 0 as well.",
)
def GeneratedNorm(answer):
    """Every method consists of tensor operations, so one run of each serves all examples."""
    a_function(answer)
    if answer.vmap is not torch.autograd.Function.vmap:
        raise Wrong("the class has a vmap staticmethod: delete it, and let minigrad generate the rule")
    if not answer.generate_vmap_rule:
        raise Wrong("generate_vmap_rule is not True, so there is no rule")

    def expected(x):
        return x * (x * x).sum(-1, keepdim=True).sqrt()

    one = torch.tensor([3.0, -4.0], requires_grad=True)
    rows = torch.tensor([[3.0, 4.0], [-1.0, 2.0], [0.5, 0.0]], requires_grad=True)
    expect.computes(answer.apply, expected, (one,))
    expect.computes(torch.vmap(answer.apply), expected, (rows,))
    expect.computes(
        torch.vmap(answer.apply, in_dims=1), lambda x: expected(x.T), (rows.detach().T.clone().requires_grad_(),)
    )
    zero = torch.tensor([[0.0, 0.0], [3.0, 4.0]])
    found = torch.func.grad(lambda rows: torch.vmap(answer.apply)(rows).sum())(zero)
    if found[0].isnan().any():
        raise Wrong("the gradient of an example of zeros is NaN: 0 / 0 in the side that where does not choose")
    expect.tensor(found[0], [0.0, 0.0], "the gradient of an example of zeros")


@exercise(
    "First answer info.randomness == 'error' with a RuntimeError, then move the batch to the front.",
    "Under different, RandomSigns.apply of the whole batch draws a sign for each element.",
    "Under same, get the signs of one example: _, signs = RandomSigns.apply(x[0]). The batch times them is the result, "
    "and the signs have no batch dimension: return (x * signs, signs), (0, None).",
)
def RandomSigns(answer):
    """One draw for all examples under same, one for each under different, and an error under error."""
    a_function(answer)
    if answer.generate_vmap_rule:
        raise Wrong("NumPy cannot run under a generated rule: write the vmap staticmethod")
    batch = torch.arange(1.0, 193.0).reshape(3, 64)

    def signs(in_dims, option, x):
        """Return the signs of a batch, after a check of result and gradient."""
        where = f"with randomness={option!r} and in_dims={in_dims}"
        mapped = torch.vmap(answer.apply, in_dims=in_dims, randomness=option)
        leaf, front = x.clone().requires_grad_(), x.movedim(in_dims, 0)
        out, drawn = mapped(leaf)
        if drawn.shape != front.shape or not (drawn.abs() == 1).all():
            raise Wrong(f"{where} the second output is {drawn}, expected signs of shape {tuple(front.shape)}")
        if drawn.requires_grad:
            raise Wrong(f"{where} the signs require grad: mark them as not differentiable, in setup_context")
        expect.tensor(out.detach(), front * drawn, f"the result {where}")
        if not out.requires_grad:
            raise Wrong(f"{where} the result does not require grad: something cut the graph")
        (gradient,) = torch.autograd.grad((out * front).sum(), leaf)
        expect.tensor(gradient.movedim(in_dims, 0), front * drawn, f"the gradient {where}")
        return drawn

    cube = batch.reshape(3, 2, 32).movedim(0, 2).contiguous()
    for in_dims, x in ((0, batch), (1, batch.T.clone()), (2, cube)):
        different, same = signs(in_dims, "different", x), signs(in_dims, "same", x)
        if (different[0] == different[1]).all():
            raise Wrong('with randomness="different" all examples have the same signs')
        if (same != same[0]).any():
            raise Wrong('with randomness="same" the examples have different signs: draw once, for one example')
    try:
        torch.vmap(answer.apply)(batch)
    except RuntimeError:
        return
    raise Wrong('with randomness="error" the rule draws numbers, expected a RuntimeError')
