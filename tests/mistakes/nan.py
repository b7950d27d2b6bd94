"""NaN and infinity."""

import minigrad as torch

from . import Mistake


class RootOfZero(Mistake):
    """A square root is differentiated at 0, where its slope is infinite.

    On the way back the infinity meets a 0, and `0 * inf` is NaN, which then spreads to all parameters.
    """

    says = "nan-gradient"
    operation = "sqrt"
    numbers = ("1 of 2 elements", "(2,)")
    remedy = "1e-12"

    def wrong():
        x = torch.tensor([0.0, 1.0], requires_grad=True)
        distance = (x * x).sqrt()
        distance.sum().backward()  # <-

    def right():
        x = torch.tensor([0.0, 1.0], requires_grad=True)
        distance = (x * x + 1e-12).sqrt()
        distance.sum().backward()


class RootOfZeroNamed(Mistake):
    """A distance of 0 is differentiated.

    The slope of the root is infinite at 0, and `0 * inf` is NaN. detect_anomaly names the line of the root.
    """

    operation = "sqrt"
    numbers = ("1 of 2 elements", "(2,)")
    remedy = "1e-12"
    under = "anomaly"

    def wrong():
        x = torch.tensor([0.0, 1.0], requires_grad=True)
        distance = (x * x).sqrt()  # <-
        distance.sum().backward()

    def right():
        x = torch.tensor([0.0, 1.0], requires_grad=True)
        distance = (x * x + 1e-12).sqrt()
        distance.sum().backward()


class RootOfZeroInGrad(Mistake):
    """`autograd.grad` differentiates the root of 0.

    The slope is infinite there, and `0 * inf` is NaN.
    """

    says = "nan-gradient"
    operation = "sqrt"
    numbers = ("1 of 2 elements", "(2,)")
    remedy = "1e-12"

    def wrong():
        x = torch.tensor([0.0, 1.0], requires_grad=True)
        return torch.autograd.grad((x * x).sqrt().sum(), x)  # <-

    def right():
        x = torch.tensor([0.0, 1.0], requires_grad=True)
        return torch.autograd.grad((x * x + 1e-12).sqrt().sum(), x)


class RootOfZeroToBeDifferentiatedAgain(Mistake):
    """The root of 0 is differentiated with `create_graph=True`.

    The slope is infinite there, and `0 * inf` is NaN.
    """

    says = "nan-gradient"
    operation = "sqrt"
    numbers = ("1 of 2 elements", "(2,)")
    remedy = "1e-12"

    def wrong():
        x = torch.tensor([0.0, 1.0], requires_grad=True)
        return torch.autograd.grad((x * x).sqrt().sum(), x, create_graph=True)  # <-

    def right():
        x = torch.tensor([0.0, 1.0], requires_grad=True)
        return torch.autograd.grad((x * x + 1e-12).sqrt().sum(), x, create_graph=True)


class DeadBranch(Mistake):
    """A root is masked after it has produced NaN or an infinite slope.

    `where` sends a gradient of 0 into the branch that it does not take, and 0 times the infinite slope of the root is NaN.
    Mask the argument before the root.
    """

    says = "nan-gradient"
    operation = "sqrt"
    numbers = ("1 of 2 elements", "(2,)")
    remedy = "where(x > 0, x, 1)"

    def wrong():
        x = torch.tensor([0.0, 4.0], requires_grad=True)
        torch.where(x > 0, x.sqrt(), 0.0).sum().backward()  # <-

    def right():
        x = torch.tensor([0.0, 4.0], requires_grad=True)
        safe = torch.where(x > 0, x, 1.0)
        torch.where(x > 0, safe.sqrt(), 0.0).sum().backward()


class DeadBranchOfNegatives(Mistake):
    """The roots of negative numbers are masked after the computation.

    Their slope is NaN, and 0 times NaN is NaN, although the loss looks fine.
    """

    operation = "SqrtBackward0"
    numbers = ("1 of 2 elements", "(2,)")
    remedy = "where(x > 0, x, 1)"
    under = "anomaly"

    def wrong():
        x = torch.tensor([-1.0, 4.0], requires_grad=True)
        roots = x.sqrt()  # <-
        torch.where(x > 0, roots, 0.0).sum().backward()

    def right():
        x = torch.tensor([-1.0, 4.0], requires_grad=True)
        roots = torch.where(x > 0, x, 1.0).sqrt()
        torch.where(x > 0, roots, 0.0).sum().backward()


class DeadBranchOfNegativesHinted(Mistake):
    """A masked branch of NaN poisons the gradient.

    The loss looks fine, so the NaN shows up only in the gradient. The warning still names the line of the operation.
    """

    says = "nan-gradient"
    operation = "sqrt"
    numbers = ("1 of 2 elements", "(2,)")
    remedy = "where(x > 0, x, 1)"

    def wrong():
        x = torch.tensor([-1.0, 4.0], requires_grad=True)
        roots = x.sqrt()  # <-
        torch.where(x > 0, roots, 0.0).sum().backward()

    def right():
        x = torch.tensor([-1.0, 4.0], requires_grad=True)
        roots = x.detach().sqrt()  # NaN, but no gradient is needed
        roots = torch.where(x > 0, x, 1.0).sqrt() + torch.where(x > 0, roots, 0.0)
        torch.where(x > 0, roots, 0.0).sum().backward()


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
        y = x.log()  # <-
        loss = (y * 2).sum()
        loss.backward()

    def right():
        x = torch.tensor([-1.0, 1.0], requires_grad=True)
        y = x.clamp(min=1e-6).log()
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
        entropy = -(p * p.log()).sum()  # <-
        entropy.backward()

    def right():
        p = torch.tensor([0.0, 1.0], requires_grad=True)
        entropy = -(p * p.clamp(min=1e-12).log()).sum()
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
        p = x.exp() / x.exp().sum()  # <-
        p.sum().backward()

    def right():
        x = torch.tensor([1000.0, 0.0], requires_grad=True)
        p = torch.softmax(x, 0)
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
        (-x.softmax(0).log()[1]).backward()  # <-

    def right():
        x = torch.tensor([1000.0, 0.0], requires_grad=True)
        (-x.log_softmax(0)[1]).backward()


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
        (-x.sigmoid().log()).sum().backward()  # <-

    def right():
        x = torch.tensor([-200.0, 1.0], requires_grad=True)
        (-torch.nn.functional.logsigmoid(x)).sum().backward()


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
        right, wrong = y * p.log(), (1 - y) * (1 - p).log()  # <-
        (-(right + wrong)).mean().backward()

    def right():
        p, y = torch.tensor([1.0, 0.5], requires_grad=True), torch.tensor([1.0, 0.0])
        torch.nn.functional.binary_cross_entropy(p, y).backward()


class NormalisedZero(Mistake):
    """A vector of zeros is divided by its length.

    0 / 0 is NaN.
    """

    operation = "div"
    numbers = ("2 of 2 elements", "(2,)")
    remedy = "clamp(min="
    under = "anomaly"

    def wrong():
        v = torch.zeros(2, requires_grad=True)
        unit = v / v.norm()  # <-
        unit.sum().backward()

    def right():
        v = torch.zeros(2, requires_grad=True)
        unit = v / v.norm().clamp(min=1e-12)
        unit.sum().backward()


class StandardisedConstant(Mistake):
    """A column of equal numbers is divided by its standard deviation.

    The standard deviation is 0, and 0 / 0 is NaN.
    """

    operation = "div"
    numbers = ("3 of 3 elements", "(3,)")
    remedy = "clamp(min="
    under = "anomaly"

    def wrong():
        x = torch.ones(3, requires_grad=True)
        z = (x - x.mean()) / x.std()  # <-
        z.sum().backward()

    def right():
        x = torch.ones(3, requires_grad=True)
        z = (x - x.mean()) / x.detach().std().clamp(min=1e-6)
        z.sum().backward()


class DeviationOfOne(Mistake):
    """The standard deviation of one number is computed.

    It divides by the count less one, which is 0.
    """

    operation = "std"
    numbers = ("1 of 1 elements",)
    remedy = "correction=0"
    under = "anomaly"

    def wrong():
        x = torch.ones(1, requires_grad=True)
        s = x.std()  # <-
        s.backward()

    def right():
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        s = x.std(correction=0)
        s.backward()


class PowerOfZero(Mistake):
    """0 to the power of 0.5 is differentiated.

    The slope is infinite there, like the slope of the root.
    """

    says = "nan-gradient"
    operation = "pow"
    numbers = ("1 of 2 elements", "(2,)")
    remedy = "1e-12"

    def wrong():
        x = torch.tensor([0.0, 1.0], requires_grad=True)
        ((x * x) ** 0.5).sum().backward()  # <-

    def right():
        x = torch.tensor([0.0, 1.0], requires_grad=True)
        ((x * x + 1e-12) ** 0.5).sum().backward()


class PowerOfNegative(Mistake):
    """A negative number is raised to a power that is not an integer.

    The result is not a real number.
    """

    operation = "pow"
    numbers = ("1 of 2 elements", "(2,)")
    remedy = "clamp(min="
    under = "anomaly"

    def wrong():
        x = torch.tensor([-8.0, 8.0], requires_grad=True)
        y = x ** (1 / 3)  # <-
        y.sum().backward()

    def right():
        x = torch.tensor([-8.0, 8.0], requires_grad=True)
        y = x.sign() * x.abs() ** (1 / 3)
        y.sum().backward()


class AngleBetweenParallels(Mistake):
    """The angle between equal vectors is differentiated.

    The slope of `acos` is infinite at 1.
    """

    says = "nan-gradient"
    operation = "acos"
    numbers = ("1 of 2 elements", "(2,)")
    remedy = "clamp(-1 + 1e-6, 1 - 1e-6)"

    def wrong():
        x = torch.tensor([0.0, 1.0], requires_grad=True)
        torch.acos(torch.cos(x)).sum().backward()  # <-

    def right():
        x = torch.tensor([0.0, 1.0], requires_grad=True)
        torch.acos(torch.cos(x).clamp(-1 + 1e-6, 1 - 1e-6)).sum().backward()


class FullyMaskedRow(Mistake):
    """All positions of a row are masked before a softmax.

    The softmax of nothing but -infinity is 0 / 0.
    """

    operation = "softmax"
    numbers = ("3 of 6 elements", "(2, 3)")
    remedy = "masked"
    under = "anomaly"

    def wrong():
        scores = torch.zeros(2, 3, requires_grad=True)
        mask = torch.tensor([[True, True, True], [False, False, True]])
        weights = scores.masked_fill(mask, float("-inf")).softmax(1)  # <-
        weights.sum().backward()

    def right():
        scores = torch.zeros(2, 3, requires_grad=True)
        mask = torch.tensor([[True, True, False], [False, False, True]])
        weights = scores.masked_fill(mask, float("-inf")).softmax(1)
        weights.sum().backward()


class MeanOfNothing(Mistake):
    """The mean of an empty selection is taken.

    It is 0 / 0.
    """

    operation = "mean"
    numbers = ("1 of 1 elements", "(0,)")
    remedy = "numel()"
    under = "anomaly"

    def wrong():
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        chosen = x[x > 5].mean()  # <-
        chosen.backward()

    def right():
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        chosen = x[x > 5]
        if chosen.numel():
            chosen.mean().backward()


class VarianceByHand(Mistake):
    """A standard deviation is computed from the mean of the squares.

    In float32 the difference of two large, nearly equal numbers is rounded, and can be negative.
    """

    operation = "sqrt"
    numbers = ("1 of 1 elements",)
    remedy = "clamp(min="
    under = "anomaly"

    def wrong():
        x = torch.full((7,), 1000.1, requires_grad=True)
        s = ((x * x).mean() - x.mean() ** 2).sqrt()  # <-
        s.backward()

    def right():
        x = torch.tensor([1000.0, 1001.0, 1002.0], requires_grad=True)
        s = x.std()
        s.backward()


class NanInData(Mistake):
    """The data contain NaN.

    NaN often stands for missing numbers. Every result computed from NaN is NaN.
    """

    operation = "mul"
    numbers = ("NaN in 1 of 3 elements", "(3,)")
    remedy = "isnan()"
    under = "anomaly"

    def wrong():
        w = torch.ones(3, requires_grad=True)
        x = torch.tensor([1.0, float("nan"), 3.0])
        y = w * x  # <-
        y.sum().backward()

    def right():
        w = torch.ones(3, requires_grad=True)
        x = torch.tensor([1.0, float("nan"), 3.0])
        y = (w * x)[~x.isnan()]
        y.sum()


class NanLossHinted(Mistake):
    """A loss that is NaN is differentiated.

    All gradients are then NaN, and after the next step all parameters. minigrad names the operation that produced the first
    NaN.
    """

    says = "nan-loss"
    operation = "log"
    numbers = ("()",)
    remedy = "clamp(min="

    def wrong():
        x = torch.tensor([-1.0, 1.0], requires_grad=True)
        loss = x.log().sum()  # <-
        loss.backward()

    def right():
        x = torch.tensor([-1.0, 1.0], requires_grad=True)
        loss = x.clamp(min=1e-6).log().sum()
        loss.backward()


class InfiniteLoss(Mistake):
    """A loss that is infinite is differentiated.

    exp(100) overflows float32. The gradients are infinite, and after the next step the parameters.
    """

    says = "infinite-loss"
    operation = "exp"
    numbers = ("inf", "()")
    remedy = "clamp(max="

    def wrong():
        x = torch.tensor([1.0, 100.0], requires_grad=True)
        loss = x.exp().sum()  # <-
        loss.backward()

    def right():
        x = torch.tensor([1.0, 100.0], requires_grad=True)
        loss = x.clamp(max=20.0).exp().sum()
        loss.backward()


class AllTargetsIgnored(Mistake):
    """All targets of a cross-entropy are ignored.

    The mean over nothing is 0 / 0.
    """

    operation = "cross_entropy"
    numbers = ("(2, 3)",)
    remedy = "ignore_index"
    under = "anomaly"

    def wrong():
        logits, target = torch.zeros(2, 3, requires_grad=True), torch.tensor([-100, -100])
        loss = torch.nn.functional.cross_entropy(logits, target)  # <-
        loss.backward()

    def right():
        logits, target = torch.zeros(2, 3, requires_grad=True), torch.tensor([-100, 1])
        loss = torch.nn.functional.cross_entropy(logits, target)
        loss.backward()


class InfiniteWeight(Mistake):
    """A ratio with a divisor of 0 is masked by a product.

    1 / 0 is infinite, and 0 times infinity is NaN. A product does not mask.
    """

    operation = "mul"
    numbers = ("1 of 2 elements", "(2,)")
    remedy = "where"
    under = "anomaly"

    def wrong():
        x = torch.tensor([0.0, 2.0], requires_grad=True)
        ratio = (x > 0).float() * (1 / x)  # <-
        ratio.sum().backward()

    def right():
        x = torch.tensor([0.0, 2.0], requires_grad=True)
        ratio = torch.where(x > 0, 1 / torch.where(x > 0, x, 1.0), 0.0)
        ratio.sum().backward()
