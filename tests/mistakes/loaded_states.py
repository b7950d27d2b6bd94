"""States that are saved and loaded."""

import copy  # noqa: F401  # a corrected program uses it

import minigrad as torch
from minigrad import nn

from . import mistake


@mistake("load_state_dict", "module.weight", remedy="k.removeprefix('module.')")
def prefix_of_a_wrapper():
    """The names of the state begin with the name of a wrapper.

    `DataParallel` and similar wrappers put `module.` before every name.
    """
    model = nn.Linear(3, 1)
    state = {f"module.{k}": v for k, v in nn.Linear(3, 1).state_dict().items()}
    model.load_state_dict(state)  # - <-
    # + model.load_state_dict({k.removeprefix("module."): v for k, v in state.items()})


@mistake(
    "load_state_dict", "none of the 2 names", "'net.weight'", remedy="k.removeprefix('net.')", says="nothing-loaded"
)
def nothing_loaded():
    """`strict=False` hides that no name matches.

    The model keeps its random weights.
    """
    model = nn.Linear(3, 1)
    state = {f"net.{k}": v for k, v in nn.Linear(3, 1).state_dict().items()}
    model.load_state_dict(state, strict=False)  # - <-
    # + model.load_state_dict({k.removeprefix("net."): v for k, v in state.items()})
    # + model.load_state_dict({"weight": torch.ones(1, 3), "other": torch.ones(1)}, strict=False)
    # + model.load_state_dict({}, strict=False)
    # + nn.ReLU().load_state_dict({"other": torch.ones(1)}, strict=False)


@mistake("load_state_dict", "under 'model'", remedy="load_state_dict(checkpoint['model'])")
def checkpoint_instead_of_state():
    """A whole checkpoint is loaded into the model.

    The state is one of its entries.
    """
    model = nn.Linear(3, 1)
    checkpoint = {"model": nn.Linear(3, 1).state_dict(), "epoch": 3}
    model.load_state_dict(checkpoint)  # - <-
    # + model.load_state_dict(checkpoint["model"])


@mistake("load_state_dict", "(1, 4)", "(1, 3)", remedy="with the sizes of the saved one")
def other_sizes():
    """The saved model has another size.

    `strict=False` skips names, but not sizes.
    """
    model = nn.Linear(3, 1)  # -
    model.load_state_dict(nn.Linear(4, 1).state_dict(), strict=False)  # - <-
    # + model = nn.Linear(4, 1)
    # + model.load_state_dict(nn.Linear(4, 1).state_dict())


@mistake("load_state_dict", "2 of 2 tensors", remedy="copy.deepcopy(model.state_dict())", says="own-state")
def best_state_not_copied():
    """The best state of a training is kept without a copy.

    `state_dict()` shares its memory with the model, so the steps that follow change the kept state, too.
    """
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


@mistake("SGD", "'weight' and 'bias'", "param_groups", remedy="pass optimizer.state_dict()", says=KeyError)
def state_of_the_model_in_the_optimizer():
    """The state of the model is loaded into the optimizer.

    Both have a state_dict, with different names.
    """
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer.load_state_dict(model.state_dict())  # - <-
    # + optimizer.load_state_dict(optimizer.state_dict())


@mistake(
    "functional_call", "element 0 is a Parameter", "by name", remedy="dict(module.named_parameters())", says=TypeError
)
def parameters_without_names():
    """`functional_call` gets a list of parameters.

    They replace the module's parameters by name, so a dictionary is needed.
    """
    net = nn.Linear(3, 1)
    torch.func.functional_call(net, list(net.parameters()), torch.ones(2, 3))  # - <-
    # + torch.func.functional_call(net, dict(net.named_parameters()), torch.ones(2, 3))


@mistake("Net.forward", "2 arguments", "forward(self, x)", remedy="model(x)", says=TypeError)
def too_many_arguments_for_a_model():
    """A model is called with more arguments than its forward takes.

    Python's error counts `self` and does not show the parameters.
    """

    class Net(nn.Module):
        def forward(self, x):
            return x * 2

    Net()(torch.ones(5, 3), torch.ones(5))  # - <-
    # + Net()(torch.ones(5, 3))


@mistake("Net.forward", "1 argument", "forward(x)", remedy="def forward(self, x)", says=TypeError)
def forward_of_a_module_without_self():
    """The forward of a module lacks `self`.

    Methods of a module are not static, unlike those of a Function.
    """

    class Net(nn.Module):
        # + def forward(self, x):
        def forward(x):  # - <-
            return x * 2

    Net()(torch.ones(5, 3))


@mistake("Linear", "gradient 0 with shape (2, 1)", "(2, 3)", remedy="return gradients of the module's inputs")
def hook_returns_the_wrong_gradient():
    """A backward hook of a module returns the gradient of the output.

    Its result replaces the gradients of the inputs.
    """

    def doubled(module, grad_input, grad_output):
        return grad_output[0] * 2  # - <-
        # + return (grad_input[0] * 2,)

    layer, x = nn.Linear(3, 1), torch.ones(2, 3, requires_grad=True)
    layer.register_full_backward_hook(doubled)
    layer(x).sum().backward()
