"""The exercises of lesson 38."""

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise
from minigrad.events import services


@exercise(
    "Start at the end: y receives the gradient 5.",
    "The hook of y makes it 10. Next comes the derivative of 2 * x, then the hook of x.",
)
def hook_number(answer):
    """5 * 2 = 10 after the hook of y; times 2 is 20; plus 1 is 21."""
    mistakes = {
        10: "that is the gradient without hooks",
        20: "the hook of x adds 1 at the end",
        22: "the hook of x comes last: 1 is added after the factor 2",
        12: "the hook of y doubles its gradient before it reaches x",
        11: "the hook of y doubles its gradient before it reaches x",
        24: "the hook of x comes last: 1 is added after both factors",
    }
    expect.number(answer, 21, mistakes)


def with_gradients(gradients):
    """Return parameters with these gradients."""
    parameters = []
    for gradient in gradients:
        given = None if gradient is None else torch.tensor(gradient)
        parameters.append(torch.zeros(() if given is None else given.shape, requires_grad=True))
        parameters[-1].grad = given
    return parameters


@exercise(
    "The square of the common norm is the sum of the squares of all elements of all gradients.",
    "Scale only if the norm is larger than max_norm: factor = max_norm / norm.",
    "In place: parameter.grad.mul_(factor). Return the norm, computed before that.",
)
def hook_clip(answer):
    """PyTorch's function does the same, with a millionth added to the norm, so it never divides by zero."""
    cases = {
        "the gradients 6 and 8": ([[6.0], [8.0]], 2.0),
        "the gradients [3, 0] and [[0], [4]], which are within the limit": ([[3.0, 0.0], [[0.0], [4.0]]], 6.0),
        "gradients of different shapes": ([[[1.0, -2.0], [3.0, 4.0]], [5.0], -6.0], 1.0),
        "a parameter without a gradient": ([[6.0], None, [8.0]], 5.0),
        "gradients of zero": ([[0.0, 0.0]], 1.0),
    }
    for what, (gradients, limit) in cases.items():
        given, wanted = with_gradients(gradients), with_gradients(gradients)
        memory = [parameter.grad for parameter in given]
        norm = answer(given, limit)
        right = torch.nn.utils.clip_grad_norm_(wanted, limit)
        for one, other, old in zip(given, wanted, memory):
            if (one.grad is None) != (other.grad is None):
                raise Wrong(f"for {what}: a parameter without a gradient has one now")
            if other.grad is None:
                continue
            expect.tensor(one.grad, other.grad, f"for {what} and max_norm = {limit} a gradient")
            if one.grad is not old:
                raise Wrong("the numbers are right, but .grad is another tensor: scale in place, with mul_")
        if norm is None:
            raise Wrong("hook_clip returns None: return the norm before clipping")
        expect.tensor(norm, right, f"for {what} the returned norm")


@exercise(
    "result.register_hook(hook) on each result, before backward.",
    "Each hook must know its index in the list. A function that you define in a loop sees the last value of the loop's "
    "variable; give it a default: lambda g, i=i: ...",
    "gradients = [None] * len(functions), and a hook that stores into gradients[i]. It must return None.",
)
def hook_probe(answer):
    """Each hook stores its gradient at its own index, while the engine goes from the last result to the first."""

    def doubled(x):
        return 2 * x

    cases = {
        "[sin, exp]": [torch.sin, torch.exp],
        "[2 * x, square, tanh]": [doubled, torch.square, torch.tanh],
        "[exp]": [torch.exp],
    }
    for what, functions in cases.items():
        x = torch.tensor([0.5, -1.0], requires_grad=True)
        results = [x]
        for function in functions:
            results.append(function(results[-1]))
        right_x, *right = torch.autograd.grad(results[-1].sum(), results)
        x = torch.tensor([0.5, -1.0], requires_grad=True)
        given = probed(answer, functions, x)
        if not isinstance(given, (list, tuple)) or len(given) != len(functions):
            raise Wrong(f"for {what} it returns {given!r}, expected a list of {len(functions)} gradients")
        for i, (one, other) in enumerate(zip(given, right)):
            if one is None:
                raise Wrong(f"for {what} gradient {i} is None")
            expect.tensor(one, other, f"for {what} gradient {i}")
        if x.grad is None:
            raise Wrong("x.grad is None: call backward()")
        expect.tensor(x.grad, right_x, f"for {what} x.grad")


def probed(answer, functions, x):
    """Return the learner's result; raise Wrong if a tensor is asked to retain its gradient."""
    original = services.notice

    def notice(what, *args, **keywords):
        if what == "retain_grad called":
            raise Wrong("your code calls retain_grad; use register_hook")
        return original(what, *args, **keywords)

    services.provide(notice=notice)
    try:
        return answer(functions, x)
    finally:
        services.provide(notice=original)
