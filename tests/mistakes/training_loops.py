"""Training loops that fail in the second round, or train only a part."""

import minigrad as torch

from . import mistake


@mistake("backward", "does not require grad", "is assigned a new tensor", remedy="w -= ")
def update_assigns_new_tensor():
    """The update of a parameter assigns a new tensor under no_grad.

    The new tensor does not require grad, so the next backward fails. Write to the parameter in place.
    """
    w = torch.tensor([1.0, -2.0, 0.5], requires_grad=True)
    for _ in range(2):
        # + w.grad = None
        loss = (w**2).sum()
        loss.backward()
        with torch.no_grad():
            w = w - 0.1 * w.grad  # - <-
            # + w -= 0.1 * w.grad


@mistake("backward", ".data gives a tensor that requires grad without its history", remedy="remove .data")
def update_through_data():
    """The update of a parameter assigns a result of its `.data`.

    `.data` has no history, and so has what is computed from it.
    """
    w = torch.tensor([1.0, -2.0, 0.5], requires_grad=True)
    for _ in range(2):
        # + w.grad = None
        loss = (w**2).sum()
        loss.backward()
        w = w.data - 0.1 * w.grad  # - <-
        # + w.data -= 0.1 * w.grad


@mistake("backward", "is assigned a new tensor", remedy="in place")
def update_in_a_function():
    """A function returns the updated parameter, which has lost its history.

    The second call fails in `backward`, but the mistake is in the update of the first call.
    """

    def trained(w):
        loss = (w**2).sum()
        loss.backward()  # -
        with torch.no_grad():  # -
            w = w - 0.1 * w.grad  # - <-
        return w  # -
        # + (g,) = torch.autograd.grad(loss, w)
        # + return (w - 0.1 * g).detach().requires_grad_()

    w = torch.tensor([1.0, -2.0], requires_grad=True)
    for _ in range(2):
        w = trained(w)


@mistake("backward", "create_graph is not set", remedy="pass create_graph=True")
def penalty_on_gradient_without_graph():
    """The norm of a gradient is differentiated, but the gradient has no history.

    `autograd.grad` records its own computation only with `create_graph=True`.
    """
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (g,) = torch.autograd.grad((x**3).sum(), x)  # - <-
    # + (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    penalty = (g**2).sum()
    penalty.backward()


@mistake("backward", "set_grad_enabled(False) has switched gradients off", remedy="with torch.no_grad():")
def gradients_switched_off():
    """A function switches gradients off and never on again.

    `set_grad_enabled(False)` holds for the rest of the program; `with no_grad():` ends with its block.
    """

    def evaluate(model):
        torch.set_grad_enabled(False)  # <-
        return model(torch.ones(2, 3))

    model = torch.nn.Linear(3, 1)
    try:
        evaluate(model)
        model(torch.ones(4, 3)).sum().backward()
    finally:
        torch.set_grad_enabled(True)


def gradients_switched_off_corrected():
    def evaluate(model):
        with torch.no_grad():
            return model(torch.ones(2, 3))

    model = torch.nn.Linear(3, 1)
    evaluate(model)
    model(torch.ones(4, 3)).sum().backward()


@mistake(
    "backward", "no parameter of model requires grad", "requires_grad is switched off", remedy="requires_grad_(True)"
)
def all_parameters_frozen():
    """Every parameter of the model is frozen, so its loss has no history.

    The error names the model and the line that froze it.
    """
    model = torch.nn.Linear(3, 1)
    for p in model.parameters():  # -
        p.requires_grad = False  # - <-
    # + model.bias.requires_grad = False
    loss = model(torch.ones(4, 3)).sum()
    loss.backward()


@mistake("backward", "weight does not require grad; it is made", remedy="set requires_grad=True")
def weight_does_not_require_grad():
    """No tensor of the program requires grad.

    The error names the tensors that the loss is computed from, and the lines that make them.
    """
    weight = torch.tensor([1.0, 2.0, 3.0])  # - <-
    # + weight = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    loss = (weight * 2).sum()
    loss.backward()


@mistake(
    "Adam",
    "encoder.weight",
    "encoder.bias",
    "(4, 3)",
    "detach",
    remedy="remove .detach() from line",
    says="parameter-cut-off",
)
def encoder_cut_off():
    """The features of the encoder are detached, so only the head is trained.

    The loss still goes down. The first step of the optimizer finds parameters without a gradient, and the line that cut
    them off.
    """

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder, self.head = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)

        def forward(self, x):
            features = self.encoder(x).relu()
            return self.head(features.detach())  # <-

    net = Net()
    optimizer = torch.optim.Adam(net.parameters())
    loss = net(torch.ones(5, 3)).pow(2).mean()
    loss.backward()
    optimizer.step()


def encoder_cut_off_corrected():
    encoder, head, spare = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1), torch.nn.Linear(4, 1)
    optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters(), *spare.parameters()])
    features = encoder(torch.ones(5, 3)).relu()
    loss = head(features).pow(2).mean()
    loss.backward()
    spare(features.detach())  # not in the loss
    optimizer.step()


@mistake("sub", "(8, 1)", "(8,)", "64 differences", remedy="y.reshape(8, 1)", says="broadcast-loss")
def loss_of_all_pairs():
    """A loss written by hand subtracts a row of targets from a column of predictions.

    Broadcasting takes each prediction with each target, and the model learns the mean of the targets.
    """
    model, x, y = torch.nn.Linear(3, 1), torch.ones(8, 3), torch.arange(8.0)
    error = model(x) - y  # <-
    loss = (error**2).mean()
    loss.backward()


def loss_of_all_pairs_corrected():
    model, x, y = torch.nn.Linear(3, 1), torch.ones(8, 3), torch.arange(8.0)
    ((model(x) - y.reshape(8, 1)) ** 2).mean().backward()
    p, matrix = torch.arange(8.0).requires_grad_(), torch.ones(8, 8)
    ((p[:, None] - p) ** 2).mean().backward()  # distances of all pairs
    ((p[:, None] - matrix) ** 2).mean().backward()
    ((p - matrix) ** 2).sum().backward()


@mistake("sub", "(5,)", "(5, 1)", "25 differences", remedy="y.reshape(5)", says="broadcast-loss")
def loss_of_all_pairs_of_a_row():
    """The targets are a column, and the predictions a row.

    The shapes broadcast to a square, as in the reverse case.
    """
    model, x, y = torch.nn.Linear(3, 1), torch.ones(5, 3), torch.ones(5, 1)
    loss = (model(x).squeeze(1) - y).abs().sum()  # - <-
    # + loss = (model(x) - y).abs().sum()
    loss.backward()


@mistake(
    "clip_grad_norm_",
    "2 parameters",
    remedy="between loss.backward() and optimizer.step()",
    says="clip-without-gradients",
)
def clipped_before_backward():
    """Gradients are clipped before `backward` has computed them.

    There are none at that time, so nothing is clipped.
    """
    model = torch.nn.Linear(3, 1)
    loss = model(torch.ones(4, 3)).sum()
    # + loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # <-
    loss.backward()  # -


@mistake("max", "values, indices", "no attribute mean", remedy="max(...).values.mean", says=AttributeError)
def maximum_with_positions():
    """`max` along a dimension returns values and positions, and the program treats them as one tensor.

    The result is a named tuple.
    """
    x = torch.ones(4, 3, requires_grad=True)
    loss = x.max(dim=1).mean()  # - <-
    # + loss = x.max(dim=1).values.mean()
    loss.backward()


@mistake("backward", "list", remedy="a tensor of shape (3,)", says=TypeError)
def gradient_as_a_list():
    """`backward` of a vector gets its gradient as a list.

    The gradient has to be a tensor of the vector's shape.
    """
    x = torch.ones(3, requires_grad=True)
    (x * 2).backward([1.0, 0.0, 1.0])  # - <-
    # + (x * 2).backward(torch.tensor([1.0, 0.0, 1.0]))


@mistake(
    "backward", "inf", "a leaf of shape (2,) has values up to", remedy="smaller learning rate", says="infinite-loss"
)
def learning_rate_too_large():
    """The learning rate is so large that the parameters grow with each step.

    Before the loss is infinite, the parameters are already huge.
    """
    w = torch.tensor([3.0, -1.0], requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=10.0)  # - <=
    # + optimizer = torch.optim.SGD([w], lr=0.01)
    for _ in range(5):
        optimizer.zero_grad()
        loss = (w**4).sum()
        loss.backward()  # <-
        optimizer.step()


@mistake("log", "1 of 100 elements", "log(-0.5) at index [7]", remedy="clamp(min=1e-12)", says="nan-loss")
def logarithm_in_a_compiled_function():
    """A compiled function computes the logarithm of a negative number.

    Its loops send no signal. When the loss is NaN, the function runs once more without compilation, and every number is
    checked.
    """

    @torch.compile
    def entropy(p):
        logarithms = p.log()  # - <-
        return -(p * logarithms).sum()  # -
        # + return -(p * p.clamp(min=1e-12).log()).sum()

    p = torch.full((100,), 0.25)
    p[7] = -0.5
    entropy(p.requires_grad_()).backward()


@mistake("SGD", "the only parameter does not require grad", remedy="requires_grad=True", says="step-without-gradients")
def optimized_tensor_does_not_require_grad():
    """The tensor that is optimized does not require grad.

    PyTorch's optimizers accept it, and no step changes it.
    """
    w = torch.tensor([1.0, -2.0])  # - <=
    # + w = torch.tensor([1.0, -2.0], requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    loss = (w**2).sum()
    print(loss.item())  # -
    # + loss.backward()
    optimizer.step()  # <-


@mistake("hook printed", "it receives 3 arguments", "(output)", remedy="hook(module, args, output)", says=TypeError)
def module_hook_without_module():
    """A forward hook of a module takes only the output.

    Hooks of modules receive the module, its arguments and its output.
    """

    # + def printed(module, args, output):
    def printed(output):  # - <-
        print(output.shape)

    # +
    # + def with_keywords(module, args, kwargs, output):
    # +     print(kwargs)

    model = torch.nn.Linear(3, 1)
    model.register_forward_hook(printed)
    # + model.register_forward_hook(with_keywords, with_kwargs=True)
    # + model.register_full_backward_hook(lambda module, *grads: None)
    # + model.register_forward_pre_hook(print)
    # + model(torch.ones(2, 3)).sum().backward()
