"""Forward mode and jvp."""

import numpy as np

import minigrad as torch
import minigrad.autograd.forward_ad as fwAD

from . import Mistake


class JvpMissing(Mistake):
    """A Function without a jvp is used in forward mode.

    Forward mode pushes tangents through every operation, and only a `jvp` defines how they pass through your Function.
    `backward` works in the other direction.
    """

    says = NotImplementedError
    operation = "Square"
    numbers = ("jvp", "forward mode")
    remedy = "def jvp(ctx"

    def wrong():
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * x

        with fwAD.dual_level():
            x = fwAD.make_dual(torch.tensor(3.0), torch.tensor(1.0))
            return fwAD.unpack_dual(Square.apply(x)).tangent  # <-

    def right():
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_forward(x)
                return x * x

            @staticmethod
            def jvp(ctx, x_t):
                (x,) = ctx.saved_tensors
                return 2 * x * x_t

        with fwAD.dual_level():
            x = fwAD.make_dual(torch.tensor(3.0), torch.tensor(1.0))
            return fwAD.unpack_dual(Square.apply(x)).tangent


class HessianWithoutJvp(Mistake):
    """The Hessian of a Function that has only a backward.

    `hessian` is `jacfwd(jacrev(f))`: forward mode over reverse mode, which needs the Function's `jvp`. Reverse mode twice
    does not.
    """

    says = NotImplementedError
    operation = "Cube"
    numbers = ("jvp",)
    remedy = "jacrev(jacrev(f))"

    def wrong():
        class Cube(torch.autograd.Function):
            @staticmethod
            def forward(x):
                return x**3

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.save_for_backward(*inputs)

            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                return g * 3 * x**2

        return torch.func.hessian(lambda x: Cube.apply(x).sum())(torch.ones(2))  # <-

    def right():
        class Cube(torch.autograd.Function):
            generate_vmap_rule = True

            @staticmethod
            def forward(x):
                return x**3

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.save_for_backward(*inputs)

            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                return g * 3 * x**2

        f = lambda x: Cube.apply(x).sum()
        return torch.func.jacrev(torch.func.jacrev(f))(torch.ones(2))


class JvpWrongCount(Mistake):
    """jvp returns one tangent for two outputs.

    Every output of forward has its own tangent.
    """

    operation = "SinCos.jvp"
    numbers = ("1 tangent", "2 outputs")
    remedy = "return tangent_0, tangent_1"

    def wrong():
        class SinCos(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_forward(x)
                return x.sin(), x.cos()

            @staticmethod
            def jvp(ctx, x_t):
                (x,) = ctx.saved_tensors
                return x.cos() * x_t  # <-

        with fwAD.dual_level():
            SinCos.apply(fwAD.make_dual(torch.ones(2), torch.ones(2)))

    def right():
        class SinCos(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_forward(x)
                return x.sin(), x.cos()

            @staticmethod
            def jvp(ctx, x_t):
                (x,) = ctx.saved_tensors
                return x.cos() * x_t, -x.sin() * x_t

        with fwAD.dual_level():
            SinCos.apply(fwAD.make_dual(torch.ones(2), torch.ones(2)))


class JvpWrongShape(Mistake):
    """jvp returns a tangent with the shape of the input.

    A tangent describes how the output changes, so it has the output's shape. (backward returns the shape of the input.)
    """

    operation = "RowSum.jvp"
    numbers = ("tangent 0", "(2, 3)", "(2,)")
    remedy = "output's shape"

    def wrong():
        class RowSum(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.sum(1)

            @staticmethod
            def jvp(ctx, x_t):
                return x_t  # <-

        with fwAD.dual_level():
            RowSum.apply(fwAD.make_dual(torch.ones(2, 3), torch.ones(2, 3)))

    def right():
        class RowSum(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.sum(1)

            @staticmethod
            def jvp(ctx, x_t):
                return x_t.sum(1)

        with fwAD.dual_level():
            RowSum.apply(fwAD.make_dual(torch.ones(2, 3), torch.ones(2, 3)))


class JvpWrongDtype(Mistake):
    """jvp returns a float64 tangent for a float32 output.

    A constant made with `dtype=float64` converts the product to float64.
    """

    operation = "Scale.jvp"
    numbers = ("tangent 0", "float64", "float32")
    remedy = ".to("

    def wrong():
        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 3

            @staticmethod
            def jvp(ctx, x_t):
                return x_t * torch.full((2,), 3.0, dtype=torch.float64)  # <-

        with fwAD.dual_level():
            Scale.apply(fwAD.make_dual(torch.ones(2), torch.ones(2)))

    def right():
        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 3

            @staticmethod
            def jvp(ctx, x_t):
                return x_t * torch.full((2,), 3.0, dtype=x_t.dtype)

        with fwAD.dual_level():
            Scale.apply(fwAD.make_dual(torch.ones(2), torch.ones(2)))


class JvpReturnsNumpy(Mistake):
    """jvp returns a NumPy array.

    Tangents are tensors, so that they can be differentiated again.
    """

    says = TypeError
    operation = "Double.jvp"
    numbers = ("tangent 0", "ndarray")
    remedy = "torch.from_numpy"

    def wrong():
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def jvp(ctx, x_t):
                return x_t.numpy() * 2  # <-

        with fwAD.dual_level():
            Double.apply(fwAD.make_dual(torch.ones(2), torch.ones(2)))

    def right():
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def jvp(ctx, x_t):
                return x_t * 2

        with fwAD.dual_level():
            Double.apply(fwAD.make_dual(torch.ones(2), torch.ones(2)))


class JvpWithoutReturn(Mistake):
    """jvp computes the tangent but does not return it.

    Python then returns None, which would mean that the output does not change: silently a derivative of zero.
    """

    operation = "Double.jvp"
    numbers = ("no `return`", "output 0")
    remedy = "return"

    def wrong():
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def jvp(ctx, x_t):  # <-
                x_t * 2

        with fwAD.dual_level():
            Double.apply(fwAD.make_dual(torch.ones(2), torch.ones(2)))

    def right():
        class Sign(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.sign()

            @staticmethod
            def jvp(ctx, x_t):
                return None  # the output is constant

        with fwAD.dual_level():
            Sign.apply(fwAD.make_dual(torch.ones(2), torch.ones(2)))


class JvpTakesTooFew(Mistake):
    """jvp takes one tangent, but forward takes two arguments.

    jvp gets one tangent for each argument of forward, in the same order, and None for arguments without a tangent.
    """

    says = TypeError
    operation = "Scale.jvp"
    numbers = ("called with 3 arguments", "jvp(ctx, x_t)")
    remedy = "one tangent for each argument of forward"

    def wrong():
        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, factor):
                ctx.factor = factor
                return x * factor

            @staticmethod
            def jvp(ctx, x_t):  # <-
                return x_t * ctx.factor

        with fwAD.dual_level():
            Scale.apply(fwAD.make_dual(torch.ones(2), torch.ones(2)), 3.0)

    def right():
        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, factor):
                ctx.factor = factor
                return x * factor

            @staticmethod
            def jvp(ctx, x_t, _):
                return x_t * ctx.factor

        with fwAD.dual_level():
            Scale.apply(fwAD.make_dual(torch.ones(2), torch.ones(2)), 3.0)


class TangentIsNone(Mistake):
    """jvp computes with a tangent that is None.

    Arguments of forward that are not tensors have a tangent of None. With `set_materialize_grads(False)`, so do tensors
    without a tangent.
    """

    says = TypeError
    operation = "Power.jvp"
    numbers = ("tangent 1", "n_t", "None")
    remedy = "if n_t is not None"

    def wrong():
        class Power(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, n):
                ctx.save_for_forward(x)
                ctx.n = n
                return x**n

            @staticmethod
            def jvp(ctx, x_t, n_t):
                (x,) = ctx.saved_tensors
                return ctx.n * x ** (ctx.n - 1) * x_t + x**ctx.n * x.log() * n_t  # <-

        with fwAD.dual_level():
            Power.apply(fwAD.make_dual(torch.ones(2), torch.ones(2)), 3.0)

    def right():
        class Power(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, n):
                ctx.save_for_forward(x)
                ctx.n = n
                return x**n

            @staticmethod
            def jvp(ctx, x_t, n_t):
                (x,) = ctx.saved_tensors
                return ctx.n * x ** (ctx.n - 1) * x_t

        with fwAD.dual_level():
            Power.apply(fwAD.make_dual(torch.ones(2), torch.ones(2)), 3.0)


class TangentNotMaterialized(Mistake):
    """jvp computes with the tangent of a constant tensor, after set_materialize_grads(False).

    That call requests None instead of a tensor of zeros, so jvp and backward have to check for None.
    """

    says = TypeError
    operation = "Product.jvp"
    numbers = ("tangent 1", "None", "set_materialize_grads(False)")
    remedy = "if y_t is not None"

    def wrong():
        class Product(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y):
                ctx.set_materialize_grads(False)
                ctx.save_for_forward(x, y)
                return x * y

            @staticmethod
            def jvp(ctx, x_t, y_t):
                x, y = ctx.saved_tensors
                return x_t * y + x * y_t  # <-

        with fwAD.dual_level():
            Product.apply(fwAD.make_dual(torch.ones(2), torch.ones(2)), torch.ones(2))

    def right():
        class Product(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y):
                ctx.set_materialize_grads(False)
                ctx.save_for_forward(x, y)
                return x * y

            @staticmethod
            def jvp(ctx, x_t, y_t):
                x, y = ctx.saved_tensors
                terms = [] if x_t is None else [x_t * y]
                return sum(terms if y_t is None else [*terms, x * y_t])

        with fwAD.dual_level():
            Product.apply(fwAD.make_dual(torch.ones(2), torch.ones(2)), torch.ones(2))


class JvpWritesTangent(Mistake):
    """jvp modifies its incoming tangent in place.

    That memory is still the tangent of the input: all other uses of the input would get the modified one.
    """

    operation = "Double.jvp"
    numbers = ("tangent 0", "in place")
    remedy = "clone()"

    def wrong():
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def jvp(ctx, x_t):
                return x_t.mul_(2)  # <-

        with fwAD.dual_level():
            Double.apply(fwAD.make_dual(torch.ones(2), torch.ones(2)))

    def right():
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def jvp(ctx, x_t):
                return x_t.clone().mul_(2)

        with fwAD.dual_level():
            Double.apply(fwAD.make_dual(torch.ones(2), torch.ones(2)))


class TangentIgnored(Mistake):
    """jvp returns the slope without the incoming tangent.

    The tangent of the output is the slope of this step times the tangent of the input: the chain rule.
    """

    says = "tangent-unused"
    operation = "Square.jvp"
    numbers = ("x_t", "tangent 0")
    remedy = "multiply"

    def wrong():
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_forward(x)
                return x * x

            @staticmethod
            def jvp(ctx, x_t):
                (x,) = ctx.saved_tensors
                return 2 * x  # <-

        with fwAD.dual_level():
            Square.apply(fwAD.make_dual(torch.ones(2), 3 * torch.ones(2)))

    def right():
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, unused):
                ctx.save_for_forward(x)
                return x * x

            @staticmethod
            def jvp(ctx, x_t, unused):
                (x,) = ctx.saved_tensors
                return 2 * x * x_t

        class Step(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return (x > 0).float()

            @staticmethod
            def jvp(ctx, x_t):
                return torch.zeros(2)

        with fwAD.dual_level():
            x = fwAD.make_dual(torch.ones(2), 3 * torch.ones(2))
            Step.apply(Square.apply(x, torch.ones(2)))


class SavedForTheWrongMode(Mistake):
    """backward reads tensors that were saved for jvp.

    `save_for_forward` saves tensors for jvp only, `save_for_backward` for backward. Call both if you need both.
    """

    says = ValueError
    operation = "Square.backward"
    numbers = ("0 tensors", "expected 1")
    remedy = "ctx.save_for_backward"

    def wrong():
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_forward(x)
                return x * x

            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors  # <-
                return 2 * x * g

        Square.apply(torch.tensor(3.0, requires_grad=True)).backward()

    def right():
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                ctx.save_for_forward(x)
                return x * x

            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                return 2 * x * g

        Square.apply(torch.tensor(3.0, requires_grad=True)).backward()


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
            y = x * 2
        return fwAD.unpack_dual(y).tangent  # <-

    def right():
        with fwAD.dual_level():
            x = fwAD.make_dual(torch.ones(2), torch.ones(2))
            y = fwAD.unpack_dual(x * 2).tangent
        return y


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
            return fwAD.make_dual(torch.ones(2, 3), torch.ones(3))  # <-

    def right():
        with fwAD.dual_level():
            return fwAD.make_dual(torch.ones(2, 3), torch.ones(2, 3))


class TangentOfOtherDtype(Mistake):
    """A linearized function gets a tangent of a different dtype than its primal.

    The linear function is recorded for the dtypes of the primals.
    """

    operation = "linearize"
    numbers = ("float64", "float32")
    remedy = "tangent.to("

    def wrong():
        value, push = torch.func.linearize(torch.sin, torch.ones(2))
        return push(torch.ones(2, dtype=torch.float64))  # <-

    def right():
        value, push = torch.func.linearize(torch.sin, torch.ones(2))
        return push(torch.ones(2, dtype=torch.float64).to(torch.float32))


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
            return fwAD.make_dual(torch.tensor([1, 2]), torch.ones(2))  # <-

    def right():
        with fwAD.dual_level():
            return fwAD.make_dual(torch.tensor([1, 2]).float(), torch.ones(2))


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
        return torch.func.jvp(torch.mul, (x, y), (torch.ones(2),))  # <-

    def right():
        x, y = torch.ones(2), torch.ones(2)
        return torch.func.jvp(torch.mul, (x, y), (torch.ones(2), torch.zeros(2)))


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
        return torch.func.jvp(torch.pow, (x, n), (torch.ones(2), torch.tensor(0)))  # <-

    def right():
        x, n = torch.ones(2), torch.tensor(3)
        return torch.func.jvp(lambda x: torch.pow(x, n), (x,), (torch.ones(2),))


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
            y = torch.from_numpy(np.sin(x.numpy()))  # <-
            return fwAD.unpack_dual(y).tangent

    def right():
        with fwAD.dual_level():
            x = fwAD.make_dual(torch.ones(2), torch.ones(2))
            assert x.detach().numpy().sum() == 2
            return fwAD.unpack_dual(x.sin()).tangent


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
            return fwAD.unpack_dual((x.sin(), x.cos()))  # <-

    def right():
        with fwAD.dual_level():
            x = fwAD.make_dual(torch.ones(2), torch.ones(2))
            return [fwAD.unpack_dual(y).tangent for y in (x.sin(), x.cos())]


class JvpAuxNotDeclared(Mistake):
    """A function under func.jvp returns an extra result, but jvp is called without has_aux.

    With `has_aux=True`, jvp passes the second result through.
    """

    operation = "jvp"
    numbers = ("float", "1")
    remedy = "has_aux=True"

    def wrong():
        f = lambda x: (x.sin(), 2.0)
        return torch.func.jvp(f, (torch.ones(2),), (torch.ones(2),))  # <-

    def right():
        f = lambda x: (x.sin(), 2.0)
        return torch.func.jvp(f, (torch.ones(2),), (torch.ones(2),), has_aux=True)


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
        return torch.func.jvp(torch.sin(x), (x,), (torch.ones(2),))  # <-

    def right():
        x = torch.ones(2)
        return torch.func.jvp(torch.sin, (x,), (torch.ones(2),))
