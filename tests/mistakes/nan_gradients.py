"""NaN in gradients."""

import minigrad as torch

from . import mistake


@mistake("sqrt", "1 of 2 elements", "(2,)", remedy="1e-12", says="nan-gradient")
def root_of_zero():
    """A square root is differentiated at 0, where its slope is infinite.

    On the way back the infinity meets a 0, and `0 * inf` is NaN, which then spreads to all parameters.
    """
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    distance = (x * x).sqrt()  # - <-
    # + distance = (x * x + 1e-12).sqrt()
    distance.sum().backward()


@mistake("sqrt", "1 of 2 elements", "(2,)", remedy="1e-12", under="anomaly")
def root_of_zero_named():
    """A distance of 0 is differentiated.

    The slope of the root is infinite at 0, and `0 * inf` is NaN. detect_anomaly names the line of the root.
    """
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    distance = (x * x).sqrt()  # - <-
    # + distance = (x * x + 1e-12).sqrt()
    distance.sum().backward()


@mistake("sqrt", "1 of 2 elements", "(2,)", remedy="1e-12", says="nan-gradient")
def root_of_zero_in_grad():
    """`autograd.grad` differentiates the root of 0.

    The slope is infinite there, and `0 * inf` is NaN.
    """
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    return torch.autograd.grad((x * x).sqrt().sum(), x)  # - <-
    # + return torch.autograd.grad((x * x + 1e-12).sqrt().sum(), x)


@mistake("sqrt", "1 of 2 elements", "(2,)", remedy="1e-12", says="nan-gradient")
def root_of_zero_to_be_differentiated_again():
    """The root of 0 is differentiated with `create_graph=True`.

    The slope is infinite there, and `0 * inf` is NaN.
    """
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    return torch.autograd.grad((x * x).sqrt().sum(), x, create_graph=True)  # - <-
    # + return torch.autograd.grad((x * x + 1e-12).sqrt().sum(), x, create_graph=True)


@mistake("sqrt", "1 of 2 elements", "(2,)", remedy="where(x > 0, x, 1)", says="nan-gradient")
def dead_branch():
    """A root is masked after it has produced NaN or an infinite slope.

    `where` sends a gradient of 0 into the branch that it does not take, and 0 times the infinite slope of the root is NaN.
    Mask the argument before the root.
    """
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    torch.where(x > 0, x.sqrt(), 0.0).sum().backward()  # - <-
    # + safe = torch.where(x > 0, x, 1.0)
    # + torch.where(x > 0, safe.sqrt(), 0.0).sum().backward()


@mistake("SqrtBackward0", "1 of 2 elements", "(2,)", remedy="where(x > 0, x, 1)", under="anomaly")
def dead_branch_of_negatives():
    """The roots of negative numbers are masked after the computation.

    Their slope is NaN, and 0 times NaN is NaN, although the loss looks fine.
    """
    x = torch.tensor([-1.0, 4.0], requires_grad=True)
    roots = x.sqrt()  # - <-
    # + roots = torch.where(x > 0, x, 1.0).sqrt()
    torch.where(x > 0, roots, 0.0).sum().backward()


@mistake("sqrt", "1 of 2 elements", "(2,)", remedy="where(x > 0, x, 1)", says="nan-gradient")
def dead_branch_of_negatives_hinted():
    """A masked branch of NaN poisons the gradient.

    The loss looks fine, so the NaN shows up only in the gradient. The warning still names the line of the operation.
    """
    x = torch.tensor([-1.0, 4.0], requires_grad=True)
    roots = x.sqrt()  # - <-
    # + roots = x.detach().sqrt()  # NaN, but no gradient is needed
    # + roots = torch.where(x > 0, x, 1.0).sqrt() + torch.where(x > 0, roots, 0.0)
    torch.where(x > 0, roots, 0.0).sum().backward()


@mistake("div", "2 of 2 elements", "(2,)", remedy="clamp(min=", under="anomaly")
def normalised_zero():
    """A vector of zeros is divided by its length.

    0 / 0 is NaN.
    """
    v = torch.zeros(2, requires_grad=True)
    unit = v / v.norm()  # - <-
    # + unit = v / v.norm().clamp(min=1e-12)
    unit.sum().backward()


@mistake("div", "3 of 3 elements", "(3,)", remedy="clamp(min=", under="anomaly")
def standardised_constant():
    """A column of equal numbers is divided by its standard deviation.

    The standard deviation is 0, and 0 / 0 is NaN.
    """
    x = torch.ones(3, requires_grad=True)
    z = (x - x.mean()) / x.std()  # - <-
    # + z = (x - x.mean()) / x.detach().std().clamp(min=1e-6)
    z.sum().backward()


@mistake("std", "1 of 1 elements", remedy="correction=0", under="anomaly")
def deviation_of_one():
    """The standard deviation of one number is computed.

    It divides by the count less one, which is 0.
    """
    x = torch.ones(1, requires_grad=True)  # -
    s = x.std()  # - <-
    # + x = torch.tensor([1.0, 2.0], requires_grad=True)
    # + s = x.std(correction=0)
    s.backward()


@mistake("pow", "1 of 2 elements", "(2,)", remedy="1e-12", says="nan-gradient")
def power_of_zero():
    """0 to the power of 0.5 is differentiated.

    The slope is infinite there, like the slope of the root.
    """
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    ((x * x) ** 0.5).sum().backward()  # - <-
    # + ((x * x + 1e-12) ** 0.5).sum().backward()


@mistake("pow", "1 of 2 elements", "(2,)", remedy="clamp(min=", under="anomaly")
def power_of_negative():
    """A negative number is raised to a power that is not an integer.

    The result is not a real number.
    """
    x = torch.tensor([-8.0, 8.0], requires_grad=True)
    y = x ** (1 / 3)  # - <-
    # + y = x.sign() * x.abs() ** (1 / 3)
    y.sum().backward()


@mistake("acos", "1 of 2 elements", "(2,)", remedy="clamp(-1 + 1e-6, 1 - 1e-6)", says="nan-gradient")
def angle_between_parallels():
    """The angle between equal vectors is differentiated.

    The slope of `acos` is infinite at 1.
    """
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    torch.acos(torch.cos(x)).sum().backward()  # - <-
    # + torch.acos(torch.cos(x).clamp(-1 + 1e-6, 1 - 1e-6)).sum().backward()
