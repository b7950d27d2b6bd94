"""Lines that do nothing: methods that are not called, and assignments to a loop's variable."""

import minigrad as torch
from minigrad import nn

from . import Mistake


class BackwardWithoutParentheses(Mistake):
    """`loss.backward` lacks its parentheses.

    The line names the method but does not call it. No gradient is computed, and `step()` changes nothing.
    """

    says = "method-not-called"
    operation = "backward"
    numbers = ("loss.backward",)
    remedy = "loss.backward()"

    def wrong():
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        loss = model(torch.ones(4, 3)).pow(2).mean()
        loss.backward  # - <-
        # + loss.backward()
        optimizer.step()


class StepWithoutParentheses(Mistake):
    """`optimizer.step` lacks its parentheses.

    The gradients are computed and cleared in each round, and the parameters never change.
    """

    says = "method-not-called"
    operation = "step"
    numbers = ("optimizer.step",)
    remedy = "optimizer.step()"

    def wrong():
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            loss = model(torch.ones(4, 3)).pow(2).mean()
            loss.backward()
            optimizer.step  # <-

    def right():
        class Counter:
            """A class of the program, whose `step` is a property."""

            n = 0

            @property
            def step(self):
                self.n += 1

        model, counter = nn.Linear(3, 1), Counter()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            loss = model(torch.ones(4, 3)).pow(2).mean()
            loss.backward()
            counter.step  # noqa: B018
            optimizer.step()


class ZeroGradWithoutParentheses(Mistake):
    """`optimizer.zero_grad` lacks its parentheses.

    Each step follows the sum of all gradients so far.
    """

    says = "method-not-called"
    operation = "zero_grad"
    numbers = ("optimizer.zero_grad",)
    remedy = "optimizer.zero_grad()"

    def wrong():
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad  # - <-
            # + optimizer.zero_grad()
            loss = model(torch.ones(4, 3)).pow(2).mean()
            loss.backward()
            optimizer.step()


class GradZeroWithoutParentheses(Mistake):
    """`w.grad.zero_` lacks its parentheses, in a loop without an optimizer.

    The gradient keeps growing.
    """

    says = "method-not-called"
    operation = "zero_"
    numbers = ("w.grad.zero_",)
    remedy = "w.grad.zero_()"

    def wrong():
        w = torch.ones(3, requires_grad=True)
        for _ in range(3):
            (w**2).sum().backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
            w.grad.zero_  # - <-
            # + w.grad.zero_()


class EvalWithoutParentheses(Mistake):
    """`model.eval` lacks its parentheses.

    The model stays in training mode, and dropout drops elements of its predictions.
    """

    says = "method-not-called"
    operation = "eval"
    numbers = ("model.eval",)
    remedy = "model.eval()"

    def wrong():
        model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 1))
        model(torch.ones(4, 3)).pow(2).mean().backward()
        model.eval  # - <-
        # + model.eval()
        with torch.no_grad():
            print(model(torch.ones(2, 3)).shape)


class RetainGradWithoutParentheses(Mistake):
    """`y.retain_grad` lacks its parentheses.

    `backward` does not keep the gradient of `y`, which is not a leaf.
    """

    says = "method-not-called"
    operation = "retain_grad"
    numbers = ("y.retain_grad",)
    remedy = "y.retain_grad()"

    def wrong():
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        y.retain_grad  # - <-
        # + y.retain_grad()
        y.sum().backward()
        # + print(y.grad.sum())


class UpdateOfALoopVariable(Mistake):
    """The update assigns the variable of the loop.

    `p = p - ...` binds the name to a new tensor; the parameter of the model stays as it is.
    """

    says = "loop-variable-update"
    operation = "p"
    numbers = ("gives the loop's variable p a new tensor",)
    remedy = "p -= 0.1 * p.grad"

    def wrong():
        model = nn.Linear(3, 1)
        # + new = []
        for _ in range(2):
            # + model.zero_grad()
            loss = model(torch.ones(4, 3)).pow(2).mean()
            loss.backward()
            with torch.no_grad():
                for p in model.parameters():
                    p = p - 0.1 * p.grad  # - <-
                # +     p -= 0.1 * p.grad
                # + for p in model.parameters():
                # +     p = p - 0.1 * p.grad  # a copy, which is used
                # +     new.append(p)
