"""The exercises of lesson 34."""

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise


@exercise(
    "Nothing from inside a checkpoint stays in memory, only its input.",
    "How many checkpoints are there?",
)
def checkpoint_kept(answer):
    """Four groups, and each keeps its input of 1 kB."""
    mistakes = {
        37.0: "that is the sum without checkpoints",
        12.0: "that would be right with a checkpoint around each layer",
        13.0: "that is the worst moment in backward: 4 inputs and the tensors of one group",
        36.0: "a checkpoint forgets the tensors inside its group",
        3.0: "that is the number of layers in a group: how many groups are there?",
        5.0: "the sum keeps no numbers, so the last result is not kept",
        4096.0: "the question asks for kB",
    }
    expect.number(answer, 4.0, mistakes)


@exercise(
    "Write down n / k + c * k with the numbers of this network.",
    "The minimum is where k is the square root of n / c.",
)
def checkpoint_best(answer):
    """Five is the square root of 300 / 12. A step then needs 60 + 60 tensors instead of 3601."""
    mistakes = {
        300**0.5: "that would be right for layers that keep one tensor each",
        60.0: "that is the number of groups, or the square root of n * c; the question asks for the layers in one group",
        25.0: "take the square root",
        10.0: "the measured layers keep 3 tensors each, but these keep 12",
        1.0: "then 300 inputs stay in memory",
        300.0: "then all tensors come back at once",
    }
    expect.number(answer, 5.0, mistakes)


@exercise(
    "Take k functions at a time: functions[i : i + k] for i in range(0, len(functions), k).",
    "checkpoint passes all its arguments on: checkpoint(group, part, x, use_reentrant=False) calls group(part, x).",
    "A function defined inside the loop reads i when it runs again, but i has changed by then. Pass the part as an argument.",
)
def checkpointed(answer):
    """Each group is one checkpoint: it keeps one tensor, and each function runs twice."""
    x = torch.linspace(-1, 1, 16, requires_grad=True)
    calls = []

    def noted(f):
        return lambda x: calls.append(f) or f(x)

    functions = [noted(f) for f in (torch.sin, torch.exp, torch.tanh, torch.cos, torch.sigmoid)]

    def expected(x):
        for f in functions:
            x = f(x)
        return x

    for k in (1, 2, 3, 5):
        expect.computes(lambda x, k=k: answer(functions, k, x), expected, (x,))
        groups = -(-len(functions) // k)
        kept = inputs_kept(lambda x, k=k: answer(functions, k, x), x)
        if kept != groups * x.nbytes:
            what = f"5 functions with k = {k} keep {kept // x.nbytes} tensors for backward; {groups} inputs are enough"
            raise Wrong(what if kept > groups * x.nbytes else f"{what}. Use one checkpoint for each group")
        calls.clear()
        answer(functions, k, x).sum().backward()
        if len(calls) != 10:
            raise Wrong(f"with k = {k}, a step makes {len(calls)} calls; two of each of the 5 functions are expected")


def inputs_kept(f, x):
    """Return the bytes that a function keeps for backward, each tensor once."""
    ops = torch.record(f, x.detach().requires_grad_()).to_dict()["ops"]
    return sum({entry["value"]: entry["bytes"] for op in ops for entry in op["saved"]}.values())


class Again(torch.autograd.Function):
    @staticmethod
    def forward(ctx, f, x):
        ctx.f = f
        ctx.save_for_backward(x)
        return f(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            y = ctx.f(x)
        return None, *torch.autograd.grad(y, x, grad_output)


@exercise(
    "The function is not a tensor, so make it an attribute: ctx.f = f. The tensor goes to save_for_backward.",
    "apply switches recording off, and backward runs without recording, too: use `with torch.enable_grad():`.",
    "The second run needs a leaf: x.detach().requires_grad_(). Then torch.autograd.grad(y, x, grad_output).",
    "backward returns one gradient per argument of forward: None for f.",
)
def OwnCheckpoint(answer):
    """Such a Function is the older form of checkpoint: forward records no graph of f, and backward runs a backward inside."""

    def f(x):
        return (x.sin() * x.exp()).tanh()

    x = torch.tensor([0.5, -1.0, 0.0], requires_grad=True)
    expect.function(answer, Again, (f, x), (torch.exp, torch.tensor([[0.25], [2.0]], requires_grad=True)))
    expect.keeps(answer.apply(f, x), x, what="x")
    calls = []
    y = answer.apply(lambda x: calls.append("call") or f(x), x)
    forward = len(calls)
    y.sum().backward()
    if (forward, len(calls)) != (1, 2):
        raise Wrong(
            f"f runs {forward} times in forward and {len(calls) - forward} times in backward, expected once each"
        )
