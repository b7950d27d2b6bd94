"""Losses that do not depend on the parameters that are trained."""

import copy

import minigrad as torch
from minigrad import nn
from minigrad.nn import functional as F

from . import Mistake


class OptimizerOfTheOldModel(Mistake):
    """The model is made again after its optimizer.

    The optimizer still has the parameters of the first model, which never receive a gradient.
    """

    says = "unrelated-parameters"
    operation = "SGD"
    numbers = ("none of its 2 parameters has a gradient", "2 others")
    remedy = "SGD(model.parameters())"

    def wrong():
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)  # <-
        model = nn.Linear(3, 1)  # -
        # + model = nn.Sequential(model, nn.ReLU())
        for _ in range(2):
            optimizer.zero_grad()
            loss = model(torch.ones(4, 3)).pow(2).mean()
            loss.backward()
            optimizer.step()


class OptimizerOfACopy(Mistake):
    """The optimizer gets the parameters of a copy of the model.

    `copy.deepcopy` copies the parameters, too.
    """

    says = "unrelated-parameters"
    operation = "Adam"
    numbers = ("none of its 2 parameters has a gradient", "which no optimizer has")
    remedy = "make the optimizer of the model that computes the loss"

    def wrong():
        model = nn.Linear(3, 1)
        best = copy.deepcopy(model)
        optimizer = torch.optim.Adam(best.parameters(), lr=0.1)  # <-
        loss = model(torch.ones(4, 3)).pow(2).mean()
        loss.backward()
        optimizer.step()

    def right():
        generator, critic, spare = nn.Linear(3, 3), nn.Linear(3, 1), nn.Linear(3, 1)
        first = torch.optim.Adam(generator.parameters(), lr=0.1)
        second = torch.optim.Adam(critic.parameters(), lr=0.1)
        third = torch.optim.SGD(spare.parameters(), lr=0.1)
        loss = critic(generator(torch.ones(4, 3)).detach()).pow(2).mean()
        loss.backward()
        for optimizer in (first, second, third):  # each loss trains some of them
            optimizer.step()


class RequiresGradOfTheLoss(Mistake):
    """A loss without a history is made to require grad.

    `backward` works again, but it differentiates the loss by itself. The parameters get no gradient.
    """

    says = "parameter-cut-off"
    operation = "SGD"
    numbers = ("none of its 2 parameters has a gradient", "argmax", "requires_grad of the loss itself")
    remedy = "cross_entropy(logits, target)"

    def wrong():
        model = nn.Linear(3, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        prediction = model(torch.ones(4, 3)).argmax(1)  # - <-
        loss = F.mse_loss(prediction.float(), torch.zeros(4))  # -
        loss.requires_grad = True  # -
        # + loss = F.cross_entropy(model(torch.ones(4, 3)), torch.zeros(4, dtype=torch.int64))
        loss.backward()
        optimizer.step()


class LossMadeOfANumber(Mistake):
    """The loss is a new tensor, made of the number of the loss.

    `requires_grad=True` makes it a leaf, not a result of the model.
    """

    says = "parameter-cut-off"
    operation = "SGD"
    numbers = ("none of its 2 parameters has a gradient", "item")
    remedy = "compute with the tensor itself"

    def wrong():
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        value = model(torch.ones(2, 3)).pow(2).mean().item()  # - <-
        loss = torch.tensor(value, requires_grad=True)  # -
        # + loss = model(torch.ones(2, 3)).pow(2).mean()
        loss.backward()
        optimizer.step()


class OutputUnderNoGrad(Mistake):
    """The output is computed under `no_grad`, and the loss is made to require grad.

    The error of `backward` is gone, and so is the training.
    """

    says = "parameter-cut-off"
    operation = "SGD"
    numbers = ("under no_grad", "requires_grad of the loss itself")
    remedy = "compute it outside of the block"

    def wrong():
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with torch.no_grad():  # -
            output = model(torch.ones(2, 3))  # - <-
        loss = output.pow(2).mean().requires_grad_()  # -
        # + loss = model(torch.ones(2, 3)).pow(2).mean()
        loss.backward()
        optimizer.step()


class FakeDetachedForTheGenerator(Mistake):
    """The generator of a GAN is trained with detached images.

    Detach them for the loss of the discriminator only.
    """

    says = "parameter-cut-off"
    operation = "Adam"
    numbers = ("none of its 2 parameters has a gradient", "detach")
    remedy = "remove .detach()"

    def wrong():
        generator, discriminator = nn.Linear(2, 3), nn.Linear(3, 1)
        optimizer = torch.optim.Adam(generator.parameters())
        fake = generator(torch.ones(4, 2)).detach()  # - <-
        # + fake = generator(torch.ones(4, 2))
        loss = F.binary_cross_entropy_with_logits(discriminator(fake), torch.ones(4, 1))
        loss.backward()
        optimizer.step()


class NothingLeftToOptimize(Mistake):
    """All parameters are frozen before the optimizer filters them.

    The filter leaves nothing.
    """

    says = ValueError
    operation = "SGD"
    numbers = ("empty parameter list", "requires_grad is switched off")
    remedy = "leave a part of the parameters trainable"

    def wrong():
        model = nn.Linear(3, 1)
        for p in model.parameters():  # -
            p.requires_grad = False  # - <-
        # + model.bias.requires_grad = False
        torch.optim.SGD(filter(lambda p: p.requires_grad, model.parameters()), lr=0.1)
