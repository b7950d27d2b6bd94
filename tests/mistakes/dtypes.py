"""Broadcasting, shapes and dtypes."""

import numpy as np

import minigrad as torch
from minigrad import nn
from minigrad.nn import functional as F

from . import Mistake


class AutocastWithoutGpu(Mistake):
    """Half precision is requested on a GPU, but there is none.

    PyTorch and minigrad then compute in float32; request half precision on the processor by its name.
    """

    says = "autocast-off"
    operation = "autocast"
    numbers = ("autocast('cuda')",)
    remedy = 'write autocast("cpu")'

    def wrong():
        w = torch.ones(2, 2, requires_grad=True)
        # + with torch.autocast("cpu"):
        with torch.autocast("cuda"):  # - <-
            return (w @ w).sum()


class ColumnMinusRow(Mistake):
    """A loss gets a column of predictions and a row of targets.

    They broadcast to a square of differences, each prediction with every target, and the model learns the mean.
    """

    says = "broadcast-loss"
    operation = "mse_loss"
    numbers = ("(4,)", "(4, 1)", "16")
    remedy = "target.reshape(4, 1)"

    def wrong():
        prediction, target = torch.zeros(4, 1, requires_grad=True), torch.ones(4)
        return F.mse_loss(prediction, target)  # - <-
        # + return F.mse_loss(prediction, target.reshape(4, 1))


class ColumnMinusRowByHand(Mistake):
    """A row of targets is subtracted from a column of predictions.

    They broadcast to a square of differences, each prediction with every target. Debug mode checks for it where a model's
    output meets data; elsewhere such broadcasting is usually intended.
    """

    says = "broadcast-column"
    operation = "sub"
    numbers = ("(4, 1)", "(4,)", "(4, 4)")
    remedy = "squeeze(1)"
    under = "debug"

    def wrong():
        model, x, y = nn.Linear(3, 1), torch.ones(4, 3), torch.ones(4)
        loss = (model(x) - y).pow(2).mean()  # <-
        loss.backward()

    def right():
        model, x, y = nn.Linear(3, 1), torch.ones(4, 3), torch.ones(4)
        prediction = model(x)
        loss = (prediction.squeeze(1) - y).pow(2).mean() + (prediction - y.reshape(4, 1)).pow(2).mean()
        loss.backward()
        distances = y[:, None] - y, prediction.squeeze(1)[:, None] - y, x.mean(1, keepdim=True) - y
        square = torch.ones(4, 4, requires_grad=True)
        centred = square - square.mean(1, keepdim=True) - square.mean(0)
        return distances, centred


class BinaryTargetShape(Mistake):
    """The target of `binary_cross_entropy_with_logits` has a different shape than the input.

    Each output has its own target.
    """

    says = ValueError
    operation = "binary_cross_entropy_with_logits"
    numbers = ("(4,)", "(4, 1)")
    remedy = "target.reshape(4, 1)"

    def wrong():
        logits, target = torch.zeros(4, 1, requires_grad=True), torch.ones(4)
        return F.binary_cross_entropy_with_logits(logits, target)  # - <-
        # + return F.binary_cross_entropy_with_logits(logits, target.unsqueeze(1))


class ClassesAsFloats(Mistake):
    """The classes for `cross_entropy` are floating-point numbers.

    Float targets are probabilities, one for each class. Class indices are integers.
    """

    operation = "cross_entropy"
    numbers = ("(4,)", "(4, 3)", "float32")
    remedy = ".long()"

    def wrong():
        logits, target = torch.zeros(4, 3), torch.tensor([0.0, 1.0, 2.0, 0.0])
        return F.cross_entropy(logits, target)  # - <-
        # + return F.cross_entropy(logits, target.long())


class OneHotTarget(Mistake):
    """The targets of `cross_entropy` are one-hot rows of integers.

    Integer targets are class indices. Rows of probabilities have to be floats.
    """

    operation = "cross_entropy"
    numbers = ("(4, 3)", "(4,)")
    remedy = "target.argmax(1)"

    def wrong():
        logits, target = torch.zeros(4, 3), F.one_hot(torch.tensor([0, 1, 2, 0]), 3)
        return F.cross_entropy(logits, target)  # - <-
        # + return F.cross_entropy(logits, target.argmax(1)), F.cross_entropy(logits, target.float())


class TargetAsColumn(Mistake):
    """The classes for `cross_entropy` are in a column.

    It expects one class for each example, without an extra dimension.
    """

    operation = "cross_entropy"
    numbers = ("(4, 1)", "(4,)")
    remedy = "target.reshape(4)"

    def wrong():
        logits, target = torch.zeros(4, 3), torch.tensor([[0], [1], [2], [0]])
        return F.cross_entropy(logits, target)  # - <-
        # + return F.cross_entropy(logits, target.squeeze(1))


class ClassesCountedFromOne(Mistake):
    """The classes for `cross_entropy` are counted from 1.

    With three outputs the classes are 0, 1 and 2.
    """

    says = IndexError
    operation = "cross_entropy"
    numbers = ("Target 3", "3 classes")
    remedy = "target - 1"

    def wrong():
        logits, target = torch.zeros(4, 3), torch.tensor([1, 2, 3, 1])
        return F.cross_entropy(logits, target)  # - <-
        # + return F.cross_entropy(logits, target - 1)


class ClassesLast(Mistake):
    """The classes of a sequence are in the last dimension.

    `cross_entropy` expects them in dimension 1, after the batch: (batch, classes, positions).
    """

    operation = "cross_entropy"
    numbers = ("(2, 5, 3)", "(2, 5)")
    remedy = "input.movedim(-1, 1)"

    def wrong():
        logits, target = torch.zeros(2, 5, 3), torch.zeros(2, 5, dtype=torch.int64)
        return F.cross_entropy(logits, target)  # - <-
        # + return F.cross_entropy(logits.transpose(1, 2), target)


class BatchSizesDiffer(Mistake):
    """There are more examples than targets.

    Often one batch was cut short, or the images were flattened into one.
    """

    says = ValueError
    operation = "cross_entropy"
    numbers = ("(4, 3)", "(5,)")
    remedy = "one class for each"

    def wrong():
        logits, target = torch.zeros(4, 3), torch.zeros(5, dtype=torch.int64)  # -
        # + logits, target = torch.zeros(4, 3), torch.zeros(4, dtype=torch.int64)
        return F.cross_entropy(logits, target)  # <-


class DoubleMeetsFloat(Mistake):
    """A float32 model gets float64 data from NumPy.

    Matrix products do not convert dtypes.
    """

    operation = "linear"
    numbers = ("float64", "float32")
    remedy = ".float()"

    def wrong():
        x = torch.from_numpy(np.ones((4, 3)))  # -
        # + x = torch.from_numpy(np.ones((4, 3))).float()
        return nn.Linear(3, 1)(x)  # <-


class IntegersIntoModel(Mistake):
    """A layer gets integers.

    The layer's weights are floats, and matrix products do not convert dtypes.
    """

    operation = "linear"
    numbers = ("int64", "float32")
    remedy = ".float()"

    def wrong():
        return nn.Linear(3, 1)(torch.tensor([[1, 2, 3]]))  # <-

    def right():
        return nn.Linear(3, 1)(torch.tensor([[1, 2, 3]]).float())


class MatmulOfMixed(Mistake):
    """A float64 matrix is multiplied by a float32 matrix.

    Matrix products do not convert dtypes.
    """

    operation = "matmul"
    numbers = ("float64", "float32")
    remedy = ".float()"

    def wrong():
        return torch.ones(2, 2, dtype=torch.float64) @ torch.ones(2, 2)  # <-

    def right():
        return torch.ones(2, 2, dtype=torch.float64).float() @ torch.ones(2, 2)


class MeanOfIntegers(Mistake):
    """The mean of integers is requested.

    The result would have to be an integer, too.
    """

    operation = "mean"
    numbers = ("int64",)
    remedy = ".float()"

    def wrong():
        return torch.tensor([1, 2]).mean()  # <-

    def right():
        return torch.tensor([1, 2]).float().mean()


class FractionIntoIntegers(Mistake):
    """A fraction is written into a tensor of integers.

    `torch.tensor([0, 0, 0])` holds integers, so 0.5 becomes 0.
    """

    says = "fraction-lost"
    operation = "setitem"
    numbers = ("0.5", "int64")
    remedy = "float"

    def wrong():
        x = torch.tensor([0, 0, 0])
        x[1] = 0.5  # <-

    def right():
        x = torch.tensor([0, 0, 0])
        x[1] = 2.0
        y = torch.tensor([0.0, 0.0, 0.0])
        y[1] = 0.5


class ResultsIntoIntegers(Mistake):
    """Results are collected in a tensor of integers.

    `zeros_like` of integers makes a tensor of integers, in which every result loses its fraction.
    """

    says = "fraction-lost"
    operation = "setitem"
    numbers = ("1 of 1", "int64", "0.285714")
    remedy = "float"

    def wrong():
        counts = torch.tensor([1, 2, 4])
        shares = torch.zeros_like(counts)  # -
        # + shares = torch.zeros_like(counts, dtype=torch.float32)
        for i in range(1, 2):
            shares[i] = counts[i] / counts.sum()  # <-
        # + counts[0] = torch.tensor(3.0)


class IntegerBuffer(Mistake):
    """A running mean is stored in a buffer of integers.

    The sum of the buffer and a fraction cannot be an integer.
    """

    operation = "add_"
    numbers = ("float32", "int64")
    remedy = "float"

    def wrong():
        seen = torch.tensor(0)  # -
        # + seen = torch.tensor(0.0)
        seen += torch.tensor(0.1)  # <-


class NegativePowerOfIntegers(Mistake):
    """Integers are raised to a negative power.

    The result would have to be an integer, too.
    """

    operation = "pow"
    numbers = ("-1", "int64")
    remedy = ".float()"

    def wrong():
        return torch.tensor([1, 2]) ** -1  # <-

    def right():
        return torch.tensor([1, 2]).float() ** -1


class OneMinusMask(Mistake):
    """A mask is subtracted from 1.

    A mask holds True and False, which do not support subtraction.
    """

    operation = "sub"
    numbers = ("bool",)
    remedy = "~mask"

    def wrong():
        mask = torch.tensor([True, False])
        return 1 - mask  # - <-
        # + return ~mask, 1 - mask.float()


class FloatAsIndex(Mistake):
    """Floats are used as an index.

    An index has to be an integer.
    """

    says = IndexError
    operation = "index"
    numbers = ("float32",)
    remedy = ".long()"

    def wrong():
        x, places = torch.ones(3), torch.tensor([0.0, 2.0])
        return x[places]  # - <-
        # + return x[places.long()]


class EmbeddingOutOfRange(Mistake):
    """A word's index is not in the table of an embedding.

    A table of 10 rows has the indices 0 to 9. It needs one row for each word, including any words that you added.
    """

    says = IndexError
    operation = "embedding"
    numbers = ("10", "0 to 9")
    remedy = "Embedding(11"

    def wrong():
        return nn.Embedding(10, 4)(torch.tensor([1, 10]))  # <-

    def right():
        return nn.Embedding(11, 4)(torch.tensor([1, 10]))


class FloatsIntoEmbedding(Mistake):
    """An embedding gets floats.

    It looks up rows by their index, which is an integer.
    """

    operation = "embedding"
    numbers = ("float32",)
    remedy = ".long()"

    def wrong():
        return nn.Embedding(10, 4)(torch.tensor([1.0, 2.0]))  # <-

    def right():
        return nn.Embedding(10, 4)(torch.tensor([1.0, 2.0]).long())


class UnsignedDifference(Mistake):
    """Two images of uint8 are subtracted.

    uint8 has no negative numbers: 10 - 20 is 246. Debug mode checks every result of uint8.
    """

    says = "integer-overflow"
    operation = "sub"
    numbers = ("1 of 2", "uint8")
    remedy = ".int()"
    under = "debug"

    def wrong():
        a, b = torch.tensor([10, 200], dtype=torch.uint8), torch.tensor([20, 100], dtype=torch.uint8)
        return a - b  # - <-
        # + return a.int() - b.int(), a + 50


class ShapesDoNotMeet(Mistake):
    """Two tensors of different shapes are added.

    Shapes are compared from the last dimension; sizes have to be equal, or 1.
    """

    operation = "add"
    numbers = ("(4, 3)", "(4,)", "3 and 4")
    remedy = "unsqueeze"

    def wrong():
        return torch.ones(4, 3) + torch.ones(4)  # <-

    def right():
        return torch.ones(4, 3) + torch.ones(4).unsqueeze(1)


class InnerSizesDiffer(Mistake):
    """Two matrices with different inner sizes are multiplied.

    The rows of the first have to be as long as the columns of the second.
    """

    operation = "matmul"
    numbers = ("(4, 3)", "inner sizes 3", "and 4")
    remedy = ".mT"

    def wrong():
        a, b = torch.ones(4, 3), torch.ones(4, 3)
        return a @ b  # - <-
        # + return a @ b.T


class ViewOfTransposed(Mistake):
    """view is called on a transposed tensor.

    `view` cannot copy, and the elements are not in that order in memory.
    """

    operation = "view"
    numbers = ("(3, 4)", "(12,)")
    remedy = "reshape"

    def wrong():
        return torch.ones(4, 3).T.view(12)  # <-

    def right():
        return torch.ones(4, 3).T.reshape(12)


class WrongCount(Mistake):
    """A tensor is reshaped to a different number of elements.

    A reshape keeps all elements.
    """

    operation = "reshape"
    numbers = ("12", "(4, 3)", "(5, 2)")
    remedy = "-1"

    def wrong():
        return torch.ones(4, 3).reshape(5, 2)  # <-

    def right():
        return torch.ones(4, 3).reshape(6, 2), torch.ones(4, 3).reshape(-1, 2)


class ConcatenatedWithoutList(Mistake):
    """`cat` gets the tensors one by one.

    It takes a list of tensors.
    """

    says = TypeError
    operation = "cat"
    numbers = ("Tensor",)
    remedy = "torch.cat([a, b])"

    def wrong():
        a, b = torch.ones(2), torch.ones(3)
        return torch.cat(a, b)  # - <-
        # + return torch.cat([a, b])


class TruthOfTensor(Mistake):
    """An `if` tests a tensor of several elements.

    Such a tensor has no single truth value.
    """

    operation = "bool"
    numbers = ("(2,)", "2 elements")
    remedy = ".any()"

    def wrong():
        x = torch.tensor([1.0, -1.0])
        # + if (x > 0).any():
        if x > 0:  # - <-
            return x


class ItemOfMany(Mistake):
    """`item()` is called on a tensor of several elements.

    It returns one number.
    """

    operation = "item"
    numbers = ("(2,)", "2 elements")
    remedy = ".tolist()"

    def wrong():
        return torch.tensor([1.0, -1.0]).item()  # <-

    def right():
        return torch.tensor([1.0, -1.0]).tolist(), torch.tensor([1.0]).item()
