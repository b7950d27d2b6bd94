"""Gradients that are always 0."""

import minigrad as torch
from minigrad import nn
from minigrad.nn import functional as F

from . import mistake


@mistake("round", "(2,)", "derivative 0 everywhere", remedy="y + (y.round() - y).detach()", says="zero-gradient")
def rounded_prediction():
    """The loss is computed from rounded predictions.

    `round` is a step function: its derivative is 0 wherever it has one. The loss has a history and `backward` works, but
    every gradient is 0. Round only to report a result.
    """
    w, x = torch.tensor([0.3, 1.7], requires_grad=True), torch.tensor([1.0, 2.0])
    prediction = (w * x).round()  # - <-
    loss = ((prediction - 1) ** 2).mean()  # -
    # + y = w * x
    # + loss = ((y - 1) ** 2).mean()
    loss.backward()
    # + print(y.round())
    # + y = (w * x).exp()
    # + ((y + (y.round() - y).detach() - 1) ** 2).mean().backward()  # straight through
    # + (w - w.floor()).sum().backward()  # the part behind the point has derivative 1
    # + (w * w.sign()).sum().backward()  # and so has the absolute value


@mistake("floor", "(4, 1)", "gradients of 2 leaves", remedy="y + (y.floor() - y).detach()", says="zero-gradient")
def floor_in_a_model():
    """The output of a model is rounded down before the loss.

    All parameters get the gradient 0, and no step changes them.
    """
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    output = torch.floor(model(torch.ones(4, 3)))  # - <-
    loss = F.mse_loss(output, torch.ones(4, 1))  # -
    # + output = model(torch.ones(4, 3))
    # + loss = F.mse_loss(output, torch.ones(4, 1)) + output.floor().sum() * 0.01
    loss.backward()
    optimizer.step()


@mistake("floor_divide", "(5, 2)", "gradients of 2 leaves", remedy="x / y", says="zero-gradient")
def floor_inside_forward():
    """A module rounds inside its forward, far from the loss.

    The error names the line in the module, although `backward` is called elsewhere.
    """

    class Bins(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(3, 2)

        def forward(self, x):
            return self.fc(x) // 0.5  # - <-
            # + return self.fc(x) / 0.5

    model = Bins()
    loss = (model(torch.ones(5, 3)) * 2 - 1).pow(2).mean()
    loss.backward()


@mistake("sign", "(4,)", remedy="tanh(x)", says="zero-gradient")
def signed_scores():
    """A loss for the signs of scores takes the sign itself.

    A hinge loss compares scores with -1 and 1; the scores have to be continuous.
    """
    model, y = nn.Linear(3, 1), torch.tensor([1.0, -1.0, 1.0, -1.0])
    score = model(torch.ones(4, 3)).squeeze(1).sign()  # - <-
    # + score = model(torch.ones(4, 3)).squeeze(1)
    loss = (1 - score * y).clamp(min=0).mean()
    loss.backward()
    # + x = torch.ones(4, 3, requires_grad=True)
    # + (g,) = torch.autograd.grad(model(x).sum(), x)
    # + model(x + 0.1 * g.sign()).sum().backward()  # a step of fixed size


@mistake("softmax", "(4, 1)", "dimension of size 1", remedy="use sigmoid for one score", says="zero-gradient")
def softmax_of_one_score():
    """Softmax is applied to one score for each example.

    The probabilities of one class are always 1. One score for yes or no needs the sigmoid.
    """
    model = nn.Linear(3, 1)  # -
    p = model(torch.ones(4, 3)).softmax(dim=1)  # - <-
    # + model, attention = nn.Linear(3, 1), nn.Linear(3, 1)
    # + p = model(torch.ones(4, 3)).sigmoid()
    loss = F.binary_cross_entropy(p, torch.ones(4, 1))
    loss.backward()
    # + attention(torch.ones(4, 3)).softmax(dim=0).pow(2).sum().backward()


@mistake("backward", "heaviside returns a step function", remedy="sigmoid(k * x)")
def step_function():
    """The output of a neuron is a step function.

    `heaviside` has no history in PyTorch either; only smooth functions can be trained.
    """
    w = torch.tensor([0.3, -1.7], requires_grad=True)
    fired = torch.heaviside(w, torch.tensor(0.0))  # - <-
    # + fired = (10 * w).sigmoid()
    fired.sum().backward()


@mistake("backward", "where chooses between constants", remedy="let the values depend on the tensor")
def where_of_constants():
    """`where` chooses between two constants.

    Only the condition depends on the parameter, and a choice has no derivative.
    """
    w = torch.tensor([0.3, 1.7], requires_grad=True)
    loss = torch.where(w > 1, 1.0, 0.0).sum()  # - <-
    # + loss = torch.where(w > 1, w, 0.0).sum()
    loss.backward()


@mistake("backward", "gt returns True or False", remedy="sigmoid(x - y)")
def comparison_by_name():
    """A function that compares stands in the loss.

    `gt` and the other functions return True or False, as the operators do.
    """
    scores = torch.tensor([0.3, 1.7], requires_grad=True)
    wrong = torch.gt(scores, 1.0).float()  # - <-
    loss = wrong.mean()  # -
    # + loss = torch.sigmoid(scores - 1.0).mean()
    loss.backward()


@mistake("backward", "argsort returns positions", remedy="use the values")
def positions_in_the_loss():
    """A ranking loss uses the positions from `argsort`.

    Positions are integers, which jump when two scores change places.
    """
    scores = torch.tensor([0.3, 1.7, -1.0], requires_grad=True)
    ranks = scores.argsort().float()  # - <-
    loss = (ranks - torch.tensor([0.0, 1.0, 2.0])).pow(2).sum()  # -
    # + order = scores.argsort()
    # + loss = (scores[order] - torch.tensor([0.0, 1.0, 2.0])).pow(2).sum()
    loss.backward()


@mistake("backward", "multinomial draws random numbers", remedy="use the log-probability")
def drawn_action():
    """A policy is trained through the action that it draws.

    A random choice has no derivative by its probabilities. The gradient of an expected reward goes through the
    log-probability.
    """
    logits, rewards = torch.zeros(3, requires_grad=True), torch.tensor([0.0, 1.0, 2.0])
    action = logits.softmax(0).multinomial(1)  # <-
    loss = -(rewards * F.one_hot(action, 3)).sum()  # -
    # + loss = -(rewards[action] * logits.log_softmax(0)[action]).sum()
    loss.backward()
