"""Functions under func's transforms."""

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
        return grad(grad(f))(torch.ones(3))  # <-

    def right():
        f = lambda x: (x**3).sum()
        return torch.func.hessian(f)(torch.ones(3))


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

        return grad(loss)(torch.ones(3))  # <-

    def right():
        def loss(w):
            prediction = w * 2
            return prediction.sum(), prediction

        return grad(loss, has_aux=True)(torch.ones(3))


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
        return grad(torch.mul, argnums=2)(x, y)  # <-

    def right():
        x, y = torch.tensor(2.0), torch.tensor(3.0)
        return grad(torch.mul, argnums=1)(x, y)


class ArgnumsList(Mistake):
    """argnums is a list.

    Pass several arguments as a tuple of numbers.
    """

    operation = "grad"
    numbers = ("argnums", "[0, 1]")
    remedy = "(0, 1)"

    def wrong():
        x, y = torch.tensor(2.0), torch.tensor(3.0)
        return grad(torch.mul, argnums=[0, 1])(x, y)  # <-

    def right():
        x, y = torch.tensor(2.0), torch.tensor(3.0)
        return grad(torch.mul, argnums=(0, 1))(x, y)


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
        return grad(f(x))(x)  # <-

    def right():
        f = lambda x: x * x
        x = torch.tensor(3.0)
        return grad(f)(x)


class ArgumentsInsideGrad(Mistake):
    """The arguments are passed to grad itself.

    `grad(f)` returns a function, which takes the arguments of f.
    """

    operation = "grad"
    numbers = ("argnums", "a tensor of shape ()")
    remedy = "grad(f)(x)"

    def wrong():
        return grad(torch.sin, torch.tensor(3.0))  # <-

    def right():
        return grad(torch.sin)(torch.tensor(3.0))


class EscapedTensor(Mistake):
    """A tensor from inside a transformed function is stored in a list and used afterwards.

    Inside, it stands for a value that the transform tracks; afterwards the transform is over.
    """

    operation = "grad"
    numbers = ("(3,)", "escaped")
    remedy = "has_aux=True"

    def wrong():
        kept = []

        def loss(x):
            y = x * x
            kept.append(y)
            return y.sum()

        grad(loss)(torch.ones(3))
        return kept[0].numpy()  # <-

    def right():
        def loss(x):
            y = x * x
            return y.sum(), y

        _, y = grad(loss, has_aux=True)(torch.ones(3))
        return y.numpy()


class EscapedIntoTheNextCall(Mistake):
    """A hidden state is stored on an object and used by the next call.

    It belongs to the first call's transform, which is over when the second one runs.
    """

    operation = "mul"
    numbers = ("(3,)", "escaped", "grad")
    remedy = "has_aux=True"

    def wrong():
        state = {"h": torch.ones(3)}

        def loss(x):
            state["h"] = state["h"] * x  # <-
            return state["h"].sum()

        grad(loss)(torch.ones(3))
        grad(loss)(torch.ones(3))

    def right():
        def loss(x, h):
            h = h * x
            return h.sum(), h

        _, h = grad(loss, has_aux=True)(torch.ones(3), torch.ones(3))
        grad(loss, has_aux=True)(torch.ones(3), h)


class InPlaceOnCaptured(Mistake):
    """A function under grad modifies a tensor from outside in place.

    A second call of the function would give a different result, and the written values belong to the transform.
    """

    operation = "add_"
    numbers = ("()", "captured")
    remedy = "pass the tensor as an argument"

    def wrong():
        total = torch.zeros(())

        def loss(x):
            total.add_(x.sum())  # <-
            return total * 2

        return grad(loss)(torch.ones(3))

    def right():
        def loss(x, total):
            total = total + x.sum()
            return total * 2

        return grad(loss)(torch.ones(3), torch.zeros(()))


class OptimizerInsideGrad(Mistake):
    """An optimizer steps inside a function that is differentiated.

    The step writes to the parameters in place, but they are not arguments of the function.
    """

    operation = "grad"
    numbers = ("captured",)
    remedy = "pass the tensor as an argument"

    def wrong():
        w = torch.ones(3, requires_grad=True)
        w.grad = torch.ones(3)
        optimizer = torch.optim.SGD([w], lr=0.1)

        def loss(x):
            optimizer.step()  # <-
            return (w * x).sum()

        return grad(loss)(torch.ones(3))

    def right():
        w = torch.ones(3, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1)
        w.grad = grad(lambda w: (w * w).sum())(w.detach())
        optimizer.step()


class RequiresGradInside(Mistake):
    """requires_grad_() inside a function under grad.

    The transform itself decides what to track.
    """

    operation = "requires_grad_"
    numbers = ("grad",)
    remedy = "pass the tensor as an argument"

    def wrong():
        def loss(x):
            w = (x * 2).requires_grad_()
            w = torch.ones(3).requires_grad_()  # <-
            return (w * x).sum()

        return grad(loss)(torch.ones(3))

    def right():
        return grad(lambda x, w: (w * x).sum(), argnums=(0, 1))(torch.ones(3), torch.ones(3))


class CapturedParameters(Mistake):
    """The loss uses the model's own parameters instead of its argument.

    Then it does not depend on its argument, and the gradient is zero everywhere.
    """

    says = "captured-argument"
    operation = "grad"
    numbers = ("argument 0", "zero")
    remedy = "functional_call"

    def wrong():
        model = torch.nn.Linear(2, 1)
        x = torch.ones(3, 2)

        def loss(params):
            return (model(x) ** 2).sum()

        return grad(loss)(dict(model.named_parameters()))  # <-

    def right():
        model = torch.nn.Linear(2, 1)
        x = torch.ones(3, 2)

        def loss(params):
            return (functional_call(model, params, (x,)) ** 2).sum()

        return grad(loss)(dict(model.named_parameters()))


class NumpyInsideGrad(Mistake):
    """A function under grad uses NumPy.

    NumPy's results have no derivative.
    """

    operation = "grad"
    numbers = ("(3,)", "numpy()")
    remedy = "minigrad's operations"

    def wrong():
        def loss(x):
            return torch.tensor((x.numpy() ** 2).sum())  # <-

        return grad(loss)(torch.ones(3))

    def right():
        return grad(lambda x: (x**2).sum())(torch.ones(3))


class CotangentShape(Mistake):
    """The function from vjp gets a cotangent of a different shape than the result.

    The cotangent weights the elements of the result.
    """

    operation = "vjp"
    numbers = ("cotangent 0", "()", "(3,)")
    remedy = "ones_like"

    def wrong():
        y, pull = vjp(torch.sin, torch.ones(3))
        return pull(torch.tensor(1.0))  # <-

    def right():
        y, pull = vjp(torch.sin, torch.ones(3))
        return pull(torch.ones_like(y))


class CotangentStructure(Mistake):
    """The function from vjp gets one cotangent for two results.

    Cotangents have the same structure as the results.
    """

    operation = "vjp"
    numbers = ("structure",)
    remedy = "nested like the output"

    def wrong():
        _, pull = vjp(lambda x: (x.sin(), x.cos()), torch.ones(3))
        return pull(torch.ones(3))  # <-

    def right():
        _, pull = vjp(lambda x: (x.sin(), x.cos()), torch.ones(3))
        return pull((torch.ones(3), torch.ones(3)))


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
        params = {"module." + k: v.detach() for k, v in model.named_parameters()}
        return functional_call(model, params, (torch.ones(2),))  # <-

    def right():
        model = torch.nn.Linear(2, 1)
        params = {k: v.detach() for k, v in model.named_parameters()}
        return functional_call(model, params, (torch.ones(2),))


class ModelsThatDiffer(Mistake):
    """Models of different sizes are stacked for an ensemble.

    vmap runs one model with the parameters of all, so all need the same shapes.
    """

    operation = "stack_module_state"
    numbers = ("weight", "(1, 2)", "(1, 3)")
    remedy = "same shapes"

    def wrong():
        models = [torch.nn.Linear(2, 1), torch.nn.Linear(3, 1)]
        return stack_module_state(models)  # <-

    def right():
        models = [torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)]
        return stack_module_state(models)


class StateInTheWrongMode(Mistake):
    """Models in training and in evaluation mode are stacked.

    One forward runs for all of them, in one mode.
    """

    operation = "stack_module_state"
    numbers = ("training",)
    remedy = "model.train()"

    def wrong():
        models = [torch.nn.Linear(2, 1).train(), torch.nn.Linear(2, 1).eval()]
        return stack_module_state(models)  # <-

    def right():
        models = [torch.nn.Linear(2, 1).eval(), torch.nn.Linear(2, 1).eval()]
        return stack_module_state(models)


class LossDetached(Mistake):
    """detach() cuts the loss off from the argument.

    The loss is then a constant for the transform, with a gradient of zero everywhere.
    """

    says = "untracked-result"
    operation = "grad"
    numbers = ("zero", "detach()", "(3,)")
    remedy = "without detach()"

    def wrong():
        def loss(x):
            y = (x * x).detach()  # <-
            return y.sum()

        return grad(loss)(torch.ones(3))

    def right():
        seen = []

        def loss(x):
            y = x * x
            seen.append(y.detach())
            return y.sum()

        return grad(loss)(torch.ones(3))


class LossUnderNoGrad(Mistake):
    """The loss is computed under no_grad.

    no_grad records nothing, so grad finds nothing to differentiate.
    """

    says = "untracked-result"
    operation = "grad"
    numbers = ("zero", "no_grad", "(3,)")
    remedy = "no_grad()"

    def wrong():
        @torch.no_grad()
        def loss(x):
            return x.prod()  # <-

        return grad(loss)(torch.ones(3))

    def right():
        def loss(x):
            with torch.no_grad():
                largest = x.max()
            return (x / largest).prod()

        return grad(loss)(torch.ones(3))


class NothingReturned(Mistake):
    """The loss is computed but not returned.

    Python then returns None.
    """

    operation = "grad"
    numbers = ("None",)
    remedy = "return loss"

    def wrong():
        def loss(x):
            (x * x).sum()

        return grad(loss)(torch.ones(3))  # <-

    def right():
        def loss(x):
            return (x * x).sum()

        return grad(loss)(torch.ones(3))
