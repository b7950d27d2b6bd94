"""Leaves and their .grad."""

import copy

import minigrad as torch

from . import mistake


@mistake("mul", remedy="retain_grad()", says="grad-of-non-leaf")
def grad_of_result():
    """The `.grad` of a result is read.

    backward fills the `.grad` of leaves only: tensors that you create with `requires_grad=True`. The result of an operation
    is not a leaf.
    """
    x = torch.tensor(3.0, requires_grad=True)
    y = x * 2
    # + y.retain_grad()
    (y * y).backward()
    return y.grad  # <-


@mistake("requires_grad", "int64", remedy="float")
def integer_parameter():
    """A tensor of integers is set to require grad.

    Derivatives are about small changes, which integers do not have.
    """
    return torch.tensor([1, 2], requires_grad=True)  # - <-
    # + return torch.tensor([1.0, 2.0], requires_grad=True)


@mistake("sub", remedy="no_grad(): w -=", says="grad-of-non-leaf")
def update_makes_result():
    """`w = w - lr * w.grad` replaces the parameter by a result.

    The new `w` is the result of a subtraction, not a leaf, so the next backward does not fill its `.grad`. Write to the
    parameter instead, with recording switched off.
    """
    w = torch.tensor(0.0, requires_grad=True)
    for _ in range(2):
        ((w - 3.0) ** 2).backward()
        if w.grad is not None:  # - <-
            w = w - 0.1 * w.grad  # - <=
        # + with torch.no_grad():
        # +     w -= 0.1 * w.grad
        # + w.grad = None


@mistake("div", remedy="requires_grad_()", says="grad-of-non-leaf")
def scaled_parameter():
    """A parameter is scaled after it was set to require grad.

    The leaf is the unscaled tensor, which no variable holds any more. What remains is the result of a division, which gets
    no `.grad`. Scale first, then call `requires_grad_()`.
    """
    w = torch.ones(4, 3, requires_grad=True) / 2  # - <=
    # + w = (torch.ones(4, 3) / 2).requires_grad_()
    w.sum().backward()
    return w.grad  # <-


@mistake("to", remedy="requires_grad_()", says="grad-of-non-leaf", under="debug")
def converted_parameter():
    """A parameter is converted or moved after it was set to require grad.

    `.to()`, `.double()` and `.cuda()` are operations: their result is not a leaf, and backward fills the `.grad` of the
    tensor before the conversion. Debug mode names the line of the conversion.
    """
    w = torch.ones(3, requires_grad=True).to(torch.float64)  # - <-
    # + w = torch.ones(3).to(torch.float64).requires_grad_()
    w.sum().backward()
    return w.grad


@mistake("requires_grad_", "int64", remedy=".float().requires_grad_()")
def integer_range():
    """Numbers from `arange` are set to require grad.

    `torch.arange(3)` has integers, and derivatives are about small changes, which integers do not have.
    """
    return torch.arange(3).requires_grad_()  # - <-
    # + return torch.arange(3).float().requires_grad_()


@mistake("backward", "(2,)", "before", remedy="before computing", under="debug")
def requires_grad_too_late():
    """`requires_grad` is set after the computation.

    An operation is recorded only if one of its inputs requires grad at that moment. Debug mode names the operation that
    came too early.
    """
    x = torch.tensor([1.0, 2.0])
    # + x.requires_grad = True
    y = x * x  # <-
    x.requires_grad = True  # -
    y.sum().backward()


@mistake("backward", "does not require grad", remedy="requires_grad=True")
def nothing_requires_grad():
    """No tensor behind the loss requires grad.

    Then no operation is recorded, and there is nothing to differentiate.
    """
    w = torch.tensor([1.0, 2.0])  # - <=
    # + w = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (w * w).sum()
    loss.backward()  # <-


@mistake("require_grad", remedy="requires_grad", says=AttributeError)
def misspelt_requires_grad():
    """`requires_grad` is misspelt.

    Python accepts a new attribute of any name, and the tensor does not change.
    """
    x = torch.ones(2)
    x.require_grad = True  # - <-
    # + x.requires_grad = True
    # + x.label = "attributes of your own are welcome"
    # + assert not hasattr(x, "require_grad")


@mistake("requires_gradient", remedy="requires_grad", says=AttributeError)
def freezing_misspelt():
    """A parameter should be frozen, but `requires_grad` is misspelt.

    Training would continue to update the parameter without any notice.
    """
    model = torch.nn.Linear(2, 1)
    for p in model.parameters():
        p.requires_gradient = False  # - <-
        # + p.requires_grad = False


@mistake("retain_grad", remedy="retain_grad()", says=AttributeError)
def method_assigned():
    """A method is assigned to instead of called.

    `x.retain_grad` is a method. Assigning True to it hides the method and retains no gradient.
    """
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad = True  # - <-
    # + y.retain_grad()


@mistake("Linear", "2 parameters", remedy="requires_grad_(False)", says="requires-grad-of-module")
def requires_grad_of_module():
    """A module should be frozen, but modules have no `requires_grad`.

    `requires_grad` belongs to tensors. On a module it is a new attribute without effect, and training updates all
    parameters.
    """
    model = torch.nn.Linear(2, 1)
    model.requires_grad = False  # <-


def requires_grad_of_module_corrected():
    class Scale(torch.nn.Module):
        def __init__(self, requires_grad):
            super().__init__()
            self.requires_grad = requires_grad  # the module's own setting
            self.factor = torch.nn.Parameter(torch.ones(1), requires_grad)

    Scale(True)
    model = torch.nn.Linear(2, 1)
    model.requires_grad_(False)


@mistake("grad", "int", remedy="x.grad = None", says=TypeError)
def grad_set_to_zero():
    """A gradient is cleared with the number 0.

    `.grad` is a tensor or None.
    """
    x = torch.ones(2, requires_grad=True)
    x.sum().backward()
    x.grad = 0  # - <-
    # + x.grad = None


@mistake("grad", "(3, 2)", "(2, 3)", remedy="same shape")
def grad_of_other_shape():
    """A gradient of a different shape is assigned to `.grad`.

    The gradient has one number for each element of the tensor.
    """
    w = torch.ones(2, 3, requires_grad=True)
    w.grad = torch.ones(3, 2)  # - <-
    # + w.grad = torch.ones(3, 2).T


@mistake("tensor", remedy="clone()", says="copy-of-tensor")
def tensor_of_tensor():
    """A tensor is passed to `torch.tensor`.

    That copies the numbers and forgets how they were computed, so no gradient flows through it.
    """
    x = torch.ones(2, requires_grad=True)
    return torch.tensor(x * 2)  # - <-
    # + return (x * 2).clone(), (x * 2).clone().detach()


@mistake("tensor", remedy="stack", says="tensor-in-list")
def tensor_of_results():
    """Results are collected with `torch.tensor([a, b])`.

    That copies the numbers and forgets how they were computed, so no gradient flows back to `a` and `b`.
    """
    x = torch.tensor(2.0, requires_grad=True)
    return torch.tensor([x * 2, x * 3])  # - <-
    # + plain = torch.tensor([torch.tensor(1.0), torch.tensor(2.0)])
    # + with torch.no_grad():
    # +     torch.tensor([x * 2, x * 3])
    # + return torch.stack([x * 2, x * 3]) + plain


@mistake("requires_grad", "mul", remedy="detach()")
def result_turned_off():
    """`requires_grad` of a result is set to False.

    The inputs of an operation decide whether its result requires grad; you can only choose for leaves.
    """
    x = torch.ones(2, requires_grad=True)
    y = x * 2  # -
    y.requires_grad = False  # - <-
    # + y = (x * 2).detach()
    # + return y


@mistake("deepcopy", "mul", remedy="detach().clone()")
def copy_of_result():
    """A result is copied with `copy.deepcopy`.

    The copy would need a copy of the whole history. Leaves, and modules made of them, can be copied.
    """
    x = torch.ones(2, requires_grad=True)
    y = x * 2  # -
    copy.deepcopy(y)  # - <-
    # + copy.deepcopy(x)
    # + copy.deepcopy(torch.nn.Linear(2, 1))
    # + return (x * 2).detach().clone()


@mistake("grad", "input 1", "(3,)", remedy="requires_grad_()")
def inputs_without_grad():
    """`autograd.grad` is called for a tensor that does not require grad.

    Only operations on tensors that require grad are recorded.
    """
    w, x = torch.ones(3, requires_grad=True), torch.ones(3)  # - <=
    # + w, x = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    torch.autograd.grad((w * x).sum(), (w, x))  # <-


@mistake("grad", "input 0", "()", remedy="allow_unused=True")
def unused_input():
    """`autograd.grad` is called for a tensor that the result does not depend on.

    Often that is a copy or an element: `x[0]` written twice makes two tensors, and the result uses only one of them.
    """
    x = torch.ones(3, requires_grad=True)
    y = (x * x).sum()
    torch.autograd.grad(y, x[0])  # - <-
    # + return torch.autograd.grad(y, x)[0][0]
