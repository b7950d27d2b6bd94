"""Lines that do nothing: methods that are not called, and assignments to a loop's variable."""

import minigrad as torch
from minigrad import nn

from . import mistake


@mistake("backward", "loss.backward", remedy="loss.backward()", says="method-not-called")
def backward_without_parentheses():
    """`loss.backward` lacks its parentheses.

    The line names the method but does not call it. No gradient is computed, and `step()` changes nothing.
    """
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = model(torch.ones(4, 3)).pow(2).mean()
    loss.backward  # - <-
    # + loss.backward()
    optimizer.step()


@mistake("step", "optimizer.step", remedy="optimizer.step()", says="method-not-called")
def step_without_parentheses():
    """`optimizer.step` lacks its parentheses.

    The gradients are computed and cleared in each round, and the parameters never change.
    """
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(torch.ones(4, 3)).pow(2).mean()
        loss.backward()
        optimizer.step  # <-


def step_without_parentheses_corrected():
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


@mistake("zero_grad", "optimizer.zero_grad", remedy="optimizer.zero_grad()", says="method-not-called")
def zero_grad_without_parentheses():
    """`optimizer.zero_grad` lacks its parentheses.

    Each step follows the sum of all gradients so far.
    """
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad  # - <-
        # + optimizer.zero_grad()
        loss = model(torch.ones(4, 3)).pow(2).mean()
        loss.backward()
        optimizer.step()


@mistake("zero_", "w.grad.zero_", remedy="w.grad.zero_()", says="method-not-called")
def grad_zero_without_parentheses():
    """`w.grad.zero_` lacks its parentheses, in a loop without an optimizer.

    The gradient keeps growing.
    """
    w = torch.ones(3, requires_grad=True)
    for _ in range(3):
        (w**2).sum().backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
        w.grad.zero_  # - <-
        # + w.grad.zero_()


@mistake("eval", "model.eval", remedy="model.eval()", says="method-not-called")
def eval_without_parentheses():
    """`model.eval` lacks its parentheses.

    The model stays in training mode, and dropout drops elements of its predictions.
    """
    model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 1))
    model(torch.ones(4, 3)).pow(2).mean().backward()
    model.eval  # - <-
    # + model.eval()
    with torch.no_grad():
        print(model(torch.ones(2, 3)).shape)


@mistake("retain_grad", "y.retain_grad", remedy="y.retain_grad()", says="method-not-called")
def retain_grad_without_parentheses():
    """`y.retain_grad` lacks its parentheses.

    `backward` does not keep the gradient of `y`, which is not a leaf.
    """
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    y.retain_grad  # - <-
    # + y.retain_grad()
    y.sum().backward()
    # + print(y.grad.sum())


@mistake("p", "gives the loop's variable p a new tensor", remedy="p -= 0.1 * p.grad", says="loop-variable-update")
def update_of_a_loop_variable():
    """The update assigns the variable of the loop.

    `p = p - ...` binds the name to a new tensor; the parameter of the model stays as it is.
    """
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
