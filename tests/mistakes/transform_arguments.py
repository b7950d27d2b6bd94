"""Arguments and results of func's transforms."""

import minigrad as torch
from minigrad.func import functional_call, grad, jacrev, stack_module_state, vjp  # noqa: F401  # a corrected program uses jacrev

from . import mistake


@mistake("backward", "grad", remedy="return")
def backward_inside_grad():
    """backward is called inside a function that grad differentiates.

    `grad` needs the loss itself and differentiates it. backward would write to the `.grad` of a tensor that exists only
    inside.
    """

    def loss(x):
        y = (x * x).sum()
        y.backward()  # <-
        return x.grad

    return grad(loss)(torch.ones(3))


def backward_inside_grad_corrected():
    return grad(lambda x: (x * x).sum())(torch.ones(3))


@mistake("grad", "(3,)", "scalar", remedy="jacrev")
def vector_output():
    """grad of a function that returns a vector.

    A gradient belongs to one number; the derivative of a vector is a matrix.
    """
    return grad(lambda x: x * x)(torch.ones(3))  # - <-
    # + return jacrev(lambda x: x * x)(torch.ones(3))


@mistake("grad", "(3,)", "scalar", remedy="hessian")
def grad_of_gradient():
    """grad(grad(f)) of a function of a vector.

    The gradient is a vector, but the second grad needs a scalar. The second derivatives form a matrix, the Hessian.
    """
    f = lambda x: (x**3).sum()
    return grad(grad(f))(torch.ones(3))  # - <-
    # + return torch.func.hessian(f)(torch.ones(3))


@mistake("grad", "tuple of 2", remedy="has_aux=True")
def aux_not_declared():
    """The function returns the loss and the prediction, but grad is called without has_aux.

    With `has_aux=True`, grad differentiates the first result and passes the second through.
    """

    def loss(w):
        prediction = w * 2
        return prediction.sum(), prediction

    return grad(loss)(torch.ones(3))  # - <-
    # + return grad(loss, has_aux=True)(torch.ones(3))


@mistake("grad", "has_aux=True", "()", remedy="return output, aux")
def aux_not_returned():
    """has_aux=True, but the function returns only the loss.

    It has to return a pair.
    """
    return grad(lambda w: w.sum(), has_aux=True)(torch.ones(3))  # - <-
    # + return grad(lambda w: (w.sum(), w), has_aux=True)(torch.ones(3))


@mistake("grad", "float", remedy=".item()")
def loss_as_a_number():
    """The loss is converted to a Python number before it is returned.

    A number has no history to differentiate.
    """
    return grad(lambda x: (x * x).sum().item())(torch.ones(3))  # - <-
    # + return grad(lambda x: (x * x).sum())(torch.ones(3))


@mistake("grad", "int64", remedy="cross_entropy")
def integer_result():
    """grad of a count.

    The number of right predictions is an integer: it does not change under small changes, and jumps under larger ones.
    """
    return grad(lambda x: (x.argmax(1) == torch.tensor([0, 1])).sum())(torch.ones(2, 2))  # - <-
    # + return grad(lambda x: torch.nn.functional.cross_entropy(x, torch.tensor([0, 1])))(torch.ones(2, 2))


@mistake("grad", "argument 0", "int64", remedy=".float()")
def integer_argument():
    """grad by a tensor of integers.

    `tensor(3)` is an integer, `tensor(3.)` is not.
    """
    return grad(lambda x: x * x)(torch.tensor(3))  # - <-
    # + return grad(lambda x: x * x)(torch.tensor(3.0))


@mistake("grad", "argument 0", "float", remedy="torch.tensor(", says=ValueError)
def number_argument():
    """grad by a Python number.

    You can only differentiate by tensors.
    """
    return grad(lambda x: x * x)(3.0)  # - <-
    # + return grad(lambda x: x * x)(torch.tensor(3.0))


@mistake("grad", "argnums=2", "2 positional", remedy="0")
def argnums_out_of_range():
    """argnums counts from 1.

    The first argument is argument 0.
    """
    x, y = torch.tensor(2.0), torch.tensor(3.0)
    return grad(torch.mul, argnums=2)(x, y)  # - <-
    # + return grad(torch.mul, argnums=1)(x, y)


@mistake("grad", "argnums", "[0, 1]", remedy="(0, 1)")
def argnums_list():
    """argnums is a list.

    Pass several arguments as a tuple of numbers.
    """
    x, y = torch.tensor(2.0), torch.tensor(3.0)
    return grad(torch.mul, argnums=[0, 1])(x, y)  # - <-
    # + return grad(torch.mul, argnums=(0, 1))(x, y)


@mistake("grad", "argnums=0", "0 positional", "x", remedy="by position")
def keyword_argument():
    """The argument to differentiate by is passed by keyword.

    `argnums` counts the positional arguments.
    """
    return grad(lambda x: x * x)(x=torch.tensor(3.0))  # - <-
    # + return grad(lambda x: x * x)(torch.tensor(3.0))


@mistake("grad", "a tensor of shape ()", "function", remedy="grad(f)(x)", says=TypeError)
def grad_of_a_value():
    """grad gets the value of the function instead of the function.

    It calls the function itself, on tensors that it tracks. The history of an earlier computation is gone.
    """
    f = lambda x: x * x
    x = torch.tensor(3.0)
    return grad(f(x))(x)  # - <-
    # + return grad(f)(x)


@mistake("vjp", "cotangent 0", "()", "(3,)", remedy="ones_like")
def cotangent_shape():
    """The function from vjp gets a cotangent of a different shape than the result.

    The cotangent weights the elements of the result.
    """
    y, pull = vjp(torch.sin, torch.ones(3))
    return pull(torch.tensor(1.0))  # - <-
    # + return pull(torch.ones_like(y))


@mistake("vjp", "structure", remedy="nested like the output")
def cotangent_structure():
    """The function from vjp gets one cotangent for two results.

    Cotangents have the same structure as the results.
    """
    _, pull = vjp(lambda x: (x.sin(), x.cos()), torch.ones(3))
    return pull(torch.ones(3))  # - <-
    # + return pull((torch.ones(3), torch.ones(3)))


@mistake(
    "functional_call",
    "module.weight",
    "Linear",
    "weight, bias",
    remedy="named_parameters()",
    says=KeyError,
    unlocated="minigrad.func knows the names, but not the variable that holds them",
)
def unknown_parameter_name():
    """functional_call gets a parameter by a name that the module does not have.

    Use the names of `named_parameters()`; a wrapper adds its own prefix.
    """
    model = torch.nn.Linear(2, 1)
    params = {"module." + k: v.detach() for k, v in model.named_parameters()}  # - <=
    # + params = {k: v.detach() for k, v in model.named_parameters()}
    return functional_call(model, params, (torch.ones(2),))  # <-


@mistake("stack_module_state", "weight", "(1, 2)", "(1, 3)", remedy="same shapes", unlocated="a list holds the models")
def models_that_differ():
    """Models of different sizes are stacked for an ensemble.

    vmap runs one model with the parameters of all, so all need the same shapes.
    """
    models = [torch.nn.Linear(2, 1), torch.nn.Linear(3, 1)]  # - <=
    # + models = [torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)]
    return stack_module_state(models)  # <-


@mistake("grad", "None", remedy="return loss")
def nothing_returned():
    """The loss is computed but not returned.

    Python then returns None.
    """

    def loss(x):  # <=
        (x * x).sum()  # -
        # + return (x * x).sum()

    return grad(loss)(torch.ones(3))  # <-
