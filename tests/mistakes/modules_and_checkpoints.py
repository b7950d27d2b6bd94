"""Modules and checkpoints."""

import minigrad as torch
from minigrad import nn

from . import mistake


@mistake("Net", "'layer'", remedy="super().__init__()", says=AttributeError)
def super_init_forgotten():
    """`super().__init__()` is forgotten.

    It creates the dicts in which a module keeps its parts.
    """

    class Net(nn.Module):
        def __init__(self):
            # + super().__init__()
            self.layer = nn.Linear(3, 1)  # <-

    Net()


@mistake("Scale", remedy="super().__init__()", says=AttributeError)
def super_init_forgotten_without_parts():
    """`super().__init__()` is forgotten in a module without parts.

    The mistake shows only when the module is called.
    """

    class Scale(nn.Module):
        def __init__(self, factor):  # <=
            # + super().__init__()
            self.factor = factor

        def forward(self, x):
            return self.factor * x

    Scale(2.0)(torch.ones(2))  # <-


@mistake("Net", "foward", remedy="def forward(self, input)", says=NotImplementedError)
def forward_misspelt():
    """`forward` is misspelt.

    Calling a module calls its `forward`.
    """

    class Net(nn.Module):
        # + def forward(self, x):
        def foward(self, x):  # - <=
            return x * 2

    Net()(torch.ones(2))  # <-


@mistake("Linear", "'weight'", remedy="nn.Parameter", says=TypeError)
def tensor_as_parameter():
    """A plain tensor replaces a parameter.

    A module recognizes parameters by their type.
    """
    model = nn.Linear(3, 1)
    model.weight = torch.zeros(1, 3)  # - <-
    # + model.weight = nn.Parameter(torch.zeros(1, 3))


@mistake("requires_grad_", "int64", remedy="float")
def integers_as_parameter():
    """A parameter is made of integers.

    Derivatives are about small changes, which integers do not have.
    """
    return nn.Parameter(torch.tensor([1, 2]))  # - <-
    # + return nn.Parameter(torch.tensor([1.0, 2.0])), nn.Parameter(torch.tensor([1, 2]), requires_grad=False)


@mistake("Sequential", "list", remedy="Sequential(*layers)", says=TypeError)
def list_in_sequential():
    """A list of layers is given to `Sequential`.

    It takes the layers one by one.
    """
    layers = [nn.Linear(3, 2), nn.ReLU()]
    return nn.Sequential(layers)  # - <-
    # + return nn.Sequential(*layers)


@mistake("linear", "(4, 3)", "(2, 8)", remedy="8")
def wrong_input_size():
    """The input of a layer has a different size than the layer expects.

    The last dimension of the input of `nn.Linear(8, 2)` has to be 8.
    """
    return nn.Linear(8, 2)(torch.ones(4, 3))  # - <-
    # + return nn.Linear(8, 2)(torch.ones(4, 8))


@mistake("batch_norm", "(1, 3)", remedy="eval()", says=ValueError)
def batch_of_one():
    """Batch normalisation is trained with a batch of one example.

    One number has a spread of 0, by which it cannot be divided. The last batch of an epoch is often that small.
    """
    model = nn.BatchNorm1d(3)
    # + model.eval()
    model(torch.ones(1, 3))  # <-
