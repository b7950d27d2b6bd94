"""Losses that do not depend on the parameters that are trained."""

import copy

import minigrad as torch
from minigrad import nn
from minigrad.nn import functional as F

from . import mistake


@mistake(
    "SGD",
    "none of its 2 parameters has a gradient",
    "2 others",
    remedy="SGD(model.parameters())",
    says="unrelated-parameters",
)
def optimizer_of_the_old_model():
    """The model is made again after its optimizer.

    The optimizer still has the parameters of the first model, which never receive a gradient.
    """
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)  # <-
    model = nn.Linear(3, 1)  # -
    # + model = nn.Sequential(model, nn.ReLU())
    for _ in range(2):
        optimizer.zero_grad()
        loss = model(torch.ones(4, 3)).pow(2).mean()
        loss.backward()
        optimizer.step()


@mistake(
    "Adam",
    "none of its 2 parameters has a gradient",
    "which no optimizer has",
    remedy="make the optimizer of the model that computes the loss",
    says="unrelated-parameters",
)
def optimizer_of_a_copy():
    """The optimizer gets the parameters of a copy of the model.

    `copy.deepcopy` copies the parameters, too.
    """
    model = nn.Linear(3, 1)
    best = copy.deepcopy(model)
    optimizer = torch.optim.Adam(best.parameters(), lr=0.1)  # <-
    loss = model(torch.ones(4, 3)).pow(2).mean()
    loss.backward()
    optimizer.step()


def optimizer_of_a_copy_corrected():
    generator, critic, spare = nn.Linear(3, 3), nn.Linear(3, 1), nn.Linear(3, 1)
    first = torch.optim.Adam(generator.parameters(), lr=0.1)
    second = torch.optim.Adam(critic.parameters(), lr=0.1)
    third = torch.optim.SGD(spare.parameters(), lr=0.1)
    loss = critic(generator(torch.ones(4, 3)).detach()).pow(2).mean()
    loss.backward()
    for optimizer in (first, second, third):  # each loss trains some of them
        optimizer.step()


@mistake(
    "SGD",
    "none of its 2 parameters has a gradient",
    "argmax",
    "requires_grad of the loss itself",
    remedy="cross_entropy(logits, target)",
    says="parameter-cut-off",
)
def requires_grad_of_the_loss():
    """A loss without a history is made to require grad.

    `backward` works again, but it differentiates the loss by itself. The parameters get no gradient.
    """
    model = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    prediction = model(torch.ones(4, 3)).argmax(1)  # - <-
    loss = F.mse_loss(prediction.float(), torch.zeros(4))  # -
    loss.requires_grad = True  # -
    # + loss = F.cross_entropy(model(torch.ones(4, 3)), torch.zeros(4, dtype=torch.int64))
    loss.backward()
    optimizer.step()


@mistake(
    "SGD",
    "none of its 2 parameters has a gradient",
    "item",
    remedy="compute with the tensor itself",
    says="parameter-cut-off",
)
def loss_made_of_a_number():
    """The loss is a new tensor, made of the number of the loss.

    `requires_grad=True` makes it a leaf, not a result of the model.
    """
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    value = model(torch.ones(2, 3)).pow(2).mean().item()  # - <-
    loss = torch.tensor(value, requires_grad=True)  # -
    # + loss = model(torch.ones(2, 3)).pow(2).mean()
    loss.backward()
    optimizer.step()


@mistake(
    "SGD",
    "under no_grad",
    "requires_grad of the loss itself",
    remedy="compute it outside of the block",
    says="parameter-cut-off",
)
def output_under_no_grad():
    """The output is computed under `no_grad`, and the loss is made to require grad.

    The error of `backward` is gone, and so is the training.
    """
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torch.no_grad():  # -
        output = model(torch.ones(2, 3))  # - <-
    loss = output.pow(2).mean().requires_grad_()  # -
    # + loss = model(torch.ones(2, 3)).pow(2).mean()
    loss.backward()
    optimizer.step()


@mistake(
    "Adam", "none of its 2 parameters has a gradient", "detach", remedy="remove .detach()", says="parameter-cut-off"
)
def fake_detached_for_the_generator():
    """The generator of a GAN is trained with detached images.

    Detach them for the loss of the discriminator only.
    """
    generator, discriminator = nn.Linear(2, 3), nn.Linear(3, 1)
    optimizer = torch.optim.Adam(generator.parameters())
    fake = generator(torch.ones(4, 2)).detach()  # - <-
    # + fake = generator(torch.ones(4, 2))
    loss = F.binary_cross_entropy_with_logits(discriminator(fake), torch.ones(4, 1))
    loss.backward()
    optimizer.step()


@mistake(
    "SGD",
    "empty parameter list",
    "requires_grad is switched off",
    remedy="leave a part of the parameters trainable",
    says=ValueError,
)
def nothing_left_to_optimize():
    """All parameters are frozen before the optimizer filters them.

    The filter leaves nothing.
    """
    model = nn.Linear(3, 1)
    for p in model.parameters():  # -
        p.requires_grad = False  # - <-
    # + model.bias.requires_grad = False
    torch.optim.SGD(filter(lambda p: p.requires_grad, model.parameters()), lr=0.1)
