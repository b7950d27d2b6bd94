"""The jvp method of a Function."""

import minigrad as torch
import minigrad.autograd.forward_ad as fwAD

from . import mistake


@mistake("Square", "jvp", "forward mode", remedy="def jvp(ctx", says=NotImplementedError)
def jvp_missing():
    """A Function without a jvp is used in forward mode.

    Forward mode pushes tangents through every operation, and only a `jvp` defines how they pass through your Function.
    `backward` works in the other direction.
    """

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            # + ctx.save_for_forward(x)
            return x * x

        # + @staticmethod
        # + def jvp(ctx, x_t):
        # +     (x,) = ctx.saved_tensors
        # +     return 2 * x * x_t

    with fwAD.dual_level():
        x = fwAD.make_dual(torch.tensor(3.0), torch.tensor(1.0))
        return fwAD.unpack_dual(Square.apply(x)).tangent  # <-


@mistake("Cube", "jvp", remedy="jacrev(jacrev(f))", says=NotImplementedError)
def hessian_without_jvp():
    """The Hessian of a Function that has only a backward.

    `hessian` is `jacfwd(jacrev(f))`: forward mode over reverse mode, which needs the Function's `jvp`. Reverse mode twice
    does not.
    """

    class Cube(torch.autograd.Function):
        # + generate_vmap_rule = True
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

    return torch.func.hessian(lambda x: Cube.apply(x).sum())(torch.ones(2))  # - <-
    # + f = lambda x: Cube.apply(x).sum()
    # + return torch.func.jacrev(torch.func.jacrev(f))(torch.ones(2))


@mistake("SinCos.jvp", "1 tangent", "2 outputs", remedy="return tangent_0, tangent_1")
def jvp_wrong_count():
    """jvp returns one tangent for two outputs.

    Every output of forward has its own tangent.
    """

    class SinCos(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_forward(x)
            return x.sin(), x.cos()

        @staticmethod
        def jvp(ctx, x_t):
            (x,) = ctx.saved_tensors
            return x.cos() * x_t  # - <-
            # + return x.cos() * x_t, -x.sin() * x_t

    with fwAD.dual_level():
        SinCos.apply(fwAD.make_dual(torch.ones(2), torch.ones(2)))


@mistake("RowSum.jvp", "tangent 0", "(2, 3)", "(2,)", remedy="output's shape")
def jvp_wrong_shape():
    """jvp returns a tangent with the shape of the input.

    A tangent describes how the output changes, so it has the output's shape. (backward returns the shape of the input.)
    """

    class RowSum(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.sum(1)

        @staticmethod
        def jvp(ctx, x_t):
            return x_t  # - <-
            # + return x_t.sum(1)

    with fwAD.dual_level():
        RowSum.apply(fwAD.make_dual(torch.ones(2, 3), torch.ones(2, 3)))


@mistake("Scale.jvp", "tangent 0", "float64", "float32", remedy=".to(")
def jvp_wrong_dtype():
    """jvp returns a float64 tangent for a float32 output.

    A constant made with `dtype=float64` converts the product to float64.
    """

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 3

        @staticmethod
        def jvp(ctx, x_t):
            return x_t * torch.full((2,), 3.0, dtype=torch.float64)  # - <-
            # + return x_t * torch.full((2,), 3.0, dtype=x_t.dtype)

    with fwAD.dual_level():
        Scale.apply(fwAD.make_dual(torch.ones(2), torch.ones(2)))


@mistake("Double.jvp", "tangent 0", "ndarray", remedy="torch.from_numpy", says=TypeError)
def jvp_returns_numpy():
    """jvp returns a NumPy array.

    Tangents are tensors, so that they can be differentiated again.
    """

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def jvp(ctx, x_t):
            return x_t.numpy() * 2  # - <-
            # + return x_t * 2

    with fwAD.dual_level():
        Double.apply(fwAD.make_dual(torch.ones(2), torch.ones(2)))


@mistake("Double.jvp", "no `return`", "output 0", remedy="return")
def jvp_without_return():
    """jvp computes the tangent but does not return it.

    Python then returns None, which would mean that the output does not change: silently a derivative of zero.
    """

    # + class Sign(torch.autograd.Function):
    class Double(torch.autograd.Function):  # -
        @staticmethod
        def forward(ctx, x):
            return x * 2  # -
            # + return x.sign()

        @staticmethod
        def jvp(ctx, x_t):  # <-
            x_t * 2  # -
            # + return None  # the output is constant

    with fwAD.dual_level():
        Double.apply(fwAD.make_dual(torch.ones(2), torch.ones(2)))  # -
        # + Sign.apply(fwAD.make_dual(torch.ones(2), torch.ones(2)))


@mistake(
    "Scale.jvp",
    "called with 3 arguments",
    "jvp(ctx, x_t)",
    remedy="one tangent for each argument of forward",
    says=TypeError,
)
def jvp_takes_too_few():
    """jvp takes one tangent, but forward takes two arguments.

    jvp gets one tangent for each argument of forward, in the same order, and None for arguments without a tangent.
    """

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.factor = factor
            return x * factor

        @staticmethod
        # + def jvp(ctx, x_t, _):
        def jvp(ctx, x_t):  # - <-
            return x_t * ctx.factor

    with fwAD.dual_level():
        Scale.apply(fwAD.make_dual(torch.ones(2), torch.ones(2)), 3.0)
