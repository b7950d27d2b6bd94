"""Leaves and their .grad."""

import copy

import minigrad as torch

from . import Mistake


class GradOfResult(Mistake):
    """The `.grad` of a result is read.

    backward fills the `.grad` of leaves only: tensors that you create with `requires_grad=True`. The result of an operation
    is not a leaf.
    """

    says = "grad-of-non-leaf"
    operation = "mul"
    remedy = "retain_grad()"

    def wrong():
        x = torch.tensor(3.0, requires_grad=True)
        y = x * 2
        # + y.retain_grad()
        (y * y).backward()
        return y.grad  # <-


class IntegerParameter(Mistake):
    """A tensor of integers is set to require grad.

    Derivatives are about small changes, which integers do not have.
    """

    operation = "requires_grad"
    numbers = ("int64",)
    remedy = "float"

    def wrong():
        return torch.tensor([1, 2], requires_grad=True)  # <-

    def right():
        return torch.tensor([1.0, 2.0], requires_grad=True)


class UpdateMakesResult(Mistake):
    """`w = w - lr * w.grad` replaces the parameter by a result.

    The new `w` is the result of a subtraction, not a leaf, so the next backward does not fill its `.grad`. Write to the
    parameter instead, with recording switched off.
    """

    says = "grad-of-non-leaf"
    operation = "sub"
    remedy = "no_grad(): w -="

    def wrong():
        w = torch.tensor(0.0, requires_grad=True)
        for _ in range(2):
            ((w - 3.0) ** 2).backward()
            if w.grad is not None:  # - <-
                w = w - 0.1 * w.grad  # -
            # + with torch.no_grad():
            # +     w -= 0.1 * w.grad
            # + w.grad = None


class ScaledParameter(Mistake):
    """A parameter is scaled after it was set to require grad.

    The leaf is the unscaled tensor, which no variable holds any more. What remains is the result of a division, which gets
    no `.grad`. Scale first, then call `requires_grad_()`.
    """

    says = "grad-of-non-leaf"
    operation = "div"
    remedy = "requires_grad_()"

    def wrong():
        w = torch.ones(4, 3, requires_grad=True) / 2  # -
        # + w = (torch.ones(4, 3) / 2).requires_grad_()
        w.sum().backward()
        return w.grad  # <-


class ConvertedParameter(Mistake):
    """A parameter is converted or moved after it was set to require grad.

    `.to()`, `.double()` and `.cuda()` are operations: their result is not a leaf, and backward fills the `.grad` of the
    tensor before the conversion. Debug mode names the line of the conversion.
    """

    says = "grad-of-non-leaf"
    operation = "to"
    remedy = "requires_grad_()"
    under = "debug"

    def wrong():
        w = torch.ones(3, requires_grad=True).to(torch.float64)  # - <-
        # + w = torch.ones(3).to(torch.float64).requires_grad_()
        w.sum().backward()
        return w.grad


class IntegerRange(Mistake):
    """Numbers from `arange` are set to require grad.

    `torch.arange(3)` has integers, and derivatives are about small changes, which integers do not have.
    """

    operation = "requires_grad_"
    numbers = ("int64",)
    remedy = ".float().requires_grad_()"

    def wrong():
        return torch.arange(3).requires_grad_()  # <-

    def right():
        return torch.arange(3).float().requires_grad_()


class RequiresGradTooLate(Mistake):
    """`requires_grad` is set after the computation.

    An operation is recorded only if one of its inputs requires grad at that moment. Debug mode names the operation that
    came too early.
    """

    operation = "backward"
    numbers = ("(2,)", "before")
    remedy = "before computing"
    under = "debug"

    def wrong():
        x = torch.tensor([1.0, 2.0])
        # + x.requires_grad = True
        y = x * x  # <-
        x.requires_grad = True  # -
        y.sum().backward()


class NothingRequiresGrad(Mistake):
    """No tensor behind the loss requires grad.

    Then no operation is recorded, and there is nothing to differentiate.
    """

    operation = "backward"
    numbers = ("does not require grad",)
    remedy = "requires_grad=True"

    def wrong():
        w = torch.tensor([1.0, 2.0])  # -
        # + w = torch.tensor([1.0, 2.0], requires_grad=True)
        loss = (w * w).sum()
        loss.backward()  # <-


class MisspeltRequiresGrad(Mistake):
    """`requires_grad` is misspelt.

    Python accepts a new attribute of any name, and the tensor does not change.
    """

    says = AttributeError
    operation = "require_grad"
    remedy = "requires_grad"

    def wrong():
        x = torch.ones(2)
        x.require_grad = True  # <-

    def right():
        x = torch.ones(2)
        x.requires_grad = True
        x.label = "attributes of your own are welcome"
        assert not hasattr(x, "require_grad")


class FreezingMisspelt(Mistake):
    """A parameter should be frozen, but `requires_grad` is misspelt.

    Training would continue to update the parameter without any notice.
    """

    says = AttributeError
    operation = "requires_gradient"
    remedy = "requires_grad"

    def wrong():
        model = torch.nn.Linear(2, 1)
        for p in model.parameters():
            p.requires_gradient = False  # - <-
            # + p.requires_grad = False


class MethodAssigned(Mistake):
    """A method is assigned to instead of called.

    `x.retain_grad` is a method. Assigning True to it hides the method and retains no gradient.
    """

    says = AttributeError
    operation = "retain_grad"
    remedy = "retain_grad()"

    def wrong():
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        y.retain_grad = True  # - <-
        # + y.retain_grad()


class RequiresGradOfModule(Mistake):
    """A module should be frozen, but modules have no `requires_grad`.

    `requires_grad` belongs to tensors. On a module it is a new attribute without effect, and training updates all
    parameters.
    """

    says = "requires-grad-of-module"
    operation = "Linear"
    numbers = ("2 parameters",)
    remedy = "requires_grad_(False)"

    def wrong():
        model = torch.nn.Linear(2, 1)
        model.requires_grad = False  # <-

    def right():
        class Scale(torch.nn.Module):
            def __init__(self, requires_grad):
                super().__init__()
                self.requires_grad = requires_grad  # the module's own setting
                self.factor = torch.nn.Parameter(torch.ones(1), requires_grad)

        Scale(True)
        model = torch.nn.Linear(2, 1)
        model.requires_grad_(False)


class GradSetToZero(Mistake):
    """A gradient is cleared with the number 0.

    `.grad` is a tensor or None.
    """

    says = TypeError
    operation = "grad"
    numbers = ("int",)
    remedy = "x.grad = None"

    def wrong():
        x = torch.ones(2, requires_grad=True)
        x.sum().backward()
        x.grad = 0  # - <-
        # + x.grad = None


class GradOfOtherShape(Mistake):
    """A gradient of a different shape is assigned to `.grad`.

    The gradient has one number for each element of the tensor.
    """

    operation = "grad"
    numbers = ("(3, 2)", "(2, 3)")
    remedy = "same shape"

    def wrong():
        w = torch.ones(2, 3, requires_grad=True)
        w.grad = torch.ones(3, 2)  # - <-
        # + w.grad = torch.ones(3, 2).T


class TensorOfTensor(Mistake):
    """A tensor is passed to `torch.tensor`.

    That copies the numbers and forgets how they were computed, so no gradient flows through it.
    """

    says = "copy-of-tensor"
    operation = "tensor"
    remedy = "clone()"

    def wrong():
        x = torch.ones(2, requires_grad=True)
        return torch.tensor(x * 2)  # - <-
        # + return (x * 2).clone(), (x * 2).clone().detach()


class TensorOfResults(Mistake):
    """Results are collected with `torch.tensor([a, b])`.

    That copies the numbers and forgets how they were computed, so no gradient flows back to `a` and `b`.
    """

    says = "tensor-in-list"
    operation = "tensor"
    remedy = "stack"

    def wrong():
        x = torch.tensor(2.0, requires_grad=True)
        return torch.tensor([x * 2, x * 3])  # <-

    def right():
        x = torch.tensor(2.0, requires_grad=True)
        plain = torch.tensor([torch.tensor(1.0), torch.tensor(2.0)])
        with torch.no_grad():
            torch.tensor([x * 2, x * 3])
        return torch.stack([x * 2, x * 3]) + plain


class ResultTurnedOff(Mistake):
    """`requires_grad` of a result is set to False.

    The inputs of an operation decide whether its result requires grad; you can only choose for leaves.
    """

    operation = "requires_grad"
    numbers = ("mul",)
    remedy = "detach()"

    def wrong():
        x = torch.ones(2, requires_grad=True)
        y = x * 2  # -
        y.requires_grad = False  # - <-
        # + y = (x * 2).detach()
        # + return y


class CopyOfResult(Mistake):
    """A result is copied with `copy.deepcopy`.

    The copy would need a copy of the whole history. Leaves, and modules made of them, can be copied.
    """

    operation = "deepcopy"
    numbers = ("mul",)
    remedy = "detach().clone()"

    def wrong():
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        copy.deepcopy(y)  # <-

    def right():
        x = torch.ones(2, requires_grad=True)
        copy.deepcopy(x)
        copy.deepcopy(torch.nn.Linear(2, 1))
        return (x * 2).detach().clone()


class InputsWithoutGrad(Mistake):
    """`autograd.grad` is called for a tensor that does not require grad.

    Only operations on tensors that require grad are recorded.
    """

    operation = "grad"
    numbers = ("input 1", "(3,)")
    remedy = "requires_grad_()"

    def wrong():
        w, x = torch.ones(3, requires_grad=True), torch.ones(3)  # -
        # + w, x = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
        torch.autograd.grad((w * x).sum(), (w, x))  # <-


class UnusedInput(Mistake):
    """`autograd.grad` is called for a tensor that the result does not depend on.

    Often that is a copy or an element: `x[0]` written twice makes two tensors, and the result uses only one of them.
    """

    operation = "grad"
    numbers = ("input 0", "()")
    remedy = "allow_unused=True"

    def wrong():
        x = torch.ones(3, requires_grad=True)
        y = (x * x).sum()
        torch.autograd.grad(y, x[0])  # - <-
        # + return torch.autograd.grad(y, x)[0][0]
