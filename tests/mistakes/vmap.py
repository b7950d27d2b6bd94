"""Batches with vmap."""

import minigrad as torch
from minigrad import vmap

from . import Mistake


class IfOnBatched(Mistake):
    """`if` tests a value that differs between the examples.

    Under vmap all examples run at once. Python can take only one branch, but some examples need the other.
    """

    operation = "vmap"
    numbers = ("`if`", "5 examples")
    remedy = "torch.where(condition, a, b)"

    def wrong():
        def positive(x):
            if x > 0:  # <-
                return x
            return x * 0

        return vmap(positive)(torch.ones(5))

    def right():
        return vmap(lambda x: torch.where(x > 0, x, x * 0))(torch.ones(5))


class ItemOfBatched(Mistake):
    """.item() is called on a value that differs between the examples.

    There is one number per example, not one number.
    """

    operation = "vmap"
    numbers = ("item()", "4 examples")
    remedy = "compute with the tensor"

    def wrong():
        def scaled(x):
            return x * x.max().item()  # <-

        return vmap(scaled)(torch.ones(4, 3))

    def right():
        return vmap(lambda x: x * x.max())(torch.ones(4, 3))


class LoopOverBatchedNumber(Mistake):
    """A batched tensor decides how often a loop runs.

    Each example would need a different number of iterations. Run the largest number, and mask the surplus ones.
    """

    operation = "vmap"
    numbers = ("int()", "3 examples")
    remedy = "torch.where"

    def wrong():
        def power(x, n):
            y = torch.ones(())
            for _ in range(int(n)):  # <-
                y = y * x
            return y

        return vmap(power)(torch.ones(3), torch.tensor([1, 2, 3]))

    def right():
        def power(x, n):
            y = torch.ones(())
            for i in range(3):
                y = torch.where(i < n, y * x, y)
            return y

        return vmap(power)(torch.ones(3), torch.tensor([1, 2, 3]))


class MappedSizesDiffer(Mistake):
    """Two inputs have different numbers of examples.

    vmap takes one example of each input at a time, so all inputs need the same number. Use `None` in `in_dims` for an input
    that all examples share.
    """

    says = ValueError
    operation = "vmap"
    numbers = ("input 0 has 5", "input 1 has 3")
    remedy = "in_dims=(0, None)"

    def wrong():
        return vmap(torch.matmul)(torch.ones(5, 3), torch.ones(3))  # <-

    def right():
        return vmap(torch.matmul, in_dims=(0, None))(torch.ones(5, 3), torch.ones(3))


class InDimsStructure(Mistake):
    """in_dims has a different number of entries than the function has arguments.

    It has one entry for each argument: the dimension that holds the examples.
    """

    says = ValueError
    operation = "vmap"
    numbers = ("in_dims=(0,)", "2 arguments")
    remedy = "in_dims=(0, 0)"

    def wrong():
        return vmap(torch.mul, in_dims=(0,))(torch.ones(3), torch.ones(3))  # <-

    def right():
        return vmap(torch.mul, in_dims=(0, 0))(torch.ones(3), torch.ones(3))


class InDimsList(Mistake):
    """in_dims is a list.

    A list stands for an argument that is a list; use a tuple for the dimensions of several arguments.
    """

    says = ValueError
    operation = "vmap"
    numbers = ("in_dims=[0, None]", "list")
    remedy = "in_dims=(0, None)"

    def wrong():
        return vmap(torch.mul, in_dims=[0, None])(torch.ones(3), torch.ones(3))  # <-

    def right():
        return vmap(torch.mul, in_dims=(0, None))(torch.ones(3), torch.ones(3))


class InDimOutOfRange(Mistake):
    """in_dims names a dimension that the input does not have.

    Dimensions are counted from 0.
    """

    says = ValueError
    operation = "vmap"
    numbers = ("in_dim=2", "input 0", "(3, 4)")
    remedy = "0, 1 or None"

    def wrong():
        return vmap(torch.sum, in_dims=2)(torch.ones(3, 4))  # <-

    def right():
        return vmap(torch.sum, in_dims=1)(torch.ones(3, 4))


class AllInDimsNone(Mistake):
    """No input has a batch dimension.

    Nothing then determines the number of examples.
    """

    says = ValueError
    operation = "vmap"
    numbers = ("in_dims", "None")
    remedy = "in_dims=0"

    def wrong():
        return vmap(torch.sum, in_dims=None)(torch.ones(3, 4))  # <-

    def right():
        return vmap(torch.sum, in_dims=0)(torch.ones(3, 4))


class NumberMapped(Mistake):
    """A Python number is an argument of a mapped function.

    vmap maps over a dimension of every argument, and a number has none.
    """

    says = ValueError
    operation = "vmap"
    numbers = ("input 1", "float")
    remedy = "in_dims=(0, None)"

    def wrong():
        return vmap(torch.mul)(torch.ones(3), 2.0)  # <-

    def right():
        return vmap(torch.mul, in_dims=(0, None))(torch.ones(3), 2.0)


class ListInPlaceOfBatch(Mistake):
    """The examples are passed as a list of tensors.

    vmap maps over a dimension of tensors. It treats a list as one argument of several tensors, each with a batch dimension.
    """

    says = ValueError
    operation = "vmap"
    numbers = ("input 0", "0 dimensions")
    remedy = "stack"

    def wrong():
        examples = [torch.tensor(1.0), torch.tensor(2.0)]
        return vmap(torch.sin)(examples)  # <-

    def right():
        examples = [torch.tensor(1.0), torch.tensor(2.0)]
        return vmap(torch.sin)(torch.stack(examples))


class OutDimsNone(Mistake):
    """out_dims=None for an output that differs between the examples.

    None means that all examples have the same output. Here they differ.
    """

    says = ValueError
    operation = "vmap"
    numbers = ("out_dims=None", "output 0", "3 examples")
    remedy = "out_dims=0"

    def wrong():
        return vmap(torch.sin, out_dims=None)(torch.ones(3))  # <-

    def right():
        return vmap(torch.sin, out_dims=0)(torch.ones(3))


class OutDimsStructure(Mistake):
    """out_dims has two entries, but the function returns one tensor.

    out_dims has one entry for each output: the position of its batch dimension.
    """

    says = ValueError
    operation = "vmap"
    numbers = ("out_dims=(0, 1)", "one output")
    remedy = "out_dims=0"

    def wrong():
        return vmap(torch.sin, out_dims=(0, 1))(torch.ones(3))  # <-

    def right():
        return vmap(torch.sin, out_dims=0)(torch.ones(3))


class OutDimOutOfRange(Mistake):
    """out_dims names a dimension that the output does not have.

    One number per example gives an output with a single dimension, the batch.
    """

    says = IndexError
    operation = "vmap"
    numbers = ("out_dim 1", "1 dimension", "output 0")
    remedy = "out_dims=0"

    def wrong():
        return vmap(torch.sum, out_dims=1)(torch.ones(3, 4))  # <-

    def right():
        return vmap(torch.sum, out_dims=0)(torch.ones(3, 4))


class MappedReturnsNumber(Mistake):
    """A mapped function returns a Python number.

    It has no dimension that could hold the examples.
    """

    says = ValueError
    operation = "vmap"
    numbers = ("output 1", "int")
    remedy = "out_dims=(0, None)"

    def wrong():
        return vmap(lambda x: (x.sum(), x.shape[0]))(torch.ones(3, 4))  # <-

    def right():
        return vmap(lambda x: (x.sum(), x.shape[0]), out_dims=(0, None))(torch.ones(3, 4))


class MappedReturnsNothing(Mistake):
    """A mapped function has no `return`.

    Python then returns None.
    """

    says = ValueError
    operation = "vmap"
    numbers = ("NoneType", "double")
    remedy = "return"

    def wrong():
        def double(x):
            x * 2

        return vmap(double)(torch.ones(3))  # <-

    def right():
        def double(x):
            return x * 2

        return vmap(double)(torch.ones(3))


class RandomnessNotSaid(Mistake):
    """Random numbers are drawn under vmap.

    Should all examples get the same numbers, or each its own? vmap does not guess.
    """

    operation = "rand"
    numbers = ("randomness",)
    remedy = 'randomness="different"'

    def wrong():
        def noisy(x):
            return x + torch.rand(())  # <-

        return vmap(noisy)(torch.ones(3))

    def right():
        return vmap(lambda x: x + torch.rand(()), randomness="different")(torch.ones(3))


class DropoutUnderVmap(Mistake):
    """A model with dropout in training mode is mapped.

    Dropout draws random numbers, and vmap needs to know if each example gets its own.
    """

    operation = "dropout"
    numbers = ("randomness",)
    remedy = 'randomness="different"'

    def wrong():
        model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout(0.5))
        return vmap(model)(torch.ones(3, 2))  # <-

    def right():
        model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout(0.5))
        return vmap(model, randomness="different")(torch.ones(3, 2))


class RandomnessMisspelt(Mistake):
    """randomness is not one of its three values.

    It is "error", "different" or "same".
    """

    operation = "vmap"
    numbers = ("'random'",)
    remedy = "different"

    def wrong():
        return vmap(torch.sin, randomness="random")(torch.ones(3))  # <-

    def right():
        return vmap(torch.sin, randomness="same")(torch.ones(3))


class AssignmentToUnbatched(Mistake):
    """A mapped function writes a result to a tensor that it made with zeros.

    All examples share that tensor, which would have to hold a different number for each.
    """

    operation = "vmap"
    numbers = ("(3,)", "5 examples")
    remedy = "x.new_zeros"

    def wrong():
        def doubled(x):
            out = torch.zeros(3)
            out[0] = x[0] * 2  # <-
            return out

        return vmap(doubled)(torch.ones(5, 3))

    def right():
        def doubled(x):
            out = x.new_zeros(3)
            out[0] = x[0] * 2
            return out

        return vmap(doubled)(torch.ones(5, 3))


class AssignmentToGlobal(Mistake):
    """A mapped function writes to a tensor from outside.

    All examples would write to the same memory. Return the result instead.
    """

    operation = "vmap"
    numbers = ("add_", "()", "5 examples")
    remedy = "return"

    def wrong():
        total = torch.zeros(())

        def loss(x):
            total.add_(x.sum())  # <-
            return x.sum()

        return vmap(loss)(torch.ones(5, 3))

    def right():
        return vmap(torch.sum)(torch.ones(5, 3)).sum()


class BatchNormUnderVmap(Mistake):
    """A model with batch norm in training mode is mapped over the examples.

    Batch norm mixes the examples of a batch and writes its running averages in place; vmap shows it one example at a
    time.
    """

    operation = "vmap"
    numbers = ("add_", "(2,)", "3 examples")
    remedy = "track_running_stats=False"

    def wrong():
        norm = torch.nn.BatchNorm1d(2)
        return vmap(norm)(torch.ones(3, 4, 2))  # <-

    def right():
        norm = torch.nn.BatchNorm1d(2, track_running_stats=False)
        return vmap(norm)(torch.ones(3, 4, 2))


class NumpyUnderVmap(Mistake):
    """A mapped function uses NumPy.

    A batched tensor has no array for one example.
    """

    operation = "vmap"
    numbers = ("(3,)", "numpy()")
    remedy = "minigrad's operations"

    def wrong():
        def largest(x):
            return torch.tensor(x.numpy().max())  # <-

        return vmap(largest)(torch.ones(5, 3))

    def right():
        return vmap(lambda x: x.max())(torch.ones(5, 3))


class MaskUnderVmap(Mistake):
    """A mapped function selects elements by a condition.

    Each example may select a different number of elements, but all results need one shape.
    """

    operation = "vmap"
    numbers = ("(3,)", "5 examples")
    remedy = "torch.where"

    def wrong():
        def positive(x):
            return x[x > 0].sum()  # <-

        return vmap(positive)(torch.ones(5, 3))

    def right():
        return vmap(lambda x: torch.where(x > 0, x, 0.0).sum())(torch.ones(5, 3))


class NonzeroUnderVmap(Mistake):
    """A mapped function calls nonzero on its input.

    The number of positions depends on the example.
    """

    operation = "nonzero"
    numbers = ("(3,)", "5 examples")
    remedy = "torch.where"

    def wrong():
        return vmap(lambda x: x.nonzero())(torch.ones(5, 3))  # <-

    def right():
        return vmap(lambda x: x != 0)(torch.ones(5, 3))


class ShapesOfOneExample(Mistake):
    """Shapes do not fit under vmap.

    The shapes are those of one example, without the batch dimension.
    """

    operation = "add"
    numbers = ("(3,) and (4,)", "batch of 5")
    remedy = "the same size"

    def wrong():
        w = torch.ones(4)
        return vmap(lambda x: x + w)(torch.ones(5, 3))  # <-

    def right():
        w = torch.ones(3)
        return vmap(lambda x: x + w)(torch.ones(5, 3))


class MatmulOfOneExample(Mistake):
    """The inner sizes of a matrix product differ under vmap.

    One example is a vector of 3 elements, but the matrix needs vectors of 4.
    """

    operation = "matmul"
    numbers = ("(2, 4)", "(3,)", "batch of 5")
    remedy = "4"

    def wrong():
        weight = torch.ones(2, 4)
        return vmap(lambda x: weight @ x)(torch.ones(5, 3))  # <-

    def right():
        weight = torch.ones(2, 3)
        return vmap(lambda x: weight @ x)(torch.ones(5, 3))


class DimensionOfTheBatch(Mistake):
    """A mapped function counts dimensions as if the batch were there.

    One example of a matrix is a vector, whose only dimension is 0.
    """

    says = IndexError
    operation = "sum"
    numbers = ("got 1", "[-1, 0]", "batch of 5")
    remedy = "dim=0"

    def wrong():
        return vmap(lambda x: x.sum(1))(torch.ones(5, 3))  # <-

    def right():
        return vmap(lambda x: x.sum(0))(torch.ones(5, 3))


class ReshapeWithTheBatch(Mistake):
    """A mapped function reshapes as if the batch were there.

    It can only reshape the elements of one example.
    """

    operation = "reshape"
    numbers = ("(5, -1)", "(2, 3)", "size 6", "batch of 5")
    remedy = "product is 6"

    def wrong():
        return vmap(lambda x: x.reshape(5, -1))(torch.ones(5, 2, 3))  # <-

    def right():
        return vmap(lambda x: x.reshape(-1))(torch.ones(5, 2, 3))


class StackOfOneExample(Mistake):
    """Tensors of different shapes are stacked under vmap.

    The shapes of one example have to match.
    """

    operation = "stack"
    numbers = ("(3,)", "(4,)")
    remedy = "same shape"

    def wrong():
        zeros = torch.zeros(4)
        return vmap(lambda x: torch.stack([x, zeros]))(torch.ones(5, 3))  # <-

    def right():
        zeros = torch.zeros(3)
        return vmap(lambda x: torch.stack([x, zeros]))(torch.ones(5, 3))


class LinearLayerOfOneExample(Mistake):
    """A layer gets examples of the wrong size under vmap.

    One example has 3 features, but the layer expects 4.
    """

    operation = "linear"
    numbers = ("(3,)", "(2, 4)", "batch of 5")
    remedy = "3"

    def wrong():
        layer = torch.nn.Linear(4, 2)
        return vmap(layer)(torch.ones(5, 3))  # <-

    def right():
        layer = torch.nn.Linear(3, 2)
        return vmap(layer)(torch.ones(5, 3))


class BackwardUnderVmap(Mistake):
    """backward is called inside a mapped function, to get one gradient per example.

    `.grad` has room for one gradient. `grad` inside vmap returns one for each example.
    """

    operation = "backward"
    numbers = ("vmap",)
    remedy = "torch.func.grad"

    def wrong():
        w = torch.ones(3, requires_grad=True)

        def gradient(x):
            (w * x).sum().backward()  # <-
            return w.grad

        return vmap(gradient)(torch.ones(5, 3))

    def right():
        w = torch.ones(3)
        gradient = torch.func.grad(lambda w, x: (w * x).sum())
        return vmap(gradient, in_dims=(None, 0))(w, torch.ones(5, 3))


class ChunkSizeZero(Mistake):
    """chunk_size is 0.

    It is the number of examples that vmap computes at once.
    """

    says = ValueError
    operation = "vmap"
    numbers = ("chunk_size", "0")
    remedy = "chunk_size=None"

    def wrong():
        return vmap(torch.sin, chunk_size=0)(torch.ones(3))  # <-

    def right():
        return vmap(torch.sin, chunk_size=None)(torch.ones(3))


class VmapRuleMissing(Mistake):
    """A Function without a vmap rule is used under vmap.

    It is written for one example, and has no rule for many.
    """

    operation = "Square"
    numbers = ("vmap rule", "3 examples")
    remedy = "generate_vmap_rule = True"

    def wrong():
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(x):
                return x * x

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.save_for_backward(*inputs)

        return vmap(Square.apply)(torch.ones(3))  # <-

    def right():
        class Square(torch.autograd.Function):
            generate_vmap_rule = True

            @staticmethod
            def forward(x):
                return x * x

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.save_for_backward(*inputs)

        return vmap(Square.apply)(torch.ones(3))


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
                return Square.apply(x)  # <-

        return vmap(Square.apply)(torch.ones(3))

    def right():
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(x):
                return x * x

            @staticmethod
            def setup_context(ctx, inputs, output):
                pass

            @staticmethod
            def vmap(info, in_dims, x):
                return Square.apply(x), in_dims[0]

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
                return x.movedim(in_dims[0], 0).permute(2, 0, 1).clone(), 0  # <-

        return vmap(Transpose.apply)(torch.ones(5, 4, 3))

    def right():
        class Transpose(torch.autograd.Function):
            @staticmethod
            def forward(x):
                return x.mT.clone()

            @staticmethod
            def setup_context(ctx, inputs, output):
                pass

            @staticmethod
            def vmap(info, in_dims, x):
                return x.movedim(in_dims[0], 0).permute(2, 0, 1).clone(), 1

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
                return SinCos.apply(x), (in_dims[0],)  # <-

        return vmap(SinCos.apply)(torch.ones(3))

    def right():
        class SinCos(torch.autograd.Function):
            @staticmethod
            def forward(x):
                return x.sin(), x.cos()

            @staticmethod
            def setup_context(ctx, inputs, output):
                pass

            @staticmethod
            def vmap(info, in_dims, x):
                return SinCos.apply(x), (in_dims[0], in_dims[0])

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
            def vmap(x):  # <-
                return Square.apply(x), 0

        return vmap(Square.apply)(torch.ones(3))

    def right():
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(x):
                return x * x

            @staticmethod
            def setup_context(ctx, inputs, output):
                pass

            @staticmethod
            def vmap(info, in_dims, x):
                return Square.apply(x), in_dims[0]

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

            @staticmethod
            def vmap(info, in_dims, x):
                return Square.apply(x), in_dims[0]

        return vmap(Square.apply)(torch.ones(3))  # <-

    def right():
        class Square(torch.autograd.Function):
            generate_vmap_rule = True

            @staticmethod
            def forward(x):
                return x * x

            @staticmethod
            def setup_context(ctx, inputs, output):
                pass

        return vmap(Square.apply)(torch.ones(3))


class NumpyWithGeneratedRule(Mistake):
    """A forward that uses NumPy asks for a generated vmap rule.

    The generated rule runs forward under vmap, where a tensor has no array for one example.
    """

    operation = "Sort.forward"
    numbers = ("(3,)", "generate_vmap_rule")
    remedy = "vmap staticmethod"

    def wrong():
        class Sort(torch.autograd.Function):
            generate_vmap_rule = True

            @staticmethod
            def forward(x):
                array = x.numpy()  # <-
                array.sort()
                return torch.from_numpy(array)

            @staticmethod
            def setup_context(ctx, inputs, output):
                pass

        return vmap(Sort.apply)(torch.ones(5, 3))

    def right():
        class Sort(torch.autograd.Function):
            @staticmethod
            def forward(x):
                array = x.numpy().copy()
                array.sort()
                return torch.from_numpy(array)

            @staticmethod
            def setup_context(ctx, inputs, output):
                pass

            @staticmethod
            def vmap(info, in_dims, x):
                return Sort.apply(x.movedim(in_dims[0], 0)), 0

        return vmap(Sort.apply)(torch.ones(5, 3))


class VmapOfAValue(Mistake):
    """vmap gets the value of the function instead of the function.

    It runs the function itself, on all examples at once.
    """

    says = TypeError
    operation = "vmap"
    numbers = ("a tensor of shape (3,)",)
    remedy = "vmap(f)(x)"

    def wrong():
        x = torch.ones(3)
        return vmap(torch.sin(x))(x)  # <-

    def right():
        x = torch.ones(3)
        return vmap(torch.sin)(x)


class FormatOfBatched(Mistake):
    """A value that differs between the examples is formatted as a number.

    There is one number per example. Print after vmap, or print the tensor itself.
    """

    operation = "vmap"
    numbers = ("5 examples",)
    remedy = "outside of vmap"

    def wrong():
        def loss(x):
            print(f"{x.sum():.2f}")  # <-
            return x.sum()

        return vmap(loss)(torch.ones(5, 3))

    def right():
        def loss(x):
            assert f"{x.sum()}"
            return x.sum()

        losses = vmap(loss)(torch.ones(5, 3))
        assert f"{losses[0]:.2f}" == "3.00"
