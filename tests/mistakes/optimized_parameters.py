"""Optimizers and their parameters."""

import minigrad as torch
from minigrad import nn

from . import mistake


@mistake("SGD", "2 parameters", remedy="loss.backward()", says="step-without-gradients")
def step_after_clearing():
    """`optimizer.step()` runs after `zero_grad()` has cleared the gradients.

    The order is: clear, forward, backward, step. Without gradients `step()` changes nothing.
    """
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    # + schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    # + for _ in range(3):  # only lists the rates
    # +     optimizer.step()
    # +     schedule.step()
    # + optimizer.zero_grad()
    model(torch.ones(4, 3)).mean().backward()
    optimizer.zero_grad()  # - <=
    optimizer.step()  # <-


@mistake("Adam", "2 parameters", remedy="loss.backward()", says="step-without-gradients")
def backward_forgotten():
    """A loss is computed, but `backward` is never called.

    No gradient is computed, and `step()` changes nothing.
    """
    model = nn.Linear(3, 1)
    optimizer = torch.optim.Adam(model.parameters())
    loss = model(torch.ones(4, 3)).mean()
    # + loss.backward()
    optimizer.step()  # <-
    print(loss.item())  # -


@mistake("SGD", "2 of 2 parameters", remedy="optimizer.zero_grad()", says="gradients-not-cleared")
def gradients_not_cleared():
    """`zero_grad()` is forgotten between two steps.

    backward adds to existing gradients, so the second step follows the sum of both.
    """
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        model(torch.ones(4, 3)).mean().backward()
        optimizer.step()  # <-


def gradients_not_cleared_corrected():
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for clear in (
        optimizer.zero_grad,
        lambda: optimizer.zero_grad(set_to_none=False),
        model.zero_grad,
        lambda: [p.grad.data.zero_() for p in model.parameters()],
        lambda: [p.grad.detach().zero_() for p in model.parameters()],
        lambda: [p.grad.fill_(0) for p in model.parameters()],
    ):
        for _ in range(2):  # the gradient of two batches
            model(torch.ones(4, 3)).mean().backward()
        optimizer.step()
        clear()


@mistake("SGD", "1.weight", "(1, 2)", remedy="make the optimizer after", says="replaced-parameter")
def replaced_after_optimizer():
    """A layer is replaced after the optimizer was made.

    The optimizer has the parameters of the old layer and never updates those of the new one.
    """
    model = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1))
    # + model[1] = nn.Linear(2, 5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model[1] = nn.Linear(2, 5)  # - <-
    # + model[1] = nn.Linear(2, 4)
    # + optimizer.add_param_group({"params": model[1].parameters()})
    model(torch.ones(4, 3)).mean().backward()
    optimizer.step()


@mistake("Adam", "weight", "(1, 3)", remedy="make the optimizer after", says="replaced-parameter")
def parameter_replaced_after_optimizer():
    """A parameter is replaced after the optimizer was made.

    The optimizer has the old parameter, which the model no longer uses. Write to the parameter instead, or make the
    optimizer later.
    """
    model = nn.Linear(3, 1)
    optimizer = torch.optim.Adam(model.parameters())
    model.weight = nn.Parameter(torch.zeros(1, 3))  # - <-
    # + nn.init.zeros_(model.weight)
    model(torch.ones(4, 3)).mean().backward()
    optimizer.step()


@mistake("SGD", "Net.layers", "4 parameters", remedy="nn.ModuleList", says="unregistered-parameters")
def layers_in_list():
    """Layers are kept in a plain list.

    A module finds its parts through attributes. It does not look into lists, so these layers are never trained, saved or
    moved.
    """

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = [nn.Linear(3, 3), nn.Linear(3, 3)]  # -
            # + self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])
            self.head = nn.Linear(3, 1)
            # + self.all = [*self.layers, self.head]
            # + self.teacher = [nn.Linear(3, 1).requires_grad_(False)]
            # + self.extra = [nn.Linear(3, 1)]

    torch.optim.SGD(Net().parameters(), lr=0.1)  # - <-
    # + net = Net()
    # + torch.optim.SGD([{"params": net.parameters()}, {"params": net.extra[0].parameters()}], lr=0.1)


@mistake("SGD", "Net.weights", "2 parameters", remedy="nn.ParameterList", says=ValueError)
def parameters_in_list():
    """Parameters are kept in a plain list.

    A module finds its parameters through attributes, and does not look into lists, so there is nothing to optimize.
    """

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.weights = [nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))]  # - <=
            # + self.weights = nn.ParameterList([nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))])

    torch.optim.SGD(Net().parameters(), lr=0.1)  # <-


@mistake("SGD", "used up", remedy="list(model.parameters())", says=ValueError)
def used_up_parameters():
    """The parameters are counted before they are passed to the optimizer.

    `parameters()` returns an iterator, which yields each parameter once and is then empty.
    """
    parameters = nn.Linear(3, 1).parameters()  # - <=
    # + parameters = list(nn.Linear(3, 1).parameters())
    sum(p.numel() for p in parameters)
    torch.optim.SGD(parameters, lr=0.1)  # <-


@mistake("SGD", "Linear", remedy="model.parameters()", says=TypeError)
def model_given_to_optimizer():
    """The optimizer gets the model instead of its parameters.

    An optimizer updates tensors, and does not look for them itself.
    """
    model = nn.Linear(3, 1)
    torch.optim.SGD(model, lr=0.1)  # - <-
    # + torch.optim.SGD(model.parameters(), lr=0.1)


@mistake("Adam", "parameters", remedy="model.parameters()", says=TypeError)
def parameters_not_called():
    """The optimizer gets the method `parameters` instead of its result.

    The parentheses are missing.
    """
    model = nn.Linear(3, 1)
    torch.optim.Adam(model.parameters)  # - <-
    # + torch.optim.Adam(model.parameters())


@mistake("SGD", "generator", remedy="[*a.parameters(), *b.parameters()]", says=TypeError)
def parameters_inside_list():
    """The iterator of the parameters is put into a list.

    `[model.parameters()]` is a list with one iterator in it, not a list of parameters.
    """
    a, b = nn.Linear(3, 1), nn.Linear(3, 1)
    torch.optim.SGD([a.parameters(), b.parameters()], lr=0.1)  # - <-
    # + torch.optim.SGD([*a.parameters(), *b.parameters()], lr=0.1)


@mistake("SGD", "mul", "(3,)", remedy="requires_grad_()", says=ValueError)
def optimizer_of_result():
    """The optimizer gets the result of an operation.

    Scaling a tensor that requires grad returns a result, which gets no `.grad`. Scale first, then call `requires_grad_()`.
    """
    w = torch.ones(3, requires_grad=True) * 0.1  # - <=
    # + w = (torch.ones(3) * 0.1).requires_grad_()
    torch.optim.SGD([w], lr=0.1)  # <-


@mistake("SGD", "Tensor", remedy="loss.backward()", says=TypeError)
def loss_given_to_step():
    """The loss is passed to `step`.

    `step` reads the gradients from the parameters. It accepts only a function that recomputes the loss.
    """
    w = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    loss = (w * w).sum()
    optimizer.step(loss)  # - <-
    # + loss.backward()
    # + optimizer.step()


@mistake("SGD", "-0.1", remedy="maximize=True", says=ValueError)
def negative_rate():
    """The learning rate is negative.

    The optimizer already goes against the gradient, with a positive rate; `maximize=True` goes along it.
    """
    w = torch.ones(3, requires_grad=True)
    torch.optim.SGD([w], lr=-0.1)  # - <-
    # + torch.optim.SGD([w], lr=0.1, maximize=True)


@mistake("StepLR", remedy="optimizer.step()", says="schedule-before-step")
def schedule_before_optimizer():
    """The schedule steps before the optimizer.

    The first learning rate is then never used.
    """
    w = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    (w * w).sum().backward()
    # + optimizer.step()
    schedule.step()  # <-
    optimizer.step()  # -


@mistake("ExponentialLR", remedy="get_last_lr()", says="next-learning-rate")
def rate_that_comes_next():
    """The learning rate is read with `get_lr()`.

    That is the rate that the schedule computes next; `get_last_lr()` is the current one.
    """
    w = torch.ones(3, requires_grad=True)
    schedule = torch.optim.lr_scheduler.ExponentialLR(torch.optim.SGD([w], lr=0.1), 0.5)
    return schedule.get_lr()  # - <-
    # + return schedule.get_last_lr()


@mistake("ExponentialLR", remedy="scheduler.step()", says="schedule-epoch")
def schedule_with_epochs():
    """A schedule's step gets the number of the epoch.

    It counts the epochs itself. A number makes it jump to that epoch, and to PyTorch's closed form of the rate.
    """
    w = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    for epoch in range(2):
        optimizer.zero_grad()
        (w * w).sum().backward()
        optimizer.step()
        schedule.step(epoch)  # - <-
        # + schedule.step()


@mistake("SGD", "several times", remedy="dict.fromkeys", says="repeated-parameter")
def parameter_twice():
    """A parameter is in an optimizer's list twice.

    Each step updates it twice, as with twice the learning rate.
    """
    w = torch.ones(2, requires_grad=True)
    return torch.optim.SGD([w, w], lr=0.1)  # - <-
    # + return torch.optim.SGD([w], lr=0.1)
