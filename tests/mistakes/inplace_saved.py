"""In-place operations on saved tensors."""

import numpy as np

import minigrad as torch

from . import Mistake


class SavedResultChanged(Mistake):
    """The result of `exp` is modified in place before backward.

    The derivative of exp is its own result, which exp saves without a copy.
    """

    operation = "ExpBackward0"
    numbers = ("(2,)", "version 1", "add_")
    remedy = "x = x + ..."

    def wrong():
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x.exp()
        y += 1  # - <-
        # + y = y + 1
        y.sum().backward()


class SavedInputChanged(Mistake):
    """A tensor is modified in place after another operation has used it.

    The square needs its input for the derivative, but the input has new values.
    """

    operation = "PowBackward0"
    numbers = ("(2,)", "version 1", "add_")
    remedy = "x = x + ..."

    def wrong():
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x * 3
        z = y**2
        y += 1  # - <-
        # + y = y + 1
        (y + z).sum().backward()


class ReluInPlaceAfterSigmoid(Mistake):
    """An activation with `inplace=True` follows an operation that needs its own result.

    The sigmoid's derivative needs its result, which the activation overwrites.
    """

    operation = "SigmoidBackward0"
    numbers = ("(2,)", "relu_")
    remedy = "inplace=True"

    def wrong():
        x = torch.tensor([1.0, -2.0], requires_grad=True)
        h = x.sigmoid()
        h = torch.nn.functional.relu(h, inplace=True)  # - <-
        # + h = torch.nn.functional.relu(h)
        h.sum().backward()


class MaskedSoftmax(Mistake):
    """Entries of a softmax are set to 0 in place.

    The softmax needs its result for the derivative. Mask the scores before the softmax; then the remaining entries also sum
    to 1.
    """

    operation = "SoftmaxBackward0"
    numbers = ("(3,)", "masked_fill_")
    remedy = "clone()"

    def wrong():
        scores = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        p = scores.softmax(-1)  # -
        p[torch.tensor([True, False, False])] = 0.0  # - <-
        # + mask = torch.tensor([True, False, False])
        # + p = scores.masked_fill(mask, -float("inf")).softmax(-1)
        p[1].backward()


class StatesInOneBuffer(Mistake):
    """The states of a recurrence are written one by one into a buffer.

    Each product saves the previous state, a view of the buffer, and the next assignment modifies the buffer's memory.
    """

    operation = "MulBackward0"
    numbers = ("copy_", "version")
    remedy = "torch.stack"

    def wrong():
        w = torch.tensor(0.5, requires_grad=True)
        states = torch.ones(3)  # -
        # + states = [torch.tensor(1.0)]
        for t in range(1, 3):
            states[t] = states[t - 1] * w  # - <-
        states.sum().backward()  # -
        # +     states.append(states[t - 1] * w)
        # + torch.stack(states).sum().backward()


class DetachedAlias(Mistake):
    """A detached tensor is modified in place, as if `detach()` made a copy.

    `detach()` returns another tensor on the same memory.
    """

    operation = "TanhBackward0"
    numbers = ("(2,)", "zero_")
    remedy = "x.detach().clone()"

    def wrong():
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x.tanh()
        shown = y.detach()  # -
        # + shown = y.detach().clone()
        shown.zero_()  # <-
        y.sum().backward()


class RowOfASavedTensor(Mistake):
    """A row of a result is modified, and with it the result that an operation has saved.

    Indexing with a number or a slice returns a view, which shares the memory.
    """

    operation = "ExpBackward0"
    numbers = ("(2, 2)", "zero_")
    remedy = "clone()"

    def wrong():
        x = torch.ones(2, 2, requires_grad=True)
        y = x.exp()
        first = y[0]  # -
        # + first = y[0].clone()
        first.zero_()  # <-
        y.sum().backward()


class DataOfASavedTensor(Mistake):
    """A result is modified through `.data`.

    The version counter does not see such a write, so backward continues with wrong numbers. Only debug mode compares the
    numbers themselves.
    """

    under = "debug"
    operation = "ExpBackward0"
    numbers = ("(2,)", ".data")
    remedy = "with torch.no_grad():"

    def wrong():
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x.exp()
        # + y.sum().backward()
        y.data[0] = 0.0  # <-
        y.sum().backward()  # -


class DataAssignedBeforeBackward(Mistake):
    """A parameter gets new values through `w.data = ...` between the forward pass and backward.

    The derivative of the loss belongs to the old values, which are gone.
    """

    operation = "MulBackward0"
    numbers = ("(2,)", ".data")
    remedy = "after backward"

    def wrong():
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        loss = (w * w).sum()
        w.data = w.data * 0.5  # <-
        loss.backward()

    def right():
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        old = w.detach()
        fixed = (old * torch.ones(2, requires_grad=True)).sum()
        loss = (w * w).sum()
        loss.backward()
        w.data = w.data * 0.5
        (w * w).sum().backward()
        fixed.backward()  # of the old memory, which is unchanged


class NumpyAlias(Mistake):
    """The NumPy array of a tensor is modified before backward.

    `numpy()` returns the tensor's own memory, and minigrad does not see NumPy's writes.
    """

    under = "debug"
    operation = "SinBackward0"
    numbers = ("(2,)", "numpy()")
    remedy = ".numpy().copy()"

    def wrong():
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x.sin()
        shown = x.detach().numpy()  # - <-
        # + shown = x.detach().numpy().copy()
        shown *= 10
        y.sum().backward()


class ReusedArray(Mistake):
    """The array behind a tensor from `from_numpy` is refilled before backward.

    The tensor shares the array's memory, so the next batch overwrites the one that the loss was computed from.
    """

    under = "debug"
    operation = "MulBackward0"
    numbers = ("(2,)", "from_numpy")
    remedy = "torch.tensor(array)"

    def wrong():
        batch = np.array([1.0, 2.0], np.float32)
        w = torch.ones(2, requires_grad=True)
        x = torch.from_numpy(batch)  # - <-
        # + x = torch.tensor(batch)
        loss = (w * x).sum()
        batch[:] = [3.0, 4.0]
        loss.backward()


class UpdateBeforeBackward(Mistake):
    """A parameter is updated under no_grad between the forward pass and backward.

    no_grad keeps the update out of the graph, but the product has saved the parameter, which now has new values.
    """

    operation = "MulBackward0"
    numbers = ("(2,)", "version 1", "mul_")
    remedy = "after backward"

    def wrong():
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        loss = (w * w).sum()
        # + loss.backward()
        with torch.no_grad():
            w.mul_(0.5)  # <-
        loss.backward()  # -


class StepBeforeBackward(Mistake):
    """An optimizer steps before the backward of another loss that depends on the same parameters.

    The second loss was computed with the old parameters, which the step overwrites.
    """

    operation = "MulBackward0"
    numbers = ("(2,)", "version 1")
    remedy = "after backward"

    def wrong():
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        v = torch.tensor([3.0, 4.0], requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1)
        first, second = (w**2).sum(), (w * v).sum()
        first.backward()
        # + second.backward()
        optimizer.step()  # <-
        second.backward()  # -
