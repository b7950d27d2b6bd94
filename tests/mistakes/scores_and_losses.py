"""Scores and losses."""

import minigrad as torch
from minigrad import nn
from minigrad.nn import functional as F

from . import mistake


@mistake("backward", "(4, 1)", remedy=".sum()")
def loss_not_scalar():
    """backward is called on a tensor of many losses.

    It starts from one number. For several, it would need a weight for each.
    """
    model = nn.Linear(3, 1)
    loss = model(torch.ones(4, 3)) ** 2  # - <=
    # + loss = (model(torch.ones(4, 3)) ** 2).mean()
    loss.backward()  # <-


@mistake("cross_entropy", "softmax", remedy="logits", says="softmax-twice")
def softmax_before_cross_entropy():
    """Probabilities are passed to `cross_entropy`.

    It applies the softmax itself. After a second softmax the probabilities cannot come near 0 or 1, and learning is slow.
    """
    logits = torch.zeros(4, 3, requires_grad=True)
    target = torch.tensor([0, 1, 2, 0])
    F.cross_entropy(logits.softmax(1), target).backward()  # - <-
    # + F.cross_entropy(logits, target).backward()
    # + F.cross_entropy(logits.log_softmax(1), target).backward()
    # + F.nll_loss(logits.log_softmax(1), target).backward()


@mistake("nll_loss", "softmax", remedy="log_softmax", says="probabilities-as-logarithms")
def softmax_before_nll():
    """Probabilities are passed to `nll_loss`.

    It expects their logarithms and only picks the one of the right class. It does not compute a logarithm.
    """
    logits = torch.zeros(4, 3, requires_grad=True)
    target = torch.tensor([0, 1, 2, 0])
    F.nll_loss(logits.softmax(1), target).backward()  # - <-
    # + F.nll_loss(logits.log_softmax(1), target).backward()
    # + F.nll_loss(logits.softmax(1).log(), target).backward()


@mistake("kl_div", "softmax", remedy="log_softmax", says="probabilities-as-logarithms")
def softmax_in_kl_div():
    """Probabilities are passed to `kl_div` as its input.

    The input has to be log-probabilities; only the target is probabilities.
    """
    logits = torch.zeros(4, 3, requires_grad=True)
    target = torch.ones(4, 3) / 3
    F.kl_div(logits.softmax(1), target, reduction="batchmean").backward()  # - <-
    # + F.kl_div(logits.log_softmax(1), target, reduction="batchmean").backward()


@mistake("binary_cross_entropy_with_logits", "sigmoid", remedy="logits", says="sigmoid-twice")
def sigmoid_before_logits():
    """Probabilities are passed to `binary_cross_entropy_with_logits`.

    It applies the sigmoid itself.
    """
    logits = torch.zeros(4, requires_grad=True)
    F.binary_cross_entropy_with_logits(logits.sigmoid(), torch.ones(4)).backward()  # - <-
    # + F.binary_cross_entropy_with_logits(logits, torch.ones(4)).backward()
    # + F.binary_cross_entropy(logits.sigmoid(), torch.ones(4)).backward()


@mistake("binary_cross_entropy", "-1", "3", remedy="binary_cross_entropy_with_logits")
def logits_in_bce():
    """Logits are passed to `binary_cross_entropy`.

    It takes probabilities, between 0 and 1.
    """
    logits = torch.tensor([-1.0, 3.0], requires_grad=True)
    F.binary_cross_entropy(logits, torch.ones(2))  # - <-
    # + F.binary_cross_entropy_with_logits(logits, torch.ones(2))


@mistake("cross_entropy", "(4, 1)", remedy="binary_cross_entropy_with_logits", says="one-class")
def one_class():
    """`cross_entropy` is used with a single output.

    The softmax of one number is always 1, so the loss is always 0 and the model learns nothing.
    """
    scores = torch.ones(4, 1, requires_grad=True)
    F.cross_entropy(scores, torch.zeros(4, dtype=torch.int64)).backward()  # - <-
    # + F.binary_cross_entropy_with_logits(scores, torch.zeros(4, 1)).backward()


@mistake("MSELoss", "(4,)", remedy="MSELoss()(input, target)")
def loss_made_of_tensors():
    """The prediction is passed to the constructor of a loss.

    `nn.MSELoss(...)` creates a loss with its settings. Pass the tensors in a second call.
    """
    prediction, target = torch.zeros(4, requires_grad=True), torch.ones(4)
    return nn.MSELoss(prediction, target)  # - <-
    # + nn.CrossEntropyLoss(torch.ones(3))
    # + return nn.MSELoss()(prediction, target), F.mse_loss(prediction, target)


@mistake("ReLU", "(4,)", remedy="ReLU()(input)", says=TypeError)
def activation_made_of_tensor():
    """A tensor is passed to the constructor of an activation.

    `nn.ReLU(...)` creates a layer with its settings. Pass the tensor in a second call.
    """
    x = torch.zeros(4, requires_grad=True)
    return nn.ReLU(x)  # - <-
    # + return nn.ReLU()(x), x.relu(), nn.ReLU(inplace=True)
