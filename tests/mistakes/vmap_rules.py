"""Rules of Functions for vmap."""

import minigrad as torch
from minigrad import vmap

from . import Mistake


class VmapRuleMissing(Mistake):
    """A Function without a vmap rule is used under vmap.

    It is written for one example, and has no rule for many.
    """

    operation = "Square"
    numbers = ("vmap rule", "3 examples")
    remedy = "generate_vmap_rule = True"

    def wrong():
        class Square(torch.autograd.Function):
            # + generate_vmap_rule = True
            @staticmethod
            def forward(x):
                return x * x

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.save_for_backward(*inputs)

        return vmap(Square.apply)(torch.ones(3))  # <-


class VmapRuleWithoutOutDims(Mistake):
    """The vmap staticmethod returns only the output.

    vmap needs to know which dimension of the output holds the examples.
    """

    operation = "Square.vmap"
    numbers = ("Tensor", "pair")
    remedy = "return output, out_dims"

    def wrong():
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


class VmapRuleWrongDim(Mistake):
    """The vmap staticmethod returns the wrong batch dimension.

    Each example would get numbers of other examples.
    """

    operation = "Transpose.vmap"
    numbers = ("out_dim 0", "size 5", "(3, 5, 4)")
    remedy = "out_dims"

    def wrong():
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


class VmapRuleOutDimsCount(Mistake):
    """The vmap staticmethod returns one dimension for two outputs.

    Each output needs its own dimension.
    """

    operation = "SinCos.vmap"
    numbers = ("2 outputs", "(0,)")
    remedy = "for each output"

    def wrong():
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


class VmapRuleWithoutInfo(Mistake):
    """The vmap staticmethod does not take info and in_dims.

    It receives the information about the batch first, and then forward's arguments.
    """

    says = TypeError
    operation = "Square.vmap"
    numbers = ("called with 3 arguments", "vmap(x)")
    remedy = "info, in_dims"

    def wrong():
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


class TwoVmapRules(Mistake):
    """A Function has both a vmap staticmethod and generate_vmap_rule = True.

    minigrad cannot know which of the two you mean.
    """

    operation = "Square"
    numbers = ("generate_vmap_rule=True", "vmap staticmethod")
    remedy = "delete the vmap staticmethod"

    def wrong():
        class Square(torch.autograd.Function):
            generate_vmap_rule = True

            @staticmethod
            def forward(x):
                return x * x

            @staticmethod
            def setup_context(ctx, inputs, output):
                pass

            @staticmethod  # -
            def vmap(info, in_dims, x):  # -
                return Square.apply(x), in_dims[0]  # -

        return vmap(Square.apply)(torch.ones(3))  # <-


class NumpyWithGeneratedRule(Mistake):
    """A forward that uses NumPy asks for a generated vmap rule.

    The generated rule runs forward under vmap, where a tensor has no array for one example.
    """

    operation = "Sort.forward"
    numbers = ("(3,)", "generate_vmap_rule")
    remedy = "vmap staticmethod"

    def wrong():
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
