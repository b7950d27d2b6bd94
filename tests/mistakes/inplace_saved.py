"""In-place operations on saved tensors."""

import numpy as np

import minigrad as torch

from . import mistake


@mistake("ExpBackward0", "(2,)", "version 1", "add_", remedy="x = x + ...")
def saved_result_changed():
    """The result of `exp` is modified in place before backward.

    The derivative of exp is its own result, which exp saves without a copy.
    """
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    y += 1  # - <-
    # + y = y + 1
    y.sum().backward()


@mistake("PowBackward0", "(2,)", "version 1", "add_", remedy="x = x + ...")
def saved_input_changed():
    """A tensor is modified in place after another operation has used it.

    The square needs its input for the derivative, but the input has new values.
    """
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    z = y**2
    y += 1  # - <-
    # + y = y + 1
    (y + z).sum().backward()


@mistake("SigmoidBackward0", "(2,)", "relu_", remedy="inplace=True")
def relu_in_place_after_sigmoid():
    """An activation with `inplace=True` follows an operation that needs its own result.

    The sigmoid's derivative needs its result, which the activation overwrites.
    """
    x = torch.tensor([1.0, -2.0], requires_grad=True)
    h = x.sigmoid()
    h = torch.nn.functional.relu(h, inplace=True)  # - <-
    # + h = torch.nn.functional.relu(h)
    h.sum().backward()


@mistake("SoftmaxBackward0", "(3,)", "masked_fill_", remedy="clone()")
def masked_softmax():
    """Entries of a softmax are set to 0 in place.

    The softmax needs its result for the derivative. Mask the scores before the softmax; then the remaining entries also sum
    to 1.
    """
    scores = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    p = scores.softmax(-1)  # -
    p[torch.tensor([True, False, False])] = 0.0  # - <-
    # + mask = torch.tensor([True, False, False])
    # + p = scores.masked_fill(mask, -float("inf")).softmax(-1)
    p[1].backward()


@mistake("MulBackward0", "copy_", "version", remedy="torch.stack")
def states_in_one_buffer():
    """The states of a recurrence are written one by one into a buffer.

    Each product saves the previous state, a view of the buffer, and the next assignment modifies the buffer's memory.
    """
    w = torch.tensor(0.5, requires_grad=True)
    states = torch.ones(3)  # -
    # + states = [torch.tensor(1.0)]
    for t in range(1, 3):
        states[t] = states[t - 1] * w  # - <-
    states.sum().backward()  # -
    # +     states.append(states[t - 1] * w)
    # + torch.stack(states).sum().backward()


@mistake("TanhBackward0", "(2,)", "zero_", remedy="x.detach().clone()")
def detached_alias():
    """A detached tensor is modified in place, as if `detach()` made a copy.

    `detach()` returns another tensor on the same memory.
    """
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.tanh()
    shown = y.detach()  # - <=
    # + shown = y.detach().clone()
    shown.zero_()  # <-
    y.sum().backward()


@mistake("ExpBackward0", "(2, 2)", "zero_", remedy="clone()")
def row_of_a_saved_tensor():
    """A row of a result is modified, and with it the result that an operation has saved.

    Indexing with a number or a slice returns a view, which shares the memory.
    """
    x = torch.ones(2, 2, requires_grad=True)
    y = x.exp()
    first = y[0]  # - <=
    # + first = y[0].clone()
    first.zero_()  # <-
    y.sum().backward()


@mistake("ExpBackward0", "(2,)", ".data", remedy="with torch.no_grad():", under="debug")
def data_of_a_saved_tensor():
    """A result is modified through `.data`.

    The version counter does not see such a write, so backward continues with wrong numbers. Only debug mode compares the
    numbers themselves.
    """
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    # + y.sum().backward()
    y.data[0] = 0.0  # <-
    y.sum().backward()  # -


@mistake("MulBackward0", "(2,)", ".data", remedy="after backward", under="debug")
def data_assigned_before_backward():
    """A parameter gets new values through `w.data = ...` between the forward pass and backward.

    The derivative of the loss belongs to the old values, which are gone: backward reads the new ones, as in PyTorch. Only debug
    mode compares the numbers.
    """
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    # + old = w.detach()
    # + fixed = (old * torch.ones(2, requires_grad=True)).sum()
    loss = (w * w).sum()
    # + loss.backward()
    w.data = w.data * 0.5  # <-
    loss.backward()  # -
    # + (w * w).sum().backward()
    # + fixed.backward()  # of the old memory, which is unchanged


@mistake("SinBackward0", "(2,)", "numpy()", remedy=".numpy().copy()", under="debug")
def numpy_alias():
    """The NumPy array of a tensor is modified before backward.

    `numpy()` returns the tensor's own memory, and minigrad does not see NumPy's writes.
    """
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.sin()
    shown = x.detach().numpy()  # - <-
    # + shown = x.detach().numpy().copy()
    shown *= 10
    y.sum().backward()


@mistake("MulBackward0", "(2,)", "from_numpy", remedy="torch.tensor(array)", under="debug")
def reused_array():
    """The array behind a tensor from `from_numpy` is refilled before backward.

    The tensor shares the array's memory, so the next batch overwrites the one that the loss was computed from.
    """
    batch = np.array([1.0, 2.0], np.float32)
    w = torch.ones(2, requires_grad=True)
    x = torch.from_numpy(batch)  # - <-
    # + x = torch.tensor(batch)
    loss = (w * x).sum()
    batch[:] = [3.0, 4.0]
    loss.backward()


@mistake("MulBackward0", "(2,)", "version 1", "mul_", remedy="after backward")
def update_before_backward():
    """A parameter is updated under no_grad between the forward pass and backward.

    no_grad keeps the update out of the graph, but the product has saved the parameter, which now has new values.
    """
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (w * w).sum()
    # + loss.backward()
    with torch.no_grad():
        w.mul_(0.5)  # <-
    loss.backward()  # -


@mistake("MulBackward0", "(2,)", "version 1", remedy="after backward")
def step_before_backward():
    """An optimizer steps before the backward of another loss that depends on the same parameters.

    The second loss was computed with the old parameters, which the step overwrites.
    """
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    v = torch.tensor([3.0, 4.0], requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    first, second = (w**2).sum(), (w * v).sum()
    first.backward()
    # + second.backward()
    optimizer.step()  # <-
    second.backward()  # -
