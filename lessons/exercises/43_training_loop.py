"""The exercises of lesson 43."""

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise
from minigrad import optim


@exercise(
    "The first step: the gradient of w * w is 2w = 2, so w becomes 1 - 0.1 * 2.",
    "The second backward adds 2 * 0.8 to the 2 that are still in w.grad.",
)
def loop_uncleared(answer):
    """w is 0.8 after the first step. Then w.grad is 2 + 1.6, and 0.8 - 0.1 * 3.6 = 0.44."""
    mistakes = {
        0.64: "that is the value if w.grad is cleared before the second step",
        0.8: "that is the value after one step",
        3.6: "that is w.grad in the second step",
        0.6: "the second gradient is computed at w = 0.8",
        0.4: "the second gradient is computed at w = 0.8: 1.6 is added to the 2",
    }
    expect.number(answer, 0.44, mistakes)


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
