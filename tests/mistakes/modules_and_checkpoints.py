"""Modules and checkpoints."""

import minigrad as torch
from minigrad import nn

from . import Mistake


class SuperInitForgotten(Mistake):
    """`super().__init__()` is forgotten.

    It creates the dicts in which a module keeps its parts.
    """

    says = AttributeError
    operation = "Net"
    numbers = ("'layer'",)
    remedy = "super().__init__()"

    def wrong():
        class Net(nn.Module):
            def __init__(self):
                # + super().__init__()
                self.layer = nn.Linear(3, 1)  # <-

        Net()


class SuperInitForgottenWithoutParts(Mistake):
    """`super().__init__()` is forgotten in a module without parts.

    The mistake shows only when the module is called.
    """

    says = AttributeError
    operation = "Scale"
    remedy = "super().__init__()"

    def wrong():
        class Scale(nn.Module):
            def __init__(self, factor):
                # + super().__init__()
                self.factor = factor

            def forward(self, x):
                return self.factor * x

        Scale(2.0)(torch.ones(2))  # <-


class ForwardMisspelt(Mistake):
    """`forward` is misspelt.

    Calling a module calls its `forward`.
    """

    says = NotImplementedError
    operation = "Net"
    numbers = ("foward",)
    remedy = "def forward(self, input)"

    def wrong():
        class Net(nn.Module):
            # + def forward(self, x):
            def foward(self, x):  # -
                return x * 2

        Net()(torch.ones(2))  # <-


class TensorAsParameter(Mistake):
    """A plain tensor replaces a parameter.

    A module recognizes parameters by their type.
    """

    says = TypeError
    operation = "Linear"
    numbers = ("'weight'",)
    remedy = "nn.Parameter"

    def wrong():
        model = nn.Linear(3, 1)
        model.weight = torch.zeros(1, 3)  # - <-
        # + model.weight = nn.Parameter(torch.zeros(1, 3))


class IntegersAsParameter(Mistake):
    """A parameter is made of integers.

    Derivatives are about small changes, which integers do not have.
    """

    operation = "requires_grad_"
    numbers = ("int64",)
    remedy = "float"

    def wrong():
        return nn.Parameter(torch.tensor([1, 2]))  # <-

    def right():
        return nn.Parameter(torch.tensor([1.0, 2.0])), nn.Parameter(torch.tensor([1, 2]), requires_grad=False)


class ListInSequential(Mistake):
    """A list of layers is given to `Sequential`.

    It takes the layers one by one.
    """

    says = TypeError
    operation = "Sequential"
    numbers = ("list",)
    remedy = "Sequential(*layers)"

    def wrong():
        layers = [nn.Linear(3, 2), nn.ReLU()]
        return nn.Sequential(layers)  # - <-
        # + return nn.Sequential(*layers)


class WrongInputSize(Mistake):
    """The input of a layer has a different size than the layer expects."""

    __doc__ += "\n\n    The last dimension of the input of `nn.Linear(8, 2)` has to be 8."
    operation = "linear"
    numbers = ("(4, 3)", "(2, 8)")
    remedy = "8"

    def wrong():
        return nn.Linear(8, 2)(torch.ones(4, 3))  # <-

    def right():
        return nn.Linear(8, 2)(torch.ones(4, 8))


class BatchOfOne(Mistake):
    """Batch normalisation is trained with a batch of one example.

    One number has a spread of 0, by which it cannot be divided. The last batch of an epoch is often that small.
    """

    says = ValueError
    operation = "batch_norm"
    numbers = ("(1, 3)",)
    remedy = "eval()"

    def wrong():
        model = nn.BatchNorm1d(3)
        # + model.eval()
        model(torch.ones(1, 3))  # <-


class CheckpointWithoutForm(Mistake):
    """`checkpoint` is called without `use_reentrant`.

    It then uses the older form, as PyTorch does, which does not support `grad`, keyword arguments and second derivatives.
    """

    says = "checkpoint-form"
    operation = "checkpoint"
    numbers = ("use_reentrant is missing",)
    remedy = "use_reentrant=False"

    def wrong():
        x = torch.ones(3, requires_grad=True)
        torch.utils.checkpoint.checkpoint(torch.exp, x).sum().backward()  # - <-
        # + torch.utils.checkpoint.checkpoint(torch.exp, x, use_reentrant=False).sum().backward()


class CheckpointWithoutGradient(Mistake):
    """A checkpoint of the older form gets no argument that requires grad.

    The checkpoint is a Function of its arguments. Parameters that it only captures do not count, so no tensor inside gets a
    gradient.
    """

    says = "checkpoint-without-grad"
    operation = "checkpoint"
    numbers = ("none of the arguments requires grad",)
    remedy = "use_reentrant=False"

    def wrong():
        model = nn.Linear(3, 1)
        torch.utils.checkpoint.checkpoint(model, torch.ones(4, 3), use_reentrant=True)  # - <-
        # + torch.utils.checkpoint.checkpoint(model, torch.ones(4, 3), use_reentrant=False).sum().backward()
        # + assert model.weight.grad is not None
