"""Logarithms and exponentials that are not finite."""

import minigrad as torch

from . import mistake


@mistake("log", "1 of 2 elements", "(2,)", remedy="clamp(min=", under="anomaly")
def log_of_negative():
    """The logarithm of a negative number is taken.

    It does not exist: the result is NaN, and so is the loss. detect_anomaly names the operation that produced the first
    NaN.
    """
    x = torch.tensor([-1.0, 1.0], requires_grad=True)
    y = x.log()  # - <-
    # + y = x.clamp(min=1e-6).log()
    loss = (y * 2).sum()
    loss.backward()


@mistake("mul", "1 of 2 elements", "(2,)", remedy="clamp(min=", under="anomaly")
def entropy_by_hand():
    """An entropy is computed as `p * log(p)`, with a probability of 0.

    log(0) is -infinity, and 0 times infinity is NaN.
    """
    p = torch.tensor([0.0, 1.0], requires_grad=True)
    entropy = -(p * p.log()).sum()  # - <-
    # + entropy = -(p * p.clamp(min=1e-12).log()).sum()
    entropy.backward()


@mistake("div", "1 of 2 elements", "(2,)", remedy="torch.softmax", under="anomaly")
def softmax_by_hand():
    """A softmax is computed by hand.

    exp(1000) is infinite, and infinity divided by infinity is NaN. The softmax function subtracts the maximum first.
    """
    x = torch.tensor([1000.0, 0.0], requires_grad=True)
    p = x.exp() / x.exp().sum()  # - <-
    # + p = torch.softmax(x, 0)
    p.sum().backward()


@mistake("log", "2 of 2 elements", "(2,)", remedy="log_softmax", says="nan-gradient")
def log_of_softmax():
    """The logarithm of a softmax is taken.

    The softmax of a small logit is 0, and the slope of the logarithm is infinite there. `log_softmax` does both in one.
    """
    x = torch.tensor([1000.0, 0.0], requires_grad=True)
    (-x.softmax(0).log()[1]).backward()  # - <-
    # + (-x.log_softmax(0)[1]).backward()


@mistake("log", "1 of 2 elements", "(2,)", remedy="logsigmoid", says="nan-gradient")
def log_of_sigmoid():
    """The logarithm of a sigmoid is taken.

    The sigmoid of -200 is 0 in float32, and the slope of the logarithm is infinite there.
    """
    x = torch.tensor([-200.0, 1.0], requires_grad=True)
    (-x.sigmoid().log()).sum().backward()  # - <-
    # + (-torch.nn.functional.logsigmoid(x)).sum().backward()


@mistake("mul", "1 of 2 elements", "(2,)", remedy="binary_cross_entropy", under="anomaly")
def cross_entropy_by_hand():
    """A binary cross-entropy is computed by hand.

    If the probability is exactly 1, `(1 - y) * log(1 - p)` is 0 times infinity.
    """
    p, y = torch.tensor([1.0, 0.5], requires_grad=True), torch.tensor([1.0, 0.0])
    right, wrong = y * p.log(), (1 - y) * (1 - p).log()  # - <-
    (-(right + wrong)).mean().backward()  # -
    # + torch.nn.functional.binary_cross_entropy(p, y).backward()
