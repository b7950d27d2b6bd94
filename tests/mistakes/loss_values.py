"""Targets, weights and masks that a loss does not take."""

import minigrad as torch
from minigrad import nn
from minigrad.nn import functional as F

from . import mistake


@mistake("mul", "(4, 1)", "(4,)", "16 products", remedy="weights.reshape(4, 1)", says="broadcast-loss")
def weights_of_all_pairs():
    """The losses of the examples are a column, and their weights a row.

    Broadcasting multiplies each loss with each weight, so all examples count the same.
    """
    model, x, y, weights = nn.Linear(3, 1), torch.ones(4, 3), torch.zeros(4, 1), torch.arange(4.0)
    loss = ((model(x) - y) ** 2 * weights).mean()  # <-
    loss.backward()


def weights_of_all_pairs_corrected():
    model, x, y, weights = nn.Linear(3, 1), torch.ones(4, 3), torch.zeros(4, 1), torch.arange(4.0)
    loss = ((model(x) - y) ** 2 * weights.reshape(4, 1)).mean()
    loss.backward()
    u = torch.ones(4, requires_grad=True)
    (u[:, None] * weights).sum().backward()  # an outer product
    (u.unsqueeze(1) * weights).mean().backward()
    points = weights[:, None]
    ((u - points) ** 2).mean().backward()  # distances of all pairs
    (u[:, None] - weights).abs().mean().backward()
    (model(x) * torch.ones(4, 4)).sum().backward()
    column = torch.ones(4, 1, requires_grad=True)
    (column * weights).sum().backward()  # a matrix of rank 1


@mistake("mul", "(4, 1)", "16 products instead of 4", remedy="mask.reshape(4, 1)", says="broadcast-loss")
def mask_of_all_pairs():
    """The losses of the examples are a column, and the mask of the valid ones a row.

    Every loss is counted, as often as the mask is true.
    """
    model, x, y = nn.Linear(3, 1), torch.ones(4, 3), torch.zeros(4, 1)
    mask = torch.tensor([True, False, True, True])
    losses = F.binary_cross_entropy_with_logits(model(x), y, reduction="none")  # -
    # + losses = F.binary_cross_entropy_with_logits(model(x), y, reduction="none").squeeze(1)
    loss = (losses * mask).sum() / mask.sum()  # <-
    loss.backward()


@mistake(
    "binary_cross_entropy_with_logits",
    "2 of 4 targets",
    "from -1 to 1",
    remedy="(target + 1) / 2",
    says="targets-outside",
)
def targets_of_minus_one():
    """The targets of a binary cross-entropy are -1 and 1.

    They are probabilities. With a target of -1 the loss falls without end.
    """
    model = nn.Linear(3, 1)
    y = torch.tensor([[1.0], [-1.0], [1.0], [-1.0]])
    loss = F.binary_cross_entropy_with_logits(model(torch.ones(4, 3)), y)  # - <-
    # + loss = F.binary_cross_entropy_with_logits(model(torch.ones(4, 3)), (y + 1) / 2)
    loss.backward()
    # + F.soft_margin_loss(model(torch.ones(4, 3)), y).backward()
    # + F.binary_cross_entropy_with_logits(model(torch.ones(4, 3)), torch.full((4, 1), 0.9)).backward()


@mistake(
    "binary_cross_entropy_with_logits",
    "2 of 3 targets",
    "from 0 to 255",
    remedy="pass targets between 0 and 1",
    says="targets-outside",
)
def targets_of_pixels():
    """The targets of a binary cross-entropy are pixels from 0 to 255.

    Scale them to probabilities.
    """
    pixels = torch.tensor([[0.0, 255.0, 128.0]])
    decoder, criterion = nn.Linear(2, 3), nn.BCEWithLogitsLoss()
    loss = criterion(decoder(torch.ones(1, 2)), pixels)  # - <-
    # + loss = criterion(decoder(torch.ones(1, 2)), pixels / 255)
    loss.backward()


@mistake("nll_loss", "values up to 2", remedy="cross_entropy(logits, target)", says="scores-as-logarithms")
def scores_in_nll_loss():
    """`nll_loss` receives the scores of a layer.

    It takes logarithms of probabilities. The negative score falls without end.
    """
    scores, criterion = torch.tensor([[2.0, -1.0], [0.5, 1.0]], requires_grad=True), nn.NLLLoss()
    loss = criterion(scores * 1, torch.tensor([0, 1]))  # - <-
    # + loss = criterion(scores.log_softmax(1), torch.tensor([0, 1]))
    loss.backward()
    # + F.cross_entropy(scores, torch.tensor([0, 1])).backward()
