"""Values, random numbers and writes inside vmap."""

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
            for _ in range(int(n)):  # - <-
                y = y * x  # -
            # + for i in range(3):
            # +     y = torch.where(i < n, y * x, y)
            return y

        return vmap(power)(torch.ones(3), torch.tensor([1, 2, 3]))


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
        return vmap(model)(torch.ones(3, 2))  # - <-
        # + return vmap(model, randomness="different")(torch.ones(3, 2))


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
            out = torch.zeros(3)  # -
            # + out = x.new_zeros(3)
            out[0] = x[0] * 2  # <-
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
        norm = torch.nn.BatchNorm1d(2)  # -
        # + norm = torch.nn.BatchNorm1d(2, track_running_stats=False)
        return vmap(norm)(torch.ones(3, 4, 2))  # <-


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


class FormatOfBatched(Mistake):
    """A value that differs between the examples is formatted as a number.

    There is one number per example. Print after vmap, or print the tensor itself.
    """

    operation = "vmap"
    numbers = ("5 examples",)
    remedy = "outside of vmap"

    def wrong():
        def loss(x):
            print(f"{x.sum():.2f}")  # - <-
            # + assert f"{x.sum()}"
            return x.sum()

        return vmap(loss)(torch.ones(5, 3))  # -
        # + losses = vmap(loss)(torch.ones(5, 3))
        # + assert f"{losses[0]:.2f}" == "3.00"
