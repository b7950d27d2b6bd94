"""Broadcasting, shapes and dtypes."""

import numpy as np

import minigrad as torch
from minigrad import nn
from minigrad.nn import functional as F

from . import mistake


@mistake("autocast", "autocast('cuda')", remedy='write autocast("cpu")', says="autocast-off")
def autocast_without_gpu():
    """Half precision is requested on a GPU, but there is none.

    PyTorch and minigrad then compute in float32; request half precision on the processor by its name.
    """
    w = torch.ones(2, 2, requires_grad=True)
    # + with torch.autocast("cpu"):
    with torch.autocast("cuda"):  # - <-
        return (w @ w).sum()


@mistake("mse_loss", "(4,)", "(4, 1)", "16", remedy="target.reshape(4, 1)", says="broadcast-loss")
def column_minus_row():
    """A loss gets a column of predictions and a row of targets.

    They broadcast to a square of differences, each prediction with every target, and the model learns the mean.
    """
    prediction, target = torch.zeros(4, 1, requires_grad=True), torch.ones(4)
    return F.mse_loss(prediction, target)  # - <-
    # + return F.mse_loss(prediction, target.reshape(4, 1))


@mistake("sub", "(4, 1)", "(4,)", "(4, 4)", remedy="squeeze(1)", says="broadcast-column", under="debug")
def column_minus_row_by_hand():
    """A row of targets is subtracted from a column of predictions.

    They broadcast to a square of differences, each prediction with every target. Debug mode checks for it where a model's
    output meets data; elsewhere such broadcasting is usually intended.
    """
    model, x, y = nn.Linear(3, 1), torch.ones(4, 3), torch.ones(4)
    loss = (model(x) - y).pow(2).mean()  # - <-
    # + prediction = model(x)
    # + loss = (prediction.squeeze(1) - y).pow(2).mean() + (prediction - y.reshape(4, 1)).pow(2).mean()
    loss.backward()
    # + distances = y[:, None] - y, prediction.squeeze(1)[:, None] - y, x.mean(1, keepdim=True) - y
    # + square = torch.ones(4, 4, requires_grad=True)
    # + centred = square - square.mean(1, keepdim=True) - square.mean(0)
    # + return distances, centred


@mistake("binary_cross_entropy_with_logits", "(4,)", "(4, 1)", remedy="target.reshape(4, 1)", says=ValueError)
def binary_target_shape():
    """The target of `binary_cross_entropy_with_logits` has a different shape than the input.

    Each output has its own target.
    """
    logits, target = torch.zeros(4, 1, requires_grad=True), torch.ones(4)
    return F.binary_cross_entropy_with_logits(logits, target)  # - <-
    # + return F.binary_cross_entropy_with_logits(logits, target.unsqueeze(1))


@mistake("cross_entropy", "(4,)", "(4, 3)", "float32", remedy=".long()")
def classes_as_floats():
    """The classes for `cross_entropy` are floating-point numbers.

    Float targets are probabilities, one for each class. Class indices are integers.
    """
    logits, target = torch.zeros(4, 3), torch.tensor([0.0, 1.0, 2.0, 0.0])
    return F.cross_entropy(logits, target)  # - <-
    # + return F.cross_entropy(logits, target.long())


@mistake("cross_entropy", "(4, 3)", "(4,)", remedy="target.argmax(1)")
def one_hot_target():
    """The targets of `cross_entropy` are one-hot rows of integers.

    Integer targets are class indices. Rows of probabilities have to be floats.
    """
    logits, target = torch.zeros(4, 3), F.one_hot(torch.tensor([0, 1, 2, 0]), 3)
    return F.cross_entropy(logits, target)  # - <-
    # + return F.cross_entropy(logits, target.argmax(1)), F.cross_entropy(logits, target.float())


@mistake("cross_entropy", "(4, 1)", "(4,)", remedy="target.reshape(4)")
def target_as_column():
    """The classes for `cross_entropy` are in a column.

    It expects one class for each example, without an extra dimension.
    """
    logits, target = torch.zeros(4, 3), torch.tensor([[0], [1], [2], [0]])
    return F.cross_entropy(logits, target)  # - <-
    # + return F.cross_entropy(logits, target.squeeze(1))


@mistake("cross_entropy", "Target 3", "3 classes", remedy="target - 1", says=IndexError)
def classes_counted_from_one():
    """The classes for `cross_entropy` are counted from 1.

    With three outputs the classes are 0, 1 and 2.
    """
    logits, target = torch.zeros(4, 3), torch.tensor([1, 2, 3, 1])
    return F.cross_entropy(logits, target)  # - <-
    # + return F.cross_entropy(logits, target - 1)


@mistake("cross_entropy", "(2, 5, 3)", "(2, 5)", remedy="input.movedim(-1, 1)")
def classes_last():
    """The classes of a sequence are in the last dimension.

    `cross_entropy` expects them in dimension 1, after the batch: (batch, classes, positions).
    """
    logits, target = torch.zeros(2, 5, 3), torch.zeros(2, 5, dtype=torch.int64)
    return F.cross_entropy(logits, target)  # - <-
    # + return F.cross_entropy(logits.transpose(1, 2), target)


@mistake("cross_entropy", "(4, 3)", "(5,)", remedy="one class for each", says=ValueError)
def batch_sizes_differ():
    """There are more examples than targets.

    Often one batch was cut short, or the images were flattened into one.
    """
    logits, target = torch.zeros(4, 3), torch.zeros(5, dtype=torch.int64)  # - <=
    # + logits, target = torch.zeros(4, 3), torch.zeros(4, dtype=torch.int64)
    return F.cross_entropy(logits, target)  # <-


@mistake("linear", "float64", "float32", remedy=".float()")
def double_meets_float():
    """A float32 model gets float64 data from NumPy.

    Matrix products do not convert dtypes.
    """
    x = torch.from_numpy(np.ones((4, 3)))  # - <=
    # + x = torch.from_numpy(np.ones((4, 3))).float()
    return nn.Linear(3, 1)(x)  # <-


@mistake("linear", "int64", "float32", remedy=".float()")
def integers_into_model():
    """A layer gets integers.

    The layer's weights are floats, and matrix products do not convert dtypes.
    """
    return nn.Linear(3, 1)(torch.tensor([[1, 2, 3]]))  # - <-
    # + return nn.Linear(3, 1)(torch.tensor([[1, 2, 3]]).float())


@mistake("matmul", "float64", "float32", remedy=".float()")
def matmul_of_mixed():
    """A float64 matrix is multiplied by a float32 matrix.

    Matrix products do not convert dtypes.
    """
    return torch.ones(2, 2, dtype=torch.float64) @ torch.ones(2, 2)  # - <-
    # + return torch.ones(2, 2, dtype=torch.float64).float() @ torch.ones(2, 2)


@mistake("mean", "int64", remedy=".float()")
def mean_of_integers():
    """The mean of integers is requested.

    The result would have to be an integer, too.
    """
    return torch.tensor([1, 2]).mean()  # - <-
    # + return torch.tensor([1, 2]).float().mean()


@mistake("setitem", "0.5", "int64", remedy="float", says="fraction-lost")
def fraction_into_integers():
    """A fraction is written into a tensor of integers.

    `torch.tensor([0, 0, 0])` holds integers, so 0.5 becomes 0.
    """
    x = torch.tensor([0, 0, 0])
    x[1] = 0.5  # - <-
    # + x[1] = 2.0
    # + y = torch.tensor([0.0, 0.0, 0.0])
    # + y[1] = 0.5


@mistake("setitem", "1 of 1", "int64", "0.285714", remedy="float", says="fraction-lost")
def results_into_integers():
    """Results are collected in a tensor of integers.

    `zeros_like` of integers makes a tensor of integers, in which every result loses its fraction.
    """
    counts = torch.tensor([1, 2, 4])
    shares = torch.zeros_like(counts)  # - <=
    # + shares = torch.zeros_like(counts, dtype=torch.float32)
    for i in range(1, 2):
        shares[i] = counts[i] / counts.sum()  # <-
    # + counts[0] = torch.tensor(3.0)


@mistake("add_", "float32", "int64", remedy="float")
def integer_buffer():
    """A running mean is stored in a buffer of integers.

    The sum of the buffer and a fraction cannot be an integer.
    """
    seen = torch.tensor(0)  # - <=
    # + seen = torch.tensor(0.0)
    seen += torch.tensor(0.1)  # <-


@mistake("pow", "-1", "int64", remedy=".float()")
def negative_power_of_integers():
    """Integers are raised to a negative power.

    The result would have to be an integer, too.
    """
    return torch.tensor([1, 2]) ** -1  # - <-
    # + return torch.tensor([1, 2]).float() ** -1


@mistake("sub", "bool", remedy="~mask")
def one_minus_mask():
    """A mask is subtracted from 1.

    A mask holds True and False, which do not support subtraction.
    """
    mask = torch.tensor([True, False])
    return 1 - mask  # - <-
    # + return ~mask, 1 - mask.float()


@mistake("index", "float32", remedy=".long()", says=IndexError)
def float_as_index():
    """Floats are used as an index.

    An index has to be an integer.
    """
    x, places = torch.ones(3), torch.tensor([0.0, 2.0])
    return x[places]  # - <-
    # + return x[places.long()]


@mistake("embedding", "10", "0 to 9", remedy="Embedding(11", says=IndexError)
def embedding_out_of_range():
    """A word's index is not in the table of an embedding.

    A table of 10 rows has the indices 0 to 9. It needs one row for each word, including any words that you added.
    """
    return nn.Embedding(10, 4)(torch.tensor([1, 10]))  # - <-
    # + return nn.Embedding(11, 4)(torch.tensor([1, 10]))


@mistake("embedding", "float32", remedy=".long()")
def floats_into_embedding():
    """An embedding gets floats.

    It looks up rows by their index, which is an integer.
    """
    return nn.Embedding(10, 4)(torch.tensor([1.0, 2.0]))  # - <-
    # + return nn.Embedding(10, 4)(torch.tensor([1.0, 2.0]).long())


@mistake("sub", "1 of 2", "uint8", remedy=".int()", says="integer-overflow", under="debug")
def unsigned_difference():
    """Two images of uint8 are subtracted.

    uint8 has no negative numbers: 10 - 20 is 246. Debug mode checks every result of uint8.
    """
    a, b = torch.tensor([10, 200], dtype=torch.uint8), torch.tensor([20, 100], dtype=torch.uint8)
    return a - b  # - <-
    # + return a.int() - b.int(), a + 50


@mistake("add", "(4, 3)", "(4,)", "3 and 4", remedy="unsqueeze")
def shapes_do_not_meet():
    """Two tensors of different shapes are added.

    Shapes are compared from the last dimension; sizes have to be equal, or 1.
    """
    return torch.ones(4, 3) + torch.ones(4)  # - <-
    # + return torch.ones(4, 3) + torch.ones(4).unsqueeze(1)


@mistake("matmul", "(4, 3)", "inner sizes 3", "and 4", remedy=".mT")
def inner_sizes_differ():
    """Two matrices with different inner sizes are multiplied.

    The rows of the first have to be as long as the columns of the second.
    """
    a, b = torch.ones(4, 3), torch.ones(4, 3)
    return a @ b  # - <-
    # + return a @ b.T


@mistake("view", "(3, 4)", "(12,)", remedy="reshape")
def view_of_transposed():
    """view is called on a transposed tensor.

    `view` cannot copy, and the elements are not in that order in memory.
    """
    return torch.ones(4, 3).T.view(12)  # - <-
    # + return torch.ones(4, 3).T.reshape(12)


@mistake("reshape", "12", "(4, 3)", "(5, 2)", remedy="-1")
def wrong_count():
    """A tensor is reshaped to a different number of elements.

    A reshape keeps all elements.
    """
    return torch.ones(4, 3).reshape(5, 2)  # - <-
    # + return torch.ones(4, 3).reshape(6, 2), torch.ones(4, 3).reshape(-1, 2)


@mistake("cat", "Tensor", remedy="torch.cat([a, b])", says=TypeError)
def concatenated_without_list():
    """`cat` gets the tensors one by one.

    It takes a list of tensors.
    """
    a, b = torch.ones(2), torch.ones(3)
    return torch.cat(a, b)  # - <-
    # + return torch.cat([a, b])


@mistake("bool", "(2,)", "2 elements", remedy=".any()")
def truth_of_tensor():
    """An `if` tests a tensor of several elements.

    Such a tensor has no single truth value.
    """
    x = torch.tensor([1.0, -1.0])
    # + if (x > 0).any():
    if x > 0:  # - <-
        return x


@mistake("item", "(2,)", "2 elements", remedy=".tolist()")
def item_of_many():
    """`item()` is called on a tensor of several elements.

    It returns one number.
    """
    return torch.tensor([1.0, -1.0]).item()  # - <-
    # + return torch.tensor([1.0, -1.0]).tolist(), torch.tensor([1.0]).item()
