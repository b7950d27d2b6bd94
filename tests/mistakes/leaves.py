"""Leaves and their .grad."""

import copy

import minigrad as torch

from . import Mistake


class GradOfResult(Mistake):
    """The `.grad` of a result is read.

    backward fills the `.grad` of leaves only: tensors that were made by you, with `requires_grad=True`. What an operation
    returns is no leaf.
    """

    says = "grad-of-non-leaf"
    operation = "mul"
    remedy = "retain_grad()"

    def wrong():
        x = torch.tensor(3.0, requires_grad=True)
        y = x * 2
        (y * y).backward()
        return y.grad  # <-

    def right():
        x = torch.tensor(3.0, requires_grad=True)
        y = x * 2
        y.retain_grad()
        (y * y).backward()
        return y.grad


class IntegerParameter(Mistake):
    """A tensor of integers is to require grad.

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
    """`w = w - lr * w.grad` puts a result in the place of the parameter.

    The new `w` is what a subtraction returned, no leaf, so the next backward fills no `.grad` of it. Write into the
    parameter instead, with recording switched off.
    """

    says = "grad-of-non-leaf"
    operation = "sub"
    remedy = "no_grad(): w -="

    def wrong():
        w = torch.tensor(0.0, requires_grad=True)
        for _ in range(2):
            ((w - 3.0) ** 2).backward()
            if w.grad is not None:  # <-
                w = w - 0.1 * w.grad

    def right():
        w = torch.tensor(0.0, requires_grad=True)
        for _ in range(2):
            ((w - 3.0) ** 2).backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
            w.grad = None


class ScaledParameter(Mistake):
    """A parameter is scaled after it was asked to require grad.

    The leaf is the unscaled tensor, which nobody holds any more; what is left is the result of a division, and gets no
    `.grad`. Scale first, then call `requires_grad_()`.
    """

    says = "grad-of-non-leaf"
    operation = "div"
    remedy = "requires_grad_()"

    def wrong():
        w = torch.ones(4, 3, requires_grad=True) / 2
        w.sum().backward()
        return w.grad  # <-

    def right():
        w = (torch.ones(4, 3) / 2).requires_grad_()
        w.sum().backward()
        return w.grad


class ConvertedParameter(Mistake):
    """A parameter is converted, or moved, after it was asked to require grad.

    `.to()`, `.double()` and `.cuda()` are operations: what they return is no leaf, and backward fills the `.grad` of the
    tensor before the conversion. Debug mode names the line of the conversion.
    """

    says = "grad-of-non-leaf"
    operation = "to"
    remedy = "requires_grad_()"
    under = "debug"

    def wrong():
        w = torch.ones(3, requires_grad=True).to(torch.float64)  # <-
        w.sum().backward()
        return w.grad

    def right():
        w = torch.ones(3).to(torch.float64).requires_grad_()
        w.sum().backward()
        return w.grad


class IntegerRange(Mistake):
    """Numbers from `arange` are to require grad.

    `torch.arange(3)` has integers, and a derivative is about small changes, which integers do not have.
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

    An operation is remembered only if one of its inputs requires grad at that moment. Debug mode names the operation that
    came too early.
    """

    operation = "backward"
    numbers = ("(2,)", "before")
    remedy = "before computing"
    under = "debug"

    def wrong():
        x = torch.tensor([1.0, 2.0])
        y = x * x  # <-
        x.requires_grad = True
        y.sum().backward()

    def right():
        x = torch.tensor([1.0, 2.0])
        x.requires_grad = True
        y = x * x
        y.sum().backward()


class NothingRequiresGrad(Mistake):
    """Nothing that the loss was computed from requires grad.

    Then no operation was remembered, and there is nothing to differentiate by.
    """

    operation = "backward"
    numbers = ("does not require grad",)
    remedy = "requires_grad=True"

    def wrong():
        w = torch.tensor([1.0, 2.0])
        loss = (w * w).sum()
        loss.backward()  # <-

    def right():
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        loss = (w * w).sum()
        loss.backward()


class MisspeltRequiresGrad(Mistake):
    """`requires_grad` is misspelt.

    Python makes a new attribute of any name, and the tensor goes on as before.
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
    """A parameter is to be frozen, and `requires_grad` is misspelt.

    The parameter goes on being trained, and nothing would tell.
    """

    says = AttributeError
    operation = "requires_gradient"
    remedy = "requires_grad"

    def wrong():
        model = torch.nn.Linear(2, 1)
        for p in model.parameters():
            p.requires_gradient = False  # <-

    def right():
        model = torch.nn.Linear(2, 1)
        for p in model.parameters():
            p.requires_grad = False


class MethodAssigned(Mistake):
    """A method is assigned to instead of called.

    `x.retain_grad` is a method. Assigning True to it hides it, and no gradient is retained.
    """

    says = AttributeError
    operation = "retain_grad"
    remedy = "retain_grad()"

    def wrong():
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        y.retain_grad = True  # <-

    def right():
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        y.retain_grad()


class RequiresGradOfModule(Mistake):
    """A module is to be frozen by an attribute that modules do not have.

    `requires_grad` belongs to tensors. Set on a module, it is a new attribute that nobody reads, and all parameters go on
    being trained.
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
                self.requires_grad = requires_grad  # a setting of its own
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
        x.grad = 0  # <-

    def right():
        x = torch.ones(2, requires_grad=True)
        x.sum().backward()
        x.grad = None


class GradOfOtherShape(Mistake):
    """A gradient of another shape is put into `.grad`.

    The gradient has one number for each number of the tensor.
    """

    operation = "grad"
    numbers = ("(3, 2)", "(2, 3)")
    remedy = "same shape"

    def wrong():
        w = torch.ones(2, 3, requires_grad=True)
        w.grad = torch.ones(3, 2)  # <-

    def right():
        w = torch.ones(2, 3, requires_grad=True)
        w.grad = torch.ones(3, 2).T


class TensorOfTensor(Mistake):
    """A tensor is passed to `torch.tensor`.

    That copies the numbers and forgets how they were computed, so no gradient flows through it.
    """

    says = "copy-of-tensor"
    operation = "tensor"
    remedy = "clone()"

    def wrong():
        x = torch.ones(2, requires_grad=True)
        return torch.tensor(x * 2)  # <-

    def right():
        x = torch.ones(2, requires_grad=True)
        return (x * 2).clone(), (x * 2).clone().detach()


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

    Whether a result requires grad follows from what it was computed from; only leaves can choose.
    """

    operation = "requires_grad"
    numbers = ("mul",)
    remedy = "detach()"

    def wrong():
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        y.requires_grad = False  # <-

    def right():
        x = torch.ones(2, requires_grad=True)
        y = (x * 2).detach()
        return y


class CopyOfResult(Mistake):
    """A result is copied with `copy.deepcopy`.

    Its copy would need a copy of its whole history. Leaves, and modules made of them, can be copied.
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
    """`autograd.grad` is asked for the derivative by a tensor that does not require grad.

    Only operations on tensors that require grad are remembered.
    """

    operation = "grad"
    numbers = ("input 1", "(3,)")
    remedy = "requires_grad_()"

    def wrong():
        w, x = torch.ones(3, requires_grad=True), torch.ones(3)
        torch.autograd.grad((w * x).sum(), (w, x))  # <-

    def right():
        w, x = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
        torch.autograd.grad((w * x).sum(), (w, x))


class UnusedInput(Mistake):
    """`autograd.grad` is asked for the derivative by a tensor that the result does not depend on.

    That is often a copy, or an element: `x[0]` written twice makes two tensors, and only one of them was used.
    """

    operation = "grad"
    numbers = ("input 0", "()")
    remedy = "allow_unused=True"

    def wrong():
        x = torch.ones(3, requires_grad=True)
        y = (x * x).sum()
        torch.autograd.grad(y, x[0])  # <-

    def right():
        x = torch.ones(3, requires_grad=True)
        y = (x * x).sum()
        return torch.autograd.grad(y, x)[0][0]
