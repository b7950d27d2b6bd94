"""Shapes, dtypes and arguments that do not fit."""

import numpy as np

import minigrad as torch
from minigrad import nn

from . import Mistake


class ForgottenFlatten(Mistake):
    """An image goes into a linear layer without being flattened.

    A linear layer multiplies the last dimension. For images (batch, channel, height, width) that is only the width, not all
    pixels, so its size is not the number of features.
    """

    operation, numbers, remedy = "linear", ("(8, 1, 28, 28)", "(10, 784)"), "input.flatten(1)"

    def wrong():
        images = torch.rand(8, 1, 28, 28)
        return nn.Linear(784, 10)(images)  # - <-
        # + return nn.Linear(784, 10)(images.flatten(1))


class WrongInFeatures(Mistake):
    """A layer's in_features differs from the output size of the layer before it.

    The number of inputs of a layer has to match the number of outputs of the previous layer.
    """

    operation, numbers, remedy = "linear", ("(4, 32)", "(10, 64)"), "in_features=32"

    def wrong():
        model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(64, 10))  # -
        # + model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 10))
        return model(torch.rand(4, 8))  # <-


class WeightNotTransposed(Mistake):
    """A weight of shape (out, in) is multiplied without being transposed.

    A linear layer stores its weight as (out_features, in_features), so the product with a batch of rows is x @ weight.T.
    """

    operation, numbers, remedy = "matmul", ("(4, 8)", "(10, 8)", "inner sizes 8", "and 10"), "x @ layer.weight.mT"

    def wrong():
        x, layer = torch.rand(4, 8), nn.Linear(8, 10)
        return x @ layer.weight  # - <-
        # + return x @ layer.weight.mT


class NormPerRowWithoutKeepdim(Mistake):
    """Rows are divided by their sums, which have lost a dimension.

    Shapes are aligned at their ends. The sums of (5, 3) over dimension 1 have shape (5,), which aligns with the 3 columns;
    with keepdim=True they have shape (5, 1), which aligns with the rows. (A square matrix would hide the mistake, and the
    result would be wrong.)
    """

    operation, numbers, remedy = "div", ("(5, 3)", "(5,)", "-1 has sizes 3 and 5"), "other.unsqueeze(-1)"

    def wrong():
        x = torch.rand(5, 3)
        return x / x.sum(1)  # - <-
        # + return x / x.sum(1, keepdim=True)


class ChannelsLast(Mistake):
    """An image with its channels last goes into a convolution.

    Image files and plots have the channels last, (height, width, channels). Convolutions expect them first, as (batch,
    channels, height, width).
    """

    operation, numbers, remedy = "conv2d", ("3 channels", "got 32", "(1, 32, 32, 3)"), "input.movedim(-1, -3)"

    def wrong():
        image = torch.rand(32, 32, 3)
        return nn.Conv2d(3, 8, 3)(image.unsqueeze(0))  # - <-
        # + return nn.Conv2d(3, 8, 3)(image.movedim(-1, 0).unsqueeze(0))


class ImageWithoutChannel(Mistake):
    """A grey image goes into a convolution without its one channel.

    An image of shape (height, width) has no channel dimension; a convolution needs one, even of size 1.
    """

    operation, numbers, remedy = "conv2d", ("(28, 28)", "3D", "4D"), "input.unsqueeze(0)"

    def wrong():
        image = torch.rand(28, 28)
        return nn.Conv2d(1, 8, 3)(image)  # - <-
        # + return nn.Conv2d(1, 8, 3)(image.unsqueeze(0))


class FlattenedTheBatch(Mistake):
    """reshape(-1, n) divides the examples into wrong rows.

    A wrong number of features moves elements from one example to another and changes the size of the batch. The loss
    detects it: there are more rows than targets.
    """

    says = ValueError
    operation, numbers, remedy = "cross_entropy", ("batch_size (8)", "batch_size (4)"), "one class for each example"

    def wrong():
        features, target = torch.rand(4, 20), torch.tensor([0, 1, 2, 0])
        logits = nn.Linear(10, 3)(features.reshape(-1, 10))  # -
        # + logits = nn.Linear(20, 3)(features.reshape(4, -1))
        return nn.functional.cross_entropy(logits, target)  # <-


class OneHotTargets(Mistake):
    """Integer one-hot rows are given as targets of cross_entropy.

    Integer targets are class indices, one for each example. One-hot rows are probabilities, which have to be floats.
    """

    operation, numbers, remedy = "cross_entropy", ("(4, 3)", "(4,)"), "target.argmax(1)"

    def wrong():
        logits, target = torch.rand(4, 3), torch.eye(3, dtype=torch.int64)[[0, 1, 2, 0]]
        return nn.functional.cross_entropy(logits, target)  # <-

    def right():
        logits, target = torch.rand(4, 3), torch.eye(3, dtype=torch.int64)[[0, 1, 2, 0]]
        return nn.functional.cross_entropy(logits, target.argmax(1)) + nn.functional.cross_entropy(
            logits, target.float()
        )


class FloatClasses(Mistake):
    """Classes are given to cross_entropy as floats.

    Float targets are probabilities, one for each class. Class indices are integers.
    """

    operation, numbers, remedy = "cross_entropy", ("(4, 3)", "(4,)"), "target.long()"

    def wrong():
        logits, target = torch.rand(4, 3), torch.tensor([0.0, 1.0, 2.0, 0.0])
        return nn.functional.cross_entropy(logits, target)  # - <-
        # + return nn.functional.cross_entropy(logits, target.long())


class ClassesInTheLastDimension(Mistake):
    """A sequence model's logits have their classes last.

    cross_entropy expects the classes in dimension 1, also for sequences: (batch, classes, length).
    """

    operation, numbers, remedy = "cross_entropy", ("(2, 5, 9)", "(2, 9)", "(2, 5)"), "input.movedim(-1, 1)"

    def wrong():
        logits, target = torch.rand(2, 5, 9), torch.zeros(2, 5, dtype=torch.int64)
        return nn.functional.cross_entropy(logits, target)  # - <-
        # + return nn.functional.cross_entropy(logits.movedim(-1, 1), target)


class TensorsBesideANewDimension(Mistake):
    """cat is called instead of stack.

    cat joins tensors along an existing dimension; scalars have none. stack makes a new one, as for the losses of a loop.
    """

    operation, numbers, remedy = "cat", ("position 0",), "stack(tensors)"

    def wrong():
        losses = [torch.tensor(float(i)) for i in range(3)]
        return torch.cat(losses).mean()  # - <-
        # + return torch.stack(losses).mean()


class StackOfUnequalLengths(Mistake):
    """Sequences of different lengths are stacked.

    All rows of a tensor have the same length. Pad shorter sequences first, or keep them in a list.
    """

    operation, numbers, remedy = "stack", ("(3,)", "(5,)", "entry 1"), "nn.functional.pad"

    def wrong():
        sequences = [torch.rand(3), torch.rand(5)]
        return torch.stack(sequences)  # - <-
        # + return torch.stack([nn.functional.pad(s, (0, 5 - len(s))) for s in sequences])


class ViewAfterTranspose(Mistake):
    """view is called on a transposed tensor.

    view shows the same memory in another shape, which is impossible if the elements are in a different order. reshape
    copies them if necessary.
    """

    operation, numbers, remedy = "view", ("(6,)", "(3, 2)"), ".reshape("

    def wrong():
        x = torch.rand(2, 3)
        return x.t().view(6)  # - <-
        # + return x.t().reshape(6)


class ReshapeToAnotherNumber(Mistake):
    """The sizes of a reshape do not match the number of elements.

    reshape keeps all elements: the sizes of both shapes have the same product.
    """

    operation, numbers, remedy = "reshape", ("(4, 6)", "size 30", "(5, 6)"), "product is 30"

    def wrong():
        x = torch.rand(5, 6)
        return x.reshape(4, 6)  # - <-
        # + return x.reshape(3, 10)


class DimensionsCountedFromOne(Mistake):
    """Dimensions are counted from 1.

    The dimensions of a matrix are 0 and 1, or -2 and -1 from the end. There is no dimension 2.
    """

    says = IndexError
    operation, numbers, remedy = "sum", ("[-2, 1]", "got 2"), "dim=1"

    def wrong():
        return torch.rand(3, 4).sum(2)  # <-

    def right():
        return torch.rand(3, 4).sum(1)


class MisspeltArgument(Mistake):
    """An argument has a different name in PyTorch.

    The dimension of a sum is called dim (NumPy's axis works, too).
    """

    says = TypeError
    operation, numbers, remedy = "sum", ("'axes'",), "sum(input, dim=None, keepdim=False"

    def wrong():
        return torch.rand(3, 4).sum(axes=1)  # <-

    def right():
        return torch.rand(3, 4).sum(dim=1) + torch.rand(3, 4).sum(axis=1)


class FunctionWithoutReturn(Mistake):
    """A function computes a value but does not return it.

    Without `return` a function returns None, which the next operation cannot use.
    """

    says = TypeError
    operation, numbers, remedy = "mse_loss", ("'input'", "NoneType"), "`return`"

    def wrong():
        def model(x):
            x * 2  # -
            # + return x * 2

        return nn.functional.mse_loss(model(torch.rand(3)), torch.rand(3))  # <-


class TruthOfSeveral(Mistake):
    """An `if` tests a comparison of tensors.

    x > 0 has one truth value for each element, but `if` needs a single one: of all, or of any.
    """

    operation, numbers, remedy = "bool", ("(3,)", "3 elements"), ".all()"

    def wrong():
        x = torch.rand(3)
        # + if (x > 0).all():
        if x > 0:  # - <-
            x = -x


class ItemOfAVectorOfLosses(Mistake):
    """item() is called on the losses of all examples.

    With reduction="none" there is one loss for each example. Log their mean.
    """

    operation, numbers, remedy = "item", ("(3,)", "3 elements"), ".tolist()"

    def wrong():
        loss = nn.functional.mse_loss(torch.rand(3), torch.rand(3), reduction="none")
        return loss.item()  # - <-
        # + return loss.mean().item(), loss.tolist()


class IndicesOfFloats(Mistake):
    """Floats are used as indices.

    An index is an integer, and arithmetic with division returns floats.
    """

    says = IndexError
    operation, numbers, remedy = "index", ("float32",), "index.long()"

    def wrong():
        x, middle = torch.rand(9), torch.tensor([9, 5]) / 2  # -
        # + x, middle = torch.rand(9), torch.tensor([9, 5]) // 2
        return x[middle]  # <-


class WordBeyondTheVocabulary(Mistake):
    """An embedding is indexed with a word that it does not have.

    An embedding of n words has rows 0 to n - 1. Often extra words for padding or unknown words were not counted.
    """

    says = IndexError
    operation, numbers, remedy = "embedding", ("10 rows", "10"), "Embedding(11, ...)"

    def wrong():
        words = torch.tensor([[1, 2, 10]])
        return nn.Embedding(10, 4)(words)  # - <-
        # + return nn.Embedding(11, 4)(words)


class IntegerInputs(Mistake):
    """Integers go into a layer of floats.

    Pixels and counts are integers, but a layer's weights are floats. Products do not convert dtypes.
    """

    operation, numbers, remedy = "linear", ("int64", "float32"), ".to("

    def wrong():
        pixels = torch.randint(0, 256, (4, 8))
        return nn.Linear(8, 2)(pixels)  # - <-
        # + return nn.Linear(8, 2)(pixels.float() / 255)


class SpreadOfOneElement(Mistake):
    """The standard deviation of one element is computed.

    It divides by n - 1, which is 0 for one element: the result is NaN.
    """

    says = "degrees-of-freedom"
    operation, numbers, remedy = "std", ("1 elements", "correction 1"), "correction=0"

    def wrong():
        return torch.tensor([3.0]).std()  # <-

    def right():
        return torch.tensor([3.0]).std(correction=0)


class SoftmaxWithoutDim(Mistake):
    """softmax is called without a dimension.

    The default depends on the number of dimensions, so a batch is easily normalised across its examples.
    """

    says = "implicit-dim"
    operation, numbers, remedy = "softmax", ("dim",), "dim="

    def wrong():
        return nn.functional.softmax(torch.zeros(2, 3))  # <-

    def right():
        return nn.functional.softmax(torch.zeros(2, 3), dim=1)


class ReadOnlyArray(Mistake):
    """A tensor is made from a read-only NumPy array and shares its memory.

    Writing to the tensor would write to the array.
    """

    says = "read-only-array"
    operation, numbers, remedy = "from_numpy", ("read-only",), "array.copy()"

    def wrong():
        array = np.broadcast_to(1.0, (3,))
        return torch.from_numpy(array)  # - <-
        # + return torch.from_numpy(array.copy())


class ResultOfAnotherShape(Mistake):
    """`out=` gets a tensor of a different shape than the result.

    It gets new memory, and tensors that shared its old memory do not see the result.
    """

    says = "resized-out"
    operation, numbers, remedy = "add", ("2", "3"), "empty(0)"

    def wrong():
        out = torch.zeros(2)  # -
        # + out = torch.zeros(3)
        return torch.add(torch.ones(3), torch.ones(3), out=out)  # <-
