"""Functions under func's transforms that are not pure."""

import minigrad as torch
from minigrad.func import functional_call, grad, stack_module_state  # noqa: F401  # a corrected program uses it

from . import mistake


@mistake("grad", "argnums", "a tensor of shape ()", remedy="grad(f)(x)")
def arguments_inside_grad():
    """The arguments are passed to grad itself.

    `grad(f)` returns a function, which takes the arguments of f.
    """
    return grad(torch.sin, torch.tensor(3.0))  # - <-
    # + return grad(torch.sin)(torch.tensor(3.0))


@mistake("grad", "(3,)", "escaped", remedy="has_aux=True")
def escaped_tensor():
    """A tensor from inside a transformed function is stored in a list and used afterwards.

    Inside, it stands for a value that the transform tracks; afterwards the transform is over.
    """
    kept = []  # -

    def loss(x):
        y = x * x
        kept.append(y)  # -
        return y.sum()  # -
        # + return y.sum(), y

    grad(loss)(torch.ones(3))  # -
    return kept[0].numpy()  # - <-
    # + _, y = grad(loss, has_aux=True)(torch.ones(3))
    # + return y.numpy()


@mistake("mul", "(3,)", "escaped", "grad", remedy="has_aux=True")
def escaped_into_the_next_call():
    """A hidden state is stored on an object and used by the next call.

    It belongs to the first call's transform, which is over when the second one runs.
    """
    state = {"h": torch.ones(3)}

    def loss(x):
        state["h"] = state["h"] * x  # <-
        return state["h"].sum()

    grad(loss)(torch.ones(3))
    grad(loss)(torch.ones(3))


def escaped_into_the_next_call_corrected():
    def loss(x, h):
        h = h * x
        return h.sum(), h

    _, h = grad(loss, has_aux=True)(torch.ones(3), torch.ones(3))
    grad(loss, has_aux=True)(torch.ones(3), h)


@mistake("add_", "()", "captured", remedy="pass the tensor as an argument")
def in_place_on_captured():
    """A function under grad modifies a tensor from outside in place.

    A second call of the function would give a different result, and the written values belong to the transform.
    """
    total = torch.zeros(())  # -

    # + def loss(x, total):
    # +     total = total + x.sum()
    def loss(x):  # -
        total.add_(x.sum())  # - <-
        return total * 2

    return grad(loss)(torch.ones(3))  # -
    # + return grad(loss)(torch.ones(3), torch.zeros(()))


@mistake("grad", "captured", remedy="pass the tensor as an argument")
def optimizer_inside_grad():
    """An optimizer steps inside a function that is differentiated.

    The step writes to the parameters in place, but they are not arguments of the function.
    """
    w = torch.ones(3, requires_grad=True)
    w.grad = torch.ones(3)
    optimizer = torch.optim.SGD([w], lr=0.1)

    def loss(x):
        optimizer.step()  # <-
        return (w * x).sum()

    return grad(loss)(torch.ones(3))


def optimizer_inside_grad_corrected():
    w = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    w.grad = grad(lambda w: (w * w).sum())(w.detach())
    optimizer.step()


@mistake("requires_grad_", "grad", remedy="pass the tensor as an argument")
def requires_grad_inside():
    """requires_grad_() inside a function under grad.

    The transform itself decides what to track.
    """

    def loss(x):
        w = (x * 2).requires_grad_()
        w = torch.ones(3).requires_grad_()  # <-
        return (w * x).sum()

    return grad(loss)(torch.ones(3))


def requires_grad_inside_corrected():
    return grad(lambda x, w: (w * x).sum(), argnums=(0, 1))(torch.ones(3), torch.ones(3))


@mistake("grad", "argument 0", "zero", remedy="functional_call", says="captured-argument")
def captured_parameters():
    """The loss uses the model's own parameters instead of its argument.

    Then it does not depend on its argument, and the gradient is zero everywhere.
    """
    model = torch.nn.Linear(2, 1)
    x = torch.ones(3, 2)

    def loss(params):
        return (model(x) ** 2).sum()  # - <=
        # + return (functional_call(model, params, (x,)) ** 2).sum()

    return grad(loss)(dict(model.named_parameters()))  # <-


@mistake("grad", "(3,)", "numpy()", remedy="minigrad's operations")
def numpy_inside_grad():
    """A function under grad uses NumPy.

    NumPy's results have no derivative.
    """

    def loss(x):
        return torch.tensor((x.numpy() ** 2).sum())  # <-

    return grad(loss)(torch.ones(3))


def numpy_inside_grad_corrected():
    return grad(lambda x: (x**2).sum())(torch.ones(3))


@mistake("stack_module_state", "training", remedy="model.train()", unlocated="a list holds the models")
def state_in_the_wrong_mode():
    """Models in training and in evaluation mode are stacked.

    One forward runs for all of them, in one mode.
    """
    models = [torch.nn.Linear(2, 1).train(), torch.nn.Linear(2, 1).eval()]  # - <=
    # + models = [torch.nn.Linear(2, 1).eval(), torch.nn.Linear(2, 1).eval()]
    return stack_module_state(models)  # <-


@mistake("grad", "zero", "detach()", "(3,)", remedy="without detach()", says="untracked-result")
def loss_detached():
    """detach() cuts the loss off from the argument.

    The loss is then a constant for the transform, with a gradient of zero everywhere.
    """

    # + seen = []
    def loss(x):
        y = (x * x).detach()  # - <-
        # + y = x * x
        # + seen.append(y.detach())
        return y.sum()

    return grad(loss)(torch.ones(3))


@mistake("grad", "zero", "no_grad", "(3,)", remedy="no_grad()", says="untracked-result")
def loss_under_no_grad():
    """The loss is computed under no_grad.

    no_grad records nothing, so grad finds nothing to differentiate.
    """

    @torch.no_grad()  # -
    def loss(x):
        return x.prod()  # - <-
        # + with torch.no_grad():
        # +     largest = x.max()
        # + return (x / largest).prod()

    return grad(loss)(torch.ones(3))
