"""Dual numbers, and jvp of a function."""

import numpy as np

import minigrad as torch
import minigrad.autograd.forward_ad as fwAD

from . import Mistake


class LevelEnded(Mistake):
    """The tangent is read after its dual level has ended.

    Tangents live as long as the `with dual_level():` block; after it, `unpack_dual` returns None as the tangent.
    """

    says = "level-ended"
    operation = "unpack_dual"
    numbers = ("(2,)", "has ended")
    remedy = "inside `with dual_level():`"

    def wrong():
        with fwAD.dual_level():
            x = fwAD.make_dual(torch.ones(2), torch.ones(2))
            y = x * 2  # -
        return fwAD.unpack_dual(y).tangent  # - <-
        # +     y = fwAD.unpack_dual(x * 2).tangent
        # + return y


class NestedLevels(Mistake):
    """A dual level is opened inside another one.

    Dual numbers carry one tangent. For a derivative of a derivative, nest `func.jvp`.
    """

    operation = "enter_dual_level"
    numbers = ("already open",)
    remedy = "torch.func.jvp"

    def wrong():
        with fwAD.dual_level():
            x = fwAD.make_dual(torch.tensor(2.0), torch.tensor(1.0))
            with fwAD.dual_level():  # <-
                return fwAD.make_dual(x, torch.tensor(1.0))

    def right():
        one = (torch.tensor(1.0),)
        slope = lambda x: torch.func.jvp(lambda y: y**3, (x,), one)[1]
        return torch.func.jvp(slope, (torch.tensor(2.0),), one)


class MakeDualOutside(Mistake):
    """A dual tensor is made outside of a dual level.

    Only a dual level carries tangents along.
    """

    operation = "make_dual"
    numbers = ("no level",)
    remedy = "with dual_level():"

    def wrong():
        return fwAD.make_dual(torch.ones(2), torch.ones(2))  # <-

    def right():
        with fwAD.dual_level():
            return fwAD.make_dual(torch.ones(2), torch.ones(2))


class TangentOfOtherShape(Mistake):
    """A tangent has a different shape than its tensor.

    A tangent has one number for each element of the tensor.
    """

    operation = "make_dual"
    numbers = ("(3,)", "(2, 3)")
    remedy = "expand"

    def wrong():
        with fwAD.dual_level():
            return fwAD.make_dual(torch.ones(2, 3), torch.ones(3))  # - <-
            # + return fwAD.make_dual(torch.ones(2, 3), torch.ones(2, 3))


class TangentOfOtherDtype(Mistake):
    """A linearized function gets a tangent of a different dtype than its primal.

    The linear function is recorded for the dtypes of the primals.
    """

    operation = "linearize"
    numbers = ("float64", "float32")
    remedy = "tangent.to("

    def wrong():
        value, push = torch.func.linearize(torch.sin, torch.ones(2))
        return push(torch.ones(2, dtype=torch.float64))  # - <-
        # + return push(torch.ones(2, dtype=torch.float64).to(torch.float32))


class IntegerTangent(Mistake):
    """A tangent is made of integers.

    A direction has real numbers; an integer tensor is often a mask or an index passed by mistake.
    """

    says = ValueError
    operation = "jvp"
    numbers = ("int64", "float32")
    remedy = "tangent.to("

    def wrong():
        return torch.func.jvp(torch.sin, (torch.ones(2),), (torch.tensor([1, 0]),))  # <-

    def right():
        return torch.func.jvp(torch.sin, (torch.ones(2),), (torch.tensor([1.0, 0.0]),))


class IntegerPrimal(Mistake):
    """A tensor of integers gets a tangent.

    Integers have no small changes.
    """

    says = ValueError
    operation = "make_dual"
    numbers = ("tensor", "int64")
    remedy = ".float()"

    def wrong():
        with fwAD.dual_level():
            return fwAD.make_dual(torch.tensor([1, 2]), torch.ones(2))  # - <-
            # + return fwAD.make_dual(torch.tensor([1, 2]).float(), torch.ones(2))


class PrimalsNotATuple(Mistake):
    """func.jvp gets a tensor instead of a tuple of primals.

    A function may have several arguments, so jvp takes a tuple of primals and a tuple of tangents.
    """

    operation = "jvp"
    numbers = ("primals", "(2,)")
    remedy = "(x,)"

    def wrong():
        return torch.func.jvp(torch.sin, torch.ones(2), torch.ones(2))  # <-

    def right():
        return torch.func.jvp(torch.sin, (torch.ones(2),), (torch.ones(2),))


class TangentsOfOtherStructure(Mistake):
    """func.jvp gets one tangent for two primals.

    Each primal needs a tangent; pass zeros for a constant one.
    """

    operation = "jvp"
    numbers = ("2 primals", "1 tangent")
    remedy = "one tangent for each primal"

    def wrong():
        x, y = torch.ones(2), torch.ones(2)
        return torch.func.jvp(torch.mul, (x, y), (torch.ones(2),))  # - <-
        # + return torch.func.jvp(torch.mul, (x, y), (torch.ones(2), torch.zeros(2)))


class JvpTangentShape(Mistake):
    """func.jvp gets a tangent of a different shape than its primal.

    To get the derivatives along many directions at once, map jvp over the directions.
    """

    operation = "jvp"
    numbers = ("tangent 0", "(3, 3)", "(3,)")
    remedy = "pass a tangent of shape"

    def wrong():
        return torch.func.jvp(torch.sin, (torch.ones(3),), (torch.eye(3),))  # <-

    def right():
        x = torch.ones(3)
        return torch.vmap(lambda t: torch.func.jvp(torch.sin, (x,), (t,))[1])(torch.eye(3))


class JvpOfAnInteger(Mistake):
    """A tensor of integers is a primal of func.jvp.

    Put arguments that you do not differentiate by into a closure.
    """

    says = ValueError
    operation = "jvp"
    numbers = ("primal 1", "int64")
    remedy = "closure"

    def wrong():
        x, n = torch.ones(2), torch.tensor(3)
        return torch.func.jvp(torch.pow, (x, n), (torch.ones(2), torch.tensor(0)))  # - <-
        # + return torch.func.jvp(lambda x: torch.pow(x, n), (x,), (torch.ones(2),))


class NumpyInForwardMode(Mistake):
    """A dual tensor goes through NumPy.

    NumPy computes only the value, and the tangent is lost: the derivative would silently be zero.
    """

    says = "tangent-lost"
    operation = "numpy"
    numbers = ("(2,)", "tangent")
    remedy = "minigrad's operations"

    def wrong():
        with fwAD.dual_level():
            x = fwAD.make_dual(torch.ones(2), torch.ones(2))
            y = torch.from_numpy(np.sin(x.numpy()))  # - <-
            return fwAD.unpack_dual(y).tangent  # -
            # + assert x.detach().numpy().sum() == 2
            # + return fwAD.unpack_dual(x.sin()).tangent


class UnpackedTuple(Mistake):
    """unpack_dual gets a tuple of results.

    It unpacks one dual tensor.
    """

    says = TypeError
    operation = "unpack_dual"
    numbers = ("tuple",)
    remedy = "one by one"

    def wrong():
        with fwAD.dual_level():
            x = fwAD.make_dual(torch.ones(2), torch.ones(2))
            return fwAD.unpack_dual((x.sin(), x.cos()))  # - <-
            # + return [fwAD.unpack_dual(y).tangent for y in (x.sin(), x.cos())]


class JvpAuxNotDeclared(Mistake):
    """A function under func.jvp returns an extra result, but jvp is called without has_aux.

    With `has_aux=True`, jvp passes the second result through.
    """

    operation = "jvp"
    numbers = ("float", "1")
    remedy = "has_aux=True"

    def wrong():
        f = lambda x: (x.sin(), 2.0)
        return torch.func.jvp(f, (torch.ones(2),), (torch.ones(2),))  # - <-
        # + return torch.func.jvp(f, (torch.ones(2),), (torch.ones(2),), has_aux=True)


class JvpOfAValue(Mistake):
    """func.jvp gets the value of the function instead of the function.

    It runs the function itself, on values that carry tangents.
    """

    says = TypeError
    operation = "jvp"
    numbers = ("a tensor of shape (2,)",)
    remedy = "jvp(f, (x,), (tangent,))"

    def wrong():
        x = torch.ones(2)
        return torch.func.jvp(torch.sin(x), (x,), (torch.ones(2),))  # - <-
        # + return torch.func.jvp(torch.sin, (x,), (torch.ones(2),))
