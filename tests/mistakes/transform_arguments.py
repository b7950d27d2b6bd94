"""Arguments and results of func's transforms."""

import minigrad as torch
from minigrad.func import functional_call, grad, jacrev, stack_module_state, vjp

from . import Mistake


class BackwardInsideGrad(Mistake):
    """backward is called inside a function that grad differentiates.

    `grad` needs the loss itself and differentiates it. backward would write to the `.grad` of a tensor that exists only
    inside.
    """

    operation = "backward"
    numbers = ("grad",)
    remedy = "return"

    def wrong():
        def loss(x):
            y = (x * x).sum()
            y.backward()  # <-
            return x.grad

        return grad(loss)(torch.ones(3))

    def right():
        return grad(lambda x: (x * x).sum())(torch.ones(3))


class VectorOutput(Mistake):
    """grad of a function that returns a vector.

    A gradient belongs to one number; the derivative of a vector is a matrix.
    """

    operation = "grad"
    numbers = ("(3,)", "scalar")
    remedy = "jacrev"

    def wrong():
        return grad(lambda x: x * x)(torch.ones(3))  # <-

    def right():
        return jacrev(lambda x: x * x)(torch.ones(3))


class GradOfGradient(Mistake):
    """grad(grad(f)) of a function of a vector.

    The gradient is a vector, but the second grad needs a scalar. The second derivatives form a matrix, the Hessian.
    """

    operation = "grad"
    numbers = ("(3,)", "scalar")
    remedy = "hessian"

    def wrong():
        f = lambda x: (x**3).sum()
        return grad(grad(f))(torch.ones(3))  # - <-
        # + return torch.func.hessian(f)(torch.ones(3))


class AuxNotDeclared(Mistake):
    """The function returns the loss and the prediction, but grad is called without has_aux.

    With `has_aux=True`, grad differentiates the first result and passes the second through.
    """

    operation = "grad"
    numbers = ("tuple of 2",)
    remedy = "has_aux=True"

    def wrong():
        def loss(w):
            prediction = w * 2
            return prediction.sum(), prediction

        return grad(loss)(torch.ones(3))  # - <-
        # + return grad(loss, has_aux=True)(torch.ones(3))


class AuxNotReturned(Mistake):
    """has_aux=True, but the function returns only the loss.

    It has to return a pair.
    """

    operation = "grad"
    numbers = ("has_aux=True", "()")
    remedy = "return output, aux"

    def wrong():
        return grad(lambda w: w.sum(), has_aux=True)(torch.ones(3))  # <-

    def right():
        return grad(lambda w: (w.sum(), w), has_aux=True)(torch.ones(3))


class LossAsANumber(Mistake):
    """The loss is converted to a Python number before it is returned.

    A number has no history to differentiate.
    """

    operation = "grad"
    numbers = ("float",)
    remedy = ".item()"

    def wrong():
        return grad(lambda x: (x * x).sum().item())(torch.ones(3))  # <-

    def right():
        return grad(lambda x: (x * x).sum())(torch.ones(3))


class IntegerResult(Mistake):
    """grad of a count.

    The number of right predictions is an integer: it does not change under small changes, and jumps under larger ones.
    """

    operation = "grad"
    numbers = ("int64",)
    remedy = "cross_entropy"

    def wrong():
        return grad(lambda x: (x.argmax(1) == torch.tensor([0, 1])).sum())(torch.ones(2, 2))  # <-

    def right():
        return grad(lambda x: torch.nn.functional.cross_entropy(x, torch.tensor([0, 1])))(torch.ones(2, 2))


class IntegerArgument(Mistake):
    """grad by a tensor of integers.

    `tensor(3)` is an integer, `tensor(3.)` is not.
    """

    operation = "grad"
    numbers = ("argument 0", "int64")
    remedy = ".float()"

    def wrong():
        return grad(lambda x: x * x)(torch.tensor(3))  # <-

    def right():
        return grad(lambda x: x * x)(torch.tensor(3.0))


class NumberArgument(Mistake):
    """grad by a Python number.

    You can only differentiate by tensors.
    """

    says = ValueError
    operation = "grad"
    numbers = ("argument 0", "float")
    remedy = "torch.tensor("

    def wrong():
        return grad(lambda x: x * x)(3.0)  # <-

    def right():
        return grad(lambda x: x * x)(torch.tensor(3.0))


class ArgnumsOutOfRange(Mistake):
    """argnums counts from 1.

    The first argument is argument 0.
    """

    operation = "grad"
    numbers = ("argnums=2", "2 positional")
    remedy = "0"

    def wrong():
        x, y = torch.tensor(2.0), torch.tensor(3.0)
        return grad(torch.mul, argnums=2)(x, y)  # - <-
        # + return grad(torch.mul, argnums=1)(x, y)


class ArgnumsList(Mistake):
    """argnums is a list.

    Pass several arguments as a tuple of numbers.
    """

    operation = "grad"
    numbers = ("argnums", "[0, 1]")
    remedy = "(0, 1)"

    def wrong():
        x, y = torch.tensor(2.0), torch.tensor(3.0)
        return grad(torch.mul, argnums=[0, 1])(x, y)  # - <-
        # + return grad(torch.mul, argnums=(0, 1))(x, y)


class KeywordArgument(Mistake):
    """The argument to differentiate by is passed by keyword.

    `argnums` counts the positional arguments.
    """

    operation = "grad"
    numbers = ("argnums=0", "0 positional", "x")
    remedy = "by position"

    def wrong():
        return grad(lambda x: x * x)(x=torch.tensor(3.0))  # <-

    def right():
        return grad(lambda x: x * x)(torch.tensor(3.0))


class GradOfAValue(Mistake):
    """grad gets the value of the function instead of the function.

    It calls the function itself, on tensors that it tracks. The history of an earlier computation is gone.
    """

    says = TypeError
    operation = "grad"
    numbers = ("a tensor of shape ()", "function")
    remedy = "grad(f)(x)"

    def wrong():
        f = lambda x: x * x
        x = torch.tensor(3.0)
        return grad(f(x))(x)  # - <-
        # + return grad(f)(x)


class CotangentShape(Mistake):
    """The function from vjp gets a cotangent of a different shape than the result.

    The cotangent weights the elements of the result.
    """

    operation = "vjp"
    numbers = ("cotangent 0", "()", "(3,)")
    remedy = "ones_like"

    def wrong():
        y, pull = vjp(torch.sin, torch.ones(3))
        return pull(torch.tensor(1.0))  # - <-
        # + return pull(torch.ones_like(y))


class CotangentStructure(Mistake):
    """The function from vjp gets one cotangent for two results.

    Cotangents have the same structure as the results.
    """

    operation = "vjp"
    numbers = ("structure",)
    remedy = "nested like the output"

    def wrong():
        _, pull = vjp(lambda x: (x.sin(), x.cos()), torch.ones(3))
        return pull(torch.ones(3))  # - <-
        # + return pull((torch.ones(3), torch.ones(3)))


class UnknownParameterName(Mistake):
    """functional_call gets a parameter by a name that the module does not have.

    Use the names of `named_parameters()`; a wrapper adds its own prefix.
    """

    says = KeyError
    operation = "functional_call"
    numbers = ("module.weight", "Linear", "weight, bias")
    remedy = "named_parameters()"

    def wrong():
        model = torch.nn.Linear(2, 1)
        params = {"module." + k: v.detach() for k, v in model.named_parameters()}  # -
        # + params = {k: v.detach() for k, v in model.named_parameters()}
        return functional_call(model, params, (torch.ones(2),))  # <-


class ModelsThatDiffer(Mistake):
    """Models of different sizes are stacked for an ensemble.

    vmap runs one model with the parameters of all, so all need the same shapes.
    """

    operation = "stack_module_state"
    numbers = ("weight", "(1, 2)", "(1, 3)")
    remedy = "same shapes"

    def wrong():
        models = [torch.nn.Linear(2, 1), torch.nn.Linear(3, 1)]  # -
        # + models = [torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)]
        return stack_module_state(models)  # <-


class NothingReturned(Mistake):
    """The loss is computed but not returned.

    Python then returns None.
    """

    operation = "grad"
    numbers = ("None",)
    remedy = "return loss"

    def wrong():
        def loss(x):
            (x * x).sum()  # -
            # + return (x * x).sum()

        return grad(loss)(torch.ones(3))  # <-
