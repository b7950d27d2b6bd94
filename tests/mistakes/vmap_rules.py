"""Rules of Functions for vmap."""

import minigrad as torch
from minigrad import vmap

from . import mistake


@mistake("Square", "vmap rule", "3 examples", remedy="generate_vmap_rule = True")
def vmap_rule_missing():
    """A Function without a vmap rule is used under vmap.

    It is written for one example, and has no rule for many.
    """

    class Square(torch.autograd.Function):
        # + generate_vmap_rule = True
        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

    return vmap(Square.apply)(torch.ones(3))  # <-


@mistake("Square.vmap", "Tensor", "pair", remedy="return output, out_dims")
def vmap_rule_without_out_dims():
    """The vmap staticmethod returns only the output.

    vmap needs to know which dimension of the output holds the examples.
    """

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, x):
            return Square.apply(x)  # - <-
            # + return Square.apply(x), in_dims[0]

    return vmap(Square.apply)(torch.ones(3))


@mistake("Transpose.vmap", "out_dim 0", "size 5", "(3, 5, 4)", remedy="out_dims")
def vmap_rule_wrong_dim():
    """The vmap staticmethod returns the wrong batch dimension.

    Each example would get numbers of other examples.
    """

    class Transpose(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x.mT.clone()

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, x):
            return x.movedim(in_dims[0], 0).permute(2, 0, 1).clone(), 0  # - <-
            # + return x.movedim(in_dims[0], 0).permute(2, 0, 1).clone(), 1

    return vmap(Transpose.apply)(torch.ones(5, 4, 3))


@mistake("SinCos.vmap", "2 outputs", "(0,)", remedy="for each output")
def vmap_rule_out_dims_count():
    """The vmap staticmethod returns one dimension for two outputs.

    Each output needs its own dimension.
    """

    class SinCos(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x.sin(), x.cos()

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, x):
            return SinCos.apply(x), (in_dims[0],)  # - <-
            # + return SinCos.apply(x), (in_dims[0], in_dims[0])

    return vmap(SinCos.apply)(torch.ones(3))


@mistake("Square.vmap", "called with 3 arguments", "vmap(x)", remedy="info, in_dims", says=TypeError)
def vmap_rule_without_info():
    """The vmap staticmethod does not take info and in_dims.

    It receives the information about the batch first, and then forward's arguments.
    """

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(x):  # - <-
            return Square.apply(x), 0  # -

        # + def vmap(info, in_dims, x):
        # +     return Square.apply(x), in_dims[0]

    return vmap(Square.apply)(torch.ones(3))


@mistake("Square", "generate_vmap_rule=True", "vmap staticmethod", remedy="delete the vmap staticmethod")
def two_vmap_rules():
    """A Function has both a vmap staticmethod and generate_vmap_rule = True.

    minigrad cannot know which of the two you mean.
    """

    class Square(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod  # -
        def vmap(info, in_dims, x):  # - <=
            return Square.apply(x), in_dims[0]  # -

    return vmap(Square.apply)(torch.ones(3))  # <-


@mistake("Sort.forward", "(3,)", "generate_vmap_rule", remedy="vmap staticmethod")
def numpy_with_generated_rule():
    """A forward that uses NumPy asks for a generated vmap rule.

    The generated rule runs forward under vmap, where a tensor has no array for one example.
    """

    class Sort(torch.autograd.Function):
        generate_vmap_rule = True  # -

        @staticmethod
        def forward(x):
            array = x.numpy()  # - <-
            # + array = x.numpy().copy()
            array.sort()
            return torch.from_numpy(array)

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        # + @staticmethod
        # + def vmap(info, in_dims, x):
        # +     return Sort.apply(x.movedim(in_dims[0], 0)), 0

    return vmap(Sort.apply)(torch.ones(5, 3))
