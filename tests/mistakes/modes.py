"""no_grad, inference_mode and detach."""

import numpy as np

import minigrad as torch

from . import mistake


@mistake("backward", "no_grad", "(2,)", remedy="outside", under="debug")
def forward_under_no_grad():
    """The loss is computed under `no_grad`.

    no_grad records nothing, so there is nothing to differentiate afterwards. Debug mode names the operation whose history
    is missing.
    """
    w = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        squares = w * w  # <-
    loss = squares.sum()
    loss.backward()


def forward_under_no_grad_corrected():
    w = torch.ones(2, requires_grad=True)
    loss = (w * w).sum()
    loss.backward()
    with torch.no_grad():
        (w * w).sum()


@mistake("backward", "detach", "(2,)", remedy="remove .detach() from line", under="debug")
def detach_in_the_middle():
    """A result is detached on the way to the loss.

    Tensors before `detach()` get no gradient. Debug mode names the line where the history ends.
    """
    w = torch.ones(2, requires_grad=True)
    hidden = (w * 3).detach()  # - <-
    # + hidden = w * 3
    loss = hidden.pow(2).sum()
    loss.backward()
    # + return hidden.detach()


@mistake("backward", "data", "(2,)", remedy="remove .data", under="debug")
def data_in_the_middle():
    """`.data` of a result is used on the way to the loss.

    It shares the memory but has no history, as after `detach()`: no gradient passes.
    """
    w = torch.ones(2, requires_grad=True)
    hidden = (w * 3).data  # - <-
    # + hidden = w * 3
    loss = hidden.pow(2).sum()
    loss.backward()


@mistake("backward", "argmax", "(4, 3)", remedy="cross_entropy", under="debug")
def argmax_in_loss():
    """A loss is computed from the predicted class.

    `argmax` returns the index of the largest number. An index does not change when the numbers change a little, so it has
    no slope; use a loss for classes.
    """
    logits = torch.ones(4, 3, requires_grad=True)
    classes = logits.argmax(1)  # - <-
    loss = ((classes - torch.tensor([0, 1, 2, 0])) ** 2).float().mean()  # -
    loss.backward()  # -
    # + target = torch.tensor([0, 1, 2, 0])
    # + torch.nn.functional.cross_entropy(logits, target).backward()
    # + return (logits.argmax(1) == target).float().mean()


@mistake("backward", "gt", "(3,)", remedy="sigmoid", under="debug")
def comparison_in_loss():
    """A loss counts errors with a comparison.

    The result of a comparison jumps between True and False, so it has no slope.
    """
    scores = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
    errors = (scores > 0) != torch.tensor([True, True, False])  # - <-
    errors.float().mean().backward()  # -
    # + target = torch.tensor([1.0, 1.0, 0.0])
    # + torch.nn.functional.binary_cross_entropy_with_logits(scores, target).backward()


@mistake("backward", "int64", "(2,)", remedy="floating-point", under="debug")
def converted_to_integer():
    """A result is converted to integers on the way to the loss.

    Integers have no small changes, and so no derivatives.
    """
    w = torch.tensor([1.5, 2.5], requires_grad=True)
    pixels = (w * 255).long()  # - <-
    loss = pixels.float().sum()  # -
    # + loss = (w * 255).sum()
    loss.backward()


@mistake("round", "(2,)", remedy="y + (y.round() - y).detach()", says="zero-gradient", under="debug")
def round_in_the_middle():
    """A result is rounded on the way to the loss.

    `round` is flat everywhere: its slope is 0, and so is the gradient of everything before it.
    """
    w = torch.tensor([0.4, 1.4], requires_grad=True)
    levels = (w * 3).round()  # - <-
    loss = (levels - 2).pow(2).sum()  # -
    # + y = w * 3
    # + levels = y + (y.round() - y).detach()
    # + fraction = y - y.floor()
    # + loss = (levels - 2).pow(2).sum() + fraction.sum()
    loss.backward()


@mistake("sign", "(2,)", remedy="tanh", says="zero-gradient", under="debug")
def sign_in_the_middle():
    """The sign of a result is used on the way to the loss.

    `sign` is flat on both sides of 0: the gradient of everything before it is 0.
    """
    w = torch.tensor([0.4, -1.4], requires_grad=True)
    votes = w.sign()  # - <-
    loss = (votes - 1).pow(2).sum()  # -
    # + loss = (w.tanh() - 1).pow(2).sum() + (w * w.sign()).sum()
    loss.backward()


@mistake(
    "SGD",
    "0.weight",
    "0.bias",
    "detach",
    "(2, 3)",
    remedy="remove .detach() from line",
    says="parameter-cut-off",
    under="debug",
)
def encoder_detached():
    """The features of one part are detached before the next.

    The second part is trained, the first never gets a gradient, and the loss still goes down. The warning names the
    parameters that were used but are cut off.
    """
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Linear(2, 1))  # -
    # + model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Linear(2, 1), torch.nn.Linear(2, 1))
    # + model[0].bias.requires_grad = False  # frozen, and head number 2 is not used
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    features = model[0](torch.ones(4, 3)).detach()  # - <-
    # + features = model[0](torch.ones(4, 3))
    model[1](features).sum().backward()
    # + features.detach().mean()
    optimizer.step()


@mistake("Adam", "0.weight", "no_grad", remedy="outside", says="parameter-cut-off", under="debug")
def forward_of_encoder_under_no_grad():
    """A trainable part of the model runs under `no_grad`.

    Its parameters never get a gradient, while those of the other part do.
    """
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Linear(2, 1))
    # + for p in model[0].parameters():
    # +     p.requires_grad_(False)
    optimizer = torch.optim.Adam(model.parameters())
    with torch.no_grad():
        features = model[0](torch.ones(4, 3))  # <-
    model[1](features).sum().backward()
    optimizer.step()


@mistake("no_grad", remedy="with torch.no_grad():", says="mode-not-entered")
def no_grad_as_statement():
    """`torch.no_grad()` is a statement on its own line.

    It creates a switch and throws it away: recording continues. Use it as `with torch.no_grad():`, or as a decorator.
    """
    x = torch.ones(2, requires_grad=True)
    torch.no_grad()  # <-
    return x * 2


def no_grad_as_statement_corrected():
    x = torch.ones(2, requires_grad=True)
    unused = torch.no_grad()
    del unused
    torch.set_grad_enabled(True)
    with torch.no_grad():
        return x * 2


@mistake("inference_mode", remedy="with torch.inference_mode():", says="mode-not-entered")
def inference_mode_as_statement():
    """`torch.inference_mode()` is a statement on its own line.

    It creates a switch and throws it away: recording continues.
    """
    model = torch.nn.Linear(2, 1)
    torch.inference_mode()  # - <-
    return model(torch.ones(1, 2))  # -
    # + with torch.inference_mode():
    # +     return model(torch.ones(1, 2))


@mistake("no_grad", remedy="with torch.no_grad():", says=TypeError)
def without_call():
    """`with torch.no_grad:` lacks its parentheses.

    `no_grad` is a class; call it to create the switch.
    """
    # + with torch.no_grad():
    with torch.no_grad:  # - <-
        pass


@mistake("set_grad_enabled", "predict", remedy="set_grad_enabled(False)", says=TypeError)
def decorator_without_flag():
    """`@torch.set_grad_enabled` is used without its flag.

    It needs True to record, or False not to.
    """

    @torch.set_grad_enabled  # - <-
    # + @torch.no_grad
    def predict(x):
        return x * 2

    # +
    # + @torch.set_grad_enabled(False)
    # + def other(x):
    # +     return x * 2
    # +
    # + x = torch.ones(2, requires_grad=True)
    # + assert not predict(x).requires_grad and not other(x).requires_grad


@mistake("save_for_backward", "(2,)", remedy="clone()")
def inference_tensor_saved():
    """A tensor from `inference_mode` is used in training.

    Such tensors do not count writes, so backward could not know if the numbers are still right. Under `no_grad` writes are
    counted.
    """
    w = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        features = torch.ones(2) * 3
    return (w * features).sum()  # - <-
    # + return (w * features.clone()).sum()


@mistake("requires_grad_", remedy="clone()")
def inference_tensor_as_parameter():
    """A tensor from `inference_mode` is set to require grad.

    It can never be part of a graph; a copy can.
    """
    with torch.inference_mode():
        w = torch.ones(2) * 3
    w.requires_grad_()  # - <-
    # + w.clone().requires_grad_()


@mistake("numpy", "(3,)", remedy="detach().numpy()")
def num_py_of_tracked():
    """A tensor that requires grad is converted to a NumPy array.

    NumPy does not record how its numbers were computed, so no gradient could flow back.
    """
    x = torch.ones(3, requires_grad=True)
    return (x * 2).numpy()  # - <-
    # + return (x * 2).detach().numpy()


@mistake("sin", "(3,)", remedy="torch.sin")
def num_py_function():
    """A NumPy function is called on a tensor that requires grad.

    NumPy does not record how its numbers were computed. minigrad has the function under the same name.
    """
    x = torch.ones(3, requires_grad=True)
    return np.sin(x)  # - <-
    # + return torch.sin(x), np.sin(x.detach())


@mistake("no_grad", "Evaluator", remedy="methods", says=TypeError)
def class_decorated():
    """A class is decorated with `no_grad`.

    The switch applies while a function runs.
    """

    @torch.no_grad()  # <-
    class Evaluator:
        pass


def class_decorated_corrected():
    class Evaluator:
        @torch.no_grad()
        def run(self, x):
            return x * 2

    Evaluator().run(torch.ones(2, requires_grad=True))


@mistake("Variable", "volatile", remedy="no_grad", says="volatile")
def volatile_variable():
    """An old program evaluates with `Variable(x, volatile=True)`.

    The flag has no effect: operations are recorded. `no_grad` records nothing.
    """
    net, x = torch.nn.Linear(2, 1), torch.ones(3, 2)
    return net(torch.autograd.Variable(x, volatile=True))  # - <-
    # + with torch.no_grad():
    # +     return net(x)
