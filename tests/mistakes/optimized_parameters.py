"""Optimizers and their parameters."""

import minigrad as torch
from minigrad import nn

from . import Mistake


class StepAfterClearing(Mistake):
    """`optimizer.step()` runs after `zero_grad()` has cleared the gradients.

    The order is: clear, forward, backward, step. Without gradients `step()` changes nothing.
    """

    says = "step-without-gradients"
    operation = "SGD"
    numbers = ("2 parameters",)
    remedy = "loss.backward()"

    def wrong():
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        # + schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
        # + for _ in range(3):  # only lists the rates
        # +     optimizer.step()
        # +     schedule.step()
        # + optimizer.zero_grad()
        model(torch.ones(4, 3)).mean().backward()
        optimizer.zero_grad()  # -
        optimizer.step()  # <-


class BackwardForgotten(Mistake):
    """A loss is computed, but `backward` is never called.

    No gradient is computed, and `step()` changes nothing.
    """

    says = "step-without-gradients"
    operation = "Adam"
    numbers = ("2 parameters",)
    remedy = "loss.backward()"

    def wrong():
        model = nn.Linear(3, 1)
        optimizer = torch.optim.Adam(model.parameters())
        loss = model(torch.ones(4, 3)).mean()
        # + loss.backward()
        optimizer.step()  # <-
        print(loss.item())  # -


class GradientsNotCleared(Mistake):
    """`zero_grad()` is forgotten between two steps.

    backward adds to existing gradients, so the second step follows the sum of both.
    """

    says = "gradients-not-cleared"
    operation = "SGD"
    numbers = ("2 of 2 parameters",)
    remedy = "optimizer.zero_grad()"

    def wrong():
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            model(torch.ones(4, 3)).mean().backward()
            optimizer.step()  # <-

    def right():
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


class ReplacedAfterOptimizer(Mistake):
    """A layer is replaced after the optimizer was made.

    The optimizer has the parameters of the old layer and never updates those of the new one.
    """

    says = "replaced-parameter"
    operation = "SGD"
    numbers = ("1.weight", "(1, 2)")
    remedy = "make the optimizer after"

    def wrong():
        model = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1))
        # + model[1] = nn.Linear(2, 5)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model[1] = nn.Linear(2, 5)  # - <-
        # + model[1] = nn.Linear(2, 4)
        # + optimizer.add_param_group({"params": model[1].parameters()})
        model(torch.ones(4, 3)).mean().backward()
        optimizer.step()


class ParameterReplacedAfterOptimizer(Mistake):
    """A parameter is replaced after the optimizer was made.

    The optimizer has the old parameter, which the model no longer uses. Write to the parameter instead, or make the
    optimizer later.
    """

    says = "replaced-parameter"
    operation = "Adam"
    numbers = ("weight", "(1, 3)")
    remedy = "make the optimizer after"

    def wrong():
        model = nn.Linear(3, 1)
        optimizer = torch.optim.Adam(model.parameters())
        model.weight = nn.Parameter(torch.zeros(1, 3))  # - <-
        # + nn.init.zeros_(model.weight)
        model(torch.ones(4, 3)).mean().backward()
        optimizer.step()


class LayersInList(Mistake):
    """Layers are kept in a plain list.

    A module finds its parts through attributes. It does not look into lists, so these layers are never trained, saved or
    moved.
    """

    says = "unregistered-parameters"
    operation = "SGD"
    numbers = ("Net.layers", "4 parameters")
    remedy = "nn.ModuleList"

    def wrong():
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


class ParametersInList(Mistake):
    """Parameters are kept in a plain list.

    A module finds its parameters through attributes, and does not look into lists, so there is nothing to optimize.
    """

    says = ValueError
    operation = "SGD"
    numbers = ("Net.weights", "2 parameters")
    remedy = "nn.ParameterList"

    def wrong():
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.weights = [nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))]  # -
                # + self.weights = nn.ParameterList([nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))])

        torch.optim.SGD(Net().parameters(), lr=0.1)  # <-


class UsedUpParameters(Mistake):
    """The parameters are counted before they are passed to the optimizer.

    `parameters()` returns an iterator, which yields each parameter once and is then empty.
    """

    says = ValueError
    operation = "SGD"
    numbers = ("used up",)
    remedy = "list(model.parameters())"

    def wrong():
        parameters = nn.Linear(3, 1).parameters()  # -
        # + parameters = list(nn.Linear(3, 1).parameters())
        sum(p.numel() for p in parameters)
        torch.optim.SGD(parameters, lr=0.1)  # <-


class ModelGivenToOptimizer(Mistake):
    """The optimizer gets the model instead of its parameters."""

    __doc__ += "\n\n    An optimizer updates tensors, and does not look for them itself."
    says = TypeError
    operation = "SGD"
    numbers = ("Linear",)
    remedy = "model.parameters()"

    def wrong():
        model = nn.Linear(3, 1)
        torch.optim.SGD(model, lr=0.1)  # - <-
        # + torch.optim.SGD(model.parameters(), lr=0.1)


class ParametersNotCalled(Mistake):
    """The optimizer gets the method `parameters` instead of its result.

    The parentheses are missing.
    """

    says = TypeError
    operation = "Adam"
    numbers = ("parameters",)
    remedy = "model.parameters()"

    def wrong():
        model = nn.Linear(3, 1)
        torch.optim.Adam(model.parameters)  # - <-
        # + torch.optim.Adam(model.parameters())


class ParametersInsideList(Mistake):
    """The iterator of the parameters is put into a list.

    `[model.parameters()]` is a list with one iterator in it, not a list of parameters.
    """

    says = TypeError
    operation = "SGD"
    numbers = ("generator",)
    remedy = "[*a.parameters(), *b.parameters()]"

    def wrong():
        a, b = nn.Linear(3, 1), nn.Linear(3, 1)
        torch.optim.SGD([a.parameters(), b.parameters()], lr=0.1)  # - <-
        # + torch.optim.SGD([*a.parameters(), *b.parameters()], lr=0.1)


class OptimizerOfResult(Mistake):
    """The optimizer gets the result of an operation.

    Scaling a tensor that requires grad returns a result, which gets no `.grad`. Scale first, then call `requires_grad_()`.
    """

    says = ValueError
    operation = "SGD"
    numbers = ("mul", "(3,)")
    remedy = "requires_grad_()"

    def wrong():
        w = torch.ones(3, requires_grad=True) * 0.1  # -
        # + w = (torch.ones(3) * 0.1).requires_grad_()
        torch.optim.SGD([w], lr=0.1)  # <-


class LossGivenToStep(Mistake):
    """The loss is passed to `step`.

    `step` reads the gradients from the parameters. It accepts only a function that recomputes the loss.
    """

    says = TypeError
    operation = "SGD"
    numbers = ("Tensor",)
    remedy = "loss.backward()"

    def wrong():
        w = torch.ones(3, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1)
        loss = (w * w).sum()
        optimizer.step(loss)  # - <-
        # + loss.backward()
        # + optimizer.step()


class NegativeRate(Mistake):
    """The learning rate is negative.

    The optimizer already goes against the gradient, with a positive rate; `maximize=True` goes along it.
    """

    says = ValueError
    operation = "SGD"
    numbers = ("-0.1",)
    remedy = "maximize=True"

    def wrong():
        w = torch.ones(3, requires_grad=True)
        torch.optim.SGD([w], lr=-0.1)  # - <-
        # + torch.optim.SGD([w], lr=0.1, maximize=True)


class ScheduleBeforeOptimizer(Mistake):
    """The schedule steps before the optimizer.

    The first learning rate is then never used.
    """

    says = "schedule-before-step"
    operation = "StepLR"
    remedy = "optimizer.step()"

    def wrong():
        w = torch.ones(3, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)
        (w * w).sum().backward()
        # + optimizer.step()
        schedule.step()  # <-
        optimizer.step()  # -


class ParameterTwice(Mistake):
    """A parameter is in an optimizer's list twice.

    Each step updates it twice, as with twice the learning rate.
    """

    says = "repeated-parameter"
    operation, numbers, remedy = "SGD", ("several times",), "dict.fromkeys"

    def wrong():
        w = torch.ones(2, requires_grad=True)
        return torch.optim.SGD([w, w], lr=0.1)  # - <-
        # + return torch.optim.SGD([w], lr=0.1)
