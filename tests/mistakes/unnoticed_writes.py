"""Writes through `.data` that change a gradient."""

import minigrad as torch
from minigrad import nn

from . import mistake


@mistake(
    "ExpBackward0", "(2,)", "mul_ writes to its memory through .data", remedy="write after backward", says="data-write"
)
def result_scaled_through_data():
    """The result of an operation is scaled through `.data` before `backward`.

    The derivative of `exp` is its result, which the graph has saved. A write through `.data` does not count as a write,
    so in PyTorch the gradient is silently wrong.
    """
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    y.data.mul_(2)  # <-
    y.sum().backward()


def result_scaled_through_data_corrected():
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


@mistake("AddmmBackward0", "(3, 3)", "clamp_ writes", remedy="write after backward", says="data-write")
def weights_clipped_before_backward():
    """Weights are clipped between the forward pass and `backward`.

    The layers have saved their weights for the gradient of their inputs. Clip after the step.
    """
    model, x = nn.Linear(3, 3), torch.ones(4, 3, requires_grad=True)
    loss = model(model(x)).sum()
    for p in model.parameters():
        p.data.clamp_(-0.01, 0.01)  # <-
    loss.backward()


def weights_clipped_before_backward_corrected():
    model, x = nn.Linear(3, 3), torch.ones(4, 3, requires_grad=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(model(x)).sum()
        loss.backward()
        optimizer.step()
        for p in model.parameters():
            p.data.clamp_(-0.01, 0.01)


@mistake("PowBackward0", "(2,)", "copy_ writes", remedy="with torch.no_grad(): x.copy_(...)", says="data-write")
def element_assigned_through_data():
    """One element of a weight is assigned through `.data` after the loss is computed.

    A part of `.data` shares its memory, too.
    """
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    # + w.data[0] = 5.0
    loss = (w**2).sum()
    w.data[0] = 5.0  # - <-
    loss.backward()
    # + w.data[1] = 5.0


@mistake("AddmmBackward0", "(2, 2)", "copy_ writes", remedy="write after backward", says="data-write")
def target_updated_too_early():
    """The target network is updated before `backward` has used it.

    The update through `.data` changes weights that the graph has saved.
    """
    net, target, x = nn.Linear(2, 2), nn.Linear(2, 2), torch.ones(1, 2)
    loss = (target(net(x)) - 1).pow(2).mean()
    # + loss.backward()
    for p, q in zip(target.parameters(), net.parameters()):
        p.data.copy_(0.9 * p.data + 0.1 * q.data)  # <-
    loss.backward()  # -
    # + with torch.no_grad():
    # +     y = target(x)
    # + (net(x) - y).pow(2).mean().backward()
