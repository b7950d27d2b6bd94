"""States that are saved and loaded."""

import copy  # noqa: F401  # a corrected program uses it

import minigrad as torch
from minigrad import nn

from . import Mistake


class PrefixOfAWrapper(Mistake):
    """The names of the state begin with the name of a wrapper.

    `DataParallel` and similar wrappers put `module.` before every name.
    """

    operation = "load_state_dict"
    numbers = ("module.weight",)
    remedy = "k.removeprefix('module.')"

    def wrong():
        model = nn.Linear(3, 1)
        state = {f"module.{k}": v for k, v in nn.Linear(3, 1).state_dict().items()}
        model.load_state_dict(state)  # - <-
        # + model.load_state_dict({k.removeprefix("module."): v for k, v in state.items()})


class NothingLoaded(Mistake):
    """`strict=False` hides that no name matches.

    The model keeps its random weights.
    """

    says = "nothing-loaded"
    operation = "load_state_dict"
    numbers = ("none of the 2 names", "'net.weight'")
    remedy = "k.removeprefix('net.')"

    def wrong():
        model = nn.Linear(3, 1)
        state = {f"net.{k}": v for k, v in nn.Linear(3, 1).state_dict().items()}
        model.load_state_dict(state, strict=False)  # <-

    def right():
        model = nn.Linear(3, 1)
        state = {f"net.{k}": v for k, v in nn.Linear(3, 1).state_dict().items()}
        model.load_state_dict({k.removeprefix("net."): v for k, v in state.items()})
        model.load_state_dict({"weight": torch.ones(1, 3), "other": torch.ones(1)}, strict=False)
        model.load_state_dict({}, strict=False)
        nn.ReLU().load_state_dict({"other": torch.ones(1)}, strict=False)


class CheckpointInsteadOfState(Mistake):
    """A whole checkpoint is loaded into the model.

    The state is one of its entries.
    """

    operation = "load_state_dict"
    numbers = ("under 'model'",)
    remedy = "load_state_dict(checkpoint['model'])"

    def wrong():
        model = nn.Linear(3, 1)
        checkpoint = {"model": nn.Linear(3, 1).state_dict(), "epoch": 3}
        model.load_state_dict(checkpoint)  # - <-
        # + model.load_state_dict(checkpoint["model"])


class OtherSizes(Mistake):
    """The saved model has another size.

    `strict=False` skips names, but not sizes.
    """

    operation = "load_state_dict"
    numbers = ("(1, 4)", "(1, 3)")
    remedy = "with the sizes of the saved one"

    def wrong():
        model = nn.Linear(3, 1)
        model.load_state_dict(nn.Linear(4, 1).state_dict(), strict=False)  # <-

    def right():
        model = nn.Linear(4, 1)
        model.load_state_dict(nn.Linear(4, 1).state_dict())


class BestStateNotCopied(Mistake):
    """The best state of a training is kept without a copy.

    `state_dict()` shares its memory with the model, so the steps that follow change the kept state, too.
    """

    says = "own-state"
    operation = "load_state_dict"
    numbers = ("2 of 2 tensors",)
    remedy = "copy.deepcopy(model.state_dict())"

    def wrong():
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        best = model.state_dict()  # - <-
        # + best = copy.deepcopy(model.state_dict())
        model(torch.ones(2, 3)).sum().backward()
        optimizer.step()
        model.load_state_dict(best)
        # + model.load_state_dict(model.state_dict())
        # + state = model.state_dict()
        # + optimizer.step()
        # + state["bias"] = torch.zeros(1)
        # + model.load_state_dict(state)
        # + nn.Linear(3, 1).load_state_dict(state)


class StateOfTheModelInTheOptimizer(Mistake):
    """The state of the model is loaded into the optimizer.

    Both have a state_dict, with different names.
    """

    says = KeyError
    operation = "SGD"
    numbers = ("'weight' and 'bias'", "param_groups")
    remedy = "pass optimizer.state_dict()"

    def wrong():
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        optimizer.load_state_dict(model.state_dict())  # - <-
        # + optimizer.load_state_dict(optimizer.state_dict())


class ParametersWithoutNames(Mistake):
    """`functional_call` gets a list of parameters.

    They replace the module's parameters by name, so a dictionary is needed.
    """

    says = TypeError
    operation = "functional_call"
    numbers = ("element 0 is a Parameter", "by name")
    remedy = "dict(module.named_parameters())"

    def wrong():
        net = nn.Linear(3, 1)
        torch.func.functional_call(net, list(net.parameters()), torch.ones(2, 3))  # - <-
        # + torch.func.functional_call(net, dict(net.named_parameters()), torch.ones(2, 3))


class TooManyArgumentsForAModel(Mistake):
    """A model is called with more arguments than its forward takes.

    Python's error counts `self` and does not show the parameters.
    """

    says = TypeError
    operation = "Net.forward"
    numbers = ("2 arguments", "forward(self, x)")
    remedy = "model(x)"

    def wrong():
        class Net(nn.Module):
            def forward(self, x):
                return x * 2

        Net()(torch.ones(5, 3), torch.ones(5))  # - <-
        # + Net()(torch.ones(5, 3))


class ForwardOfAModuleWithoutSelf(Mistake):
    """The forward of a module lacks `self`.

    Methods of a module are not static, unlike those of a Function.
    """

    says = TypeError
    operation = "Net.forward"
    numbers = ("1 argument", "forward(x)")
    remedy = "def forward(self, x)"

    def wrong():
        class Net(nn.Module):
            # + def forward(self, x):
            def forward(x):  # - <-
                return x * 2

        Net()(torch.ones(5, 3))


class HookReturnsTheWrongGradient(Mistake):
    """A backward hook of a module returns the gradient of the output.

    Its result replaces the gradients of the inputs.
    """

    operation = "Linear"
    numbers = ("gradient 0 with shape (2, 1)", "(2, 3)")
    remedy = "return gradients of the module's inputs"

    def wrong():
        def doubled(module, grad_input, grad_output):  # <-
            return grad_output[0] * 2  # -
            # + return (grad_input[0] * 2,)

        layer, x = nn.Linear(3, 1), torch.ones(2, 3, requires_grad=True)
        layer.register_full_backward_hook(doubled)
        layer(x).sum().backward()
