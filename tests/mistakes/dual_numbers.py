"""Dual numbers, and jvp of a function."""

import numpy as np

import minigrad as torch
import minigrad.autograd.forward_ad as fwAD

from . import mistake


@mistake("unpack_dual", "(2,)", "has ended", remedy="inside `with dual_level():`", says="level-ended")
def level_ended():
    """The tangent is read after its dual level has ended.

    Tangents live as long as the `with dual_level():` block; after it, `unpack_dual` returns None as the tangent.
    """
    with fwAD.dual_level():
        x = fwAD.make_dual(torch.ones(2), torch.ones(2))
        y = x * 2  # -
    return fwAD.unpack_dual(y).tangent  # - <-
    # +     y = fwAD.unpack_dual(x * 2).tangent
    # + return y


@mistake("enter_dual_level", "already open", remedy="torch.func.jvp")
def nested_levels():
    """A dual level is opened inside another one.

    Dual numbers carry one tangent. For a derivative of a derivative, nest `func.jvp`.
    """
    with fwAD.dual_level():  # -
        x = fwAD.make_dual(torch.tensor(2.0), torch.tensor(1.0))  # -
        with fwAD.dual_level():  # - <-
            return fwAD.make_dual(x, torch.tensor(1.0))  # -
    # + one = (torch.tensor(1.0),)
    # + slope = lambda x: torch.func.jvp(lambda y: y**3, (x,), one)[1]
    # + return torch.func.jvp(slope, (torch.tensor(2.0),), one)


@mistake("make_dual", "no level", remedy="with dual_level():")
def make_dual_outside():
    """A dual tensor is made outside of a dual level.

    Only a dual level carries tangents along.
    """
    return fwAD.make_dual(torch.ones(2), torch.ones(2))  # - <-
    # + with fwAD.dual_level():
    # +     return fwAD.make_dual(torch.ones(2), torch.ones(2))


@mistake("make_dual", "(3,)", "(2, 3)", remedy="expand")
def tangent_of_other_shape():
    """A tangent has a different shape than its tensor.

    A tangent has one number for each element of the tensor.
    """
    with fwAD.dual_level():
        return fwAD.make_dual(torch.ones(2, 3), torch.ones(3))  # - <-
        # + return fwAD.make_dual(torch.ones(2, 3), torch.ones(2, 3))


@mistake("linearize", "float64", "float32", remedy="tangent.to(")
def tangent_of_other_dtype():
    """A linearized function gets a tangent of a different dtype than its primal.

    The linear function is recorded for the dtypes of the primals.
    """
    value, push = torch.func.linearize(torch.sin, torch.ones(2))
    return push(torch.ones(2, dtype=torch.float64))  # - <-
    # + return push(torch.ones(2, dtype=torch.float64).to(torch.float32))


@mistake("jvp", "int64", "float32", remedy="tangent.to(", says=ValueError)
def integer_tangent():
    """A tangent is made of integers.

    A direction has real numbers; an integer tensor is often a mask or an index passed by mistake.
    """
    return torch.func.jvp(torch.sin, (torch.ones(2),), (torch.tensor([1, 0]),))  # - <-
    # + return torch.func.jvp(torch.sin, (torch.ones(2),), (torch.tensor([1.0, 0.0]),))


@mistake("make_dual", "tensor", "int64", remedy=".float()", says=ValueError)
def integer_primal():
    """A tensor of integers gets a tangent.

    Integers have no small changes.
    """
    with fwAD.dual_level():
        return fwAD.make_dual(torch.tensor([1, 2]), torch.ones(2))  # - <-
        # + return fwAD.make_dual(torch.tensor([1, 2]).float(), torch.ones(2))


@mistake("jvp", "primals", "(2,)", remedy="(x,)")
def primals_not_a_tuple():
    """func.jvp gets a tensor instead of a tuple of primals.

    A function may have several arguments, so jvp takes a tuple of primals and a tuple of tangents.
    """
    return torch.func.jvp(torch.sin, torch.ones(2), torch.ones(2))  # - <-
    # + return torch.func.jvp(torch.sin, (torch.ones(2),), (torch.ones(2),))


@mistake("jvp", "2 primals", "1 tangent", remedy="one tangent for each primal")
def tangents_of_other_structure():
    """func.jvp gets one tangent for two primals.

    Each primal needs a tangent; pass zeros for a constant one.
    """
    x, y = torch.ones(2), torch.ones(2)
    return torch.func.jvp(torch.mul, (x, y), (torch.ones(2),))  # - <-
    # + return torch.func.jvp(torch.mul, (x, y), (torch.ones(2), torch.zeros(2)))


@mistake("jvp", "tangent 0", "(3, 3)", "(3,)", remedy="pass a tangent of shape")
def jvp_tangent_shape():
    """func.jvp gets a tangent of a different shape than its primal.

    To get the derivatives along many directions at once, map jvp over the directions.
    """
    return torch.func.jvp(torch.sin, (torch.ones(3),), (torch.eye(3),))  # - <-
    # + x = torch.ones(3)
    # + return torch.vmap(lambda t: torch.func.jvp(torch.sin, (x,), (t,))[1])(torch.eye(3))


@mistake("jvp", "primal 1", "int64", remedy="closure", says=ValueError)
def jvp_of_an_integer():
    """A tensor of integers is a primal of func.jvp.

    Put arguments that you do not differentiate by into a closure.
    """
    x, n = torch.ones(2), torch.tensor(3)
    return torch.func.jvp(torch.pow, (x, n), (torch.ones(2), torch.tensor(0)))  # - <-
    # + return torch.func.jvp(lambda x: torch.pow(x, n), (x,), (torch.ones(2),))


@mistake("numpy", "(2,)", "tangent", remedy="minigrad's operations", says="tangent-lost")
def numpy_in_forward_mode():
    """A dual tensor goes through NumPy.

    NumPy computes only the value, and the tangent is lost: the derivative would silently be zero.
    """
    with fwAD.dual_level():
        x = fwAD.make_dual(torch.ones(2), torch.ones(2))
        y = torch.from_numpy(np.sin(x.numpy()))  # - <-
        return fwAD.unpack_dual(y).tangent  # -
        # + assert x.detach().numpy().sum() == 2
        # + return fwAD.unpack_dual(x.sin()).tangent


@mistake("unpack_dual", "tuple", remedy="one by one", says=TypeError)
def unpacked_tuple():
    """unpack_dual gets a tuple of results.

    It unpacks one dual tensor.
    """
    with fwAD.dual_level():
        x = fwAD.make_dual(torch.ones(2), torch.ones(2))
        return fwAD.unpack_dual((x.sin(), x.cos()))  # - <-
        # + return [fwAD.unpack_dual(y).tangent for y in (x.sin(), x.cos())]


@mistake("jvp", "float", "1", remedy="has_aux=True")
def jvp_aux_not_declared():
    """A function under func.jvp returns an extra result, but jvp is called without has_aux.

    With `has_aux=True`, jvp passes the second result through.
    """
    f = lambda x: (x.sin(), 2.0)
    return torch.func.jvp(f, (torch.ones(2),), (torch.ones(2),))  # - <-
    # + return torch.func.jvp(f, (torch.ones(2),), (torch.ones(2),), has_aux=True)


@mistake("jvp", "a tensor of shape (2,)", remedy="jvp(f, (x,), (tangent,))", says=TypeError)
def jvp_of_a_value():
    """func.jvp gets the value of the function instead of the function.

    It runs the function itself, on values that carry tangents.
    """
    x = torch.ones(2)
    return torch.func.jvp(torch.sin(x), (x,), (torch.ones(2),))  # - <-
    # + return torch.func.jvp(torch.sin, (x,), (torch.ones(2),))
