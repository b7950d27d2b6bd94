"""Steps of training that do nothing, or train something else."""

import minigrad as torch
from minigrad import nn

from . import mistake


@mistake("SGD", "1 of its 4 modules", "Dropout", remedy="call model.train()", says="trained-in-eval-mode")
def trained_in_eval_mode():
    """After the first evaluation the model stays in eval mode.

    From the second epoch on, dropout drops nothing and batch normalization does not learn its statistics.
    """

    def evaluated(model):
        model.eval()  # <-
        with torch.no_grad():
            return model(torch.ones(2, 3)).mean().item()

    model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.ones(4, 3)).pow(2).mean().backward()
        optimizer.step()
        evaluated(model)


def trained_in_eval_mode_corrected():
    def trained(model, optimizer):
        for _ in range(2):
            optimizer.zero_grad()
            model(torch.ones(4, 3)).pow(2).mean().backward()
            optimizer.step()
            model.eval()
            model(torch.ones(4, 3))
            model.train()

    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    trained(model, optimizer)
    model[1].eval()  # fine-tuning with the statistics as they are
    optimizer.zero_grad()
    model(torch.ones(4, 3)).pow(2).mean().backward()
    optimizer.step()
    plain = nn.Linear(3, 1)  # eval mode makes no difference
    optimizer = torch.optim.SGD(plain.parameters(), lr=0.1)
    plain(torch.ones(4, 3)).sum().backward()
    optimizer.step()
    plain.eval()
    optimizer.zero_grad()
    plain(torch.ones(4, 3)).sum().backward()
    optimizer.step()
    frozen = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5)).eval()  # from the first step on
    optimizer = torch.optim.SGD(frozen.parameters(), lr=0.1)
    frozen(torch.ones(4, 3)).sum().backward()
    optimizer.step()


@mistake(
    "Net.forward",
    "nn.Linear(4, 1)",
    "in every call",
    remedy="in __init__: self.linear = nn.Linear(4, 1)",
    says="layer-in-forward",
)
def layer_made_in_forward():
    """`forward` makes a layer.

    Each call gets new random weights, which no optimizer knows.
    """

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(3, 4)  # -
            # + self.first, self.second = nn.Linear(3, 4), None

        def forward(self, x):
            return nn.Linear(4, 1)(self.first(x))  # - <-
            # + h = self.first(x)
            # + if self.second is None:
            # +     self.second = nn.Linear(4, 1)
            # + assert isinstance(self.second, nn.Linear)
            # + return self.second(h)

    net = Net()
    # + net(torch.ones(1, 3))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    net(torch.ones(4, 3)).pow(2).mean().backward()
    optimizer.step()


@mistake("SGD", "Net.scale", "(3,)", remedy="self.scale = nn.Parameter", says="unregistered-parameters")
def tensor_instead_of_parameter():
    """A weight of a module is a plain tensor, not an `nn.Parameter`.

    It receives gradients, but `parameters()` does not contain it.
    """

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.ones(3, requires_grad=True)  # - <-
            # + self.scale = nn.Parameter(torch.ones(3))
            # + self.mean = torch.ones(3)
            # + self.penalty = self.scale * 2
            # + self.shift = torch.zeros(3, requires_grad=True)
            self.fc = nn.Linear(3, 1)

    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    net.fc(torch.ones(2, 3) * net.scale).sum().backward()  # -
    # + other = torch.optim.SGD([net.shift], lr=0.01)
    # + net.fc(torch.ones(2, 3) * net.scale + net.shift).sum().backward()
    optimizer.step()
    # + other.step()


@mistake("Adam", "2 parameters", "3 so far", remedy="make the optimizer once", says="optimizer-in-loop")
def optimizer_made_in_the_loop():
    """Each round makes a new optimizer.

    Adam keeps averages of the gradients. A new one starts without them, so every step has the size of the first.
    """
    model = nn.Linear(3, 1)
    for _ in range(4):
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)  # <-
        optimizer.zero_grad()
        model(torch.ones(4, 3)).pow(2).mean().backward()
        optimizer.step()


def optimizer_made_in_the_loop_corrected():
    model = nn.Linear(3, 1)
    for rate in (0.1, 0.01, 0.001, 0.0001):
        optimizer = torch.optim.Adam(model.parameters(), lr=rate)
        for _ in range(2):
            optimizer.zero_grad()
            model(torch.ones(4, 3)).pow(2).mean().backward()
            optimizer.step()
    for _ in range(4):
        model = nn.Linear(3, 1)  # another model each time
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        model(torch.ones(4, 3)).pow(2).mean().backward()
        optimizer.step()
    for _ in range(4):
        torch.optim.Adam(model.parameters(), lr=0.1)


@mistake(
    "clip_grad_norm_", "2 gradients", remedy="between loss.backward() and optimizer.step()", says="clip-after-step"
)
def clipped_after_the_step():
    """Gradients are clipped after the step that uses them.

    The step has followed the full gradients.
    """
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(4, 3)).pow(2).mean().backward()
    optimizer.step()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # <-


def clipped_after_the_step_corrected():
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.ones(4, 3)).pow(2).mean().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        print(nn.utils.clip_grad_norm_(model.parameters(), float("inf")))  # only the norm


@mistake(
    "Adam",
    "2 parameters",
    "zero_grad() has cleared the gradients",
    remedy="optimizer.zero_grad(), loss = ..., loss.backward(), optimizer.step()",
    says="step-without-gradients",
)
def cleared_before_the_step():
    """`zero_grad()` stands between `backward` and the step.

    The step finds no gradients. The warning names the line that clears them.
    """
    model = nn.Linear(3, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(2):
        loss = model(torch.ones(4, 3)).pow(2).mean()
        loss.backward()
        # + optimizer.step()
        optimizer.zero_grad()  # <-
        optimizer.step()  # -


@mistake("LBFGS", "returns None", remedy="return loss", says=TypeError)
def closure_without_loss():
    """The closure for LBFGS returns nothing.

    The optimizer compares the losses that the closure returns.
    """
    model = nn.Linear(3, 1)
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1)

    def closure():  # <-
        optimizer.zero_grad()
        model(torch.ones(4, 3)).pow(2).mean().backward()  # -
        # + loss = model(torch.ones(4, 3)).pow(2).mean()
        # + loss.backward()
        # + return loss

    optimizer.step(closure)
