"""NaN and infinity from data, empty means and huge weights."""

import minigrad as torch

from . import mistake


@mistake("softmax", "3 of 6 elements", "(2, 3)", remedy="masked", under="anomaly")
def fully_masked_row():
    """All positions of a row are masked before a softmax.

    The softmax of nothing but -infinity is 0 / 0.
    """
    scores = torch.zeros(2, 3, requires_grad=True)
    mask = torch.tensor([[True, True, True], [False, False, True]])  # -
    # + mask = torch.tensor([[True, True, False], [False, False, True]])
    weights = scores.masked_fill(mask, float("-inf")).softmax(1)  # <-
    weights.sum().backward()


@mistake("mean", "1 of 1 elements", "(0,)", remedy="numel()", under="anomaly")
def mean_of_nothing():
    """The mean of an empty selection is taken.

    It is 0 / 0.
    """
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    chosen = x[x > 5].mean()  # - <-
    chosen.backward()  # -
    # + chosen = x[x > 5]
    # + if chosen.numel():
    # +     chosen.mean().backward()


@mistake("sqrt", "1 of 1 elements", remedy="clamp(min=", under="anomaly")
def variance_by_hand():
    """A standard deviation is computed from the mean of the squares.

    In float32 the difference of two large, nearly equal numbers is rounded, and can be negative.
    """
    x = torch.full((7,), 1000.1, requires_grad=True)  # -
    s = ((x * x).mean() - x.mean() ** 2).sqrt()  # - <-
    # + x = torch.tensor([1000.0, 1001.0, 1002.0], requires_grad=True)
    # + s = x.std()
    s.backward()


@mistake("mul", "NaN in 1 of 3 elements", "(3,)", remedy="isnan()", under="anomaly")
def nan_in_data():
    """The data contain NaN.

    NaN often stands for missing numbers. Every result computed from NaN is NaN.
    """
    w = torch.ones(3, requires_grad=True)
    x = torch.tensor([1.0, float("nan"), 3.0])
    y = w * x  # - <-
    y.sum().backward()  # -
    # + y = (w * x)[~x.isnan()]
    # + y.sum()


@mistake("log", "()", remedy="clamp(min=", says="nan-loss")
def nan_loss_hinted():
    """A loss that is NaN is differentiated.

    All gradients are then NaN, and after the next step all parameters. minigrad names the operation that produced the first
    NaN.
    """
    x = torch.tensor([-1.0, 1.0], requires_grad=True)
    loss = x.log().sum()  # - <-
    # + loss = x.clamp(min=1e-6).log().sum()
    loss.backward()


@mistake("exp", "inf", "()", remedy="clamp(max=", says="infinite-loss")
def infinite_loss():
    """A loss that is infinite is differentiated.

    exp(100) overflows float32. The gradients are infinite, and after the next step the parameters.
    """
    x = torch.tensor([1.0, 100.0], requires_grad=True)
    loss = x.exp().sum()  # - <-
    # + loss = x.clamp(max=20.0).exp().sum()
    loss.backward()


@mistake("cross_entropy", "(2, 3)", remedy="ignore_index", under="anomaly")
def all_targets_ignored():
    """All targets of a cross-entropy are ignored.

    The mean over nothing is 0 / 0.
    """
    logits, target = torch.zeros(2, 3, requires_grad=True), torch.tensor([-100, -100])  # -
    # + logits, target = torch.zeros(2, 3, requires_grad=True), torch.tensor([-100, 1])
    loss = torch.nn.functional.cross_entropy(logits, target)  # <-
    loss.backward()


@mistake("mul", "1 of 2 elements", "(2,)", remedy="where", under="anomaly")
def infinite_weight():
    """A ratio with a divisor of 0 is masked by a product.

    1 / 0 is infinite, and 0 times infinity is NaN. A product does not mask.
    """
    x = torch.tensor([0.0, 2.0], requires_grad=True)
    ratio = (x > 0).float() * (1 / x)  # - <-
    # + ratio = torch.where(x > 0, 1 / torch.where(x > 0, x, 1.0), 0.0)
    ratio.sum().backward()
