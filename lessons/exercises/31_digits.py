"""The exercises of lesson 31."""

import math
import warnings

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise
from minigrad import optim
from minigrad.nn import functional as F


@exercise(
    "The loss of one picture is minus the natural logarithm of a probability. Of which digit?",
    "The right digit has the probability 1 / 4, and -log(1 / 4) = log 4.",
)
def digit_surprise(answer):
    """-log(1/4) = log 4: only the probability of the right digit counts."""
    mistakes = {
        math.log(4 / 3): "the picture shows a 3: the loss asks which probability the network gives to the 3",
        -math.log(4): "the loss is minus the logarithm",
        0.25: "that is the probability; the loss is minus its logarithm",
        0.75: "that is the probability of the 5; the loss is minus the logarithm of the probability of the 3",
        2.0: "that is the logarithm to base 2; the loss uses the natural logarithm",
        math.log10(4): "that is the logarithm to base 10; the loss uses the natural logarithm",
    }
    expect.number(answer, math.log(4), mistakes, rtol=5e-3)


@exercise(
    "Go backward from the scores: `hidden @ w2 + b2`. Which gradient does each of its three inputs get?",
    "hidden gets the gradient of the scores times w2, which is zero. w2 gets that gradient times hidden, which is not zero.",
)
def digit_zeros(answer):
    """w2 is zero, so the gradients of w1 and b1 are, too. Its own gradient uses the hidden units, which are not zero."""
    learns = "it gets the hidden units times the gradient of the scores, and neither is zero"
    expect.choice(answer, {"w1", "b1"}, {"w2": learns, "b2": "it gets the gradient of the scores, which is not zero"})


@exercise(
    "Subtract the largest score of each picture from all of its scores before exp.",
    "scores.logsumexp(1) and scores.log_softmax(1) do that for you.",
    "(scores.logsumexp(1) - scores[torch.arange(len(labels)), labels]).mean()",
)
def digit_loss(answer):
    """exp(0) = 1 is then the largest term: nothing overflows, and the sum in the logarithm is at least 1."""
    torch.manual_seed(1)
    scores, labels = torch.randn(6, 10).requires_grad_(), torch.tensor([3, 1, 4, 1, 5, 9])
    expect.computes(answer, F.cross_entropy, (scores, labels))
    large = torch.tensor([[1000.0, 0.0, -1000.0], [-1000.0, -1001.0, -1003.0]], requires_grad=True)
    for labels in (torch.tensor([1, 0]), torch.tensor([0, 2])):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about overflow: the message below explains it
            given = answer(large, labels)
            if not bool(given.isfinite()):
                raise Wrong(
                    f"for scores of 1000 and -1000 it gives {given.item()}: exp(1000) overflows, exp(-1000) is 0"
                )
            expect.computes(answer, F.cross_entropy, (large, labels))


@exercise(
    "`p = p - ...` creates a new tensor and forgets it. Change the values of the parameter, as the lesson does.",
    "What does backward do with a gradient that is already there?",
    "What does a list of tensors with a graph keep alive? `.item()` returns only the number.",
)
def digit_training(answer):
    """Each step changes the parameters in place and uses only its own gradient, and no graph outlives it."""
    past = "does .grad still hold the gradient of an earlier step?"
    _trains(answer, (0.1,), lambda parameters: optim.SGD(parameters, lr=0.1), past)


@exercise(
    "Create the velocities before the loop: a list with torch.zeros_like(p) for each parameter.",
    "In each step, for each p and its velocity v: v becomes momentum * v + p.grad, and p loses rate * v, under no_grad.",
    "Clear the gradients in each step, but not the velocities.",
)
def digit_momentum(answer):
    """optim.SGD with momentum does the same: steps in the same direction add up."""
    for momentum in (0.0, 0.9):
        past = "does the velocity last from step to step, and .grad hold the gradient of one step alone?"
        _trains(answer, (0.05, momentum), lambda p: optim.SGD(p, lr=0.05, momentum=momentum), past)


def _task():
    """Return a loss function and its parameters."""
    parameters = [torch.tensor([[1.0, -2.0], [0.5, 3.0]], requires_grad=True), torch.ones(2, requires_grad=True)]
    examples, values = torch.tensor([[1.0, 2.0], [0.0, 1.0], [2.0, -1.0]]), torch.tensor([1.0, 0.0, 2.0])
    return lambda: (((examples @ parameters[0] + parameters[1]).sum(1) - values) ** 2).mean(), parameters


def _trains(answer, settings, optimizer, past):
    """Return True if a function matches an optimizer in its losses and final parameters."""
    loss, parameters = _task()
    steps, wanted, own = 6, [], optimizer(parameters)
    for _ in range(steps):
        own.zero_grad()
        now = loss()
        now.backward()
        own.step()
        wanted.append(now.item())
    ends, (loss, parameters) = [p.detach() for p in parameters], _task()
    starts = [p.detach().clone() for p in parameters]
    given = answer(loss, parameters, steps, *settings)
    try:
        given = list(given)
    except TypeError:
        raise Wrong(f"expected the losses in a list, got {type(given).__name__}") from None
    if len(given) != steps:
        raise Wrong(f"after {steps} steps it returns {len(given)} losses")
    if all(p.equal(start) for p, start in zip(parameters, starts)):
        raise Wrong("the parameters have not changed: which tensor receives the result of the update?")
    for i, (one, right) in enumerate(zip(given, wanted)):
        try:
            expect.tensor(one, right, f"with {', '.join(map(str, settings))}, the loss before step {i + 1}")
        except Wrong as wrong:
            first = f"; the first step is right, but a later one is not: {past}"
            raise Wrong(f"{wrong}{first if i > 1 else ''}") from None
    for p, end in zip(parameters, ends):
        expect.tensor(p, end, "after the last step a parameter")
        if not p.is_leaf or not p.requires_grad:
            raise Wrong("after the training a parameter is no longer a leaf that requires grad: update under no_grad")
    if kept := [one for one in given if isinstance(one, torch.Tensor) and one.grad_fn is not None]:
        raise Wrong(f"the numbers are right, but {len(kept)} losses keep their graphs: return plain numbers")
