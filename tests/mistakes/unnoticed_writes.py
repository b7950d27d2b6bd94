"""Writes through `.data` that change a gradient."""

import minigrad as torch
from minigrad import nn

from . import Mistake


class ResultScaledThroughData(Mistake):
    """The result of an operation is scaled through `.data` before `backward`.

    The derivative of `exp` is its result, which the graph has saved. A write through `.data` does not count as a write,
    so in PyTorch the gradient is silently wrong.
    """

    says = "data-write"
    operation = "ExpBackward0"
    numbers = ("(2,)", "mul_ writes to its memory through .data")
    remedy = "write after backward"

    def wrong():
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x.exp()
        y.data.mul_(2)  # <-
        y.sum().backward()

    def right():
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x.exp()
        (y * 2).sum().backward()
        x.data.mul_(2)
        y = x.exp()
        y.sum().backward()
        y.data.mul_(2)
        z = x + 1  # saves nothing
        z.data.mul_(2)
        z.sum().backward()
        a, b = x[:1].exp(), x[1:]
        b.data.zero_()  # other elements of the same memory
        a.sum().backward()


class WeightsClippedBeforeBackward(Mistake):
    """Weights are clipped between the forward pass and `backward`.

    The layers have saved their weights for the gradient of their inputs. Clip after the step.
    """

    says = "data-write"
    operation = "AddmmBackward0"
    numbers = ("(3, 3)", "clamp_ writes")
    remedy = "write after backward"

    def wrong():
        model, x = nn.Linear(3, 3), torch.ones(4, 3, requires_grad=True)
        loss = model(model(x)).sum()
        for p in model.parameters():
            p.data.clamp_(-0.01, 0.01)  # <-
        loss.backward()

    def right():
        model, x = nn.Linear(3, 3), torch.ones(4, 3, requires_grad=True)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            loss = model(model(x)).sum()
            loss.backward()
            optimizer.step()
            for p in model.parameters():
                p.data.clamp_(-0.01, 0.01)


class ElementAssignedThroughData(Mistake):
    """One element of a weight is assigned through `.data` after the loss is computed.

    A part of `.data` shares its memory, too.
    """

    says = "data-write"
    operation = "PowBackward0"
    numbers = ("(2,)", "copy_ writes")
    remedy = "with torch.no_grad(): x.copy_(...)"

    def wrong():
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        # + w.data[0] = 5.0
        loss = (w**2).sum()
        w.data[0] = 5.0  # - <-
        loss.backward()
        # + w.data[1] = 5.0


class TargetUpdatedTooEarly(Mistake):
    """The target network is updated before `backward` has used it.

    The update through `.data` changes weights that the graph has saved.
    """

    says = "data-write"
    operation = "AddmmBackward0"
    numbers = ("(2, 2)", "copy_ writes")
    remedy = "write after backward"

    def wrong():
        net, target, x = nn.Linear(2, 2), nn.Linear(2, 2), torch.ones(1, 2)
        loss = (target(net(x)) - 1).pow(2).mean()
        # + loss.backward()
        for p, q in zip(target.parameters(), net.parameters()):
            p.data.copy_(0.9 * p.data + 0.1 * q.data)  # <-
        loss.backward()  # -
        # + with torch.no_grad():
        # +     y = target(x)
        # + (net(x) - y).pow(2).mean().backward()
