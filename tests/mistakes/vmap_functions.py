"""Values, random numbers and writes inside vmap."""

import minigrad as torch
from minigrad import vmap

from . import mistake


@mistake("vmap", "`if`", "5 examples", remedy="torch.where(condition, a, b)")
def if_on_batched():
    """`if` tests a value that differs between the examples.

    Under vmap all examples run at once. Python can take only one branch, but some examples need the other.
    """

    def positive(x):
        if x > 0:  # <-
            return x
        return x * 0

    return vmap(positive)(torch.ones(5))


def if_on_batched_corrected():
    return vmap(lambda x: torch.where(x > 0, x, x * 0))(torch.ones(5))


@mistake("vmap", "item()", "4 examples", remedy="compute with the tensor")
def item_of_batched():
    """.item() is called on a value that differs between the examples.

    There is one number per example, not one number.
    """

    def scaled(x):
        return x * x.max().item()  # <-

    return vmap(scaled)(torch.ones(4, 3))


def item_of_batched_corrected():
    return vmap(lambda x: x * x.max())(torch.ones(4, 3))


@mistake("vmap", "int()", "3 examples", remedy="torch.where")
def loop_over_batched_number():
    """A batched tensor decides how often a loop runs.

    Each example would need a different number of iterations. Run the largest number, and mask the surplus ones.
    """

    def power(x, n):
        y = torch.ones(())
        for _ in range(int(n)):  # - <-
            y = y * x  # -
        # + for i in range(3):
        # +     y = torch.where(i < n, y * x, y)
        return y

    return vmap(power)(torch.ones(3), torch.tensor([1, 2, 3]))


@mistake("rand", "randomness", remedy='randomness="different"')
def randomness_not_said():
    """Random numbers are drawn under vmap.

    Should all examples get the same numbers, or each its own? vmap does not guess.
    """

    def noisy(x):
        return x + torch.rand(())  # <-

    return vmap(noisy)(torch.ones(3))


def randomness_not_said_corrected():
    return vmap(lambda x: x + torch.rand(()), randomness="different")(torch.ones(3))


@mistake("dropout", "randomness", remedy='randomness="different"')
def dropout_under_vmap():
    """A model with dropout in training mode is mapped.

    Dropout draws random numbers, and vmap needs to know if each example gets its own.
    """
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout(0.5))
    return vmap(model)(torch.ones(3, 2))  # - <-
    # + return vmap(model, randomness="different")(torch.ones(3, 2))


@mistake("vmap", "'random'", remedy="different")
def randomness_misspelt():
    """randomness is not one of its three values.

    It is "error", "different" or "same".
    """
    return vmap(torch.sin, randomness="random")(torch.ones(3))  # - <-
    # + return vmap(torch.sin, randomness="same")(torch.ones(3))


@mistake("vmap", "(3,)", "5 examples", remedy="x.new_zeros")
def assignment_to_unbatched():
    """A mapped function writes a result to a tensor that it made with zeros.

    All examples share that tensor, which would have to hold a different number for each.
    """

    def doubled(x):
        out = torch.zeros(3)  # - <=
        # + out = x.new_zeros(3)
        out[0] = x[0] * 2  # <-
        return out

    return vmap(doubled)(torch.ones(5, 3))


@mistake("vmap", "add_", "()", "5 examples", remedy="return")
def assignment_to_global():
    """A mapped function writes to a tensor from outside.

    All examples would write to the same memory. Return the result instead.
    """
    total = torch.zeros(())

    def loss(x):
        total.add_(x.sum())  # <-
        return x.sum()

    return vmap(loss)(torch.ones(5, 3))


def assignment_to_global_corrected():
    return vmap(torch.sum)(torch.ones(5, 3)).sum()


@mistake(
    "vmap",
    "add_",
    "(2,)",
    "3 examples",
    remedy="track_running_stats=False",
    unlocated="a layer does not know the line that made it",
)
def batch_norm_under_vmap():
    """A model with batch norm in training mode is mapped over the examples.

    Batch norm mixes the examples of a batch and writes its running averages in place; vmap shows it one example at a
    time.
    """
    norm = torch.nn.BatchNorm1d(2)  # - <=
    # + norm = torch.nn.BatchNorm1d(2, track_running_stats=False)
    return vmap(norm)(torch.ones(3, 4, 2))  # <-


@mistake("vmap", "(3,)", "numpy()", remedy="minigrad's operations")
def numpy_under_vmap():
    """A mapped function uses NumPy.

    A batched tensor has no array for one example.
    """

    def largest(x):
        return torch.tensor(x.numpy().max())  # <-

    return vmap(largest)(torch.ones(5, 3))


def numpy_under_vmap_corrected():
    return vmap(lambda x: x.max())(torch.ones(5, 3))


@mistake("vmap", "(3,)", "5 examples", remedy="torch.where")
def mask_under_vmap():
    """A mapped function selects elements by a condition.

    Each example may select a different number of elements, but all results need one shape.
    """

    def positive(x):
        return x[x > 0].sum()  # <-

    return vmap(positive)(torch.ones(5, 3))


def mask_under_vmap_corrected():
    return vmap(lambda x: torch.where(x > 0, x, 0.0).sum())(torch.ones(5, 3))


@mistake("nonzero", "(3,)", "5 examples", remedy="torch.where")
def nonzero_under_vmap():
    """A mapped function calls nonzero on its input.

    The number of positions depends on the example.
    """
    return vmap(lambda x: x.nonzero())(torch.ones(5, 3))  # - <-
    # + return vmap(lambda x: x != 0)(torch.ones(5, 3))


@mistake("backward", "vmap", remedy="torch.func.grad")
def backward_under_vmap():
    """backward is called inside a mapped function, to get one gradient per example.

    `.grad` has room for one gradient. `grad` inside vmap returns one for each example.
    """
    w = torch.ones(3, requires_grad=True)

    def gradient(x):
        (w * x).sum().backward()  # <-
        return w.grad

    return vmap(gradient)(torch.ones(5, 3))


def backward_under_vmap_corrected():
    w = torch.ones(3)
    gradient = torch.func.grad(lambda w, x: (w * x).sum())
    return vmap(gradient, in_dims=(None, 0))(w, torch.ones(5, 3))


@mistake("vmap", "5 examples", remedy="outside of vmap")
def format_of_batched():
    """A value that differs between the examples is formatted as a number.

    There is one number per example. Print after vmap, or print the tensor itself.
    """

    def loss(x):
        print(f"{x.sum():.2f}")  # - <-
        # + assert f"{x.sum()}"
        return x.sum()

    return vmap(loss)(torch.ones(5, 3))  # -
    # + losses = vmap(loss)(torch.ones(5, 3))
    # + assert f"{losses[0]:.2f}" == "3.00"
