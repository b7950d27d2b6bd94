"""Logarithms and exponentials that are not finite."""

import minigrad as torch

from . import Mistake


class LogOfNegative(Mistake):
    """The logarithm of a negative number is taken.

    It does not exist: the result is NaN, and so is the loss. detect_anomaly names the operation that produced the first
    NaN.
    """

    operation = "log"
    numbers = ("1 of 2 elements", "(2,)")
    remedy = "clamp(min="
    under = "anomaly"

    def wrong():
        x = torch.tensor([-1.0, 1.0], requires_grad=True)
        y = x.log()  # - <-
        # + y = x.clamp(min=1e-6).log()
        loss = (y * 2).sum()
        loss.backward()


class EntropyByHand(Mistake):
    """An entropy is computed as `p * log(p)`, with a probability of 0.

    log(0) is -infinity, and 0 times infinity is NaN.
    """

    operation = "mul"
    numbers = ("1 of 2 elements", "(2,)")
    remedy = "clamp(min="
    under = "anomaly"

    def wrong():
        p = torch.tensor([0.0, 1.0], requires_grad=True)
        entropy = -(p * p.log()).sum()  # - <-
        # + entropy = -(p * p.clamp(min=1e-12).log()).sum()
        entropy.backward()


class SoftmaxByHand(Mistake):
    """A softmax is computed by hand.

    exp(1000) is infinite, and infinity divided by infinity is NaN. The softmax function subtracts the maximum first.
    """

    operation = "div"
    numbers = ("1 of 2 elements", "(2,)")
    remedy = "torch.softmax"
    under = "anomaly"

    def wrong():
        x = torch.tensor([1000.0, 0.0], requires_grad=True)
        p = x.exp() / x.exp().sum()  # - <-
        # + p = torch.softmax(x, 0)
        p.sum().backward()


class LogOfSoftmax(Mistake):
    """The logarithm of a softmax is taken.

    The softmax of a small logit is 0, and the slope of the logarithm is infinite there. `log_softmax` does both in one.
    """

    says = "nan-gradient"
    operation = "log"
    numbers = ("2 of 2 elements", "(2,)")
    remedy = "log_softmax"

    def wrong():
        x = torch.tensor([1000.0, 0.0], requires_grad=True)
        (-x.softmax(0).log()[1]).backward()  # - <-
        # + (-x.log_softmax(0)[1]).backward()


class LogOfSigmoid(Mistake):
    """The logarithm of a sigmoid is taken.

    The sigmoid of -200 is 0 in float32, and the slope of the logarithm is infinite there.
    """

    says = "nan-gradient"
    operation = "log"
    numbers = ("1 of 2 elements", "(2,)")
    remedy = "logsigmoid"

    def wrong():
        x = torch.tensor([-200.0, 1.0], requires_grad=True)
        (-x.sigmoid().log()).sum().backward()  # - <-
        # + (-torch.nn.functional.logsigmoid(x)).sum().backward()


class CrossEntropyByHand(Mistake):
    """A binary cross-entropy is computed by hand.

    If the probability is exactly 1, `(1 - y) * log(1 - p)` is 0 times infinity.
    """

    operation = "mul"
    numbers = ("1 of 2 elements", "(2,)")
    remedy = "binary_cross_entropy"
    under = "anomaly"

    def wrong():
        p, y = torch.tensor([1.0, 0.5], requires_grad=True), torch.tensor([1.0, 0.0])
        right, wrong = y * p.log(), (1 - y) * (1 - p).log()  # - <-
        (-(right + wrong)).mean().backward()  # -
        # + torch.nn.functional.binary_cross_entropy(p, y).backward()
