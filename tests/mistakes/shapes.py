"""Shapes, dtypes and arguments that do not fit."""

import numpy as np

import minigrad as torch
from minigrad import nn

from . import mistake


@mistake("linear", "(8, 1, 28, 28)", "(10, 784)", remedy="input.flatten(1)")
def forgotten_flatten():
    """An image goes into a linear layer without being flattened.

    A linear layer multiplies the last dimension. For images (batch, channel, height, width) that is only the width, not all
    pixels, so its size is not the number of features.
    """
    images = torch.rand(8, 1, 28, 28)
    return nn.Linear(784, 10)(images)  # - <-
    # + return nn.Linear(784, 10)(images.flatten(1))


@mistake(
    "linear", "(4, 32)", "(10, 64)", remedy="in_features=32", unlocated="a layer does not know the line that made it"
)
def wrong_in_features():
    """A layer's in_features differs from the output size of the layer before it.

    The number of inputs of a layer has to match the number of outputs of the previous layer.
    """
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(64, 10))  # - <=
    # + model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 10))
    return model(torch.rand(4, 8))  # <-


@mistake("matmul", "(4, 8)", "(10, 8)", "inner sizes 8", "and 10", remedy="x @ layer.weight.mT")
def weight_not_transposed():
    """A weight of shape (out, in) is multiplied without being transposed.

    A linear layer stores its weight as (out_features, in_features), so the product with a batch of rows is x @ weight.T.
    """
    x, layer = torch.rand(4, 8), nn.Linear(8, 10)
    return x @ layer.weight  # - <-
    # + return x @ layer.weight.mT


@mistake("div", "(5, 3)", "(5,)", "-1 has sizes 3 and 5", remedy="other.unsqueeze(-1)")
def norm_per_row_without_keepdim():
    """Rows are divided by their sums, which have lost a dimension.

    Shapes are aligned at their ends. The sums of (5, 3) over dimension 1 have shape (5,), which aligns with the 3 columns;
    with keepdim=True they have shape (5, 1), which aligns with the rows. (A square matrix would hide the mistake, and the
    result would be wrong.)
    """
    x = torch.rand(5, 3)
    return x / x.sum(1)  # - <-
    # + return x / x.sum(1, keepdim=True)


@mistake("conv2d", "3 channels", "got 32", "(1, 32, 32, 3)", remedy="input.movedim(-1, -3)")
def channels_last():
    """An image with its channels last goes into a convolution.

    Image files and plots have the channels last, (height, width, channels). Convolutions expect them first, as (batch,
    channels, height, width).
    """
    image = torch.rand(32, 32, 3)
    return nn.Conv2d(3, 8, 3)(image.unsqueeze(0))  # - <-
    # + return nn.Conv2d(3, 8, 3)(image.movedim(-1, 0).unsqueeze(0))


@mistake("conv2d", "(28, 28)", "3D", "4D", remedy="input.unsqueeze(0)")
def image_without_channel():
    """A grey image goes into a convolution without its one channel.

    An image of shape (height, width) has no channel dimension; a convolution needs one, even of size 1.
    """
    image = torch.rand(28, 28)
    return nn.Conv2d(1, 8, 3)(image)  # - <-
    # + return nn.Conv2d(1, 8, 3)(image.unsqueeze(0))


@mistake("cross_entropy", "batch_size (8)", "batch_size (4)", remedy="one class for each example", says=ValueError)
def flattened_the_batch():
    """reshape(-1, n) divides the examples into wrong rows.

    A wrong number of features moves elements from one example to another and changes the size of the batch. The loss
    detects it: there are more rows than targets.
    """
    features, target = torch.rand(4, 20), torch.tensor([0, 1, 2, 0])
    logits = nn.Linear(10, 3)(features.reshape(-1, 10))  # - <=
    # + logits = nn.Linear(20, 3)(features.reshape(4, -1))
    return nn.functional.cross_entropy(logits, target)  # <-


@mistake("cross_entropy", "(4, 3)", "(4,)", remedy="target.argmax(1)")
def one_hot_targets():
    """Integer one-hot rows are given as targets of cross_entropy.

    Integer targets are class indices, one for each example. One-hot rows are probabilities, which have to be floats.
    """
    logits, target = torch.rand(4, 3), torch.eye(3, dtype=torch.int64)[[0, 1, 2, 0]]
    return nn.functional.cross_entropy(logits, target)  # <-


def one_hot_targets_corrected():
    logits, target = torch.rand(4, 3), torch.eye(3, dtype=torch.int64)[[0, 1, 2, 0]]
    return nn.functional.cross_entropy(logits, target.argmax(1)) + nn.functional.cross_entropy(logits, target.float())


@mistake("cross_entropy", "(4, 3)", "(4,)", remedy="target.long()")
def float_classes():
    """Classes are given to cross_entropy as floats.

    Float targets are probabilities, one for each class. Class indices are integers.
    """
    logits, target = torch.rand(4, 3), torch.tensor([0.0, 1.0, 2.0, 0.0])
    return nn.functional.cross_entropy(logits, target)  # - <-
    # + return nn.functional.cross_entropy(logits, target.long())


@mistake("cross_entropy", "(2, 5, 9)", "(2, 9)", "(2, 5)", remedy="input.movedim(-1, 1)")
def classes_in_the_last_dimension():
    """A sequence model's logits have their classes last.

    cross_entropy expects the classes in dimension 1, also for sequences: (batch, classes, length).
    """
    logits, target = torch.rand(2, 5, 9), torch.zeros(2, 5, dtype=torch.int64)
    return nn.functional.cross_entropy(logits, target)  # - <-
    # + return nn.functional.cross_entropy(logits.movedim(-1, 1), target)


@mistake("cat", "position 0", remedy="stack(tensors)")
def tensors_beside_a_new_dimension():
    """cat is called instead of stack.

    cat joins tensors along an existing dimension; scalars have none. stack makes a new one, as for the losses of a loop.
    """
    losses = [torch.tensor(float(i)) for i in range(3)]
    return torch.cat(losses).mean()  # - <-
    # + return torch.stack(losses).mean()


@mistake("stack", "(3,)", "(5,)", "entry 1", remedy="nn.functional.pad")
def stack_of_unequal_lengths():
    """Sequences of different lengths are stacked.

    All rows of a tensor have the same length. Pad shorter sequences first, or keep them in a list.
    """
    sequences = [torch.rand(3), torch.rand(5)]
    return torch.stack(sequences)  # - <-
    # + return torch.stack([nn.functional.pad(s, (0, 5 - len(s))) for s in sequences])


@mistake("view", "(6,)", "(3, 2)", remedy=".reshape(")
def view_after_transpose():
    """view is called on a transposed tensor.

    view shows the same memory in another shape, which is impossible if the elements are in a different order. reshape
    copies them if necessary.
    """
    x = torch.rand(2, 3)
    return x.t().view(6)  # - <-
    # + return x.t().reshape(6)


@mistake("reshape", "(4, 6)", "size 30", "(5, 6)", remedy="product is 30")
def reshape_to_another_number():
    """The sizes of a reshape do not match the number of elements.

    reshape keeps all elements: the sizes of both shapes have the same product.
    """
    x = torch.rand(5, 6)
    return x.reshape(4, 6)  # - <-
    # + return x.reshape(3, 10)


@mistake("sum", "[-2, 1]", "got 2", remedy="dim=1", says=IndexError)
def dimensions_counted_from_one():
    """Dimensions are counted from 1.

    The dimensions of a matrix are 0 and 1, or -2 and -1 from the end. There is no dimension 2.
    """
    return torch.rand(3, 4).sum(2)  # - <-
    # + return torch.rand(3, 4).sum(1)


@mistake("sum", "'axes'", remedy="sum(input, dim=None, keepdim=False", says=TypeError)
def misspelt_argument():
    """An argument has a different name in PyTorch.

    The dimension of a sum is called dim (NumPy's axis works, too).
    """
    return torch.rand(3, 4).sum(axes=1)  # - <-
    # + return torch.rand(3, 4).sum(dim=1) + torch.rand(3, 4).sum(axis=1)


@mistake("mse_loss", "'input'", "NoneType", remedy="`return`", says=TypeError)
def function_without_return():
    """A function computes a value but does not return it.

    Without `return` a function returns None, which the next operation cannot use.
    """

    def model(x):  # <=
        x * 2  # -
        # + return x * 2

    return nn.functional.mse_loss(model(torch.rand(3)), torch.rand(3))  # <-


@mistake("bool", "(3,)", "3 elements", remedy=".all()")
def truth_of_several():
    """An `if` tests a comparison of tensors.

    x > 0 has one truth value for each element, but `if` needs a single one: of all, or of any.
    """
    x = torch.rand(3)
    # + if (x > 0).all():
    if x > 0:  # - <-
        x = -x


@mistake("item", "(3,)", "3 elements", remedy=".tolist()")
def item_of_a_vector_of_losses():
    """item() is called on the losses of all examples.

    With reduction="none" there is one loss for each example. Log their mean.
    """
    loss = nn.functional.mse_loss(torch.rand(3), torch.rand(3), reduction="none")
    return loss.item()  # - <-
    # + return loss.mean().item(), loss.tolist()


@mistake("index", "float32", remedy="index.long()", says=IndexError)
def indices_of_floats():
    """Floats are used as indices.

    An index is an integer, and arithmetic with division returns floats.
    """
    x, middle = torch.rand(9), torch.tensor([9, 5]) / 2  # - <=
    # + x, middle = torch.rand(9), torch.tensor([9, 5]) // 2
    return x[middle]  # <-


@mistake("embedding", "10 rows", "10", remedy="Embedding(11, ...)", says=IndexError)
def word_beyond_the_vocabulary():
    """An embedding is indexed with a word that it does not have.

    An embedding of n words has rows 0 to n - 1. Often extra words for padding or unknown words were not counted.
    """
    words = torch.tensor([[1, 2, 10]])
    return nn.Embedding(10, 4)(words)  # - <-
    # + return nn.Embedding(11, 4)(words)


@mistake("linear", "int64", "float32", remedy=".to(")
def integer_inputs():
    """Integers go into a layer of floats.

    Pixels and counts are integers, but a layer's weights are floats. Products do not convert dtypes.
    """
    pixels = torch.randint(0, 256, (4, 8))
    return nn.Linear(8, 2)(pixels)  # - <-
    # + return nn.Linear(8, 2)(pixels.float() / 255)


@mistake("std", "1 elements", "correction 1", remedy="correction=0", says="degrees-of-freedom")
def spread_of_one_element():
    """The standard deviation of one element is computed.

    It divides by n - 1, which is 0 for one element: the result is NaN.
    """
    return torch.tensor([3.0]).std()  # - <-
    # + return torch.tensor([3.0]).std(correction=0)


@mistake("softmax", "dim", remedy="dim=", says="implicit-dim")
def softmax_without_dim():
    """softmax is called without a dimension.

    The default depends on the number of dimensions, so a batch is easily normalised across its examples.
    """
    return nn.functional.softmax(torch.zeros(2, 3))  # - <-
    # + return nn.functional.softmax(torch.zeros(2, 3), dim=1)


@mistake("from_numpy", "read-only", remedy="array.copy()", says="read-only-array")
def read_only_array():
    """A tensor is made from a read-only NumPy array and shares its memory.

    Writing to the tensor would write to the array.
    """
    array = np.broadcast_to(1.0, (3,))
    return torch.from_numpy(array)  # - <-
    # + return torch.from_numpy(array.copy())


@mistake("add", "2", "3", remedy="empty(0)", says="resized-out")
def result_of_another_shape():
    """`out=` gets a tensor of a different shape than the result.

    It gets new memory, and tensors that shared its old memory do not see the result.
    """
    out = torch.zeros(2)  # - <=
    # + out = torch.zeros(3)
    return torch.add(torch.ones(3), torch.ones(3), out=out)  # <-


@mistake("bool", "(2,)", "2 elements", remedy="x.clamp(min=0), or torch.relu(x)")
def python_max_of_a_tensor():
    """Python's max compares a tensor with a number.

    It asks whether the whole tensor is larger, and a tensor of several elements is neither larger nor smaller.
    """
    x = torch.tensor([0.5, -2.0], requires_grad=True)
    return max(x, 0)  # - <-
    # + return x.clamp(min=0)


@mistake("bool", "(2,)", "2 elements", remedy="(0 < x) & (x < 1)")
def chained_comparison():
    """A comparison with two signs asks for one truth value.

    Python reads `0 < x < 1` as `0 < x and x < 1`, and `and` takes a decision.
    """
    x = torch.tensor([0.5, -2.0])
    return 0 < x < 1  # - <-
    # + return (0 < x) & (x < 1)


@mistake("bitwise_xor", "float32", remedy="a power is x ** y", says=NotImplementedError)
def caret_for_a_power():
    """A power is written with ^, as in mathematics.

    In Python ^ is the exclusive or of bits, which numbers with a point do not have.
    """
    x = torch.tensor([0.5, -2.0], requires_grad=True)
    return x ^ 2  # - <-
    # + return x**2


@mistake("cross_entropy", "(3,)", "(3, 2)", remedy="the scores first")
def scores_and_classes_exchanged():
    """The classes come before the scores.

    Losses take the input, what the model computes, before the target.
    """
    scores, classes = torch.randn(3, 2), torch.tensor([0, 1, 1])
    return nn.functional.cross_entropy(classes, scores)  # - <-
    # + return nn.functional.cross_entropy(scores, classes)


@mistake("binary_cross_entropy_with_logits", "int64", remedy="target.float()")
def classes_for_probabilities():
    """Binary cross-entropy gets classes as integers.

    Its target is a probability for each output, so that it may also be 0.9.
    """
    scores, classes = torch.randn(3), torch.tensor([0, 1, 1])
    return nn.functional.binary_cross_entropy_with_logits(scores, classes)  # - <-
    # + return nn.functional.binary_cross_entropy_with_logits(scores, classes.float())
